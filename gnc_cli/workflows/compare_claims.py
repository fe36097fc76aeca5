"""One row of `compare --conjecture`: an independent search, its verdict, and what a claim needs.

A claim is made twice before it is a row: by the certificate in floating point, and in exact
arithmetic. A Tammes polish of the same code asks first whether t is what fails.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from gnc_cli.codes.conjecture import (
    AGREES,
    Judgement,
    Verdict,
    judge,
    rational_margin,
    unit_defect,
)
from gnc_cli.codes.rational import verify_below
from gnc_cli.results import CompareRow, SolveResult, plain
from gnc_cli.workflows.compare_runs import Flag
from gnc_cli.workflows.compare_solve import solved_row, timed_solve
from gnc_cli.workflows.known import Reference

__all__ = [
    "CLAIMS",
    "CLAIMS_ON_T",
    "TammesValue",
    "features_apart",
    "independent_row",
    "settled",
    "stated",
    "write_evidence",
]

CLAIMS = (Verdict.COUNTEREXAMPLE, Verdict.CANDIDATE)
CLAIMS_ON_T = (Verdict.IMPROVES, Verdict.CONTRADICTION)

_WRONG = (
    "a code beats a largest cosine that is marked as proved optimal: the entry or the code is "
    "wrong, and the conjecture is not tested"
)
_NOT_BORNE = "exact arithmetic does not bear out what floating point certified; please report it"


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
        job: with d, K, budget, seed, known, evidence and beside.
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
    keys |= settled(job, flag, found.weights, found.features, value, judged)
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


def settled(
    job: Any,
    flag: Flag,
    weights: np.ndarray,
    features: np.ndarray | None,
    value: TammesValue,
    judged: Judgement,
) -> dict[str, Any]:
    """Keys that replace a judgement's: no claim leaves here that exact arithmetic does not bear.

    A claim on rho is made once more in exact arithmetic, held against a Tammes polish of the same
    code, and written to disk; a claim on t is proved in exact arithmetic. Empty for all else.

    Args:
        weights, features: of the code, shape (K, d) each; features are needed for claims on rho.
    """
    if judged.verdict in CLAIMS_ON_T:
        return _below_t(job, weights, features, value, judged)
    if judged.verdict not in CLAIMS:
        return {}
    assert features is not None
    margin, bar = rational_margin(weights, features), 1 - Fraction(value.t)
    if margin <= bar + Fraction(value.error):
        if margin >= bar - Fraction(max(AGREES, judged.tolerance)):
            return {"verdict": Verdict.AGREES.value, "proved_margin": None}
        return {"verdict": None, "proved_margin": None, "advice": _NOT_BORNE}
    keys: dict[str, Any] = {"proved_margin": _decimals(margin)}
    # Is it t that is too large? Then the code's own Tammes neighbour says so.
    near = timed_solve(job, flag, problem="tammes", method="descent", init=weights, restarts=0)
    if near.max_cosine < value.t - judged.tolerance and _proved_below(near.weights, value):
        keys["polished_cosine"] = near.max_cosine
        if value.proven:
            return keys | _contradiction(job, near.weights, near.features, value, judged)
        better = Verdict.IMPROVES if value.listed else Verdict.LOOSE
        return {**keys, "verdict": better.value}
    facts = {**plain(judged), **keys, "t": value.t, "reference": value.kind}
    return {**keys, "evidence": write_evidence(job, weights, features, facts)}


def _below_t(
    job: Any,
    weights: np.ndarray,
    features: np.ndarray | None,
    value: TammesValue,
    judged: Judgement,
) -> dict[str, Any]:
    """A largest cosine below t, proved."""
    if not _proved_below(weights, value):
        return {"verdict": None, "advice": _NOT_BORNE}
    if judged.verdict is Verdict.IMPROVES:
        return {}
    return _contradiction(job, weights, features, value, judged)


def _proved_below(W: np.ndarray, value: TammesValue) -> bool:
    return verify_below(W, Fraction(value.t) - Fraction(value.error)).holds is True


def _contradiction(
    job: Any, W: np.ndarray, H: np.ndarray | None, value: TammesValue, judged: Judgement
) -> dict[str, Any]:
    """A theorem and a code that cannot both be right: said aloud, with the code on disk."""
    keys = {"verdict": Verdict.CONTRADICTION.value, "advice": _WRONG}
    facts = {**plain(judged), **keys, "t": value.t, "reference": value.kind}
    return {**keys, "evidence": write_evidence(job, W, H, facts)}


def write_evidence(
    job: Any, weights: np.ndarray, features: np.ndarray | None, facts: dict[str, Any]
) -> str:
    """Code, features and certificate of a claim in a file.

    Returns:
        Its path as seen from the folder of the rows, so that the two can be moved together.
    """
    from gnc_cli.io.gncfile import CodeFile, write_code

    name = f"{facts['verdict']}-{job.d}-{job.K}-seed-{job.seed}.h5"
    path = os.path.join(job.evidence, name)
    claim = {**facts, "d": job.d, "K": job.K, "budget": job.budget, "seed": job.seed}
    code = CodeFile(weights=weights, features=features, provenance={"conjecture": claim})
    write_code(path, code, force=True)
    return os.path.relpath(os.path.realpath(path), os.path.realpath(job.beside))


def _decimals(value: Fraction) -> str:
    """Forty decimals, rounded down."""
    scaled = value.numerator * 10**40 // value.denominator
    return f"{'-' if scaled < 0 else ''}{abs(scaled) // 10**40}.{abs(scaled) % 10**40:040d}"
