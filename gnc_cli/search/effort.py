"""Effort of a search: tasks, restarts and steps that suit d and K.

Effort is counted, never timed, so that the same seed gives the same code on any number of cores.
The counts come from a cost model of one core (nanoseconds per pair and step, measured with float32
kernels). It aims at a quarter of a minute for K <= 60 on the sphere in three dimensions, and at a
minute elsewhere. With a time limit the effort itself has no end.
"""

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gnc_cli.search.problem import Problem


MAX_DENSE = 2896
"""Largest number of points with K x K matrices: 64 MB in float64. Beyond, the search is one blocked
descent."""

MAX_UNKNOWNS = 5000
"""Largest number of tangent coordinates of a polish: its normal matrix is dense, 200 MB at this
size."""

_DENSE_WELCH_FACTOR, _BLOCKED_WELCH_FACTOR = 1.45, 1.75
"""Ratio of the largest cosine to Welch's bound below which descents seldom end: for K up to
`MAX_DENSE`, and beyond, where the one blocked descent ends farther from the bound."""
_MIN_ROWS_PER_DIMENSION = 10
"""Number of rows per dimension up to which descents go below Welch's bound for lines: the sizes of
networks."""
_MAX_DESCENT_WORK = 2e10
"""Largest K^2 d with which minutes are enough for a descent: a step takes seconds beyond."""
UNLIMITED_COUNT = 10**9
"""Number of tasks, or of starts, of a search that something else ends."""

_SECONDS = {"small": 14.0, "sphere": 70.0, "other": 60.0}
"""Budgets of the cost model, in seconds: d = 3 up to K = 60, d = 3 beyond, everything else."""
_TASK_SECONDS = 2.0
"""Length of a task, where its parts allow it: rounds of eight tasks keep two cores busy."""
_LONG_SECONDS, _MAX_LONG_STEPS = 40.0, 12_000
"""Largest length of a long descent: in seconds without a time limit, in steps always. Longer ones
end no lower."""
_PER_PAIR, _PER_PAIR_AND_DIMENSION, _PER_STEP = 3.0e-9, 2.0e-10, 4e-4
"""Seconds of a step with torch: per pair, per pair and dimension, and of the call."""
_SPHERE_PAIRS, _OTHER_PAIRS = 1_000_000, 80_000
"""Largest number of pairs (R * K * K) in one batch of torch, for d = 3 and for others. Above three
dimensions few long descents that stay in cache are better than many short ones: at (10, 100), 16 of
2400 steps take half the time of 64 of 600 and end 0.002 lower in the median."""
_SPHERE_STEPS, _OTHER_STEPS = 600, 2400
"""Steps of a descent with torch, for d = 3 and for others."""
_BATCH_STEPS, _BATCH_SECONDS = 2000, 1.0
"""Steps of a descent without torch, and rough seconds of one batch of them."""
_MIN_FULL_COORDINATES = 60
"""Number of coordinates from which a search gets its whole budget: fewer have few local optima."""
_MAX_SHAKES = 40
"""Largest number of polishes in a shaking task, where a polish takes almost no time."""
_HITS = 8
"""Number of independent tasks that end in the best value after which it is taken for the best."""
_MAX_POLISH_SHARE = 0.03
"""Largest share of a time limit for one polish: beyond, only the last ones are made."""


@dataclass(frozen=True)
class Effort:
    """The plan of one search."""

    tasks: int
    """Number of tasks of the search."""
    batch: int
    """Number of descents in a task."""
    steps: int
    """Number of gradient steps of a descent from a random start; others take a part."""
    starts: int
    """The user's number of starts, with those of earlier calls with the same seed."""
    fixed_count: bool
    """True if the user gives the number of starts, which nothing changes then."""
    polishes: int
    """Number of candidates of a task that are polished; 0 where a polish is expensive, and has a
    task of its own."""
    shakes: int
    """Number of polishes in a shaking task; 0 where a polish exceeds its share of the time limit,
    and the last ones are the only polishes."""
    patience: int
    """Number of tasks without a better value after which the search ends."""
    hits: int
    """Number of independent tasks that end in the best value after which the search ends."""
    seconds: float
    """Time of a task on one core, roughly."""


