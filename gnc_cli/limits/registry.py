"""The list of bounds, in the order of JSON and CSV, and what they say of a table of the user's."""

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
    """All bounds but Delsarte's programme, theorem 3.9 as the paper prints it for the quantity.

    Args:
        table: known codes of the user, held beside our copy: the smaller figure counts. What it
            says of optimality is not looked at.
        sdp: with three-point bounds that are computed.
        deadline: of these programmes.
        progress: of each of them.
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
        CodeList("solved-code", "numerical codes found by gnc", numerical_codes(), of_rho=True),
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
    """What is shown beside the bounds and counts nowhere: claims, and numerical bounds."""
    return [claimed_codes(table), UNPROVED_CARDINALITY]


def possible_table(table: Table) -> KnownCodes:
    """The table of a call, see `read_table`, unless an entry is better than a theorem allows.

    Such an entry would spoil every answer. The linear programme, which takes long, is not asked.

    Raises:
        DataError: the file cannot be read, or an entry is impossible; names the table, the entry
            and the theorem.
    """
    codes = read_table(table)
    if codes.stamp.current:
        _check(codes)
    return codes


@lru_cache(maxsize=4)
def _check(codes: KnownCodes) -> None:
    excluding = [limit for limit in all_limits(Quantity.ONE_VS_ONE, codes) if not limit.exists]
    # A bound falls with K, so what it grants to more points it grants to fewer: few are computed.
    granted: dict[tuple[str, int], float] = {}
    for (d, K), entry in sorted(codes.entries.items(), reverse=True):
        clearance = 1 - entry.interval[1]
        for limit in excluding:
            if clearance <= granted.get((limit.name, d), 0.0):
                continue
            finding = limit.at(d, K)
            if finding is None or not finding.valid:
                continue
            highest = finding.value * (1.0 + (-ROUNDING if finding.strict else ROUNDING))
            if clearance > highest:
                least = "more than " if finding.strict else "at least "
                raise DataError(
                    f"{codes.path!r}, line {entry.line}: d = {d}, N = {K} with cosine "
                    f"{entry.figure} is impossible: {least}{1.0 - finding.value:.12g} by "
                    f"{limit.name} ({limit.cited(finding)}); mend the line"
                )
            granted[limit.name, d] = highest
