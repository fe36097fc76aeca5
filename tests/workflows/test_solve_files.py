"""Files around a solve: refused before the work, whole after it."""

import os
from pathlib import Path

import numpy as np
import pytest

from gnc_cli import solve
from gnc_cli.errors import DataError, GncError, OutputError, UsageError
from gnc_cli.io.gncfile import read_code
from gnc_cli.workflows import solve as workflow
from gnc_cli.workflows.solve_files import prepare


@pytest.mark.parametrize(
    ("out", "plot", "error"),
    [
        ("code.xyz", None, UsageError),
        ("nowhere/code.h5", None, OutputError),
        ("old.h5", None, OutputError),
        (None, "code.gif", UsageError),
        (None, "nowhere/code.png", OutputError),
        (None, "old.png", OutputError),
    ],
)
def test_refused_before_the_work(
    out: str | None, plot: str | None, error: type[GncError], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    def worked(*_: object, **__: object) -> None:
        raise AssertionError("the work began")

    monkeypatch.setattr(workflow, "closed_form", worked)
    (tmp_path / "old.h5").write_bytes(b"precious")
    (tmp_path / "old.png").write_bytes(b"precious")
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(error) as caught:
        solve(
            3, 4, out=None if out is None else tmp_path / out,
            plot=None if plot is None else tmp_path / plot,
        )  # fmt: skip
    assert Path(out or plot or "").name in str(caught.value)
    assert sorted(os.listdir(tmp_path)) == before
    assert (tmp_path / "old.h5").read_bytes() == b"precious"


def test_force_and_resume_allow_what_is_there(tmp_path: Path) -> None:
    for name in ("code.h5", "code.png"):
        (tmp_path / name).write_bytes(b"old")
    for option in ({"force": True, "resume": False}, {"force": False, "resume": True}):
        prepare(tmp_path / "code.h5", tmp_path / "code.png", **option)


def test_a_failing_solve_leaves_the_old_file(tmp_path: Path) -> None:
    file = tmp_path / "code.h5"
    solve(3, 4, out=file)
    before = file.read_bytes()
    with pytest.raises(DataError):
        solve(3, 5, init=np.zeros((5, 3)), out=file, force=True)
    assert file.read_bytes() == before


def test_provenance_says_how(tmp_path: Path) -> None:
    file = tmp_path / "code.h5"
    command = f"gnc solve --d 3 --K 4 --out {file}"
    solve(3, 4, out=file, seed=5, command_line=command)
    stored = read_code(file)
    assert stored.provenance["seed"] == 5
    text = str(stored.provenance)
    assert str(tmp_path) not in text and "--out code.h5" in text
    assert stored.provenance["result"]["outcome"] == "closed_form"
    assert stored.state is None


def test_same_run_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    monkeypatch.setattr(workflow.time, "monotonic", lambda: 0.0)
    files = [tmp_path / name for name in ("a.h5", "b.h5")]
    for file in files:
        solve(3, 7, problem="tammes", restarts=4, steps=50, out=file)
    assert files[0].read_bytes() == files[1].read_bytes()
