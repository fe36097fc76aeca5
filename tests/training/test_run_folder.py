"""Run folders: whole after any kill, refusing what is not theirs, and nothing private in them."""

import json
import os
import re
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gnc_cli.collapse.sources import find_samples
from gnc_cli.errors import DataError, OutputError
from gnc_cli.training import snapshots
from gnc_cli.training.checkpoints import link_file, read_checkpoint, write_checkpoint
from gnc_cli.training.run_folder import EpochLines, RunFolder, read_config

STATE: dict[str, Any] = {
    "model": OrderedDict(w=torch.arange(6.0).reshape(2, 3), b=torch.nn.Parameter(torch.ones(2))),
    "optimizer": {"state": {0: {"step": torch.tensor(3)}}, "param_groups": [{"betas": (0.9, 1)}]},
    "epoch": 3, "sums": [0.5, None, True], "dtype": torch.float32, "size": torch.Size([1, 2]),
}  # fmt: skip


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """A new run with a config."""
    folder = RunFolder.create(tmp_path / "run", label="")
    folder.write_config({"epochs": 3})
    return folder


def rows(count: int) -> list[dict[str, Any]]:
    return [{"epoch": e, "loss": 1.0 / e} for e in range(1, count + 1)]


def add_snapshot(run: RunFolder, epoch: int, split: str = "train", scale: float = 1.0) -> None:
    labels = np.arange(12) % 4
    weights = np.eye(4, 3, dtype=np.float32) + 0.1
    features = (scale * (weights[labels] + 0.01 * np.arange(12)[:, None])).astype(np.float32)
    arrays = {"features": features, "labels": labels, "weights": weights}
    snapshots.add_snapshot(run.path, arrays, epoch=epoch, step=10 * epoch, split=split,
                           provenance=run.provenance)  # fmt: skip


def drop(run: RunFolder, after: int) -> None:
    snapshots.drop_snapshots(run.path, after, run.provenance)


def listed(run: RunFolder) -> list[str | None]:
    files = [str(path) for path in snapshots.snapshot_files(run.path)]
    return [source.snapshot for source in find_samples(files)] if files else []


def test_a_run_is_read_as_it_was_written(run: RunFolder) -> None:
    assert read_config(run.path) == {"epochs": 3}
    for row in rows(3):
        run.epochs.add(row | {"gnc1": float("nan")})
    assert run.epochs.read() == [row | {"gnc1": None} for row in rows(3)]
    write_checkpoint(run.path / "last.pt", STATE)
    link_file(run.path / "last.pt", run.path / "best.pt")
    write_checkpoint(run.path / "last.pt", STATE | {"epoch": 4})
    assert [read_checkpoint(run.path / f"{n}.pt")["epoch"] for n in ("last", "best")] == [4, 3]
    read = torch.load(run.path / "best.pt", weights_only=True)
    assert torch.equal(read["model"]["w"], STATE["model"]["w"])
    assert read["optimizer"]["param_groups"] == STATE["optimizer"]["param_groups"]
    assert sorted(os.listdir(run.path)) == [
        "best.pt", "config.json", "last.pt", "log.txt", "metrics.jsonl"
    ]  # fmt: skip


def test_measure_reads_the_snapshots(run: RunFolder) -> None:
    from gnc_cli import measure

    for epoch in (2, 10):
        for split in ("train", "test"):
            add_snapshot(run, epoch, split)
    series: Any = measure(str(run.path / "snapshots.h5"))
    assert [(r.epoch, r.step, r.split) for r in series.rows] == [
        (2, 20, "test"), (2, 20, "train"), (10, 100, "test"), (10, 100, "train")
    ]  # fmt: skip
    assert {(r.N, r.K, r.d) for r in series.rows} == {(12, 4, 3)}
    assert all(r.accuracy is not None for r in series.rows)
    provenance = find_samples([str(run.path / "snapshots.h5")])[0].attrs["provenance"]
    assert provenance == {"command": "gnc train", "options": {"epochs": 3}}


def test_snapshots_are_replaced_and_dropped(run: RunFolder) -> None:
    for epoch in (1, 2, 3):
        add_snapshot(run, epoch)
    size = (run.path / "snapshots.h5").stat().st_size
    add_snapshot(run, 2, scale=7.0)
    assert listed(run) == [f"epoch-{e:04d}-train" for e in (1, 2, 3)]
    assert abs((run.path / "snapshots.h5").stat().st_size - size) < 2048
    with find_samples([str(run.path / "snapshots.h5")])[1].open() as samples:
        assert samples.features is not None
        assert samples.features.read(0, 1)[0, 0] == pytest.approx(7.7)
    drop(run, 2)
    assert listed(run) == ["epoch-0001-train", "epoch-0002-train"]
    drop(run, 0)
    assert listed(run) == [] and not (run.path / "snapshots.h5").exists()


