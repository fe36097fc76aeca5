"""The objectives of the unconstrained feature model, and the descent of many restarts on them.

Classifier and features are one array `X = [W; H]` of shape (K + N, d). On the sphere (eq. 2) the
objective is `tau * log(sum of losses)`, which has the minimisers of the mean cross-entropy and does
not vanish at small tau; with weight decay (eq. B.1) it is the mean cross-entropy plus
`lambda / 2 * |X|_F^2`, and X is free in R^d.

All restarts descend together, (R, K + N, d), with geoopt's RiemannianAdam; each begins at its own
temperature, since the first temperature decides which basin is found. Gradients are closed-form.
Adam divides each row by the size of its own gradient, so rows whose share of the loss is
exp(-gap / tau) move like all others.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.threads import limit_threads, resolve_device
from gnc_cli.search.annealing import geoopt, riemannian_adam
from gnc_cli.search.ufm_cross_entropy import CrossEntropy, cross_entropy, cross_entropy_curvature

_FIRST_RATE = 0.1
"""Learning rate of the first step."""
_ANNEALING_SHARE = 0.7
"""Share of the steps in which tau falls; the others run at the requested tau."""
_TIME_SHARE = 0.6
"""Share of a time limit that the descent may use; the polish needs the rest."""


@dataclass(frozen=True)
class UfmObjective:
    """Objective of the feature model at stacked points X, shape (K + N, d)."""

    K: int
    labels: np.ndarray
    """Class numbers, shape (N,), integers in 0..K-1."""
    tau: float
    weight_decay: float | None
    """Factor lambda of eq. B.1; None if rows of X are unit vectors."""

    @property
    def on_sphere(self) -> bool:
        """True if rows are unit vectors."""
        return self.weight_decay is None

    def retract(self, x: np.ndarray) -> np.ndarray:
        """Return the closest point of the feasible set, shape (..., K + N, d)."""
        return x / np.linalg.norm(x, axis=-1, keepdims=True) if self.on_sphere else x

    def project(self, x: np.ndarray, g: np.ndarray) -> np.ndarray:
        """Return the tangent part of g at x, both of shape (..., K + N, d)."""
        return g - np.sum(g * x, axis=-1, keepdims=True) * x if self.on_sphere else g

    def cross_entropy(self, x: np.ndarray) -> CrossEntropy:
        """Compute the cross-entropy of the stacked point, shape (K + N, d)."""
        return cross_entropy(x[: self.K], x[self.K :], self.labels, self.tau)

    def value(self, x: np.ndarray) -> float:
        """Return the objective at x, shape (K + N, d)."""
        return self.value_and_gradient(x)[0]

    def value_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective and its Euclidean gradient, shape (K + N, d)."""
        value, gradient = self.evaluate(x, self.labels, self.tau)
        return float(value), gradient

    def evaluate(self, x: Any, labels: Any, tau: Any, xp: Any = np) -> tuple[Any, Any]:
        """Return the objective and its gradient, in NumPy, or in `torch` for tensors.

        Args:
            x: point, shape (K + N, d) or (R, K + N, d).
            labels: class numbers, shape (N,).
            tau: temperature, or temperatures of shape (R,).
            xp: `numpy` or `torch`.
        """
        ce = cross_entropy(x[..., : self.K, :], x[..., self.K :, :], labels, tau, xp=xp)
        gradient = xp.concatenate([ce.weights_gradient, ce.features_gradient], axis=-2)
        if self.weight_decay is None:
            return tau * ce.log_total, gradient
        mean = xp.exp(ce.log_total) / len(labels)
        value = mean + 0.5 * self.weight_decay * xp.sum(x * x, axis=(-2, -1))
        return value, (mean / tau)[..., None, None] * gradient + self.weight_decay * x

    def riemannian_gradient(self, x: np.ndarray) -> np.ndarray:
        """Return the tangent part of the gradient, shape (K + N, d)."""
        return self.project(x, self.value_and_gradient(x)[1])

    def stationarity(self, x: np.ndarray) -> float:
        """Return the largest absolute component of the Riemannian gradient."""
        return float(np.abs(self.riemannian_gradient(x)).max())

    def curvature(self, x: np.ndarray, directions: np.ndarray) -> np.ndarray:
        """Return the Riemannian Hessian at x along M tangent directions, both (M, K + N, d)."""
        ce = self.cross_entropy(x)
        parts = directions[:, : self.K], directions[:, self.K :]
        bent = np.concatenate(
            cross_entropy_curvature(
                x[: self.K], x[self.K :], self.labels, self.tau, float(ce.log_total), parts
            ),
            axis=1,
        )
        gradient = np.concatenate([ce.weights_gradient, ce.features_gradient])
        if self.weight_decay is None:
            return np.asarray(
                self.project(x, bent) - np.sum(x * gradient, -1, keepdims=True) * directions
            )
        # The mean loss is exp(F / tau) / N: chain rule.
        mean = float(np.exp(ce.log_total)) / len(self.labels) / self.tau
        slope = np.einsum("mpd,pd->m", directions, gradient)[:, None, None] / self.tau
        return np.asarray(mean * (bent + slope * gradient) + self.weight_decay * directions)


