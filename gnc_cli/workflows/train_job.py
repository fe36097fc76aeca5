"""From settings to runs: processes, data, head, folder; then one run, or one for each placement."""

import contextlib
import dataclasses
import logging
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from gnc_cli import __version__
from gnc_cli.errors import DataError, UnavailableError, UsageError
from gnc_cli.io.images.image_set import ImageData, ImageSet
from gnc_cli.io.runs import RunFolder
from gnc_cli.networks.parallel import start_processes
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.distributed import Processes
from gnc_cli.numerics.threads import limit_threads
from gnc_cli.results import EpochRow, TrainResult, TrainSeries
from gnc_cli.workflows.outputs import check_outputs
from gnc_cli.workflows.train_data import data_facts, read_data, read_ood
from gnc_cli.workflows.train_folder import (
    Stored,
    claim_folder,
    plan_facts,
    stored_run,
    write_config,
)
from gnc_cli.workflows.train_head import HeadPlan, every_assignment, plan_head
from gnc_cli.workflows.train_result import result_of
from gnc_cli.workflows.train_run import Run
from gnc_cli.workflows.train_session import open_session
from gnc_cli.workflows.train_settings import Settings, resumed, settings_of
from gnc_cli.workflows.train_similarity import learned_similarity, read_similarity

__all__ = ["Job", "Machine"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Machine:
    """Where and how long, and who is told: what does not change the result."""

    device: str
    threads: int | None
    time_limit: float | None
    out: str | None
    resume: bool
    force: bool
    plot: str | None
    interrupt: threading.Event | None
    progress: Callable[[str, int, int, float], None] | None
    on_epoch: Callable[[EpochRow], None] | None


class Job:
    """What one call of `train` does.

    Args:
        given: settings that were asked for, by name; None is not asked for.
        machine: the rest of what was asked.
    """

    def __init__(self, given: dict[str, Any], machine: Machine) -> None:
        self.given, self.machine = given, machine
        self.started = time.monotonic()
        if machine.time_limit is not None and not machine.time_limit > 0.0:
            raise UsageError(f"--time-limit {machine.time_limit:g} must be positive")
        if machine.threads is not None and machine.threads < 1:
            raise UsageError(f"--threads {machine.threads}: at least one thread is needed")
        if machine.resume and machine.out is None:
            raise UsageError("--resume goes on in a run folder; add --out DIR")
        check_outputs([], plot=machine.plot, force=machine.force or machine.resume)
        self.deadline = Deadline(machine.time_limit, machine.interrupt)

    def run(self) -> TrainResult | TrainSeries:
        """Train; several processes each call it.

        Raises:
            GncError: see `train`.
        """
        processes, device = start_processes(self.machine.device)
        with processes, limit_threads(1):
            try:
                result = self._runs(processes, device)
            except torch.OutOfMemoryError as error:
                raise UnavailableError(
                    "the GPU's memory is not enough; try a smaller --batch-size, --width or "
                    "--image-size, or --precision bf16"
                ) from error
        if processes.first and self.machine.plot is not None:
            from gnc_cli.plots.train import plot_train

            plot_train(result, self.machine.plot)
        return result

    def _runs(self, processes: Processes, device: torch.device) -> TrainResult | TrainSeries:
        out, stored = self.machine.out, None
        if self.machine.resume:
            assert out is not None
            stored = Stored(out)
            settings = resumed(stored.settings, self.given)
        else:
            settings = settings_of(self.given)
            if out is not None and processes.first:
                RunFolder.check_free(out, force=self.machine.force)
        note: Callable[[str], None] = _log.warning if processes.first else _log.debug
        try:
            data = read_data(settings)
            ood = read_ood(settings, data, note)
        except DataError as error:
            if stored is None or self.given["data"] is not None:
                raise
            raise DataError(
                f"{error}; a run keeps no folders, so give --data, and --ood and --fonts if it "
                "has them, as when it began"
            ) from error
        for warning in data.warnings:
            note(warning)
        place = _Place(data, ood, processes, device)
        if settings.kind == "fixed" and settings.assignment == "all":
            return self._series(settings, place)
        if stored is None:
            plan = plan_head(
                settings, place.K, processes, lambda: self._similarity(settings, place)
            )
        else:
            plan = stored.plan(data)
        result = self._run(settings, plan, place, out, goes_on=stored is not None)
        return dataclasses.replace(result, seconds=time.monotonic() - self.started)

    def _series(self, settings: Settings, place: "_Place") -> TrainSeries:
        """One run for each placement of the classes that no symmetry of the code makes equal."""
        placements = every_assignment(settings, place.K, place.processes)
        machine = self.machine
        folder, parent = claim_folder(
            machine.out, settings, place.processes, force=machine.force or machine.resume,
            goes_on=False,
        )  # fmt: skip
        with folder if folder is not None else contextlib.nullcontext():
            write_config(folder, settings, runs=len(placements))
        rows: list[TrainResult] = []
        digits = len(str(len(placements)))
        for at, placement in enumerate(placements, 1):
            out = os.path.join(parent, f"assignment-{at:0{digits}d}")
            stored = stored_run(out) if machine.resume else None
            one = dataclasses.replace(settings, assignment=f"{at} of {len(placements)}")
            if stored is None:
                plan = plan_head(one, place.K, place.processes, _no_similarity, placement)
            else:
                plan = stored.plan(place.data)
            rows.append(self._run(one, plan, place, out, goes_on=stored is not None))
            if rows[-1].outcome != "completed":
                break
        return TrainSeries(
            seconds=time.monotonic() - self.started, version=__version__, run=parent,
            outcome=rows[-1].outcome, rows=tuple(rows),
        )  # fmt: skip

    def _run(
        self, settings: Settings, plan: HeadPlan, place: "_Place", out: str | None, *,
        goes_on: bool,
    ) -> TrainResult:  # fmt: skip
        """One network, from its first epoch or its last checkpoint to its end."""
        began = time.monotonic()
        session = open_session(
            settings, plan, place.data, place.ood, place.processes, place.device,
            fresh=not goes_on,
        )  # fmt: skip
        facts = data_facts(place.data, place.ood)
        folder, path = claim_folder(
            out, session.settings, place.processes,
            # One of a series that was killed before its first checkpoint begins again.
            force=self.machine.force or self.machine.resume, goes_on=goes_on,
        )  # fmt: skip
        with folder if folder is not None else contextlib.nullcontext():
            run = Run(
                session, folder, path, place.processes, self.deadline,
                on_step=self._step, on_epoch=self.machine.on_epoch,
            )  # fmt: skip
            if goes_on:
                run.resume()
            write_config(
                folder, session.settings, data=facts, plan=plan_facts(plan),
                class_names=list(place.data.class_names),
            )  # fmt: skip
            if folder is not None:
                for line in session.said:
                    folder.log(line)
            with limit_threads(session.threads(self.machine.threads)):
                ending = run.to_the_end()
        return result_of(
            session, ending, place.data, facts, run=path, processes=place.processes,
            device=place.device, seconds=time.monotonic() - began,
        )  # fmt: skip

    def _similarity(self, settings: Settings, place: "_Place") -> np.ndarray:
        if settings.similarity is not None:
            return read_similarity(settings.similarity, place.K)
        return learned_similarity(
            settings, place.data, place.processes, place.device, self.deadline,
            self.machine.threads,
        )

    def _step(self, done: int, total: int, loss: float) -> None:
        if self.machine.progress is not None:
            self.machine.progress("training", done, total, loss)


@dataclass(frozen=True, eq=False)
class _Place:
    """What the runs of one call share."""

    data: ImageData
    ood: ImageSet | None
    processes: Processes
    device: torch.device

    @property
    def K(self) -> int:
        return len(self.data.class_names)


def _no_similarity() -> np.ndarray:
    raise AssertionError("a placement was given")
