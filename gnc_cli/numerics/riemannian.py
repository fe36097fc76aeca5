"""Annealed descent on products of spheres by geoopt's RiemannianAdam, batched over restarts.

`Sphere()` on an (R, P, d) parameter is R oblique manifolds of P unit rows. Measured on codes with
K <= 130: a second-moment memory of 0.95 instead of 0.999, and a step of a fixed fraction of the
distance over which the smoothed objective bends, reach in 600 steps what the usual settings
miss in 1000.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from gnc_cli.numerics.deadline import Deadline

__all__ = ["Annealing", "Descent", "anneal"]

_MOMENTS = (0.9, 0.95)


@dataclass(frozen=True)
class Annealing:
    """How sharpness and step length change over the steps of one descent."""

    sharpness_start: np.ndarray
    """Per restart, shape (R,): decides which basins are found."""
    sharpness_end: float
    step: float
    """Step length at sharpness 1, radians: the step is `step / sharpness`."""
    steps: int


@dataclass(frozen=True)
class Descent:
    """What a batch of descents ended with."""

    points: np.ndarray
    """Shape (R, P, d), float64, unit rows."""
    estimates: np.ndarray
    """Shape (R,): the value each basin leads to; infinite where numbers overflowed."""
    history: np.ndarray
    """Shape (T, 2): step and the best smoothed value of the batch."""
    steps: int
    """Steps made; fewer than planned when the deadline struck."""


Objective = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""(points (R, P, d), sharpness (R, 1, 1)) -> values (R,)."""


def anneal(
    objective: Objective,
    estimate: Objective,
    starts: np.ndarray,
    annealing: Annealing,
    *,
    project: Callable[[torch.Tensor], torch.Tensor] | None = None,
    deadline: Deadline | None = None,
    device: torch.device | str = "cpu",
    dtype: torch.dtype = torch.float32,
) -> Descent:
    """Descend from every start at once while the sharpness grows geometrically.

    Args:
        objective: the smoothed maximum, batched and differentiable.
        estimate: the maximum each iterate leads to, computed once at the end.
        starts: unit rows, shape (R, P, d).
        project: onto the linear subspaces where rows and their gradients lie (fixed spaces of a
            symmetry).
        deadline: polled at each step; the iterates at hand are returned when it strikes.

    Returns:
        The final iterates; a restart that overflowed gets an infinite estimate.
    """
    deadline = deadline or Deadline()
    points, optimizer = _start(starts, device, dtype)
    first = torch.as_tensor(annealing.sharpness_start, dtype=dtype, device=device).reshape(-1, 1, 1)
    growth = annealing.sharpness_end / first
    history = []
    done = 0
    for done in range(1, annealing.steps + 1):
        sharpness = first * growth ** ((done - 1) / max(1, annealing.steps - 1))
        optimizer.param_groups[0]["lr"] = annealing.step / sharpness
        optimizer.zero_grad()
        values = objective(points, sharpness)
        values.sum().backward()
        if project is not None and points.grad is not None:
            points.grad = project(points.grad)
        optimizer.step()
        if project is not None:
            # Adam scales rounding up to whole steps where the gradient inside vanishes.
            with torch.no_grad():
                points.copy_(torch.nn.functional.normalize(project(points), dim=-1))
        if done % 20 == 1:
            history.append((done, float(values.detach().min())))
        if deadline.expired:
            break
    with torch.no_grad():
        last = torch.nn.functional.normalize(points.detach().to(torch.float64), dim=-1)
        end = torch.full_like(first, annealing.sharpness_end, dtype=torch.float64)
        estimates = estimate(last, end)
    finite = torch.isfinite(last).all(-1).all(-1) & torch.isfinite(estimates)
    estimates = torch.where(finite, estimates, torch.inf)
    history.append((done, float(estimates.min())))
    return Descent(last.cpu().numpy(), estimates.cpu().numpy(), np.array(history), done)


def _start(
    starts: np.ndarray, device: torch.device | str, dtype: torch.dtype
) -> tuple[torch.Tensor, torch.optim.Optimizer]:
    with warnings.catch_warnings():
        # geoopt scripts a helper at import, which newer torch deprecates.
        warnings.simplefilter("ignore", DeprecationWarning)
        import geoopt

    tensor = torch.as_tensor(starts, dtype=dtype, device=device).clone()
    points = geoopt.ManifoldParameter(tensor, manifold=geoopt.Sphere())
    return points, geoopt.optim.RiemannianAdam([points], lr=1.0, betas=_MOMENTS, eps=1e-12)
