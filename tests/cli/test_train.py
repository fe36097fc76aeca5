"""`gnc train`: what reaches the work function, what reaches stdout and stderr, and the status."""

import csv
import io
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from typer.testing import CliRunner

from gnc_cli import schemas
from gnc_cli.commands.train_progress import epochs_on_terminal
from gnc_cli.errors import DataError, ExitCode, OutputError, UnavailableError, UsageError
from gnc_cli.results import plain
from tests.cli.train_fakes import (
    DATA,
    HEAD,
    FakeTrain,
    epoch,
    full,
    install_train,
    placements,
    result,
    unmeasured,
)

GOLDEN = Path(__file__).parent / "golden"
SCHEMA = schemas.load("train")
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
EPOCH = jsonschema.Draft202012Validator({"$ref": "#/$defs/epoch", "$defs": SCHEMA["$defs"]})
Run = Callable[..., Any]

RESULTS: dict[str, Any] = {
    "train": result(), "train_full": full(), "train_unmeasured": unmeasured(),
    "train_series": placements(0.9375, 0.75),
}  # fmt: skip


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeTrain:
    """The stand-in: set `.result` or `.error`, read `.calls`."""
    return install_train(monkeypatch)


@pytest.fixture
def gnc(fake: FakeTrain) -> Run:
    """`gnc("--epochs", 2)` runs `gnc train --epochs 2`."""
    from gnc_cli.cli import app

    plain = {"COLUMNS": "100", "NO_COLOR": None, "FORCE_COLOR": None}

    def run(*args: Any, **more: Any) -> Any:
        words = ["train", *map(str, args)]
        return CliRunner(env=plain | more).invoke(app, words, prog_name="gnc")

    return run


def test_defaults_are_those_of_the_work_function(gnc: Run, fake: FakeTrain) -> None:
    import importlib
    import inspect

    assert gnc().exit_code == 0
    (call,) = fake.calls
    sys.modules.pop("gnc_cli.workflows.train")  # the stand-in
    work = importlib.import_module("gnc_cli.workflows.train").train
    defaults = {k: p.default for k, p in inspect.signature(work).parameters.items()}
    told = ("interrupt", "on_run", "on_epoch")
    assert call["interrupt"].is_set() is False
    assert callable(call["on_run"]) and callable(call["on_epoch"])
    assert {k: v for k, v in call.items() if k not in told} == {
        k: v for k, v in defaults.items() if k not in told
    }


def test_options_reach_the_work_function(gnc: Run, fake: FakeTrain, tmp_path: Path) -> None:
    plot = tmp_path / "run.svg"
    run = gnc(
        "--data", "cifar10:here", "-K", "1e1", "--classes-subset", "cat, dog", "--image-size",
        "16", "--fonts", "fonts", "--augment", "crop, flip", "--ood", "h5:o.h5", "--model",
        "resnet18", "-d", "3", "--width", "0.25", "--stem", "small", "--norm", "group",
        "--backbone-weights", "b.pt", "--init-from", "old", "--head", "fixed:code.h5",
        "--constraint", "sphere", "--tau", "5e-2", "--beta", "0.5", "--loss", "arcface",
        "--margin", "0.3", "--assignment", "best", "--similarity", "s.npy", "--preset", "fig4",
        "--epochs", "1_000", "--batch-size", "64", "--optimizer", "sgd", "--lr", "0.2",
        "--momentum", "0.8", "--weight-decay", "1e-4", "--schedule", "step", "--milestones",
        "200,400..600..100", "--gamma", "0.2", "--warmup", "1.5", "--clip", "5", "--seed", "7",
        "--time-limit", "60", "--device", "cuda:1", "--threads", "2", "--precision", "bf16",
        "--channels-first", "--compile", "--out", tmp_path / "run", "--resume", "--force",
        "--measure-every", "5", "--snapshot-every", "50", "--plot", plot,
    )  # fmt: skip
    assert run.exit_code == 0, run.stderr
    (call,) = fake.calls
    for told in ("interrupt", "on_run", "on_epoch"):
        call.pop(told)
    assert call == {
        "data": "cifar10:here", "classes": 10, "classes_subset": ["cat", "dog"], "image_size": 16,
        "fonts": "fonts", "augment": ["crop", "flip"], "ood": "h5:o.h5", "model": "resnet18",
        "feature_dim": 3, "width": 0.25, "stem": "small", "norm": "group",
        "backbone_weights": "b.pt", "init_from": "old", "head": "fixed:code.h5",
        "constraint": "sphere", "tau": 0.05, "beta": 0.5, "loss": "arcface", "margin": 0.3,
        "assignment": "best", "similarity": "s.npy", "preset": "fig4", "epochs": 1000,
        "batch_size": 64, "optimizer": "sgd", "lr": 0.2, "momentum": 0.8, "weight_decay": 1e-4,
        "schedule": "step", "milestones": [200, 400, 500, 600], "gamma": 0.2, "warmup": 1.5,
        "clip": 5.0, "seed": 7, "time_limit": 60.0, "device": "cuda:1", "threads": 2,
        "precision": "bf16", "channels_last": False, "compile": True,
        "out": str(tmp_path / "run"), "resume": True, "force": True, "measure_every": 5,
        "snapshot_every": 50, "plot": str(plot), "progress": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        ("--augment none", "augment", []), ("--channels-last", "channels_last", True),
        ("--classes 20", "classes", 20), ("--K 20", "classes", 20), ("--d 20", "feature_dim", 20),
        ("--feature-dim 20", "feature_dim", 20), ("--precision auto", "precision", "auto"),
    ],
)  # fmt: skip
def test_other_names_and_values(
    gnc: Run, fake: FakeTrain, words: str, name: str, value: Any
) -> None:
    assert gnc(*words.split()).exit_code == 0
    assert fake.calls[0][name] == value


