"""GNC2: how far the worst class weight lies from the hull of all the others.

`gnc2` brackets this minimum alone. `gnc2_detail` adds the quantiles over classes, the nearest
classes and the worst ones, from one search. Up to 5000 classes it closes every bracket, of which
the lowest is the minimum. Beyond, the pruned search finds the minimum, and a seeded sample of
classes gives the quantiles.
"""

from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import numpy as np

from gnc_cli.brackets import Bracket
from gnc_cli.geometry.gram import one_vs_one_rattlers, row_maxima
from gnc_cli.geometry.hull_products import ArrayProducts, TensorProducts
from gnc_cli.geometry.one_vs_rest import HullSearch, minimum_one_vs_rest
from gnc_cli.geometry.rounding import gamma
from gnc_cli.geometry.sphere import as_points
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.threads import accelerator

EVERY_CLASS = 5000
"""Largest K for which the bracket of every class is closed; beyond, that of the minimum is."""
_MAX_WORST_CLASSES = 10
"""Number of classes that are listed as the worst, which a table shows at once."""
_TOLERANCE = 1e-12
"""Width at which a bracket is closed, some roundings of unit rows."""
_MIN_DEVICE_WORK = 5e10
"""Operations in the product of all rows with all rows below which `auto` stays on the CPU."""


@dataclass(frozen=True)
class Rattlers:
    """Numbers of rows above the minimum, by either distance; None if not computed."""

    one_vs_one: int | None
    """Rows whose nearest neighbour is farther than the smallest chord by more than `tolerance`."""
    one_vs_rest: int | None
    """Rows whose one-vs-rest distance exceeds the minimum by more than `tolerance`."""
    tolerance: float
    """Absolute tolerance on distances."""


@dataclass(frozen=True)
class Gnc2Quantiles:
    """Quantiles of the classes' one-vs-rest distances, each with the quantiles of both ends."""

    q0: Bracket
    """The minimum, always over all classes: GNC2 itself."""
    q0_001: Bracket
    """The distance that one class in a thousand falls below."""
    q0_01: Bracket
    """The distance that one class in a hundred falls below."""
    q0_1: Bracket
    """The distance that one class in ten falls below."""
    q0_5: Bracket
    """The distance that half of the classes fall below."""
    classes: int
    """Number of classes that the quantiles other than q0 are taken from."""
    seed: int | None
    """Seed of the sample of classes; None if all classes were bracketed."""


def gnc2(W: np.ndarray, *, tolerance: float = 1e-10, deadline: Deadline | None = None) -> Bracket:
    """Bracket `rho_one_vs_rest(W)` (section 2.2 of arXiv 2310.05351).

    Collapsed at the largest value possible for (d, K): `K / (K - 1)` for K <= d + 1.

    Args:
        W: class weights, unit rows for the paper's metric, shape (K, d).
        tolerance: width at which the bracket is closed, absolute.
        deadline: the bracket is valid if it expires, but wider.

    Raises:
        DataError: W is not a finite matrix of two rows or more.

    Example:
        >>> bracket = gnc2(np.array([[1.0, 0.0], [-1.0, 0.0]]))
        >>> round(bracket.lower, 12), round(bracket.upper, 12)
        (2.0, 2.0)
    """
    return minimum_one_vs_rest(W, tolerance=tolerance, deadline=deadline)


@dataclass(frozen=True, eq=False)
class Gnc2Detail:
    """One-vs-rest distances of a classifier's rows, with proofs (arXiv 2310.05351, section 2)."""

    bracket: Bracket
    """GNC2, the smallest distance of all K classes."""
    classes: np.ndarray
    """Bracketed classes: all, or the sample and the worst; sorted, shape (m,)."""
    lower: np.ndarray
    """Proved lower ends of their distances, shape (m,)."""
    upper: np.ndarray
    """Proved upper ends of their distances, shape (m,)."""
    directions: np.ndarray | None
    """Unit h that give the lower ends of all K classes, shape (K, d). If a bracket is closed, h is
    the optimal feature of theorem 3.5."""
    nearest: np.ndarray | None
    """The other class with the largest cosine, integers, shape (K,); None if the rows are not
    unit or the deadline expired before all pairs were compared."""
    nearest_cosine: np.ndarray | None
    """Largest cosine with another class, shape (K,); None with `nearest`."""
    quantiles: Gnc2Quantiles | None
    """Quantiles over classes; None if only the minimum was requested."""
    rattlers: Rattlers
    """Numbers of rattlers; one-vs-rest None unless `rattles` is decided for all K classes,
    one-vs-one None with `nearest`."""
    rattles: np.ndarray
    """True if the class is proved to exceed the minimum by more than the tolerance, shape (m,)."""
    decided: np.ndarray
    """True if that is proved or refuted, shape (m,)."""
    undecided: bool
    """True if the deadline expired before the rattlers of all classes were counted."""
    worst: np.ndarray
    """Worst classes, up to ten, the smallest distance first, shape (w,): of all, or of those in
    `classes` and those that the search for the minimum refined."""


