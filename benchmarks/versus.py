"""(10, 100) three ways in equal seconds: ours, pymanopt's log-sum-exp, the paper's recipe.

One process each; `benchmarks.anytime` has the curves on all cores, and pymanopt's problem.
"""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.anytime import pymanopt_packing

SECONDS = 60.0
D, K = 10, 100


def versus(done: set[str]) -> Iterator[dict[str, Any]]:
    """Rows of the three runs that are not there yet."""
    for name, way in (("gnc", _ours), ("pymanopt", _pymanopt), ("paper recipe", _paper)):
        case = f"versus ({D}, {K}) {name}"
        if case not in done:
            yield {"case": case, "group": "versus", **_scored(*way())}


def _scored(weights: np.ndarray, seconds: float, starts: int) -> dict[str, Any]:
    from gnc_cli.codes.certify import certify_code

    found = certify_code(weights, tolerance=1e-6)
    rho = {"lower": found.rho_one_vs_rest.lower, "upper": found.rho_one_vs_rest.upper}
    result = {"max_cosine": found.max_cosine, "rho_one_vs_rest": rho, "restarts": starts}
    return {"wall": seconds, "result": result}


def _ours() -> tuple[np.ndarray, float, int]:
    from gnc_cli import solve

    begun = time.perf_counter()
    result = solve(D, K, method="descent", time_limit=SECONDS)
    return result.weights, time.perf_counter() - begun, result.restarts


def _paper() -> tuple[np.ndarray, float, int]:
    from gnc_cli.geometry.one_vs_rest import minimum_one_vs_rest
    from gnc_cli.runtime.threads import limit_threads
    from gnc_cli.search.ufm.descent import paper_recipe

    begun, seed, best = time.perf_counter(), 0, (-1.0, np.empty(0))
    with limit_threads(1):
        while time.perf_counter() - begun < SECONDS:
            weights, _, _ = paper_recipe(D, K, seed=seed)
            rho = minimum_one_vs_rest(weights).lower
            best = max(best, (rho, weights), key=lambda pair: pair[0])
            seed += 1
    return best[1], time.perf_counter() - begun, seed


def _pymanopt() -> tuple[np.ndarray, float, int]:
    from gnc_cli.runtime.threads import limit_threads

    best = (2.0, np.empty(0))

    def improved(weights: np.ndarray, cosine: float) -> None:
        nonlocal best
        if cosine < best[0]:
            best = cosine, weights.copy()

    begun = time.perf_counter()
    with limit_threads(1):
        starts = pymanopt_packing(D, K, 0, SECONDS, improved)
    return best[1], time.perf_counter() - begun, starts
