"""Taylor's lines and their sections: values, the two-graph in integers, streaming."""

import numpy as np
import pytest

from gnc_cli.constructions.families.taylor import (
    TaylorRows,
    check_two_graph,
    signs_between,
    taylor_signs,
)
from gnc_cli.constructions.fields import finite_field
from tests.constructions.checks import named, regular_two_graph


def _seidel(q: int) -> np.ndarray:
    """The two-graph with infinity first, by the products of all rows."""
    W = np.asarray(TaylorRows(finite_field(q)))[::2]
    signs: np.ndarray = np.rint(q * (W @ W.T) - q * np.eye(len(W))).astype(int)
    return signs


@pytest.mark.parametrize("q", [3, 5, 7])
def test_the_two_graph_is_regular(q: int) -> None:
    field, signs = finite_field(q), _seidel(q)
    assert regular_two_graph(signs) == (q * q, -q)
    every = np.arange(q**3)
    between = signs_between(field, taylor_signs(field), every, every)
    assert np.array_equal(signs[1:, 1:], between)


@pytest.mark.parametrize("q", [11, 25])
def test_larger_ones_are_proved(q: int) -> None:
    code = named(f"unitary-{q}")
    rows = code.build()
    found = rows.verify()
    assert found.max_cosine == code.cosine and found.K == 2 * (q**3 + 1)
    some = rows.unit(1111, 1411)
    products = np.abs(some @ some[::2].T)
    ends = products[products > 0.5]
    np.testing.assert_allclose(ends, 1.0, atol=4e-15)
    np.testing.assert_allclose(products[products <= 0.5], 1 / q, atol=4e-15)


def test_wrong_signs_are_caught() -> None:
    field = finite_field(5)
    signs = taylor_signs(field)
    wrong = signs.copy()
    wrong[1, 2, 3] *= -1
    with pytest.raises(ValueError, match="not invariant"):
        check_two_graph(field, wrong)
    wrong = signs.copy()
    wrong[1, 2, 3] = 0
    with pytest.raises(ValueError, match="not signs"):
        check_two_graph(field, wrong)
    with pytest.raises(ValueError, match="another sum"):
        check_two_graph(field, -signs)
    # Signs with all the symmetries, and another spectrum.
    wrong = signs.copy()
    wrong[:, :, 1:] *= -1
    with pytest.raises(ValueError, match="not a regular two-graph"):
        check_two_graph(field, wrong)


def test_wrong_rows_are_caught() -> None:
    rows = TaylorRows(finite_field(5))
    rows._shifted = rows._shifted[:, ::-1]
    with pytest.raises(ValueError, match="miss the two-graph's inner products"):
        rows.verify()
    rows = TaylorRows(finite_field(5))
    rows._fiducials = rows._fiducials[::-1]
    with pytest.raises(ValueError, match="miss the two-graph's inner products"):
        rows.verify()
