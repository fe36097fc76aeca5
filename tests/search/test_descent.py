"""L-BFGS and descents of a batch: what they keep and return when stopped, their gradients."""

import subprocess
import sys

import numpy as np
import pytest

from gnc_cli.geometry.gram import max_cosine
from gnc_cli.geometry.sphere import random_points
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.search.descent import LAST_SHARPENING, descend_batch, lbfgs, smoothed_cosine
from gnc_cli.search.parametrisation import cyclic_orbits, free
from gnc_cli.search.problem import Tammes
from tests.problems import random_rotation


@pytest.mark.parametrize("on_sphere", [True, False])
def test_lbfgs_minimises_a_quadratic(on_sphere: bool, rng: np.random.Generator) -> None:
    """On the sphere each row ends at its own eigenvector of the smallest eigenvalue; free, at 0."""
    turn = random_rotation(rng, 4)
    matrix = turn @ np.diag([1.0, 2.0, 3.0, 4.0]) @ turn.T
    told: list[tuple[int, float]] = []

    def function(x: np.ndarray) -> tuple[float, np.ndarray]:
        return 0.5 * float(np.sum((x @ matrix) * x)), x @ matrix

    start = free(3, 8).random(rng, 1)[0] @ np.eye(3, 4)
    options = {"on_sphere": on_sphere, "max_steps": 200, "memory": 10, "tolerance": 1e-10}
    found, steps = lbfgs(
        function, start, **options, deadline=Deadline(), report=lambda *a: told.append(a)
    )
    expected = np.abs(turn[:, 0]) if on_sphere else np.zeros(4)
    np.testing.assert_allclose(np.abs(found), np.tile(expected, (8, 1)), atol=1e-7)
    assert [step for step, _ in told] == list(range(1, steps + 1))
    assert (np.diff([value for _, value in told]) <= 0.0).all()
    stopped, steps = lbfgs(function, start, **options, deadline=Deadline(0.0))
    assert np.array_equal(stopped, start) and steps == 0


def test_the_value_and_gradient_are_those_of_the_torch_kernel(rng: np.random.Generator) -> None:
    import torch

    code, beta = random_points(rng, 12, 4), 30.0
    value, gradient = smoothed_cosine(free(4, 12), beta)(code)
    points = torch.as_tensor(code)[None].requires_grad_()
    sharpness = torch.full((1, 1, 1), beta, dtype=torch.float64)
    expected = Tammes(free(4, 12)).objective(points, sharpness)
    (slope,) = torch.autograd.grad(expected.sum(), points)
    assert value == pytest.approx(float(expected.detach()), abs=1e-12)
    np.testing.assert_allclose(gradient, slope[0].numpy(), atol=1e-12)


def test_over_orbits_they_are_those_of_the_whole_code(rng: np.random.Generator) -> None:
    """Fixed by a symmetry, some orbits shorter than others: value and slope along every move."""
    swap = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    over = cyclic_orbits(swap, 2, 9)
    assert over.projections is not None and over.unknown == 5
    rows, move = over.random(rng, 2)
    value, gradient = smoothed_cosine(over, 30.0)(rows)
    whole, _ = smoothed_cosine(free(3, 9), 30.0)(over.code(rows))
    assert value == pytest.approx(whole, abs=1e-12)
    h = 1e-5
    ahead, behind = (smoothed_cosine(over, 300.0)(rows + sign * h * move)[0] for sign in (1, -1))
    _, gradient = smoothed_cosine(over, 300.0)(rows)
    assert (gradient * move).sum() == pytest.approx((ahead - behind) / (2 * h), abs=1e-5)


def test_descents_end_near_the_best_code(rng: np.random.Generator) -> None:
    """The icosahedron, from half of random starts; one in four is descended to its end."""
    starts = np.array([random_points(rng, 12, 3) for _ in range(8)])
    ends, steps = descend_batch(free(3, 12), starts, np.full(8, 3.0), 1e4, 400, Deadline())
    assert steps == 8 * 400 and len(ends) == 2
    assert ends[0].value <= ends[1].value and ends[0].start != ends[1].start
    for end in ends:
        assert end.rows.shape == (12, 3) and 0 <= end.start < 8
        np.testing.assert_allclose(np.linalg.norm(end.rows, axis=1), 1.0, atol=1e-14)
        assert end.value == pytest.approx(1.0 / np.sqrt(5.0), abs=1e-5)
        assert max_cosine(end.rows) == pytest.approx(1.0 / np.sqrt(5.0), abs=1e-3)


def test_descents_over_orbits_stay_where_their_rows_may_lie(rng: np.random.Generator) -> None:
    swap = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    over = cyclic_orbits(swap, 2, 9)
    assert over.projections is not None
    starts = over.random(rng, 8)
    ends, _ = descend_batch(over, starts, np.full(8, 3.0), 1e4, 400, Deadline())
    for end in ends:
        onto = np.einsum("mab,mb->ma", over.projections, end.rows)
        np.testing.assert_allclose(onto, end.rows, atol=1e-14)
        code = over.code(end.rows)
        assert end.value == pytest.approx(max_cosine(code), abs=1e-3)
        assert end.value < min(max_cosine(over.code(rows)) for rows in starts)


def test_every_long_descent_ends_near_the_best_code_known_to_it() -> None:
    """Three seeds at (48, 100): L-BFGS of 1,000 steps ends at a distance of 0.9687 from most."""
    for seed in range(3):
        rows = random_points(np.random.default_rng(seed), 100, 48)[None]
        call = free(48, 100), rows, np.array([7.0]), 1e4, 1500, Deadline()
        (end,), made = descend_batch(*call, sharpening=LAST_SHARPENING)
        assert made == 1500
        np.testing.assert_allclose(np.linalg.norm(end.rows, axis=1), 1.0, atol=1e-14)
        assert 1.0 - max_cosine(end.rows) > 0.9710
    assert np.array_equal(end.rows, descend_batch(*call, sharpening=LAST_SHARPENING)[0][0].rows)


def test_a_deadline_shortens_a_descent_and_its_end_is_as_sharp(rng: np.random.Generator) -> None:
    rows, ticks = random_points(rng, 100, 48)[None], iter(range(10**6))
    deadline = Deadline(1500.0, clock=lambda: next(ticks))
    call = free(48, 100), rows, np.array([7.0]), 1e4
    (end,), made = descend_batch(*call, 10**9, deadline, sharpening=LAST_SHARPENING)
    assert 300 < made < 1500
    assert 1.0 - max_cosine(end.rows) > 0.9660
    (end,), made = descend_batch(*call, 10, Deadline(0.0))
    assert made == 0
    np.testing.assert_allclose(end.rows, rows[0], atol=1e-6)


def test_an_easy_code_needs_no_torch() -> None:
    script = (
        "import sys; from gnc_cli import solve; "
        "result = solve(3, 24, problem='tammes', method='descent'); "
        "assert result.optimum.proved, result.max_cosine; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
