"""The paper's own way to a Softmax Code, as a baseline.

    python -m benchmarks.search.paper_recipe 10 100 --seed 0 --out code.npy

Projected gradient descent on the unconstrained feature model with unit rows (eq. 2, n = 1), 5000
steps, learning rate 0.1 divided by 10 each 1000 steps, one random start (arXiv 2310.05351, appendix
B). The paper leaves open whether the rate acts on the sum of the K losses or on their mean, and the
temperature; the sum at tau = 0.1 does best at (10, 100), and is what runs here.
"""

import argparse
from collections.abc import Callable

import numpy as np

from gnc_cli import measure

STEPS = 5000


def paper_recipe(
    d: int,
    K: int,
    *,
    seed: int,
    steps: int = STEPS,
    tau: float = 0.1,
    stop: Callable[[], bool] = lambda: False,
) -> np.ndarray:
    """Weights (K, d) with unit rows, after `steps`, or once `stop()` says so."""
    W, H = _unit(np.random.default_rng([seed, 0]).standard_normal((2, K, d)))
    for step in range(steps):
        logits = H @ W.T / tau
        slope = np.exp(logits - logits.max(axis=1, keepdims=True))
        slope /= slope.sum(axis=1, keepdims=True)
        slope -= np.eye(K)  # derivatives of the K cross-entropies by the logits
        rate = 0.1 * 0.1 ** (step // 1000) / tau
        W, H = _unit(W - rate * slope.T @ H), _unit(H - rate * slope @ W)
        if stop():
            break
    return W


def _unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="The paper's recipe for a Softmax Code.")
    parser.add_argument("d", type=int)
    parser.add_argument("K", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", help="write the code: .npy")
    arguments = parser.parse_args()
    code = paper_recipe(arguments.d, arguments.K, seed=arguments.seed)
    if arguments.out:
        np.save(arguments.out, code)
    rho = measure(weights=code).to_json()["gnc2"]
    print(f"one-vs-rest distance {rho['lower']:.12f} .. {rho['upper']:.12f}")
