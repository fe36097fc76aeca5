"""The table that `gnc train` shows to a person: what a run came to, then what ran."""

import math
from collections.abc import Callable
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from gnc_cli.commands.fitted_table import Column, FittedTable
from gnc_cli.commands.measure_words import at_least, figure, proved, reference_text, share
from gnc_cli.commands.sheet_lines import Line, sheet_lines
from gnc_cli.commands.train_words import (
    data_text,
    head_text,
    matched_text,
    network_text,
    recipe_text,
    saved_text,
    speed_text,
)

__all__ = ["train_table"]

_COLOURS = {"completed": "green", "time_limit": "yellow", "interrupted": "red"}


def train_table(body: dict[str, Any], verbose: bool = False) -> RenderableType:
    """Draw a run, or one for each placement of the classes, a line each.

    Args:
        body: `TrainResult.to_json()` or `TrainSeries.to_json()`.
        verbose: add the JSON keys, which are also the names that gates take.
    """
    return _series(body) if "rows" in body else _sheet(body, verbose)


def _sheet(r: dict[str, Any], verbose: bool) -> RenderableType:
    grid, line = sheet_lines(verbose)

    _shares(r, line)
    _collapse(r, line, verbose)
    ran = Table.grid(padding=(0, 2))
    ran.add_column(style="bold", no_wrap=True)
    ran.add_column(overflow="fold")
    for name, said in (
        ("data", data_text(r["data"])), ("network", network_text(r)), ("head", head_text(r)),
        ("saved", saved_text(r["head"])), ("recipe", recipe_text(r)), ("time", speed_text(r)),
        ("run folder", str(r["run"])),
    ):  # fmt: skip
        if said:
            ran.add_row(name, Text(said))
    size = f"   d = {r['d']}, K = {r['K']}" if "d" in r else ""
    if r.get("epoch", r["epochs"]) != r["epochs"]:
        size += f"   measured after epoch {r['epoch']:g}"
    title = Text.assemble((f"{r['data'].get('name', 'data')}: {r['model']}", "bold"), size)
    return Group(title, "", grid, "", ran, "", _ending(r))


def _shares(r: dict[str, Any], line: Line) -> None:
    best = r["best"]
    said = f"best {_four(best['accuracy'])} after epoch {best['epoch']}" if best else ""
    tested = r["test_accuracy"] is not None
    names = {
        "test_accuracy": ("test accuracy", said if tested else ""),
        "train_accuracy": ("training accuracy", "" if tested else said),
        "ood_accuracy": ("OOD accuracy", matched_text(r["data"])),
    }
    for key, (name, remark) in names.items():
        if r[key] is not None:
            line(name, _four(r[key]), remark, key)


def _collapse(r: dict[str, Any], line: Line, verbose: bool) -> None:
    for name, key in (("GNC1", "gnc1"), ("GNC3", "gnc3")):
        if r.get(key) is not None:
            line(name, figure(r[key], 4), _course(r["history"], key, r[key]), key)
        if key == "gnc1" and r.get("gnc2") is not None:
            _distance(r, line, verbose)
    names = {"ncc_accuracy": "training set", "test_ncc_accuracy": "test set"}
    for key, of in names.items():
        if r.get(key) is not None:
            line("NCC accuracy", _four(r[key]), f"{of}, by the means of the training set", key)


def _distance(r: dict[str, Any], line: Line, verbose: bool) -> None:
    rho, reference = r["gnc2"], r["gnc2_reference"]
    upper = "" if rho["upper"] is None else f"at most {rho['upper']:.6f}"
    wide = rho["upper"] is not None and rho["upper"] - rho["lower"] > 1e-6
    line("GNC2", proved(rho, 6), upper if wide else "certified", "gnc2")
    if reference is not None:
        line("  reference", f"{reference['value']:.6f}", reference_text(reference, verbose),
             "gnc2_reference")  # fmt: skip
        ratio = at_least(rho, r["gnc2_ratio"], f"{r['gnc2_ratio']:.4f}", 4)
        line("  ratio", ratio, "GNC2 / reference", "gnc2_ratio")


def _course(history: list[dict[str, Any]], key: str, last: float) -> str:
    """`from 0.261 after epoch 1: 73 times less`."""
    measured = [row for row in history if row[key] is not None]
    if len(measured) < 2:
        return "0 when collapsed"
    first = measured[0]
    said = f"from {figure(first[key], 3)} after epoch {first['epoch']}"
    if last <= 0.0 or first[key] <= 0.0:
        return said
    return f"{said}: {_change(first[key], last)}"


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


def _series(body: dict[str, Any]) -> RenderableType:
    rows = body["rows"]
    title = Text.assemble(
        ("Placements of the classes", "bold"), f"   {len(rows)} runs   {body['run']}"
    )
    shown: list[tuple[str, Callable[[dict[str, Any]], str], int]] = [
        ("test", lambda r: _four(r["test_accuracy"]), 0),
        ("training", lambda r: _four(r["train_accuracy"]), 1),
        ("OOD", lambda r: _four(r["ood_accuracy"]), 0),
        ("GNC1", lambda r: "-" if r.get("gnc1") is None else f"{r['gnc1']:.3g}", 3),
        ("GNC3", lambda r: "-" if r.get("gnc3") is None else f"{r['gnc3']:.3g}", 2),
        ("NCC", lambda r: _four(r.get("ncc_accuracy")), 4),
        ("s", lambda r: f"{r['seconds']:.3g}", 5),
    ]
    columns = [Column("run", [str(r["run"]) for r in rows], name=True)]
    columns.append(Column("rows of classes", [_placement(r) for r in rows], name=True))
    for name, text, spare in shown:
        cells = [text(r) for r in rows]
        if set(cells) != {"-"}:
            columns.append(Column(name, cells, spare=spare))
    parts: list[RenderableType] = [title, ""]
    if rows:
        parts += [FittedTable(columns, "see --json"), ""]
    outcome = body["outcome"]
    return Group(*parts, Text(outcome.replace("_", " "), f"bold {_COLOURS.get(outcome, 'red')}"))


def _placement(r: dict[str, Any]) -> str:
    permutation = r["head"]["permutation"]
    if permutation is None:
        return "-"
    return " ".join(map(str, permutation))


def _four(value: float | None) -> str:
    """Four decimals, more where only the whole would be 1."""
    if value is None:
        return "-"
    text = f"{value:.4f}"
    return text if value == 1.0 or float(text) < 1.0 else share(value)


def _ending(r: dict[str, Any]) -> Text:
    outcome = r["outcome"]
    text = Text(outcome.replace("_", " "), f"bold {_COLOURS.get(outcome, 'red')}")
    if r["epochs"] < r["epochs_asked"]:
        text.append(f" after {r['epochs']} of {r['epochs_asked']} epochs", "default")
    if r["advice"]:
        text.append(f": {r['advice'].removeprefix(f'{outcome}, ')}", "not bold default")
    return text
