"""A table that fits the terminal: spare columns go first, then long names lose what they share.

Figures are never cut: where the columns that stay have no room, the last ones go beneath.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

__all__ = ["Column", "FittedTable", "shortened"]

_GAP = 2
_INDENT = 4
_NAME = 24
"""Names are shortened to this many cells before a column goes."""
_SHORTEST = 8
"""And to this many where no more columns can go."""


@dataclass(frozen=True, eq=False)
class Column:
    """One column as text."""

    heading: str
    cells: Sequence[str]
    name: bool = False
    """Names stand on the left and may be shortened; figures stand on the right, whole."""
    spare: int = 0
    """Columns of the highest number go first where the room is small; 0 always stays."""

    @property
    def width(self) -> int:
        """In cells of a terminal."""
        return max(map(cell_len, (self.heading, *self.cells)))

    def least(self, shortest: int) -> int:
        """Its width where names longer than `shortest` are shortened."""
        cells = shortened(self.cells, shortest) if self.name else self.cells
        return max(map(cell_len, (self.heading, *cells)))


@dataclass(frozen=True, eq=False)
class FittedTable:
    """Columns without lines around them, as many as the width has room for."""

    columns: Sequence[Column]
    hint: str = ""
    """What shows the columns that have gone: a last line names them, then this; no line without."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        shown, room = list(self.columns), options.max_width

        def total(widths: Sequence[int]) -> int:
            return sum(widths) + _GAP * (len(widths) - 1)

        while total([c.least(_NAME) for c in shown]) > room and any(c.spare for c in shown):
            shown.remove(max(shown, key=lambda c: c.spare))
        widths = [c.width for c in shown]
        slack = [w - c.least(_SHORTEST) for w, c in zip(widths, shown, strict=True)]
        while total(widths) > room and any(slack):
            # The widest name gives way first.
            at = max((i for i, s in enumerate(slack) if s), key=lambda i: widths[i])
            widths[at] -= 1
            slack[at] -= 1
        fitting = [shortened(c.cells, w) for c, w in zip(shown, widths, strict=True)]
        if total(widths) > room:
            yield from _beneath(shown, fitting, widths, room)
        else:
            yield _table(shown, fitting)
        gone = dict.fromkeys(c.heading for c in self.columns if c not in shown)
        if gone and self.hint:
            yield Text(f"hidden: {', '.join(gone)}; {self.hint}", "dim")


def _table(columns: Sequence[Column], fitting: Sequence[Sequence[str]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, _GAP, 0, 0))
    for column in columns:
        table.add_column(column.heading, justify="left" if column.name else "right",
                         no_wrap=not column.name, overflow="fold")  # fmt: skip
    for cells in zip(*fitting, strict=True):
        table.add_row(*cells)
    return table


def _beneath(
    columns: Sequence[Column], fitting: Sequence[Sequence[str]], widths: Sequence[int], room: int
) -> Iterator[Text]:
    """Each row in several lines, all but the first indented."""
    lines: list[list[int]] = [[]]
    used = -_GAP
    for at, width in enumerate(widths):
        if lines[-1] and used + _GAP + width > room:
            lines.append([])
            used = _INDENT - _GAP
        lines[-1].append(at)
        used += _GAP + width

    def drawn(cells: Sequence[str], line: Sequence[int]) -> str:
        padded = []
        for at in line:
            space = " " * (widths[at] - cell_len(cells[at]))
            padded.append(cells[at] + space if columns[at].name else space + cells[at])
        return (" " * _INDENT if line[0] else "") + (" " * _GAP).join(padded)

    for line in lines:
        yield Text(drawn([c.heading for c in columns], line), "bold")
    for cells in zip(*fitting, strict=True):
        for line in lines:
            yield Text(drawn(cells, line))


def shortened(names: Sequence[str], width: int) -> list[str]:
    """`names` in at most `width` cells: without the folders and the file that all share, where
    that is not enough without their middle.

    >>> shortened(["runs/tau_0.1/epoch_0.h5", "runs/tau_0.1/epoch_100.h5"], 16)
    ['.../epoch_0.h5', '.../epoch_100.h5']
    >>> shortened(["runs/seed_0/features.h5", "runs/seed_1/features.h5"], 16)
    ['.../seed_0/...', '.../seed_1/...']
    """
    names = list(names)
    for step in (1, -1):  # from the front, then from the end
        if len(set(names)) == 1 or all(cell_len(name) <= width for name in names):
            break
        shared = os.path.commonprefix([name[::step] for name in names]).rfind("/")
        if shared > 3:
            names = [f"...{name[::step][shared:]}"[::step] for name in names]
    return [_without_middle(name, width) for name in names]


def _without_middle(text: str, width: int) -> str:
    if cell_len(text) <= width:
        return text
    for kept in range(width - 3, 0, -1):
        end = -(-2 * kept // 3)  # the end tells most
        short = f"{text[: kept - end]}...{text[-end:]}"
        if cell_len(short) <= width:
            return short
    return "..."
