"""The bounds that `gnc bounds` asks, in the order in which their rows are shown."""

import os
from typing import TYPE_CHECKING

from gnc_cli.limits.closed_forms import (
    NO_MORE_THAN_ONE,
    POLYGON_OPTIMUM,
    THEOREM_3_3_LOWER,
    THEOREM_3_3_UPPER,
)
from gnc_cli.limits.covering import COVERING, COVERING_3
from gnc_cli.limits.fejes_toth import FEJES_TOTH
from gnc_cli.limits.levenshtein import LEVENSHTEIN
from gnc_cli.limits.limit import Limit
from gnc_cli.limits.rankin import RANKIN, RANKIN_CAPS
from gnc_cli.limits.simplicial import SIMPLICIAL
from gnc_cli.limits.theorem_3_9 import THEOREM_3_9_LOWER, THEOREM_3_9_UPPER
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.workflows.bounds_codes import code_limits
from gnc_cli.workflows.bounds_request import ONE_VS_REST
from gnc_cli.workflows.known import read_table

if TYPE_CHECKING:
    from gnc_cli.io.known_codes import KnownCodes

__all__ = ["catalogue"]


def catalogue(
    quantity: str,
    table: "KnownCodes | str | os.PathLike[str] | None" = None,
    *,
    lp: bool = False,
    deadline: Deadline | None = None,
) -> list[Limit]:
    """All bounds for a quantity: those on the Tammes cosine, and for one-vs-rest those on rho*.

    Args:
        table: known codes, or their file; our copy by default.
        lp: with Delsarte's linear programme.
        deadline: of the linear programmes.

    Raises:
        DataError: the table cannot be read.
    """
    codes = code_limits(read_table(table))
    exist = [limit for limit in codes if limit.exists]
    exclude = [limit for limit in codes if not limit.exists]
    of_rho = [THEOREM_3_3_UPPER, NO_MORE_THAN_ONE]
    closed = of_rho if quantity == ONE_VS_REST else [POLYGON_OPTIMUM]
    limits: list[Limit] = [
        THEOREM_3_3_LOWER, THEOREM_3_9_LOWER, COVERING, COVERING_3, *exist, *closed,
        THEOREM_3_9_UPPER, RANKIN, RANKIN_CAPS, FEJES_TOTH, SIMPLICIAL, LEVENSHTEIN, *exclude,
    ]  # fmt: skip
    if lp:
        from gnc_cli.limits.linear_program import DelsarteLP

        limits.append(DelsarteLP(deadline=deadline))
    return limits
