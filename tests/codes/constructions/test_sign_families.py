"""Kerdock, Gold, three-error and BCH, Delsarte-Goethals codes: published figures, exact checks."""

import numpy as np
import pytest

from gnc_cli.codes.constructions import bch, delsarte_goethals, gold, kerdock
from gnc_cli.codes.constructions.construction import Construction
from gnc_cli.codes.constructions.differences import sweep
from gnc_cli.codes.constructions.forms import normal
from gnc_cli.codes.constructions.galois import cyclotomic_coset, galois_field
from gnc_cli.codes.constructions.points import IntegerRows
from gnc_cli.codes.constructions.registry import find, in_dimension
from gnc_cli.codes.constructions.signs import SignRows
from gnc_cli.codes.constructions.trace_codes import trace_forms, trace_functions
from gnc_cli.codes.constructions.z4_forms import z4_forms

ALL = [
    code
    for family in (kerdock, gold, delsarte_goethals, bch)
    for code in family.SIGN_CODES
]
QUICK = [code for code in ALL if code.m < 11 and code.k - code.m < 24 and "bch-64-36" != code.name]


@pytest.mark.parametrize("code", [c.construction() for c in QUICK], ids=lambda c: c.name)
def test_verified_as_stated(code: Construction) -> None:
    rows = code.build()
    verified = rows.verify()
    assert rows.shape == (code.K, code.d) and verified.K == code.K
    assert verified.distinct and verified.max_cosine == code.cosine
    pairs = sum(n for _, n in verified.distribution or ())
    assert pairs == code.K * (code.K - 1) // 2
    if code.distribution is not None:
        stated = [(text, code.K * neighbours) for text, neighbours in code.distribution]
        assert verified.distribution is not None
        assert [(cosine.text, 2 * n) for cosine, n in verified.distribution] == stated


@pytest.mark.parametrize(
    ("name", "d", "K", "text"),
    [
        ("kerdock-4", 16, 288, "1/4"),
        ("kerdock-6", 64, 4224, "1/8"),
        ("kerdock-8", 256, 66048, "1/16"),
        ("kerdock-10", 1024, 1050624, "1/32"),
        ("gold-9", 512, 525312, "1/16"),
        ("bch3-7", 128, 4194304, "1/4"),
        ("bch3-9", 512, 268435456, "1/8"),
        ("delsarte-goethals-6", 64, 131072, "1/4"),
        ("delsarte-goethals-8", 256, 8388608, "1/8"),
        ("bch-64-18", 64, 262144, "5/16"),
    ],
)
def test_published_figures(name: str, d: int, K: int, text: str) -> None:
    code = find(name)
    assert code is not None and (code.d, code.K, code.cosine.text) == (d, K, text)


@pytest.mark.parametrize("code", ALL, ids=lambda c: c.name)
def test_names_lead_back(code: object) -> None:
    found = find(code.name)  # type: ignore[attr-defined]
    assert found is not None and found.name == code.name  # type: ignore[attr-defined]
    everywhere = {c.name for c in in_dimension(found.d)}
    assert (found.name in everywhere) or found.name.startswith("bch-")


def test_the_nordstrom_robinson_code() -> None:
    rows = SignRows(z4_forms(4, 0))
    signs = rows.signs(0, len(rows)).astype(int)
    weights = (16 - signs @ signs[0]) // 2
    assert np.bincount(weights, minlength=17)[[0, 6, 8, 10, 16]].tolist() == [1, 112, 30, 112, 1]
    # Distance invariant: each word sees the same.
    products = np.sort(signs @ signs.T, axis=1)
    assert (products == products[0]).all()


