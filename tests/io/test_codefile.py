"""Codes (`io/code.py`) survive the way through every format, in blocks, through pipes and kills."""

import io
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gnc_cli import compare, solve
from gnc_cli.errors import DataError, OutputError, UsageError
from gnc_cli.io.code import provenance_text
from gnc_cli.io.codefile import (
    CodeFile,
    check_stream_target,
    read_code,
    read_points,
    write_code,
    write_streamed,
)
from gnc_cli.parameters import CODE_SUFFIXES
from tests.problems import icosahedron, random_rotation, seven, snub_cube

SUFFIXES = [suffix for suffix in CODE_SUFFIXES if suffix != ".hdf5"]  # written like .h5
FINITE = st.floats(allow_nan=False, allow_infinity=False, width=64)
SHAPES = st.tuples(st.integers(2, 6), st.integers(2, 4))
CUBE = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])


@st.composite
def codes(draw: st.DrawFn) -> CodeFile:
    shape = draw(SHAPES)
    weights, features = (draw(hnp.arrays(np.float64, shape, elements=FINITE)) for _ in "WH")
    weights[:, 0] = np.where(weights.any(axis=1), weights[:, 0], 1.0)  # no zero row
    features[:, 0] = np.where(features.any(axis=1), features[:, 0], -1.0)
    text = st.text(st.characters(codec="utf-8", exclude_characters="/\0"), max_size=5)
    provenance = draw(st.dictionaries(text, text | st.integers() | st.none() | st.booleans()))
    return CodeFile(weights, draw(st.sampled_from([None, features])), provenance=provenance)


@settings(max_examples=15, deadline=None)
@given(code=codes())
def test_every_suffix_gives_every_digit_back(code: CodeFile) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for suffix in SUFFIXES:
            path = Path(folder) / f"code{suffix}"
            write_code(path, code)
            back = read_points(path)
            assert np.array_equal(back.weights, code.weights), suffix
            assert np.array_equal(np.signbit(back.weights), np.signbit(code.weights)), suffix
            if suffix not in (".npy", ".txt", ".off"):
                assert provenance_text(back.provenance) == provenance_text(code.provenance)
                assert (back.features is None) == (code.features is None)
                if code.features is not None and back.features is not None:
                    assert np.array_equal(back.features, code.features), suffix


def test_seed_and_starts_come_back(tmp_path: Path) -> None:
    state = {"seed": 2**63 - 1, "starts": 7}
    write_code(tmp_path / "code.h5", CodeFile(np.eye(3), state=state))
    assert read_code(tmp_path / "code.h5").state == state
    with h5py.File(tmp_path / "code.h5") as h5:
        assert dict(h5["state"].attrs) == state


def test_the_layout_is_the_documented_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    provenance = {"command": "gnc solve --init /home/ada/a.h5", "path": "/home/ada/b.h5"}
    code = CodeFile(
        np.eye(3), 2 * np.eye(3), bias=np.arange(3.0), attrs={"scale": 2.0}, provenance=provenance
    )
    write_code(tmp_path / "a.h5", code)
    with h5py.File(tmp_path / "a.h5") as h5:
        assert set(h5) == {"weights", "features", "labels", "bias"}
        assert h5["weights"].dtype == h5["features"].dtype == np.float64
        assert h5["labels"][()].tolist() == [0, 1, 2]
        assert h5.attrs["gnc_format"] == 1
        assert h5.attrs["kind"] == "code"
        assert h5.attrs["created"] == "2023-11-14T22:13:20Z"
        assert "ada" not in h5.attrs["provenance"]
    back = read_code(tmp_path / "a.h5")
    assert back.attrs["scale"] == 2.0
    assert back.provenance == {"command": "gnc solve --init a.h5", "path": "b.h5"}
    assert back.bias is not None and back.bias.tolist() == [0.0, 1.0, 2.0]
    assert back.labels is not None and back.labels.tolist() == [0, 1, 2]


def test_equal_input_gives_equal_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    weights = np.random.default_rng(0).standard_normal((20, 4))
    state = {"seed": 1, "starts": 2}
    for name in ("one", "two"):
        code = CodeFile(weights, weights, provenance={"seed": 0}, state=state)
        for suffix in SUFFIXES:
            write_code(tmp_path / f"{name}{suffix}", code)
        if name == "one":
            time.sleep(2.1)  # zip archives and HDF5 headers count time in steps of up to 2 s
    for suffix in SUFFIXES:
        one, two = ((tmp_path / f"{name}{suffix}").read_bytes() for name in ("one", "two"))
        assert one == two, suffix


def test_shapes_must_agree() -> None:
    for arguments in (
        {"weights": np.ones(3)},
        {"weights": np.eye(3), "features": np.eye(4)},
        {"weights": np.eye(3), "labels": np.arange(2)},
        {"weights": np.eye(3), "bias": np.arange(2.0)},
    ):
        with pytest.raises(DataError, match="shape"):
            CodeFile(**arguments)


def test_read_code_wants_a_file_of_ours(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "foreign.h5", "w") as h5:
        h5["weights"] = np.eye(3)
    with pytest.raises(DataError, match="not a code file of gnc"):
        read_code(tmp_path / "foreign.h5")
    write_code(tmp_path / "new.h5", CodeFile(np.eye(3)))
    with h5py.File(tmp_path / "new.h5", "a") as h5:
        h5.attrs["gnc_format"] = 2
    with pytest.raises(DataError, match="upgrade gnc"):
        read_code(tmp_path / "new.h5")


