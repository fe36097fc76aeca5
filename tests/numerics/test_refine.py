"""L-BFGS on the smoothed maximum: what it reaches, and what it leaves alone."""

import threading

import numpy as np
import pytest

from gnc_cli.codes.layout import free, orbits
from gnc_cli.codes.softmax_code import SoftmaxCode
from gnc_cli.codes.tammes import Tammes
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.gram import max_cosine
from gnc_cli.numerics.refine import refine
from gnc_cli.numerics.sphere import normalise
from tests.problems import hemicube, icosahedron, orthoplex


def shaken(code: np.ndarray, noise: float = 1e-3) -> np.ndarray:
    rng = np.random.default_rng(5)
    return normalise(code + noise * rng.standard_normal(code.shape))


@pytest.mark.parametrize("code", [icosahedron(), hemicube()], ids=["icosahedron", "hemicube"])
def test_reaches_known_codes(code: np.ndarray) -> None:
    t = max_cosine(code)
    problem = Tammes(free(code.shape[1], len(code)))
    done = refine(
        shaken(code), problem.objective, scale=1.0 - t, steps=100, deadline=Deadline()
    )
    np.testing.assert_allclose(np.linalg.norm(done.points, axis=1), 1.0, atol=1e-15)
    # The last smoothing stands off by less than log(K^2) / 1e6 of the scale.
    assert t - 1e-14 <= max_cosine(done.points) <= t + 6e-6 * (1.0 - t)
    assert done.stationarity <= 1e-5
    assert 3 <= done.steps


def test_reaches_a_softmax_code() -> None:
    problem = SoftmaxCode(free(3, 12))
    start = problem.from_code(icosahedron())
    done = refine(shaken(start), problem.objective, scale=0.55, steps=100, deadline=Deadline())
    value = problem.select(done.points, -np.inf).largest(done.points)
    assert value == pytest.approx(1.0 / np.sqrt(5.0) - 1.0, abs=4e-6)


def test_a_deadline_returns_at_once_with_unit_rows() -> None:
    stop = threading.Event()
    stop.set()
    problem, start = Tammes(free(3, 12)), shaken(icosahedron())
    done = refine(start, problem.objective, scale=0.5, steps=100, deadline=Deadline(None, stop))
    assert done.steps == 1
    np.testing.assert_allclose(done.points, start, atol=1e-15)
    assert done.stationarity > 1e-3


def test_projection_keeps_rows_in_their_spaces() -> None:
    half_turn = np.diag([-1.0, -1.0, 1.0])
    problem = Tammes(orbits(half_turn, 2, 6))
    start = shaken(problem.from_code(orthoplex(3)[[0, 3, 1, 4, 2, 5]]))
    done = refine(
        start, problem.objective, scale=1.0, steps=50, deadline=Deadline(),
        project=problem.layout.project,
    )  # fmt: skip
    code = problem.whole(done.points)
    np.testing.assert_allclose(code[1::2], code[::2] * [-1.0, -1.0, 1.0], atol=1e-15)
    assert max_cosine(code) == pytest.approx(0.0, abs=1e-5)
