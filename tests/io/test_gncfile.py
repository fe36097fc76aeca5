"""Codes survive the way through every format, through pipes and through kills."""

import io
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gnc_cli.errors import DataError, OutputError, UsageError
from gnc_cli.io.codefile import provenance_text
from gnc_cli.io.gncfile import CodeFile, check_target, read_code, write_code
from gnc_cli.io.readers import read_points
from gnc_cli.io.writers import WRITERS

FINITE = st.floats(allow_nan=False, allow_infinity=False, width=64)
SHAPES = st.tuples(st.integers(2, 6), st.integers(2, 4))


@st.composite
def codes(draw: st.DrawFn) -> CodeFile:
    shape = draw(SHAPES)
    weights, features = (draw(hnp.arrays(np.float64, shape, elements=FINITE)) for _ in "WH")
    weights[:, 0] = np.where(weights.any(axis=1), weights[:, 0], 1.0)  # no zero row
    features[:, 0] = np.where(features.any(axis=1), features[:, 0], -1.0)
    text = st.text(st.characters(codec="utf-8", exclude_characters="/\0"), max_size=5)
    provenance = draw(st.dictionaries(text, text | st.integers() | st.none() | st.booleans()))
    return CodeFile(weights, draw(st.sampled_from([None, features])), provenance=provenance)


SCALARS = st.none() | st.booleans() | st.integers() | FINITE | st.text(max_size=5)
NAMES = st.text("abcxyz_019", min_size=1, max_size=4)
ARRAYS = hnp.arrays(
    st.sampled_from([np.float64, np.float32, np.int64, np.bool_]),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3),
)
STATES = st.recursive(
    st.dictionaries(NAMES, SCALARS | ARRAYS | st.lists(st.integers(), max_size=3), max_size=3),
    lambda inner: st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=3,
)


def same(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, np.ndarray):
        return bool(a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))
    return bool(type(a) is type(b) and a == b)


@pytest.mark.parametrize("suffix", WRITERS)
@settings(max_examples=25, deadline=None)
@given(code=codes())
def test_every_suffix_gives_every_digit_back(suffix: str, code: CodeFile) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"code{suffix}"
        write_code(path, code)
        back = read_points(path)
    assert np.array_equal(back.weights, code.weights)
    assert np.array_equal(np.signbit(back.weights), np.signbit(code.weights))
    if suffix not in (".npy", ".txt"):
        assert provenance_text(back.provenance) == provenance_text(code.provenance)
        assert (back.features is None) == (code.features is None)
        if code.features is not None and back.features is not None:
            assert np.array_equal(back.features, code.features)


