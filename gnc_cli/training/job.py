"""From settings to runs: one run, or one for each placement of the classes on a code."""

import contextlib
import dataclasses
import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gnc_cli import __version__
from gnc_cli.errors import DataError, OutputError, UsageError
from gnc_cli.io.codefile import read_points
from gnc_cli.io.outputs import check_apart, check_outputs
from gnc_cli.parameters import spelled
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.distributed import Processes
from gnc_cli.runtime.threads import limit_threads
from gnc_cli.training.assemble import result_of
from gnc_cli.training.data.image_set import ImageData, MatchedSet
from gnc_cli.training.head import Effort, HeadPlan, every_plan, feature_dim_of, plan_head
from gnc_cli.training.networks.assignment import class_similarity
from gnc_cli.training.networks.encoders import no_imports_from
from gnc_cli.training.networks.memory import lacking_memory
from gnc_cli.training.networks.parallel import start_processes
from gnc_cli.training.recorder import Recorder, Stored
from gnc_cli.training.result import EpochRow, TrainResult, TrainSeries
from gnc_cli.training.run import Run
from gnc_cli.training.run_folder import CONFIG, LOG, METRICS, RUN_FILES, RunFolder
from gnc_cli.training.session import data_facts, open_session, read_data
from gnc_cli.training.settings import Settings, resumed, settings_of
from gnc_cli.training.together import in_all, in_turn, of_first

_log = logging.getLogger(__name__)

_NAMES = ("assignment", "fonts", "ood", "init_from", "backbone_weights", "similarity")
"""Arguments that name a file or a choice."""
_SHORT = 5
"""The short run that finds similar classes takes one epoch for so many of the long one."""


@dataclass(frozen=True)
class RuntimeOptions:
    """Where and how long, and whom to call: what does not change the result."""

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


def run(**asked: Any) -> TrainResult | TrainSeries:
    """Train with checked arguments; see `api.train`."""
    for name in _NAMES:
        if asked[name] == "":
            raise UsageError(f"{spelled(name)} '' is empty; name something or leave it out")
    if asked["out"] in ("", "-"):
        raise UsageError(
            f"{spelled('out')} {asked['out']!r} names no folder for the run; "
            "for rows on stdout use --csv"
        )
    options = {
        field.name: asked.pop(field.name) for field in dataclasses.fields(RuntimeOptions)
    }
    for name in ("out", "plot"):
        options[name] = None if options[name] is None else os.fspath(options[name])
    given = {
        {"classes_subset": "subset"}.get(name, name): (
            os.fspath(value) if isinstance(value, os.PathLike) else value
        )
        for name, value in asked.items()
    }
    given["compile"] = given["compile"] or None
    if not options["resume"]:
        settings_of(given)  # what is wrong by itself is said before anything is loaded
    return Job(given, RuntimeOptions(**options)).run()


