"""A run folder may be somebody else's: it names no code that runs, and no place to write to."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from gnc_cli.cli import app
from gnc_cli.errors import OutputError, UsageError
from gnc_cli.training.api import train, train_series
from tests.conftest import runner
from tests.training.problems import run, toy

NETWORK = """
from pathlib import Path
from torch import nn

Path(__file__).with_name("ran").touch()

def made(*, channels, image_size, feature_dim):
    return nn.Sequential(nn.Flatten(), nn.Linear(channels * image_size**2, feature_dim))
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A toy data set, and a run of a network in `mine.py` beside it."""
    place = tmp_path_factory.mktemp("trust")
    (place / "mine.py").write_text(NETWORK)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        run(toy(place / "toy.h5"), place / "run", model="mine:made", epochs=2)
    return place


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is imported yet from where these tests write."""
    for name in [n for n in sys.modules if n.partition(".")[0] in ("mine", "shared", "evil")]:
        monkeypatch.delitem(sys.modules, name)


def received(place: Path, folder: Path, model: str) -> Path:
    """The run as somebody sends it: with code, which its config.json names."""
    shutil.copytree(place / "run", folder)
    for name in ("evil.py", "__init__.py"):
        (folder / name).write_text(NETWORK)
    config = json.loads((folder / "config.json").read_text())
    config["settings"]["model"] = model
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def _invoke(*words: str) -> Any:
    return runner(app)("train", *words)


def test_a_run_names_no_code_that_runs(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = received(place, tmp_path / "shared", "shared.evil:made")
    monkeypatch.chdir(tmp_path)
    told = _invoke("--resume", "--out", "shared", "--epochs", "3")
    assert told.exit_code == 2 and told.stderr.count("\n") == 1
    assert "if you trust that code, add --model shared.evil:made" in told.stderr
    with pytest.raises(UsageError, match="add model='mine:made'"):
        train(out=place / "run", resume=True)
    assert not (shared / "ran").exists()
    assert not {"shared", "shared.evil", "mine"} & set(sys.modules)


@pytest.mark.parametrize("how", ["resume", "force"])
def test_a_series_is_written_inside_its_folder(how: str, place: Path, tmp_path: Path) -> None:
    data = f"h5:{place / 'toy.h5'}"
    (tmp_path / "square.txt").write_text("1 0\n0 1\n-1 0\n0 -1\n")
    asked: dict[str, Any] = {
        "data": data,
        "model": "cnn",
        "width": 0.125,
        "epochs": 1,
        "out": tmp_path / "all",
        "head": f"fixed:{tmp_path / 'square.txt'}",
        "assignment": "all",
        "threads": 1,
    }
    series = train_series(**asked)
    shutil.move(tmp_path / "all" / "assignment-1", tmp_path / "elsewhere")
    (tmp_path / "all" / "assignment-1").symlink_to(tmp_path / "elsewhere")

    def contents() -> dict[Path, bytes]:
        return {p: p.read_bytes() for p in (tmp_path / "elsewhere").rglob("*") if p.is_file()}

    before = contents()
    with pytest.raises(OutputError, match="assignment-1' is a symbolic link.*remove it"):
        train_series(**asked, **{how: True})
    assert contents() == before
    assert len(series.rows) == 3
