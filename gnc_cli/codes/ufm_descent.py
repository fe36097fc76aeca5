"""First stage of the unconstrained feature model: batched restarts, temperature annealed.

All restarts descend together, (R, K + N, d), with geoopt's RiemannianAdam; each begins at its own
temperature, since the first temperature decides which basin is found. Gradients are closed-form
and reach torch through an `autograd.Function`. Adam divides each row by the size of its own
gradient, so rows whose share of the loss is exp(-gap / tau) move like all others.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from gnc_cli.codes.ufm_objective import UfmObjective
from gnc_cli.numerics.backend import resolve_device
from gnc_cli.numerics.cross_entropy import cross_entropy
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.threads import limit_threads

__all__ = ["descend", "random_starts"]

_FIRST_RATE = 0.1
_ANNEALED = 0.7
"""Share of the steps in which tau falls; the rest is spent at the asked one."""
_TIME_SHARE = 0.6
"""Share of a time limit that the descent may use."""


def random_starts(
    d: int, K: int, labels: np.ndarray, restarts: int, rng_seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Starts (R, K + N, d), unit rows, and each restart's first temperature (R,) in 0.01..1.

    Features begin near their class weight in even restarts, anywhere in odd ones.
    """
    x = np.empty((restarts, K + len(labels), d))
    first = np.empty(restarts)
    for r, seed in enumerate(np.random.SeedSequence(rng_seed).spawn(restarts)):
        rng = np.random.default_rng(seed)
        x[r] = rng.normal(size=x.shape[1:])
        x[r, :K] /= np.linalg.norm(x[r, :K], axis=-1, keepdims=True)
        if r % 2 == 0:
            x[r, K:] = x[r, labels] + 0.3 / np.sqrt(d) * x[r, K:]
        first[r] = 0.01 ** rng.uniform()
    return x / np.linalg.norm(x, axis=-1, keepdims=True), first


def descend(
    objective: UfmObjective,
    starts: tuple[np.ndarray, np.ndarray],
    steps: int,
    deadline: Deadline,
    note: Callable[[int, float], None],
    device: str,
    threads: int,
) -> tuple[list[np.ndarray], int]:
    """Anneal every start to the objective's tau.

    Args:
        objective: eq. 2 or eq. B.1.
        starts: as `random_starts` makes them.
        steps: of each restart. Under a time limit the same schedule is walked through faster.
        deadline: polled at each step.
        note: called with (step, lowest objective over the restarts at their present tau).
        device: `auto`, `cpu`, `cuda` or `cuda:N`.
        threads: for torch on the CPU.

    Returns:
        the end points (K + N, d) of the restarts that stayed finite, and the steps taken.

    Raises:
        UsageError, UnavailableError: no such device.
    """
    import torch

    with warnings.catch_warnings():  # geoopt compiles with a torch.jit that is on its way out
        warnings.simplefilter("ignore", DeprecationWarning)
        import geoopt

    x0, first = starts
    place = resolve_device(device)
    manifold = geoopt.Sphere() if objective.on_sphere else geoopt.Euclidean(ndim=1)
    x = geoopt.ManifoldParameter(torch.tensor(x0, device=place), manifold=manifold)
    loss = _loss(torch, objective, place)
    # Adam's eps only guards 0 / 0: rows with gradients of 1e-50 are real on the sphere.
    optimizer = geoopt.optim.RiemannianAdam(
        [x], lr=_FIRST_RATE, eps=1e-100 if objective.on_sphere else 1e-10
    )
    last_rate = min(1e-3, 0.05 * objective.tau) if objective.on_sphere else 1e-3
    allowed, began = _TIME_SHARE * deadline.remaining, deadline.elapsed
    step, done = 0, 0.0
    with limit_threads(threads):
        while done < 1.0 and not deadline.expired:
            done = max(step / steps, (deadline.elapsed - began) / allowed if allowed > 0 else 1.0)
            # In the logarithm, from each restart's first temperature to the asked one.
            tau = objective.tau * np.maximum(first / objective.tau, 1.0) ** max(
                0.0, 1.0 - done / _ANNEALED
            )
            for group in optimizer.param_groups:
                group["lr"] = _FIRST_RATE * (last_rate / _FIRST_RATE) ** min(done, 1.0)
            optimizer.zero_grad()
            values = loss(x, torch.tensor(tau, device=place))
            values.sum().backward()
            optimizer.step()
            with torch.no_grad():
                x.copy_(manifold.projx(x))
            step += 1
            note(step, float(values.detach().amin()))
    end = x.detach().cpu().numpy()
    return [point for point in end if np.isfinite(point).all()], step


def _loss(torch: Any, objective: UfmObjective, place: Any) -> Callable[[Any, Any], Any]:
    """(x (R, K + N, d), tau (R,)) -> objectives (R,), differentiable in x by closed forms."""
    K, decay = objective.K, objective.weight_decay
    labels = torch.as_tensor(objective.labels, device=place)

    class Loss(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, tau: Any) -> Any:
            ce = cross_entropy(x[:, :K], x[:, K:], labels, tau, xp=torch)
            gradient = torch.cat([ce.weights_gradient, ce.features_gradient], dim=1)
            value = tau * ce.log_total
            if decay is not None:
                mean = torch.exp(ce.log_total) / len(labels)
                gradient = (mean / tau)[:, None, None] * gradient + decay * x
                value = mean + 0.5 * decay * torch.sum(x * x, dim=(1, 2))
            ctx.save_for_backward(gradient)
            return value

        @staticmethod
        def backward(ctx: Any, upstream: Any) -> Any:
            (gradient,) = ctx.saved_tensors
            return upstream[:, None, None] * gradient, None

    return Loss.apply
