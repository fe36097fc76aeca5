"""Run folders: whole after any kill, refusing what is not theirs, and nothing private in them."""

import os
import re
import shutil
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.collapse.conventions import Selection
from gnc_cli.collapse.files import snapshot_files
from gnc_cli.collapse.sources import resolve
from gnc_cli.errors import DataError, OutputError
from gnc_cli.runtime.distributed import Processes
from gnc_cli.training import run_folder
from gnc_cli.training.result import EpochRow
from gnc_cli.training.run_folder import RunFolder, check_free, read_config, read_state
from gnc_cli.training.settings import settings_of

STATE: dict[str, Any] = {
    "model": OrderedDict(w=torch.arange(6.0).reshape(2, 3), b=torch.nn.Parameter(torch.ones(2))),
    "optimizer": {"state": {0: {"step": torch.tensor(3)}}, "param_groups": [{"betas": (0.9, 1)}]},
    "epoch": 3,
    "sums": [0.5, None, True],
    "dtype": torch.float32,
    "size": torch.Size([1, 2]),
}
ROWS = [EpochRow(e, 10 * e, 0.1, 1.0 / e, 0.5) for e in range(1, 7)]
SETTINGS = settings_of({"epochs": 3})


def claim(path: Path | None, **how: Any) -> RunFolder:
    return RunFolder.claim(Processes(), None if path is None else str(path), **how)


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """A new run with a config."""
    folder = claim(tmp_path / "run")
    folder.write_config(SETTINGS)
    return folder


def add_snapshot(run: RunFolder, epoch: int) -> None:
    arrays = {"features": np.eye(4), "labels": np.arange(4), "weights": np.eye(4)}
    run_folder.add_snapshot(Path(run.path), arrays, epoch=epoch, step=10 * epoch, split="train")


def listed(run: RunFolder) -> list[str | None]:
    files = [*snapshot_files(f"{run.path}/snapshots")]
    return [source.snapshot for source in resolve(Selection(files=tuple(files)))] if files else []


def written(run: RunFolder, epoch: int = 1) -> None:
    """Every file of a run, through every writer."""
    run.write_config(SETTINGS)
    run.add_epoch(ROWS[epoch - 1], "hello")
    run.write_checkpoint(STATE | {"epoch": epoch})
    run.write_best()
    add_snapshot(run, epoch)


def contents(folder: Path | str) -> dict[str, bytes]:
    paths = [path for path in Path(folder).rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def test_a_run_is_read_as_it_was_written(run: RunFolder) -> None:
    assert read_config(run.path)["settings"]["epochs"] == 3
    for row in ROWS[:3]:
        run.add_epoch(row, "")
    run.write_checkpoint(STATE)
    run.write_best()
    run.write_checkpoint(STATE | {"epoch": 4})
    assert [read_state(f"{run.path}/{n}.pt")["epoch"] for n in ("last", "best")] == [4, 3]
    read = torch.load(f"{run.path}/best.pt", weights_only=True)
    assert torch.equal(read["model"]["w"], STATE["model"]["w"])
    assert read["optimizer"]["param_groups"] == STATE["optimizer"]["param_groups"]
    with run:
        pass
    with claim(Path(run.path), resume=True) as again:
        assert again.rewind(9) == ROWS[:3]
        assert again.rewind(2) == ROWS[:2]
        again.add_epoch(ROWS[2], "")
    with claim(Path(run.path), resume=True) as again:
        assert again.rewind(3) == ROWS[:3]


def test_snapshots_without_a_line_are_dropped(run: RunFolder) -> None:
    for row in ROWS[:2]:
        run.add_epoch(row, "")
    for epoch in (1, 2, 3):
        add_snapshot(run, epoch)
    provenance = resolve(Selection(files=(f"{run.path}/snapshots",)))[0].attrs["provenance"]
    assert provenance == {"command": "gnc train", "options": read_config(run.path)}
    with run:
        pass
    with claim(Path(run.path), resume=True) as again:
        for back, left in ((3, [1, 2]), (1, [1]), (0, [])):
            assert again.rewind(back) == ROWS[: min(back, 2)]
            assert listed(again) == [f"epoch-{epoch:04d}-train" for epoch in left]


@given(st.integers(0, 5), st.integers(0, 10_000))
def test_metrics_cut_at_any_byte_are_mended(tmp_path_factory: Any, count: int, cut: int) -> None:
    path = tmp_path_factory.mktemp("m")
    with claim(path) as run:
        for row in ROWS[:count]:
            run.add_epoch(row, "")
    data = (path / "metrics.jsonl").read_bytes()
    first = data.find(b"\n")  # the first line is written in one step
    cut = first + cut % (len(data) - first + 1) if count else 0
    os.truncate(path / "metrics.jsonl", cut)
    whole = data[: cut + 1].count(b"\n")  # a last line may lack its end
    with claim(path, resume=True) as run:
        assert run.rewind(9) == ROWS[:whole]
        run.add_epoch(ROWS[whole], "")
    with claim(path, resume=True) as run:
        assert run.rewind(9) == ROWS[: whole + 1]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("hello", r"metrics\.jsonl', line 2, is not a row"),
        ("{}", "line 2, field 'epoch': field required"),
    ],
)
def test_foreign_lines_are_named(run: RunFolder, line: str, said: str) -> None:
    with run:
        run.add_epoch(ROWS[0], "")
    with open(f"{run.path}/metrics.jsonl", "a") as file:
        file.write(line + "\n")
    with pytest.raises(DataError, match=said):
        claim(Path(run.path), resume=True).rewind(3)


