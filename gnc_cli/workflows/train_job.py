"""From settings to runs: processes, data, head, folder; then one run, or a series."""

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

from gnc_cli.errors import DataError, UsageError
from gnc_cli.io.images.image_set import ImageData, ImageSet
from gnc_cli.io.runs import RUN_FILES, RunFolder
from gnc_cli.networks.factories import never_from
from gnc_cli.networks.parallel import start_processes
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.distributed import Processes
from gnc_cli.numerics.threads import limit_threads
from gnc_cli.results import EpochRow, TrainResult, TrainSeries
from gnc_cli.workflows.outputs import check_apart, check_outputs
from gnc_cli.workflows.train_code import Effort
from gnc_cli.workflows.train_data import data_facts, read_data, read_ood
from gnc_cli.workflows.train_folder import (
    Stored,
    claim_folder,
    lacking_data,
    plan_facts,
    write_config,
)
from gnc_cli.workflows.train_head import HeadPlan, every_plan, plan_head
from gnc_cli.workflows.train_memory import lacking_memory
from gnc_cli.workflows.train_result import result_of
from gnc_cli.workflows.train_run import Run
from gnc_cli.workflows.train_series import run_series
from gnc_cli.workflows.train_session import open_session
from gnc_cli.workflows.train_settings import Settings, resumed, settings_of
from gnc_cli.workflows.train_similarity import learned_similarity, read_similarity
from gnc_cli.workflows.train_together import in_all, in_turn, of_first

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
    on_run: Callable[[str], None] | None
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
        self.deadline = Deadline(machine.time_limit, machine.interrupt)

    def run(self) -> TrainResult | TrainSeries:
        """Train; several processes each call it.

        Raises:
            GncError: see `train`.
        """
        processes, device = start_processes(self.machine.device)
        out, own = self.machine.out, ":" in (self.given["model"] or "")
        outside = never_from(out) if own and out is not None else contextlib.nullcontext()
        with processes, limit_threads(1), outside:
            try:
                result = self._runs(processes, device)
            except (RuntimeError, MemoryError) as error:
                refusal = lacking_memory(error)
                if refusal is None:
                    raise
                raise refusal from error
        if processes.first and self.machine.plot is not None:
            from gnc_cli.plots.train import plot_train

            plot_train(result, self.machine.plot)
        return result

    def _runs(self, processes: Processes, device: torch.device) -> TrainResult | TrainSeries:
        out, stored = self.machine.out, None
        of_first(processes, self._check_files)
        if self.machine.resume:
            assert out is not None
            stored = of_first(processes, lambda: Stored(out))
            settings = resumed(stored.settings, self.given)
        else:
            settings = settings_of(self.given)
            if out is not None:
                of_first(processes, lambda: RunFolder.check_free(out, force=self.machine.force))
        place = self._place(settings, stored, processes, device)
        effort = Effort(self.deadline, self.machine.interrupt, self.machine.threads)
        result: TrainResult | TrainSeries
        if settings.kind == "fixed" and settings.assignment == "all":
            result = run_series(
                settings, every_plan(settings, place.K, processes, effort), out, processes,
                lambda named, plan, where, kept: self._run(
                    named, plan if kept is None else None, place, where, kept
                ),
                resume=self.machine.resume, force=self.machine.force,
            )  # fmt: skip
        else:
            plan = None if stored is not None else plan_head(
                settings, place.K, processes, lambda: self._similarity(settings, place),
                effort=effort,
            )  # fmt: skip
            result = self._run(settings, plan, place, out, stored)
        return dataclasses.replace(result, seconds=time.monotonic() - self.started)

    def _check_files(self) -> None:
        """No file of the run, and no picture, takes the place of a file to start from.

        Raises:
            UsageError, OutputError: see `check_outputs`.
        """
        given, machine = self.given, self.machine
        again = machine.force or machine.resume
        start = given["init_from"]
        read = {
            "--data": (given["data"] or "").partition(":")[2] or None,
            "--head": (given["head"] or "").partition(":")[2] or None,
            "--assignment": given["assignment"], "--similarity": given["similarity"],
            "--backbone-weights": given["backbone_weights"], "--init-from": start,
        }  # fmt: skip
        check_outputs({}, plot=machine.plot, force=again, read=read)
        if machine.out is not None and not machine.resume:
            if start is not None and os.path.isdir(start):
                read["--init-from"] = [os.path.join(start, f) for f in ("best.pt", "last.pt")]
            for name in RUN_FILES:
                check_apart({"--out": os.path.join(machine.out, name)}, read)

    def _place(
        self, settings: Settings, stored: Stored | None, processes: Processes, device: torch.device
    ) -> "_Place":
        """The images, read by every process; glyphs by one that draws them for the others."""
        note: Callable[[str], None] = _log.warning if processes.first else _log.debug

        def read() -> tuple[ImageData, ImageSet | None]:
            try:
                data = read_data(settings, self.machine.threads)
                return data, read_ood(settings, data, note, self.machine.threads)
            except DataError as error:
                if stored is None or self.given["data"] is not None:
                    raise
                raise lacking_data(error) from error

        drawn = settings.data == "glyphs" or settings.ood == "glyphs"
        data, ood = (in_turn if drawn else in_all)(processes, read)
        for warning in data.warnings:
            note(warning)
        return _Place(data, ood, processes, device)

    def _run(
        self, settings: Settings, plan: HeadPlan | None, place: "_Place", out: str | None,
        stored: Stored | None,
    ) -> TrainResult:  # fmt: skip
        """One network, from its first epoch or its last checkpoint to its end."""
        began = time.monotonic()
        if plan is None:
            assert stored is not None, "a run that begins has a plan"
            plan = in_all(place.processes, lambda: stored.plan(place.data))
        session = open_session(
            settings, plan, place.data, place.ood, place.processes, place.device,
            fresh=stored is None,
        )  # fmt: skip
        facts = data_facts(place.data, place.ood)
        folder, path = claim_folder(
            out, session.settings, place.processes,
            # One of a series that was killed before its first checkpoint begins again.
            force=self.machine.force or self.machine.resume, goes_on=stored is not None,
        )  # fmt: skip
        if self.machine.on_run is not None and place.processes.first:
            self.machine.on_run(path)
        with folder if folder is not None else contextlib.nullcontext():
            run = Run(
                session, folder, path, place.processes, self.deadline,
                on_step=self._step, on_epoch=self.machine.on_epoch,
            )  # fmt: skip
            if stored is not None:
                run.resume()
            write_config(
                folder, session.settings, place.processes, data=facts, plan=plan_facts(plan),
                class_names=list(place.data.class_names),
            )  # fmt: skip
            if folder is not None:
                for line in (*place.data.warnings, *session.said):
                    folder.log(line)
            with limit_threads(session.threads(self.machine.threads)):
                ending = run.to_the_end()
        return result_of(
            session, ending, place.data, facts, run=path, processes=place.processes,
            device=place.device, seconds=time.monotonic() - began,
        )  # fmt: skip

    def _similarity(self, settings: Settings, place: "_Place") -> np.ndarray:
        path = settings.similarity
        if path is not None:
            return of_first(place.processes, lambda: read_similarity(path, place.K))
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
