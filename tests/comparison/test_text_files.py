"""Coordinates as others publish them: Sloane's single numbers, points per line, all the rest."""

from pathlib import Path

import numpy as np
import pytest

from gnc_cli.comparison.text_files import read_published
from gnc_cli.errors import DataError, GncError, UsageError

CODE = np.array([[1.0, 2.0, 0.5], [-1.0, 0.25, 3.0], [0.0, 1.0, 1e-12], [4.0, -0.0, 1.0]])


def single(path: Path, numbers: np.ndarray = CODE) -> Path:
    path.write_text("".join(f"{x!r}\n" for x in numbers.ravel().tolist()))
    return path


@pytest.mark.parametrize("name", ["pack.3.4.txt", "ipack.3.4.txt", "PACK.3.4.TXT"])
def test_sloane_says_the_dimension_in_the_name(tmp_path: Path, name: str) -> None:
    path = single(tmp_path / name)
    assert np.array_equal(read_published(path).weights, CODE)
    assert np.array_equal(read_published(path, 3).weights, CODE)


def test_the_dimension_may_be_given(tmp_path: Path) -> None:
    path = single(tmp_path / "mine.txt")
    assert np.array_equal(read_published(path, 3).weights, CODE)
    assert read_published(path, 2).weights.shape == (6, 2)
    assert read_published(single(tmp_path / "pack.9.9.txt"), 3).weights.shape == (4, 3)
    with pytest.raises(UsageError, match="d=3"):
        read_published(path)


@pytest.mark.parametrize(
    ("name", "d", "words"),
    [
        ("pack.3.5.txt", None, "12 numbers, its name promises 5 points of 3"),
        ("mine.txt", 5, "no points of d=5"),
        ("mine.txt", 12, "K >= 2"),
        ("pack.0.0.txt", None, "12 numbers"),
        ("pack.1.12.txt", None, "d >= 2"),
    ],
)
def test_numbers_that_make_no_points(tmp_path: Path, name: str, d: int | None, words: str) -> None:
    with pytest.raises(DataError, match=words) as caught:
        read_published(single(tmp_path / name), d)
    assert name in str(caught.value) and "\n" not in str(caught.value)


def test_what_is_wrong_with_a_point_is_said_of_points(tmp_path: Path) -> None:
    for value in (0.0, np.nan):
        spoilt = CODE.copy()
        spoilt[2] = value
        with pytest.raises(DataError, match="row 2"):
            read_published(single(tmp_path / "pack.3.4.txt", spoilt))


def test_points_per_line(tmp_path: Path) -> None:
    for name, delimiter in (("a.txt", " "), ("b.txt", "\t"), ("c.csv", ","), ("d.txt", ", ")):
        np.savetxt(tmp_path / name, CODE, fmt="%.17g", delimiter=delimiter, header="points")
        assert np.array_equal(read_published(tmp_path / name).weights, CODE)
        assert np.array_equal(read_published(tmp_path / name, 3).weights, CODE)
        with pytest.raises(DataError, match="points of 3 coordinates, d asks for 4"):
            read_published(tmp_path / name, 4)


def test_other_formats_go_through(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", CODE)
    np.savez(tmp_path / "a.npz", weights=CODE, other=np.eye(3))
    assert np.array_equal(read_published(tmp_path / "a.npy").weights, CODE)
    assert np.array_equal(read_published(f"{tmp_path / 'a.npz'}:other").weights, np.eye(3))
    with pytest.raises(DataError, match="d asks for 2"):
        read_published(tmp_path / "a.npy", 2)


@pytest.mark.parametrize("data", [b"", b"#\n", b"1\n2\nx\n", b"\xff\n", b"1\n2 3\n"])
def test_damaged_text_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "pack.3.1.txt").write_bytes(data)
    with pytest.raises(GncError) as caught:
        read_published(tmp_path / "pack.3.1.txt")
    assert "pack.3.1.txt" in str(caught.value) and "\n" not in str(caught.value)
