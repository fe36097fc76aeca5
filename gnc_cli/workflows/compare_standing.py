"""The verdict: where a largest cosine stands beside the best known one, and what to do about it."""

from collections.abc import Callable
from fractions import Fraction
from shlex import quote

from gnc_cli.results import Standing, TableStamp
from gnc_cli.workflows.known import Reference

__all__ = ["TOLERANCE", "advice", "passes", "standing", "table_name"]

TOLERANCE = 1e-9
"""Default of the largest gap that passes."""
_COORDINATES = 1e-11
"""Coordinates are published with twelve decimals; a code is no worse for having been printed."""
_NOISE = 1e-14
"""Below the figure by this much is no news: cosines in float64 are good to a few 1e-16."""


def standing(
    max_cosine: float, known: Reference | None, verified: Callable[[Fraction], bool]
) -> Standing:
    """Compare a code with the best known one.

    Args:
        max_cosine: of the code, float64.
        known: the reference; None where there is none.
        verified: told a rational t, whether exact arithmetic proves the largest cosine below t;
            asked only where the code seems to improve.

    Returns:
        `improves` only with that proof. Better than a mere construction is `no_entry`: a family
        that happens to have K rows is no record.
    """
    if known is None:
        return Standing.NO_ENTRY
    gap = max_cosine - known.max_cosine
    if gap > max(known.rounding, _COORDINATES):
        return Standing.WORSE
    if gap >= -max(known.rounding, _NOISE):
        return Standing.MATCHES
    if not known.listed and not known.proven:
        return Standing.NO_ENTRY
    exact = Fraction(known.max_cosine) if known.exact is None else known.exact
    below = exact - Fraction(known.rounding)
    return Standing.IMPROVES if verified(below) else Standing.MATCHES


def passes(
    status: Standing | None, gap: float | None, *, tolerance: float, require_entry: bool
) -> bool | None:
    """Whether a row is good enough for the exit code 0; None where its cosine is not known."""
    if status is None:
        return None
    if status is Standing.NO_ENTRY and require_entry:
        return False
    return gap is None or gap <= tolerance


def table_name(stamp: TableStamp) -> str:
    """Which table an improvement improves on."""
    which = "the table" if stamp.current else "our copy"
    return f"{which} of {stamp.date} (sha256 {stamp.sha256})"


def advice(
    status: Standing | None,
    d: int,
    K: int,
    file: str | None,
    stamp: TableStamp,
    proved: str | None = None,
) -> str:
    """One sentence: what the verdict means for the user.

    Args:
        file: where the code is, so that the user may go on with it.
        stamp: the table of the verdict.
        proved: of an improvement, a decimal that no cosine exceeds.
    """
    own = "" if file is None or file == "-" else f" --init {quote(file)}"
    match status:
        case None:
            return "the time limit came first: not every pair of points was seen; raise it"
        case Standing.MATCHES:
            return "ties the best known code within the rounding of its figure"
        case Standing.WORSE:
            return (
                f"a better code is known; gnc solve --d {d} --K {K} --problem tammes{own} "
                "polishes this one or finds others"
            )
        case Standing.IMPROVES:
            bound = f": no cosine exceeds {proved}" if proved else ""
            said = f"improves on {table_name(stamp)}, proved in rational arithmetic{bound}"
            current = "" if stamp.current else "; check the public table with --table"
            return f"{said}{current}"
        case Standing.NO_ENTRY:
            more = "" if stamp.current else "; a fuller one can be given with --table"
            return f"the table has no entry for d = {d}, K = {K}{more}"
