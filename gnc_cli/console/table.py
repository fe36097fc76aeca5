"""One table for every command: for a terminal (rich), for Markdown, for a notebook.

A view (`view.py` of each command) turns a record into a list of tables; nothing else formats.
"""

import io
import itertools
import os
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TextIO

from gnc_cli.escaping import in_html, in_markdown, visible


class Styled(str):
    """A text with a style of rich's: `bold`, `dim`, `red`."""

    style: str

    def __new__(cls, text: str, style: str) -> "Styled":
        styled = super().__new__(cls, text)
        styled.style = style
        return styled


Cell = str | tuple[str, ...] | None
"""A text, or several that stand side by side, each of its own style. None is an empty cell."""
_Line = list[tuple[str, str]]
"""Texts, each with its style."""

_WORD = 8
"""Letters that a column of words has at least, where it is not all shorter."""
_MANY = 200
"""In tables of more rows no words are wrapped."""


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
    strip: int = 32
    """Letters that the column of remarks has at least, where it is not all shorter."""
    unwrapped: bool = False
    """A line for each row, as long as it must be."""

    def __str__(self) -> str:
        """The table as lines of text."""
        return printed((self,), None)

    def html(self) -> str:
        """The table in a notebook, without the keys of the JSON."""
        places, rows = self.shown(keys=False)
        lines = [[f"<td>{in_html(_joined(cell))}</td>" for cell in row] for row in rows]
        if any(self.columns):
            lines.insert(0, [f"<th>{in_html(self.columns[place])}</th>" for place in places])
        body = "".join(f"<tr>{''.join(line)}</tr>" for line in lines)
        title = f"<p><b>{in_html(self.title)}</b></p>" if self.title else ""
        texts = [f"<p>{in_html(_joined(text))}</p>" for text in (*self.sentences, *self.notes)]
        return "".join([title, f"<table>{body}</table>" if body else "", *texts])

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
    terminal = stream is not None and stream.isatty()
    width = _screen(stream if terminal else None)
    lines: list[_Line] = []
    for table in tables:
        drawn = _drawn(table, width)
        lines += [*([[]] if lines and drawn else []), *drawn]
    if terminal or os.environ.get("FORCE_COLOR"):
        texts = _coloured(lines)
    else:
        texts = ["".join(text for text, _ in line) for line in lines]
    return "".join(f"{text.rstrip()}\n" for text in texts)


def _screen(terminal: TextIO | None) -> int:
    """Columns of a terminal; of what is none 100."""
    if (columns := os.environ.get("COLUMNS", "")).isdigit() and int(columns):
        return int(columns)
    return 100 if terminal is None else os.get_terminal_size(terminal.fileno()).columns or 80


def _coloured(lines: Sequence[_Line]) -> list[str]:
    from rich.console import Console
    from rich.text import Text

    drawing = io.StringIO()
    console = Console(
        file=drawing, force_terminal=True, force_jupyter=False, width=10_000, _environ=os.environ
    )
    console.print(Text("\n").join(Text.assemble(*line) for line in lines), soft_wrap=True)
    return drawing.getvalue().splitlines()


def _drawn(table: Table, width: int) -> list[_Line]:
    lines: list[_Line] = []
    if table.title:
        lines += [*_wrapped(_pieces(table.title, "bold"), width), []]
    places, rows = table.shown()
    if rows:
        lines += _grid(table, places, rows, width)
    for texts in (table.sentences, table.notes):
        lines += [[]] if texts and lines and lines[-1] else []
        for text in texts:
            lines += _wrapped(_pieces(text), width)
    return lines


def _grid(
    table: Table, places: Sequence[int], rows: Sequence[Sequence[Cell]], width: int
) -> list[_Line]:
    """The rows: words wrap and remarks move below their rows where a line is too long; figures
    and names never do.
    """
    cells = [[_pieces(cell) for cell in row] for row in rows]
    if any(table.columns):
        cells.insert(0, [_pieces(table.columns[place], "bold") for place in places])
    columns = [*zip(*cells, strict=True)]
    widths = [max(map(_size, column)) for column in columns]
    wrapped = len(rows) <= _MANY and not table.unwrapped
    remarks = places.index(table.remarks or 0) if wrapped and table.remarks in places else None
    if remarks is not None:
        others = sum(widths) - widths[remarks] + 2 * (len(widths) - 1)
        if min(widths[remarks], table.strip) > width - others:
            widths[remarks] = 0
        else:
            remarks = None
    words = {
        at: max(_WORD, *(_size([piece]) for cell in columns[at] for piece in _tokens(cell)))
        for at, place in enumerate(places)
        if wrapped and at != remarks and place in table.text and place != min(table.text)
    }
    while sum(widths) + 2 * (len(widths) - 1) > width:
        widest = max(words, key=lambda at: widths[at] - words[at], default=-1)
        if widest < 0 or widths[widest] <= words[widest]:
            break
        widths[widest] -= 1
    lines: list[_Line] = []
    for row in cells:
        blocks = [
            _wrapped(cell, widths[at]) if at in words else [cell]
            for at, cell in enumerate(row)
            if at != remarks
        ]
        kept = [at for at in range(len(row)) if at != remarks]
        for parts in itertools.zip_longest(*blocks, fillvalue=[]):
            line: _Line = []
            for at, part in zip(kept, parts, strict=True):
                blank = (" " * (widths[at] - _size(part)), "")
                line += [*part, blank] if places[at] in table.text else [blank, *part]
                line.append(("  ", ""))
            lines.append(line)
        if remarks is not None and _size(row[remarks]):
            lines += [[("    ", ""), *line] for line in _wrapped(row[remarks], width - 4)]
    return lines


def _pieces(cell: Cell, style: str = "") -> _Line:
    parts = (cell,) if isinstance(cell, str) else cell or ()
    return [(visible(part), getattr(part, "style", style)) for part in parts]


def _size(line: _Line) -> int:
    """Columns of a terminal that a line takes."""
    text = "".join(text for text, _ in line)
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(unicodedata.combining(letter) > 0 for letter in text)


def _tokens(line: _Line) -> _Line:
    """Words, and the spaces between them."""
    return [(word, style) for text, style in line for word in re.findall(r"\s+|\S+", text)]


def _wrapped(line: _Line, width: int) -> list[_Line]:
    """A line in lines of at most `width` columns, broken at spaces, words whole."""
    if _size(line) <= width:
        return [line]
    lines: list[_Line] = [[]]
    for word in _tokens(line):
        if _size([*lines[-1], word]) > width and lines[-1] and lines[-1][-1][0].isspace():
            lines[-1].pop()
            lines.append([])
        if lines[-1] or len(lines) == 1 or not word[0].isspace():
            lines[-1].append(word)
    runs = (itertools.groupby(words, key=lambda word: word[1]) for words in lines)
    return [[("".join(word for word, _ in run), style) for style, run in row] for row in runs]


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
