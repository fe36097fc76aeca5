"""Signed nets: figures from all pairs, lines of the plane, wrong lines and patterns."""

import numpy as np
import pytest

from gnc_cli.constructions.families.signed_nets import NetRows, net_lines, sign_patterns
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
