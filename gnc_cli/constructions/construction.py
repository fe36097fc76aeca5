"""What a construction is: a name, exact figures, a source, and a way to make and check its rows.

The figures are known without building anything, so that lists and searches stay instant. `build`
makes the rows; `Rows.verify` finds size, distinctness and largest cosine anew, from the rows alone,
and never from the figures stated here.

New constructions from old, figures before rows:

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

_BLOCK_ENTRIES = 1 << 18
"""Entries of streamed rows that are made at a time: they stay in cache."""
_WITNESSES = 32
"""Rows at each end that are compared with all others in search of a pair at the whole code's
cosine."""
_WITNESS_BLOCK = 1 << 15
"""Rows that are made at a time in this search."""
_ROUNDING = 1e-12
"""Inner products in floats are the exact ones to within this."""
_ULPS = Fraction(1, 10**15)
"""The double of an irrational cosine differs from it by less than this."""

SHARP = (
    "Levenshtein 1992, Designs as maximum codes in polynomial metric spaces; Cohn and Kumar 2007, "
    "Universally optimal distribution of points on spheres"
)
OPTIMAL = "Odlyzko and Sloane 1979; Levenshtein 1979, On bounds for packings in n-dimensional space"
"""Who proved several codes optimal."""
SCHLAEFLI = "Schläfli 1852, Theorie der vielfachen Kontinuität"


@dataclass(frozen=True)
class Cosine:
    """An exact inner product of unit vectors: how it is written, and the nearest double."""

    text: str
    """A formula in rationals, `sqrt` and `cos`: `1/4`, `(1+sqrt(5))/4`."""
    value: float

    @classmethod
    def of(cls, value: Fraction | int) -> "Cosine":
        """The cosine that is this rational number."""
        return cls(str(Fraction(value)), float(value))

    @classmethod
    def root(cls, square: Fraction) -> "Cosine":
        """The positive square root of a rational number, simplified where it is rational.

        Example:
            >>> Cosine.root(Fraction(1, 512)).text, Cosine.root(Fraction(1, 256)).text
            ('1/sqrt(512)', '1/16')
        """
        n, m = square.numerator, square.denominator
        if isqrt(n) ** 2 == n and isqrt(m) ** 2 == m:
            return cls.of(Fraction(isqrt(n), isqrt(m)))
        text = f"1/sqrt({m})" if n == 1 else f"sqrt({square})"
        return cls(text, sqrt(square))

    @property
    def between(self) -> tuple[Fraction, Fraction]:
        """Ends between which it lies: of an irrational number the double is kept."""
        try:
            exact = Fraction(self.text)
        except ValueError:
            near = Fraction(self.value)
            return near - _ULPS, near + _ULPS
        return exact, exact

    def __neg__(self) -> "Cosine":
        """The opposite of a positive cosine."""
        return Cosine(f"-{self.text}", -self.value)


@dataclass(frozen=True)
class Verification:
    """What the rows themselves say."""

    K: int
    """Rows, all counted."""
    distinct: bool
    """No two rows are equal."""
    max_cosine: Cosine
    """Largest inner product of two different rows, exactly."""
    distribution: tuple[tuple[Cosine, int], ...] | None = None
    """Each inner product with its number of unordered pairs of rows, from large to small; None
    where there are too many pairs to count."""
    attained: bool = True
    """`max_cosine` is that of some pair; else no pair of the rows kept is known to have it, and it
    is an upper bound."""


class CodeRows(ABC):
    """Rows of a code that are made when asked for: K rows cost K rows.

    `np.asarray(rows)` makes them all.
    """

    shape: tuple[int, int]
    """(K, d)."""
    verifies_parts = False
    """`verify` finds the largest cosine of any first rows of the code."""

    def unit(self, start: int, stop: int) -> np.ndarray:
        """Unit rows `start` to `stop` (exclusive), counted as in a slice; (number, d), float64."""
        start, stop, _ = slice(start, stop).indices(len(self))
        return self._unit(start, max(start, stop))

    @abstractmethod
    def _unit(self, start: int, stop: int) -> np.ndarray:
        """Unit rows of a range that lies within the code."""

    @abstractmethod
    def verify(self) -> Verification:
        """Find size, distinctness and largest cosine from the rows, with proof."""

    def first(self, K: int) -> "CodeRows":
        """The first K rows, 2 to all of them."""
        if not self.verifies_parts:
            return _FirstRows(self, K)
        part = copy(self)
        part.shape = (K, self.shape[1])
        return part

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: object = None, copy: bool | None = None) -> np.ndarray:
        return self.unit(0, len(self)).astype(dtype or np.float64)  # type: ignore[call-overload]


class _FirstRows(CodeRows):
    """The first K rows of a code whose `verify` only knows the whole."""

    def __init__(self, whole: CodeRows, K: int) -> None:
        self.whole = whole
        self.shape = (K, whole.shape[1])

    def _unit(self, start: int, stop: int) -> np.ndarray:
        return self.whole.unit(start, stop)

    def verify(self) -> Verification:
        """The whole code's cosine bounds theirs; a pair that attains it makes it exact."""
        whole = self.whole.verify()
        # A standard basis may come first, an orthoplex last.
        ends = (self.unit(0, _WITNESSES), self.unit(-_WITNESSES, len(self)))
        some, largest = np.concatenate(ends), whole.max_cosine.value
        attained = any(
            (np.abs(some @ self.unit(start, start + _WITNESS_BLOCK).T - largest) <= _ROUNDING).any()
            for start in range(0, len(self), _WITNESS_BLOCK)
        )
        return Verification(len(self), whole.distinct, whole.max_cosine, attained=attained)


