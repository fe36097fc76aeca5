"""The minimal vectors of the Leech lattice, and the codes cut from them in 23 and 22 dimensions.

Vectors are integers; the lattice is theirs divided by sqrt(8), so its minimal norm 4 reads 32 here.

Source: J. Leech, 1967, Notes on sphere packings; J. H. Conway and N. J. A. Sloane, 1988, Sphere
Packings, Lattices and Groups, chapter 4, section 11.
"""

import numpy as np

from gnc_cli.codes.constructions.construction import Construction, Cosine
from gnc_cli.codes.constructions.golay import golay_code, octads
from gnc_cli.codes.constructions.points import IntegerRows, spanned_frame

__all__ = ["CODES", "minimal_vectors"]

_SHARP = "Cohn and Kumar 2007, Universally optimal distribution of points on spheres, Table 1"


def minimal_vectors() -> np.ndarray:
    """The 196560 shortest vectors, shape (196560, 24), int8, each of squared length 32.

    97152 are (+-2)^8 on an octad with an even number of minus signs, 98304 are (-3, 1^23) with the
    -3 anywhere and the signs changed on a word of the Golay code, and 1104 are (+-4)^2.
    """
    blocks, words = octads(), golay_code()
    bits = np.arange(256)[:, None] >> np.arange(8) & 1
    even = (2 - 4 * bits[bits.sum(1) % 2 == 0]).astype(np.int8)
    on_octads = np.zeros((len(blocks), len(even), 24), dtype=np.int8)
    places = np.nonzero(blocks)[1].reshape(len(blocks), 1, 8)
    np.put_along_axis(on_octads, places, even[None], axis=2)
    one_three = 1 - 4 * np.eye(24, dtype=np.int8)
    signs = (1 - 2 * words.astype(np.int8))[:, None, :]
    i, j = np.triu_indices(24, 1)
    fours = np.zeros((4, len(i), 24), dtype=np.int8)
    for sheet, (a, b) in zip(fours, ((4, 4), (4, -4), (-4, 4), (-4, -4)), strict=True):
        sheet[np.arange(len(i)), i], sheet[np.arange(len(i)), j] = a, b
    shapes = (on_octads, one_three * signs, fours)
    return np.concatenate([shape.reshape(-1, 24) for shape in shapes])


def _leech() -> IntegerRows:
    return IntegerRows(minimal_vectors())


def _neighbours(*fixed: np.ndarray) -> np.ndarray:
    """The minimal vectors at 60 degrees from each of the given ones, as int64."""
    vectors = minimal_vectors()
    products = vectors.astype(np.int32) @ np.array(fixed, dtype=np.int32).T
    return vectors[(products == 16).all(1)].astype(np.int64)


def _leech_4600() -> IntegerRows:
    """The neighbours w of a minimal vector u, projected along it: 2 w - u, squared length 96."""
    u = minimal_vectors()[0].astype(np.int64)
    vectors = 2 * _neighbours(u) - u
    return IntegerRows(vectors, spanned_frame(vectors, 23))


def _leech_891() -> IntegerRows:
    """The common neighbours w of two neighbours u, v, projected along both: 3 w - u - v."""
    u = minimal_vectors()[0].astype(np.int64)
    v = _neighbours(u)[0]
    vectors = 3 * _neighbours(u, v) - u - v
    return IntegerRows(vectors, spanned_frame(vectors, 22))


CODES = (
    Construction(
        name="leech",
        title="minimal vectors of the Leech lattice",
        d=24,
        K=196560,
        cosine=Cosine("1/2", 0.5),
        proven=True,
        reference=_SHARP,
        build=_leech,
        distribution=(
            ("1/2", 4600), ("1/4", 47104), ("0", 93150), ("-1/4", 47104), ("-1/2", 4600), ("-1", 1),
        ),
        transitive=True,
    ),
    Construction(
        name="leech-4600",
        title="kissing configuration of the Leech lattice's 196560",
        d=23,
        K=4600,
        cosine=Cosine("1/3", 1 / 3),
        proven=True,
        reference=_SHARP,
        build=_leech_4600,
        distribution=(("1/3", 891), ("0", 2816), ("-1/3", 891), ("-1", 1)),
        transitive=True,
    ),
    Construction(
        name="leech-891",
        title="kissing configuration of the 4600",
        d=22,
        K=891,
        cosine=Cosine("1/4", 0.25),
        proven=True,
        reference=_SHARP,
        build=_leech_891,
        distribution=(("1/4", 336), ("-1/8", 512), ("-1/2", 42)),
        transitive=True,
    ),
)  # fmt: skip
"""196560, 4600 and 891: each is the set of nearest neighbours in the one before."""
