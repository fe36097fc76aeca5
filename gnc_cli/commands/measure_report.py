"""A measurement for a pull request: the numbers that count, the worst classes, what was done."""

from collections.abc import Sequence
from typing import Any

from gnc_cli.commands.markdown import Cell, markdown_table
from gnc_cli.commands.measure_words import class_name, policy_text, reference_text
from gnc_cli.results.lines import flat_row

__all__ = ["measure_markdown"]

_ROW = (
    "file", "snapshot", "epoch", "step", "layer", "split", "N", "d", "K", "gnc1", "gnc2.lower",
    "gnc2.upper", "gnc2_ratio", "gnc3", "ncc_accuracy", "ncc_leave_one_out", "accuracy",
    "ncc_agreement",
)  # fmt: skip
"""Columns of several rows."""
_ASIDE = ("version", "gnc2_reference", "policy", "attrs", "seconds", "warnings", "out")
_CLASS = (
    "one_vs_rest.lower", "nearest", "nearest_cosine", "count", "spread", "accuracy", "min_margin",
)  # fmt: skip


def measure_markdown(result: dict[str, Any], cell: Cell) -> list[str]:
    """Lines of markdown below the heading and the gates.

    Args:
        result: a measure's JSON.
        cell: a value as a cell of a table.
    """
    rows = result.get("rows", [result])
    flat = [flat_row(row) for row in rows]
    if "rows" in result:
        lines = markdown_table(flat, _ROW, cell) + _groups(result, cell)
    else:
        kept = {k: v for k, v in flat[0].items() if k.split(".")[0] not in _ASIDE}
        lines = ["| key | value |", "|---|---|"]
        lines += [f"| `{k}` | {cell(v)} |" for k, v in kept.items() if v is not None]
        lines += _worst(result["worst_classes"], cell)
    notes = dict.fromkeys(f"**warning**: {w}" for row in rows for w in row["warnings"])
    references = [r["gnc2_reference"] for r in rows if r["gnc2_reference"] is not None]
    notes |= dict.fromkeys(
        f"reference {cell(r['value'])}, {reference_text(r, verbose=True)}" for r in references
    )
    notes |= dict.fromkeys(f"policy: {policy_text(row['policy'])}" for row in rows)
    for note in notes:
        lines += ["", cell(note)]
    return lines




def _groups(result: dict[str, Any], cell: Cell) -> list[str]:
    if not result["groups"]:
        return []
    rows = []
    for group in result["groups"]:
        row = flat_row(group["attrs"]) | {k: group[k] for k in _ROW if k in group}
        row["rows"] = group["count"]
        for key, mean in group["mean"].items():
            deviation = group["deviation"].get(key)
            spread = "" if deviation is None else f" ± {deviation:.2g}"
            row[key] = None if mean is None else f"{mean:.6g}{spread}"
        rows.append(row)
    attrs = list(dict.fromkeys(name for group in result["groups"] for name in group["attrs"]))
    names = [*attrs, *_ROW[:6], "rows", *_ROW[9:]]
    head = f"mean ± deviation over `{result['group']}`:"
    return ["", head, "", *markdown_table(rows, names, cell)]


def _worst(classes: Sequence[dict[str, Any]], cell: Cell) -> list[str]:
    if not classes:
        return []
    rows = [
        flat_row(c) | {
            "class": class_name(c["label"], c["name"]),
            "nearest": class_name(c["nearest"], c["nearest_name"]),
        }
        for c in classes
    ]  # fmt: skip
    head = "classes nearest to the hull of the others:"
    return ["", head, "", *markdown_table(rows, ("class", *_CLASS), cell)]
