"""`train` and `train_series`, the functions behind `gnc train`.

They train networks on the sphere or with weight decay, and measure their collapse per epoch.
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
    """Train a network as in arXiv 2310.05351, and measure GNC1, GNC2, GNC3 and NCC per epoch.

    Options that are not set come from the preset, else from defaults that depend on data and
    network. Started by `torchrun`, several processes train one network and share each batch.

    Args:
        interrupt: an event that stops the run early, with a checkpoint.
        progress: called with `(stage, steps done, steps in all, loss)`.
        on_run: called with the folder of each run before its epochs.
        on_epoch: called with each epoch's row.

    Returns:
        The run.

    Raises:
        UsageError: also for `assignment="all"`, which requires `train_series`.
        DataError: also for a loss that is not finite, with the name of the last good checkpoint.
        OutputError, UnavailableError: see `gnc_cli.errors`.
    """
    check_current_folder()  # without one torch ends the process
    from gnc_cli.training.run import run

    return run(call)


@configured
@entry(Train)
def train_series(call: Train) -> "TrainSeries":
    """Train a network for each assignment of the classes to a fixed code (`assignment="all"`).

    The runs are subfolders of one folder. The series ends with a run that does not complete. Any
    other `assignment` makes a series of one run, that of `train`.

    Args:
        interrupt: an event that stops the run early, with a checkpoint.
        progress: called with `(stage, steps done, steps in all, loss)`.
        on_run: called with the folder of each run before its epochs.
        on_epoch: called with each epoch's row.

    Returns:
        One run per assignment, up to symmetries of the code.

    Raises:
        UsageError, DataError, OutputError, UnavailableError: as for `train`.
    """
    check_current_folder()
    from gnc_cli.training.run import run_series

    return run_series(call)


command = train_series
