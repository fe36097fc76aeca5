"""`compare --conjecture --named` without a search: the code's own rows, and climbs from it.

Codes beyond some hundred points are certified on some of their rows, disturbed, and climbed from.
Such a row says `how: local` or `certified`, and nothing about codes far away.
"""

import threading
import time
from fractions import Fraction
from typing import Any, cast

import numpy as np

from gnc_cli.codes.conjecture import AGREES, Judgement, Verdict, judge, unit_defect
from gnc_cli.codes.constructions.construction import Construction
from gnc_cli.codes.local_climb import climb_nearby
from gnc_cli.codes.rational import verify_below
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.gram import row_maxima
from gnc_cli.numerics.one_vs_rest import OneVsRest, minimum_one_vs_rest, one_vs_rest
from gnc_cli.results import Bracket, CompareRow, plain
from gnc_cli.workflows.compare_claims import (
    CLAIMS,
    CLAIMS_ON_T,
    TammesValue,
    settled,
    write_evidence,
)
from gnc_cli.workflows.compare_runs import Flag
from gnc_cli.workflows.compare_standing import standing

__all__ = ["climbs_from", "local_row"]

_WHOLE = 5e9
"""K^2 d up to which all pairs of rows are looked at; a step of the climb then takes no more than a
second or two."""
_DISTURBANCES = (0.01, 0.1, 0.5)
_SAMPLE = 8
"""Rows certified besides the first."""
_ROUNDING = 1e-12
"""How far coordinates in doubles may part distances that are equal in the exact code."""
_NOT_TRANSITIVE = (
    "the rows are not alike, though the construction calls the code transitive: those looked at "
    "do not speak for the others"
)


def local_row(job: Any, flag: Flag, code: Construction, value: TammesValue) -> CompareRow | None:
    """Certify the code on some rows, then climb from it; None where the flag cut it short.

    Of a transitive code a row speaks for all; the others that are looked at test just that. Of any
    other code the largest cosine of all pairs bounds rho from below. The stated cosine is never
    used for that: a wrong code must not agree.
    """
    started = time.monotonic()
    W = np.asarray(code.build())
    whole = float(job.K) ** 2 * job.d <= _WHOLE
    rng = np.random.default_rng(job.seed)
    some = np.concatenate([[0], 1 + rng.choice(job.K - 1, _SAMPLE, replace=False)])
    rows = one_vs_rest(W, some, deadline=Deadline(job.budget, cast(threading.Event, flag)))
    refuted = code.transitive and _apart(rows)
    rho = _bracket(W, rows, alike=code.transitive and not refuted, whole=whole)
    cosine = _largest_cosine(W, some, whole)
    if abs(cosine - code.cosine.value) <= _ROUNDING:
        cosine = code.cosine.value
    judged = judge(
        rho, cosine, value.t, error=value.error, proven=value.proven, listed=value.listed,
        defect=unit_defect(W),
    )  # fmt: skip
    keys = plain(judged) | _verdict(job, flag, W, rho, value, judged, whole)
    if refuted:
        keys |= {"verdict": None, "same_maximiser": None, "advice": _NOT_TRANSITIVE}
    keys = {"how": "certified", "rho_one_vs_rest": plain(rho), **keys}
    climbs: list[dict[str, Any]] = []
    if whole:
        climbs, claim = climbs_from(job, flag, W, value, rng)
        keys |= {"how": "local" if climbs else "certified", **claim}
    if flag.is_set():
        return None

    def verified(t: Fraction) -> bool:
        return whole and verify_below(W, t).holds is True

    return CompareRow(
        d=job.d,
        K=job.K,
        max_cosine=cosine,
        best_known=job.known.max_cosine,
        gap=cosine - job.known.max_cosine,
        status=standing(cosine, job.known, verified),
        rattlers=None,
        contacts=None,
        congruent_to=code.name,
        source=job.known.source,
        proven=job.known.proven,
        seconds=time.monotonic() - started,
        more={
            "name": job.name,
            "h_minus_w": float(np.linalg.norm(rows.directions - W[some], axis=1).max()),
            "reference": value.kind,
            **keys,
            "rows_certified": len(some),
            "rows_spread": float(rows.upper.max() - rows.lower.min()),
            "transitive": code.transitive and not refuted,
            "climbs": climbs,
            "seed": job.seed,
        },
    )


