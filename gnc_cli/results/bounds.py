"""Results of `gnc bounds`: what is possible for (d, K), which d a margin needs, how many K fit."""

from dataclasses import dataclass, field
from typing import Any

from gnc_cli.results.core import BestKnown, Result, plain

__all__ = [
    "BestBounds", "BoundRow", "BoundsResult", "ClassesAnswer", "ClassesBest", "ClassesRow",
    "DimensionAnswer", "DimensionBest", "DimensionRow",
]  # fmt: skip

_LARGEST_INTEGER = 2**63
"""Readers of JSON seldom take larger integers."""


@dataclass(frozen=True)
class BoundRow:
    """What one bound says at one (d, K)."""

    d: int
    K: int
    quantity: str
    """`one-vs-rest`: the value is a distance; `one-vs-one`: the largest cosine of a code."""
    side: str
    """Of the optimum: `lower` or `upper`."""
    value: float
    angle_deg: float | None
    """The minimum angle of that cosine in degrees; None for one-vs-rest."""
    proven: bool
    """True for all: a theorem or a certificate."""
    valid: bool
    """Whether its hypothesis holds at (d, K)."""
    condition: str | None
    """The hypothesis with its numbers."""
    strict: bool
    """Whether the value itself is known not to be attained."""
    exists: bool
    """True: a code at least this good exists. False: none is better."""
    constructive: bool
    """Whether such a code can be built."""
    name: str
    source: str
    how: str | None
    """The command that builds it."""


@dataclass(frozen=True)
class BestBounds:
    """The best interval of one (d, K)."""

    d: int
    K: int
    quantity: str
    lower: float
    upper: float
    lower_name: str
    upper_name: str
    lower_deg: float | None
    """One-vs-one: the minimum angle of the best code lies in [lower_deg, upper_deg], degrees."""
    upper_deg: float | None
    exact: bool
    """Whether the ends meet, but for rounding: the value is known exactly."""
    best_known: BestKnown | None
    """The best code known, for either quantity."""
    status: str | None
    """With a margin: `exists`, `excluded` or `open`."""
    scale: float | None
    """With a probability: the scale s = 1/tau that is enough at the margin asked for; without one
    for the best code known."""


@dataclass(frozen=True)
class DimensionRow:
    """From which d one bound speaks for a margin."""

    K: int
    name: str
    side: str
    d: int | None
    ending: str
    """`found`, `never` (in no dimension, by this bound) or `beyond` (not up to 10^6)."""
    proven: bool
    exists: bool
    """True: from d on a code with the margin exists. False: below d none does."""
    constructive: bool
    source: str
    how: str | None


@dataclass(frozen=True)
class DimensionBest:
    """For one K."""

    K: int
    sufficient: int | None
    """The smallest d known to have a code with the margin; None where none is known."""
    necessary: int | None
    """The smallest d not excluded, 1000001 where none up to a million is; None where the margin is
    impossible in every dimension."""


@dataclass(frozen=True)
class DimensionAnswer:
    """The dimensions that a margin needs."""

    rows: tuple[DimensionRow, ...]
    best: tuple[DimensionBest, ...]
    sufficient: int | None
    """For all K asked at once."""
    necessary: int | None
    scale: float | None
    """With a probability: the scale s = 1/tau that is enough, for the largest K asked."""


@dataclass(frozen=True)
class ClassesRow:
    """Up to which K one bound speaks for a margin."""

    d: int
    name: str
    side: str
    K: int | None
    """Exact; None where it has more than fifteen digits, or the bound says nothing."""
    log10_K: float | None
    """None where the bound says nothing."""
    proven: bool
    exists: bool
    """True: a code of K points with the margin exists. False: none of K points, the smallest
    such K."""
    constructive: bool
    source: str
    how: str | None


@dataclass(frozen=True)
class ClassesBest:
    """For one d."""

    d: int
    guaranteed: int | None
    """The largest K known to have a code with the margin."""
    log10_guaranteed: float | None
    excluded: int | None
    """The smallest K proved to have none."""
    log10_excluded: float | None


@dataclass(frozen=True)
class ClassesAnswer:
    """How many points a margin leaves room for."""

    rows: tuple[ClassesRow, ...]
    best: tuple[ClassesBest, ...]
    guaranteed: int | None
    """In every d asked."""
    log10_guaranteed: float | None
    excluded: int | None
    """In some d asked."""
    log10_excluded: float | None
    scale: float | None


@dataclass(frozen=True)
class BoundsResult(Result):
    """What is possible: the result of `gnc bounds`."""

    quantity: str
    margin: float | None
    """One-vs-rest distance asked for."""
    max_cosine: float | None
    """One-vs-one: largest cosine asked for, also that of `arcface_m`."""
    arcface_m: float | None
    """One-vs-one: smallest angle asked for, radians."""
    probability: float | None
    outcome: str
    """`complete`; `time_limit`: some linear programmes were left out; `interrupted`: some pairs."""
    rows: tuple[BoundRow, ...]
    best: tuple[BestBounds, ...]
    dimension: DimensionAnswer | None = None
    classes: ClassesAnswer | None = None
    extras: dict[str, Any] = field(
        default_factory=dict, metadata={"json": False}, repr=False, compare=False
    )

    command = "bounds"

    def _body(self) -> dict[str, Any]:
        body = super()._body()
        return {key: _readable(value) for key, value in body.items()}

    def to_pandas(self) -> Any:
        """A data frame of the rows: bounds, dimensions or numbers of points (needs pandas)."""
        import pandas  # type: ignore[import-untyped,import-not-found,unused-ignore]

        part = self.dimension or self.classes
        rows = self.rows if part is None else part.rows
        return pandas.DataFrame([_readable(plain(row)) for row in rows])


def _readable(value: Any) -> Any:
    """Integers that readers of JSON do not take as floats; all else as it is."""
    if isinstance(value, dict):
        return {k: _readable(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_readable(v) for v in value]
    if isinstance(value, int) and abs(value) >= _LARGEST_INTEGER:
        return float(value)
    return value
