"""Tables of markdown, for pull requests."""

from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["Cell", "markdown_table"]

Cell = Callable[[Any], str]
"""How a value is written in a cell."""


def markdown_table(
    rows: Sequence[dict[str, Any]], names: Sequence[str], cell: Cell
) -> list[str]:
    """A table of these columns, without those that no row has.

    Args:
        rows: flat.
        names: keys, in the order of the columns.
        cell: a value as text.

    Example:
        >>> markdown_table([{"d": 3, "x": None}], ("d", "x"), str)
        ['| d |', '|---|', '| 3 |']
    """
    shown = [name for name in names if any(row.get(name) is not None for row in rows)]
    lines = ["| " + " | ".join(shown) + " |", "|" + "---|" * len(shown)]
    return lines + [
        "| " + " | ".join(cell(row.get(name)) for name in shown) + " |" for row in rows
    ]
