"""Codes with a symmetry: descents over unions of orbits of finite groups.

Most best known codes have a symmetry, and free descent prefers other basins (d = 3: K = 110, 120).
One representative per orbit is unknown, so a descent takes a few thousandths of a second
(`descend_batch`), and what counts is how many groups are tried. A wide search tries a dozen with
four starts each; a deep one tries more with one, and goes on with the best of them: more starts,
then perturbations of its best code, which keep the symmetry. At equal time wide ones find (5, 41)
and (10, 86), deep ones (6, 86).
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
"""Few: at equal time more groups find better codes than longer descents."""
_MOST = 400
"""Descents of a task at most."""
_TOGETHER = 8
"""Starts over the orbits of one group."""
_MOST_UNKNOWN = 0.75
"""Share of the rows that may be unknown: with more, a symmetry is no help."""
_BEGIN, _GO_ON = (0.0, 1.3), (0.6, 1.8)
"""Start sharpness times scale is drawn between these powers of ten: of a start, of a perturbation.
"""


@dataclass
class _Orbits:
    """A union of orbits, and the best code found over it."""

    origin: str
    parametrisation: Parametrisation
    draw: int
    """The seed that the group was drawn with."""
    value: float = np.inf
    rows: np.ndarray | None = None
    """The representatives of that code; None before a descent."""


class SymmetricDescents:
    """Descents over orbits of random groups with K points in d dimensions.

    Args:
        scale: of the best value so far, or of a typical code.
        end: the last sharpness.
        error: values of one origin this near are one basin, of which one end is kept.
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

    def run(self, seconds: float, most: int = _MOST) -> list[Candidate]:
        """Wide or deep, by chance; the ends, best first, their values estimates.

        Args:
            seconds: what all descents together take on one core, about; at least four are made.
            most: descents.
        """
        number = self._batches(seconds, most)
        if self.rng.random() < 0.5:
            for _ in range(number):
                self._descend(self._drawn())
        else:
            self._deep(number)
        return sorted(self.ends, key=lambda end: end.value)

    def go_on(self, parent: Candidate, seconds: float, most: int = _MOST) -> list[Candidate]:
        """Perturbations of a code, made symmetric again, under the group that it was drawn with;
        the ends, best first.
        """
        assert parent.draw is not None, "it was found over orbits"
        over = self._over(parent.draw)
        if over is not None:
            restricted = Tammes(over.parametrisation)
            code = restricted.symmetric(parent.whole)
            over.value, over.rows = restricted.value(code), restricted.unknowns(code)
            self._hop(over, self._batches(seconds, most))
        return sorted(self.ends, key=lambda end: end.value)

    def _hop(self, over: _Orbits, times: int) -> None:
        """Perturb the best code over these orbits so far, in so many batches."""
        for _ in range(times):
            assert over.rows is not None, "it was descended from"
            moved = [self._perturbed(over.rows, over.parametrisation) for _ in range(_TOGETHER)]
            self._from(over, np.array(moved), _GO_ON)

    def _batches(self, seconds: float, most: int) -> int:
        """Return the number of batches that take so long; a group has some eight matrices."""
        one = 2 * _STEPS * step_seconds(self.d, -(-self.K // 8), self.K, _TOGETHER)
        return int(np.clip(seconds / one, 1, -(-most // _TOGETHER)))

    def _deep(self, number: int) -> None:
        """Spend a third of the batches on groups, one on each of the best two again, and the rest
        on perturbations of the best code.
        """
        tried = [self._drawn() for _ in range(max(1, number // 3))]
        for each in tried:
            self._descend(each)
        leaders = sorted(filter(None, tried), key=lambda each: each.value)[:2]
        for each in leaders:
            self._descend(each)
        best = min(leaders, key=lambda each: each.value, default=None)
        if best is not None and best.rows is not None:
            self._hop(best, number - len(tried) - len(leaders))

    def _drawn(self) -> _Orbits | None:
        """Orbits of a random group; None where no draw fits K."""
        for _ in range(8):
            over = self._over(int(self.rng.integers(2**32)))
            if over is not None:
                return over
        return None

    def _over(self, draw: int) -> _Orbits | None:
        """Orbits of the random group of a seed; None where they do not fit K."""
        rng = np.random.default_rng(draw)
        name, group = random_group(rng, self.d, self.K)
        if self.lines and np.trace(group, axis1=1, axis2=2).min() > 1e-6 - self.d:  # without -1
            group = np.concatenate([group, -group])
        try:
            parametrisation = orbits(group, self.K, rng)
        except UsageError:
            return None
        if parametrisation.unknown > _MOST_UNKNOWN * self.K:
            return None
        return _Orbits(f"orbits of {name}", parametrisation, draw)

    def _descend(self, over: _Orbits | None) -> None:
        if over is not None:
            self._from(over, over.parametrisation.random(self.rng, _TOGETHER), _BEGIN)

    def _from(self, over: _Orbits, starts: np.ndarray, decades: tuple[float, float]) -> None:
        sharpness = 10 ** self.rng.uniform(*decades, len(starts)) / self.scale
        if self.deadline.expired and self.ends:
            return
        ends, steps = descend_batch(
            over.parametrisation, starts, sharpness, self.end, _STEPS, self.deadline
        )
        self.restarts, self.steps = self.restarts + len(starts), self.steps + steps
        for each in ends:
            if not any(
                end.origin == over.origin and abs(end.value - each.value) < self.error
                for end in self.ends
            ):
                code = over.parametrisation.code(each.rows)
                if self.lines:  # in another order than a perturbation under the group needs
                    code = antipodes(one_per_line(code))
                draw = None if self.lines else over.draw
                self.ends.append(Candidate(each.value, code, origin=over.origin, draw=draw))
            if each.value < over.value:
                over.value, over.rows = each.value, each.rows

    def _perturbed(self, rows: np.ndarray, parametrisation: Parametrisation) -> np.ndarray:
        """Representatives moved: a few anywhere, all a little, or a part of them more."""
        rng, number, kind = self.rng, len(rows), int(self.rng.integers(3))
        elsewhere = parametrisation.random(rng, 1)[0]
        if kind == 1:
            moved = rows + self._length(0.1, 0.6) * elsewhere
        else:
            most = max(1, number // 3 if kind == 0 else number // 2)
            some = rng.permutation(number)[: 1 + int(rng.integers(most))]
            moved = rows.copy()
            moved[some] = elsewhere[some]
            if kind == 2:
                moved[some] = rows[some] + self._length(0.3, 1.0) * elsewhere[some]
        # The other end of an axis may be another orbit.
        moved[parametrisation.axial] = rows[parametrisation.axial]
        return unit(moved)

    def _length(self, least: float, most: float) -> float:
        """Of a move, in smallest distances of the code."""
        return float(np.sqrt(2.0 * self.scale) * self.rng.uniform(least, most))


def user_orbits(
    symmetry: tuple[str, int], d: int, K: int, rng: np.random.Generator
) -> Parametrisation:
    """The user's symmetry, by a random group of its kind that fits; UsageError where none does."""
    kind, order = symmetry
    if kind == "antipodal":
        return cyclic_orbits(-np.eye(d), 2, K)
    for _ in range(49):
        try:
            return cyclic_orbits(random_generator(rng, d, order), order, K)
        except UsageError:
            continue
    return cyclic_orbits(random_generator(rng, d, order), order, K)
