"""The best polynomial of Delsarte's linear program, in floating point.

Minimise f(1) over f = 1 + sum f_i P_i with f_i >= 0 and f <= 0 on [-1, s]. Cutting planes (HiGHS on
a grid, then the maxima of f added) find which coefficients are positive and where f touches 0.
Newton's method on the optimality conditions then gives both to rounding. Nothing here is a proof:
`delsarte.prove` turns any coefficients into one.
"""

import math
from dataclasses import dataclass

import numpy as np

from gnc_cli.limits.orthogonal import gegenbauer

_MAX_ROUNDS = 10
"""Largest number of rounds of cutting planes, so that degenerate programs end."""
_LARGEST_SCALE = 20.0
"""Largest logarithm of the unit of a coefficient, so that columns stay within reach of HiGHS."""
_GAP_TOLERANCE = 1e-10
"""Relative gap between bound and dual value at which a polynomial counts as optimal."""
_SLACK_TOLERANCE = 1e-9
"""Violation of a dual condition that rounding explains."""
_MAX_LOWER_DEGREES = 12
"""Largest number of lower degrees that are tried, from the least one with solutions."""
_LOWER_DEGREE_LIMIT = 24
"""Degree below which the lower degrees that are tried stay."""


@dataclass(frozen=True)
class DelsartePolynomial:
    """A polynomial that is feasible up to rounding."""

    coefficients: np.ndarray
    """Coefficients f_0 = 1 and f_1 ... f_degree >= 0, shape (degree + 1,)."""
    bound: float
    """Bound (f(1) - e) / (1 - e), e the largest value of f on [-1, s]; not proved."""
    slope: float
    """Derivative of the optimal bound by s, from the multiplier of x = s; 0 if unknown."""


@dataclass(frozen=True)
class _Touching:
    """Points at which f touches 0, with their multipliers."""

    x: np.ndarray
    """Points, ascending, shape (n,)."""
    weights: np.ndarray
    """Positive multipliers, shape (n,)."""
    inner: np.ndarray
    """True for points inside (-1, s), shape (n,)."""


def optimum(d: int, s: float, degree: int) -> DelsartePolynomial | None:
    """Solve the program; None if s is too near 1 for polynomials of this degree."""
    best, is_optimal = _search(d, s, degree)
    if best is None or is_optimal:
        return best
    # Near codes that attain the bound most degrees are degenerate, but not the decisive one.
    first = _least_degree(d, s, degree)
    for lower in range(first, min(first + _MAX_LOWER_DEGREES, degree, _LOWER_DEGREE_LIMIT)):
        other, _ = _search(d, s, lower)
        best = other if other is not None and other.bound < best.bound else best
    return best


def _least_degree(d: int, s: float, degree: int) -> int:
    """Return the smallest degree in which the program has solutions, at most `degree`."""
    low, high = 0, degree
    while high - low > 1:
        middle = (low + high) // 2
        solvable = _solve_program(d, middle, _grid(d, s, middle, 2 * middle)) is not None
        low, high = (low, middle) if solvable else (middle, high)
    return high


def _search(d: int, s: float, degree: int) -> tuple[DelsartePolynomial | None, bool]:
    """Return the best polynomial found, and whether its multipliers show it optimal."""
    fine = _grid(d, s, degree, 10 * degree)
    P_fine = gegenbauer(d, degree, fine)
    points = _grid(d, s, degree, 2 * degree)
    best: DelsartePolynomial | None = None
    for _ in range(_MAX_ROUNDS):
        solution = _solve_program(d, degree, points)
        if solution is None:
            break
        f, multipliers = solution
        tops = _maxima(d, s, f, fine, f @ P_fine)
        values = f @ gegenbauer(d, degree, tops)
        touching = _merged(s, points, multipliers, tops)
        best = _choose(best, f, values, _slope(d, s, f, touching))
        polished = _newton(d, f, touching)
        if polished is not None:
            g, contacts = polished
            g_tops = _maxima(d, s, g, fine, g @ P_fine)
            g_values = g @ gegenbauer(d, degree, g_tops)
            best = _choose(best, g, g_values, _slope(d, s, g, contacts))
            if best is not None and _is_optimal(d, degree, best, contacts):
                return best, True
        if best is not None and best.bound <= (1.0 + _GAP_TOLERANCE) * float(f.sum()):
            return best, True
        points = np.unique(np.concatenate([points, tops[values > -1e-3]]))
    return best, False


