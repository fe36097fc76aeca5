"""Constructions: a name, exact values, a source, and a way to make and check the rows.

The values are known without building anything, so that lists and searches stay instant. `build`
makes the rows; `CodeRows.verify` computes size, distinctness and largest cosine from the rows
alone, never from the values stated here.

New constructions from old ones, with values that are known before the rows are made:

| operation | size | largest cosine |
|---|---|---|
| `first_rows(c, K)` | K | at most that of c |
| `embedded(c, d)` | as c | as c |
| `orthogonal_sum(c1, c2, ...)` | the sizes add up | the largest of theirs, at least 0 |
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, cached_property
from math import isqrt, sqrt
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

MAX_NUMBERS = 1 << 26
"""Largest K d of a code whose rows are kept in memory: 512 MB."""
_BLOCK_ENTRIES = 1 << 18
"""Entries of streamed rows that are made at a time: 2 MB of float64, which stay in cache."""
_WITNESSES = 32
"""Rows at each end that are compared with all others in search of a pair at the whole code's
cosine."""
_WITNESS_BLOCK = 1 << 15
"""Rows that are made at a time in the search for such a pair."""
_ROUNDING = 1e-12
"""Largest rounding error of an inner product in floats."""
_ULPS = Fraction(1, 10**15)
"""Upper bound of the difference between an irrational cosine and its double."""

SHARP_CODES = (
    "Levenshtein 1992, Designs as maximum codes in polynomial metric spaces; Cohn and Kumar 2007, "
    "Universally optimal distribution of points on spheres"
)
KISSING_NUMBERS = (
    "Odlyzko and Sloane 1979; Levenshtein 1979, On bounds for packings in n-dimensional space"
)
"""Proofs that the kissing configurations in 8 and 24 dimensions are optimal."""
SCHLAEFLI = "Schläfli 1852, Theorie der vielfachen Kontinuität"


@dataclass(frozen=True)
class Cosine:
    """Exact inner product of unit vectors, as a formula and as the nearest double."""

    text: str
    """A formula in rationals, `sqrt` and `cos`: `1/4`, `(1+sqrt(5))/4`."""
    value: float

    @classmethod
    def rational(cls, value: Fraction | int) -> "Cosine":
        """Return the cosine that equals a rational number."""
        return cls(str(Fraction(value)), float(value))

    @classmethod
    def root(cls, square: Fraction) -> "Cosine":
        """Return the square root of a positive rational number, simplified where it is rational.

        Example:
            >>> Cosine.root(Fraction(1, 512)).text, Cosine.root(Fraction(1, 256)).text
            ('1/sqrt(512)', '1/16')
        """
        n, m = square.numerator, square.denominator
        if isqrt(n) ** 2 == n and isqrt(m) ** 2 == m:
            return cls.rational(Fraction(isqrt(n), isqrt(m)))
        text = f"1/sqrt({m})" if n == 1 else f"sqrt({square})"
        return cls(text, sqrt(square))

    @property
    def enclosure(self) -> tuple[Fraction, Fraction]:
        """Ends of an interval that holds the exact value: equal for a rational cosine."""
        try:
            exact = Fraction(self.text)
        except ValueError:
            double = Fraction(self.value)
            return double - _ULPS, double + _ULPS
        return exact, exact

    def __neg__(self) -> "Cosine":
        """Return the negative of a positive cosine."""
        return Cosine(f"-{self.text}", -self.value)


@dataclass(frozen=True)
class Verification:
    """Properties of a code, computed from its rows."""

    K: int
    """Number of rows."""
    distinct: bool
    """True if no two rows are equal."""
    max_cosine: Cosine
    """Largest inner product of two different rows, exactly."""
    distribution: tuple[tuple[Cosine, int], ...] | None = None
    """Inner products with their numbers of unordered pairs of rows, from large to small; None if
    there are too many pairs to count."""
    attained: bool = True
    """True if some pair of rows has the inner product `max_cosine`; otherwise no such pair is
    known, and `max_cosine` is an upper bound."""


class CodeRows(ABC):
    """Rows of a code, made on demand: reading some of them makes no others.

    `np.asarray(rows)` makes all of them, shape (K, d).
    """

    shape: tuple[int, int]
    """(K, d)."""
    verifies_parts = False
    """True if `verify` computes the largest cosine of any number of first rows of the code."""

    def unit(self, start: int, stop: int) -> np.ndarray:
        """Return unit rows `start` to `stop` (exclusive) as a slice does, shape (n, d), float64."""
        start, stop, _ = slice(start, stop).indices(len(self))
        return self._unit(start, max(start, stop))

    @abstractmethod
    def _unit(self, start: int, stop: int) -> np.ndarray:
        """Return the unit rows of a range that lies within the code, shape (stop - start, d)."""

    @abstractmethod
    def verify(self) -> Verification:
        """Compute size, distinctness and largest cosine from the rows, with proof.

        Raises:
            ValueError: the rows lack a property that the proof requires.
        """

    def first(self, K: int) -> "CodeRows":
        """Return the first K rows, 2 <= K <= number of rows."""
        if not self.verifies_parts:
            return _FirstRows(self, K)
        part = copy(self)
        part.shape = (K, self.shape[1])
        return part

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self.unit(0, len(self)), dtype)


class _FirstRows(CodeRows):
    """First K rows of a code whose `verify` applies to all rows only."""

    def __init__(self, whole: CodeRows, K: int) -> None:
        self.whole = whole
        self.shape = (K, whole.shape[1])

    def _unit(self, start: int, stop: int) -> np.ndarray:
        return self.whole.unit(start, stop)

    def verify(self) -> Verification:
        """Bound the largest cosine by that of the whole code; search for a pair that attains it."""
        whole = self.whole.verify()
        # A standard basis may come first, an orthoplex last.
        ends = (self.unit(0, _WITNESSES), self.unit(-_WITNESSES, len(self)))
        witnesses, largest = np.concatenate(ends), whole.max_cosine.value
        attained = any(
            (
                np.abs(witnesses @ self.unit(start, start + _WITNESS_BLOCK).T - largest)
                <= _ROUNDING
            ).any()
            for start in range(0, len(self), _WITNESS_BLOCK)
        )
        return Verification(len(self), whole.distinct, whole.max_cosine, attained=attained)


class GroupedRows(CodeRows):
    """Rows in groups of one size, such as a vector and its multiples, made group by group.

    The signed standard basis may come first. Subclasses write groups into arrays.
    """

    group = 1
    """Number of rows of a group."""
    standard = 0
    """Number of rows of the standard basis, which come first."""

    @abstractmethod
    def _fill(self, out: np.ndarray, first: int) -> None:
        """Write the groups from number `first` on into `out`, shape (groups, group, d)."""

    def _basis(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return columns and signs of rows of the standard basis, each shape (n,)."""
        return numbers // 2, 1 - 2 * (numbers % 2)

    def _unit(self, start: int, stop: int) -> np.ndarray:
        return self._make_rows(start, stop, np.dtype(np.float64))

    def _make_rows(self, start: int, stop: int, dtype: np.dtype[Any]) -> np.ndarray:
        """Return the rows of a range within the code as `_fill` writes them."""
        out = np.empty((stop - start, self.shape[1]), dtype)
        basis = np.arange(start, min(stop, max(start, self.standard)))
        if len(basis):
            out[: len(basis)] = 0
            places, signs = self._basis(basis)
            out[np.arange(len(basis)), places] = signs
        self._grouped(out[len(basis) :], max(start, self.standard) - self.standard)
        return out

    def _grouped(self, out: np.ndarray, start: int) -> None:
        """Write the rows from `start` on, counted after the standard basis, into `out`."""
        size, stop = self.group, start + len(out)
        step = max(1, _BLOCK_ENTRIES // (size * out.shape[1]))
        for first in range(start // size, -(-stop // size), step):
            last = min(first + step, -(-stop // size))
            low, high = max(start, first * size), min(stop, last * size)
            target = out[low - start : high - start]
            if len(target) == (last - first) * size:
                self._fill(target.reshape(last - first, size, -1), first)
            else:
                block = np.empty((last - first, size, out.shape[1]), out.dtype)
                self._fill(block, first)
                target[:] = block.reshape(-1, out.shape[1])[low - first * size :][: high - low]


@dataclass(frozen=True)
class Construction:
    """Code that is given by an algebraic construction."""

    name: str
    """Name for `--construction`: lower case, words joined by hyphens."""
    title: str
    """Short description in words."""
    d: int
    K: int
    cosine: Cosine
    """Largest inner product of two different rows."""
    optimality: str | None
    """Source of a proof that no K points in R^d have a smaller largest cosine, or None."""
    reference: str
    """Source of the code."""
    build: Callable[[], CodeRows] = field(repr=False, compare=False)
    """Function that makes the rows; it may take seconds, and nothing is allocated before."""
    distribution: tuple[tuple[str, int], ...] | None = None
    """Inner products in the literature, `(text, neighbours of each row)`, or None."""
    transitive: bool = False
    """True if the symmetries of the code act transitively on its rows."""
    changes: tuple[str, ...] = ()
    """Changes to the code called `name`: rows dropped, dimensions added."""

    @property
    def proven(self) -> bool:
        """True if the code is proved optimal."""
        return self.optimality is not None

    @property
    def is_streamed(self) -> bool:
        """True if the code is too large to hold: its rows are made block by block."""
        return self.K * self.d > MAX_NUMBERS

    @property
    def origin(self) -> str:
        """Name and changes in one line: `gold-9, first 10,000 of 525,312 rows`."""
        return ", ".join((self.name, *self.changes))


def transitive_code(
    name: str,
    title: str,
    d: int,
    reference: str,
    build: Callable[[], CodeRows],
    *distribution: tuple[Fraction | int | str, int],
    optimality: str | None = None,
) -> Construction:
    """Return a code with rational inner products whose symmetries act transitively on its rows.

    `distribution` holds each inner product, the largest first, with the number of neighbours that a
    row has at it. Size and largest cosine follow.
    """
    K = 1 + sum(neighbours for _, neighbours in distribution)
    texts = tuple((str(product), neighbours) for product, neighbours in distribution)
    cosine = Cosine.rational(Fraction(distribution[0][0]))
    return Construction(
        name, title, d, K, cosine, optimality, reference, build, texts, transitive=True
    )


@dataclass(frozen=True)
class Family:
    """Constructions with parameters, made from their names; its texts are shown in lists."""

    name: str
    """Pattern such as `gold-m`: single letters, or the word `code`, stand for the parameters."""
    title: str
    range: str
    """Values of the parameter, such as `m = 3, 5, .., 11`."""
    d: str
    """Formula of the dimension in the parameters, as those of size and cosine below."""
    K: str
    cosine: str
    reference: str
    member: Callable[..., Construction | None] = field(repr=False, compare=False)
    """Function that makes a member, or None, of text for `code` and positive integers."""
    parameters: Callable[[int], Iterable[tuple[Any, ...]]] = field(repr=False, compare=False)
    """Function from d to a superset of the parameters of the members in exactly d dimensions."""

    def find(self, name: str) -> Construction | None:
        """Return the member called `name`, or None."""
        match = self._pattern.fullmatch(name)
        if match is None:
            return None
        return self.member(*(int(text) if text.isdecimal() else text for text in match.groups()))

    def in_dimension(self, d: int) -> Iterator[Construction]:
        """Yield the members in exactly d dimensions that searches consider."""
        members = (self.member(*parameters) for parameters in self.parameters(d))
        return (code for code in members if code is not None and code.d == d)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        number = r"([1-9]\d{0,8})"
        return re.compile(
            "-".join(
                "(.+)" if word == "code" else number if len(word) == 1 else word
                for word in self.name.split("-")
            )
        )


def small_family(
    *texts: str, codes: Mapping[tuple[int, ...], Construction], hidden: Container[str] = ()
) -> Family:
    """Return a family of listed members; those in `hidden` are available by name only."""
    listed_members = [
        (parameters, code.d) for parameters, code in codes.items() if code.name not in hidden
    ]
    name, title, values, d, K, cosine, reference = texts
    return Family(
        name,
        title,
        values,
        d,
        K,
        cosine,
        reference,
        member=lambda *p: codes.get(p),
        parameters=lambda d: [parameters for parameters, e in listed_members if e == d],
    )


def first_rows(construction: Construction, K: int) -> Construction:
    """Return the first K rows of a construction, 2 <= K <= its size."""
    if construction.K == K:
        return construction
    return replace(
        construction,
        K=K,
        optimality=None,
        build=lambda: construction.build().first(K),
        distribution=None,
        transitive=False,
        changes=(*construction.changes, f"first {K:,} of {construction.K:,} rows"),
    )


def embedded(construction: Construction, d: int) -> Construction:
    """Return the same rows in d dimensions, at least their own, with zeros in new coordinates."""
    if construction.d == d:
        return construction
    return replace(
        construction,
        d=d,
        optimality=None,
        build=lambda: SumRows([construction.build()], d),
        changes=(*construction.changes, f"embedded from {construction.d} dimensions"),
    )


def orthogonal_sum(parts: Sequence[Construction], d: int) -> Construction:
    """Return the union of constructions in orthogonal subspaces of R^d.

    Their dimensions add up to at most d.
    """
    if len(parts) == 1:
        return embedded(parts[0], d)
    names = [part.name for part in parts]
    terms = [f"{names.count(n)} x {n}" if names.count(n) > 1 else n for n in dict.fromkeys(names)]

    def build() -> CodeRows:
        builders = {part.name: cache(part.build) for part in parts}  # equal parts are built once
        return SumRows([builders[name]() for name in names], d)

    return Construction(
        name=" + ".join(terms),
        title="in orthogonal subspaces",
        d=d,
        K=sum(part.K for part in parts),
        cosine=max([Cosine.rational(0), *(part.cosine for part in parts)], key=lambda c: c.value),
        optimality=None,
        reference="; ".join(dict.fromkeys(part.reference for part in parts)),
        build=build,
    )


class SumRows(CodeRows):
    """Union of codes, each in its own coordinates and zero in the others."""

    def __init__(self, parts: Sequence[CodeRows], d: int) -> None:
        self.parts = parts
        self.shape = (sum(len(part) for part in parts), d)

    def _unit(self, start: int, stop: int) -> np.ndarray:
        out = np.zeros((stop - start, self.shape[1]))
        first = column = 0
        for part in self.parts:
            a, b = max(start, first), min(stop, first + len(part))
            if a < b:
                columns = slice(column, column + part.shape[1])
                out[a - start : b - start, columns] = part.unit(a - first, b - first)
            first, column = first + len(part), column + part.shape[1]
        return out

    def verify(self) -> Verification:
        """Verify each part; rows of different parts are orthogonal by their coordinates."""
        parts = [part.verify() for part in {id(part): part for part in self.parts}.values()]
        cross_products = [Cosine.rational(0)] if len(self.parts) > 1 else []
        return Verification(
            K=self.shape[0],
            distinct=all(part.distinct for part in parts),
            max_cosine=max(
                cross_products + [part.max_cosine for part in parts], key=lambda c: c.value
            ),
            distribution=parts[0].distribution if len(self.parts) == 1 else None,
            attained=all(part.attained for part in parts),
        )
