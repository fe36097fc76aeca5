"""What a call of `bounds` asks for: its arguments checked against each other, before any work."""

from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from math import cos, sin

from gnc_cli.errors import UsageError
from gnc_cli.limits.limit import Quantity
from gnc_cli.metrics.softmax_scale import softmax_scale
from gnc_cli.parameters import MOST_PAIRS, spelled

MOST_ANSWERS = 10_000
_LEAST = Fraction(1, 10**150)
"""Of a target: squares of smaller ones leave the doubles."""


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
    quantity: Quantity
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
    d: tuple[int, ...] | None,
    K: tuple[int, ...] | None,
    *,
    margin: float | None,
    arcface_m: float | None,
    max_cosine: float | None,
    quantity: Quantity | None,
    probability: float | None,
    lp: bool,
    time_limit: float | None,
) -> Request:
    """Which arguments of `bounds` go together; each by itself has been checked.

    Raises:
        UsageError: arguments are missing or contradict each other.
    """
    targets = {"margin": margin, "arcface_m": arcface_m, "max_cosine": max_cosine}
    given = {name: value for name, value in targets.items() if value is not None}
    if len(given) > 1:
        named = " and ".join(map(spelled, given))
        raise UsageError(f"{named} exclude each other; keep one of them")
    if (d is not None) + (K is not None) + len(given) < 2:
        raise UsageError(
            f"give two of {spelled('d')}, {spelled('K')} and a margin, such as {spelled('d', 10)} "
            f"and {spelled('K', 100)}, or {spelled('d', 512)} and {spelled('margin', 0.3)}"
        )
    if d is not None and K is not None:
        if len(d) * len(K) > MOST_PAIRS:
            raise UsageError(
                f"{len(d):,} dimensions and {len(K):,} sizes make more than {MOST_PAIRS:,} pairs; "
                "use larger steps"
            )
    elif (asked := len(d or K or ())) > MOST_ANSWERS:
        raise UsageError(f"{asked:,} values are more than {MOST_ANSWERS:,}; use a larger step")
    of_angles = arcface_m is not None or max_cosine is not None
    if of_angles and quantity is Quantity.ONE_VS_REST:
        raise UsageError(
            f"{spelled(*given)} is about the angles between points; drop "
            f"{spelled('quantity', quantity)}, or give {spelled('margin')}"
        )
    if margin is not None and quantity is Quantity.ONE_VS_ONE:
        raise UsageError(
            f"{spelled('margin')} is a one-vs-rest distance; for {spelled('quantity', quantity)} "
            f"give {spelled('max_cosine')} or {spelled('arcface_m')}"
        )
    if time_limit is not None and not lp:
        raise UsageError(
            f"{spelled('time_limit')} belongs to {spelled('lp')}; all else takes no time; drop it"
        )
    target, cosine = None, max_cosine
    # Decimals are taken as the user wrote them.
    if margin is not None:
        target = Fraction(Decimal(repr(margin)))
    elif max_cosine is not None:
        target = 1 - Fraction(Decimal(repr(max_cosine)))
    elif arcface_m is not None:
        target, cosine = Fraction(2.0 * sin(arcface_m / 2.0) ** 2), cos(arcface_m)
    if target is not None and target < _LEAST:
        (name,) = given
        raise UsageError(f"{spelled(name, given[name])} is too near to no distance at all")
    question = Question.PAIRS
    if d is None or K is None:
        question = Question.DIMENSION if d is None else Question.CLASSES
    quantity = quantity or (Quantity.ONE_VS_ONE if of_angles else Quantity.ONE_VS_REST)
    return Request(question, quantity, d or (), K or (), target, cosine, arcface_m, probability)
