"""`gnc train`."""

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gnc_cli.console.expose import expose
from gnc_cli.console.options import OutputOptions, Shape
from gnc_cli.console.show import print_line
from gnc_cli.io.outputs import is_rank_zero
from gnc_cli.training import api
from gnc_cli.training.progress import epochs_on_terminal

if TYPE_CHECKING:
    from gnc_cli.training.result import EpochRow


@contextlib.contextmanager
def _watch(output: OutputOptions) -> Iterator[dict[str, Any]]:
    """A bar on a terminal; with --jsonl a line per epoch and run."""
    runs: list[str] = []
    with epochs_on_terminal(output.quiet) as bar:

        def on_epoch(row: "EpochRow") -> None:
            bar.on_epoch(row)
            if output.shape is Shape.JSONL and is_rank_zero():
                print_line(row, {"run": runs[-1]})

        yield {
            "progress": bar.progress if is_rank_zero() else None,
            "on_run": runs.append,
            "on_epoch": on_epoch,
        }


train = expose(api.train, view="gnc_cli.training.view", watch=_watch)
