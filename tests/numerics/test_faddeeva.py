"""w(z) against mpmath and SciPy, from the origin to 1e100."""

import mpmath
import numpy as np
import pytest
from scipy.special import erfcx, wofz

from gnc_cli.numerics.faddeeva import faddeeva


def test_against_mpmath() -> None:
    rng = np.random.default_rng(0)
    parts = 10.0 ** rng.uniform(-6, 1, (200, 2)) * np.column_stack(
        [rng.choice([-1, 1], 200), np.ones(200)]
    )
    with mpmath.workdps(30):
        for x, y in parts:
            z = mpmath.mpc(x, y)
            with mpmath.workdps(30 + int(abs(z) ** 2)):
                witness = mpmath.exp(-z * z) * mpmath.erfc(-1j * z)
            assert abs(faddeeva(complex(x, y)) / witness - 1) < 1e-14


def test_against_scipy_in_an_array() -> None:
    rng = np.random.default_rng(1)
    z = rng.normal(size=(50, 40)) * 10.0 ** rng.uniform(-3, 3, (50, 40))
    z = z + 1j * np.abs(rng.normal(size=(50, 40)) * 10.0 ** rng.uniform(-3, 3, (50, 40)))
    np.testing.assert_allclose(faddeeva(z), wofz(z), rtol=5e-14)


@pytest.mark.parametrize("u", [0.0, 1e-9, 0.5, 3.0, 40.0, 1e8, 1e100])
def test_on_the_imaginary_axis_it_is_erfcx(u: float) -> None:
    w = faddeeva(complex(0.0, u))
    assert w.imag == 0.0
    assert w.real == pytest.approx(erfcx(u), rel=2e-15)
