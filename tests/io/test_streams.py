"""Codes written block by block are the files that codes written whole would be."""

import io
import sys
from pathlib import Path

import numpy as np
import pytest

from gnc_cli.errors import OutputError, UsageError
from gnc_cli.io import streams
from gnc_cli.io.gncfile import read_code
from gnc_cli.io.readers import read_points
from gnc_cli.io.streams import check_stream_target, write_rows

SHAPE = (1000, 7)


def block(start: int, stop: int) -> np.ndarray:
    """Row i is i, i + 1, ..: any part of it can be told."""
    return np.arange(start, stop)[:, None] + np.arange(SHAPE[1], dtype=np.float64)


@pytest.mark.parametrize("suffix", [".h5", ".npy"])
@pytest.mark.parametrize("entries", [1, 70, 100, 1 << 23])
def test_blocks_make_the_whole(
    suffix: str, entries: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "_BLOCK_ENTRIES", entries)
    monkeypatch.setattr(streams, "_CHUNK_BYTES", 1000)
    asked: list[int] = []

    def counted(start: int, stop: int) -> np.ndarray:
        assert 0 <= start < stop <= SHAPE[0]
        asked.append(stop - start)
        return block(start, stop)

    path = tmp_path / f"code{suffix}"
    write_rows(path, SHAPE, counted, {"seed": 3})
    assert sum(asked) == SHAPE[0] and max(asked) <= max(entries // SHAPE[1], 1000 // 28)
    np.testing.assert_array_equal(read_points(path).weights, block(0, SHAPE[0]))
    if suffix == ".h5":
        assert read_code(path).provenance == {"seed": 3}


def test_equal_rows_give_equal_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    for name in ("a.h5", "b.h5"):
        write_rows(tmp_path / name, SHAPE, block, {})
    assert (tmp_path / "a.h5").read_bytes() == (tmp_path / "b.h5").read_bytes()


def test_two_valued_rows_take_little_room(tmp_path: Path) -> None:
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (4000, 64)) / 8.0
    write_rows(tmp_path / "code.h5", signs.shape, lambda a, b: signs[a:b], {})
    assert (tmp_path / "code.h5").stat().st_size < signs.size * 4 / 10


def test_what_cannot_be_streamed_is_refused(tmp_path: Path) -> None:
    check_stream_target("-")
    with pytest.raises(UsageError, match=r"'code.txt'.*\.h5 or \.npy"):
        check_stream_target("code.txt")
    with pytest.raises(UsageError, match="in chunks"):
        write_rows(tmp_path / "code.pt", SHAPE, block, {})
    (tmp_path / "code.h5").write_bytes(b"precious")
    with pytest.raises(OutputError, match="--force"):
        write_rows(tmp_path / "code.h5", SHAPE, block, {})
    assert (tmp_path / "code.h5").read_bytes() == b"precious"


def test_a_fault_while_writing_leaves_no_file(tmp_path: Path) -> None:
    def faulty(start: int, stop: int) -> np.ndarray:
        raise MemoryError

    for name in ("code.h5", "code.npy"):
        with pytest.raises(MemoryError):
            write_rows(tmp_path / name, SHAPE, faulty, {})
    assert list(tmp_path.iterdir()) == []


def test_to_stdout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Pipe:
        buffer = io.BytesIO()

    monkeypatch.setattr(sys, "stdout", Pipe)
    write_rows("-", SHAPE, block, {})
    (tmp_path / "piped.h5").write_bytes(Pipe.buffer.getvalue())
    np.testing.assert_array_equal(read_code(tmp_path / "piped.h5").weights, block(0, SHAPE[0]))
