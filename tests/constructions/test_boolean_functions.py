"""Normal functions, their numbering, linear algebra over two elements, and Walsh transforms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.constructions.boolean_functions import FormSet, Span, hadamard, normal, walsh

seeds = st.integers(0, 2**32 - 1)


def _random(seed: int, n: int, d: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2, (n, d)).astype(np.uint8)


@given(st.integers(1, 7), seeds)
def test_normal_removes_an_affine_function(m: int, seed: int) -> None:
    functions = _random(seed, 5, 2**m)
    found = normal(functions)
    assert not found[:, [0, *(1 << i for i in range(m))]].any()
    removed = 1 - 2.0 * (found ^ functions)
    products = np.abs(removed @ hadamard(m))
    assert (products.max(axis=1) == 2**m).all()
    assert (normal(found) == found).all()


@given(st.integers(1, 8), st.integers(1, 12), seeds)
def test_coefficients_give_back_members_only(k: int, d: int, seed: int) -> None:
    vectors = _random(seed, k, d)
    span = Span(vectors)
    members = _random(seed + 1, 6, k).astype(int) @ vectors % 2
    found = span.coefficients(members.astype(np.uint8))
    assert found is not None and (found.astype(int) @ vectors % 2 == members).all()
    everything = {tuple(np.array(bits) @ vectors % 2) for bits in np.ndindex(*[2] * k)}
    assert len(everything) == 2**span.rank
    stranger = _random(seed + 2, 1, d)
    inside = tuple(stranger[0]) in everything
    assert (span.coefficients(stranger) is not None) == inside
    assert (span.reduced[:, span.pivots] == np.eye(span.rank)).all()
    assert all(tuple(row) in everything for row in span.reduced)


def test_functions_by_number() -> None:
    core = np.zeros((3, 16), dtype=np.uint8)
    core[1, 15] = core[2, 3] = 1
    basis = [np.eye(16, dtype=np.uint8)[[5, 6]], np.eye(16, dtype=np.uint8)[[7]]]
    forms = FormSet(basis, core)
    assert len(forms) == 24 and forms.levels == (0, 2, 3)
    for number in range(24):
        expected = forms.core[number % 3].copy()
        for bit in range(3):
            expected ^= forms.basis[bit] * (number // 3 >> bit & 1)
        assert (forms.functions(np.array([number]))[0] == expected).all()


def test_more_than_eight_basis_functions() -> None:
    # Beyond eight, sums come from several tables; monomials of degree 2 and 3 are independent.
    x = np.arange(64)
    pairs = [(x >> i & x >> j & 1).astype(np.uint8) for i in range(6) for j in range(i)]
    forms = FormSet([np.array(pairs)])
    numbers = np.array([0, 1, 255, 256, 2**15 - 1, 0b101000000000101])
    bits = numbers[:, None] >> np.arange(15) & 1
    assert (forms.functions(numbers) == bits @ forms.basis % 2).all()


def test_dependent_or_misplaced_functions_are_refused() -> None:
    one = np.array([[0, 0, 0, 1]], dtype=np.uint8)
    with pytest.raises(ValueError, match="dependent"):
        FormSet([one, 1 - one])
    with pytest.raises(ValueError, match="first core"):
        FormSet([], one)
    with pytest.raises(ValueError, match="power of two"):
        FormSet([one[:, :3]])


@pytest.mark.parametrize("m", [0, 1, 2, 5, 6, 7, 8, 10])
def test_transform_is_the_matrix_product(m: int, rng: np.random.Generator) -> None:
    values = rng.integers(-1, 2, (7, 2**m)).astype(np.int8)
    values[0] = 1  # the largest coefficient there is
    signs = [[(-1) ** (a & x).bit_count() for x in range(2**m)] for a in range(2**m)]
    assert (hadamard(m) == signs).all()
    assert (walsh(values) == np.array(signs) @ values.T).all()
