"""Finite fields of up to 8191 elements: powers of a primitive element, and logarithms.

An element is a number from 0 to q - 1 whose base-p digits are the coefficients of a polynomial in
the primitive element. Sums over all elements take the nonzero ones in the order of the powers:
x -> b x is then a shift of that order, and x -> x^k a stride. In characteristic 2 addition is `^`,
and linear functions of the elements 0, 1, .., q - 1 are rows of the natural Hadamard matrix.
"""

from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import product
from math import isqrt

import numpy as np

_ORDER_LIMIT = 1 << 13
"""Orders of fields are below this: tables of prime powers and characters stay small."""


class FiniteField:
    """GF(q), q = p^n below 8192, with the least primitive polynomial."""

    def __init__(self, q: int) -> None:
        self.q = q
        """Number of elements."""
        self.p, self.n = prime_powers()[q]
        """Characteristic p, and degree over the integers modulo p."""
        self.exp = np.array(_primitive_powers(self.p, self.n))
        """g^j for j = 0 .. q - 2, shape (q - 1,)."""
        self.log = np.zeros(q, dtype=np.int64)
        """j with g^j = x, shape (q,); meaningless at 0."""
        self.log[self.exp] = np.arange(q - 1)
        self.trace: np.ndarray = self.trace_to(self.p).astype(np.int16)
        """x + x^p + .. + x^(q/p) of each element, 0 to p - 1, shape (q,), int16."""

    def add(self, x: np.ndarray | int, y: np.ndarray | int) -> np.ndarray:
        """Return x + y elementwise, with broadcasting."""
        return self._add_digits(x, y, 1)

    def subtract(self, x: np.ndarray | int, y: np.ndarray | int) -> np.ndarray:
        """Return x - y elementwise, with broadcasting."""
        return self._add_digits(x, y, -1)

    def multiply(self, x: np.ndarray | int, y: np.ndarray | int) -> np.ndarray:
        """Return x y elementwise, with broadcasting."""
        product = self.exp[(self.log[x] + self.log[y]) % (self.q - 1)]
        return np.where((np.asarray(x) == 0) | (np.asarray(y) == 0), 0, product)

    def power(self, x: np.ndarray, e: int) -> np.ndarray:
        """Return x^e elementwise, e > 0; the shape of x."""
        return np.where(np.asarray(x) == 0, 0, self.exp[self.log[x] * e % (self.q - 1)])

    def trace_to(self, s: int) -> np.ndarray:
        """Return the trace x + x^s + x^(s^2) + .. to the subfield of s elements, shape (q,)."""
        total, conjugate = np.arange(self.q), self.power(np.arange(self.q), s)
        while conjugate[self.exp[1 % (self.q - 1)]] != self.exp[1 % (self.q - 1)]:
            total, conjugate = self.add(total, conjugate), self.power(conjugate, s)
        return total

    @property
    def characters(self) -> np.ndarray:
        """Quadratic character: 0 at 0, 1 at squares, -1 elsewhere; shape (q,), int8; q odd."""
        signs = (1 - 2 * (self.log % 2)).astype(np.int8)
        signs[0] = 0
        return signs

    def _add_digits(self, x: np.ndarray | int, y: np.ndarray | int, sign: int) -> np.ndarray:
        """Add `sign * y` to x digit by digit, modulo p."""
        x, y = np.asarray(x), np.asarray(y)
        if self.p == 2:
            return np.asarray(x ^ y)
        if self.n == 1:
            return np.asarray((x + sign * y) % self.p)
        places = [self.p**i for i in range(self.n)]
        return np.asarray(sum((x // u + sign * (y // u)) % self.p * u for u in places))


finite_field = lru_cache(maxsize=32)(FiniteField)
"""GF(q), its tables made once."""


@cache
def prime_powers() -> dict[int, tuple[int, int]]:
    """Return every q = p^n below 8192 with (p, n), in rising order."""
    primes = set(range(2, _ORDER_LIMIT))
    for r in range(2, isqrt(_ORDER_LIMIT) + 1):
        primes.difference_update(range(r * r, _ORDER_LIMIT, r))
    powers = ((p**n, (p, n)) for p in primes for n in range(1, _ORDER_LIMIT.bit_length()))
    return dict(sorted((q, order) for q, order in powers if q < _ORDER_LIMIT))


def prime_power(q: int) -> tuple[int, int] | None:
    """Return (p, n) with q = p^n, or None; q below 8192."""
    return prime_powers().get(q)


def _primitive_powers(p: int, n: int) -> list[int]:
    """Return the powers 1, g, .. of a root g of the least primitive polynomial of GF(p^n)."""
    # The norm (-1)^n tail[0] of g is primitive in GF(p), which leaves few candidates.
    root = 1 if p == 2 else next(g for g in range(2, p) if len(list(_cycle(p, (-g % p,)))) == p - 1)
    tails = (((-1) ** n * root % p, *rest[::-1]) for rest in product(range(p), repeat=n - 1))
    cycles = (list(_cycle(p, tail)) for tail in tails)
    return next(cycle for cycle in cycles if len(cycle) == p**n - 1)


def _cycle(p: int, tail: tuple[int, ...]) -> Iterator[int]:
    """Yield 1, x, x^2, .. until 1 again, modulo x^n + tail[n - 1] x^(n - 1) + .. + tail[0]."""
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
