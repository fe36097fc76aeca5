"""Isotropic lines: the quadrangle by counting points, the codes by their figures."""

import numpy as np
import pytest

from gnc_cli.codes.constructions.finite_fields import finite_field
from gnc_cli.codes.constructions.isotropic import (
    FAMILIES,
    in_dimension,
    isotropic_lines,
    meeting,
    named,
)
from gnc_cli.codes.constructions.strongly_regular import StronglyRegular, strongly_regular
from tests.codes.constructions.holds import assert_holds

EXACT = {2: (6, 27, "1/4"), 3: (21, 112, "1/9"), 4: (52, 325, "1/16"), 5: (105, 756, "1/25")}
"""Cohn and Kumar 2007, Table 1."""


@pytest.mark.parametrize("q", [2, 3, 4, 5, 7])
def test_codes(q: int) -> None:
    code = named(f"isotropic-{q}")
    assert code is not None
    assert (code.d, code.K, code.cosine.text) == EXACT.get(q, (301, 2752, "1/49"))
    assert_holds(code)


@pytest.mark.parametrize("q", [2, 3, 4, 5, 7])
def test_parameters_of_the_graph(q: int) -> None:
    graph = strongly_regular(meeting(*isotropic_lines(q)))
    size, degree = (q + 1) * (q**3 + 1), q * (q * q + 1)
    assert graph == StronglyRegular(size, degree, q - 1, q * q + 1)
    assert graph.eigenvalues()[1] == (-(q * q) - 1, q * (q * q - q + 1))


@pytest.mark.parametrize("q", [2, 3])
def test_the_lines_are_a_generalized_quadrangle(q: int) -> None:
    field, lines = isotropic_lines(q)
    every = np.array([(s, t) for s in range(q * q) for t in range(q * q)][1:])
    points = []
    for x, y in lines:
        vectors = field.plus[field.times[every[:, :1], x], field.times[every[:, 1:], y]]
        # Every vector of the plane is isotropic: sum_i x_i^(q + 1) = 0.
        norms = field.power(q + 1)[vectors]
        assert not field.dot(norms, np.ones_like(norms)).any()
        leading = vectors[np.arange(len(vectors)), (vectors != 0).argmax(1)]
        points.append({tuple(v) for v in vectors[leading == 1].tolist()})
    assert all(len(on_line) == q * q + 1 for on_line in points)
    assert len(set.union(*points)) == (q * q + 1) * (q**3 + 1)
    meet = np.array([[bool(a & b) for b in points] for a in points])
    np.fill_diagonal(meet, False)
    assert np.array_equal(meet, meeting(field, lines))


def test_lines_that_are_not_isotropic_are_no_code() -> None:
    # A line in place of another: meets too many or too few.
    field, lines = isotropic_lines(2)
    wrong = lines.copy()
    wrong[5] = [[1, 0, 0, 0], [0, 1, 0, 0]]
    with pytest.raises(ValueError, match="not strongly regular"):
        strongly_regular(meeting(field, wrong))


def test_lookups_agree() -> None:
    (family,) = FAMILIES
    orders = [int(q) for q in family.range.removeprefix("q = ").split(", ")]
    assert orders[:4] == [2, 3, 4, 5]
    for q in orders:
        code = named(f"isotropic-{q}")
        assert code is not None and in_dimension(code.d) == (code,)
        for formula, value in ((family.d, code.d), (family.K, code.K)):
            python = formula.replace("^", "**").replace(" (", "*(").replace(")(", ")*(")
            assert eval(python, {"q": q}) == value
        assert finite_field(q * q).order == q * q
    assert named("isotropic-6") is None and named("isotropic-02") is None
    assert in_dimension(20) == ()
