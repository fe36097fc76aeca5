"""`gnc bounds`: options, what reaches stdout and stderr, files, gates, and the exit status."""

import csv
import io
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gnc_cli import schemas
from gnc_cli.errors import ExitCode

GOLDEN = Path(__file__).parent / "golden"
SCHEMA = schemas.load("bounds")
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
Run = Callable[..., Any]

QUESTIONS = {
    "pair": "--d 10 --K 100 --margin 0.6 --probability 0.9",
    "angles": "--d 3 --K 12 --max-cosine 0.4472136",
    "pairs": "--d 3,4..6 --K 24,1e300",
    "largest": "--d 1e6 --K 1e300 --quantity one-vs-one",
    "dimension": "--K 1e6 --margin 0.3",
    "dimensions": "--K 1_000,10..1e3/3 --margin 3e-1 --probability 0.5",
    "classes": "--d 8 --max-cosine 0.5",
    "many classes": "-d 2..512..255 --arcface-m 0.5",
}
SHAPES = {"pair": "pair", "dimension": "dimension", "classes": "classes"}


@pytest.fixture
def bounds(gnc: Run) -> Run:
    """`bounds("--d 10 --K 100", "--json")`."""
    return lambda words, *more, **options: gnc("bounds", *words.split(), *more, **options)


def _objects(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, list):
        return [o for part in value for o in _objects(part)]
    if not isinstance(value, dict):
        return []
    return [value, *(o for part in value.values() for o in _objects(part))]


@pytest.mark.parametrize("name", QUESTIONS)
def test_json_of_every_question(bounds: Run, name: str) -> None:
    run = bounds(QUESTIONS[name], "--json")
    assert (run.exit_code, run.stderr, run.stdout.count("\n")) == (0, "", 1)
    printed = json.loads(run.stdout, parse_constant=pytest.fail)
    VALIDATOR.validate(printed)
    answered = [key for key in ("best", "dimension", "classes") if printed[key]]
    asked = [flag for flag in ("d", "K") if f"-{flag} " in QUESTIONS[name]]
    assert answered == [{"dK": "best", "K": "dimension", "d": "classes"}["".join(asked)]]


@pytest.mark.parametrize("name", SHAPES)
def test_golden_json(bounds: Run, name: str) -> None:
    """Every key of this shape, in its order, with the figures of an earlier run."""
    printed = json.loads(bounds(QUESTIONS[name], "--json").stdout) | {"seconds": 0, "version": "0"}
    golden = json.loads((GOLDEN / f"{name}.json").read_text())
    assert json.dumps(_shape(printed)) == json.dumps(_shape(golden))
    for here, there in zip(_objects(printed), _objects(golden), strict=True):
        for key, value in there.items():
            if isinstance(value, float):
                assert here[key] == pytest.approx(value, rel=1e-11), key
            elif not isinstance(value, (list, dict)):
                assert here[key] == value, key


def _shape(value: Any) -> Any:
    """Keys and types."""
    if isinstance(value, dict):
        return {key: _shape(part) for key, part in value.items()}
    return [_shape(part) for part in value] if isinstance(value, list) else type(value).__name__


@pytest.mark.parametrize("name", SHAPES)
def test_the_schema_allows_no_key_more_or_less(bounds: Run, name: str) -> None:
    good = json.loads(bounds(QUESTIONS[name], "--json").stdout)
    for place in _objects(good):
        for key, value in [*place.items()]:
            del place[key]
            assert not VALIDATOR.is_valid(good), key
            place[key] = value
        place["extra"] = 1
        assert not VALIDATOR.is_valid(good)
        del place["extra"]
    for spoilt in ({"schema": 2}, {"command": "solve"}, {"quantity": None}, {"outcome": "fine"}):
        assert not VALIDATOR.is_valid(good | spoilt)


