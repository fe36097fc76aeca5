"""The question that bounds answer: d, K and a target, of which two or three are given."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import cos, sin

from gnc_cli.errors import UsageError
from gnc_cli.limits.limit import Quantity
from gnc_cli.parameters import spelled

LP_DIMENSIONS = 8
"""Dimensions up to which Delsarte's linear programme is solved where nobody asked for it."""
_PROBABILITY = 0.9
"""That the scale is for, where d, K and a margin are given and no probability is."""
_LEAST = Fraction(1, 10**30)
"""Smallest target: far below the distances of 10^18 points."""


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
            distance = Fraction(2.0 * sin(self.arcface_m / 2.0) ** 2)  # not lost in 1 - cos
        else:
            return None
        if distance < _LEAST:
            ((name, value),) = ((n, v) for n, v in vars(self).items() if v is not None)
            raise UsageError(f"{spelled(name, value)} is too near to no distance at all")
        return distance

    @property
    def cosine(self) -> float | None:
        """The largest cosine of the target of a spherical code."""
        return self.max_cosine if self.arcface_m is None else cos(self.arcface_m)


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
