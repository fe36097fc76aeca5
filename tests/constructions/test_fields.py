"""Finite fields by their axioms, every triple of elements where that is quick."""

import numpy as np
import pytest

from gnc_cli.constructions.fields import FiniteField, finite_field, prime_power, prime_powers


@pytest.mark.parametrize("q", [2, 3, 4, 5, 7, 8, 9, 16, 25, 27, 49])
def test_axioms(q: int) -> None:
    field, every = FiniteField(q), np.arange(q)
    times, plus = field.multiply(every[:, None], every), field.add(every[:, None], every)
    assert field.p**field.n == q
    a, b, c = np.ix_(every, every, every)
    for table in (plus, times):
        assert np.array_equal(table, table.T)
        assert np.array_equal(table[table[a, b], c], table[a, table[b, c]])
    assert np.array_equal(times[a, plus[b, c]], plus[times[a, b], times[a, c]])
    assert np.array_equal(plus[0], every) and np.array_equal(times[1], every)
    assert all(sorted(row) == every.tolist() for row in (*plus, *times[1:]))
    assert np.array_equal(field.subtract(plus, every), np.repeat(every[:, None], q, axis=1))
    power = every
    for _ in range(4):
        power = times[power, every]
    assert np.array_equal(field.power(every, 5), power)
    # x -> x^p is an automorphism that fixes the prime field.
    to_p = field.power(every, field.p)
    assert np.array_equal(to_p[plus], plus[np.ix_(to_p, to_p)])
    assert np.flatnonzero(to_p == every).tolist() == list(range(field.p))


def test_the_prime_field_counts_modulo_p() -> None:
    field, seven = finite_field(7), np.arange(7)
    assert np.array_equal(field.add(seven[:, None], seven), (seven[:, None] + seven) % 7)
    assert np.array_equal(field.multiply(seven[:, None], seven), seven[:, None] * seven % 7)


@pytest.mark.parametrize("q", [8, 9, 27, 81, 125, 4096, 8191])
def test_trace_is_additive_and_onto(q: int) -> None:
    field = finite_field(q)
    some = np.random.default_rng(0).integers(0, q, (2, 500))
    added = (field.trace[some[0]] + field.trace[some[1]]) % field.p
    assert np.array_equal(field.trace[field.add(some[0], some[1])], added)
    assert np.array_equal(np.bincount(field.trace), np.full(field.p, q // field.p))


@pytest.mark.parametrize(("q", "s"), [(16, 4), (81, 9), (64, 4), (64, 8), (625, 5)])
def test_traces_to_subfields(q: int, s: int) -> None:
    field = finite_field(q)
    values, counts = np.unique(field.trace_to(s), return_counts=True)
    assert np.array_equal(field.power(values, s), values)
    assert np.array_equal(counts, np.full(s, q // s))


@pytest.mark.parametrize("q", [3, 9, 13, 25])
def test_quadratic_character(q: int) -> None:
    field = finite_field(q)
    squares = set(field.power(np.arange(1, q), 2).tolist())
    expected = [0, *(1 if x in squares else -1 for x in range(1, q))]
    assert field.characters.tolist() == expected


def test_prime_powers() -> None:
    assert prime_power(8192) is None and prime_power(6) is None and prime_power(1) is None
    assert prime_power(6561) == (3, 8) and prime_power(7921) == (89, 2)
    # 1028 primes below 2^13 = 8192, and their powers.
    assert sum(n == 1 for _, n in prime_powers().values()) == 1028
    assert list(prime_powers()) == sorted(prime_powers())
