"""The tables that `gnc bounds` shows: one pair, several, dimensions, numbers of points.

Figures are rounded to the side on which they stay true.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from gnc_cli.console.numbers import cosine, count, points, rounded
from gnc_cli.console.table import Cell, Styled, Table, facts
from gnc_cli.limits.limit import LARGEST_D, Ending, Quantity
from gnc_cli.limits.result import (
    STATUS,
    BestBounds,
    BoundRow,
    BoundsResult,
    ClassesBest,
    ClassesRow,
    DimensionBest,
    DimensionRow,
    full_names,
    short_decimal,
)

_COLOURS = {"exists": "bold green", "excluded": "bold red", "open": "bold yellow"}
_YES_NO = {"exists": "yes", "excluded": "no", "open": "open"}
_FEW = 4
"""So many K or d are shown with every bound; more with verbose."""
_SAME = 1e-9
"""Codes whose values differ relatively by less are equally good."""
_BISECTOR = "bisector theorem with "
"""Sources of bounds on the largest cosine begin so where they are bounds on the distance."""
_MEMORY = 16e9
"""Bytes of coordinates that most machines have."""


def view(result: BoundsResult, verbose: bool) -> list[Table]:
    """The tables for a person.

    Args:
        verbose: every bound of every K or d asked, and the keys of the JSON.
    """
    if result.dimension is not None:
        return _answer(result, _DIMENSION, verbose)
    if result.classes is not None:
        return _answer(result, _CLASSES, verbose)
    if len(result.best) == 1:
        return _pair(result, result.best[0], verbose)
    return [_sweep(result, verbose)]


# Pairs of d and K


def _pair(result: BoundsResult, best: BestBounds, verbose: bool) -> list[Table]:
    """The best interval, then every bound with its source."""
    one = best.quantity is Quantity.ONE_VS_ONE
    what = "largest cosine" if one else "one-vs-rest distance"
    sentence = f"{what} of the best code: {interval(best)}"
    lines: list[tuple[Any, ...]] = [
        ("from below", best.lower_name, "", "best.0.lower"),
        ("from above", best.upper_name, "", "best.0.upper"),
    ]
    if one:
        lines.append(("smallest angle", angle(best), "", "best.0.lower_deg"))
    known = best.best_known
    if known is not None:
        lines.append(("best known code", f"cosine {cosine(known.max_cosine, True)}", known.source,
                      "best.0.best_known"))  # fmt: skip
    if best.status is not None:
        by = {"exists": best.upper_name if one else best.lower_name,
              "excluded": best.lower_name if one else best.upper_name,
              "open": "no such code is known, and none is excluded"}  # fmt: skip
        verdict = Styled(STATUS[best.status], _COLOURS[best.status])
        lines.append((result.target, verdict, by[best.status], "best.0.status"))
    lines += _scale(result, best.scale, "best.0.scale")
    title = f"Bounds   d = {count(best.d)}, K = {points(best.K)}"
    place = {id(row): at for at, row in enumerate(result.rows)}
    rows = sorted(result.rows, key=_order)
    cells: list[tuple[Cell, ...]] = [
        (row.side, row.name, value(row), rounded(row.angle_deg, row.side == "lower", 10)
         if one else None, _remark(row), f"rows.{place[id(row)]}" if verbose else None)
        for row in rows
    ]  # fmt: skip
    heads = ("side", "bound", "largest cosine" if one else "value", "degrees", "source", "key")
    held = [row for row in rows if row.valid]
    notes = _notes(rows, held if verbose else _best_built(held, _rank, lambda row: None))
    listed = Table("", heads, cells, notes, frozenset({1, 4, 5}))
    headline = Table(title, notes=[Styled(sentence, "bold")])
    return [headline, facts("", lines, verbose=verbose), listed]


def _sweep(result: BoundsResult, verbose: bool) -> Table:
    """A line for each pair."""
    one = result.quantity is Quantity.ONE_VS_ONE
    digits = 12 if verbose else 8
    what = "largest cosine" if one else "one-vs-rest distance"
    title = f"Bounds   {what} of the best code, {result.title}"
    heads = ("d", "K", "lower", "by", "upper", "by", "lower degrees", "upper degrees", "exact",
             "exists?", "scale", "key")  # fmt: skip
    rows: list[tuple[Cell, ...]] = [
        (count(b.d), points(b.K), end(b, "lower", digits), b.lower_name, end(b, "upper", digits),
         b.upper_name, rounded(b.lower_deg, False, digits) if one else None,
         rounded(b.upper_deg, True, digits) if one else None, "yes" if b.exact else "",
         None if b.status is None else _YES_NO[b.status], _scaled(b.scale),
         f"best.{place}" if verbose else None)
        for place, b in enumerate(result.best)
    ]  # fmt: skip
    notes: list[Cell] = []
    if any(b.scale is not None for b in result.best):
        notes.append(Styled(f"scale: s = 1/tau that is enough {_promise(result)}", "dim"))
    return Table(title, heads, rows, notes, frozenset({3, 5, 8, 9, 11}))


def interval(best: BestBounds) -> str:
    """The best interval of one (d, K)."""
    symbol = "t" if best.quantity is Quantity.ONE_VS_ONE else "rho*"
    low, high = end(best, "lower"), end(best, "upper")
    if not best.exact:
        return f"{low} <= {symbol} <= {high}"
    if " " not in low:
        low = f"{round(best.lower, 15) + 0.0 if symbol == 't' else best.lower:.12g}"
    return f"{symbol} = {low} (known exactly)"


def angle(best: BestBounds) -> str:
    """The smallest angle of the best code."""
    low, high = best.distances
    if best.exact:
        return f"{low:.10g} degrees"
    return f"{rounded(low, False, 10)} to {rounded(high, True, 10)} degrees"


def end(best: BestBounds, side: str, digits: int = 12) -> str:
    """The `lower` or `upper` end of a best interval, rounded outwards."""
    up = side == "upper"
    if best.quantity is not Quantity.ONE_VS_ONE:
        return rounded(best.upper if up else best.lower, up, digits)
    # The largest cosine belongs to the smallest angle.
    degrees = best.lower_deg if up else best.upper_deg
    return cosine(best.upper if up else best.lower, up, digits, degrees)


def value(row: BoundRow) -> str:
    """The value of a bound, rounded to the safe side."""
    up = row.side == "upper"
    if row.quantity is Quantity.ONE_VS_ONE:
        return cosine(row.value, up, degrees=row.angle_deg)
    return rounded(row.value, up)


def _order(row: BoundRow) -> tuple[bool, bool, float]:
    """Lower bounds before upper ones, those that hold before those that do not, the best first."""
    upper = row.side == "upper"
    return upper, not row.valid, _rank(row) if row.exists else -_rank(row)


def _rank(row: BoundRow) -> float:
    """Falls with the distance, also where cosines are 1 to all digits."""
    return -row.distance


def _remark(row: BoundRow) -> Cell:
    """Whether its hypothesis holds, and its source."""
    if not row.valid:
        return Styled(f"does not hold: {row.condition}", "dim")
    return (Styled(f"holds: {row.condition}; ", "dim") if row.condition else "", _source(row))


# Dimensions and numbers of points


@dataclass(frozen=True)
class _Question:
    """Which dimensions for K points, or how many points in d."""

    key: str
    """Of the answer in the JSON: `dimension` or `classes`."""
    given: str
    """`K` or `d`."""
    sought: str
    title: str
    heads: tuple[str, str]
    """Of the best answers, where several K or d were given."""
    best: Callable[[Any], tuple[str, str]]
    """The best answers of one K or d."""
    sentence: Callable[[Any, str], str]
    words: Callable[[Any], tuple[str, str] | None]
    """What a row says, and its figure; None where it guarantees or excludes nothing."""
    rank: Callable[[Any], float]
    """Of a row; the best is the smallest."""


def _answer(result: BoundsResult, question: _Question, verbose: bool) -> list[Table]:
    """The best of each K or d, then every bound that says something."""
    answer: Any = result.answer
    many = len(answer.best) != 1  # an interruption may leave none

    def given(row: Any) -> int:
        return int(getattr(row, question.given))

    title = f"{question.title} {result.wanted}"
    if many:
        best = [(points(given(b)), *question.best(b)) for b in answer.best]
        tables = [Table(title, (question.given, *question.heads), best)]
    else:
        sentence = Styled(question.sentence(answer.best[0], result.wanted), "bold")
        tables = [Table(title, notes=[sentence])]
    scale = _scale(result, answer.scale, f"{question.key}.scale")
    tables += [facts("", scale, verbose=verbose)] if scale else []
    if len(answer.best) > _FEW and not verbose:
        return [*tables, Table(notes=[Styled("every bound: -v, --json or --csv", "dim")])]
    words = [(row, question.words(row), at) for at, row in enumerate(answer.rows)]
    words.sort(key=lambda found: (given(found[0]), not found[0].exists, question.rank(found[0])))
    cells = [
        (points(given(row)) if many else None, row.name, *phrase, _source(row),
         f"{question.key}.rows.{at}" if verbose else None)
        for row, phrase, at in words if phrase is not None
    ]  # fmt: skip
    listed = [row for row, phrase, _ in words if phrase is not None]
    built = [row for row in listed if row.exists]
    notes = _notes(listed, built if verbose else _best_built(built, question.rank, given))
    names = dict(zip(map(id, answer.rows), full_names(answer.rows), strict=True))
    shown = {names.pop(id(row)) for row in listed}
    if silent := ", ".join(n for n in dict.fromkeys(names.values()) if n not in shown):
        notes.insert(0, Styled(f"say nothing here: {silent}", "dim"))
    heads = (question.given, "bound", "codes", question.sought, "source", "key")
    return [*tables, Table("", heads, cells, notes, frozenset({1, 2, 4, 5}))]


def dimension_text(best: DimensionBest, wanted: str) -> str:
    """From which d on K points have what is asked for, and below which they have not.

    >>> dimension_text(DimensionBest(1000000, 8, 8), "margin 0.1")
    'a code of K = 1 000 000 points with margin 0.1 exists from d = 8 on, and below none exists'
    """
    code = f"code of K = {points(best.K)} points with {wanted}"
    enough, least = best.sufficient, best.necessary
    if least is None:
        return f"no {code} exists in any dimension"
    if least > LARGEST_D:
        return f"no {code} exists in any dimension up to 10^6"
    below = f"below d = {count(least)} none exists" if least > 2 else "no dimension is excluded"
    if enough is None:
        on = ", from there on it is open" if least > 2 else ""
        return f"no dimension is known to have a {code}; {below}{on}"
    found = f"a {code} exists from d = {count(enough)} on"
    if enough <= least:
        return f"{found}, and below none exists" if least > 2 else f"{found}, that is always"
    return f"{found}; {below}; between them it is open"


def classes_text(best: ClassesBest, wanted: str) -> str:
    """Up to which K a code in d dimensions has what is asked for, and from which none has."""
    code = f"code with {wanted} in d = {count(best.d)}"
    most, least = _classes_ends(best)
    known = best.log10_excluded is not None
    none = f"from K = {least} on none exists" if known else "no K is excluded"
    if best.log10_guaranteed is None:
        return f"no K is known to have a {code}; {none}"
    exact = best.guaranteed is not None and best.excluded == best.guaranteed + 1
    between = "; between it is open" if known and not exact else ""
    return f"up to K = {most} points a {code} exists; {none}{between}"


def _dimension_ends(best: DimensionBest) -> tuple[str, str]:
    enough = "none known" if best.sufficient is None else count(best.sufficient)
    return enough, "every d" if best.necessary is None else count(best.necessary)


def _classes_ends(best: ClassesBest) -> tuple[str, str]:
    most, least = (
        "none known" if log10 is None else points(K, log10, up)
        for K, log10, up in (
            (best.guaranteed, best.log10_guaranteed, False),
            (best.excluded, best.log10_excluded, True),
        )
    )
    return most, least


def _dimension_words(row: DimensionRow) -> tuple[str, str] | None:
    if row.exists:
        return None if row.d is None else ("exists from", count(row.d))
    if row.d is None:
        return "excluded in", "every d" if row.ending is Ending.NEVER else "every d up to 10^6"
    return None if row.d == 2 else ("excluded below", count(row.d))


def _dimension_rank(row: DimensionRow) -> float:
    d = math.inf if row.d is None else row.d
    return float(d if row.exists else -d)


def _classes_words(row: ClassesRow) -> tuple[str, str] | None:
    if row.log10_K is None:
        return None
    figure = points(row.K, row.log10_K, up=not row.exists)
    return "exists up to" if row.exists else "excluded from", figure


def _classes_rank(row: ClassesRow) -> float:
    log10 = row.log10_K or 0.0
    return -log10 if row.exists else log10


_DIMENSION = _Question(
    "dimension", "K", "d", "Dimensions for", ("a code exists from d", "no code exists below d"),
    _dimension_ends, dimension_text, _dimension_words, _dimension_rank,
)  # fmt: skip
_CLASSES = _Question(
    "classes", "d", "K", "Numbers of points with",
    ("a code exists up to K", "no code exists from K"), _classes_ends, classes_text,
    _classes_words, _classes_rank,
)  # fmt: skip


# What they share


def _scaled(scale: float | None) -> str | None:
    """To four digits, up, so that it is enough."""
    return None if scale is None else rounded(scale, up=True, digits=4)


def _promise(result: BoundsResult) -> str:
    where = f"at {result.target}" if result.target else "for the best code known"
    return f"for probability {short_decimal(result.probability or 0.0)} {where}"


def _scale(result: BoundsResult, scale: float | None, key: str) -> list[tuple[str, ...]]:
    """A line for a table of facts."""
    if scale is None:
        return []
    return [("softmax scale", f"s = 1/tau >= {_scaled(scale)}", _promise(result), key)]


def _source(row: Any) -> Styled:
    """Whom to cite; the bisector theorem stands in a note."""
    return Styled(row.source.removeprefix(_BISECTOR), "dim")


def _notes(rows: Sequence[Any], built: Iterable[Any]) -> list[Cell]:
    """What the bisector theorem says, where it is used; the commands that build the best codes."""
    notes: list[Cell] = []
    turned = dict.fromkeys(row.name for row in rows if row.source.startswith(_BISECTOR))
    if turned:
        theorem = "rho* = 1 - t*, t* the smallest possible largest cosine (docs/theorem.md)"
        notes.append(Styled(f"by the bisector theorem, {theorem}: {', '.join(turned)}", "dim"))
    named: dict[str, list[str]] = {}
    for row in built:
        if row.how:
            named.setdefault(row.how, []).append(row.name)
    for command, names in named.items():
        words = filter(None, (", ".join(dict.fromkeys(names)), command_cost(command)))
        notes += [(Styled(f"build it ({'; '.join(words)}):", "bold"), f" {command}")]
    return notes


def _best_built(
    rows: Sequence[Any], rank: Callable[[Any], float], question: Callable[[Any], Any]
) -> list[Any]:
    """Of the rows that have a command those with the best answer to each question."""
    built = [row for row in rows if row.how]
    best: dict[Any, float] = {}
    for row in built:
        best[question(row)] = min(best.get(question(row), math.inf), rank(row))
    return [
        row for row in built
        if rank(row) - best[question(row)] <= _SAME * abs(best[question(row)])
    ]  # fmt: skip


def command_cost(command: str) -> str:
    """What a command needs beyond a moment and a little memory; empty where no more.

    >>> command_cost("gnc solve --d 500000 --K 1000000")
    'needs 4 TB'
    >>> command_cost("gnc solve --d 10 --K 100 --method descent --seed 0")
    'minutes'
    """
    need = 8.0
    for name in ("d", "K"):
        found = re.search(rf"--{name} (\d+)", command)
        need *= float(found[1]) if found else 0.0
    if need > _MEMORY:
        return f"needs {need / 1e9:.0f} GB" if need < 1e12 else f"needs {need / 1e12:.3g} TB"
    return "minutes" if "--method descent" in command else ""