# What is printed


@pytest.mark.parametrize("name", RESULTS)
def test_golden_json(gnc: Run, fake: FakeTrain, name: str) -> None:
    fake.result = RESULTS[name]
    run = gnc("--json")
    assert run.stderr == "" and run.stdout.count("\n") == 1
    printed = json.loads(run.stdout, parse_constant=pytest.fail)
    golden = json.loads((GOLDEN / f"{name}.json").read_text())
    assert json.dumps(printed) == json.dumps(golden)  # in this order, integers as integers
    VALIDATOR.validate(printed)


def test_the_schema_knows_every_key() -> None:
    body = result().to_json()
    for wrong in (body | {"more": 1}, {k: v for k, v in body.items() if k != "history"}):
        assert not VALIDATOR.is_valid(wrong)


@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.parametrize("options", ["", "-q", "-v"])
def test_tables_go_to_stdout_alone(gnc: Run, fake: FakeTrain, name: str, options: str) -> None:
    fake.result = RESULTS[name]
    run = gnc(*options.split())
    assert run.stderr == "" and run.stdout.count("\n") > 4
    assert max(map(len, run.stdout.splitlines())) <= 100


def test_jsonl_has_each_epoch_when_it_is_done(gnc: Run, fake: FakeTrain) -> None:
    rows = [plain(e) for e in result().history]
    run = gnc("--jsonl", "--min", "gnc1=0.01")
    lines = [json.loads(line, parse_constant=pytest.fail) for line in run.stdout.splitlines()]
    assert lines == [{"run": "runs/one"} | row for row in rows] and "gate passed" in run.stderr
    for line in lines:
        EPOCH.validate({k: v for k, v in line.items() if k != "run"})
    # What was printed before an error stays printed.
    fake.error = DataError("epoch 5: the loss is no longer finite")
    run = gnc("--jsonl")
    assert run.exit_code == 3 and run.stdout.count("\n") == len(rows)
    assert gnc().stdout == ""


def test_jsonl_says_which_placement_an_epoch_is_of(gnc: Run, fake: FakeTrain) -> None:
    fake.result = placements(0.9375, 0.75)
    lines = [json.loads(line) for line in gnc("--jsonl").stdout.splitlines()]
    assert [(r["run"], r["epoch"]) for r in lines] == [
        (run.run, row.epoch) for run in fake.result.rows for row in run.history
    ]
    assert len({r["run"] for r in lines}) == 2


