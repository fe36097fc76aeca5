"""Sections of lattices: short vectors with fixed inner products with a few others.

Vectors b_1, .., b_m of a lattice are its base. The short vectors v with the inner products
<v, b_i> = a_i are a level; projected along the base, they have one length in m dimensions less. A
section is a level, or several, scaled to unit length. Laminated lattices have the level 0 of the
base of a root lattice; the neighbours of a row, and their neighbours, are sections as well.

The sections are in `lattice_sections.csv`: dimension, size, square of the largest cosine, lattice,
base, levels. The base is written as numbers of the lattice's shortest vectors, in the order of its
construction, and sums of these: `12 7+40-3`.
`benchmarks/constructions/sections.py` found the bases and levels: a search at random, which
uses no published values.

In the Leech lattice, its minimal norm 4 written as 32, vectors of the second shell have norm 48.
Two vectors of one level differ by a lattice vector, so by 32 at least: no product in a level is
above 32, and its largest cosine is at most (32 - q)/(48 - q), with q the norm of the base's point
that has the level's products. The bound needs no pairs of rows.

Sources: J. Leech, 1967, Notes on sphere packings; J. H. Conway and N. J. A. Sloane, 1988, Sphere
Packings, Lattices and Groups, chapters 4 to 6.
"""

import re
from collections.abc import Iterable
from fractions import Fraction
from functools import cache, cached_property, partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from gnc_cli.constructions.construction import (
    CodeRows,
    Construction,
    Cosine,
    Verification,
    small_family,
)
from gnc_cli.constructions.families.leech import CODES as LEECH
from gnc_cli.constructions.families.leech import golay_code, minimal_vectors, signs_on_block
from gnc_cli.constructions.families.polytopes import CODES as POLYTOPES
from gnc_cli.constructions.integer_rows import IntegerRows, UnequalRows

SECOND_SHELL = "second-shell"
"""Name of the vectors of norm 48 of the Leech lattice in the file."""
_NAMES = {
    "leech": "shortest vectors of the Leech lattice",
    "barnes-wall": "shortest vectors of the Barnes-Wall lattice",
    "e8-roots": "roots of E8",
    SECOND_SHELL: "second shell of the Leech lattice",
}
_REFERENCE = "sections of lattices: Conway and Sloane 1988, Sphere Packings, Lattices and Groups"
_BLOCK = 1 << 18
"""Rows of the second shell that are verified together, in tens of megabytes."""
_WITNESSES = 8
"""Rows that are compared with all others in search of a pair at the bound."""
_ROUNDING = 1e-12
"""Largest rounding error of a frame."""


def base_vector(vectors: np.ndarray, text: str) -> np.ndarray:
    """Return the sum of rows that a text such as `12+40-7` lists by number; (D,), int64."""
    total = np.zeros(vectors.shape[1], dtype=np.int64)
    for sign, number in re.findall(r"([+-]?)(\d+)", text):
        row = vectors[int(number)].astype(np.int64)
        total += -row if sign == "-" else row
    return total


def level_centre(base: np.ndarray, level: tuple[int, ...]) -> tuple[np.ndarray, int]:
    """Return the point of the span of a base, shape (m, D), with these inner products.

    Returns:
        Numerators, shape (D,), and denominator.
    """
    from flint import fmpz_mat

    gram = fmpz_mat((base @ base.T).tolist())
    weights: Any = gram.solve(fmpz_mat([[product] for product in level]))
    centre = weights.transpose() * fmpz_mat(base.tolist())
    numerators, denominator = centre.numer_denom()
    return np.array(numerators.tolist()[0], dtype=np.int64), int(denominator)


