"""Which classes can win: against linear and second-order cone programs, hand-made heads, laws;
witnesses in exact arithmetic."""

import math

import clarabel
import numpy as np
import pytest
from flint import fmpq, fmpq_mat
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

from gnc_cli.errors import DataError
from gnc_cli.metrics.reach import LinearHead, Reach, Verdict
from gnc_cli.runtime.deadline import Deadline

CAN, TIES, CANNOT, UNDECIDED = Verdict


def random_head(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    K, d = int(rng.integers(3, 30)), int(rng.integers(1, 6))
    W = rng.normal(size=(K, d)) * rng.uniform(0.2, 2.0, size=(K, 1))
    return W, rng.normal(size=K) * rng.choice([0.0, 0.1, 1.0, 5.0])


def differences(W: np.ndarray, b: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    return np.delete(W[k] - W, k, axis=0), np.delete(b[k] - b, k)


def largest_margin(W: np.ndarray, b: np.ndarray, k: int) -> float:
    """Of class k over features of any norm, at most 1, by a linear program."""
    D, c = differences(W, b, k)
    A, d = np.column_stack([-D, np.ones(len(D))]), W.shape[1]
    bounds = [(None, None)] * d + [(None, 1.0)]
    return -float(linprog(np.append(np.zeros(d), -1.0), A_ub=A, b_ub=c, bounds=bounds).fun)


def largest_margin_in_ball(W: np.ndarray, b: np.ndarray, k: int, R: float) -> float:
    """By a second-order cone program."""
    D, c = differences(W, b, k)
    d = W.shape[1]
    ball = np.vstack([np.zeros(d + 1), np.column_stack([-np.eye(d), np.zeros(d)])])
    A = sparse.csc_matrix(np.vstack([np.column_stack([-D, np.ones(len(D))]), ball]))
    cones = [clarabel.NonnegativeConeT(len(D)), clarabel.SecondOrderConeT(d + 1)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    P, q = sparse.csc_matrix((d + 1, d + 1)), np.append(np.zeros(d), -1.0)
    limits = np.concatenate([c, [R], np.zeros(d)])
    return float(clarabel.DefaultSolver(P, q, A, limits, cones, settings).solve().x[-1])


def exact(values: np.ndarray) -> fmpq_mat:
    rows = [[fmpq(*float(x).as_integer_ratio()) for x in row] for row in np.atleast_2d(values)]
    return fmpq_mat(rows)


def check_witness(head: LinearHead, own: list[int], reach: Reach) -> None:
    """In rational arithmetic: the feature wins, or exact convex weights are near those that are
    there, or those prove a negative bound."""
    rest = [j for j in range(head.K) if j not in own]
    if reach.verdict is CAN:
        assert reach.feature is not None
        logits = exact(head.W) * exact(reach.feature).transpose()
        values = [
            logits[j, 0] + fmpq(*float(head.bias[j]).as_integer_ratio()) for j in range(head.K)
        ]
        assert min(values[k] for k in own) - max(values[j] for j in rest) >= fmpq(
            *reach.lower.as_integer_ratio()
        )
        assert np.linalg.norm(reach.feature) <= head.norm
        return
    if reach.verdict not in (CANNOT, TIES):
        return
    assert reach.weights is not None
    indices, values = reach.weights
    signed = exact(values)
    gap = np.array([float((signed * exact(head.W[indices][:, [c]]))[0, 0]) for c in range(head.d)])
    bias = float((signed * exact(head.bias[indices][:, None]))[0, 0])
    if math.isfinite(head.norm) and head.norm * float(np.linalg.norm(gap)) + bias < -1e-9:
        return
    # Else weights of d + 1 of the others, or fewer, are changed so that the equations hold.
    others, shares = indices[values < 0.0], -values[values < 0.0]
    lifted = np.column_stack([head.W, np.ones(head.K)])
    order = others[np.argsort(-shares)]
    columns: list[int] = []
    for j in order:
        if np.linalg.matrix_rank(lifted[[*columns, j]]) > len(columns):
            columns.append(int(j))
    kept = {int(j): s for j, s in zip(others, shares, strict=True) if int(j) not in columns}
    target = exact(values[values > 0.0]) * exact(lifted[indices[values > 0.0]])
    for j, s in kept.items():
        target -= exact(np.array([s])) * exact(lifted[j])
    system = fmpq_mat([[*row] for row in (exact(lifted[columns]).transpose()).tolist()])
    joined = fmpq_mat([[*row, target[0, at]] for at, row in enumerate(system.tolist())])
    reduced, rank = joined.rref()
    assert rank == len(columns)
    solution = [reduced[i, rank] for i in range(rank)]
    assert min(solution) >= 0
    v = np.array([float(x) for x in solution])
    room = v @ head.bias[columns] + sum(s * head.bias[j] for j, s in kept.items())
    assert room >= values[values > 0.0] @ head.bias[indices[values > 0.0]] - 1e-12


@pytest.mark.parametrize("R", [math.inf, 0.3, 2.0])
@pytest.mark.parametrize("seed", range(10))
def test_random_heads(seed: int, R: float) -> None:
    W, b = random_head(seed)
    head = LinearHead(W, b, R)
    for k, reach in head.reaches().items():
        if math.isinf(R):
            margin = largest_margin(W, b, k)
        else:
            margin = largest_margin_in_ball(W, b, k, R)
            assert reach.lower - 1e-6 <= margin <= reach.upper + 1e-6
        assert reach.verdict is (CAN if margin > 1e-9 else CANNOT), (k, margin)
        check_witness(head, [k], reach)
        if head.ranked and reach.verdict is CAN:
            assert reach.upper - reach.lower < 1e-6 * max(1.0, R if math.isfinite(R) else 1.0)


SQUARE = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])


def verdicts(W: np.ndarray, bias: np.ndarray | None = None, R: float = math.inf) -> list[Verdict]:
    return [reach.verdict for reach in LinearHead(W, bias, R).reaches().values()]


def test_hand_made_heads() -> None:
    assert verdicts(SQUARE) == [CAN] * 4
    # The middle, the middle of an edge, and beside it.
    inside = np.vstack([SQUARE, [[0.0, 0.0], [1.0, 0.0], [1.0, 2.0**-20]]])
    assert verdicts(inside) == [CAN] * 4 + [CANNOT] * 3
    outside = np.vstack([SQUARE, [[1.0 + 2.0**-20, 0.0]]])
    assert verdicts(outside) == [CAN] * 5
    twins = LinearHead(np.vstack([SQUARE, SQUARE[:1]]))
    assert [twins.reach([k]).twin for k in range(5)] == [4, None, None, None, 0]
    assert verdicts(twins.W) == [TIES, CAN, CAN, CAN, TIES]
    assert twins.reach([0, 4]).verdict is CAN
    assert twins.reach([0, 1]).verdict is TIES
    # More bias wins; the same row with less cannot.
    assert verdicts(twins.W, np.array([0.0, 0, 0, 0, 1])) == [CANNOT, CAN, CAN, CAN, CAN]


def test_a_bias_lifts_a_class_out_of_the_hull() -> None:
    W = np.vstack([SQUARE, np.zeros((1, 2))])
    for b, verdict in ((0.0, CANNOT), (0.25, CAN), (-0.25, CANNOT)):
        assert verdicts(W, np.array([0, 0, 0, 0, b]))[4] is verdict
        assert verdicts(W, np.array([0, 0, 0, 0, b]), 3.0)[4] is verdict
    # A class of much bias: the others win only far from 0.
    bias = np.array([0, 0, 0, 0, 1.0])
    assert verdicts(W, bias, 0.1) == [CANNOT] * 4 + [CAN]
    assert verdicts(W, bias, 1.0) == [CAN] * 5


def test_sets() -> None:
    head = LinearHead(SQUARE)
    assert head.reach([0, 1]).verdict is CAN
    assert head.reach([0, 3]).verdict is UNDECIDED  # the diagonals meet: a bound is all there is
    assert 0.0 <= head.reach([0, 3]).upper < 1e-12
    inner = LinearHead(np.vstack([2.0 * SQUARE, SQUARE]))
    assert inner.reach([4, 0]).verdict is CAN
    across = inner.reach([4, 7])
    assert across.verdict is CANNOT
    check_witness(inner, [4, 7], across)
    W, b = random_head(3)
    for R in (math.inf, 2.0):
        head = LinearHead(W, b, R)
        for k in range(len(W)):
            assert head.reach([k]).verdict is head.reaches(np.array([k]))[k].verdict
        for own in ([0, 1], [2, 5, 7]):
            check_witness(head, own, head.reach(own))


@pytest.mark.parametrize(("m", "k"), [(5, 1), (6, 2), (7, 3)])
def test_the_simplex_attains_the_bound_of_sets(m: int, k: int) -> None:
    W = (np.eye(m) - 1.0 / m) * math.sqrt(m / (m - 1.0))
    reach = LinearHead(W).reach(range(k))
    assert reach.upper == pytest.approx(m / math.sqrt(k * (m - 1) * (m - k)), abs=1e-12)
    assert reach.upper - reach.lower < 1e-12


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([math.inf, 1.0]), st.integers(-8, 8))
def test_laws(seed: int, R: float, power: int) -> None:
    rng = np.random.default_rng(seed)
    K, d = int(rng.integers(3, 12)), int(rng.integers(1, 4))
    W, b = rng.integers(-8, 9, size=(K, d)) / 4.0, rng.integers(-4, 5, size=K) / 4.0
    order = rng.permutation(K)
    first = verdicts(W, b, R)
    assert verdicts(W[order], b[order], R) == [first[k] for k in order]
    assert verdicts(W, b + 1024.0, R) == first
    scale = 2.0**power
    assert verdicts(W * scale, b, R / scale) == first
    assert verdicts(W * scale, b * scale, R) == first
    if math.isinf(R):
        turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
        turned = verdicts(W @ turn, b, R)
        sure = (CAN, UNDECIDED)
        assert all(a == t or (t in sure) or (a in sure) for a, t in zip(first, turned, strict=True))
    for k, reach in LinearHead(W, b, R).reaches().items():
        check_witness(LinearHead(W, b, R), [k], reach)


