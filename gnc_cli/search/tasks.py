"""One task of a search: a batch of starts from one source, descended and polished in one process.

A task knows its seed, the problem and what earlier rounds found, and nothing else: it ends in the
same candidates wherever and beside whatever it runs. Sources of starts:

- `fresh`: random starts, sharpness 1 to 20 over the scale of the problem;
- `symmetric`: orbits of random finite groups (`symmetric`); the polish that follows is free;
- `neighbour`: codes of a few points more, less these, or of fewer with others in deep holes;
- `algebra`: codes made of nearby constructions (`starts`);
- `symmetric hop`: good codes over orbits, made symmetric again and perturbed under their group;
- `hop`: good codes perturbed (`starts`) and annealed from a higher sharpness;
- `polish`: good ends of earlier rounds, polished: where a polish is dear, descents leave it to
  tasks of its own, for the best only;
- `shake`: the best codes disturbed a little and polished at once. Near-optimal basins crowd within
  1e-6 of each other, by one contact more or less, where no smoothed objective tells them apart.

The start sharpness decides which basins are found, so it varies within every batch.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gnc_cli.runtime.deadline import Deadline
from gnc_cli.search.descent import CONTINUED, SHARPER, descend_batch, step_seconds
from gnc_cli.search.effort import Effort, is_long, is_plain
from gnc_cli.search.parametrisation import free
from gnc_cli.search.problem import Candidate, Problem, Tammes, typical_scale
from gnc_cli.search.refine import polish_candidate
from gnc_cli.search.starts import algebraic_start, perturb, resized, shake
from gnc_cli.search.symmetric import SymmetricDescents, user_orbits

ARCHIVE_SIZE = 10
"""Candidates that an archive keeps."""
NEAR = 1e-3
"""Estimates this far above the best value, relative to the scale, are still worth a polish."""
_SHARP = 1e4
"""Final sharpness times scale."""
ESTIMATE = 2e-5
"""Error of the estimates at the final sharpness, relative to the scale."""
_FRESH, _HOP, _NEXT = (0.0, 1.3), (0.6, 1.8), (1.0, 2.0)
"""Start sharpness times scale is drawn between these powers of ten."""
_CROWDED = 2.5
"""Rows per dimension from which long descents from random rows begin softly."""
_SOFT, _SHARPER = (0.0, 0.3), (0.3, 0.5)
"""Their first sharpness over sqrt(d), between powers of ten: there the cosines of random rows begin
to differ in weight. With fewer rows, soft starts end 0.04 % lower at (96, 220)."""
_LOOK, _LOOKED, _LOOK_STEPS = 15.0, 25.0, 150
"""The first part of descents from algebra: sharpness times scale, from and to, and steps."""
_LENGTHS = -0.4, 0.3
"""Powers of ten of the lengths of descents, over that of the effort: long ones of few starts and
short ones of many find different codes."""
_LOOKS = 8
"""Codes from algebra that have a first stage, for each that goes on."""


@dataclass(frozen=True)
class Task:
    """A piece of work for one process, with all that it needs."""

    source: str
    """A key of `SOURCES`."""
    seed: tuple[int, ...]
    """Of the search, its round and the task within: decides every random choice."""
    problem: Problem
    effort: Effort
    share: float = 1.0
    """Of the steps of a long descent."""
    archive: tuple[Candidate, ...] = ()
    """What earlier rounds found, best first; for sources that start from it."""
    bar: float = np.inf
    """The best polished value of earlier rounds: what is predicted to end above is left early."""
    below: float = np.inf
    """Only what is better counts: the value of a known code that the task starts from."""
    symmetry: tuple[str, int] | None = None
    """The user's own, of which each task draws a group."""
    device: str = "cpu"

    @property
    def lines(self) -> bool:
        """Whether the points are the two of each line."""
        return self.symmetry is None and self.problem.parametrisation.images is not None

    def __str__(self) -> str:
        return f"d = {self.problem.d}, K = {self.problem.K}, {self.source} starts"


@dataclass(frozen=True)
class TaskResult:
    """What a task ended with."""

    source: str
    candidates: list[Candidate]
    restarts: int = 0
    steps: int = 0
    independent: bool = False
    """Its starts knew nothing of earlier results."""
    used: tuple[float, ...] = ()
    """Values of unpolished candidates of the archive that were polished."""


