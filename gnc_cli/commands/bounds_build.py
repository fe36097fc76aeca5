"""The commands that build the codes behind bounds: the best ones, with what they cost."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

__all__ = ["best_built", "command_cost", "command_lines"]

_SAME = 1e-9
"""Answers that differ relatively by less are the same."""
_MEMORY = 16e9
"""Bytes of coordinates that most machines have."""
_ENTRY = 8
_Row = dict[str, Any]


def best_built(
    rows: Sequence[_Row], rank: Callable[[_Row], float], asked: Callable[[_Row], Any]
) -> list[_Row]:
    """Of the rows that have a command those with the best answer to each question.

    Args:
        rank: of an answer; the smallest is the best.
        asked: which rows answer the same question.

    Example:
        >>> rows = [{"K": 9, "d": d, "how": "gnc solve"} for d in (8, 26, 8)]
        >>> best_built(rows, lambda row: row["d"], lambda row: row["K"]) == [rows[0], rows[2]]
        True
    """
    built = [row for row in rows if row["how"]]
    best: dict[Any, float] = {}
    for row in built:
        best[asked(row)] = min(best.get(asked(row), rank(row)), rank(row))

    def near(row: _Row) -> bool:
        least = best[asked(row)]
        return rank(row) - least <= _SAME * abs(least)

    return [row for row in built if near(row)]


def command_cost(command: str) -> str:
    """What a command needs beyond a moment and a little memory; empty where no more.

    >>> command_cost("gnc solve --d 500000 --K 1000000")
    'needs 4 TB'
    >>> command_cost("gnc solve --d 10 --K 100 --method descent --seed 0")
    'minutes'
    """
    sizes = [re.search(rf"--{name} (\d+)", command) for name in ("d", "K")]
    need = float(_ENTRY)
    for found in sizes:
        need *= float(found[1]) if found else 0.0
    if need > _MEMORY:
        return f"needs {need / 1e9:.0f} GB" if need < 1e12 else f"needs {need / 1e12:.3g} TB"
    return "minutes" if "--method descent" in command else ""


def command_lines(rows: Sequence[_Row]) -> list[RenderableType]:
    """What builds the codes behind the bounds, each command once, below an empty line.

    Args:
        rows: with `name` and `how`.
    """
    named: dict[str, list[str]] = {}
    for row in rows:
        if row["how"]:
            named.setdefault(row["how"], []).append(row["name"])
    lines = []
    for text, names in named.items():
        said = [", ".join(dict.fromkeys(names)), command_cost(text)]
        lines.append(_Command(f"build it ({'; '.join(part for part in said if part)})", text))
    return ["", *lines] if lines else []


@dataclass(frozen=True, eq=False)
class _Command:
    """A command to be copied: longer than a line, it goes on after a backslash as shells do."""

    label: str
    text: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        line = f"{self.label}:"
        lines = []
        for part in re.split(r" (?=-)", self.text):
            if len(line) + len(part) + 3 > options.max_width and line[-1] != ":":
                lines.append(f"{line} \\")
                line = f"    {part}"
            else:
                line = f"{line} {part}"
        first, *rest = [*lines, line]
        yield Text.assemble((self.label, "bold"), first[len(self.label) :])
        yield from (Text(line, overflow="fold") for line in rest)
