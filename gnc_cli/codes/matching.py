"""Search for congruences: colours that any rotation preserves, images of a spanning set.

Suppose a rotation and a relabelling carry A to within `delta` of B, row by row. Then every number
computed from inner products alone (a *label*) nearly agrees on corresponding rows, by a bound that
is known beforehand. Labels are sorted for both codes together and cut only where the gap exceeds
that bound, so corresponding rows always share a colour: unequal counts prove that no such rotation
exists. Coincidences merge colours, which costs pruning and never truth.

Each guess sends one more row of X to a row of Y and colours all rows again. If a guess has failed,
a symmetry of Y that fixes the earlier images carries the failure to every row it reaches: codes
with many symmetries then need one failure per orbit, not per row.

Reference: B. D. McKay, Practical graph isomorphism, 1981, for graphs; here inner products are real
numbers with a tolerance, and the tolerance is part of the argument.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from gnc_cli.runtime.deadline import Deadline

_ROUNDING = 1e-12
"""Upper estimate of the rounding of a label: sums of unit rows in float64."""
_PITCH = 5.0
"""Slope of the function that mixes all powers of an inner product into one label."""
_TILE_ENTRIES = 1 << 20
"""Number of entries of a tile of inner products (8 MB)."""
_MAX_COLOURS = 1024
"""Largest number of colours in one label: with more, each would weigh too little to matter."""
_MAX_PAIRS = 1 << 20
"""Largest number of inner products that a guess evaluates one by one."""
REFINEMENT_LABELS = 12
"""Approximate number of labels that a guess costs unless it is refused at once."""
_MAX_CHOICES = 6
"""Largest number of colours, the smallest first, of which a row is considered to be fixed next."""
_SPAN_TOLERANCES = 1e3
"""Distance, in tolerances, within which a row counts as part of the space fixed so far."""
_SLACK = 1.5
"""Width, in tolerances, of the matchings that are still followed, so that a symmetry half a
tolerance wide never carries a failure to a row that has a matching."""
_NEAR_MISS = 20.0
"""Largest width, in tolerances, of a matching that ends the search undecided: its images are as
wide, and may be too many to examine."""
_MAX_FAILURES = 3
"""Number of failures, the last first, from which a symmetry to another image is searched."""
_MIN_FAILED_GUESSES = 8
"""Smallest number of guesses that a failure costs if a symmetry is searched."""


@dataclass(frozen=True)
class Colouring:
    """Partition of the rows of both codes, with equally many rows of each in every colour."""

    a: np.ndarray
    """Colour of each row of A, shape (K,), integers 0 .. count - 1."""
    b: np.ndarray
    """Colour of each row of B, shape (K,)."""
    count: int
    """Number of colours."""

    @classmethod
    def uniform(cls, K: int) -> "Colouring":
        """Give all K rows of both codes one colour."""
        return cls(np.zeros(K, dtype=np.intp), np.zeros(K, dtype=np.intp), 1)

    @property
    def discrete(self) -> bool:
        """True if every colour has one row of each code: the relabelling is known."""
        return self.count == len(self.a)

    def sizes(self) -> np.ndarray:
        """Count the rows of A, or of B, of each colour, shape (count,)."""
        return np.bincount(self.a, minlength=self.count)

    def split(self, a: np.ndarray, b: np.ndarray, tolerance: float) -> "Colouring | None":
        """Divide by a label on the rows of A and of B, between -2 and 2, shape (K,) both.

        Labels of corresponding rows differ by at most the tolerance. None if the counts disagree:
        then no rows correspond.
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
        """Divide by labels that the colours themselves define, until nothing changes.

        Each row x is labelled by `sum_k w_k f(<x, a_k>)`, where the weights w depend on the colour
        of a_k alone: f(s) = s and s**2 over all rows, O(K d^2), and a function that mixes all
        powers over the smallest colours, O(K reach d). Over all rows the last one divides as
        colour refinement of the whole Gram matrix does.

        A and B are unit rows, shape (K, d). None if the counts disagree.
        """
        colours, previous = self, 0
        while not colours.discrete and colours.count != previous:
            previous = colours.count
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


