"""Codes of quadratic forms over GF(s), s > 2: symbols are vertices of a simplex.

A word has the symbols f(x) = Tr(a x^E + b x) + c, x in GF(s^e), Tr the trace to GF(s). For odd e,
E = s + 1 and a is any element; for even e, E = Q + 1, Q = s^(e/2), and a x^E is a multiple in GF(Q)
of the norm to GF(Q), so that all quadratic forms but 0 are elliptic. No word but 0 has more than
(s^e + s^ceil(e/2)) / s zeros.

Each symbol is a vertex of a regular simplex in s - 1 dimensions. Two symbols have the inner product
1 or -1/(s - 1), so words of length n that agree in Z places have the cosine
(s Z - n)/((s - 1) n), which may be far below 0: two symbols +-1 make lines, s symbols make a code
whose rows have no opposites.

With n = s^e, h = s^ceil(e/2) and Q = n forms for odd e, sqrt(n) for even e:

| name | d | K | largest cosine |
|---|---|---|---|
| `quadric-s-e` | (s - 1) n | s n (Q + 1) | h/d |
| `quadric-s-e-shortened-i` | (s - 1)(n - i) | s^(e + 1 - i) Q | (h - (s - 1) i)/d |
| `quadric-s-e-extended`, e even | (s - 1) n + Q - 1 | s n Q | (Q - 1)/d |

For e = 2 these are subsets of the code of isotropic lines, which has K = (s + 1)(s^3 + 1) rows at
1/s^2 in s (s^2 - s + 1) dimensions; for s = 2 they are Gold's and parts of Kerdock's code.

Sources: P. Delsarte, 1972, Weights of linear codes and strongly regular normed spaces;
R. Calderbank and W. M. Kantor, 1986, The geometry of two-weight codes.
"""

from fractions import Fraction
from functools import cached_property, lru_cache
from math import gcd

import numpy as np

from gnc_cli.constructions.construction import (
    Construction,
    Cosine,
    Family,
    GroupedRows,
    Verification,
    small_family,
)
from gnc_cli.constructions.families.theorem_3_3 import simplex_vertices
from gnc_cli.constructions.fields import finite_field, prime_powers

_REFERENCE = "Calderbank and Kantor 1986, The geometry of two-weight codes"
_MAX_DIMENSION = 4096
"""Largest dimension of a code that is offered."""
_MAX_SEARCHED_SYMBOLS = 1 << 24
"""Number of symbols that are searched for a word with the largest possible number of zeros."""


