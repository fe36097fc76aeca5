"""One table for every command: for a terminal (rich), for Markdown, for a notebook.

A view (`view.py` of each command) turns a record into a list of tables; nothing else formats.
"""

import io
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TextIO

from gnc_cli.escaping import in_html, in_markdown, visible

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


_STRIP = 32
"""Letters that a column of remarks has at least, where it is not all shorter."""
_WORD = 8
"""Letters that a column of words has at least, where it is not all shorter."""
_MANY = 200
"""Rows from which on a table is aligned by hand."""


@dataclass(frozen=True)
class Table:
    """Rows under headings, with a title above and notes below."""

    title: str = ""
    columns: Sequence[str] = ()
    """Headings; all empty: none is shown. A column whose cells are all empty is left out."""
    rows: Sequence[Sequence[Cell]] = ()
    sentences: Sequence[Cell] = ()
    """What is answered in words, below the rows."""
    notes: Sequence[Cell] = ()
    """What is said beside the answer, below it; `-q` leaves it out."""
    text: frozenset[int] = field(default_factory=frozenset)
    """Columns of words, by place: on the left, wrapped at spaces. Figures stand on the right."""
    keys: int | None = None
    """The column of the keys of the JSON, which reports leave out."""
    remarks: int | None = None
    """The column of remarks, which stand below their rows where there is no room beside them."""
    unwrapped: bool = False
    """A line for each row, as long as it must be."""

    def html(self) -> str:
        """The table in a notebook, without the keys of the JSON."""
        places, rows = self.shown(keys=False)
        lines = [[f"<td>{in_html(_joined(cell))}</td>" for cell in row] for row in rows]
        if any(self.columns):
            lines.insert(0, [f"<th>{in_html(self.columns[place])}</th>" for place in places])
        body = "".join(f"<tr>{''.join(line)}</tr>" for line in lines)
        title = f"<p><b>{in_html(self.title)}</b></p>" if self.title else ""
        said = [f"<p>{in_html(_joined(text))}</p>" for text in (*self.sentences, *self.notes)]
        return "".join([title, f"<table>{body}</table>" if body else "", *said])

    def shown(self, keys: bool = True) -> tuple[list[int], list[list[Cell]]]:
        """The places of the columns that hold anything, and the rows in these columns."""
        places = [
            i
            for i in range(len(self.columns))
            if any(row[i] for row in self.rows) and (keys or i != self.keys)
        ]
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
    text = frozenset(range(4))
    return Table(title, ("", "", "", ""), cells, notes=notes, text=text, keys=3, remarks=2)


def printed(tables: Sequence[Table], stream: TextIO | None) -> str:
    """The tables as text: in a terminal's width and colours, elsewhere as wide as they need."""
    from rich.console import Console, Group

    terminal = stream is not None and stream.isatty()
    drawing = io.StringIO()
    console = Console(
        file=drawing, force_terminal=terminal or None, highlight=False, markup=False, emoji=False
    )
    width = console.width if terminal or "COLUMNS" in os.environ else 100
    parts: list[Any] = []
    for table in tables:
        drawn = _drawn(table, width)
        parts += [*([""] if parts and drawn else []), *drawn]
    console.width = 10_000
    # Words wrap, figures never: a table that needs more than a line has is as wide as it must be.
    console.width = max(width, console.measure(Group(*parts)).minimum)
    console.print(Group(*parts), crop=False)
    # rich pads the last column; nobody wants that in a log.
    return "".join(f"{line.rstrip()}\n" for line in drawing.getvalue().splitlines())