class Job:
    """What one call of `train` does.

    Args:
        given: settings that were asked for, by name; None is not asked for.
        options: the rest of what was asked.

    Raises:
        UsageError: an option out of range.
    """

    def __init__(self, given: dict[str, Any], options: RuntimeOptions) -> None:
        self.given, self.options = given, options
        self.started = time.monotonic()
        if options.resume and options.out is None:
            raise UsageError(
                f"{spelled('resume')} goes on in a run folder; add {spelled('out', 'DIR')}"
            )
        self.deadline = Deadline(options.time_limit, options.interrupt)

    def run(self) -> TrainResult | TrainSeries:
        """Train; several processes each call it.

        Raises:
            GncError: see `train`.
        """
        processes, device = start_processes(self.options.device)
        out, own = self.options.out, ":" in (self.given["model"] or "")
        guard = no_imports_from(out) if own and out is not None else contextlib.nullcontext()
        with processes, limit_threads(1), guard:
            try:
                result = self._runs(processes, device)
            except (RuntimeError, MemoryError) as error:
                refusal = lacking_memory(error)
                if refusal is None:
                    raise
                raise refusal from error
        if processes.first and self.options.plot is not None:
            from gnc_cli.training.plot import plot_train

            plot_train(result, self.options.plot)
        return result

    def _runs(self, processes: Processes, device: torch.device) -> TrainResult | TrainSeries:
        out, stored = self.options.out, None
        of_first(processes, self._check_files)
        if self.options.resume:
            assert out is not None
            stored = of_first(processes, lambda: Stored(out))
            settings = resumed(stored.settings, self.given)
        else:
            settings = settings_of(self.given)
            if out is not None:
                of_first(processes, lambda: RunFolder.check_free(out, force=self.options.force))
        inputs = self._read_inputs(settings, stored, processes, device)
        effort = Effort(self.deadline, self.options.interrupt, self.options.threads)
        result: TrainResult | TrainSeries
        if settings.kind == "fixed" and settings.assignment == "all":
            plans = every_plan(settings, inputs.K, processes, effort)
            result = self._series(settings, plans, inputs)
        elif stored is not None:
            result = self._run(settings, None, inputs, out, stored)
        else:
            similarity = partial(self._similarity, settings, inputs)
            plan = plan_head(settings, inputs.K, processes, similarity, effort)
            result = self._run(settings, plan, inputs, out)
        return dataclasses.replace(result, seconds=time.monotonic() - self.started)

    def _check_files(self) -> None:
        """No file of the run, and no picture, takes the place of a file to start from."""
        given, options = self.given, self.options
        again = options.force or options.resume
        start = given["init_from"]
        read = {
            "--data": (given["data"] or "").partition(":")[2] or None,
            "--head": (given["head"] or "").partition(":")[2] or None,
            "--assignment": given["assignment"], "--similarity": given["similarity"],
            "--backbone-weights": given["backbone_weights"], "--init-from": start,
        }  # fmt: skip
        check_outputs({}, plot=options.plot, force=again, read=read)
        if options.out is not None and not options.resume:
            if start is not None and os.path.isdir(start):
                read["--init-from"] = [os.path.join(start, f) for f in ("best.pt", "last.pt")]
            for name in RUN_FILES:
                check_apart({"--out": os.path.join(options.out, name)}, read)

    def _read_inputs(
        self, settings: Settings, stored: Stored | None, processes: Processes, device: torch.device
    ) -> "_Inputs":
        """The images, read by every process; glyphs by one that draws them for the others."""
        note: Callable[[str], None] = _log.warning if processes.first else _log.debug

        def read() -> tuple[ImageData, MatchedSet | None]:
            try:
                return read_data(settings, note, self.options.threads)
            except DataError as error:
                if stored is None or self.given["data"] is not None:
                    raise
                raise DataError(
                    f"{error}; a run keeps no folders, so give --data, and --ood and --fonts if it "
                    "has them, as when it began"
                ) from error

        drawn = settings.data == "glyphs" or settings.ood == "glyphs"
        data, ood = (in_turn if drawn else in_all)(processes, read)
        return _Inputs(data, ood, processes, device)

    def _run(
        self, settings: Settings, plan: HeadPlan | None, inputs: "_Inputs", out: str | None,
        stored: Stored | None = None,
    ) -> TrainResult:  # fmt: skip
        """One network, from its first epoch or its last checkpoint to its end."""
        began = time.monotonic()
        data, ood, processes, device = inputs.data, inputs.ood, inputs.processes, inputs.device
        if plan is None:
            assert stored is not None, "a run that begins has a plan"
            plan = in_all(processes, lambda: stored.plan(data))
        session = open_session(settings, plan, data, ood, processes, device, fresh=stored is None)
        facts = data_facts(data, ood)
        recorder = Recorder.claim(
            out, session.settings, processes,
            # One of a series that was killed before its first checkpoint begins again.
            force=self.options.force or self.options.resume, goes_on=stored is not None,
        )  # fmt: skip
        if self.options.on_run is not None and processes.first:
            self.options.on_run(recorder.path)
        with recorder:
            run = Run(
                session, recorder, self.deadline,
                on_step=self._step, on_epoch=self.options.on_epoch,
            )  # fmt: skip
            if stored is not None:
                run.resume()
            recorder.config(
                session.settings, data=facts, plan=plan.to_json(),
                class_names=list(data.class_names),
            )
            for line in (*data.warnings, *([session.start] if session.start else [])):
                recorder.log(line)
            with limit_threads(session.threads(self.options.threads)):
                ending = run.to_the_end()
        return result_of(
            session, ending, data, facts, run=recorder.path, processes=processes, device=device,
            seconds=time.monotonic() - began,
        )  # fmt: skip

    def _series(
        self, settings: Settings, plans: Sequence[HeadPlan], inputs: "_Inputs"
    ) -> TrainSeries:
        """One run for each placement, side by side in one folder, until one does not complete."""
        processes, options = inputs.processes, self.options
        if options.out is not None:
            of_first(processes, partial(_refuse_links, Path(options.out)))
        rows: list[TrainResult] = []
        digits = len(str(len(plans)))
        with Recorder.claim(
            options.out, settings, processes, force=options.force, goes_on=options.resume,
            series=True,
        ) as recorder:  # fmt: skip
            parent = recorder.path
            if options.force and not options.resume:
                of_first(processes, partial(_clear_series, Path(parent)))
            recorder.config(settings, runs=len(plans))
            for at, plan in enumerate(plans, 1):
                where = f"{parent}/assignment-{at:0{digits}d}"
                stored = None
                if options.resume:
                    stored = of_first(processes, partial(Stored.in_folder, where))
                named = dataclasses.replace(settings, assignment=f"{at} of {len(plans)}")
                kept_plan = plan if stored is None else None
                rows.append(self._run(named, kept_plan, inputs, where, stored))
                if rows[-1].outcome != "completed":
                    break
        return TrainSeries(
            seconds=sum(row.seconds for row in rows), version=__version__, run=parent,
            outcome=rows[-1].outcome, rows=tuple(rows),
        )  # fmt: skip

    def _similarity(self, settings: Settings, inputs: "_Inputs") -> np.ndarray:
        """How similar the classes are, (K, K): from a file, or from a short learned run.

        From the run, cosines of its class means. It takes the same network, data and recipe with a
        fifth of the epochs, and cross-entropy, which needs no margin; nothing is written.
        """
        K, processes, path = inputs.K, inputs.processes, settings.similarity
        if path is not None:
            return of_first(processes, lambda: _read_similarity(path, K))
        short = dataclasses.replace(
            settings, head="learned", loss="ce", margin=None, assignment=None, similarity=None,
            ood=None, epochs=max(1, settings.epochs // _SHORT), snapshot_every=None,
            warmup=settings.warmup / _SHORT,
            milestones=tuple(dict.fromkeys(max(1, m // _SHORT) for m in settings.milestones)),
        )  # fmt: skip
        d = of_first(processes, lambda: feature_dim_of(settings, K))
        plan = HeadPlan(d, K, None, None, None, None)
        session = open_session(short, plan, inputs.data, None, processes, inputs.device)
        with limit_threads(session.threads(self.options.threads)):
            ending = Run(session, Recorder(processes), self.deadline).to_the_end()
        if ending.outcome != "completed":
            # Its classes would be placed for good by half a run.
            raise DataError(
                f"--assignment {settings.assignment}: the short run that finds similar classes was "
                "stopped before its end, and nothing is written; allow more time, or give "
                "--similarity"
            )
        return class_similarity(session.measuring.class_means())

    def _step(self, done: int, total: int, loss: float) -> None:
        if self.options.progress is not None:
            self.options.progress("training", done, total, loss)


@dataclass(frozen=True, eq=False)
class _Inputs:
    """What the runs of one call share."""

    data: ImageData
    ood: MatchedSet | None
    processes: Processes
    device: torch.device

    @property
    def K(self) -> int:
        return len(self.data.class_names)


def _read_similarity(path: str, K: int) -> np.ndarray:
    """A symmetric matrix (K, K) from any file gnc reads."""
    matrix = read_points(path).weights
    if matrix.shape != (K, K) or not np.allclose(matrix, matrix.T, atol=1e-6):
        raise DataError(
            f"--similarity {path!r} holds a matrix {matrix.shape}; give a symmetric one of "
            f"({K}, {K})"
        )
    return matrix


def _refuse_links(parent: Path) -> None:
    """The folder may be somebody else's: its runs are written inside it, not where a link leads."""
    for run in parent.glob("assignment-[0-9]*"):
        if run.is_symlink():
            raise OutputError(
                f"{str(run)!r} is a symbolic link, and gnc train follows none in a run folder; "
                "remove it, or name another folder"
            )


def _clear_series(parent: Path) -> None:
    """Remove the runs of an earlier series, which may have had more; files of others stay."""
    for old in sorted(parent.glob("assignment-[0-9]*")):
        if (old / CONFIG).is_file():
            with RunFolder.create(old, label="", force=True):
                for left in (LOG, METRICS):  # empty, and held until now
                    (old / left).unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                old.rmdir()
