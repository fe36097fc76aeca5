"""Results of `gnc bounds`: intervals of distances, of dimensions, and of numbers of points."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Union

from gnc_cli.brackets import Bracket
from gnc_cli.figures import count, points
from gnc_cli.known_codes.best import BestKnown
from gnc_cli.limits.limit import Ending, Quantity
from gnc_cli.plain import plain
from gnc_cli.records import (
    HIGHER,
    LABEL,
    LOWER,
    NOT_IN_JSON,
    OMITTED_IF_NONE,
    QUESTION,
    WORD,
    Result,
)

Side = Literal["lower", "upper"]
Status = Literal["exists", "excluded", "open"]
STATUS = {"exists": "a code exists", "excluded": "no code exists", "open": "open"}
"""Words for `BestBounds.status`."""


@dataclass(frozen=True, kw_only=True)
class _Row:
    """The statement of one bound."""

    d: int | None
    """Dimension."""
    K: int | None
    """Number of points."""
    name: str = field(metadata=LABEL)
    """Name of the bound, such as `rankin`."""
    side: Side = field(metadata=LABEL)
    """Side of the optimum that is bounded: `lower` or `upper`."""
    exists: bool
    """True: such a code exists. False: none does."""
    proven: bool
    """True if it is proved; claims and numerical bounds are shown, but never counted."""
    constructive: bool
    """True if gnc can build such a code, with the command of `how`."""
    bisector: bool
    """True if the bisector theorem turns a bound on the cosine into this one on the distance, or
    back."""
    source: str
    """Theorem or paper, or the code that proves it."""
    how: str | None
    """Command that builds a code; None without one."""


@dataclass(frozen=True, kw_only=True)
class BoundRow(_Row):
    """The statement of one bound at (d, K): a code at least this good exists, or none is better."""

    d: int = field(metadata=LABEL | QUESTION)
    """Dimension."""
    K: int = field(metadata=LABEL | QUESTION)
    """Number of points."""
    quantity: Quantity = field(metadata=LABEL)
    """`one-vs-rest`: the value is a distance; `one-vs-one`: the largest cosine of a code; `lines`:
    the coherence of K lines."""
    value: float
    """Bound: a one-vs-rest distance, a largest cosine, or a coherence."""
    angle_deg: float | None
    """Minimal angle of that cosine, degrees; None for one-vs-rest."""
    valid: bool
    """True if its hypothesis holds at (d, K)."""
    condition: str | None
    """Hypothesis with its numbers; None without one."""
    strict: bool
    """True if the value itself is known not to be attained."""

    @property
    def distance(self) -> float:
        """One-vs-rest distance, or minimal angle in degrees, which resolves cosines near 1."""
        return self.value if self.angle_deg is None else self.angle_deg

    @property
    def margin(self) -> float:
        """One-vs-rest distance; of a cosine t, 1 - t without its rounding."""
        if self.angle_deg is None:
            return self.value
        return 2.0 * math.sin(math.radians(self.angle_deg) / 2.0) ** 2


@dataclass(frozen=True)
class LargestMargins:
    """Largest margins and smallest scale of a classifier of K classes, for optimal features."""

    share: Bracket | None
    """Target margin or angle divided by the largest possible one; above 1 it is impossible. None
    without a target."""
    cosface: Bracket = field(metadata=HIGHER)
    """Largest margin that CosFace can satisfy on every class: rho*, the largest one-vs-rest
    distance."""
    arcface_rad: Bracket = field(metadata=HIGHER)
    """Largest margin m that ArcFace can satisfy on every class, radians. It is the largest
    minimal angle, for any features with theta + m <= pi."""
    scale: Bracket | None
    """Smallest scale s = 1/tau at which a code gives every class `probability`. Every code needs
    the lower end; the upper end is enough for the best code known. None without a probability."""
    adacos_scale: float
    """AdaCos' fixed scale sqrt(2) ln(K - 1), for comparison."""
    sufficient: int | None
    """Smallest d in which gnc knows a code of K points with the margin. None if it knows none, and
    for several pairs or no margin."""
    necessary: int | None
    """Smallest d that is not excluded for the margin, 1000001 if all up to a million are. None if
    the margin is impossible in every dimension, and for several pairs or no margin."""


