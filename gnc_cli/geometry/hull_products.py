"""Products of directions with all rows of a code, by NumPy or on a torch device.

Only which rows lie furthest along a direction, and how far, comes back; the matrix of products
stays where it was computed. Sums may be added in any order: the caller's error bounds
(`rounding.py`) hold for each of them.
"""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch


class ArrayProducts:
    """By NumPy, on the CPU: a code in float64, shape (K, d), and, where it is used, in float32.

    Example:
        >>> seen = ArrayProducts(np.eye(3), None).look(np.eye(3)[:1], np.array([0]), False)
        >>> seen.own, seen.top
        (array([1.]), array([0.]))
    """

    def __init__(self, W: np.ndarray, small: np.ndarray | None) -> None:
        self._W, self._small = W, small

    def look(self, h: np.ndarray, own: np.ndarray, single: bool) -> "ArraySeen":
        """Products of directions h (m, d) with all rows; each leaves out its own row (m,)."""
        if single:
            assert self._small is not None
            return ArraySeen(h.astype(np.float32) @ self._small.T, own)
        return ArraySeen(h @ self._W.T, own)


class ArraySeen:
    """Products of m directions with all K rows; each direction leaves out one row, its own."""

    def __init__(self, products: np.ndarray, own: np.ndarray) -> None:
        index = np.arange(len(own))
        self.own: np.ndarray = products[index, own].astype(np.float64)
        """Products with the own rows, shape (m,)."""
        products[index, own] = -np.inf
        self.top: np.ndarray = products.max(axis=1).astype(np.float64)
        """The largest other product of each direction, shape (m,)."""
        self._products = products

    def largest(self, at: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """The largest products of some directions, falling, and their rows, both (n, count).

        No own row is among them; count is K - 1 at most.
        """
        rows = np.empty((len(at), count), dtype=np.intp)
        for i, k in enumerate(at):
            # partition is vectorised where argpartition is not; ties at the cut fill up the rest.
            row = self._products[k]
            cut = np.partition(row, len(row) - count)[len(row) - count]
            above = np.flatnonzero(row > cut)
            level = np.flatnonzero(row == cut)[: count - len(above)]
            rows[i] = np.concatenate([above[np.argsort(-row[above])], level])
        return np.take_along_axis(self._products[at], rows, axis=1), rows


class TensorProducts:
    """By torch, on a device; otherwise as `ArrayProducts`."""

    def __init__(self, W: np.ndarray, small: np.ndarray | None, device: "torch.device") -> None:
        import torch

        self._device = device
        self._W = torch.from_numpy(W).to(device)
        self._small = None if small is None else torch.from_numpy(small).to(device)

    def look(self, h: np.ndarray, own: np.ndarray, single: bool) -> "TensorSeen":
        """As `ArrayProducts.look`; float32 products are rounded as float32, whatever is set."""
        import torch

        directions = torch.from_numpy(h).to(self._device)
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("highest")  # no TF32, no bfloat16
        try:
            if single:
                assert self._small is not None
                products = directions.float() @ self._small.T
            else:
                products = directions @ self._W.T
        finally:
            torch.set_float32_matmul_precision(before)
        return TensorSeen(products, torch.from_numpy(own.astype(np.int64)).to(self._device))


class TensorSeen:
    """As `ArraySeen`; the products stay on the device."""

    def __init__(self, products: "torch.Tensor", own: "torch.Tensor") -> None:
        columns = own[:, None]
        self.own: np.ndarray = products.gather(1, columns)[:, 0].double().cpu().numpy()
        products.scatter_(1, columns, -float("inf"))
        self.top: np.ndarray = products.amax(dim=1).double().cpu().numpy()
        self._products = products

    def largest(self, at: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """As `ArraySeen.largest`."""
        import torch

        chosen = self._products[torch.from_numpy(at.astype(np.int64)).to(self._products.device)]
        values, rows = chosen.topk(count, dim=1)
        return values.cpu().numpy(), rows.cpu().numpy()


Products = ArrayProducts | TensorProducts
Seen = ArraySeen | TensorSeen
