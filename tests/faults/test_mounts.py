"""File systems of our own: a full one, and one that turns read-only in the midst of a command."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.faults.world import inside

pytestmark = pytest.mark.slow


def mount(*words: str) -> str:
    """What `mount` says; empty where it has mounted."""
    told = subprocess.run(["mount", *words], capture_output=True, text=True)
    return told.stderr if told.returncode else ""


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of a megabyte, `small` in the current folder."""
    place = tmp_path / "small"
    place.mkdir()
    refused = mount("-t", "tmpfs", "-o", "size=1m", "none", str(place))
    if refused:
        pytest.skip(f"only root may mount: {refused.strip()}")
    try:
        with inside(tmp_path):
            for at in range(9):
                np.savez(f"{at}.npz", weights=np.random.default_rng(at).normal(size=(30, 8)))
            Path("code.txt").write_text("1 0\n0 1\n-1 0\n0 -1\n")
            yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)])


def fill(place: Path, left: int) -> None:
    """Leave so many bytes."""
    about = os.statvfs(place)
    (place / "filler").write_bytes(bytes(about.f_bavail * about.f_frsize - left))


def test_rows_before_a_full_file_system_are_kept(small: Path, gnc: Any) -> None:
    fill(small, 8192)
    words = "measure", *(f"{at}.npz" for at in range(9)), "--out", "small/rows.jsonl"
    told = gnc(*words)
    assert told.exit_code == 3 and told.stderr.count("\n") == 1
    assert "No space left on device; the rows before it are kept" in told.stderr
    kept = Path("small/rows.jsonl").read_bytes()
    assert kept.endswith(b"\n") and 0 < kept.count(b"\n") < 9
    Path("small/filler").unlink()
    assert gnc(*words, "--resume").exit_code == 0
    whole = Path("small/rows.jsonl").read_bytes()
    assert whole.startswith(kept) and whole.count(b"\n") == 9


def test_a_run_on_a_file_system_that_fills_up(
    small: Path, gnc: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the second epoch: what the first left is whole."""
    from gnc_cli.training.run_folder import RunFolder

    words = "train --classes 4 --image-size 16 --epochs 4 --measure-every 1 --out small/run"
    assert not mount("-o", "remount,size=64m", str(small))
    saved = RunFolder.checkpoint

    def filling(self: RunFolder, *given: Any) -> None:
        if (small / "run/best.pt").exists() and not (small / "filler").exists():
            fill(small, 8192)
        saved(self, *given)

    monkeypatch.setattr(RunFolder, "checkpoint", filling)
    told = gnc(*words.split())
    assert told.exit_code == 3 and "No space left on device" in told.stderr, told.stderr
    assert told.stderr.count("\n") == 1 and not list(small.rglob("*.tmp"))
    monkeypatch.undo()
    (small / "filler").unlink()
    assert gnc(*words.split(), "--resume").exit_code == 0


@pytest.mark.parametrize(
    "words",
    [
        "measure 0.npz 1.npz --out small/rows.jsonl",
        "compare code.txt --export small/out",
        "train --classes 4 --image-size 16 --epochs 1 --width 0.125 --out small/run",
        "compare --solve --d 3 --K 5..9 --budget 1 --out small/rows.jsonl",
    ],
)
def test_a_read_only_file_system(words: str, small: Path, gnc: Any) -> None:
    assert not mount("-o", "remount,ro,size=64m", str(small))
    told = gnc(*words.split())
    assert told.exit_code == 3 and told.stderr.count("\n") == 1, told.stderr
    assert "not writable" in told.stderr or "Read-only file system" in told.stderr
