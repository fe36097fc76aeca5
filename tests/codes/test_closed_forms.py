"""Theorem 3.3 as code: values, points, range, and no heavy import."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.codes.closed_forms import closed_form
from gnc_cli.numerics.gram import max_cosine
from gnc_cli.numerics.one_vs_rest import one_vs_rest
from tests.problems import PROBLEMS, Problem


@pytest.mark.parametrize("known", PROBLEMS, ids=str)
def test_known_answers(known: Problem) -> None:
    form = closed_form(known.d, known.K)
    assert (form is not None) == known.softmax_proven
    if form is not None:
        assert form.rho == pytest.approx(known.rho, abs=1e-15)
        assert form.max_cosine == pytest.approx(known.max_cosine, abs=1e-15)


@given(st.integers(2, 40), st.data())
def test_points_have_the_values(d: int, data: st.DataObject) -> None:
    K = data.draw(st.integers(2, 2 * d if d > 2 else 60))
    form = closed_form(d, K)
    assert form is not None
    W = form.weights
    assert W.shape == (K, d) and W.dtype == np.float64
    np.testing.assert_allclose(np.linalg.norm(W, axis=1), 1.0, atol=2e-16)
    assert max_cosine(W) == pytest.approx(form.max_cosine, abs=1e-14)
    assert one_vs_rest(W).upper.min() == pytest.approx(form.rho, abs=1e-13)


@pytest.mark.parametrize("d", [3, 4, 10, 100])
def test_the_theorem_ends_at_twice_the_dimension(d: int) -> None:
    assert closed_form(d, 2 * d) is not None
    assert closed_form(d, 2 * d + 1) is None


@pytest.mark.parametrize(("d", "K", "name"), [
    (2, 2, "simplex ETF"), (2, 3, "simplex ETF"), (2, 4, "regular polygon"),
    (3, 5, "orthoplex"), (9, 10, "simplex ETF"), (9, 11, "orthoplex"),
])
def test_names(d: int, K: int, name: str) -> None:
    form = closed_form(d, K)
    assert form is not None and form.name == name


def test_exact_numbers_are_exact() -> None:
    square = closed_form(2, 4)
    assert square is not None and square.max_cosine == 0.0 and square.rho == 1.0
    cross = closed_form(3, 6)
    assert cross is not None and set(np.abs(cross.weights).ravel()) == {0.0, 1.0}


def test_a_closed_form_is_solved_without_torch() -> None:
    script = (
        "import sys\n"
        "from gnc_cli import solve\n"
        "assert solve(8, 9).outcome.value == 'closed_form'\n"
        "assert solve(2, 30, problem='tammes').outcome.value == 'closed_form'\n"
        "heavy = {'torch', 'geoopt', 'matplotlib', 'h5py'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
