"""The best polynomial of Delsarte's linear programme, in floating point.

Minimise f(1) over f = 1 + sum f_i P_i with f_i >= 0 and f <= 0 on [-1, s]. Cutting planes (HiGHS on
a grid, then f's own maxima added) find which coefficients are positive and where f touches 0;
Newton's method on the optimality conditions then gives both to rounding. Nothing here is a proof:
`delsarte.prove` takes any coefficients and says what they prove.
"""

import math
from dataclasses import dataclass

import numpy as np

from gnc_cli.limits.orthogonal import gegenbauer

_ROUNDS = 10
_LARGEST_SCALE = 20.0
_GAP = 1e-10
_SLACK = 1e-9
_LADDER = 12
_LADDER_TOP = 24


@dataclass(frozen=True)
class DelsartePolynomial:
    """A polynomial, all but feasible."""

    coefficients: np.ndarray
    """f_0 = 1 and f_1 ... f_degree >= 0, shape (degree + 1,)."""
    bound: float
    """What it would prove: (f(1) - e) / (1 - e), e its largest value on [-1, s]."""
    slope: float
    """Derivative of the optimal bound by s, from the multiplier of x = s; 0 where unknown."""


@dataclass(frozen=True)
class _Touching:
    """Where f touches 0 and how heavily it is held there."""

    x: np.ndarray
    weights: np.ndarray
    inner: np.ndarray


def optimum(d: int, s: float, degree: int) -> DelsartePolynomial | None:
    """Solve the programme; None where s is too near 1 for polynomials of this degree."""
    best, done = _search(d, s, degree)
    if best is None or done:
        return best
    # Near codes that attain the bound nearly all is degenerate, but not in the degree that counts.
    least = _least_degree(d, s, degree)
    for lower in range(least, min(least + _LADDER, degree, _LADDER_TOP)):
        other, _ = _search(d, s, lower)
        best = other if other is not None and other.bound < best.bound else best
    return best


def _least_degree(d: int, s: float, degree: int) -> int:
    """The smallest degree in which the programme has solutions, given that `degree` is one."""
    low, high = 0, degree
    while high - low > 1:
        middle = (low + high) // 2
        solvable = _programme(d, middle, _grid(d, s, middle, 2 * middle)) is not None
        low, high = (low, middle) if solvable else (middle, high)
    return high


def _search(d: int, s: float, degree: int) -> tuple[DelsartePolynomial | None, bool]:
    """The best polynomial seen, and whether its multipliers show it optimal."""
    fine = _grid(d, s, degree, 10 * degree)
    on_fine = gegenbauer(d, degree, fine)
    points = _grid(d, s, degree, 2 * degree)
    best: DelsartePolynomial | None = None
    for _ in range(_ROUNDS):
        solved = _programme(d, degree, points)
        if solved is None:
            break
        f, multipliers = solved
        tops = _maxima(d, s, f, fine, f @ on_fine)
        values = f @ gegenbauer(d, degree, tops)
        touching = _gather(s, points, multipliers, tops)
        best = _better(best, f, values, _slope(d, s, f, touching))
        polished = _newton(d, f, touching)
        if polished is not None:
            g, held = polished
            tops_of_g = _maxima(d, s, g, fine, g @ on_fine)
            of_g = g @ gegenbauer(d, degree, tops_of_g)
            best = _better(best, g, of_g, _slope(d, s, g, held))
            if best is not None and _optimal(d, degree, best, held):
                return best, True
        if best is not None and best.bound <= (1.0 + _GAP) * float(f.sum()):
            return best, True
        points = np.unique(np.concatenate([points, tops[values > -1e-3]]))
    return best, False


def _better(
    best: DelsartePolynomial | None, f: np.ndarray, values: np.ndarray, slope: float
) -> DelsartePolynomial | None:
    excess = float(values.max())
    if excess >= 1.0:
        return best
    bound = (float(f.sum()) - excess) / (1.0 - excess)
    return DelsartePolynomial(f, bound, slope) if best is None or bound < best.bound else best


def _slope(d: int, s: float, f: np.ndarray, held: _Touching) -> float:
    if held.x[-1] != s:
        return 0.0
    return float(held.weights[-1] * (f @ derivatives(d, len(f) - 1, held.x[-1:]))[0])


def _optimal(d: int, degree: int, best: DelsartePolynomial, held: _Touching) -> bool:
    """Whether the multipliers are feasible for the dual programme and prove the bound optimal."""
    slack = 1.0 + gegenbauer(d, degree, held.x)[1:] @ held.weights
    gap = best.bound - 1.0 - float(held.weights.sum())
    return bool(slack.min() > -_SLACK and gap <= _GAP * best.bound)


def _grid(d: int, s: float, degree: int, number: int) -> np.ndarray:
    """Points that are dense at the ends of [-1, s], and of where P_i oscillates for large d."""
    turns = np.cos(np.linspace(0.0, np.pi, number))
    low = max(-1.0, -abs(s) - 4.0 * float(np.sqrt(degree / d)))
    return np.unique(np.concatenate([_stretch(-1.0, s, turns), _stretch(low, s, turns)]))


def _stretch(low: float, high: float, turns: np.ndarray) -> np.ndarray:
    return np.clip(0.5 * (low + high) + 0.5 * (high - low) * turns, low, high)


