"""`gnc measure`: what reaches the work function, what reaches stdout and stderr, and the status."""

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
from gnc_cli.errors import DataError, ExitCode, OutputError, UnavailableError, UsageError
from gnc_cli.results import Bracket, WithoutDuplicates
from gnc_cli.results.lines import flat_row
from tests.cli.measure_fakes import (
    FLOOR,
    POLICY,
    FakeMeasure,
    cut_short,
    epochs,
    full,
    grouped,
    install_measure,
    means_only,
    row,
    runs,
    series,
    weights_only,
)

GOLDEN = Path(__file__).parent / "golden"
VALIDATOR = jsonschema.Draft202012Validator(schemas.load("measure"))
Run = Callable[..., Any]

RESULTS: dict[str, Any] = {
    "measure": row(),
    "measure_full": full(),
    "measure_weights": weights_only(),
    "measure_means": means_only(),
    "measure_series": series(*epochs()),
    "measure_groups": grouped(),
}


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeMeasure:
    """The stand-in: set `.result` or `.error`, read `.calls`."""
    return install_measure(monkeypatch)


@pytest.fixture
def gnc(fake: FakeMeasure) -> Run:
    """`gnc("features.h5")` runs `gnc measure features.h5`."""
    from gnc_cli.cli import app

    plain = {"COLUMNS": "100", "NO_COLOR": None, "FORCE_COLOR": None}

    def run(*args: Any, **more: Any) -> Any:
        words = ["measure", *map(str, args)]
        return CliRunner(env=plain).invoke(app, words, prog_name="gnc", **more)

    return run


def test_defaults_reach_the_work_function(gnc: Run, fake: FakeMeasure) -> None:
    assert gnc("a.h5", "b.pt:W", "-").exit_code == 0
    (call,) = fake.calls
    assert call.pop("interrupt").is_set() is False
    assert call == {
        "sources": ("a.h5", "b.pt:W", "-"), "features": None, "labels": None, "weights": None,
        "bias": None, "logits": None, "shards": False, "transpose_weights": False, "K": None,
        "select": None, "normalize": "auto", "missing": "skip", "means_from": None,
        "variants": "none", "duplicates": None, "classes": None, "min_count": None,
        "class_names": None, "reference": None, "probability": 0.9, "bootstrap": None,
        "per_class": None, "group": None, "append": None, "out": None, "force": False,
        "plot": None, "chunk_rows": None, "seed": 0, "device": "auto", "threads": None,
        "time_limit": None, "progress": None, "on_row": None,
    }  # fmt: skip


def test_defaults_are_those_of_the_work_function(gnc: Run, fake: FakeMeasure) -> None:
    import importlib
    import inspect

    assert gnc("a.h5").exit_code == 0
    (call,) = fake.calls
    sys.modules.pop("gnc_cli.workflows.measure")  # the stand-in
    work = importlib.import_module("gnc_cli.workflows.measure").measure
    given = {k: v for k, v in call.items() if k not in ("sources", "interrupt")}
    defaults = {k: p.default for k, p in inspect.signature(work).parameters.items()}
    assert given == {k: v for k, v in defaults.items() if k not in ("sources", "interrupt")}


