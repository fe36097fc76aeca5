"""Results of `gnc bounds`: what is possible for (d, K), which d a margin needs, how many K fit."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Union

from gnc_cli.brackets import Bracket
from gnc_cli.figures import count, points
from gnc_cli.known_codes.best import BestKnown
from gnc_cli.limits.limit import Ending, Quantity
from gnc_cli.plain import plain
from gnc_cli.records import HIDDEN, HIGHER, LABEL, LOWER, OMITTED_IF_NONE, QUESTION, WORD, Result

Side = Literal["lower", "upper"]
Status = Literal["exists", "excluded", "open"]
STATUS = {"exists": "a code exists", "excluded": "no code exists", "open": "open"}
"""What is known of a code with a target, by `BestBounds.status`."""


@dataclass(frozen=True, kw_only=True)
class _Row:
    """What one bound says."""

    d: int | None
    """Dimension."""
    K: int | None
    """Number of points."""
    name: str = field(metadata=LABEL)
    """Name of the bound, such as `rankin`."""
    side: Side = field(metadata=LABEL)
    """Of the optimum that the bound is on: `lower` or `upper`."""
    exists: bool
    """True: such a code exists. False: none does."""
    proven: bool
    """Whether it is proved; a claim or a numerical bound is shown, and never counted."""
    constructive: bool
    """Whether gnc can build such a code: `how` says with which command."""
    bisector: bool
    """Whether the bisector theorem turns a bound on the cosine into this one on the distance, or
    back."""
    source: str
    """The theorem or paper, or the code that shows it."""
    how: str | None
    """The command that builds a code; None where there is none."""


@dataclass(frozen=True, kw_only=True)
class BoundRow(_Row):
    """What one bound says at one (d, K): a code at least this good exists, or none is better."""

    d: int = field(metadata=LABEL | QUESTION)
    """Dimension."""
    K: int = field(metadata=LABEL | QUESTION)
    """Number of points."""
    quantity: Quantity = field(metadata=LABEL)
    """`one-vs-rest`: the value is a distance; `one-vs-one`: the largest cosine of a code; `lines`:
    the coherence of K lines."""
    value: float
    """The bound: a one-vs-rest distance, a largest cosine, or a coherence."""
    angle_deg: float | None
    """The minimum angle of that cosine in degrees; None for one-vs-rest."""
    valid: bool
    """Whether its hypothesis holds at (d, K)."""
    condition: str | None
    """The hypothesis with its numbers."""
    strict: bool
    """Whether the value itself is known not to be attained."""

    @property
    def distance(self) -> float:
        """How far apart points are: the one-vs-rest distance, or the minimal angle in degrees.

        Near 1 cosines hardly differ, their angles do.
        """
        return self.value if self.angle_deg is None else self.angle_deg

    @property
    def margin(self) -> float:
        """The one-vs-rest distance; of a cosine t, 1 - t without its rounding."""
        if self.angle_deg is None:
            return self.value
        return 2.0 * math.sin(math.radians(self.angle_deg) / 2.0) ** 2


@dataclass(frozen=True)
class LargestMargins:
    """What a classifier of K classes can ask of d dimensions, features at their best."""

    share: Bracket | None
    """The margin or angle asked for, divided by the largest possible one. Above 1 it is impossible.
    None where none was asked for."""
    cosface: Bracket = field(metadata=HIGHER)
    """The largest margin that CosFace can satisfy on every class: rho*, the largest one-vs-rest
    distance."""
    arcface_rad: Bracket = field(metadata=HIGHER)
    """The largest margin m that ArcFace can satisfy on every class, radians. It is the largest
    minimal angle, for any features with theta + m <= pi."""
    scale: Bracket | None
    """The smallest scale s = 1/tau at which a code gives every class `probability`. Its ends are
    what every code needs and what is enough for the best code known. None where no probability was
    asked."""
    adacos_scale: float
    """AdaCos' fixed scale sqrt(2) ln(K - 1), to compare with."""
    sufficient: int | None
    """The smallest d where gnc knows a code of K points with the margin to exist. None where it
    knows none, or where several pairs, or no margin, were asked."""
    necessary: int | None
    """The smallest d not excluded for it, 1000001 where none up to a million is; None where the
    margin is impossible in every dimension, or as for `sufficient`."""


