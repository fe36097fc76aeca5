"""Rows over number fields: exact products, and rows that are not as they should be."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.codes.constructions.algebraic import AlgebraicRows
from gnc_cli.codes.constructions.number_field import RealField
from gnc_cli.codes.constructions.points import IntegerRows
from tests.codes.constructions.checks import gram, spectrum

GOLDEN = RealField((1, 1), (1, 2))
ROOT2 = RealField((2, 0), (1, 2))


def rational(vectors: np.ndarray) -> np.ndarray:
    """Integer vectors as elements without t."""
    return np.stack([vectors, 0 * vectors], axis=-1)


@given(st.integers(2, 4), st.integers(0, 10**6))
def test_integers_are_a_special_case(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    signs = rng.choice([1, -1], size=(12, n)) * np.arange(1, n + 1)
    shuffled = rng.permuted(signs, axis=1)
    ours = AlgebraicRows(GOLDEN, rational(shuffled)).verify()
    theirs = IntegerRows(shuffled).verify()
    assert (ours.K, ours.distinct, ours.distribution) == (
        theirs.K, theirs.distinct, theirs.distribution
    )  # fmt: skip


@given(st.integers(0, 10**6))
def test_multiples_by_a_number_of_the_field_change_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    corners = np.array([[[0, 0], [s, 0], [0, u]] for s in (1, -1) for u in (1, -1)])
    vectors = np.concatenate([np.roll(corners, k, axis=1) for k in range(3)])
    factor = rng.integers(1, 9, 2)
    scaled = AlgebraicRows(GOLDEN, GOLDEN.multiply(vectors, factor))
    plain = AlgebraicRows(GOLDEN, vectors)
    assert scaled.verify() == plain.verify()
    np.testing.assert_allclose(np.asarray(scaled), np.asarray(plain), rtol=0, atol=1e-15)


def test_weights_are_squares_of_axes() -> None:
    """sqrt 2 on an axis, as a number of the field and as a weight."""
    inside = AlgebraicRows(ROOT2, np.array([[[1, 0], [0, 1]], [[1, 0], [0, -1]]]))
    weighed = AlgebraicRows(
        ROOT2, rational(np.array([[1, 1], [1, -1]])), np.array([[1, 0], [2, 0]])
    )
    assert inside.verify() == weighed.verify()
    np.testing.assert_allclose(np.asarray(inside), np.asarray(weighed), rtol=0, atol=1e-15)
    # The fourth root of 2 is not in the field; its square is a weight.
    fourth = AlgebraicRows(
        ROOT2, rational(np.array([[1, 1], [1, -1], [-1, 1]])), np.array([[1, 0], [0, 1]])
    )
    assert fourth.verify().max_cosine.value == pytest.approx((2**0.5 - 1) / (2**0.5 + 1))
    np.testing.assert_allclose(
        spectrum(gram(fourth)),
        [c.value for c, pairs in fourth.verify().distribution or () for _ in range(pairs)],
        rtol=0, atol=1e-15,
    )  # fmt: skip


def test_blocks_count_each_pair_once(monkeypatch: pytest.MonkeyPatch) -> None:
    signs = np.array(np.meshgrid(*[[1, -1]] * 5)).reshape(5, -1).T
    rows = AlgebraicRows(GOLDEN, rational(signs))
    whole = rows.verify()
    monkeypatch.setattr("gnc_cli.codes.constructions.algebraic._BLOCK", 5)
    assert rows.verify() == whole
    assert sum(pairs for _, pairs in whole.distribution or ()) == 32 * 31 // 2


def test_a_double_row_is_seen() -> None:
    vectors = rational(np.array([[1, 2], [2, -1], [1, 2]]))
    verified = AlgebraicRows(GOLDEN, vectors).verify()
    assert not verified.distinct and verified.max_cosine.text == "1"


@pytest.mark.parametrize(("vectors", "weights", "message"), [
    ([[[1, 0], [0, 0]], [[0, 1], [0, 0]]], None, "different lengths"),
    ([[[0, 0], [0, 0]]], None, "are zero"),
    ([[[1, 0], [0, 0]]], [[1, 0], [1, -1]], "not positive"),  # 1 - t < 0
    ([[[1, 0], [0, 0]]], [[1, 0], [0, 0]], "not positive"),
    ([[[2**31, 0], [0, 0]]], None, "too large"),
])  # fmt: skip
def test_what_is_refused(
    vectors: list[list[list[int]]], weights: list[list[int]] | None, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        AlgebraicRows(
            GOLDEN, np.array(vectors), None if weights is None else np.array(weights)
        )