def random_starts(
    d: int, K: int, labels: np.ndarray, restarts: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return starts (R, K + N, d), unit rows, and the first temperature of each, (R,), in 0.01..1.

    Features begin close to their class weight in even restarts, anywhere in odd ones.
    """
    x = np.empty((restarts, K + len(labels), d))
    first = np.empty(restarts)
    for r, child in enumerate(np.random.SeedSequence(seed).spawn(restarts)):
        rng = np.random.default_rng(child)
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
    report: Callable[[int, float], None],
    device: str,
    threads: int,
) -> tuple[list[np.ndarray], int]:
    """Anneal every start to the tau of the objective.

    Args:
        objective: objective to minimise.
        starts: starts (R, K + N, d) and first temperatures (R,), as from `random_starts`.
        steps: steps of each restart; under a time limit the same schedule takes fewer.
        deadline: end of the time, of which the descent takes `_TIME_SHARE`.
        report: called with (step, lowest objective over the restarts at their present tau).
        device: device of torch.
        threads: threads on a CPU.

    Returns:
        The end points (K + N, d) of the restarts that stayed finite, and the number of steps.
    """
    import torch

    riemannian = geoopt()
    x0, first = starts
    place = resolve_device(device)
    manifold = riemannian.Sphere() if objective.on_sphere else riemannian.Euclidean(ndim=1)
    x = riemannian.ManifoldParameter(torch.tensor(x0, device=place), manifold=manifold)
    labels = torch.as_tensor(objective.labels, device=place)
    # Adam's eps only guards 0 / 0: rows with gradients of 1e-50 are real on the sphere.
    optimizer = riemannian_adam(x, lr=_FIRST_RATE, eps=1e-100 if objective.on_sphere else 1e-10)
    last_rate = min(1e-3, 0.05 * objective.tau) if objective.on_sphere else 1e-3
    allowed, start = _TIME_SHARE * deadline.remaining, deadline.elapsed
    step, share = 0, 0.0
    with limit_threads(threads), torch.no_grad():
        while share < 1.0 and not deadline.expired:
            share = max(step / steps, (deadline.elapsed - start) / allowed if allowed > 0 else 1.0)
            # Linear in the logarithm, from the first temperature of each restart to the last.
            remaining = max(0.0, 1.0 - share / _ANNEALING_SHARE)
            tau = objective.tau * np.maximum(first / objective.tau, 1.0) ** remaining
            rate = _FIRST_RATE * (last_rate / _FIRST_RATE) ** min(share, 1.0)
            optimizer.param_groups[0]["lr"] = rate
            values, x.grad = objective.evaluate(x, labels, torch.tensor(tau, device=place), torch)
            optimizer.step()
            x.copy_(manifold.projx(x))
            step += 1
            report(step, float(values.amin()))
    end = x.detach().cpu().numpy()
    return [point for point in end if np.isfinite(point).all()], step
