"""Rows of signs, whole, shortened and punctured: slices of one code, exact cosines of any part."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.constructions import sign_rows
from gnc_cli.constructions.boolean_functions import FormSet
from gnc_cli.constructions.families.binary_codes import trace_forms, z4_forms
from gnc_cli.constructions.integer_rows import IntegerRows
from gnc_cli.constructions.sign_rows import PuncturedRows, ShortenedRows, SignRows
from tests.constructions.checks import gram

Restricted = ShortenedRows | PuncturedRows


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
    return _code(name).signs(0, len(_code(name)))


@cache
def _best_so_far(name: str) -> np.ndarray:
    """Largest cosine among the first K rows at index K, from all pairs."""
    products = gram(_code(name))
    nearest = np.tril(products, -1) + np.triu(np.full(products.shape, -2.0))
    return np.maximum.accumulate(np.concatenate([[-2.0], nearest.max(axis=1)]))


NAMES = ("gold", "kerdock", "delsarte-goethals", "bch", "gold, m even", "two bases")


@given(st.sampled_from(NAMES), st.data())
def test_first_rows_reach_what_all_pairs_say(name: str, data: st.DataObject) -> None:
    K = data.draw(st.integers(2, len(_code(name))))
    first = _code(name).first(K)
    verified = first.verify()
    assert first.shape == (K, _code(name).shape[1]) and verified.K == K and verified.distinct
    assert verified.attained
    assert verified.max_cosine.value == pytest.approx(_best_so_far(name)[K], abs=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_distribution_is_that_of_all_pairs(name: str) -> None:
    products = gram(_code(name))
    values, counts = np.unique(
        products[np.triu_indices(len(products), 1)].round(9), return_counts=True
    )
    found = _code(name).verify().distribution
    assert found is not None
    np.testing.assert_allclose([c.value for c, _ in found], values[::-1], atol=1e-9)
    assert [n for _, n in found] == counts[::-1].tolist()


@pytest.mark.parametrize(("K", "text"), [(2, "-1"), (3, "0"), (64, "0"), (128, "1/sqrt(32)")])
def test_two_unbiased_bases_come_first(K: int, text: str) -> None:
    assert _code("gold").first(K).verify().max_cosine.text == text


SMALL = {
    "kerdock": z4_forms(4, 0),
    "delsarte-goethals": z4_forms(4, 1),
    "gold": trace_forms(5, (3,)),
    "bch": trace_forms(4, (5, 3)),
}


@pytest.mark.parametrize("name", SMALL)
def test_the_rows_that_are_plus_in_some_places(name: str) -> None:
    forms = SMALL[name]
    whole = SignRows(forms).signs(0, 2 * forms.d * len(forms))
    for s in range(1, forms.m + 2 + len(forms.basis)):
        if len(whole) >> s < 2:
            break
        rows = ShortenedRows(forms, s)
        places = np.setdiff1d(np.arange(forms.d), rows.places)
        chosen = whole[(whole[:, places] == 1).all(axis=1)][:, rows.places]
        found = rows.signs(0, len(rows))
        assert len(places) == s and len(found) == len(whole) >> s
        assert set(map(bytes, found)) == set(map(bytes, chosen))


def test_punctured_rows_are_the_rows_without_places() -> None:
    forms = SMALL["gold"]
    whole = SignRows(forms).signs(0, 2 * forms.d * len(forms))
    assert (PuncturedRows(forms, 3).signs(0, len(whole)) == whole[:, 3:]).all()


def _restrict(name: str, places: int, puncture: bool) -> Restricted:
    return (PuncturedRows if puncture else ShortenedRows)(SMALL[name], places)


@given(st.sampled_from(list(SMALL)), st.booleans(), st.integers(1, 4), st.data())
def test_transforms_say_what_all_pairs_say(
    name: str, puncture: bool, places: int, data: st.DataObject
) -> None:
    whole = _restrict(name, places, puncture)
    # From one full part on; below, all pairs are the check.
    K = data.draw(st.integers(whole.part, len(whole)).filter(lambda K: K > 1))
    first = whole.first(K)
    assert isinstance(first, Restricted)
    pairs = IntegerRows(first.signs(0, K).astype(int)).verify()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sign_rows, "_MAX_MULTIPLIED_ROWS", 0)
        found = first.verify()
    assert found.K == pairs.K == K and found.distinct == pairs.distinct
    if found.attained:
        assert found.max_cosine == pairs.max_cosine
    else:
        assert found.max_cosine.value >= pairs.max_cosine.value
