"""Signed nets: figures from all pairs, lines of the plane, wrong lines and patterns."""

import numpy as np
import pytest

from gnc_cli.constructions.families.signed_nets import (
    NetRows,
    net_lines,
    quadruples,
    sign_patterns,
)
from tests.constructions.checks import check, named


def test_a_net_too_far_from_a_plane_to_be_searched() -> None:
    code = named("net-9-4")
    assert (code.d, code.K, code.cosine.text) == (36, 648, "1/4")
    check(code)


@pytest.mark.parametrize("r", [3, 4, 5, 7, 8, 9, 11, 12, 13, 20, 21, 23, 60])
def test_patterns(r: int) -> None:
    signs = sign_patterns(r).astype(int)
    assert len(signs) == {0: r, 1: r - 1, 3: r + 1}[r % 4] and set(np.abs(signs).flat) == {1}
    assert np.abs(signs @ signs.T - r * np.eye(len(signs))).max() <= 1


def test_wrong_lines_and_patterns_are_caught() -> None:
    lines, patterns = net_lines(5, 4), sign_patterns(4)
    wrong = lines.copy()
    wrong[3, 2] = wrong[4, 2]
    with pytest.raises(ValueError, match="two points share two lines"):
        NetRows(wrong, patterns).verify()
    wrong = lines.copy()
    wrong[3, 2] = wrong[3, 1]
    with pytest.raises(ValueError, match="twice on a line"):
        NetRows(wrong, patterns).verify()
    signs = patterns.copy()
    signs[1, 1] *= -1
    with pytest.raises(ValueError, match="not patterns of signs"):
        NetRows(lines, signs).verify()


@pytest.mark.parametrize(
    ("d", "number"), [(9, 18), (10, 30), (11, 35), (12, 51), (13, 65), (14, 91)]
)
def test_quadruples_share_two_points_at_most(d: int, number: int) -> None:
    blocks = quadruples(d)
    assert blocks.shape == (number, d) and set(blocks.sum(axis=1).tolist()) == {4}
    assert (blocks @ blocks.T - 2 * np.eye(number)).max() <= 2
    code = named(f"signed-quadruples-{d}")
    assert (code.K, code.cosine.text) == (16 * number + 2 * d, "1/2")
    if d in (10, 14):  # a Steiner system: every three points lie in one block
        assert number == d * (d - 1) * (d - 2) // 24
