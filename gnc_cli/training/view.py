"""The tables that `gnc train` shows: what a run came to, what ran, how its epochs went."""

import math
from collections.abc import Sequence
from typing import Any

from gnc_cli.collapse.result import FORMS, NAMES
from gnc_cli.collapse.view import at_least, figure, forms_note, proved, reference_text, share
from gnc_cli.console.numbers import count, duration, plural
from gnc_cli.console.table import Cell, Styled, Table, facts
from gnc_cli.training.result import EpochRow, HeadFacts, TrainResult, TrainSeries

Fact = tuple[str, ...]
"""Name, value, remark, key of the JSON."""

_COLOURS = {"completed": "green", "time_limit": "yellow", "interrupted": "red"}
_HEADS = {"learned": "learned", "cmf": "class means of the features", "fixed": "fixed"}
_MOST_EPOCHS = 25
"""Epochs listed at most with --verbose, spread over those that were measured."""


def view(result: TrainResult | TrainSeries, verbose: bool) -> list[Table]:
    """The tables for a person.

    Args:
        verbose: show what ran, the measured epochs, every figure with its key of the JSON.
    """
    if isinstance(result, TrainSeries):
        shared = [_ran(result.rows[-1], whole=False)] if verbose and result.rows else []
        return [_series(result), *shared]
    r = result
    title = f"{r.data.get('name', 'data')}: {r.model}"
    if r.measured is not None:
        title += f"   d = {count(r.d)}, K = {count(r.K)}"
        if r.epoch not in (None, r.epochs):
            title += f"   measured after epoch {r.epoch:g}"
    if not verbose:
        where = f"{plural(r.epochs, 'epoch')} in {duration(_spent(r))}, {r.run}"
        ran: Cell = (Styled("run", "bold"), f": {where}")
        sheet = facts(title, [*_accuracy(r), *_collapse(r, False)], forms_note(r))
        return [sheet, Table(sentences=[ran], notes=[_ending(r)])]
    tables = [facts(title, [*_accuracies(r), *_collapse(r, True)], forms_note(r), verbose=True)]
    return [*tables, _epochs(r), _ran(r, whole=True, notes=[_ending(r)])]


def _accuracy(r: TrainResult) -> list[Fact]:
    """The accuracies in one line, those of the test set first."""
    values = {
        "test accuracy": r.test_accuracy,
        "training accuracy": r.train_accuracy,
        "NCC accuracy": r.ncc_accuracy,
        "OOD accuracy": r.ood_accuracy,
    }
    known = [(name, _share(value) or "") for name, value in values.items() if value is not None]
    if not known:
        return []
    (name, value), *others = known
    remark = ", ".join(f"{other.removesuffix(' accuracy')} {text}" for other, text in others)
    if r.best and r.best["epoch"] != r.epochs:
        remark += f"; best {_share(r.best['accuracy'])} after epoch {r.best['epoch']}"
    return [(name, value, remark, "")]


def _accuracies(r: TrainResult) -> list[Fact]:
    best = ""
    if r.best:
        best = f"best {_share(r.best['accuracy'])} after epoch {r.best['epoch']}"
    tested, ood = r.test_accuracy is not None, r.data.get("ood")
    matched = "classes matched by name"
    if ood is not None:
        of = f"{count(ood['classes_matched'])} of {count(r.data['classes'])}"
        matched = f"{ood['name']}, {of} {matched}"
    rows = [
        ("test accuracy", r.test_accuracy, best if tested else "", "test_accuracy"),
        ("training accuracy", r.train_accuracy, "" if tested else best, "train_accuracy"),
        ("OOD accuracy", r.ood_accuracy, matched, "ood_accuracy"),
    ]
    return [(name, _share(v) or "", remark, key) for name, v, remark, key in rows if v is not None]


def _collapse(r: TrainResult, verbose: bool) -> list[Fact]:
    rows: list[Fact] = [*_form(r, "gnc1")]
    if r.gnc2 is not None:
        remark = f"at most {r.gnc2.upper:.6f}" if r.gnc2.width > 1e-6 else "certified"
        rows.append(
            ("GNC2", proved(r.gnc2, 6), remark if math.isfinite(r.gnc2.upper) else "", "gnc2")
        )
    if r.gnc2_reference is not None and r.gnc2_ratio is not None:
        known = f"{r.gnc2_reference.value:.6f}"
        source = reference_text(r.gnc2_reference, None if verbose else 40)
        if verbose:
            rows.append(("  reference", known, source, "gnc2_reference"))
        ratio = at_least(r.gnc2, r.gnc2_ratio, f"{r.gnc2_ratio:.4f}", 4)
        of = "GNC2 / reference" if verbose else f"of {known}, {source}"
        rows.append(("  ratio", ratio, of, "gnc2_ratio"))
    rows += _form(r, "gnc3")
    for of, key in (("training set", "ncc_accuracy"), ("test set", "test_ncc_accuracy")):
        if (value := getattr(r, key)) is not None and verbose:
            remark = f"{of}, by the means of the training set"
            rows.append(("NCC accuracy", _share(value) or "", remark, key))
    return rows


