"""What killed writers leave, full and read-only disks, and several writers at once."""

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import gnc_cli
from gnc_cli.io.atomic import atomic_file

ROOT = Path(gnc_cli.__file__).parent.parent
KILLED = """
import os, signal
from gnc_cli.io.atomic import atomic_file
with atomic_file("a.bin", force=False) as file:
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def run(*words: str, cwd: Path, limit: Callable[[], None] | None = None) -> tuple[int, str]:
    told = subprocess.run(
        [sys.executable, *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        preexec_fn=limit,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=120,
    )
    return told.returncode, told.stderr


def test_a_killed_writer_leaves_its_temporary_file_alone(tmp_path: Path) -> None:
    run("-c", KILLED, cwd=tmp_path)
    (left,) = os.listdir(tmp_path)
    assert left.startswith(".gnc-") and left.endswith(".tmp")
    with atomic_file(tmp_path / "b.bin", force=False) as file:
        file.write(b"whole")
    assert sorted(os.listdir(tmp_path)) == [left, "b.bin"]


@pytest.mark.parametrize(
    "words",
    [
        "solve --d 3 --K 40 --restarts 1 --out a.h5",
        *(
            pytest.param(words, marks=pytest.mark.slow)
            for words in (
                "solve --d 3 --K 40 --restarts 1 --out a.npz",
                "solve --d 2 --K 4 --plot a.svg",
                "bounds --d 3..40 --K 2..40 --out a.csv",
                "bounds --d 3..40 --K 7 --report a.md",
                "compare --list --plot a.png",
            )
        ),
    ],
)
def test_a_full_disk_leaves_nothing(words: str, tmp_path: Path) -> None:
    """A limit on the size of files stands for the disk."""
    small = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))  # noqa: E731
    code, said = run("-B", "-m", "gnc_cli", *words.split(), cwd=tmp_path, limit=small)
    name = words.split()[-1]
    assert code == 3 and f"cannot write '{name}': File too large" in said, said
    assert "Traceback" not in said and os.listdir(tmp_path) == []
