"""Results of `gnc solve`: codes, sweeps, and the list of constructions."""

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

from pydantic import computed_field

from gnc_cli.brackets import Bracket
from gnc_cli.errors import UsageError
from gnc_cli.known_codes.best import BestKnown
from gnc_cli.known_codes.verdict import ComparisonStatus
from gnc_cli.metrics.gnc2 import Rattlers
from gnc_cli.records import (
    HIGHER,
    LABEL,
    LOWER,
    NOT_IN_JSON,
    OMITTED_IF_NONE,
    QUESTION,
    SPREAD,
    WORD,
    Result,
)
from gnc_cli.search.effort import MAX_DENSE, beyond_descents

if TYPE_CHECKING:
    import numpy as np

    from gnc_cli.geometry.second_order import SecondOrder

TITLES = {
    "softmax": "Softmax Code",
    "tammes": "Tammes code",
    "ufm": "UFM optimum",
    "lines": "Lines",
}


class Outcome(Enum):
    """Ending of a solve, with its own advice.

    `converged`: the first-order conditions hold to the printed residual; `local_minimum` says what
    is known of those of second order. `local_optimum`: the same, but a better value for (d, K) is
    proved. `saddle`: the same, but codes nearby are better.
    """

    CONVERGED = "converged"
    LOCAL_OPTIMUM = "local_optimum"
    SADDLE = "saddle"
    CLOSED_FORM = "closed_form"
    CONSTRUCTED = "constructed"
    STORED = "stored"
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
    Outcome.CONVERGED: "stationary to the digits printed; more --restarts may find better",
    Outcome.LOCAL_OPTIMUM: "a better value is proved; raise --restarts or try another --seed",
    Outcome.SADDLE: "codes nearby are better; raise --restarts or --time-limit",
    Outcome.CLOSED_FORM: "optimal by theorem; nothing to improve",
    Outcome.CONSTRUCTED: "algebraic construction; --method descent searches for better",
    Outcome.STORED: "read from coordinates that gnc ships; --method descent searches for better",
    Outcome.MAX_STEPS_REACHED: "not yet stationary; raise --steps",
    Outcome.STALLED: "not quite stationary; try another --seed or more --restarts",
    Outcome.TIME_LIMIT: "raise --time-limit, or write --out FILE.h5 and continue with --resume",
    Outcome.TARGET_REACHED: "the target is met; drop --target to search on",
    Outcome.TARGET_MISSED: "the target was not reached; raise --restarts or --time-limit",
    Outcome.INTERRUPTED: "--out FILE.h5 keeps the best so far, and --resume continues",
    Outcome.NONFINITE: "numbers overflowed; the last good code is kept; try another --seed",
}
"""Next step for each outcome; the options of the command are arguments of `solve` too."""


@dataclass(frozen=True, kw_only=True)
class Course:
    """Origin and effort of a code: the fields of `SolveResult` that each route fills in."""

    origin: str
    outcome: Outcome
    searched: bool = True
    stationarity: float | None = None
    first_order_gain: float | None = None
    second: "SecondOrder | None" = None
    """Second-order test for a local minimum; None where it was not made."""
    restarts: int = 0
    batches: int = 0
    hits: int | None = 0
    steps: int = 0
    history: "np.ndarray | None" = field(default=None, repr=False)
    """Step and best value of the search so far, shape (T, 2)."""


@dataclass(frozen=True)
class Margins:
    """The largest margins that losses on the sphere can satisfy for every class at once."""

    cosface: float
    """Additive cosine margin with features at their best: the certified lower end of rho."""
    arcface_rad: float
    """Additive angle: the minimal angle between two weights, radians. Features on their weights
    attain it."""


@dataclass(frozen=True)
class UfmMeasures:
    """Collapse of W and H, which the unconstrained feature model adds."""

    tau: float = field(metadata=LABEL | QUESTION)
    """Temperature: logits are products / tau."""
    weight_decay: float | None = field(metadata=QUESTION)
    """lambda of equation B.1; None on the sphere (equation 2)."""
    n: int = field(metadata=QUESTION)
    """Samples per class."""
    gnc1: float | None = field(metadata=LOWER)
    """Variability of the optimal features within classes; 0 at collapse. None for n = 1: a single
    sample does not vary."""
    gnc2: Bracket = field(metadata=HIGHER)
    """Smallest one-vs-rest distance of the unit rows of W."""
    gnc3: float = field(metadata=LOWER)
    """Distance from self-duality, mean (1 - <w_k, class_mean_k>); 0 at collapse."""
    hardmax_gap: Bracket | None = field(metadata=LOWER)
    """Distance of the cross-entropy optimum from HardMax's: tau * log(total loss) + rho*, by the
    proved interval of rho*(d, K). None with weight decay."""


@dataclass(frozen=True)
class Optimum:
    """Largest possible distance of a code from the best possible one."""

    upper: float
    """Proved: no code of (d, K) has a larger one-vs-rest distance, or a larger 1 - max_cosine; no K
    lines have a larger 1 - coherence."""
    shortfall: float = field(metadata=LOWER)
    """Share of `upper` that is missing at most."""
    proved: bool
    """The code reaches `upper` to an absolute 1e-9."""
    name: str
    """Name of the bound that gives `upper`, as in `gnc bounds`."""
    source: str
    """The theorem or paper behind it."""


