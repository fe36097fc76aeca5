"""Shares of cones: elementary formulas, Schlaefli's differential formula, tilings, mpmath."""

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import erfcx, wofz

from gnc_cli.limits.simplex_angle import faddeeva, log_simplex_share, precise_simplex_share

PI = math.pi


def angle(c: Any) -> Any:
    """Of two unit vectors."""
    return mpmath.acos(c) / (2 * mpmath.pi)


def excess(c: Any) -> Any:
    """Of a regular spherical triangle, over the sphere's area."""
    return (3 * mpmath.acos(c / (1 + c)) - mpmath.pi) / (4 * mpmath.pi)


def schlaefli(n: int, c: Any, face: Callable[[Any], Any]) -> Any:
    """The share for n vectors from that for n - 2: d share / d dihedral = C(n, 2) face / (2 pi).

    The dihedral angle has cosine c / (1 + (n - 2) c); at c = 1 the simplex is a point.
    """

    def edge(dihedral: Any) -> Any:
        r = mpmath.cos(dihedral)
        return r / (1 - (n - 2) * r)

    flat, dihedral = mpmath.acos(mpmath.mpf(1) / (n - 1)), mpmath.acos(c / (1 + (n - 2) * c))
    integral = mpmath.quad(lambda theta: face(edge(theta)), [flat, dihedral])
    return n * (n - 1) / 2 * integral / (2 * mpmath.pi)


SMALL = {
    2: angle,
    3: excess,
    4: lambda c: schlaefli(4, c, angle),
    5: lambda c: schlaefli(5, c, excess),
}


@pytest.mark.parametrize("n", SMALL)
@pytest.mark.parametrize("c", ["1e-12", "0.001", "0.3", "0.5", "0.9", "0.999", "0.9999999999"])
def test_low_dimensions(n: int, c: str) -> None:
    with mpmath.workdps(50):
        cosine = mpmath.mpf(c)
        q = cosine / (1 - cosine)
        witness = SMALL[n](cosine)
        assert abs(log_simplex_share(n, float(q)) - mpmath.log(witness)) < n * 1e-14
        if n > 2:
            with mpmath.workdps(30):
                assert abs(precise_simplex_share(n, q) / witness - 1) < 1e-28


@pytest.mark.parametrize(
    ("n", "c", "cells"), [(3, 1 / math.sqrt(5), 20), (4, math.cos(PI / 5), 600)]
)
def test_simplices_that_tile_the_sphere(n: int, c: float, cells: int) -> None:
    """The icosahedron's triangles and the 600-cell's tetrahedra."""
    assert math.exp(log_simplex_share(n, c / (1 - c))) == pytest.approx(1 / cells, rel=1e-13)


@pytest.mark.parametrize("n", [2, 7, 100, 10**6])
def test_orthogonal_vectors_span_an_orthant(n: int) -> None:
    assert log_simplex_share(n, 0.0) == pytest.approx(-n * math.log(2), rel=1e-14)


@pytest.mark.parametrize("n", [6, 17, 300])
@pytest.mark.parametrize("c", ["0.01", "0.5", "0.95"])
def test_schlaefli_in_high_dimensions(n: int, c: str) -> None:
    with mpmath.workdps(40):
        cosine, h = mpmath.mpf(c), mpmath.mpf(10) ** -14

        def at(m: int, x: Any) -> Any:
            return precise_simplex_share(m, x / (1 - x))

        def dihedral(x: Any) -> Any:
            return mpmath.acos(x / (1 + (n - 2) * x))

        low, high = cosine - h, cosine + h
        slope = (at(n, high) - at(n, low)) / (dihedral(high) - dihedral(low))
        face = n * (n - 1) / 2 * at(n - 2, cosine) / (2 * mpmath.pi)
        assert abs(slope / face - 1) < 1e-18


@settings(max_examples=15, deadline=None)
@given(log_n=st.floats(math.log(3), math.log(1e6)), log_q=st.floats(-30, 40))
def test_against_mpmath(log_n: float, log_q: float) -> None:
    n, q = int(math.exp(log_n)), math.exp(log_q)
    with mpmath.workdps(25):
        witness = mpmath.log(precise_simplex_share(n, mpmath.mpf(q)))
        assert abs(log_simplex_share(n, q) - witness) < n * 1e-14


@given(n=st.integers(2, 10**6), log_q=st.floats(-30, 40))
def test_closer_vectors_span_less(n: int, log_q: float) -> None:
    near, far = (log_simplex_share(n, math.exp(log_q + step)) for step in (0.1, 0.0))
    assert near < far + n * 1e-14


@pytest.mark.parametrize("q", [math.nan, math.inf])
def test_no_angle_has_no_cone(q: float) -> None:
    with pytest.raises(ArithmeticError, match=f"no saddle point for the cone of 5 vectors .* {q}"):
        log_simplex_share(5, q)
    with pytest.raises(ArithmeticError, match="no saddle point"):
        precise_simplex_share(5, mpmath.mpf(q))


# The Faddeeva function


def test_faddeeva_against_mpmath(rng: np.random.Generator) -> None:
    parts = 10.0 ** rng.uniform(-6, 1, (200, 2)) * np.column_stack(
        [rng.choice([-1, 1], 200), np.ones(200)]
    )
    with mpmath.workdps(30):
        for x, y in parts:
            z = mpmath.mpc(x, y)
            with mpmath.workdps(30 + int(abs(z) ** 2)):
                witness = mpmath.exp(-z * z) * mpmath.erfc(-1j * z)
            assert abs(faddeeva(complex(x, y)) / witness - 1) < 1e-14


def test_faddeeva_against_scipy_in_an_array(rng: np.random.Generator) -> None:
    z = rng.normal(size=(50, 40)) * 10.0 ** rng.uniform(-3, 3, (50, 40))
    z = z + 1j * np.abs(rng.normal(size=(50, 40)) * 10.0 ** rng.uniform(-3, 3, (50, 40)))
    np.testing.assert_allclose(faddeeva(z), wofz(z), rtol=5e-14)


@pytest.mark.parametrize("u", [0.0, 1e-9, 0.5, 3.0, 40.0, 1e8, 1e100])
def test_faddeeva_on_the_imaginary_axis_is_erfcx(u: float) -> None:
    w = faddeeva(complex(0.0, u))
    assert w.imag == 0.0
    assert w.real == pytest.approx(erfcx(u), rel=2e-15)