def perform(task: Task, deadline: Deadline) -> TaskResult:
    """Work on a task until it is done or the deadline expires; what there is then."""
    return SOURCES[task.source](_Work(task, deadline))


@dataclass
class _Work:
    """A task while it runs."""

    task: Task
    deadline: Deadline
    restarts: int = 0
    steps: int = 0
    candidates: list[Candidate] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.task.seed)
        self.problem, self.effort = self.task.problem, self.task.effort

    def scale(self) -> float:
        """Of the problem at its best value so far."""
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
        """The finite ends of descents from (R, P, d), best estimate first."""
        scale = self.scale()
        sharpness = 10 ** self.rng.uniform(*decades, len(starts)) / scale
        origins = origins or [""] * len(starts)
        if is_plain(problem):
            sharp = is_long(problem)
            length = 1.0 if self.effort.counted or sharp else 10 ** self.rng.uniform(*_LENGTHS)
            descents, steps = descend_batch(
                problem.parametrisation,
                starts,
                sharpness,
                _SHARP / scale,
                max(1, round(share * length * self.effort.steps)),
                self.deadline,
                beyond=SHARPER if sharp else 1.0,
                continued=1 if self.effort.counted else CONTINUED,
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
            _SHARP / scale,
            step=4.0 / np.sqrt(2.0 * scale),
            steps=steps,
            deadline=self.deadline,
            device=self.task.device,
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
        """Polish the most promising ends, and those that look like the best value known: basins
        crowd within 1e-6 of each other (d = 3, K = 73), closer than estimates can tell.
        """
        best = self.task.bar
        if self.task.lines:  # they stay lines
            ends = [replace(end, restricted=self.problem) for end in ends]
        for rank, candidate in enumerate(ends[: 4 * ARCHIVE_SIZE]):
            near = candidate.value < best + NEAR * self.problem.scale(candidate.value)
            if near and rank < self.effort.polishes and not self.deadline.expired:
                candidate = polish_candidate(self.problem, candidate, self.deadline, bar=best)
                best = min(best, candidate.value)
            self.candidates.append(candidate)

    def result(self, *, independent: bool = False) -> TaskResult:
        ends = best_distinct([c for c in self.candidates if c.value < self.task.below])
        return TaskResult(self.task.source, ends, self.restarts, self.steps, independent)


def looks_seconds(d: int, K: int) -> float:
    """Return roughly the seconds of the first part of one task of starts from algebra."""
    return _LOOKS * _LOOK_STEPS * step_seconds(d, K, K)


def best_distinct(candidates: list[Candidate]) -> list[Candidate]:
    """The best `ARCHIVE_SIZE`, sorted; of equal values (polished ones agree to rounding) the one
    that was found first.
    """
    kept: list[int] = []
    for i in sorted(
        range(len(candidates)), key=lambda i: (candidates[i].value, not candidates[i].polished)
    ):
        if not kept or candidates[i].value - candidates[kept[-1]].value > 1e-11:
            kept.append(i)
        elif i < kept[-1] and candidates[i].polished >= candidates[kept[-1]].polished:
            kept[-1] = i
    return [candidates[i] for i in kept[:ARCHIVE_SIZE]]


def _fresh(work: _Work) -> TaskResult:
    starts, decades = work.problem.starts(work.rng, work.effort.batch), _FRESH
    if is_long(work.problem):
        d, K = work.problem.d, work.problem.K
        decades = _SOFT if K >= _CROWDED * d else _SHARPER
        low, high = np.log10(d**0.5 * work.scale()) + decades
        decades = float(low), float(high)
    work.admit(work.descend(work.problem, starts, decades, work.task.share))
    return work.result(independent=True)


def _symmetric(work: _Work) -> TaskResult:
    """The user's symmetry, which candidates keep, or groups drawn here, which they need not."""
    if work.task.symmetry is not None:
        d, K = work.problem.d, work.problem.K
        restricted = Tammes(user_orbits(work.task.symmetry, d, K, work.rng))
        starts = restricted.starts(work.rng, work.effort.batch)
        ends = work.descend(restricted, starts, _FRESH, work.task.share)
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
    """Ends over orbits of random groups with K points, or of a parent's group, best first."""
    scale = work.scale()
    descents = SymmetricDescents(
        *(work.rng, work.problem.d, K, scale, _SHARP / scale, ESTIMATE * scale, work.deadline),
        lines=work.task.lines,
    )
    most = [work.effort.batch] if work.effort.counted else []
    if parent is None:
        ends = descents.run(work.effort.seconds, *most)
    else:
        ends = descents.go_on(parent, work.effort.seconds, *most)
    work.restarts += descents.restarts
    work.steps += descents.steps
    return ends


def _algebra(work: _Work) -> TaskResult:
    """Codes made of nearby constructions, descended a little.

    The first part tells which of them lead anywhere: the best ends of 150 are among the best dozen
    then, at a twelfth of the time, from (13, 96) to (20, 86).
    """
    rng, (d, K), scale = work.rng, (work.problem.d, work.problem.K), work.scale()
    favourite = work.task.archive[0].origin if work.task.archive else ""
    batch = max(1, work.effort.batch // 2)
    origins, codes = [], []
    for _ in range(work.effort.batch if work.effort.counted else _LOOKS * batch):
        drawn = algebraic_start(rng, d, K, favourite)
        if drawn is None:
            return perform(replace(work.task, source="fresh"), work.deadline)
        origins.append(drawn[0])
        codes.append(drawn[1])
        if work.deadline.expired:
            break
    starts = np.array(codes)
    ends, steps = descend_batch(
        work.problem.parametrisation,
        starts,
        np.full(len(starts), _LOOK / scale),
        _LOOKED / scale,
        _LOOK_STEPS,
        work.deadline,
    )
    work.steps += steps
    distinct = {round(end.value, 9): end for end in reversed(ends)}  # equal ones are congruent
    best = [distinct[value] for value in sorted(distinct)[:batch]]
    starts, origins = np.array([end.rows for end in best]), [origins[end.start] for end in best]
    work.admit(work.descend(work.problem, starts, _NEXT, 0.5 * work.task.share, origins))
    return work.result()


def _neighbour(work: _Work) -> TaskResult:
    """Symmetric or free codes of a few points more or less, made K and descended a little."""
    rng, (d, K) = work.rng, (work.problem.d, work.problem.K)
    other = K + int(rng.choice([-2, -1, 1, 1, 2, 3, 4, 6])) if K > 6 else K + 1
    share = work.task.share
    ends = _symmetric_ends(work, other) if rng.random() < 0.5 else []
    if not ends:
        beside = Tammes(free(d, other))
        starts = beside.starts(rng, work.effort.batch)
        ends = work.descend(beside, starts, _FRESH, 0.6 * share)
    if ends and not work.deadline.expired:
        few = [end for end in ends[: max(2, work.effort.batch // 4)] for _ in range(2)]
        starts = np.array([resized(rng, end.whole, K) for end in few])
        origins = [end.origin for end in few]
        work.admit(work.descend(work.problem, starts, _NEXT, 0.4 * share, origins))
    return work.result(independent=True)


def _hop(work: _Work) -> TaskResult:
    starts, origins = _perturbed(work, work.effort.batch)
    work.admit(work.descend(work.problem, starts, _HOP, 2 / 3 * work.task.share, origins))
    return work.result()


def _perturbed(work: _Work, count: int) -> tuple[np.ndarray, list[str]]:
    """Perturbed members of the archive, features on their weights; their origins."""
    rng, problem, archive = work.rng, work.problem, work.task.archive
    starts, origins = [], []
    for number in range(count):
        parent = _member(rng, archive)
        mate = archive[rng.integers(len(archive))]
        code = parent.whole[: problem.K]
        if number or np.isinf(work.task.below):  # a known code may lead somewhere as it is
            code = perturb(rng, code, mate.whole[: problem.K])
        starts.append(problem.from_code(code))
        origins.append(parent.origin)
    return np.array(starts), origins


def _member(rng: np.random.Generator, archive: Sequence[Candidate]) -> Candidate:
    """One of an archive, the better the more often."""
    return archive[min(int(rng.exponential(len(archive) / 3)), len(archive) - 1)]


def _polish(work: _Work) -> TaskResult:
    """The archive's one candidate polished, whatever it leads to: near-optimal ends differ by less
    than their estimates' errors.
    """
    (candidate,) = work.task.archive
    work.candidates.append(polish_candidate(work.problem, candidate, work.deadline))
    return replace(work.result(), used=(candidate.value,))


def _shake(work: _Work) -> TaskResult:
    """Disturb one of the best three a little and polish, without descent between.

    Each result takes its place among the three at once: a walk downhill through crowded basins.
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
