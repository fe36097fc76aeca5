"""Small finite fields of any characteristic, as tables.

An element is a number from 0 to order - 1: its base-p digits are the coefficients of a polynomial
in a primitive element. Both tables are held whole, which suits vectorised geometry over fields of
a hundred elements; binary codes want longer fields of characteristic 2, where addition is XOR and
no table of it is needed, so those live in a file of their own.
"""

from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np

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
    p = next((p for p in range(2, order + 1) if order % p == 0), 0)
    n = next((n for n in range(1, order) if p**n >= order), 1)
    if p == 0 or p**n != order:
        raise ValueError(f"there is no field of {order} elements: not a power of a prime")
    powers = next(cycle for cycle in _cycles(p, n) if len(cycle) == order - 1)
    place = p ** np.arange(n)
    digits = np.arange(order)[:, None] // place % p
    plus = (digits[:, None] + digits) % p @ place
    exp = np.array(powers) @ place
    log = np.zeros(order, dtype=np.int64)
    log[exp] = np.arange(order - 1)
    times = exp[(log[:, None] + log) % (order - 1)]
    times[0], times[:, 0] = 0, 0
    tables = (plus.astype(np.int16), times.astype(np.int16))
    for table in tables:
        table.flags.writeable = False
    return FiniteField(p, n, *tables)


def _cycles(p: int, n: int) -> list[list[tuple[int, ...]]]:
    """For each monic polynomial of degree n: the powers 1, x, x^2, .. modulo it, while they last.

    The polynomial is primitive just where these are all p^n - 1 nonzero elements.
    """
    found = []
    for tail in product(range(p), repeat=n):
        element, cycle = (1, *[0] * (n - 1)), []
        while element not in cycle and any(element):
            cycle.append(element)
            shifted = (0, *element[:-1])
            element = tuple((s - element[-1] * t) % p for s, t in zip(shifted, tail, strict=True))
        found.append(cycle)
    return found
