"""Signed nets and polynomials: values from all pairs, lines of the plane, wrong lines."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnc_cli.constructions.families.paley import hadamard_matrix
from gnc_cli.constructions.families.signed_nets import (
    NetRows,
    PolynomialRows,
    net_lines,
    quadruples,
    sign_patterns,
)
from gnc_cli.constructions.fields import finite_field
from tests.constructions.checks import check, check_parts, named


def test_a_net_too_far_from_a_plane_to_be_searched() -> None:
    code = named("net-9-4")
    assert (code.d, code.K, code.cosine.text) == (36, 648, "1/4")
    check(code)


@pytest.mark.parametrize(
    ("name", "d", "K"), [("net-4-4", 16, 160), ("net-8-7", 56, 1136), ("net-16-15", 240, 8672)]
)
def test_nets_over_a_power_of_two_have_the_standard_basis(name: str, d: int, K: int) -> None:
    code = named(name)
    q, r = d // int(name.split("-")[2]), int(name.split("-")[2])
    assert (code.d, code.K, code.cosine.text) == (d, K, f"1/{r}")
    check(code)
    # The first rows end with rows at the whole code's cosine.
    assert code.build().first(K - 7).verify().attained
    # The basis of each class, in place of its lines, changes no inner product of two points.
    rows, plain = np.asarray(code.build()), NetRows(net_lines(q, r), sign_patterns(r))
    points = np.asarray(plain)
    np.testing.assert_allclose(rows[: 2 * d] @ rows[: 2 * d].T, _signed(np.eye(d)), atol=1e-14)
    some = np.random.default_rng(0).integers(len(points), size=200)
    near = rows[2 * d :][some]
    np.testing.assert_allclose(near @ near.T, points[some] @ points[some].T, atol=1e-14)


def _signed(gram: np.ndarray) -> np.ndarray:
    """Gram matrix of vectors, each followed by its negative."""
    return np.kron(gram, np.array([[1, -1], [-1, 1]]))


def test_common_sizes() -> None:
    sizes = {
        "net-32-24": (768, 50688, "1/24"),
        "reed-solomon-16-16-4": (128, 65536, "3/16"),
        "reed-solomon-32-32-4": (512, 1048576, "3/32"),
    }
    for name, size in sizes.items():
        code = named(name)
        assert (code.d, code.K, code.cosine.text) == size
        check(code)


@pytest.mark.parametrize("r", [3, 4, 5, 7, 8, 9, 11, 12, 13, 20, 21, 23, 60])
def test_patterns(r: int) -> None:
    signs = sign_patterns(r).astype(int)
    assert len(signs) == {0: r, 1: r - 1, 3: r + 1}[r % 4] and set(np.abs(signs).flat) == {1}
    assert np.abs(signs @ signs.T - r * np.eye(len(signs))).max() <= 1


def test_wrong_lines_and_patterns_are_caught() -> None:
    lines, patterns = net_lines(5, 4), sign_patterns(4)
    wrong = lines.copy()
    wrong[3, 2] = wrong[4, 2]
    with pytest.raises(ValueError, match="two points share two lines"):
        NetRows(wrong, patterns).verify()
    wrong = lines.copy()
    wrong[3, 2] = wrong[3, 1]
    with pytest.raises(ValueError, match="twice on a line"):
        NetRows(wrong, patterns).verify()
    signs = patterns.copy()
    signs[1, 1] *= -1
    with pytest.raises(ValueError, match="not patterns of signs"):
        NetRows(lines, signs).verify()
    basis = hadamard_matrix(4).copy()
    basis[1, 1] *= -1
    with pytest.raises(ValueError, match="not orthogonal"):
        NetRows(net_lines(4, 3), sign_patterns(3), basis).verify()


@pytest.mark.parametrize(("q", "n", "k"), [(5, 5, 3), (7, 7, 4), (8, 7, 3), (9, 6, 3), (16, 9, 3)])
def test_polynomials_by_their_values(q: int, n: int, k: int) -> None:
    code = named(f"reed-solomon-{q}-{n}-{k}")
    assert (code.d, code.K, code.cosine.value) == (n * ((q + 1) // 2), q**k, (k - 1) / n)
    check(code)
    # Row sum of c_i q^i is that of the polynomial with the coefficients c_i.
    field, rows = finite_field(q), np.asarray(code.build())
    for number, high_first in enumerate(product(range(q), repeat=k)):
        if number % 97 == 0:
            values = np.zeros(n, dtype=np.int64)
            for coefficient in high_first:
                values = field.add(field.multiply(values, np.arange(n)), coefficient)
            blocks = rows[number].reshape(n, -1) * n**0.5
            expected = np.zeros_like(blocks)
            expected[np.arange(n), values // 2] = 1 - 2 * (values % 2)
            np.testing.assert_allclose(blocks, expected, atol=1e-14)


@settings(max_examples=20)
@given(st.integers(0, 10**4), st.integers(0, 10**4))
def test_parts_of_polynomials_and_nets(start: int, stop: int) -> None:
    check_parts(PolynomialRows(finite_field(8), 6, 3), start, stop)
    check_parts(named("net-4-4").build(), start, stop)


def test_polynomials_beyond_the_field_are_no_code() -> None:
    # At more points than the field has some coincide; with as many zeros as points rows are equal.
    assert not PolynomialRows(finite_field(5), 4, 5).verify().distinct
    names = ("6-6-3", "5-6-3", "7-7-5", "7-7-2", "1024-1024-3", "64-64-7")
    for name in names:
        with pytest.raises(AssertionError):
            named(f"reed-solomon-{name}")


@pytest.mark.parametrize(
    ("d", "number"), [(9, 18), (10, 30), (11, 35), (12, 51), (13, 65), (14, 91)]
)
def test_quadruples_share_two_points_at_most(d: int, number: int) -> None:
    blocks = quadruples(d)
    assert blocks.shape == (number, d) and set(blocks.sum(axis=1).tolist()) == {4}
    assert (blocks @ blocks.T - 2 * np.eye(number)).max() <= 2
    code = named(f"signed-quadruples-{d}")
    assert (code.K, code.cosine.text) == (16 * number + 2 * d, "1/2")
    if d in (10, 14):  # a Steiner system: every three points lie in one block
        assert number == d * (d - 1) * (d - 2) // 24