def test_options_reach_the_work_function(gnc: Run, fake: FakeMeasure, tmp_path: Path) -> None:
    files = {k: str(tmp_path / f"{k}{s}") for k, s in (
        ("out", ".csv"), ("per_class", ".h5"), ("append", ".jsonl"), ("plot", ".svg"),
    )}  # fmt: skip
    run = gnc(
        "--features", "p0.h5", "--features", "p1.h5:z", "--labels", "y.npy", "--weights", "w*.pt",
        "--bias", "b.npy", "--logits", "l.h5:out", "--shards", "--transpose-weights", "-K", "1e3",
        "--select", "epoch=0..100..10", "--select", "split=test", "--normalize", "require",
        "--missing", "error", "--means-from", "train.h5", "--variants", "all", "--duplicates",
        "0.99", "--classes", "c.txt", "--min-count", "5", "--class-names", "n.txt", "--reference",
        "0.66", "--probability", "0.5", "--bootstrap", "200", "--per-class", files["per_class"],
        "--group", "seed", "--append", files["append"], "--out", files["out"], "--force", "--plot",
        files["plot"], "--chunk-rows", "1e4", "--seed", "7", "--device", "cpu", "--threads", "2",
        "--time-limit", "60",
    )  # fmt: skip
    assert run.exit_code == 0, run.stderr
    (call,) = fake.calls
    call.pop("interrupt")
    assert call == {
        "sources": (), "features": ["p0.h5", "p1.h5:z"], "labels": ["y.npy"], "weights": ["w*.pt"],
        "bias": ["b.npy"], "logits": ["l.h5:out"], "shards": True, "transpose_weights": True,
        "K": 1000, "select": [("epoch", [*range(0, 101, 10)]), ("split", ["test"])],
        "normalize": "require",
        "missing": "error", "means_from": "train.h5", "variants": "all", "duplicates": 0.99,
        "classes": "c.txt", "min_count": 5, "class_names": "n.txt", "reference": 0.66,
        "probability": 0.5, "bootstrap": 200, "group": "seed", "force": True, "chunk_rows": 10000,
        "seed": 7, "device": "cpu", "threads": 2, "time_limit": 60.0, "progress": None,
        "on_row": None, **files,
    }  # fmt: skip


def test_a_reference_may_be_a_file(gnc: Run, fake: FakeMeasure) -> None:
    assert gnc("a.h5", "--reference", "./0.66").exit_code == 0
    assert fake.calls[0]["reference"] == "./0.66"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("epoch=5", ["5"]), ("split=train, test", ["train", "test"]), ("epoch=1..3", [1, 2, 3]),
        ("snapshot=a..b", "a..b"), ("layer=x=y", ["x=y"]),
    ],
)  # fmt: skip
def test_selections(gnc: Run, fake: FakeMeasure, text: str, wanted: Any) -> None:
    assert gnc("a.h5", "--select", text).exit_code == 0
    assert fake.calls[0]["select"] == [(text.partition("=")[0], wanted)]


@pytest.mark.parametrize("name", RESULTS)
def test_golden_json(gnc: Run, fake: FakeMeasure, name: str) -> None:
    fake.result = RESULTS[name]
    run = gnc("a.h5", "--json", "-q")
    assert run.exit_code == 0 and run.stderr == ""
    assert run.stdout.count("\n") == 1
    printed = json.loads(run.stdout, parse_constant=pytest.fail)
    golden = json.loads((GOLDEN / f"{name}.json").read_text())
    assert printed == golden
    assert list(printed) == list(golden)
    VALIDATOR.validate(printed)