def _apart(rows: OneVsRest) -> bool:
    """Two of the brackets cannot be of the same number."""
    return float(rows.lower.max() - rows.upper.min()) > _ROUNDING


def _bracket(W: np.ndarray, rows: OneVsRest, *, alike: bool, whole: bool) -> Bracket:
    """Of rho: above by the rows looked at, below by them or by every pair of rows."""
    upper = float(rows.upper.min())
    if alike:
        return Bracket(float(rows.lower.min()), upper)
    if not whole:
        return Bracket(0.0, upper)
    lower = minimum_one_vs_rest(W, max_exact=0)[0].lower
    return Bracket(lower, upper)


def _largest_cosine(W: np.ndarray, some: np.ndarray, whole: bool) -> float:
    """Of all pairs, or of those with a row looked at."""
    if whole:
        return float(row_maxima(W)[0].max())
    products = W[some] @ W.T
    products[np.arange(len(some)), some] = -np.inf
    return float(products.max())


def _verdict(
    job: Any, flag: Flag, W: np.ndarray, rho: Bracket, value: TammesValue, judged: Judgement,
    whole: bool,
) -> dict[str, Any]:  # fmt: skip
    """What replaces a judgement that looked at the lower end alone."""
    close = max(AGREES, judged.tolerance)
    above = rho.upper - judged.one_minus_t
    if judged.verdict is Verdict.AGREES:
        return {} if above <= close else {"verdict": None}
    if judged.verdict is Verdict.BELOW:
        # Not even the upper end reaches 1 - t; else it is the bracket that is too wide.
        return {} if above < -close else {"verdict": None}
    if judged.verdict not in (*CLAIMS, *CLAIMS_ON_T):
        return {}
    if not whole:
        return {"verdict": None}  # nothing of this size is settled in exact arithmetic
    features = one_vs_rest(W).directions if judged.verdict in CLAIMS else None
    return settled(job, flag, W, features, value, judged)


def climbs_from(
    job: Any, flag: Flag, W: np.ndarray, value: TammesValue, rng: np.random.Generator
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Climb from the code after small disturbances.

    Returns:
        A dict for each climb; and the keys of a claim that was settled, if there is any. A climb
        whose claim exact arithmetic did not bear is `unproved`.
    """
    climbs: list[dict[str, Any]] = []
    for disturbance in _DISTURBANCES:
        limit = Deadline(job.budget / len(_DISTURBANCES), cast(threading.Event, flag))
        end = climb_nearby(W, disturbance, rng, limit)
        found = judge(
            end.rho, end.max_cosine, value.t, error=value.error, proven=value.proven,
            listed=value.listed, defect=unit_defect(end.weights),
        )  # fmt: skip
        climb = {
            "disturbance": disturbance, "rho_one_vs_rest": plain(end.rho),
            "excess": found.excess, "max_cosine": end.max_cosine, "steps": end.steps,
        }  # fmt: skip
        climbs.append(climb)
        if flag.is_set():
            break
        if found.verdict not in (*CLAIMS, *CLAIMS_ON_T):
            continue
        said = settled(job, flag, end.weights, end.features, value, found)
        keys = plain(found) | {"how": "local", "rho_one_vs_rest": plain(end.rho)} | said
        if keys["verdict"] in (None, Verdict.AGREES.value):
            climb["unproved"] = True
            continue
        if found.verdict is Verdict.IMPROVES:
            keys["evidence"] = write_evidence(job, end.weights, end.features, keys)
        return climbs, keys
    return climbs, {}
