"""`gnc compare` end to end (`comparison.view`): stdout and stderr, files, pipes, exit codes."""

import csv
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnc_cli.known_codes.table import numerical_codes, our_copy
from tests import golden
from tests.comparison.samples import VALIDATOR, built, two_bases

GOLDEN = Path(__file__).parent / "golden"
Run = Callable[..., Any]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nothing_solved: None) -> Path:
    """The working folder: the icosahedron, something worse, and broken files."""
    W = built("icosahedron")
    np.save(tmp_path / "good.npy", W)
    np.save(tmp_path / "bad.npy", W + 1e-6 * np.arange(36).reshape(12, 3) % 1e-5)
    np.save(tmp_path / "own.npy", two_bases())
    (tmp_path / "t.txt").write_text("4,24,0.5\n")
    (tmp_path / "below.txt").write_text("d,N,cosine,status\n4,16,0.6,proved\n")
    (tmp_path / "impossible.txt").write_text("3,12,0.3\n")
    (tmp_path / "t.md").write_text("mine")
    (tmp_path / "text.h5").write_text("once upon a time")
    (tmp_path / "cut.npy").write_bytes((tmp_path / "good.npy").read_bytes()[:200])
    np.savetxt(tmp_path / "numbers.txt", W.ravel())
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("file", "good.npy --digits 30 --describe --export out"),
        ("list", "--list --d 4 --K 10..24 --proven"),
    ],
)
def test_golden_json(gnc: Run, folder: Path, name: str, arguments: str) -> None:
    """Each shape, from a real run: keys in order, and values."""
    run = gnc("compare", *arguments.split(), "--json")
    assert run.exit_code == 0 and run.stderr == "" and run.stdout.count("\n") == 1
    VALIDATOR.validate(json.loads(run.stdout, parse_constant=pytest.fail))
    golden.check(run.stdout, GOLDEN / f"{name}.json")


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        ("good.npy", 0, ""),
        ("good.npy bad.npy", 5, "gate failed: --tolerance 1e-09"),
        ("bad.npy --tolerance 1e-3", 0, "gate passed: --tolerance 0.001"),
        ("good.npy --require-entry", 0, "all on record"),
        ("own.npy", 0, ""),
        ("own.npy --require-entry", 5, "no code on record at d = 4, K = 16 (own.npy)"),
        ("own.npy --table below.txt", 5, "below an entry marked proved optimal"),
        ("good.npy --max gap=-1", 5, "gate failed: --max gap=-1"),
        ("good.npy --min counts.matches=1", 0, "gate passed"),
        ("--list --d 99", 0, ""),
        ("numbers.txt", 2, "--d 3"),
        ("numbers.txt --d 3", 0, ""),
        ("numbers.txt --d 5", 3, "36 numbers"),
        ("good.npy --d 4", 3, "--d asks for 4"),
        ("good.npy missing.h5", 3, "no such file: 'missing.h5'"),
        ("text.h5", 3, "text.h5"),
        ("cut.npy", 3, "cut.npy"),
        (".", 3, "is a folder"),
        ("good.npy:key", 3, "key"),
        ("good.npy --table missing.txt", 3, "missing.txt"),
        ("good.npy --table text.h5", 3, "line 1"),
        ("good.npy --table impossible.txt", 3, "is impossible"),
        ("good.npy --report t.txt", 2, ".prom"),
        ("good.npy --table t.md --report ./t.md", 2, "would overwrite the input --table 't.md'"),
        ("t.md --report ./t.md", 2, "would overwrite the input FILES 't.md'"),
        ("", 2, "nothing to compare"),
        ("good.npy --list", 2, "exclude each other"),
    ],
)
def test_every_ending(gnc: Run, folder: Path, arguments: str, status: int, words: str) -> None:
    before = sorted(os.listdir(folder))
    words_given = [word.strip("'") for word in arguments.split()]
    run = gnc("compare", *words_given)
    assert run.exit_code == status, run.stderr
    assert words in run.stderr and "Traceback" not in run.stderr
    assert len(run.stderr.splitlines()) == bool(words)
    assert (run.stdout == "") == (status in (2, 3))
    assert sorted(os.listdir(folder)) == before


def test_a_description_on_a_sheet(gnc: Run, folder: Path) -> None:
    for switch in ((), ("-v",)):
        said = gnc("compare", "good.npy", "--describe", *switch).stdout
        assert "matches: ties the best known code" in said
        for words in ("infinitesimally_jammed", "37.3773681", "49.1652531", "-21.6061452"):
            assert words in said
        assert (
            "\ndescription\n\nsymmetry.order " in said
            and "\nrigidity.rank " in said
            and "rigidity.direction" not in said
        )


def test_gates_take_values_of_a_description(gnc: Run, folder: Path) -> None:
    gate = "description.design.strength"
    assert gnc("compare", "good.npy", "--describe", "--min", f"{gate}=5").exit_code == 0
    assert gnc("compare", "good.npy", "--describe", "--min", f"{gate}=6").exit_code == 5


