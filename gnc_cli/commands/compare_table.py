"""The tables that `gnc compare` shows to a person: one code, several, the list."""

from pathlib import PurePath
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from gnc_cli.commands.compare_sheet import compare_sheet
from gnc_cli.commands.compare_words import (
    number,
    small,
    stamp_text,
    status_text,
    verdict_text,
)
from gnc_cli.results.figures import count

__all__ = ["compare_table"]

_FIGURE, _SOURCE = 22, 36
"""Letters of a figure and of its source that fit into a line."""


def compare_table(
    result: dict[str, Any], verbose: bool = False, mode: str = "files"
) -> RenderableType:
    """Draw a compare's JSON.

    Args:
        result: `CompareResult.to_json()`.
        verbose: degrees, whole sources, and the JSON keys, which are also the names of gates.
        mode: `files`, `list` or `solve`.
    """
    rows = result["rows"]
    if mode == "files" and len(rows) == 1:
        return Group(*compare_sheet(rows[0], result["table"], verbose))
    draw = _list if mode == "list" else _several
    parts: list[RenderableType] = [_title(result, mode), ""]
    if rows:
        parts += [draw(rows, verbose), ""]
    if mode in ("files", "solve"):
        parts += _endings(rows)
    return Group(*parts, stamp_text(result["table"]))


def _several(rows: list[dict[str, Any]], verbose: bool) -> RenderableType:
    table = _table()
    files = any(r["file"] for r in rows)
    if files:
        table.add_column("file", overflow="fold")
    for name in ("d", "K", "max_cosine", "best known", "gap"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("status", no_wrap=True)
    for name in ("rattlers", "contacts", *(("degrees",) if verbose else ())):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("congruent to" if files else "found by", overflow="fold")
    if not files:
        table.add_column("s", justify="right", no_wrap=True)
    for r in rows:
        cells: list[str | Text] = [r["file"] or "-"] if files else []
        cells += [
            str(r["d"]), str(r["K"]), number(r["max_cosine"], 10), number(r["best_known"], 10),
            small(r["gap"]), status_text(r["status"]), _rattlers(r["rattlers"]),
            count(r["contacts"]),
        ]  # fmt: skip
        if verbose:
            angle = r.get("min_angle_deg")
            cells.append("-" if angle is None else f"{angle:.8f}")
        origin = (r.get("origin") or "-").removeprefix("closed form: ")
        cells.append((r["congruent_to"] or "-") if files else origin)
        if not files:
            cells.append(small(r["seconds"]))
        table.add_row(*cells)
    return table


def _list(rows: list[dict[str, Any]], verbose: bool) -> RenderableType:
    """Aligned by hand: a table of rich takes a second for a thousand rows."""
    words = {True: "yes", False: "no", None: "-"}
    cells = [("d", "K", "best known", "proven", "rattlers", "contacts", "source")]
    for r in rows:
        figure, source = r["figure"], r["source"]
        if not verbose:
            figure = figure[:_FIGURE]
            source = source if len(source) <= _SOURCE else f"{source[: _SOURCE - 1]}…"
        cells.append((
            str(r["d"]), str(r["K"]), figure, words[r["proven"]], _rattlers(r["rattlers"]),
            count(r["contacts"]), source,
        ))  # fmt: skip
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    left = (3, 6)
    lines = [
        "  ".join(
            cell.ljust(width) if at in left else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
    head = Text(lines[0], style="bold", no_wrap=True, overflow="ignore")
    body = Text("\n".join(lines[1:]), no_wrap=not verbose, overflow="fold" if verbose else "ignore")
    return Group(head, body)


def _endings(rows: list[dict[str, Any]]) -> list[RenderableType]:
    """A line for each status that calls for one; an improvement has a line of its own."""
    lines: list[RenderableType] = []
    for status in ("improves", "worse", "no_entry"):
        some = [r for r in rows if r["status"] == status]
        pairs = ", ".join(f"({r['d']}, {r['K']})" for r in some[:8]) + (
            f" and {len(some) - 8} more" if len(some) > 8 else ""
        )
        if status == "improves":
            for r in some:
                name = r["file"] or f"d = {r['d']}, K = {r['K']}"
                said = r.get("advice") or "below the best known cosine, proved in rational numbers"
                lines.append(Text.assemble(verdict_text(r), f": {name}: {said}"))
        elif some:
            said = {
                "worse": "a better code is known for",
                "no_entry": "the table has no entry for",
            }[status]
            lines.append(Text.assemble(status_text(status), f": {said} {pairs}"))
    for r in rows:
        digits = r.get("digits")
        if digits:
            proposal = f", root of {digits['polynomial']['text']}" if digits["polynomial"] else ""
            said = digits["cosine"] or f"none: {digits['advice']}"
            lines.append(Text.assemble(("digits", "bold"), f": {r['file']}: {said}{proposal}"))
    folders = dict.fromkeys(str(PurePath(f).parent) for r in rows for f in r.get("exported", ()))
    if folders:
        lines.append(Text.assemble(("exported", "bold"), f": {', '.join(folders)}"))
    sources: dict[str, list[str]] = {}
    for r in rows:
        if r["source"]:
            sources.setdefault(r["source"], []).append(f"({r['d']}, {r['K']})")
    for source, where in list(sources.items())[:8]:
        said = ", ".join(dict.fromkeys(where[:6])) + (" ..." if len(where) > 6 else "")
        lines.append(Text.assemble(("best known", "bold"), f": {source}: {said}"))
    return lines


def _title(result: dict[str, Any], mode: str) -> Text:
    rows = result["rows"]
    title = {
        "files": "Codes beside the known codes",
        "list": "Known codes",
        "solve": "Fresh solves beside the known codes",
    }[mode]
    count = f"{len(rows)} row{'' if len(rows) == 1 else 's'}"
    said = [f"{n} {s.replace('_', ' ')}" for s, n in result["counts"].items() if n]
    return Text.assemble((title, "bold"), f"   {', '.join([count, *said])}")


def _table() -> Table:
    return Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))


def _rattlers(free: dict[str, Any] | None) -> str:
    if free is None:
        return "-"
    one, rest = free["one_vs_one"], free["one_vs_rest"]
    return count(one) if rest in (None, one) else f"{count(one)}/{count(rest)}"
