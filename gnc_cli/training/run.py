"""One call of `train`: one run, or one for each placement of the classes on a code."""

import contextlib
import dataclasses
import logging
import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gnc_cli import __version__
from gnc_cli.errors import DataError, UnavailableError, UsageError
from gnc_cli.io.outputs import check_apart, is_page
from gnc_cli.parameters import spelled
from gnc_cli.records import read_plain
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.distributed import Processes
from gnc_cli.runtime.threads import limit_threads
from gnc_cli.runtime.together import in_all, in_turn, of_first
from gnc_cli.training.assemble import data_facts, result_of
from gnc_cli.training.checkpoints import read_run
from gnc_cli.training.data.image_set import ImageData, MatchedSet
from gnc_cli.training.epochs import Run
from gnc_cli.training.head import HeadPlan, plan_heads, read_similarity
from gnc_cli.training.networks.assignment import class_similarity
from gnc_cli.training.networks.encoders import no_imports_from
from gnc_cli.training.networks.parallel import start_processes
from gnc_cli.training.request import Options, Settings, resumed, settings_of
from gnc_cli.training.result import TrainResult, TrainSeries
from gnc_cli.training.run_folder import (
    RunFolder,
    check_free,
    clear_series,
    own_files,
    portable,
    read_config,
)
from gnc_cli.training.session import open_session, read_data

_log = logging.getLogger(__name__)

_SHORT = 5
"""The short run that finds similar classes takes one epoch for so many of the long one."""


