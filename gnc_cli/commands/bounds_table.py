"""The tables that `gnc bounds` shows to a person: one pair, many, dimensions, numbers of points."""

import math
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from gnc_cli.commands.bounds_answers import classes_answer, dimension_answer
from gnc_cli.commands.bounds_listing import (
    Entry,
    Listing,
    command_lines,
    keyed,
    shared_source,
    title,
)
from gnc_cli.commands.bounds_words import ONE_VS_ONE, asked_of, interval_text, scale_text, verdict
from gnc_cli.commands.fitted_table import Column, FittedTable
from gnc_cli.results.figures import cosine, count, plain_number, points, rounded, scaled

__all__ = ["bounds_table", "row_order"]

_COLOURS = {"exists": "bold green", "excluded": "bold red", "open": "bold yellow"}


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
        return Group(*_pair(result, result["best"][0], verbose))
    return Group(*_sweep(result, verbose))


def row_order(row: dict[str, Any]) -> tuple[bool, bool, bool, float]:
    """Sorts the rows of one (d, K): what is proved first, lower bounds before upper ones, those
    that hold before those that do not, and the best first."""
    value = math.inf if row["value"] is None else row["value"]
    upper = row["side"] == "upper"
    return not row["proven"], upper, not row["valid"], value if upper else -value


def _pair(result: dict[str, Any], best: dict[str, Any], verbose: bool) -> list[RenderableType]:
    single = best["quantity"] == ONE_VS_ONE
    parts: list[RenderableType] = [
        title("Bounds", f"d = {count(best['d'])}, K = {points(best['K'])}"), "",
        keyed(Text(interval_text(best), "bold"), "best.0", verbose),
        Text(f"  from below: {best['lower_name']}; from above: {best['upper_name']}"),
    ]  # fmt: skip
    if single and best["lower_deg"] is not None:
        low = rounded(best["lower_deg"], up=False, digits=10)
        high = rounded(best["upper_deg"], up=True, digits=10)
        # Closed forms and proved optima are a point.
        same = best["upper_deg"] - best["lower_deg"] <= 1e-9
        angles = f"{best['lower_deg']:.10g}" if same else f"{low} to {high}"
        parts.append(Text(f"  its smallest angle: {angles} degrees"))
    if best["conjectured"] is not None:
        parts.append(Text(f"  with rho* = 1 - t*: {_conjectured(best)}"))
    if best["status"] is not None:
        parts.append(keyed(_verdict(result, best), "best.0.status", verbose))
    if best["scale"] is not None:
        where = f"at rho = {rounded(best['lower'], up=False, digits=6)}"
        said = Text(scale_text(best["scale"], result["probability"], where))
        parts.append(keyed(said, "best.0.scale", verbose))
    keys = {id(row): f"rows.{i}" for i, row in enumerate(result["rows"])}
    rows = sorted(result["rows"], key=row_order)
    shared = shared_source(rows)
    entries = []
    for before, row in zip([None, *rows], rows, strict=False):
        cells = [row["side"], row["name"], _value(row)]
        if single:
            # A lower bound on the cosine is an upper one on the angle.
            cells.append(rounded(row["angle_deg"], up=row["side"] == "lower", digits=10))
        cells += [keys[id(row)]] if verbose else []
        aside = before is not None and before["proven"] != row["proven"]
        apart = aside or (before is not None and before["side"] != row["side"])
        style = "" if row["valid"] else "dim"
        entries.append(Entry(tuple(cells), _remark(row, shared), style, apart))
    headings = ["side", "bound", "largest cosine" if single else "value"]
    headings += (["degrees"] if single else []) + (["key"] if verbose else [])
    parts += ["", Listing(tuple(headings), "source", entries, verbose)]
    parts += [Text(f"conjectural: {shared[:-2]}", "dim")] if shared else []
    return parts + command_lines([r for r in rows if r["valid"]])


def _value(row: dict[str, Any]) -> str:
    up = row["side"] == "upper"
    return (cosine if row["quantity"] == ONE_VS_ONE else rounded)(row["value"], up)


def _remark(row: dict[str, Any], shared: str) -> str:
    parts = [] if row["proven"] else ["conjectural"]
    if not row["valid"]:
        failed = f"does not hold: {row['condition']}" if row["condition"] else "does not hold here"
        return "; ".join([*parts, failed])
    parts += [f"holds: {row['condition']}"] if row["condition"] else []
    source = row["source"] if row["proven"] else row["source"].removeprefix(shared)
    return "; ".join([*parts, source])


def _conjectured(best: dict[str, Any]) -> str:
    if best["quantity"] == ONE_VS_ONE:
        return f"t >= {cosine(best['conjectured'], up=False)}"
    return f"rho* <= {rounded(best['conjectured'], up=True)}"


def _verdict(result: dict[str, Any], best: dict[str, Any]) -> Text:
    status = best["status"]
    by = {
        "exists": f" ({_exists(best)})", "excluded": f" ({_excludes(best)})",
        "open": ": no such code is known, and none is excluded",
    }[status]  # fmt: skip
    if status == "open" and best["conjectured"] is not None and result["margin"] is not None:
        if best["conjectured"] < result["margin"]:
            by += "; with rho* = 1 - t*, no code exists"
    said = (verdict(status), _COLOURS[status])
    return Text.assemble((asked_of(result) or "margin", "bold"), ": ", said, by)


def _exists(best: dict[str, Any]) -> str:
    return str(best["upper_name" if best["quantity"] == ONE_VS_ONE else "lower_name"])


def _excludes(best: dict[str, Any]) -> str:
    return str(best["lower_name" if best["quantity"] == ONE_VS_ONE else "upper_name"])


def _sweep(result: dict[str, Any], verbose: bool) -> list[RenderableType]:
    best = result["best"]
    single = result["quantity"] == ONE_VS_ONE
    digits = 12 if verbose else 8
    show = cosine if single else rounded
    columns = [
        Column("d", [count(b["d"]) for b in best]),
        Column("K", [points(b["K"]) for b in best]),
        Column("lower", [show(b["lower"], False, digits) for b in best]),
        Column("by", [b["lower_name"] for b in best], name=True, spare=4),
        Column("upper", [show(b["upper"], True, digits) for b in best]),
        Column("by", [b["upper_name"] for b in best], name=True, spare=3),
    ]
    if single:
        for end, up in (("lower_deg", False), ("upper_deg", True)):
            cells = [rounded(b[end], up, digits) for b in best]
            columns.append(Column(end.replace("_deg", " degrees"), cells, spare=5))
    if any(b["conjectured"] is not None for b in best):
        cells = [show(b["conjectured"], not single, digits) for b in best]
        columns.append(Column("conjectured", cells, spare=2))
    if verbose:
        columns.append(Column("key", [f"best.{i}" for i in range(len(best))], spare=6))
    asked = asked_of(result)
    if asked is not None:
        columns.append(Column(asked, [verdict(b["status"]) for b in best]))
    if any(b["scale"] is not None for b in best):
        columns.append(Column("scale", [scaled(b["scale"]) for b in best], spare=1))
    what = "largest cosine of the best code" if single else "one-vs-rest distance of the best code"
    parts: list[RenderableType] = [title("Bounds", f"{what}, {len(best)} pairs of d and K"), ""]
    parts.append(FittedTable(columns))
    if result["probability"] is not None and any(b["scale"] is not None for b in best):
        p = plain_number(result["probability"])
        said = f"scale: s = 1/tau that brings every softmax probability to {p} at the lower end"
        parts += ["", Text(said, "dim")]
    return parts