def _programme(d: int, degree: int, points: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Coefficients and multipliers of the programme whose constraints are these points alone."""
    from scipy.optimize import linprog

    # In units of sqrt(dimension of the harmonics) columns are of one size where f oscillates.
    units = np.exp(np.minimum(0.5 * np.array(harmonic_logs(d, degree)), _LARGEST_SCALE))
    rows = gegenbauer(d, degree, points)[1:].T * units
    sizes = _positive(np.abs(rows).max(axis=1))
    done = linprog(
        units / units.max(),
        rows / sizes[:, None],
        -1.0 / sizes,
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if done.status != 0:
        return None
    f = np.concatenate([[1.0], np.maximum(done.x * units, 0.0)])
    return f, -done.ineqlin.marginals / sizes * units.max()


def _positive(sizes: np.ndarray) -> np.ndarray:
    return np.where(sizes > 0.0, sizes, 1.0)


def _maxima(d: int, s: float, f: np.ndarray, fine: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The local maxima of f on [-1, s], ascending, and s."""
    middle = values[1:-1]
    k = np.flatnonzero((middle >= values[:-2]) & (middle > values[2:])) + 1
    # Near codes that attain the bound one may lie just inside -1, closer than the grid sees.
    rising = float((f @ derivatives(d, len(f) - 1, fine[:1]))[0]) > 0.0
    if rising and values[0] >= values[1]:
        k = np.concatenate([[0], k])
    x = fine[k]
    for _ in range(4):
        slope, bend = (f @ derivatives(d, len(f) - 1, x, order) for order in (1, 2))
        down = bend < 0.0
        step = np.where(down, -slope / np.where(down, bend, 1.0), 0.0)
        x = np.clip(x + step, fine[np.maximum(k - 1, 0)], fine[k + 1])
    return np.unique(np.concatenate([[] if rising else [-1.0], x, [s]]))


def _gather(s: float, points: np.ndarray, multipliers: np.ndarray, tops: np.ndarray) -> _Touching:
    """Merge the binding points around each maximum into one."""
    held = multipliers > 0.0
    points, multipliers = points[held], multipliers[held]
    nearest = np.abs(points[:, None] - tops).argmin(axis=1)
    which = np.unique(nearest)
    weights = np.array([multipliers[nearest == k].sum() for k in which])
    means = np.array([multipliers[nearest == k] @ points[nearest == k] for k in which]) / weights
    ends = (tops[which] == -1.0) | (tops[which] == s)
    return _Touching(np.where(ends, tops[which], means), weights, ~ends)


def _newton(d: int, f: np.ndarray, start: _Touching) -> tuple[np.ndarray, _Touching] | None:
    """Solve f(x_j) = 0, f'(x_j) = 0 (inner x_j), 1 + sum_j weights_j P_i(x_j) = 0 (f_i > 0).

    Unknowns are the positive f_i, the weights (both by relative change) and the inner x_j.
    """
    degree = len(f) - 1
    used = np.flatnonzero(f[1:] > 0.0) + 1
    if not (len(used) and len(start.x)):
        return None
    f, x, weights, inner = f.copy(), start.x.copy(), start.weights.copy(), start.inner
    low, high = x[0] if not inner[0] else -1.0, x[-1] if not inner[-1] else 1.0
    n, m, p = len(x), len(used), int(inner.sum())
    for _ in range(10):
        P, slopes, bends = (derivatives(d, degree, x, order) for order in (0, 1, 2))
        system = np.zeros((n + p + m, m + n + p))
        system[:n, :m] = P[used].T * f[used]
        system[np.flatnonzero(inner), m + n + np.arange(p)] = (f @ slopes)[inner]
        system[n : n + p, :m] = slopes[used].T[inner] * f[used]
        system[n + np.arange(p), m + n + np.arange(p)] = (f @ bends)[inner]
        system[n + p :, m : m + n] = P[used] * weights
        system[n + p :, m + n :] = (slopes[used] * weights)[:, inner]
        missing = np.concatenate([f @ P, (f @ slopes)[inner], 1.0 + P[used] @ weights])
        rows = _positive(np.abs(system).max(axis=1))
        columns = _positive(np.abs(system / rows[:, None]).max(axis=0))
        scaled = system / rows[:, None] / columns
        step = np.linalg.lstsq(scaled, -missing / rows, rcond=1e-14)[0] / columns
        f[used] *= 1.0 + step[:m]
        weights = weights * (1.0 + step[m : m + n])
        x[inner] += step[m + n :]
        ordered = x[0] >= low and x[-1] <= high and bool((np.diff(x) > 0.0).all())
        if not ordered or weights.min() <= 0.0 or f.min() < 0.0:
            return None
        if np.abs(step).max() < 1e-14:
            break
    return f, _Touching(x, weights, inner)


def derivatives(d: int, degree: int, x: np.ndarray, order: int = 1) -> np.ndarray:
    """Derivatives of P_0 to P_degree at each x, shape (degree + 1, n).

    A derivative is a polynomial of the same kind in R^(d+2), times i (i + d - 2) / (d - 1).
    """
    if order == 0:
        return gegenbauer(d, degree, x)
    i = np.arange(1, degree + 1)
    factors = i * ((i + d - 2) / (d - 1))
    inner = derivatives(d + 2, degree, x, order - 1)
    return np.concatenate([np.zeros((1, len(x))), factors[:, None] * inner[:-1]])


def harmonic_logs(d: int, degree: int) -> list[float]:
    """Logarithms of the dimensions of the harmonic spaces of degrees 1 to `degree` in R^d."""
    return [
        math.lgamma(i + d - 2) - math.lgamma(d - 1) - math.lgamma(i + 1) + math.log(2 * i + d - 2)
        for i in range(1, degree + 1)
    ]
