"""Fields of characteristic 2 against schoolbook polynomials; the ring's trace by its two digits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.codes.constructions.galois import (
    GaloisField,
    cyclotomic_coset,
    galois_field,
    ring_trace,
)


def _schoolbook(x: int, y: int, m: int) -> int:
    """Product modulo the field's own polynomial, which is a^m plus what a^m is."""
    polynomial = 1 << m | int(galois_field(m).multiply(np.array(1 << (m - 1)), np.array(2)))
    product = 0
    for i in range(m):
        product ^= (x << i) * (y >> i & 1)
    for i in reversed(range(m - 1)):
        if product >> (m + i) & 1:
            product ^= polynomial << i
    return product


@given(st.integers(2, 12), st.data())
def test_products_are_those_of_polynomials(m: int, data: st.DataObject) -> None:
    x, y = (data.draw(st.integers(0, 2**m - 1)) for _ in range(2))
    assert int(galois_field(m).multiply(np.array(x), np.array(y))) == _schoolbook(x, y, m)


@given(st.integers(2, 12), st.integers(1, 40), st.data())
def test_powers_are_repeated_products(m: int, e: int, data: st.DataObject) -> None:
    field, x = galois_field(m), np.array(data.draw(st.integers(0, 2**m - 1)))
    product = np.array(1)
    for _ in range(e):
        product = field.multiply(product, x)
    assert int(field.power(x, e)) == int(product)


@pytest.mark.parametrize("m", range(2, 13))
def test_trace_is_linear_invariant_and_balanced(m: int) -> None:
    field = galois_field(m)
    x = np.arange(field.q)
    assert (field.trace[field.power(x, 2)] == field.trace).all()
    assert (field.trace[x ^ (field.q - 1)] == field.trace ^ field.trace[-1]).all()
    assert field.trace.sum() == field.q // 2


@pytest.mark.parametrize("m", range(2, 13))
def test_digits_of_the_ring_trace(m: int) -> None:
    # T(X) = tr(x) + 2 (sum of x^(2^i + 2^j) over i < j) modulo 4.
    field, trace = galois_field(m), ring_trace(m)
    x = np.arange(field.q)
    second = np.zeros_like(x)
    for i in range(m):
        for j in range(i + 1, m):
            second ^= field.power(x, 2**i + 2**j)
    assert set(second) == {0, 1}
    assert (trace == field.trace + 2 * second).all()


def test_cosets_share_their_trace_functions() -> None:
    field = galois_field(6)
    x = np.arange(64)
    for e in range(1, 63):
        for other in cyclotomic_coset(6, e):
            same = field.trace[field.power(x, e)] == field.trace[field.power(x, other)]
            assert same.all()


@pytest.mark.parametrize("m", [1, 13])
def test_fields_beyond_the_table_are_refused(m: int) -> None:
    with pytest.raises(ValueError, match="m is 2 to 12"):
        GaloisField(m)
