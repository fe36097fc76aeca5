"""L-BFGS on the smoothed maximum at rising sharpness, for problems too large to polish by Newton.

Rows are parametrised as x / |x|. The softmax weights at the last sharpness estimate the
multipliers, so the gradient's size there is an honest stationarity.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from gnc_cli.numerics.deadline import Deadline

__all__ = ["Refined", "refine"]

_SHARPNESS = (1e4, 1e5, 1e6)


@dataclass(frozen=True)
class Refined:
    """The end of a refinement."""

    points: np.ndarray
    """Unit rows, shape (P, d)."""
    stationarity: float
    """Largest absolute component of the Riemannian gradient of the smoothed maximum."""
    steps: int


class _Stop(Exception):
    """The deadline struck inside the optimiser."""


def refine(
    points: np.ndarray,
    objective: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    *,
    scale: float,
    steps: int,
    deadline: Deadline,
    project: Callable[[torch.Tensor], torch.Tensor] | None = None,
) -> Refined:
    """Descend from unit rows (P, d), float64.

    Args:
        points: the start.
        objective: batched smoothed maximum, as in `riemannian.anneal`.
        scale: sharpnesses are 1e4, 1e5 and 1e6 over it.
        steps: L-BFGS iterations at each sharpness.
        deadline: polled at each evaluation; the best point so far is returned.
        project: keeps gradients inside a linear subspace.
    """
    from scipy.optimize import minimize

    shape = points.shape
    best = (np.inf, points)
    count = 0

    def evaluate(flat: np.ndarray, sharpness: torch.Tensor) -> tuple[float, np.ndarray]:
        nonlocal best, count
        count += 1
        x = flat.reshape(shape)
        norms = np.linalg.norm(x, axis=1, keepdims=True)
        unit = x / norms
        tensor = torch.as_tensor(unit)[None].requires_grad_()
        value = objective(tensor, sharpness)
        (gradient,) = torch.autograd.grad(value.sum(), tensor)
        if project is not None:
            gradient = project(gradient)
        g = gradient[0].numpy()
        g = g - (g * unit).sum(1, keepdims=True) * unit
        smooth = float(value.detach())
        if smooth < best[0]:
            best = smooth, unit
        if deadline.expired:
            raise _Stop
        return smooth, (g / norms).ravel()

    for sharp in _SHARPNESS:
        sharpness = torch.full((1, 1, 1), sharp / scale, dtype=torch.float64)
        best = np.inf, best[1]
        try:
            minimize(
                evaluate, best[1].ravel(), args=(sharpness,), jac=True, method="L-BFGS-B",
                options={"maxiter": steps, "maxcor": 20, "ftol": 0.0, "gtol": 1e-12},
            )  # fmt: skip
        except _Stop:
            break
    _, gradient = _last(best[1], objective, sharpness)
    return Refined(best[1], float(np.abs(gradient).max()), count)


def _last(
    unit: np.ndarray,
    objective: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    sharpness: torch.Tensor,
) -> tuple[float, np.ndarray]:
    tensor = torch.as_tensor(unit)[None].requires_grad_()
    value = objective(tensor, sharpness)
    (gradient,) = torch.autograd.grad(value.sum(), tensor)
    g = gradient[0].numpy()
    return float(value.detach()), g - (g * unit).sum(1, keepdims=True) * unit
