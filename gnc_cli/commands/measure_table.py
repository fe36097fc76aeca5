"""The tables that `gnc measure` shows to a person: one result as a sheet, several a line each."""

from collections.abc import Callable
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from gnc_cli.commands.fitted_table import Column, FittedTable
from gnc_cli.commands.measure_sheet import measure_sheet
from gnc_cli.commands.measure_words import (
    at_least,
    place_text,
    policy_text,
    proved,
    reference_text,
)
from gnc_cli.results.figures import count

__all__ = ["measure_table"]

_Cell = Callable[[dict[str, Any]], str]
_Column = tuple[str, str, _Cell]
"""Heading, the key that must not be null, and what is printed."""


def _figure(key: str, form: str) -> _Cell:
    return lambda r: f"{r[key]:{form}}"


_FIGURES: tuple[_Column, ...] = (
    ("GNC1", "gnc1", _figure("gnc1", ".3g")),
    ("GNC2", "gnc2", lambda r: proved(r["gnc2"], 6)),
    ("ratio", "gnc2_ratio", lambda r: _ratio(r["gnc2"], r["gnc2_ratio"])),
    ("GNC3", "gnc3", _figure("gnc3", ".3g")),
    ("NCC", "ncc_accuracy", _figure("ncc_accuracy", ".4f")),
    ("accuracy", "accuracy", _figure("accuracy", ".4f")),
)
_PLACES = ("epoch", "step", "layer", "split")
_SPARE = ("GNC3", "rows", "K", "d", "NCC", "ratio", "accuracy", "N")
"""Columns that go where the room is small, the last of these first."""
_GROUPED = {
    "GNC1": "gnc1", "GNC2": "gnc2.lower", "GNC3": "gnc3", "NCC": "ncc_accuracy",
    "accuracy": "accuracy",
}  # fmt: skip


def measure_table(result: dict[str, Any], verbose: bool = False) -> RenderableType:
    """Draw a measure's JSON.

    Args:
        result: `MeasureResult.to_json()` or `MeasureSeries.to_json()`.
        verbose: whole sources and the JSON keys, which are also the names of gates.
    """
    if "rows" not in result:
        return Group(*measure_sheet(result, verbose))
    rows = result["rows"]
    files = {r["file"] for r in rows}
    one = f"   {files.pop() or 'arrays'}" if len(files) == 1 else ""
    known = f", {result['skipped']} of them measured before" if result["skipped"] else ""
    title = Text.assemble(
        ("Collapse", "bold"), f"{one}   {len(rows)} row{'' if len(rows) == 1 else 's'}{known}"
    )
    parts: list[RenderableType] = [title, ""]
    if rows:
        parts += [_rows(rows), ""]
    if result["groups"]:
        parts += [*_groups(result), ""]
    parts += [*_references(rows, verbose), *_policies(rows)]
    if result["out"]:
        parts.append(Text.assemble(("written  ", "bold"), str(result["out"])))
    return Group(*parts)


def _rows(rows: list[dict[str, Any]]) -> RenderableType:
    named = [k for k in ("file", "snapshot") if len({r[k] for r in rows}) > 1]
    columns = [(k, k, _word(k)) for k in (*named, *_PLACES)]
    if len({(r["d"], r["K"]) for r in rows}) > 1:
        columns += [(k, k, _count(k)) for k in ("d", "K")]
    return _table(rows, [*columns, ("N", "N", _count("N")), *_FIGURES])


def _groups(result: dict[str, Any]) -> list[RenderableType]:
    groups = result["groups"]
    # What all groups share says nothing about any.
    names = dict.fromkeys(name for g in groups for name in g["attrs"])
    differ = [n for n in names if len({str(g["attrs"].get(n)) for g in groups}) > 1]
    columns: list[_Column] = [(n, "attrs", _attribute(n)) for n in differ]
    # Snapshots are mostly named for their epoch.
    named = () if all(g["epoch"] is not None for g in groups) else ("snapshot",)
    columns += [(k, k, _word(k)) for k in (*named, *_PLACES)]
    columns.append(("rows", "count", _count("count")))
    for name, key in _GROUPED.items():
        if any(g["mean"].get(key) is not None for g in groups):
            columns.append((name, "count", _spread(key)))
    title = Text.assemble(("groups", "bold"), f": mean ± deviation over {result['group']}")
    return [title, _table(groups, columns)]


def _table(rows: list[dict[str, Any]], columns: list[_Column]) -> RenderableType:
    """Without the columns that no row has."""
    return FittedTable([
        Column(name, ["-" if r[key] is None else text(r) for r in rows],
               name=key in ("file", "snapshot", "layer", "split"),
               spare=_SPARE.index(name) + 1 if name in _SPARE and key != "attrs" else 0)
        for name, key, text in columns if any(r[key] is not None for r in rows)
    ])  # fmt: skip


def _ratio(bracket: dict[str, Any], ratio: float) -> str:
    return at_least(bracket, ratio, f"{ratio:.4f}", 4)


def _word(key: str) -> _Cell:
    return lambda r: _said(r[key])


def _attribute(name: str) -> _Cell:
    return lambda g: _said(g["attrs"].get(name, "-"))


def _count(key: str) -> _Cell:
    return lambda r: count(r[key])


def _said(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _spread(key: str) -> _Cell:
    form = ".3g" if key in ("gnc1", "gnc3") else ".4f"

    def cell(group: dict[str, Any]) -> str:
        mean, deviation = group["mean"].get(key), group["deviation"].get(key)
        if mean is None:
            return "-"
        return f"{mean:{form}}" + ("" if deviation is None else f" ±{deviation:.1g}")

    return cell


def _references(rows: list[dict[str, Any]], verbose: bool) -> list[RenderableType]:
    found: dict[str, list[dict[str, Any]]] = {}
    for r in rows:
        if r["gnc2_reference"] is not None:
            said = reference_text(r["gnc2_reference"], verbose)
            found.setdefault(f"{r['gnc2_reference']['value']:.9f} {said}", []).append(r)
    one = len(found) == 1
    return [
        Text.assemble(("reference", "bold"), f": {said}", "" if one else f" ({_which(some)})")
        for said, some in found.items()
    ]


def _policies(rows: list[dict[str, Any]]) -> list[RenderableType]:
    found: dict[str, list[dict[str, Any]]] = {}
    for r in rows:
        found.setdefault(policy_text(r["policy"]), []).append(r)
    one = len(found) == 1
    return [
        Text(f"policy: {said}" + ("" if one else f" ({_which(some)})"), "dim")
        for said, some in found.items()
    ]


def _which(rows: list[dict[str, Any]]) -> str:
    names = [r["snapshot"] or place_text(r) or str(r["file"]) for r in rows]
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
