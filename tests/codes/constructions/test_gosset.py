"""240, 56, 27, 16, 10: as stated, as in the table, and each inside the one before."""

from fractions import Fraction

import numpy as np
import pytest

from gnc_cli.codes.constructions.construction import Construction
from gnc_cli.codes.constructions.derived import derived_code
from gnc_cli.codes.constructions.gosset import CODES
from gnc_cli.codes.constructions.points import IntegerRows
from tests.codes.constructions.checks import assert_as_stated, gram, known_codes, spectrum
from tests.problems import PROBLEMS, e8_roots, hemicube


def integers(code: Construction) -> IntegerRows:
    rows = code.build()
    assert isinstance(rows, IntegerRows)
    return rows


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.name)
def test_as_stated_and_as_in_the_table(code: Construction) -> None:
    verified = assert_as_stated(code)
    row = known_codes()[code.d, code.K]
    assert code.proven and row["proven"] == "yes"
    assert code.cosine.value == pytest.approx(float(row["max_cosine"]), rel=1e-15)
    (problem,) = [p for p in PROBLEMS if (p.d, p.K) == (code.d, code.K)]
    assert verified.distribution is not None
    assert problem.contacts in (None, verified.distribution[0][1])


@pytest.mark.parametrize("base_row", [0, 130, 239])
def test_each_is_derived_from_the_one_before(base_row: int) -> None:
    rows = integers(CODES[0])
    for code, cosine in zip(CODES[1:], CODES[:-1], strict=True):
        rows = derived_code(rows, base_row % len(rows), Fraction(cosine.cosine.text))
        assert rows.shape == (code.K, code.d)
        assert rows.verify().distribution == integers(code).verify().distribution
        np.testing.assert_allclose(
            spectrum(gram(rows)), spectrum(gram(code.build())), rtol=0, atol=1e-14
        )


@pytest.mark.parametrize(("index", "points"), [(0, e8_roots), (3, hemicube)])
def test_other_coordinates(index: int, points: object) -> None:
    W = points()  # type: ignore[operator]
    np.testing.assert_allclose(
        spectrum(gram(CODES[index].build())), spectrum(W @ W.T), rtol=0, atol=1e-14
    )


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.name)
def test_spherical_designs(code: Construction) -> None:
    """Sharp codes with m products are designs of strength 2m - 1; here 3 at least, Petersen 2."""
    W = np.asarray(code.build())
    np.testing.assert_allclose(W.sum(axis=0), 0.0, atol=1e-13)
    np.testing.assert_allclose(W.T @ W, code.K / code.d * np.eye(code.d), atol=1e-12)
    if code.name != "petersen":
        assert ((W @ W.T) ** 3).sum() == pytest.approx(0.0, abs=1e-10)


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.name)
def test_wrong_rows_are_caught(code: Construction) -> None:
    rows = integers(code)
    doubled = rows.vectors.copy()
    doubled[-1] = doubled[0]
    assert not IntegerRows(doubled, rows.frame).verify().distinct
    # The antipode of a row: one too close in 27, 16 and 10 points, one there already in 240 and 56.
    turned = rows.vectors.copy()
    turned[-1] *= -1
    wrong = IntegerRows(turned, rows.frame).verify()
    assert wrong.max_cosine.value > code.cosine.value
    assert wrong.distinct == (code.K < 56)
