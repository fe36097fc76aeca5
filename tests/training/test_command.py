"""`gnc train` end to end on toy images: `config_file.py`, files, refusals, an interruption."""

import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gnc_cli import schemas
from gnc_cli.brackets import Bracket
from gnc_cli.cli import app
from gnc_cli.training.view import progress_bar
from tests.conftest import runner
from tests.training.made_runs import epoch_row
from tests.training.made_runs import run as made_run
from tests.training.problems import TINY, toy

VALIDATOR = jsonschema.Draft202012Validator(schemas.load("train"))
QUICK = (
    "--model",
    TINY,
    "--batch-size",
    "32",
    "--augment",
    "none",
    "--device",
    "cpu",
    "--threads",
    "1",
)
ROOT = Path(__file__).parents[2]
Run = Callable[..., Any]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a toy data set, a run of two epochs, and things that are none."""
    place = tmp_path_factory.mktemp("made")
    toy(place / "toy.h5", names=("ant", "bee", "cat", "dog"))
    words = ["--data", f"h5:{place / 'toy.h5'}", *QUICK, "--epochs", "2", "--d", "3", "-q"]
    assert _invoke(*words, "--out", place / "run").exit_code == 0
    (place / "words.txt").write_text("once upon a time\n")
    (place / "square.txt").write_text("1 0\n0 1\n-1 0\n0 -1\n")
    (place / "twice.txt").write_text("0 1 2 2\n")
    (place / "empty").mkdir()
    shutil.copytree(place / "run", place / "cut")
    with open(place / "cut" / "last.pt", "r+b") as file:
        file.truncate(3000)
    return place


@pytest.fixture
def gnc(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`gnc("--epochs", 1)` trains on the toy, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return _invoke


def _invoke(*words: Any) -> Any:
    return runner(app)("train", *words)


BAD_QUESTIONS: list[tuple[str, int, str]] = [
    # Options
    ("--assignment best", 2, "--assignment requires --head fixed:FILE"),
    ("--constraint decay --head cmf", 2, "excludes --head, --tau and --loss"),
    ("--resume", 2, "add --out DIR"),
    ("--out -", 2, "use --csv"),
    ("--tau 0", 2, "above 0"),
    ("--loss focal", 2, "'arcface'"),
    ("--augment crop,zoom", 2, "'zoom' is unknown; choose of crop, flip, rotate, or none"),
    ("--plot a.gif", 2, ".svg"),
    ("--data svhn", 2, "write glyphs, cifar10"),
    ("@DATA --model no.such:thing", 2, "importing no.such stops with"),
    # Data that are not there, or not such
    ("--data h5:@/run/snapshots/epoch-0002-test.h5", 3, "it holds 'features'"),
    ("--data glyphs:@/empty", 3, "has no .ttf, .otf or .ttc file; name another"),
    ("@DATA --classes 5", 3, "5 classes were asked for, and there are 4"),
    ("@DATA --classes-subset ant,cow", 3, "no class 'cow'; choose of ant, bee, cat, dog"),
    ("@DATA --ood glyphs", 3, "none of the network's classes (ant, bee, cat, dog)"),
    # Files of the head and the network
    ("@DATA --head fixed:@/words.txt", 3, "is not a table of numbers"),
    ("@DATA --head fixed:@/square.txt --d 3", 3, "gnc solve --d 3 --K 4 --out code.h5"),
    ("@DATA --head fixed:@/square.txt --assignment @/words.txt", 3, "a row number for each class"),
    ("@DATA --head fixed:@/square.txt --assignment @/twice.txt", 3, "each of 0..3 once"),
    ("@DATA --head fixed:solve --assignment best --similarity @/square.txt", 3, "(4, 4)"),
    ("@DATA --init-from @/empty", 3, "no such file"),
    ("@DATA --init-from @/run --d 5", 3, "choose the --model and --width"),
    # Runs and machines
    ("@DATA --out @/run", 3, "holds 'config.json' already; continue with --resume"),
    ("@DATA --resume --out @/cut", 3, "not a zip file"),
    ("@DATA --resume --out @/run --lr 5", 2, "the run to resume has 0.003; leave the option out"),
    ("@DATA --precision fp16", 6, "choose bf16 or float32"),
    ("@DATA --device cuda:99", 6, "--device cuda:99 is not available"),
    ("@DATA --batch-size 1e9", 6, "take a smaller --batch-size"),
]


@pytest.mark.parametrize(("words", "status", "said"), BAD_QUESTIONS)
def test_bad_questions_are_one_line(
    gnc: Run, made: Path, words: str, status: int, said: str
) -> None:
    usual = " ".join(("--data", "h5:@/toy.h5", "--epochs", "2", *QUICK))  # of two the last counts
    run = gnc(*words.replace("@DATA", usual).replace("@/", f"{made}/").split())
    assert (run.exit_code, run.stdout) == (status, ""), run.stderr
    (line,) = run.stderr.splitlines()
    assert line.startswith("gnc: ") and said in line
    assert os.listdir() == []


def test_one_run_in_every_shape(gnc: Run, made: Path) -> None:
    words = ("--data", f"h5:{made}/toy.h5", *QUICK, "--d", "3", "--epochs", "2")
    run = gnc(
        *words,
        "--json",
        "--out",
        "run",
        "--plot",
        "p.png",
        "--report",
        "r.md",
        "--min",
        "ncc_accuracy=0",
        "--max",
        "gnc2.upper=2",
    )
    assert run.exit_code == 0 and run.stderr.count("gate passed") == 2
    body = json.loads(run.stdout, parse_constant=pytest.fail)
    VALIDATOR.validate(body)
    assert (body["run"], body["d"], body["K"], body["epochs"]) == ("run", 3, 4, 2)
    assert Path("p.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert "| GNC2 |" in Path("r.md").read_text()
    Path("earlier.json").write_text(run.stdout)
    # Once more, reported after each epoch: a dated folder, the same values.
    run = gnc(
        *words,
        "--jsonl",
        "--baseline",
        "earlier.json",
        "--allow",
        "gnc1=1%",
        "--allow",
        "test_accuracy=0",
        "-q",
    )
    assert (run.exit_code, run.stderr) == (0, "")
    lines = [json.loads(line) for line in run.stdout.splitlines()]
    (folder,) = Path("runs").iterdir()
    assert folder.name.endswith("-h5-tiny")
    assert {line.pop("run") for line in lines} == {f"runs/{folder.name}"}
    assert lines == [json.loads(s) for s in (folder / "metrics.jsonl").read_text().splitlines()]
    clock = dict.fromkeys(("seconds", "measure_seconds", "images_per_second"))
    assert [line | clock for line in lines] == [line | clock for line in body["history"]]
    assert list(lines[0]) == list(body["history"][0])
    run = gnc("--resume", "--out", "run", "--data", f"h5:{made}/toy.h5", "--model", TINY, "--csv")
    assert run.exit_code == 0, run.stderr
    read = list(csv.DictReader(run.stdout.splitlines()))
    assert [r["gnc1"] for r in read] == [str(e["gnc1"]) for e in body["history"]]


def test_every_placement_and_its_table(gnc: Run, made: Path) -> None:
    words = (
        "--data",
        f"h5:{made}/toy.h5",
        *QUICK,
        "--epochs",
        "1",
        "--head",
        f"fixed:{made}/square.txt",
        "--assignment",
        "all",
        "--out",
        "all",
    )
    run = gnc(*words, "--report", "r.prom", "--rows", "all", "--min", "d=2")
    assert run.exit_code == 0 and "3 of 3 rows pass" in run.stderr
    assert "Assignments of the classes   3 runs   all" in run.stdout
    assert Path("r.prom").read_text().count("\ngnc_train_gnc1{") == 3
    again = gnc(*words, "--resume", "--json")
    assert again.exit_code == 0, again.stderr
    body = json.loads(again.stdout)
    VALIDATOR.validate(body)
    assert [row["head"]["permutation"][0] for row in body["rows"]] == [0, 0, 0]


def test_an_interruption_writes_a_checkpoint_to_go_on_from(gnc: Run, made: Path) -> None:
    words = [
        "--data",
        f"h5:{made}/toy.h5",
        *QUICK,
        "--d",
        "3",
        "--epochs",
        "100000",
        "--measure-every",
        "100000",
        "--out",
        "run",
        "--json",
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "gnc_cli", "train", *words],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    try:
        lines = Path("run/metrics.jsonl")
        for _ in range(1200):
            if process.poll() is not None or (lines.exists() and lines.read_text().count("\n") > 2):
                break
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, stderr
    (line,) = stderr.splitlines()
    assert line.endswith("interrupt again to stop at once")
    body = json.loads(stdout, parse_constant=pytest.fail)
    VALIDATOR.validate(body)
    assert body["outcome"] == "interrupted" and "--resume --out run" in body["advice"]
    assert body["advice"].endswith(f" --model {TINY}")
    assert body["epochs"] == lines.read_text().count("\n") >= 3
    more = body["epochs"] + 2
    go_on = ("--resume", "--out", "run", "--model", TINY, "--epochs", more)
    lost = gnc(*go_on)  # a run keeps no folders of its user
    assert lost.exit_code == 3 and "so give --data" in lost.stderr
    data = f"h5:{made}/toy.h5"
    run = gnc(*go_on, "--data", data, "--json", "-q")
    assert run.exit_code == 0, run.stderr
    after = json.loads(run.stdout)
    assert (after["outcome"], after["epochs"]) == ("completed", more)
    assert after["history"][: body["epochs"]] == body["history"]


def test_a_file_of_settings(gnc: Run, made: Path) -> None:
    text = 'model = "no-such"\nepochs = 2\nmomentum = 0.5\noptimizer = "sgd"\n'
    Path("run.toml").write_text(text)
    words = ("--data", f"h5:{made}/toy.h5", *QUICK, "--d", "3", "--config", "run.toml")
    run = gnc(*words, "--epochs", "1", "--out", "run", "--json")
    assert run.exit_code == 0, run.stderr
    body = json.loads(run.stdout)
    assert (body["epochs"], body["recipe"]["momentum"]) == (1, 0.5)
    for text, status, said in (
        ("epochs = 0", 2, "--epochs 0 is too small"),
        ("epoch = 3", 2, "not an option of gnc train; gnc train --help lists them"),
        ('stem = "small"', 2, "not an option of gnc train; gnc train --help"),
        ("momentum = 0.5", 2, "add that, or drop momentum ('run.toml' sets options too)"),
        ("epochs 3", 3, "is not TOML"),
        ('momentum = "high"', 2, "gnc: momentum 'high' is not a"),
    ):
        Path("run.toml").write_text(text)
        run = gnc(*words, "--out", "other", "--json")
        assert (run.exit_code, run.stdout) == (status, "") and said in run.stderr
    assert gnc("--config", "nowhere.toml").exit_code == 3


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_bar_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    width = 80
    monkeypatch.setattr(sys, "stderr", terminal := _Terminal())
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    with progress_bar(False, "reading the data") as watch:
        assert watch is not None
        watch.report("training", 1, 900, 1.234e-05)
        found = {"train_accuracy": 0.75, "test_accuracy": 0.625, "ood_accuracy": 0.5}
        values = {"gnc1": 0.0625, "gnc2": Bracket(0.25, 0.25), "gnc3": 0.3164}
        watch.on_epoch(epoch_row(4, 60, step=60, **found, **values))
        watch.on_epoch(epoch_row(5, 60, measured=False, step=75))  # what was measured last stays
        watch.report("training", 675, 900, 1.234e-05)  # of 15 steps an epoch
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())
    frames = re.split(r"[\r\n]+", text)
    assert max(map(len, frames)) <= width and "…" not in text
    last = [frame for frame in frames if frame.strip()][-1]
    assert "epoch 45/60 loss 1.23e-05 @4: test 0.625 GNC2 0.25 train 0.75" in last


def test_a_report_says_what_was_measured() -> None:
    assert made_run().title == "d = 10, K = 100"
    assert made_run(measured=None).title == ""
