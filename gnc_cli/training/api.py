"""`train` and `train_series`: networks on the sphere or with weight decay, their collapse followed.

The functions behind `gnc train`.
"""

from typing import TYPE_CHECKING

from gnc_cli.io.arguments import entry
from gnc_cli.parameters import check_current_folder
from gnc_cli.training.config_file import configured
from gnc_cli.training.request import Train

if TYPE_CHECKING:
    from gnc_cli.training.result import TrainResult, TrainSeries


@configured
@entry(Train)
def train(call: Train) -> "TrainResult":
    """Train a network as in arXiv 2310.05351 and follow GNC1, GNC2, GNC3 and NCC per epoch.

    Options not given come from the preset, else from defaults that depend on data and network.
    Started by `torchrun`, several processes train one network and share each batch.

    Args:
        interrupt: set it to stop early with a checkpoint.
        progress: called with `(stage, steps done, steps in all, loss)`.
        on_run: called with the folder of each run before its epochs.
        on_epoch: called with each epoch's row.

    Returns:
        The run.

    Raises:
        UsageError: also for `assignment="all"`, which is for `train_series`.
        DataError: also for a loss that is no longer finite; names the last good checkpoint.
        OutputError, UnavailableError: see `gnc_cli.errors`.
    """
    check_current_folder()  # torch ends the process where there is none
    from gnc_cli.training.run import run

    return run(call)


@configured
@entry(Train)
def train_series(call: Train) -> "TrainSeries":
    """Train a network for each placement of the classes on a fixed code (`assignment="all"`).

    The runs stand side by side in one folder, until one does not complete. Any other `assignment`
    makes a series of the one run of `train`.

    Args:
        interrupt: set it to stop early with a checkpoint.
        progress: called with `(stage, steps done, steps in all, loss)`.
        on_run: called with the folder of each run before its epochs.
        on_epoch: called with each epoch's row.

    Returns:
        One run per placement, up to symmetries of the code.

    Raises:
        UsageError, DataError, OutputError, UnavailableError: as of `train`.
    """
    check_current_folder()
    from gnc_cli.training.run import run_series

    return run_series(call)


command = train_series
