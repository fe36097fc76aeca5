"""Certificates of three points: the theorem behind them, their check, and what is refused."""

import json
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnc_cli.errors import DataError
from gnc_cli.limits.certificate import verify
from gnc_cli.limits.claim import RefutedError, UnresolvedError
from gnc_cli.limits.orthogonal import chebyshev, gegenbauer
from gnc_cli.limits.three_point_certificate import (
    BASES,
    Factor,
    ThreePointCertificate,
    _coefficients,
    _split,
    basis_sizes,
    is_dominant,
    triple_kernels,
)
from gnc_cli.limits.three_point_program import three_point_certificate
from gnc_cli.plain import plain
from gnc_cli.runtime.deadline import Deadline


@pytest.fixture(scope="module")
def certificate() -> ThreePointCertificate:
    """A small one: 13 points in R^4."""
    found = three_point_certificate(4, 13, 6, deadline=None)
    assert found is not None
    return found


def refused(certificate: ThreePointCertificate, error: type[Exception] = RefutedError) -> None:
    with pytest.raises(error):
        certificate.check(Deadline())


# The theorem


@settings(max_examples=20, deadline=None)
@given(st.integers(3, 6), st.integers(2, 9), st.integers(0, 2**32 - 1))
def test_sums_over_triples_of_points_are_positive_semidefinite(d: int, n: int, seed: int) -> None:
    x = np.random.default_rng(seed).normal(size=(n, d))
    x /= np.linalg.norm(x, axis=1)[:, None]
    gram = x @ x.T
    for pole in gram:
        u, v = np.meshgrid(pole, pole, indexing="ij")
        kernels = triple_kernels(d, 5, u.ravel(), v.ravel(), gram.ravel())
        for k in range(6):
            powers = np.array([pole**i for i in range(4)])
            matrix = powers @ kernels[k].reshape(n, n) @ powers.T
            assert np.linalg.eigvalsh(matrix)[0] > -1e-9 * n * n


@pytest.mark.parametrize("d", [2, 3, 4, 9])
def test_gegenbauer_is_one_at_one_and_exact_at_fractions(d: int) -> None:
    exact = gegenbauer(d, 6, np.array([Fraction(1), Fraction(1, 3)]))
    assert all(value == 1 for value in exact[:, 0])
    rounded = gegenbauer(d, 6, np.array([1.0, 1.0 / 3.0]))
    assert exact.astype(float) == pytest.approx(rounded, abs=1e-14)


# Squares


@pytest.mark.parametrize("degrees", [(3, 6), (2, 4), (4, 7)])
def test_bases_have_their_sizes_and_their_squares_are_symmetric(degrees: tuple[int, int]) -> None:
    x = np.random.default_rng(0).uniform(-1, 1, size=3)
    sizes = []
    for basis in BASES:
        values = []
        for order in permutations(range(3)):
            T = chebyshev(degrees[0], x[[*order]][:, None])
            parts = basis(T, degrees)
            values.append(sum((part**2).sum(axis=1).sum() for part in parts))
        sizes.append(len(parts[0]))
        assert values == pytest.approx([values[0]] * 6)
    assert sizes == basis_sizes(degrees)
    # A trivial and a sign representation have dimension one, the standard one has two.
    everything = sum(1 for e in np.ndindex((degrees[0] + 1,) * 3) if sum(e) <= degrees[1])
    assert sizes[0] + sizes[1] + 2 * sizes[2] == everything


@given(st.lists(st.integers(0, 9), min_size=1, max_size=3))
def test_products_of_chebyshev_polynomials_are_split(index: list[int]) -> None:
    x = np.linspace(-0.9, 0.8, len(index))
    T = chebyshev(9, x)
    places = range(len(index))
    whole = np.prod([T[n, i] for i, n in zip(places, index, strict=True)])
    parts = [
        factor * np.prod([T[left[i], i] * T[right[i], i] for i in places])
        for factor, left, right in _split(tuple(index))
    ]
    assert sum(parts) == pytest.approx(whole, abs=1e-12)
    largest = max(max(sum(left), sum(right)) for _, left, right in _split(tuple(index)))
    assert largest <= (sum(index) + 1) // 2


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_values_at_whole_numbers_give_the_coefficients(data: st.DataObject) -> None:
    lattice = [*combinations_with_replacement(range(4), 3)]
    wanted = {
        index: data.draw(st.integers(-9, 9))
        for index in data.draw(st.sets(st.sampled_from(lattice)))
    }
    T = chebyshev(3, np.array(lattice, dtype=object).T)
    values = {}
    for i, point in enumerate(lattice):
        values[point] = Fraction(
            sum(
                c * T[a, 0, i] * T[b, 1, i] * T[e, 2, i]
                for index, c in wanted.items()
                for a, b, e in {*permutations(index)}
            )
        )
    coefficients, multiple = _coefficients(values, 3)
    found = {index: Fraction(c, multiple) for index, c in coefficients.items()}
    assert found == {
        place: c for index, c in wanted.items() if c for place in {*permutations(index)}
    }


