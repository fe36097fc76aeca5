"""Normal functions, linear algebra over two elements, Walsh transforms; representatives of all."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.constructions.boolean_functions import (
    CoordinateSymmetry,
    FormSet,
    Span,
    gray_closed,
    hadamard,
    largest_of_first,
    normal,
    representatives,
    sweep,
    walsh,
)
from gnc_cli.constructions.families.binary_codes import trace_forms, z4_forms

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


@pytest.mark.parametrize("m", [0, 1, 2, 5, 6, 7, 8, 10])
def test_transform_is_the_matrix_product(m: int, rng: np.random.Generator) -> None:
    values = rng.integers(-1, 2, (7, 2**m)).astype(np.int8)
    values[0] = 1  # the largest coefficient there is
    signs = [[(-1) ** (a & x).bit_count() for x in range(2**m)] for a in range(2**m)]
    assert (hadamard(m) == signs).all()
    assert (walsh(values) == np.array(signs) @ values.T).all()


def _pairs(forms: FormSet, count: int | None = None) -> dict[int, int]:
    """Absolute coefficients of the sums of all unordered pairs of the first functions, counted."""
    functions = forms.functions(np.arange(len(forms) if count is None else count))
    i, j = np.triu_indices(len(functions), 1)
    sums = (functions[i] ^ functions[j]).astype(np.int8)
    sizes, counts = np.unique(np.abs(walsh(1 - 2 * sums)), return_counts=True)
    return {int(size): int(n) for size, n in zip(sizes, counts, strict=True)}


SETS = {
    "linear": trace_forms(5, (3,)),
    "cubic": trace_forms(4, (5, 3)),
    "kerdock": z4_forms(6, 0),
    "delsarte-goethals": z4_forms(4, 1),
    "one function": FormSet([], np.zeros((1, 8), dtype=np.uint8)),
}


@pytest.mark.parametrize("forms", SETS.values(), ids=SETS)
def test_sweep_counts_every_pair(forms: FormSet) -> None:
    found = sweep(forms)
    assert found.spectrum == dict(sorted(_pairs(forms).items(), reverse=True))
    assert found.largest == max(found.spectrum, default=0)


@pytest.mark.parametrize("forms", SETS.values(), ids=SETS)
def test_largest_of_the_first_functions(forms: FormSet) -> None:
    for count in range(2, min(len(forms), 33) + 1):
        assert largest_of_first(forms, count) == (max(_pairs(forms, count)), True)


@pytest.mark.parametrize("place", [5, 40])
def test_a_broken_kerdock_set_is_caught(place: int) -> None:
    whole = z4_forms(6, 0)
    core = whole.core.copy()
    core[7, place] ^= 1
    broken = FormSet([], core, whole.symmetries)
    assert gray_closed(whole) and not gray_closed(broken)
    for refused in (lambda: sweep(broken), lambda: largest_of_first(broken, 9)):
        with pytest.raises(ValueError, match="not in the set"):
            refused()


def test_words_that_do_not_add_up_are_not_closed() -> None:
    whole = z4_forms(6, 0)
    # Other quadratic functions with the same low digits: sums modulo 4 leave the set.
    core = whole.core.copy()
    core[3] ^= np.tile(trace_forms(5, (3,)).basis[0], 2)
    assert not gray_closed(FormSet([], core))
    # A function twice.
    core = whole.core.copy()
    core[9] = core[20]
    assert not gray_closed(FormSet([], core))
    # A basis that depends on the top coordinate is not twice a binary code.
    top = np.concatenate([np.zeros(32, np.uint8), trace_forms(5, (3,)).basis[0]])
    assert not gray_closed(FormSet([top[None]], whole.core))


def test_layers_are_swept_like_the_whole() -> None:
    forms = trace_forms(7, (3, 5))
    assert sweep(forms, 7).spectrum == sweep(trace_forms(7, (3,))).spectrum
    assert sweep(forms, 5).spectrum == sweep(FormSet([forms.basis[:5]])).spectrum
    assert [largest_of_first(forms, n)[0] for n in (2, 128, 129)] == [16, 16, 32]
    # Beyond what is searched to the end, a pair that attains the bound settles it.
    assert largest_of_first(trace_forms(11, (3, 5)), 1 << 21) == (128, True)


def _spectra(forms: FormSet) -> dict[bytes, int]:
    """Sorted absolute coefficients of all functions, with how many functions have them."""
    functions = forms.functions(np.arange(len(forms)))
    sizes = np.sort(np.abs(walsh(1 - 2 * functions.astype(np.int8))), axis=0)
    keys, counts = np.unique(sizes.T, axis=0, return_counts=True)
    return {key.tobytes(): int(n) for key, n in zip(keys, counts, strict=True)}


def _represented(forms: FormSet) -> tuple[dict[bytes, int], int]:
    seen: dict[bytes, int] = {}
    number = 0
    for core, selections, weights in representatives(forms, len(forms.basis)):
        functions = forms.combined(selections) ^ forms.core[core]
        sizes = np.sort(np.abs(walsh(1 - 2 * functions.astype(np.int8))), axis=0)
        number += len(functions)
        for row, weight in zip(sizes.T, weights.tolist(), strict=True):
            seen[row.tobytes()] = seen.get(row.tobytes(), 0) + weight
    return seen, number


@pytest.mark.parametrize(
    ("forms", "most"),
    [
        (trace_forms(6, (9, 5, 21)), 8),
        (trace_forms(6, (3, 31)), 40),
        (trace_forms(5, (5, 3, 11)), 100),
        (trace_forms(7, (3, 5)), 22),
        (z4_forms(6, 1), 10),
    ],
    ids=["bch", "cyclic", "cubic", "three-error", "z4"],
)
def test_weights_count_every_function(forms: FormSet, most: int) -> None:
    seen, number = _represented(forms)
    assert seen == _spectra(forms)
    assert number <= most


def test_false_symmetries_are_left_out(rng: np.random.Generator) -> None:
    forms = trace_forms(5, (3,))
    broken = forms.basis.copy()
    broken[2, 31] ^= 1
    swap = np.arange(32)
    swap[[3, 20]] = [20, 3]  # not affine
    claims = [*forms.symmetries, CoordinateSymmetry(swap, 2)]
    spoiled = FormSet([broken], None, claims)
    assert _represented(spoiled)[0] == _spectra(spoiled)
    shuffled = [
        CoordinateSymmetry(rng.permutation(32), 2),
        CoordinateSymmetry(np.zeros(32, int), 2),
    ]
    assert _represented(FormSet([forms.basis], None, shuffled))[1] == 32


def test_too_many_functions_are_refused() -> None:
    forms = trace_forms(9, (17, 9, 73, 5))
    with pytest.raises(ValueError, match="too many"):
        next(iter(representatives(forms, len(forms.basis))))