@pytest.mark.parametrize("m", [5, 7, 9, 11])
def test_kerdock_functions_are_quadratic(m: int) -> None:
    # tr((a x)^(1 + 2^j)), summed over j = 1 .. (m - 1) / 2, plus e tr(a x).
    field = galois_field(m)
    x = np.arange(field.q)
    product = field.multiply(x[:, None], x[None, :])
    second = sum(
        field.trace[field.power(product, 1 + 2**j)] for j in range(1, (m - 1) // 2 + 1)
    )
    low = np.asarray(second % 2, dtype=np.uint8)
    expected = np.concatenate([low, low ^ field.trace[product]], axis=1)
    assert (z4_forms(m + 1, 0).core == normal(expected)).all()


def test_kerdock_by_all_pairs() -> None:
    rows = SignRows(z4_forms(6, 0), standard=True)
    signs = rows.signs(0, len(rows)).astype(int)
    signs[: rows.standard] *= 8
    pairs, found = IntegerRows(signs).verify(), rows.verify()
    assert found.distribution == pairs.distribution


@pytest.mark.parametrize("m", [3, 5, 7])
def test_gold_has_three_values(m: int) -> None:
    # A nonzero Gold function: 2^(m-1) coefficients of size 2^((m+1)/2), the others 0.
    spectrum = sweep(trace_forms(m, (3,))).spectrum
    pairs = 2**m * (2**m - 1) // 2
    assert spectrum == {2 ** ((m + 1) // 2): pairs * 2 ** (m - 1), 0: pairs * 2 ** (m - 1)}


@pytest.mark.parametrize("m", [6, 8])
def test_even_lengths_are_twice_as_wide(m: int) -> None:
    assert sweep(trace_forms(m, (3,))).largest == 2 ** (m // 2 + 1)
    assert sweep(trace_forms(m, (3, 5))).largest == 2 ** (m // 2 + 2)


def test_three_error_weights() -> None:
    # [32, 16, 8], the second-order Reed-Muller code of five variables: 1, 620, 13888, 36518, ...
    # (MacWilliams and Sloane, chapter 15): words at distance 8, 12 and 16 from each word.
    found = SignRows(trace_forms(5, (3, 5))).verify().distribution
    assert found is not None
    words = {cosine.text: 2 * pairs / 65536 for cosine, pairs in found}
    assert words == {"1/2": 620, "1/4": 13888, "0": 36518, "-1/4": 13888, "-1/2": 620, "-1": 1}


@pytest.mark.parametrize("shape", bch.PRIMITIVE, ids=str)
def test_designed_distances(shape: tuple[int, int]) -> None:
    n, k = shape
    distance, exponents = bch.PRIMITIVE[shape]
    m = n.bit_length() - 1
    cosets = [cyclotomic_coset(m, e) for e in (1, *exponents)]
    largest = max(max(coset) for coset in cosets)
    assert distance == n - largest
    # All exponents up to the largest are there: a BCH code, not only a cyclic one.
    below = {e for coset in cosets for e in coset}
    assert all(e in below or max(cyclotomic_coset(m, e)) > largest for e in range(1, largest + 1))
    assert k == 1 + len(below)


def test_a_bch_code_by_all_words() -> None:
    # [64,18,22], without symmetries: Walsh transforms of all 2047 nonzero functions.
    forms = trace_forms(6, (9, 5, 21))
    functions = 1 - 2 * forms.functions(np.arange(1, 2048)).astype(np.int32)
    x = np.arange(64)
    parity = np.array([[(a & b).bit_count() & 1 for b in x] for a in x])
    assert int(np.abs(functions @ (1 - 2 * parity)).max()) == 64 - 2 * 22


def test_rivals_are_named_but_not_searched() -> None:
    assert {"bch-64-18", "bch-64-24"} <= {c.name for c in bch.in_dimension(64)}
    assert "bch-64-10" not in {c.name for c in bch.in_dimension(64)}
    assert bch.named("bch-64-10") is not None and bch.named("bch-64-11") is None


def test_short_cosets_and_affine_functions() -> None:
    assert [len(trace_functions(6, e)) for e in (3, 9, 21)] == [6, 3, 2]
    with pytest.raises(ValueError, match="affine"):
        trace_functions(6, 16)
    with pytest.raises(ValueError, match="affine"):
        trace_functions(6, 63)


@pytest.mark.parametrize(("m", "r"), [(5, 0), (2, 0), (14, 0), (6, 3), (6, -1)])
def test_parameters_out_of_range(m: int, r: int) -> None:
    with pytest.raises(ValueError, match=f"m = {m}, r = {r}"):
        z4_forms(m, r)
