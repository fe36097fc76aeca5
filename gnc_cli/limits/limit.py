"""What a bound is: what it says at (d, K), up to which K, and from which d. And the question that
bounds answer: d, K and a target, of which two or three are given.

Most bounds are about the Tammes cosine t*, the smallest largest cosine of K unit vectors in R^d. We
keep the **clearance** 1 - t* in its place, for it has full precision where points crowd: a chord is
sqrt(2 clearance). By the bisector theorem (docs/theory/theorem.md) it is the largest one-vs-rest
distance too, rho* = 1 - t*: every bound is about one number.
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
"""Dimensions are searched up to here."""
ROUNDING = 1e-12
"""Relative rounding error of two bounds: if they differ by less, they meet."""

_LOOSE = 1 - Fraction(1, 10**13)
_STRICT = _LOOSE**2 * (1 - Fraction(1, 2**51))
LP_DIMENSIONS = 8
"""Dimensions up to which Delsarte's linear programme is solved where nobody asked for it."""
_PROBABILITY = 0.9
"""That the scale is for, where d, K and a margin are given and no probability is."""
_LEAST_TARGET = Fraction(1, 10**30)
"""Smallest target: far below the distances of 10^18 points."""


class Quantity(StrEnum):
    """What is bounded."""

    ONE_VS_REST = "one-vs-rest"
    """The largest one-vs-rest distance, rho*."""
    ONE_VS_ONE = "one-vs-one"
    """The smallest largest cosine, t*."""
    LINES = "lines"
    """The least coherence of K lines, the largest absolute cosine of two of K unit vectors."""

    @property
    def is_cosine(self) -> bool:
        """Whether smaller values are better, and each has an angle."""
        return self is not Quantity.ONE_VS_REST

    @property
    def noun(self) -> str:
        """The quantity of one code, in words."""
        return {"one-vs-one": "largest cosine", "lines": "coherence"}.get(
            self, "one-vs-rest distance"
        )


@dataclass(frozen=True)
class Finding:
    """What a bound says at one (d, K)."""

    value: float
    """Of 1 - t* = rho*, in (0, 2]; relative error below 1e-13."""
    valid: bool = True
    """Whether the hypothesis holds here; else the value is what the formula gives, no bound."""
    strict: bool = False
    """Whether the value itself is known not to be attained."""
    condition: str | None = None
    """The hypothesis with its numbers, `K >= 72.8`; None where there is none."""
    source: str | None = None
    """Where it differs from the bound's own: the entry or construction behind it."""
    how: str | None = None
    """The command that builds a code that attains the value."""


@dataclass(frozen=True)
class Count:
    """A number of points, exact or astronomically large."""

    log10: float
    exact: int | None = None
    """None where it has more than fifteen digits."""
    source: str | None = None
    how: str | None = None

    @classmethod
    def of(cls, K: int, source: str | None = None, how: str | None = None) -> "Count":
        """A number that is known exactly."""
        return cls(math.log10(K), K, source, how)


class Ending(StrEnum):
    """How a search for a dimension ended."""

    FOUND = "found"
    NEVER = "never"
    """This bound does not reach the margin in any dimension."""
    BEYOND = "beyond"
    """Nor up to a million dimensions; more were not tried."""


@dataclass(frozen=True)
class Dimension:
    """Where a bound first reaches a target."""

    d: int | None
    ending: Ending = Ending.REACHED


