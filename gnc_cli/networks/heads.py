"""Classifiers for anyone's trainer: learned, class means or fixed, on the sphere or with decay.

A head turns raw features (N, d) into logits (N, K); it normalises by itself where it lives on the
sphere. Each saves its rows as `weight`, so that a checkpoint of one kind loads into another.

Example:
    >>> import torch
    >>> from torch import nn
    >>> encoder, head = nn.Linear(8, 3), SphereHead(d=3, K=5, tau=0.1)
    >>> optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
    >>> images, labels = torch.ones(4, 8), torch.tensor([0, 1, 2, 3])
    >>> features = encoder(images)
    >>> head.absorb(features, labels)  # for ClassMeanHead; the others do nothing
    >>> loss = nn.functional.cross_entropy(head(features), labels)
    >>> loss.backward()
    >>> optimizer.step()
"""

import math

import numpy as np
import torch
from torch import Tensor, nn

from gnc_cli.errors import DataError
from gnc_cli.networks.class_mean_head import ClassMeanHead
from gnc_cli.networks.head import Head
from gnc_cli.networks.unit_rows import random_unit_rows, unit_rows, widened
from gnc_cli.numerics.sphere import as_points, normalise

__all__ = ["ClassMeanHead", "DecayHead", "FixedHead", "Head", "SphereHead"]

UNIT_TOLERANCE = 1e-4
"""How far a fixed code's norms may be from 1: rows written with five digits pass."""


class SphereHead(Head):
    """Learned unit rows: logits `<w_k, h> / tau` of unit features, no bias (paper, eq. 1).

    The parameter `weight` starts as random unit rows and may take any length; `weights` are its
    directions. The optimiser should not decay it: its length means nothing.

    Example:
        >>> head = SphereHead(d=3, K=4, tau=0.1)
        >>> logits = head(100.0 * head.weights)  # lengths of features do not matter
        >>> logits.argmax(1).tolist(), round(logits.max().item(), 4)
        ([0, 1, 2, 3], 10.0)
    """

    def __init__(self, d: int, K: int, tau: float = 0.1, seed: int = 0) -> None:
        """Random unit rows from `seed` alone.

        Args:
            d: dimension of the features.
            K: number of classes.
            tau: temperature, positive.
            seed: of the rows; the global generator is left alone.

        Raises:
            UsageError: d or K below 2, or tau is not positive.
        """
        super().__init__(d, K, tau)
        self.weight = nn.Parameter(random_unit_rows(self.K, self.d, seed))

    @property
    def weights(self) -> Tensor:
        """Unit rows, (K, d) float32; part of the graph."""
        return unit_rows(widened(self.weight))


class DecayHead(Head):
    """Learned rows of any length: logits `<w_k, z>`, no bias, no temperature (appendix B).

    Lengths are held by weight decay on the rows and on the network (or the free features) alike:
    the objective that the paper sets against the sphere. Rows start as those of `nn.Linear`.

    Example:
        >>> head = DecayHead(d=3, K=4)
        >>> bool((head(2 * torch.eye(3)) == 2 * head.weights.T).all())
        True
    """

    def __init__(self, d: int, K: int, seed: int = 0) -> None:
        """Uniform entries in +-1/sqrt(d) from `seed` alone; arguments as for `SphereHead`."""
        super().__init__(d, K, 1.0, sphere=False)
        generator = torch.Generator("cpu").manual_seed(seed)
        rows = torch.rand(self.K, self.d, generator=generator, dtype=torch.float32, device="cpu")
        self.weight = nn.Parameter((2.0 * rows - 1.0) / math.sqrt(self.d))


class FixedHead(Head):
    """The rows of a code, never trained: a buffer, without gradient or optimiser state.

    Example:
        >>> square = np.array([[1, 0], [0, 1], [-1, 0], [0, -1]])
        >>> head = FixedHead(square, tau=0.05)
        >>> head(torch.tensor([[0.0, 3.0]])).tolist(), list(head.parameters())
        ([[0.0, 20.0, 0.0, -20.0]], [])
    """

    def __init__(self, code: np.ndarray | Tensor, tau: float = 0.1) -> None:
        """Take the code's rows, scaled to norm 1 exactly.

        Args:
            code: (K, d), class k has row k, unit to 1e-4.
            tau: temperature, positive.

        Raises:
            DataError: no matrix of at least two rows, not finite, or a row is not of norm 1.
            UsageError: d below 2, or tau is not positive.
        """
        rows = torch.as_tensor(code).detach().to("cpu", torch.float64).numpy()
        rows = as_points(rows, "the fixed code")
        norms = np.linalg.norm(rows, axis=1)
        k = int(np.abs(norms - 1.0).argmax())
        if abs(norms[k] - 1.0) > UNIT_TOLERANCE:
            raise DataError(
                f"row {k} of the fixed code has norm {norms[k]:.6g}, not 1; normalise its rows"
            )
        super().__init__(rows.shape[1], rows.shape[0], tau)
        self.register_buffer("weight", torch.from_numpy(normalise(rows)).float())