@dataclass(frozen=True)
class Start:
    """The code that was known when a search began, and what the search added."""

    origin: str
    """Origin as in the result: `construction: ...` or `stored code: ...`."""
    distance: float = field(metadata=HIGHER)
    """Certified one-vs-rest distance of that code; of a Tammes code 1 - max_cosine."""
    gain: float = field(metadata=HIGHER)
    """Increase of this distance by the search; 0 where it found no better code."""


@dataclass(frozen=True)
class SolveResult(Result):
    """A code with its certificate: the result of `gnc solve`."""

    problem: str = field(metadata=LABEL | QUESTION)
    """`softmax`, `tammes`, `ufm` or `lines`."""
    d: int = field(metadata=LABEL | QUESTION)
    K: int = field(metadata=LABEL | QUESTION)
    origin: str
    """Source of the code: `closed form: ...`, `construction: ...`, `stored code: ...` (shipped, not
    searched for), `descent` (from random points), `descent from ...` (orbits of a group, points of
    a construction), `large-scale descent`."""
    outcome: Outcome = field(metadata=WORD)
    """Ending of the solve; with a target, whether that was reached."""
    max_cosine: float | None = field(metadata=LOWER)
    """Largest cosine of two rows; None, like all values that follow from it, where the search
    of a large code was stopped before every pair of rows was compared, and for lines, whose rows
    have no sign."""
    min_angle_deg: float | None = field(metadata=HIGHER)
    """The minimal angle between two rows, or between two lines, in degrees."""
    rho_one_vs_one: float | None = field(metadata=HIGHER)
    """The smallest distance between two rows, at most 2."""
    rho_one_vs_rest: Bracket | None = field(metadata=HIGHER)
    """Smallest distance of a row from the convex hull of the others, certified."""
    rattlers: Rattlers | None = field(metadata=LOWER)
    """Number of rows that are free to move."""
    contacts: int | None
    """Pairs at the smallest distance, within the rattler tolerance."""
    stationarity: float | None = field(metadata=LOWER)
    """Largest absolute residual of the first-order (KKT) equations."""
    first_order_gain: float | None = field(metadata=LOWER)
    """The largest first-order increase of the objective over moves of bounded size. It is the
    optimum of a linear program, 0 exactly at KKT points. None or NaN, null in JSON, where not
    solved."""
    local_minimum: str | None
    """`yes`: no code nearby is better, by second-order sufficient conditions or since the value is
    proved optimal. `no`: some codes nearby, of whatever symmetry, are better, as at a saddle.
    `undecided`: neither was shown. Rotations and rattlers do not count. None where not examined."""
    local_minimum_reason: str | None
    """Reason for `local_minimum`, or why it is undecided."""
    margins: Margins | None = field(metadata=HIGHER)
    """The largest margins that losses on the sphere can satisfy with this classifier."""
    best_known: BestKnown | None
    """The best known code of (d, K), or a larger code that contains one of this size; None where
    there is none."""
    status: ComparisonStatus | None = field(metadata=WORD)
    """Comparison with `best_known`, as in `compare`: a Tammes code by its largest cosine, a Softmax
    Code by its distance. None for a feature model."""
    gap: float | None = field(metadata=LOWER)
    """max_cosine - best_known: negative is better. It is 0 within the rounding of best_known below
    it. Of lines the coherence counts in place of max_cosine. Of a Softmax Code
    1 - rho_one_vs_rest.lower counts where that is less than max_cosine."""
    optimum: Optimum | None
    """Largest possible distance from the best possible code; None where no bound applies."""
    verdict: str | None
    """Quality of the code in a sentence: compared with the best known and the best possible one."""
    start: Start | None
    """The best code that gnc has without a search, which the search tried to improve; None without
    a search, where gnc has none, and where a method, a start or fixed rows were requested."""
    seed: int
    """Seed of the search."""
    restarts: int = field(metadata=LOWER)
    """Number of starts of the search, including those that `--fixed` adds; 0 without a search."""
    batches: int
    """Number of independent batches of starts, each of which may have found the code."""
    hits: int | None
    """Number of batches that ended in this value, polished; None if the code came from the best
    codes so far, or if polishing takes too long."""
    steps: int = field(metadata=LOWER)
    """Number of gradient steps. A batch of starts that descends together counts its steps once;
    with `ufm` those of the polish count too."""
    out: str | None
    """File that holds the code; None where none was written."""
    weights: Any = field(metadata=NOT_IN_JSON, repr=False, compare=False)
    """The code, rows of unit norm, shape (K, d), float64; of a construction too large to hold, an
    object with `shape`, `unit(start, stop)` and `numpy.asarray`."""
    features: Any = field(metadata=NOT_IN_JSON, repr=False, compare=False)
    """The optimal features, one row per class, shape (K, d); None where not computed, or where time
    was up before the bracket of each class closed."""
    undecided: tuple[str, ...] = ()
    """Keys of values that the time limit left undecided: gates on them end with exit code 4."""
    coherence: float | None = field(default=None, metadata=OMITTED_IF_NONE | LOWER)
    """Largest absolute cosine of two rows, which `lines` minimises; None for other problems."""
    ufm: UfmMeasures | None = field(default=None, metadata=SPREAD, repr=False)
    """Measures of the feature model, whose fields are printed among the others; None for others."""
    ending: Outcome | None = field(default=None, metadata=OMITTED_IF_NONE)
    """Ending of the search itself; None without a target."""
    searched: bool = field(default=True, metadata=NOT_IN_JSON, repr=False)
    """True if a search found the code, not a theorem, a construction or a stored file; never
    printed."""
    extras: dict[str, Any] = field(
        default_factory=dict, metadata=NOT_IN_JSON, repr=False, compare=False
    )
    """Arrays for plots (`history`, `one_vs_rest`, ...); never printed."""

    command = "solve"

    def __repr__(self) -> str:
        """Return the size, the certified distance and the verdict."""
        rho, quality = self.rho_one_vs_rest, self.verdict or self.outcome.value
        ends = "" if rho is None else f", rho_one_vs_rest in [{rho.lower!r}, {rho.upper!r}]"
        if self.coherence is not None:
            ends = f", coherence={self.coherence!r}"
        return f"SolveResult(d={self.d}, K={self.K}{ends}: {quality})"

    @property
    def distance(self) -> float:
        """Value that the problem maximises.

        It is the certified one-vs-rest distance of a Softmax Code, 1 - max_cosine of a Tammes code,
        1 - coherence of lines; NaN where not every pair was compared.
        """
        if self.coherence is not None:
            return 1.0 - self.coherence
        if self.rho_one_vs_rest is None or self.max_cosine is None:
            return float("nan")
        softmax = self.problem == "softmax"
        return self.rho_one_vs_rest.lower if softmax else 1.0 - self.max_cosine

    @computed_field  # type: ignore[prop-decorator]
    @property
    def advice(self) -> str:
        """One sentence: what the user may do next."""
        end = self.outcome
        if end is Outcome.TARGET_MISSED:
            end = self.ending or end
        is_final = end in (Outcome.CONVERGED, Outcome.CONSTRUCTED, Outcome.STORED)
        if is_final and self.optimum is not None and self.optimum.proved:
            return "nothing to improve"
        is_unbeaten = self.K > MAX_DENSE and beyond_descents(self.d, self.K, self.max_cosine or 0.0)
        if end is Outcome.CONSTRUCTED and is_unbeaten:
            return "algebraic construction; a descent of minutes ends far behind"
        advice, hits = end.advice, self.hits or 0
        stopped = end in (Outcome.TIME_LIMIT, Outcome.INTERRUPTED)
        if stopped and str(self.out).lower().endswith((".h5", ".hdf5")):
            advice = "continue with --resume"
        if end not in (Outcome.CONVERGED, Outcome.TIME_LIMIT) or hits < 2:
            return advice
        if hits > 7:
            advice = "a better code is unlikely"
        elif end is Outcome.CONVERGED:
            advice = "more --restarts may find better"
        return f"{hits} of {self.batches} independent batches of starts found this code; {advice}"