def test_dominant_forms() -> None:
    assert is_dominant({(0,): 1}) and not is_dominant({(0,): -1})
    assert is_dominant({(0,): 2, (2,): 1})  # 1 + 2 x^2
    assert is_dominant({(0,): 1, (2,): 1})  # 2 x^2
    assert not is_dominant({(0,): 1, (2,): 1, (1,): 1})


# The check


def test_certificates_are_proved(certificate: ThreePointCertificate) -> None:
    certificate.check(Deadline())
    assert 12.9 < certificate.bound < 13
    assert Fraction("0.24") < Fraction(certificate.cosine) < Fraction("0.275")


def test_larger_claims_are_refuted(certificate: ThreePointCertificate) -> None:
    refused(replace(certificate, K=12))
    refused(replace(certificate, d=5))
    refused(replace(certificate, cosine=str(Fraction(certificate.cosine) + Fraction(1, 1000))))
    replace(certificate, K=14).check(Deadline())


def changed(factor: Factor, i: int = -1) -> Factor:
    """With a larger number at the end of row i."""
    rows = list(factor.rows)
    rows[i] = (*rows[i][:-1], rows[i][-1] + 10 ** (factor.digits - 1))
    return replace(factor, rows=tuple(rows))


@pytest.mark.parametrize("part", ["a", "b", "F", "p", "q"])
def test_changed_numbers_are_refuted(certificate: ThreePointCertificate, part: str) -> None:
    value: Any = getattr(certificate, part)
    if part in "ab":
        refused(replace(certificate, **{part: changed(value)}))
        return
    for i, entry in enumerate(value):
        if part == "q":
            parts = [(*entry[:j], changed(entry[j]), *entry[j + 1 :]) for j in range(3)]
        else:
            parts = [changed(entry)]
        for other in parts:
            refused(replace(certificate, **{part: (*value[:i], other, *value[i + 1 :])}))


def test_negative_weights_are_refuted(certificate: ThreePointCertificate) -> None:
    (weights,) = certificate.a.rows
    refused(replace(certificate, a=replace(certificate.a, rows=((-1, *weights[1:]),))))


def test_shapes_that_do_not_fit_are_malformed(certificate: ThreePointCertificate) -> None:
    refused(replace(certificate, F=certificate.F[:-1]), ValueError)
    refused(replace(certificate, a=Factor(0, ((1, 2),))), ValueError)
    (weights,) = certificate.a.rows
    for row in (weights[: certificate.degree], (*weights, 0)):
        refused(replace(certificate, a=replace(certificate.a, rows=(row,))), ValueError)
    refused(replace(certificate, b=Factor(0, ((1,), (1,)))), ValueError)
    refused(replace(certificate, p=(certificate.p[1], certificate.p[0])), ValueError)
    refused(replace(certificate, degree=8), ValueError)


def test_checks_that_take_too_long_are_not_begun(certificate: ThreePointCertificate) -> None:
    refused(replace(certificate, degree=18), UnresolvedError)
    refused(replace(certificate, cosine=f"1/{10**40}"), UnresolvedError)
    with pytest.raises(UnresolvedError):
        certificate.check(Deadline(1e-9))


@pytest.mark.parametrize(("number", "fits"), [(2**63 - 1, True), (-(2**63), False)])
def test_whole_numbers_have_64_bits(
    certificate: ThreePointCertificate, number: int, fits: bool, tmp_path: Path
) -> None:
    path = tmp_path / "c.json"
    document = plain(replace(certificate, b=Factor(0, ((number,), (0, 0)))))
    path.write_text(json.dumps(document))
    if fits:
        assert verify(str(path), Deadline()).status == "not_proved"
    else:
        with pytest.raises(DataError):
            verify(str(path), Deadline())


def test_few_dimensions_are_left_to_other_bounds(certificate: ThreePointCertificate) -> None:
    refused(replace(certificate, d=2), UnresolvedError)
