"""The bounds that `gnc bounds` asks, in the order in which their rows are shown."""

import os
from collections.abc import Sequence

from gnc_cli.errors import DataError
from gnc_cli.io.known_codes import KnownCodes
from gnc_cli.limits.closed_forms import THEOREM_3_3_LOWER, THEOREM_3_3_UPPER
from gnc_cli.limits.covering import COVERING, COVERING_3
from gnc_cli.limits.fejes_toth import FEJES_TOTH
from gnc_cli.limits.kissing import KISSING
from gnc_cli.limits.levenshtein import LEVENSHTEIN
from gnc_cli.limits.limit import Limit
from gnc_cli.limits.rankin import RANKIN, RANKIN_CAPS
from gnc_cli.limits.simplicial import SIMPLICIAL
from gnc_cli.limits.theorem_3_9 import THEOREM_3_9_CHORD, THEOREM_3_9_LOWER, THEOREM_3_9_UPPER
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.workflows.bounds_codes import code_limits
from gnc_cli.workflows.bounds_request import ONE_VS_REST
from gnc_cli.workflows.known import read_table

__all__ = ["catalogue"]

_ROUNDING = 1e-9
"""Published figures may be off by so much."""


def catalogue(
    quantity: str,
    table: KnownCodes | str | os.PathLike[str] | None = None,
    *,
    lp: bool = False,
    deadline: Deadline | None = None,
) -> list[Limit]:
    """All bounds, with theorem 3.9 as the paper prints it for the quantity.

    Args:
        table: known codes, or their file; our copy by default.
        lp: with Delsarte's linear programme.
        deadline: of the linear programmes.

    Raises:
        DataError: the table cannot be read, or has an entry that a theorem excludes.
    """
    given = None if table is None else read_table(table)
    codes = code_limits(given)
    exist = [limit for limit in codes if limit.exists]
    exclude = [limit for limit in codes if not limit.exists]
    printed = THEOREM_3_9_CHORD if quantity == ONE_VS_REST else THEOREM_3_9_UPPER
    limits: list[Limit] = [
        THEOREM_3_3_LOWER, THEOREM_3_9_LOWER, COVERING, COVERING_3, *exist, THEOREM_3_3_UPPER,
        printed, RANKIN, RANKIN_CAPS, FEJES_TOTH, SIMPLICIAL, LEVENSHTEIN, KISSING, *exclude,
    ]  # fmt: skip
    if table is not None and given is not None:
        name = "the table" if isinstance(table, KnownCodes) else repr(os.fspath(table))
        _check_possible(given, name, [limit for limit in limits if not limit.exists])
    if lp:
        from gnc_cli.limits.linear_program import DelsarteLP

        limits.append(DelsarteLP(deadline=deadline))
    return limits


def _check_possible(table: KnownCodes, name: str, limits: Sequence[Limit]) -> None:
    """Refuse an entry that is better than a theorem allows: a wrong line, which would make of
    every answer nonsense.

    Args:
        limits: that say what is excluded.

    Raises:
        DataError: names the file, the entry and the theorem.
    """
    for entry in table.entries.values():
        clearance = 1 - entry.between[1]
        for limit in limits:
            found = limit.at(entry.d, entry.K)
            if found is None or not found.valid:
                continue
            slack = -_ROUNDING if found.strict else _ROUNDING
            if clearance > found.value * (1.0 + slack):
                least = "more than " if found.strict else "at least "
                raise DataError(
                    f"{name}: d = {entry.d}, N = {entry.K} with cosine {entry.figure} is "
                    f"impossible: {least}{1.0 - found.value:.12g} by {limit.name}; mend the line"
                )
