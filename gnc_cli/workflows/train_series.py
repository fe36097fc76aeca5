"""One run for each placement of the classes on a code, side by side in one folder."""

import contextlib
import dataclasses
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gnc_cli import __version__
from gnc_cli.errors import OutputError
from gnc_cli.io.runs import CONFIG, LOG, METRICS, RunFolder
from gnc_cli.results import TrainResult, TrainSeries
from gnc_cli.workflows.train_folder import Stored, claim_folder, stored_run, write_config
from gnc_cli.workflows.train_head import HeadPlan
from gnc_cli.workflows.train_settings import Settings
from gnc_cli.workflows.train_together import of_first

if TYPE_CHECKING:
    from gnc_cli.numerics.distributed import Processes

__all__ = ["run_series"]


def run_series(
    settings: Settings,
    plans: Sequence[HeadPlan],
    out: str | None,
    processes: "Processes",
    one: Callable[[Settings, HeadPlan, str, Stored | None], TrainResult],
    *,
    resume: bool,
    force: bool,
) -> TrainSeries:
    """Train on each placement in turn, until one does not come to its end.

    Args:
        settings: of all runs.
        plans: of the head, one for each placement.
        out: the folder of the series; None for a dated one.
        processes: they all call this.
        one: trains one run: told its settings, plan, folder, and what is stored there.
        resume: go on in `out`.
        force: replace the series in `out`, all its runs.

    Raises:
        GncError: as `train`.
    """
    if out is not None:
        of_first(processes, partial(_refuse_links, Path(out)))
    folder, parent = claim_folder(out, settings, processes, force=force, goes_on=resume, runs=True)
    rows: list[TrainResult] = []
    digits = len(str(len(plans)))
    with folder if folder is not None else contextlib.nullcontext():
        if force and not resume:
            of_first(processes, lambda: _clear(Path(parent)))
        write_config(folder, settings, processes, runs=len(plans))
        for at, plan in enumerate(plans, 1):
            where = f"{parent}/assignment-{at:0{digits}d}"
            stored = of_first(processes, partial(stored_run, where)) if resume else None
            named = dataclasses.replace(settings, assignment=f"{at} of {len(plans)}")
            rows.append(one(named, plan, where, stored))
            if rows[-1].outcome != "completed":
                break
    return TrainSeries(
        seconds=sum(row.seconds for row in rows), version=__version__, run=parent,
        outcome=rows[-1].outcome, rows=tuple(rows),
    )  # fmt: skip


def _refuse_links(parent: Path) -> None:
    """The folder may be somebody else's: its runs are written inside it, not where a link leads.

    Raises:
        OutputError: the folder of a run is a symbolic link.
    """
    for run in parent.glob("assignment-[0-9]*"):
        if run.is_symlink():
            raise OutputError(
                f"{str(run)!r} is a symbolic link, and gnc train follows none in a run folder; "
                "remove it, or name another folder"
            )


def _clear(parent: Path) -> None:
    """Remove the runs of an earlier series, which may have had more; files of others stay.

    Raises:
        OutputError: one of them is in use.
    """
    for old in sorted(parent.glob("assignment-[0-9]*")):
        if (old / CONFIG).is_file():
            with RunFolder.create(old, label="", force=True):
                for left in (LOG, METRICS):  # empty, and held until now
                    (old / left).unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                old.rmdir()