@pytest.mark.parametrize("name", RESULTS)
def test_golden_tables(gnc: Run, fake: FakeMeasure, name: str) -> None:
    fake.result = RESULTS[name]
    run = gnc("a.h5", "-q")
    assert run.stdout == (GOLDEN / f"{name}_table.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [80, 60])
@pytest.mark.parametrize(
    ("name", "result"),
    [("cut_short", cut_short()), ("series", runs()), ("groups", grouped())],
)
def test_golden_tables_of_narrow_terminals(
    gnc: Run, fake: FakeMeasure, name: str, result: Any, width: int
) -> None:
    fake.result = result
    said = gnc("a.h5", "-q", env={"COLUMNS": str(width)}).stdout
    golden = GOLDEN / f"measure_{name}_table_{width}.txt"
    assert said == golden.read_text(encoding="utf-8")
    assert max(map(len, said.splitlines())) <= width


def test_narrow_tables_keep_what_tells_rows_apart(gnc: Run, fake: FakeMeasure) -> None:
    fake.result = row()
    for width in (100, 80, 70, 60, 50, 40):
        said = gnc("a.h5", env={"COLUMNS": str(width)}).stdout
        assert re.search(r"^class  one-vs-rest  nearest\b", said, re.MULTILINE), width
        assert re.search(r"^0 +0\.660000000  1\b", said, re.MULTILINE), width
    fake.result = runs()
    for width in (100, 80, 70, 60):
        lines = gnc("a.h5", env={"COLUMNS": str(width)}).stdout.splitlines()[2:11]
        assert lines[0].startswith("file ") and "snapshot  epoch  split" in lines[0]
        assert len({line.split("  ")[0] for line in lines[1:]}) == 2


def test_optimal_is_what_is_proved(gnc: Run, fake: FakeMeasure) -> None:
    for kind in ("table", "solved", "construction", "file", "pinned"):
        reference = replace(row().gnc2_reference, kind=kind)  # type: ignore[type-var]
        fake.result = row(gnc2_reference=reference)
        for options in ((), ("-v",)):
            assert "optim" not in gnc("a.h5", *options).stdout
    theorem = {"kind": "theorem", "id": "theorem 3.3: simplex", "proven": True}
    reference = replace(row().gnc2_reference, **theorem)  # type: ignore[type-var]
    fake.result = row(gnc2_reference=reference)
    assert "optimal: theorem 3.3: simplex" in gnc("a.h5").stdout


def test_a_wide_bracket_is_no_figure(gnc: Run, fake: FakeMeasure) -> None:
    fake.result = row(gnc2=Bracket(0.5, 0.6))
    said = gnc("a.h5").stdout
    assert re.search(r"^GNC2 +0\.500000 +certified: at least this", said, re.MULTILINE)
    fake.result = series(row(gnc2=Bracket(0.5, 0.6)), row())
    lines = gnc("a.h5").stdout.splitlines()[3:5]
    assert [">=0.500000  >=0.986" in line for line in lines] == [True, False]
    assert ">=" not in lines[1]


def test_wide_brackets_are_marked_everywhere(gnc: Run, fake: FakeMeasure) -> None:
    fake.result = cut_short()
    said = gnc("a.h5").stdout
    for start in ("  ratio +", "  0.1 % +", "  1 % +", "  median +", "CosFace margin +",
                  "ground squirrel.* +"):  # fmt: skip
        assert re.search(rf"^{start}>=0\.[0-9]{{6}}", said, re.MULTILINE), start
    assert re.search(r"^  10 % +0\.90+ *$", said, re.MULTILINE)


def test_what_is_marked_is_rounded_down(gnc: Run, fake: FakeMeasure) -> None:
    margins = replace(row().margins, cosface=0.4917407)
    fake.result = row(gnc2=Bracket(0.4917407, 0.6), margins=margins, gnc2_ratio=0.7349997)
    said = gnc("a.h5").stdout
    assert ">=0.491740 " in said and ">=0.734999 " in said
    fake.result = series(fake.result, row())
    assert ">=0.491740  >=0.7349 " in gnc("a.h5").stdout


def test_no_scale_is_ruled_out_without_proof(gnc: Run, fake: FakeMeasure) -> None:
    margins = replace(row().margins, scale=None)
    for upper, words in ((0.0, "softmax cannot reach"), (0.2, "no scale is proved to reach")):
        fake.result = row(gnc2=Bracket(0.0, upper), margins=margins)
        assert re.search(rf"^scale 1/tau +- +{words}", gnc("a.h5").stdout, re.MULTILINE)


def test_verbose_names_the_keys(gnc: Run, fake: FakeMeasure) -> None:
    keys = (
        "gnc1", "gnc2", "gnc2_reference", "gnc2_ratio", "gnc3", "ncc_accuracy", "accuracy",
        "margins.scale", "classes.present", "gnc2_quantiles.q0_01", "ncc_agreement",
    )  # fmt: skip
    said = gnc("a.h5", "-v").stdout
    flat = flat_row(row().to_json())
    for key in keys:
        assert re.search(rf"  {re.escape(key)}(;|$)", said, re.MULTILINE), key
        assert any(name == key or name.startswith(f"{key}.") for name in flat), key
    assert "  gnc1;" not in gnc("a.h5").stdout


def test_raw_rows_are_called_raw(gnc: Run, fake: FakeMeasure) -> None:
    fake.result = row(policy=POLICY | {"normalize": "off"}, gnc2_reference=None, gnc2_ratio=None)
    said = gnc("a.h5").stdout
    assert "raw features, Sigma_B not centred" in said
    assert [line for line in said.splitlines() if "unit" in line] == [
        "  reference       -               references are of unit rows",
        "  smallest        -0.250000       unit features, unit weights",
    ]


def test_warnings_are_lines_on_stderr(gnc: Run, fake: FakeMeasure) -> None:
    fake.result = full()
    run = gnc("a.h5")
    assert run.stderr == f"gnc: warning: {FLOOR}\n" and FLOOR not in run.stdout
    assert gnc("a.h5", "-q").stderr == ""
    fake.result = series(full(), full(), row())
    assert gnc("a.h5").stderr == f"gnc: warning: {FLOOR} (2 of 3 rows)\n"


GATES: list[tuple[tuple[str, ...], int]] = [
    (("--min", "gnc2=0.6"), 0),
    (("--min", "gnc2=0.6600000000001"), 4),
    (("--min", "gnc2.lower=0.7"), 5),
    (("--max", "gnc3=0.05", "--min", "accuracy=0.9"), 0),
    (("--max", "gnc1=1e-5"), 5),
    (("--max", "classes.missing=0"), 0),
    (("--min", "sample_margins.positive_share=0.999"), 0),
    (("--check", "gnc2.upper<=1 and worst_classes.0.accuracy > 0.9"), 0),
    (("--check", "policy.normalize == 'off'"), 5),
    (("--max", "variants.classic.nc1=1"), 5),
]


@pytest.mark.parametrize(("gates", "status"), GATES)
def test_gates(gnc: Run, gates: tuple[str, ...], status: int) -> None:
    assert gnc("a.h5", *gates).exit_code == status


def test_gates_look_at_the_last_row_unless_told(gnc: Run, fake: FakeMeasure) -> None:
    fake.result = series(*epochs())
    gate = ("--min", "gnc2=0.59")
    assert gnc("a.h5", *gate).exit_code == 0
    assert gnc("a.h5", *gate, "--rows", "any").exit_code == 0
    run = gnc("a.h5", *gate, "--rows", "all")
    assert run.exit_code == 5 and "1 of 4 rows pass" in run.stderr


def test_interruptions(gnc: Run, fake: FakeMeasure) -> None:
    fake.result = series(*epochs(), interrupted=True)
    run = gnc("a.h5", "--json", "--min", "gnc2=0.9")
    assert run.exit_code == ExitCode.INTERRUPTED
    assert len(json.loads(run.stdout)["rows"]) == 4
    fake.result = row(extras={"interrupted": True})
    assert gnc("a.h5").exit_code == ExitCode.INTERRUPTED


@pytest.mark.parametrize("shape", [(), ("--json",), ("--csv",), ("--jsonl",)])
def test_an_interruption_before_the_first_row_prints_nothing(
    gnc: Run, fake: FakeMeasure, tmp_path: Path, shape: tuple[str, ...]
) -> None:
    fake.result = series(interrupted=True)
    run = gnc("a.h5", *shape, "--min", "gnc2=0.9", "--report", tmp_path / "r.md")
    assert (run.exit_code, run.stdout) == (ExitCode.INTERRUPTED, "")
    assert run.stderr == "gnc: interrupted before the first row was measured\n"
    assert not list(tmp_path.iterdir())


def test_an_interrupted_series_says_how_far_it_came(
    gnc: Run, fake: FakeMeasure, tmp_path: Path
) -> None:
    fake.result = series(*epochs(), interrupted=True)
    assert gnc("a.h5").stderr == "gnc: interrupted: 4 rows measured\n"
    rows = tmp_path / "rows.jsonl"
    run = gnc("a.h5", "--append", rows)
    assert f"4 rows measured; the interrupted row was not appended to '{rows}'" in run.stderr
    fake.result = series(row(extras={"interrupted": True}), interrupted=True)
    assert "1 row measured, GNC2 of the last cut short" in gnc("a.h5").stderr
    assert gnc("a.h5", "-q").stderr == ""
    assert gnc("a.h5").exit_code == ExitCode.INTERRUPTED


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (UsageError("bad option"), 2),
        (DataError("bad data"), 3),
        (OutputError("no room"), 3),
        (UnavailableError("no GPU"), 6),
        (MemoryError(), 6),
        (KeyboardInterrupt(), 130),
    ],
)
def test_every_error_has_its_code(
    gnc: Run, fake: FakeMeasure, error: BaseException, status: int
) -> None:
    fake.error = error
    run = gnc("a.h5")
    assert (run.exit_code, run.stdout) == (status, "")
    assert len(run.stderr.splitlines()) == (0 if status == 130 else 1)


