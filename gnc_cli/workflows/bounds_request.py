"""The doorway of `bounds`: what is asked, of which distance, and with which target."""

from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from math import cos, pi, sin
from numbers import Real
from typing import Any

from gnc_cli.errors import UsageError
from gnc_cli.limits.limit import LARGEST_D
from gnc_cli.numerics.softmax_scale import softmax_scale
from gnc_cli.workflows.whole_numbers import whole_numbers

__all__ = [
    "LARGEST_D", "MOST_ANSWERS", "MOST_PAIRS", "ONE_VS_ONE", "ONE_VS_REST", "Question", "Request",
    "read_request",
]  # fmt: skip

ONE_VS_REST, ONE_VS_ONE = "one-vs-rest", "one-vs-one"

MOST_PAIRS = 100_000
MOST_ANSWERS = 10_000
_LARGEST_K = max(10**300, int(1e300))
"""The double 1e300 is a little more."""
_LEAST = Fraction(1, 10**150)
"""Of a target: squares of smaller ones leave the doubles."""
_EXAMPLES = "gnc bounds --d 10 --K 100, --K 1e6 --margin 0.3 or --d 512 --margin 0.3"


class Question(Enum):
    """What `bounds` is asked for."""

    PAIRS = "pairs"
    """d and K: how far apart?"""
    DIMENSION = "dimension"
    """K and a margin: in which d?"""
    CLASSES = "classes"
    """d and a margin: how many K?"""


@dataclass(frozen=True)
class Request:
    """A checked call of `bounds`."""

    question: Question
    quantity: str
    """`one-vs-rest` or `one-vs-one`."""
    d: tuple[int, ...]
    """Empty where it is asked for."""
    K: tuple[int, ...]
    target: Fraction | None
    """The margin, one-vs-rest; 1 - the largest cosine, one-vs-one. None where not given."""
    max_cosine: float | None
    """Of the target, one-vs-one."""
    arcface_m: float | None
    """The angle in radians, where the target is one."""
    probability: float | None

    @property
    def margin(self) -> float | None:
        """The target as a margin; one-vs-one what features on their weights have."""
        return None if self.target is None else float(self.target)

    def scale(self, log_others: float, margin: float | None) -> float | None:
        """The softmax scale that is enough for the probability asked for, if one was.

        Args:
            log_others: ln(K - 1).
            margin: of the code; None or 0 where there is none.
        """
        if self.probability is None or not margin:
            return None
        return softmax_scale(log_others, self.probability, margin)


def read_request(
    *,
    d: Any,
    K: Any,
    margin: float | None,
    cosface_m: float | None,
    arcface_m: float | None,
    max_cosine: float | None,
    quantity: str | None,
    probability: float | None,
    lp: bool,
    time_limit: float | None,
) -> Request:
    """Check a call of `bounds`.

    Raises:
        UsageError: options that are missing or contradict each other, or a number out of range.
    """
    dims = whole_numbers("--d", d, most=LARGEST_D)
    sizes = whole_numbers("--K", K, most=_LARGEST_K)
    given = {
        "--margin": margin, "--cosface-m": cosface_m, "--arcface-m": arcface_m,
        "--max-cosine": max_cosine,
    }  # fmt: skip
    for option, value in (*given.items(), ("--probability", probability)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, Real)):
            raise UsageError(f"{option} {value!r} is not a number")
    named = [option for option, value in given.items() if value is not None]
    if len(named) > 1:
        raise UsageError(f"{' and '.join(named)} exclude each other; keep one of them")
    if (dims is not None) + (sizes is not None) + len(named) < 2:
        raise UsageError(f"give two of --d, --K and a margin: {_EXAMPLES}")
    if dims is not None and sizes is not None and len(dims) * len(sizes) > MOST_PAIRS:
        raise UsageError(
            f"{len(dims):,} dimensions and {len(sizes):,} sizes make more than {MOST_PAIRS:,} "
            "pairs; use larger steps"
        )
    asked = len(dims or ()) + len(sizes or ())
    if (dims is None or sizes is None) and asked > MOST_ANSWERS:
        raise UsageError(f"{asked:,} values are more than {MOST_ANSWERS:,}; use a larger step")
    if quantity not in (None, ONE_VS_REST, ONE_VS_ONE):
        raise UsageError(f"--quantity {quantity!r} is none of {ONE_VS_REST}, {ONE_VS_ONE}")
    of_angles = arcface_m is not None or max_cosine is not None
    if named and quantity is not None and of_angles != (quantity == ONE_VS_ONE):
        raise UsageError(_contradiction(named[0], of_angles))
    if probability is not None and not 0.0 < probability < 1.0:
        raise UsageError(f"--probability {probability:g} must lie between 0 and 1")
    if time_limit is not None and not time_limit > 0.0:
        raise UsageError(f"--time-limit {time_limit:g} must be positive")
    if time_limit is not None and not lp:
        raise UsageError("--time-limit belongs to --lp; all else takes no time; drop it")
    question = Question.PAIRS
    if dims is None or sizes is None:
        question = Question.DIMENSION if dims is None else Question.CLASSES
    target, cosine = _target(given)
    if target is not None and target < _LEAST:
        raise UsageError(f"{named[0]} {given[named[0]]:g} is too near to no distance at all")
    one = ONE_VS_ONE if of_angles or quantity == ONE_VS_ONE else ONE_VS_REST
    return Request(question, one, dims or (), sizes or (), target, cosine, arcface_m, probability)


def _contradiction(option: str, of_angles: bool) -> str:
    if of_angles:
        return (
            f"{option} is about the angles between points; drop --quantity one-vs-rest, or give "
            "--margin"
        )
    return (
        f"{option} is a one-vs-rest distance; for --quantity one-vs-one give --max-cosine or "
        "--arcface-m"
    )


def _target(given: dict[str, float | None]) -> tuple[Fraction | None, float | None]:
    """The target as the decimal that the user wrote, and its cosine."""
    for option, value in given.items():
        if value is None:
            continue
        if option == "--arcface-m":
            if not 0.0 < value <= pi:
                raise UsageError(f"{option} {value:g} is no angle in radians; above 0, up to pi")
            return Fraction(2.0 * sin(value / 2.0) ** 2), cos(value)
        if option == "--max-cosine":
            if not -1.0 <= value < 1.0:
                raise UsageError(f"{option} {value:g} must be at least -1 and below 1")
            return 1 - Fraction(Decimal(repr(float(value)))), float(value)
        if not 0.0 < value <= 2.0:
            raise UsageError(f"{option} {value:g} is no margin; give one above 0, up to 2")
        return Fraction(Decimal(repr(float(value)))), None
    return None, None
