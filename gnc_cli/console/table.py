"""Tables of every command, in the formats of a terminal (rich), Markdown and a notebook.

A view (`view.py` of each command) turns a record into a list of tables; this file formats them.
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
    """A text with a style of rich: `bold`, `dim`, `red`."""

    style: str

    def __new__(cls, text: str, style: str) -> "Styled":
        """Return the text with its style."""
        styled = super().__new__(cls, text)
        styled.style = style
        return styled


Cell = str | tuple[str, ...] | None
"""A text, or consecutive texts of different styles. None is an empty cell."""
_Line = list[tuple[str, str]]
"""Texts, each with its style."""

_MIN_WIDTH = 8
"""Least width of a column of words, in letters, unless all its texts are shorter."""
_MAX_WRAPPED = 200
"""Largest number of rows of a table whose words are wrapped; longer tables are for tools."""


@dataclass(frozen=True)
class Table:
    """Rows under headings, with a title above and notes below."""

    title: str = ""
    columns: Sequence[str] = ()
    """Headings; no line is printed if all are empty. A column of empty cells is omitted."""
    rows: Sequence[Sequence[Cell]] = ()
    sentences: Sequence[Cell] = ()
    """Answers in words, below the rows."""
    notes: Sequence[Cell] = ()
    """Further remarks, below the answers; `-q` omits them."""
    text: frozenset[int] = field(default_factory=frozenset)
    """Indices of the columns of words: aligned left, wrapped at spaces. Numbers are aligned right.
    """
    keys: int | None = None
    """Index of the column of the keys of the JSON, which reports omit."""
    remarks: int | None = None
    """Index of the column of remarks, which stand below their rows if the line is too short."""
    strip: int = 32
    """Least width of the column of remarks, in letters, unless all remarks are shorter."""
    unwrapped: bool = False
    """True if each row is one line, of any length."""

    def __str__(self) -> str:
        """Return the table as lines of text."""
        return printed((self,), None)

    def html(self) -> str:
        """Return the table for a notebook, without the keys of the JSON."""
        places, rows = self.filled(keys=False)
        lines = [[f"<td>{in_html(_joined(cell))}</td>" for cell in row] for row in rows]
        if any(self.columns):
            lines.insert(0, [f"<th>{in_html(self.columns[place])}</th>" for place in places])
        body = "".join(f"<tr>{''.join(line)}</tr>" for line in lines)
        title = f"<p><b>{in_html(self.title)}</b></p>" if self.title else ""
        texts = [f"<p>{in_html(_joined(text))}</p>" for text in (*self.sentences, *self.notes)]
        return "".join([title, f"<table>{body}</table>" if body else "", *texts])

    def filled(self, keys: bool = True) -> tuple[list[int], list[list[Cell]]]:
        """Return the indices of the columns that are not empty, and the rows in these columns.

        Args:
            keys: include the column of the keys of the JSON.
        """
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
    """Return a table of names, values and remarks without headings.

    Args:
        title: title of the table.
        rows: `(name, value, remark)` or `(name, value, remark, key of the JSON)`.
        notes: remarks below the table.
        verbose: show the keys, which are also the names in gates.
    """
    cells = [
        (Styled(name, "bold"), value, Styled(remark, "dim"), Styled(key, "cyan") if verbose else "")
        for name, value, remark, key in ((*row, "")[:4] for row in rows)
    ]
    text = frozenset(range(4))
    return Table(title, ("", "", "", ""), cells, notes=notes, text=text, keys=3, remarks=2)


def printed(tables: Sequence[Table], stream: TextIO | None) -> str:
    """Return the tables as text, in a terminal with its width and colours."""
    terminal = stream is not None and stream.isatty()
    width = _screen(stream if terminal else None)
    lines: list[_Line] = []
    for table in tables:
        block = _layout(table, width)
        lines += [*([[]] if lines and block else []), *block]
    if terminal or os.environ.get("FORCE_COLOR"):
        texts = _coloured(lines)
    else:
        texts = ["".join(text for text, _ in line) for line in lines]
    return "".join(f"{text.rstrip()}\n" for text in texts)


def _screen(terminal: TextIO | None) -> int:
    """Return the width of a terminal in columns; 100 if there is none."""
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


def _layout(table: Table, width: int) -> list[_Line]:
    lines: list[_Line] = []
    if table.title:
        lines += [*_wrapped(_pieces(table.title, "bold"), width), []]
    places, rows = table.filled()
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
    """Return the lines of the rows.

    If a line is too long, words are wrapped and remarks move below their rows; numbers and names do
    not.
    """
    cells = [[_pieces(cell) for cell in row] for row in rows]
    if any(table.columns):
        cells.insert(0, [_pieces(table.columns[place], "bold") for place in places])
    columns = [*zip(*cells, strict=True)]
    widths = [max(map(_size, column)) for column in columns]
    wrapped = len(rows) <= _MAX_WRAPPED and not table.unwrapped
    remarks = places.index(table.remarks or 0) if wrapped and table.remarks in places else None
    if remarks is not None:
        others = sum(widths) - widths[remarks] + 2 * (len(widths) - 1)
        if min(widths[remarks], table.strip) > width - others:
            widths[remarks] = 0
        else:
            remarks = None
    words = {
        i: max(_MIN_WIDTH, *(_size([piece]) for cell in columns[i] for piece in _tokens(cell)))
        for i, place in enumerate(places)
        if wrapped and i != remarks and place in table.text and place != min(table.text)
    }
    while sum(widths) + 2 * (len(widths) - 1) > width:
        widest = max(words, key=lambda i: widths[i] - words[i], default=-1)
        if widest < 0 or widths[widest] <= words[widest]:
            break
        widths[widest] -= 1
    lines: list[_Line] = []
    for row in cells:
        blocks = [
            _wrapped(cell, widths[i]) if i in words else [cell]
            for i, cell in enumerate(row)
            if i != remarks
        ]
        indices = [i for i in range(len(row)) if i != remarks]
        for parts in itertools.zip_longest(*blocks, fillvalue=[]):
            line: _Line = []
            for i, part in zip(indices, parts, strict=True):
                blank = (" " * (widths[i] - _size(part)), "")
                line += [*part, blank] if places[i] in table.text else [blank, *part]
                line.append(("  ", ""))
            lines.append(line)
        if remarks is not None and _size(row[remarks]):
            lines += [[("    ", ""), *line] for line in _wrapped(row[remarks], width - 4)]
    return lines


def _pieces(cell: Cell, style: str = "") -> _Line:
    parts = (cell,) if isinstance(cell, str) else cell or ()
    return [(visible(part), getattr(part, "style", style)) for part in parts]


def _size(line: _Line) -> int:
    """Return the width of a line in columns of a terminal."""
    text = "".join(text for text, _ in line)
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(unicodedata.combining(letter) > 0 for letter in text)


def _tokens(line: _Line) -> _Line:
    """Split a line into words and the spaces between them."""
    return [(word, style) for text, style in line for word in re.findall(r"\s+|\S+", text)]


def _wrapped(line: _Line, width: int) -> list[_Line]:
    """Break a line at spaces into lines of at most `width` columns; longer words stay whole."""
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
    """Return the tables in Markdown, without the first title and without the keys of the JSON."""
    lines: list[str] = []
    for index, table in enumerate(tables):
        if table.title and index:
            lines += ["", f"**{in_markdown(table.title)}**"]
        places, rows = table.filled(keys=False)
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
