"""Bounds for a pull request."""

from collections.abc import Sequence
from typing import Any

from gnc_cli.commands.bounds_build import command_cost
from gnc_cli.commands.bounds_listing import bisector_note
from gnc_cli.commands.bounds_pair import (
    pair_built,
    row_degrees,
    row_order,
    row_remark,
    row_value,
)
from gnc_cli.commands.bounds_said import CLASSES, DIMENSION, FEW, Asking
from gnc_cli.commands.bounds_words import (
    ONE_VS_ONE,
    angle_text,
    answer_title,
    asked_of,
    classes_text,
    dimension_text,
    end,
    interval_text,
    verdict,
    wanted,
)
from gnc_cli.commands.markdown import Cell, markdown_table
from gnc_cli.results.figures import count, plain_number, points, rounded, scaled

__all__ = ["bounds_markdown", "bounds_title"]

_Row = dict[str, Any]


def bounds_title(result: dict[str, Any]) -> str:
    """What was asked, in words: `d = 10, K = 100, margin 0.6`."""
    if result["dimension"] is not None or result["classes"] is not None:
        said = answer_title(result)
        return said[0].lower() + said[1:]
    best = result["best"]
    pair = f"{len(best)} pairs of d and K"
    if len(best) == 1:
        pair = f"d = {count(best[0]['d'])}, K = {points(best[0]['K'])}"
    asked = asked_of(result)
    return pair if asked is None else f"{pair}, {asked}"


def bounds_markdown(result: dict[str, Any], cell: Cell) -> list[str]:
    """Lines of markdown below the heading; figures are rounded to the safe side.

    Args:
        result: `BoundsResult.to_json()`.
        cell: a value as a cell of a table.
    """
    if result["dimension"] is not None:
        return _answer(result, DIMENSION, cell)
    if result["classes"] is not None:
        return _answer(result, CLASSES, cell)
    if len(result["best"]) == 1:
        return _pair(result, result["best"][0], cell)
    rows = [_pair_cells(best) for best in result["best"]]
    return markdown_table(rows, list(rows[0]), cell)  # a sweep's bounds are for programs


def _pair(result: dict[str, Any], best: _Row, cell: Cell) -> list[str]:
    lines = [f"**{cell(interval_text(best))}**", ""]
    lines += [f"from below: {best['lower_name']}; from above: {best['upper_name']}"]
    single = best["quantity"] == ONE_VS_ONE
    if single:
        lines += ["", f"smallest angle: {angle_text(best)}"]
    if best["status"] is not None:
        lines += ["", f"{asked_of(result)}: **{verdict(best['status'])}**"]
    if best["scale"] is not None:
        lines += ["", _scale(best["scale"], result)]
    rows = sorted(result["rows"], key=row_order)
    cells = [
        {"side": row["side"], "bound": row["name"],
         "largest cosine" if single else "value": row_value(row),
         "degrees": row_degrees(row) if single else None, "source": row_remark(row)}
        for row in rows
    ]  # fmt: skip
    lines += _grouped(cells, [row["side"] for row in rows], cell) + _note(rows)
    return lines + _commands(pair_built(rows))


def _pair_cells(best: _Row) -> _Row:
    cells = {
        "d": count(best["d"]), "K": points(best["K"]), "lower": end(best, "lower"),
        "lower by": best["lower_name"], "upper": end(best, "upper"), "upper by": best["upper_name"],
    }  # fmt: skip
    if best["lower_deg"] is not None:
        cells["lower degrees"] = rounded(best["lower_deg"], up=False, digits=10)
        cells["upper degrees"] = rounded(best["upper_deg"], up=True, digits=10)
    status, scale = best["status"], best["scale"]
    cells["exact"] = "yes" if best["exact"] else None
    cells["status"] = None if status is None else verdict(status)
    cells["scale"] = None if scale is None else scaled(scale)
    return cells


def _answer(result: dict[str, Any], asking: Asking, cell: Cell) -> list[str]:
    answer = result[asking.key]
    best = answer["best"]
    if len(best) > 1:
        of_best = _dimension_cells if asking is DIMENSION else _classes_cells
        some = [of_best(b) for b in best]
        lines = markdown_table(some, list(some[0]), cell)
    else:
        text = dimension_text if asking is DIMENSION else classes_text
        lines = [f"**{cell(text(best[0], wanted(result)))}**"]
    if answer["scale"] is not None:
        lines += ["", _scale(answer["scale"], result)]
    if len(best) > FEW:
        return lines
    rows = asking.said(answer, whole=False).rows
    cells = []
    for row in rows:
        codes, figure = asking.words(row)
        cells.append({asking.of: points(row[asking.of]) if len(best) > 1 else None,
                      "bound": row["name"], "codes": codes,
                      asking.sought: figure, "source": row["source"]})  # fmt: skip
    groups = [(row[asking.of], row["exists"]) for row in rows]
    return lines + _grouped(cells, groups, cell) + _note(rows) + _commands(asking.built(rows))


def _dimension_cells(best: _Row) -> _Row:
    enough, least = best["sufficient"], best["necessary"]
    return {
        "K": points(best["K"]),
        "a code exists from d": "none known" if enough is None else count(enough),
        "no code exists below d": "every d" if least is None else count(least),
    }


def _classes_cells(best: _Row) -> _Row:
    def said(key: str, up: bool) -> str | None:
        return points(best[key], best[f"log10_{key}"], up)

    return {
        "d": count(best["d"]), "a code exists up to K": said("guaranteed", False),
        "no code exists from K": said("excluded", True),
    }  # fmt: skip


def _grouped(cells: Sequence[_Row], groups: Sequence[Any], cell: Cell) -> list[str]:
    """A table for each run of rows of one group."""
    lines: list[str] = []
    for at, group in enumerate(groups):
        if at == 0 or group != groups[at - 1]:
            ending = next((i for i in range(at, len(groups)) if groups[i] != group), len(groups))
            lines += ["", *markdown_table(cells[at:ending], list(cells[at]), cell)]
    return lines


def _note(rows: Sequence[_Row]) -> list[str]:
    return [line for note in bisector_note(rows) for line in ("", note)]


def _commands(rows: Sequence[_Row]) -> list[str]:
    costs = {row["how"]: command_cost(row["how"]) for row in rows if row["how"]}
    commands = [f"{how}  # {cost}" if cost else how for how, cost in costs.items()]
    return ["", "```", *commands, "```"] if commands else []


def _scale(scale: float, result: dict[str, Any]) -> str:
    p = plain_number(result["probability"])
    return f"scale s = 1/tau ≥ {scaled(scale)} brings every softmax probability to {p}"
