"""Paley's lines: figures, the conference matrix, rows one by one, and what a wrong matrix does."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnc_cli.codes.constructions import conference
from gnc_cli.codes.constructions.conference import PaleyRows, in_dimension, named, paley_matrix
from gnc_cli.codes.constructions.log_fields import LogField, log_field
from tests.codes.constructions.streamed import assert_figures, assert_parts


@pytest.mark.parametrize("q", [5, 9, 13, 17, 25, 29, 37, 49, 81, 121, 125, 169])
def test_codes(q: int) -> None:
    code = named(f"paley-{q}")
    assert code is not None and (code.d, code.K) == ((q + 1) // 2, 2 * (q + 1))
    assert code.cosine.value == pytest.approx(q**-0.5, rel=1e-15)
    assert_figures(code)


@pytest.mark.parametrize("q", [13, 25])
def test_gram_matrix_is_the_conference_matrix(q: int) -> None:
    C = paley_matrix(log_field(q), 0, q + 1).astype(int)
    assert np.array_equal(C, C.T) and np.array_equal(C @ C, q * np.eye(q + 1))
    W = np.asarray(PaleyRows(log_field(q)))[::2]
    np.testing.assert_allclose(W @ W.T, np.eye(q + 1) + C / q**0.5, rtol=0, atol=1e-15)


def test_a_large_one_is_proved_and_made_in_parts() -> None:
    code = named("paley-2017")
    assert code is not None
    rows = code.build()
    found = rows.verify()
    assert found.max_cosine == code.cosine and found.distribution is not None
    assert [(c.text, 2 * pairs) for c, pairs in found.distribution] == [
        ("1/sqrt(2017)", 2017 * 4036), ("-1/sqrt(2017)", 2017 * 4036), ("-1", 4036)
    ]  # fmt: skip
    products = np.abs((some := rows.unit(1000, 1200)) @ some[::2].T)
    lines = np.arange(200) // 2 == np.arange(100)[:, None]
    np.testing.assert_allclose(products.T, np.where(lines, 1.0, 2017**-0.5), atol=1e-14)


@settings(max_examples=30, deadline=None)
@given(st.sampled_from([9, 13, 25]), st.integers(0, 999), st.integers(0, 999))
def test_parts(q: int, start: int, stop: int) -> None:
    assert_parts(PaleyRows(log_field(q)), start, stop)


class _Flipped(LogField):
    """GF(q) with two wrong quadratic characters."""

    @property
    def characters(self) -> np.ndarray:
        signs = super().characters
        signs[[2, self.q - 2]] *= -1
        return signs


class _Asymmetric(LogField):
    """GF(q) with one wrong quadratic character."""

    @property
    def characters(self) -> np.ndarray:
        signs = super().characters
        signs[2] *= -1
        return signs


def test_wrong_signs_are_caught() -> None:
    with pytest.raises(ValueError, match="two rows are not orthogonal"):
        PaleyRows(_Flipped(13)).verify()
    with pytest.raises(ValueError, match="not a symmetric matrix of signs"):
        PaleyRows(_Asymmetric(13)).verify()


def test_wrong_rows_are_caught() -> None:
    rows = PaleyRows(log_field(13))
    rows._sines = rows._sines[::-1].copy() * 1.001
    with pytest.raises(ValueError, match="miss the eigenspace"):
        rows.verify()


def test_lookups_agree() -> None:
    for d in (3, 5, 7, 41, 4081):
        (code,) = in_dimension(d)
        assert code == named(code.name) and code.d == d and code.K == 4 * d
    assert in_dimension(4) == () and in_dimension(6) == () and in_dimension(11) == ()
    assert named("paley-21") is None and named("paley-013") is None and named("paley-") is None
    assert [family.name for family in conference.FAMILIES] == ["paley-q"]


def test_q_must_be_1_mod_4() -> None:
    with pytest.raises(ValueError, match="q is 7"):
        PaleyRows(log_field(7))