@dataclass(frozen=True)
class BestBounds:
    """The best interval of one (d, K)."""

    d: int = field(metadata=LABEL | QUESTION)
    K: int = field(metadata=LABEL | QUESTION)
    quantity: Quantity
    """What is bounded."""
    lower: float
    """Largest valid lower bound on the optimum: of the distance or of the cosine."""
    upper: float
    """Smallest valid upper bound on the optimum."""
    lower_name: str
    """Name of the bound behind `lower`."""
    upper_name: str
    """Name of the bound behind `upper`."""
    lower_deg: float | None
    """One-vs-one: the minimum angle of the best code lies in [lower_deg, upper_deg], degrees."""
    upper_deg: float | None
    """Upper end of that angle, degrees; None for one-vs-rest."""
    exact: bool
    """Whether the ends meet, to a relative 1e-12. The value is then known to 12 digits."""
    best_known: BestKnown | None
    """The best code known, for either quantity."""
    status: Status | None = field(metadata=WORD)
    """With a margin: `exists`, `excluded` or `open`."""
    scale: float | None = field(metadata=LOWER)
    """Scale s = 1/tau that is enough for `probability` at the margin asked for. Without a margin it
    is that of the best code known; None without a probability."""
    margins: LargestMargins | None
    """The same interval in the terms of losses: margins, angles, scales. None for lines, which have
    no signs."""

    @property
    def distances(self) -> tuple[float, float]:
        """The ends of the one-vs-rest distance, or of the minimal angle in degrees."""
        if self.lower_deg is None or self.upper_deg is None:
            return self.lower, self.upper
        return self.lower_deg, self.upper_deg


@dataclass(frozen=True, kw_only=True)
class DimensionRow(_Row):
    """From which d on codes with the margin exist by one bound, or below which d none does."""

    d: int | None
    """With `exists`, a code has the margin from this dimension on; otherwise the smallest dimension
    that is not excluded, 1000001 where none up to a million is. None where the bound names none."""
    K: int
    """Number of points."""
    ending: Ending
    """`found`, `never` (in no dimension, by this bound) or `beyond` (not up to 10^6)."""


@dataclass(frozen=True)
class DimensionBest:
    """For one K."""

    K: int
    sufficient: int | None
    """The smallest d where gnc knows a code with the margin to exist; None where it knows none."""
    necessary: int | None
    """The smallest d not excluded, 1000001 where none up to a million is; None where the margin is
    impossible in every dimension."""


@dataclass(frozen=True)
class DimensionAnswer:
    """The dimensions that a margin needs."""

    rows: tuple[DimensionRow, ...]
    """One per K and bound."""
    best: tuple[DimensionBest, ...]
    """One per K: the interval of dimensions."""
    sufficient: int | None
    """The largest `sufficient` of the rows of `best`: enough for every K asked; None where one is
    missing."""
    necessary: int | None
    """The largest `necessary` of the rows of `best`; None where one is missing."""
    scale: float | None = field(metadata=LOWER)
    """With a probability: the scale s = 1/tau that is enough, for the largest K asked."""


@dataclass(frozen=True, kw_only=True)
class ClassesRow(_Row):
    """Up to which K codes with the margin exist by one bound, or from which K on none does."""

    d: int
    """Dimension."""
    K: int | None
    """Exact; None where it has more than fifteen digits, or the bound says nothing."""
    log10_K: float | None
    """Base-10 logarithm of K; None where the bound says nothing."""


@dataclass(frozen=True)
class ClassesBest:
    """For one d."""

    d: int
    guaranteed: int | None
    """The largest K for which gnc knows a code with the margin; None where it has more than fifteen
    digits, or none is known."""
    log10_guaranteed: float | None
    """Its base-10 logarithm; None where none is known."""
    excluded: int | None
    """The smallest K proved to have none; None where it has more than fifteen digits, or none is
    proved."""
    log10_excluded: float | None
    """Its base-10 logarithm; None where none is proved."""


@dataclass(frozen=True)
class ClassesAnswer:
    """How many points a margin leaves room for."""

    rows: tuple[ClassesRow, ...]
    """One per d and bound."""
    best: tuple[ClassesBest, ...]
    """One per d: what is guaranteed and what is excluded."""
    guaranteed: int | None
    """The largest K guaranteed in every d asked; None as in `best`."""
    log10_guaranteed: float | None
    """Its base-10 logarithm; None where none is known in some d."""
    excluded: int | None
    """The smallest K excluded in some d asked; None as in `best`."""
    log10_excluded: float | None
    """Its base-10 logarithm; None where none is proved."""
    scale: float | None = field(metadata=LOWER)
    """With a probability: the scale s = 1/tau that is enough for the guaranteed K; None
    otherwise."""