BAD_OPTIONS: list[tuple[tuple[str, ...], str]] = [
    ((), "nothing to measure"),
    (("-", "-"), "stdin"),
    (("-", "--labels", "-:y"), "stdin"),
    (("a.h5", "--K", "1"), "at least 2"),
    (("a.h5", "--K", "3.5"), "'3.5'"),
    (("a.h5", "--select", "epoch"), "KEY=VALUE"),
    (("a.h5", "--normalize", "on"), "'on'"),
    (("a.h5", "--missing", "drop"), "'drop'"),
    (("a.h5", "--variants", "nc1"), "'nc1'"),
    (("a.h5", "--duplicates", "-2"), "at least -1"),
    (("a.h5", "--min-count", "0"), "at least 1"),
    (("a.h5", "--probability", "1"), "below 1"),
    (("a.h5", "--probability", "0"), "above 0"),
    (("a.h5", "--bootstrap", "1"), "at least 2"),
    (("a.h5", "--chunk-rows", "0"), "at least 1"),
    (("a.h5", "--seed", "-1"), "at least 0"),
    (("a.h5", "--device", "tpu"), "'tpu'"),
    (("a.h5", "--out", "-"), "--csv"),
    (("a.h5", "--out", "rows.npz"), ".json"),
    (("a.h5", "--per-class", "c.json"), ".h5"),
    (("a.h5", "--append", "rows.csv"), ".jsonl"),
    (("a.h5", "--json", "--jsonl"), "exclude each other"),
    (("a.h5", "-q", "-v"), "-q and -v"),
    (("a.h5", "--plot", "a.gif"), ".svg"),
    (("a.h5", "--report", "a.html"), ".prom"),
    (("a.h5", "--min", "gnc2"), "KEY=VALUE"),
    (("a.h5", "--allow", "gnc1=1%"), "--baseline"),
    (("a.h5", "--no-such"), "--no-such"),
]