class GroupedRows(CodeRows):
    """Rows in groups of one size, made a few groups at a time: a vector and its multiples, say.

    The signed standard basis may come first. A subclass writes groups into arrays.
    """

    group = 1
    """Rows of a group."""
    standard = 0
    """Number of rows of the standard basis, which come first."""

    @abstractmethod
    def _fill(self, out: np.ndarray, first: int) -> None:
        """Write the groups from number `first` on; `out` is (groups, group, d)."""

    def _basis(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Places and signs of rows of the standard basis: each unit vector and its negative."""
        return numbers // 2, 1 - 2 * (numbers % 2)

    def _unit(self, start: int, stop: int) -> np.ndarray:
        return self._made(start, stop, np.dtype(np.float64))

    def _made(self, start: int, stop: int, dtype: np.dtype[Any]) -> np.ndarray:
        """Rows of a range within the code, as `_fill` writes them."""
        out = np.empty((stop - start, self.shape[1]), dtype)
        basis = np.arange(start, min(stop, max(start, self.standard)))
        if len(basis):
            out[: len(basis)] = 0
            places, signs = self._basis(basis)
            out[np.arange(len(basis)), places] = signs
        self._grouped(out[len(basis) :], max(start, self.standard) - self.standard)
        return out

    def _grouped(self, out: np.ndarray, start: int) -> None:
        """Write rows from `start` on, counted after the standard basis."""
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
    """A code that algebra gives."""

    name: str
    """What `--construction` takes: lower case, words joined by hyphens."""
    title: str
    """A few words for a person."""
    d: int
    K: int
    cosine: Cosine
    """Largest inner product of two different rows."""
    optimality: str | None
    """Who proved it optimal among all codes of (d, K) for the Tammes problem; None: nobody has."""
    reference: str
    """Who found it."""
    build: Callable[[], CodeRows] = field(repr=False, compare=False)
    """Make the rows; may take a moment, holds nothing before it is called."""
    distribution: tuple[tuple[str, int], ...] | None = None
    """The literature's inner products `(text, neighbours of each row)`, where it gives them."""
    transitive: bool = False
    """A group of symmetries takes each row to each other: one row speaks for all."""
    changes: tuple[str, ...] = ()
    """What was done to the code called `name`: rows dropped, dimensions added."""

    @property
    def proven(self) -> bool:
        """Proved optimal."""
        return self.optimality is not None

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
    """A code with rational inner products whose symmetries take each row to each other.

    `distribution` holds each inner product, the largest first, and the neighbours that a row has
    there: size and largest cosine follow.
    """
    K = 1 + sum(neighbours for _, neighbours in distribution)
    texts = tuple((str(product), neighbours) for product, neighbours in distribution)
    cosine = Cosine.of(Fraction(distribution[0][0]))
    return Construction(
        name, title, d, K, cosine, optimality, reference, build, texts, transitive=True
    )


@dataclass(frozen=True)
class Family:
    """Constructions with parameters, made from their names; the texts are what lists show."""

    name: str
    """`gold-m`: single letters, and the word `code`, in place of the parameters."""
    title: str
    range: str
    """The parameter's values: `m = 3, 5, .., 11`."""
    d: str
    """Formulas of the parameter."""
    K: str
    cosine: str
    reference: str
    member: Callable[..., Construction | None] = field(repr=False, compare=False)
    """The member with these parameters (`code` is text, all others positive integers), or None."""
    parameters: Callable[[int], Iterable[tuple[Any, ...]]] = field(repr=False, compare=False)
    """Parameters that members in exactly d dimensions may have; others may be among them."""

    def named(self, name: str) -> Construction | None:
        """The member called `name`, or None."""
        match = self._pattern.fullmatch(name)
        if match is None:
            return None
        return self.member(*(int(text) if text.isdecimal() else text for text in match.groups()))

    def in_dimension(self, d: int) -> Iterator[Construction]:
        """The members in exactly d dimensions that a search is to find."""
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
    """A family of few members, given by their parameters; `hidden` ones are found by name only."""
    shown = [(parameters, code.d) for parameters, code in codes.items() if code.name not in hidden]
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
        parameters=lambda d: [parameters for parameters, e in shown if e == d],
    )


