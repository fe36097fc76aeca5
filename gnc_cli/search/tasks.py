"""One task of a search: a batch of starts from one source, descended and polished in one process.

A task has its seed, the problem and the results of earlier rounds, and nothing else: it ends in the
same candidates on any machine and in any order of tasks. The eight sources of starts:

- `fresh`: random starts, sharpness 1 to 20 over the scale of the problem;
- `symmetric`: orbits of random finite groups (`symmetric`); the polish that follows is free;
- `neighbour`: codes of a few points more without these, or of fewer with new ones in deep holes;
- `algebra`: codes made of nearby constructions (`starts`);
- `symmetric hop`: good codes over orbits, made symmetric again and perturbed under their group;
- `hop`: good codes perturbed (`starts`) and annealed from a higher sharpness;
- `polish`: good ends of earlier rounds, polished. Where a polish is expensive, it has tasks of its
  own, for the best ends alone;
- `shake`: the best codes, moved a little and polished at once. Near-optimal basins lie within 1e-6
  of each other, by one contact more or less, where no smoothed objective distinguishes them.

All descents without given rows on the CPU are batches of Adam in NumPy (`descend_batch`). Problems
with given rows, and GPUs, have geoopt's Riemannian Adam (`annealing`). The first sharpness decides
which basins are found, so it varies within every batch.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gnc_cli.runtime.deadline import Deadline
from gnc_cli.search.descent import LAST_SHARPENING, STARTS_PER_END, descend_batch, step_seconds
from gnc_cli.search.effort import Effort, is_long, is_plain
from gnc_cli.search.parametrisation import free
from gnc_cli.search.problem import Candidate, Problem, Tammes, typical_scale
from gnc_cli.search.refine import polish_candidate
from gnc_cli.search.starts import algebraic_start, perturb, resized, shake
from gnc_cli.search.symmetric import MAX_DESCENTS, SymmetricDescents, user_orbits

ARCHIVE_SIZE = 10
"""Largest number of candidates in an archive."""
MAX_POLISH_GAP = 1e-3
"""Largest gap to the best value with which an estimate is polished, relative to the scale."""
_FINAL_SHARPNESS = 1e4
"""Last sharpness of a descent times the scale."""
ESTIMATE_ERROR = 2e-5
"""Error of the estimates at the last sharpness, relative to the scale."""
_FRESH_DECADES, _HOP_DECADES, _NEXT_DECADES = (0.0, 1.3), (0.6, 1.8), (1.0, 2.0)
"""Powers of ten between which the first sharpness times the scale is drawn: of random starts, of
perturbed codes, and of codes made from other codes."""
_MIN_SOFT_ROWS = 2.5
"""Smallest number of rows per dimension with which long descents from random rows start softly:
with fewer, soft starts end 0.04 % lower at (96, 220)."""
_SOFT_DECADES, _SHARPER_DECADES = (0.0, 0.3), (0.3, 0.5)
"""Powers of ten between which the first sharpness of long descents over sqrt(d) is drawn: the
cosines of random rows begin to differ in weight there."""
_SCREENING_START, _SCREENING_END, _SCREENING_STEPS = 15.0, 25.0, 150
"""First and last sharpness times the scale, and the steps, of the first part of descents from
algebraic starts, which ranks them."""
_LENGTH_DECADES = -0.4, 0.3
"""Powers of ten between which the length of a descent is drawn, over that of the effort: long
descents of few starts and short ones of many find different codes."""
_SCREENED_PER_DESCENT = 8
"""Number of algebraic starts in the first part for each that is continued."""


@dataclass(frozen=True)
class Task:
    """A unit of work for one process, with all its inputs."""

    source: str
    """A key of `SOURCES`."""
    seed: tuple[int, ...]
    """Seed of the search, round and number in the round: it decides every random choice."""
    problem: Problem
    effort: Effort
    share: float = 1.0
    """Share of the steps of a descent: less in the first rounds."""
    archive: tuple[Candidate, ...] = ()
    """Best candidates of earlier rounds, best first, for sources that start from them."""
    bar: float = np.inf
    """Best polished value of earlier rounds: a polish with a higher predicted end stops early."""
    max_value: float = np.inf
    """Largest value that counts: just below that of a known code that the task starts from."""
    symmetry: tuple[str, int] | None = None
    """The user's kind of symmetry, of which each task draws a group."""

    @property
    def lines(self) -> bool:
        """True if the points are the two of each line."""
        return self.symmetry is None and self.problem.parametrisation.images is not None

    def __str__(self) -> str:
        return f"d = {self.problem.d}, K = {self.problem.K}, {self.source} starts"


