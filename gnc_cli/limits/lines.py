"""Lines through the origin: how small their cosines can be, the largest and the mean square.

K unit vectors span K lines; the largest absolute cosine of two is their **coherence** mu. With
their negatives they are an antipodal code of 2 K points, whose largest cosine is the coherence:
each bound on t*(d, 2 K) is one on the coherence, and half of an antipodal code are lines.

Bounds of lines alone are of one kind. Let f be a polynomial, f(x^2) a function on the sphere with
nonnegative Gegenbauer coefficients but for the constant one, f0 > 0, and f(x) <= 0 for x <= mu^2.
The sum of f(<w_k, w_j>^2) over all K^2 pairs is at least K^2 f0 and at most K f(1): K f0 <= f(1).

- `welch`: f = x - mu^2, f0 = 1/d - mu^2, so mu^2 >= (K - d)/(d (K - 1)). Equality needs an
  equiangular tight frame. There is none for K above the largest number of equiangular lines of R^d,
  which is at most d (d + 1)/2 (Gerzon), nor for K > 2 d unless 1/mu is an odd number (Neumann).
- `orthoplex`: more than d (d + 1)/2 lines have mu^2 >= 1/d. The matrices w w^T - I/d lie in a space
  of n = d (d + 1)/2 - 1 dimensions, where at most n + 1 vectors are pairwise more than a right
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
from gnc_cli.known_codes.best import BestKnown
from gnc_cli.known_codes.lines import equiangular, known_lines
from gnc_cli.known_codes.table import KnownCode
from gnc_cli.limits.levenshtein import LEVENSHTEIN
from gnc_cli.limits.limit import ROUNDING, Count, Finding, Limit, least_excluded

_MEETING_DISTANCE = 1e-11
"""Largest distance of a known coherence from a bound that it attains: table entries are rounded."""
_LARGEST_K = 10**18
"""Largest number of lines of a search."""


def least_mean_square(d: int, K: int) -> float:
    """Return the least mean of the squared cosines of two of K unit vectors in R^d.

    Example:
        >>> least_mean_square(2, 3), least_mean_square(4, 3)
        (0.25, 0.0)
    """
    return max(0.0, (K - d) / (d * (K - 1)))


def least_coherence(d: int, K: int, attained: float = 1.0) -> Bracket:
    """Bracket the least coherence of K lines in R^d, d and K at least 2.

    Args:
        d: dimension.
        K: number of lines.
        attained: coherence of known lines, the upper end without a closed form. Closed forms are
            orthogonal lines for K <= d, a simplex for K = d + 1, equal angles for d = 2.

    Returns:
        The lower end is the best of the bounds of lines alone, and of Welch's and Levenshtein's
        on t*(d, 2 K), loosened by their rounding.

    Example:
        >>> f"{least_coherence(3, 4):.9f}", f"{least_coherence(2, 5):.9f}"
        ('0.333333333', '0.809016994')
    """
    closed = closed_coherence(d, K)
    upper = attained if closed is None else closed
    findings = (formula(d, K) for formula in (_welch, _orthoplex, _second_degree))
    clearance = min(LEVENSHTEIN.evaluate(d, 2 * K).value, *(f.value for f in findings if f))
    lower = max(0.0, welch(d, 2 * K) - ROUNDING, 1.0 - clearance - ROUNDING)
    return Bracket(min(lower, upper), upper)


def closed_coherence(d: int, K: int) -> float | None:
    """Return the least coherence for K <= d + 1 (orthogonal lines, simplex) and d = 2, or None."""
    if K <= d + 1:
        return 0.0 if K <= d else 1.0 / d
    return math.cos(math.pi / K) if d == 2 else None


def _closed(d: int, K: int) -> Finding:
    """Return orthogonal lines, the simplex, or K lines at equal angles in a plane."""
    value = closed_coherence(d, K)
    if value is None:
        clearance = 2.0 * math.sin(math.pi / (2 * K)) ** 2 * (1.0 - ROUNDING)
    else:
        clearance = 1.0 - value
    return Finding(clearance, source=_closed_name(d, K), command=_command(d, K))


def _closed_name(d: int, K: int) -> str:
    return "orthogonal lines" if K <= d else "simplex" if K == d + 1 else "equal angles in a plane"


def _tabulated(d: int, K: int) -> Finding | None:
    entry = known_lines().covering(d, K)
    if entry is None:
        return None
    return Finding(rounded_down(1 - entry.interval[1]), source=_source(entry, d, K))


def _constructed(d: int, K: int) -> Finding | None:
    code = line_construction(d, K)
    if code is None:
        return None
    value = rounded_down(1 - code.cosine.enclosure[1])
    # Too large a code is built whole, with both points of each line.
    command = f"gnc solve --construction {code.name}" if code.is_streamed else _command(d, K)
    return Finding(value, source=f"{code.name}: {code.reference}", command=command)


def _welch(d: int, K: int) -> Finding:
    square = Fraction(max(0, K - d), d * (K - 1))
    largest = min((n for e, _, n, *_ in equiangular() if e >= d), default=d * (d + 1) // 2)
    root = math.isqrt(square.denominator)
    odd = square.numerator == 1 and root * root == square.denominator and root % 2 == 1
    return replace(_finding(square), strict=K > largest or (K > 2 * d and not odd))


def _orthoplex(d: int, K: int) -> Finding | None:
    return _finding(Fraction(1, d)) if 2 * K > d * (d + 1) else None


def _second_degree(d: int, K: int) -> Finding | None:
    if 3 * K <= d * (d + 2):
        return None
    square = Fraction(3 * K - d * (d + 2), (d + 2) * (K - d))
    return _finding(min(square, Fraction(6, d + 4)))


def _finding(square: Fraction) -> Finding:
    """Return the bound 1 - mu from one on mu^2, with full precision where mu is near 1."""
    return Finding(float(1 - square) / (1.0 + math.sqrt(square)))


class _LineLimit(Limit):
    """A bound on the coherence mu, by a formula of 1 - mu at (d, K)."""

    def __init__(
        self, name: str, source: str, formula: Callable[[int, int], Finding | None], *, exists: bool
    ) -> None:
        self.name, self.source, self.exists, self._formula = name, source, exists, formula

    def evaluate(self, d: int, K: int) -> Finding | None:
        """Return the bound; see `Limit.evaluate`."""
        return self._formula(d, K)

    def points(self, d: int, target: Fraction) -> Count | None:
        """Return the largest K whose value reaches the target, by bisection: values fall with K."""

        def reaches(K: int) -> bool:
            finding = self.evaluate(d, K)
            if finding is None or not finding.valid:
                return not self.exists
            return target < least_excluded(value := Fraction(finding.value)) or (
                not finding.strict and target <= value
            )

        low, high = 1, 2
        while high < _LARGEST_K and reaches(high):
            low, high = high, 2 * high
        if (low == 1 and self.exists) or high >= _LARGEST_K:
            return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if reaches(middle) else (low, middle)
        finding = self.evaluate(d, low if self.exists else high)
        assert finding is not None, "it reaches or excludes the target"
        return Count.from_number(low, finding.source, finding.command)


def line_limits(point_limits: Sequence[Limit]) -> list[Limit]:
    """Return the bounds on lines.

    Args:
        point_limits: bounds that exclude codes, and so the 2 K antipodal points of K lines.
    """

    def double(limit: Limit) -> Limit:
        def formula(d: int, K: int) -> Finding | None:
            finding = limit.evaluate(d, 2 * K)
            source = f"antipodal points: {limit.citation(finding)}"
            return None if finding is None else replace(finding, source=source)

        return _LineLimit(limit.name, f"antipodal points: {limit.source}", formula, exists=False)

    table = "table of packings of lines, and of equiangular lines"
    constructions = "antipodal constructions, see gnc solve --list-constructions"
    closed = "orthogonal lines; simplex; equal angles in a plane"
    relative = "Welch 1974; Lemmens and Seidel 1973"
    return [
        _LineLimit("closed-form", closed, _closed, exists=True),
        _LineLimit("construction", constructions, _constructed, exists=True),
        _LineLimit("known-lines", table, _tabulated, exists=True),
        _LineLimit("welch", relative, _welch, exists=False),
        _LineLimit("orthoplex", "Conway, Hardin and Sloane 1996", _orthoplex, exists=False),
        _LineLimit("levenshtein-lines", "Levenshtein 1992", _second_degree, exists=False),
        *map(double, point_limits),
    ]


def line_construction(d: int, K: int) -> Construction | None:
    """Return the antipodal construction of 2 K points or more with the least cosine, or None."""
    codes = (code for code in antipodal(d) if code.K >= 2 * K)
    return min(codes, key=lambda code: (code.cosine.value, code.K), default=None)


def best_lines(d: int, K: int) -> BestKnown | None:
    """Return the best known K lines in d dimensions, `max_cosine` their coherence, or None.

    They are proved optimal if they attain a bound of `least_coherence`.

    Example:
        >>> best_lines(7, 28).figure, best_lines(7, 28).proven
        ('1/3', True)
    """
    closed, exact, rounding = closed_coherence(d, K), None, 0.0
    entry, code = known_lines().covering(d, K), line_construction(d, K)
    if closed is not None:
        figure = "0" if K <= d else f"1/{d}" if K == d + 1 else f"{closed:.15f}"
        value, kind, code_d, code_K = closed, "theorem", d, K
        source = f"closed form: {_closed_name(d, K)}"
    elif code is not None and (
        entry is None or code.cosine.value <= entry.max_cosine + _MEETING_DISTANCE
    ):
        value, kind, code_d, code_K = code.cosine.value, "construction", code.d, code.K // 2
        figure = f"{value:.15f}" if "(" in code.cosine.text else code.cosine.text
        source = f"construction: {code.name}"
    elif entry is not None:
        value, kind, code_d, code_K = entry.max_cosine, "table", entry.d, entry.K
        exact, rounding, figure = entry.exact, entry.rounding, entry.figure
        source = _source(entry, d, K)
    else:
        return None
    is_whole = (code_d, code_K) == (d, K)
    return BestKnown(
        max_cosine=value,
        kind=kind,
        d=code_d,
        K=code_K,
        source=source,
        same_size=is_whole,
        figure=figure,
        proven=value <= least_coherence(d, K).lower + _MEETING_DISTANCE,
        exact=exact,
        rounding=rounding,
        on_record=is_whole,
    )


def _source(entry: KnownCode, d: int, K: int) -> str:
    """Return the source of an entry, and its size if it has more lines or dimensions."""
    is_whole = (entry.d, entry.K) == (d, K)
    return entry.source if is_whole else f"{K:,} of ({entry.d}, {entry.K}): {entry.source}"


def _command(d: int, K: int) -> str:
    return f"gnc solve --problem lines --d {d} --K {K}"
