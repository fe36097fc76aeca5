"""Products of directions with all rows of a code, by NumPy or on a torch device.

A batch returns the rows furthest along each direction and their products; the matrix of products
stays where it was computed. Sums may be added in any order: the caller's error bounds
(`rounding.py`) hold for each of them.
"""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch


class ArrayProducts:
    """Products by NumPy, on the CPU, with a code (K, d) in float64 and, if given, its float32 copy.

    Example:
        >>> batch = ArrayProducts(np.eye(3), None).look(np.eye(3)[:1], np.array([0]), False)
        >>> batch.own_product, batch.top
        (array([1.]), array([0.]))
    """

    def __init__(self, W: np.ndarray, small: np.ndarray | None) -> None:
        self._W, self._small = W, small

    def look(self, h: np.ndarray, classes: np.ndarray, single: bool) -> "ArrayBatch":
        """Multiply directions h (m, d) by all rows; `classes` (m,) are their own rows."""
        if single:
            assert self._small is not None
            return ArrayBatch(h.astype(np.float32) @ self._small.T, classes)
        return ArrayBatch(h @ self._W.T, classes)


class ArrayBatch:
    """Products of m directions with all K rows; each direction excludes one row, its own."""

    def __init__(self, products: np.ndarray, classes: np.ndarray) -> None:
        index = np.arange(len(classes))
        self.own_product: np.ndarray = products[index, classes].astype(np.float64)
        """Product of each direction with its own row, shape (m,)."""
        products[index, classes] = -np.inf
        self.top: np.ndarray = products.max(axis=1).astype(np.float64)
        """Largest other product of each direction, shape (m,)."""
        self._products = products

    def largest(self, directions: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the largest products of n directions, descending, and their rows, both (n, count).

        `directions` are indices, shape (n,). Own rows are excluded; count is at most K - 1.
        """
        rows = np.empty((len(directions), count), dtype=np.intp)
        for i, k in enumerate(directions):
            # Only `partition` is vectorised, not `argpartition`; ties at the cut fill the places.
            row = self._products[k]
            cut = np.partition(row, len(row) - count)[len(row) - count]
            larger = np.flatnonzero(row > cut)
            ties = np.flatnonzero(row == cut)[: count - len(larger)]
            rows[i] = np.concatenate([larger[np.argsort(-row[larger])], ties])
        return np.take_along_axis(self._products[directions], rows, axis=1), rows


class TensorProducts:
    """Products by torch, on a device; otherwise the same as `ArrayProducts`."""

    def __init__(self, W: np.ndarray, small: np.ndarray | None, device: "torch.device") -> None:
        import torch

        self._device = device
        self._W = torch.from_numpy(W).to(device)
        self._small = None if small is None else torch.from_numpy(small).to(device)

    def look(self, h: np.ndarray, classes: np.ndarray, single: bool) -> "TensorBatch":
        """Multiply as `ArrayProducts.look`; float32 products never use TF32."""
        import torch

        directions = torch.from_numpy(h).to(self._device)
        precision = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("highest")  # no TF32, no bfloat16
        try:
            if single:
                assert self._small is not None
                products = directions.float() @ self._small.T
            else:
                products = directions @ self._W.T
        finally:
            torch.set_float32_matmul_precision(precision)
        return TensorBatch(products, torch.from_numpy(classes.astype(np.int64)).to(self._device))


class TensorBatch:
    """The same as `ArrayBatch`, with the products on the device."""

    def __init__(self, products: "torch.Tensor", classes: "torch.Tensor") -> None:
        columns = classes[:, None]
        self.own_product: np.ndarray = products.gather(1, columns)[:, 0].double().cpu().numpy()
        products.scatter_(1, columns, -float("inf"))
        self.top: np.ndarray = products.amax(dim=1).double().cpu().numpy()
        self._products = products

    def largest(self, directions: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the same as `ArrayBatch.largest`."""
        import torch

        selected = self._products[
            torch.from_numpy(directions.astype(np.int64)).to(self._products.device)
        ]
        values, rows = selected.topk(count, dim=1)
        return values.cpu().numpy(), rows.cpu().numpy()


Products = ArrayProducts | TensorProducts
Batch = ArrayBatch | TensorBatch
