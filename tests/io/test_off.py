"""OFF files, read again by a plain parser, and held against Euler's formula."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gnc_cli import compare, solve
from gnc_cli.errors import DataError
from gnc_cli.io.codefile import CodeFile, read_points, write_code
from tests.problems import icosahedron, random_rotation, seven, snub_cube

CUBE = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])


def parsed(path: Path) -> tuple[np.ndarray, list[list[int]], int]:
    """Points, faces and the number of edges that the file claims."""
    head, counts, *lines = path.read_text().splitlines()
    if head == "nOFF":
        counts, lines = lines[0], [counts, *lines[1:]]
        assert int(lines.pop(0)) == len(lines[0].split())
    K, F, E = map(int, counts.split())
    faces = [list(map(int, line.split())) for line in lines[K:]]
    assert len(faces) == F and all(face[0] == len(face) - 1 for face in faces)
    points = np.array([list(map(float, line.split())) for line in lines[:K]])
    return points, [face[1:] for face in faces], E


@pytest.mark.parametrize(
    ("code", "sizes"),
    [
        (lambda: CUBE, {4: 6}),
        (icosahedron, {3: 20}),
        (snub_cube, {3: 32, 4: 6}),
        (seven, None),
        (lambda: np.random.default_rng(3).standard_normal((200, 3)), None),
    ],
)
def test_faces_are_those_of_the_hull(
    tmp_path: Path, code: Callable[[], np.ndarray], sizes: dict[int, int] | None
) -> None:
    W = code() @ random_rotation(np.random.default_rng(1), 3)
    write_code(tmp_path / "code.off", CodeFile(W))
    points, faces, edges = parsed(tmp_path / "code.off")
    assert np.array_equal(points, W) and np.array_equal(
        read_points(tmp_path / "code.off").weights, W
    )
    if sizes is not None:
        assert {n: sum(len(face) == n for face in faces) for n in sizes} == sizes
        assert len(faces) == sum(sizes.values())
    sides = [(f[i - 1], f[i]) for f in faces for i in range(len(f))]
    assert len(W) - edges + len(faces) == 2
    # Each edge is there once in each direction: a closed surface, all of one orientation.
    assert len(set(sides)) == len(sides) == 2 * edges
    assert {(b, a) for a, b in sides} == set(sides)
    unit = W / np.linalg.norm(W, axis=1, keepdims=True)
    for face in faces:
        normal = np.cross(unit[face[1]] - unit[face[0]], unit[face[2]] - unit[face[1]])
        assert (unit @ normal).max() <= unit[face[0]] @ normal + 1e-9  # from outside


def test_other_dimensions_and_flat_codes_are_points(tmp_path: Path) -> None:
    for W in (np.eye(4), np.eye(2), np.eye(3), np.vstack([np.eye(3)[:2], -np.eye(3)[:2]])):
        write_code(tmp_path / "code.off", CodeFile(W), force=True)
        points, faces, edges = parsed(tmp_path / "code.off")
        assert np.array_equal(points, W) and faces == [] and edges == 0
        assert (tmp_path / "code.off").read_text().startswith("OFF" if W.shape[1] == 3 else "nOFF")


def test_commands_write_it(tmp_path: Path) -> None:
    solve(3, 6, out=tmp_path / "six.off")
    (row,) = compare(tmp_path / "six.off", export=tmp_path / "out").rows
    assert row.congruent_to == "orthoplex-3"
    assert len(parsed(tmp_path / "six.off")[1]) == 8
    assert (tmp_path / "out" / "coordinates.off").read_bytes() == (
        tmp_path / "six.off"
    ).read_bytes()


@pytest.mark.parametrize(
    "text",
    [
        "OFF",
        "OFF 3 0",
        "OFF\n-3 0 0\n1 0 0\n",
        "OFF\n999999999999999999 0 0\n1 0 0\n",
        "nOFF\n0\n3 0 0\n",
        "nOFF\nx\n3 0 0\n",
        "OFF\n2 0 0\n1 0 0\n0 1 x\n",
        "OFF\n2 9 0\n1 0 0\n0 1 0\n",
        "OFF\n" + "9" * 5000 + " 0 0\n",
        "COFF\n2 0 0\n1 0 0 1 1 1 1\n0 1 0 1 1 1 1\n",
        # Colours of points, no count of edges, a point too many or too few, a corner of no point, a
        # negative count, other digits.
        "OFF\n4 2 0\n1 0 0 9 0 0\n0 1 0 9 0 0\n0 0 1 0 0 0\n-1 -1 -1 0 0 0\n3 0 1 2\n3 1 2 3\n",
        "OFF\n3 1\n1 0 0\n0 1 0\n0 0 1\n3 0 1 2\n",
        "OFF\n4 1 3\n1 0 0\n0 1 0\n0 0 1\n3 0 1 2\n",
        "OFF\n2 1 3\n1 0 0\n0 1 0\n0 0 1\n3 0 1 2\n",
        "OFF\n3 1 3\n1 0 0\n0 1 0\n0 0 1\n3 0 1 99\n",
        "OFF\n3 -1 3\n1 0 0\n0 1 0\n0 0 1\n3 0 1 2\n",
        "OFF\n0_2 0 0\n1 0 0\n0 1 0\n",
        "OFF\n2 0 0\n1_0 0 0\n0 1 0\n",
        "OFF\n\u0662 0 0\n1 0 0\n0 1 0\n",
    ],
)
def test_bad_files_are_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "code.off"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match="code.off") as caught:
        read_points(path)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 300
    assert "invalid literal" not in str(caught.value) and "index" not in str(caught.value)


def test_files_of_others(tmp_path: Path) -> None:
    path = tmp_path / "code.off"
    path.write_text("OFF 3 1 3 # a triangle\n\n1 0 0  0 1 0\n0 0 1\n3 0 1 2 255 0 0\n")
    assert np.array_equal(read_points(path).weights, np.eye(3))
