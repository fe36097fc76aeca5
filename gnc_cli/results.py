"""Frozen records that every command returns, and the one way they become JSON.

Radians inside; degrees only where a name says `_deg`. Arrays ride along for Python users and never
enter the JSON.
"""

import dataclasses
import json
import math
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "SCHEMA",
    "BestKnown",
    "Bracket",
    "CompareResult",
    "CompareRow",
    "ConstructionList",
    "ConstructionRow",
    "Margins",
    "Outcome",
    "Rattlers",
    "Result",
    "SolveResult",
    "SolveSweep",
    "Standing",
    "TableStamp",
    "UfmMeasures",
    "plain",
]

SCHEMA = 1


class Outcome(Enum):
    """How a solve ended; each ending carries its own advice."""

    CONVERGED = "converged"
    CLOSED_FORM = "closed_form"
    CONSTRUCTED = "constructed"
    MAX_STEPS_REACHED = "max_steps_reached"
    STALLED = "stalled"
    TIME_LIMIT = "time_limit"
    TARGET_REACHED = "target_reached"
    TARGET_MISSED = "target_missed"
    INTERRUPTED = "interrupted"
    NONFINITE = "nonfinite"

    @property
    def advice(self) -> str:
        """One sentence: what the user may do next."""
        return _ADVICE[self]


_ADVICE = {
    Outcome.CONVERGED: "stationary to the digits printed; more --restarts may find a better basin",
    Outcome.CLOSED_FORM: "optimal by theorem; nothing to improve",
    Outcome.CONSTRUCTED: "built from algebra; --method descent searches for better",
    Outcome.MAX_STEPS_REACHED: "not yet stationary; raise --steps, or --restarts for other basins",
    Outcome.STALLED: "the polish stopped short of stationarity; try another --seed or more --steps",
    Outcome.TIME_LIMIT: "stopped by --time-limit; add --resume to go on from the written file",
    Outcome.TARGET_REACHED: "the target is met; drop --target to search on",
    Outcome.TARGET_MISSED: "effort used up below the target; raise --restarts or --time-limit",
    Outcome.INTERRUPTED: "interrupted; the best so far is kept, --resume goes on",
    Outcome.NONFINITE: "numbers overflowed and the last good code was kept; try another --seed",
}


@dataclass(frozen=True)
class Bracket:
    """A certified interval: the true value lies in [lower, upper]."""

    lower: float
    """Proved: the value is at least this."""
    upper: float
    """Proved: the value is at most this."""

    @property
    def width(self) -> float:
        """upper - lower."""
        return self.upper - self.lower


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
    """The reference that a code is held against."""

    max_cosine: float
    source: str
    proven: bool


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


@dataclass(frozen=True)
class UfmMeasures:
    """What the unconstrained feature model adds: collapse of its own W and H."""

    tau: float
    weight_decay: float | None
    """lambda of eq. B.1; None on the sphere (eq. 2)."""
    n: int
    """Samples a class."""
    gnc1: float
    gnc2: Bracket
    gnc3: float
    hardmax_gap: Bracket | None
    """tau * log(total loss) + rho*, with rho* between this pair's margin and theorem 3.3's value:
    how far the cross-entropy optimum is from HardMax. None with weight decay."""


@dataclass(frozen=True)
class SolveResult(Result):
    """A code with its certificate: the result of `gnc solve`."""

    problem: str
    d: int
    K: int
    origin: str
    """What found it: `closed form: ...`, `descent`, `paper recipe`, `large-scale descent`."""
    outcome: Outcome
    max_cosine: float
    min_angle_deg: float
    rho_one_vs_one: float
    rho_one_vs_rest: Bracket
    rattlers: Rattlers
    contacts: int | None
    """Pairs at the smallest distance, within the rattler tolerance."""
    stationarity: float | None
    """Largest absolute residual of the first-order (KKT) equations."""
    first_order_gain: float | None
    """Optimum of the last linear programme: what the objective could still gain to first order."""
    margins: Margins
    best_known: BestKnown | None
    seed: int
    restarts: int
    steps: int
    out: str | None
    weights: Any = field(metadata={"json": False}, repr=False, compare=False)
    """The code, rows of unit norm, shape (K, d), float64; of a construction too large to hold, an
    object with `shape`, `unit(start, stop)` and `numpy.asarray`."""
    features: "np.ndarray | None" = field(metadata={"json": False}, repr=False, compare=False)
    """The optimal features, one row a class, shape (K, d); None where not computed."""
    ufm: UfmMeasures | None = field(default=None, metadata={"json": False}, repr=False)
    extras: dict[str, Any] = field(
        default_factory=dict, metadata={"json": False}, repr=False, compare=False
    )
    """Arrays for plots (`history`, `one_vs_rest`, ...); never printed."""

    command = "solve"

    def _body(self) -> dict[str, Any]:
        body = super()._body()
        items = list(body.items())
        at = next(i for i, (k, _) in enumerate(items) if k == "outcome") + 1
        items.insert(at, ("advice", self.outcome.advice))
        if self.ufm is not None:
            items += list(plain(self.ufm).items())
        return dict(items)


