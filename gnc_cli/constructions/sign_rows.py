"""Rows (+-1)/sqrt(d) from a set of Boolean functions: whole, shortened and punctured codes.

Each function f of m variables gives 2 d rows, d = 2^m: the orthogonal basis
(-1)^(f(x) + <a, x>), a = 0 .. d - 1, times 1/sqrt(d), each row followed by its negative. The signed
standard basis may come first; its cosine with all other rows is 1/sqrt(d).
"""

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import islice

import numpy as np

from gnc_cli.constructions.boolean_functions import (
    FormSet,
    Span,
    Sweep,
    block_size,
    functions_by_number,
    hadamard,
    largest_in,
    largest_of_first,
    sign_vectors,
    sums_of_pairs,
    sweep,
    walsh,
)
from gnc_cli.constructions.construction import Cosine, GroupedRows, Verification
from gnc_cli.constructions.integer_rows import IntegerRows

_MAX_MULTIPLIED_ROWS = 4096
"""Largest number of rows of a shortened or punctured code whose pairs are all multiplied: up to
16 million products."""
_MAX_SEARCHED_SUMS = 1 << 18
"""Largest number of sums of functions that are searched for a pair that attains the bound."""


class _FunctionRows(GroupedRows):
    """Rows that are products of signs of functions and members of a basis, on some coordinates."""

    verifies_parts = True
    forms: FormSet
    """Functions on all coordinates."""
    members: np.ndarray
    """Factors of each function: signs on the remaining coordinates, shape (n, d), int8."""
    places: np.ndarray | slice = slice(None)
    """Coordinates of each function that remain in the rows."""

    @property
    def part(self) -> int:
        """Number of rows of each function."""
        return self.group * len(self.members)

    def signs(self, start: int, stop: int) -> np.ndarray:
        """Return rows `start` to `stop` (exclusive) in integers, shape (stop - start, d), int8.

        Rows below `self.standard` are signed unit vectors; the others are +-1, of length sqrt(d).
        """
        start, stop, _ = slice(start, stop).indices(len(self))
        return self._make_rows(start, max(start, stop), np.dtype(np.int8))

    def _unit(self, start: int, stop: int) -> np.ndarray:
        signs, basis = self.signs(start, stop), max(0, self.standard - start)
        rows: np.ndarray = np.multiply(signs, self.shape[1] ** -0.5, dtype=np.float64)
        rows[:basis] = signs[:basis]
        return rows

    def _fill(self, out: np.ndarray, first: int) -> None:
        function, member = np.divmod(np.arange(first, first + len(out)), len(self.members))
        low = function[0]
        signs = self.forms.functions(np.arange(low, function[-1] + 1))[:, self.places]
        signs = np.take(sign_vectors(signs), function - low, axis=0)
        np.multiply(signs, np.take(self.members, member, axis=0), out=out[:, 0])
        if self.group == 2:
            np.negative(out[:, 0], out=out[:, 1])


