"""`gnc measure` as a program: what stdout, stderr, files and the exit code say of real runs."""

import csv
import io
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import jsonschema
import numpy as np
import pytest

from gnc_cli import schemas
from gnc_cli.collapse.result import MeasureResult, MeasureSeries
from gnc_cli.records import flatten
from tests import golden
from tests.collapse.conftest import save, save_run

GOLDEN = Path(__file__).parent / "golden"
SLOW = {"torch", "scipy", "matplotlib", "pyarrow", "flint", "joblib", "PIL"}
"""Modules that take long to load, and that a small file needs not."""
VALIDATOR = jsonschema.Draft202012Validator(schemas.load("measure"))


@pytest.fixture
def run_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of three epochs in the working folder, `run.h5`."""
    monkeypatch.chdir(tmp_path)
    save_run(Path("run.h5"))
    return tmp_path


def printed(run: Any) -> Any:
    """The JSON of a run that ended well, as its schema wants it."""
    assert run.exit_code == 0, run.stderr
    found = json.loads(run.stdout, parse_constant=pytest.fail)
    VALIDATOR.validate(found)
    return found


def test_golden_json(result: MeasureResult, series: MeasureSeries) -> None:
    two = replace(series, rows=series.rows[:1])
    for found, name in ((result, "measure.json"), (two, "measure_series.json")):
        golden.check(found.dumps(), GOLDEN / name)
        VALIDATOR.validate(json.loads(found.dumps(), parse_constant=pytest.fail))


def test_every_kind_of_result_follows_the_schema(
    gnc: Any, run_file: Path, data: dict[str, np.ndarray]
) -> None:
    save(Path("weights.h5"), {"weights": data["weights"]})
    save(Path("samples.h5"), {name: data[name] for name in ("features", "labels")})
    for file in ("weights.h5", "samples.h5", "run.h5"):
        found = printed(gnc("measure", file, "--json", "--normalize", "off"))
        assert not VALIDATOR.is_valid(found | {"extra": 1})
        assert not VALIDATOR.is_valid({k: v for k, v in found.items() if k != "schema"})


def test_a_person_sees_one_set_in_full_or_a_line_per_row(gnc: Any, run_file: Path) -> None:
    text = gnc("measure", "run.h5", "--select", "epoch=10").stdout
    for words in ("GNC1  ", "certified, bracket", "  ratio  ", "NCC accuracy  "):
        assert words in text, words
    everything = gnc("measure", "run.h5", "--select", "epoch=10", "-v").stdout
    for words in (
        "rattlers.one_vs_rest  ",
        "classes nearest to the hull of the others",
        "policy.weights",
    ):
        assert words in everything and words not in text, words
    table = gnc("measure", "run.h5").stdout.splitlines()
    assert table[0] == "Collapse   run.h5   3 rows"
    assert [line.split()[0] for line in table[3:6]] == ["1", "2", "10"]
    assert "epoch_10" not in "".join(table), "epochs tell the rows apart"
    assert max(map(len, [*table, *text.splitlines()])) <= 100


def test_csv_and_json_lines(gnc: Any, run_file: Path) -> None:
    whole = printed(gnc("measure", "run.h5", "--json"))
    rows = list(csv.DictReader(io.StringIO(gnc("measure", "run.h5", "--csv", "-q").stdout)))
    assert [row["epoch"] for row in rows] == ["1", "2", "10"]
    assert [float(row["gnc2.lower"]) for row in rows] == [r["gnc2"]["lower"] for r in whole["rows"]]
    assert not [key for key in rows[0] if key.startswith(("groups", "worst_classes"))]
    lines = gnc("measure", "run.h5", "--jsonl", "-q").stdout.splitlines()
    assert [json.loads(line)["epoch"] for line in lines] == [1, 2, 10]
    for line in lines:
        VALIDATOR.validate(json.loads(line))


def test_rows_in_files_are_those_printed(gnc: Any, run_file: Path) -> None:
    whole = printed(gnc("measure", "run.h5", "--json", "--out", "rows.json"))
    assert json.loads(Path("rows.json").read_text()) == whole
    for suffix in ("csv", "h5"):
        assert gnc("measure", "run.h5", "--out", f"rows.{suffix}").exit_code == 0
    with open("rows.csv") as file:
        rows = list(csv.DictReader(file))
    with h5py.File("rows.h5") as file:
        assert file.attrs["kind"] == "rows" and "gnc measure" in file.attrs["provenance"]
        for key in ("epoch", "gnc1", "gnc2.upper", "accuracy"):
            expected = [flatten(row, lists=False)[key] for row in whole["rows"]]
            assert file["rows"][key][()].tolist() == expected
            assert [float(row[key]) for row in rows] == expected
    again = gnc("measure", "run.h5", "--out", "rows.csv")
    assert again.exit_code == 3 and "--force" in again.stderr


def test_rows_are_kept_and_not_measured_again(gnc: Any, run_file: Path) -> None:
    args = ("measure", "run.h5", "--out", "rows.jsonl")
    first = printed(gnc(*args, "--select", "epoch=1,2", "--json"))
    assert len(Path("rows.jsonl").read_text().splitlines()) == 2
    assert gnc(*args).exit_code == 3
    with open("rows.jsonl", "a") as file:
        file.write('{"schema": 1, "torn')  # by a kill
    second = printed(gnc(*args, "--resume", "--json"))
    assert second["skipped"] == 2 and [row["epoch"] for row in second["rows"]] == [1, 2, 10]
    assert second["rows"][:2] == first["rows"]
    assert len(Path("rows.jsonl").read_text().splitlines()) == 3
    assert gnc(*args, "--resume", "--jsonl").stdout == ""  # nothing is new
    assert gnc(*args, "--force", "--jsonl").stdout.count("\n") == 3


def test_warnings_are_lines_on_stderr(gnc: Any, run_file: Path) -> None:
    labels = np.repeat(np.arange(4), 9)
    flat = {"features": np.eye(4)[labels].astype(np.float32), "labels": labels}
    save(Path("a.h5"), flat)
    save(Path("b.h5"), {**flat, "features": flat["features"] * 2})
    run = gnc("measure", "a.h5", "b.h5", "--report", "r.md")
    said = r"gnc: warning: the features have no spread.* \(2 of 2 rows\)\n"
    assert re.fullmatch(said, run.stderr)
    assert "no spread" not in run.stdout and "no spread" in Path("r.md").read_text()
    assert gnc("measure", "a.h5", "-q").stderr == ""


def test_a_report_on_one_set_lists_its_classes(gnc: Any, run_file: Path) -> None:
    Path("names.txt").write_text("\n".join(f"[red] {k}|" for k in range(12)))
    args = ("--select", "epoch=10", "--class-names", "names.txt", "--variants", "classic")
    run = gnc("measure", "run.h5", *args, "--report", "r.md", "--per-class", "classes.csv", "-v")
    assert run.exit_code == 0, run.stderr
    assert run.stdout.count("[red]") == 20  # square brackets are no markup
    text = Path("r.md").read_text()
    assert text.count(r"\[red\]") == 20 and "\\| (1)" in text
    assert "classes nearest to the hull" in text and "CDNV" in text
    assert len(Path("classes.csv").read_text().splitlines()) == 13


BAD_OPTIONS: list[tuple[tuple[str, ...], str]] = [
    ((), "nothing to measure"),
    (("run.h5", "--K", "1"), "at least 2"),
    (("run.h5", "--select", "epoch"), "KEY=VALUE"),
    (("run.h5", "--normalize", "on"), "'on'"),
    (("run.h5", "--duplicates", "-2"), "at least -1"),
    (("run.h5", "--duplicates", "0.9", "--normalize", "off"), "--normalize off"),
    (("run.h5", "--min-count", "0"), "at least 1"),
    (("run.h5", "--reference", "3"), "--reference 3 is not a one-vs-rest distance"),
    (("run.h5", "--out", "-"), "--csv"),
    (("run.h5", "--out", "rows.npz"), ".json"),
    (("run.h5", "--per-class", "c.json"), ".h5"),
    (("run.h5", "--per-class", "c.csv"), "--per-class requires one set, and there are 3"),
    (("run.h5", "--per-class", "c.csv", "--out", "r.jsonl"), "--per-class excludes --out r.jsonl"),
    (("run.h5", "--merge-list", "m.csv"), "add --duplicates 0.99"),
    (("run.h5", "--duplicates", "0.9", "--merge-list", "m.csv"), "--merge-list requires one set"),
    (("run.h5", "--resume"), "--out rows.jsonl"),
    (("run.h5", "--resume", "--out", "rows.csv"), "rows.jsonl"),
    (("run.h5", "--out", "run.h5", "--force"), "would overwrite the input"),
    (("n.txt", "--class-names", "n.md", "--report", "n.md", "--force"), "would overwrite"),
]


@pytest.mark.parametrize(("args", "words"), BAD_OPTIONS)
def test_bad_options_exit_2_in_one_line(
    gnc: Any, run_file: Path, args: tuple[str, ...], words: str
) -> None:
    Path("n.md").write_text("mine")
    run = gnc("measure", *args)
    assert (run.exit_code, run.stdout) == (2, "")
    (line,) = run.stderr.splitlines()
    assert words in line
    assert sorted(path.name for path in run_file.iterdir()) == ["n.md", "run.h5"]


@pytest.mark.parametrize(
    ("words", "status", "unloaded"),
    [
        ("run.h5 --seed -1", 2, {"torch", "numpy", "scipy", "matplotlib", "h5py"}),
        ("run.h5 --select epoch=1 --per-class c.csv --json", 0, SLOW),
        ("few.npz", 0, SLOW | {"h5py"}),
        ("many.npz", 0, SLOW | {"h5py"}),
        ("wide.npz", 0, SLOW | {"h5py"}),
    ],
)
def test_what_is_not_needed_is_not_loaded(
    run_file: Path, words: str, status: int, unloaded: set[str]
) -> None:
    rng = np.random.default_rng(0)
    for name, K, d in (("few.npz", 4, 2), ("many.npz", 100, 10), ("wide.npz", 60, 100)):
        y = np.arange(10 * K) % K
        W = rng.standard_normal((K, d))
        np.savez(name, weights=W, labels=y, features=W[y] + rng.standard_normal((len(y), d)) / 8)
    script = (
        "import sys\n"
        f"sys.argv[1:] = 'measure {words}'.split()\n"
        "from gnc_cli.cli import main\n"
        "try: main()\n"
        f"except SystemExit as e: assert e.code == {status}\n"
        f"loaded = {unloaded} & set(sys.modules)\n"
        "assert not loaded, loaded\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
