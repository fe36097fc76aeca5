"""Representatives under symmetries see what all functions together show."""

import numpy as np
import pytest

from gnc_cli.codes.constructions.forms import FormSet, Symmetry
from gnc_cli.codes.constructions.orbits import representatives
from gnc_cli.codes.constructions.trace_codes import trace_forms
from gnc_cli.codes.constructions.walsh import walsh
from gnc_cli.codes.constructions.z4_forms import z4_forms


def _spectra(forms: FormSet) -> dict[bytes, int]:
    """Sorted absolute coefficients of all functions, with how many functions have them."""
    functions = forms.functions(np.arange(len(forms)))
    sizes = np.sort(np.abs(walsh(1 - 2 * functions.astype(np.int8))), axis=0)
    keys, counts = np.unique(sizes.T, axis=0, return_counts=True)
    return {key.tobytes(): int(n) for key, n in zip(keys, counts, strict=True)}


def _represented(forms: FormSet) -> tuple[dict[bytes, int], int]:
    seen: dict[bytes, int] = {}
    number = 0
    for found in representatives(forms, len(forms.basis)):
        functions = forms.combined(found.selections) ^ forms.core[found.core]
        sizes = np.sort(np.abs(walsh(1 - 2 * functions.astype(np.int8))), axis=0)
        number += len(functions)
        for row, weight in zip(sizes.T, found.weights.tolist(), strict=True):
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
