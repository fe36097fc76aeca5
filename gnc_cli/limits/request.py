"""A call of `bounds`: its arguments, the target that they state, and what goes together."""

from dataclasses import dataclass, fields
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import cos, sin

from gnc_cli.errors import UsageError
from gnc_cli.known_codes.best import Table
from gnc_cli.limits.limit import Quantity
from gnc_cli.metrics.scale import softmax_scale
from gnc_cli.parameters import MOST_PAIRS, Path, excludes, requires, spelled
from gnc_cli.runtime.deadline import Call

LP_DIMENSIONS = 8
"""Dimensions up to which Delsarte's linear programme is solved where nobody asked for it."""
_MOST_ANSWERS = 10_000
_PROBABILITY = 0.9
"""That the scale is for, where d, K and a margin are given and no probability is."""
_OF_CHECKS = ("verify", "time_limit", "force", "interrupt", "progress")
"""What goes together with a certificate to check."""
_LEAST = Fraction(1, 10**30)
"""Smallest target: far below the distances of 10^18 points."""


@dataclass(frozen=True, kw_only=True)
class Request(Call):
    """A call of `bounds`; each argument by itself has been checked.

    Raises:
        UsageError: arguments are missing or contradict each other.
    """

    d: tuple[int, ...] = ()
    """Empty where the dimension is sought."""
    K: tuple[int, ...] = ()
    """Empty where the number of points is sought."""
    margin: float | None = None
    arcface_m: float | None = None
    max_cosine: float | None = None
    quantity: Quantity | None = None
    probability: float | None = None
    lp: bool = False
    sdp: bool = False
    table: Table = None
    verify: Path | None = None
    export: Path | None = None
    time_limit: float | None = None
    best: bool = False
    out: Path | None = None
    plot: Path | None = None

    def __post_init__(self) -> None:
        if self.verify is not None:  # a check of a certificate takes no question
            for field in fields(self):
                if field.name not in _OF_CHECKS and self.is_set(field.name):
                    raise excludes("verify", spelled(field.name))
            return
        names = filter(self.is_set, ("margin", "arcface_m", "max_cosine"))
        targets = {name: getattr(self, name) for name in names}
        if len(targets) > 1:
            named = " and ".join(map(spelled, targets))
            raise UsageError(f"{named} exclude each other; keep one of them")
        if bool(self.d) + bool(self.K) + len(targets) < 2:
            raise UsageError(
                f"give two of {spelled('d')}, {spelled('K')} and a margin, such as "
                f"{spelled('d', 10)} and {spelled('K', 100)}, or {spelled('d', 512)} and "
                f"{spelled('margin', 0.3)}"
            )
        ds, Ks = len(self.d), len(self.K)
        if ds * Ks > MOST_PAIRS:
            raise UsageError(
                f"{ds:,} dimensions and {Ks:,} sizes make more than {MOST_PAIRS:,} pairs; "
                "use larger steps"
            )
        if not ds * Ks and ds + Ks > _MOST_ANSWERS:
            raise UsageError(
                f"{ds + Ks:,} values are more than {_MOST_ANSWERS:,}; use a larger step"
            )
        if self._of_angles and self.quantity is Quantity.ONE_VS_REST:
            quantity = spelled("quantity", self.quantity)
            raise excludes(
                next(iter(targets)), quantity, f"drop {quantity}, or give {spelled('margin')}"
            )
        if self.margin is not None and self.quantity is Quantity.ONE_VS_ONE:
            raise excludes(
                "margin",
                spelled("quantity", self.quantity),
                f"give {spelled('max_cosine')} or {spelled('arcface_m')}",
            )
        requirements = [
            ("export", ds == Ks == 1, "one pair", "give one d and one K"),
            ("sdp", ds * Ks > 0, "pairs", f"give d and K, or drop {spelled('sdp')}"),
            (
                "time_limit",
                self.lp or self.sdp or self.export is not None or self.is_small,
                f"{spelled('lp')}, {spelled('sdp')}, {spelled('verify')} or one pair with d up to "
                f"{LP_DIMENSIONS}, as all else takes no time",
                f"drop {spelled('time_limit')}",
            ),
        ]
        for name, fulfilled, condition, advice in requirements:
            if self.is_set(name) and not fulfilled:
                raise requires(name, condition, advice)
        if self.target is not None and self.target < _LEAST:
            ((name, value),) = targets.items()
            raise UsageError(f"{spelled(name, value)} is too near to no distance at all")

    @property
    def is_small(self) -> bool:
        """Whether it is about one pair of few dimensions."""
        return len(self.d) == len(self.K) == 1 and self.d[0] <= LP_DIMENSIONS

    @property
    def subject(self) -> Quantity:
        """What is bounded: `quantity`, or what the target is about."""
        implied = Quantity.ONE_VS_ONE if self._of_angles else Quantity.ONE_VS_REST
        return self.quantity or implied

    @cached_property
    def target(self) -> Fraction | None:
        """The margin, one-vs-rest; 1 - the largest cosine, one-vs-one; decimals as written."""
        if self.margin is not None:
            return Fraction(Decimal(repr(self.margin)))
        if self.max_cosine is not None:
            return 1 - Fraction(Decimal(repr(self.max_cosine)))
        if self.arcface_m is not None:
            return Fraction(2.0 * sin(self.arcface_m / 2.0) ** 2)  # not lost in 1 - cos
        return None

    @property
    def largest_cosine(self) -> float | None:
        """The target as a cosine, one-vs-one."""
        return self.max_cosine if self.arcface_m is None else cos(self.arcface_m)

    @property
    def scale_probability(self) -> float | None:
        """The softmax probability that scales are for; None where none is shown."""
        if self.probability is None and self.d and self.K and self.target is not None:
            return _PROBABILITY
        return self.probability

    def scale(self, log_others: float, margin: float | None = None) -> float | None:
        """The softmax scale that is enough for `scale_probability`, if there is one.

        Args:
            log_others: ln(K - 1).
            margin: of a code, for calls without a target.
        """
        margin = margin if self.target is None else float(self.target)
        if self.scale_probability is None or not margin:
            return None
        return softmax_scale(log_others, self.scale_probability, margin)

    @property
    def _of_angles(self) -> bool:
        return self.arcface_m is not None or self.max_cosine is not None