_DISK = """
import resource, sys
import numpy as np
from gnc_cli.errors import OutputError
from gnc_cli.io.codefile import CodeFile, write_code
code = CodeFile(np.ones((3000, 10)))
for path in sys.argv[1:]:
    for limit in (100, 30000) if path.endswith(".h5") else (30000,):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.getrlimit(1)[1]))
        try:
            write_code(path, code, force=True)
        except OutputError as error:
            assert "File too large" in str(error) and "\\n" not in str(error), error
        else:
            raise AssertionError(path)
"""


def test_a_disk_that_fills_up_leaves_the_old_file(tmp_path: Path) -> None:
    targets = [tmp_path / f"code{suffix}" for suffix in SUFFIXES]
    for target in targets:
        target.write_bytes(b"old")
    done = subprocess.run(
        [sys.executable, "-c", _DISK, *map(str, targets)], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert all(target.read_bytes() == b"old" for target in targets)
    assert sorted(os.listdir(tmp_path)) == sorted(target.name for target in targets)


_TO_STDOUT = """
import numpy as np
from gnc_cli.io.codefile import CodeFile, write_code
write_code("-", CodeFile(np.arange(1.0, 2001.0).reshape(200, 10), state={"step": 7}))
"""
_FROM_STDIN = """
from gnc_cli.io.codefile import read_code
code = read_code("-")
print(code.weights.sum(), code.state)
"""


def test_a_code_goes_through_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    written = subprocess.run([sys.executable, "-c", _TO_STDOUT], capture_output=True)
    assert (written.returncode, written.stderr) == (0, b"")
    whole = written.stdout
    read = subprocess.run([sys.executable, "-c", _FROM_STDIN], input=whole, capture_output=True)
    assert (read.stdout, read.stderr) == (b"2001000.0 {'step': 7}\n", b"")
    for broken in (whole[:-100], whole[:50], b"", b"{}\n"):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(broken)))
        with pytest.raises(DataError, match="stdin|'-'") as caught:
            read_code("-")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("unbuffered", ["", "1"])  # as containers often set it: partial writes
def test_a_closed_pipe_is_an_output_error_without_noise(
    unbuffered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    script = _TO_STDOUT.replace("200, 10", "-1, 10").replace("2001.0", "2000001.0")
    script = script.replace("write_code(", "import sys\ntry:\n    write_code(", 1)
    script += "except OSError as error:\n    sys.exit(int(error.exit_code))\n"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stdout is not None and child.stderr is not None
        child.stdout.read(100)
        child.stdout.close()
        assert child.stderr.read() == b""
        assert child.wait(timeout=60) == 3


SHAPE = (100_000, 7)


def block(start: int, stop: int) -> np.ndarray:
    """Row i is i, i + 1, ..: any part of it can be told."""
    return np.arange(start, stop)[:, None] + np.arange(SHAPE[1], dtype=np.float64)


@pytest.mark.parametrize("suffix", [".h5", ".npy"])
@pytest.mark.parametrize("entries", [1, 300_000, 1 << 23])
def test_blocks_make_the_whole(suffix: str, entries: int, tmp_path: Path) -> None:
    asked: list[int] = []

    def counted(start: int, stop: int) -> np.ndarray:
        assert 0 <= start < stop <= SHAPE[0]
        asked.append(stop - start)
        return block(start, stop)

    path = tmp_path / f"code{suffix}"
    write_streamed(path, SHAPE, counted, {"seed": 3}, entries=entries)
    assert sum(asked) == SHAPE[0] and max(asked) <= max(entries, 1 << 18) // SHAPE[1]
    np.testing.assert_array_equal(read_points(path).weights, block(0, SHAPE[0]))
    if suffix == ".h5":
        assert read_code(path).provenance == {"seed": 3}


def test_two_valued_rows_take_little_room(tmp_path: Path) -> None:
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (4000, 64)) / 8.0
    write_streamed(tmp_path / "code.h5", signs.shape, lambda a, b: signs[a:b], {})
    assert (tmp_path / "code.h5").stat().st_size < signs.size * 4 / 10


def test_what_cannot_be_streamed_is_refused(tmp_path: Path) -> None:
    check_stream_target("-")
    with pytest.raises(UsageError, match=r"'code.txt'.*\.h5, \.hdf5, \.npy"):
        check_stream_target("code.txt")
    with pytest.raises(UsageError, match="in chunks"):
        write_streamed(tmp_path / "code.pt", SHAPE, block, {})
    (tmp_path / "code.h5").write_bytes(b"precious")
    with pytest.raises(OutputError, match="--force"):
        write_streamed(tmp_path / "code.h5", SHAPE, block, {})
    assert (tmp_path / "code.h5").read_bytes() == b"precious"


def test_blocks_to_stdout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Pipe:
        buffer = io.BytesIO()

    monkeypatch.setattr(sys, "stdout", Pipe)
    write_streamed("-", SHAPE, block, {})
    (tmp_path / "piped.h5").write_bytes(Pipe.buffer.getvalue())
    np.testing.assert_array_equal(read_code(tmp_path / "piped.h5").weights, block(0, SHAPE[0]))


# OFF files, read again by a plain parser, and held against Euler's formula


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
