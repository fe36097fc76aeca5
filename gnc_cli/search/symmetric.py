"""Codes with a symmetry: descents over unions of orbits of finite groups.

Most best known codes have a symmetry, and free descent prefers other basins (d = 3: K = 110, 120).
One representative per orbit is unknown, so a descent takes a few thousandths of a second
(`descend_batch`), and what counts is how many groups are tried. A wide search tries a dozen with
eight starts each. A deep one spends a third of its time on groups and the rest on the best of them:
more starts, then perturbations of its best code, which keep the symmetry. At equal time wide ones
find (5, 41) and (10, 86), deep ones (6, 86).
"""

from dataclasses import dataclass

import numpy as np

from gnc_cli.errors import UsageError
from gnc_cli.geometry.sphere import antipodes, one_per_line
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.search.descent import descend_batch, step_seconds
from gnc_cli.search.groups import random_group
from gnc_cli.search.parametrisation import (
    Parametrisation,
    cyclic_orbits,
    orbits,
    random_generator,
)
from gnc_cli.search.problem import Candidate, Tammes
from gnc_cli.search.starts import unit

_STEPS = 500
"""Steps of a descent: at equal time more groups find better codes than longer descents."""
MAX_DESCENTS = 400
"""Largest number of descents in a task, which ends soon even where a descent takes no time."""
_BATCH = 8
"""Number of starts over the orbits of one group."""
_MAX_UNKNOWN_SHARE = 0.75
"""Largest share of unknown rows: with more, a symmetry is of no use."""
_START_DECADES, _HOP_DECADES = (0.0, 1.3), (0.6, 1.8)
"""Powers of ten between which the first sharpness times the scale is drawn: of random starts, and
of perturbed codes."""


@dataclass
class _Orbits:
    """A union of orbits, and the best code found over it."""

    origin: str
    parametrisation: Parametrisation
    draw: int
    """Seed of the random group."""
    value: float = np.inf
    """Largest cosine of the best code, an estimate after a descent."""
    rows: np.ndarray | None = None
    """Representatives of that code, shape (M, d); None before a descent."""


