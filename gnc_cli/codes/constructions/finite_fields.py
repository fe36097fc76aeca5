"""Small finite fields of any characteristic, as tables.

The elements are those of `log_fields`. Here both tables are held whole, which suits vectorised
geometry over fields of a hundred elements; binary codes want longer fields of characteristic 2,
where addition is XOR and no table of it is needed, so those live in a file of their own.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from gnc_cli.codes.constructions.log_fields import log_field

__all__ = ["FiniteField", "finite_field"]


@dataclass(frozen=True, eq=False)
class FiniteField:
    """GF(p^n); 0 and 1 are its zero and one."""

    p: int
    """Characteristic."""
    n: int
    """Degree over the integers modulo p."""
    plus: np.ndarray
    """`plus[a, b]` is a + b; shape (order, order), int16."""
    times: np.ndarray
    """`times[a, b]` is a b; shape (order, order), int16."""

    @property
    def order(self) -> int:
        """Number of elements, p^n."""
        return self.p**self.n

    @property
    def minus(self) -> np.ndarray:
        """`minus[a]` is -a, shape (order,)."""
        return self.plus.argmin(1).astype(np.int16)

    def power(self, exponent: int) -> np.ndarray:
        """`power(e)[a]` is a^e for e >= 1, shape (order,)."""
        result = every = np.arange(self.order)
        for _ in range(exponent - 1):
            result = self.times[result, every]
        return result

    def dot(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Sum of the products of the last axes' entries, broadcast over the others."""
        # Flat look-ups: twice as fast as pairs of indices.
        plus, times = self.plus.ravel(), self.times.ravel()
        left = x.astype(np.int32) * np.int32(self.order)
        total: np.ndarray = times[left[..., 0] + y[..., 0]]
        for i in range(1, x.shape[-1]):
            total = plus[total * np.int32(self.order) + times[left[..., i] + y[..., i]]]
        return total


@cache
def finite_field(order: int) -> FiniteField:
    """The field of so many elements.

    Raises:
        ValueError: the order is not a power of a prime.

    Example:
        >>> int(finite_field(9).times[3, 3])  # x * x modulo x^2 + x + 2, the first primitive one
        7
    """
    field, x = log_field(order), np.arange(order)
    tables = (
        field.add(x[:, None], x).astype(np.int16),
        field.multiply(x[:, None], x).astype(np.int16),
    )
    for table in tables:
        table.flags.writeable = False
    return FiniteField(field.p, field.n, *tables)

