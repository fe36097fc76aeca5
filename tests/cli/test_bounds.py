"""`gnc bounds`: what reaches the work function, what reaches stdout and stderr, and the status."""

import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from typer.testing import CliRunner

from gnc_cli import schemas
from gnc_cli.errors import DataError, ExitCode, OutputError, UnavailableError, UsageError
from tests.cli.bounds_fakes import (
    FakeBounds,
    angles,
    classes,
    dimension,
    install_bounds,
    result,
    several,
)

GOLDEN = Path(__file__).parent / "golden"
VALIDATOR = jsonschema.Draft202012Validator(schemas.load("bounds"))
Run = Callable[..., Any]

RESULTS = {
    "bounds": result(), "bounds_several": several(), "bounds_angles": angles(),
    "bounds_dimension": dimension(), "bounds_classes": classes(),
}  # fmt: skip


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeBounds:
    """The stand-in: set `.result` or `.error`, read `.calls`."""
    return install_bounds(monkeypatch)


@pytest.fixture
def gnc() -> Run:
    """`gnc("--d", 10)` runs `gnc bounds --d 10`; with `fake`, without its work."""
    from gnc_cli.cli import app

    plain = {"COLUMNS": "100", "NO_COLOR": None, "FORCE_COLOR": None}

    def run(*args: Any, **more: Any) -> Any:
        words = ["bounds", *map(str, args)]
        return CliRunner(env=plain).invoke(app, words, prog_name="gnc", **more)

    return run


PAIR = ("--d", "3", "--K", "24")

# With a stand-in for the work


def test_defaults_reach_the_work_function(gnc: Run, fake: FakeBounds) -> None:
    assert gnc(*PAIR).exit_code == 0
    (call,) = fake.calls
    assert call.pop("interrupt").is_set() is False
    assert call == {
        "d": [3], "K": [24], "margin": None, "cosface_m": None, "arcface_m": None,
        "max_cosine": None, "quantity": None, "probability": None, "lp": False, "table": None,
        "time_limit": None, "best": False, "out": None, "force": False, "plot": None,
        "progress": None,
    }  # fmt: skip


def test_options_reach_the_work_function(gnc: Run, fake: FakeBounds, tmp_path: Path) -> None:
    out, plot = tmp_path / "rows.csv", tmp_path / "a.svg"
    run = gnc(
        "-d", "3..5,8,2..512..255", "-K", "1e1,1_000_000,1e300,10..1e3/3", "--margin", "3e-1",
        "--cosface-m", "0.3", "--arcface-m", "1", "--max-cosine", "-0.5", "--quantity",
        "one-vs-one", "--probability", "0.99", "--lp", "--table", "t.txt", "--time-limit", "60",
        "--best", "--out", out, "--force", "--plot", plot,
    )  # fmt: skip
    assert run.exit_code == 0, run.stderr
    (call,) = fake.calls
    call.pop("interrupt")
    assert call == {
        "d": [3, 4, 5, 8, 2, 257, 512], "K": [10, 10**6, 10**300, 10, 100, 1000], "margin": 0.3,
        "cosface_m": 0.3, "arcface_m": 1.0, "max_cosine": -0.5, "quantity": "one-vs-one",
        "probability": 0.99, "lp": True, "table": "t.txt", "time_limit": 60.0, "best": True,
        "out": str(out), "force": True, "plot": str(plot), "progress": None,
    }  # fmt: skip


@pytest.mark.parametrize("name", RESULTS)
def test_golden_json(gnc: Run, fake: FakeBounds, name: str) -> None:
    fake.result = RESULTS[name]
    run = gnc(*PAIR, "--json")
    assert run.exit_code == 0 and run.stderr == ""
    assert run.stdout.count("\n") == 1
    printed = json.loads(run.stdout, parse_constant=pytest.fail)
    golden = json.loads((GOLDEN / f"{name}.json").read_text())
    assert printed == golden
    assert json.dumps(printed) == json.dumps(golden)  # in this order, integers as integers
    VALIDATOR.validate(printed)


