"""Finite fields of thousands of elements: powers of a primitive element, and logarithms.

An element is a number from 0 to q - 1 whose base-p digits are the coefficients of a polynomial in
the primitive element. Sums over all elements take the nonzero ones in the order of the powers:
x -> b x is then a shift of that order, and x -> x^k a stride.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import product

import numpy as np

__all__ = ["LogField", "log_field", "prime_power", "prime_powers"]

_MOST = 1 << 13
"""Orders of fields are looked up below this."""


class LogField:
    """GF(q), q = p^n.

    Raises:
        ValueError: q is not a power of a prime below 8192.
    """

    def __init__(self, q: int) -> None:
        found = prime_power(q)
        if found is None:
            raise ValueError(f"no field of {q} elements: not a power of a prime below 8192")
        self.q = q
        """Elements."""
        self.p, self.n = found
        """Characteristic, and degree over the integers modulo it."""
        self.exp = _powers(self.p, self.n)
        """g^j for j = 0 .. q - 2, shape (q - 1,)."""
        self.log = np.zeros(q, dtype=np.int64)
        """j with g^j = x, shape (q,); meaningless at 0."""
        self.log[self.exp] = np.arange(q - 1)
        total, conjugate = np.zeros(q, dtype=np.int64), np.arange(q)
        for _ in range(self.n):
            total, conjugate = self.add(total, conjugate), self.power(conjugate, self.p)
        self.trace: np.ndarray = total.astype(np.int16)
        """x + x^p + .. + x^(q/p) of each element, 0 to p - 1, shape (q,), int16."""

    def add(self, x: np.ndarray | int, y: np.ndarray | int) -> np.ndarray:
        """Sums, elementwise with broadcasting."""
        return self._digits(x, y, 1)

    def subtract(self, x: np.ndarray | int, y: np.ndarray | int) -> np.ndarray:
        """Differences x - y, elementwise with broadcasting."""
        return self._digits(x, y, -1)

    def multiply(self, x: np.ndarray | int, y: np.ndarray | int) -> np.ndarray:
        """Products, elementwise with broadcasting."""
        product = self.exp[(self.log[x] + self.log[y]) % (self.q - 1)]
        return np.where((np.asarray(x) == 0) | (np.asarray(y) == 0), 0, product)

    def power(self, x: np.ndarray, e: int) -> np.ndarray:
        """x^e elementwise, e > 0."""
        return np.where(np.asarray(x) == 0, 0, self.exp[self.log[x] * e % (self.q - 1)])

    @property
    def characters(self) -> np.ndarray:
        """The quadratic character: 0 at 0, 1 at squares, -1 elsewhere; shape (q,), int8; q odd."""
        signs = (1 - 2 * (self.log % 2)).astype(np.int8)
        signs[0] = 0
        return signs

    def _digits(self, x: np.ndarray | int, y: np.ndarray | int, sign: int) -> np.ndarray:
        x, y = np.asarray(x), np.asarray(y)
        if self.n == 1:
            return np.asarray((x + sign * y) % self.p)
        places = [self.p**i for i in range(self.n)]
        return np.asarray(sum((x // u + sign * (y // u)) % self.p * u for u in places))


@lru_cache(maxsize=8)
def log_field(q: int) -> LogField:
    """GF(q), its tables made once.

    Example:
        >>> field = log_field(9)
        >>> field.exp.tolist(), field.trace.tolist()
        ([1, 3, 7, 8, 2, 6, 5, 4], [0, 2, 1, 2, 1, 0, 1, 0, 2])
    """
    return LogField(q)


@lru_cache(maxsize=1)
def prime_powers() -> dict[int, tuple[int, int]]:
    """Every q = p^n below 8192, with (p, n), in rising order.

    Example:
        >>> list(prime_powers())[:8]
        [2, 3, 4, 5, 7, 8, 9, 11]
    """
    sieve = np.ones(_MOST, dtype=bool)
    sieve[:2] = False
    for p in range(2, int(_MOST**0.5) + 1):
        if sieve[p]:
            sieve[p * p :: p] = False
    found = {}
    for p in np.flatnonzero(sieve).tolist():
        n = 1
        while p**n < _MOST:
            found[p**n] = p, n
            n += 1
    return dict(sorted(found.items()))


def prime_power(q: int) -> tuple[int, int] | None:
    """(p, n) with q = p^n, or None; q below 8192."""
    return prime_powers().get(q)


def _powers(p: int, n: int) -> np.ndarray:
    """1, g, g^2, .. of a primitive element of GF(p^n): a root of the first primitive polynomial."""
    order = p**n - 1
    # The element's norm (-1)^n tail[0] is primitive in GF(p), which leaves few to be tried.
    root = 1 if p == 2 else next(g for g in range(2, p) if len(list(_cycle(p, (-g % p,)))) == p - 1)
    for rest in product(range(p), repeat=n - 1):
        cycle = list(_cycle(p, ((-1) ** n * root % p, *rest)))
        if len(cycle) == order:
            return np.array(cycle)
    raise AssertionError(f"GF({p}^{n}) has a primitive element")


def _cycle(p: int, tail: tuple[int, ...]) -> Iterator[int]:
    """1, x, x^2, .. until 1 again, modulo x^n + tail[n - 1] x^(n - 1) + .. + tail[0]."""
    one = (1, *[0] * (len(tail) - 1))
    places = [p**i for i in range(len(tail))]
    element = one
    while True:
        yield sum(e * u for e, u in zip(element, places, strict=True))
        top = element[-1]
        shifted = (0, *element[:-1])
        element = tuple((s - top * t) % p for s, t in zip(shifted, tail, strict=True))
        if element == one:
            return
