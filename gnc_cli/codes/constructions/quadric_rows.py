"""Rows of words over GF(s): each symbol is a vertex of a regular simplex in s - 1 dimensions.

Two symbols have the inner product 1 or -1/(s - 1), so words of length n that agree in Z places have
the cosine (s Z - n)/((s - 1) n), which may be negative as far as it likes: where +-1 for two
symbols makes lines, s symbols make a code whose rows have no opposites.
"""

from fractions import Fraction

import numpy as np

from gnc_cli.codes.closed_forms import closed_form
from gnc_cli.codes.constructions.construction import Cosine, Rows, Verified
from gnc_cli.codes.constructions.quadric_words import QuadricWords

__all__ = ["QuadricRows"]

_BLOCK_ENTRIES = 1 << 18
_SCANNED = 1 << 24
"""Symbols that are searched for a word with as many zeros as a shortened code may have."""


class QuadricRows(Rows):
    """The first K rows of a code of quadratic forms: form slowest, then linear part, constant.

    Args:
        words: the linear code, of length n = s^e.
        shortened: only the words with the symbol 0 at so many places: x = 0, 1, g, g^2, ..; those
            are left out. At most e + 1.
        extended: the form is written out as well, as a vertex of a simplex of all Q forms with the
            weight that evens out inner products of different forms and of one form; e is even.
        K: how many rows; all by default.

    Where neither changes the code, minus the vertices at each place are its last s n rows.

    Raises:
        ValueError: no such code, or K is below 2 or above all.
    """

    def __init__(
        self, words: QuadricWords, shortened: int = 0, extended: bool = False, K: int | None = None
    ) -> None:
        s, e = words.s, words.e
        if s < 3 or not 0 <= shortened <= e + 1 or (extended and (e % 2 or shortened)):
            raise ValueError(
                f"no code of GF({s}), {e} variables, {shortened} places fewer, extended: {extended}"
            )
        self.words, self.shortened, self.extended = words, shortened, extended
        self.coded = words.Q * s ** (e + 1 - shortened)
        """Rows that are words."""
        n = s**e - shortened
        d = (s - 1) * n + (words.Q - 1) * extended
        whole = self.coded + (0 if shortened or extended else s * n)
        K = whole if K is None else K
        if not 2 <= K <= whole:
            raise ValueError(f"K is {K}; these words give 2 to {whole} rows")
        self.shape = (K, d)
        # Weights: (s - 1) n for the word, Q - 1 for the form, of d in all.
        self._vertices = _simplex(s) * ((s - 1) / d) ** 0.5
        self._ends = _simplex(words.Q) * ((words.Q - 1) / d) ** 0.5 if extended else None

    def first(self, K: int) -> "QuadricRows":
        """The first K rows."""
        if K > len(self):
            raise ValueError(f"the code has {len(self)} rows, fewer than {K}")
        return QuadricRows(self.words, self.shortened, self.extended, K)

    def unit(self, start: int, stop: int) -> np.ndarray:
        start, stop, _ = slice(start, stop).indices(len(self))
        d, s = self.shape[1], self.words.s
        out = np.empty((max(0, stop - start), d))
        step = max(1, _BLOCK_ENTRIES // d)
        end = min(stop, self.coded)
        for i in range(start, end, step):
            numbers = np.arange(i, min(i + step, end))
            symbols = self.symbols(numbers)
            block = out[i - start : i - start + len(numbers)]
            width = (s - 1) * symbols.shape[1]
            block[:, :width] = self._vertices[symbols].reshape(len(numbers), width)
            if self._ends is not None:
                block[:, width:] = self._ends[numbers // (self.coded // self.words.Q)]
        basis = np.arange(max(start, self.coded), stop) - self.coded
        if len(basis):
            out[-len(basis) :] = 0.0
            places = out[-len(basis) :].reshape(len(basis), d // (s - 1), s - 1)
            places[np.arange(len(basis)), basis // s] = -_simplex(s)[basis % s]
        return out

    def symbols(self, numbers: np.ndarray) -> np.ndarray:
        """Symbols of words by number, shape (len(numbers), n), uint8."""
        words, s, e, short = self.words, self.words.s, self.words.e, self.shortened
        # x = 0 has the constant for its symbol, and 1, g, g^2, .. choose the linear part.
        constants = np.zeros_like(numbers) if short else numbers % s
        numbers = numbers if short else numbers // s
        fixed = max(0, short - 1)
        free = s ** (e - fixed)
        forms, linear = words.forms[numbers // free], numbers % free * s**fixed
        for j in range(fixed):
            linear = linear + s**j * words.minus[forms[:, 1 + j]].astype(np.int64)
        symbols = words.plus[forms[:, short:], words.linear[linear, short:]]
        symbols = words.plus[symbols, constants[:, None]]
        return np.asarray(symbols)

    def verify(self) -> Verified:
        """Zeros of all words, one form of each class: the difference of two words is a word.

        Raises:
            ValueError: minus the vertices are nearer to the words than words are to each other.
        """
        words, K, d = self.words, len(self), self.shape[1]
        s, n, short = words.s, words.s**words.e, self.shortened
        plain, zeros = words.most_zeros()
        # d (s - 1) times inner products of words with one form, and with two.
        one, two = s * (plain - short) - (n - short), s * (zeros - short) - (n - short)
        if self.extended:
            one, two = one + words.Q - 1, two - 1
        top = max(one, two)
        if K > self.coded and top * top < n:
            raise ValueError("a vertex is nearer to a word than words are to each other")
        how = "zeros of all words of a linear code"
        if not self._attained(zeros if two == top else plain):
            how += "; an upper bound for the rows kept"
        cosine = Cosine.of(Fraction(top, d))
        return Verified(K, top < d, cosine, None, how)

    def _attained(self, zeros: int) -> bool:
        """Whether some row has so many zeros, those left out included."""
        n = self.words.s**self.words.e
        last = min(len(self), self.coded, _SCANNED // n)
        for i in range(1, last, 4096):
            symbols = self.symbols(np.arange(i, min(i + 4096, last)))
            if ((symbols == 0).sum(1) == zeros - self.shortened).any():
                return True
        return False


def _simplex(points: int) -> np.ndarray:
    """Vertices of the regular simplex, shape (points, points - 1)."""
    form = closed_form(points - 1, points)
    if form is None:
        raise ValueError(f"theorem 3.3 is silent on ({points - 1}, {points})")
    return form.weights
