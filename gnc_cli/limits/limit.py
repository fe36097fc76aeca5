"""The interface of bounds: the value at (d, K), the largest K of a target, and its smallest d.

A question to the bounds has two or three of d, K and a target. Most bounds limit the Tammes cosine
t*, the smallest largest cosine of K unit vectors in R^d. They are stated for the **clearance**
1 - t*, which has full precision for many points: a chord is sqrt(2 clearance). By the bisector
theorem (docs/theory/theorem.md) the clearance is also the largest one-vs-rest distance,
rho* = 1 - t*. So every bound limits one number.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from gnc_cli.errors import UsageError
from gnc_cli.parameters import spelled

if TYPE_CHECKING:
    from flint import arb

LARGEST_D = 10**6
"""Largest dimension of a search."""
ROUNDING = 1e-12
"""Relative rounding error of two bounds: if they differ by less, they meet."""

_TARGET_FACTOR = 1 - Fraction(1, 10**13)
"""Factor of a target, so that a value that was printed in full and entered again is reached."""
_EXCLUDED_FACTOR = _TARGET_FACTOR**2 * (1 - Fraction(1, 2**51))
"""Factor of a value that is not attained: two loosened targets and the rounding to a double."""
LP_DIMENSIONS = 8
"""Largest dimension in which Delsarte's linear program is solved by default: it takes a second."""
_PROBABILITY = 0.9
"""Default softmax probability of the scale, if d, K and a margin are given."""
_LEAST_TARGET = Fraction(1, 10**30)
"""Smallest target, far below the distances of 10^18 points."""


class Quantity(StrEnum):
    """Quantity that is bounded."""

    ONE_VS_REST = "one-vs-rest"
    """Largest one-vs-rest distance, rho*."""
    ONE_VS_ONE = "one-vs-one"
    """Smallest largest cosine, t*."""
    LINES = "lines"
    """Least coherence of K lines, the largest absolute cosine of two of K unit vectors."""

    @property
    def is_cosine(self) -> bool:
        """True if smaller values are better, and each has an angle."""
        return self is not Quantity.ONE_VS_REST

    @property
    def noun(self) -> str:
        """Name of the quantity of one code, in words."""
        return {"one-vs-one": "largest cosine", "lines": "coherence"}.get(
            self, "one-vs-rest distance"
        )


@dataclass(frozen=True)
class Finding:
    """Value of a bound at one (d, K)."""

    value: float
    """Bound of 1 - t* = rho*, in (0, 2]; relative error below 1e-13."""
    valid: bool = True
    """True if the hypothesis holds; otherwise the value of the formula is not a bound."""
    strict: bool = False
    """True if the value itself is known not to be attained."""
    condition: str | None = None
    """Hypothesis with its numbers, such as `K >= 72.8`; None without one."""
    source: str | None = None
    """Entry or construction behind the value; None if it is `Limit.source`."""
    command: str | None = None
    """Command that builds a code that attains the value; None without one."""


@dataclass(frozen=True)
class Count:
    """A number of points, exact or astronomically large."""

    log10: float
    """Base-10 logarithm of the number."""
    exact: int | None = None
    """The number itself; None if it has more than fifteen digits."""
    source: str | None = None
    """Entry or construction behind the number; None if it is `Limit.source`."""
    command: str | None = None
    """Command that builds a code of this many points; None without one."""

    @classmethod
    def from_number(cls, K: int, source: str | None = None, command: str | None = None) -> "Count":
        """Return a number that is known exactly."""
        return cls(math.log10(K), K, source, command)


class Ending(StrEnum):
    """Ending of a search for a dimension."""

    REACHED = "found"
    """The target is reached at a dimension."""
    UNREACHABLE = "never"
    """The target is not reached in any dimension."""
    OUT_OF_RANGE = "beyond"
    """The target is not reached up to a million dimensions; more were not tried."""


@dataclass(frozen=True)
class Dimension:
    """The smallest dimension in which a bound reaches a target."""

    d: int | None
    """Dimension; None unless the target is reached."""
    ending: Ending = Ending.REACHED


