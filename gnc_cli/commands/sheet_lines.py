"""A sheet of lines: a name, a value, and in grey what it is of."""

from typing import Protocol

from rich.table import Table
from rich.text import Text

__all__ = ["Line", "sheet_lines"]


class Line(Protocol):
    """Adds a line to a sheet; `key` is its name in JSON, which gates take."""

    def __call__(self, name: str, value: str, remark: str = "", key: str = "") -> None: ...


def sheet_lines(verbose: bool) -> tuple[Table, Line]:
    """An empty sheet, and what adds a line to it; `verbose` shows the keys too."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")

    def line(name: str, value: str, remark: str = "", key: str = "") -> None:
        said = [(key, "cyan"), ("; " if remark else "", "dim")] if verbose and key else []
        grid.add_row(name, value, Text.assemble(*said, (remark, "dim")))

    return grid, line