def rank(row: BoundRow | DimensionRow | ClassesRow) -> float:
    """Of all that exist, or of all that are excluded, the best is the smallest."""
    if isinstance(row, BoundRow):
        return -row.distance if row.exists else row.distance
    if isinstance(row, ClassesRow):
        sign = -1.0 if row.exists else 1.0
        return math.inf if row.log10_K is None else sign * row.log10_K
    d = math.inf if row.d is None else row.d
    return d if row.exists else -d


def drop_redundant(rows: Sequence[Any]) -> list[Any]:
    """The rows without those that are not proved and say no more than a proved one."""
    held = [row for row in rows if row.proven and getattr(row, "valid", True)]
    best = {row.exists: rank(row) for row in sorted(held, key=rank, reverse=True)}
    return [r for r in rows if r.proven or rank(r) < best.get(r.exists, math.inf)]


@dataclass(frozen=True)
class CertificateAnswer:
    """What a certificate proves."""

    file: str
    """Without the folders before it."""
    kind: str
    """What proves the claim: `delsarte`, `delsarte-sqrt5` or `three-point` of an upper end, `code`
    of a lower one; `local-optimum` proves that one is near."""
    d: int
    """Dimension."""
    K: int
    """Number of points."""
    cosine: str
    """The claim, a fraction or a+b*sqrt(5). Of an upper end: every code of K points in R^d has two
    points with a larger cosine; else: a code exists that has no two."""
    strict: bool | None
    """False: with a cosine of at least that. None of a code."""
    upper: float | None
    """Where it is proved, the same of the largest one-vs-rest distance: rho* is at most this,
    1 - cosine rounded up. None elsewhere."""
    lower: float | None
    """Where a code is proved to exist: rho* is at least this, 1 - cosine rounded down. None
    elsewhere."""
    radius: float | None
    """Of a local optimum: how near it is to the points of the file, up to rotation and reflection,
    in the Euclidean distance of the coordinates of the points in contact; the others stay where
    they are. None elsewhere."""
    status: Literal["proved", "not_proved", "undecided"] = field(metadata=WORD)
    """`proved`; `not_proved`: the claim does not follow from the file; `undecided`: it takes more
    digits, room or time than the limits allow."""
    reason: str | None
    """What fails, or which limit came first; None where it is proved."""

    @property
    def rows(self) -> "tuple[CertificateAnswer, ...]":
        """The answer is one row."""
        return (self,)

    best = rows


