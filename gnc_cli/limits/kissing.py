"""Kissing numbers: how many points can have cosines of at most 1/2, by published proofs.

The linear programme gives the kissing number tau_d in 8 and 24 dimensions and little more than it
elsewhere; in between, bounds on triples of points are better. More points than the bound have a
largest cosine above 1/2: their clearance is strictly below 1/2, by an amount that nobody states. So
`at` says 1/2, while `points` and `dimension` exclude a target of 1/2 itself.

Only bounds that a source calls proved are kept. Leijenhorst and de Laat 2024 print smaller ones for
11 to 23 dimensions, not verified rigorously. The bounds are exact for d = 2, 3, 4, 8 and 24. From
14 to 23 dimensions they are those of Mittelmann and Vallentin, not the smallest known: rigorous
ones of Machado and de Oliveira Filho, who improve all of 9 to 23, lie below.

References:
    K. Schütte, B. L. van der Waerden, Das Problem der dreizehn Kugeln, Math. Ann. 125, 1953
    V. I. Levenshtein, On bounds for packings in n-dimensional Euclidean space, Soviet Math. Dokl.
    20, 1979
    A. M. Odlyzko, N. J. A. Sloane, New bounds on the number of unit spheres that can touch a unit
    sphere in n dimensions, J. Combin. Theory Ser. A 26, 1979
    O. R. Musin, The kissing number in four dimensions, Ann. of Math. 168, 2008
    H. D. Mittelmann, F. Vallentin, High-accuracy semidefinite programming bounds for kissing
    numbers, Experiment. Math. 19, 2010
    F. C. Machado, F. M. de Oliveira Filho, Improving the semidefinite programming bound for the
    kissing number by exploiting polynomial symmetry, Exp. Math. 27, 2018
    D. de Laat, N. M. Leijenhorst, W. H. H. de Muinck Keizer, Optimality and uniqueness of the D_4
    root system, arXiv 2404.18794, 2024
"""

from fractions import Fraction

from gnc_cli.limits.limit import Count, Dimension, Finding, Limit

_LP = "Levenshtein 1979; Odlyzko and Sloane 1979"
_MITTELMANN = "Mittelmann and Vallentin 2010"
_MACHADO = "Machado and de Oliveira Filho 2018"

KISSING_BOUNDS: dict[int, tuple[int, str]] = {
    2: (6, "regular hexagon"),
    3: (12, "Schütte and van der Waerden 1953"),
    4: (24, "Musin 2008"),
    5: (44, _MITTELMANN),
    6: (77, "de Laat, Leijenhorst and de Muinck Keizer 2024"),
    7: (134, _MITTELMANN),
    8: (240, _LP),
    9: (363, _MACHADO),
    10: (553, _MACHADO),
    11: (869, _MACHADO),
    12: (1356, _MACHADO),
    13: (2066, _MACHADO),
    14: (3183, _MITTELMANN),
    15: (4866, _MITTELMANN),
    16: (7355, _MITTELMANN),
    17: (11072, _MITTELMANN),
    18: (16572, _MITTELMANN),
    19: (24812, _MITTELMANN),
    20: (36764, _MITTELMANN),
    21: (54584, _MITTELMANN),
    22: (82340, _MITTELMANN),
    23: (124416, _MITTELMANN),
    24: (196560, _LP),
}
"""By dimension: no more points have cosines of at most 1/2, and who proved it.

They grow with d, so none is improved by that of a higher dimension.
"""

_HALF = Fraction(1, 2) - Fraction(1, 10**12)
"""Targets from here on count as 1/2: one that is typed as 1/2 comes loosened by a relative 1e-13.
It is a tie as everywhere, decided for the user."""


class _Kissing(Limit):
    """Silent for K up to the bound, and beyond 24 dimensions."""

    name = "kissing"
    source = "published rigorous upper bounds on kissing numbers, d <= 24"
    exists = False

    def at(self, d: int, K: int) -> Finding | None:
        if d not in KISSING_BOUNDS or K <= KISSING_BOUNDS[d][0]:
            return None
        return Finding(0.5, strict=True, source=_cited(d))

    def points(self, d: int, target: Fraction) -> Count | None:
        """As many as can touch, for targets of 1/2 (its ties included) and above."""
        if d not in KISSING_BOUNDS or target < _HALF:
            return None
        most = KISSING_BOUNDS[d][0]
        return Count.of(most, source=_cited(d))

    def dimension(self, K: int, target: Fraction) -> Dimension:
        """The smallest d whose bound admits K points, for targets of 1/2 and above; else 2."""
        if target < _HALF:
            return Dimension(2)
        last = max((d for d, (most, _) in KISSING_BOUNDS.items() if K > most), default=1)
        return Dimension(last + 1)


def _cited(d: int) -> str:
    most, source = KISSING_BOUNDS[d]
    return f"kissing number in {d} dimensions at most {most}: {source}"


KISSING = _Kissing()
