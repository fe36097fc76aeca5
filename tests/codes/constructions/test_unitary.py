"""Taylor's lines and their sections: figures, the two-graph in integers, streaming."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnc_cli.codes.constructions import taylor_rows
from gnc_cli.codes.constructions.equiangular import regular_two_graph
from gnc_cli.codes.constructions.log_fields import log_field
from gnc_cli.codes.constructions.strongly_regular import strongly_regular
from gnc_cli.codes.constructions.taylor import check_two_graph, signs_between, taylor_signs
from gnc_cli.codes.constructions.taylor_rows import TaylorRows, TaylorSection
from gnc_cli.codes.constructions.unitary import FAMILIES, in_dimension, named
from tests.codes.constructions.streamed import assert_figures, assert_parts


@pytest.mark.parametrize("q", [3, 5, 7, 9])
@pytest.mark.parametrize("suffix", ["", "-section"])
def test_codes(q: int, suffix: str) -> None:
    code = named(f"unitary-{q}{suffix}")
    assert code is not None
    assert (code.d, code.K, code.cosine.text) == (
        (q * q - q, q**3, f"1/{q + 1}") if suffix else (q * q - q + 1, 2 * q**3 + 2, f"1/{q}")
    )
    assert_figures(code)


def _seidel(q: int) -> np.ndarray:
    """The two-graph with infinity first, by the products of all rows."""
    W = np.asarray(TaylorRows(log_field(q)))[::2]
    signs: np.ndarray = np.rint(q * (W @ W.T) - q * np.eye(len(W))).astype(int)
    return signs


@pytest.mark.parametrize("q", [3, 5, 7])
def test_the_two_graph_is_regular(q: int) -> None:
    field, signs = log_field(q), _seidel(q)
    assert regular_two_graph(signs) == (q * q, -q)
    every = np.arange(q**3)
    between = signs_between(field, taylor_signs(field), every, every)
    assert np.array_equal(signs[1:, 1:], between)


@pytest.mark.parametrize("q", [3, 5])
def test_the_descendant_is_strongly_regular(q: int) -> None:
    signs = _seidel(q)[1:, 1:]
    graph = strongly_regular(signs == -1)
    assert graph.v == q**3 and graph.k == (q - 1) * (q * q + 1) // 2


@pytest.mark.parametrize("q", [11, 25])
def test_larger_ones_are_proved(q: int) -> None:
    code = named(f"unitary-{q}")
    assert code is not None
    rows = code.build()
    found = rows.verify()
    assert found.max_cosine == code.cosine and found.K == 2 * (q**3 + 1)
    some = rows.unit(1111, 1411)
    products = np.abs(some @ some[::2].T)
    ends = products[products > 0.5]
    np.testing.assert_allclose(ends, 1.0, atol=4e-15)
    np.testing.assert_allclose(products[products <= 0.5], 1 / q, atol=4e-15)


@settings(max_examples=30, deadline=None)
@given(st.booleans(), st.sampled_from([3, 5]), st.integers(0, 999), st.integers(0, 999))
def test_parts(section: bool, q: int, start: int, stop: int) -> None:
    rows = TaylorRows(log_field(q))
    assert_parts(TaylorSection(rows) if section else rows, start, stop)


def test_a_block_ends_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = TaylorRows(log_field(5))
    whole = np.asarray(rows)
    monkeypatch.setattr(taylor_rows, "_BLOCK_ENTRIES", 63)
    np.testing.assert_array_equal(rows.unit(7, 200), whole[7:200])


def test_wrong_signs_are_caught() -> None:
    field = log_field(5)
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
    rows = TaylorRows(log_field(5))
    rows._shifted = rows._shifted[:, ::-1]
    with pytest.raises(ValueError, match="miss the two-graph's inner products"):
        rows.verify()
    rows = TaylorRows(log_field(5))
    rows._fiducials = rows._fiducials[::-1]
    with pytest.raises(ValueError, match="miss the two-graph's inner products"):
        rows.verify()


def test_lookups_agree() -> None:
    for q in (3, 9, 27, 61):
        for d, name in ((q * q - q + 1, f"unitary-{q}"), (q * q - q, f"unitary-{q}-section")):
            assert [code.name for code in in_dimension(d)] == [name]
            assert (code := named(name)) is not None and code.d == d
    assert in_dimension(22) == () and named("unitary-4") is None and named("unitary-67") is None
    assert named("unitary-03") is None and len(FAMILIES) == 2


def test_even_q() -> None:
    with pytest.raises(ValueError, match="q is 4"):
        TaylorRows(log_field(4))
