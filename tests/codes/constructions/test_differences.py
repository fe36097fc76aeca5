"""Largest coefficients of sums of two functions, against every pair of small sets."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnc_cli.codes.constructions.differences import gray_closed, largest_of_first, sweep
from gnc_cli.codes.constructions.forms import FormSet
from gnc_cli.codes.constructions.trace_codes import trace_forms
from gnc_cli.codes.constructions.walsh import walsh
from gnc_cli.codes.constructions.z4_forms import z4_forms


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


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(2, 9), st.integers(0, 3))
def test_sets_without_structure(seed: int, c: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    core = rng.integers(0, 2, (c, 16)).astype(np.uint8)
    core[0] = 0
    basis = trace_forms(4, (3,)).basis[:k]
    forms = FormSet([basis], core, trace_forms(4, (3,)).symmetries)
    assert sweep(forms).spectrum == dict(sorted(_pairs(forms).items(), reverse=True))
    assert largest_of_first(forms, len(forms))[0] == max(_pairs(forms))


@pytest.mark.parametrize("place", [5, 40])
def test_a_broken_kerdock_set_is_caught(place: int) -> None:
    whole = z4_forms(6, 0)
    core = whole.core.copy()
    core[7, place] ^= 1
    broken = FormSet([], core, whole.symmetries)
    assert gray_closed(whole) and not gray_closed(broken)
    found = sweep(broken)
    assert found.structure == "all pairs of core functions"
    assert found.largest == max(_pairs(broken)) > sweep(whole).largest


def test_a_repeated_function_is_caught() -> None:
    core = z4_forms(6, 0).core.copy()
    core[9] = core[20]
    assert sweep(FormSet([], core)).largest == 64


def test_words_that_do_not_add_up_are_not_closed() -> None:
    whole = z4_forms(6, 0)
    # Other quadratic functions with the same low digits: sums modulo 4 leave the set.
    core = whole.core.copy()
    core[3] ^= np.tile(trace_forms(5, (3,)).basis[0], 2)
    assert not gray_closed(FormSet([], core))
    # A basis that depends on the top coordinate is not twice a binary code.
    top = np.concatenate([np.zeros(32, np.uint8), trace_forms(5, (3,)).basis[0]])
    assert not gray_closed(FormSet([top[None]], whole.core))
    # Unstructured cores that are too many for pairs are refused.
    many = np.zeros((513, 1024), dtype=np.uint8)
    many[1:, 3:515] = np.eye(512, dtype=np.uint8)
    with pytest.raises(ValueError, match="without structure"):
        sweep(FormSet([], many))


def test_layers_are_swept_like_the_whole() -> None:
    forms = trace_forms(7, (3, 5))
    assert sweep(forms, 7).spectrum == sweep(trace_forms(7, (3,))).spectrum
    assert sweep(forms, 5).spectrum == sweep(FormSet([forms.basis[:5]])).spectrum
    assert [largest_of_first(forms, n)[0] for n in (2, 128, 129)] == [16, 16, 32]
    # Beyond what is searched to the end, a pair that attains the bound settles it.
    assert largest_of_first(trace_forms(11, (3, 5)), 1 << 21) == (128, True)