@dataclass(frozen=True)
class BestBounds:
    """The best interval of one (d, K)."""

    d: int = field(metadata=LABEL | QUESTION)
    K: int = field(metadata=LABEL | QUESTION)
    quantity: Quantity
    """Quantity that is bounded."""
    lower: float
    """Largest valid lower bound on the optimum: of the distance or of the cosine."""
    upper: float
    """Smallest valid upper bound on the optimum."""
    lower_name: str
    """Name of the bound behind `lower`."""
    upper_name: str
    """Name of the bound behind `upper`."""
    lower_deg: float | None
    """Lower end of the minimal angle of the best code, degrees; None for one-vs-rest."""
    upper_deg: float | None
    """Upper end of that angle, degrees; None for one-vs-rest."""
    exact: bool
    """True if the ends meet, to a relative 1e-12. The value is then known to 12 digits."""
    best_known: BestKnown | None
    """Best code known, for either quantity."""
    status: Status | None = field(metadata=WORD)
    """Status of a code with the target: `exists`, `excluded` or `open`; None without a target."""
    scale: float | None = field(metadata=LOWER)
    """Scale s = 1/tau that is enough for `probability` at the target margin; without a target, at
    the margin of the best code known. None without a probability."""
    margins: LargestMargins | None
    """The same interval in the terms of losses: margins, angles, scales. None for lines, which have
    no signs."""

    @property
    def distances(self) -> tuple[float, float]:
        """Ends of the one-vs-rest distance, or of the minimal angle in degrees."""
        if self.lower_deg is None or self.upper_deg is None:
            return self.lower, self.upper
        return self.lower_deg, self.upper_deg


@dataclass(frozen=True, kw_only=True)
class DimensionRow(_Row):
    """The statement of one bound on d: codes with the margin exist from d on, or none below d."""

    d: int | None
    """Dimension from which on a code has the margin, if `exists`; otherwise the smallest dimension
    that is not excluded, 1000001 if all up to a million are. None if the bound has none."""
    K: int
    """Number of points."""
    ending: Ending
    """Ending of the search for d: `found`, `never` (in no dimension, by this bound) or `beyond`
    (not up to 10^6)."""


@dataclass(frozen=True)
class DimensionBest:
    """The interval of dimensions of one K."""

    K: int
    sufficient: int | None
    """Smallest d in which gnc knows a code with the margin; None if it knows none."""
    necessary: int | None
    """Smallest d that is not excluded, 1000001 if all up to a million are; None if the margin is
    impossible in every dimension."""


@dataclass(frozen=True)
class DimensionAnswer:
    """The dimensions that a margin needs."""

    rows: tuple[DimensionRow, ...]
    """Statements of the bounds, one per K and bound."""
    best: tuple[DimensionBest, ...]
    """Intervals of dimensions, one per K."""
    sufficient: int | None
    """Largest `sufficient` of the rows of `best`, enough for every K; None if one is missing."""
    necessary: int | None
    """Largest `necessary` of the rows of `best`; None if one is missing."""
    scale: float | None = field(metadata=LOWER)
    """Scale s = 1/tau that is enough for the largest K; None without a probability."""


@dataclass(frozen=True, kw_only=True)
class ClassesRow(_Row):
    """The statement of one bound on K: codes with the margin exist up to K, or none from K on."""

    d: int
    """Dimension."""
    K: int | None
    """Exact number; None if it has more than fifteen digits, or the bound has none."""
    log10_K: float | None
    """Base-10 logarithm of K; None if the bound has none."""


@dataclass(frozen=True)
class ClassesBest:
    """The interval of numbers of points of one d."""

    d: int
    guaranteed: int | None
    """Largest K for which gnc knows a code with the margin; None if it has more than fifteen
    digits, or none is known."""
    log10_guaranteed: float | None
    """Base-10 logarithm of `guaranteed`; None if none is known."""
    excluded: int | None
    """Smallest K that is proved to have no code; None if it has more than fifteen digits, or none
    is proved."""
    log10_excluded: float | None
    """Base-10 logarithm of `excluded`; None if none is proved."""


@dataclass(frozen=True)
class ClassesAnswer:
    """The numbers of points that a margin allows."""

    rows: tuple[ClassesRow, ...]
    """Statements of the bounds, one per d and bound."""
    best: tuple[ClassesBest, ...]
    """Intervals of K, one per d."""
    guaranteed: int | None
    """Largest K that is guaranteed in every d; None as in `best`."""
    log10_guaranteed: float | None
    """Base-10 logarithm of `guaranteed`; None if none is known in some d."""
    excluded: int | None
    """Smallest K that is excluded in some d; None as in `best`."""
    log10_excluded: float | None
    """Base-10 logarithm of `excluded`; None if none is proved."""
    scale: float | None = field(metadata=LOWER)
    """Scale s = 1/tau that is enough for the guaranteed K; None without one or a probability."""


def rank(row: BoundRow | DimensionRow | ClassesRow) -> float:
    """Return a key that orders the rows of one side, the best first."""
    if isinstance(row, BoundRow):
        return -row.distance if row.exists else row.distance
    if isinstance(row, ClassesRow):
        sign = -1.0 if row.exists else 1.0
        return math.inf if row.log10_K is None else sign * row.log10_K
    d = math.inf if row.d is None else row.d
    return d if row.exists else -d