@pytest.mark.parametrize("name", RESULTS)
def test_csv_and_jsonl_have_the_rows_of_the_question(
    gnc: Run, fake: FakeBounds, name: str
) -> None:
    fake.result = RESULTS[name]
    body = fake.result.to_json()
    part = body["dimension"] or body["classes"] or body
    asked = {k: body[k] for k in ("margin", "max_cosine") if body[k] is not None}
    head = {"schema": 1, "command": "bounds", "version": "0.1.0"} | asked
    for kind, options in (("rows", ()), ("best", ("--best",))):
        rows = part[kind]
        lines = [json.loads(s) for s in gnc(*PAIR, "--jsonl", *options).stdout.splitlines()]
        assert lines == [head | r for r in rows]
        for line in lines:
            VALIDATOR.validate(line)
        read = list(csv.DictReader(io.StringIO(gnc(*PAIR, "--csv", *options).stdout)))
        assert len(read) == len(rows) and list(read[0]) == [*head, *rows[0]][1:]
        assert all(r.get(k) == str(v) for r in read for k, v in asked.items())
    assert json.loads(gnc(*PAIR, "--json", "--best").stdout) == body


@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.parametrize("options", [(), ("-q",), ("-v",)])
def test_tables_go_to_stdout_alone(
    gnc: Run, fake: FakeBounds, name: str, options: tuple[str, ...]
) -> None:
    fake.result = RESULTS[name]
    run = gnc(*PAIR, *options)
    assert (run.exit_code, run.stderr) == (0, "") and run.stdout.count("\n") > 2
    assert all(len(line) <= 100 for line in run.stdout.splitlines())


def test_endings(gnc: Run, fake: FakeBounds) -> None:
    fake.result = result(outcome="interrupted")
    run = gnc(*PAIR, "--json")
    assert run.exit_code == ExitCode.INTERRUPTED and len(json.loads(run.stdout)["best"]) == 1
    fake.result = result(outcome="time_limit")
    run = gnc(*PAIR, "--lp", "--time-limit", "1", "--json")
    assert run.exit_code == 0 and run.stderr.startswith("gnc: --time-limit came first")
    assert gnc(*PAIR, "--lp", "--time-limit", "1", "-q").stderr == ""


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (UsageError("bad option"), 2), (DataError("bad table"), 3), (OutputError("no room"), 3),
        (UnavailableError("no solver"), 6), (MemoryError(), 6), (KeyboardInterrupt(), 130),
    ],
)  # fmt: skip
def test_every_error_has_its_code(
    gnc: Run, fake: FakeBounds, error: BaseException, status: int
) -> None:
    fake.error = error
    run = gnc(*PAIR)
    assert (run.exit_code, run.stdout) == (status, "")
    assert len(run.stderr.splitlines()) == (0 if status == 130 else 1)


@pytest.mark.parametrize("name", ["r.md", "r.xml", "r.prom"])
def test_reports(gnc: Run, fake: FakeBounds, tmp_path: Path, name: str) -> None:
    for made in RESULTS.values():
        fake.result = made
        assert gnc(*PAIR, "--report", tmp_path / name, "--force", "-q").exit_code == 0
        text = (tmp_path / name).read_text()
        assert "bounds" in text and text.endswith("\n")
        if name.endswith(".prom"):
            samples = [line.rpartition(" ")[0] for line in text.splitlines() if line[0] != "#"]
            assert samples and len(samples) == len(set(samples))


