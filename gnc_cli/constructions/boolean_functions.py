"""Sets of Boolean functions modulo the affine ones, which give codes of +-1 rows.

The rows (-1)^(f(x) + <a, x> + c) of one function f, over all a and c, are an orthogonal basis and
its negatives: a coset of the first-order Reed-Muller code. So a set of functions stands for as
many bases, and inner products across two bases are Walsh coefficients of the sum of two functions.

Functions are vectors of 0 and 1 over x in F_2^m, x read as the binary number 0 .. 2^m - 1, and are
normal: 0 at x = 0 and at the m powers of two. Each coset has exactly one normal function.

The largest inner product across bases is found by Walsh transforms of differences: rows of two
functions f and g have the inner products +-W_{f+g}[a], a over F_2^m. In a linear set these are the
functions of the set. In a set that the Gray map takes from a Z4-linear one, distances are those of
differences modulo 4, so that again the nonzero functions of the set show them all. Other sets are
refused.

Not all functions are transformed. A permutation of the coordinates that respects affine functions
moves absolute Walsh coefficients without changing them, and translations and field automorphisms of
trace codes map the set onto itself: few functions represent all. That the symmetries hold is
checked on the functions themselves; a symmetry that fails is ignored.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

import numpy as np

_INT8_PASSES = 6
"""Number of passes of additions of entries up to 1 whose sums fit int8."""
_SPECTRUM_ENTRIES = 10**8
"""Number of coefficients up to which all are counted (seconds); of more the largest is found."""
_MAX_SEARCHED_SUMS = 1 << 18
"""Number of functions up to which all are searched for the largest coefficient of first rows."""
_SAMPLED_BLOCKS = 16
"""Number of blocks of more functions that are searched for a coefficient at the bound."""
_SINGLE_PASS_BITS = 22
"""Number of basis functions of a linear set up to which its functions are sorted at once."""
_MAX_BITS = 24
"""Number of basis functions whose sums fit in one array of indices (a few times 64 MB)."""
_BLOCK_BYTES = 1 << 19
"""Bytes of a block of int16: both copies of the transform stay in the cache of a core."""


@dataclass(frozen=True)
class CoordinateSymmetry:
    """Permutation of the coordinates that may map a set of forms onto itself."""

    permutation: np.ndarray
    """Images of the coordinates, shape (d,): f becomes f[permutation]."""
    order: int


class FormSet:
    """Set of functions core[i] + (sum of basis functions): a few cores, each with a linear space.

    Function number n has core n mod c, and the bits of n // c select from the basis: the first
    c 2^t functions are those of the first t basis functions. The zero function is number 0.

    The basis functions of 0 and 1 come in layers, each of shape (k_i, d): the first layers alone
    are smaller sets with symmetries of their own. All together must be linearly independent modulo
    affine functions. The core, shape (c, d), begins with an affine function; by default it is zero
    alone. Symmetries are candidates, which are checked before use.

    Raises:
        ValueError: the first core function is not affine, or the basis is dependent.
    """

    def __init__(
        self,
        layers: Sequence[np.ndarray],
        core: np.ndarray | None = None,
        symmetries: Sequence[CoordinateSymmetry] = (),
    ) -> None:
        self.d = (layers[0] if core is None else core).shape[1]
        self.m = self.d.bit_length() - 1
        self.basis = normal(np.concatenate([np.zeros((0, self.d), np.uint8), *layers]))
        self.levels = tuple(sum(len(layer) for layer in layers[:n]) for n in range(len(layers) + 1))
        """Numbers of basis functions up to the end of each layer: 0, .., k."""
        self.core = normal(np.zeros((1, self.d), np.uint8) if core is None else core)
        self.symmetries = tuple(symmetries)
        if self.core[0].any():
            raise ValueError("the first core function is not affine")
        if Span(self.basis).rank < len(self.basis):
            raise ValueError("the basis is linearly dependent modulo affine functions")
        self._tables = [_all_sums(self.basis[t : t + 8]) for t in range(0, len(self.basis), 8)]

    def __len__(self) -> int:
        return len(self.core) << len(self.basis)

    def functions(self, numbers: np.ndarray) -> np.ndarray:
        """Return functions by number, shape (n, d), uint8."""
        c = len(self.core)
        return np.asarray(self.combined(numbers // c) ^ self.core[numbers % c])

    def combined(self, selections: np.ndarray) -> np.ndarray:
        """Return sums of basis functions, selected by the bits of integers, (n, d), uint8."""
        if len(self._tables) == 1:
            return np.asarray(self._tables[0][selections])
        out = np.zeros((len(selections), self.d), dtype=np.uint8)
        for t, table in enumerate(self._tables):
            out ^= table[selections >> (8 * t) & 255]
        return out


class Span:
    """Span of vectors over F_2, shape (k, d), with the coordinates of its members."""

    def __init__(self, vectors: np.ndarray) -> None:
        self.vectors = vectors
        reduced = np.concatenate([vectors, np.eye(len(vectors), dtype=np.uint8)], axis=1)
        pivots: list[int] = []
        rows: list[int] = []
        for i in range(len(vectors)):
            columns = np.flatnonzero(reduced[i, : vectors.shape[1]])
            if len(columns) == 0:
                continue
            rows.append(i)
            pivots.append(int(columns[0]))
            others = np.flatnonzero(reduced[:, columns[0]])
            reduced[others[others != i]] ^= reduced[i]
        self.pivots = np.array(pivots, dtype=np.int64)
        """Information set: coordinates that determine a member of the space, shape (rank,)."""
        self.independent = np.array(rows, dtype=np.int64)
        """Indices of vectors that are a basis of the space, shape (rank,)."""
        self.rank = len(pivots)
        self.reduced = reduced[self.independent, : vectors.shape[1]]
        """Reduced basis, shape (rank, d): each member is 1 at its pivot and 0 at the others."""
        self._solve = reduced[self.independent, vectors.shape[1] :]

    def coefficients(self, targets: np.ndarray) -> np.ndarray | None:
        """Return the targets' coefficients, shape (n, k), or None if one is outside the span."""
        if self.rank == 0:
            return None if targets.any() else np.zeros((len(targets), len(self.vectors)), np.uint8)
        coefficients = _product(targets[:, self.pivots], self._solve)
        return coefficients if (_product(coefficients, self.vectors) == targets).all() else None


