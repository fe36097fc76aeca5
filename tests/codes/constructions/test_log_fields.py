"""Finite fields by logarithms: the axioms, and the other tables of small fields."""

import numpy as np
import pytest

from gnc_cli.codes.constructions.finite_fields import finite_field
from gnc_cli.codes.constructions.log_fields import LogField, log_field, prime_power, prime_powers


@pytest.mark.parametrize("q", [2, 3, 4, 5, 8, 9, 16, 25, 27, 49])
def test_a_field(q: int) -> None:
    field = LogField(q)
    every = np.arange(q)
    times = field.multiply(every[:, None], every)
    plus = field.add(every[:, None], every)
    assert field.p**field.n == q
    # 1 and the nonzero elements are a cyclic group, addition is one, and both are distributive.
    assert sorted(field.exp) == list(range(1, q)) and np.array_equal(times[1], every)
    assert all(len(set(row)) == q for row in plus) and all(len(set(row)) == q for row in times[1:])
    assert np.array_equal(times[:, plus], plus[times[:, :, None], times[:, None, :]])
    assert np.array_equal(field.subtract(plus, every), np.repeat(every[:, None], q, axis=1))
    power = every
    for _ in range(4):
        power = times[power, every]
    assert np.array_equal(field.power(every, 5), power)


@pytest.mark.parametrize("q", [4, 9, 25, 27])
def test_the_same_field_as_by_tables(q: int) -> None:
    # All fields of one order are isomorphic: squares of all sums are spread alike.
    field, other = log_field(q), finite_field(q)
    every = np.arange(q)
    here = np.bincount(field.power(field.add(every[:, None], every), 2).ravel(), minlength=q)
    there = np.bincount(other.power(2)[other.plus].ravel(), minlength=q)
    assert sorted(here) == sorted(there)


@pytest.mark.parametrize("q", [8, 9, 27, 81, 125, 4096, 8191])
def test_trace_is_additive_and_onto(q: int) -> None:
    field = log_field(q)
    some = np.random.default_rng(0).integers(0, q, (2, 500))
    added = (field.trace[some[0]] + field.trace[some[1]]) % field.p
    assert np.array_equal(field.trace[field.add(some[0], some[1])], added)
    assert np.array_equal(np.bincount(field.trace), np.full(field.p, q // field.p))


@pytest.mark.parametrize("q", [3, 9, 13, 25])
def test_quadratic_character(q: int) -> None:
    field = log_field(q)
    squares = set(field.power(np.arange(1, q), 2).tolist())
    assert [int(c) for c in field.characters] == [
        0, *(1 if x in squares else -1 for x in range(1, q))
    ]  # fmt: skip


def test_prime_powers() -> None:
    assert prime_power(8192) is None and prime_power(6) is None and prime_power(1) is None
    assert prime_power(6561) == (3, 8) and prime_power(7921) == (89, 2)
    # 1028 primes below 2^13 = 8192, and their powers.
    assert sum(n == 1 for _, n in prime_powers().values()) == 1028
    assert list(prime_powers()) == sorted(prime_powers())


@pytest.mark.parametrize("q", [1, 6, 100, 8192, 10007])
def test_no_such_field(q: int) -> None:
    with pytest.raises(ValueError, match=f"no field of {q} elements"):
        LogField(q)
