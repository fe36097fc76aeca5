"""Isotropic lines: the quadrangle by counting points, the codes by their figures."""

import numpy as np
import pytest

from gnc_cli.constructions.families.graphs import StronglyRegular, strongly_regular
from gnc_cli.constructions.families.isotropic import isotropic_lines, meeting
from gnc_cli.constructions.fields import finite_field
from tests.constructions.checks import named

EXACT = {2: (6, 27, "1/4"), 3: (21, 112, "1/9"), 4: (52, 325, "1/16"), 5: (105, 756, "1/25")}
"""Cohn and Kumar 2007, Table 1."""


@pytest.mark.parametrize("q", EXACT)
def test_figures(q: int) -> None:
    code = named(f"isotropic-{q}")
    assert (code.d, code.K, code.cosine.text) == EXACT[q]


@pytest.mark.parametrize("q", [2, 3, 4, 5])
def test_parameters_of_the_graph(q: int) -> None:
    graph = strongly_regular(meeting(*isotropic_lines(q)))
    size, degree = (q + 1) * (q**3 + 1), q * (q * q + 1)
    assert graph == StronglyRegular(size, degree, q - 1, q * q + 1)
    assert graph.eigenvalues()[1] == (-(q * q) - 1, q * (q * q - q + 1))


@pytest.mark.parametrize("q", [2, 3])
def test_the_lines_are_a_generalized_quadrangle(q: int) -> None:
    field, (tables, lines) = finite_field(q * q), isotropic_lines(q)
    every = np.array([(s, t) for s in range(q * q) for t in range(q * q)][1:])
    points = []
    for x, y in lines:
        vectors = tables.plus[tables.times[every[:, :1], x], tables.times[every[:, 1:], y]]
        # Every vector of the plane is isotropic: sum_i x_i^(q + 1) = 0.
        norms = field.power(vectors, q + 1)
        assert not tables.dot(norms, np.ones_like(norms)).any()
        leading = vectors[np.arange(len(vectors)), (vectors != 0).argmax(1)]
        points.append({tuple(v) for v in vectors[leading == 1].tolist()})
    assert all(len(on_line) == q * q + 1 for on_line in points)
    assert len(set.union(*points)) == (q * q + 1) * (q**3 + 1)
    meet = np.array([[bool(a & b) for b in points] for a in points])
    np.fill_diagonal(meet, False)
    assert np.array_equal(meet, meeting(tables, lines))


def test_lines_that_are_not_isotropic_are_no_code() -> None:
    # A line in place of another: meets too many or too few.
    tables, lines = isotropic_lines(2)
    wrong = lines.copy()
    wrong[5] = [[1, 0, 0, 0], [0, 1, 0, 0]]
    with pytest.raises(ValueError, match="not strongly regular"):
        strongly_regular(meeting(tables, wrong))