BAD_OPTIONS: list[tuple[str, str]] = [
    ("--d 10 --K 1", "'1' is too small; give at least 2"), ("--d 10 --K 2.5", "'2.5'"),
    ("--d 1 --K 10", "'1' is too small"), ("--d 2e6 --K 10", "at most 1e6"),
    ("--d 10 --K 1e301", "'1e301' is too large"), ("--d 10 --K 1.1e300", "at most 1e300"),
    ("--d 10 --K ten", "'ten' is not a number"), ("--d 10 --K 3..5..0", "step 0"),
    ("--d 10 --K ,", "''"), ("--d 2..1e7 --K 10", "more than 1,000,000 values"),
    ("--d 10 --margin 0", "above 0"), ("--d 10 --margin 2.1", "at most 2"),
    ("--d 10 --margin -0.3", "above 0"), ("--d 10 --margin nan", "'nan'"),
    ("--d 10 --margin wide", "'wide'"), ("--d 10 --cosface-m 3", "at most 2"),
    ("--d 10 --arcface-m 3.15", "at most 3.14159"), ("--d 10 --max-cosine 1", "below 1"),
    ("--d 10 --max-cosine -1.1", "at least -1"), ("--d 10 --K 9 --quantity chords", "'one-vs-one'"),
    ("--d 10 --K 9 --probability 1", "below 1"), ("--d 10 --K 9 --probability 0", "above 0"),
    ("--d 10 --K 9 --lp --time-limit 0", "above 0"), ("--d 10 --K 9 --out x.txt", ".csv, .json, "),
    ("--d 10 --K 9 --out -", "--csv or --json"), ("--d 10 --K 9 --out - --json", "--csv or --json"),
    ("--d 10 --K 9 --json --csv", "exclude each other"), ("--d 10 --K 9 -q -v", "-q and -v"),
    ("--d 10 --K 9 --plot a.gif", ".svg"), ("--d 10 --K 9 --report a.html", ".prom"),
    ("--d 10 --K 9 --table t.md --report ./t.md --force", "would overwrite the input --table"),
    ("--d 10 --K 9 more", "more"), ("--d 10 --K 9 --min lower=1", "--min"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "said"), BAD_OPTIONS)
