"""Streamed rows are slices of one code; what the first K of them reach is what all pairs say."""

from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnc_cli.codes.constructions.forms import FormSet
from gnc_cli.codes.constructions.points import IntegerRows
from gnc_cli.codes.constructions.signs import SignRows
from gnc_cli.codes.constructions.trace_codes import trace_forms
from gnc_cli.codes.constructions.z4_forms import z4_forms


@cache
def _code(name: str) -> SignRows:
    return {
        "gold": SignRows(trace_forms(5, (3,)), standard=True),
        "kerdock": SignRows(z4_forms(4, 0), standard=True),
        "delsarte-goethals": SignRows(z4_forms(4, 1)),
        "bch": SignRows(trace_forms(4, (5, 3))),
        "gold, m even": SignRows(trace_forms(4, (3,)), standard=True),
        "two bases": SignRows(FormSet([], np.zeros((1, 8), np.uint8)), standard=True),
    }[name]


@cache
def _whole(name: str) -> np.ndarray:
    rows = _code(name)
    return rows.signs(0, len(rows))


@cache
def _best_so_far(name: str) -> np.ndarray:
    """Largest cosine among the first K rows at index K, from all pairs."""
    W = np.asarray(_code(name))
    nearest = np.tril(W @ W.T, -1) + np.triu(np.full((len(W), len(W)), -2.0))
    return np.maximum.accumulate(np.concatenate([[-2.0], nearest.max(axis=1)]))


NAMES = ("gold", "kerdock", "delsarte-goethals", "bch", "gold, m even", "two bases")


@settings(deadline=None)
@given(st.sampled_from(NAMES), st.data())
def test_any_part_is_a_slice(name: str, data: st.DataObject) -> None:
    rows = _code(name)
    start, stop = (data.draw(st.integers(0, len(rows) + 5)) for _ in range(2))
    expected = _whole(name)[start:stop]
    found = rows.signs(start, stop)
    assert found.dtype == np.int8 and (found == expected).all()
    lengths = np.where(np.arange(len(rows))[start:stop] < rows.standard, 1.0, rows.shape[1] ** 0.5)
    np.testing.assert_allclose(rows.unit(start, stop), expected / lengths[:, None], atol=1e-16)


@settings(max_examples=60, deadline=None)  # the first examples make the codes
@given(st.sampled_from(NAMES), st.data())
def test_first_rows_reach_what_all_pairs_say(name: str, data: st.DataObject) -> None:
    K = data.draw(st.integers(2, len(_code(name))))
    first = _code(name).first(K)
    verified = first.verify()
    assert first.shape == (K, _code(name).shape[1]) and verified.K == K and verified.distinct
    assert "upper bound" not in verified.how
    assert verified.max_cosine.value == pytest.approx(_best_so_far(name)[K], abs=1e-14)
    assert (first.signs(0, K) == _whole(name)[:K]).all()


@pytest.mark.parametrize("name", ["delsarte-goethals", "bch"])
def test_distribution_is_that_of_all_pairs(name: str) -> None:
    found, pairs = _code(name).verify(), IntegerRows(_whole(name).astype(int)).verify()
    assert found.max_cosine == pairs.max_cosine
    assert found.distribution == pairs.distribution


@pytest.mark.parametrize("name", ["gold, m even", "kerdock", "gold", "two bases"])
def test_distribution_with_the_standard_basis(name: str) -> None:
    W = np.asarray(_code(name))
    values, counts = np.unique(
        (W @ W.T)[np.triu_indices(len(W), 1)].round(9), return_counts=True
    )
    found = _code(name).verify().distribution
    assert found is not None
    np.testing.assert_allclose([c.value for c, _ in found], values[::-1], atol=1e-9)
    assert [n for _, n in found] == counts[::-1].tolist()


@pytest.mark.parametrize(("K", "text"), [(2, "-1"), (3, "0"), (64, "0"), (128, "1/sqrt(32)")])
def test_two_unbiased_bases_come_first(K: int, text: str) -> None:
    assert _code("gold").first(K).verify().max_cosine.text == text


def test_two_unbiased_bases_come_first_at_length() -> None:
    rows = SignRows(trace_forms(9, (3,)), standard=True)
    cosines = {K: rows.first(K).verify().max_cosine for K in (1024, 2048, 2049, 10000)}
    assert [c.text for c in cosines.values()] == ["0", "1/sqrt(512)", "1/16", "1/16"]


def test_members_of_a_basis_and_negatives() -> None:
    rows = SignRows(z4_forms(4, 1))
    basis = rows.signs(32 * 5, 32 * 6).astype(int)
    assert (basis[1::2] == -basis[::2]).all()
    assert (basis[::2] @ basis[::2].T == 16 * np.eye(16)).all()


def test_rows_that_repeat_are_told() -> None:
    core = z4_forms(4, 0).core.copy()
    core[5] = core[2]
    verified = SignRows(FormSet([], core)).verify()
    assert not verified.distinct and verified.max_cosine.text == "1"


def test_a_broken_code_is_caught() -> None:
    core = z4_forms(6, 0).core.copy()
    core[11, 50] ^= 1
    rows = SignRows(FormSet([], core, z4_forms(6, 0).symmetries), standard=True)
    signs = rows.signs(rows.standard, len(rows)).astype(int)
    pairs = IntegerRows(signs).verify()
    assert rows.verify().max_cosine == pairs.max_cosine
    assert pairs.max_cosine.value > float(Fraction(1, 8))


@pytest.mark.parametrize("K", [0, 1, 289])
def test_sizes_out_of_range_are_refused(K: int) -> None:
    with pytest.raises(ValueError, match=f"K is {K}|fewer than {K}"):
        _code("kerdock").first(K)