@pytest.mark.parametrize("name", QUESTIONS)
def test_csv_and_jsonl_have_the_rows_of_the_question(bounds: Run, name: str) -> None:
    body = json.loads(bounds(QUESTIONS[name], "--json").stdout)
    part = body["dimension"] or body["classes"] or body
    asked = {key: body[key] for key in ("margin", "max_cosine") if body[key] is not None}
    head = {key: body[key] for key in ("schema", "command", "version")} | asked
    for kind, options in (("rows", ()), ("best", ("--best",))):
        lines = [json.loads(line) for line in
                 bounds(QUESTIONS[name], "--jsonl", *options).stdout.splitlines()]  # fmt: skip
        assert lines == [head | row for row in part[kind]]
        read = [*csv.DictReader(io.StringIO(bounds(QUESTIONS[name], "--csv", *options).stdout))]
        assert len(read) == len(lines) and [*read[0]][: len(head)] == [*head]
        assert all(row[key] == str(value) for row in read for key, value in asked.items())
        assert [row["K" if "K" in row else "d"] for row in read] == [
            str(line["K" if "K" in line else "d"] or "") for line in lines
        ]


@pytest.mark.parametrize("options", [(), ("-q",), ("-v",)])
def test_tables_go_to_stdout_alone(bounds: Run, options: tuple[str, ...]) -> None:
    run = bounds("--d 10 --K 100", *options)
    assert (run.exit_code, run.stderr) == (0, "") and "rho*" in run.stdout


def test_check_values(bounds: Run) -> None:
    rows = json.loads(bounds("--d 10 --K 100 --json").stdout)["rows"]
    values = {(row["name"], row["side"]): row["value"] for row in rows}
    assert values["theorem-3.9", "lower"] == pytest.approx(0.16970409734631223, rel=1e-12)
    assert values["theorem-3.9", "upper"] == pytest.approx(1.5048813799058967, rel=1e-12)
    assert values["covering", "lower"] == pytest.approx(0.315698980536572712, rel=1e-12)
    answer = json.loads(bounds("--d 24 --max-cosine 0.5 --json").stdout)["classes"]
    assert answer["guaranteed"] == 196560


@pytest.mark.parametrize(
    ("gates", "status"),
    [
        ("--min lower=0.66 --max upper=0.73", 0), ("--min lower=0.7", 5),
        ("--check status=='exists' --margin 0.6", 0), ("--check exact", 2),
        ("--check 'exact==true'", 5), ("--d 10,20 --rows all --min lower=0.8", 5),
        ("--d 10,20 --rows any --min lower=0.8", 0), ("--d 10,20 --min lower=0.8", 0),
    ],
)  # fmt: skip
def test_gates_look_at_what_is_known(gnc: Run, gates: str, status: int) -> None:
    words = shlex.split(gates.replace("status=='exists'", '\'status=="exists"\''))
    more = [] if "--d" in words else ["--d", "10"]
    assert gnc("bounds", "--K", "100", *more, *words).exit_code == status


def test_gates_of_margins(bounds: Run) -> None:
    assert bounds("--K 1e6 --margin 0.3 --max sufficient=26").exit_code == 0
    assert bounds("--d 8 --max-cosine 0.5 --min guaranteed=241").exit_code == ExitCode.GATE_FAILED


def test_the_linear_programme_says_where_it_is_silent(bounds: Run) -> None:
    run = bounds("--d 2000 --K 10000 --lp --json")
    assert run.exit_code == 0
    assert run.stderr.startswith("gnc: the linear programme says nothing at 1 of 1 pairs")
    run = bounds("--d 4 --K 60 --lp --time-limit 1e-9 --json")
    assert run.exit_code == 0 and json.loads(run.stdout)["outcome"] == "time_limit"
    assert run.stderr.startswith("gnc: the time limit came first")
    assert bounds("--d 4 --K 60 --lp --time-limit 1e-9 -q").stderr == ""


