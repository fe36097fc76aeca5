"""The old file or the new one: under errors, full disks and kills."""

import os
import stat
from pathlib import Path

import pytest

from gnc_cli.errors import OutputError
from gnc_cli.io.atomic import atomic_file, check_writable


def write(path: Path, data: bytes, force: bool = False) -> None:
    with atomic_file(path, force=force) as file:
        file.write(data)


def test_a_new_file_appears_whole_with_the_umasks_permissions(tmp_path: Path) -> None:
    previous = os.umask(0o027)
    try:
        write(tmp_path / "a.bin", b"abc")
    finally:
        os.umask(previous)
    assert (tmp_path / "a.bin").read_bytes() == b"abc"
    assert stat.S_IMODE((tmp_path / "a.bin").stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["a.bin"]


def test_an_existing_file_needs_force(tmp_path: Path) -> None:
    target = tmp_path / "a.bin"
    write(target, b"old")
    with pytest.raises(OutputError, match="--force"):
        write(target, b"new")
    assert target.read_bytes() == b"old"
    write(target, b"new", force=True)
    assert target.read_bytes() == b"new"
    assert check_writable(target, resume=True, force=False) == target


@pytest.mark.parametrize("failure", [RuntimeError("boom"), KeyboardInterrupt()])
def test_a_failing_block_leaves_everything_as_it_was(
    tmp_path: Path, failure: BaseException
) -> None:
    target = tmp_path / "a.bin"
    write(target, b"old")
    with pytest.raises(type(failure)), atomic_file(target, force=True) as file:
        file.write(b"half")
        raise failure
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.bin"]


def test_a_symbolic_link_keeps_pointing_at_the_file_it_names(tmp_path: Path) -> None:
    (tmp_path / "real.bin").write_bytes(b"old")
    (tmp_path / "link.bin").symlink_to("real.bin")
    write(tmp_path / "link.bin", b"new", force=True)
    assert (tmp_path / "link.bin").is_symlink()
    assert (tmp_path / "real.bin").read_bytes() == b"new"


def test_targets_that_cannot_be_files_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    for target, reason in {
        tmp_path: "folder",
        tmp_path / "none" / "a.bin": "no folder",
        tmp_path / "pipe": "device or a pipe",
        tmp_path / ("a" * 300): "too long",
        tmp_path / "nul\0.bin": "null byte",
        tmp_path / "loop": "symbolic links",
    }.items():
        with pytest.raises(OutputError, match=reason) as caught:
            write(target, b"new", force=True)
        assert "\n" not in str(caught.value)
    assert sorted(os.listdir(tmp_path)) == ["loop", "pipe"]


def test_an_unwritable_folder_is_refused_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(OutputError, match="not writable"):
        check_writable(tmp_path / "a.bin", force=False)