def test_csv_has_a_line_an_epoch(gnc: Run, fake: FakeTrain) -> None:
    read = list(csv.DictReader(io.StringIO(gnc("--csv").stdout)))
    assert [r["epoch"] for r in read] == ["1", "2", "3", "4"]
    assert list(read[0])[:3] == ["run", "epoch", "step"] and read[3]["gnc2.lower"] == "0.25"
    assert read[2]["gnc1"] == "" and read[2]["loss"] == "0.5" and read[2]["run"] == "runs/one"
    fake.result = placements(0.9375, 0.75)
    read = list(csv.DictReader(io.StringIO(gnc("--csv").stdout)))
    assert [(r["run"][-1], r["epoch"]) for r in read] == [
        ("1", "1"), ("1", "2"), ("2", "1"), ("2", "2")
    ]  # fmt: skip


@pytest.mark.parametrize("shape", ["", "--json", "--jsonl", "--csv"])
def test_of_several_processes_the_first_alone_speaks(
    gnc: Run, tmp_path: Path, shape: str
) -> None:
    report = tmp_path / "r.md"
    torchrun = {"WORLD_SIZE": "2", "RANK": "1"}
    run = gnc(*shape.split(), "--report", report, "--min", "gnc1=9", **torchrun)
    assert (run.exit_code, run.stdout, run.stderr) == (0, "", "") and not report.exists()
    run = gnc(*shape.split(), "--report", report, "--min", "gnc1=9", WORLD_SIZE="2", RANK="0")
    assert run.exit_code == 5 and run.stdout and report.exists()


def test_an_error_of_all_processes_is_printed_once(gnc: Run, fake: FakeTrain) -> None:
    for told, lines in ((False, 1), (True, 0)):  # by another process
        fake.error = DataError("no such folder: 'a'; check the name")
        fake.error.told = told
        run = gnc()
        assert run.exit_code == 3 and run.stderr.count("\n") == lines


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("width", "seen"),
    [
        (60, "@4: test 0.625 "), (70, "@4: test 0.625 GNC2 0.25 "),
        (80, "@4: test 0.625 GNC2 0.25 train 0.75 "),
        (120, "GNC2 0.25 train 0.75 GNC1 0.062 GNC3 0.32 OOD 0.5 "),
    ],
)  # fmt: skip
def test_the_bar_is_one_line_with_nothing_cut(
    monkeypatch: pytest.MonkeyPatch, width: int, seen: str
) -> None:
    monkeypatch.setattr(sys, "stderr", terminal := _Terminal())
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    with epochs_on_terminal() as watch:
        assert watch.progress is not None
        watch.progress("training", 1, 900, 1.234e-05)
        made = epoch(4, train_accuracy=0.75, test_accuracy=0.625, ood_accuracy=0.5, gnc3=0.3164)
        watch.on_epoch(made)
        watch.on_epoch(epoch(5, measured=False))  # what was measured last stays
        watch.progress("training", 675, 900, 1.234e-05)  # of 15 steps an epoch
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())
    frames = re.split(r"[\r\n]+", text)
    assert max(map(len, frames)) <= width and "…" not in text
    last = [frame for frame in frames if frame.strip()][-1]
    assert " epoch 45/60 loss 1.23e-05 " in last and seen in last


def test_nobody_watches_a_pipe(gnc: Run, fake: FakeTrain, capsys: Any) -> None:
    with epochs_on_terminal() as watch:
        watch.on_epoch(epoch(1))
        assert watch.progress is None
    assert capsys.readouterr().err == ""


# How it ends


def test_endings(gnc: Run, fake: FakeTrain) -> None:
    fake.result = full()
    for shape in ("--json", "--csv", "-q"):
        run = gnc(shape, "--min", "gnc1=9")  # an interruption outranks what a gate says
        assert run.exit_code == ExitCode.INTERRUPTED and run.stdout
    fake.result = unmeasured()
    assert gnc().exit_code == 0
    fake.result = placements(0.5, outcome="interrupted")
    assert gnc().exit_code == 0  # its only run was completed
    fake.result = placements(0.5, rows=(replace(result(), outcome="interrupted"),))
    assert gnc().exit_code == ExitCode.INTERRUPTED


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (UsageError("bad option"), 2), (DataError("bad data"), 3), (OutputError("no room"), 3),
        (UnavailableError("no GPU"), 6), (MemoryError(), 6), (KeyboardInterrupt(), 130),
    ],
)  # fmt: skip
def test_every_error_has_its_code(
    gnc: Run, fake: FakeTrain, error: BaseException, status: int
) -> None:
    fake.error = error
    run = gnc()
    assert (run.exit_code, run.stdout) == (status, "")
    assert len(run.stderr.splitlines()) == (0 if status == 130 else 1)