@pytest.mark.parametrize(("args", "words"), BAD_OPTIONS)
def test_bad_options_exit_2_before_any_work(
    gnc: Run, fake: FakeMeasure, args: tuple[str, ...], words: str
) -> None:
    run = gnc(*args)
    assert (run.exit_code, run.stdout, fake.calls) == (2, "", [])
    (line,) = run.stderr.splitlines()
    assert words in line


@pytest.mark.parametrize("option", ["--out", "--per-class", "--plot", "--report"])
def test_existing_files_need_force(
    gnc: Run, fake: FakeMeasure, tmp_path: Path, option: str
) -> None:
    suffix = {"--plot": ".png", "--report": ".md"}.get(option, ".csv")
    path = tmp_path / f"there{suffix}"
    path.write_text("mine")
    run = gnc("a.h5", option, path)
    assert run.exit_code == 3 and "--force" in run.stderr and not fake.calls
    assert path.read_text() == "mine"
    assert gnc("a.h5", option, path, "--force").exit_code == 0


@pytest.mark.parametrize(
    "words",
    [
        "--out s.csv --per-class s.csv",
        "--out s.csv --per-class ./s.csv --force",
        "--plot link.svg --report r.md --out s.csv --per-class ../{here}/s.csv",
    ],
)
def test_two_outputs_in_one_file_are_refused(
    gnc: Run, fake: FakeMeasure, folder: Path, words: str
) -> None:
    run = gnc("a.h5", *words.format(here=folder.name).split())
    assert (run.exit_code, run.stdout, fake.calls) == (2, "", [])
    (line,) = run.stderr.splitlines()
    assert "--out and --per-class both write" in line