class Limit(ABC):
    """A theorem, or a list of codes, that says what is possible for K points in d dimensions."""

    name: str
    """Name in lower case, words joined by hyphens: `theorem-3.9`."""
    source: str
    """Author, year and title."""
    exists: bool
    """True: a code with at least this value exists. False: no code has a larger one."""
    bounds_rho: bool = False
    """True if the theorem bounds rho*, and the bisector theorem carries it over to t*; otherwise
    the theorem bounds t*."""
    proved: bool = True
    """False for claims and numerical bounds, which are shown, but never counted."""
    declined: bool = False
    """True once a computation was left out for lack of time."""
    silent: int = 0
    """Number of pairs for which a requested computation had no result."""
    is_list: bool = False
    """True for lists of codes, whose values jump from K to K; False for formulas."""

    def side(self, quantity: Quantity) -> Literal["lower", "upper"]:
        """Return `lower` or `upper`: an existing code bounds a distance below, a cosine above."""
        return "lower" if self.exists == (quantity is Quantity.ONE_VS_REST) else "upper"

    def by_bisector(self, quantity: Quantity) -> bool:
        """Return whether the bound on this quantity needs the bisector theorem.

        rho* >= 1 - t* does not need it: the code itself serves as its features.
        """
        one = quantity is Quantity.ONE_VS_ONE
        return quantity is not Quantity.LINES and self.exists == self.bounds_rho == one

    def citation(self, statement: Finding | Count | None) -> str:
        """Return the source of a finding or count, or else of the bound."""
        return (statement.source if statement is not None else None) or self.source

    @abstractmethod
    def evaluate(self, d: int, K: int) -> Finding | None:
        """Return the bound at (d, K), d and K at least 2; None if it has no value there."""

    def solve(self, d: int, K: int) -> Finding | None:
        """Compute the bound at a pair that the other bounds leave open, if that takes a program.

        None if it does not; the value may equal that of `evaluate`.
        """
        return None

    @abstractmethod
    def points(self, d: int, target: Fraction) -> Count | None:
        """Return the largest K whose value reaches the target in d dimensions.

        If `exists`, this many points are guaranteed; otherwise all larger K are excluded. None if
        the bound guarantees or excludes nothing for this d and target.
        """

    def ceiling(self, K: int) -> Fraction | None:
        """Return a loosened target that is not reached at any d; None if there is none.

        A limit that the values approach with d is one after `loosened`: in a million dimensions the
        values are farther from it.
        """
        return None

    def last_d(self, K: int) -> int | None:
        """Return the largest d with a value for K; None if all d have one."""
        return None

    def dimension(self, K: int, target: Fraction) -> Dimension:
        """Return the smallest d at which the target is reached, by bisection over 2..10^6.

        Bounds rise with d where they hold: each file has the proof, and a test checks it. If
        `exists`, a code in d dimensions lies in all higher ones; otherwise every smaller d is
        excluded.
        """
        last = self.last_d(K)
        top = LARGEST_D if last is None else min(last, LARGEST_D)
        ceiling = self.ceiling(K)
        if top < 2 or (ceiling is not None and target >= ceiling):
            return Dimension(None, Ending.UNREACHABLE)
        low, high = 1, 2
        while high < top and not self._reached(high, K, target):
            low, high = high, min(2 * high, top)
        if not self._reached(high, K, target):
            is_last = last is not None and last <= LARGEST_D
            return Dimension(None, Ending.UNREACHABLE if is_last else Ending.OUT_OF_RANGE)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._reached(middle, K, target) else (middle, high)
        return Dimension(high)

    def _reached(self, d: int, K: int, target: Fraction) -> bool:
        """Return whether the value at (d, K) reaches the target; an absent upper bound does."""
        finding = self.evaluate(d, K)
        if finding is None or not finding.valid:
            return not self.exists
        return finding.value >= target


def loosened(target: Fraction) -> Fraction:
    """Return the target that `points` and `dimension` receive, a relative 1e-13 below the user's.

    A value that is printed in full and entered again must count as reached, though it was rounded
    in between. Ties are decided here and, for values that are not attained, in `least_excluded`.
    All other comparisons are exact.
    """
    return target * _TARGET_FACTOR


def least_excluded(value: Fraction) -> Fraction:
    """Return the least target that a value excludes if it is not attained.

    The target is the value itself, rounded to a double, and loosened or the square of a loosened
    chord.
    """
    return value * _EXCLUDED_FACTOR


