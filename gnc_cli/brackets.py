"""Certified intervals, and numbers whose JSON is null if they are not finite."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any


class _NullIsNaN:
    """Reads the null that stands for a number that is not finite."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        from pydantic_core.core_schema import no_info_before_validator_function

        def number(value: Any) -> Any:
            return math.nan if value is None else value

        return no_info_before_validator_function(number, {**handler(source), "allow_inf_nan": True})


Number = Annotated[float, _NullIsNaN()]
"""A number that may be infinite or NaN, null in JSON."""


@dataclass(frozen=True)
class Bracket:
    """A certified interval: the true value lies in [lower, upper].

    A comparison is True if it is proved: for a bracket that straddles 0.6 neither `< 0.6` nor
    `> 0.6` is. `float()` is the midpoint, at most half the width away from the true value.

    Raises:
        ArithmeticError: lower is above upper, which is a bug in this program.
    """

    lower: Number
    """Proved lower end: the value is at least this."""
    upper: Number
    """Proved upper end: the value is at most this."""

    def __post_init__(self) -> None:
        if self.lower > self.upper:
            raise ArithmeticError(
                f"lower end {self.lower!r} above upper end {self.upper!r}: a proof is wrong"
            )

    @property
    def width(self) -> float:
        """Width of the interval: upper - lower."""
        return self.upper - self.lower

    def __float__(self) -> float:
        return self.lower + self.width / 2.0

    def __lt__(self, other: "Bracket | float") -> bool:
        return self.upper < getattr(other, "lower", other)

    def __le__(self, other: "Bracket | float") -> bool:
        return self.upper <= getattr(other, "lower", other)

    def __gt__(self, other: "Bracket | float") -> bool:
        return self.lower > getattr(other, "upper", other)

    def __ge__(self, other: "Bracket | float") -> bool:
        return self.lower >= getattr(other, "upper", other)

    def __format__(self, code: str) -> str:
        """Format `f"{gnc2:.4f}"`: one number if both ends read the same, else `[lower, upper]`."""
        lower, upper = (format(end, code) for end in (self.lower, self.upper))
        return str(self) if not code else lower if lower == upper else f"[{lower}, {upper}]"

    def narrowed(self, other: "Bracket") -> "Bracket":
        """Return the intersection of two brackets of the same value.

        Raises:
            ArithmeticError: they have no value in common.
        """
        return Bracket(max(self.lower, other.lower), min(self.upper, other.upper))