def test_time_ends_with_what_is_proved(rng: np.random.Generator) -> None:
    W = np.vstack([rng.normal(size=(60, 5)), np.zeros((1, 5))])
    now = LinearHead(W, None, math.inf, Deadline(0.0)).reaches()
    assert {reach.verdict for reach in now.values()} == {UNDECIDED}
    assert all(reach.lower == -math.inf and reach.upper == math.inf for reach in now.values())
    for polls in range(1, 40, 6):
        ticks = iter(range(10**6))
        head = LinearHead(
            W, rng.normal(size=61), 2.0, Deadline(polls, clock=lambda t=ticks: next(t))
        )
        complete = LinearHead(W, head.bias, 2.0).reaches()
        for k, reach in head.reaches().items():
            assert reach.verdict in (UNDECIDED, complete[k].verdict)
            assert reach.lower <= complete[k].upper and complete[k].lower <= reach.upper


def test_wrong_heads() -> None:
    with pytest.raises(DataError, match="the bias must be 4 finite numbers"):
        LinearHead(SQUARE, np.array([0.0, 0.0, np.nan, 0.0]))
    with pytest.raises(DataError, match="W holds NaN or infinity, first in row 1"):
        LinearHead(np.array([[1.0, 0.0], [np.inf, 0.0]]))