def _drawn(table: Table, width: int) -> list["RenderableType"]:
    from rich.table import Table as RichTable

    parts: list[RenderableType] = []
    if table.title:
        parts += [_rich(table.title, "bold"), ""]
    places, rows = table.shown()
    if len(rows) > _MANY or (rows and table.unwrapped):
        parts += _aligned(table, places, rows)
    elif rows and _squeezed(table, places, rows, width):
        parts += _stacked(table, places, rows)
    elif rows:
        headed = any(table.columns)
        grid = RichTable(
            box=None, pad_edge=False, show_header=headed, header_style="bold", padding=(0, 2, 0, 0)
        )
        for place, column in zip(places, zip(*rows, strict=True), strict=True):
            words = place in table.text
            whole = not words or place == min(table.text)
            # No column is so narrow that its heading or figures break.
            longest = max(len(_plain(cell)) for cell in (table.columns[place], *column))
            grid.add_column(
                _rich(table.columns[place]),
                justify="left" if words else "right",
                overflow="fold",
                # Names and figures keep their letters; what is wide and made of words may wrap.
                no_wrap=whole,
                min_width=longest if whole else min(longest, _WORD),
            )
        for row in rows:
            grid.add_row(*(_rich(cell) for cell in row))
        parts.append(grid)
    for said in (table.sentences, table.notes):
        parts += [*([""] if said and parts and parts[-1] != "" else []), *map(_rich, said)]
    return parts


def _squeezed(
    table: Table, places: Sequence[int], rows: Sequence[Sequence[Cell]], width: int
) -> bool:
    """Whether beside the other columns there is no room for the remarks."""
    if table.remarks not in places:
        return False
    columns = [table.columns[place] for place in places], *rows
    widths = [
        max(len(_plain(cell)) + 2 for cell in column) for column in zip(*columns, strict=True)
    ]
    longest = widths.pop(places.index(table.remarks)) - 2
    return min(longest, _STRIP) > width - sum(widths)


def _stacked(table: Table, places: Sequence[int], rows: Sequence[Sequence[Cell]]) -> list[Any]:
    """The rows by hand, each with its remark below it."""
    from rich.padding import Padding
    from rich.text import Text

    at = places.index(table.remarks or 0)
    heads: list[Cell] = [Styled(table.columns[place], "bold") for place in places]
    lines = [heads, *rows] if any(table.columns) else [*rows]
    widths = [max(len(_plain(cell)) for cell in column) for column in zip(*lines, strict=True)]
    parts: list[Any] = []
    for line in lines:
        text = Text()
        for column, (cell, wide) in enumerate(zip(line, widths, strict=True)):
            if column != at:
                blank = " " * (wide - len(_plain(cell)))
                left = places[column] in table.text
                text += Text.assemble(*([_rich(cell), blank] if left else [blank, _rich(cell)]))
                text += Text("  ")
        parts.append(text)
        if _plain(line[at]):
            parts.append(Padding(_rich(line[at]), (0, 0, 0, 4)))
    return parts


def _aligned(table: Table, places: Sequence[int], rows: Sequence[Sequence[Cell]]) -> list[Any]:
    """The same by hand, unwrapped and without colours: rich takes a second for a thousand rows."""
    from rich.text import Text

    heads = [table.columns[place] for place in places]
    lines = [map(_plain, row) for row in (heads, *rows)]
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
    return Text.assemble(*((visible(p), getattr(p, "style", style)) for p in pieces))


def markdown(tables: Sequence[Table]) -> list[str]:
    """The tables as lines of Markdown, without the title of the first and the keys of the JSON."""
    lines: list[str] = []
    for at, table in enumerate(tables):
        if table.title and at:
            lines += ["", f"**{in_markdown(table.title)}**"]
        places, rows = table.shown(keys=False)
        if rows:
            heads: list[Cell] = [table.columns[place] or " " for place in places]
            head, *body = (
                "| " + " | ".join(in_markdown(_joined(cell)) for cell in row) + " |"
                for row in [heads, *rows]
            )
            lines += ["", head, "|" + "---|" * len(places), *body]
        for text in (*table.sentences, *table.notes):
            lines += ["", in_markdown(_joined(text))]
    return lines


def _joined(cell: Cell) -> str:
    return cell if isinstance(cell, str) else "".join(cell or ())


def _plain(cell: Cell) -> str:
    return visible(_joined(cell))
