"""Kerdock, Gold, three-error and BCH, Delsarte-Goethals codes: published values, exact checks."""

from functools import reduce
from itertools import combinations, starmap

import numpy as np
import pytest

from gnc_cli.constructions.boolean_functions import Span, normal, sweep
from gnc_cli.constructions.construction import Construction
from gnc_cli.constructions.families.binary_codes import (
    FAMILIES,
    ORBITS,
    PRIMITIVE,
    SIGN_CODES,
    SignCode,
    orbit_points,
    trace_forms,
    z4_forms,
)
from gnc_cli.constructions.fields import finite_field
from gnc_cli.constructions.registry import find
from gnc_cli.constructions.sign_rows import SignRows
from tests.constructions.checks import check, named, strongly_regular

LARGE = [c for c in SIGN_CODES.values() if c.k > 13]
QUICK = [c for c in LARGE if c.d < 2048 and c.k - c.d.bit_length() < 23 and c.name != "bch-64-36"]


@pytest.mark.parametrize("code", QUICK, ids=lambda c: c.name)
def test_large_codes(code: SignCode) -> None:
    assert check(code).distribution is not None


def test_names_lead_back() -> None:
    assert all(find(code.name) == code for code in LARGE)


@pytest.mark.parametrize("m", [4, 6, 8, 10])
def test_kerdock_functions_are_digits_of_a_ring_trace(m: int) -> None:
    # T(X) = tr(x) + 2 (sum of x^(2^i + 2^j) over i < j) modulo 4.
    field = finite_field(1 << (m - 1))
    x = np.arange(field.q)
    conjugates = [field.power(x, 2**i) for i in range(m - 1)]
    second = reduce(field.add, starmap(field.multiply, combinations(conjugates, 2)))
    assert set(second) == {0, 1}
    product = field.multiply(x[:, None], x)
    words = np.concatenate([second[product], second[product] ^ field.trace[product]], axis=1)
    assert (z4_forms(m, 0).core == normal(words.astype(np.uint8))).all()


@pytest.mark.parametrize("m", [3, 5, 7])
def test_gold_has_three_values(m: int) -> None:
    # A nonzero Gold function: 2^(m-1) coefficients of size 2^((m+1)/2), the others 0.
    spectrum = sweep(trace_forms(m, (3,))).spectrum
    pairs = 2**m * (2**m - 1) // 2
    assert spectrum == {2 ** ((m + 1) // 2): pairs * 2 ** (m - 1), 0: pairs * 2 ** (m - 1)}


def test_three_error_weights() -> None:
    # [32, 16, 8], the second-order Reed-Muller code of five variables: 1, 620, 13888, 36518, ...
    # (MacWilliams and Sloane, chapter 15): words at distance 8, 12 and 16 from each word.
    found = SignRows(trace_forms(5, (3, 5))).verify().distribution
    assert found is not None
    words = {cosine.text: 2 * pairs / 65536 for cosine, pairs in found}
    assert words == {"1/2": 620, "1/4": 13888, "0": 36518, "-1/4": 13888, "-1/2": 620, "-1": 1}


def _coset(m: int, e: int) -> set[int]:
    """Exponents whose powers of x have the same trace functions."""
    return {e * 2**i % (2**m - 1) for i in range(m)}


@pytest.mark.parametrize("shape", PRIMITIVE, ids=str)
def test_designed_distances(shape: tuple[int, int]) -> None:
    n, k = shape
    distance, exponents = PRIMITIVE[shape]
    m = n.bit_length() - 1
    cosets = [_coset(m, e) for e in (1, *exponents)]
    largest = max(max(coset) for coset in cosets)
    assert distance == n - largest
    # All exponents up to the largest are there: a BCH code, not only a cyclic one.
    below = {e for coset in cosets for e in coset}
    assert all(e in below or max(_coset(m, e)) > largest for e in range(1, largest + 1))
    assert k == 1 + len(below)


@pytest.mark.parametrize("m", [4, 6])
def test_sections_have_all_rows_at_the_largest_cosine(m: int) -> None:
    whole, part = named(f"delsarte-goethals-{m}"), named(f"delsarte-goethals-{m}-section")
    assert (part.d, part.cosine.text) == (2**m - 1, {4: "1/3", 6: "1/5"}[m])
    check(part)
    # By the whole code's distribution: as many rows are at its largest cosine from each row.
    found = whole.build().verify().distribution
    assert found is not None and found[0][0] == whole.cosine
    assert part.K == 2 * found[0][1] // whole.K


@pytest.mark.parametrize("shape", [(119, 10), (198, 10)], ids=str)
def test_codes_of_orbits(shape: tuple[int, int]) -> None:
    n, k = shape
    code = named(f"orbits-{n}-{k}")
    assert (code.d, code.K) == (n, 2**k) and check(code).distribution is not None
    moduli, points, _ = ORBITS[shape]
    columns = orbit_points(moduli, points)
    assert len(columns) == len(set(columns)) == n and 0 < min(columns) <= max(columns) < 2**k
    # Of no subcode, and closed under multiplication by x, which starts from any of the points.
    assert Span(np.array(columns)[:, None] >> np.arange(k) & 1).rank == k
    assert set(orbit_points(moduli, columns[::-1])) == set(columns)


def test_the_code_of_two_weights_is_a_strongly_regular_graph() -> None:
    # Words at distance 112: degree 198, (Kohnert 2007; Brouwer and van Maldeghem, SRG tables).
    rows = np.asarray(named("orbits-198-10").build())
    assert strongly_regular(rows @ rows.T < -0.1) == (1024, 198, 22, 42)


CUT = [
    code
    for d in (*range(11, 16), *range(24, 32), *range(48, 64), *range(108, 128))
    for family in FAMILIES[-2:]
    for code in family.in_dimension(d)
    if 10_000 < code.K < 2**21 and "bch-128" not in code.name
]


@pytest.mark.parametrize("code", CUT, ids=lambda c: c.name)
def test_cosines_of_shortened_and_punctured_codes_are_attained(code: Construction) -> None:
    check(code)
