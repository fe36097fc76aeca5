"""Verdict on a code of the user's: the fields of its row, and the advice."""

from shlex import quote
from typing import Any

from gnc_cli.brackets import Bracket
from gnc_cli.codes.exact_cosine import largest_cosine_above, verify_below
from gnc_cli.comparison.files import Code
from gnc_cli.comparison.result import FileRow
from gnc_cli.known_codes.best import BestKnown
from gnc_cli.known_codes.table import TableStamp
from gnc_cli.known_codes.verdict import (
    COORDINATE_ROUNDING,
    ComparisonStatus,
    compared_cosine,
    comparison_status,
)

_PROVED_DECIMALS = 15
"""Decimals of the proved cosine of an improvement: as many as a float64 has."""


def passes(row: FileRow, tolerance: float, require_entry: bool) -> bool | None:
    """Return True if a row is good enough for the exit code 0; None without a cosine.

    The largest gap that passes is `tolerance`; with `require_entry` a pair that is not on record
    does not pass. Nor does a code below a value that is proved optimal: one of the two is wrong.
    """
    if row.status is None:
        return None
    if (row.status is ComparisonStatus.IMPROVES and row.proven) or (
        require_entry and not row.on_record
    ):
        return False
    return row.gap is None or row.gap <= tolerance


def verdict(
    code: Code,
    max_cosine: float | None,
    best_known: BestKnown | None,
    stamp: TableStamp,
    rho: Bracket | None = None,
) -> dict[str, Any]:
    """Compare a code with the best known one: the fields of its row.

    Args:
        code: the code, K rows in d dimensions.
        max_cosine: its largest cosine, or its coherence for lines; None if time ran out.
        best_known: the best known code; None if there is none.
        stamp: the requested table.
        rho: its one-vs-rest distance, if known.
    """
    status = cosine = None
    distance = 0.0 if rho is None else rho.lower
    if max_cosine is not None:
        cosine = compared_cosine(code.problem, max_cosine, distance)
        status = comparison_status(
            cosine, best_known, lambda t: verify_below(code.exact, t) is True, code.precision
        )
    improves_on = proved = None
    if status is ComparisonStatus.IMPROVES and best_known is not None:
        improves_on = best_known.source if best_known.stamp is None else str(best_known.stamp)
        proved = largest_cosine_above(code.exact, _PROVED_DECIMALS).text
    gap = None if cosine is None or best_known is None else best_known.gap(cosine)
    words = advice(status, code, stamp, proved, best_known, gap)
    sentence = best_known and _compare_distances(code, max_cosine, distance, best_known)
    if sentence:
        closer = "two points are closer than there, as in a Softmax Code they may be"
        words = "; ".join(
            (words, sentence) if status is ComparisonStatus.WORSE else (sentence, closer)
        )
    return {
        "best_known": best_known and best_known.max_cosine,
        "figure": best_known and best_known.figure,
        "gap": gap,
        "status": status,
        "source": best_known and best_known.source,
        "optimality": best_known and best_known.optimality,
        "proven": best_known and best_known.proven,
        "how": best_known and best_known.how,
        "reference": best_known and best_known.kind,
        "date": best_known and best_known.date,
        "best_known_table": best_known and best_known.table,
        "on_record": best_known is not None and best_known.on_record,
        "improves_on": improves_on,
        "proved_cosine": proved,
        "advice": words,
    }


def _compare_distances(
    code: Code, max_cosine: float | None, distance: float, best_known: BestKnown
) -> str | None:
    """Compare one-vs-rest distances, if a code is worse only by its largest cosine."""
    slack = max(best_known.rounding, COORDINATE_ROUNDING, code.precision)
    excess = distance - best_known.distance
    if max_cosine is None or max_cosine - best_known.max_cosine <= slack or excess < -slack:
        return None
    relation = f"{excess:.2g} above" if excess > slack else "equal to"
    return f"its one-vs-rest distance is {relation} that of the best known code"


def advice(
    status: ComparisonStatus | None,
    code: Code,
    stamp: TableStamp,
    proved: str | None = None,
    best_known: BestKnown | None = None,
    gap: float | None = None,
) -> str:
    """Return one sentence that says what the verdict means, and the next step.

    `proved` is the decimal that no cosine exceeds.
    """
    K, d = code.rows.shape
    goal = code.problem if code.problem in ("softmax", "lines") else "tammes"
    start = "" if code.file is None or code.file == "-" else f" --init {quote(code.file)}"
    match status:
        case None:
            return "the time limit came first: not every pair of points was compared; raise it"
        case ComparisonStatus.MATCHES:
            return "ties the best known code, within 1e-11 or the rounding of its value"
        case ComparisonStatus.WORSE:
            return (
                f"a better code is known; gnc solve --d {d} --K {K} --problem {goal}{start} "
                "polishes this one or finds others"
            )
        case ComparisonStatus.IMPROVES:
            bound = f"no cosine exceeds {proved}"
            if best_known is not None and best_known.proven:
                return (
                    f"below an entry marked proved optimal: the entry or the file is wrong; {bound}"
                )
            name = best_known and (best_known.stamp or f"the best known code ({best_known.source})")
            current = "" if stamp.current else "; check the public table with --table"
            return f"improves on {name}, proved in rational arithmetic: {bound}{current}"
        case ComparisonStatus.NO_ENTRY:
            comparison = ""
            if best_known is not None:
                margin = -(gap or 0.0)
                relation = f"{margin:.2g} below" if margin > COORDINATE_ROUNDING else "equal to"
                comparison = (
                    f"; its largest cosine is {relation} that of the best known, "
                    f"{best_known.source}"
                )
            hint = "" if stamp.current else "; a fuller table can be given with --table"
            return f"no record for ({d:,}, {K:,}) here{comparison}{hint}"
