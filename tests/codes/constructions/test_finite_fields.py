"""Fields by their axioms, every triple of elements where that is quick."""

import numpy as np
import pytest

from gnc_cli.codes.constructions.finite_fields import finite_field

ORDERS = [2, 3, 4, 5, 7, 8, 9, 16, 25, 27, 49]


@pytest.mark.parametrize("order", ORDERS)
def test_axioms(order: int) -> None:
    field = finite_field(order)
    plus, times, all_ = field.plus, field.times, np.arange(order)
    assert field.order == order and plus.shape == times.shape == (order, order)
    a, b, c = np.ix_(all_, all_, all_)
    for table in (plus, times):
        assert np.array_equal(table, table.T) and table.min() == 0 and table.max() == order - 1
        assert np.array_equal(table[table[a, b], c], table[a, table[b, c]])
    assert np.array_equal(times[a, plus[b, c]], plus[times[a, b], times[a, c]])
    assert np.array_equal(plus[0], all_) and np.array_equal(times[1], all_)
    assert not times[0].any() and np.array_equal(np.sort(times[2 % order or 1])[1:], all_[1:])
    assert all(sorted(row) == all_.tolist() for row in plus)
    assert all(sorted(row[1:]) == all_[1:].tolist() for row in times[1:])
    assert not plus[all_, field.minus].any()


@pytest.mark.parametrize("order", ORDERS)
def test_frobenius_is_an_automorphism_that_fixes_the_prime_field(order: int) -> None:
    field = finite_field(order)
    to_p = field.power(field.p)
    assert np.array_equal(to_p[field.plus], field.plus[np.ix_(to_p, to_p)])
    assert np.array_equal(to_p[field.times], field.times[np.ix_(to_p, to_p)])
    assert np.flatnonzero(to_p == np.arange(order)).tolist() == list(range(field.p))


def test_the_prime_field_counts_modulo_p() -> None:
    field, seven = finite_field(7), np.arange(7)
    assert np.array_equal(field.plus, (seven[:, None] + seven) % 7)
    assert np.array_equal(field.times, seven[:, None] * seven % 7)


def test_dot_is_the_sum_of_products() -> None:
    field, rng = finite_field(9), np.random.default_rng(0)
    x, y = rng.integers(0, 9, (5, 1, 3)), rng.integers(0, 9, (4, 3))
    found = field.dot(x, y)
    assert found.shape == (5, 4)
    for i in range(5):
        for j in range(4):
            a, b, c = (field.times[x[i, 0, k], y[j, k]] for k in range(3))
            assert found[i, j] == field.plus[field.plus[a, b], c]


@pytest.mark.parametrize("order", [-4, 0, 1, 6, 12, 100])
def test_no_field_of_other_orders(order: int) -> None:
    with pytest.raises(ValueError, match=f"no field of {order} elements"):
        finite_field(order)


def test_tables_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        finite_field(4).plus[0, 0] = 1
