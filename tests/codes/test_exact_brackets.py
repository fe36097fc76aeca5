"""Brackets of one-vs-rest distances against exact arithmetic: the true distance is never outside.

A double is a rational number, so the distance of the rows that the program sees is known exactly:
P. Wolfe's method (Finding the nearest point in a polytope, 1976) ends after finitely many steps in
rational arithmetic, at a hull point and a hyperplane that prove each other. Nothing here has a
tolerance.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq, fmpq_mat
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.brackets import Bracket
from gnc_cli.codes.certify import certify_code, simple_bracket
from gnc_cli.geometry import one_vs_rest as module
from gnc_cli.geometry.gram import row_maxima
from gnc_cli.geometry.min_norm_point import hull_distance_bound, min_norm_point
from gnc_cli.geometry.one_vs_rest import minimum_one_vs_rest, one_vs_rest
from gnc_cli.geometry.sphere import random_points
from tests.problems import hemicube, orthoplex


def exact(x: float) -> fmpq:
    return fmpq(*float(x).as_integer_ratio())


def squared_distance(W: np.ndarray, k: int) -> fmpq:
    """The squared distance of row k to the hull of the other rows, exactly."""
    rows = [[exact(c) for c in row] for row in W.tolist()]
    V = [[a - c for a, c in zip(rows[k], row, strict=True)] for j, row in enumerate(rows) if j != k]
    corral, weights = [min(range(len(V)), key=lambda j: dot(V[j], V[j]))], [fmpq(1)]
    while True:
        x = [dot(weights, column) for column in zip(*(V[j] for j in corral), strict=True)]
        entering = min(range(len(V)), key=lambda j: dot(x, V[j]))
        if dot(x, V[entering]) >= dot(x, x):
            return dot(x, x)
        corral, weights = [*corral, entering], [*weights, fmpq(0)]
        while min(target := affine_weights([V[j] for j in corral])) <= 0:
            step = min(w / (w - t) for w, t in zip(weights, target, strict=True) if t <= 0)
            weights = [w + step * (t - w) for w, t in zip(weights, target, strict=True)]
            corral = [j for j, w in zip(corral, weights, strict=True) if w > 0]
            weights = [w for w in weights if w > 0]
        weights = target


def affine_weights(V: list[list[fmpq]]) -> list[fmpq]:
    """Weights, of sum 1, of the shortest point in the affine hull of independent points."""
    if len(V) == 1:
        return [fmpq(1)]
    edges = fmpq_mat([[a - b for a, b in zip(v, V[0], strict=True)] for v in V[1:]])
    first = fmpq_mat([[-c] for c in V[0]])
    tail = [w for (w,) in (edges * edges.transpose()).solve(edges * first).tolist()]
    return [1 - sum(tail, fmpq(0)), *tail]


def dot(x: Sequence[fmpq], y: Sequence[fmpq]) -> fmpq:
    return sum((a * b for a, b in zip(x, y, strict=True)), fmpq(0))


def holds(lower: float, truth: fmpq, upper: float) -> bool:
    """Whether a squared distance lies in a bracket of the distance."""
    return 0.0 <= lower and exact(lower) ** 2 <= truth <= exact(upper) ** 2


def on_sphere(plane: list[Fraction]) -> np.ndarray:
    """A rational point of the sphere (stereographic projection), rounded to doubles."""
    square = sum((q * q for q in plane), Fraction(0))
    return np.array([float(c / (1 + square)) for c in [*(2 * q for q in plane), square - 1]])


@st.composite
def codes(draw: st.DrawFn) -> np.ndarray:
    """Unit rows to 1e-8, among them equal, opposite and nearly equal ones."""
    d = draw(st.integers(1, 4))
    numbers = st.fractions(-3, 3, max_denominator=draw(st.sampled_from([1, 2, 7, 1000])))
    rows: list[np.ndarray] = []
    for _ in range(draw(st.integers(2, 7))):
        kind = draw(st.sampled_from(["new", "new", "axis", "equal", "opposite", "near", "between"]))
        if kind == "new" or not rows:
            rows.append(on_sphere([draw(numbers) for _ in range(d - 1)]))
            continue
        old = rows[draw(st.integers(0, len(rows) - 1))]
        if kind == "axis":
            row = np.eye(d)[draw(st.integers(0, d - 1))]
        elif kind == "between":
            row = old + rows[draw(st.integers(0, len(rows) - 1))]
        elif kind == "near":
            row = old + np.ldexp(1.0, -draw(st.integers(1, 60))) * rows[-1][::-1]
        else:
            row = old if kind == "equal" else -old
        length = float(np.linalg.norm(row))
        rows.append(row / length if length > 0.1 else old)
    off = draw(st.sampled_from([0.0, 0.0, 1e-12, 9e-10, 9.9e-9]))
    lengths = [draw(st.sampled_from([-1.0, 0.0, 1.0])) for _ in rows]
    return np.array(rows) * (1.0 + off * np.array(lengths))[:, None]


def check_every_bracket(W: np.ndarray) -> None:
    truth = [squared_distance(W, k) for k in range(len(W))]
    found = one_vs_rest(W)
    for lower, upper, square in zip(found.lower, found.upper, truth, strict=True):
        assert holds(float(lower), square, float(upper))
    rho = min(truth)
    bracket = minimum_one_vs_rest(W)
    assert holds(bracket.lower, rho, bracket.upper)
    search = module.HullSearch(W, None, 1e-9)
    for step in (search.first_bounds, lambda: search.minimum(1e-9)):
        step()
        lower, upper = search.ends()
        for low, square, high in zip(lower, truth, upper, strict=True):
            assert holds(float(low), square, float(high))
    # Cosines by chords and by products, which differ where the norms do.
    products = W @ W.T - 9.0 * np.eye(len(W))
    brackets = [certify_code(W, tolerance=1e-7).rho_one_vs_rest]
    for row_max in (None, row_maxima(W)[0], products.max(axis=1)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("gnc_cli.codes.certify.EVERY_CLASS", 0)
            certified = certify_code(W, tolerance=1e-7, row_max=row_max)
        brackets.append(certified.rho_one_vs_rest)
        if row_max is not None:
            brackets.append(simple_bracket(W, row_max))
    assert all(holds(bracket.lower, rho, bracket.upper) for bracket in brackets)


def check_as_large(W: np.ndarray) -> None:
    """As `check_every_bracket`, by what large codes are looked at with: float32, small batches,
    SciPy's solvers."""
    with pytest.MonkeyPatch.context() as patch:
        limits = {"_MAX_DOUBLE_ROWS": 0, "_FEW_DIMENSIONS": 0, "_MAX_NUMPY_WORK": 0}
        for name, value in {**limits, "_FIRST_BATCH": 1}.items():
            patch.setattr(module, name, value)
        check_every_bracket(W)