@dataclass(frozen=True)
class SolveSweep(Result):
    """Several solves that differ in one parameter (`--tau 1..0.001/13`)."""

    problem: str
    d: int
    K: int
    rows: tuple[SolveResult, ...]
    out: str | None

    command = "solve"

    def _body(self) -> dict[str, Any]:
        rows = [r._body() | {"seconds": plain(r.seconds)} for r in self.rows]
        return {"problem": self.problem, "d": self.d, "K": self.K, "rows": rows, "out": self.out}


@dataclass(frozen=True)
class ConstructionRow:
    """A code, or a family of codes, that algebra gives."""

    name: str
    """What `--construction` takes; a family shows its parameter as a letter."""
    title: str
    d: str
    """A number, or a family's formula; likewise K and max_cosine."""
    K: str
    max_cosine: str
    """Exact, as a formula."""
    proven: bool | None
    """Proved optimal for the Tammes problem; None for a family."""
    reference: str


@dataclass(frozen=True)
class ConstructionList(Result):
    """What `gnc solve --list-constructions` shows."""

    rows: tuple[ConstructionRow, ...]

    command = "solve"


class Standing(Enum):
    """Where a code stands beside the best known one."""

    MATCHES = "matches"
    """Equal within 1e-11 or the rounding of the table's figure, whichever is larger."""
    WORSE = "worse"
    IMPROVES = "improves"
    """Below the table's figure by more than its rounding, verified in rational arithmetic."""
    NO_ENTRY = "no_entry"


@dataclass(frozen=True)
class TableStamp:
    """Which table of known codes a comparison was made with."""

    rows: int
    date: str
    """Year and month, or the file's own date (ISO)."""
    sha256: str
    current: bool
    """Given by the user as current (`--table`); our copy otherwise."""


@dataclass(frozen=True)
class CompareRow:
    """One code, or one entry of the table, beside the best known code of its (d, K)."""

    d: int
    K: int
    max_cosine: float | None
    """Of the code at hand; None in a plain list of the table."""
    best_known: float | None
    gap: float | None
    """max_cosine - best_known: negative is better."""
    status: Standing | None
    rattlers: Rattlers | None
    contacts: int | None
    congruent_to: str | None
    """The construction or stored code it equals up to rotation, reflection and order."""
    source: str | None
    """Of best_known."""
    proven: bool | None
    """Whether best_known is proved optimal; None where not settled."""
    file: str | None = None
    """What was read; None for a fresh solve."""
    seconds: float | None = None
    more: dict[str, Any] = field(default_factory=dict)
    """Further keys of one mode (verified figure, digits, brackets), spread into the JSON row."""

    def to_json(self) -> dict[str, Any]:
        """One flat object: the keys above, then those of `more`."""
        body: dict[str, Any] = plain(self)
        return body | body.pop("more")


@dataclass(frozen=True)
class CompareResult(Result):
    """Codes beside the known codes: the result of `gnc compare`."""

    rows: tuple[CompareRow, ...]
    table: TableStamp
    extras: dict[str, Any] = field(
        default_factory=dict, metadata={"json": False}, repr=False, compare=False
    )
    """Arrays for plots; never printed."""

    command = "compare"

    def _body(self) -> dict[str, Any]:
        rows = [row.to_json() for row in self.rows]
        counts = {s.value: sum(r.status is s for r in self.rows) for s in Standing}
        return {"rows": rows, "counts": counts, "table": plain(self.table)}


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
