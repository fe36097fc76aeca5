"""One table for every command: for a terminal (rich), for Markdown, as CSV.

A view (`view.py` of each command) turns a record into a list of tables; nothing else formats.
"""

import csv
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import RenderableType


class Styled(str):
    """A text with a style of rich's: `bold`, `dim`, `red`."""

    style: str

    def __new__(cls, text: str, style: str) -> "Styled":
        styled = super().__new__(cls, text)
        styled.style = style
        return styled


Cell = str | tuple[str, ...] | None
"""A text, or several that stand side by side, each of its own style. None is an empty cell."""


_MANY = 200
"""Rows from which on a table is aligned by hand."""


@dataclass(frozen=True)
class Table:
    """Rows under headings, with a title above and notes below."""

    title: str = ""
    columns: Sequence[str] = ()
    """Headings; all empty: none is shown. A column whose cells are all empty is left out."""
    rows: Sequence[Sequence[Cell]] = ()
    notes: Sequence[Cell] = ()
    """Sentences below the rows."""
    text: frozenset[int] = field(default_factory=frozenset)
    """Columns of words, by place: on the left, wrapped at spaces. Figures stand on the right."""
    keys: int | None = None
    """The column of the keys of the JSON, which reports leave out."""
    unwrapped: bool = False
    """A line for each row, as long as it must be."""

    def shown(self, keys: bool = True) -> tuple[list[int], list[list[Cell]]]:
        """The places of the columns that hold anything, and the rows in these columns."""
        places = [
            i for i in range(len(self.columns))
            if any(row[i] for row in self.rows) and (keys or i != self.keys)
        ]  # fmt: skip
        return places, [[row[i] for i in places] for row in self.rows]


def facts(
    title: str,
    rows: Iterable[tuple[Any, ...]],
    notes: Sequence[Cell] = (),
    *,
    verbose: bool = False,
) -> Table:
    """A table of names, values and remarks without headings.

    Args:
        rows: `(name, value, remark)` or `(name, value, remark, key of the JSON)`.
        verbose: show the keys, which are also the names that gates take.
    """
    cells = [
        (Styled(name, "bold"), value, Styled(remark, "dim"), Styled(key, "cyan") if verbose else "")
        for name, value, remark, key in ((*row, "")[:4] for row in rows)
    ]
    return Table(title, ("", "", "", ""), cells, notes, frozenset(range(4)), keys=3)


def printed(tables: Sequence[Table], stream: TextIO | None) -> str:
    """The tables as text: in a terminal's width and colours, elsewhere as wide as they need."""
    from rich.console import Console, Group

    terminal = stream is not None and stream.isatty()
    drawing = io.StringIO()
    console = Console(
        file=drawing, force_terminal=terminal or None, highlight=False, markup=False, emoji=False
    )
    parts: list[Any] = []
    for table in tables:
        drawn = _drawn(table)
        parts += [*([""] if parts and drawn else []), *drawn]
    width = console.width if terminal or "COLUMNS" in os.environ else 100
    console.width = 10_000
    # Words wrap, figures never: a table that needs more than a line has is as wide as it must be.
    console.width = max(width, console.measure(Group(*parts)).minimum)
    console.print(Group(*parts), crop=False)
    # rich pads the last column; nobody wants that in a log.
    return "".join(f"{line.rstrip()}\n" for line in drawing.getvalue().splitlines())


def _drawn(table: Table) -> list["RenderableType"]:
    from rich.table import Table as RichTable

    parts: list[RenderableType] = []
    if table.title:
        parts += [_rich(table.title, "bold"), ""]
    places, rows = table.shown()
    if len(rows) > _MANY or (rows and table.unwrapped):
        parts += _aligned(table, places, rows)
    elif rows:
        headed = any(table.columns)
        grid = RichTable(
            box=None, pad_edge=False, show_header=headed, header_style="bold", padding=(0, 2, 0, 0)
        )
        for place in places:
            words = place in table.text
            grid.add_column(
                table.columns[place],
                justify="left" if words else "right",
                overflow="fold",
                # Names keep their letters; what is wide and made of words may wrap.
                no_wrap=not words or place == min(table.text),
            )
        for row in rows:
            grid.add_row(*(_rich(cell) for cell in row))
        parts.append(grid)
    if table.notes and rows:
        parts.append("")
    return parts + [_rich(note) for note in table.notes]


def _aligned(table: Table, places: Sequence[int], rows: Sequence[Sequence[Cell]]) -> list[Any]:
    """The same by hand, unwrapped and without colours: rich takes a second for a thousand rows."""
    from rich.text import Text

    lines = [[table.columns[place] for place in places], *(map(_plain, row) for row in rows)]
    columns = [list(column) for column in zip(*lines, strict=True)]
    for place, column in zip(places, columns, strict=True):
        width = max(map(len, column))
        pad = str.ljust if place in table.text else str.rjust
        column[:] = [pad(cell, width) for cell in column]
    head, *body = ("  ".join(cells).rstrip() for cells in zip(*columns, strict=True))
    unwrapped: dict[str, Any] = {"no_wrap": True, "overflow": "ignore"}
    return [Text(head, "bold", **unwrapped), Text("\n".join(body), **unwrapped)]


def _rich(cell: Cell, style: str = "") -> Any:
    from rich.text import Text

    pieces = (cell,) if isinstance(cell, str) else cell or ()
    return Text.assemble(*((str(p), getattr(p, "style", style)) for p in pieces))


def markdown(tables: Sequence[Table]) -> list[str]:
    """The tables as lines of Markdown, without the title of the first and the keys of the JSON."""
    lines: list[str] = []
    for at, table in enumerate(tables):
        if table.title and at:
            lines += ["", f"**{_plain(table.title)}**"]
        places, rows = table.shown(keys=False)
        if rows:
            heads = [table.columns[place] or " " for place in places]
            lines += ["", "| " + " | ".join(heads) + " |", "|" + "---|" * len(places)]
            lines += ["| " + " | ".join(_escaped(cell) for cell in row) + " |" for row in rows]
        for note in table.notes:
            lines += ["", _plain(note)]
    return lines


def _plain(cell: Cell) -> str:
    return cell if isinstance(cell, str) else "".join(cell or ())


def _escaped(cell: Cell) -> str:
    return " ".join(_plain(cell).split()).replace("|", "\\|")


def csv_text(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    """A header, then one line per row; null is an empty cell."""
    text = io.StringIO()
    writer = csv.DictWriter(text, names, restval="", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
