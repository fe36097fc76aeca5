"""What each bound says of a dimension or a number of points, and which bounds are worth a line."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gnc_cli.commands.bounds_build import best_built
from gnc_cli.results.figures import count, points

__all__ = ["CLASSES", "DIMENSION", "FEW", "Asking", "Said"]

FEW = 4
"""So many K or d are shown with every bound; more with --verbose."""
_Row = dict[str, Any]


@dataclass(frozen=True)
class Said:
    """The bounds of an answer, sorted into those that are shown and those that are not."""

    rows: list[_Row]
    """In their order: by what was asked for, then what exists, best first."""
    silent: list[str]
    """In words, those that say nothing on any question."""
    partly: list[str]
    """Those that say nothing on some."""


@dataclass(frozen=True)
class Asking:
    """How a question is answered: which dimensions for K points, or how many points in d."""

    key: str
    """Of the answer in the JSON: `dimension` or `classes`."""
    of: str
    """What was given: `K` or `d`."""
    sought: str
    speaks: Callable[[_Row], bool]
    words: Callable[[_Row], tuple[str, str]]
    """What a row says, and its figure."""
    rank: Callable[[_Row], float]
    """Of a row; the best is the smallest."""

    def built(self, rows: list[_Row]) -> list[_Row]:
        """The rows with the commands of the best codes that have one, for each question."""
        exist = [row for row in rows if row["exists"]]
        return best_built(exist, self.rank, lambda row: row[self.of])

    def said(self, answer: dict[str, Any], whole: bool) -> Said:
        """Sort the rows of an answer.

        Args:
            answer: `dimension` or `classes` of the JSON.
            whole: with the rows that say nothing.
        """
        rows = [row for row in answer["rows"] if self.speaks(row)]
        names = [_in_words(row, answer["rows"]) for row in answer["rows"]]
        quiet = [n for n, r in zip(names, answer["rows"], strict=True) if not self.speaks(r)]
        spoken = {n for n, r in zip(names, answer["rows"], strict=True) if self.speaks(r)}
        return Said(
            rows=sorted(answer["rows"] if whole else rows, key=self._order),
            silent=[name for name in dict.fromkeys(quiet) if name not in spoken],
            partly=[name for name in dict.fromkeys(quiet) if name in spoken],
        )

    def _order(self, row: _Row) -> tuple[Any, ...]:
        return row[self.of], not row["exists"], self.rank(row)


def _in_words(row: _Row, rows: list[_Row]) -> str:
    """The name; of two bounds of one name, which is meant."""
    if len({other["exists"] for other in rows if other["name"] == row["name"]}) == 1:
        return str(row["name"])
    return f"{row['name']} ({'existence' if row['exists'] else 'exclusion'})"


def _dimension_speaks(row: _Row) -> bool:
    return bool(row["exists"] or row["d"] is None or row["d"] > 2)


def _dimension_words(row: _Row) -> tuple[str, str]:
    never = row["ending"] == "never"
    if row["exists"]:
        none = "never, by this bound" if never else "not up to 10^6"
        return "exists from", none if row["d"] is None else count(row["d"])
    if row["d"] is None:
        return "excluded in", "every d" if never else "every d up to 10^6"
    if row["d"] == 2:
        return "excludes", "nothing"
    return "excluded below", count(row["d"])


def _dimension_rank(row: _Row) -> float:
    d = math.inf if row["d"] is None else row["d"]
    return float(d if row["exists"] else -d)


def _classes_speaks(row: _Row) -> bool:
    return row["log10_K"] is not None


def _classes_words(row: _Row) -> tuple[str, str]:
    if row["log10_K"] is None:
        return "guarantees" if row["exists"] else "excludes", "nothing"
    said = points(row["K"], row["log10_K"], up=not row["exists"])
    return "exists up to" if row["exists"] else "excluded from", said


def _classes_rank(row: _Row) -> float:
    if row["log10_K"] is None:
        return math.inf
    return float(-row["log10_K"] if row["exists"] else row["log10_K"])


DIMENSION = Asking("dimension", "K", "d", _dimension_speaks, _dimension_words, _dimension_rank)
CLASSES = Asking("classes", "d", "K", _classes_speaks, _classes_words, _classes_rank)