def _form(r: TrainResult, name: str) -> list[Fact]:
    """GNC1 or GNC3 in the form that means something."""
    key = r.forms[name]
    if (value := getattr(r, key)) is None:
        return []
    return [(NAMES[key], figure(value, 4), _course(r.history, key, value), key)]


def _course(history: Sequence[EpochRow], key: str, last: float) -> str:
    """`from 0.261 after epoch 1: 73 times less`."""
    measured = [(row.epoch, getattr(row, key)) for row in history]
    measured = [(epoch, value) for epoch, value in measured if value is not None]
    if len(measured) < 2:
        return "0 when collapsed"
    epoch, first = measured[0]
    course = f"from {figure(first, 3)} after epoch {epoch}"
    return course if last <= 0.0 or first <= 0.0 else f"{course}: {_change(first, last)}"


def _change(first: float, last: float) -> str:
    """How much less or more, rounded down, so that what is shown was reached.

    >>> _change(0.953, 0.91), _change(0.9, 0.6), _change(0.1, 0.15), _change(0.261, 0.00355)
    ('unchanged', '33 % less', '50 % more', '73 times less')
    """
    factor = max(first / last, last / first)
    way = "less" if last < first else "more"
    if factor < 1.1:
        return "unchanged"
    if factor < 2.0:
        return f"{math.floor(100.0 * abs(last / first - 1.0) + 1e-9)} % {way}"
    unit = 10.0 ** (math.floor(math.log10(factor)) - 1)
    return f"{math.floor(factor / unit + 1e-9) * unit:.6g} times {way}"


def _epochs(r: TrainResult) -> Table:
    """The measured epochs: the first, the last, and some between them."""
    ones, threes = (r.forms[name] for name in ("gnc1", "gnc3"))
    rows = [row for row in r.history if row.train_accuracy is not None]
    if len(rows) > _MOST_EPOCHS:
        places = (round(i * (len(rows) - 1) / (_MOST_EPOCHS - 1)) for i in range(_MOST_EPOCHS))
        rows = [rows[place] for place in places]
    cells = [
        (
            str(row.epoch),
            f"{row.loss:.4g}",
            _share(row.train_accuracy),
            _share(row.test_accuracy),
            _share(row.ood_accuracy),
            figure(getattr(row, ones), 4),
            None if row.gnc2 is None else proved(row.gnc2, 6),
            figure(getattr(row, threes), 4),
            _share(row.ncc_accuracy),
        )
        for row in rows
    ]
    headings = (
        "epoch",
        "loss",
        "training",
        "test",
        "OOD",
        NAMES[ones],
        "GNC2",
        NAMES[threes],
        "NCC",
    )
    return Table("Epochs", headings, cells)


def _ran(r: TrainResult, *, whole: bool, notes: Sequence[Cell] = ()) -> Table:
    """What ran; of a run in a series (not `whole`) what it shares with the others."""
    rows = [
        ("data", _data(r.data)),
        ("network", _network(r)),
        ("head", _head(r.head, None if whole else "all")),
        ("saved", _saved(r.head)),
        ("recipe", _recipe(r)),
        ("time", _speed(r) if whole else ""),
        ("run folder", r.run if whole else ""),
    ]
    cells = [(Styled(name, "bold"), text) for name, text in rows if text]
    return Table("", ("", ""), cells, notes=notes, text=frozenset({0, 1}))