def run(**asked: Any) -> TrainResult | TrainSeries:
    """Train with checked arguments; see `api.train`. Several processes each call it."""
    asked = {n: os.fspath(v) if isinstance(v, os.PathLike) else v for n, v in asked.items()}
    if asked["out"] == "-":
        raise UsageError(
            f"{spelled('out')} '-' names no folder for the run; for rows on stdout use --csv"
        )
    if asked["resume"] and asked["out"] is None:
        raise UsageError(
            f"{spelled('resume')} goes on in a run folder; add {spelled('out', 'DIR')}"
        )
    asked["deadline"] = Deadline.of_call(asked.pop("time_limit"), asked["interrupt"])
    options = Options(**{f.name: asked.pop(f.name) for f in dataclasses.fields(Options)})
    if options.logger is not None and find_spec("tensorboard") is None:
        raise UnavailableError(
            f"{spelled('logger', options.logger)} needs tensorboard; "
            "pip install 'gnc-cli[trainers]'"
        )
    page = is_page(options.plot)
    if not options.resume:
        # What is wrong by itself is said before anything is loaded.
        epochs = settings_of(asked).epochs
        if page and asked["snapshot_every"] is None:
            asked["snapshot_every"] = max(1, epochs // 8)  # a page shows features as they move
    processes, device = start_processes(options.device)
    own, out = ":" in (asked["model"] or ""), options.out
    guard = no_imports_from(out) if own and out is not None else contextlib.nullcontext()
    with processes, limit_threads(1), guard:
        result = Job(asked, options, processes, device).run()
    result = dataclasses.replace(result, seconds=options.deadline.elapsed)
    if processes.first and options.plot is not None:
        from gnc_cli.collapse.page import write_run
        from gnc_cli.training.plot import plot_train

        last = result if isinstance(result, TrainResult) else result.rows[-1]
        try:
            if page:
                write_run(options.plot, last.run, last.history, last.forms)
            else:
                plot_train(result, options.plot)
        except DataError as error:  # the result is there all the same
            _log.warning("%s", error)
    return result


class Job:
    """The runs of one call, in one of its processes."""

    def __init__(
        self, given: dict[str, Any], options: Options, processes: Processes, device: torch.device
    ) -> None:
        self.given, self.options = given, options
        self.processes, self.device = processes, device

    def run(self) -> TrainResult | TrainSeries:
        """Check the files, read the images, plan the heads, train."""
        options, processes, out = self.options, self.processes, self.options.out
        of_first(processes, self._check_files)
        stored = None
        if out is not None and options.resume:
            stored = of_first(processes, lambda: Stored(out))
            settings = resumed(stored.settings, self.given)
        else:
            settings = settings_of(self.given)
            if out is not None:
                of_first(processes, lambda: check_free(out, force=options.force))
        self.data, self.ood = self._read_data(settings, resumes=stored is not None)
        if stored is not None and settings.assignment != "all":
            return self._run(settings, None, out, stored)
        plans = plan_heads(
            settings,
            len(self.data.class_names),
            processes,
            options,
            partial(self._similarity, settings),
        )
        if settings.assignment == "all":
            return self._series(settings, plans)
        return self._run(settings, plans[0], out)

    def _check_files(self) -> None:
        """No file of the run, and no picture, takes the place of a file to start from."""
        given, out = self.given, self.options.out
        names = ("assignment", "similarity", "backbone_weights", "init_from")
        read: dict[str, Any] = {spelled(name): given[name] for name in names}
        for name in ("data", "head"):
            read[spelled(name)] = (given[name] or "").partition(":")[2] or None
        check_apart({spelled("plot"): self.options.plot}, read)
        start = given["init_from"]
        if start is not None and os.path.isdir(start):
            read[spelled("init_from")] = [os.path.join(start, f) for f in ("best.pt", "last.pt")]
        if out is not None and not self.options.resume:
            for file in own_files(Path(out)):
                check_apart({spelled("out"): str(file)}, read)

    def _read_data(
        self, settings: Settings, *, resumes: bool
    ) -> tuple[ImageData, MatchedSet | None]:
        """The images, read by every process; glyphs by one that draws them for the others."""
        note: Callable[[str], None] = _log.warning if self.processes.first else _log.debug

        def read() -> tuple[ImageData, MatchedSet | None]:
            try:
                return read_data(settings, note, self.options.threads)
            except DataError as error:
                if not resumes or self.given["data"] is not None:
                    raise
                raise DataError(
                    f"{error}; a run keeps no folders, so give {spelled('data')}, and "
                    f"{spelled('ood')} and {spelled('fonts')} if it has them, as when it began"
                ) from error

        named = settings.data, settings.ood or ""
        drawn = any(name.partition(":")[0] == "glyphs" for name in named)
        return (in_turn if drawn else in_all)(self.processes, read)

    def _run(
        self,
        settings: Settings,
        plan: HeadPlan | None,
        out: str | None,
        stored: "Stored | None" = None,
    ) -> TrainResult:
        """One network, from its first epoch or its last checkpoint to its end."""
        began, processes, options = time.monotonic(), self.processes, self.options
        if stored is not None:
            plan = in_all(processes, lambda: stored.plan(self.data))
        assert plan is not None, "a run that begins has a plan"
        session = open_session(
            settings,
            plan,
            self.data,
            self.ood,
            processes,
            self.device,
            fresh=stored is None,
            out=out or ".",
            limited=options.deadline.seconds is not None,
        )
        folder = RunFolder.claim(
            processes,
            out,
            label=settings.label,
            goes_on=stored is not None,
            # One of a series that was killed before its first checkpoint begins again.
            force=options.force or options.resume,
        )
        if options.on_run is not None and processes.first:
            options.on_run(folder.path)
        with folder:
            run = Run(session, folder, options)
            if stored is not None:
                run.resume()
            if options.logger is not None:
                folder.open_events(run.history[-1].epoch if run.history else 0)
            folder.config(
                session.settings,
                data=data_facts(self.data, self.ood),
                plan=plan.to_json(),
                class_names=list(self.data.class_names),
            )
            for line in (*self.data.warnings, *([session.start] if session.start else [])):
                folder.log(line)
            with limit_threads(session.threads(options.threads)):
                run.to_the_end()
        return result_of(run, time.monotonic() - began)

    def _series(self, settings: Settings, plans: Sequence[HeadPlan]) -> TrainSeries:
        """One run for each placement, side by side in one folder, until one does not complete."""
        processes, options, out = self.processes, self.options, self.options.out
        if out is not None:
            of_first(processes, lambda: clear_series(Path(out), force=False))
        rows: list[TrainResult] = []
        digits = len(str(len(plans)))
        with RunFolder.claim(
            processes, out, label=settings.label, force=options.force, goes_on=options.resume
        ) as folder:
            if options.force and not options.resume:
                of_first(processes, lambda: clear_series(Path(folder.path), force=True))
            folder.config(settings, runs=len(plans))
            for at, plan in enumerate(plans, 1):
                where = f"{folder.path}/assignment-{at:0{digits}d}"
                stored = None
                if options.resume and of_first(
                    processes, partial(os.path.exists, f"{where}/last.pt")
                ):
                    stored = of_first(processes, partial(Stored, where))
                named = dataclasses.replace(settings, assignment=f"{at} of {len(plans)}")
                rows.append(self._run(named, plan, where, stored))
                if rows[-1].outcome != "completed":
                    break
        return TrainSeries(
            seconds=0.0,
            version=__version__,
            run=folder.path,
            outcome=rows[-1].outcome,
            rows=tuple(rows),
        )

    def _similarity(self, settings: Settings, d: int) -> np.ndarray:
        """How similar the classes are, (K, K): from a file, or from a short learned run.

        From the run, cosines of its class means. It takes the same network, data and recipe with a
        fifth of the epochs, and cross-entropy, which needs no margin; nothing is written.
        """
        K, path = len(self.data.class_names), settings.similarity
        if path is not None:
            return of_first(self.processes, lambda: read_similarity(path, K))
        short = dataclasses.replace(
            settings,
            head="learned",
            loss="ce",
            margin=None,
            assignment=None,
            similarity=None,
            ood=None,
            epochs=max(1, settings.epochs // _SHORT),
            snapshot_every=None,
            warmup=settings.warmup / _SHORT,
            milestones=tuple(dict.fromkeys(max(1, m // _SHORT) for m in settings.milestones)),
        )
        plan = HeadPlan(d, K, None, None, None, None)
        session = open_session(short, plan, self.data, None, self.processes, self.device)
        silent = dataclasses.replace(self.options, progress=None, on_epoch=None)
        run = Run(session, RunFolder(self.processes), silent)
        with limit_threads(session.threads(self.options.threads)):
            run.to_the_end()
        if run.outcome != "completed":
            # Its classes would be placed for good by half a run.
            raise DataError(
                f"{spelled('assignment', settings.assignment)}: the short run that finds similar "
                "classes was stopped before its end, and nothing is written; allow more time, or "
                f"give {spelled('similarity')}"
            )
        return class_similarity(session.measuring.class_means())


class Stored:
    """A run to go on with, in a folder."""

    def __init__(self, path: str) -> None:
        self.path = path
        config = read_config(path)
        try:
            self.settings = Settings.from_json(
                read_plain(dict[str, Any], config.get("settings"), "settings")
            )
            self._plan: HeadPlan | None = None  # that of a series has none
            if "plan" in config:
                plan = read_plain(dict[str, Any], config["plan"], "plan")
                self._plan = read_plain(HeadPlan, {**plan, "code": None}, "plan")
            self._names = read_plain(list[str], config.get("class_names", []), "class_names")
        except ValueError as error:
            raise DataError(
                f"{path!r} has a config.json that is not of gnc train: {error}; start anew"
            ) from error

    def plan(self, data: ImageData) -> HeadPlan:
        """The head's plan, the code from the checkpoint."""
        last = os.path.join(self.path, "last.pt")
        if not os.path.isfile(last):
            raise DataError(
                f"{self.path!r} has no last.pt: the run ended before its first checkpoint; start "
                f"it again with {spelled('force')}"
            )
        if portable(data.class_names) != self._names:  # of which one may be a slash
            raise DataError(
                f"{self.path!r} was trained on {len(self._names)} classes, and {data.name} has "
                f"{len(data.class_names)} others now; name the same data"
            )
        plan, weight = self._plan, read_run(last).training.model.get("head.weight")
        if plan is None or weight is None or tuple(weight.shape) != (plan.K, plan.d):
            raise DataError(f"{self.path!r} does not say what its classifier was; start anew")
        if plan.K != len(self._names) or sorted(plan.permutation or range(plan.K)) != [
            *range(plan.K)
        ]:
            raise DataError(f"{self.path!r} does not say which class has which row; start anew")
        code = None if plan.permutation is None else weight.double().numpy()
        return dataclasses.replace(plan, code=code)
