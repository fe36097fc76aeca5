"""The tables that `gnc bounds` shows to a person: one pair, many, dimensions, numbers of points."""

from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from gnc_cli.commands.bounds_answers import classes_answer, dimension_answer
from gnc_cli.commands.bounds_listing import title
from gnc_cli.commands.bounds_pair import pair_answer
from gnc_cli.commands.bounds_words import HINT, ONE_VS_ONE, asked_of, end, wanted
from gnc_cli.commands.fitted_table import Column, FittedTable
from gnc_cli.results.figures import count, plain_number, points, rounded, scaled

__all__ = ["bounds_table"]

_YES_NO = {"exists": "yes", "excluded": "no", "open": "open"}


def bounds_table(result: dict[str, Any], verbose: bool = False) -> RenderableType:
    """Draw the JSON of bounds.

    Args:
        result: `BoundsResult.to_json()`.
        verbose: all bounds of every K or d asked, and the JSON keys.
    """
    if result["dimension"] is not None:
        return Group(*dimension_answer(result, result["dimension"], verbose))
    if result["classes"] is not None:
        return Group(*classes_answer(result, result["classes"], verbose))
    if len(result["best"]) == 1:
        return Group(*pair_answer(result, result["best"][0], verbose))
    return Group(*_sweep(result, verbose))


def _sweep(result: dict[str, Any], verbose: bool) -> list[RenderableType]:
    best = result["best"]
    single = result["quantity"] == ONE_VS_ONE
    digits = 12 if verbose else 8
    columns = [
        Column("d", [count(b["d"]) for b in best]),
        Column("K", [points(b["K"]) for b in best]),
        Column("lower", [end(b, "lower", digits) for b in best]),
        Column("by", [b["lower_name"] for b in best], name=True, spare=4),
        Column("upper", [end(b, "upper", digits) for b in best]),
        Column("by", [b["upper_name"] for b in best], name=True, spare=3),
    ]
    if single:
        for key, up in (("lower_deg", False), ("upper_deg", True)):
            cells = [rounded(b[key], up, digits) for b in best]
            columns.append(Column(key.replace("_deg", " degrees"), cells, spare=5))
    if any(b["exact"] for b in best):
        columns.append(Column("exact", ["yes" if b["exact"] else "" for b in best], spare=2))
    if verbose:
        columns.append(Column("key", [f"best.{i}" for i in range(len(best))], spare=6))
    asked = any(b["status"] is not None for b in best)
    if asked:
        columns.append(Column("exists?", [_YES_NO.get(b["status"], "-") for b in best]))
    if any(b["scale"] is not None for b in best):
        columns.append(Column("scale", [scaled(b["scale"]) for b in best], spare=1))
    what = "largest cosine of the best code" if single else "one-vs-rest distance of the best code"
    facts = f"{what}, {len(best)} pairs of d and K" + (f"; {wanted(result)}" if asked else "")
    parts: list[RenderableType] = [title("Bounds", facts), "", FittedTable(columns, HINT)]
    if result["probability"] is not None and any(b["scale"] is not None for b in best):
        p = plain_number(result["probability"])
        where = f"at {asked_of(result)}" if asked else "for the best code known"
        said = f"scale: s = 1/tau that brings every softmax probability to {p} {where}"
        parts += ["", Text(said, "dim")]
    return parts