def _series(series: TrainSeries) -> Table:
    last = series.rows[-1] if series.rows else None
    ones, threes = (FORMS if last is None else last.forms).values()
    rows = [
        (
            r.run,
            " ".join(map(str, r.head.permutation or ())),
            _share(r.test_accuracy),
            _share(r.train_accuracy),
            _share(r.ood_accuracy),
            figure(getattr(r, ones), 3),
            figure(getattr(r, threes), 3),
            _share(r.ncc_accuracy),
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
    advice = "" if not r.advice else f": {r.advice.removeprefix(f'{r.outcome}, ')}"
    return (_outcome(r.outcome), after + advice)


def _data(data: dict[str, Any]) -> str:
    """`100 classes; images: 900 training, 300 test; 32 x 32, 1 channel`."""
    parts = [f"{count(data['classes'])} classes"] if data.get("classes") else []
    fifth = str(data.get("split", "")).startswith("each fifth")
    test = "test (each fifth of a class)" if fifth else "test"
    kinds = (("training", "train_images"), (test, "test_images"), ("OOD", "ood_images"))
    images = [f"{count(data[key])} {name}" for name, key in kinds if data.get(key)]
    if images:
        none = "" if data.get("test_images") else ", no test set"
        parts.append(f"images: {', '.join(images)}{none}")
    if data.get("image_size"):
        channels = f", {plural(data['channels'], 'channel')}" if data.get("channels") else ""
        parts.append(f"{data['image_size']} x {data['image_size']}{channels}")
    return "; ".join(parts)


def _network(r: TrainResult) -> str:
    """The network with its width where it is unusual, and its parameters."""
    width = f", width {r.recipe['width']:g}" if r.recipe.get("width") not in (None, 1) else ""
    return f"{r.model}{width}, {count(r.head.encoder_parameters)} parameters"


def _head(head: HeadFacts, assignment: str | None) -> str:
    """What the classifier is, its loss, and how classes were placed on it."""
    kind = _HEADS[head.kind]
    kind += "" if head.beta is None else f", beta {head.beta:g}"
    kind += "" if head.code is None else f": {head.code}"
    parts = [kind]
    assignment = assignment or head.assignment
    if assignment not in (None, "identity"):
        parts.append(f"classes placed: {assignment}")
    if head.constraint == "sphere":  # hardmax is of the cosines: it has no temperature
        parts.append("on the sphere" + ("" if head.loss == "hardmax" else f", tau {head.tau:g}"))
    else:
        parts.append("free lengths, weight decay")
    margin = "" if head.margin is None else f" with margin {head.margin:.4g}"
    if head.margin_source not in (None, "given"):
        margin += f", the largest of {head.margin_source}"
    return "; ".join([*parts, f"loss {head.loss}{margin}"])


def _saved(head: HeadFacts) -> str:
    """The parameters that a head saves; empty where it saves none."""
    if not head.saved_share:
        return ""
    saved = f"{count(head.head_parameters)} of the head need no gradient and no optimizer state"
    return f"{saved}: {100.0 * head.saved_share:.2g} % of all parameters"


def _recipe(r: TrainResult) -> str:
    """Optimizer, schedule, batch, precision and seed as they were; last the preset."""
    recipe = r.recipe
    momentum = f", momentum {recipe['momentum']:g}" if recipe.get("momentum") else ""
    steps = f"{recipe['optimizer']}{momentum}, lr {recipe['lr']:g}, {recipe['schedule']}"
    if recipe.get("milestones"):
        steps += f" {', '.join(map(str, recipe['milestones']))} x 0.1"
    steps += f", warm-up {recipe['warmup']:g}" if recipe.get("warmup") else ""
    steps += f", weight decay {recipe['weight_decay']:g}"
    parts = [steps, f"batches of {count(recipe['batch_size'])}, {recipe['precision']}"]
    parts += [f"seed {r.seed}"]
    parts += [f"started from {recipe['start']}"] if recipe.get("start") else []
    parts += [f"preset {recipe['preset']}"] if recipe.get("preset") else []
    return "; ".join(parts)


def _speed(r: TrainResult) -> str:
    """Epochs, their seconds in all sessions of the run, speed, measuring, and where it ran."""
    parts = [f"{plural(r.epochs, 'epoch')} in {duration(_spent(r))}"]
    if r.images_per_second:
        parts.append(f"{count(round(r.images_per_second))} images/s")
    parts.append(f"measuring {100.0 * r.measure_share:.2g} %")
    parts.append(r.device if r.processes == 1 else f"{r.processes} processes on {r.device}")
    return ", ".join(parts)


def _spent(r: TrainResult) -> float:
    """Seconds of all sessions of the run."""
    return sum(row.seconds + row.measure_seconds for row in r.history)


def _share(value: float | None) -> str | None:
    """Four decimals, more where only the whole would be 1."""
    if value is None:
        return None
    text = f"{value:.4f}"
    return text if value == 1.0 or float(text) < 1.0 else share(value)
