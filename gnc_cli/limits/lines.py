"""Lines through the origin: how small their cosines can be, the largest and the mean square.

K unit vectors span K lines; the largest absolute cosine of two is their **coherence** mu. With
their negatives they are an antipodal code of 2 K points, whose largest cosine is the coherence:
each bound on t*(d, 2 K) is one on the coherence, and half of an antipodal code are lines.

Bounds of lines alone are of one kind. Let f be a polynomial, f(x^2) a function on the sphere with
nonnegative Gegenbauer coefficients but for the constant one, f0 > 0, and f(x) <= 0 for x <= mu^2.
The sum of f(<w_k, w_j>^2) over all K^2 pairs is at least K^2 f0 and at most K f(1), so K f0 <= f(1).

- `welch`: f = x - mu^2, f0 = 1/d - mu^2, so mu^2 >= (K - d)/(d (K - 1)). Equality needs an
  equiangular tight frame. There is none for K above the most equiangular lines of R^d, which is at
  most d (d + 1)/2 (Gerzon), nor for K > 2 d where 1/mu is no odd number (Neumann).
- `orthoplex`: more than d (d + 1)/2 lines have mu^2 >= 1/d. The matrices w w^T - I/d lie in a space
  of d (d + 1)/2 - 1 dimensions, where only so many vectors and one are pairwise more than a right
  angle apart (Rankin).
- `levenshtein-lines`: f = x (x - mu^2), f0 = 3/(d (d + 2)) - mu^2/d, whose coefficient of degree 2
  is nonnegative up to mu^2 = 6/(d + 4): mu^2 >= (3 K - d (d + 2))/((d + 2) (K - d)), or mu^2 is
  above 6/(d + 4).

The mean square over all pairs, `sum_(k != j) <w_k, w_j>^2 = |W^T W|^2 - K`, is least where `W^T W`
is a multiple of the identity (a tight frame), by Cauchy and Schwarz on its d eigenvalues, whose sum
is K; K <= d orthogonal vectors have 0.

References:
    P. W. H. Lemmens, J. J. Seidel, Equiangular lines, J. Algebra 24 (1973)
    V. I. Levenshtein, Designs as maximum codes in polynomial metric spaces, Acta Appl. Math. 29
    (1992)
    J. H. Conway, R. H. Hardin, N. J. A. Sloane, Packing lines, planes, etc., Experiment. Math. 5
    (1996)
    J. J. Benedetto, M. Fickus, Finite normalized tight frames, Adv. Comput. Math. 18 (2003)
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from gnc_cli.brackets import Bracket
from gnc_cli.constructions.construction import Construction
from gnc_cli.constructions.registry import antipodal
from gnc_cli.geometry.gram import welch
from gnc_cli.geometry.rounding import rounded_down
from gnc_cli.known_codes.best import SEARCHED, Reference
from gnc_cli.known_codes.lines import equiangular, known_lines
from gnc_cli.known_codes.table import KnownCode
from gnc_cli.limits.levenshtein import LEVENSHTEIN
from gnc_cli.limits.limit import ROUNDING, Count, Dimension, Finding, Limit

_MEET = 1e-11
"""Known lines whose coherence is this near to a bound attain it: table entries are rounded."""


def least_mean_square(d: int, K: int) -> float:
    """The least mean of the squared cosines of two of K unit vectors in R^d, always attained.

    Example:
        >>> least_mean_square(2, 3), least_mean_square(4, 3)
        (0.25, 0.0)
    """
    return max(0.0, (K - d) / (d * (K - 1)))


def least_coherence(d: int, K: int, attained: float = 1.0) -> Bracket:
    """The least coherence of K lines in R^d, d and K at least 2.

    Args:
        attained: the coherence of lines at hand; the upper end where no closed form is known:
            orthogonal lines for K <= d, a simplex for K = d + 1, lines at equal angles for d = 2.

    Returns:
        The lower end is the best of Welch's bounds, the others of lines alone, and Levenshtein's on
        t*(d, 2 K), loosened by their rounding.

    Example:
        >>> f"{least_coherence(3, 4):.9f}", f"{least_coherence(2, 5):.9f}"
        ('0.333333333', '0.809016994')
    """
    closed = closed_form(d, K)
    upper = attained if closed is None else closed
    own = (bound.at(d, K) for bound in _OF_LINES)
    least = min(LEVENSHTEIN.at(d, 2 * K).value, *(f.value for f in own if f is not None))
    lower = max(0.0, welch(d, 2 * K) - ROUNDING, 1.0 - least - ROUNDING)
    return Bracket(min(lower, upper), upper)


def closed_form(d: int, K: int) -> float | None:
    """Return the least coherence of orthogonal lines (K <= d), of the simplex (K = d + 1) and in
    the plane, each optimal; None elsewhere."""
    if K <= d + 1:
        return 0.0 if K <= d else 1.0 / d
    return math.cos(math.pi / K) if d == 2 else None


class _ClosedForm(Limit):
    """Orthogonal lines, the simplex, and lines of the plane."""

    name = "closed-form"
    source = "orthogonal lines, simplex, equal angles in the plane"
    exists = True

    def at(self, d: int, K: int) -> Finding | None:
        value = closed_form(d, K)
        return None if value is None else Finding(1.0 - value, how=_command(d, K))

    def points(self, d: int, target: Fraction) -> Count | None:
        if target > 1:
            return None
        K = d + (d * (1 - target) >= 1)
        if d == 2 and target < Fraction(1, 2):
            K = int(math.pi / math.acos(float(1 - target)))
        return Count.of(K, how=_command(d, K))


class _SquareBound(Limit):
    """A bound on the squared coherence.

    Args:
        square: the bound at (d, K); None where it says nothing.
        most: the largest number of lines of a squared coherence in R^d, not rounded; None where it
            excludes none.
    """

    exists = False

    def __init__(
        self,
        name: str,
        source: str,
        square: Callable[[int, int], Fraction | None],
        most: Callable[[int, Fraction], Fraction | None],
    ) -> None:
        self.name, self.source, self._square, self._most = name, source, square, most

    def at(self, d: int, K: int) -> Finding | None:
        square = self._square(d, K)
        if square is None:
            return None
        strict = self.name == "welch" and _unattained(d, K, square)
        return Finding(float(1 - square) / (1.0 + math.sqrt(square)), strict=strict)

    def points(self, d: int, target: Fraction) -> Count | None:
        if target > 1:
            return Count.of(1)
        most = self._most(d, (1 - target) ** 2)
        return None if most is None else Count.of(math.floor(most))


def _unattained(d: int, K: int, square: Fraction) -> bool:
    """Whether no K equiangular lines in R^d have this squared cosine."""
    most = min((n for e, _, n, *_ in equiangular() if e >= d), default=d * (d + 1) // 2)
    if K > most or K <= 2 * d:
        return K > most
    root = math.isqrt(square.denominator)
    return square.numerator != 1 or root * root != square.denominator or root % 2 == 0


def _welch_square(d: int, K: int) -> Fraction:
    return Fraction(max(0, K - d), d * (K - 1))


def _welch_most(d: int, square: Fraction) -> Fraction | None:
    return d * (1 - square) / (1 - d * square) if d * square < 1 else None


def _orthoplex_square(d: int, K: int) -> Fraction | None:
    return Fraction(1, d) if 2 * K > d * (d + 1) else None


def _orthoplex_most(d: int, square: Fraction) -> Fraction | None:
    return Fraction(d * (d + 1), 2) if d * square < 1 else None


def _second_square(d: int, K: int) -> Fraction | None:
    if 3 * K <= d * (d + 2):
        return None
    return min(Fraction(3 * K - d * (d + 2), (d + 2) * (K - d)), Fraction(6, d + 4))


def _second_most(d: int, square: Fraction) -> Fraction | None:
    if (d + 2) * square >= 3 or (d + 4) * square > 6:
        return None
    return d * (d + 2) * (1 - square) / (3 - (d + 2) * square)


_OF_LINES = (
    _SquareBound("welch", "Welch 1974; Lemmens and Seidel 1973", _welch_square, _welch_most),
    _SquareBound("orthoplex", "Conway, Hardin and Sloane 1996", _orthoplex_square, _orthoplex_most),
    _SquareBound("levenshtein-lines", "Levenshtein 1992", _second_square, _second_most),
)


class _OfPoints(Limit):
    """A bound on codes of 2 K points, for K lines and their opposites."""

    exists = False

    def __init__(self, limit: Limit) -> None:
        self.name, self._limit = limit.name, limit
        self.source, self.listed = f"antipodal points: {limit.source}", limit.listed

    def at(self, d: int, K: int) -> Finding | None:
        says = self._limit.at(d, 2 * K)
        source = None if says is None or says.source is None else f"antipodal points: {says.source}"
        return None if says is None else replace(says, source=source)

    def points(self, d: int, target: Fraction) -> Count | None:
        most = self._limit.points(d, target)
        if most is None or most.exact is None:
            return None if most is None else Count(most.log10 - math.log10(2.0))
        return Count.of(max(1, most.exact // 2), most.source)

    def dimension(self, K: int, target: Fraction) -> Dimension:
        return self._limit.dimension(2 * K, target)


class _KnownLines(Limit):
    """The table of packings of lines, and equiangular lines: K lines or more in d dimensions or
    fewer."""

    name = "known-lines"
    source = "table of packings of lines"
    exists = True
    listed = True

    def at(self, d: int, K: int) -> Finding | None:
        entry = known_lines().covering(d, K)
        if entry is None:
            return None
        return Finding(rounded_down(1 - entry.between[1]), source=_source(entry, d, K))

    def points(self, d: int, target: Fraction) -> Count | None:
        reached = [e for e in known_lines().best_first if e.d <= d and 1 - e.between[1] >= target]
        most = max(reached, key=lambda entry: entry.K, default=None)
        return None if most is None else Count.of(most.K, _source(most, d, most.K))


class _Constructed(Limit):
    """Half of the rows of an antipodal construction."""

    name = "construction"
    source = "antipodal constructions, see gnc solve --list-constructions"
    exists = True
    listed = True

    def at(self, d: int, K: int) -> Finding | None:
        code = line_construction(d, K)
        if code is None:
            return None
        value = rounded_down(1 - code.cosine.between[1])
        return Finding(value, source=f"{code.name}: {code.reference}", how=_command(d, K))

    def points(self, d: int, target: Fraction) -> Count | None:
        reached = [c for c in antipodal(min(d, SEARCHED)) if 1 - c.cosine.between[1] >= target]
        most = max(reached, key=lambda code: code.K, default=None)
        if most is None:
            return None
        return Count.of(most.K // 2, f"{most.name}: {most.reference}", _command(d, most.K // 2))


def line_limits(of_points: Sequence[Limit]) -> list[Limit]:
    """Return the bounds on lines.

    Args:
        of_points: bounds from above on codes, which hold for antipodal ones.
    """
    codes = [_ClosedForm(), _KnownLines(), _Constructed()]
    return [*codes, *_OF_LINES, *map(_OfPoints, of_points)]


def line_construction(d: int, K: int) -> Construction | None:
    """Return the antipodal construction of 2 K points or more with the least cosine, or None."""
    codes = (code for code in antipodal(min(d, SEARCHED)) if code.K >= 2 * K)
    return min(codes, key=lambda code: (code.cosine.value, code.K), default=None)


def best_lines(d: int, K: int) -> Reference | None:
    """Return the best known K lines in d dimensions, `max_cosine` their coherence, or None.

    They are proved optimal where they attain a bound of `least_coherence`.

    Example:
        >>> best_lines(7, 28).figure, best_lines(7, 28).proven
        ('1/3', True)
    """
    closed = closed_form(d, K)
    if closed is not None:
        figure = "0" if K <= d else f"1/{d}" if K == d + 1 else f"{closed:.15f}"
        source = "orthogonal lines" if K <= d else "simplex" if K == d + 1 else "equal angles"
        return _reference(d, K, closed, "theorem", d, K, f"closed form: {source}", figure)
    entry, code = known_lines().covering(d, K), line_construction(d, K)
    if code is not None and (entry is None or code.cosine.value <= entry.max_cosine + _MEET):
        figure = code.cosine.text if "(" not in code.cosine.text else f"{code.cosine.value:.15f}"
        source = f"construction: {code.name}"
        value = code.cosine.value
        return _reference(d, K, value, "construction", code.d, code.K // 2, source, figure)
    if entry is None:
        return None
    source, value = _source(entry, d, K), entry.max_cosine
    found = _reference(d, K, value, "table", entry.d, entry.K, source, entry.figure)
    return replace(found, rounding=entry.rounding, date=entry.date)


def _reference(
    d: int, K: int, value: float, kind: str, code_d: int, code_K: int, source: str, figure: str
) -> Reference:
    own = (code_d, code_K) == (d, K)
    return Reference(
        max_cosine=value,
        kind=kind,
        d=code_d,
        K=code_K,
        source=source,
        own=own,
        figure=figure,
        proven=value <= least_coherence(d, K).lower + _MEET,
        on_record=own,
    )


def _source(entry: KnownCode, d: int, K: int) -> str:
    """Whom to cite, and the size of lines that hold those asked for."""
    whole = (entry.d, entry.K) == (d, K)
    return entry.source if whole else f"{K:,} of ({entry.d}, {entry.K}): {entry.source}"


def _command(d: int, K: int) -> str:
    return f"gnc solve --problem lines --d {d} --K {K}"
