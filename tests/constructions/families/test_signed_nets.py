"""Signed nets: figures from all pairs, lines of the plane, wrong lines and patterns."""

import numpy as np
import pytest

from gnc_cli.constructions.families.signed_nets import NetRows, net_lines, sign_patterns
from tests.constructions.checks import check, named


def test_a_net_too_far_from_a_plane_to_be_searched() -> None:
    code = named("net-9-4")
    assert (code.d, code.K, code.cosine.text) == (36, 648, "1/4")
    check(code)


@pytest.mark.parametrize(("q", "r"), [(4, 5), (9, 10), (8, 3)])
def test_two_points_share_one_line_at_most(q: int, r: int) -> None:
    lines = net_lines(q, r)
    sets = [set(point) for point in lines.tolist()]
    shared = [len(a & b) for i, a in enumerate(sets) for b in sets[:i]]
    assert set(shared) <= {0, 1} and all(len(s) == r for s in sets)
    assert np.array_equal(np.bincount(lines.ravel()), np.full(r * q, q))
    # The whole plane: every two points share a line.
    assert (min(shared) == 1) == (r == q + 1)


def test_a_steiner_frame_is_equiangular() -> None:
    # With r + 1 patterns and all classes of lines no two lines of vectors are orthogonal.
    rows = NetRows(net_lines(2, 3), sign_patterns(3))
    W = np.asarray(rows)[::2]
    assert W.shape == (16, 6)
    np.testing.assert_allclose(np.abs(W @ W.T), np.eye(16) + (1 - np.eye(16)) / 3, atol=1e-15)
    np.testing.assert_allclose(W.T @ W, 16 / 6 * np.eye(6), atol=1e-14)


@pytest.mark.parametrize("r", [3, 4, 5, 7, 8, 9, 11, 12, 13, 20, 21, 23, 60])
def test_patterns(r: int) -> None:
    signs = sign_patterns(r).astype(int)
    assert len(signs) == {0: r, 1: r - 1, 3: r + 1}[r % 4] and set(np.abs(signs).flat) == {1}
    assert np.abs(signs @ signs.T - r * np.eye(len(signs))).max() <= 1


def test_wrong_lines_and_patterns_are_caught() -> None:
    lines, patterns = net_lines(5, 4), sign_patterns(4)
    wrong = lines.copy()
    wrong[3, 2] = wrong[4, 2]
    with pytest.raises(ValueError, match="two points share their lines"):
        NetRows(wrong, patterns).verify()
    wrong = lines.copy()
    wrong[3, 2] = wrong[3, 1]
    with pytest.raises(ValueError, match="a line in common"):
        NetRows(wrong, patterns).verify()
    signs = patterns.copy()
    signs[1, 1] *= -1
    with pytest.raises(ValueError, match="not patterns of signs"):
        NetRows(lines, signs).verify()
