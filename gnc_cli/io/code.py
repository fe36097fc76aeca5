"""A code as a file holds it: what every reader gives and every writer takes."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gnc_cli.errors import DataError


@dataclass(frozen=True, eq=False)
class CodeFile:
    """A code as it lies in a file: rows are points, exactly as they were stored.

    Raises:
        DataError: the shapes disagree.
    """

    weights: np.ndarray
    """The code or classifier, shape (K, d), float64, not normalised."""
    features: np.ndarray | None = None
    """Features as they are, shape (N, d); for a numerical code one row per class."""
    labels: np.ndarray | None = None
    """Class of each feature, shape (N,), integers."""
    bias: np.ndarray | None = None
    """Shape (K,)."""
    attrs: dict[str, Any] = field(default_factory=dict)
    """Further attributes (`split`, `scale`); files that were read add `created`, `gnc_version`."""
    provenance: dict[str, Any] = field(default_factory=dict)
    """How it was made: command, options, seed, library versions, result. JSON types."""
    state: dict[str, int] | None = None
    """Of a search, for --resume: its seed and the number of starts done."""
    storage: str = "float64"
    """Dtype that the weights had in the file."""

    def __post_init__(self) -> None:
        if self.weights.ndim != 2:
            raise DataError(f"weights have shape {self.weights.shape}; expected (K, d)")
        K, d = self.weights.shape
        if self.features is not None and (self.features.ndim != 2 or self.features.shape[1] != d):
            raise DataError(f"features have shape {self.features.shape}; expected (N, {d})")
        if self.labels is not None:
            rows = K if self.features is None else len(self.features)
            if self.labels.shape != (rows,):
                raise DataError(f"labels have shape {self.labels.shape}; expected ({rows},)")
        if self.bias is not None and self.bias.shape != (K,):
            raise DataError(f"bias has shape {self.bias.shape}; expected ({K},)")

    def arrays(self) -> dict[str, np.ndarray]:
        """`weights` and, where there are any, `features`: float64, contiguous."""
        named = {"weights": self.weights, "features": self.features}
        return {
            name: np.ascontiguousarray(array, dtype=np.float64)
            for name, array in named.items()
            if array is not None
        }
