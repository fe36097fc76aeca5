"""What a construction is: a name, exact figures, a source, and a way to make and check its rows.

The figures are known without building anything, so that lists and searches stay instant. `build`
makes the rows; `Rows.verify` finds size, distinctness and largest cosine anew, from the rows alone,
and never from the figures stated here.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

__all__ = ["Construction", "Cosine", "Family", "Rows", "Verified"]


@dataclass(frozen=True)
class Cosine:
    """An exact inner product of unit vectors: how it is written, and the nearest double.

    Example:
        >>> Cosine.of(Fraction(-1, 4))
        Cosine(text='-1/4', value=-0.25)
    """

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
        from math import isqrt

        n, m = square.numerator, square.denominator
        if isqrt(n) ** 2 == n and isqrt(m) ** 2 == m:
            return cls.of(Fraction(isqrt(n), isqrt(m)))
        text = f"1/sqrt({m})" if n == 1 else f"sqrt({square})"
        return cls(text, float(np.sqrt(float(square))))


@dataclass(frozen=True)
class Verified:
    """What the rows themselves say."""

    K: int
    """Rows, all counted."""
    distinct: bool
    """No two rows are equal."""
    max_cosine: Cosine
    """Largest inner product of two different rows; exact unless `how` says otherwise."""
    distribution: tuple[tuple[Cosine, int], ...] | None
    """Each inner product with its number of unordered pairs of rows, from large to small; None
    where there are too many pairs to count."""
    how: str
    """What was done: `all pairs, exact integers`, `all words of a linear code`, ..., and where no
    pair of the rows kept is known to have `max_cosine`, that it is `an upper bound`."""

    @property
    def attained(self) -> bool:
        """`max_cosine` is that of some pair, not only an upper bound."""
        return "an upper bound" not in self.how


class Rows(ABC):
    """Rows of a code that are made when asked for: K rows cost K rows.

    `np.asarray(rows)` makes them all.
    """

    shape: tuple[int, int]
    """(K, d)."""

    @abstractmethod
    def unit(self, start: int, stop: int) -> np.ndarray:
        """Unit rows `start` to `stop` (exclusive), shape (stop - start, d), float64."""

    @abstractmethod
    def verify(self) -> Verified:
        """Find size, distinctness and largest cosine from the rows, with proof."""

    def first(self, K: int) -> "Rows":
        """The first K rows."""
        from gnc_cli.codes.constructions.subset import FirstRows

        return FirstRows(self, K)

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: object = None, copy: bool | None = None) -> np.ndarray:
        return self.unit(0, self.shape[0]).astype(dtype or np.float64)  # type: ignore[call-overload]


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
    proven: bool
    """Proved optimal among all codes of (d, K) for the Tammes problem, in `reference`."""
    reference: str
    """Where it comes from, or where its optimality is proved."""
    build: Callable[[], Rows] = field(repr=False, compare=False)
    """Make the rows; may take a moment, holds nothing before it is called."""
    distribution: tuple[tuple[str, int], ...] | None = None
    """The literature's inner products `(text, neighbours of each row)`, where it gives them."""
    transitive: bool = False
    """A group of symmetries takes each row to each other: one row speaks for all."""
    changes: tuple[str, ...] = ()
    """What was done to the code called `name`: rows dropped, dimensions added."""

    @property
    def origin(self) -> str:
        """Name and changes in one line: `gold-9, first 10000 of 525312 rows`."""
        return ", ".join((self.name, *self.changes))


@dataclass(frozen=True)
class Family:
    """Constructions with a parameter, as `--list-constructions` shows them."""

    name: str
    """`gold-m`: the parameter in place of its value."""
    title: str
    range: str
    """The parameter's values: `m = 3, 5, .., 11`."""
    d: str
    """Formulas of the parameter."""
    K: str
    cosine: str
    reference: str