@dataclass(frozen=True)
class BoundsResult(Result):
    """What is possible: the result of `gnc bounds`."""

    quantity: Quantity = field(metadata=LABEL)
    """What is bounded."""
    margin: float | None = field(metadata=LABEL)
    """One-vs-rest distance asked for."""
    max_cosine: float | None = field(metadata=LABEL)
    """One-vs-one: largest cosine asked for, also that of `arcface_m`; of lines the coherence."""
    arcface_m: float | None = field(metadata=LABEL)
    """One-vs-one: minimal angle asked for, radians."""
    probability: float | None = field(metadata=LABEL)
    """Softmax probability that `scale` is given for: 0.9 where d, K and a margin were given; None
    where it was not asked."""
    outcome: Literal["complete", "time_limit", "interrupted"]
    """`complete`; `time_limit`: some programmes were left out; `interrupted`: some pairs."""
    rows: tuple[BoundRow, ...]
    """One per (d, K) and bound; empty where a dimension or a number of points was asked for."""
    best: tuple[BestBounds, ...]
    """The best interval of each (d, K); empty likewise."""
    dimension: DimensionAnswer | None = None
    """Which d a margin needs; None unless K and a margin are given without d."""
    classes: ClassesAnswer | None = None
    """How many points can have a margin; None unless d and a margin are given without K."""
    certificate: CertificateAnswer | None = field(default=None, metadata=OMITTED_IF_NONE)
    """What the file of --verify proves."""
    exported: CertificateAnswer | None = field(default=None, metadata=OMITTED_IF_NONE)
    """What the file of --export proves, often less than `best`."""
    best_rows: bool = field(default=False, metadata=HIDDEN, repr=False, compare=False)
    """Whether rows of CSV and JSON lines are those of `best`."""
    lp: bool = field(default=False, metadata=HIDDEN, repr=False, compare=False)
    """Whether the linear programme was asked for."""
    silent: int = field(default=0, metadata=HIDDEN, repr=False, compare=False)
    """For how many pairs the semidefinite programme was asked for and gave nothing."""

    command = "bounds"
    csv_head = ("schema", "command", "version", "margin", "max_cosine")

    @property
    def answer(self) -> Union["BoundsResult", DimensionAnswer, ClassesAnswer, CertificateAnswer]:
        """What holds the rows of the question that was asked."""
        return self.dimension or self.classes or self.certificate or self

    @property
    def target(self) -> str | None:
        """What was asked for, in the user's digits: `largest cosine 0.5`; None for nothing."""
        words = self._target()
        return None if words is None else f"{words[0]} {words[2]}"

    @property
    def requirement(self) -> str:
        """The target as a property of a code: `largest cosine at most 0.5`."""
        return " ".join(filter(None, self._target() or ()))

    def _target(self) -> tuple[str, str, str] | None:
        """What the target is, how it is meant, and its figure."""
        if self.arcface_m is not None:
            degrees = f"{math.degrees(self.arcface_m):.4g} degrees"
            return "minimal angle", "at least", f"{short_decimal(self.arcface_m)} rad ({degrees})"
        if self.max_cosine is not None:
            return self.quantity.noun, "at most", short_decimal(self.max_cosine)
        return None if self.margin is None else ("margin", "", short_decimal(self.margin))

    @property
    def title(self) -> str:
        """What was asked, in words: `d = 10, K = 100, margin 0.6`."""
        if self.certificate is not None:
            return f"certificate {self.certificate.file}"
        if self.dimension is not None:
            return f"dimensions for {self.requirement}"
        if self.classes is not None:
            return f"numbers of points with {self.requirement}"
        pairs = f"{len(self.best)} pairs of d and K"
        if len(self.best) == 1:
            pairs = f"d = {count(self.best[0].d)}, K = {points(self.best[0].K)}"
        return pairs if self.target is None else f"{pairs}, {self.target}"

    @property
    def messages(self) -> tuple[str, ...]:
        """Where a programme was asked for and says nothing."""
        if self.outcome == "time_limit":
            return ("the time limit came first: some programmes were left out",)
        lines = []
        missing = len(self.best) - sum(row.name == "delsarte-lp" for row in self.rows)
        if self.lp and missing and not self.interrupted:
            lines.append(
                f"the linear programme says nothing at {missing} of {len(self.best)} pairs: it "
                "goes up to d = 1000, K = 10^9 and polynomials of degree 40"
            )
        if self.silent:
            lines.append(
                f"the semidefinite programme says nothing at {self.silent} of {len(self.best)} "
                "pairs: it is of degree 8, too low for many points"
            )
        return tuple(lines)

    def __repr__(self) -> str:
        """The question and its answer; of many pairs, K or d their number."""
        if len(self.answer.best) != 1:
            return f"BoundsResult({self.title})"
        best = self.answer.best[0]
        ends = ("lower", "upper", "sufficient", "necessary", "guaranteed", "excluded")
        names = ("d", "K", *ends, "status")
        figures = {name: getattr(best, name, None) for name in names}
        parts = [f"{name}={value!r}" for name, value in figures.items() if value is not None]
        target = f", {self.target}" if self.target else ""
        return f"BoundsResult({self.quantity}{target}: {', '.join(parts)})"

    def lines(self) -> list[dict[str, Any]]:
        """The rows of the question that was asked: bounds, dimensions or numbers of points.

        With `best_rows` one per pair, K or d, with what is known of it, in place of one per bound.
        """
        return self._lines(self.answer.best if self.best_rows else self.answer.rows)

    @property
    def line_kinds(self) -> tuple[type, ...]:
        """The records of `lines`."""
        row, best = {
            BoundsResult: (BoundRow, BestBounds),
            DimensionAnswer: (DimensionRow, DimensionBest),
            ClassesAnswer: (ClassesRow, ClassesBest),
            CertificateAnswer: (CertificateAnswer, CertificateAnswer),
        }[type(self.answer)]
        return (best if self.best_rows else row,)

    @classmethod
    def judged_kinds(cls) -> tuple[type, ...]:
        """The records that `judged_rows` are made of."""
        return BestBounds, DimensionBest, ClassesBest, CertificateAnswer

    def judged_rows(self) -> list[dict[str, Any]]:
        """Gates and dashboards look at what is known of each pair, K or d."""
        return self._lines(self.answer.best)

    def _lines(self, rows: tuple[Any, ...]) -> list[dict[str, Any]]:
        target = {"margin": self.margin, "max_cosine": self.max_cosine}
        head = {key: value for key, value in target.items() if value is not None}
        return [self.first_keys | head | plain(row) for row in rows]


def short_decimal(value: float) -> str:
    """The shortest decimal that is this number.

    >>> short_decimal(0.3), short_decimal(1.0)
    ('0.3', '1')
    """
    return repr(value).removesuffix(".0")