GATES: list[tuple[tuple[str, ...], int]] = [
    (("--min", "test_accuracy=0.9"), 0), (("--min", "test_accuracy=0.95"), 5),
    (("--max", "gnc1=0.0625", "--max", "gnc3=0.5"), 0), (("--max", "gnc1=0.06"), 5),
    (("--min", "gnc2=0.25"), 0), (("--min", "gnc2=0.2500000000005"), 4),
    (("--check", "gnc2.upper<=2 and outcome == 'completed'"), 0),
    (("--check", "head.saved_share > 0"), 5), (("--min", "best.accuracy=0.9"), 0),
    (("--min", "history.0.gnc1=0.5"), 0), (("--max", "measure_share=0.1"), 0),
    (("--min", "ood_accuracy=0"), 5), (("--min", "no_such=0"), 5),
]  # fmt: skip


@pytest.mark.parametrize(("gates", "status"), GATES)
def test_gates(gnc: Run, gates: tuple[str, ...], status: int) -> None:
    run = gnc(*gates)
    assert run.exit_code == status and run.stderr.count("gnc: gate ") == len(gates) // 2


@pytest.mark.parametrize(("rows", "status"), [("last", 0), ("any", 0), ("all", 5)])
def test_gates_over_placements(gnc: Run, fake: FakeTrain, rows: str, status: int) -> None:
    fake.result = placements(0.75, 0.9375)
    assert gnc("--min", "test_accuracy=0.9", "--rows", rows).exit_code == status


def test_baseline(gnc: Run, fake: FakeTrain, tmp_path: Path) -> None:
    path = tmp_path / "learned.json"
    path.write_text(gnc("--json").stdout)

    def judged(allow: str, **changes: Any) -> int:
        fake.result = result(**changes)
        code: int = gnc("--baseline", path, "--allow", allow).exit_code
        return code

    names = ("test_accuracy", "gnc1", "gnc2", "gnc3", "loss", "images_per_second", "best.accuracy")
    assert [judged(f"{name}=0") for name in names] == [0] * len(names)
    # Another head on the same data is what one wants to compare.
    cmf = replace(HEAD, kind="cmf", beta=0.9)
    assert judged("test_accuracy=0.015", head=cmf, test_accuracy=0.9) == 0
    assert judged("test_accuracy=0.015", head=cmf, test_accuracy=0.89) == 5
    assert judged("test_ncc_accuracy=1%", test_ncc_accuracy=0.5) == 5
    assert judged("loss=1%", loss=1e-9) == judged("loss=1%", loss=0.28) == 0
    assert judged("loss=1%", loss=0.29) == 5


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("name", "cifar100", "has data.name glyphs, this run cifar100"),
        ("test_images", 30, "has data.test_images 300, this run 30"),
        ("image_size", 64, "compare results of equal data.image_size"),
    ],
)
def test_a_baseline_of_other_data_is_refused(
    gnc: Run, fake: FakeTrain, tmp_path: Path, key: str, value: Any, said: str
) -> None:
    path = tmp_path / "run.json"
    path.write_text(gnc("--json").stdout)
    fake.result = result(data=DATA | {key: value})
    run = gnc("--baseline", path, "--allow", "gnc1=1%")
    assert run.exit_code == 3 and said in run.stderr
    fake.result = result(data=DATA | {"ood_images": 9, "merged": 4})
    assert gnc("--baseline", path, "--allow", "gnc1=1%").exit_code == 0


def test_a_baseline_of_another_command_is_refused_before_the_work(
    gnc: Run, fake: FakeTrain, tmp_path: Path
) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps(result().to_json() | {"command": "measure"}))
    run = gnc("--baseline", path, "--allow", "gnc1=1%")
    assert run.exit_code == 3 and "has command measure" in run.stderr and not fake.calls


# Reports


