"""Tensors of any library as NumPy arrays; torch is spoken of only where it is loaded already."""

import sys
from typing import Any

import numpy as np

__all__ = ["is_tensor", "to_numpy"]


def is_tensor(value: Any) -> bool:
    """Whether `value` is a torch tensor; never imports torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def to_numpy(value: Any) -> np.ndarray:
    """A tensor, an array or nested lists as an array.

    Tensors leave their graph; those on the CPU share their memory with the result. Floating dtypes
    that NumPy lacks (bfloat16, float8) become float32, exactly.

    Example:
        >>> to_numpy([[1, 2], [3, 4]])
        array([[1, 2],
               [3, 4]])
    """
    if not is_tensor(value):
        return np.asarray(value)
    value = value.detach()
    if value.is_floating_point() and value.element_size() < 4 and value.dtype != _float16():
        value = value.float()
    array: np.ndarray = value.cpu().numpy()
    return array


def _float16() -> Any:
    return sys.modules["torch"].float16
