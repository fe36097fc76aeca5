"""Largest coefficients of sums of two functions and representatives, against all of small sets."""

import numpy as np
import pytest

from gnc_cli.constructions.boolean_functions import FormSet, Symmetry, walsh
from gnc_cli.constructions.families.binary_codes import trace_forms, z4_forms
from gnc_cli.constructions.walsh_sweep import gray_closed, largest_of_first, representatives, sweep


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
    claims = [*forms.symmetries, Symmetry("swap", swap, 2)]
    spoiled = FormSet([broken], None, claims)
    assert _represented(spoiled)[0] == _spectra(spoiled)
    shuffled = [Symmetry("noise", rng.permutation(32), 2), Symmetry("none", np.zeros(32, int), 2)]
    assert _represented(FormSet([forms.basis], None, shuffled))[1] == 32


def test_too_many_functions_are_refused() -> None:
    forms = trace_forms(9, (17, 9, 73, 5))
    with pytest.raises(ValueError, match="too many"):
        next(iter(representatives(forms, len(forms.basis))))
