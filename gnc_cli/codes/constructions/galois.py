"""Finite fields GF(2^m) by logarithm tables, and the trace of the Galois ring GR(4, m) above them.

An element of GF(2^m) is the integer whose bits are its coordinates in 1, a, a^2, ..., a^(m-1), a a
root of a primitive polynomial. Addition is `^`; the coordinates x = 0, 1, .., 2^m - 1 of the codes
of length 2^m are the elements in this order, so that linear functions are rows of the natural
Hadamard matrix.
"""

from functools import lru_cache

import numpy as np

__all__ = ["GaloisField", "cyclotomic_coset", "galois_field", "ring_trace"]

_PRIMITIVE = {
    2: 0b111,
    3: 0b1011,
    4: 0b10011,
    5: 0b100101,
    6: 0b1000011,
    7: 0b10000011,
    8: 0b100011101,
    9: 0b1000010001,
    10: 0b10000001001,
    11: 0b100000000101,
    12: 0b1000001010011,
}
"""Primitive polynomials over GF(2), the bit of weight 2^i the coefficient of x^i; `GaloisField`
checks that they are."""


class GaloisField:
    """GF(2^m) for 2 <= m <= 12.

    Raises:
        ValueError: m is out of range.

    Example:
        >>> field = galois_field(3)
        >>> field.power(np.arange(8), 3).tolist()
        [0, 1, 3, 4, 5, 6, 7, 2]
    """

    def __init__(self, m: int) -> None:
        if m not in _PRIMITIVE:
            raise ValueError(f"no table of GF(2^{m}): m is 2 to 12")
        self.m = m
        self.q = 1 << m
        """Elements."""
        self.order = self.q - 1
        """Nonzero elements, the powers of a."""
        self.exp = np.zeros(self.order, dtype=np.int64)
        """a^t for t = 0 .. order - 1, shape (order,)."""
        x = 1
        for t in range(self.order):
            self.exp[t] = x
            x <<= 1
            if x >> m:
                x ^= _PRIMITIVE[m]
        if len(np.unique(self.exp)) != self.order:
            raise ValueError(f"polynomial {_PRIMITIVE[m]:b} is not primitive")
        self.log = np.zeros(self.q, dtype=np.int64)
        """t with a^t = x, shape (q,); meaningless at 0."""
        self.log[self.exp] = np.arange(self.order)
        elements = np.arange(self.q)
        total, conjugate = np.zeros(self.q, dtype=np.int64), elements
        for _ in range(m):
            total, conjugate = total ^ conjugate, self.power(conjugate, 2)
        self.trace: np.ndarray = total.astype(np.uint8)
        """Absolute trace x + x^2 + .. + x^(2^(m-1)) of each element, 0 or 1, shape (q,)."""

    def multiply(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Products, elementwise with broadcasting."""
        product = self.exp[(self.log[x] + self.log[y]) % self.order]
        return np.where((x == 0) | (y == 0), 0, product)

    def power(self, x: np.ndarray, e: int) -> np.ndarray:
        """x^e elementwise, e > 0."""
        return np.where(x == 0, 0, self.exp[self.log[x] * e % self.order])


@lru_cache(maxsize=11)
def galois_field(m: int) -> GaloisField:
    """GF(2^m), its tables made once."""
    return GaloisField(m)


def cyclotomic_coset(m: int, e: int) -> frozenset[int]:
    """The exponents e, 2e, 4e, .. modulo 2^m - 1: powers of x with the same trace functions.

    Example:
        >>> sorted(cyclotomic_coset(6, 9))
        [9, 18, 36]
    """
    return frozenset(e * 2**i % (2**m - 1) for i in range(m))


@lru_cache(maxsize=11)
def ring_trace(m: int) -> np.ndarray:
    """The trace of GR(4, m) on the Teichmueller set, shape (2^m,), values 0 to 3, int8.

    Entry x is T(X) = X + X^2 + X^4 + .. modulo 4, where X in {0, 1, z, z^2, ..} reduces to the
    field element x. (Hammons, Kumar, Calderbank, Sloane, Sole, The Z4-linearity of Kerdock,
    Preparata, Goethals, and related codes, 1994, section III.)

    Example:
        >>> ring_trace(3).tolist()
        [0, 3, 2, 1, 2, 1, 2, 1]
    """
    field = galois_field(m)
    polynomial = _hensel_lift(_PRIMITIVE[m], m)
    powers = np.zeros((field.order, m), dtype=np.int64)
    powers[0, 0] = 1
    for t in range(1, field.order):
        powers[t, 1:] = powers[t - 1, :-1]
        powers[t] -= powers[t - 1, -1] * polynomial[:m]
        powers[t] %= 4
    if not ((powers % 2) @ (1 << np.arange(m)) == field.exp).all():
        raise ValueError("the lifted polynomial does not reduce to the primitive one")
    conjugates = np.arange(field.order) * 2 ** np.arange(m)[:, None] % field.order
    traces = powers[conjugates].sum(axis=0) % 4
    if traces[:, 1:].any():
        raise ValueError("a trace lies outside of Z4: the lifted polynomial is wrong")
    table = np.zeros(field.q, dtype=np.int8)
    table[field.exp] = traces[:, 0]
    return table


def _hensel_lift(polynomial: int, m: int) -> np.ndarray:
    """Coefficients modulo 4 of the divisor of x^(2^m - 1) - 1 above a primitive polynomial.

    Graeffe's method: with p = even(x) - odd(x), the lift h has h(x^2) = +-(even^2 - odd^2).
    """
    bits = np.array([polynomial >> i & 1 for i in range(m + 1)], dtype=np.int64)
    even, odd = bits.copy(), bits.copy()
    even[1::2], odd[0::2] = 0, 0
    squared = (np.convolve(even, even) - np.convolve(odd, odd))[::2] % 4
    return np.asarray(squared * squared[m] % 4)