def plan_effort(
    problem: "Problem", restarts: int | None = None, seconds: float | None = None
) -> Effort:
    """Plan a search.

    Args:
        problem: over its parametrisation, on its device.
        restarts: the user's number of starts; None for one that suits the problem.
        seconds: the user's time limit, which takes the place of the planned effort.
    """
    from gnc_cli.search.descent import MEAN_LENGTH, step_seconds  # with NumPy

    d, K, coordinates = problem.d, problem.K, problem.coordinates
    pairs = problem.pair_rows * K
    batch = batch_size(d, pairs)
    steps = _SPHERE_STEPS if d == 3 else _OTHER_STEPS
    per_step = _PER_STEP + batch * pairs * (_PER_PAIR + d * _PER_PAIR_AND_DIMENSION)
    polish = polish_seconds(coordinates) if coordinates <= MAX_UNKNOWNS else 0.0
    shakes = max(2, min(_MAX_SHAKES, int(_TASK_SECONDS / polish))) if polish else 0
    if polish_exceeds_budget(coordinates, seconds):
        shakes = 0  # estimates choose, and the last polish is enough
    polishes = 4 if shakes == _MAX_SHAKES else 0
    per_task = 0.6 * steps * per_step + (polishes + shakes) / 4 * polish
    if is_long(problem):
        batch, one = 1, step_seconds(d, K, K)
        timed_steps = math.inf if seconds is not None else _LONG_SECONDS / one
        steps = int(min(_MAX_LONG_STEPS, timed_steps))
        per_task = steps * one
    elif is_plain(problem):
        rows, steps = problem.parametrisation.unknown, _BATCH_STEPS
        one = step_seconds(d, rows, K, 1000) / 1000
        batch = max(4, min(64, round(_BATCH_SECONDS / (MEAN_LENGTH * steps * one))))
        per_task = MEAN_LENGTH * steps * step_seconds(d, rows, K, batch)
        per_task += (polishes + shakes) / 4 * polish
    plan = Effort(
        tasks=UNLIMITED_COUNT,
        batch=batch,
        steps=steps,
        starts=UNLIMITED_COUNT,
        fixed_count=restarts is not None,
        polishes=polishes,
        shakes=shakes,
        patience=UNLIMITED_COUNT,
        hits=_HITS,
        seconds=per_task,
    )
    if restarts is not None:
        return replace(plan, starts=restarts, hits=UNLIMITED_COUNT)
    if seconds is not None:
        return replace(plan, hits=5 * _HITS)
    kind = "other" if d != 3 else "small" if K <= 60 else "sphere"
    # Few unknowns have few local optima: one turn through all sources finds them.
    budget = _SECONDS[kind] * min(1.0, coordinates / _MIN_FULL_COORDINATES)
    tasks = max(3 if is_long(problem) else 2, min(400, round(budget / per_task)))
    return replace(
        plan,
        tasks=tasks,
        patience=24 if coordinates <= _MIN_FULL_COORDINATES else max(48, tasks // 2),
    )


def is_plain(problem: "Problem") -> bool:
    """Return whether descents are made without torch: on the CPU, where no rows are given."""
    plain = not (problem.relative or problem.parametrisation.num_fixed)
    return plain and problem.device == "cpu"


def is_long(problem: "Problem") -> bool:
    """Return whether descents are long: of unknown rows alone, too many to polish."""
    plain = is_plain(problem) and problem.parametrisation.is_free
    return plain and problem.d > 3 and problem.coordinates > MAX_UNKNOWNS


def polish_exceeds_budget(coordinates: int, seconds: float | None) -> bool:
    """Return whether a polish takes more than a small share of the time limit, if there is one."""
    return seconds is not None and polish_seconds(coordinates) > _MAX_POLISH_SHARE * seconds


def beyond_descents(d: int, K: int, cosine: float) -> bool:
    """Return whether no descent of minutes is likely to improve a code of this largest cosine."""
    from gnc_cli.geometry.gram import welch  # numpy is not for `gnc --help`

    factor = _BLOCKED_WELCH_FACTOR if K > MAX_DENSE else _DENSE_WELCH_FACTOR
    close = K > _MIN_ROWS_PER_DIMENSION * d and cosine <= factor * welch(d, K)
    return (close and K * d > MAX_UNKNOWNS) or float(K) * K * d > _MAX_DESCENT_WORK


def batch_size(d: int, pairs: int) -> int:
    """Return the number of descents in a task, by the pairs of rows of each."""
    return max(4, min(64, (_SPHERE_PAIRS if d == 3 else _OTHER_PAIRS) // pairs))


def polish_seconds(coordinates: int) -> float:
    """Estimate the seconds of a polish on one core: 60 steps with a Cholesky factorisation each."""
    return 60 * (3e-4 + 1.5e-8 * coordinates**2 + coordinates**3 / 1e11)