def drop_redundant(rows: Sequence[Any]) -> list[Any]:
    """Return the rows without those that are unproved and no stronger than a proved one."""
    proved = [row for row in rows if row.proven and getattr(row, "valid", True)]
    best = {row.exists: rank(row) for row in sorted(proved, key=rank, reverse=True)}
    return [r for r in rows if r.proven or rank(r) < best.get(r.exists, math.inf)]


@dataclass(frozen=True)
class CertificateAnswer:
    """The claim of a certificate, and whether it is proved."""

    file: str
    """Name of the file, without its folders."""
    kind: str
    """Method of the proof: `delsarte`, `delsarte-sqrt5` or `three-point` for an upper end, `code`
    for a lower end; `local-optimum` proves that a local optimum is near."""
    d: int
    """Dimension."""
    K: int
    """Number of points."""
    cosine: str
    """Cosine of the claim, a fraction or a+b*sqrt(5). For an upper end: every code of K points in
    R^d has two points with a larger cosine. Otherwise: a code exists that has no such points."""
    strict: bool | None
    """False: the cosine is at least that of the claim. None for a code."""
    upper: float | None
    """Proved upper bound of rho*, the largest one-vs-rest distance: 1 - cosine, rounded up. None
    without one."""
    lower: float | None
    """Proved lower bound of rho*: 1 - cosine of the code, rounded down. None without one."""
    radius: float | None
    """Bound of the distance of a local optimum from the points of the file, up to rotation and
    reflection, Euclidean in the coordinates of the points in contact; the others do not move. None
    for other kinds."""
    status: Literal["proved", "not_proved", "undecided"] = field(metadata=WORD)
    """Result of the check: `proved`; `not_proved`: the claim does not follow from the file;
    `undecided`: the check needs more digits, memory or time than the limits allow."""
    reason: str | None
    """Step that fails, or limit that came first; None if the claim is proved."""

    @property
    def rows(self) -> "tuple[CertificateAnswer, ...]":
        """The answer as its only row."""
        return (self,)

    best = rows


