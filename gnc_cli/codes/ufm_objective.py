"""The two objectives of the unconstrained feature model, on stacked unknowns.

Classifier and features travel as one array `X = [W; H]` of shape (K + N, d). On the sphere (eq. 2)
the objective is `tau * log(sum of losses)`, which has the minimisers of the mean cross-entropy and
does not vanish at small tau; with weight decay (eq. B.1) it is the mean cross-entropy plus
`lambda / 2 * |X|_F^2`, and X is free in R^d.
"""

from dataclasses import dataclass

import numpy as np

from gnc_cli.numerics.cross_entropy import CrossEntropy, cross_entropy, cross_entropy_curvature

__all__ = ["UfmObjective"]


@dataclass(frozen=True)
class UfmObjective:
    """Value, gradient and curvature at stacked points X (K + N, d)."""

    K: int
    labels: np.ndarray
    """(N,) integers in 0..K-1."""
    tau: float
    weight_decay: float | None
    """None: rows of X are unit vectors."""

    @property
    def on_sphere(self) -> bool:
        """Rows are unit vectors."""
        return self.weight_decay is None

    def retract(self, x: np.ndarray) -> np.ndarray:
        """The nearest point of the feasible set."""
        if not self.on_sphere:
            return x
        return x / np.linalg.norm(x, axis=-1, keepdims=True)

    def project(self, x: np.ndarray, g: np.ndarray) -> np.ndarray:
        """The tangent part of g at x."""
        return g - np.sum(g * x, axis=-1, keepdims=True) * x if self.on_sphere else g

    def cross_entropy(self, x: np.ndarray) -> CrossEntropy:
        """Cross-entropy of the stacked point."""
        return cross_entropy(x[: self.K], x[self.K :], self.labels, self.tau)

    def value_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """The objective and its Euclidean gradient (K + N, d)."""
        ce = self.cross_entropy(x)
        gradient = np.concatenate([ce.weights_gradient, ce.features_gradient])
        if self.weight_decay is None:
            return float(self.tau * ce.log_total), gradient
        mean = float(np.exp(ce.log_total)) / len(self.labels)
        value = mean + 0.5 * self.weight_decay * float(np.sum(x * x))
        return value, mean / self.tau * gradient + self.weight_decay * x

    def curvature(self, x: np.ndarray, directions: np.ndarray) -> np.ndarray:
        """Riemannian Hessian at x along M tangent directions, both (M, K + N, d)."""
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
            return self.project(x, bent) - np.sum(x * gradient, -1, keepdims=True) * directions
        # The mean loss is exp(F / tau) / N: chain rule.
        mean = float(np.exp(ce.log_total)) / len(self.labels) / self.tau
        slope = np.einsum("mpd,pd->m", directions, gradient)[:, None, None] / self.tau
        return mean * (bent + slope * gradient) + self.weight_decay * directions

    def stationarity(self, x: np.ndarray) -> float:
        """Largest absolute component of the Riemannian gradient."""
        return float(np.abs(self.project(x, self.value_and_gradient(x)[1])).max())
