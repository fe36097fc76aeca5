"""The search behind `congruence`: colours that any rotation respects, images of a spanning set.

Suppose a rotation and a relabelling carry A to within `delta` of B, row by row. Then every number
computed from inner products alone (a *label*) nearly agrees on corresponding rows, by a bound that
is known beforehand. Labels are sorted for both codes together and cut only where the gap exceeds
that bound, so corresponding rows always share a colour: unequal counts prove that no such rotation
exists. Coincidences merge colours, which costs pruning and never truth.

Each guess sends one more row of X to a row of Y and colours all rows anew. Where a guess has
failed, a symmetry of Y that keeps the earlier images in place carries the failure to every row it
reaches: codes with many symmetries then need one failure per orbit, not per row.

Reference: B. D. McKay, Practical graph isomorphism, 1981, for graphs; here inner products are real
numbers with a tolerance, and the tolerance is part of the argument.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from gnc_cli.runtime.deadline import Deadline

_ROUNDING = 1e-12
"""Rounding of a label, generously: sums of unit rows in float64."""
_PITCH = 5.0
"""Slope of the function that mixes all powers of an inner product into one label."""
_TILE = 1 << 20
"""Entries of a tile of inner products."""
_MOST_COLOURS = 1024
"""Colours that take part in one label; beyond that each would weigh too little to matter."""
_PAIRS = 1 << 20
"""A guess looks at this many inner products one by one, at most."""
REFINING = 12
"""About this many labels are what a guess costs that is not refused at once."""
_CHOICES = 6
"""A row of each of the smallest colours, this many at most, is considered to be fixed next."""
_SPANNED = 1e3
"""Rows within this many tolerances of the space fixed so far add nothing to it."""
_SLACK = 1.5
"""Matchings this many tolerances wide are still followed, so that a symmetry half a tolerance
wide never carries a failure to a row that has a matching."""
_NEARLY = 20.0
"""A matching at most this many tolerances wide ends the search undecided: its images are as wide,
and may be too many to look at."""
_LATEST = 3
"""From the last failures, this many, a symmetry to another image is looked for."""
_WORTHWHILE = 8
"""A symmetry is looked for if the failure cost this many guesses."""


@dataclass(frozen=True)
class Colouring:
    """A partition of the rows of both codes, with equally many rows of each in every colour."""

    a: np.ndarray
    """Colour of each row of A, shape (K,), integers 0 .. count - 1."""
    b: np.ndarray
    """Colour of each row of B, shape (K,)."""
    count: int

    @classmethod
    def uniform(cls, K: int) -> "Colouring":
        """All K rows of both codes in one colour."""
        return cls(np.zeros(K, dtype=np.intp), np.zeros(K, dtype=np.intp), 1)

    @property
    def discrete(self) -> bool:
        """Every colour has one row of each code: the relabelling is known."""
        return self.count == len(self.a)

    def sizes(self) -> np.ndarray:
        """Rows of A (as of B) of each colour, shape (count,)."""
        return np.bincount(self.a, minlength=self.count)

    def split(self, a: np.ndarray, b: np.ndarray, tolerance: float) -> "Colouring | None":
        """Divide by a label on the rows of A and of B, between -2 and 2, shape (K,) both.

        Corresponding rows differ by at most the tolerance. None where the counts disagree: then
        nothing corresponds.
        """
        K = len(self.a)
        # One key in place of two: ten times faster to sort, and its rounding joins the tolerance.
        key = 4.0 * np.concatenate([self.a, self.b]) + np.concatenate([a, b])
        order = np.argsort(key)
        gap = tolerance + 8.0 * self.count * np.finfo(np.float64).eps
        number = np.empty(2 * K, dtype=np.intp)
        number[order] = np.concatenate([[0], np.cumsum(np.diff(key[order]) > gap)])
        count = int(number[order[-1]]) + 1
        new_a, new_b = number[:K], number[K:]
        if (np.bincount(new_a, minlength=count) != np.bincount(new_b, minlength=count)).any():
            return None
        return Colouring(new_a, new_b, count)

    def refine(
        self, A: np.ndarray, B: np.ndarray, delta: float, *, reach: int
    ) -> "Colouring | None":
        """Divide by what the colours themselves say of each row, until nothing changes.

        Each row x is labelled by `sum_k w_k f(<x, a_k>)`, where the weights w depend on the colour
        of a_k alone: f(s) = s and s**2 over all rows, O(K d^2), and a function that mixes all
        powers over the smallest colours, O(K reach d). Over all rows the last one sees what colour
        refinement of the whole Gram matrix sees.

        A and B are unit rows, shape (K, d). None where the counts disagree.
        """
        colours, before = self, 0
        while not colours.discrete and colours.count != before:
            before = colours.count
            for labels, slope, bound in _LABELS:
                weight = _weights(colours.sizes(), reach if bound else None)
                if not weight.any():
                    continue
                new = colours.split(
                    labels(A, weight[colours.a]),
                    labels(B, weight[colours.b]),
                    slope * agreement(delta),
                )
                if new is None:
                    return None
                colours = new
        return colours


def by_profile(A: np.ndarray, B: np.ndarray, delta: float) -> Colouring | None:
    """Rows divided by some of their sorted inner products: both ends and quartiles, O(K^2 d).

    Sorting keeps the agreement: the n-th largest of two lists differ no more than their entries.
    One row out of place shows here undiluted, where sums over all rows might hide it.
    """
    K = len(A)
    ranks = np.unique([r % K for r in (0, 1, K // 4, K // 2, 3 * K // 4, K - 3, K - 2)])
    colours: Colouring | None = Colouring.uniform(K)
    for a, b in zip(_profiles(A, ranks), _profiles(B, ranks), strict=True):
        colours = colours.split(a, b, agreement(delta)) if colours is not None else None
    return colours


def agreement(delta: float) -> float:
    """How far inner products of corresponding unit rows can differ: `2 delta + delta**2`."""
    return 2.0 * delta + delta * delta + _ROUNDING


def _weights(sizes: np.ndarray, reach: int | None) -> np.ndarray:
    """A weight for the rows of each colour, shape (count,): unlike, not negative, total 1.

    Total 1 keeps the label within the slope of f times the agreement of inner products. With
    `reach` only the smallest colours, with at most `reach` rows together, weigh anything.
    """
    # Multiples of the golden ratio modulo 1 are as unlike each other as numbers can be.
    mark = 0.5 + np.modf(np.arange(1, len(sizes) + 1) * 0.6180339887498949)[0]
    order = np.argsort(sizes, kind="stable")
    mark[order[_MOST_COLOURS:]] = 0.0
    if reach is not None:
        mark[order[np.cumsum(sizes[order]) > reach]] = 0.0
    return np.asarray(mark / (max(mark.sum(), 1.0) * sizes))


def _profiles(X: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """Entries of these ranks in each sorted row of the Gram matrix, shape (ranks, K)."""
    profile = np.empty((len(X), len(ranks)))
    step = max(1, _TILE // len(X))
    for k in range(0, len(X), step):
        tile = X[k : k + step] @ X.T
        tile.partition(ranks, axis=1)
        profile[k : k + step] = tile[:, ranks]
    return profile.T


def _first(X: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return np.asarray(X @ (weight @ X))


def _second(X: np.ndarray, weight: np.ndarray) -> np.ndarray:
    form = (X * weight[:, None]).T @ X
    return np.einsum("kd,kd->k", X @ form, X)


def _mixed(X: np.ndarray, weight: np.ndarray) -> np.ndarray:
    seen = np.flatnonzero(weight)
    label = np.zeros(len(X))
    step = max(1, _TILE // max(1, len(seen)))
    for k in range(0, len(X), step):
        tile = X[k : k + step] @ X[seen].T
        tile *= _PITCH
        tile += 1.0
        label[k : k + step] = np.sin(tile, out=tile) @ weight[seen]
    return label


_LABELS = ((_first, 1.0, False), (_second, 2.0, False), (_mixed, _PITCH, True))
"""Labels, the largest slope of their f on [-1, 1], and whether they look at few rows only."""


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
        stack, match = [first], self._enter(first)
        while match is None and stack:
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
                match = self._enter(next_level)
        return match or SearchEnd(self.hardly or self.open_question)

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
            end = search.run(budget, deadline, fixed=(*stay, (failure, image)))
            self.labels -= budget - search.labels
            if isinstance(end, Match):
                level.symmetries.append(end.partner)
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
        elif not level.fixed:
            self.open_question = "the tolerance is too wide to fix any row"
            return None
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
