"""The verdict: where a largest cosine stands beside the best known one, and what to do about it."""

from collections.abc import Callable
from fractions import Fraction
from shlex import quote
from typing import TYPE_CHECKING, Any

from gnc_cli.results import Standing, TableStamp
from gnc_cli.workflows.known import Reference

if TYPE_CHECKING:
    import numpy as np

    from gnc_cli.codes.exact_rows import ExactRows

    Rows = Callable[[], np.ndarray | ExactRows]

__all__ = [
    "TOLERANCE",
    "advice",
    "improvement",
    "passes",
    "standing",
    "table_name",
    "verdict_keys",
]

TOLERANCE = 1e-9
"""Default of the largest gap that passes."""
_COORDINATES = 1e-11
"""Coordinates are published with twelve decimals; a code is no worse for having been printed."""
_NOISE = 1e-14
"""Below the figure by this much is no news: cosines in float64 are good to a few 1e-16."""
_PROVED = 15
"""Decimals of the cosine that is proved of an improvement."""


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
        `matches` from below the figure by its rounding (or without a proof), to above it by 1e-11
        or its rounding, whichever is larger; `improves` only with that proof. At least as good as
        what is no record of (d, K), a construction or a part of a larger code, is `no_entry`.
    """
    if known is None:
        return Standing.NO_ENTRY
    gap = max_cosine - known.max_cosine
    if gap > max(known.rounding, _COORDINATES):
        return Standing.WORSE
    if not known.on_record:
        return Standing.NO_ENTRY
    if gap >= -max(known.rounding, _NOISE):
        return Standing.MATCHES
    exact = Fraction(known.max_cosine) if known.exact is None else known.exact
    below = exact - Fraction(known.rounding)
    return Standing.IMPROVES if verified(below) else Standing.MATCHES


def passes(
    status: Standing | None,
    gap: float | None,
    *,
    tolerance: float,
    require_entry: bool,
    on_record: bool,
    proven: bool | None = None,
) -> bool | None:
    """Whether a row is good enough for the exit code 0; None where its cosine is not known.

    Args:
        status, gap, on_record, proven: of the row.
        tolerance: largest gap that passes.
        require_entry: a row whose pair is not on record does not pass.

    Returns:
        False also below a figure that is proved optimal: one of the two is wrong.
    """
    if status is None:
        return None
    if status is Standing.IMPROVES and proven:
        return False
    if require_entry and not on_record:
        return False
    return gap is None or gap <= tolerance


def table_name(stamp: TableStamp) -> str:
    """Which table an improvement improves on."""
    which = "the table" if stamp.current else "our copy"
    return f"{which} of {stamp.date} (sha256 {stamp.sha256})"


def improvement(
    status: Standing | None, known: Reference | None, rows: "Rows"
) -> dict[str, str | None]:
    """Keys of a row: the table improved on, and a decimal that no cosine exceeds; else null.

    Args:
        rows: gives the rows, (K, d), that the proof is about; asked only of an improvement.
    """
    keys: dict[str, str | None] = {"improves_on": None, "proved_cosine": None}
    if status is Standing.IMPROVES and known is not None:
        from gnc_cli.codes.rational import largest_cosine_above

        keys["improves_on"] = known.source if known.stamp is None else table_name(known.stamp)
        keys["proved_cosine"] = largest_cosine_above(rows(), _PROVED).text
    return keys


def verdict_keys(
    status: Standing | None,
    d: int,
    K: int,
    known: Reference | None,
    stamp: TableStamp,
    rows: "Rows",
    file: str | None = None,
) -> dict[str, Any]:
    """What a row says of its verdict, and of what the code was held against.

    Keys: `reference`, `date`, `on_record`, `improves_on`, `proved_cosine`, `advice`.

    Args:
        known: what the code was held against.
        stamp: the table asked for.
        rows: as of `improvement`.
        file: where they are.
    """
    better = improvement(status, known, rows)
    said = advice(status, d, K, file, stamp, better["proved_cosine"], known)
    held = {
        "reference": None if known is None else known.kind,
        "date": None if known is None else known.date,
        "on_record": known is not None and known.on_record,
    }
    return {**held, **better, "advice": said}


def advice(
    status: Standing | None,
    d: int,
    K: int,
    file: str | None,
    stamp: TableStamp,
    proved: str | None = None,
    known: Reference | None = None,
) -> str:
    """One sentence: what the verdict means for the user.

    Args:
        file: where the code is, so that the user may go on with it.
        stamp: the table asked for; an improvement names the one that `known` is from.
        proved: of an improvement, a decimal that no cosine exceeds.
        known: what the code was held against.
    """
    own = "" if file is None or file == "-" else f" --init {quote(file)}"
    match status:
        case None:
            return "the time limit came first: not every pair of points was seen; raise it"
        case Standing.MATCHES:
            return (
                "ties the best known code within 1e-11 or the figure's rounding, "
                "whichever is larger"
            )
        case Standing.WORSE:
            return (
                f"a better code is known; gnc solve --d {d} --K {K} --problem tammes{own} "
                "polishes this one or finds others"
            )
        case Standing.IMPROVES:
            bound = f"no cosine exceeds {proved}" if proved else ""
            if known is not None and known.proven:
                said = "below an entry marked proved optimal: the entry or the file is wrong"
                return f"{said}; {bound}" if bound else said
            name = table_name(stamp if known is None or known.stamp is None else known.stamp)
            said = f"improves on {name}, proved in rational arithmetic"
            said = f"{said}: {bound}" if bound else said
            current = "" if stamp.current else "; check the public table with --table"
            return f"{said}{current}"
        case Standing.NO_ENTRY:
            beaten = "" if known is None else f"no worse than the best known, {known.source}; "
            more = "" if stamp.current else "; a fuller table can be given with --table"
            return f"{beaten}no code of d = {d}, K = {K} is on record{more}"