@pytest.mark.parametrize("name", QUESTIONS)
def test_reports(bounds: Run, tmp_path: Path, name: str) -> None:
    for suffix in ("md", "xml", "prom"):
        run = bounds(QUESTIONS[name], "--report", tmp_path / f"r.{suffix}", "-q")
        assert run.exit_code == 0, run.stderr
    body = json.loads(bounds(QUESTIONS[name], "--json").stdout)
    asked = {key: body[key] for key in ("margin", "arcface_m") if body[key] is not None}
    title = (tmp_path / "r.md").read_text().splitlines()[0]
    assert title.startswith("## gnc bounds: ") and all(repr(v) in title for v in asked.values())
    properties = (tmp_path / "r.xml").read_text()
    lines = [s for s in (tmp_path / "r.prom").read_text().splitlines() if s[0] != "#"]
    assert len({line.rpartition(" ")[0] for line in lines}) == len(lines) > 5
    for key, value in asked.items():
        assert f'<property name="{key}" value="{value!r}" />' in properties
        assert all(f'{key}="{value!r}"' in line for line in lines)
    if body["arcface_m"] is not None:
        assert not any("max_cosine=" in line for line in lines), "an angle as it was asked"


BAD_OPTIONS: list[tuple[str, str]] = [
    ("--d 10 --K 1", "'1' is too small; give at least 2"), ("--d 10 --K 2.5", "2.5"),
    ("--d 1 --K 10", "--d '1' is too small"), ("--d 2e6 --K 10", "at most 1e6"),
    ("--d 10 --K 1e301", "'1e301' is too large"), ("--d 10 --K 1.1e300", "at most 1e300"),
    ("--d 10 --K ten", "'ten' is not a number"), ("--d 10 --K 3..5..0", "step 0"),
    ("--d 2..1e7 --K 10", "more than 1,000,000 values"),
    ("--d 10 --margin 0", "above 0"), ("--d 10 --margin 2.1", "at most 2"),
    ("--d 10 --margin nan", "nan"), ("--d 10 --margin wide", "wide"),
    ("--d 10 --arcface-m 3.15", "at most 3.14159"), ("--d 10 --max-cosine 1", "below 1"),
    ("--d 10 --max-cosine -1.1", "at least -1"), ("--d 10 --K 9 --quantity chords", "one-vs-one"),
    ("--d 10 --K 9 --probability 1", "below 1"), ("--d 10 --K 9 --lp --time-limit 0", "above 0"),
    ("--d 10 --K 9 --out x.txt", ".csv, .json, .h5"), ("--d 10 --K 9 --out -", "--csv or --json"),
    ("--d 10 --K 9 --json --csv", "exclude each other"), ("--d 10 --K 9 -q -v", "-q and -v"),
    ("--d 10 --K 9 --plot a.gif", ".svg"), ("--d 10 --K 9 --report a.html", ".prom"),
    ("--d 10 --K 9 --table t.md --report ./t.md --force", "would overwrite the input --table"),
    ("--d 10 --K 9 more", "more"), ("--d 10 --K 9 --cosface-m 0.3", "--cosface-m"),
    ("", "give two of --d, --K and a margin"), ("--d 10", "give two of"),
    ("--d 10 --arcface-m 1 --max-cosine 0.5", "--arcface-m and --max-cosine exclude each other"),
    ("--d 10 --margin 0.3 --quantity one-vs-one", "--max-cosine or --arcface-m"),
    ("--d 10 --arcface-m 0.3 --quantity one-vs-rest", "drop --quantity one-vs-rest"),
    ("--d 10 --K 9 --time-limit 3", "--time-limit belongs to --lp"),
    ("--d 2..1001 --K 2..102", "more than 100,000 pairs"),
]  # fmt: skip
BAD_FILES: list[tuple[str, str]] = [
    ("--d 10 --K 9 --table missing.txt", "no such file: 'missing.txt'"),
    ("--d 10 --K 9 --table bad.txt", "'bad.txt', line 1"),
    ("--d 10 --K 9 --table .", "is a folder"),
    ("--K 10 --margin 0.3 --table false.txt", "d = 3, N = 24 with cosine 0.1 is impossible"),
    ("--d 10 --K 9 --out missing/a.csv", "missing"), ("--d 10 --K 9 --out old.csv", "--force"),
    ("--d 10 --K 9 --plot old.png", "--force"), ("--d 10 --K 9 --report old.md", "--force"),
]