def split_by_profile(A: np.ndarray, B: np.ndarray, delta: float) -> Colouring | None:
    """Divide unit rows (K, d) by sorted inner products: both ends and quartiles, O(K^2 d).

    Sorting preserves the agreement: the n-th largest of two lists differ no more than their
    entries. One displaced row shows here, where sums over all rows might hide it. None if the
    counts disagree.
    """
    K = len(A)
    ranks = np.unique([r % K for r in (0, 1, K // 4, K // 2, 3 * K // 4, K - 3, K - 2)])
    colours: Colouring | None = Colouring.uniform(K)
    for a, b in zip(_profiles(A, ranks), _profiles(B, ranks), strict=True):
        colours = colours.split(a, b, agreement(delta)) if colours is not None else None
    return colours


def agreement(delta: float) -> float:
    """Bound the difference of inner products of corresponding unit rows, `2 delta + delta**2`."""
    return 2.0 * delta + delta * delta + _ROUNDING


def _weights(sizes: np.ndarray, reach: int | None) -> np.ndarray:
    """Weight the rows of each colour, shape (count,): different, not negative, of total 1.

    Total 1 bounds the label's change by the slope of f times the agreement of inner products. With
    `reach` only the smallest colours, of at most `reach` rows together, have a weight.
    """
    # Multiples of the golden ratio modulo 1 are as unlike each other as numbers can be.
    mark = 0.5 + np.modf(np.arange(1, len(sizes) + 1) * 0.6180339887498949)[0]
    order = np.argsort(sizes, kind="stable")
    mark[order[_MAX_COLOURS:]] = 0.0
    if reach is not None:
        mark[order[np.cumsum(sizes[order]) > reach]] = 0.0
    return np.asarray(mark / (max(mark.sum(), 1.0) * sizes))


def _profiles(X: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """Return the entries of some ranks in each sorted row of the Gram matrix, (ranks, K)."""
    profile = np.empty((len(X), len(ranks)))
    step = max(1, _TILE_ENTRIES // len(X))
    for k in range(0, len(X), step):
        tile = X[k : k + step] @ X.T
        tile.partition(ranks, axis=1)
        profile[k : k + step] = tile[:, ranks]
    return np.asarray(profile.T)


def _first(X: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return np.asarray(X @ (weight @ X))


def _second(X: np.ndarray, weight: np.ndarray) -> np.ndarray:
    form = (X * weight[:, None]).T @ X
    return np.asarray(np.einsum("kd,kd->k", X @ form, X))


def _mixed(X: np.ndarray, weight: np.ndarray) -> np.ndarray:
    rows = np.flatnonzero(weight)
    label = np.zeros(len(X))
    step = max(1, _TILE_ENTRIES // max(1, len(rows)))
    for k in range(0, len(X), step):
        tile = X[k : k + step] @ X[rows].T
        tile *= _PITCH
        tile += 1.0
        label[k : k + step] = np.sin(tile, out=tile) @ weight[rows]
    return label


_LABELS = ((_first, 1.0, False), (_second, 2.0, False), (_mixed, _PITCH, True))
"""Labels, the largest slope of their f on [-1, 1], and True for those of few rows only."""


@dataclass(frozen=True, eq=False)
class Match:
    """Relabelling with its rotation."""

    partner: np.ndarray
    """Row of Y, `partner[k]`, to which row k of X goes, shape (K,)."""
    rotation: np.ndarray
    """Orthogonal matrix, shape (d, d), with `X @ rotation` near `Y[partner]`."""
    deviation: float
    """Largest distance of two partners."""


@dataclass(frozen=True)
class SearchEnd:
    """End of a search without a matching."""

    reason: str | None
    """Reason why nothing is proved; None if it is proved that there is no matching."""
    cut_short: bool = False
    """True if the search was not complete."""


@dataclass
class Level:
    """State of the search after some guesses."""

    fixed: list[tuple[int, int]]
    """Guesses: a row of X and its image in Y."""
    colours: Colouring
    """Colours of the rows of both codes."""
    distances: np.ndarray
    """Squared distance of each row of X from the space that the fixed ones span, shape (K,)."""
    basis: np.ndarray
    """Orthonormal rows spanning that space, shape (r, d)."""
    row: int = -1
    """Row of X to be fixed next."""
    images: Iterator[int] = field(default_factory=lambda: iter(()))
    """Rows of Y that are not yet tried as its image."""
    image: int = -1
    """Image tried last."""
    first_guess: int = 0
    """Number of the guess at which it was tried."""
    costly: list[int] = field(default_factory=list)
    """Images that were refuted only after many guesses."""
    failed: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=bool))
    """Mask of the rows of Y that known symmetries reach from these, (K,); empty without any."""
    symmetries: list[np.ndarray] = field(default_factory=list)
    """Permutations of the rows of Y by rotations that preserve the fixed images."""


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
        self.near_miss: str | None = None

    def run(
        self,
        labels: float,
        deadline: Deadline,
        *,
        thorough: bool = False,
        fixed: tuple[tuple[int, int], ...] = (),
    ) -> Match | SearchEnd:
        """Search with some guesses fixed, until the rows were sorted `labels` times.

        A thorough search begins with all inner products, O(K^2 d), and refines colours before it
        chooses the rows to fix.
        """
        self.labels, self.thorough = labels, thorough
        level = self.start()
        for row, image in fixed:
            level = None if level is None else self.fix(level, row, image)
        if level is None:
            return SearchEnd(None)
        return self.search_from(level, deadline)

    def start(self) -> Level | None:
        """Return the state before any guess; None if the rows themselves exclude a matching."""
        K, d = self.X.shape
        colours = (
            split_by_profile(self.X, self.Y, self.delta) if self.thorough else Colouring.uniform(K)
        )
        if colours is not None:
            colours = colours.refine(self.X, self.Y, self.delta, reach=K if self.thorough else 0)
        return None if colours is None else Level([], colours, np.ones(K), np.empty((0, d)))

    def search_from(self, first: Level, deadline: Deadline) -> Match | SearchEnd:
        """Search with the guesses of a level, until the labels are used up."""
        self.near_miss = self.open_question = None
        stack, match = [first], self._enter(first)
        while match is None and stack:
            level = stack[-1]
            image = next((i for i in level.images if not self._is_hopeless(level, i, deadline)), -1)
            if image < 0:
                stack.pop()
                if stack:
                    self._fail(stack[-1])
                continue
            if self.near_miss:
                return SearchEnd(self.near_miss)
            if self.labels <= 0.0 or deadline.expired:
                return SearchEnd("the search for a matching was cut short", cut_short=True)
            self.guesses += 1
            level.image, level.first_guess = image, self.guesses
            next_level = self.fix(level, level.row, image)
            if next_level is not None:
                stack.append(next_level)
                match = self._enter(next_level)
        return match or SearchEnd(self.near_miss or self.open_question)

    def _enter(self, level: Level) -> Match | None:
        """Choose the row to fix next; at the end of a branch, return its matching."""
        farthest = float(level.distances.max())
        if level.colours.discrete or farthest <= (_SPAN_TOLERANCES * self.delta) ** 2:
            return self._match(level)
        level.row = self._dividing_row(level, farthest)
        images = np.flatnonzero(level.colours.b == level.colours.a[level.row])
        # The same row first: a symmetry then fixes as many rows as it can.
        level.images = iter(images[np.argsort(images != level.row, kind="stable")].tolist())
        return None

    def _dividing_row(self, level: Level, farthest: float) -> int:
        """Return the row of X whose inner products divide the rows best, of one row per colour.

        Rows must lie far outside the space spanned so far, so that rounding does not grow.
        """
        X, colours = self.X, Colouring(level.colours.a, level.colours.a, level.colours.count)
        candidates = np.flatnonzero(level.distances >= 0.8 * farthest)
        sizes = colours.sizes()[colours.a[candidates]]
        order = np.lexsort((-level.distances[candidates], colours.a[candidates], sizes))
        _, first = np.unique(colours.a[candidates[order]], return_index=True)
        rows = candidates[order[np.sort(first)]]
        # The image of a row alone in its colour is known: it divides nothing.
        rows = rows[int((sizes == 1).sum()) :] if sizes.max() > 1 else rows[:1]
        if len(rows) == 1:
            return int(rows[0])
        best, largest = int(rows[0]), 0
        for row in rows[:_MAX_CHOICES].tolist():
            label = X @ X[row]
            self.labels -= 1
            divided = colours.split(label, label, agreement(self.delta))
            if divided is not None and self.thorough:
                self.labels -= REFINEMENT_LABELS
                divided = divided.refine(X, X, self.delta, reach=_MAX_PAIRS // len(X))
            if divided is not None and divided.count > largest:
                best, largest = row, divided.count
        return best

    def fix(self, level: Level, row: int, image: int) -> Level | None:
        """Send one more row to an image; None if the inner products exclude it."""
        X, Y = self.X, self.Y
        self.labels -= 1
        colours = level.colours.split(X @ X[row], Y @ Y[image], agreement(self.delta))
        if colours is not None:
            self.labels -= REFINEMENT_LABELS
            colours = colours.refine(X, Y, self.delta, reach=_MAX_PAIRS // len(X))
        if colours is None:
            return None
        fixed = [*level.fixed, (row, image)]
        if level.distances[row] <= (_SPAN_TOLERANCES * self.delta) ** 2:
            return Level(fixed, colours, level.distances, level.basis)
        direction = X[row] - (level.basis @ X[row]) @ level.basis
        direction -= (level.basis @ direction) @ level.basis
        direction /= np.linalg.norm(direction)
        distances = np.maximum(level.distances - (X @ direction) ** 2, 0.0)
        basis = np.concatenate([level.basis, direction[None]])
        return Level(fixed, colours, distances, basis)

    def _fail(self, level: Level) -> None:
        """Record that the image tried last has no matching, if the refutation was costly."""
        if self.guesses - level.first_guess >= _MIN_FAILED_GUESSES:
            level.costly.append(level.image)
            level.failed = np.zeros(len(self.Y), dtype=bool)
            level.failed[level.costly] = True
            _spread(level.failed, level.symmetries)

    def _is_hopeless(self, level: Level, image: int, deadline: Deadline) -> bool:
        """Return True if a symmetry of Y, known or new, carries a costly failure to this image."""
        if not level.costly or level.failed[image]:
            return bool(level.costly)
        fixed = tuple((row, row) for _, row in level.fixed)
        for failure in level.costly[: -_MAX_FAILURES - 1 : -1]:
            search = MatchingSearch(self.Y, self.Y, self.tolerance / 2.0)
            budget = min(self.labels, 3.0 * REFINEMENT_LABELS * (self.X.shape[1] + 8))
            end = search.run(budget, deadline, fixed=(*fixed, (failure, image)))
            self.labels -= budget - search.labels
            if isinstance(end, Match):
                level.symmetries.append(end.partner)
                _spread(level.failed, level.symmetries)
                return True
        return False

    def _match(self, level: Level) -> Match | None:
        """Return the relabelling of the colours and its rotation, if all rows are near enough."""
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
            rotated = self.X @ orthogonal_procrustes(self.X[rows], self.Y[images])[0]
            for colour in range(colours.count):
                members = np.flatnonzero(colours.a == colour)
                partners = np.flatnonzero(colours.b == colour)
                distances = cdist(rotated[members], self.Y[partners], "sqeuclidean")
                partner[members] = partners[linear_sum_assignment(distances)[1]]
        rotation = orthogonal_procrustes(self.X, self.Y[partner])[0]
        difference = self.X @ rotation - self.Y[partner]
        deviation = float(np.sqrt(np.einsum("kd,kd->k", difference, difference).max()))
        if deviation <= self.tolerance:
            return Match(partner, rotation, deviation)
        if deviation <= _NEAR_MISS * self.tolerance:
            self.near_miss = f"matched rows lie {deviation:.1e} apart, near the tolerance"
        elif not colours.discrete:
            self.open_question = "rows lie too close together to be distinguished"
        return None


def _spread(failed: np.ndarray, symmetries: list[np.ndarray]) -> None:
    """Close a set of rows under permutations, in place."""
    count = -1
    while count != (count := int(failed.sum())):
        for partner in symmetries:
            failed[partner[failed]] = True