@pytest.mark.parametrize(
    ("words", "input"),
    [
        ("n.md --report n.md --force", "FILES 'n.md'"),
        ("b.h5 n.md:W --report ./n.md --force", "FILES 'n.md:W'"),
        ("b.h5 --class-names n.md --report n.md --force", "--class-names 'n.md'"),
        ("b.h5 --baseline run.json --allow gnc1=1% --out run.json --force",
         "--baseline 'run.json'"),
    ],
)  # fmt: skip
def test_a_report_or_a_baseline_that_is_another_file_is_refused(
    gnc: Run, fake: FakeMeasure, folder: Path, words: str, input: str
) -> None:
    run = gnc(*words.split())
    assert (run.exit_code, run.stdout, fake.calls) == (2, "", [])
    (line,) = run.stderr.splitlines()
    assert f"would overwrite the input {input}" in line


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of work, with inputs in it."""
    monkeypatch.chdir(tmp_path)
    for name in ("a.h5", "b.h5", "n.md"):
        Path(name).write_text("mine")
    Path("run.json").write_text(json.dumps(row().to_json()))
    return tmp_path


def test_append_goes_on_in_an_existing_file(gnc: Run, fake: FakeMeasure, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("")
    assert gnc("a.h5", "--append", path).exit_code == 0
    assert gnc("a.h5", "--append", tmp_path / "no" / "rows.jsonl").exit_code == 3


def test_csv_has_a_line_a_row(gnc: Run, fake: FakeMeasure) -> None:
    fake.result = grouped()
    rows = list(csv.DictReader(io.StringIO(gnc("a.h5", "--csv", "-q").stdout)))
    assert [r["epoch"] for r in rows] == ["0.0", "0.0", "5.0", "5.0", "9.0", "9.0", "10.0", "10.0"]
    assert rows[-1]["gnc2.lower"] == "0.39999999999999997"
    assert rows[0]["gnc2_reference.kind"] == "solved" and rows[0]["layer"] == ""
    assert not [n for n in rows[0] if n.startswith(("groups", "worst_classes", "rows"))]
    fake.result = full()
    (line,) = csv.DictReader(io.StringIO(gnc("a.h5", "--csv", "-q").stdout))
    assert line["variants.classic.nc4"] == "0.9994" and line["warnings"] == FLOOR
    assert line["without_duplicates.pairs"] == "2"
    assert line["classes.missing_labels"] == "3; 17; 20; 99"


def test_jsonl_streams_each_row_once(gnc: Run, fake: FakeMeasure) -> None:
    fake.result = grouped()
    run = gnc("a.h5", "--jsonl", "-q")
    rows = [json.loads(line, parse_constant=pytest.fail) for line in run.stdout.splitlines()]
    # Those of an earlier run are in their file; new ones come in the order of the work.
    assert [(r["file"], r["epoch"]) for r in rows] == [
        (r.file, r.epoch) for r in grouped().rows
    ]
    for line in rows:
        VALIDATOR.validate(line)
        assert list(line)[:3] == ["schema", "command", "version"]
    # What was printed before an error stays printed.
    fake.error = DataError("the last file is bad")
    run = gnc("a.h5", "--jsonl")
    assert run.exit_code == 3 and len(run.stdout.splitlines()) == 6


def test_baseline(gnc: Run, fake: FakeMeasure, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    fake.result = full()
    path.write_text(gnc("a.h5", "--json").stdout)

    def judged(allow: str, **changes: Any) -> int:
        fake.result = full(**changes)
        code: int = gnc("a.h5", "--baseline", path, "--allow", allow).exit_code
        return code

    assert judged("gnc1=0%") == judged("gnc2=0") == judged("margins.scale=0") == 0
    # 10 % worse is allowed, more is not; better always passes.
    assert judged("gnc1=10%", gnc1=1.09e-4) == 0
    assert judged("gnc1=10%", gnc1=1.11e-4) == 5
    assert judged("gnc1=0", gnc1=1e-9) == 0
    assert judged("gnc2=0.01", gnc2=Bracket(0.651, 0.652)) == 0
    assert judged("gnc2=0.01", gnc2=Bracket(0.641, 0.642)) == 5
    assert judged("gnc2_ratio=1%", gnc2_ratio=0.9) == 5
    assert judged("ncc_leave_one_out=0.001", ncc_leave_one_out=0.9) == 5
    assert judged("gnc3=0", gnc3=1.0) == 5
    # Nested keys have the direction of their last part that has one.
    worse = {"classic": full().variants["classic"] | {"nc1": 0.02, "nc4": 0.5}}
    assert judged("variants.classic.nc1=50%", variants=worse) == 5
    assert judged("variants.classic.nc4=0.1", variants=worse) == 5
    better = {"classic": full().variants["classic"] | {"nc1": 0.0, "nc4": 1.0}}
    assert judged("variants.classic.nc1=0", variants=better) == 0
    assert judged("variants.classic.nc4=0", variants=better) == 0
    assert judged("variants.classic.riesz_energy_weights=0") == 5  # null


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"K": 99}, "K 100, this run 99"),
        ({"split": "test"}, "split train, this run test"),
        ({"policy": POLICY | {"normalize": "off"}}, "policy.normalize auto, this run off"),
        ({"policy": POLICY | {"variants": "all"}}, "policy.variants none, this run all"),
        ({"policy": POLICY | {"class_means": POLICY["class_means"] | {"ncc": "train.h5"}}},
         "policy.class_means.ncc own, this run train.h5"),
    ],
)  # fmt: skip
def test_a_baseline_of_another_policy_is_refused(
    gnc: Run, fake: FakeMeasure, tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    path = tmp_path / "run.json"
    path.write_text(gnc("a.h5", "--json").stdout)
    fake.result = row(**changes)
    run = gnc("a.h5", "--baseline", path, "--allow", "gnc1=10%")
    assert run.exit_code == 3 and said in run.stderr
    fake.result = row(policy=POLICY | {"chunk_rows": 17})
    assert gnc("a.h5", "--baseline", path, "--allow", "gnc1=10%").exit_code == 0


def test_a_baseline_of_many_epochs_is_compared_epoch_by_epoch(
    gnc: Run, fake: FakeMeasure, tmp_path: Path
) -> None:
    path = tmp_path / "run.json"
    fake.result = series(*epochs())
    path.write_text(gnc("a.h5", "--json").stdout)
    gates = ("--baseline", path, "--allow", "gnc2=0", "--rows", "all")
    assert gnc("a.h5", *gates).exit_code == 0
    # The last of them stands for a later epoch; the first would let anything pass.
    (late,) = [replace(r, epoch=11.0, snapshot="epoch_11") for r in epochs()[-1:]]
    fake.result = replace(late, gnc2=Bracket(0.5, 0.5))
    assert gnc("a.h5", *gates).exit_code == 5
    fake.result = late
    assert gnc("a.h5", *gates).exit_code == 0


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("r.md", ["## gnc measure\n", "| seed0.h5 | epoch_0 | 0 |", "✅ passed",
                  "mean ± deviation over `seed`", "| 0.51 ± 0.012 |", "policy: unit rows"]),
        ("r.xml", ["<testsuites", "--min gnc2=0.1", 'name="rows.7.gnc2.lower"']),
        ("r.prom", ['gnc_measure_gnc2_lower{d="10",K="100",file="seed1.h5",snapshot="epoch_10",'
                    'epoch="10",split="test"} 0.39999999999999997', "gnc_measure_gate_passed"]),
    ],
)  # fmt: skip
def test_reports(
    gnc: Run, fake: FakeMeasure, tmp_path: Path, name: str, words: list[str]
) -> None:
    fake.result = grouped()
    assert gnc("a.h5", "--report", tmp_path / name, "--min", "gnc2=0.1").exit_code == 0
    text = (tmp_path / name).read_text()
    for word in words:
        assert word in text, word
    if name.endswith(".prom"):
        samples = [line.rpartition(" ")[0] for line in text.splitlines() if line[0] != "#"]
        assert len(samples) == len(set(samples))
        assert not re.search(r"groups|policy|worst_classes|chunk", text)


def test_a_report_on_one_set_lists_its_classes(
    gnc: Run, fake: FakeMeasure, tmp_path: Path
) -> None:
    fake.result = full()
    for suffix in ("md", "xml", "prom"):
        assert gnc("a.h5", "-q", "--report", tmp_path / f"r.{suffix}").exit_code == 0
    text = (tmp_path / "r.md").read_text()
    assert "| [red] cat (1) | 0.661 | dog (2) |" in text and f"**warning**: {FLOOR}" in text
    tables = [len(re.findall(r"(?<!\\)\|", line)) for line in text.splitlines() if line[:1] == "|"]
    assert set(tables) == {3, 9}
    ElementTree.fromstring((tmp_path / "r.xml").read_bytes())
    assert "gnc_measure_variants_classic_nc1{" in (tmp_path / "r.prom").read_text()


def test_square_brackets_are_no_markup(gnc: Run, fake: FakeMeasure) -> None:
    fake.result = replace(full(), file="[bold]a[/bold].h5")
    said = gnc("a.h5").stdout
    assert "[bold]a[/bold].h5" in said and "[red] cat" in said


def test_no_line_is_wider_than_the_terminal(gnc: Run, fake: FakeMeasure) -> None:
    for result in RESULTS.values():
        fake.result = result
        for options in ((), ("-v",)):
            assert max(map(len, gnc("a.h5", *options).stdout.splitlines())) <= 100


def test_help_tells_every_option(gnc: Run) -> None:
    run = gnc("--help", env={"COLUMNS": "120", "TERMINAL_WIDTH": "120"})
    assert run.exit_code == 0
    for option in ("FILES", "--features", "--means-from", "--variants", "--duplicates",
                   "--class-names", "--probability", "--bootstrap", "--per-class", "--append",
                   "--chunk-rows", "--reference", "--allow"):  # fmt: skip
        assert option in run.stdout


def test_a_usage_error_loads_nothing_heavy() -> None:
    script = (
        "import sys\n"
        "sys.argv[1:] = 'measure a.h5 --seed -1'.split()\n"
        "from gnc_cli.cli import main\n"
        "try: main()\n"
        "except SystemExit as e: assert e.code == 2\n"
        "heavy = {'torch', 'numpy', 'scipy', 'matplotlib', 'h5py'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_nothing_left_without_duplicates_is_said(gnc: Run, fake: FakeMeasure) -> None:
    fake.result = full(without_duplicates=WithoutDuplicates(0.5, 2, 1, None))
    assert "no GNC2: raise the cosine" in gnc("a.h5").stdout