@dataclass(frozen=True)
class TaskResult:
    """Candidates and counts of one task."""

    source: str
    candidates: list[Candidate]
    restarts: int = 0
    steps: int = 0
    independent: bool = False
    """True if its starts use no earlier results."""
    polished_values: tuple[float, ...] = ()
    """Estimates of the candidates of the archive that the task polished."""


def perform(task: Task, deadline: Deadline) -> TaskResult:
    """Run a task to its end or the deadline, and return its results so far."""
    return SOURCES[task.source](_Work(task, deadline))


@dataclass
class _Work:
    """A running task, with its counts and candidates so far."""

    task: Task
    deadline: Deadline
    restarts: int = 0
    steps: int = 0
    candidates: list[Candidate] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.task.seed)
        self.problem, self.effort = self.task.problem, self.task.effort

    def scale(self) -> float:
        """Return the scale of the problem at its best value so far, or that of a typical code."""
        if self.task.archive:
            return self.problem.scale(self.task.archive[0].value)
        return typical_scale(self.problem.d, self.problem.K)

    def descend(
        self,
        problem: Problem,
        starts: np.ndarray,
        decades: tuple[float, float],
        share: float,
        origins: Sequence[str] | None = None,
    ) -> list[Candidate]:
        """Descend from points (R, P, d) and return the finite ends, best estimate first.

        Args:
            problem: over the parametrisation of the points.
            starts: unit rows, shape (R, P, d).
            decades: powers of ten between which the first sharpness times the scale is drawn.
            share: of the steps of a descent of this effort.
            origins: of the starts; None for random ones.
        """
        scale = self.scale()
        sharpness = 10 ** self.rng.uniform(*decades, len(starts)) / scale
        origins = origins or [""] * len(starts)
        if is_plain(problem):
            sharp = is_long(problem)
            length = (
                1.0
                if self.effort.fixed_count or sharp
                else 10 ** self.rng.uniform(*_LENGTH_DECADES)
            )
            descents, steps = descend_batch(
                problem.parametrisation,
                starts,
                sharpness,
                _FINAL_SHARPNESS / scale,
                max(1, round(share * length * self.effort.steps)),
                self.deadline,
                sharpening=LAST_SHARPENING if sharp else 1.0,
                starts_per_end=1 if self.effort.fixed_count else STARTS_PER_END,
            )
            self.restarts, self.steps = self.restarts + len(starts), self.steps + steps
            wholes = [problem.whole(end.rows) for end in descents]
            values = [
                problem.value(whole) if sharp else end.value
                for end, whole in zip(descents, wholes, strict=True)
            ]
            return [
                Candidate(value, whole, origin=origins[end.start], sharp=sharp)
                for value, whole, end in zip(values, wholes, descents, strict=True)
            ]
        from gnc_cli.search.annealing import anneal  # with geoopt

        # A step changes a pair's exponent by a few units: spacing * step * sharpness ~ 4.
        steps = max(1, round(share * self.effort.steps))
        descent = anneal(
            problem,
            starts,
            sharpness,
            _FINAL_SHARPNESS / scale,
            step=4.0 / np.sqrt(2.0 * scale),
            steps=steps,
            deadline=self.deadline,
            device=problem.device,
        )
        self.restarts += len(descent.estimates)
        self.steps += descent.steps
        ends = [
            Candidate(float(estimate), problem.whole(points), origin=origin)
            for estimate, points, origin in zip(
                descent.estimates, descent.points, origins, strict=True
            )
            if np.isfinite(estimate)
        ]
        return sorted(ends, key=lambda c: c.value)

    def admit(self, ends: list[Candidate]) -> None:
        """Add ends to the candidates, the best of them polished.

        Estimates near the best value are polished as well as those below it: basins lie within
        1e-6 of each other (d = 3, K = 73), closer than the error of an estimate.
        """
        best = self.task.bar
        if self.task.lines:  # they stay lines
            ends = [replace(end, restricted=self.problem) for end in ends]
        for rank, candidate in enumerate(ends[: 4 * ARCHIVE_SIZE]):
            close = candidate.value < best + MAX_POLISH_GAP * self.problem.scale(candidate.value)
            if close and rank < self.effort.polishes and not self.deadline.expired:
                candidate = polish_candidate(self.problem, candidate, self.deadline, bar=best)
                best = min(best, candidate.value)
            self.candidates.append(candidate)

    def result(self, *, independent: bool = False) -> TaskResult:
        """Return the best candidates that count, and the counts."""
        ends = best_distinct([c for c in self.candidates if c.value < self.task.max_value])
        return TaskResult(self.task.source, ends, self.restarts, self.steps, independent)