@dataclass(frozen=True)
class BoundsResult(Result):
    """The result of `gnc bounds`."""

    quantity: Quantity = field(metadata=LABEL)
    """Quantity that is bounded."""
    margin: float | None = field(metadata=LABEL)
    """Target of the one-vs-rest distance; None without one."""
    max_cosine: float | None = field(metadata=LABEL)
    """Target of the largest cosine, also that of `arcface_m`; for lines of the coherence. None
    without one."""
    arcface_m: float | None = field(metadata=LABEL)
    """Target of the minimal angle, radians; None without one."""
    probability: float | None = field(metadata=LABEL)
    """Softmax probability of `scale`: 0.9 by default if d, K and a margin were given, else None."""
    outcome: Literal["complete", "time_limit", "interrupted"]
    """Outcome: `complete`; `time_limit`: some linear or semidefinite programs were left out;
    `interrupted`: some pairs were."""
    rows: tuple[BoundRow, ...]
    """Statements of the bounds, one per (d, K) and bound; empty unless d and K were given."""
    best: tuple[BestBounds, ...]
    """Best intervals, one per (d, K); empty unless d and K were given."""
    dimension: DimensionAnswer | None = None
    """Dimensions that a margin needs; None unless K and a margin were given without d."""
    classes: ClassesAnswer | None = None
    """Numbers of points that a margin allows; None unless d and a margin were given without K."""
    certificate: CertificateAnswer | None = field(default=None, metadata=OMITTED_IF_NONE)
    """Claim and status of the file of --verify."""
    local_optimum: CertificateAnswer | None = field(default=None, metadata=OMITTED_IF_NONE)
    """Claim and status of `local-optimum.json` in the folder of --verify; None without one."""
    exported: CertificateAnswer | None = field(default=None, metadata=OMITTED_IF_NONE)
    """Claim of the file of --export, often weaker than `best`."""
    best_rows: bool = field(default=False, metadata=NOT_IN_JSON, repr=False, compare=False)
    """True if rows of CSV and JSON lines are those of `best`."""
    lp: bool = field(default=False, metadata=NOT_IN_JSON, repr=False, compare=False)
    """True if the call requested the linear program."""
    silent: int = field(default=0, metadata=NOT_IN_JSON, repr=False, compare=False)
    """Number of pairs for which the requested semidefinite program had no result."""

    command = "bounds"
    csv_head = ("schema", "command", "version", "margin", "max_cosine")

    @property
    def answer(self) -> Union["BoundsResult", DimensionAnswer, ClassesAnswer, CertificateAnswer]:
        """Record with the rows of the question."""
        return self.dimension or self.classes or self.certificate or self

    @property
    def target(self) -> str | None:
        """Target in the user's digits: `largest cosine 0.5`; None without one."""
        words = self._target()
        return None if words is None else f"{words[0]} {words[2]}"

    @property
    def requirement(self) -> str:
        """Target as a property of a code: `largest cosine at most 0.5`."""
        return " ".join(filter(None, self._target() or ()))

    def _target(self) -> tuple[str, str, str] | None:
        """Return the quantity of the target, its relation, and its value."""
        if self.arcface_m is not None:
            degrees = f"{math.degrees(self.arcface_m):.4g} degrees"
            return "minimal angle", "at least", f"{short_decimal(self.arcface_m)} rad ({degrees})"
        if self.max_cosine is not None:
            return self.quantity.noun, "at most", short_decimal(self.max_cosine)
        return None if self.margin is None else ("margin", "", short_decimal(self.margin))

    @property
    def title(self) -> str:
        """Question in words: `d = 10, K = 100, margin 0.6`."""
        if self.certificate is not None:
            return f"certificate {self.certificate.file}"
        if self.dimension is not None:
            return f"dimensions for {self.requirement}"
        if self.classes is not None:
            noun = "lines" if self.quantity is Quantity.LINES else "points"
            return f"numbers of {noun} with {self.requirement}"
        pairs = f"{len(self.best)} pairs of d and K"
        if len(self.best) == 1:
            pairs = f"d = {count(self.best[0].d)}, K = {points(self.best[0].K)}"
        return pairs if self.target is None else f"{pairs}, {self.target}"

    @property
    def messages(self) -> tuple[str, ...]:
        """Warnings about programs that were requested and have no result."""
        if self.outcome == "time_limit":
            return ("the time limit came first: some programs were left out",)
        lines = []
        missing = len(self.best) - sum(row.name == "delsarte-lp" for row in self.rows)
        if self.lp and missing and not self.interrupted:
            lines.append(
                f"the linear program has no result at {missing} of {len(self.best)} pairs: its "
                "limits are d = 1000, K = 10^9 and polynomials of degree 40"
            )
        if self.silent:
            lines.append(
                f"the semidefinite program has no result at {self.silent} of {len(self.best)} "
                "pairs: its degree, 8, is too low for many points"
            )
        return tuple(lines)

    def __repr__(self) -> str:
        """Return the question and its answer; for many pairs, K or d their number."""
        if len(self.answer.best) != 1:
            return f"BoundsResult({self.title})"
        best = self.answer.best[0]
        ends = ("lower", "upper", "sufficient", "necessary", "guaranteed", "excluded")
        names = ("d", "K", *ends, "status")
        values = {name: getattr(best, name, None) for name in names}
        parts = [f"{name}={value!r}" for name, value in values.items() if value is not None]
        target = f", {self.target}" if self.target else ""
        return f"BoundsResult({self.quantity}{target}: {', '.join(parts)})"

    def lines(self) -> list[dict[str, Any]]:
        """Return the rows of the question: bounds, dimensions or numbers of points.

        With `best_rows` one interval per pair, K or d, in place of one row per bound.
        """
        return self._lines(self.answer.best if self.best_rows else self.answer.rows)

    @property
    def line_kinds(self) -> tuple[type, ...]:
        """Records of `lines`."""
        row, best = {
            BoundsResult: (BoundRow, BestBounds),
            DimensionAnswer: (DimensionRow, DimensionBest),
            ClassesAnswer: (ClassesRow, ClassesBest),
            CertificateAnswer: (CertificateAnswer, CertificateAnswer),
        }[type(self.answer)]
        return (best if self.best_rows else row,)

    @classmethod
    def judged_kinds(cls) -> tuple[type, ...]:
        """Return the records of `judged_rows`."""
        return BestBounds, DimensionBest, ClassesBest, CertificateAnswer

    def judged_rows(self) -> list[dict[str, Any]]:
        """Return the intervals of each pair, K or d, for gates and dashboards."""
        return self._lines(self.answer.best)

    def _lines(self, rows: tuple[Any, ...]) -> list[dict[str, Any]]:
        target = {"margin": self.margin, "max_cosine": self.max_cosine}
        head = {key: value for key, value in target.items() if value is not None}
        return [self.first_keys | head | plain(row) for row in rows]


def short_decimal(value: float) -> str:
    """Return the shortest decimal of a number.

    >>> short_decimal(0.3), short_decimal(1.0)
    ('0.3', '1')
    """
    return repr(value).removesuffix(".0")