def first_rows(construction: Construction, K: int) -> Construction:
    """The first K rows of a construction, 2 to all of them."""
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
    """The same rows in d dimensions, not fewer than they have, the new coordinates zero."""
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
    """Constructions in orthogonal subspaces of R^d: rows of different parts are orthogonal.

    Their dimensions add up to d at most.
    """
    if len(parts) == 1:
        return embedded(parts[0], d)
    names = [part.name for part in parts]
    counted = [f"{names.count(n)} x {n}" if names.count(n) > 1 else n for n in dict.fromkeys(names)]

    def build() -> CodeRows:
        builders = {part.name: cache(part.build) for part in parts}  # equal parts are built once
        return SumRows([builders[name]() for name in names], d)

    return Construction(
        name=" + ".join(counted),
        title="in orthogonal subspaces",
        d=d,
        K=sum(part.K for part in parts),
        cosine=max([Cosine.of(0), *(part.cosine for part in parts)], key=lambda c: c.value),
        optimality=None,
        reference="; ".join(dict.fromkeys(part.reference for part in parts)),
        build=build,
    )


class SumRows(CodeRows):
    """Rows of several codes, each in coordinates of its own, zero elsewhere."""

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
        """Each part for itself; rows of different parts are orthogonal by their coordinates."""
        parts = [part.verify() for part in {id(part): part for part in self.parts}.values()]
        across = [Cosine.of(0)] if len(self.parts) > 1 else []
        return Verification(
            K=self.shape[0],
            distinct=all(part.distinct for part in parts),
            max_cosine=max(across + [part.max_cosine for part in parts], key=lambda c: c.value),
            distribution=parts[0].distribution if len(self.parts) == 1 else None,
            attained=all(part.attained for part in parts),
        )
