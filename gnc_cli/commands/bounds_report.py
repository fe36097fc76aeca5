"""Bounds for a pull request, and as samples for a dashboard."""

from collections.abc import Sequence
from typing import Any

from gnc_cli.commands.bounds_table import row_order
from gnc_cli.commands.bounds_words import (
    ONE_VS_ONE,
    asked_of,
    classes_text,
    dimension_text,
    interval_text,
    verdict,
)
from gnc_cli.commands.markdown import Cell, markdown_table
from gnc_cli.results.figures import plain_number, points, scaled

__all__ = ["bounds_lines", "bounds_markdown"]

_BEST = {
    "best": ("d", "K", "lower", "lower_name", "upper", "upper_name", "lower_deg", "upper_deg",
             "conjectured", "status", "scale"),
    "dimension": ("K", "sufficient", "necessary", "conjectured"),
    "classes": ("d", "guaranteed", "log10_guaranteed", "excluded", "log10_excluded", "conjectured",
                "log10_conjectured"),
}  # fmt: skip
_ROW = {
    "best": ("side", "name", "value", "angle_deg", "proven", "valid", "condition", "source"),
    "dimension": ("K", "name", "exists", "d", "ending", "proven", "source"),
    "classes": ("d", "name", "exists", "K", "log10_K", "proven", "source"),
}  # fmt: skip


def bounds_lines(result: dict[str, Any]) -> list[dict[str, Any]]:
    """What a dashboard samples: the best of each pair, K or d, then each bound that holds.

    What was asked for stands under `d` and `K`, which label; what was found under names of its own.

    Args:
        result: `BoundsResult.to_json()`.
    """
    head = {"command": result["command"]}
    if result["dimension"] is not None:
        best, rows = (result["dimension"][k] for k in ("best", "rows"))
        found = [_kept(r, ("K", "name", "side")) | {"smallest_d": r["d"]} for r in rows]
    elif result["classes"] is not None:
        best, rows = (result["classes"][k] for k in ("best", "rows"))
        most = ("largest_K" if r["exists"] else "excluded_K" for r in rows)
        named = [_kept(r, ("d", "name", "side", "log10_K")) for r in rows]
        found = [n | {k: r["K"]} for n, r, k in zip(named, rows, most, strict=True)]
    else:
        best, rows = result["best"], result["rows"]
        keys = ("d", "K", "name", "side", "value", "angle_deg")
        found = [_kept(r, keys) for r in rows if r["valid"]]
    return [head | row for row in [*best, *found]]


def _kept(row: dict[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    return {k: row[k] for k in keys}


def bounds_markdown(result: dict[str, Any], cell: Cell) -> list[str]:
    """Lines of markdown below the heading.

    Args:
        result: `BoundsResult.to_json()`.
        cell: a value as a cell of a table.
    """
    kind = next((k for k in ("dimension", "classes") if result[k] is not None), "best")
    answer = result if kind == "best" else result[kind]
    best, rows = answer["best"], answer["rows"]
    asked = asked_of(result) or "margin"
    lines = []
    if len(best) > 1:
        lines += markdown_table([_named(b) for b in best], _BEST[kind], cell)
    elif kind == "best":
        lines.append(f"**{cell(interval_text(best[0]))}**")
        lines += _remarks(result, best[0], cell)
        rows = sorted(rows, key=row_order)
    else:
        text = {"dimension": dimension_text, "classes": classes_text}[kind]
        lines.append(f"**{cell(text(best[0], asked))}**")
    if kind != "best" and answer["scale"] is not None:
        lines += ["", _scale(answer["scale"], result)]
    # A sweep's rows are for programs.
    if len(best) == 1 or kind != "best":
        lines += ["", *markdown_table([_named(r) for r in rows], _ROW[kind], cell)]
        commands = dict.fromkeys(r["how"] for r in rows if r["how"])
        if commands:
            lines += ["", "```", *commands, "```"]
    return lines


def _remarks(result: dict[str, Any], best: dict[str, Any], cell: Cell) -> list[str]:
    lines = ["", f"from below: {best['lower_name']}; from above: {best['upper_name']}"]
    if best["lower_deg"] is not None and best["quantity"] == ONE_VS_ONE:
        degrees = f"{cell(best['lower_deg'])} to {cell(best['upper_deg'])}"
        lines += ["", f"smallest angle: {degrees} degrees"]
    if best["conjectured"] is not None:
        lines += ["", f"with rho* = 1 - t*: {cell(best['conjectured'])}"]
    if best["status"] is not None:
        lines += ["", f"{asked_of(result)}: **{verdict(best['status'])}**"]
    if best["scale"] is not None:
        lines += ["", _scale(best["scale"], result)]
    return lines


def _scale(scale: float, result: dict[str, Any]) -> str:
    p = plain_number(result["probability"])
    return f"scale s = 1/tau ≥ {scaled(scale)} brings every softmax probability to {p}"


def _named(row: dict[str, Any]) -> dict[str, Any]:
    """Numbers of points as people write them, verdicts and truths as words."""
    words = {True: "yes", False: "no"}
    said: dict[str, Any] = {
        k: words[v] if isinstance(v, bool) else v for k, v in row.items()
    }
    said |= {k: points(said[k]) for k in ("K", "guaranteed", "excluded") if said.get(k)}
    if said.get("status"):
        said["status"] = verdict(said["status"])
    return said
