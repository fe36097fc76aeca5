"""Quick descents: the gradient, the estimate, and that torch is not loaded for an easy code."""

import subprocess
import sys

import numpy as np
import pytest

from gnc_cli.geometry.gram import max_cosine
from gnc_cli.geometry.sphere import random_points
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.search.parametrisation import cyclic_orbits, free
from gnc_cli.search.problem import Tammes
from gnc_cli.search.quick import _smoothed, quick_descents


def test_the_value_and_gradient_are_those_of_the_torch_kernel(rng: np.random.Generator) -> None:
    import torch

    code, beta = random_points(rng, 12, 4), 30.0
    value, gradient = _smoothed(free(4, 12), beta)(code)
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
    value, gradient = _smoothed(over, 30.0)(rows)
    whole, _ = _smoothed(free(3, 9), 30.0)(over.code(rows))
    assert value == pytest.approx(whole, abs=1e-12)
    h = 1e-5
    ahead, behind = (_smoothed(over, 30.0)(rows + sign * h * move)[0] for sign in (1, -1))
    assert (gradient * move).sum() == pytest.approx((ahead - behind) / (2 * h), abs=1e-8)


def test_descents_end_near_the_best_code(rng: np.random.Generator) -> None:
    starts = np.array([random_points(rng, 12, 3) for _ in range(4)])
    ends, begun, steps = quick_descents(free(3, 12), starts, np.full(4, 3.0), 1e4, Deadline())
    assert begun == 4 and steps > 0
    (end,) = ends
    assert end.rows.shape == (12, 3) and 0 <= end.start < 4
    np.testing.assert_allclose(np.linalg.norm(end.rows, axis=1), 1.0, atol=1e-14)
    assert end.value == pytest.approx(1.0 / np.sqrt(5.0), abs=1e-5)  # the icosahedron
    assert max_cosine(end.rows) == pytest.approx(1.0 / np.sqrt(5.0), abs=1e-3)


def test_an_easy_code_needs_no_torch() -> None:
    script = (
        "import sys; from gnc_cli import solve; "
        "result = solve(3, 24, problem='tammes', method='descent'); "
        "assert result.optimum.proved, result.max_cosine; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