def normal(functions: np.ndarray) -> np.ndarray:
    """Add the affine functions that make functions, shape (n, d), 0 at 0 and at powers of two."""
    functions = np.asarray(functions, dtype=np.uint8)
    d = functions.shape[1]
    powers = 1 << np.arange(d.bit_length() - 1)
    fixed = functions ^ functions[:, :1]
    linear = (np.arange(d) & powers[:, None] != 0).astype(np.uint8)
    return np.asarray(fixed ^ _product(fixed[:, powers], linear))


def sign_vectors(functions: np.ndarray) -> np.ndarray:
    """Return (-1)^f of functions of 0 and 1, of the same shape, int8."""
    return np.asarray(1 - 2 * functions.view(np.int8))


@lru_cache(maxsize=12)
def hadamard(m: int) -> np.ndarray:
    """Return Sylvester's matrix (-1)^<a, x>, a, x in F_2^m, shape (2^m, 2^m), int8, read-only."""
    matrix = np.ones((1, 1), dtype=np.int8)
    for _ in range(m):
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    matrix.setflags(write=False)
    return matrix


def walsh(values: np.ndarray) -> np.ndarray:
    """Compute the exact coefficients W[a] = sum over x of (-1)^<a, x> values[x] of each row.

    Values are -1, 0 and 1, shape (n, 2^m) with m <= 14, int8. The coefficients of a row stand in a
    column, as the transform leaves them: shape (2^m, n), int16.
    """
    n, d = values.shape
    # Transposed, each pass adds and subtracts long contiguous runs.
    current = np.ascontiguousarray(values.T, dtype=np.int8)
    result = np.empty_like(current)
    h = 1
    while h < d:
        if h == 1 << _INT8_PASSES:
            current = current.astype(np.int16)
            result = np.empty_like(current)
        shape = (d // (2 * h), 2, h * n)
        source, target = current.reshape(shape), result.reshape(shape)
        np.add(source[:, 0], source[:, 1], out=target[:, 0])
        np.subtract(source[:, 0], source[:, 1], out=target[:, 1])
        current, result = result, current
        h *= 2
    return current.astype(np.int16, copy=False)


def _product(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Multiply matrices over F_2; float32 products of 0 and 1 are exact and fast."""
    counts = np.matmul(first.astype(np.float32), second.astype(np.float32))
    return np.asarray(counts.astype(np.int32) & 1, dtype=np.uint8)


def _all_sums(vectors: np.ndarray) -> np.ndarray:
    """Return all sums of vectors over F_2, or of integers, by the bits that select them."""
    sums = np.zeros((1, *vectors.shape[1:]), vectors.dtype)
    for vector in vectors:
        sums = np.concatenate([sums, sums ^ vector])
    return sums


@dataclass(frozen=True)
class Sweep:
    """Walsh coefficients of all sums of two different functions."""

    largest: int
    """Largest absolute coefficient; 0 for a single function."""
    spectrum: dict[int, int] | None
    """Count of each absolute coefficient over all unordered pairs of functions, or None."""


def sweep(forms: FormSet, bits: int | None = None) -> Sweep:
    """Transform representatives of all differences of the first `len(core) << bits` functions.

    Raises:
        ValueError: the set is neither linear nor Z4-linear.
    """
    bits = len(forms.basis) if bits is None else bits
    size = len(forms.core) << bits
    if len(forms.core) > 1 and not gray_closed(forms):
        raise ValueError(f"sums of the {len(forms.core)} core functions are not in the set")
    if len(forms.core) == 1 and bits > _SINGLE_PASS_BITS and bits in forms.levels[2:]:
        # The last layer's functions serve as cores: orbits are then sorted a layer at a time.
        lower_bits = forms.levels[forms.levels.index(bits) - 1]
        last_layer = forms.combined(np.arange(1 << (bits - lower_bits)) << lower_bits)
        forms, bits = FormSet([forms.basis[:lower_bits]], last_layer, forms.symmetries), lower_bits
    largest, counts = _transform(forms, bits)
    if counts is None:
        return Sweep(largest, None)
    # Each difference is that of size / 2 pairs.
    spectrum = {int(v): int(counts[v]) * (size // 2) for v in np.flatnonzero(counts)[::-1]}
    return Sweep(largest, spectrum)


def gray_closed(forms: FormSet) -> bool:
    """Check if the functions, with all affine ones, are the Gray image of a Z4-linear code.

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
    """Bound the Walsh coefficients of the sums of two of the first `count` functions.

    The smallest layer that holds the functions gives an upper bound, and a sum that attains it ends
    the search. Too many sums, none of which attains the bound, are not searched to the end.

    Returns:
        The largest coefficient or an upper bound of it, and True if it is exact.
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
    if c << bits <= _MAX_SEARCHED_SUMS:
        return largest_in(functions_by_number(forms, c << bits), bound), True
    return bound, largest_in(
        islice(functions_by_number(forms, c << bits), _SAMPLED_BLOCKS), bound
    ) == bound


def largest_in(
    blocks: Iterable[np.ndarray], bound: int, measure: Callable[[np.ndarray], int] | None = None
) -> int:
    """Return the largest coefficient, or measure, of functions; the search ends at the bound."""
    largest = 0
    for functions in blocks:
        value = measure(functions) if measure else np.abs(walsh(sign_vectors(functions))).max()
        largest = max(largest, int(value))
        if largest >= bound:
            break
    return largest


def functions_by_number(forms: FormSet, size: int) -> Iterator[np.ndarray]:
    """Yield the functions 1 .. size - 1, the upper half first, in blocks of shape (n, d)."""
    for start, stop in ((max(1, size // 2), size), (1, size // 2)):
        for block in _blocks(forms.d, np.arange(start, stop)):
            yield forms.functions(block)


def sums_of_pairs(forms: FormSet, count: int) -> Iterator[np.ndarray]:
    """Yield the sums of two of the first `count` functions, in blocks of shape (n, d)."""
    for i in range(count - 1):
        one = forms.functions(np.array([i]))
        for block in _blocks(forms.d, np.arange(i + 1, count)):
            yield forms.functions(block) ^ one


def block_size(d: int) -> int:
    """Return the number of functions of length d that are transformed at once."""
    return max(1, _BLOCK_BYTES // (2 * d))


def _blocks(d: int, numbers: np.ndarray) -> Iterator[np.ndarray]:
    step = block_size(d)
    for start in range(0, len(numbers), step):
        yield numbers[start : start + step]


def representatives(forms: FormSet, bits: int) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Yield representatives of the orbits of the first `len(core) << bits` functions, by core.

    Each orbit has one or more. An item holds the number of the core, the basis functions that are
    added to it (as bits, shape (n,)), and the numbers of functions represented, shape (n,), which
    add up to all functions.

    Raises:
        ValueError: there are too many functions.
    """
    if bits > _MAX_BITS:
        raise ValueError(f"2^{bits} sums of basis functions are too many to sort into orbits")
    maps = list(_actions(forms, bits))
    cores, core_weights = _orbits(len(forms.core), [(moved, order) for moved, _, order in maps])
    for core, weight in zip(cores.tolist(), core_weights.tolist(), strict=True):
        # Symmetries that fix the core function sort the sums that are added to it.
        fixing = [
            (_all_sums(images.astype(np.int32)), order)
            for on_core, images, order in maps
            if on_core[core] == core
        ]
        selections, weights = _orbits(1 << bits, fixing)
        yield core, selections, weights * weight


def _actions(forms: FormSet, bits: int) -> Iterator[tuple[np.ndarray, np.ndarray, int]]:
    """Yield permutation of the cores, images of the basis and order of each valid symmetry."""
    basis = forms.basis[:bits]
    span = Span(basis)
    index = {core.tobytes(): i for i, core in enumerate(forms.core)}
    for symmetry in forms.symmetries:
        if not _respects_affine(symmetry.permutation, forms.m):
            continue
        coefficients = span.coefficients(normal(basis[:, symmetry.permutation]))
        moved_cores = normal(forms.core[:, symmetry.permutation])
        on_core = [index.get(core.tobytes(), -1) for core in moved_cores]
        if coefficients is None or len(set(on_core)) < len(forms.core) or -1 in on_core:
            continue
        images: np.ndarray = coefficients.astype(np.int64) @ (1 << np.arange(bits, dtype=np.int64))
        trivial = (images == 1 << np.arange(bits)).all() and on_core == list(range(len(on_core)))
        if not trivial:
            yield np.array(on_core), images, symmetry.order


def _respects_affine(permutation: np.ndarray, m: int) -> bool:
    """Check if an array is a permutation that takes linear functions to affine ones."""
    linear = (permutation >> np.arange(m)[:, None] & 1).astype(np.uint8)
    return len(np.unique(permutation)) == 1 << m and not normal(linear).any()


def _orbits(
    size: int, generators: Sequence[tuple[np.ndarray, int]]
) -> tuple[np.ndarray, np.ndarray]:
    """Return representatives and their weights under permutations of range(size) of these orders.

    Every index points to the smallest that certain products of powers of the generators reach. Not
    all products are needed, since each step stays in an orbit.
    """
    smallest = np.arange(size, dtype=np.int32)
    for permutation, order in generators:
        step, reach = permutation, 1
        while reach < order:
            np.minimum(smallest, smallest[step], out=smallest)
            reach *= 2
            if reach < order:
                step = step[step]
    while not ((smaller := smallest[smallest]) == smallest).all():
        smallest = smaller
    weights = np.bincount(smallest, minlength=size)
    indices = np.flatnonzero(weights)
    return indices, weights[indices]


def _transform(forms: FormSet, bits: int) -> tuple[int, np.ndarray | None]:
    """Return largest coefficient and weighted counts over all functions but zero."""
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
