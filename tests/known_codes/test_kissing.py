"""Kissing numbers in the table: counted again where gnc can, arithmetic where it cannot."""

from fractions import Fraction
from math import comb, factorial, prod

import pytest
from flint import fmpq, fmpq_mat

from gnc_cli.constructions.registry import find
from gnc_cli.known_codes.table import KnownCode, our_copy

MINIMAL = 52_416_000
"""Minimal vectors of an extremal even unimodular lattice of dimension 48, of norm 6: an 11-design
(Venkov 1984). Two of them have the inner products 0, 1, 2, 3 and 6, up to sign."""


def kissing(d: int) -> dict[str, KnownCode]:
    """The largest row of each status at the cosine 1/2."""
    rows = [e for e in our_copy().select([d]) if e.figure == "1/2"]
    return {row.status: row for row in sorted(rows, key=lambda row: row.K)}


def normal_moment(p: int, q: int, r: Fraction) -> Fraction:
    """E[x^p y^q] of normal variables of variance 1 and covariance r, by Wick's theorem."""
    return sum(
        (
            Fraction(comb(p, k) * comb(q, k) * factorial(k))
            * r**k
            * prod(range(1, p - k, 2))
            * prod(range(1, q - k, 2))
            for k in range(min(p, q) + 1)
            if (p - k) % 2 == (q - k) % 2 == 0
        ),
        Fraction(0),
    )


def design_sum(p: int, q: int = 0) -> Fraction:
    """The sum of <u, v>^p <w, v>^q over the minimal vectors v; u, w two of them with <u, w> = 3."""
    ball = prod(48 + 2 * i for i in range((p + q) // 2))
    return MINIMAL * Fraction(6) ** (p + q) * normal_moment(p, q, Fraction(1, 2)) / ball


def solution(rows: list[list[Fraction]]) -> list[int]:
    """The only solution of linear equations, whole numbers; the last column is the right side."""
    entries = [fmpq(x.numerator, x.denominator) for row in rows for x in row]
    reduced, rank = fmpq_mat(len(rows), len(rows[0]), entries).rref()
    assert rank == len(rows[0]) - 1
    values = [reduced[i, rank] for i in range(rank)]
    assert all(value.q == 1 for value in values)
    return [int(value.p) for value in values]


def one_point() -> dict[int, int]:
    """How many minimal vectors have the inner products 0 to 3 with one of them."""
    rows = [
        [Fraction((2 if c else 1) * c**p) for c in range(4)] + [design_sum(p) - 2 * 6**p]
        for p in range(0, 12, 2)
    ]
    return dict(enumerate(solution(rows)))


def test_47_from_the_equations_of_the_design() -> None:
    counts = one_point()
    assert counts == {0: 23_766_960, 1: 12_608_784, 2: 1_678_887, 3: 36_848}
    row = kissing(47)["best-known"]
    assert row.K == counts[0] and "Boyvalenkov" in row.source and "2312.05121" in row.source


def test_46_from_the_equations_of_the_design() -> None:
    """Those orthogonal to u and w are a cross section; u - w is minimal, and so is u - v where <u,
    v> = 3."""
    span = range(-3, 4)
    cells = [(a, b) for a in span for b in span if abs(a - b) <= 3 or (a, b) in ((3, -3), (-3, 3))]
    others = [(6, 3), (3, 6), (-6, -3), (-3, -6)]  # u, w and their negatives
    rows: list[list[Fraction]] = []

    def equation(terms: dict[tuple[int, int], int], right: Fraction | int) -> None:
        rows.append([Fraction(terms.get(cell, 0)) for cell in cells] + [Fraction(right)])

    for p in range(12):
        for q in range(p % 2, 12 - p, 2):
            known = sum(a**p * b**q for a, b in others)
            equation({(a, b): a**p * b**q for a, b in cells}, design_sum(p, q) - known)
    for side in (0, 1):
        for c in span:
            known = sum(cell[side] == c for cell in others)
            equation({cell: 1 for cell in cells if cell[side] == c}, one_point()[abs(c)] - known)
    for a, b in cells:
        images = [(-a, -b)] + [(3, 3 - b)] * (a == 3) + [(3 - a, 3)] * (b == 3)
        images += [(3 - a, -3 - b)] * (a - b == 3)
        for image in images:
            if image in cells and image != (a, b):
                equation({(a, b): 1, image: -1}, 0)
    equation({(3, -3): 1}, 1)
    counts = dict(zip(cells, solution(rows), strict=True))
    row = kissing(46)["best-known"]
    assert row.K == counts[0, 0] == 12_309_600 and "arXiv:2607.20359" in row.source


@pytest.mark.parametrize(("d", "words"), [(32, 1671), (33, 1788), (34, 1936), (37, 2832)])
def test_three_layers_of_edel_rains_and_sloane(d: int, words: int) -> None:
    row = kissing(d)["best-known"]
    assert row.K == 2**17 + 128 * words + 4 * comb(d, 2)
    assert f"131072 + 128 * {words} + {4 * comb(d, 2)}" in row.note
    assert ("Lysenstøen" if d == 32 else "Echols") in row.source
    assert row.source.startswith("Y. Edel, E. M. Rains, N. J. A. Sloane")


@pytest.mark.parametrize(
    ("d", "status", "K", "author"),
    [
        (18, "best-known", 8_358, "Kravatskiy"),
        (19, "best-known", 11_948, "Ho"),
        (26, "claimed", 199_806, "Kravatskiy"),
        (38, "claimed", 591_900, "Qiushi"),
        (39, "claimed", 763_668, "Qiushi"),
        (40, "best-known", 1_092_000, "Dorofeev"),
        (41, "best-known", 1_324_472, "Dorofeev"),
        (42, "best-known", 1_792_386, "Dorofeev"),
        (43, "best-known", 2_545_056, "Dorofeev"),
        (44, "best-known", 4_153_600, "X. Sun, C. Wang"),
        (45, "best-known", 7_379_838, "X. Sun, C. Wang"),
        (64, "best-known", 2**28 + 30_828 * 2048 + 10_416 * 16 + 128, "Edel"),
        (80, "best-known", 6_218_175_600 + 240, "Nebe"),
        (128, "best-known", 8_863_556_495_104, "Edel"),
    ],
)
def test_who_holds_a_kissing_number(d: int, status: str, K: int, author: str) -> None:
    row = kissing(d)[status]
    assert row.K == K and author in row.source


def test_from_49_to_96_claims_are_shown_beside_what_is_published() -> None:
    published = {48, 64, 72, 80}
    for d in range(49, 97):
        rows = kissing(d)
        assert ("best-known" in rows) == (d in published)
        assert ("claimed" in rows) == (d not in {64, 65, 66, 67, 72})
    assert {e.status for e in our_copy().claims} == {"claimed"}


def test_what_is_read_elsewhere_says_where() -> None:
    for d in (*range(40, 48), 32, 33, 34, 37, 80, 128):
        assert "read through" in kissing(d)["best-known"].note


def test_kravatskiys_code_is_built_here() -> None:
    code = find("odd-signs-18")
    assert code is not None and code.K == 8358 and code.reference.startswith("Kravatskiy 2026")
    assert find("odd-signs-19").reference.startswith("Ho 2026")  # type: ignore[union-attr]
    assert "Cohn" in our_copy().entries[18, 7654].source
