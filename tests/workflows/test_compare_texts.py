"""An improvement in a text file is proved of the decimals that stand there, not of floats."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from gnc_cli import compare
from gnc_cli.codes import rational
from gnc_cli.codes.constructions.registry import find
from gnc_cli.codes.exact_rows import ExactRows
from gnc_cli.codes.rational import verify_below
from gnc_cli.results import CompareRow, Standing
from gnc_cli.workflows import compare_codes
from gnc_cli.workflows.known import Reference

STEP = Fraction(1, 10**15)


@pytest.fixture
def worse_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if 0.7231 were all that is known of 24 points in three dimensions."""
    record = Reference(
        0.7231, "table", 3, 24, "a test", True, exact=Fraction("0.7231"), rounding=1e-12
    )
    monkeypatch.setattr(compare_codes, "best", lambda *_: record)


def snub_cube(places: int) -> list[list[str]]:
    code = find("snub-cube")
    assert code is not None
    return [[f"{x:.{places}f}" for x in point] for point in np.asarray(code.build()).tolist()]


def judged(path: Path, words: list[list[str]], delimiter: str = " ") -> CompareRow:
    path.write_text("# by hand\n" + "\n".join(delimiter.join(point) for point in words))
    (row,) = compare(path).rows
    assert row.status is Standing.IMPROVES
    return row


@pytest.mark.parametrize(
    ("name", "delimiter", "tail"),
    [("a.txt", " ", "123"), ("a.csv", ", ", "e0"), ("b.csv", ",", "")],
)
@pytest.mark.usefixtures("worse_record")
def test_the_very_decimals(tmp_path: Path, name: str, delimiter: str, tail: str) -> None:
    words = [[word + tail for word in point] for point in snub_cube(18)]
    row = judged(tmp_path / name, words, delimiter)
    proved = Fraction(row.more["proved_cosine"])
    points = ExactRows.of_texts(words)
    assert verify_below(points, proved).holds
    assert verify_below(points, proved - STEP).holds is False
    assert "float64" not in row.more["advice"]


@pytest.mark.usefixtures("worse_record")
def test_decimals_that_floats_cannot_hold(tmp_path: Path) -> None:
    """Zeros behind the digits change nothing; 1e-18 more does, though the floats are the same."""
    words = snub_cube(15)
    plain = judged(tmp_path / "plain.txt", words).more["proved_cosine"]
    long = [[word + "0" * 20 for word in point] for point in words]
    assert judged(tmp_path / "long.txt", long).more["proved_cosine"] == plain
    whole = rational.largest_cosine_above

    def spy(rows: ExactRows, decimals: int) -> object:
        return whole(rows, 30)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rational, "largest_cosine_above", spy)
        exact = judged(tmp_path / "long.txt", long).more["proved_cosine"]
        for point in long:
            at = point[0].index(".") + 16
            point[0] = point[0][:at] + "001" + point[0][at + 3 :]
        moved = judged(tmp_path / "moved.txt", long).more["proved_cosine"]
    assert exact != moved
    assert np.array_equal(np.loadtxt(tmp_path / "long.txt"), np.loadtxt(tmp_path / "moved.txt"))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.unlink(),
        lambda path: path.write_text("1 2 3\n"),
        lambda path: path.write_text(path.read_text().replace("\n", "\n0x", 1)),
        lambda path: path.write_bytes(b"\xff" + path.read_bytes()),
    ],
)
@pytest.mark.usefixtures("worse_record")
def test_a_file_that_cannot_be_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoil: Callable[[Path], None]
) -> None:
    path = tmp_path / "a.txt"
    before = compare_codes.load_code

    def load(*args: object) -> object:
        code = before(*args)  # type: ignore[arg-type]
        spoil(path)
        return code

    monkeypatch.setattr("gnc_cli.workflows.compare_files.load_code", load)
    row = judged(path, snub_cube(18))
    assert row.more["advice"].endswith("for the coordinates read as float64")


@pytest.mark.usefixtures("worse_record")
def test_binary_floats_are_exact(tmp_path: Path) -> None:
    W = np.array([[float(word) for word in point] for point in snub_cube(18)])
    np.save(tmp_path / "a.npy", W)
    (row,) = compare(tmp_path / "a.npy").rows
    assert verify_below(W, Fraction(row.more["proved_cosine"])).holds
    assert "float64" not in row.more["advice"]
