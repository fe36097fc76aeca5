"""Outputs and inputs in one file, and two processes with one output."""

import errno
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnc_cli import bounds, compare, measure, solve, train
from gnc_cli.cli import app
from gnc_cli.errors import OutputError
from gnc_cli.io.atomic import atomic_file, write_text
from gnc_cli.io.codefile import write_streamed
from gnc_cli.io.ledger import Ledger
from tests.conftest import runner
from tests.faults.world import Case, check, inside, put

CODE = "1 0\n0 1\n-1 0\n0 -1\n"
ROWS = "measure code.txt --out r.jsonl"
CASES = [
    Case(
        "compare coordinates.txt --export . --force",
        put("coordinates.txt", CODE),
        2,
        "would overwrite the input FILES 'coordinates.txt'",
    ),
    Case(
        "compare coordinates/coordinates.txt b.txt --export . --force",
        lambda: (
            os.mkdir("coordinates"),
            put("coordinates/coordinates.txt", CODE)(),
            put("b.txt", CODE)(),
        ),
        2,
        "would overwrite the input FILES",
    ),
    Case(
        "compare code.txt --export . --force --table distribution.csv",
        lambda: (put("code.txt", CODE)(), put("distribution.csv", "2,4,0\n")()),
        2,
        "would overwrite the input --table",
    ),
    Case(
        "compare code.txt --export out --force",
        lambda: (
            put("code.txt", CODE)(),
            os.mkdir("out"),
            os.symlink("../code.txt", "out/coordinates.txt"),
        ),
        2,
        "would overwrite",
    ),
    Case("compare code.txt --plot code.txt --force", put("code.txt", CODE), 2, "code.txt"),
    Case(
        "compare code.txt --report code.md",
        lambda: (put("code.txt", CODE)(), put("code.md", "mine")()),
        3,
        "exists; add --force",
    ),
    Case(
        "solve --d 2 --K 4 --init a.npy --out a.npy --force",
        lambda: np.save("a.npy", np.eye(4)[:, :2]),
        2,
        "would overwrite the input --init",
    ),
    Case("solve --d 2 --K 4 --out a.h5 --plot a.h5", lambda: None, 2, "a.h5"),
    Case("solve --d 2 --K 4 --out a.h5", put("a.h5", "mine"), 3, "exists; add --force"),
    Case(
        "solve --d 2 --K 4 --out link.h5",
        lambda: os.symlink("none.h5", "link.h5") or put("none.h5", "mine")(),
        3,
        "exists; add --force",
    ),
    Case(
        "solve --d 2 --K 4 --out pipe.h5 --force",
        lambda: os.mkfifo("pipe.h5"),
        3,
        "a device or a pipe",
    ),
    *(
        Case(
            f"{ROWS} {how}",
            lambda begun=begun: (begun(), put("code.txt", CODE)(), put("r.jsonl", b"")()),
            3,
            said,
        )
        for how in ("--force", "--resume")
        for text in ('{"schema": "my own notes"}\n', '{"schema": 1, "K": 4}', "{")
        for begun, said in [(put("r.jsonl.part", text), "r.jsonl.part' is in the way")]
    ),
    Case(
        f"{ROWS} --resume",
        lambda: (put("code.txt", CODE)(), put("r.jsonl", "{")()),
        3,
        "line 1, is not a row of an earlier run",
    ),
    Case(
        "bounds --d 2 --K 4 --out a.csv --report a.md",
        lambda: (put("a.csv", "mine")(), put("a.md", "mine")()),
        3,
        "exists; add --force",
    ),
    Case(
        "measure code.txt --out code.csv",
        lambda: (put("code.txt", CODE)(), put("code.csv", "mine")()),
        3,
        "exists; add --force",
    ),
    Case(
        "measure a.csv --out a.csv --force",
        put("a.csv", "1,0\n0,1\n"),
        2,
        "would overwrite the input",
    ),
    Case(
        "measure *.csv --out a.csv --force",
        put("a.csv", "1,0\n0,1\n"),
        2,
        "would overwrite the input",
    ),
    Case("solve --d 2 --K 4 --out /proc/x.h5", lambda: None, 3, "cannot write '/proc/x.h5'"),
    Case("train --config a.toml", put("a.toml", "force = true\n"), 2, "sets 'force' to True"),
    Case("train --config a.toml", put("a.toml", "resume = true\n"), 2, "add --resume"),
    Case(
        "train --config a.toml --force",
        lambda: (os.mkdir("mine"), put("a.toml", 'out = "mine"\n')()),
        3,
        "'mine', which exists; to continue",
    ),
    Case(
        "train --config a.toml --force",
        lambda: (put("mine.png", "mine")(), put("a.toml", 'plot = "mine.png"\n')()),
        3,
        "'mine.png', which exists",
    ),
    Case(
        "train --config a.toml",
        lambda: (put("evil.py", "open('run', 'w')\n")(), put("a.toml", 'model = "evil:f"\n')()),
        2,
        "'evil:f', and a file decides neither",
    ),
    Case("train --lr 1e300", lambda: None, 2, "--lr 1e300 is too large; give at most 1e6"),
    Case("train --weight-decay 1e300", lambda: None, 2, "1e300 is too large"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.words)
def test_no_output_replaces_what_it_should_not(case: Case, tmp_path: Path) -> None:
    with inside(tmp_path):
        check(case)


@pytest.mark.parametrize("links", [True, False])
def test_of_two_writers_one_wins(
    links: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have seen that there is no file before either writes."""
    if not links:

        def refused(*_: Any) -> None:
            raise OSError(errno.EPERM, "Operation not permitted")

        monkeypatch.setattr(os, "link", refused)
    target = tmp_path / "a.bin"
    with (
        pytest.raises(OutputError, match="exists; add --force"),
        atomic_file(target, force=False) as late,
    ):
        late.write(b"late")
        with atomic_file(target, force=False) as early:
            early.write(b"early")
    assert target.read_bytes() == b"early" and os.listdir(tmp_path) == ["a.bin"]


def test_rows_of_another_process_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It made the file after this one had looked."""
    path = tmp_path / "rows.jsonl"
    path.write_text("theirs\n")
    monkeypatch.setattr("gnc_cli.io.ledger.check_writable", lambda name, **_: Path(name))
    with pytest.raises(OutputError, match="File exists"):
        Ledger(path, dict, "d", None)
    assert path.read_text() == "theirs\n"


def test_the_first_failed_write_ends_a_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    def block(start: int, stop: int) -> np.ndarray:
        made.append(start)
        return np.random.default_rng(start).normal(size=(stop - start, 16))

    class Full:
        def __init__(self, file: Any) -> None:
            self.file, self.left = file, 1 << 20

        def __getattr__(self, name: str) -> Any:
            return getattr(self.file, name)

        def write(self, data: Any) -> int:
            self.left -= len(data)
            if self.left < 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            return int(self.file.write(data))

    opened = os.fdopen
    monkeypatch.setattr(os, "fdopen", lambda *words: Full(opened(*words)))
    with pytest.raises(OutputError, match="No space left"):
        write_streamed(tmp_path / "a.h5", (1 << 20, 16), block, {}, entries=1 << 18)
    assert len(made) < 20 and os.listdir(tmp_path) == []


@pytest.mark.skipif(sys.platform == "win32", reason="a current folder cannot be deleted there")
@pytest.mark.parametrize(
    "words",
    [
        "solve --d 3 --K 6 --out x.h5",
        "solve --d 3 --K 6 --out x.h5 --resume",
        "solve --d 3 --K 6 --plot x.png",
        "solve --d 3 --K 6 --report x.md",
        "measure CODE --out x.json",
        "measure CODE --out x.jsonl",
        "measure CODE --plot x.png",
        "measure CODE --per-class x.csv",
        "compare CODE --export folder",
        "compare CODE --plot x.png",
        "compare CODE --report x.xml",
        "bounds --d 3 --K 6 --export x.json",
        "bounds --d 3 --K 6 --out x.csv",
        "bounds --d 3 --K 6 --plot x.png",
        "bounds --verify x.json",
        "train --out run",
        "train --plot x.png",
        "train",
    ],
)
def test_a_deleted_current_folder_is_named(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, gone = tmp_path / "code.txt", tmp_path / "gone"
    code.write_text(CODE)
    gone.mkdir()
    with monkeypatch.context() as patch:
        patch.chdir(gone)
        gone.rmdir()
        run = runner(app)(*words.replace("CODE", str(code)).split())
    assert run.exit_code == 3 and run.stderr.count("\n") == 1, (run.stderr, run.exception)
    assert "the current folder was deleted" in run.stderr


@pytest.mark.parametrize("words", ["bounds --d 3 --K 7", "measure CODE", "solve --help"])
def test_a_deleted_current_folder_does_no_harm_where_none_is_needed(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, gone = tmp_path / "code.txt", tmp_path / "gone"
    code.write_text(CODE)
    gone.mkdir()
    with monkeypatch.context() as patch:
        patch.chdir(gone)
        gone.rmdir()
        run = runner(app)(*words.replace("CODE", str(code)).split())
    assert run.exit_code == 0, run.stderr
    assert os.listdir(tmp_path) == ["code.txt"]


@pytest.mark.skipif(sys.platform == "win32", reason="a current folder cannot be deleted there")
def test_a_current_folder_that_was_deleted_later_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in Python, and on writing; absolute paths are written all the same."""
    gone = tmp_path / "gone"
    gone.mkdir()
    with monkeypatch.context() as patch:
        patch.chdir(gone)
        gone.rmdir()
        for call in (
            lambda: write_text("x.txt", "mine"),
            lambda: solve(3, 6, out="x.h5"),
            lambda: measure(weights=np.eye(3), plot="x.png"),
            lambda: bounds(3, 6, export="x.json"),
            lambda: compare(np.eye(3), export="folder"),
            lambda: train(out="run"),
        ):
            with pytest.raises(OutputError, match="the current folder was deleted"):
                call()
        solve(3, 4, out=tmp_path / "x.npy")
    assert os.listdir(tmp_path) == ["x.npy"]