def _number_of_forms(s: int, e: int) -> int:
    return int(s**e) if e % 2 else int(s ** (e // 2))


class QuadricWords:
    """Words over GF(s), with symbols numbered 0 (zero) to s - 1; s^e is below 8192."""

    def __init__(self, s: int, e: int) -> None:
        self.s, self.e = s, e
        self.field = field = finite_field(s**e)
        self.Q = _number_of_forms(s, e)
        """Number of forms, the zero form among them."""
        self.exponent = s + 1 if e % 2 else self.Q + 1
        # GF(s) in GF(q): zero and the powers of a generator.
        inside = np.append(0, field.exp[:: (field.q - 1) // (s - 1)])
        number = np.zeros(field.q, dtype=np.uint8)
        number[inside] = np.arange(s)
        self._trace = number[field.trace_to(s)]
        self.plus = number[field.add(inside[:, None], inside)]
        """Numbers of the sums of symbols i and j, shape (s, s)."""
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
            unit = int(np.flatnonzero(field.trace_to(self.Q) == 1)[0])
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
        """Return the largest numbers of zeros of nonzero words without a form, and with one.

        x -> l x takes a to a l^E: one form of each class modulo E-th powers represents all.
        """
        plain = self.zeros(0)
        plain[0, 0] = 0
        step = 1 if self.e % 2 else (self.field.q - 1) // (self.Q - 1)
        logs = step * np.arange(self.Q - 1) % gcd(self.exponent, self.field.q - 1)
        first = 1 + np.unique(logs, return_index=True)[1]
        return int(plain.max()), max(int(self.zeros(int(form)).max()) for form in first)

    def zeros(self, form: int) -> np.ndarray:
        """Count zeros of a form, given by number, + linear part + constant; shape (s^e, s)."""
        q, s = self.field.q, self.s
        symbols = self.plus[self.forms[form], self.linear] + s * np.arange(q)[:, None]
        counts = np.bincount(symbols.ravel(), minlength=q * s).reshape(q, s)
        return np.asarray(counts[:, self.minus])


quadric_words = lru_cache(maxsize=4)(QuadricWords)
"""The words, their tables made once."""


class QuadricRows(GroupedRows):
    """Rows of the words: the form changes slowest, then the linear part, then the constant.

    A shortened code has only the words with the symbol 0 at the first `shortened` of the places
    x = 0, 1, g, g^2, .., at most e + 1, without these places. In an extended one, e even, the form
    is a symbol too, a vertex of a simplex of all Q forms, with the weight that balances inner
    products of different forms and of one form. Other codes have the negatives of the vertices at
    each place as their last s n rows.
    """

    verifies_parts = True

    def __init__(self, words: QuadricWords, shortened: int = 0, extended: bool = False) -> None:
        s, e = words.s, words.e
        self.words, self.shortened, self.extended = words, shortened, extended
        self.coded = words.Q * s ** (e + 1 - shortened)
        """Number of rows that are words."""
        n = s**e - shortened
        d = (s - 1) * n + (words.Q - 1) * extended
        self.shape = (self.coded + (0 if shortened or extended else s * n), d)
        # Weights: (s - 1) n for the word, Q - 1 for the form, of d in all.
        self._vertices = simplex_vertices(s) * ((s - 1) / d) ** 0.5
        self._ends = simplex_vertices(words.Q) * ((words.Q - 1) / d) ** 0.5 if extended else None

    def _unit(self, start: int, stop: int) -> np.ndarray:
        out = np.empty((stop - start, self.shape[1]))
        end = min(stop, max(start, self.coded))
        self._grouped(out[: end - start], start)
        if end < stop:
            s, basis = self.words.s, np.arange(end, stop) - self.coded
            out[end - start :] = 0.0
            places = out[end - start :].reshape(len(basis), -1, s - 1)
            places[np.arange(len(basis)), basis // s] = -simplex_vertices(s)[basis % s]
        return out

    def _fill(self, out: np.ndarray, first: int) -> None:
        numbers = np.arange(first, first + len(out))
        symbols = self.symbols(numbers)
        width = (self.words.s - 1) * symbols.shape[1]
        out[:, 0, :width] = self._vertices[symbols].reshape(len(out), width)
        if self._ends is not None:
            out[:, 0, width:] = self._ends[numbers // (self.coded // self.words.Q)]

    def symbols(self, numbers: np.ndarray) -> np.ndarray:
        """Return symbols of words by number, shape (len(numbers), n), uint8."""
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
        return np.asarray(words.plus[symbols, constants[:, None]])

    def verify(self) -> Verification:
        """Count zeros of all words, by one form of each class: differences of words are words."""
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
        attained = self._attained(zeros if two == top else plain)
        return Verification(K, top < d, Cosine.rational(Fraction(top, d)), attained=attained)

    def _attained(self, zeros: int) -> bool:
        """Check if some row has this number of zeros, shortened places included."""
        n = self.words.s**self.words.e
        last = min(len(self), self.coded, _MAX_SEARCHED_SYMBOLS // n)
        for i in range(1, last, 4096):
            symbols = self.symbols(np.arange(i, min(i + 4096, last)))
            if ((symbols == 0).sum(1) == zeros - self.shortened).any():
                return True
        return False


def _code(s: int, e: int, shortened: int = 0, extended: bool = False) -> Construction:
    n, forms = s**e, _number_of_forms(s, e)
    d = (s - 1) * (n - shortened) + (forms - 1) * extended
    top = forms - 1 if extended else s ** ((e + 1) // 2) - (s - 1) * shortened
    change = f"-shortened-{shortened}" if shortened else "-extended" * extended
    zeros = f", 0 at {shortened} points" if shortened else ""
    K = s ** (e + 1 - shortened) * forms + s * n * (not shortened and not extended)

    return Construction(
        f"quadric-{s}-{e}{change}",
        f"quadratic forms in {e} variables over GF({s}), symbols as vertices of a simplex{zeros}",
        d,
        K,
        Cosine.rational(Fraction(top, d)),
        None,
        _REFERENCE,
        lambda: QuadricRows(quadric_words(s, e), shortened, extended),
    )


_ORDERS = tuple(
    (s, e)
    for s in prime_powers()
    if s > 2 and s * (s - 1) <= _MAX_DIMENSION
    for e in range(1, 9)
    if (s - 1) * s**e <= _MAX_DIMENSION
)
_Codes = dict[tuple[int, ...], Construction]
_WHOLE_CODES: _Codes = {(s, e): _code(s, e) for s, e in _ORDERS}
_SHORTENED_CODES: _Codes = {
    (s, e, i): code
    for s, e in _ORDERS
    for i in range(1, e + 1)
    if (code := _code(s, e, i)).K > 2 * code.d  # more rows than an orthoplex has
}
_EXTENDED_CODES: _Codes = {
    (s, e): code
    for s, e in _ORDERS
    if e % 2 == 0 and (code := _code(s, e, extended=True)).d <= _MAX_DIMENSION
}
FAMILIES: tuple[Family, ...] = (
    small_family(
        "quadric-s-e",
        "quadratic forms in e variables over GF(s), symbols as vertices of a simplex",
        "s = 3, 4, 5, 7, .. a power of a prime, e = 1, 2, .., d <= 4096",
        "(s-1) s^e",
        "s^(3e/2+1) + s^(e+1), e even; s^(2e+1) + s^(e+1), e odd",
        "s^ceil(e/2)/d",
        _REFERENCE,
        codes=_WHOLE_CODES,
    ),
    small_family(
        "quadric-s-e-shortened-i",
        "those forms that are 0 at i points",
        "as quadric-s-e; i = 1, 2, .., e",
        "(s-1)(s^e-i)",
        "s^(3e/2+1-i), e even; s^(2e+1-i), e odd",
        "(s^ceil(e/2)-(s-1)i)/d",
        _REFERENCE,
        codes=_SHORTENED_CODES,
    ),
    small_family(
        "quadric-s-e-extended",
        "those forms, each a vertex of a further simplex as well",
        "as quadric-s-e, e even",
        "(s-1) s^e + s^(e/2) - 1",
        "s^(3e/2+1)",
        "(s^(e/2)-1)/d",
        _REFERENCE,
        codes=_EXTENDED_CODES,
    ),
)