@settings(max_examples=40, deadline=None)
@given(code=codes(), state=STATES)
def test_solver_state_comes_back_as_it_was(code: CodeFile, state: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "code.h5"
        write_code(path, CodeFile(code.weights, code.features, state=state))
        back = read_code(path)
    assert back.state is not None
    assert same(state, back.state)


def test_a_random_generator_resumes_from_the_state(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    state = {"rng": rng.bit_generator.state}
    write_code(tmp_path / "a.h5", CodeFile(np.eye(3), state=state))
    expected = rng.random(5)
    back = read_code(tmp_path / "a.h5").state
    again = np.random.default_rng()
    assert back is not None
    again.bit_generator.state = back["rng"]
    assert np.array_equal(again.random(5), expected)


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
    first = {"b": 1, "a": {"x": np.arange(3.0), "y": None}}
    second = {"a": {"y": None, "x": np.arange(3.0)}, "b": 1}  # another order of keys
    for name, state in (("one", first), ("two", second)):
        code = CodeFile(weights, weights, provenance={"seed": 0}, state=state)
        for suffix in WRITERS:
            write_code(tmp_path / f"{name}{suffix}", code)
        if name == "one":
            time.sleep(2.1)  # zip archives and HDF5 headers count time in steps of up to 2 s
    for suffix in WRITERS:
        one, two = ((tmp_path / f"{name}{suffix}").read_bytes() for name in ("one", "two"))
        assert one == two, suffix


def test_a_bad_source_date_epoch_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    with pytest.raises(UsageError, match="yesterday"):
        write_code(tmp_path / "a.h5", CodeFile(np.eye(3)))
    assert os.listdir(tmp_path) == []


def test_targets_are_checked_early(tmp_path: Path) -> None:
    for name in ("code", "code.xlsx", ""):
        with pytest.raises(UsageError, match=r"\.safetensors"):
            check_target(tmp_path / name if name else name)
    (tmp_path / "a.h5").touch()
    with pytest.raises(OutputError, match="--force"):
        check_target(tmp_path / "a.h5")
    check_target(tmp_path / "a.h5", force=True)
    check_target(tmp_path / "a.h5", resume=True)
    check_target(tmp_path / "B.H5")
    with pytest.raises(OutputError, match="no folder"):
        check_target(tmp_path / "none" / "a.h5")
    assert os.listdir(tmp_path) == ["a.h5"]


@pytest.mark.parametrize("state", [{"f": object()}, {"a/b": 1}, {"x": np.array(["s"])}])
def test_a_state_that_cannot_be_stored_leaves_no_file(
    tmp_path: Path, state: dict[str, Any]
) -> None:
    with pytest.raises(TypeError):
        write_code(tmp_path / "a.h5", CodeFile(np.eye(3), state=state))
    assert os.listdir(tmp_path) == []


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
    with pytest.raises(DataError, match="no code file of gnc"):
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
from gnc_cli.io.gncfile import CodeFile, write_code
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
try:
    write_code(sys.argv[1], CodeFile(np.ones((3000, 10))), force=True)
except OutputError as error:
    print(error)
    sys.exit(3)
"""


@pytest.mark.parametrize("suffix", WRITERS)
def test_a_disk_that_fills_up_leaves_the_old_file(tmp_path: Path, suffix: str) -> None:
    target = tmp_path / f"code{suffix}"
    target.write_bytes(b"old")
    for limit in ("100", "30000") if suffix == ".h5" else ("30000",):
        done = subprocess.run(
            [sys.executable, "-c", _DISK, str(target), limit], capture_output=True, text=True
        )
        assert (done.returncode, done.stderr) == (3, ""), done.stderr
        assert "File too large" in done.stdout and done.stdout.count("\n") == 1
        assert target.read_bytes() == b"old"
        assert os.listdir(tmp_path) == [target.name]


_WRITE_FOREVER = """
import sys
import numpy as np
from gnc_cli.io.gncfile import CodeFile, write_code
codes = [CodeFile(np.full((20_000, 8), fill)) for fill in (1.0, 2.0)]
print("ready", flush=True)
while True:
    for code in codes:
        write_code(sys.argv[1], code, force=True)
"""


def test_kills_at_any_moment_leave_a_readable_code(tmp_path: Path) -> None:
    target = tmp_path / "code.h5"
    write_code(target, CodeFile(np.full((20_000, 8), 1.0)))
    for delay in (0.0, 0.013, 0.031, 0.057):
        with subprocess.Popen(
            [sys.executable, "-c", _WRITE_FOREVER, str(target)], stdout=subprocess.PIPE
        ) as child:
            assert child.stdout is not None and child.stdout.readline() == b"ready\n"
            time.sleep(delay)
            child.send_signal(signal.SIGKILL)
        weights = read_code(target).weights
        assert weights.shape == (20_000, 8)
        assert weights.min() == weights.max() in (1.0, 2.0)


_TO_STDOUT = """
import numpy as np
from gnc_cli.io.gncfile import CodeFile, write_code
write_code("-", CodeFile(np.arange(1.0, 2001.0).reshape(200, 10), state={"step": 7}))
"""
_FROM_STDIN = """
import sys
from gnc_cli.errors import GncError
from gnc_cli.io.gncfile import read_code
try:
    code = read_code("-")
    print(code.weights.sum(), code.state)
except GncError as error:
    print(error)
    sys.exit(int(error.exit_code))
"""


def test_a_code_goes_through_a_pipe() -> None:
    written = subprocess.run([sys.executable, "-c", _TO_STDOUT], capture_output=True)
    assert (written.returncode, written.stderr) == (0, b"")

    def read(data: bytes) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run([sys.executable, "-c", _FROM_STDIN], input=data, capture_output=True)

    assert read(written.stdout).stdout == b"2001000.0 {'step': 7}\n"
    for broken in (written.stdout[:-100], written.stdout[:50], b"", b"{}\n"):
        done = read(broken)
        assert (done.returncode, done.stderr) == (3, b"")
        assert done.stdout.count(b"\n") == 1 and (b"stdin" in done.stdout or b"'-'" in done.stdout)


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


def test_a_terminal_is_neither_read_nor_written(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr(sys, "stdout", Terminal())
    with pytest.raises(UsageError, match="terminal"):
        read_points("-")
    with pytest.raises(UsageError, match="terminal"):
        write_code("-", CodeFile(np.eye(3)))