def algebra_seconds(d: int, K: int) -> float:
    """Return roughly the seconds of the first part of one task of algebraic starts."""
    return _SCREENED_PER_DESCENT * _SCREENING_STEPS * step_seconds(d, K, K)


def best_distinct(candidates: list[Candidate]) -> list[Candidate]:
    """Return the best `ARCHIVE_SIZE` candidates of different values, best first.

    Polished values of one code agree to rounding: the candidate that comes first stays.
    """
    indices: list[int] = []
    for i in sorted(
        range(len(candidates)), key=lambda i: (candidates[i].value, not candidates[i].polished)
    ):
        if not indices or candidates[i].value - candidates[indices[-1]].value > 1e-11:
            indices.append(i)
        elif i < indices[-1] and candidates[i].polished >= candidates[indices[-1]].polished:
            indices[-1] = i
    return [candidates[i] for i in indices[:ARCHIVE_SIZE]]


def _fresh(work: _Work) -> TaskResult:
    starts, decades = work.problem.starts(work.rng, work.effort.batch), _FRESH_DECADES
    if is_long(work.problem):
        d, K = work.problem.d, work.problem.K
        decades = _SOFT_DECADES if K >= _MIN_SOFT_ROWS * d else _SHARPER_DECADES
        low, high = np.log10(d**0.5 * work.scale()) + decades
        decades = float(low), float(high)
    work.admit(work.descend(work.problem, starts, decades, work.task.share))
    return work.result(independent=True)


def _symmetric(work: _Work) -> TaskResult:
    """Descend over orbits: of the user's symmetry, which candidates keep, or of random groups."""
    if work.task.symmetry is not None:
        d, K = work.problem.d, work.problem.K
        restricted = Tammes(user_orbits(work.task.symmetry, d, K, work.rng))
        starts = restricted.starts(work.rng, work.effort.batch)
        ends = work.descend(restricted, starts, _FRESH_DECADES, work.task.share)
        work.admit([replace(candidate, restricted=restricted) for candidate in ends])
        return work.result(independent=True)
    ends = _symmetric_ends(work, work.problem.K)
    if not ends:
        return _fresh(work)
    work.admit(ends)
    return work.result(independent=True)


def _symmetric_hop(work: _Work) -> TaskResult:
    parents = [candidate for candidate in work.task.archive if candidate.draw is not None]
    work.admit(_symmetric_ends(work, work.problem.K, _member(work.rng, parents)))
    return work.result()


def _symmetric_ends(work: _Work, K: int, parent: Candidate | None = None) -> list[Candidate]:
    """Descend over orbits with K points of random groups or of a parent's group, best end first."""
    scale = work.scale()
    descents = SymmetricDescents(
        *(
            work.rng,
            work.problem.d,
            K,
            scale,
            _FINAL_SHARPNESS / scale,
            ESTIMATE_ERROR * scale,
            work.deadline,
        ),
        lines=work.task.lines,
    )
    effort = work.effort.seconds, work.effort.batch if work.effort.fixed_count else MAX_DESCENTS
    ends = descents.run(*effort) if parent is None else descents.perturb(parent, *effort)
    work.restarts += descents.restarts
    work.steps += descents.steps
    return ends