class SymmetricDescents:
    """Descents over orbits of random groups with K points in d dimensions.

    Args:
        rng: the source of every random choice.
        d: dimension.
        K: number of points.
        scale: of the best value so far, or of a typical code.
        end: the last sharpness.
        error: largest difference of estimates of one basin: one of its ends is kept per origin.
        deadline: polled at each step.
        lines: the groups contain -1, and each row of an end is followed by its opposite.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        d: int,
        K: int,
        scale: float,
        end: float,
        error: float,
        deadline: Deadline,
        lines: bool = False,
    ) -> None:
        self.rng, self.d, self.K, self.scale, self.end = rng, d, K, scale, end
        self.lines = lines
        self.error, self.deadline = error, deadline
        self.restarts = self.steps = 0
        self.ends: list[Candidate] = []

    def run(self, seconds: float, max_descents: int) -> list[Candidate]:
        """Descend wide or deep, by chance, and return the ends with their estimates, best first.

        Args:
            seconds: time of all descents together on one core, roughly; one batch is made at least.
            max_descents: largest number of descents.
        """
        number, self.max_descents = self._batches(seconds, max_descents), max_descents
        if self.rng.random() < 0.5:
            for _ in range(number):
                self._descend(self._draw_union())
        else:
            self._deep(number)
        return sorted(self.ends, key=lambda end: end.value)

    def perturb(self, parent: Candidate, seconds: float, max_descents: int) -> list[Candidate]:
        """Descend from perturbations of a code under its group, and return the ends, best first.

        Args:
            parent: a code found over orbits; it is made symmetric again.
            seconds: time of all descents together on one core, roughly; one batch is made at least.
            max_descents: largest number of descents.
        """
        assert parent.draw is not None, "it was found over orbits"
        union, self.max_descents = self._union(parent.draw), max_descents
        if union is not None:
            restricted = Tammes(union.parametrisation)
            code = restricted.symmetric(parent.whole)
            union.value, union.rows = restricted.value(code), restricted.unknowns(code)
            self._hop(union, self._batches(seconds, max_descents))
        return sorted(self.ends, key=lambda end: end.value)

    def _hop(self, union: _Orbits, times: int) -> None:
        """Perturb the best code over these orbits so far, in this many batches."""
        for _ in range(times):
            assert union.rows is not None, "it was descended from"
            moved = [self._move(union.rows, union.parametrisation) for _ in range(_BATCH)]
            self._descend_from(union, np.array(moved), _HOP_DECADES)

    def _batches(self, seconds: float, max_descents: int) -> int:
        """Return the number of batches that take these seconds; a group has some eight matrices."""
        one = 2 * _STEPS * step_seconds(self.d, -(-self.K // 8), self.K, _BATCH)
        return int(np.clip(seconds / one, 1, -(-max_descents // _BATCH)))

    def _deep(self, number: int) -> None:
        """Descend in a third of the batches from random groups, in the rest from the best of these.

        Each of the best two groups has one batch of new starts. The others perturb the best code.
        """
        unions = [self._draw_union() for _ in range(max(1, number // 3))]
        for union in unions:
            self._descend(union)
        leaders = sorted(filter(None, unions), key=lambda union: union.value)[:2]
        for union in leaders:
            self._descend(union)
        best = min(leaders, key=lambda union: union.value, default=None)
        if best is not None and best.rows is not None:
            self._hop(best, number - len(unions) - len(leaders))

    def _draw_union(self) -> _Orbits | None:
        """Draw the orbits of a random group; None where no draw fits K."""
        for _ in range(8):
            union = self._union(int(self.rng.integers(2**32)))
            if union is not None:
                return union
        return None

    def _union(self, draw: int) -> _Orbits | None:
        """Return the orbits of the random group of a seed; None where they do not fit K."""
        rng = np.random.default_rng(draw)
        name, group = random_group(rng, self.d, self.K)
        if self.lines and np.trace(group, axis1=1, axis2=2).min() > 1e-6 - self.d:  # without -1
            group = np.concatenate([group, -group])
        try:
            parametrisation = orbits(group, self.K, rng)
        except UsageError:
            return None
        if parametrisation.unknown > _MAX_UNKNOWN_SHARE * self.K:
            return None
        return _Orbits(f"orbits of {name}", parametrisation, draw)

    def _descend(self, union: _Orbits | None) -> None:
        if union is not None:
            self._descend_from(
                union, union.parametrisation.random(self.rng, _BATCH), _START_DECADES
            )

    def _descend_from(
        self, union: _Orbits, starts: np.ndarray, decades: tuple[float, float]
    ) -> None:
        starts = starts[: self.max_descents - self.restarts]
        sharpness = 10 ** self.rng.uniform(*decades, len(starts)) / self.scale
        if not len(starts) or (self.deadline.expired and self.ends):
            return
        ends, steps = descend_batch(
            union.parametrisation, starts, sharpness, self.end, _STEPS, self.deadline
        )
        self.restarts, self.steps = self.restarts + len(starts), self.steps + steps
        for end in ends:
            if not any(
                other.origin == union.origin and abs(other.value - end.value) < self.error
                for other in self.ends
            ):
                code = union.parametrisation.code(end.rows)
                if self.lines:  # in another order than a perturbation under the group needs
                    code = antipodes(one_per_line(code))
                draw = None if self.lines else union.draw
                self.ends.append(Candidate(end.value, code, origin=union.origin, draw=draw))
            if end.value < union.value:
                union.value, union.rows = end.value, end.rows

    def _move(self, rows: np.ndarray, parametrisation: Parametrisation) -> np.ndarray:
        """Move representatives (M, d): a few anywhere, all a little, or some of them farther."""
        rng, number, kind = self.rng, len(rows), int(self.rng.integers(3))
        other = parametrisation.random(rng, 1)[0]
        if kind == 1:
            moved = rows + self._move_length(0.1, 0.6) * other
        else:
            max_moved = max(1, number // 3 if kind == 0 else number // 2)
            indices = rng.permutation(number)[: 1 + int(rng.integers(max_moved))]
            moved = rows.copy()
            moved[indices] = other[indices]
            if kind == 2:
                moved[indices] = rows[indices] + self._move_length(0.3, 1.0) * other[indices]
        # The other end of an axis may be another orbit.
        moved[parametrisation.axial] = rows[parametrisation.axial]
        return unit(moved)

    def _move_length(self, shortest: float, longest: float) -> float:
        """Draw the length of a move, between multiples of the smallest chord of the code."""
        return float(np.sqrt(2.0 * self.scale) * self.rng.uniform(shortest, longest))


def user_orbits(
    symmetry: tuple[str, int], d: int, K: int, rng: np.random.Generator
) -> Parametrisation:
    """Return the orbits of a random group of the user's kind of symmetry.

    Raises:
        UsageError: no group that was drawn has a union of orbits with K points.
    """
    kind, order = symmetry
    if kind == "antipodal":
        return cyclic_orbits(-np.eye(d), 2, K)
    for _ in range(49):
        try:
            return cyclic_orbits(random_generator(rng, d, order), order, K)
        except UsageError:
            continue
    return cyclic_orbits(random_generator(rng, d, order), order, K)
