"""(10, 100) three ways in equal seconds: ours, pymanopt's log-sum-exp, the paper's recipe.

pymanopt's packing example minimises `epsilon * log sum exp(cos / epsilon)` over pairs by conjugate
gradients on the oblique manifold; here it is restated from its published objective, with a
decreasing epsilon and restarts until the seconds are used up, which flatters it.
"""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

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
    import pymanopt
    from pymanopt.manifolds import Oblique
    from pymanopt.optimizers import ConjugateGradient

    from gnc_cli.runtime.threads import limit_threads

    manifold = Oblique(D, K)  # columns are points there
    begun, starts, best = time.perf_counter(), 0, (2.0, np.empty(0))
    with limit_threads(1):
        while time.perf_counter() - begun < SECONDS:
            np.random.seed(starts)
            columns = manifold.random_point()
            for epsilon in (0.1, 0.01, 0.001, 0.0001):
                left = SECONDS - (time.perf_counter() - begun)
                if left <= 0.0:
                    break

                @pymanopt.function.numpy(manifold)
                def cost(X: np.ndarray, epsilon: float = epsilon) -> float:
                    return _smooth(X.T, epsilon)[0]

                @pymanopt.function.numpy(manifold)
                def gradient(X: np.ndarray, epsilon: float = epsilon) -> np.ndarray:
                    return _smooth(X.T, epsilon)[1].T

                problem = pymanopt.Problem(manifold, cost, euclidean_gradient=gradient)
                optimizer = ConjugateGradient(max_time=left, max_iterations=2000, verbosity=0)
                columns = optimizer.run(problem, initial_point=columns).point
            gram = columns.T @ columns
            np.fill_diagonal(gram, -2.0)
            best = min(best, (float(gram.max()), columns.T.copy()), key=lambda pair: pair[0])
            starts += 1
    return best[1], time.perf_counter() - begun, starts


def _smooth(rows: np.ndarray, epsilon: float) -> tuple[float, np.ndarray]:
    gram = rows @ rows.T
    np.fill_diagonal(gram, -np.inf)
    top = gram.max()
    weights = np.exp((gram - top) / epsilon)
    total = weights.sum()
    return top + epsilon * np.log(total), 2.0 * weights @ rows / total