def _algebra(work: _Work) -> TaskResult:
    """Descend a little from codes made of nearby constructions, after a first part that ranks them.

    The best ends of 150 starts are among the best dozen after the first part, at a twelfth of the
    time, from (13, 96) to (20, 86).
    """
    rng, (d, K), scale = work.rng, (work.problem.d, work.problem.K), work.scale()
    favourite = work.task.archive[0].origin if work.task.archive else ""
    batch = max(1, work.effort.batch // 2)
    origins, codes = [], []
    for _ in range(work.effort.batch if work.effort.fixed_count else _SCREENED_PER_DESCENT * batch):
        start = algebraic_start(rng, d, K, favourite)
        if start is None:
            return perform(replace(work.task, source="fresh"), work.deadline)
        origins.append(start[0])
        codes.append(start[1])
        if work.deadline.expired:
            break
    starts = np.array(codes)
    ends, steps = descend_batch(
        work.problem.parametrisation,
        starts,
        np.full(len(starts), _SCREENING_START / scale),
        _SCREENING_END / scale,
        _SCREENING_STEPS,
        work.deadline,
        starts_per_end=1,
    )
    work.steps += steps
    distinct = {round(end.value, 9): end for end in reversed(ends)}  # equal ones are congruent
    best = [distinct[value] for value in sorted(distinct)[:batch]]
    starts, origins = np.array([end.rows for end in best]), [origins[end.start] for end in best]
    work.admit(work.descend(work.problem, starts, _NEXT_DECADES, 0.5 * work.task.share, origins))
    return work.result()


def _neighbour(work: _Work) -> TaskResult:
    """Descend a little from symmetric or free codes of a few points more or less, resized to K."""
    rng, (d, K) = work.rng, (work.problem.d, work.problem.K)
    other = K + int(rng.choice([-2, -1, 1, 1, 2, 3, 4, 6])) if K > 6 else K + 1
    share = work.task.share
    ends = _symmetric_ends(work, other) if rng.random() < 0.5 else []
    if not ends:
        neighbour = Tammes(free(d, other))
        starts = neighbour.starts(rng, work.effort.batch)
        ends = work.descend(neighbour, starts, _FRESH_DECADES, 0.6 * share)
    restarts = work.restarts  # resized codes are no new starts
    if ends and not work.deadline.expired:
        parents = [end for end in ends[: max(2, work.effort.batch // 4)] for _ in range(2)]
        starts = np.array([resized(rng, parent.whole, K) for parent in parents])
        origins = [parent.origin for parent in parents]
        work.admit(work.descend(work.problem, starts, _NEXT_DECADES, 0.4 * share, origins))
    return replace(work.result(independent=True), restarts=restarts)


def _hop(work: _Work) -> TaskResult:
    starts, origins = _perturbed(work, work.effort.batch)
    work.admit(work.descend(work.problem, starts, _HOP_DECADES, 2 / 3 * work.task.share, origins))
    return work.result()


def _perturbed(work: _Work, count: int) -> tuple[np.ndarray, list[str]]:
    """Return perturbed codes of the archive as points (R, P, d), and their origins.

    Features lie on their weights.
    """
    rng, problem, archive = work.rng, work.problem, work.task.archive
    starts, origins = [], []
    for number in range(count):
        parent = _member(rng, archive)
        mate = archive[rng.integers(len(archive))]
        code = parent.whole[: problem.K]
        if number or np.isinf(work.task.max_value):  # a descent from a known code may improve it
            code = perturb(rng, code, mate.whole[: problem.K])
        starts.append(problem.from_code(code))
        origins.append(parent.origin)
    return np.array(starts), origins


def _member(rng: np.random.Generator, archive: Sequence[Candidate]) -> Candidate:
    """Draw a candidate of an archive, better ones more often."""
    return archive[min(int(rng.exponential(len(archive) / 3)), len(archive) - 1)]


def _polish(work: _Work) -> TaskResult:
    """Polish the archive's one candidate, with no bar: ends differ by less than estimates err."""
    (candidate,) = work.task.archive
    work.candidates.append(polish_candidate(work.problem, candidate, work.deadline))
    return replace(work.result(), polished_values=(candidate.value,))


def _shake(work: _Work) -> TaskResult:
    """Move one of the best three codes a little and polish it, without a descent between.

    Each result takes its place among the three at once: a walk downhill through close basins.
    """
    problem, movable = work.problem, work.problem.movable()
    leaders = [c for c in work.task.archive if c.polished][:3]
    for turn in range(work.effort.shakes):
        parent = leaders[turn // 2 % len(leaders) if turn % 2 else 0]  # half from the best
        spacing = np.sqrt(2.0 * problem.scale(parent.value))
        whole = shake(work.rng, parent.whole, problem.K, movable, spacing)
        whole = problem.symmetric(whole)
        shaken = replace(parent, whole=whole, active=None, draw=None)
        end = polish_candidate(problem, shaken, work.deadline, bar=leaders[-1].value)
        work.candidates.append(end)
        leaders = best_distinct([*leaders, *([end] if end.polished else [])])[:3]
        if work.deadline.expired:
            break
    return work.result()


SOURCES: dict[str, Callable[[_Work], TaskResult]] = {
    "fresh": _fresh,
    "symmetric": _symmetric,
    "symmetric hop": _symmetric_hop,
    "neighbour": _neighbour,
    "algebra": _algebra,
    "hop": _hop,
    "polish": _polish,
    "shake": _shake,
}
