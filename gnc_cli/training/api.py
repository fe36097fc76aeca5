"""`train`: a network on the sphere or with weight decay, its collapse followed."""

from typing import TYPE_CHECKING

from gnc_cli.io.arguments import entry
from gnc_cli.parameters import check_current_folder
from gnc_cli.training.config_file import configured
from gnc_cli.training.request import Train

if TYPE_CHECKING:
    from gnc_cli.training.result import TrainResult, TrainSeries


@configured
@entry(Train)
def train(call: Train) -> "TrainResult | TrainSeries":
    """Train a network as in arXiv 2310.05351 and follow GNC1, GNC2, GNC3 and NCC per epoch.

    Options not given come from the preset, else from defaults that depend on data and network.
    Started by `torchrun`, several processes train one network and share each batch.

    Args:
        interrupt: set it to stop early with a checkpoint.
        progress: called with `(stage, steps done, steps in all, loss)`.
        on_run: called with the folder of each run before its epochs.
        on_epoch: called with each epoch's row.

    Returns:
        The run; a series of runs for `assignment="all"`.

    Raises:
        UsageError, DataError, OutputError, UnavailableError: see `gnc_cli.errors`. A loss that is
        no longer finite is a DataError that names the last good checkpoint.
    """
    check_current_folder()  # torch ends the process where there is none
    from gnc_cli.training.run import run

    return run(call)
