"""The tables that `gnc bounds` shows to a person: one pair, many, dimensions, numbers of points."""

import math
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from gnc_cli.commands.bounds_listing import Entry, Listing, Sentence, command_lines
from gnc_cli.commands.bounds_words import (
    ONE_VS_ONE,
    asked_text,
    classes_text,
    cosine,
    dimension_text,
    interval_text,
    plain_number,
    points,
    rounded,
    scale_text,
    scaled,
    verdict,
)
from gnc_cli.commands.compare_words import count
from gnc_cli.commands.fitted_table import Column, FittedTable

__all__ = ["bounds_table", "row_order"]

_COLOURS = {"exists": "bold green", "excluded": "bold red", "open": "bold yellow"}
_FEW = 4
"""So many K or d are shown with every bound; more with --verbose."""


def bounds_table(result: dict[str, Any], verbose: bool = False) -> RenderableType:
    """Draw the JSON of bounds.

    Args:
        result: `BoundsResult.to_json()`.
        verbose: all bounds of every K or d asked, and the JSON keys.
    """
    if result["dimension"] is not None:
        return Group(*_dimensions(result, result["dimension"], verbose))
    if result["classes"] is not None:
        return Group(*_classes(result, result["classes"], verbose))
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
        _title("Bounds", f"d = {count(best['d'])}, K = {points(best['K'])}"), "",
        _keyed(Text(interval_text(best), "bold"), "best.0", verbose),
        Text(f"  from below: {best['lower_name']}; from above: {best['upper_name']}"),
    ]  # fmt: skip
    if single and best["lower_deg"] is not None:
        low = rounded(best["lower_deg"], up=False, digits=10)
        high = rounded(best["upper_deg"], up=True, digits=10)
        parts.append(Text(f"  its smallest angle: {low} to {high} degrees"))
    if best["conjectured"] is not None:
        parts.append(Text(f"  if the paper's conjecture holds: {_conjectured(best)}"))
    if best["status"] is not None:
        parts.append(_keyed(_verdict(result, best), "best.0.status", verbose))
    if best["scale"] is not None:
        where = f"at rho = {rounded(best['lower'], up=False, digits=6)}"
        said = Text(scale_text(best["scale"], result["probability"], where))
        parts.append(_keyed(said, "best.0.scale", verbose))
    keys = {id(row): f"rows.{i}" for i, row in enumerate(result["rows"])}
    rows = sorted(result["rows"], key=row_order)
    entries = []
    for before, row in zip([None, *rows], rows, strict=False):
        cells = [row["side"], row["name"], _value(row)]
        if single:
            # A lower bound on the cosine is an upper one on the angle.
            cells.append(rounded(row["angle_deg"], up=row["side"] == "lower", digits=10))
        cells += [keys[id(row)]] if verbose else []
        aside = before is not None and before["proven"] != row["proven"]
        apart = aside or (before is not None and before["side"] != row["side"])
        entries.append(Entry(tuple(cells), _remark(row), "" if row["valid"] else "dim", apart))
    headings = ["side", "bound", "largest cosine" if single else "value"]
    headings += (["degrees"] if single else []) + (["key"] if verbose else [])
    parts += ["", Listing(tuple(headings), "source", entries)]
    return parts + _commands([r for r in rows if r["valid"]])


def _value(row: dict[str, Any]) -> str:
    up = row["side"] == "upper"
    return (cosine if row["quantity"] == ONE_VS_ONE else rounded)(row["value"], up)


def _remark(row: dict[str, Any]) -> str:
    said = row["source"] if row["proven"] else f"conjectural; {row['source']}"
    if not row["valid"]:
        failed = f"does not hold: {row['condition']}" if row["condition"] else "does not hold here"
        return failed if row["proven"] else f"conjectural; {failed}"
    return f"{said}; holds: {row['condition']}" if row["condition"] else said


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
            by += "; if the paper's conjecture holds, no code exists"
    said = (verdict(status), _COLOURS[status])
    return Text.assemble((asked_text(result) or "margin", "bold"), ": ", said, by)


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
    asked = asked_text(result)
    if asked is not None:
        columns.append(Column(asked, [verdict(b["status"]) for b in best]))
    if any(b["scale"] is not None for b in best):
        columns.append(Column("scale", [scaled(b["scale"]) for b in best], spare=1))
    what = "largest cosine of the best code" if single else "one-vs-rest distance of the best code"
    parts: list[RenderableType] = [_title("Bounds", f"{what}, {len(best)} pairs of d and K"), ""]
    parts.append(FittedTable(columns))
    if result["probability"] is not None and any(b["scale"] is not None for b in best):
        p = plain_number(result["probability"])
        said = f"scale: s = 1/tau that brings every softmax probability to {p} at the lower end"
        parts += ["", Text(said, "dim")]
    return parts