_DIGITS = 15
"""Largest number of digits of an exact count; JSON readers keep them in a double."""
_ACCURACY = 84
"""Accuracy of a value before it is rounded down, bits: more than fifteen digits need."""


def ball(number: Fraction | int) -> "arb":
    """Convert a rational number to flint's ball arithmetic, at its working precision."""
    from flint import arb, fmpq

    return arb(fmpq(number.numerator, number.denominator))


def count_below(formula: Callable[[], "arb"], log10: float = 0.0) -> Count | None:
    """Return the whole number below the value of a formula; None below 2.

    The value is a ball, rounded outwards at every step. Its upper end is rounded down: a whole
    number in the ball is the value itself.

    Args:
        formula: called with more and more working precision, until its value is accurate.
        log10: base-10 logarithm of the value, if known. It replaces numbers of more than fifteen
            digits.

    Raises:
        ArithmeticError: the value stays inaccurate at the largest precision.
    """
    if log10 > _DIGITS:
        return Count(log10)
    from flint import ctx

    for bits in (2**n for n in range(7, 20)):
        with ctx.workprec(bits):
            value = formula()
            if value.rel_accuracy_bits() >= _ACCURACY:
                if value > 10**_DIGITS:
                    return Count(float(value.log_base(10)))
                whole = int(value.upper().fmpq().floor())
                return Count.from_number(whole) if whole >= 2 else None
    raise ArithmeticError(f"a number of points has no digits: {value}")


@dataclass(frozen=True, kw_only=True)
class Target:
    """Requirement on a code, as the user gives it: at most one of three."""

    margin: float | None = None
    """Least one-vs-rest distance."""
    arcface_m: float | None = None
    """Minimal angle, radians."""
    max_cosine: float | None = None
    """Largest cosine."""

    @property
    def distance(self) -> Fraction | None:
        """Margin, or 1 - largest cosine, decimals as written; None without a target.

        Raises:
            UsageError: it is below 1e-30.
        """
        if self.margin is not None:
            distance = Fraction(Decimal(repr(self.margin)))
        elif self.max_cosine is not None:
            distance = 1 - Fraction(Decimal(repr(self.max_cosine)))
        elif self.arcface_m is not None:
            distance = Fraction(2.0 * math.sin(self.arcface_m / 2.0) ** 2)  # not lost in 1 - cos
        else:
            return None
        if distance < _LEAST_TARGET:
            ((name, value),) = ((n, v) for n, v in vars(self).items() if v is not None)
            raise UsageError(f"{spelled(name, value)} leaves a distance below 1e-30")
        return distance

    @property
    def cosine(self) -> float | None:
        """Largest cosine of the target of a spherical code; None for a margin."""
        return self.max_cosine if self.arcface_m is None else math.cos(self.arcface_m)


@dataclass(frozen=True, kw_only=True)
class Question:
    """Dimensions, sizes and a target."""

    d: tuple[int, ...] = ()
    """Dimensions; empty if the dimension is unknown."""
    K: tuple[int, ...] = ()
    """Numbers of points; empty if the number is unknown."""
    subject: Quantity = Quantity.ONE_VS_REST
    """Quantity that is bounded."""
    target: Fraction | None = None
    """Least one-vs-rest distance, or 1 - largest cosine; None without a target."""
    arcface_m: float | None = None
    """Target as an angle, radians, if the user gave an angle."""
    probability: float | None = None
    """Softmax probability of scales; None: 0.9 if d, K and a target are given."""

    @property
    def scale_probability(self) -> float | None:
        """Softmax probability of scales; None if no scale is shown."""
        if self.probability is None and self.d and self.K and self.target is not None:
            return _PROBABILITY
        return self.probability

    def scale(self, log_others: float, margin: float | None = None) -> float | None:
        """Return the softmax scale that suffices for `scale_probability`; None without either.

        Args:
            log_others: ln(K - 1).
            margin: margin of a code, for questions without a target.
        """
        from gnc_cli.metrics.scale import softmax_scale

        margin = margin if self.target is None else float(self.target)
        if self.scale_probability is None or not margin:
            return None
        return softmax_scale(log_others, self.scale_probability, margin)


def is_small(d: Sequence[int], K: Sequence[int]) -> bool:
    """Return whether dimensions and sizes are one pair of few dimensions."""
    return len(d) == len(K) == 1 and d[0] <= LP_DIMENSIONS
