"""The largest inner product across the bases of a form set, by Walsh transforms of differences.

Rows of two functions f and g have the inner products +-W_{f+g}[a], a over F_2^m; only sums of two
functions matter. In a linear set these are the functions of the set. In a set that the Gray map
takes from a Z4-linear one, distances are those of differences modulo 4, so that again the nonzero
functions of the set show them all. Other sets are refused.

Not all functions are transformed. A permutation of the coordinates that respects affine functions
changes no absolute Walsh coefficients but their places, and translations and field automorphisms of
trace codes map the set onto itself: few functions represent all. That the symmetries hold is
checked on the functions at hand; one that does not is left out.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from gnc_cli.constructions.boolean_functions import FormSet, Span, normal, sign_vectors, walsh

_SPECTRUM_ENTRIES = 10**8
"""Coefficients that are counted, not only searched for the largest."""
_MOST_SUMS = 1 << 18
"""Functions that are searched to the end for the largest coefficient of the first rows."""
_FEW_BLOCKS = 16
"""Blocks of functions that are searched for a coefficient known to bound them, where there are
more."""
_FEW_BITS = 22
"""Basis functions of a linear set up to which all its functions are sorted into orbits at once."""
_MOST_BITS = 24
"""Basis functions whose sums are held as one array of indices (a few times 64 MB)."""
_BLOCK_BYTES = 1 << 19
"""int16 entries of a block: the two copies of the transform stay in a core's cache."""


@dataclass(frozen=True)
class Sweep:
    """All Walsh coefficients of all sums of two different functions."""

    largest: int
    """Largest absolute coefficient; 0 where there is only one function."""
    spectrum: dict[int, int] | None
    """Absolute coefficient -> how many in all unordered pairs of functions; None if not counted."""


