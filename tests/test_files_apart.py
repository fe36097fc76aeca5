"""No output takes the place of an input: the library says so, from Python and from a shell."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import gnc_cli

FILES = ("a.h5", "b.h5", "n.csv", "n.jsonl", "n.svg", "run/last.pt")
CASES: list[tuple[str, dict[str, Any], str]] = [
    ("solve", {"d": 3, "K": 4, "init": "a.h5", "out": "a.h5", "force": True}, "--init 'a.h5'"),
    ("solve", {"d": 3, "K": 4, "init": "a.h5", "out": "link.h5", "force": True}, "--init 'a.h5'"),
    ("solve", {"d": 3, "K": 4, "init": "a.h5", "out": "a.h5", "resume": True}, "--init 'a.h5'"),
    (
        "solve",
        {"d": 3, "K": 4, "fixed": "a.h5:W", "out": "a.h5", "force": True},
        "--fixed 'a.h5:W'",
    ),
    ("solve", {"d": 3, "K": 4, "init": "n.svg", "plot": "n.svg", "force": True}, "--init 'n.svg'"),
    ("measure", {"FILES": ["a.h5"], "out": "link.h5", "force": True}, "FILES 'a.h5'"),
    ("measure", {"FILES": ["*.h5"], "out": "a.h5", "force": True}, "FILES '*.h5'"),
    (
        "measure",
        {"FILES": ["b.h5", "a.h5:W"], "per_class": "./a.h5", "force": True},
        "FILES 'a.h5:W'",
    ),
    (
        "measure",
        {"features": "b.h5", "labels": "a.h5:y", "out": "a.h5", "force": True},
        "--labels 'a.h5:y'",
    ),
    (
        "measure",
        {"FILES": ["b.h5"], "means_from": "a.h5", "out": "a.h5", "force": True},
        "--means-from 'a.h5'",
    ),
    (
        "measure",
        {"FILES": ["b.h5"], "reference": "a.h5", "out": "a.h5", "force": True},
        "--reference 'a.h5'",
    ),
    (
        "measure",
        {"FILES": ["b.h5"], "classes": "n.csv", "out": "n.csv", "force": True},
        "--classes 'n.csv'",
    ),
    (
        "measure",
        {"FILES": ["b.h5"], "class_names": "n.csv", "per_class": "n.csv", "force": True},
        "--class-names 'n.csv'",
    ),
    (
        "measure",
        {"FILES": ["b.h5"], "class_names": "n.jsonl", "out": "n.jsonl", "resume": True},
        "--class-names 'n.jsonl'",
    ),
    (
        "measure",
        {"FILES": ["b.h5"], "class_names": "n.svg", "plot": "n.svg", "force": True},
        "--class-names 'n.svg'",
    ),
    (
        "bounds",
        {"d": 10, "K": 9, "table": "n.csv", "out": "./n.csv", "force": True},
        "--table 'n.csv'",
    ),
    ("compare", {"FILES": ["b.h5", "n.svg"], "plot": "n.svg", "force": True}, "FILES 'n.svg'"),
    ("train", {"head": "fixed:n.svg", "plot": "n.svg", "force": True}, "--head 'n.svg'"),
    ("train", {"data": "h5:n.svg", "plot": "n.svg", "force": True}, "--data 'n.svg'"),
    (
        "train",
        {"init_from": "run/last.pt", "out": "run", "force": True},
        "--init-from 'run/last.pt'",
    ),
    ("train", {"init_from": "run", "out": "./run", "force": True}, "--init-from 'run/last.pt'"),
    (
        "train",
        {"backbone_weights": "run/last.pt", "out": "run", "force": True},
        "--backbone-weights 'run/last.pt'",
    ),
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Inputs that are none: whatever is read ends in another error."""
    monkeypatch.chdir(tmp_path)
    Path("run").mkdir()
    for name in FILES:
        Path(name).write_text("mine")
    Path("link.h5").symlink_to("a.h5")
    return tmp_path


@pytest.mark.parametrize(("command", "asked", "input"), CASES)
def test_from_a_shell(command: str, asked: dict[str, Any], input: str) -> None:
    from gnc_cli.cli import app

    options = dict(asked)
    words = [command, *options.pop("FILES", [])]
    for name, value in options.items():
        words.append(f"--{name.replace('_', '-')}")
        words += [] if value is True else [str(value)]
    run = CliRunner(env={"COLUMNS": "100"}).invoke(app, words, prog_name="gnc")
    assert (run.exit_code, run.stdout) == (2, "")
    (line,) = run.stderr.splitlines()
    assert f"would overwrite the input {input}" in line
    assert all(Path(name).read_text() == "mine" for name in FILES)


def test_what_is_no_file_is_in_nobodys_way(folder: Path) -> None:
    start = gnc_cli.solve(3, 6)
    again = gnc_cli.solve(3, 6, init=start.weights, fixed=None, out="c.npy")
    assert np.allclose(np.load("c.npy"), again.weights)
    measured = gnc_cli.measure(weights=start.weights, reference=1.0, out="m.csv")
    assert measured.gnc2.lower > 0.9 and Path("m.csv").exists()