class Limit(ABC):
    """A theorem, or a list of codes, that says what is possible for K points in d dimensions."""

    name: str
    """Lower case, words joined by hyphens: `theorem-3.9`."""
    source: str
    """Author, year and what to cite."""
    exists: bool
    """True: a code with at least this value exists. False: no code has a larger one."""
    bounds_rho: bool = False
    """Whether it is stated of rho*, so that the bisector theorem makes it one on t*; else the other
    way round."""
    proved: bool = True
    """Else it is numerical or a claim: it is shown, and counts nowhere."""
    declined: bool = False
    """Whether something was left out because time was up."""
    silent: int = 0
    """For how many pairs a computation that was asked for gave nothing."""
    is_list: bool = False
    """A list of codes, whose values jump from K to K; else a formula."""

    def side(self, quantity: Quantity) -> Literal["lower", "upper"]:
        """`lower` or `upper`: an existing code bounds a distance below, a cosine above."""
        return "lower" if self.exists == (quantity is Quantity.ONE_VS_REST) else "upper"

    def by_bisector(self, quantity: Quantity) -> bool:
        """Whether the bisector theorem turns a bound on t* into this one on rho*, or back.

        That rho* >= 1 - t* needs no theorem: the code itself serves as its features.
        """
        one = quantity is Quantity.ONE_VS_ONE
        return quantity is not Quantity.LINES and self.exists == self.bounds_rho == one

    def citation(self, statement: Finding | Count | None) -> str:
        """Whom to cite."""
        return (statement.source if statement is not None else None) or self.source

    @abstractmethod
    def evaluate(self, d: int, K: int) -> Finding | None:
        """The bound at (d, K), d and K at least 2; None where it says nothing."""

    def solve(self, d: int, K: int) -> Finding | None:
        """What a programme says of a pair that the other bounds leave open.

        None where there is none; it may say the same as `at`.
        """
        return None

    @abstractmethod
    def points(self, d: int, target: Fraction) -> Count | None:
        """The largest K whose value reaches the target in d dimensions.

        Where `exists`, this many points are guaranteed; else all larger K are excluded. None where
        the bound guarantees or excludes nothing for this d and target.
        """

    def ceiling(self, K: int) -> Fraction | None:
        """A target, as `loosened` has it, that is not reached at any d; None where there is none.

        A limit that values approach with d is one, loosened: in a million dimensions they are
        further from it.
        """
        return None

    def last_d(self, K: int) -> int | None:
        """The largest d where the bound says something about K; None where it always does."""
        return None

    def dimension(self, K: int, target: Fraction) -> Dimension:
        """The smallest d at which the target is reached, by bisection over 2..10^6.

        Bounds rise with d where they hold (each file says why, a test looks). Where `exists`, a
        code in d dimensions lies in all higher ones; else every smaller d is excluded.
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
            over = last is not None and last <= LARGEST_D
            return Dimension(None, Ending.UNREACHABLE if over else Ending.OUT_OF_RANGE)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._reached(middle, K, target) else (middle, high)
        return Dimension(high)

    def _reached(self, d: int, K: int, target: Fraction) -> bool:
        """Whether the value at (d, K) reaches the target; an upper bound that is silent does."""
        finding = self.evaluate(d, K)
        if finding is None or not finding.valid:
            return not self.exists
        return finding.value >= target


def loosened(target: Fraction) -> Fraction:
    """A target as `points` and `dimension` are asked for it, a relative 1e-13 below what is wanted.

    A value that is printed in full and given back must count as reached, though it was rounded on
    its way. This is the one place where ties are decided: all that compares does so exactly, and
    `least_excluded` of values that are not attained.
    """
    return target * _LOOSE


def least_excluded(value: Fraction) -> Fraction:
    """The least target that is excluded by a value that is not attained: the value itself, rounded
    to a double, and loosened or the square of a loosened chord.
    """
    return value * _STRICT


_DIGITS = 15
_ACCURACY = 84
"""Bits that a formula's value must have: more than a whole number of fifteen digits needs."""


def ball(number: Fraction | int) -> "arb":
    """A rational number in flint's ball arithmetic, at its working precision."""
    from flint import arb, fmpq

    return arb(fmpq(number.numerator, number.denominator))


def count_below(formula: Callable[[], "arb"], log10: float = 0.0) -> Count | None:
    """The whole number below a formula's value; None below 2.

    The value is a ball, rounded outwards at every step, and its upper end counts: a whole number
    in the ball is the value itself.

    Args:
        formula: called with as many bits of working precision as its value needs.
        log10: of the value, where that is known: of more than fifteen digits it is enough.
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
    """What is wanted of a code: one of three, as the user gives it."""

    margin: float | None = None
    """One-vs-rest distance."""
    arcface_m: float | None = None
    """Minimal angle, radians."""
    max_cosine: float | None = None

    @property
    def distance(self) -> Fraction | None:
        """The margin, or 1 - the largest cosine; decimals as written; None without a target.

        Raises:
            UsageError: it is too small for any code.
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
            raise UsageError(f"{spelled(name, value)} is too near to no distance at all")
        return distance

    @property
    def cosine(self) -> float | None:
        """The largest cosine of the target of a spherical code."""
        return self.max_cosine if self.arcface_m is None else math.cos(self.arcface_m)


@dataclass(frozen=True, kw_only=True)
class Question:
    """Dimensions, sizes and a target."""

    d: tuple[int, ...] = ()
    """Empty where the dimension is sought."""
    K: tuple[int, ...] = ()
    """Empty where the number of points is sought."""
    subject: Quantity = Quantity.ONE_VS_REST
    """The quantity that is bounded."""
    target: Fraction | None = None
    """The least one-vs-rest distance, or 1 - the largest cosine."""
    arcface_m: float | None = None
    """The target as an angle, radians, where it was given so."""
    probability: float | None = None
    """Softmax probability that scales are for; None: 0.9 where d, K and a target are given."""

    @property
    def scale_probability(self) -> float | None:
        """The softmax probability that scales are for; None where none is shown."""
        if self.probability is None and self.d and self.K and self.target is not None:
            return _PROBABILITY
        return self.probability

    def scale(self, log_others: float, margin: float | None = None) -> float | None:
        """Return the softmax scale that is enough for `scale_probability`, if there is one.

        Args:
            log_others: ln(K - 1).
            margin: of a code, for questions without a target.
        """
        from gnc_cli.metrics.scale import softmax_scale

        margin = margin if self.target is None else float(self.target)
        if self.scale_probability is None or not margin:
            return None
        return softmax_scale(log_others, self.scale_probability, margin)


def is_small(d: Sequence[int], K: Sequence[int]) -> bool:
    """Return whether dimensions and sizes are one pair of few dimensions."""
    return len(d) == len(K) == 1 and d[0] <= LP_DIMENSIONS