@dataclass(frozen=True)
class SolveSweep(Result):
    """Several solves that differ in one parameter (`--tau 1..0.001/13`)."""

    problem: str = field(metadata=LABEL | QUESTION)
    """`ufm`, the only problem that has several temperatures."""
    d: int = field(metadata=LABEL | QUESTION)
    """Dimension."""
    K: int = field(metadata=LABEL | QUESTION)
    """Number of classes."""
    rows: tuple[SolveResult, ...]
    """One result per temperature, in the order given."""
    out: str | None
    """File that holds the code of the last temperature; None where none was written."""
    single: bool = field(default=False, metadata=NOT_IN_JSON)
    """True if there was one temperature, or none: the command prints the only row."""

    command = "solve"


@dataclass(frozen=True)
class ConstructionRow:
    """A construction: a code, or a family of codes."""

    name: str = field(metadata=LABEL)
    """Value of `--construction`; a family shows its parameter as a letter."""
    title: str
    """Description in words; of a family with the range of its parameter."""
    d: str = field(metadata=LABEL | QUESTION)
    """Dimension, a number or the formula of a family; likewise K and max_cosine."""
    K: str = field(metadata=LABEL | QUESTION)
    max_cosine: str
    """Exact largest cosine, as a formula."""
    proven: bool | None
    """True if it is proved optimal for the Tammes problem; None for a family."""
    reference: str
    """Paper or book that describes the construction."""
    optimality: str | None = None
    """Source of the proof of its optimality; None without one, and for a family."""


@dataclass(frozen=True)
class ConstructionList(Result):
    """Result of `gnc solve --list-constructions`."""

    rows: tuple[ConstructionRow, ...]
    """One row per code, by d and K, then one per family."""

    command = "solve"

    def plot(self, path: Any) -> None:
        """Refuse: a list has no plot.

        Raises:
            UsageError: always.
        """
        raise UsageError("a list of constructions has no plot; draw the result of one: solve()")
