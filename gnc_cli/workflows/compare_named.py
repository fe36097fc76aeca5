"""`compare --conjecture --named`: the codes whose optimality is known best, one by one.

Up to 300 points a Softmax Code is searched for from nothing; larger codes, and those that the
search did not find, are looked at and climbed from (`compare_local.py`).
"""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from gnc_cli.codes.certify import certify_code
from gnc_cli.codes.conjecture import Verdict
from gnc_cli.codes.constructions.construction import Construction
from gnc_cli.codes.constructions.registry import find, single_codes
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.rounding import UNIT
from gnc_cli.numerics.threads import limit_threads
from gnc_cli.results import CompareRow, Outcome, SolveResult
from gnc_cli.workflows.compare_claims import TammesValue, independent_row, stated
from gnc_cli.workflows.compare_local import climbs_from, local_row
from gnc_cli.workflows.compare_runs import Flag
from gnc_cli.workflows.compare_solve import search_for, timed_solve
from gnc_cli.workflows.known import Reference, Table, read_table, reference
from gnc_cli.workflows.solve_request import read_request
from gnc_cli.workflows.solve_runs import TOLERANCE, assemble

__all__ = ["NamedJob", "named_codes", "named_jobs", "named_row"]

_FAMILIES = ("isotropic-3", "isotropic-4", "kerdock-4", "kerdock-6")
"""Members of families that are proved optimal and have a place among the single codes."""
_MOST_DIMENSIONS = 100
_SEARCHED = 300
"""Up to this K an independent search is worth its time."""
_FREE_DIMENSIONS = 10
"""Above, free descent never finds these codes; random cyclic symmetries do, for some."""
_ERROR = 8.0 * UNIT
"""What an exact cosine loses as a double."""
_TOLERANCE_ROUGH = 1e-4
"""Of rattlers, where nothing was polished."""
_CONJECTURED = ("smith",)
"""Not proved optimal, and of interest all the same."""


@dataclass(frozen=True)
class NamedJob:
    """One named code to test."""

    name: str
    d: int
    K: int
    budget: float
    seed: int
    known: Reference
    """The table's entry where there is one: a better code is news, then."""
    evidence: str
    beside: str
    """As `ConjectureJob`'s."""

    @property
    def key(self) -> tuple[str]:
        """The name."""
        return (self.name,)


def named_codes() -> list[Construction]:
    """Cohn and Kumar's Table 1 and our other exact codes, d <= 100, from few dimensions to many.

    (H. Cohn and A. Kumar, Universally optimal distribution of points on spheres, 2007.) Simplices,
    orthoplexes and polygons are left out: there theorem 3.3 settles the conjecture.
    """
    members = [code for name in _FAMILIES if (code := find(name)) is not None]
    codes = {
        (c.d, c.K): c
        for c in [*members, *single_codes()]
        if c.d <= _MOST_DIMENSIONS and (c.proven or c.name in _CONJECTURED)
    }
    return [codes[key] for key in sorted(codes)]


def named_jobs(
    dims: Sequence[int],
    sizes: Sequence[int],
    *,
    budget: float,
    seed: int,
    table: Table = None,
    evidence: str = ".",
    beside: str = ".",
) -> list[NamedJob]:
    """One job a code; `dims` and `sizes` narrow the choice where given."""
    known = read_table(table)
    return [
        NamedJob(
            code.name, code.d, code.K, float(budget), seed,
            reference(code.d, code.K, known) or _own(code), evidence, beside,
        )
        for code in named_codes()
        if (not dims or code.d in dims) and (not sizes or code.K in sizes)
    ]  # fmt: skip


def _own(code: Construction) -> Reference:
    return Reference(code.cosine.value, None, 0.0, code.reference, code.proven, listed=False)


def named_row(job: NamedJob, flag: Flag) -> CompareRow | None:
    """Search, or certify and climb; None where the flag cut it short."""
    code = find(job.name)
    assert code is not None
    value = stated(job.known)
    if abs(value.t - code.cosine.value) <= max(value.error, _ERROR):
        # The entry is this very code, whose cosine is known exactly.
        proven = value.proven or code.proven
        value = TammesValue(code.cosine.value, _ERROR, proven, value.kind)
    with limit_threads(1):
        if job.K > _SEARCHED:
            return local_row(job, flag, code, value)
        search = search_for(job.K) if job.d <= _FREE_DIMENSIONS else symmetric_solve
        row = independent_row(job, flag, value, {"name": job.name}, search)
        if row is None or row.more["verdict"] != Verdict.BELOW.value:
            return row
        # Not found: then at least, is there anything better close to it?
        rng = np.random.default_rng(job.seed)
        climbs, claim = climbs_from(job, flag, np.asarray(code.build()), value, rng)
        return None if flag.is_set() else replace(row, more={**row.more, **claim, "climbs": climbs})


def symmetric_solve(job: Any, flag: Flag, **options: Any) -> SolveResult:
    """As `timed_solve`, over random cyclic symmetries and without a polish of many unknowns."""
    from gnc_cli.codes.rational_symmetry import few_cosines, symmetric_softmax_code

    started = time.monotonic()
    deadline = Deadline(job.budget, cast(threading.Event, flag))
    found = symmetric_softmax_code(job.d, job.K, seed=job.seed, deadline=deadline)
    if found is None:  # no group fitted, or no time: a descent without symmetry is all there is
        return timed_solve(job, flag, **options)
    weights, certified = found.weights, certify_code(found.weights, tolerance=_TOLERANCE_ROUGH)
    rounded = few_cosines(weights)
    if rounded is not None:
        again = certify_code(rounded, tolerance=TOLERANCE)
        if again.rho_one_vs_rest.lower > certified.rho_one_vs_rest.lower:
            weights, certified = rounded, again
    request = read_request(
        job.d, job.K, problem="softmax", method="descent", seed=job.seed, restarts=None,
        steps=None, init=None, fixed=None, symmetry=None, target=None, cross_start=False,
        tau=None, weight_decay=None, n=1,
    )  # fmt: skip
    return assemble(
        request, weights, certified, started, outcome=Outcome.TIME_LIMIT,
        origin=f"descent, cyclic symmetry of order {found.order}", restarts=found.restarts,
        steps=found.steps,
    )  # fmt: skip
