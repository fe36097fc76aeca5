"""The list of bounds, in the order of JSON and CSV, and the check of a user's table by them."""

from functools import lru_cache

from gnc_cli.errors import DataError
from gnc_cli.known_codes.best import Table, read_table
from gnc_cli.known_codes.table import KnownCodes, numerical_codes, our_copy
from gnc_cli.limits.caps import COVERING, COVERING_3
from gnc_cli.limits.levenshtein import LEVENSHTEIN
from gnc_cli.limits.limit import ROUNDING, Limit, Quantity
from gnc_cli.limits.lines import line_limits
from gnc_cli.limits.lists import (
    CARDINALITY,
    UNPROVED_CARDINALITY,
    CodeList,
    ConstructionLimit,
    ThreePointLimit,
    claimed_codes,
    proved_optimum,
)
from gnc_cli.limits.rankin import RANKIN, RANKIN_CAPS
from gnc_cli.limits.simplicial import FEJES_TOTH, SIMPLICIAL
from gnc_cli.limits.theorem_3_3 import THEOREM_3_3_LOWER, THEOREM_3_3_UPPER
from gnc_cli.limits.theorem_3_9 import THEOREM_3_9_CHORD, THEOREM_3_9_LOWER, THEOREM_3_9_UPPER
from gnc_cli.runtime.deadline import Deadline, StageProgress


def all_limits(
    quantity: Quantity,
    table: KnownCodes | None = None,
    *,
    sdp: bool = False,
    deadline: Deadline | None = None,
    progress: StageProgress | None = None,
) -> list[Limit]:
    """Return the bounds except Delsarte's program; theorem 3.9 as the paper prints it.

    Args:
        quantity: quantity that is bounded.
        table: known codes of the user. They are merged with our copy: the smaller cosine counts.
            Their claims of optimality are ignored.
        sdp: include three-point bounds that are computed.
        deadline: deadline of these computations.
        progress: called as in `three_point_certificate`.
    """
    if quantity is Quantity.LINES:
        points = all_limits(Quantity.ONE_VS_ONE)
        return line_limits([limit for limit in points if not limit.exists])
    return [
        THEOREM_3_3_LOWER,
        THEOREM_3_9_LOWER,
        COVERING,
        COVERING_3,
        CodeList("known-code", "table of known codes", our_copy().merged(table or our_copy())),
        CodeList("solved-code", "numerical codes found by gnc", numerical_codes(), bounds_rho=True),
        ConstructionLimit(),
        THEOREM_3_3_UPPER,
        THEOREM_3_9_CHORD if quantity is Quantity.ONE_VS_REST else THEOREM_3_9_UPPER,
        RANKIN,
        RANKIN_CAPS,
        FEJES_TOTH,
        SIMPLICIAL,
        LEVENSHTEIN,
        CARDINALITY,
        ThreePointLimit(compute=sdp, deadline=deadline, progress=progress),
        proved_optimum(),
    ]


def unproved_limits(table: KnownCodes) -> list[Limit]:
    """Return claims and numerical bounds, which are shown with the bounds, but never counted."""
    return [claimed_codes(table), UNPROVED_CARDINALITY]


def possible_table(table: Table) -> KnownCodes:
    """Return the table of a call, see `read_table`, unless an entry contradicts a theorem.

    Such an entry would make every answer wrong. The linear program takes too long for this check.

    Raises:
        DataError: the file cannot be read, or an entry is impossible; the message has the table,
            the entry and the theorem.
    """
    codes = read_table(table)
    if codes.stamp.current:
        _check(codes)
    return codes


@lru_cache(maxsize=4)
def _check(codes: KnownCodes) -> None:
    excluding = [limit for limit in all_limits(Quantity.ONE_VS_ONE, codes) if not limit.exists]
    # A bound falls with K, so a value that it grants to more points it grants to fewer: most
    # entries need no evaluation.
    granted: dict[tuple[str, int], float] = {}
    for (d, K), entry in sorted(codes.entries.items(), reverse=True):
        clearance = 1 - entry.interval[1]
        for limit in excluding:
            if clearance <= granted.get((limit.name, d), 0.0):
                continue
            finding = limit.evaluate(d, K)
            if finding is None or not finding.valid:
                continue
            highest = finding.value * (1.0 + (-ROUNDING if finding.strict else ROUNDING))
            if clearance > highest:
                relation = "more than " if finding.strict else "at least "
                raise DataError(
                    f"{codes.path!r}, line {entry.line}: d = {d}, N = {K} with cosine "
                    f"{entry.figure} is impossible: {relation}{1.0 - finding.value:.12g} by "
                    f"{limit.name} ({limit.citation(finding)}); correct the line"
                )
            granted[limit.name, d] = highest
