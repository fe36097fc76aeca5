"""How much to search: tasks, restarts and steps that suit d and K.

Effort is counted, never timed, so that the same seed gives the same code on any number of cores.
The counts come from a cost model of one core (nanoseconds per pair and step, measured with float32
kernels), aimed at about a quarter of a minute for K <= 60 on the sphere in three dimensions and
a minute elsewhere; with a time limit the effort itself has no end.
"""

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gnc_cli.search.problem import Problem


LARGE = 2896
"""Beyond, a K x K matrix of float64 would pass 64 MB, and the search is one blocked descent."""

MAX_UNKNOWNS = 5000
"""Most tangent coordinates of a polish: its normal matrix is dense, 200 MB at this size."""

_NEAR = {False: 1.45, True: 1.75}
"""Descents seldom come nearer to Welch's bound than this factor; those of more than `LARGE`
points (True) stay farther away from it."""
_NETWORKS = 10
"""Up to so many times d rows, the sizes of networks, descents go below Welch's bound for lines."""
_MOST_WORK = 2e10
"""K^2 d beyond which a descent of minutes only makes a beginning: a step takes seconds."""
UNLIMITED = 10**9
"""Tasks of a search that only a time limit ends."""

_SECONDS = {"small": 14.0, "sphere": 70.0, "other": 60.0}
"""Budgets of the cost model: d = 3 up to K = 60, d = 3 beyond, everything else."""
_TASK_SECONDS = 2.0
"""Length of a task, where its parts allow it: rounds of eight tasks keep two cores busy."""
_LONG_SECONDS, _MOST_LONG_STEPS = 40.0, 12_000
"""Length of a long descent, at most: without a time limit, and with one. Longer ones end no lower.
"""
_PER_PAIR = 3.0e-9
_PER_PAIR_AND_DIMENSION = 2.0e-10
_PER_STEP = 4e-4
_BATCH_PAIRS = {True: 1_000_000, False: 80_000}
"""Pairs (R * K * K) in one batch of torch, for d = 3 and beyond. Above three dimensions few long
descents that stay in cache beat many short ones: (10, 100), 16 of 2400 steps against 64 of 600,
take half the time and end 0.002 lower in the median."""
_STEPS = {True: 600, False: 2400}
_PLAIN_STEPS, _PLAIN_SECONDS = 2000, 1.0
"""Steps of a descent without torch, and seconds of one batch of them, about."""
_MANY = 60
"""A search over fewer coordinates gets a part of its budget."""
_MOST_SHAKES = 40
_HITS = 8
_WORTH_POLISHING = 0.03
"""Where a polish takes more than this share of a time limit, only the last ones are made."""


@dataclass(frozen=True)
class Effort:
    """The plan of one search."""

    tasks: int
    """Tasks in all."""
    batch: int
    """Descents in a task."""
    steps: int
    """Gradient steps of a descent from a random start; others take a part."""
    counted: bool
    """The user gives the number of starts, which nothing shortens or adds to."""
    polishes: int
    """Candidates of a task that are polished; 0 where a polish is dear, and a task of its own."""
    shakes: int
    """Direct polishes of jittered leaders in a shaking task; 0 where a polish costs too much, and
    then the last ones are the only polishes."""
    patience: int
    """Tasks without a better value after which the search ends."""
    hits: int
    """Independent tasks that end in the best value, after which the search ends."""
    seconds: float
    """What a task takes on one core, roughly."""


