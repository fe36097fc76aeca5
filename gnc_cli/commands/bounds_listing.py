"""Bounds line by line, each with its remark: beside it where there is room, else beneath it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

__all__ = ["Entry", "Listing", "Sentence", "bisector_note", "keyed", "title"]

_GAP = 2
_REMARK = 24
"""Remarks stand beside their line where they have this many cells."""
_BREAK = re.compile(r"(?<![<>=+/-]) (?![<>=+/-]|(?<=\d )(?:\d{3}|[a-z]{1,2})\b)")
"""A space where a sentence may go on in the next line."""


@dataclass(frozen=True)
class Entry:
    """One line of a listing."""

    cells: tuple[str, ...]
    remark: str = ""
    style: str = ""
    apart: bool = False
    """An empty line goes before it."""


@dataclass(frozen=True, eq=False)
class Listing:
    """Lines with aligned cells and a remark each; no cell is cut at any width."""

    headings: tuple[str, ...]
    """Of the cells."""
    remark: str
    """Heading of the remarks."""
    entries: Sequence[Entry]
    whole: bool = False
    """Long remarks wrap; else they end with an ellipsis where they stand beside their line."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        widths = [
            max(cell_len(cells[i]) for cells in (self.headings, *(e.cells for e in self.entries)))
            for i in range(len(self.headings))
        ]
        left = options.max_width - sum(widths) - _GAP * len(widths)
        longest = max((cell_len(e.remark) for e in self.entries), default=0)
        if left >= min(_REMARK, longest):
            yield self._beside(left)
        else:
            yield from self._beneath(widths, options.max_width)

    def _beside(self, left: int) -> Table:
        table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, _GAP, 0, 0))
        for heading in self.headings:
            table.add_column(heading, no_wrap=True)
        table.add_column(self.remark, overflow="fold")
        for entry in self.entries:
            if entry.apart:
                table.add_row()
            # Whoever looks for the figures should not trip over their sources.
            text = Text(entry.remark, "dim")
            if not self.whole:
                text.truncate(left, overflow="ellipsis")
            remark = Sentence(text) if self.whole else text
            table.add_row(*entry.cells, remark, style=entry.style)
        return table

    def _beneath(self, widths: Sequence[int], room: int) -> Iterator[RenderableType]:
        yield Text(_aligned(self.headings, widths), "bold")
        for entry in self.entries:
            if entry.apart:
                yield ""
            line = _aligned(entry.cells, widths)
            if cell_len(line) > room:
                line = _aligned(entry.cells[:-1], widths[:-1])
                yield Text(line, entry.style)
                line = f"{' ' * (room - cell_len(entry.cells[-1]))}{entry.cells[-1]}"
            yield Text(line, entry.style)
            if entry.remark:
                yield Padding(Sentence(Text(entry.remark, "dim")), (0, 0, 0, 4))


@dataclass(frozen=True, eq=False)
class Sentence:
    """Words that wrap, but for numbers and equations: `K = 1 000 000` stays in one line."""

    text: Text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        breaks, start, plain = [], 0, self.text.plain
        places = [found.end() for found in _BREAK.finditer(plain)]
        for place, after in zip(places, [*places[1:], len(plain) + 1], strict=False):
            if cell_len(plain[start : after - 1]) > options.max_width:
                breaks.append(place)
                start = place
        for line in self.text.divide(breaks):
            line.rstrip()
            yield line


def bisector_note(rows: Sequence[dict[str, Any]]) -> list[str]:
    """What the bisector theorem says, where the source of a row is that."""
    used = any(row["source"].startswith("bisector theorem") for row in rows)
    said = "bisector theorem: rho* = 1 - t*, t* the smallest possible largest cosine"
    return [f"{said} (docs/theorem.md)"] if used else []


def keyed(said: Text, key: str, verbose: bool) -> Sentence:
    """A sentence, with --verbose its JSON key after it."""
    return Sentence(Text.assemble(said, (f"   {key}", "cyan")) if verbose else said)


def title(name: str, facts: str = "") -> Sentence:
    """The first line of a table."""
    return Sentence(Text.assemble((name, "bold"), f"   {facts}" if facts else ""))


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell + " " * (w - cell_len(cell)) for cell, w in zip(cells, widths, strict=True))
    return (" " * _GAP).join(padded).rstrip()
