"""Shortened and punctured codes: figures, streaming and exact cosines, against all pairs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnc_cli.codes.constructions import shorter_codes
from gnc_cli.codes.constructions.construction import Construction
from gnc_cli.codes.constructions.forms import FormSet
from gnc_cli.codes.constructions.points import IntegerRows
from gnc_cli.codes.constructions.puncturing import PuncturedRows, punctured
from gnc_cli.codes.constructions.restricted import RestrictedRows
from gnc_cli.codes.constructions.shortening import ShortenedRows, shortened
from gnc_cli.codes.constructions.signs import SignRows
from gnc_cli.codes.constructions.trace_codes import trace_forms
from gnc_cli.codes.constructions.z4_forms import z4_forms

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
        if (rows := _shortened(forms, s)) is None:
            break
        places = np.setdiff1d(np.arange(forms.d), rows.kept)
        chosen = whole[(whole[:, places] == 1).all(axis=1)][:, rows.kept]
        found = rows.signs(0, len(rows))
        assert len(places) == s and len(found) == len(whole) >> s
        assert set(map(bytes, found)) == set(map(bytes, chosen))


def _shortened(forms: FormSet, s: int) -> ShortenedRows | None:
    if len(forms) * 2 * forms.d >> s < 2:
        return None
    return ShortenedRows(forms, s)


def _restrict(name: str, places: int, puncture: bool) -> RestrictedRows:
    return (PuncturedRows if puncture else ShortenedRows)(SMALL[name], places)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(list(SMALL)), st.booleans(), st.integers(1, 4), st.data())
def test_any_part_is_a_slice(
    name: str, puncture: bool, places: int, data: st.DataObject
) -> None:
    rows = _restrict(name, places, puncture)
    start, stop = (data.draw(st.integers(0, len(rows) + 5)) for _ in range(2))
    whole = rows.signs(0, len(rows))
    assert (rows.signs(start, stop) == whole[start:stop]).all()
    expected = whole[start:stop] / np.sqrt(rows.shape[1])
    np.testing.assert_allclose(rows.unit(start, stop), expected, atol=1e-16)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(list(SMALL)), st.booleans(), st.integers(1, 4), st.data())
def test_transforms_say_what_all_pairs_say(
    name: str, puncture: bool, places: int, data: st.DataObject
) -> None:
    whole = _restrict(name, places, puncture)
    # From one full part on; below, all pairs are the check.
    K = data.draw(st.integers(whole.part, len(whole)).filter(lambda K: K > 1))
    first = whole.first(K)
    assert isinstance(first, RestrictedRows)
    pairs = IntegerRows(first.signs(0, K).astype(int)).verify()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gnc_cli.codes.constructions.restricted._ALL_PAIRS", 0)
        found = first.verify()
    assert found.K == pairs.K == K and found.distinct == pairs.distinct
    if "upper bound" in found.how:
        assert found.max_cosine.value >= pairs.max_cosine.value
    else:
        assert found.max_cosine == pairs.max_cosine


OFFERED = [
    code
    for d in (*range(11, 16), *range(24, 32), *range(48, 64), *range(108, 128))
    for code in shorter_codes.in_dimension(d)
    if code.K < 2**21 and "bch-128" not in code.name
]


@pytest.mark.parametrize("code", OFFERED, ids=lambda c: c.name)
def test_figures_are_attained(code: Construction) -> None:
    rows = code.build()
    assert rows.shape == (code.K, code.d)
    verified = rows.verify()
    assert verified.distinct and verified.K == code.K
    assert verified.max_cosine == code.cosine and "upper bound" not in verified.how


def test_shortened_names() -> None:
    code = shorter_codes.named("bch3-9-shortened-8")
    assert code is not None and (code.d, code.K, code.cosine.text) == (504, 2**20, "1/9")
    for name in (
        "gold-9-shortened-0",
        "gold-9-shortened-10",  # no more rows than an orthoplex
        "gold-9-punctured-17",
        "bch3-5-punctured-8",  # rows would repeat
        "bch-64-18-punctured-1",
        "gold-4-shortened-1",
        "gold-9-doubled-1",
    ):
        assert shorter_codes.named(name) is None


def test_the_standard_basis_is_left_out() -> None:
    rows = SignRows(z4_forms(4, 0), standard=True)
    assert shortened(rows, 2).shape == (64, 14) and punctured(rows, 2).shape == (256, 14)


def test_places_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="s is 6"):
        ShortenedRows(z4_forms(4, 0), 6)
    with pytest.raises(ValueError, match="p is 5"):
        PuncturedRows(z4_forms(4, 0), 5)
    with pytest.raises(ValueError, match="K is 129"):
        ShortenedRows(z4_forms(4, 0), 1, 129)
    for rows in (ShortenedRows(z4_forms(4, 0), 1), PuncturedRows(z4_forms(4, 0), 1)):
        with pytest.raises(ValueError, match="fewer than 300"):
            rows.first(300)
