"""From which d a margin is possible, and up to which K: the answers that a person reads."""

import math
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from gnc_cli.commands.bounds_listing import (
    Entry,
    Listing,
    command_lines,
    keyed,
    shared_source,
    title,
)
from gnc_cli.commands.bounds_words import asked_of, classes_text, dimension_text, scale_text
from gnc_cli.commands.fitted_table import Column, FittedTable
from gnc_cli.results.figures import count, points

__all__ = ["classes_answer", "dimension_answer"]

_FEW = 4
"""So many K or d are shown with every bound; more with --verbose."""
_NOTHING = "nothing"


def dimension_answer(
    result: dict[str, Any], answer: dict[str, Any], verbose: bool
) -> list[RenderableType]:
    """The dimensions that a margin needs: the best of each K, then every bound.

    Args:
        result: `BoundsResult.to_json()`.
        answer: its dimension.
    """
    asked, best = asked_of(result) or "margin", answer["best"]
    many = len(best) > 1
    parts: list[RenderableType] = [title(f"Dimensions for a {_asked_of(asked)}"), ""]
    if many:
        guessed = [_known(b["conjectured"], "-") for b in best]
        guess = [Column("none, conjectured", guessed, spare=1)]
        parts.append(FittedTable([
            Column("K", [points(b["K"]) for b in best]),
            Column("a code exists from d", [_known(b["sufficient"], "none known") for b in best]),
            Column("no code exists below d", [_known(b["necessary"], "every d") for b in best]),
            *(guess if set(guessed) != {"-"} else []),
        ]))  # fmt: skip
    else:
        said = Text(dimension_text(best[0], asked), "bold")
        parts.append(keyed(said, "dimension.best.0", verbose))
    parts += _scale(result, answer, "for the largest K" if many else "", verbose, "dimension")

    def what(row: dict[str, Any]) -> tuple[str, str]:
        d, ending = row["d"], row["ending"]
        if row["exists"]:
            none = "never, by this bound" if ending == "never" else "not up to 10^6"
            return "exists from", none if d is None else count(d)
        if d is None:
            return "excluded in", "every d" if ending == "never" else "every d up to 10^6"
        return ("excluded below", count(d)) if d > 2 else ("excludes", _NOTHING)

    def order(row: dict[str, Any]) -> tuple[Any, ...]:
        d = math.inf if row["d"] is None else row["d"]
        return row["K"], not row["proven"], not row["exists"], d if row["exists"] else -d

    return parts + _listed(answer, "K", "d", what, order, verbose, "dimension")


def classes_answer(
    result: dict[str, Any], answer: dict[str, Any], verbose: bool
) -> list[RenderableType]:
    """The numbers of points that a margin leaves room for: the best of each d, then every bound.

    Args:
        result: `BoundsResult.to_json()`.
        answer: its classes.
    """
    asked, best = asked_of(result) or "margin", answer["best"]
    many = len(best) > 1
    parts: list[RenderableType] = [title(f"Points with a {_asked_of(asked)}"), ""]
    if many:
        most = [points(b["guaranteed"], b["log10_guaranteed"]) for b in best]
        least = [points(b["excluded"], b["log10_excluded"], up=True) for b in best]
        guess = [points(b["conjectured"], b["log10_conjectured"], up=True) for b in best]
        most, least = (["none known" if c == "-" else c for c in cells] for cells in (most, least))
        parts.append(FittedTable([
            Column("d", [count(b["d"]) for b in best]),
            Column("a code exists up to K", most),
            Column("no code exists from K", least),
            *([Column("none, conjectured", guess, spare=1)] if set(guess) != {"-"} else []),
        ]))  # fmt: skip
    else:
        said = Text(classes_text(best[0], asked), "bold")
        parts.append(keyed(said, "classes.best.0", verbose))
    parts += _scale(result, answer, "", verbose, "classes")

    def what(row: dict[str, Any]) -> tuple[str, str]:
        exists = row["exists"]
        if row["log10_K"] is None:
            return "guarantees" if exists else "excludes", _NOTHING
        said = points(row["K"], row["log10_K"], up=not exists)
        return "exists up to" if exists else "excluded from", said

    def order(row: dict[str, Any]) -> tuple[Any, ...]:
        exists, log10 = row["exists"], row["log10_K"]
        by = math.inf if log10 is None else -log10 if exists else log10
        return row["d"], not row["proven"], not exists, by

    return parts + _listed(answer, "d", "K", what, order, verbose, "classes")


def _listed(
    answer: dict[str, Any], of: str, sought: str, what: Any, order: Any, verbose: bool, key: str
) -> list[RenderableType]:
    """Every bound of a dimension or classes answer, and what builds the codes."""
    many = len(answer["best"]) > 1
    if len(answer["best"]) > _FEW and not verbose:
        return ["", Text("every bound: -v, --json or --csv", "dim")]
    keys = {id(row): f"{key}.rows.{i}" for i, row in enumerate(answer["rows"])}
    rows = sorted(answer["rows"], key=order)
    shared = shared_source(rows)
    silent = dict.fromkeys(row["name"] for row in rows if what(row)[1] == _NOTHING)
    if not verbose:
        rows = [row for row in rows if what(row)[1] != _NOTHING]
    entries = []
    for before, row in zip([None, *rows], rows, strict=False):
        cells = [points(row[of])] if many else []
        cells += [row["name"], *what(row)] + ([keys[id(row)]] if verbose else [])
        apart = before is not None and any(
            before[k] != row[k] for k in (of, "proven", "exists")
        )
        source = row["source"]
        if not row["proven"]:
            source = f"conjectural; {source.removeprefix(shared)}"
        entries.append(Entry(tuple(cells), source, "", apart))
    headings = [of] if many else []
    headings += ["bound", "codes", sought] + (["key"] if verbose else [])
    listing = Listing(tuple(headings), "source", entries, verbose)
    said: list[RenderableType] = []
    if shared:
        said.append(Text(f"conjectural: {shared[:-2]}", "dim"))
    if silent and not verbose:
        where = "for some" if many else "here"
        said += [Text(f"say nothing {where}: {', '.join(silent)}", "dim")]
    return ["", listing, *said, *command_lines(rows)]


def _known(d: int | None, none: str) -> str:
    return none if d is None else count(d)


def _asked_of(asked: str) -> str:
    word, _, value = asked.rpartition(" ")
    return f"{word} of {value}"


def _scale(
    result: dict[str, Any], answer: dict[str, Any], where: str, verbose: bool, key: str
) -> list[RenderableType]:
    if answer["scale"] is None:
        return []
    place = " ".join(part for part in (f"at {asked_of(result)}", where) if part)
    said = Text(scale_text(answer["scale"], result["probability"], place))
    return [keyed(said, f"{key}.scale", verbose)]
