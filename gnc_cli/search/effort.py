"""How much to search by default: rounds, restarts and steps that suit d and K.

Effort is counted, never timed, so that the same seed gives the same code. The counts come from a
cost model of one core (nanoseconds per pair and step, measured with float32 kernels), aimed at
about a quarter of a minute for K <= 60 on the sphere in three dimensions and three quarters of a
minute elsewhere.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gnc_cli.search.problem import Problem

LARGE = 2896
"""Beyond, a K x K matrix of float64 would pass 64 MB, and the search is one blocked descent."""

MAX_UNKNOWNS = 5000
"""Most tangent coordinates of a polish: its normal matrix is dense, 200 MB at this size."""

_SECONDS = {"small": 14.0, "sphere": 70.0, "other": 34.0}
"""Budgets of the cost model: d = 3 up to K = 60, d = 3 beyond, everything else."""
_PER_PAIR = 3.0e-9
_PER_PAIR_AND_DIMENSION = 2.0e-10
_PER_STEP = 6e-4
_BATCH_PAIRS = {True: 1_000_000, False: 160_000}
"""Pairs (R * K * K) in one batch, for d = 3 and beyond. Above three dimensions few long descents
that stay in cache beat many short ones: (10, 100), 16 of 2400 steps against 64 of 600, take half
the time and end 0.002 lower in the median."""
_STEPS = {True: 600, False: 2400}
_MOST_SHAKES = 40
_MIXED = ("fresh", "symmetric", "shake", "hop", "symmetric", "shake", "hop", "shake")
_HOPPING = (
    "fresh", "symmetric", "hop", "hop", "shake", "hop", "hop", "hop", "shake", "hop",
)  # fmt: skip
"""Kinds of the rounds in turn: a mixture where a polish is cheap; where it is dear, mostly hops,
which find the better codes of (10, 100) in a third of the time of a shake or a symmetric round."""


@dataclass(frozen=True)
class Effort:
    """The plan of one search."""

    rounds: int
    """Batches of descents."""
    batch: int
    """Descents in a batch of unsymmetric ones."""
    steps: int
    """Gradient steps of a fresh descent; perturbed ones take two thirds."""
    polishes: int
    """Candidates of a round that are polished."""
    patience: int
    """Rounds without a better value after which the search ends."""
    shakes: int
    """Direct polishes of jittered leaders in a shaking round; 0 where a polish costs too much."""
    kinds: tuple[str, ...] = _MIXED
    """Kinds of the rounds of an unrestricted search, in turn."""


def plan_effort(
    problem: "Problem", restarts: int | None = None, steps: int | None = None
) -> Effort:
    """Plan a search; the user may fix `restarts` (descents in all) and `steps` (of a descent)."""
    d, K, coordinates = problem.d, problem.K, problem.coordinates
    pairs = problem.pair_rows * K
    batch = max(4, min(64, _BATCH_PAIRS[d == 3] // pairs))
    steps = steps or _STEPS[d == 3]
    polishes = 4 if coordinates <= 500 else 2 if coordinates <= 1500 else 1
    shakes = max(3, int(min(_MOST_SHAKES, _MOST_SHAKES * (300 / coordinates) ** 1.5)))
    kinds = _MIXED if d == 3 or shakes == _MOST_SHAKES else _HOPPING
    if restarts is not None:
        batch = max(1, min(batch, restarts))
        rounds = -(-restarts // batch)
    else:
        per_step = _PER_STEP + batch * pairs * (_PER_PAIR + d * _PER_PAIR_AND_DIMENSION)
        polish = 60 * (3e-4 + 1.5e-8 * coordinates**2 + coordinates**3 / 1e11)
        polish = polish if coordinates <= MAX_UNKNOWNS else 0.0
        kind = "other" if d != 3 else "small" if K <= 60 else "sphere"
        per_round = 0.5 * steps * per_step + (polishes + shakes) / 2 * polish
        if kinds == _HOPPING:  # one round in five shakes, and many a polish is given up early
            per_round = 0.6 * (steps * per_step + (0.8 * polishes + 0.2 * shakes) * polish)
        rounds = max(1, min(60, round(_SECONDS[kind] / per_round)))
    # Few unknowns have few basins: one or two turns through all kinds of rounds see them.
    patience = rounds if restarts is not None else 8 if coordinates <= 60 else max(16, rounds // 2)
    return Effort(rounds, batch, steps, polishes, patience, shakes, kinds)
