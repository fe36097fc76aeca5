"""`gnc_cli.bounds` beside the formulas as the literature has them, in fifty digits.

Nothing here knows how the bounds are computed: caps are integrals of sin^(d-2), done by quadrature,
Gamma functions are mpmath's own, and what `bounds` solves for is put back into its equation.
"""

from collections.abc import Callable

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

import gnc_cli

DIGITS = 50
NEGLECTED = 70
"""A power of e: what is cut off integrals is smaller by so much."""
TINY = 1e-290
"""Smaller values have fewer digits in a double."""
PIECE = 4
"""The integrand falls about by so many powers of e in a piece."""

dimensions = st.integers(2, 40) | st.integers(2, 1024) | st.integers(2, 10**6)
sizes = st.integers(4, 10**4) | st.integers(4, 10**9) | st.floats(9.0, 299.0).map(
    lambda e: int(10.0**e)
)  # fmt: skip


def integral(d: int, angle: mpf, weight: Callable[[mpf], mpf]) -> mpf:
    """Of sin^(d-2)(x) weight(x) over 0..angle, in units of sin^(d-2)(angle); angle up to pi/2.

    The weight falls with x.
    """
    power, top = d - 2, mpmath.sin(angle)
    step = angle
    if power:
        step = min(angle, PIECE * min(mpmath.tan(angle), mpmath.sqrt(power)) / power)
    points = [angle]
    while points[-1] > 0 and power * mpmath.log(mpmath.sin(points[-1]) / top) > -NEGLECTED:
        points.append(max(points[-1] - step, mpf(0)))
    # Quadrature has an absolute tolerance: so x as a share of the angle, weights as shares.
    most = weight(mpf(0))
    shares = [x / angle for x in reversed(points)]

    def integrand(share: mpf) -> mpf:
        x = share * angle
        return (mpmath.sin(x) / top) ** power * weight(x) / most

    return angle * most * mpmath.quad(integrand, shares, method="gauss-legendre")


def whole_sphere(d: int) -> mpf:
    """The integral of sin^(d-2) over 0..pi."""
    return mpmath.sqrt(mpmath.pi) * mpmath.gammaprod([mpf(d - 1) / 2], [mpf(d) / 2])


def covering_error(d: int, K: int, clearance: mpf) -> mpf:
    """Of a clearance c with share(c) = 1/(K - 1), relative, by one step of Newton's in log c."""
    angle = 2 * mpmath.asin(mpmath.sqrt(clearance / 2))
    part = integral(d, angle, lambda x: mpf(1))
    share = part * mpmath.sin(angle) ** (d - 2) / whole_sphere(d)
    # d share / d angle is sin^(d-2), d c / d angle is sin.
    slope = clearance / (part * mpmath.sin(angle))
    return mpmath.log(share * (K - 1)) / slope


def caps_error(d: int, K: int, clearance: mpf) -> mpf:
    """Of a clearance z = sin^2(b) with B sin(b) tan(b) / (2 J) = K, in the same way."""
    b = mpmath.asin(mpmath.sqrt(clearance))
    plain = integral(d, b, lambda x: mpf(1))
    J = integral(d, b, lambda x: 2 * mpmath.sin((b - x) / 2) * mpmath.sin((b + x) / 2))
    scale = mpmath.sin(b) ** (d - 2)
    points = whole_sphere(d) * mpmath.sin(b) * mpmath.tan(b) / (2 * J * scale)
    slope = 1 / mpmath.tan(b) + 2 / mpmath.sin(2 * b) - mpmath.sin(b) * plain / J
    return mpmath.log(points / K) / (slope * mpmath.tan(b) / 2)


def theorem_3_9(d: int, K: int) -> tuple[mpf, mpf]:
    """Both sides as the paper prints them."""
    half, root = mpf(d) / 2, mpmath.sqrt(mpmath.pi)
    ratio = mpmath.gammaprod([half + mpf(1) / 2], [half + 1])
    other = mpmath.gammaprod([half + mpf(1) / 2], [half])
    low = (root / K * ratio) ** (mpf(2) / (d - 1)) / 2
    return low, 2 * (2 * root / K * other) ** (mpf(1) / (d - 1))


def fejes_toth(K: int) -> mpf:
    """Half the square of the chord on S^2."""
    w = mpf(K) / (K - 2) * mpmath.pi / 6
    return (4 - mpmath.csc(w) ** 2) / 2


@settings(max_examples=30)
@given(dimensions, sizes)
def test_rows_against_the_literature(d: int, K: int) -> None:
    check(d, K)


@pytest.mark.parametrize(
    "d, K", [(10, 100), (512, 10**4), (64, 10**5), *((3, K) for K in (4, 5, 12, 10**30))]
)
def test_pairs_that_are_asked_for(d: int, K: int) -> None:
    check(d, K)


def test_as_far_as_it_goes() -> None:
    check(10**6, 10**300)


def check(d: int, K: int) -> None:
    """Every row that a formula above speaks of, and that the best is no worse than they."""
    result = gnc_cli.bounds(d=d, K=K)
    rows = {(row.name, row.side): row for row in result.rows}
    (best,) = result.best
    with mpmath.workdps(DIGITS):
        least = mpmath.sqrt(2 * mpmath.pi * mpmath.sqrt(mpmath.e) * d)
        low, high = theorem_3_9(d, K)
        expected = {
            ("theorem-3.9", "lower"): low,
            ("theorem-3.9", "upper"): high,
            ("rankin", "upper"): mpf(K) / (K - 1) if K <= d + 1 else mpf(1),
        }
        if d == 3:
            expected["fejes-toth", "upper"] = fejes_toth(K)
        for key, value in expected.items():
            row = rows[key]
            assert row.valid == (row.name != "theorem-3.9" or K >= least)
            if value < TINY:
                continue
            assert abs(row.value / value - 1) < 1e-12, row
            if row.valid and row.side == "lower":
                assert best.lower >= value * (1 - mpf(1e-12))
            elif row.valid:
                assert best.upper <= value * (1 + mpf(1e-12))
        covered = rows["covering", "lower"].value
        assert best.lower >= covered
        if covered > TINY:
            assert abs(covering_error(d, K, mpf(covered))) < 1e-12
        caps = rows.get(("rankin-caps", "upper"))
        if caps is not None and caps.value > TINY:
            assert abs(caps_error(d, K, mpf(caps.value))) < 1e-12
