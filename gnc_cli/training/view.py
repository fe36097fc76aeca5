"""What `gnc train` shows: a bar of epochs while it runs, then what it came to, and what ran."""

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
_SHOWN = ("outcome", "advice", "epochs", "best", "notes", "warnings", "policy")
"""What stands in the title, in remarks and in what is said below."""


def view(result: TrainResult | TrainSeries, verbose: bool) -> list[Table]:
    """The tables for a person.

    Args:
        verbose: show what ran, and every figure with its key of the JSON.
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
        tables.append(details(r, tables, *_SHOWN))
    seconds = sum(row.seconds + row.measure_seconds for row in r.history)
    where = f"{plural(r.epochs, 'epoch')} in {duration(seconds)}, {r.run}"
    run: Cell = (Styled("run", "bold"), f": {where}")
    return [*tables, Table(sentences=[run], notes=[_ending(r)])]


def _accuracies(r: TrainResult) -> list[Fact]:
    best = f"best {_share(r.best['accuracy'])} after epoch {r.best['epoch']}" if r.best else ""
    tested, ood = r.test_accuracy is not None, r.data.get("ood")
    ncc = None if r.measured is None else r.measured.ncc_accuracy
    matched = f"{ood['name']}, {ood['classes_matched']} classes matched by name" if ood else ""
    rows = [
        ("test accuracy", r.test_accuracy, best if tested else "", "test_accuracy"),
        ("training accuracy", r.train_accuracy, "" if tested else best, "train_accuracy"),
        ("OOD accuracy", r.ood_accuracy, matched, "ood_accuracy"),
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
        known = f"{r.gnc2_reference.value:.6f}"
        source = reference_text(r.gnc2_reference, 40)
        ratio = at_least(r.gnc2, r.gnc2_ratio, f"{r.gnc2_ratio:.4f}", 4)
        rows.append(("  ratio", ratio, f"of {known}, {source}", "gnc2_ratio"))
    rows += _form(r, "gnc3", history)
    return rows


def _form(r: MeasureResult, name: str, history: Sequence[EpochRow]) -> list[Fact]:
    """GNC1 or GNC3 in the form that means something."""
    key = r.forms[name]
    if (value := getattr(r, key)) is None:
        return []
    return [(NAMES[key], figure(value, 4), _course(history, key), key)]


def _course(history: Sequence[EpochRow], key: str) -> str:
    """`from 0.261 after epoch 1`."""
    measured = [(row.epoch, getattr(row, key)) for row in history]
    measured = [(epoch, value) for epoch, value in measured if value is not None]
    if len(measured) < 2:
        return "0 when collapsed"
    epoch, first = measured[0]
    return f"from {figure(first, 3)} after epoch {epoch}"


def _series(series: TrainSeries) -> Table:
    last = series.rows[-1]
    ones, threes = last.forms.values()
    rows = [
        (
            r.run,
            " ".join(map(str, r.head.permutation or ())),
            _share(r.test_accuracy),
            _share(r.train_accuracy),
            _share(r.ood_accuracy),
            figure(getattr(r.measured, ones, None), 3),
            figure(getattr(r.measured, threes, None), 3),
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
        NAMES[ones],
        NAMES[threes],
        "NCC",
        "s",
    )
    title = f"Placements of the classes   {plural(len(rows), 'run')}   {series.run}"
    ended = [_outcome(series.outcome)]
    return Table(title, headings, rows, notes=ended, text=frozenset({0, 1}))


def _outcome(outcome: str) -> Styled:
    return Styled(outcome.replace("_", " "), f"bold {_COLOURS[outcome]}")


def _ending(r: TrainResult) -> Cell:
    of = f" after {count(r.epochs)} of {count(r.epochs_asked)} epochs"
    after = "" if r.epochs >= r.epochs_asked else of
    # The advice begins with how the run ended, which stands before it already.
    advice = "" if not r.advice else f": {r.advice.partition(', ')[2] or r.advice}"
    return (_outcome(r.outcome), after + advice)


def _share(value: float | None) -> str | None:
    return None if value is None else share_text(value, 4)


@contextlib.contextmanager
def watch(output: OutputOptions, name: str, first: str) -> Iterator[dict[str, Any]]:
    """A bar on a terminal, where `first` is done first; with --jsonl a line per epoch and run."""
    if not is_rank_zero():
        yield {}
        return
    runs: list[str] = []
    with epochs_on_terminal(output.quiet, first) as bar:

        def on_epoch(row: EpochRow) -> None:
            if bar is not None:
                bar.on_epoch(row)
            if output.shape is Shape.JSONL:
                print_line(row, {"run": runs[-1]})

        progress = None if bar is None else bar.report
        yield {"progress": progress, "on_run": runs.append, "on_epoch": on_epoch}


class EpochBar:
    """A line of rich's that is rewritten as the run goes on."""

    def __init__(self, bars: Any, first: str) -> None:
        self._bars, self._figures = bars, ""
        self._task = bars.add_task(first, total=None)
        self._steps: float | None = None

    def report(self, stage: str, done: int, total: int, loss: float) -> None:
        """Steps done, as `progress` is called with them."""
        epoch = f"{100 * done // total}%"
        if self._steps is not None:
            epoch = f"epoch {math.ceil(done / self._steps)}/{round(total / self._steps)}"
        text = f"{epoch} loss {loss:.3g} {self._figures}"
        self._bars.update(self._task, completed=done, total=total, description=text)

    def on_epoch(self, row: EpochRow) -> None:
        """Keep what was measured last in view; an epoch's steps are known from here on."""
        self._steps = row.step / row.epoch
        figures = {
            "test": row.test_accuracy,
            "GNC2": None if row.gnc2 is None else row.gnc2.lower,
            "train": row.train_accuracy,
            "GNC1": row.gnc1,
            "GNC3": row.gnc3,
            "OOD": row.ood_accuracy,
        }
        words = [f"{name} {x:.3g}" for name, x in figures.items() if x is not None]
        if words:
            self._figures = f"@{row.epoch}: {' '.join(words)}"


@contextlib.contextmanager
def epochs_on_terminal(quiet: bool, first: str) -> Iterator[EpochBar | None]:
    """A bar while the block runs, for a person at a terminal.

    Args:
        first: what is done before the first step.
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
        yield EpochBar(bars, first)
