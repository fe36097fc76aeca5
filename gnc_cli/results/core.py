"""What all results share: brackets, the base record, and the one way into JSON."""

import dataclasses
import json
import math
from dataclasses import dataclass
from enum import Enum
from typing import Any

__all__ = ["SCHEMA", "BestKnown", "Bracket", "Margins", "Rattlers", "Result", "plain"]

SCHEMA = 1


@dataclass(frozen=True)
class Bracket:
    """A certified interval: the true value lies in [lower, upper].

    Raises:
        ArithmeticError: lower is above upper, which is a mistake in this program.
    """

    lower: float
    """Proved: the value is at least this."""
    upper: float
    """Proved: the value is at most this."""

    def __post_init__(self) -> None:
        if self.lower > self.upper:
            raise ArithmeticError(
                f"lower end {self.lower!r} above upper end {self.upper!r}: a proof is wrong"
            )

    @property
    def width(self) -> float:
        """upper - lower."""
        return self.upper - self.lower

    def narrowed(self, other: "Bracket") -> "Bracket":
        """What two brackets of one value say together.

        Raises:
            ArithmeticError: they have no value in common.
        """
        return Bracket(max(self.lower, other.lower), min(self.upper, other.upper))


@dataclass(frozen=True)
class Rattlers:
    """How many rows are free to move, by either distance; None where not computed."""

    one_vs_one: int | None
    """Rows whose nearest neighbour is farther than the smallest chord by more than `tolerance`."""
    one_vs_rest: int | None
    """Rows whose one-vs-rest distance exceeds the minimum by more than `tolerance`."""
    tolerance: float
    """Absolute, on distances."""


@dataclass(frozen=True)
class Margins:
    """The largest margins that losses on the sphere can satisfy for every class at once."""

    cosface: float
    """Additive cosine margin with features at their best: the certified lower end of rho."""
    arcface_rad: float
    """Additive angle with each feature on its class weight: the minimum angle, radians."""


@dataclass(frozen=True)
class BestKnown:
    """The best known code of (d, K), whichever command prints it."""

    max_cosine: float
    source: str
    proven: bool
    """Proved optimal for this (d, K)."""
    kind: str
    """`theorem`, `table`, `construction` or `solved` (by this project)."""
    d: int
    """Dimension and size of the code; more points or fewer dimensions than asked where it holds
    one of that size."""
    K: int
    date: str | None
    """Of the table or of the solve; None where the code is a theorem's or a construction."""


@dataclass(frozen=True)
class Result:
    """What all results share: `schema command version seconds` and the ways out."""

    seconds: float
    """Wall time of the whole computation."""
    version: str
    """Version of gnc that made it."""

    command = ""

    def to_json(self) -> dict[str, Any]:
        """Plain dictionary: Python scalars, lists, no NaN (null), no arrays."""
        head = {"schema": SCHEMA, "command": self.command, "version": self.version}
        return {**head, **self._body(), "seconds": plain(self.seconds)}

    def _body(self) -> dict[str, Any]:
        names = [f.name for f in dataclasses.fields(self) if f.metadata.get("json", True)]
        return {n: plain(getattr(self, n)) for n in names if n not in ("seconds", "version")}

    def dumps(self) -> str:
        """The JSON text that `--json` prints: one object, one line."""
        return json.dumps(self.to_json(), allow_nan=False)

    def flat(self, prefix: str = "gnc/") -> dict[str, float | int | str | bool | None]:
        """One level, for dashboards: `{'gnc/rho_one_vs_rest.lower': 0.66}`."""
        return {prefix + k: v for k, v in _flatten(self.to_json())}

    def to_pandas(self) -> Any:
        """A one-row data frame (needs pandas)."""
        import pandas  # type: ignore[import-untyped,import-not-found,unused-ignore]

        return pandas.DataFrame([self.flat(prefix="")])


def plain(value: Any) -> Any:
    """`value` in JSON's own types: enums by value, records as objects, non-finite numbers null."""
    if isinstance(value, Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if hasattr(value, "tolist"):  # NumPy's arrays and scalars, without loading NumPy
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


def _flatten(value: Any, prefix: str = "") -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        children = value.items()
    elif isinstance(value, list):
        children = ((str(i), v) for i, v in enumerate(value))  # type: ignore[assignment]
    else:
        return [(prefix, value)]
    return [
        pair
        for k, v in children
        for pair in _flatten(v, f"{prefix}.{k}" if prefix else str(k))
    ]
