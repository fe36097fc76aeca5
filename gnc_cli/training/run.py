"""`gnc train`: call -> data, head, network -> epochs -> result."""

import dataclasses
import logging
import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gnc_cli import __version__
from gnc_cli.errors import DataError, UsageError
from gnc_cli.io.arguments import check_apart
from gnc_cli.parameters import is_page, requires, spelled
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.distributed import Processes, run_on_all, run_on_first
from gnc_cli.runtime.threads import limit_threads
from gnc_cli.training.data.image_set import ImageData, data_facts
from gnc_cli.training.data.load import load_images, load_matched
from gnc_cli.training.epochs import Epochs, make_result
from gnc_cli.training.head import HeadPlan, class_similarity, plan_code, plan_heads, read_similarity
from gnc_cli.training.measure import NetworkMeasurer
from gnc_cli.training.network import (
    announce_time,
    build_training,
    choose_precision,
    choose_threads,
    load_start,
    start_processes,
)
from gnc_cli.training.request import Train
from gnc_cli.training.result import TrainResult, TrainSeries
from gnc_cli.training.run_folder import (
    RunFolder,
    StoredRun,
    check_free,
    clear_series,
    read_checkpoint,
    read_stored_run,
    run_files,
)
from gnc_cli.training.settings import Loss, Settings, resumed_settings, settings_of

_log = logging.getLogger(__name__)

_SHORT_RUN_DIVISOR = 5
"""Number of epochs per epoch of the short run, after which similar classes are already close."""


def run(call: Train) -> TrainResult:
    """Train one network; see `api.train`. Several processes each call it."""
    return run_series(call, as_series=False).rows[0]


def run_series(call: Train, *, as_series: bool = True) -> TrainSeries:
    """Train a network for each assignment of the classes, else one; see `api.train_series`.

    Raises:
        UsageError: the call requests all assignments, and `as_series` is False.
    """
    deadline = Deadline.begin_call(call.time_limit, call.interrupt)
    _check(call)
    processes, device = start_processes(call.device)
    with processes, limit_threads(1):
        series = Job(call, deadline, processes, device).run(as_series=as_series)
    if processes.first and call.plot is not None:
        _draw(series, os.fspath(call.plot))
    return series


def _check(call: Train) -> None:
    """Refuse a call that is wrong whatever the files contain, before they are loaded."""
    if call.folder == "-":
        raise UsageError(
            f"{spelled('out')} '-' names no folder for the run; for rows on stdout use --csv"
        )
    if call.resume and call.folder is None:
        raise requires("resume", spelled("out", "DIR"))
    if not call.resume:
        settings_of(choices(call), page=is_page(call.plot))


def choices(call: Train) -> dict[str, Any]:
    """Return the settings that the caller chose, paths as texts."""
    names = [setting.name for setting in dataclasses.fields(Settings)]
    return {
        name: os.fspath(value) if isinstance(value, os.PathLike) else value
        for name in names
        if (value := getattr(call, name)) is not None
    }


def _draw(series: TrainSeries, path: str) -> None:
    """Draw the plot or the page; warn if it cannot be drawn, as the result is already there."""
    from gnc_cli.collapse.page import write_run

    last = series.rows[-1]
    try:
        if is_page(path):
            write_run(path, last.run, last.history, last.forms)
        else:
            (last if series.single else series).plot(path)
    except DataError as error:
        _log.warning("%s", error)


