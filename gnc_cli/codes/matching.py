"""The search behind `congruence`: images of a spanning set, row by row, and symmetries.

Each guess sends one more row of X to a row of Y and colours all rows anew (`colour_refinement`).
Where a guess has failed, a symmetry of Y that keeps the earlier images in place carries the failure
to every row it reaches: codes with many symmetries then need one failure per orbit, not per row.

Reference: B. D. McKay, Practical graph isomorphism, 1981, for graphs; here inner products are real
numbers with a tolerance, and the tolerance is part of the argument.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from gnc_cli.codes.colour_refinement import Colouring, agreement, by_profile
from gnc_cli.runtime.deadline import Deadline

_PAIRS = 1 << 20
"""Inner products that a guess may look at one by one."""
REFINING = 12
"""Labels that a guess costs which is not refused at once, about."""
_CHOICES = 6
"""Colours of which a row is considered to be fixed next, the smallest first."""
_SPANNED = 1e3
"""Rows within this many tolerances of the space fixed so far add nothing to it."""
_SLACK = 1.5
"""Matchings this many tolerances wide are still followed, so that a symmetry half a tolerance
wide never carries a failure to a row that has a matching."""
_NEARLY = 20.0
"""A matching so many tolerances wide ends the search undecided: its symmetric images are as wide,
and may be too many to look at."""
_LATEST = 3
"""Failures from which a symmetry to another image is looked for."""
_WORTHWHILE = 8
"""Guesses that a failure must have cost before a symmetry is looked for."""


@dataclass(frozen=True, eq=False)
class Match:
    """A relabelling with its rotation."""

    partner: np.ndarray
    """Row k of X goes to row `partner[k]` of Y, shape (K,)."""
    rotation: np.ndarray
    """Orthogonal, shape (d, d): `X @ rotation` is near `Y[partner]`."""
    deviation: float
    """Largest distance of two partners."""


@dataclass(frozen=True)
class SearchEnd:
    """The search ended without a matching."""

    reason: str | None
    """Why nothing is proved; None where it is proved that there is no matching."""
    cut_short: bool = False
    """There was more to look at."""


@dataclass
class Level:
    """The state after some guesses."""

    fixed: list[tuple[int, int]]
    """The guesses: a row of X and its image in Y."""
    colours: Colouring
    left: np.ndarray
    """Squared distance of each row of X from the space that the fixed ones span, shape (K,)."""
    basis: np.ndarray
    """Orthonormal rows spanning that space, shape (r, d)."""
    row: int = -1
    """The row of X to be fixed next."""
    images: Iterator[int] = iter(())
    """Rows of Y still to be tried as its image."""
    image: int = -1
    """The one tried last."""
    began: int = 0
    """Guesses made before it was tried."""
    costly: list[int] = field(default_factory=list)
    """Images that were refused only after many guesses."""
    failed: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=bool))
    """Rows of Y that known symmetries reach from these, shape (K,); empty while there are none."""
    symmetries: list[np.ndarray] = field(default_factory=list)
    """Permutations of the rows of Y by rotations that keep the fixed images in place."""


class MatchingSearch:
    """Depth-first search for a rotation and relabelling that carry X to Y, unit rows (K, d) both.

    The tolerance is that of `Match.deviation`.
    """

    def __init__(self, X: np.ndarray, Y: np.ndarray, tolerance: float) -> None:
        self.X, self.Y, self.tolerance = X, Y, tolerance
        self.delta = _SLACK * tolerance
        self.guesses = 0
        self.labels, self.thorough = 0.0, False
        self.open_question: str | None = None
        self.hardly: str | None = None

    def run(
        self,
        labels: float,
        deadline: Deadline,
        *,
        thorough: bool = False,
        fixed: tuple[tuple[int, int], ...] = (),
    ) -> Match | SearchEnd:
        """Search with some guesses fixed, until the rows were sorted `labels` times.

        A thorough search begins with a look at every inner product, O(K^2 d), and chooses the rows
        to fix with more care.
        """
        self.labels, self.thorough = labels, thorough
        level = self.start()
        for row, image in fixed:
            level = None if level is None else self.fix(level, row, image)
        if level is None:
            return SearchEnd(None)
        return self.below(level, deadline)

    def start(self) -> Level | None:
        """Before any guess; None where the rows themselves rule out a matching."""
        K, d = self.X.shape
        colours = by_profile(self.X, self.Y, self.delta) if self.thorough else Colouring.uniform(K)
        if colours is not None:
            colours = colours.refine(self.X, self.Y, self.delta, reach=K if self.thorough else 0)
        return None if colours is None else Level([], colours, np.ones(K), np.empty((0, d)))

    def below(self, first: Level, deadline: Deadline) -> Match | SearchEnd:
        """Search with the guesses of a level, while labels are left."""
        self.hardly = self.open_question = None
        stack, found = [first], self._enter(first)
        while found is None and stack:
            level = stack[-1]
            image = next((i for i in level.images if not self._hopeless(level, i, deadline)), -1)
            if image < 0:
                stack.pop()
                if stack:
                    self._fail(stack[-1])
                continue
            if self.hardly:
                return SearchEnd(self.hardly)
            if self.labels <= 0.0 or deadline.expired:
                return SearchEnd("the search for a matching was cut short", cut_short=True)
            self.guesses += 1
            level.image, level.began = image, self.guesses
            next_level = self.fix(level, level.row, image)
            if next_level is not None:
                stack.append(next_level)
                found = self._enter(next_level)
        return found or SearchEnd(self.hardly or self.open_question)

    def _enter(self, level: Level) -> Match | None:
        """Choose the row to fix next; at the end of a branch, the matching it leads to."""
        far = float(level.left.max())
        if level.colours.discrete or far <= (_SPANNED * self.delta) ** 2:
            return self._match(level)
        level.row = self._dividing_row(level, far)
        images = np.flatnonzero(level.colours.b == level.colours.a[level.row])
        # The row's own number first: of a symmetry, the rows that can stay do.
        level.images = iter(images[np.argsort(images != level.row, kind="stable")].tolist())
        return None

    def _dividing_row(self, level: Level, far: float) -> int:
        """The row of X whose inner products divide the rows best, of one row from each colour.

        Rows must lie well out of the space spanned so far, so that rounding does not grow.
        """
        X, own = self.X, Colouring(level.colours.a, level.colours.a, level.colours.count)
        able = np.flatnonzero(level.left >= 0.8 * far)
        sizes = own.sizes()[own.a[able]]
        order = np.lexsort((-level.left[able], own.a[able], sizes))
        _, first = np.unique(own.a[able[order]], return_index=True)
        rows = able[order[np.sort(first)]]
        # A row alone in its colour is known already: it divides nothing.
        rows = rows[int((sizes == 1).sum()) :] if sizes.max() > 1 else rows[:1]
        if len(rows) == 1:
            return int(rows[0])
        best, most = int(rows[0]), 0
        for row in rows[:_CHOICES].tolist():
            label = X @ X[row]
            self.labels -= 1
            divided = own.split(label, label, agreement(self.delta))
            if divided is not None and self.thorough:
                self.labels -= REFINING
                divided = divided.refine(X, X, self.delta, reach=_PAIRS // len(X))
            if divided is not None and divided.count > most:
                best, most = row, divided.count
        return best

    def fix(self, level: Level, row: int, image: int) -> Level | None:
        """Send one more row to an image; None where the inner products forbid it."""
        X, Y = self.X, self.Y
        self.labels -= 1
        colours = level.colours.split(X @ X[row], Y @ Y[image], agreement(self.delta))
        if colours is not None:
            self.labels -= REFINING
            colours = colours.refine(X, Y, self.delta, reach=_PAIRS // len(X))
        if colours is None:
            return None
        fixed = [*level.fixed, (row, image)]
        if level.left[row] <= (_SPANNED * self.delta) ** 2:
            return Level(fixed, colours, level.left, level.basis)
        new = X[row] - (level.basis @ X[row]) @ level.basis
        new -= (level.basis @ new) @ level.basis
        new /= np.linalg.norm(new)
        left = np.maximum(level.left - (X @ new) ** 2, 0.0)
        basis = np.concatenate([level.basis, new[None]])
        return Level(fixed, colours, left, basis)

    def _fail(self, level: Level) -> None:
        """Note that the image tried last has no matching, if that was costly to find out."""
        if self.guesses - level.began >= _WORTHWHILE:
            level.costly.append(level.image)
            level.failed = np.zeros(len(self.Y), dtype=bool)
            level.failed[level.costly] = True
            _spread(level.failed, level.symmetries)

    def _hopeless(self, level: Level, image: int, deadline: Deadline) -> bool:
        """Whether a symmetry of Y carries a costly failure to this image; looks for a new one."""
        if not level.costly or level.failed[image]:
            return bool(level.costly)
        stay = tuple((row, row) for _, row in level.fixed)
        for failure in level.costly[: -_LATEST - 1 : -1]:
            search = MatchingSearch(self.Y, self.Y, self.tolerance / 2.0)
            budget = min(self.labels, 3.0 * REFINING * (self.X.shape[1] + 8))
            found = search.run(budget, deadline, fixed=(*stay, (failure, image)))
            self.labels -= budget - search.labels
            if isinstance(found, Match):
                level.symmetries.append(found.partner)
                _spread(level.failed, level.symmetries)
                return True
        return False

    def _match(self, level: Level) -> Match | None:
        """The relabelling that the colours name, and its rotation, if all rows are near enough."""
        from scipy.linalg import orthogonal_procrustes

        colours = level.colours
        partner = np.empty(len(self.X), dtype=np.intp)
        if colours.discrete:
            partner[np.argsort(colours.a)] = np.argsort(colours.b)
        else:
            from scipy.optimize import linear_sum_assignment
            from scipy.spatial.distance import cdist

            rows, images = np.array(level.fixed).T
            turned = self.X @ orthogonal_procrustes(self.X[rows], self.Y[images])[0]
            for colour in range(colours.count):
                mine = np.flatnonzero(colours.a == colour)
                theirs = np.flatnonzero(colours.b == colour)
                apart = cdist(turned[mine], self.Y[theirs], "sqeuclidean")
                partner[mine] = theirs[linear_sum_assignment(apart)[1]]
        rotation = orthogonal_procrustes(self.X, self.Y[partner])[0]
        difference = self.X @ rotation - self.Y[partner]
        deviation = float(np.sqrt(np.einsum("kd,kd->k", difference, difference).max()))
        if deviation <= self.tolerance:
            return Match(partner, rotation, deviation)
        if deviation <= _NEARLY * self.tolerance:
            self.hardly = f"matched rows lie {deviation:.1e} apart, near the tolerance"
        elif not colours.discrete:
            self.open_question = "rows lie too close together to tell apart"
        return None


def _spread(failed: np.ndarray, symmetries: list[np.ndarray]) -> None:
    """Close a set of rows under permutations, in place."""
    count = -1
    while count != (count := int(failed.sum())):
        for partner in symmetries:
            failed[partner[failed]] = True
