"""A training run for a pull request: what it came to, what ran, how the epochs went."""

from typing import Any

from gnc_cli.commands.markdown import Cell, markdown_table
from gnc_cli.commands.measure_words import reference_text
from gnc_cli.commands.train_words import (
    data_text,
    head_text,
    network_text,
    recipe_text,
    saved_text,
    speed_text,
)
from gnc_cli.results.lines import flat_row

__all__ = ["train_markdown"]

_FIGURES = (
    "run", "outcome", "epochs", "epochs_asked", "test_accuracy", "train_accuracy", "ood_accuracy",
    "gnc1", "gnc2.lower", "gnc2.upper", "gnc2_ratio", "gnc3", "ncc_accuracy", "test_ncc_accuracy",
    "best.epoch", "best.accuracy", "loss", "seconds",
)  # fmt: skip
_EPOCH = (
    "epoch", "loss", "train_accuracy", "test_accuracy", "ood_accuracy", "gnc1", "gnc2.lower",
    "gnc3", "ncc_accuracy", "test_ncc_accuracy",
)  # fmt: skip
_MOST = 25
"""Epochs listed at most, spread over those that were measured."""


def train_markdown(result: dict[str, Any], cell: Cell) -> list[str]:
    """Lines of markdown below the heading and the gates.

    Args:
        result: `TrainResult.to_json()` or `TrainSeries.to_json()`.
        cell: a value as a cell of a table.
    """
    if "rows" in result:
        return _series(result, cell) + _ran(result["rows"][-1], cell, whole=False)
    figures = flat_row(result)
    lines = ["| key | value |", "|---|---|"]
    lines += [
        f"| `{k}` | {cell(figures[k])} |" for k in _FIGURES if figures.get(k) is not None
    ]
    lines += _ran(result, cell, whole=True)
    measured = [row for row in result["history"] if row["train_accuracy"] is not None]
    if len(measured) > 1:
        rows = [flat_row(row) for row in _spread(measured)]
        lines += ["", *markdown_table(rows, _EPOCH, cell)]
    if result["advice"]:
        lines += ["", f"**{result['outcome']}**: {cell(result['advice'])}"]
    return lines


def _series(result: dict[str, Any], cell: Cell) -> list[str]:
    rows = []
    for run in result["rows"]:
        placed = run["head"]["permutation"]
        rows.append(flat_row(run) | {"rows of classes": placed and " ".join(map(str, placed))})
    names = ("run", "rows of classes", *_FIGURES[1:])
    return markdown_table(rows, names, cell)


def _ran(r: dict[str, Any], cell: Cell, *, whole: bool) -> list[str]:
    """What ran; of a run in a series (not `whole`) what it shares with the others."""
    head = r["head"] if whole else r["head"] | {"assignment": "all"}
    said = [
        ("data", f"{r['data']['name']}: {data_text(r['data'])}"), ("network", network_text(r)),
        ("head", head_text(r | {"head": head})), ("saved", saved_text(head)),
        ("recipe", recipe_text(r)), ("time", speed_text(r) if whole else ""),
    ]  # fmt: skip
    reference = r.get("gnc2_reference")
    if reference is not None:
        text = f"{reference['value']:.6g}, {reference_text(reference, verbose=True)}"
        said.append(("reference of GNC2", text))
    return ["", *(f"- {name}: {cell(text)}" for name, text in said if text)]


def _spread(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first and the last, and some between them."""
    if len(rows) <= _MOST:
        return rows
    return [rows[round(i * (len(rows) - 1) / (_MOST - 1))] for i in range(_MOST)]

