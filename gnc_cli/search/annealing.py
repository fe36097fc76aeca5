"""Annealed Riemannian Adam of geoopt over many restarts at once, for given rows and for GPUs.

All other descents are those of `descent.descend_batch`. `Sphere()` on an (R, P, d) parameter is R
oblique manifolds of P unit rows. Measured on codes with K <= 130: a second-moment memory of 0.95
instead of 0.999, and a step of a fixed fraction of the distance over which the smoothed objective
bends, reach values in 600 steps that the usual settings miss in 1000.
"""

import inspect
import sys
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc_cli.errors import UnavailableError
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.threads import flush_denormals
from gnc_cli.search.problem import Problem

_MOMENT_SHARES = (0.9, 0.95)
"""Shares of the first and second moment that a step keeps."""


def geoopt() -> Any:
    """Import geoopt without its warning: it scripts a helper at import, which torch deprecates.

    Raises:
        UnavailableError: Python has dropped the docstrings, from which the package makes others.
    """
    if sys.flags.optimize > 1:
        raise UnavailableError("geoopt needs docstrings; run Python without -OO, PYTHONOPTIMIZE=2")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        import geoopt as module
    return module


def riemannian_adam(points: Any, **options: Any) -> Any:
    """Create geoopt's Riemannian Adam of one parameter.

    Two methods are taken without torch's marks for its compiler: their first use would load it,
    which takes a second and 80 MB in every process.

    Args:
        points: a parameter on a manifold.
        **options: those of torch's Adam.
    """
    from torch.optim import Adam

    class Unmarked(Adam):
        add_param_group = inspect.unwrap(Adam.add_param_group)
        zero_grad = inspect.unwrap(Adam.zero_grad)

    class Riemannian(geoopt().optim.RiemannianAdam, Unmarked):  # type: ignore[misc]
        pass

    return Riemannian([points], **options)


@dataclass(frozen=True)
class Descent:
    """Ends of a batch of descents."""

    points: np.ndarray
    """Unit rows, shape (R, P, d), float64."""
    estimates: np.ndarray
    """Values to which the basins lead, shape (R,); infinite where numbers overflowed."""
    steps: int
    """Number of steps of each restart; fewer than planned when the deadline expired."""


@flush_denormals()
def anneal(
    problem: Problem,
    starts: np.ndarray,
    sharpness: np.ndarray,
    end: float,
    *,
    step: float,
    steps: int,
    deadline: Deadline,
    device: str,
) -> Descent:
    """Descend from every start (R, P, d) at once while the sharpness grows geometrically.

    Steps are float32, estimates float64. A restart that overflowed gets an infinite estimate.

    Args:
        problem: with the objective and the parametrisation of the points.
        starts: unit rows, shape (R, P, d).
        sharpness: the first of each start, shape (R,), which decides which basins are found.
        end: the last sharpness of all starts.
        step: length of a step at sharpness 1, in radians; at others it is `step / sharpness`.
        steps: number of steps of each start.
        deadline: polled at each step; the present iterates are returned when it expires.
        device: of torch.
    """
    import torch

    riemannian, dtype = geoopt(), torch.float32
    # torch may be imported here first, after `limit_threads`, which restores other libraries.
    torch.set_num_threads(1)
    points = riemannian.ManifoldParameter(
        torch.as_tensor(starts, dtype=dtype, device=device).clone(), manifold=riemannian.Sphere()
    )
    optimizer = riemannian_adam(points, lr=1.0, betas=_MOMENT_SHARES, eps=1e-12)
    project = problem.parametrisation.project
    projected = problem.parametrisation.projections is not None
    first = torch.as_tensor(sharpness, dtype=dtype, device=device).reshape(-1, 1, 1)
    growth = end / first
    count = 0
    for count in range(1, steps + 1):
        beta = first * growth ** ((count - 1) / max(1, steps - 1))
        optimizer.param_groups[0]["lr"] = step / beta
        optimizer.zero_grad()
        problem.objective(points, beta).sum().backward()
        if projected:
            points.grad = project(points.grad)
        optimizer.step()
        if projected:
            # Adam scales rounding up to whole steps where the gradient inside vanishes.
            with torch.no_grad():
                points.copy_(torch.nn.functional.normalize(project(points), dim=-1))
        if deadline.expired:
            break
    with torch.no_grad():
        last = torch.nn.functional.normalize(points.detach().to(torch.float64), dim=-1)
        final = torch.full_like(first, end, dtype=torch.float64)
        estimates = problem.estimate(last, final)
    finite = torch.isfinite(last).all(-1).all(-1) & torch.isfinite(estimates)
    estimates = torch.where(finite, estimates, torch.inf)
    return Descent(last.cpu().numpy(), estimates.cpu().numpy(), count)