def test_full_files_are_left_alone(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "_FULL", 1)
    for epoch in (1, 2, 3, 2):
        add_snapshot(run, epoch)
    assert listed(run) == [f"epoch-{e:04d}-train" for e in (1, 2, 3)]
    names = [path.name for path in snapshots.snapshot_files(run.path)]
    assert names == ["snapshots.h5", "snapshots-3.h5", "snapshots-4.h5"]
    drop(run, 1)
    assert listed(run) == ["epoch-0001-train"]


def test_a_kill_leaves_the_old_files(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    write_checkpoint(run.path / "last.pt", STATE)
    add_snapshot(run, 1)
    before = {p.name: p.read_bytes() for p in run.path.iterdir()}

    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("gnc_cli.io.atomic.os.replace", killed)
    with pytest.raises(KeyboardInterrupt):
        write_checkpoint(run.path / "last.pt", STATE | {"epoch": 9})
    with pytest.raises(KeyboardInterrupt):
        link_file(run.path / "last.pt", run.path / "best.pt")
    with pytest.raises(KeyboardInterrupt):
        add_snapshot(run, 2)
    assert {p.name: p.read_bytes() for p in run.path.iterdir()} == before


@settings(max_examples=25)
@given(st.integers(0, 5), st.integers(0, 10_000))
def test_metrics_cut_at_any_byte_are_mended(tmp_path_factory: Any, count: int, cut: int) -> None:
    path = tmp_path_factory.mktemp("m") / "metrics.jsonl"
    lines = EpochLines(path)
    for row in rows(count):
        lines.add(row)
    data = path.read_bytes()
    os.truncate(path, cut % (len(data) + 1))
    whole = data[: cut % (len(data) + 1)].count(b"\n")
    again = EpochLines(path)
    assert again.read() == rows(count)[:whole]
    again.add({"epoch": count + 1})
    assert EpochLines(path).read() == [*rows(count)[:whole], {"epoch": count + 1}]


def test_an_epoch_takes_the_place_of_itself_and_later_ones(run: RunFolder) -> None:
    for row in rows(5):
        run.epochs.add(row)
    run.epochs.truncate(after=4)
    run.epochs.add({"epoch": 3, "loss": 7.0})
    assert run.epochs.read() == [*rows(2), {"epoch": 3, "loss": 7.0}]


def test_foreign_lines_are_named(run: RunFolder) -> None:
    write_checkpoint(run.path / "last.pt", STATE)
    run.close()
    (run.path / "metrics.jsonl").write_text('{"epoch": 1}\nhello\n{"epoch": 3}\n')
    with pytest.raises(DataError, match=r"metrics\.jsonl', line 2, is no epoch"):
        RunFolder.open(run.path)


def test_folders_of_runs_are_not_overwritten(run: RunFolder) -> None:
    (run.path / "notes.md").write_text("mine")
    add_snapshot(run, 1)
    with pytest.raises(OutputError, match="being written by another run"):
        RunFolder.create(run.path, label="", force=True)
    run.close()
    with pytest.raises(OutputError, match="holds 'config.json' already; .*--resume"):
        RunFolder.create(run.path, label="")
    with RunFolder.create(run.path, label="", force=True) as anew:
        assert anew.epochs.read() == []
    assert sorted(os.listdir(run.path)) == ["log.txt", "metrics.jsonl", "notes.md"]
    with pytest.raises(OutputError, match="is no folder"):
        RunFolder.create(run.path / "notes.md", label="")
    with pytest.raises(OutputError, match="cannot make folder"):
        RunFolder.create(run.path / "notes.md" / "run", label="")


NAMES = ["config.json", "metrics.jsonl", "snapshots.h5", "snapshots-2.h5", "last.pt", "best.pt",
         "log.txt", "assignment-2/config.json"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["file", "link", "link to nowhere"])
def test_any_file_of_such_a_name_is_in_the_way(name: str, kind: str, tmp_path: Path) -> None:
    victim, folder = tmp_path / "victim.txt", tmp_path / "run"
    (folder / name).parent.mkdir(parents=True)
    if kind != "link to nowhere":
        victim.write_text("mine")
    if kind == "file":
        (folder / name).write_text("mine")
    else:
        (folder / name).symlink_to(victim)
    with pytest.raises(OutputError, match=f"holds {name!r} already; .*--force"):
        RunFolder.check_free(folder)
    with pytest.raises(OutputError, match=f"holds {name!r} already; .*--force"):
        RunFolder.create(folder, label="")
    assert os.listdir(folder) == [name.split("/")[0]]
    with RunFolder.create(folder, label="", force=True) as run:
        written(run)
    assert victim.exists() == (kind != "link to nowhere")
    assert kind == "link to nowhere" or victim.read_text() == "mine"


def written(run: RunFolder) -> None:
    """Every file of a run, through every writer."""
    run.write_config({"epochs": 1})
    run.epochs.add({"epoch": 1})
    write_checkpoint(run.path / "last.pt", STATE)
    link_file(run.path / "last.pt", run.path / "best.pt")
    add_snapshot(run, 1)
    run.log("hello")


@pytest.mark.parametrize("name", ["config.json", "snapshots.h5", "last.pt", "best.pt"])
@pytest.mark.parametrize("hard", [True, False])  # whether best.pt can be a second name of last.pt
def test_files_replaced_whole_replace_a_link(
    name: str, hard: bool, run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Any) -> None:
        raise PermissionError

    if not hard:
        monkeypatch.setattr("gnc_cli.training.checkpoints.os.link", refused)
    written(run)
    victim = run.path.parent / "victim"
    victim.write_bytes((run.path / name).read_bytes())
    before = victim.read_bytes()
    (run.path / name).unlink()
    (run.path / name).symlink_to(victim)
    run.write_config({"epochs": 2})
    write_checkpoint(run.path / "last.pt", STATE | {"epoch": 9})
    link_file(run.path / "last.pt", run.path / "best.pt")
    add_snapshot(run, 2)
    assert victim.read_bytes() == before
    assert not (run.path / name).is_symlink()


@pytest.mark.parametrize("name", ["log.txt", "metrics.jsonl"])
def test_files_added_to_are_no_links(name: str, run: RunFolder) -> None:
    written(run)
    run.close()
    victim = run.path.parent / "victim.txt"
    victim.write_text("mine, and torn")
    (run.path / name).unlink()
    (run.path / name).symlink_to("../victim.txt")
    with pytest.raises(OutputError, match=f"{name}' is a symbolic link.*another folder"):
        RunFolder.open(run.path)
    assert victim.read_text() == "mine, and torn"


def test_dated_runs_are_numbered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1795275000")
    paths = [str(RunFolder.create(None, label="glyphs cnn/..").path) for _ in range(3)]
    assert paths == [f"runs/2026-11-21-1530-glyphs-cnn{end}" for end in ("", "-2", "-3")]


def test_what_is_missing_is_named(run: RunFolder) -> None:
    run.close()
    with pytest.raises(DataError, match="no run folder"):
        RunFolder.open(run.path / "nowhere")
    with pytest.raises(DataError, match=r"no last\.pt: .* before its first checkpoint"):
        RunFolder.open(run.path)
    write_checkpoint(run.path / "last.pt", STATE)
    with RunFolder.open(run.path) as again:
        assert read_checkpoint(again.path / "last.pt")["epoch"] == 3
    (run.path / "config.json").unlink()
    with pytest.raises(DataError, match=r"it has no config\.json"):
        RunFolder.open(run.path)


def test_nothing_private_is_written(run: RunFolder) -> None:
    run.write_config({
        "data": "folder:/home/ada/tiny", "out": Path("/home/ada/run"), "list": ["h5:/home/a.h5"],
        "command": "gnc train --out /home/ada/run --data=/home/ada/x", "url": "https://a.org/b",
    })  # fmt: skip
    run.log("left out /home/ada/fonts/a.ttf:\nbroken")
    add_snapshot(run, 1)
    for path in run.path.iterdir():
        assert b"/home" not in path.read_bytes(), path.name
    config = read_config(run.path)
    assert (config["data"], config["out"], config["url"]) == ("folder:tiny", "run", "https://a.org/b")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ left out a\.ttf: broken\n",
                        (run.path / "log.txt").read_text())  # fmt: skip


def test_a_damaged_config_is_named(run: RunFolder) -> None:
    for text in ("{", json.dumps([1])):
        (run.path / "config.json").write_text(text)
        with pytest.raises(DataError, match=r"config\.json"):
            read_config(run.path)