def _choose(
    best: DelsartePolynomial | None, f: np.ndarray, values: np.ndarray, slope: float
) -> DelsartePolynomial | None:
    """Return the better of `best` and the polynomial f, whose maxima on [-1, s] are `values`."""
    excess = float(values.max())
    if excess >= 1.0:
        return best
    bound = (float(f.sum()) - excess) / (1.0 - excess)
    return DelsartePolynomial(f, bound, slope) if best is None or bound < best.bound else best


def _slope(d: int, s: float, f: np.ndarray, contacts: _Touching) -> float:
    """Return the derivative of the bound by s, from the multiplier of x = s; 0 without one."""
    if contacts.x[-1] != s:
        return 0.0
    return float(contacts.weights[-1] * (f @ derivatives(d, len(f) - 1, contacts.x[-1:]))[0])


def _is_optimal(d: int, degree: int, best: DelsartePolynomial, contacts: _Touching) -> bool:
    """Return whether the multipliers are feasible for the dual program, with a gap of nearly 0."""
    slack = 1.0 + gegenbauer(d, degree, contacts.x)[1:] @ contacts.weights
    gap = best.bound - 1.0 - float(contacts.weights.sum())
    return bool(slack.min() > -_SLACK_TOLERANCE and gap <= _GAP_TOLERANCE * best.bound)


def _grid(d: int, s: float, degree: int, number: int) -> np.ndarray:
    """Return points that are dense at the ends of [-1, s].

    For large d they are also dense at the ends of the interval in which the P_i oscillate.
    """
    turns = np.cos(np.linspace(0.0, np.pi, number))
    low = max(-1.0, -abs(s) - 4.0 * float(np.sqrt(degree / d)))
    return np.unique(np.concatenate([_scale(-1.0, s, turns), _scale(low, s, turns)]))


def _scale(low: float, high: float, turns: np.ndarray) -> np.ndarray:
    """Map cosines (n,) from [-1, 1] to [low, high]."""
    return np.clip(0.5 * (low + high) + 0.5 * (high - low) * turns, low, high)