def test_a_code_in_a_table(gnc: Run, folder: Path) -> None:
    said = gnc("compare", "good.npy", "--digits", "70").stdout
    assert said.startswith("good.npy   d = 3, K = 12\n")
    for line in (
        "largest cosine  0.447213595499958  minimal angle 63.43494882 degrees",
        "congruent to    icosahedron        up to rotation, reflection and order",
        " 0.4472135954999579392818347337462552470881236719223051448541794490821042\n",
        "polynomial.text      5x^2 - 1\n",
        "polynomial.proved    yes ",
        "matches: ties the best known code, within 1e-11",
    ):
        assert line in said, line
    verbose = gnc("compare", "good.npy", "-v").stdout
    assert "known codes: our copy of 2026-11, 602 entries, sha256 " in verbose
    for key in ("max_cosine", "best_known", "gap", "congruent_to"):
        assert f" {key}\n" in verbose, key
    assert "\nrattlers.one_vs_rest " in verbose and "\ncontacts " in verbose


def test_verdicts_in_words(gnc: Run, folder: Path) -> None:
    assert "worse: a better code is known" in gnc("compare", "bad.npy").stdout
    said = gnc("compare", "bad.npy", "--tolerance", "1").stdout
    assert "worse (within --tolerance): " in said
    said = gnc("compare", "own.npy", "--table", "below.txt").stdout
    assert "IMPROVES: below an entry marked proved optimal" in said
    several = gnc("compare", "good.npy", "bad.npy", "own.npy", "--digits", "20").stdout
    for line in (
        "Codes compared with the best known codes   3 rows, 1 matches, 1 worse, 1 no entry",
        "digits: good.npy: 0.44721359549995793928, root of 5x^2 - 1",
        "best known for (3, 12): Euclid, Elements, book XIII",
    ):
        assert line in several, line
    assert "63.43494882" in gnc("compare", "good.npy", "bad.npy", "-v").stdout


def test_the_list_for_people_and_programs(gnc: Run) -> None:
    said = gnc("compare", "--list", "--d", "3", "--K", "24").stdout
    row = r"0\.7230784683335085370323448093945153982568  proved +0 +60  1619  J\. Kepler, "
    assert re.search(rf"\n3  24  {row}", said)
    pairs = {(e.d, e.K) for e in (*our_copy().select(), *numerical_codes().select())}
    listed = len(pairs)
    assert len(gnc("compare", "--list").stdout.splitlines()) == listed + 5
    rows = list(csv.DictReader(io.StringIO(gnc("compare", "--list", "--d", "4", "--csv").stdout)))
    rows = [row for row in rows if not row["how"]]
    assert [row["K"] for row in rows] == ["5", "8", "10", "24", "120"]
    assert rows[0]["max_cosine"] == "" and rows[3]["rattlers.one_vs_one"] == "0"
    assert not [name for name in rows[0] if name.startswith(("counts", "table"))]
    lines = gnc("compare", "--list", "--d", "4", "--proven", "--jsonl").stdout.splitlines()
    assert [json.loads(line)["K"] for line in lines] == [5, 8, 10, 24, 120]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("r.md", ["## gnc compare\n", "| good.npy |", "❌ failed", "| --tolerance 1e-09 |"]),
        ("r.xml", ["<testsuites", "--tolerance 1e-09", 'failures="1"']),
        (
            "r.prom",
            [
                "gnc_compare_gap{d=",
                'file="bad.npy"',
                'status="worse"',
                "gnc_compare_counts_worse 1",
            ],
        ),
    ],
)
def test_reports(gnc: Run, folder: Path, name: str, words: list[str]) -> None:
    assert gnc("compare", "good.npy", "bad.npy", "--report", name).exit_code == 5
    text = Path(name).read_text()
    for word in words:
        assert word in text, word
    if name.endswith(".prom"):
        samples = [line.rpartition(" ")[0] for line in text.splitlines() if line[0] != "#"]
        assert len(samples) == len(set(samples))


def test_rows_without_a_verdict_are_undecided(gnc: Run, folder: Path) -> None:
    np.save("large.npy", np.random.default_rng(0).standard_normal((3001, 3)))
    run = gnc("compare", "large.npy", "--time-limit", "1e-9")
    assert run.exit_code == 4 and "gate undecided: --tolerance" in run.stderr
    assert "no time for d = 3, K = 3,001 (large.npy)" in run.stderr
    assert gnc("compare", "bad.npy", "large.npy", "--time-limit", "30", "-q").exit_code == 5
    gates = ("--tolerance", "9", "--max", "max_cosine=0.9", "--max", "rattlers.one_vs_rest=0")
    run = gnc("compare", "large.npy", "--time-limit", "1e-9", *gates)
    assert run.exit_code == 4 and "max_cosine was not decided in the time given" in run.stderr


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    program = f'"{sys.executable}" -m gnc_cli '
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command.replace("gnc ", program)],
        cwd=folder,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def test_a_code_through_a_pipe(folder: Path) -> None:
    run = shell("gnc solve --construction snub-cube --out - -q | gnc compare - --json", folder)
    assert run.returncode == 0, run.stderr
    (row,) = json.loads(run.stdout)["rows"]
    assert (row["file"], row["status"], row["congruent_to"]) == ("-", "matches", "snub-cube")
    assert (row["contacts"], row["rattlers"]["one_vs_rest"]) == (60, 0)


def test_a_list_loads_nothing_heavy() -> None:
    script = (
        "import sys\n"
        "sys.argv[1:] = 'compare --list --d 3..8 --K 2..100 --proven'.split()\n"
        "from gnc_cli.cli import main\n"
        "try: main()\n"
        "except SystemExit as e: assert e.code == 0\n"
        "heavy = {'torch', 'scipy', 'matplotlib', 'h5py', 'flint', 'geoopt'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