def test_bad_options_exit_2_before_any_work(
    gnc: Run, fake: FakeBounds, words: str, said: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("t.md").write_text("10,100,0.3\n")
    run = gnc(*words.split())
    assert (run.exit_code, run.stdout, fake.calls) == (2, "", [])
    (line,) = run.stderr.splitlines()
    assert said in line and line.startswith("gnc: ")
    assert os.listdir() == ["t.md"] and Path("t.md").read_text() == "10,100,0.3\n"


# End to end


BAD_QUESTIONS: list[tuple[str, int, str]] = [
    ("", 2, "give two of --d, --K and a margin"), ("--d 10", 2, "give two of"),
    ("--K 10", 2, "give two of"), ("--margin 0.3", 2, "give two of"), ("--lp", 2, "give two of"),
    ("--d 10 --margin 0.3 --cosface-m 0.3", 2, "--margin and --cosface-m exclude each other"),
    ("--d 10 --arcface-m 1 --max-cosine 0.5", 2, "--arcface-m and --max-cosine exclude"),
    ("--d 10 --margin 0.3 --quantity one-vs-one", 2, "--max-cosine or --arcface-m"),
    ("--d 10 --arcface-m 0.3 --quantity one-vs-rest", 2, "drop --quantity one-vs-rest"),
    ("--d 10 --K 9 --time-limit 3", 2, "--time-limit belongs to --lp"),
    ("--d 2..1001 --K 2..102", 2, "more than 100,000 pairs"),
    ("--d 10 --K 9 --table missing.txt", 3, "no such file: 'missing.txt'"),
    ("--d 10 --K 9 --table bad.txt", 3, "'bad.txt', line 1"),
    ("--d 10 --K 9 --table .", 3, "is a folder"),
    ("--K 10 --margin 0.3 --table false.txt", 3, "d = 3, N = 24 with cosine 0.1 is impossible"),
    ("--d 10 --K 9 --out missing/a.csv", 3, "missing"),
    ("--d 10 --K 9 --out old.csv", 3, "--force"),
    ("--d 10 --K 9 --plot old.png", 3, "--force"),
    ("--d 10 --K 9 --report old.md", 3, "--force"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "status", "said"), BAD_QUESTIONS)
def test_bad_questions_are_one_line(
    gnc: Run, words: str, status: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = ("bad.txt", "false.txt", "old.csv", "old.md", "old.png")
    texts = dict.fromkeys(files, "once upon a time\n") | {"false.txt": "3,24,0.1\n"}
    for name, text in texts.items():
        Path(name).write_text(text)
    run = gnc(*words.split())
    assert (run.exit_code, run.stdout) == (status, ""), run.stderr
    (line,) = run.stderr.splitlines()
    assert said in line
    assert tuple(sorted(os.listdir())) == files
    assert {name: Path(name).read_text() for name in files} == texts


QUESTIONS = [
    "--d 10 --K 100", "--d 10 --K 100 --margin 0.6 --probability 0.9", "--d 3,4..6 --K 24,1e300",
    "--K 1e6 --margin 0.3", "--K 1_000,1e6 --cosface-m 0.3 --probability 0.5",
    "--d 512 --margin 0.3", "--d 8 --max-cosine 0.5", "--K 100 --arcface-m 0.5",
    "--d 1e6 --K 1e300 --quantity one-vs-one", "--d 3 --K 12 --max-cosine 0.4472136",
]  # fmt: skip


@pytest.mark.parametrize("words", QUESTIONS)
def test_json_of_every_question(gnc: Run, words: str) -> None:
    run = gnc(*words.split(), "--json")
    assert (run.exit_code, run.stderr) == (0, "")
    printed = json.loads(run.stdout, parse_constant=pytest.fail)
    VALIDATOR.validate(printed)
    answered = [k for k in ("best", "dimension", "classes") if printed[k]]
    kinds = {("--d", "--K"): "best", ("--K",): "dimension", ("--d",): "classes"}
    assert answered == [kinds[tuple(o for o in ("--d", "--K") if o in words.split())]]


def test_check_values(gnc: Run) -> None:
    def said(words: str) -> Any:
        return json.loads(gnc(*words.split(), "--json").stdout)

    rows = {(r["name"], r["side"]): r["value"] for r in said("--d 10 --K 100")["rows"]}
    assert rows["theorem-3.9", "lower"] == pytest.approx(0.16970409734631223, rel=1e-12)
    assert rows["theorem-3.9", "upper"] == pytest.approx(1.5048813799058967, rel=1e-12)
    assert rows["covering", "lower"] == pytest.approx(0.315698980536572712, rel=1e-12)
    answer = said("--K 1e6 --margin 0.3")["dimension"]
    first = {(r["name"], r["side"]): r["d"] for r in answer["rows"]}
    assert first["theorem-3.9", "lower"] == 60 and first["theorem-3.9", "upper"] == 8
    assert first["covering", "lower"] == 36
    assert said("--d 24 --max-cosine 0.5")["classes"]["guaranteed"] == 196560
    same = [said(f"--K 1e6 {option} 0.3") for option in ("--margin", "--cosface-m")]
    assert [body | {"seconds": 0} for body in same] == [same[0] | {"seconds": 0}] * 2


def test_the_words_of_the_answer(gnc: Run) -> None:
    run = gnc("--K", "1e6", "--margin", "0.3")
    words = " ".join(run.stdout.split())
    assert "a code of K = 1 000 000 points with margin 0.3 exists from d = 26 on" in words
    assert "below d = 18 none exists" in words
    words = " ".join(gnc("--d", "8", "--max-cosine", "0.5").stdout.split())
    assert "up to K = 240 points" in words and "from K = 241 on none exists" in words


def test_files_of_every_kind(gnc: Run, tmp_path: Path) -> None:
    names = ["r.csv", "r.json", "r.h5"]
    for name in names:
        run = gnc(*PAIR, "--out", tmp_path / name, "-q")
        assert run.exit_code == 0, run.stderr
    run = gnc(*PAIR, "--plot", tmp_path / "p.png", "--report", tmp_path / "r.md", "-q")
    assert (run.exit_code, run.stderr) == (0, "")
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert (tmp_path / "r.h5").read_bytes().startswith(b"\x89HDF")
    VALIDATOR.validate(json.loads((tmp_path / "r.json").read_text()))
    assert (tmp_path / "r.csv").read_text() == gnc(*PAIR, "--csv").stdout
    assert "0.27692153" in (tmp_path / "r.md").read_text()


def test_help_names_every_option(gnc: Run) -> None:
    run = gnc("--help", env={"COLUMNS": "120", "TERMINAL_WIDTH": "120"})
    assert run.exit_code == 0
    asked = "--d --K --margin --cosface-m --arcface-m --max-cosine --quantity --probability --lp"
    shown = "--table --time-limit --best --out --force --report --plot --json --csv --jsonl -q -v"
    for option in (asked + " " + shown).split():
        assert option in run.stdout


def test_a_table_of_the_users(gnc: Run, tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("10,100,0.3\n")
    run = gnc("--d", "10", "--K", "100", "--table", tmp_path / "t.txt", "--json")
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
