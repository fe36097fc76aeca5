"""The output of `gnc train` for a person: a progress bar, then tables of the result."""

import contextlib
import math
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from gnc_cli.collapse.result import NAMES, MeasureResult
from gnc_cli.collapse.view import at_least, figure, forms_note, proved, reference_text, share_text
from gnc_cli.console.details import details
from gnc_cli.console.options import OutputOptions, Shape
from gnc_cli.console.process import print_line
from gnc_cli.console.table import Cell, Styled, Table, facts
from gnc_cli.figures import count, duration, plural
from gnc_cli.runtime.distributed import is_rank_zero
from gnc_cli.training.result import EpochRow, TrainResult, TrainSeries

Fact = tuple[str, ...]
"""Name, value, remark, key of the JSON."""

_COLOURS = {"completed": "green", "time_limit": "yellow", "interrupted": "red"}
_HANDLED_KEYS = ("outcome", "advice", "epochs", "best", "notes", "warnings", "policy")
"""Keys that the title, remarks and last lines show."""


def view(result: TrainResult | TrainSeries, verbose: bool) -> list[Table]:
    """Return the tables for a person.

    Args:
        result: a run, or a series of runs.
        verbose: also show the settings, and the JSON key of each value.
    """
    if isinstance(result, TrainSeries):
        return [_series(result)]
    r, m = result, result.measured
    title = f"{r.data.get('name', 'data')}: {r.model}"
    rows = _accuracies(r)
    if m is not None:
        title += f"   d = {count(m.d)}, K = {count(m.K)}"
        if m.epoch not in (None, r.epochs):
            title += f"   measured after epoch {m.epoch:g}"
        rows += _collapse(m, r.history)
    tables = [facts(title, rows, forms_note(r), verbose=verbose)]
    if verbose:
        tables.append(details(r, tables, *_HANDLED_KEYS))
    seconds = sum(row.seconds + row.measure_seconds for row in r.history)
    summary = f"{plural(r.epochs, 'epoch')} in {duration(seconds)}, {r.run}"
    run: Cell = (Styled("run", "bold"), f": {summary}")
    return [*tables, Table(sentences=[run], notes=[_ending(r)])]


def _accuracies(r: TrainResult) -> list[Fact]:
    best = f"best {_share(r.best['accuracy'])} after epoch {r.best['epoch']}" if r.best else ""
    tested, ood = r.test_accuracy is not None, r.data.get("ood")
    ncc = None if r.measured is None else r.measured.ncc_accuracy
    remark = f"{ood['name']}, {ood['classes_matched']} classes matched by name" if ood else ""
    rows = [
        ("test accuracy", r.test_accuracy, best if tested else "", "test_accuracy"),
        ("training accuracy", r.train_accuracy, "" if tested else best, "train_accuracy"),
        ("OOD accuracy", r.ood_accuracy, remark, "ood_accuracy"),
        ("NCC accuracy", ncc, "training set, by its class means", "ncc_accuracy"),
        ("test NCC accuracy", r.test_ncc_accuracy, "by the same means", "test_ncc_accuracy"),
    ]
    return [(name, _share(v) or "", remark, key) for name, v, remark, key in rows if v is not None]


def _collapse(r: MeasureResult, history: Sequence[EpochRow]) -> list[Fact]:
    rows: list[Fact] = [*_form(r, "gnc1", history)]
    if r.gnc2 is not None:
        remark = f"at most {r.gnc2.upper:.6f}" if r.gnc2.width > 1e-6 else "certified"
        rows.append(
            ("GNC2", proved(r.gnc2, 6), remark if math.isfinite(r.gnc2.upper) else "", "gnc2")
        )
    if r.gnc2 is not None and r.gnc2_reference is not None and r.gnc2_ratio is not None:
        reference = f"{r.gnc2_reference.value:.6f}"
        source = reference_text(r.gnc2_reference, 40)
        ratio = at_least(r.gnc2, r.gnc2_ratio, f"{r.gnc2_ratio:.4f}", 4)
        rows.append(("  ratio", ratio, f"of {reference}, {source}", "gnc2_ratio"))
    rows += _form(r, "gnc3", history)
    return rows


def _form(r: MeasureResult, name: str, history: Sequence[EpochRow]) -> list[Fact]:
    """Return the line of GNC1 or GNC3 in its meaningful form."""
    key = r.forms[name]
    if (value := getattr(r, key)) is None:
        return []
    return [(NAMES[key], figure(value, 4), _course(history, key), key)]


