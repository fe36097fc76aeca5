"""One row of `compare --conjecture`: an independent search, its verdict, and what a claim needs.

A claim is made twice before it is a row: by the certificate in floating point, and in exact
arithmetic. Where t is not proved optimal, a Tammes polish of the same code asks first whether t is
what fails.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from gnc_cli.codes.conjecture import Judgement, Verdict, judge, rational_margin, unit_defect
from gnc_cli.results import CompareRow, SolveResult, plain
from gnc_cli.workflows.compare_runs import Flag
from gnc_cli.workflows.compare_solve import solved_row, timed_solve
from gnc_cli.workflows.known import Reference

__all__ = [
    "CLAIMS",
    "TammesValue",
    "features_apart",
    "independent_row",
    "stated",
    "write_evidence",
]

CLAIMS = (Verdict.COUNTEREXAMPLE, Verdict.CANDIDATE)


@dataclass(frozen=True)
class TammesValue:
    """The t that rho is held against."""

    t: float
    error: float
    """How far t may be from the cosine of the code behind it."""
    proven: bool
    kind: str
    """`theorem`, `table`, `construction` or `own`."""

    @property
    def listed(self) -> bool:
        """Somebody stands behind it."""
        return self.kind in ("theorem", "table")


def independent_row(
    job: Any,
    flag: Flag,
    value: TammesValue | None,
    more: dict[str, Any],
    search: Callable[..., SolveResult] = timed_solve,
) -> CompareRow | None:
    """Search for a Softmax Code from nothing and judge it; None where the flag cut it short.

    Args:
        job: with d, K, budget, seed, known and evidence.
        value: the t to compare with; None where there is none.
        more: keys that come first among the row's own.
        search: called as `timed_solve`.
    """
    found = search(job, flag, problem="softmax", method="descent", cross_start=False)
    if flag.is_set():
        return None
    keys = {**more, "how": "independent", "h_minus_w": features_apart(found)}
    if value is None:
        return solved_row(job, found, job.known, {**keys, **_NOTHING_KNOWN})
    judged = judge(
        found.rho_one_vs_rest, found.max_cosine, value.t, error=value.error,
        proven=value.proven, listed=value.listed, defect=unit_defect(found.weights),
    )  # fmt: skip
    keys |= {"reference": value.kind, **plain(judged)}
    if judged.verdict in CLAIMS:
        keys |= _settled(job, flag, found, value, judged)
    return solved_row(job, found, job.known, keys)


_NOTHING_KNOWN: dict[str, Any] = {
    "reference": None, "one_minus_t": None, "excess": None, "tolerance": None, "verdict": None,
    "same_maximiser": None,
}  # fmt: skip


def stated(known: Reference) -> TammesValue:
    """The t that a reference states."""
    kind = "table" if known.listed else "construction"
    if known.source.startswith("theorem"):
        kind = "theorem"
    return TammesValue(known.max_cosine, known.rounding, known.proven is True, kind)


def features_apart(found: SolveResult) -> float | None:
    """How far an optimal feature lies from its weight at most, rattlers aside (theorem 3.7)."""
    loose = found.extras.get("rattlers_one_vs_rest")
    if found.features is None or loose is None or loose.all():
        return None
    apart = np.linalg.norm(found.features - found.weights, axis=1)
    return float(apart[~loose].max())


def _settled(
    job: Any, flag: Flag, found: SolveResult, value: TammesValue, judged: Judgement
) -> dict[str, Any]:
    """A claim, once more in exact arithmetic, against a Tammes polish of the same code, on disk."""
    assert found.features is not None
    margin = rational_margin(found.weights, found.features)
    if margin <= 1 - Fraction(value.t) + Fraction(value.error):
        return {"verdict": Verdict.AGREES.value, "proved_margin": None}
    keys: dict[str, Any] = {"proved_margin": _decimals(margin)}
    if judged.verdict is Verdict.CANDIDATE:
        # Is it t that is too large? Then the code's own Tammes neighbour says so.
        near = timed_solve(
            job, flag, problem="tammes", method="descent", init=found.weights, restarts=0
        )
        if near.max_cosine < value.t - value.error:
            better = Verdict.IMPROVES if value.listed else Verdict.LOOSE
            return {**keys, "verdict": better.value, "polished_cosine": near.max_cosine}
    facts = {**plain(judged), **keys, "t": value.t, "reference": value.kind, "seed": found.seed}
    path = write_evidence(job, found.weights, found.features, facts)
    return {**keys, "evidence": path}


def write_evidence(
    job: Any, weights: np.ndarray, features: np.ndarray, facts: dict[str, Any]
) -> str:
    """Code, features and certificate of a claim in a file, whose path is returned."""
    from gnc_cli.io.gncfile import CodeFile, write_code

    name = f"{facts['verdict']}-{job.d}-{job.K}-seed-{job.seed}.h5"
    path = os.path.join(job.evidence, name)
    claim = {**facts, "d": job.d, "K": job.K, "budget": job.budget}
    code = CodeFile(weights=weights, features=features, provenance={"conjecture": claim})
    write_code(path, code, force=True)
    return path


def _decimals(value: Fraction) -> str:
    """Forty decimals, rounded down."""
    scaled = value.numerator * 10**40 // value.denominator
    return f"{'-' if scaled < 0 else ''}{abs(scaled) // 10**40}.{abs(scaled) % 10**40:040d}"