@dataclasses.dataclass(frozen=True, eq=False)
class Job:
    """A call in one of its processes: one run, or one for each assignment of the classes."""

    call: Train
    deadline: Deadline
    processes: Processes
    device: torch.device

    def run(self, *, as_series: bool) -> TrainSeries:
        """Read the images, plan the heads, train; see `run_series`."""
        call, processes, out = self.call, self.processes, self.call.folder
        run_on_first(processes, partial(_check_files, call))
        stored = None
        if out is not None and call.resume:
            stored = run_on_first(processes, partial(read_stored_run, out))
        elif out is not None:
            run_on_first(processes, partial(check_free, out, force=call.force))
        options = choices(call)
        settings = (
            settings_of(options, page=is_page(call.plot))
            if stored is None
            else resumed_settings(stored.settings, options)
        )
        if settings.assignment == "all" and not as_series:
            raise UsageError(
                f"train() returns one result, and {spelled('assignment', 'all')} makes a run per "
                "assignment; call train_series()"
            )
        data = self._data(settings)
        if settings.augment is None:  # all moves that keep the classes
            moves = ("crop", "flip", "rotate") if data.flip else ("crop", "rotate")
            settings = dataclasses.replace(settings, augment=moves)
        if settings.assignment == "all":
            return self._series(settings, self._plans(settings, data), data)
        plan = (
            self._plans(settings, data)[0]
            if stored is None
            else run_on_all(processes, partial(stored.plan_for, data))
        )
        run = self._train(settings, plan, data, out, resume=stored is not None)
        run = dataclasses.replace(run, seconds=self.deadline.elapsed)
        return TrainSeries(run.seconds, __version__, run.run, run.outcome, (run,), single=True)

    def _data(self, settings: Settings) -> ImageData:
        """Load the images, in every process."""
        note: Callable[[str], None] = _log.warning if self.processes.first else _log.debug

        def read() -> ImageData:
            try:
                data = load_images(
                    settings.data,
                    classes=settings.classes,
                    subset=settings.classes_subset,
                    per_class=settings.images_per_class,
                    image_size=settings.image_size,
                    script=settings.script,
                    threads=self.call.threads,
                )
                for warning in data.warnings:
                    note(warning)
                if settings.ood is None:
                    return data
                return load_matched(settings.ood, data, note, self.call.threads)
            except DataError as error:
                if not self.call.resume or self.call.data is not None:
                    raise
                raise DataError(
                    f"{error}; a run keeps no folders, so give {spelled('data')}, and "
                    f"{spelled('ood')} if it has it, as when it began"
                ) from error

        return run_on_all(self.processes, read)

    def _plans(self, settings: Settings, data: ImageData) -> list[HeadPlan]:
        """Plan the head, or one for each assignment, in the first process for all of them."""
        K, processes, path = len(data.class_names), self.processes, settings.similarity
        read_code = partial(plan_code, settings, K, self.deadline, self.call.threads)
        d, code = run_on_first(processes, read_code)
        similarity = None
        if settings.assignment in ("best", "worst") and path is not None:
            similarity = run_on_first(processes, partial(read_similarity, path, K))
        elif settings.assignment in ("best", "worst"):
            similarity = self._similarity(settings, d, data)
        return run_on_first(processes, partial(plan_heads, settings, d, K, code, similarity))

    def _similarity(self, settings: Settings, d: int, data: ImageData) -> np.ndarray:
        """Return the cosines (K, K) of the class means of a short run, which writes nothing.

        It has the same network, data and recipe, a learned head, a fifth of the epochs, and
        cross-entropy, which needs no margin.
        """
        short = dataclasses.replace(
            settings,
            head="learned",
            loss=Loss.ce,
            margin=None,
            assignment=None,
            similarity=None,
            ood=None,
            epochs=max(1, settings.epochs // _SHORT_RUN_DIVISOR),
            snapshot_every=None,
            warmup=settings.warmup / _SHORT_RUN_DIVISOR,
            milestones=tuple(
                dict.fromkeys(max(1, m // _SHORT_RUN_DIVISOR) for m in settings.milestones)
            ),
            precision=choose_precision(self.device, settings.precision),
        )
        plan = HeadPlan(d, len(data.class_names))
        training = build_training(short, plan, data, self.processes, self.device)
        load_start(training.model.encoder, short)
        measurer = NetworkMeasurer(training, dataclasses.replace(data, ood=None))
        epochs = Epochs(short, training, measurer, RunFolder(self.processes), self.deadline)
        with limit_threads(choose_threads(training, self.call.threads)):
            epochs.run()
        if epochs.outcome != "completed":
            # Half a run would decide the assignment of the whole one.
            raise DataError(
                f"{spelled('assignment', settings.assignment)}: the short run that finds similar "
                "classes was stopped before its end, and nothing is written; allow more time, or "
                f"give {spelled('similarity')}"
            )
        return class_similarity(measurer.class_means())

    def _train(
        self,
        settings: Settings,
        plan: HeadPlan,
        data: ImageData,
        out: str | None,
        *,
        resume: bool = False,
    ) -> TrainResult:
        """Train one network from its first epoch or its last checkpoint to its end."""
        start_time, call, processes = time.monotonic(), self.call, self.processes
        precision = choose_precision(self.device, settings.precision)
        recipe = dataclasses.replace(settings, precision=precision)
        training = build_training(recipe, plan, data, processes, self.device)
        start = None if resume else load_start(training.model.encoder, settings)
        folder = RunFolder.claim(
            processes,
            out,
            label=settings.label,
            resume=resume,
            # A run of a series that was killed before its first checkpoint starts again.
            force=call.force or call.resume,
        )
        if call.on_run is not None and processes.first:
            call.on_run(folder.path)
        with folder:
            measurer = NetworkMeasurer(training, data)
            epochs = Epochs(
                recipe,
                training,
                measurer,
                folder,
                self.deadline,
                progress=call.progress,
                on_epoch=call.on_epoch,
            )
            if resume:
                epochs.resume(
                    run_on_all(processes, partial(read_checkpoint, f"{folder.path}/last.pt"))
                )
            if self.deadline.seconds is None and processes.first:
                announce_time(settings, training)
            folder.write_config(
                settings,
                data=data_facts(data),
                plan=plan.to_json(),
                class_names=list(data.class_names),
            )
            for line in (*data.warnings, *([start] if start else [])):
                folder.log(line)
            with limit_threads(choose_threads(training, call.threads)):
                epochs.run()
        return make_result(epochs, plan, data, time.monotonic() - start_time)

    def _series(
        self, settings: Settings, plans: Sequence[HeadPlan], data: ImageData
    ) -> TrainSeries:
        """Train a run for each assignment, in one folder, until one does not complete."""
        processes, call, out = self.processes, self.call, self.call.folder
        if out is not None:
            run_on_first(processes, partial(clear_series, Path(out), force=False))
        rows: list[TrainResult] = []
        digits = len(str(len(plans)))
        with RunFolder.claim(
            processes, out, label=settings.label, force=call.force, resume=call.resume
        ) as folder:
            if call.force and not call.resume:
                run_on_first(processes, partial(clear_series, Path(folder.path), force=True))
            folder.write_config(settings, runs=len(plans))
            for number, plan in enumerate(plans, 1):
                path = f"{folder.path}/assignment-{number:0{digits}d}"
                numbered = dataclasses.replace(settings, assignment=f"{number} of {len(plans)}")
                was_started = call.resume and run_on_first(
                    processes, partial(os.path.exists, f"{path}/last.pt")
                )
                if was_started:
                    stored: StoredRun = run_on_first(processes, partial(read_stored_run, path))
                    plan = run_on_all(processes, partial(stored.plan_for, data))
                rows.append(self._train(numbered, plan, data, path, resume=was_started))
                if rows[-1].outcome != "completed":
                    break
        return TrainSeries(
            seconds=self.deadline.elapsed,
            version=__version__,
            run=folder.path,
            outcome=rows[-1].outcome,
            rows=tuple(rows),
        )


def _check_files(call: Train) -> None:
    """Refuse a run or plot that would replace a file from which the run starts."""
    names = ("assignment", "similarity", "backbone_weights", "init_from")
    read: dict[str, Any] = {spelled(name): getattr(call, name) for name in names}
    for name in ("data", "head"):
        read[spelled(name)] = (getattr(call, name) or "").partition(":")[2] or None
    start = call.init_from
    check_apart({spelled("plot"): call.plot}, read)
    if start is not None and os.path.isdir(start):
        read[spelled("init_from")] = [os.path.join(start, f) for f in ("best.pt", "last.pt")]
    if call.folder is not None and not call.resume:
        for file in run_files(Path(call.folder)):  # which may be links to each other
            check_apart({spelled("out"): str(file)}, read)