def plan_effort(
    problem: "Problem", restarts: int | None = None, seconds: float | None = None
) -> Effort:
    """Plan a search.

    Args:
        restarts: descents in all, where the user fixes them.
        seconds: the user's time limit, which takes the place of the planned effort.
    """
    from gnc_cli.search.descent import WHOLE, step_seconds  # with NumPy

    d, K, coordinates = problem.d, problem.K, problem.coordinates
    pairs = problem.pair_rows * K
    batch = batch_size(d, pairs)
    steps = _STEPS[d == 3]
    per_step = _PER_STEP + batch * pairs * (_PER_PAIR + d * _PER_PAIR_AND_DIMENSION)
    polish = polish_seconds(coordinates) if coordinates <= MAX_UNKNOWNS else 0.0
    shakes = max(2, min(_MOST_SHAKES, int(_TASK_SECONDS / polish))) if polish else 0
    if polish_is_dear(coordinates, seconds):
        shakes = 0  # estimates choose, and the last polish is enough
    polishes = 4 if shakes == _MOST_SHAKES else 0
    per_task = 0.6 * steps * per_step + (polishes + shakes) / 4 * polish
    if is_long(problem):
        batch, one = 1, step_seconds(d, K, K)
        most = math.inf if seconds is not None else _LONG_SECONDS / one
        steps = int(min(_MOST_LONG_STEPS, most))
        per_task = steps * one
    elif is_plain(problem):
        rows, steps = problem.parametrisation.unknown, _PLAIN_STEPS
        one = step_seconds(d, rows, K, 1000) / 1000
        batch = max(4, min(64, round(_PLAIN_SECONDS / (WHOLE * steps * one))))
        per_task = WHOLE * steps * step_seconds(d, rows, K, batch)
        per_task += (polishes + shakes) / 4 * polish
    counted = restarts is not None
    plan = Effort(UNLIMITED, batch, steps, counted, polishes, shakes, UNLIMITED, _HITS, per_task)
    if restarts is not None:
        batch = max(1, min(batch, restarts))
        tasks = -(-restarts // batch)
        return replace(plan, tasks=tasks, batch=batch, hits=UNLIMITED)
    if seconds is not None:
        return replace(plan, hits=5 * _HITS)
    kind = "other" if d != 3 else "small" if K <= 60 else "sphere"
    # Few unknowns have few local optima: one turn through all sources finds them.
    budget = _SECONDS[kind] * min(1.0, coordinates / _MANY)
    least = 3 if is_long(problem) else 2
    tasks = max(least, min(400, round(budget / per_task)))
    return replace(plan, tasks=tasks, patience=24 if coordinates <= _MANY else max(48, tasks // 2))


def is_plain(problem: "Problem") -> bool:
    """Return whether descents are made without torch: on the CPU, where no rows are given."""
    plain = not (problem.relative or problem.parametrisation.num_fixed)
    return plain and problem.device == "cpu"


def is_long(problem: "Problem") -> bool:
    """Return whether descents are long: of unknown rows alone, too many to polish."""
    plain = is_plain(problem) and problem.parametrisation.is_free
    return plain and problem.d > 3 and problem.coordinates > MAX_UNKNOWNS


def polish_is_dear(coordinates: int, seconds: float | None) -> bool:
    """Whether a polish takes more than a small share of the time limit, where there is one."""
    return seconds is not None and polish_seconds(coordinates) > _WORTH_POLISHING * seconds


def beyond_descents(d: int, K: int, cosine: float) -> bool:
    """No descent of a few minutes is likely to do better than a code of this largest cosine."""
    from gnc_cli.geometry.gram import welch  # numpy is not for `gnc --help`

    near = K > _NETWORKS * d and cosine <= _NEAR[K > LARGE] * welch(d, K)
    return (near and K * d > MAX_UNKNOWNS) or float(K) * K * d > _MOST_WORK


def batch_size(d: int, pairs: int) -> int:
    """Descents of a task, by the pairs of rows that each works through."""
    return max(4, min(64, _BATCH_PAIRS[d == 3] // pairs))


def polish_seconds(coordinates: int) -> float:
    """What a polish takes on one core, roughly: 60 steps, each with a Cholesky factorisation."""
    return 60 * (3e-4 + 1.5e-8 * coordinates**2 + coordinates**3 / 1e11)