def gnc2_detail(  # noqa: PLR0913  # options of the public function
    W: np.ndarray,
    *,
    every_class: bool | None = None,
    sample_size: int = 1000,
    minimum_only: bool = False,
    unit: bool = True,
    seed: int = 0,
    rattler_tolerance: float = 1e-7,
    maxima: tuple[np.ndarray, np.ndarray] | None = None,
    deadline: Deadline | None = None,
    device: str = "cpu",
) -> Gnc2Detail:
    """Bracket the one-vs-rest distances that `gnc measure` and the certificates of codes report.

    Args:
        W: class weights, rows, shape (K, d).
        every_class: True to close the bracket of each class, the default for up to 5000 of them.
        sample_size: number of classes drawn for the quantiles if not every class is closed.
        minimum_only: True for the minimum and the worst classes alone, without quantiles.
        unit: True if the rows have norm 1; otherwise cosines are left out.
        seed: seed of the sample of classes.
        rattler_tolerance: absolute tolerance on distances.
        maxima: `row_maxima(W)`, if known, shape (K,) each.
        deadline: brackets are valid if it expires, but wider.
        device: device of the products with all rows: `cpu`, `cuda`, `cuda:N`; `auto` takes a GPU
            for large W if there is one. Projections are computed on the CPU.

    Raises:
        DataError: W is not a finite matrix of two rows or more, or not of unit rows.
        UsageError, UnavailableError: the device is unknown, or not there.

    Example:
        >>> detail = gnc2_detail(np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]))
        >>> round(detail.bracket.lower, 12), detail.rattlers.one_vs_rest, detail.nearest
        (1.0, 0, array([1, 0, 1, 0]))
    """
    W = as_points(W)
    K, d = W.shape
    target = accelerator(device, worthwhile=2.0 * K * K * d >= _MIN_DEVICE_WORK)
    products = ArrayProducts if target is None else partial(TensorProducts, device=target)
    search = HullSearch(W, None, _TOLERANCE, deadline=deadline, products=products)
    cosines, nearest = maxima or (None, None)
    if unit and cosines is None:
        with suppress(TimeoutError):
            cosines, nearest = row_maxima(W, deadline=deadline)
    search.first_bounds(nearest)
    closed = not minimum_only and (K <= EVERY_CLASS if every_class is None else every_class)
    if closed:
        bracketed = np.arange(K)
        # The lowest first: a deadline then costs only the classes that matter least.
        order = np.argsort(search.lower, kind="stable")
        search.close_all(order)
        worst = _lowest(search, bracketed)
    else:
        refined = search.minimum(_TOLERANCE)
        sample = np.arange(0)
        if not minimum_only:
            rng = np.random.default_rng(seed)
            sample = np.sort(rng.choice(K, min(K, sample_size), replace=False))
            search.close_all(sample)
        worst = _lowest(search, np.union1d(sample, refined))
        search.close(worst)
        worst = _lowest(search, worst)
        bracketed = np.union1d(sample, worst)
    lower, upper = search.ends()
    bracket = Bracket(float(lower.min()), float(upper.min()))
    quantiles = None
    if not minimum_only:
        indices = bracketed if closed else sample
        quantiles = _quantiles(bracket, lower[indices], upper[indices], None if closed else seed)
    single = None if cosines is None else one_vs_one_rattlers(cosines, rattler_tolerance)
    rattles = lower[bracketed] > bracket.upper + rattler_tolerance
    decided = rattles | (upper[bracketed] <= bracket.lower + rattler_tolerance)
    free = int(rattles.sum()) if closed and decided.all() else None
    return Gnc2Detail(
        bracket=bracket,
        classes=bracketed,
        lower=lower[bracketed],
        upper=upper[bracketed],
        directions=search.directions,
        nearest=nearest,
        nearest_cosine=cosines,
        quantiles=quantiles,
        rattlers=Rattlers(None if single is None else int(single.sum()), free, rattler_tolerance),
        rattles=rattles,
        decided=decided,
        undecided=closed and free is None,
        worst=worst,
    )


def _lowest(search: HullSearch, classes: np.ndarray) -> np.ndarray:
    """Return up to ten of some classes, by their upper ends, since these are attained."""
    return classes[np.argsort(search.upper[classes], kind="stable")[:_MAX_WORST_CLASSES]]


def _quantiles(
    bracket: Bracket, lower: np.ndarray, upper: np.ndarray, seed: int | None
) -> Gnc2Quantiles:
    """Return quantiles, each end that of the given ends, moved out by its rounding."""
    low, high = (
        np.quantile(ends, [0.001, 0.01, 0.1, 0.5]) * (1.0 + side * gamma(4))
        for ends, side in ((lower, -1), (upper, 1))
    )
    a, b, c, e = (Bracket(float(p), float(q)) for p, q in zip(low, high, strict=True))
    return Gnc2Quantiles(bracket, a, b, c, e, classes=len(lower), seed=seed)
