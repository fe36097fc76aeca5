"""Many digits of a code in a file, and what stands in their way."""

import numpy as np

from gnc_cli import compare
from gnc_cli.comparison.result import ListedRow
from gnc_cli.geometry.sphere import random_points
from tests.comparison.samples import built, only


def test_digits_of_the_snub_cube() -> None:
    noisy = built("snub-cube") + 1e-9 * np.random.default_rng(0).standard_normal((24, 3))
    digits = only(compare(noisy, digits=60, tolerance=1e-6)).digits
    (entry,) = compare(list=True, d=3, K=24).rows
    assert isinstance(entry, ListedRow) and digits is not None and digits.cosine is not None
    assert digits.cosine.startswith(entry.figure[:-1]) and len(digits.cosine) == 62
    assert digits.contacts == 60 and digits.how == "contacts" and digits.obstacle is None
    # 7 t^3 + t^2 - 3 t - 1, by eliminating the tribonacci constant from Robinson's formula.
    assert digits.polynomial is not None and digits.polynomial.evidence > 40
    assert digits.polynomial.coefficients == ("7", "1", "-3", "-1")
    assert digits.polynomial.text == "7x^3 + x^2 - 3x - 1"
    assert digits.moved is not None and 0 < digits.moved < 1e-7


def test_digits_that_cannot_be_had() -> None:
    rough = built("snub-cube") + 1e-2 * np.random.default_rng(0).standard_normal((24, 3))
    digits = only(compare(rough, digits=30)).digits
    assert digits is not None and digits.cosine is None and digits.obstacle and digits.advice
    large = random_points(np.random.default_rng(0), 3001, 3)
    for limit, obstacle in ((None, "too_large"), (1e-9, "out_of_time")):
        digits = only(compare(large, digits=30, time_limit=limit)).digits
        assert digits is not None and digits.obstacle == obstacle


def test_a_polynomial_takes_no_more_digits_than_it_needs() -> None:
    digits = only(compare(built("icosahedron"), digits=400)).digits
    assert digits is not None and digits.polynomial is not None and digits.cosine is not None
    assert digits.polynomial.text == "5x^2 - 1" and len(digits.cosine) == 402
