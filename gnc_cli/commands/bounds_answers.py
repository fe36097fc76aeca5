"""From which d a margin is possible, and up to which K: the answers that a person reads."""

from typing import Any

from rich.console import RenderableType
from rich.text import Text

from gnc_cli.commands.bounds_build import command_lines
from gnc_cli.commands.bounds_listing import (
    Entry,
    Listing,
    Sentence,
    bisector_note,
    keyed,
    title,
)
from gnc_cli.commands.bounds_said import CLASSES, DIMENSION, FEW, Asking
from gnc_cli.commands.bounds_words import (
    HINT,
    answer_title,
    classes_text,
    dimension_text,
    scale_text,
    wanted,
)
from gnc_cli.commands.fitted_table import Column, FittedTable
from gnc_cli.results.figures import count, points

__all__ = ["classes_answer", "dimension_answer"]


def dimension_answer(
    result: dict[str, Any], answer: dict[str, Any], verbose: bool
) -> list[RenderableType]:
    """The dimensions that a margin needs: the best of each K, then every bound.

    Args:
        result: `BoundsResult.to_json()`.
        answer: its dimension.
    """
    best = answer["best"]
    many = len(best) > 1
    parts: list[RenderableType] = [title(answer_title(result)), ""]
    if many:
        parts.append(FittedTable([
            Column("K", [points(b["K"]) for b in best]),
            Column("a code exists from d", [_known(b["sufficient"], "none known") for b in best]),
            Column("no code exists below d", [_known(b["necessary"], "every d") for b in best]),
        ], HINT))  # fmt: skip
    else:
        said = Text(dimension_text(best[0], wanted(result)), "bold")
        parts.append(keyed(said, "dimension.best.0", verbose))
    parts += _scale(result, answer, "for the largest K" if many else "", verbose, "dimension")
    return parts + _listed(answer, DIMENSION, verbose)


def classes_answer(
    result: dict[str, Any], answer: dict[str, Any], verbose: bool
) -> list[RenderableType]:
    """The numbers of points that a margin leaves room for: the best of each d, then every bound.

    Args:
        result: `BoundsResult.to_json()`.
        answer: its classes.
    """
    best = answer["best"]
    parts: list[RenderableType] = [title(answer_title(result)), ""]
    if len(best) > 1:
        most = [points(b["guaranteed"], b["log10_guaranteed"]) for b in best]
        least = [points(b["excluded"], b["log10_excluded"], up=True) for b in best]
        most, least = (["none known" if c == "-" else c for c in cells] for cells in (most, least))
        parts.append(FittedTable([
            Column("d", [count(b["d"]) for b in best]),
            Column("a code exists up to K", most),
            Column("no code exists from K", least),
        ], HINT))  # fmt: skip
    else:
        said = Text(classes_text(best[0], wanted(result)), "bold")
        parts.append(keyed(said, "classes.best.0", verbose))
    parts += _scale(result, answer, "", verbose, "classes")
    return parts + _listed(answer, CLASSES, verbose)


def _listed(answer: dict[str, Any], asking: Asking, verbose: bool) -> list[RenderableType]:
    """Every bound of an answer that says something, and what builds the codes."""
    many = len(answer["best"]) > 1
    if len(answer["best"]) > FEW and not verbose:
        return ["", Text("every bound: -v, --json or --csv", "dim")]
    keys = {id(row): f"{asking.key}.rows.{i}" for i, row in enumerate(answer["rows"])}
    said = asking.said(answer, whole=verbose)
    rows = said.rows
    entries = []
    for before, row in zip([None, *rows], rows, strict=False):
        cells = [points(row[asking.of])] if many else []
        cells += [row["name"], *asking.words(row)] + ([keys[id(row)]] if verbose else [])
        apart = before is not None and any(before[k] != row[k] for k in (asking.of, "exists"))
        entries.append(Entry(tuple(cells), row["source"], "", apart))
    headings = [asking.of] if many else []
    headings += ["bound", "codes", asking.sought] + (["key"] if verbose else [])
    parts: list[RenderableType] = ["", Listing(tuple(headings), "source", entries, verbose)]
    parts += [Sentence(Text(note, "dim")) for note in bisector_note(rows)]
    for where, names in (("here", said.silent), (f"for some {asking.of}", said.partly)):
        if names and not verbose:
            parts.append(Sentence(Text(f"say nothing {where}: {', '.join(names)}", "dim")))
    return parts + command_lines(rows if verbose else asking.built(rows))


def _known(d: int | None, none: str) -> str:
    return none if d is None else count(d)


def _scale(
    result: dict[str, Any], answer: dict[str, Any], where: str, verbose: bool, key: str
) -> list[RenderableType]:
    if answer["scale"] is None:
        return []
    place = " ".join(part for part in (f"at {wanted(result)}", where) if part)
    said = Text(scale_text(answer["scale"], result["probability"], place))
    return [keyed(said, f"{key}.scale", verbose)]
