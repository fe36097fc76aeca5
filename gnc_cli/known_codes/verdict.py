"""The verdict: where a largest cosine stands beside the best known one, and what to do about it."""

from collections.abc import Callable
from enum import Enum
from fractions import Fraction
from shlex import quote
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from gnc_cli.codes.exact_cosine import ExactRows
    from gnc_cli.known_codes.best import BestKnown
    from gnc_cli.known_codes.table import TableStamp

    Rows = Callable[[], np.ndarray | ExactRows]

TOLERANCE = 1e-9
"""Default of the largest gap that passes."""
_COORDINATES = 1e-11
"""Coordinates are published with twelve decimals; a code is no worse for having been printed."""
_NOISE = 1e-14
"""Below the figure by this much is no news: cosines in float64 are good to a few 1e-16."""
_PROVED = 15
"""Decimals of the cosine that is proved of an improvement."""


class ComparisonStatus(Enum):
    """Where a code stands beside the best known one."""

    MATCHES = "matches"
    """Equal within 1e-11 or the rounding of the best known figure, whichever is larger."""
    WORSE = "worse"
    IMPROVES = "improves"
    """Below the best known figure by more than its rounding, verified in rational arithmetic."""
    NO_ENTRY = "no_entry"


def comparison_status(
    max_cosine: float,
    known: "BestKnown | None",
    verified: Callable[[Fraction], bool],
    precision: float = 0.0,
) -> ComparisonStatus:
    """Compare a code with the best known one.

    Args:
        max_cosine: of the code, float64.
        known: the reference; None where there is none.
        verified: whether exact arithmetic proves the largest cosine below a rational t; called
            only where the code seems to improve.
        precision: what the cosine is good to, where coordinates are coarser than float64.

    Returns:
        `matches` from below the figure by its rounding (or without a proof), to above it by 1e-11,
        its rounding or the precision, whichever is largest; `improves` only with that proof. At
        least as good as what is no record of (d, K), a construction or a part of a larger code, is
        `no_entry`.
    """
    if known is None:
        return ComparisonStatus.NO_ENTRY
    gap = max_cosine - known.max_cosine
    if gap > max(known.rounding, _COORDINATES, precision):
        return ComparisonStatus.WORSE
    if not known.on_record:
        return ComparisonStatus.NO_ENTRY
    if gap >= -max(known.rounding, _NOISE):
        return ComparisonStatus.MATCHES
    exact = Fraction(known.max_cosine) if known.exact is None else known.exact
    below = exact - Fraction(known.rounding)
    return ComparisonStatus.IMPROVES if verified(below) else ComparisonStatus.MATCHES


def judged_cosine(problem: str | None, max_cosine: float, distance: float) -> float:
    """What is held against the best known cosine, by the problem that the code solves.

    A Softmax Code is judged by its one-vs-rest distance: 1 - distance, which its largest cosine
    exceeds where two points are closer than in any Tammes code (docs/theory/theorem.md).
    """
    return min(max_cosine, 1.0 - distance) if problem == "softmax" else max_cosine


def passes(row: Any, tolerance: float, require_entry: bool) -> bool | None:
    """Whether a row with a `verdict` is good enough for the exit code 0; None without a cosine.

    The largest gap that passes is `tolerance`; with `require_entry` a pair that is not on record
    does not pass. Nor does a code below a figure that is proved optimal: one of the two is wrong.
    """
    if row.status is None:
        return None
    if row.status is ComparisonStatus.IMPROVES and row.proven:
        return False
    if require_entry and not row.on_record:
        return False
    return row.gap is None or bool(row.gap <= tolerance)