def _dimensions(
    result: dict[str, Any], answer: dict[str, Any], verbose: bool
) -> list[RenderableType]:
    asked, best = asked_text(result) or "margin", answer["best"]
    many = len(best) > 1
    parts: list[RenderableType] = [_title(f"Dimensions for a {_asked_of(asked)}"), ""]
    if many:
        parts.append(FittedTable([
            Column("K", [points(b["K"]) for b in best]),
            Column("a code exists from d", [_known(b["sufficient"], "none known") for b in best]),
            Column("no code exists below d", [_known(b["necessary"], "every d") for b in best]),
        ]))  # fmt: skip
    else:
        said = Text(dimension_text(best[0], asked), "bold")
        parts.append(_keyed(said, "dimension.best.0", verbose))
    parts += _scale(result, answer, "for the largest K" if many else "", verbose, "dimension")

    def what(row: dict[str, Any]) -> tuple[str, str]:
        d, ending = row["d"], row["ending"]
        if row["exists"]:
            none = "never, by this bound" if ending == "never" else "not up to 10^6"
            return "exists from", none if d is None else count(d)
        if d is None:
            return "excluded in", "every d" if ending == "never" else "every d up to 10^6"
        return ("excluded below", count(d)) if d > 2 else ("excludes", "nothing")

    def order(row: dict[str, Any]) -> tuple[Any, ...]:
        d = math.inf if row["d"] is None else row["d"]
        return row["K"], not row["proven"], not row["exists"], d if row["exists"] else -d

    return parts + _listed(answer, "K", "d", what, order, verbose, "dimension")


def _classes(
    result: dict[str, Any], answer: dict[str, Any], verbose: bool
) -> list[RenderableType]:
    asked, best = asked_text(result) or "margin", answer["best"]
    many = len(best) > 1
    parts: list[RenderableType] = [_title(f"Points with a {_asked_of(asked)}"), ""]
    if many:
        most = [points(b["guaranteed"], b["log10_guaranteed"]) for b in best]
        least = [points(b["excluded"], b["log10_excluded"], up=True) for b in best]
        most, least = (["none known" if c == "-" else c for c in cells] for cells in (most, least))
        parts.append(FittedTable([
            Column("d", [count(b["d"]) for b in best]),
            Column("a code exists up to K", most),
            Column("no code exists from K", least),
        ]))  # fmt: skip
    else:
        said = Text(classes_text(best[0], asked), "bold")
        parts.append(_keyed(said, "classes.best.0", verbose))
    parts += _scale(result, answer, "", verbose, "classes")

    def what(row: dict[str, Any]) -> tuple[str, str]:
        exists = row["exists"]
        if row["log10_K"] is None:
            return "guarantees" if exists else "excludes", "nothing"
        said = points(row["K"], row["log10_K"], up=not exists)
        return "exists up to" if exists else "excluded from", said

    def order(row: dict[str, Any]) -> tuple[Any, ...]:
        exists, log10 = row["exists"], row["log10_K"]
        by = math.inf if log10 is None else -log10 if exists else log10
        return row["d"], not row["proven"], not exists, by

    return parts + _listed(answer, "d", "K", what, order, verbose, "classes")


def _listed(
    answer: dict[str, Any], of: str, sought: str, what: Any, order: Any, verbose: bool, key: str
) -> list[RenderableType]:
    """Every bound of a dimension or classes answer, and what builds the codes."""
    many = len(answer["best"]) > 1
    if len(answer["best"]) > _FEW and not verbose:
        return ["", Text("every bound: -v, --json or --csv", "dim")]
    keys = {id(row): f"{key}.rows.{i}" for i, row in enumerate(answer["rows"])}
    rows = sorted(answer["rows"], key=order)
    entries = []
    for before, row in zip([None, *rows], rows, strict=False):
        cells = [points(row[of])] if many else []
        cells += [row["name"], *what(row)] + ([keys[id(row)]] if verbose else [])
        apart = before is not None and any(
            before[k] != row[k] for k in (of, "proven", "exists")
        )
        source = row["source"] if row["proven"] else f"conjectural; {row['source']}"
        entries.append(Entry(tuple(cells), source, "", apart))
    headings = [of] if many else []
    headings += ["bound", "codes", sought] + (["key"] if verbose else [])
    return ["", Listing(tuple(headings), "source", entries), *_commands(rows)]


def _known(d: int | None, none: str) -> str:
    return none if d is None else count(d)


def _asked_of(asked: str) -> str:
    word, _, value = asked.rpartition(" ")
    return f"{word} of {value}"


def _scale(
    result: dict[str, Any], answer: dict[str, Any], where: str, verbose: bool, key: str
) -> list[RenderableType]:
    if answer["scale"] is None:
        return []
    place = " ".join(part for part in (f"at {asked_text(result)}", where) if part)
    said = Text(scale_text(answer["scale"], result["probability"], place))
    return [_keyed(said, f"{key}.scale", verbose)]


def _commands(rows: list[dict[str, Any]]) -> list[RenderableType]:
    lines = command_lines([(row["name"], row["how"]) for row in rows if row["how"]])
    return ["", *lines] if lines else []


def _keyed(said: Text, key: str, verbose: bool) -> Sentence:
    return Sentence(Text.assemble(said, (f"   {key}", "cyan")) if verbose else said)


def _title(name: str, facts: str = "") -> Text:
    return Text.assemble((name, "bold"), f"   {facts}" if facts else "")
