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
from tests import golden

GOLDEN = Path(__file__).parent / "golden"
VALIDATOR = jsonschema.Draft202012Validator(schemas.load("bounds"))
Run = Callable[..., Any]

QUESTIONS = {
    "pair": "--d 10 --K 100 --margin 0.6 --probability 0.9",
    "angles": "--d 3 --K 12 --max-cosine 0.4472136",
    "pairs": "--d 3,4..6 --K 24,1e18",
    "largest": "--d 1e5 --K 1e18 --quantity one-vs-one",
    "dimension": "--K 1e6 --margin 0.3",
    "dimensions": "--K 1_000,10..1e3/3 --margin 3e-1 --probability 0.5",
    "classes": "--d 8 --max-cosine 0.5",
    "many classes": "-d 2..512..255 --arcface-m 0.5",
}


@pytest.fixture
def bounds(gnc: Run) -> Run:
    """`bounds("--d 10 --K 100", "--json")`."""
    return lambda words, *more, **options: gnc("bounds", *words.split(), *more, **options)


@pytest.mark.parametrize("name", ["pair", "dimension", "classes"])
def test_golden_json(bounds: Run, name: str) -> None:
    """Of the rows those of some bounds: others may be added."""
    printed = json.loads(bounds(QUESTIONS[name], "--json").stdout)
    answer = printed["dimension"] or printed["classes"] or printed
    told = ("theorem-3.9", "levenshtein", "known-code", "proved-optimum")
    answer["rows"] = [row for row in answer["rows"] if row["name"] in told]
    golden.check(json.dumps(printed), GOLDEN / f"{name}.json")


@pytest.mark.parametrize("name", QUESTIONS)
def test_json_csv_and_jsonl_of_every_question(bounds: Run, name: str) -> None:
    run = bounds(QUESTIONS[name], "--json")
    assert (run.exit_code, run.stderr, run.stdout.count("\n")) == (0, "", 1)
    body = json.loads(run.stdout, parse_constant=pytest.fail)
    VALIDATOR.validate(body)
    answered = [key for key in ("best", "dimension", "classes") if body[key]]
    flags = "".join(flag for flag in "dK" if f"-{flag} " in QUESTIONS[name])
    assert answered == [{"dK": "best", "K": "dimension", "d": "classes"}[flags]]
    part = body["dimension"] or body["classes"] or body
    asked = {key: body[key] for key in ("margin", "max_cosine") if body[key] is not None}
    head = {key: body[key] for key in ("schema", "command", "version")} | asked
    for kind, options in (("rows", ()), ("best", ("--best",))):
        lines = [
            json.loads(line)
            for line in bounds(QUESTIONS[name], "--jsonl", *options).stdout.splitlines()
        ]
        assert lines == [head | row for row in part[kind]]
        read = [*csv.DictReader(io.StringIO(bounds(QUESTIONS[name], "--csv", *options).stdout))]
        assert len(read) == len(lines) and head.keys() <= read[0].keys()
        key = "K" if "K" in lines[0] else "d"
        assert [row[key] for row in read] == [str(line[key] or "") for line in lines]


@pytest.mark.parametrize(
    ("gates", "status"),
    [
        ("--d 10 --min lower=0.66 --max upper=0.73", 0),
        ("--d 10 --min lower=0.7", 5),
        ("--d 10 --min exact=1", 5),
        ("--d 10,20 --rows all --min lower=0.8", 5),
        ("--d 10,20 --rows any --min lower=0.8", 0),
        ("--d 10,20 --min lower=0.8", 0),
        ("--d 10 --margin 0.6 --max margins.share=0.9 --min margins.cosface=0.66", 0),
        ("--d 10 --margin 0.6 --max margins.share=0.85", 4),
        ("--d 10 --margin 0.6 --max margins.share=0.8", 5),
        ("--d 10 --min margins.arcface_rad=1.2 --max margins.adacos_scale=6.5", 0),
        ("--d 10 --margin 0.6 --max margins.sufficient=8", 5),
        ("--margin 0.3 --max sufficient=11", 0),
        ("--margin 0.3 --max sufficient=2", 5),
    ],
)
def test_gates_look_at_what_is_known(gnc: Run, gates: str, status: int) -> None:
    assert gnc("bounds", "--K", "100", *shlex.split(gates)).exit_code == status


