"""The verdict on the paper's conjecture for one (d, K), and the exact check behind a claim.

The conjecture (arXiv 2310.05351, after theorem 3.7) says that the one-vs-rest and the one-vs-one
problem have the same maximisers. Then `rho* = 1 - t*`, with t* the smallest largest cosine. The
two claims are kept apart here: the first compares two numbers, the second asks whether a code that
reaches the first number also solves the Tammes problem.
"""

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from math import isqrt

import numpy as np

from gnc_cli.numerics.rounding import UNIT, gamma
from gnc_cli.results import Bracket

__all__ = [
    "AGREES",
    "Judgement",
    "Verdict",
    "judge",
    "rational_margin",
    "unit_defect",
]

AGREES = 1e-9
"""rho this near to 1 - t counts as equal to it."""
_APART = 1e-6
"""A largest cosine this far above t is not that of a Tammes code."""
_ROOT_BITS = 256


class Verdict(Enum):
    """What a Softmax Code that was found without help from Tammes codes says."""

    COUNTEREXAMPLE = "counterexample"
    """Certified above 1 - t with t proved optimal: rho* = 1 - t* is false."""
    CANDIDATE = "candidate"
    """Certified above 1 - t with t best known: the conjecture fails, or t can be improved."""
    IMPROVES = "improves"
    """The code itself has a largest cosine below t: news for the table, not for the conjecture."""
    CONTRADICTION = "contradiction"
    """The same although t is proved optimal: the entry is wrong, or the code is."""
    LOOSE = "loose"
    """The same where t was only what a search of ours, or some construction, happened to reach:
    no news, and no test."""
    AGREES = "agrees"
    """Equal to 1 - t within 1e-9 (or the rounding of t, where that is coarser)."""
    BELOW = "below"
    """The search did not reach 1 - t, which says nothing."""


@dataclass(frozen=True)
class Judgement:
    """The two claims for one code."""

    one_minus_t: float
    excess: float
    """Certified lower end of rho, less 1 - t."""
    tolerance: float
    """What rounding may add up to: an excess above it is a proof as far as t is right."""
    verdict: Verdict
    """On `rho* = 1 - t*`."""
    same_maximiser: bool | None
    """Whether this code, where it reaches 1 - t, is a Tammes code too; None where it does not
    reach it, or where its largest cosine is too near to t to tell."""


def judge(
    rho: Bracket,
    max_cosine: float,
    t: float,
    *,
    error: float,
    proven: bool,
    listed: bool = True,
    defect: float = 0.0,
) -> Judgement:
    """Hold a code against the Tammes value of its (d, K).

    Args:
        rho: certified one-vs-rest distance of the code's rows as they are.
        max_cosine: of the same code, good to a few roundings.
        t: the largest cosine of the best Tammes code.
        error: how far t may be from the cosine of the code behind it.
        proven: that code is proved optimal.
        listed: t is a theorem's or a table's.
        defect: see `unit_defect`.

    Example:
        >>> at = 1 - 5 ** -0.5
        >>> judge(Bracket(at, at), 5 ** -0.5, 5 ** -0.5, error=0.0, proven=True).verdict
        <Verdict.AGREES: 'agrees'>
    """
    # Each row may move by `defect` on its way to the sphere, and so may the hull; 1 - t is
    # rounded, and so is the difference.
    tolerance = error + 2.0 * defect + 4.0 * UNIT * (2.0 + abs(t))
    one_minus_t = 1.0 - t
    excess = rho.lower - one_minus_t
    close = max(AGREES, tolerance)
    if max_cosine < t - tolerance:
        unproved = Verdict.IMPROVES if listed else Verdict.LOOSE
        verdict = Verdict.CONTRADICTION if proven else unproved
    elif excess > tolerance:
        verdict = Verdict.COUNTEREXAMPLE if proven else Verdict.CANDIDATE
    elif excess >= -close:
        verdict = Verdict.AGREES
    else:
        verdict = Verdict.BELOW
    same = None
    if excess >= -close:
        above = max_cosine - t
        same = True if above <= close else False if above > max(_APART, tolerance) else None
    return Judgement(one_minus_t, excess, tolerance, verdict, same)


def unit_defect(W: np.ndarray) -> float:
    """Proved bound on how far the lengths of rows (K, d) are from 1; 0.01 at the very most.

    Raises:
        ValueError: a row is not nearly of unit length.

    Example:
        >>> unit_defect(np.eye(3)) < 1e-14
        True
    """
    squares = np.einsum("kd,kd->k", W, W)
    off = float(np.abs(squares - 1.0).max())
    if not off < 0.01:
        raise ValueError(f"a row's squared length is off by {off:.1e}; normalise the rows")
    return (off + gamma(W.shape[1]) * 1.01) * (1.0 + 4.0 * UNIT)


def rational_margin(W: np.ndarray, H: np.ndarray) -> Fraction:
    """Smallest margin `<w_k - w_j, h_k>` of the normalised rows, bounded below in exact arithmetic.

    The doubles are taken as the rational numbers that they are; only lengths are irrational, and
    those are enclosed to 256 bits. By lemma C.4 rho_one_vs_rest of the exactly normalised code is
    at least this. K^2 d products of integers, one feature at a time: half a second at K = 300,
    d = 20.

    Args:
        W: code, shape (K, d), no zero row.
        H: a feature for each row, shape (K, d), no zero row.

    Example:
        >>> margin = rational_margin(np.eye(3), np.eye(3))
        >>> 0 <= 1 - margin < Fraction(1, 2**200)
        True
    """
    codes, features = _integers(W), _integers(H)
    code_roots = [_inverse_root(int(row.dot(row))) for row in codes]
    feature_roots = [_inverse_root(int(row.dot(row))) for row in features]
    worst: Fraction | None = None
    for k, (low_h, high_h) in enumerate(feature_roots):
        products = codes.dot(features[k])
        own = _scaled(int(products[k]), code_roots[k], upper=False)
        others = max(
            _scaled(int(products[j]), root, upper=True)
            for j, root in enumerate(code_roots)
            if j != k
        )
        margin = own - others
        margin *= low_h if margin >= 0 else high_h
        worst = margin if worst is None else min(worst, margin)
    assert worst is not None
    return worst


def _integers(X: np.ndarray) -> np.ndarray:
    """X times a power of two, as exact Python integers."""
    fractions = [[Fraction(float(x)) for x in row] for row in X]
    scale = max(f.denominator for row in fractions for f in row)  # powers of two: the largest is
    return np.array(  # a multiple of each
        [[int(f * scale) for f in row] for row in fractions], dtype=object
    )


def _inverse_root(square: int) -> tuple[Fraction, Fraction]:
    """Enclosure of 1 / sqrt(square)."""
    root = isqrt(square << (2 * _ROOT_BITS))
    one = 1 << _ROOT_BITS
    return Fraction(one, root + 1), Fraction(one, root)


def _scaled(product: int, root: tuple[Fraction, Fraction], *, upper: bool) -> Fraction:
    low, high = root
    return product * (high if (product >= 0) == upper else low)