def test_folders_of_runs_are_not_overwritten(run: RunFolder) -> None:
    path = Path(run.path)
    (path / "notes.md").write_text("mine")
    add_snapshot(run, 1)
    with pytest.raises(OutputError, match="being written by another run"):
        claim(path, force=True)
    with run:
        pass
    with pytest.raises(OutputError, match="holds 'config.json' already; .*with resume"):
        claim(path)
    with claim(path, force=True):
        pass
    assert sorted(os.listdir(path)) == ["metrics.jsonl", "notes.md"]
    with pytest.raises(OutputError, match="cannot make folder"):
        claim(path / "notes.md" / "run")


NAMES = [
    "config.json",
    "metrics.jsonl",
    "snapshots/epoch-0002-test.h5",
    "last.pt",
    "best.pt",
    "log.txt",
    "assignment-2/config.json",
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["file", "link to nowhere"])
def test_any_file_of_such_a_name_is_in_the_way(name: str, kind: str, tmp_path: Path) -> None:
    victim, folder = tmp_path / "victim.txt", tmp_path / "run"
    (folder / name).parent.mkdir(parents=True)
    if kind != "link to nowhere":
        victim.write_text("mine")
    if kind == "file":
        (folder / name).write_text("mine")
    else:
        (folder / name).symlink_to(victim)
    with pytest.raises(OutputError, match=f"holds {name!r} already; .*add force"):
        check_free(str(folder))
    assert os.listdir(folder) == [name.split("/")[0]]
    with claim(folder, force=True) as run:
        written(run)
    assert victim.exists() == (kind != "link to nowhere")
    assert kind == "link to nowhere" or victim.read_text() == "mine"


@pytest.mark.parametrize("name", ["log.txt", "metrics.jsonl", "snapshots"])
def test_files_added_to_are_no_links(name: str, run: RunFolder) -> None:
    with run:
        written(run)
    shutil.rmtree(f"{run.path}/snapshots")
    Path(run.path, name).unlink(missing_ok=True)
    victim = Path(run.path).parent / "victim.txt"
    victim.write_text("mine, and torn")
    Path(run.path, name).symlink_to("../victim.txt")
    with pytest.raises(OutputError, match=f"{name}' is a symbolic link.*another folder"):
        claim(Path(run.path), resume=True)
    assert victim.read_text() == "mine, and torn"


@pytest.mark.parametrize("resume", [True, False])
def test_other_names_of_files_added_to_keep_what_they_were(resume: bool, run: RunFolder) -> None:
    with run:
        run.add_epoch(ROWS[0], "first")
    folder, names = Path(run.path), ("log.txt", "metrics.jsonl")
    before = {name: (folder / name).read_bytes() for name in names}
    for name in names:
        os.link(folder / name, folder.parent / name)
    with claim(folder, resume=resume, force=not resume) as again:
        again.add_epoch(ROWS[1], "second")
        with pytest.raises(OutputError, match="another run"):
            claim(folder, resume=True)
    assert {name: (folder.parent / name).read_bytes() for name in names} == before
    assert all((folder / name).read_bytes() != before[name] for name in names)


def test_dated_runs_are_numbered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1795275000")
    paths = [claim(None, label="glyphs cnn").path for _ in range(3)]
    assert paths == [f"runs/2026-11-21-1530-glyphs-cnn{end}" for end in ("", "-2", "-3")]


def test_nothing_private_is_written(run: RunFolder) -> None:
    run.write_config(
        settings_of({"data": "folder:/home/ada/tiny"}),
        out=Path("/home/ada/run"),
        list=["h5:/home/a.h5"],
        command="gnc train --out /home/ada/run --data=/home/ada/x",
        url="https://a.org/b",
    )
    run.log("left out /home/ada/fonts/a.ttf:\nbroken")
    add_snapshot(run, 1)
    for name, text in contents(run.path).items():
        assert b"/home" not in text, name
    config = read_config(run.path)
    assert (config["settings"]["data"], config["out"]) == ("folder:tiny", "run")
    assert config["url"] == "https://a.org/b"
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ left out a\.ttf: broken\n",
        Path(run.path, "log.txt").read_text(),
    )