@pytest.mark.parametrize(
    ("words", "expected", "status"),
    [(*bad, 2) for bad in BAD_OPTIONS] + [(*bad, 3) for bad in BAD_FILES],
)
def test_what_is_refused_is_one_line_and_changes_no_file(
    bounds: Run, words: str, status: int, expected: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    files = {"bad.txt": "once upon a time\n", "false.txt": "3,24,0.1\n", "t.md": "10,100,0.9\n"}
    files |= dict.fromkeys(("old.csv", "old.md", "old.png"), "old")
    for name, text in files.items():
        Path(name).write_text(text)
    run = bounds(words)
    assert (run.exit_code, run.stdout) == (status, ""), run.stderr
    (line,) = run.stderr.splitlines()
    assert expected in line and line.startswith("gnc: ")
    assert {name: Path(name).read_text() for name in os.listdir()} == files


def test_files_of_every_kind(bounds: Run, tmp_path: Path) -> None:
    pair = "--d 3 --K 24"
    for name in ("r.csv", "r.json", "r.h5"):
        assert bounds(pair, "--out", tmp_path / name, "-q").exit_code == 0
    run = bounds(pair, "--plot", tmp_path / "p.png", "--report", tmp_path / "r.md", "-q")
    assert (run.exit_code, run.stderr) == (0, "")
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert (tmp_path / "r.h5").read_bytes().startswith(b"\x89HDF")
    VALIDATOR.validate(json.loads((tmp_path / "r.json").read_text()))
    printed = [*csv.DictReader(io.StringIO(bounds(pair, "--csv").stdout))]
    written = [*csv.DictReader(io.StringIO((tmp_path / "r.csv").read_text()))]
    assert [{k: v for k, v in row.items() if k != "schema"} for row in printed] == written
    assert "0.27692153" in (tmp_path / "r.md").read_text()


def test_a_table_of_the_users(bounds: Run, tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("10,100,0.3\n")
    run = bounds("--d 10 --K 100", "--table", tmp_path / "t.txt", "--json")
    (best,) = json.loads(run.stdout)["best"]
    assert (best["lower_name"], best["lower"]) == ("known-code", pytest.approx(0.7, rel=1e-15))


def test_nothing_heavy_is_loaded() -> None:
    script = (
        "import sys\n"
        "from gnc_cli.cli import main\n"
        "for words in ('--d 10 --K 100 --json', '--d 2..40 --K 100,1e6 --csv'):\n"
        "    sys.argv[1:] = 'bounds', *words.split()\n"
        "    try: main()\n"
        "    except SystemExit as e: assert e.code == 0\n"
        "    else: raise AssertionError(words)\n"
        "    heavy = {'torch', 'scipy', 'matplotlib', 'h5py', 'mpmath', 'geoopt'}\n"
        "    assert not heavy & {*sys.modules}, (words, heavy & {*sys.modules})\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_streams() -> None:
    """Closed stdin, a reader that leaves early, a pipe."""
    gnc = f'"{sys.executable}" -m gnc_cli'
    command = (
        f"{gnc} bounds -d 3 -K 24 --json <&- | {sys.executable} -m json.tool && "
        f"{gnc} bounds -d 2..60 -K 24 --jsonl | head -1"
    )
    run = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert run.returncode == 0 and "Traceback" not in run.stderr
    assert json.loads(run.stdout.splitlines()[-1])["d"] == 2