def _solve_program(d: int, degree: int, points: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return coefficients and multipliers under the condition f <= 0 at the given points."""
    from scipy.optimize import linprog

    # In units of sqrt(dimension of the harmonics) columns are of one size where f oscillates.
    units = np.exp(np.minimum(0.5 * np.array(harmonic_logs(d, degree)), _LARGEST_SCALE))
    rows = gegenbauer(d, degree, points)[1:].T * units
    sizes = _zeros_as_ones(np.abs(rows).max(axis=1))
    result = linprog(
        units / units.max(),
        rows / sizes[:, None],
        -1.0 / sizes,
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if result.status != 0:
        return None
    f = np.concatenate([[1.0], np.maximum(result.x * units, 0.0)])
    return f, -result.ineqlin.marginals / sizes * units.max()


def _zeros_as_ones(sizes: np.ndarray) -> np.ndarray:
    """Replace zeros by 1, so that sizes (n,) can be divisors."""
    return np.where(sizes > 0.0, sizes, 1.0)


def _maxima(d: int, s: float, f: np.ndarray, fine: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the local maxima of f on [-1, s], ascending, and s."""
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


def _merged(s: float, points: np.ndarray, multipliers: np.ndarray, tops: np.ndarray) -> _Touching:
    """Merge the binding points around each maximum into one."""
    binding = multipliers > 0.0
    points, multipliers = points[binding], multipliers[binding]
    nearest = np.abs(points[:, None] - tops).argmin(axis=1)
    indices = np.unique(nearest)
    weights = np.array([multipliers[nearest == k].sum() for k in indices])
    means = np.array([multipliers[nearest == k] @ points[nearest == k] for k in indices]) / weights
    ends = (tops[indices] == -1.0) | (tops[indices] == s)
    return _Touching(np.where(ends, tops[indices], means), weights, ~ends)


def _newton(d: int, f: np.ndarray, start: _Touching) -> tuple[np.ndarray, _Touching] | None:
    """Solve f(x_j) = 0, f'(x_j) = 0 (inner x_j), 1 + sum_j weights_j P_i(x_j) = 0 (f_i > 0).

    Unknowns are the positive f_i, the weights (both by relative change) and the inner x_j.
    """
    degree = len(f) - 1
    positive = np.flatnonzero(f[1:] > 0.0) + 1
    if not (len(positive) and len(start.x)):
        return None
    f, x, weights, inner = f.copy(), start.x.copy(), start.weights.copy(), start.inner
    low, high = x[0] if not inner[0] else -1.0, x[-1] if not inner[-1] else 1.0
    n, m, p = len(x), len(positive), int(inner.sum())
    for _ in range(10):
        P, slopes, bends = (derivatives(d, degree, x, order) for order in (0, 1, 2))
        system = np.zeros((n + p + m, m + n + p))
        system[:n, :m] = P[positive].T * f[positive]
        system[np.flatnonzero(inner), m + n + np.arange(p)] = (f @ slopes)[inner]
        system[n : n + p, :m] = slopes[positive].T[inner] * f[positive]
        system[n + np.arange(p), m + n + np.arange(p)] = (f @ bends)[inner]
        system[n + p :, m : m + n] = P[positive] * weights
        system[n + p :, m + n :] = (slopes[positive] * weights)[:, inner]
        missing = np.concatenate([f @ P, (f @ slopes)[inner], 1.0 + P[positive] @ weights])
        rows = _zeros_as_ones(np.abs(system).max(axis=1))
        columns = _zeros_as_ones(np.abs(system / rows[:, None]).max(axis=0))
        scaled = system / rows[:, None] / columns
        step = np.linalg.lstsq(scaled, -missing / rows, rcond=1e-14)[0] / columns
        f[positive] *= 1.0 + step[:m]
        weights = weights * (1.0 + step[m : m + n])
        x[inner] += step[m + n :]
        ordered = x[0] >= low and x[-1] <= high and bool((np.diff(x) > 0.0).all())
        if not ordered or weights.min() <= 0.0 or f.min() < 0.0:
            return None
        if np.abs(step).max() < 1e-14:
            break
    return f, _Touching(x, weights, inner)


def derivatives(d: int, degree: int, x: np.ndarray, order: int = 1) -> np.ndarray:
    """Return derivatives of the Gegenbauer polynomials P_0 to P_degree, shape (degree + 1, n).

    A derivative is a polynomial of the same kind in R^(d+2), times i (i + d - 2) / (d - 1).

    Args:
        d: dimension.
        degree: largest degree.
        x: points, shape (n,).
        order: order of the derivative; 0 for the values.
    """
    if order == 0:
        return gegenbauer(d, degree, x)
    i = np.arange(1, degree + 1)
    factors = i * ((i + d - 2) / (d - 1))
    inner = derivatives(d + 2, degree, x, order - 1)
    return np.concatenate([np.zeros((1, len(x))), factors[:, None] * inner[:-1]])


def harmonic_logs(d: int, degree: int) -> list[float]:
    """Return the logarithms of the dimensions of the harmonic spaces of degrees 1 to `degree`."""
    return [
        math.lgamma(i + d - 2) - math.lgamma(d - 1) - math.lgamma(i + 1) + math.log(2 * i + d - 2)
        for i in range(1, degree + 1)
    ]