def test_the_linear_program_says_where_it_is_silent(bounds: Run) -> None:
    run = bounds("--d 2000 --K 10000 --lp --json")
    assert run.exit_code == 0
    assert run.stderr.startswith("gnc: the linear program has no result at 1 of 1 pairs")
    run = bounds("--d 4 --K 60 --lp --time-limit 1e-9 --json")
    assert run.exit_code == 0 and json.loads(run.stdout)["outcome"] == "time_limit"
    assert run.stderr.startswith("gnc: the time limit came first")
    assert bounds("--d 4 --K 60 --lp --time-limit 1e-9 -q").stderr == ""


@pytest.mark.parametrize("name", ["pair", "dimensions", "many classes"])
def test_reports(bounds: Run, tmp_path: Path, name: str) -> None:
    paths = [tmp_path / f"r.{suffix}" for suffix in ("md", "xml", "prom")]
    for path in paths:
        run = bounds(QUESTIONS[name], "--report", path, "-q")
        assert run.exit_code == 0, run.stderr
    body = json.loads(bounds(QUESTIONS[name], "--json").stdout)
    asked = {key: body[key] for key in ("margin", "arcface_m") if body[key] is not None}
    markdown, properties, samples = (path.read_text() for path in paths)
    title = markdown.splitlines()[0]
    assert title.startswith("## gnc bounds: ") and all(repr(v) in title for v in asked.values())
    lines = [line for line in samples.splitlines() if line[0] != "#"]
    assert len({line.rpartition(" ")[0] for line in lines}) == len(lines) > 1
    for key, value in asked.items():
        assert f'name="{key}" value="{value}"' in properties
        assert all(f'{key}="{value}"' in line for line in lines)


BAD: list[tuple[str, str, int]] = [
    ("--d 10 --K 1", "--K 1 is too small; give at least 2", 2),
    ("--d 2..1e7 --K 10", "more than 100,000 values", 2),
    ("--d 10 --K 9 --out x.txt", ".csv, .json, .h5", 2),
    ("--d 10 --K 9 --out -", "--csv, --json or --jsonl", 2),
    ("--d 10 --K 9 --json --csv", "exclude each other", 2),
    ("--d 10 --K 9 --report a.html", ".prom", 2),
    ("--d 10 --K 9 --table t.md --report ./t.md --force", "would overwrite the input --table", 2),
    ("--d 10 --K 9 more", "more", 2),
    ("--d 10 --K 9 --cosface-m 0.3", "--cosface-m", 2),
    ("", "give two of --d, --K and a margin", 2),
    ("--d 10 --arcface-m 0.3 --quantity one-vs-rest", "drop --quantity one-vs-rest", 2),
    ("--d 10 --K 9 --table missing.txt", "no such file: 'missing.txt'", 3),
    ("--d 10 --K 9 --table bad.txt", "'bad.txt', line 1", 3),
    ("--K 10 --margin 0.3 --table false.txt", "d = 3, N = 24 with cosine 0.1 is impossible", 3),
    ("--d 10 --K 9 --out missing/a.csv", "missing", 3),
    ("--d 10 --K 9 --out old.csv", "--force", 3),
    ("--d 10 --K 9 --plot old.png", "--force", 3),
]


@pytest.mark.parametrize(("words", "expected", "status"), BAD)
def test_what_is_refused_is_one_line_and_changes_no_file(
    bounds: Run,
    words: str,
    status: int,
    expected: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    files = {
        "bad.txt": "once upon a time\n",
        "false.txt": "3,24,0.1\n",
        "t.md": "10,100,0.9\n",
        "old.csv": "old",
        "old.png": "old",
    }
    for name, text in files.items():
        Path(name).write_text(text)
    run = bounds(words)
    assert (run.exit_code, run.stdout) == (status, ""), run.stderr
    (line,) = run.stderr.splitlines()
    assert expected in line and line.startswith("gnc: ")
    assert {name: Path(name).read_text() for name in os.listdir()} == files


def test_nothing_heavy_is_loaded() -> None:
    script = (
        "import sys\n"
        "from gnc_cli.cli import main\n"
        "for words in ('--d 10 --K 100 --json', '--d 2..40 --K 100,1e6 --csv'):\n"
        "    sys.argv[1:] = 'bounds', *words.split()\n"
        "    try: main()\n"
        "    except SystemExit as e: assert e.code == 0\n"
        "    else: raise AssertionError(words)\n"
        "    heavy = {'torch', 'scipy', 'matplotlib', 'h5py', 'flint', 'geoopt'}\n"
        "    assert not heavy & {*sys.modules}, (words, heavy & {*sys.modules})\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
