"""The paper's own way to a Softmax Code, kept as a baseline that anyone can rerun.

Projected gradient descent on the unconstrained feature model with unit rows (eq. 2, n = 1), 5000
steps, learning rate 0.1 divided by 10 each 1000 steps, one random start (arXiv 2310.05351,
appendix B). The paper leaves open whether the rate acts on the sum of the K losses or on their
mean, and the temperature; the sum at tau = 0.1 does best at (10, 100), and is what runs here.
"""

from collections.abc import Callable

import numpy as np

from gnc_cli.runtime.deadline import Deadline
from gnc_cli.search.ufm.cross_entropy import cross_entropy

PAPER_STEPS = 5000
PAPER_TAU = 0.1
_RATE, _EVERY = 0.1, 1000


def paper_recipe(
    d: int,
    K: int,
    *,
    seed: int,
    steps: int = PAPER_STEPS,
    tau: float = PAPER_TAU,
    deadline: Deadline | None = None,
    progress: Callable[[int, int, float], None] | None = None,
) -> tuple[np.ndarray, np.ndarray, int]:
    """Run the recipe.

    Returns:
        Weights (K, d) and features (K, d) with unit rows, and the steps made.
    """
    deadline = deadline or Deadline()
    rng = np.random.default_rng([seed, 0])
    points = rng.standard_normal((2, K, d))
    points /= np.linalg.norm(points, axis=2, keepdims=True)
    labels = np.arange(K)
    step = 0
    for step in range(1, steps + 1):
        found = cross_entropy(points[0], points[1], labels, tau)
        # The kernel differentiates tau * log(total); the recipe descends on the total itself.
        rate = _RATE * 0.1 ** ((step - 1) // _EVERY) * float(np.exp(found.log_total)) / tau
        points[0] -= rate * found.weights_gradient
        points[1] -= rate * found.features_gradient
        points /= np.linalg.norm(points, axis=2, keepdims=True)
        if progress is not None and step % 50 == 0:
            progress(step, steps, -float(found.hardmax))
        if deadline.expired:
            break
    return points[0], points[1], step
