"""Sets of Boolean functions modulo the affine ones: what a code of +-1 rows is made of.

The rows (-1)^(f(x) + <a, x> + c) of one function f, over all a and c, are an orthogonal basis and
its negatives: a coset of the first-order Reed-Muller code. So a set of functions stands for as
many bases, and inner products across two bases are Walsh coefficients of the sum of two functions.

Functions are vectors of 0 and 1 over x in F_2^m, x read as the binary number 0 .. 2^m - 1, and are
normal: 0 at x = 0 and at the m powers of two. Each coset has exactly one normal function.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

_INT8_PASSES = 6
"""After so many additions of entries up to 1, int8 still holds the sums."""


@dataclass(frozen=True)
class Symmetry:
    """A permutation of the coordinates that may map a set of forms onto itself."""

    name: str
    permutation: np.ndarray
    """x -> permutation[x], shape (d,); f becomes f[permutation]."""
    order: int


class FormSet:
    """The functions core[i] + (sum of basis functions): a few cores, each with a linear space.

    Function number n has core n mod c, and the bits of n // c select from the basis: the first
    c 2^t functions are those of the first t basis functions. The zero function is number 0.

    The basis functions of 0 and 1 come in layers, each of shape (k_i, d): the first layers alone
    are smaller sets with symmetries of their own. All together must be linearly independent modulo
    affine functions. The core, shape (c, d), begins with an affine function; by default it is zero
    alone. Symmetries are permutations worth trying: what is proved from them is checked first.
    """

    def __init__(
        self,
        layers: Sequence[np.ndarray],
        core: np.ndarray | None = None,
        symmetries: Sequence[Symmetry] = (),
    ) -> None:
        self.d = (layers[0] if core is None else core).shape[1]
        self.m = self.d.bit_length() - 1
        if self.d != 1 << self.m:
            raise ValueError(f"functions have {self.d} values, not a power of two")
        self.basis = normal(np.concatenate([np.zeros((0, self.d), np.uint8), *layers]))
        self.levels = tuple(sum(len(layer) for layer in layers[:n]) for n in range(len(layers) + 1))
        """Numbers of basis functions at which layers end: 0, .., k."""
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
        """Functions by number, shape (n, d), uint8."""
        c = len(self.core)
        return self.combined(numbers // c) ^ self.core[numbers % c]

    def combined(self, selections: np.ndarray) -> np.ndarray:
        """Sums of basis functions, selected by the bits of integers, shape (n, d), uint8."""
        if len(self._tables) == 1:
            return np.asarray(self._tables[0][selections])
        out = np.zeros((len(selections), self.d), dtype=np.uint8)
        for t, table in enumerate(self._tables):
            out ^= table[selections >> (8 * t) & 255]
        return out


class Span:
    """The space that vectors over F_2 span, with the coordinates of its members."""

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
        """Coordinates on which a member of the space can be read off."""
        self.independent = np.array(rows, dtype=np.int64)
        """Indices of vectors that are a basis of the space."""
        self.rank = len(pivots)
        self.reduced = reduced[self.independent, : vectors.shape[1]]
        """That basis again, each member 1 at its own pivot and 0 at the others'."""
        self._solve = reduced[self.independent, vectors.shape[1] :]

    def coefficients(self, targets: np.ndarray) -> np.ndarray | None:
        """Sums of the vectors that give the targets, shape (n, k); None if one is outside."""
        if self.rank == 0:
            return None if targets.any() else np.zeros((len(targets), len(self.vectors)), np.uint8)
        found = _product(targets[:, self.pivots], self._solve)
        return found if (_product(found, self.vectors) == targets).all() else None


def normal(functions: np.ndarray) -> np.ndarray:
    """The functions plus the affine ones that make them 0 at 0 and at powers of two."""
    functions = np.asarray(functions, dtype=np.uint8)
    d = functions.shape[1]
    powers = 1 << np.arange(d.bit_length() - 1)
    fixed = functions ^ functions[:, :1]
    linear = (np.arange(d) & powers[:, None] != 0).astype(np.uint8)
    return fixed ^ _product(fixed[:, powers], linear)


def sign_vectors(functions: np.ndarray) -> np.ndarray:
    """(-1)^f of functions of 0 and 1, int8."""
    return np.asarray(1 - 2 * functions.view(np.int8))


@lru_cache(maxsize=12)
def hadamard(m: int) -> np.ndarray:
    """Sylvester's matrix (-1)^<a, x> over a, x in F_2^m, shape (2^m, 2^m), int8, read-only."""
    matrix = np.ones((1, 1), dtype=np.int8)
    for _ in range(m):
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    matrix.setflags(write=False)
    return matrix


def walsh(values: np.ndarray) -> np.ndarray:
    """Coefficients W[a] = sum over x of (-1)^<a, x> values[x], for each row, exactly.

    Values are -1, 0 and 1, shape (n, 2^m) with m <= 14, int8. The coefficients of a row stand in a
    column, as the transform leaves them: shape (2^m, n), int16.
    """
    n, d = values.shape
    # Transposed, each pass adds and subtracts long contiguous runs.
    now = np.ascontiguousarray(values.T, dtype=np.int8)
    other = np.empty_like(now)
    h = 1
    while h < d:
        if h == 1 << _INT8_PASSES:
            now = now.astype(np.int16)
            other = np.empty_like(now)
        shape = (d // (2 * h), 2, h * n)
        source, target = now.reshape(shape), other.reshape(shape)
        np.add(source[:, 0], source[:, 1], out=target[:, 0])
        np.subtract(source[:, 0], source[:, 1], out=target[:, 1])
        now, other = other, now
        h *= 2
    return now.astype(np.int16, copy=False)


def _product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Matrix product over F_2; float32 products of 0 and 1 are exact and fast."""
    counts = np.matmul(left.astype(np.float32), right.astype(np.float32))
    return (counts.astype(np.int32) & 1).astype(np.uint8)


def _all_sums(vectors: np.ndarray) -> np.ndarray:
    """All sums of up to 8 vectors over F_2, numbered by the bits that select them."""
    sums = np.zeros((1, vectors.shape[1]), dtype=np.uint8)
    for vector in vectors:
        sums = np.concatenate([sums, sums ^ vector])
    return sums