class SignRows(_FunctionRows):
    """Rows of the bases that a set of functions gives.

    Row i, counted after a standard basis, is row i mod 2 d of basis i // (2 d); there, row 2 a is
    member a and row 2 a + 1 its negative.
    """

    group = 2

    def __init__(self, forms: FormSet, standard: bool = False) -> None:
        self.forms = forms
        self.members = hadamard(forms.m)
        self.standard = 2 * forms.d if standard else 0
        self.shape = (self.standard + self.part * len(forms), forms.d)

    def verify(self) -> Verification:
        """Compute size, distinctness and cosine by Walsh transforms of sums of functions."""
        forms, (K, d) = self.forms, self.shape
        bases = -(-(K - self.standard) // self.part)
        distribution, exact = None, True
        if K == self.standard + self.part * len(forms):
            whole = sweep(forms)
            largest, distribution = whole.largest, self._distribution(whole)
        else:
            largest, exact = largest_of_first(forms, bases)
        if K == 2:
            cosine = Cosine.rational(-1)
        elif bases > 0 and self.standard and largest**2 < d:
            cosine = Cosine.root(Fraction(1, d))
        else:
            cosine = Cosine.rational(Fraction(largest, d))
        return Verification(K, largest < d, cosine, distribution, exact)

    def _distribution(self, whole: Sweep) -> tuple[tuple[Cosine, int], ...] | None:
        """Count unordered pairs of rows by inner product from the counts of Walsh coefficients."""
        if whole.spectrum is None:
            return None
        d = self.forms.d
        bases = len(self.forms) + (self.standard > 0)
        # In a basis each row meets its negative, and 2 d - 2 rows at right angles.
        pairs = Counter(
            {Cosine.rational(-1): bases * d, Cosine.rational(0): bases * d * (2 * d - 2)}
        )
        # A coefficient of two functions is met by d pairs of members, each with four choices of
        # signs.
        for value, number in whole.spectrum.items():
            for sign in (1, -1):
                pairs[Cosine.rational(Fraction(sign * value, d))] += 2 * d * number
        if self.standard:
            positive = Cosine.root(Fraction(1, d))
            for cosine in (positive, -positive):
                pairs[cosine] += 2 * d * d * len(self.forms)
        return tuple(sorted((+pairs).items(), key=lambda item: -item[0].value))


class _RestrictedRows(_FunctionRows):
    """Shortened or punctured code, which is verified by bounds and pairs that attain them."""

    @abstractmethod
    def _largest_sum(self, functions: np.ndarray) -> int:
        """Return the largest integer inner product of rows of two functions with these sums."""

    @abstractmethod
    def _bound(self) -> int:
        """Bound the inner products, in integers, of rows of different functions from above."""

    @abstractmethod
    def _largest_in_basis(self) -> int:
        """Return the largest inner product, in integers, of different rows of one function."""

    def verify(self) -> Verification:
        """Multiply all pairs of few rows; otherwise bound them and search for a pair there."""
        K, d = self.shape
        if K <= _MAX_MULTIPLIED_ROWS:
            return IntegerRows(self.signs(0, K).astype(np.int32)).verify()
        count = -(-K // self.part)
        bound, largest, exact = self._bound(), self._largest_in_basis(), K == self.part
        for blocks, complete in self._searches(count):
            largest = max(largest, largest_in(blocks, bound, self._largest_sum))
            if exact := complete or largest >= bound:
                break
        largest = largest if exact else bound
        return Verification(K, largest < d, Cosine.rational(Fraction(largest, d)), attained=exact)

    def _searches(self, count: int) -> Iterator[tuple[Iterable[np.ndarray], bool]]:
        """Yield sums of two of the first functions, in blocks, and True if they are all sums."""
        if count == 1:
            return
        # In a linear set the differences of the first functions are the first functions up to a
        # power of two; elsewhere differences with the zero function are some of all.
        linear = len(self.forms.core) == 1
        size = 1 << (count - 1).bit_length() if linear else count
        blocks = _MAX_SEARCHED_SUMS // block_size(self.forms.d)
        yield (
            islice(functions_by_number(self.forms, size), blocks),
            linear and size <= _MAX_SEARCHED_SUMS,
        )
        pairs = count * (count - 1) // 2
        yield islice(sums_of_pairs(self.forms, count), blocks), pairs <= _MAX_SEARCHED_SUMS


class ShortenedRows(_RestrictedRows):
    """Shortened code of signs: the rows that are +1 in s places, without those places.

    Where the places are part of an information set, 2^k rows of length d and largest inner product
    w become 2^(k - s) rows of length d - s whose inner products are s less: their largest cosine is
    at most (w - s)/(d - s), with equality if two of the remaining rows attain w. The first places
    are 0 and the powers of two, on which normal functions vanish: there a row of signs is +1 for
    one choice of each sign and of s - 1 bits of a. Beyond these m + 1 places the sum over the basis
    is restricted, m + 1 + (size of the basis) places at most. A standard basis is omitted.
    """

    def __init__(self, forms: FormSet, s: int) -> None:
        m, d = forms.m, forms.d
        self.original, self.s = forms, s
        places = [0, *(1 << i for i in range(m))][:s]
        self.forms, further_places = _vanishing(forms, s - len(places))
        self.places = np.setdiff1d(np.arange(d), [*places, *further_places])
        self._step = 1 << (len(places) - 1)
        self.members = np.take(hadamard(m)[:: self._step], self.places, axis=1)
        self.shape = (self.part * len(self.forms), d - s)

    def _largest_sum(self, functions: np.ndarray) -> int:
        return int(walsh(sign_vectors(functions))[:: self._step].max()) - self.s

    def _bound(self) -> int:
        if self.forms is self.original:
            count = -(-len(self) // self.part)
            return largest_of_first(self.original, count)[0] - self.s
        return sweep(self.original).largest - self.s

    def _largest_in_basis(self) -> int:
        return -self.s if self.part > 1 else -self.shape[1]


def _vanishing(forms: FormSet, number: int) -> tuple[FormSet, list[int]]:
    """Return the functions of a set that are 0 at `number` pivots of its basis, and the pivots."""
    if number <= 0:
        return forms, []
    span = Span(forms.basis)
    places, last = span.pivots[-number:], span.reduced[-number:]
    # Each core function, made 0 there by a sum of basis functions.
    sums = forms.core[:, places].astype(np.float32) @ last.astype(np.float32)
    core = forms.core ^ (sums.astype(np.int64) % 2).astype(np.uint8)
    return FormSet([span.reduced[:-number]], core, forms.symmetries), places.tolist()


class PuncturedRows(_RestrictedRows):
    """Punctured code of signs: all rows, without their first p places.

    2^k rows of length d and largest inner product w become 2^k rows of length d - p with largest
    cosine at most (w + p)/(d - p), attained where two rows with inner product w differ in all p
    places; p is d/4 at most. A standard basis is omitted.
    """

    group = 2

    def __init__(self, forms: FormSet, p: int) -> None:
        self.forms, self.p, self.places = forms, p, slice(p, None)
        self.members = hadamard(forms.m)[:, p:]
        self.shape = (self.part * len(forms), forms.d - p)

    def _largest_sum(self, functions: np.ndarray) -> int:
        values = sign_vectors(functions)
        values[:, : self.p] = 0
        return int(np.abs(walsh(values)).max())

    def _bound(self) -> int:
        return largest_of_first(self.forms, -(-len(self) // self.part))[0] + self.p

    def _largest_in_basis(self) -> int:
        return int(np.abs(self.members[1:].sum(axis=1, dtype=np.int64)).max())
