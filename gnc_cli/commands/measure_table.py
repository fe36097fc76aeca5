"""The tables that `gnc measure` shows to a person: one result as a sheet, several a line each."""

from collections.abc import Callable
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from gnc_cli.commands.compare_words import count, small
from gnc_cli.commands.measure_sheet import measure_sheet
from gnc_cli.commands.measure_words import place_text, policy_text, reference_text
from gnc_cli.commands.solve_table import bracket_value

__all__ = ["measure_table"]

_Column = tuple[str, str, Callable[[dict[str, Any]], str]]
_FIGURES: tuple[_Column, ...] = (
    ("GNC1", "gnc1", lambda r: small(r["gnc1"])),
    ("GNC2", "gnc2", lambda r: bracket_value(r["gnc2"], 6)),
    ("ratio", "gnc2_ratio", lambda r: f"{r['gnc2_ratio']:.4f}"),
    ("GNC3", "gnc3", lambda r: small(r["gnc3"])),
    ("NCC", "ncc_accuracy", lambda r: f"{r['ncc_accuracy']:.4f}"),
    ("accuracy", "accuracy", lambda r: f"{r['accuracy']:.4f}"),
)
_PLACES = ("snapshot", "epoch", "step", "layer", "split")
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
    columns: list[_Column] = []
    for key in ("file", "snapshot"):
        if len({r[key] for r in rows}) > 1:
            columns.append((key, key, lambda r, key=key: str(r[key])))  # type: ignore[misc]
    columns += [(k, k, lambda r, k=k: _word(r[k])) for k in _PLACES if k != "snapshot"]  # type: ignore[misc]
    sizes = {(r["d"], r["K"]) for r in rows}
    if len(sizes) > 1:
        columns += [(key, key, lambda r, key=key: count(r[key])) for key in ("d", "K")]  # type: ignore[misc]
    columns += [("N", "N", lambda r: count(r["N"])), *_FIGURES]
    return _table(rows, columns)


def _groups(result: dict[str, Any]) -> list[RenderableType]:
    groups = result["groups"]
    # What all groups share says nothing about any.
    names = list(dict.fromkeys(name for g in groups for name in g["attrs"]))
    differ = [n for n in names if len({str(g["attrs"].get(n)) for g in groups}) > 1]
    columns: list[_Column] = [
        (n, "attrs", lambda g, n=n: _word(g["attrs"].get(n, "-"))) for n in differ  # type: ignore[misc]
    ]
    columns += [(key, key, lambda g, key=key: _word(g[key])) for key in _PLACES]  # type: ignore[misc]
    columns.append(("rows", "count", lambda g: str(g["count"])))
    for name, key in _GROUPED.items():
        if any(g["mean"].get(key) is not None for g in groups):
            columns.append((name, "count", lambda g, key=key: _spread(g, key)))  # type: ignore[misc]
    title = Text.assemble(("groups", "bold"), f": mean +- deviation over {result['group']}")
    return [title, _table(groups, columns)]


def _table(rows: list[dict[str, Any]], columns: list[_Column]) -> RenderableType:
    """Without the columns that no row has."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    shown = [c for c in columns if any(r[c[1]] is not None for r in rows)]
    for name, key, _ in shown:
        words = key in ("file", "snapshot", "layer", "split")
        table.add_column(name, justify="left" if words else "right", no_wrap=not words,
                         overflow="fold")  # fmt: skip
    for r in rows:
        table.add_row(*("-" if r[key] is None else text(r) for _, key, text in shown))
    return table


def _word(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _spread(group: dict[str, Any], key: str) -> str:
    mean, deviation = group["mean"].get(key), group["deviation"].get(key)
    if mean is None:
        return "-"
    digits = ".3g" if key in ("gnc1", "gnc3") else ".4f"
    return f"{mean:{digits}}" + ("" if deviation is None else f" +- {deviation:.2g}")


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