def _course(history: Sequence[EpochRow], key: str) -> str:
    """Return the first measured value as `from 0.261 after epoch 1`."""
    measured = [(row.epoch, getattr(row, key)) for row in history]
    measured = [(epoch, value) for epoch, value in measured if value is not None]
    if len(measured) < 2:
        return "0 when collapsed"
    epoch, value = measured[0]
    return f"from {figure(value, 3)} after epoch {epoch}"


def _series(series: TrainSeries) -> Table:
    last = series.rows[-1]
    gnc1_key, gnc3_key = last.forms.values()
    rows = [
        (
            r.run,
            " ".join(map(str, r.head.permutation or ())),
            _share(r.test_accuracy),
            _share(r.train_accuracy),
            _share(r.ood_accuracy),
            figure(getattr(r.measured, gnc1_key, None), 3),
            figure(getattr(r.measured, gnc3_key, None), 3),
            _share(getattr(r.measured, "ncc_accuracy", None)),
            f"{r.seconds:.3g}",
        )
        for r in series.rows
    ]
    headings = (
        "run",
        "rows of classes",
        "test",
        "training",
        "OOD",
        NAMES[gnc1_key],
        NAMES[gnc3_key],
        "NCC",
        "s",
    )
    title = f"Assignments of the classes   {plural(len(rows), 'run')}   {series.run}"
    notes = [_outcome(series.outcome)]
    return Table(title, headings, rows, notes=notes, text=frozenset({0, 1}))


def _outcome(outcome: str) -> Styled:
    return Styled(outcome.replace("_", " "), f"bold {_COLOURS[outcome]}")


def _ending(r: TrainResult) -> Cell:
    progress = f" after {count(r.epochs)} of {count(r.epochs_asked)} epochs"
    # The advice begins with the outcome, which is already in this line.
    advice = "" if not r.advice else f": {r.advice.partition(', ')[2] or r.advice}"
    return (_outcome(r.outcome), (progress if r.epochs < r.epochs_asked else "") + advice)


def _share(value: float | None) -> str | None:
    return None if value is None else share_text(value, 4)


@contextlib.contextmanager
def watch(output: OutputOptions, name: str, stage: str) -> Iterator[dict[str, Any]]:
    """Show progress on a terminal, and print a line per epoch and run with --jsonl."""
    if not is_rank_zero():
        yield {}
        return
    runs: list[str] = []
    with progress_bar(output.quiet, stage) as bar:

        def on_epoch(row: EpochRow) -> None:
            if bar is not None:
                bar.on_epoch(row)
            if output.shape is Shape.JSONL:
                print_line(row, {"run": runs[-1]})

        yield {
            "progress": None if bar is None else bar.report,
            "on_run": runs.append,
            "on_epoch": on_epoch,
        }


class EpochBar:
    """Progress of the run in a line of rich."""

    def __init__(self, bars: Any, stage: str) -> None:
        self._bars, self._values = bars, ""
        self._task = bars.add_task(stage, total=None)
        self._steps: float | None = None

    def report(self, stage: str, steps: int, total: int, loss: float) -> None:
        """Show the steps done; called as `progress`."""
        epoch = f"{100 * steps // total}%"
        if self._steps is not None:
            epoch = f"epoch {math.ceil(steps / self._steps)}/{round(total / self._steps)}"
        text = f"{epoch} loss {loss:.3g} {self._values}"
        self._bars.update(self._task, completed=steps, total=total, description=text)

    def on_epoch(self, row: EpochRow) -> None:
        """Show the last measured values; the first epoch also tells the steps per epoch."""
        self._steps = row.step / row.epoch
        values = {
            "test": row.test_accuracy,
            "GNC2": None if row.gnc2 is None else row.gnc2.lower,
            "train": row.train_accuracy,
            "GNC1": row.gnc1,
            "GNC3": row.gnc3,
            "OOD": row.ood_accuracy,
        }
        words = [f"{name} {x:.3g}" for name, x in values.items() if x is not None]
        if words:
            self._values = f"@{row.epoch}: {' '.join(words)}"


@contextlib.contextmanager
def progress_bar(quiet: bool, stage: str) -> Iterator[EpochBar | None]:
    """Show a progress bar while the block runs, on a terminal.

    Args:
        quiet: True for no bar.
        stage: text before the first step.
    """
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.table import Column

    bars = Progress(
        BarColumn(bar_width=6),
        TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="crop")),
        TimeRemainingColumn(compact=True),
        console=Console(stderr=True),
        transient=True,
    )
    with bars:
        yield EpochBar(bars, stage)