def lattice_section(
    vectors: np.ndarray, base: np.ndarray, levels: Iterable[tuple[int, ...]], d: int
) -> UnequalRows:
    """Project the vectors of one or more levels along the base.

    Args:
        vectors: integers, (N, D).
        base: independent integer vectors, (m, D).
        levels: inner products with each base vector.
        d: dimension of the space that the projections span.
    """
    products = np.rint(vectors.astype(np.float32) @ base.T.astype(np.float32)).astype(np.int64)
    parts = []
    for level in levels:
        members = vectors[(products == level).all(axis=1)].astype(np.int64)
        numerators, denominator = level_centre(base, level)
        part = denominator * members - numerators
        parts.append(part // np.gcd.reduce(part, axis=None))
    return UnequalRows(np.concatenate(parts), d)


@cache
def second_shell() -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], ...]:
    """Return the 16773120 vectors of norm 48 in four kinds: places, signs and forms of each.

    Vector l R + r of a kind with R forms has the coordinates `signs[l] * forms[r, places[l]]`. The
    kinds are (+-2)^12 on words of weight 12 with an even number of minus signs; (+-2)^8 on octads
    with an odd number, and +-4 elsewhere; (-3)^3 1^21 and 5 1^23 with signs of words.
    """
    words = golay_code()
    kinds: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for weight, odd in ((12, 0), (8, 1)):
        blocks = words[words.sum(1) == weight].astype(np.int64)
        places = np.argsort(np.argsort(1 - blocks, axis=1, kind="stable"), axis=1)
        forms = signs_on_block(weight, odd)
        forms = np.column_stack([forms, np.zeros((len(forms), 24 - weight), np.int8)])
        if weight == 8:
            fours = np.concatenate([4 * np.eye(16, dtype=np.int8), -4 * np.eye(16, dtype=np.int8)])
            forms = np.repeat(forms, len(fours), axis=0)
            forms[:, 8:] = np.tile(fours, (len(forms) // len(fours), 1))
        kinds.append((places, np.ones_like(places, dtype=np.int8), forms))
    signs = 1 - 2 * words.astype(np.int8)
    everywhere = np.tile(np.arange(24), (len(words), 1))
    for size, entry in ((3, -3), (1, 5)):
        subsets = np.array(list(combinations(range(24), size)))
        forms = np.ones((len(subsets), 24), dtype=np.int8)
        np.put_along_axis(forms, subsets, np.int8(entry), axis=1)
        kinds.append((everywhere, signs, forms))
    return tuple(kinds)


class ShellRows(CodeRows):
    """Level of the second shell of the Leech lattice, with rows that are made on demand.

    Args:
        K: number of its vectors.
        base: texts of its base vectors, none for the whole shell.
        level: the inner product with each.
    """

    def __init__(self, K: int, base: list[str], level: tuple[int, ...] = ()) -> None:
        self.shape = (K, 24 - len(base))
        self._base, self._level = base, level

    @cached_property
    def base(self) -> np.ndarray:
        """Base vectors, shape (m, 24)."""
        vectors = minimal_vectors()
        return np.array([base_vector(vectors, text) for text in self._base]).reshape(-1, 24)

    @cached_property
    def norm(self) -> Fraction:
        """Common squared length of the rows after the projection."""
        if not self._level:
            return Fraction(48)
        numerators, denominator = level_centre(self.base, self._level)
        return 48 - Fraction(int(numerators @ numerators), denominator**2)

    @cached_property
    def _numbers(self) -> np.ndarray:
        """Numbers of the vectors of the shell in the level, shape (K,), int32."""
        numbers, first = [], 0
        for places, signs, forms in second_shell():
            fits = np.ones((len(places), len(forms)), dtype=bool)
            for vector, product in zip(self.base, self._level, strict=True):
                # The products of all signs and forms with it, by one matrix product.
                weights = np.zeros(places.shape, dtype=np.float32)
                np.put_along_axis(weights, places, signs * vector.astype(np.float32), axis=1)
                fits &= weights @ forms.T.astype(np.float32) == product
            numbers.append((first + np.flatnonzero(fits)).astype(np.int32))
            first += fits.size
        return np.concatenate(numbers)

    @cached_property
    def _frame(self) -> np.ndarray:
        """Orthonormal columns of the space orthogonal to the base, shape (24, d)."""
        axes = np.linalg.qr(self.base.T.astype(np.float64), mode="complete")[0]
        return np.asarray(axes[:, len(self.base) :])

    def vectors(self, start: int, stop: int) -> np.ndarray:
        """Return lattice vectors `start` to `stop` (exclusive), shape (n, 24), int8."""
        numbers = self._numbers[start:stop]
        out = np.empty((len(numbers), 24), dtype=np.int8)
        first = 0
        for places, signs, forms in second_shell():
            size = len(places) * len(forms)
            mask = (numbers >= first) & (numbers < first + size)
            row, form = np.divmod(numbers[mask] - first, len(forms))
            out[mask] = np.take_along_axis(forms[form], places[row], axis=1) * signs[row]
            first += size
        return out

    def _unit(self, start: int, stop: int) -> np.ndarray:
        return np.asarray(self.vectors(start, stop) @ self._frame * float(self.norm) ** -0.5)

    def verify(self) -> Verification:
        """Check that the rows are lattice vectors of the level, all different; find the cosine.

        A vector belongs to the lattice when its entries have one parity m, their sum is 4 m modulo
        8, and the places where (x - m)/2 is odd are a word of the Golay code.
        """
        K = len(self)
        place = (1 << np.arange(24)).astype(np.float32)
        is_word = np.zeros(1 << 24, dtype=bool)
        is_word[(golay_code() @ place).astype(np.int64)] = True
        weights = np.random.default_rng(0).integers(-(2**55), 2**55, 24)
        levels = np.array(self._level, dtype=np.float32)
        parts, witnesses, largest = [], self.vectors(0, _WITNESSES).astype(np.float32), 0.0
        for start in range(0, K, _BLOCK):
            rows = self.vectors(start, start + _BLOCK)
            m = rows[:, :1] & 1
            sums = rows.sum(axis=1, dtype=np.int64) - 4 * m[:, 0]
            odd = (rows - m) >> 1 & 1
            in_lattice = ((rows & 1) == m).all() and not (sums % 8).any()
            if not in_lattice or not is_word[(odd @ place).astype(np.int64)].all():
                raise ValueError("a row is not a vector of the lattice")
            x = rows.astype(np.float32)
            if ((x * x).sum(axis=1) != 48).any() or (x @ self.base.T != levels).any():
                raise ValueError("a row is not of the shell, or not of the level")
            parts.append(rows @ weights)
            products = witnesses @ x.T
            largest = max(largest, float(products[products < 48].max(initial=0)))
        miss = np.abs(self._frame.T @ self._frame - np.eye(self.shape[1])).max()
        if max(miss, np.abs(self.base @ self._frame).max(initial=0.0) / 48) > _ROUNDING:
            raise ValueError("the frame misses the rows' space")
        keys = np.sort(np.concatenate(parts))
        distinct = bool((keys[1:] != keys[:-1]).all()) and K == len(self._numbers)
        cosine = Cosine.rational((self.norm - 16) / self.norm)
        return Verification(K, distinct, cosine, attained=largest == 32)


def section_rows(d: int, K: int, lattice: str, base: str, levels: str) -> CodeRows:
    """Return the rows of a line of the file."""
    texts = base.split()
    products = [tuple(map(int, level.split("/"))) for level in levels.split()]
    if lattice == SECOND_SHELL:
        return ShellRows(K, texts, *products)
    vectors = shortest_vectors(lattice)
    return lattice_section(vectors, np.array([base_vector(vectors, t) for t in texts]), products, d)


def shortest_vectors(lattice: str) -> np.ndarray:
    """Return the integer vectors, shape (N, D), of the construction of this name."""
    rows = next(code.build() for code in (*LEECH, *POLYTOPES) if code.name == lattice)
    assert isinstance(rows, IntegerRows)
    return rows.vectors


def _sections() -> dict[tuple[int, ...], Construction]:
    """Return the constructions in the file by (d, K)."""
    codes: dict[tuple[int, ...], Construction] = {}
    _, *lines = Path(__file__).with_suffix(".csv").read_text(encoding="utf-8").splitlines()
    for line in lines:
        first, second, square, lattice, base, levels = line.split(",")
        d, K, number = int(first), int(second), levels.count(" ") + bool(levels)
        codes[d, K] = Construction(
            f"section-{d}-{K}",
            f"{number or 'all'} level{'s' * (number != 1)} of the {_NAMES[lattice]}",
            d,
            K,
            Cosine.root(Fraction(*map(int, square.split("/")))),
            None,
            _REFERENCE,
            partial(section_rows, d, K, lattice, base, levels),
        )
    return codes


FAMILIES = (
    small_family(
        "section-d-K",
        "short vectors of a lattice with fixed products with some, projected along these",
        "(d, K) as in families/lattice_sections.csv, say 21-1092 (3/10) or 22-49896 (1/2)",
        "d",
        "K",
        "2/3 or less",
        _REFERENCE,
        codes=_sections(),
    ),
)
