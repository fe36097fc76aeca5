"""The largest inner product across the bases of a form set, by Walsh transforms of differences.

Rows of two functions f and g have the inner products +-W_{f+g}[a], a over F_2^m; only sums of two
functions matter. In a linear set these are the functions of the set. In a set that the Gray map
takes from a Z4-linear one, distances are those of differences modulo 4, so that again the nonzero
functions of the set show them all. Otherwise every pair of core functions is added up.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from gnc_cli.codes.constructions.forms import FormSet, normal
from gnc_cli.codes.constructions.orbits import Representatives, representatives
from gnc_cli.codes.constructions.walsh import walsh, walsh_block

__all__ = [
    "Sweep",
    "gray_closed",
    "largest_of_first",
    "numbered",
    "sign_vectors",
    "sums_of_pairs",
    "sweep",
]

_SPECTRUM_ENTRIES = 10**8
"""Coefficients that are counted, not only searched for the largest."""
_MOST_SUMS = 1 << 18
"""Functions that are searched to the end for the largest coefficient of the first rows."""
_FEW_BLOCKS = 16
"""Blocks of functions that are searched for a coefficient known to bound them, where there are
more."""
_MOST_CORES = 512
"""Core functions of a set without structure: all their pairs are added up."""
_FEW_BITS = 22
"""Basis functions of a linear set up to which all its functions are sorted into orbits at once."""


@dataclass(frozen=True)
class Sweep:
    """All Walsh coefficients of all sums of two different functions."""

    largest: int
    """Largest absolute coefficient; 0 where there is only one function."""
    spectrum: dict[int, int] | None
    """Absolute coefficient -> how many in all unordered pairs of functions; None if not counted."""
    transforms: int
    """Functions that were transformed."""
    structure: str
    """What made them enough: `linear set`, `Z4-linear set`, `all pairs of core functions`."""


def sweep(forms: FormSet, bits: int | None = None) -> Sweep:
    """Transform representatives of all differences of the first `len(core) << bits` functions.

    Raises:
        ValueError: the core has no structure and is too large for pairs, or the basis is.
    """
    bits = len(forms.basis) if bits is None else bits
    size = len(forms.core) << bits
    if len(forms.core) == 1:
        structure = "linear set"
    elif gray_closed(forms):
        structure = "Z4-linear set"
    else:
        return _pairs_of_cores(forms, bits)
    if len(forms.core) == 1 and bits > _FEW_BITS and bits in forms.levels[2:]:
        # The last layer's functions serve as cores: orbits are then sorted a layer at a time.
        below = forms.levels[forms.levels.index(bits) - 1]
        last = forms.combined(np.arange(1 << (bits - below)) << below)
        forms, bits = FormSet([forms.basis[:below]], last, forms.symmetries), below
    largest, counts, transforms = _transform(forms, representatives(forms, bits))
    # Each difference is that of size / 2 pairs.
    return Sweep(largest, _scaled(counts, size // 2), transforms, structure)


def gray_closed(forms: FormSet) -> bool:
    """Whether the functions, with all affine ones, are the Gray image of a Z4-linear code.

    Coordinates (x, 0) and (x, 1), the top bit last, hold the two bits of z(x) = t0 + 2 t1 as t1 and
    t1 + t0. The code is Z4-linear if the words z of the core have linear t0, each linear function
    once, and add up modulo 4, carries included, to words of the core plus 2 (linear functions);
    and if the basis does not depend on the top bit, which makes it 2 (a binary linear code).
    """
    half = forms.d // 2
    if len(forms.core) != half or (forms.basis[:, :half] != forms.basis[:, half:]).any():
        return False
    first, second = forms.core[:, :half], forms.core[:, half:]
    low = first ^ second
    powers = 1 << np.arange(forms.m - 1)
    selects = low[:, powers]
    number = selects.astype(np.int64) @ powers
    if normal(low).any() or low[:, 0].any() or len(np.unique(number)) < half:
        return False
    words = low + 2 * first
    generators = words[np.argsort(number)[powers]]
    sums = np.matmul(selects.astype(np.float32), generators.astype(np.float32)).astype(np.int32)
    carry = (sums - words) % 4
    return not (carry % 2).any() and not normal((carry // 2).astype(np.uint8)).any()


def largest_of_first(forms: FormSet, count: int) -> tuple[int, bool]:
    """Largest Walsh coefficient of the sums of two of the first `count` functions.

    The smallest layer that holds them bounds it, and a sum that attains the bound ends the search.

    Returns:
        The value, and whether it is exact: too many sums, none of which attains the bound, are not
        searched to the end.
    """
    if count < 2:
        return 0, True
    c, k = len(forms.core), len(forms.basis)
    structured = c == 1 or gray_closed(forms)
    bits = max(0, (-(-count // c) - 1).bit_length())
    if not structured:
        return _largest(forms, sums_of_pairs(forms, count), None), True
    level = min((level for level in forms.levels if level >= bits), default=k)
    bound = sweep(forms, level).largest
    if count <= c:
        found = _largest(forms, sums_of_pairs(forms, count), bound)
    elif c << bits <= _MOST_SUMS:
        # With one function of the upper half, all of it differs from functions of the lower half.
        found = _largest(forms, numbered(forms, c << bits), bound)
    else:
        found = _largest(forms, islice(numbered(forms, c << bits), _FEW_BLOCKS), bound)
        return bound, found == bound
    return found, True


def _largest(forms: FormSet, blocks: Iterable[np.ndarray], bound: int | None) -> int:
    """Largest coefficient of these functions; the search ends where it reaches the bound."""
    largest = 0
    for functions in blocks:
        largest = max(largest, int(np.abs(walsh(sign_vectors(functions))).max()))
        if largest == bound:
            break
    return largest


def numbered(forms: FormSet, size: int) -> Iterator[np.ndarray]:
    """The functions 1 .. size - 1, the upper half first."""
    for start, stop in ((max(1, size // 2), size), (1, size // 2)):
        for block in _blocks(forms.d, np.arange(start, stop)):
            yield forms.functions(block)


def sums_of_pairs(forms: FormSet, count: int) -> Iterator[np.ndarray]:
    """Sums of two of the first `count` functions."""
    for i in range(count - 1):
        one = forms.functions(np.array([i]))
        for block in _blocks(forms.d, np.arange(i + 1, count)):
            yield forms.functions(block) ^ one


def _transform(
    forms: FormSet, classes: Iterable[Representatives]
) -> tuple[int, np.ndarray | None, int]:
    """Largest coefficient and weighted counts over representatives, the zero function left out."""
    largest, transforms = 0, 0
    counts: np.ndarray | None = np.zeros(forms.d + 1)
    for found in classes:
        shift = 1 if found.core == 0 and found.selections[0] == 0 else 0
        selections, weights = found.selections[shift:], found.weights[shift:]
        transforms += len(selections)
        if transforms * forms.d > _SPECTRUM_ENTRIES:
            counts = None
        for block in _blocks(forms.d, np.arange(len(selections))):
            functions = forms.combined(selections[block]) ^ forms.core[found.core]
            sizes = np.abs(walsh(sign_vectors(functions)))
            largest = max(largest, int(sizes.max()))
            if counts is not None:
                shares = np.broadcast_to(weights[block].astype(np.float64), sizes.shape)
                counts += np.bincount(sizes.ravel(), shares.ravel(), minlength=forms.d + 1)
    return largest, counts, transforms


def _pairs_of_cores(forms: FormSet, bits: int) -> Sweep:
    """Every sum of two core functions, each with every sum of basis functions.

    Pairs of equal cores differ by a sum of basis functions: there are c 2^bits / 2 for each of the
    nonzero sums. Pairs of different cores are listed one by one.
    """
    c = len(forms.core)
    if c > _MOST_CORES:
        raise ValueError(f"{c} core functions without structure are too many to compare in pairs")
    i, j = np.triu_indices(c, 1)
    alone = FormSet([forms.basis], None, forms.symmetries)
    largest, counts, transforms = _transform(alone, representatives(alone, bits))
    total = None if counts is None else counts * ((c << bits) / 2)
    across = FormSet([forms.basis], np.concatenate([forms.core[:1], forms.core[i] ^ forms.core[j]]))
    rest = (r for r in representatives(across, bits) if r.core > 0)
    found, more, extra = _transform(across, rest)
    # Each pair of cores: 2^bits pairs of functions for each sum of basis functions.
    total = None if total is None or more is None else total + more * (1 << bits)
    structure = "all pairs of core functions"
    return Sweep(max(largest, found), _scaled(total, 1), transforms + extra, structure)


def _scaled(counts: np.ndarray | None, times: int) -> dict[int, int] | None:
    if counts is None:
        return None
    return {int(v): int(counts[v]) * times for v in np.flatnonzero(counts)[::-1]}


def _blocks(d: int, numbers: np.ndarray) -> Iterator[np.ndarray]:
    step = walsh_block(d)
    for start in range(0, len(numbers), step):
        yield numbers[start : start + step]


def sign_vectors(functions: np.ndarray) -> np.ndarray:
    """(-1)^f of functions of 0 and 1, int8."""
    return np.asarray(1 - 2 * functions.view(np.int8))