LONG = 1.0 + 9e-9
CORNERS = {
    "longer than 1": orthoplex(3) * LONG,
    "longer and shorter": orthoplex(3) * np.repeat([[LONG], [2.0 - LONG]], 3, axis=0),
    "nearly equal, of other lengths": np.array([[1.0, 0.0], [LONG, 1e-5], [2.0 - LONG, -1e-5]]),
    "apart by less than a square can say": np.array([[1.0, 0.0], [1.0, 1e-200], [-1.0, 0.0]]),
    "apart by the least double": np.array([[1.0, 0.0], [1.0, 5e-324]]),
    "a known code": hemicube(),
    "points at random": random_points(np.random.default_rng(0), 12, 6),
    "points in many dimensions": random_points(np.random.default_rng(0), 8, 20),
    "in the hull of rows that short": np.array([[1.0, 0.0], [1.0, 1e-170], [1.0, -1e-180]]),
}


@pytest.mark.parametrize("name", CORNERS)
def test_corners(name: str) -> None:
    check_every_bracket(CORNERS[name])
    check_as_large(CORNERS[name])


@pytest.mark.parametrize("check", [check_every_bracket, check_as_large])
@given(W=codes())
def test_the_truth_is_never_outside(check: Callable[[np.ndarray], None], W: np.ndarray) -> None:
    check(W)


@given(codes())
def test_certificates_of_hull_points(W: np.ndarray) -> None:
    V = W[0] - W[1:]
    truth = squared_distance(np.vstack([np.zeros(W.shape[1]), V]), 0)
    weights = min_norm_point(V)[1]
    assert holds(0.0, truth, hull_distance_bound(V, weights))


def test_crossed_ends_are_an_error_and_never_hidden() -> None:
    with pytest.raises(ArithmeticError, match="lower end 1.0 above upper end 0.5"):
        Bracket(1.0, 0.5)
    assert Bracket(0.0, 2.0).narrowed(Bracket(1.0, 3.0)) == Bracket(1.0, 2.0)
    with pytest.raises(ArithmeticError):
        Bracket(0.0, 1.0).narrowed(Bracket(1.5, 2.0))
    search = module.HullSearch(np.eye(3), None, 1e-12)
    search.lower[1] = 2.0
    with pytest.raises(ArithmeticError, match="class 1: lower end 2.0 above"):
        search.ends()
