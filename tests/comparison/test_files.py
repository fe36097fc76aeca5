"""Coordinates as others publish them are read; exported files hold the code."""

import csv
import hashlib
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnc_cli import compare
from gnc_cli.codes.exact_cosine import ExactRows, verify_below
from gnc_cli.comparison import files as module
from gnc_cli.comparison.files import NAMES, read_published, to_graph6
from gnc_cli.errors import DataError, GncError, OutputError, UsageError
from gnc_cli.geometry.sphere import random_points
from tests.comparison.samples import built, only


def edges_of(line: bytes) -> tuple[int, np.ndarray]:
    """A second witness: vertices and edges i < j of graph6, bit by bit from its description."""
    values = [byte - 63 for byte in line.strip()]
    n, body = (values[0], values[1:]) if values[0] < 63 else (0, values[4:])
    if values[0] == 63:
        n = values[1] << 12 | values[2] << 6 | values[3]
    bits = [value >> k & 1 for value in body for k in range(5, -1, -1)]
    pairs = [(i, j) for j in range(n) for i in range(j)]
    assert not any(bits[len(pairs) :])
    found = [pair for pair, bit in zip(pairs, bits, strict=False) if bit]
    return n, np.array(sorted(found)).reshape(-1, 2)


@settings(max_examples=40)
@given(st.integers(2, 90), st.integers(0, 10**6), st.floats(0.0, 1.0))
def test_graphs_can_be_read_again(vertices: int, seed: int, density: float) -> None:
    rng = np.random.default_rng(seed)
    edges = np.argwhere(np.triu(rng.random((vertices, vertices)) < density, 1))
    shuffled = rng.permuted(edges[rng.permutation(len(edges))], axis=1)
    line = to_graph6(vertices, np.concatenate([shuffled, edges]))  # an edge twice is one edge
    assert all(63 <= byte <= 126 for byte in line)
    n, found = edges_of(line)
    assert n == vertices and np.array_equal(found, edges)


def test_all_files(tmp_path: Path) -> None:
    W = built("snub-cube")
    row = only(compare(W, export=tmp_path / "new" / "out", digits=40))
    files = {Path(name).name: Path(name) for name in row.exported or ()}
    assert tuple(files) == NAMES and row.left_out == ()
    first = files["coordinates.txt"].read_text().splitlines()[0].split()
    assert len(first) == 3 and all(len(word.partition(".")[2]) == 40 for word in first)
    assert only(compare(files["coordinates.txt"])).congruent_to == "snub-cube"
    gram = np.load(files["gram.npy"])
    assert gram.dtype == np.float64 and np.allclose(gram, W @ W.T, atol=1e-14)
    n, edges = edges_of(files["contacts.g6"].read_bytes())
    assert n == 24
    assert np.array_equal(edges, np.argwhere(np.triu(gram > (row.max_cosine or 1.0) - 1e-9, 1)))
    with open(files["distribution.csv"], newline="") as file:
        cells = list(csv.DictReader(file))
    assert sum(int(cell["pairs"]) for cell in cells) == 24 * 23 // 2
    largest = float(cells[0]["inner_product"])
    assert cells[0]["pairs"] == "60" and largest == pytest.approx(row.max_cosine, abs=1e-14)


def test_what_is_proved_of_the_decimals(tmp_path: Path) -> None:
    """The written decimals, read again by the definition, have the cosine claimed of them."""
    compare(built("snub-cube"), export=tmp_path, digits=40)
    proof = dict(
        line.split()
        for line in (tmp_path / "verified.txt").read_text().splitlines()
        if not line.startswith("#")
    )
    written = (tmp_path / "coordinates.txt").read_bytes()
    assert (proof["points"], proof["dimension"]) == ("24", "3")
    assert proof["sha256_of_coordinates"] == hashlib.sha256(written).hexdigest()
    points = ExactRows.from_texts([line.split() for line in written.decode().splitlines()])
    claimed = Fraction(proof["cosine_at_most"])
    assert verify_below(points, claimed)
    assert verify_below(points, claimed - Fraction(1, 10**39)) is False
    assert "smallest number of 39 decimals" in (tmp_path / "verified.txt").read_text()


def test_existing_files_stay(tmp_path: Path) -> None:
    (tmp_path / "gram.npy").write_text("mine")
    with pytest.raises(OutputError, match=r"gram.npy' exists; add --force"):
        compare(np.eye(3), export=tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["gram.npy"]
    assert (tmp_path / "gram.npy").read_text() == "mine"
    orthoplex = np.vstack([np.eye(3), -np.eye(3)])
    only(compare(orthoplex, export=tmp_path, force=True))
    assert len(list(tmp_path.iterdir())) == len(NAMES)


def test_what_is_too_large_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BLOCK_BYTES", 10**6)  # the Gram matrix takes several blocks
    rows = random_points(np.random.default_rng(0), 3001, 3)
    row = only(compare(rows, export=tmp_path / "out"))
    names = ["coordinates.txt", "coordinates.off", "gram.npy"]
    assert [Path(name).name for name in row.exported or ()] == names
    assert np.array_equal(np.loadtxt(tmp_path / "out" / "coordinates.txt"), rows)
    assert np.allclose(np.load(tmp_path / "out" / "gram.npy"), rows @ rows.T, atol=1e-14)
    said = dict(line.split(": ") for line in row.left_out or ())
    assert list(said) == ["contacts.g6", "distribution.csv", "verified.txt", "local-optimum.json"]
    assert said["contacts.g6"] == "contacts were not computed"


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


def test_points_per_line(tmp_path: Path) -> None:
    for name, delimiter in (("a.txt", " "), ("b.txt", "\t"), ("c.csv", ","), ("d.txt", ", ")):
        np.savetxt(tmp_path / name, CODE, fmt="%.17g", delimiter=delimiter, header="points")
        assert np.array_equal(read_published(tmp_path / name).weights, CODE)
        assert np.array_equal(read_published(tmp_path / name, 3).weights, CODE)
        with pytest.raises(DataError, match="points of 3 coordinates, d asks for 4"):
            read_published(tmp_path / name, 4)


def test_a_bad_row_is_named_by_its_number_from_0(tmp_path: Path) -> None:
    for row, words in ((0.0, "zero row"), (np.nan, "not finite")):
        points = np.where(np.arange(4)[:, None] == 2, row, CODE)
        np.savetxt(tmp_path / "a.txt", points)
        with pytest.raises(DataError, match=rf"{words}.* row 2\b.*, counted from 0;"):
            read_published(tmp_path / "a.txt")


@pytest.mark.parametrize("data", [b"", b"#\n", b"1\n2\nx\n", b"\xff\n", b"1\n2 3\n"])
def test_damaged_text_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "pack.3.1.txt").write_bytes(data)
    with pytest.raises(GncError) as caught:
        read_published(tmp_path / "pack.3.1.txt")
    assert "pack.3.1.txt" in str(caught.value) and "\n" not in str(caught.value)
