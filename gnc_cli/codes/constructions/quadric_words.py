"""Linear codes of quadratic forms over GF(s): words whose symbols are nearly evenly spread.

A word has the symbols f(x) = Tr(a x^E + b x) + c, x in GF(s^e), Tr the trace to GF(s). For odd e,
E = s + 1 and a is any element; for even e, E = Q + 1, Q = s^(e/2), and a x^E is a multiple in GF(Q)
of the norm to GF(Q), so that all quadratic forms but 0 are elliptic. No word but 0 has more than
(s^e + s^ceil(e/2)) / s zeros.

Sources: P. Delsarte, 1972, Weights of linear codes and strongly regular normed spaces;
R. Calderbank and W. M. Kantor, 1986, The geometry of two-weight codes.
"""

from functools import cached_property, lru_cache
from math import gcd

import numpy as np

from gnc_cli.codes.constructions.log_fields import log_field, prime_power

__all__ = ["QuadricWords", "quadric_words"]


class QuadricWords:
    """The words over GF(s), symbols numbered 0 (zero) to s - 1.

    Args:
        s: a power of a prime.
        e: s^e is below 8192.

    Raises:
        ValueError: no such field.
    """

    def __init__(self, s: int, e: int) -> None:
        if prime_power(s) is None or e < 1:
            raise ValueError(f"no quadratic forms over GF({s}) in {e} variables")
        self.s, self.e = s, e
        self.field = field = log_field(s**e)
        q = field.q
        self.Q = s ** (e // 2) if e % 2 == 0 else q
        """Number of forms, the zero form among them."""
        self.exponent = s + 1 if e % 2 else self.Q + 1
        # GF(s) in GF(q): zero and the powers of a generator.
        inside = np.append(0, field.exp[:: (q - 1) // (s - 1)])
        number = np.zeros(q, dtype=np.uint8)
        number[inside] = np.arange(s)
        total, conjugate = np.zeros(q, dtype=np.int64), np.arange(q)
        for _ in range(e):
            total, conjugate = field.add(total, conjugate), field.power(conjugate, s)
        self._trace = number[total]
        self.plus = number[field.add(inside[:, None], inside)]
        """`plus[i, j]` is the number of the sum of symbols i and j."""
        self.minus = number[field.subtract(0, inside)]

    @cached_property
    def forms(self) -> np.ndarray:
        """Symbols of Tr(a x^E) for each form, shape (Q, s^e), uint8; the zero form first.

        Column x; x = 0 first, then 1, g, g^2, ..
        """
        field, q = self.field, self.field.q
        if self.e % 2:
            coefficients = field.exp
        else:
            # Times an element of trace 1 over GF(Q), so that Tr is the trace of GF(Q) of the rest.
            conjugates = field.add(np.arange(q), field.power(np.arange(q), self.Q))
            unit = int(np.flatnonzero(conjugates == 1)[0])
            coefficients = field.multiply(unit, field.exp[:: (q - 1) // (self.Q - 1)])
        return self._table(coefficients, self.exponent)

    @cached_property
    def linear(self) -> np.ndarray:
        """Symbols of Tr(b x), shape (s^e, s^e), uint8, in the order of the symbols at 1, g, g^2, ..

        Row number r has the symbols (r, r // s, r // s^2, ..) modulo s at 1, g, .., g^(e - 1).
        """
        table = self._table(self.field.exp, 1)
        places = table[:, 1 : 1 + self.e].astype(np.int64) @ self.s ** np.arange(self.e)
        ordered = np.empty_like(table)
        ordered[places] = table
        return ordered

    def _table(self, coefficients: np.ndarray, exponent: int) -> np.ndarray:
        q = self.field.q
        logs = self.field.log[coefficients]
        out = np.zeros((1 + len(logs), q), dtype=np.uint8)
        powers = self._trace[self.field.exp]
        out[1:, 1:] = powers[(logs[:, None] + exponent * np.arange(q - 1)) % (q - 1)]
        return out

    def most_zeros(self) -> tuple[int, int]:
        """Most zeros of a word without a form that is not 0, and of a word with one.

        x -> l x takes a to a l^E: one form of each class modulo E-th powers speaks for all.
        """
        plain = self.zeros(0)
        plain[0, 0] = 0
        step = 1 if self.e % 2 else (self.field.q - 1) // (self.Q - 1)
        logs = step * np.arange(self.Q - 1) % gcd(self.exponent, self.field.q - 1)
        first = 1 + np.unique(logs, return_index=True)[1]
        return int(plain.max()), max(int(self.zeros(int(form)).max()) for form in first)

    def zeros(self, form: int) -> np.ndarray:
        """Zeros of the form of that number + linear part + constant, shape (s^e, s)."""
        q, s = self.field.q, self.s
        symbols = self.plus[self.forms[form], self.linear] + s * np.arange(q)[:, None]
        counts = np.bincount(symbols.ravel(), minlength=q * s).reshape(q, s)
        return np.asarray(counts[:, self.minus])


@lru_cache(maxsize=4)
def quadric_words(s: int, e: int) -> QuadricWords:
    """The words, their tables made once."""
    return QuadricWords(s, e)