@pytest.mark.parametrize("name", RESULTS)
def test_reports(gnc: Run, fake: FakeTrain, tmp_path: Path, name: str) -> None:
    fake.result = RESULTS[name]
    for suffix in ("md", "xml", "prom"):
        gnc("--report", tmp_path / f"r.{suffix}", "--min", "epochs=1")
    text = (tmp_path / "r.md").read_text()
    tables = [block.splitlines() for block in text.split("\n\n") if block.startswith("|")]
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table}) == 1
    assert "- recipe: " in text and "- network: cnn, 394 410 parameters" in text
    assert "None" not in text and "history" not in text and "worst_classes" not in text
    names = [p.get("name") or "" for p in ElementTree.parse(tmp_path / "r.xml").iter("property")]
    assert [n for n in names if n.endswith("measure_share")]
    samples = [
        line.rpartition(" ")[0] for line in (tmp_path / "r.prom").read_text().splitlines()
        if not line.startswith("#")
    ]  # fmt: skip
    assert len(samples) == len(set(samples)) > 10
    assert not [n for n in names if re.search(r"history|worst_classes|permutation\.\d", n)]
    assert not [n for n in samples if re.search("history|worst_classes|permutation|policy", n)]


def test_the_figures_of_a_report(gnc: Run, fake: FakeTrain, tmp_path: Path) -> None:
    paths = {suffix: tmp_path / f"r.{suffix}" for suffix in ("md", "prom")}
    for path in paths.values():
        assert gnc("--report", path, "-q").exit_code == 0
    text = paths["md"].read_text()
    assert text.startswith("## gnc train: d = 10, K = 100\n")
    assert "| `test_accuracy` | 0.90625 |" in text and "| `gnc1` | 0.0625 |" in text
    assert "| 1 | 4.5 | 0.75 | 0.625 | 0.5 | 0.0625 | 0.75 | 0.875 | 0.5 |" in text
    assert "\n| 3 | " not in text  # was not measured
    labels = '{d="10",K="100",epoch="4",step="60",split="train",run="runs/one"}'
    prom = paths["prom"].read_text().splitlines()
    for key, value in (("gnc1", "0.0625"), ("gnc2_lower", "0.25"), ("test_accuracy", "0.90625")):
        assert f"gnc_train_{key}{labels} {value}" in prom
    fake.result = replace(result(), history=tuple(epoch(e) for e in range(1, 401)))
    assert gnc("--report", paths["md"], "--force", "-q").exit_code == 0
    table = paths["md"].read_text().split("\n\n")[-2].splitlines()
    assert len(table) == 27 and table[2].startswith("| 1 |") and table[-1].startswith("| 400 |")


def test_a_report_of_placements_has_a_line_each(
    gnc: Run, fake: FakeTrain, tmp_path: Path
) -> None:
    fake.result = placements(0.9375, 0.75)
    assert gnc("--report", tmp_path / "r.md").exit_code == 0
    text = (tmp_path / "r.md").read_text()
    assert "| runs/all/assignment-2 | 0 2 1 | completed | 2 | 2 | 0.75 |" in text
    assert "classes placed: all" in text


def test_an_interrupted_run_fails_its_test_page(
    gnc: Run, fake: FakeTrain, tmp_path: Path
) -> None:
    fake.result = full()
    for suffix in ("md", "xml"):
        assert gnc("--report", tmp_path / f"r.{suffix}").exit_code == 130
    (failure,) = ElementTree.parse(tmp_path / "r.xml").iter("failure")
    assert failure.get("type") == "interrupted" and "--resume" in str(failure.get("message"))
    assert "**interrupted**: interrupted, the last checkpoint" in (tmp_path / "r.md").read_text()


# What is refused before any work

