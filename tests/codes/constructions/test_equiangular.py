"""276 equiangular lines: the code, its two-graph, and McLaughlin's graph in its switching class."""

import numpy as np
import pytest

from gnc_cli.codes.constructions.equiangular import CODES, regular_two_graph
from gnc_cli.codes.constructions.strongly_regular import StronglyRegular, strongly_regular
from tests.codes.constructions.holds import assert_holds

(CODE,) = CODES


def _signs() -> np.ndarray:
    """Seidel matrix of the lines, one vector chosen on each, in integers."""
    vectors = CODE.build().vectors  # type: ignore[attr-defined]
    first = vectors[np.arange(552), (vectors != 0).argmax(1)] > 0
    half = vectors[first]
    signs: np.ndarray = np.sign(half @ half.T) - np.eye(len(half), dtype=int)
    return signs


def test_552_points() -> None:
    assert (CODE.d, CODE.K, CODE.cosine.text) == (23, 552, "1/5")
    assert_holds(CODE)


def test_the_two_graph_is_regular() -> None:
    signs = _signs()
    assert regular_two_graph(signs) == (55, -5)
    # Gerzon's bound on lines in 23 dimensions is met.
    assert len(signs) == 23 * 24 // 2


def test_isolating_a_line_leaves_mclaughlin() -> None:
    # Signs chosen so that the first line is positive to all; the others join at negative products.
    signs = _signs()
    switch = np.append(1, signs[0, 1:])
    isolated = (signs * switch * switch[:, None])[1:, 1:]
    assert strongly_regular(isolated == -1) == StronglyRegular(275, 112, 30, 56)


def test_a_flipped_sign_is_caught() -> None:
    signs = _signs()
    signs[3, 200] *= -1
    signs[200, 3] *= -1
    with pytest.raises(ValueError, match="more than two eigenvalues"):
        regular_two_graph(signs)


def test_what_is_no_seidel_matrix() -> None:
    for wrong in (np.ones((3, 3)), np.zeros((3, 3)), np.array([[0, 1], [-1, 0]]), np.zeros((0, 0))):
        with pytest.raises(ValueError, match="not a Seidel matrix"):
            regular_two_graph(wrong)


def test_28_lines_are_a_two_graph_and_the_icosahedron_has_irrational_ones() -> None:
    # Entries 3, 3, -1, .., -1 of eight; the six diagonals, with eigenvalues +-sqrt(5).
    lines = np.array([[3 if k in (i, j) else -1 for k in range(8)]
                      for i in range(8) for j in range(i)])  # fmt: skip
    signs = np.sign(lines @ lines.T) - np.eye(28)
    assert regular_two_graph(signs) == (9, -3)
    pentagon = np.roll(np.eye(5), 1, axis=1) + np.roll(np.eye(5), -1, axis=1)
    six = np.ones((6, 6)) - np.eye(6)
    six[1:, 1:] -= 2 * (1 - np.eye(5) - pentagon)
    with pytest.raises(ValueError, match="irrational"):
        regular_two_graph(six)