def verdict(
    max_cosine: float | None,
    d: int,
    K: int,
    known: "BestKnown | None",
    stamp: "TableStamp",
    *,
    verified: Callable[[Fraction], bool],
    rows: "Rows",
    file: str | None = None,
    precision: float = 0.0,
    problem: str | None = None,
    distance: float = 0.0,
) -> dict[str, Any]:
    """The fields of a row that say where a code stands beside the best known one.

    Args:
        max_cosine: None where time ran out.
        known: what the code is compared with.
        stamp: the table asked for.
        verified, precision: as in `comparison_status`.
        rows: gives the rows, (K, d), that the proof of an improvement is about.
        file: where they are.
        problem: that the code solves, where known; see `judged_cosine`.
        distance: lower end of its one-vs-rest distance.
    """
    status = judged = None
    if max_cosine is not None:
        judged = judged_cosine(problem, max_cosine, distance)
        status = comparison_status(judged, known, verified, precision)
    improves_on = proved = None
    if status is ComparisonStatus.IMPROVES and known is not None:
        from gnc_cli.codes.exact_cosine import largest_cosine_above

        improves_on = known.source if known.stamp is None else str(known.stamp)
        proved = largest_cosine_above(rows(), _PROVED).text
    gap = None if judged is None or known is None else known.gap(judged)
    words = advice(status, d, K, file, stamp, proved, known, gap, problem)
    by_distance = None if known is None else _by_distance(max_cosine, distance, known, precision)
    if by_distance is not None:
        closer = "two points are closer than there, as in a Softmax Code they may be"
        worse = status is ComparisonStatus.WORSE
        words = f"{words}; {by_distance}" if worse else f"{by_distance}; {closer}"
    return {
        "best_known": known and known.max_cosine,
        "figure": known and known.figure,
        "gap": gap,
        "status": status,
        "source": known and known.source,
        "optimality": known and known.optimality,
        "proven": known and known.proven,
        "how": known and known.how,
        "reference": known and known.kind,
        "date": known and known.date,
        "best_known_table": known and known.table,
        "on_record": known is not None and known.on_record,
        "improves_on": improves_on,
        "proved_cosine": proved,
        "advice": words,
    }


def _by_distance(
    max_cosine: float | None, distance: float, known: "BestKnown", precision: float
) -> str | None:
    """What the one-vs-rest distance of a code says, where the largest cosine alone is worse."""
    most = max(known.rounding, _COORDINATES, precision)
    more = distance - known.distance
    if max_cosine is None or max_cosine - known.max_cosine <= most or more < -most:
        return None
    stand = f"{more:.2g} above" if more > most else "equal to"
    return f"its one-vs-rest distance is {stand} that of the best known code"


def advice(
    status: ComparisonStatus | None,
    d: int,
    K: int,
    file: str | None,
    stamp: "TableStamp",
    proved: str | None = None,
    known: "BestKnown | None" = None,
    gap: float | None = None,
    problem: str | None = None,
) -> str:
    """One sentence: what the verdict means for the user; `proved` is what no cosine exceeds."""
    goal = problem if problem in ("softmax", "lines") else "tammes"
    own = "" if file is None or file == "-" else f" --init {quote(file)}"
    match status:
        case None:
            return "the time limit came first: not every pair of points was seen; raise it"
        case ComparisonStatus.MATCHES:
            return "ties the best known code, within 1e-11 or its figure's rounding"
        case ComparisonStatus.WORSE:
            return (
                f"a better code is known; gnc solve --d {d} --K {K} --problem {goal}{own} "
                "polishes this one or finds others"
            )
        case ComparisonStatus.IMPROVES:
            bound = f"no cosine exceeds {proved}"
            if known is not None and known.proven:
                return (
                    f"below an entry marked proved optimal: the entry or the file is wrong; {bound}"
                )
            name = known and (known.stamp or f"the best known code ({known.source})")
            current = "" if stamp.current else "; check the public table with --table"
            return f"improves on {name}, proved in rational arithmetic: {bound}{current}"
        case ComparisonStatus.NO_ENTRY:
            beside = ""
            if known is not None:
                less = -(gap or 0.0)
                much = f"{less:.2g} below" if less > _COORDINATES else "equal to"
                beside = f"; its largest cosine is {much} that of the best known, {known.source}"
            more = "" if stamp.current else "; a fuller table can be given with --table"
            return f"no record for ({d:,}, {K:,}) here{beside}{more}"