def sweep(forms: FormSet, bits: int | None = None) -> Sweep:
    """Transform representatives of all differences of the first `len(core) << bits` functions.

    Raises:
        ValueError: the set is neither linear nor Z4-linear.
    """
    bits = len(forms.basis) if bits is None else bits
    size = len(forms.core) << bits
    if len(forms.core) > 1 and not gray_closed(forms):
        raise ValueError(f"sums of the {len(forms.core)} core functions are not in the set")
    if len(forms.core) == 1 and bits > _FEW_BITS and bits in forms.levels[2:]:
        # The last layer's functions serve as cores: orbits are then sorted a layer at a time.
        below = forms.levels[forms.levels.index(bits) - 1]
        last = forms.combined(np.arange(1 << (bits - below)) << below)
        forms, bits = FormSet([forms.basis[:below]], last, forms.symmetries), below
    largest, counts = _transform(forms, bits)
    if counts is None:
        return Sweep(largest, None)
    # Each difference is that of size / 2 pairs.
    spectrum = {int(v): int(counts[v]) * (size // 2) for v in np.flatnonzero(counts)[::-1]}
    return Sweep(largest, spectrum)


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
    """Largest Walsh coefficient of the sums of two of the first `count` functions, and if exact.

    The smallest layer that holds them bounds it, and a sum that attains the bound ends the search.
    Too many sums, none of which attains the bound, are not searched to the end.
    """
    if count < 2:
        return 0, True
    c, k = len(forms.core), len(forms.basis)
    bits = max(0, (-(-count // c) - 1).bit_length())
    level = min((level for level in forms.levels if level >= bits), default=k)
    bound = sweep(forms, level).largest
    if count <= c:
        return largest_in(sums_of_pairs(forms, count), bound), True
    # With one function of the upper half, all of it differs from functions of the lower half.
    if c << bits <= _MOST_SUMS:
        return largest_in(numbered(forms, c << bits), bound), True
    return bound, largest_in(islice(numbered(forms, c << bits), _FEW_BLOCKS), bound) == bound


def largest_in(
    blocks: Iterable[np.ndarray], bound: int, measure: Callable[[np.ndarray], int] | None = None
) -> int:
    """Largest coefficient, or measure, of these functions; the search ends at the bound."""
    largest = 0
    for functions in blocks:
        found = measure(functions) if measure else np.abs(walsh(sign_vectors(functions))).max()
        largest = max(largest, int(found))
        if largest >= bound:
            break
    return largest


def numbered(forms: FormSet, size: int) -> Iterator[np.ndarray]:
    """The functions 1 .. size - 1, the upper half first, in blocks."""
    for start, stop in ((max(1, size // 2), size), (1, size // 2)):
        for block in _blocks(forms.d, np.arange(start, stop)):
            yield forms.functions(block)


def sums_of_pairs(forms: FormSet, count: int) -> Iterator[np.ndarray]:
    """Sums of two of the first `count` functions, in blocks."""
    for i in range(count - 1):
        one = forms.functions(np.array([i]))
        for block in _blocks(forms.d, np.arange(i + 1, count)):
            yield forms.functions(block) ^ one


def block_size(d: int) -> int:
    """How many functions of length d are transformed at once."""
    return max(1, _BLOCK_BYTES // (2 * d))


def _blocks(d: int, numbers: np.ndarray) -> Iterator[np.ndarray]:
    step = block_size(d)
    for start in range(0, len(numbers), step):
        yield numbers[start : start + step]


def representatives(forms: FormSet, bits: int) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Functions that represent the first `len(core) << bits`, zero among them, core by core.

    One or more of each orbit under the symmetries: the core's number, which basis functions (as
    bits, shape (n,)), and how many functions each stands for, shape (n,), adding up to all.
    """
    if bits > _MOST_BITS:
        raise ValueError(f"2^{bits} sums of basis functions are too many to sort into orbits")
    maps = list(_actions(forms, bits))
    cores, core_weights = _orbits(len(forms.core), [(moved, order) for moved, _, order in maps])
    for core, weight in zip(cores.tolist(), core_weights.tolist(), strict=True):
        # Symmetries that fix the core function sort the sums that are added to it.
        fixing = [
            (_linear_map(images), order) for on_core, images, order in maps if on_core[core] == core
        ]
        selections, weights = _orbits(1 << bits, fixing)
        yield core, selections, weights * weight


def _actions(forms: FormSet, bits: int) -> Iterator[tuple[np.ndarray, np.ndarray, int]]:
    """Each symmetry that holds, as a permutation of the cores and images of the basis functions."""
    basis = forms.basis[:bits]
    span = Span(basis)
    index = {core.tobytes(): i for i, core in enumerate(forms.core)}
    for symmetry in forms.symmetries:
        if not _respects_affine(symmetry.permutation, forms.m):
            continue
        found = span.coefficients(normal(basis[:, symmetry.permutation]))
        moved = normal(forms.core[:, symmetry.permutation])
        on_core = [index.get(core.tobytes(), -1) for core in moved]
        if found is None or len(set(on_core)) < len(forms.core) or -1 in on_core:
            continue
        images: np.ndarray = found.astype(np.int64) @ (1 << np.arange(bits, dtype=np.int64))
        trivial = (images == 1 << np.arange(bits)).all() and on_core == list(range(len(on_core)))
        if not trivial:
            yield np.array(on_core), images, symmetry.order


def _respects_affine(permutation: np.ndarray, m: int) -> bool:
    """Whether it is a permutation that takes linear functions to affine ones."""
    linear = (permutation >> np.arange(m)[:, None] & 1).astype(np.uint8)
    return len(np.unique(permutation)) == 1 << m and not normal(linear).any()


def _linear_map(images: np.ndarray) -> np.ndarray:
    """The linear map of F_2^bits with these images of unit vectors, as a table of indices."""
    table = np.zeros(1, dtype=np.int32)
    for image in images:
        table = np.concatenate([table, table ^ np.int32(image)])
    return table


def _orbits(
    size: int, generators: Sequence[tuple[np.ndarray, int]]
) -> tuple[np.ndarray, np.ndarray]:
    """Representatives and their weights under permutations of range(size) with given orders.

    Every index points to the least that products of powers of the generators reach; any product
    set will do, since each step stays in an orbit.
    """
    least = np.arange(size, dtype=np.int32)
    for permutation, order in generators:
        step, reach = permutation, 1
        while reach < order:
            np.minimum(least, least[step], out=least)
            reach *= 2
            if reach < order:
                step = step[step]
    while not ((further := least[least]) == least).all():
        least = further
    weights = np.bincount(least, minlength=size)
    chosen = np.flatnonzero(weights)
    return chosen, weights[chosen]


def _transform(forms: FormSet, bits: int) -> tuple[int, np.ndarray | None]:
    """Largest coefficient and weighted counts over representatives, the zero function left out."""
    largest, transforms = 0, 0
    counts: np.ndarray | None = np.zeros(forms.d + 1)
    for core, selections, weights in representatives(forms, bits):
        if core == 0 and selections[0] == 0:
            selections, weights = selections[1:], weights[1:]
        transforms += len(selections)
        if transforms * forms.d > _SPECTRUM_ENTRIES:
            counts = None
        for block in _blocks(forms.d, np.arange(len(selections))):
            functions = forms.combined(selections[block]) ^ forms.core[core]
            sizes = np.abs(walsh(sign_vectors(functions)))
            largest = max(largest, int(sizes.max()))
            if counts is not None:
                shares = np.broadcast_to(weights[block].astype(np.float64), sizes.shape)
                counts += np.bincount(sizes.ravel(), shares.ravel(), minlength=forms.d + 1)
    return largest, counts