@pytest.mark.parametrize("R", [1e-300, 1e-8, 1e300])
def test_norms_of_any_size(R: float) -> None:
    """With next to no norm the largest bias wins, with next to no limit whoever is no mixture."""
    W, b = np.random.default_rng(0).normal(size=(6, 3)), np.arange(6.0)
    head = LinearHead(W, b, R)
    won = [k for k in range(6) if head.reach([k]).verdict is Verdict.CAN_WIN]
    limitless = [k for k in range(6) if largest_margin(W, b, k) > 0.0]
    assert won == (limitless if R > 1.0 else [5])


def test_rows_and_biases_whose_squares_are_no_numbers() -> None:
    for W, b in ((1e160 * np.eye(3), np.zeros(3)), (np.eye(3), np.array([0.0, 1.0, 1e200]))):
        with pytest.raises(DataError, match="divide both by one number"):
            LinearHead(W, b)


@pytest.mark.parametrize("R", [1.0, 1e170, 1e200])
def test_rows_that_differ_by_biases_whose_squares_are_zero(R: float) -> None:
    W, b = np.vstack([SQUARE, SQUARE[:1]]), np.array([0.0, 0.1, 0.2, 0.3, 1.0])
    wins = [Verdict.CAN_WIN] * 4
    assert verdicts(W, b, R) == [Verdict.CANNOT_WIN, *wins]