BAD_OPTIONS: list[tuple[str, str]] = [
    ("--classes 1", "'1' is too small; give at least 2"), ("--classes ten", "'ten' is not a"),
    ("--feature-dim 1", "at least 2"), ("--d 2.5", "'2.5'"), ("--image-size 7", "at least 8"),
    ("--width 0", "above 0"), ("--tau 0", "above 0"), ("--tau inf", "'inf'"),
    ("--beta 1", "below 1"), ("--margin -1", "at least 0"), ("--loss focal", "'arcface'"),
    ("--norm layer", "'group'"), ("--stem big", "'imagenet'"), ("--preset fig3", "'finetune'"),
    ("--constraint none", "'decay'"), ("--optimizer lion", "'adamw'"), ("--epochs 0", "at least 1"),
    ("--batch-size 1", "at least 2"), ("--lr 0", "above 0"), ("--momentum 1", "below 1"),
    ("--weight-decay -1", "at least 0"), ("--schedule linear", "'cosine'"),
    ("--milestones 3,x", "'x' is not a number"), ("--milestones 0", "at least 1"),
    ("--gamma 2", "at most 1"), ("--warmup -1", "at least 0"), ("--clip 0", "above 0"),
    ("--seed -1", "at least 0"), ("--time-limit 0", "above 0"), ("--device tpu", "'tpu'"),
    ("--threads 0", "at least 1"), ("--precision fp8", "'bf16'"), ("--measure-every 0", "least 1"),
    ("--snapshot-every 0", "least 1"), ("--classes-subset cat,,dog", "an empty name; write"),
    ("--out -", "use --csv"), ("--out ''", "no folder"),
    ("--assignment ''", "is empty"), ("--fonts ''", "is empty"), ("--plot a.gif", ".svg"),
    ("--report a.html", ".prom"), ("--json --csv", "--json and --csv exclude each other"),
    ("--json --jsonl", "exclude each other"), ("--csv --jsonl", "exclude each other"),
    ("-q -v", "-q and -v"), ("--min gnc1", "KEY=VALUE"), ("--check gnc2", "comparison operator"),
    ("--rows first", "'first'"), ("--allow gnc1=1%", "--baseline"), ("stray", "stray"),
    ("--no-such", "no such option"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "said"), BAD_OPTIONS)
def test_bad_options_exit_2_before_any_work(
    gnc: Run, fake: FakeTrain, words: str, said: str
) -> None:
    run = gnc(*["" if word == "''" else word for word in words.split()])
    assert (run.exit_code, run.stdout, fake.calls) == (2, "", [])
    (line,) = run.stderr.splitlines()
    assert line.startswith("gnc: ") and said in line


@pytest.mark.parametrize("option", ["--plot", "--report"])
def test_existing_files_need_force(
    gnc: Run, fake: FakeTrain, tmp_path: Path, option: str
) -> None:
    path = tmp_path / ("there.png" if option == "--plot" else "there.md")
    path.write_text("mine")
    run = gnc(option, path)
    assert run.exit_code == 3 and "--force" in run.stderr and not fake.calls
    lost = gnc(option, tmp_path / "no" / path.name)
    assert lost.exit_code == 3 and "make it first" in lost.stderr and not fake.calls
    assert path.read_text() == "mine"
    for word in ("--force", "--resume"):  # a run that goes on draws its figures again
        assert gnc(option, path, "--out", tmp_path / "run", word).exit_code == 0


def test_help_tells_every_option(gnc: Run) -> None:
    from gnc_cli.commands.train import train

    said = gnc("--help", COLUMNS="120", TERMINAL_WIDTH="120").stdout
    for option in (*train.__annotations__, "K", "d"):
        flag = {"minimum": "min", "maximum": "max"}.get(option, option).replace("_", "-")
        assert option == "return" or f"--{flag}" in said, flag


@pytest.mark.parametrize(
    ("words", "status"),
    [("--help", 0), ("--min x --plot a.png", 2)],
)
def test_help_and_usage_errors_load_nothing_heavy(words: str, status: int) -> None:
    script = (
        "import sys\n"
        f"sys.argv[1:] = 'train {words}'.split()\n"
        "from gnc_cli.cli import main\n"
        "try: main()\n"
        f"except SystemExit as e: assert e.code == {status}\n"
        "heavy = {'torch', 'numpy', 'scipy', 'matplotlib', 'h5py', 'PIL'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_measures_figures_are_attributes_that_completion_knows() -> None:
    found = result()
    assert found.gnc1 == found.measured.gnc1 and found.K == 100
    assert {"gnc1", "gnc2", "ncc_accuracy", "run"} <= set(dir(found)) and "file" not in dir(found)
    assert unmeasured().gnc1 is None
    with pytest.raises(AttributeError, match="gnc4"):
        _ = found.gnc4
