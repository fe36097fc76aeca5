"""`gnc compare`: what reaches the work function, what reaches stdout and stderr, and the status."""

import csv
import io
import json
import re
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
from gnc_cli.results import Standing
from tests.cli.compare_fakes import (
    FakeCompare,
    better,
    built,
    install_compare,
    listed,
    polished,
    refused,
    result,
    row,
    solved,
    unlisted,
    worse,
)

GOLDEN = Path(__file__).parent / "golden"
VALIDATOR = jsonschema.Draft202012Validator(schemas.load("compare"))
Run = Callable[..., Any]

RESULTS = {
    "compare": result(row()),
    "compare_several": result(row(), worse(), unlisted(), better()),
    "compare_digits": result(polished()),
    "compare_several_digits": result(polished(), refused(), polished(polynomial=None)),
    "compare_list": result(listed(), listed(d=4, proven=None, rattlers=None), mode="list"),
    "compare_solve": result(solved(), solved(d=4, K=9), mode="solve"),
}


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeCompare:
    """The stand-in: set `.result` or `.error`, read `.calls`."""
    return install_compare(monkeypatch)


@pytest.fixture
def gnc(fake: FakeCompare) -> Run:
    """`gnc("snub.h5")` runs `gnc compare snub.h5`."""
    from gnc_cli.cli import app

    plain = {"COLUMNS": "100", "NO_COLOR": None, "FORCE_COLOR": None}

    def run(*args: Any, **more: Any) -> Any:
        words = ["compare", *map(str, args)]
        return CliRunner(env=plain).invoke(app, words, prog_name="gnc", **more)

    return run


def test_defaults_reach_the_work_function(gnc: Run, fake: FakeCompare) -> None:
    assert gnc("a.h5", "b.txt:W", "-").exit_code == 0
    (call,) = fake.calls
    assert call.pop("interrupt").is_set() is False
    assert call == {
        "sources": ("a.h5", "b.txt:W", "-"), "list": False, "solve": False, "d": None, "K": None,
        "proven": False, "table": None, "tolerance": 1e-9,
        "require_entry": False, "digits": None, "export": None, "budget": None, "workers": None,
        "seed": 0, "time_limit": None, "threads": None, "out": None, "resume": False,
        "force": False, "plot": None, "progress": None, "on_row": None,
    }  # fmt: skip


def test_options_reach_the_work_function(gnc: Run, fake: FakeCompare, tmp_path: Path) -> None:
    out, plot, folder = tmp_path / "rows.jsonl", tmp_path / "a.svg", tmp_path / "folder"
    fake.result = RESULTS["compare_solve"]
    run = gnc(
        "--list", "--solve", "--proven", "-d", "3..5,8", "-K", "1e1",
        "--table", "t.txt", "--tolerance", "1e-6", "--require-entry", "--digits", "50",
        "--export", folder, "--budget", "2.5", "--workers", "2", "--seed", "7",
        "--time-limit", "60", "--threads", "1", "--out", out, "--resume", "--force", "--plot", plot,
    )  # fmt: skip
    assert run.exit_code == 0, run.stderr
    (call,) = fake.calls
    call.pop("interrupt")
    assert call == {
        "sources": (), "list": True, "solve": True, "proven": True, "d": [3, 4, 5, 8],
        "K": [10], "table": "t.txt", "tolerance": 1e-6,
        "require_entry": True, "digits": 50, "export": str(folder), "budget": 2.5, "workers": 2,
        "seed": 7, "time_limit": 60.0, "threads": 1, "out": str(out), "resume": True,
        "force": True, "plot": str(plot), "progress": None, "on_row": None,
    }  # fmt: skip


@pytest.mark.parametrize("name", RESULTS)
def test_golden_json(gnc: Run, fake: FakeCompare, name: str) -> None:
    fake.result = RESULTS[name]
    run = gnc("a.h5", "--json", "--tolerance", "1", "-q")
    assert run.exit_code == 0 and run.stderr == ""
    assert run.stdout.count("\n") == 1
    printed = json.loads(run.stdout, parse_constant=pytest.fail)
    golden = json.loads((GOLDEN / f"{name}.json").read_text())
    assert printed == golden
    assert list(printed) == list(golden)
    assert [list(r) for r in printed["rows"]] == [list(r) for r in golden["rows"]]
    VALIDATOR.validate(printed)


@pytest.mark.parametrize("name", RESULTS)
def test_golden_tables(gnc: Run, fake: FakeCompare, name: str) -> None:
    fake.result = RESULTS[name]
    run = gnc("a.h5", "--tolerance", "1", "-q")
    assert run.stdout == (GOLDEN / f"{name}_table.txt").read_text(encoding="utf-8")


def test_improvements_are_said_loudly(gnc: Run, fake: FakeCompare) -> None:
    for rows in ((better(),), (row(), better())):
        fake.result = result(*rows)
        said = gnc("new.h5").stdout
        assert "IMPROVES" in said and "improves on our copy" in said


def test_a_construction_is_called_one(gnc: Run, fake: FakeCompare) -> None:
    fake.result = result(built())
    said = gnc("own.h5").stdout
    assert re.search(r"^best known .* not proved, construction: Kerdock code$", said, re.MULTILINE)
    fake.result = result(built(proven=True))
    assert re.search(r"^best known .* proved optimal", gnc("own.h5").stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("state", "said"),
    [("decided", "no construction or stored code"), ("undecided", "undecided: the search"),
     (None, "not looked for")],
)  # fmt: skip
def test_a_code_without_a_name_says_what_was_looked_for(
    gnc: Run, fake: FakeCompare, state: str | None, said: str
) -> None:
    fake.result = result(row(congruent_to=None, more={"congruence": state}))
    lines = gnc("a.h5").stdout.splitlines()
    (line,) = [line for line in lines if line.startswith("congruent to")]
    assert said in line
    assert ("stored code" in line) == (state == "decided")


def test_a_proof_is_said_once(gnc: Run, fake: FakeCompare) -> None:
    fake.result = result(row(source="proven optimal (our copy)"))
    assert re.search(r" proved optimal \(our copy\)$", gnc("a.h5").stdout, re.MULTILINE)
    fake.result = result(row(source=None))
    assert re.search(r" proved optimal$", gnc("a.h5").stdout, re.MULTILINE)


def test_a_worse_code_that_passes_says_why(gnc: Run, fake: FakeCompare) -> None:
    fake.result = result(worse(more={"passed": True}))
    assert "worse (within --tolerance): " in gnc("a.h5", "--tolerance", "1").stdout
    fake.result = result(worse())
    assert "worse: " in gnc("a.h5").stdout


def test_verbose_names_the_keys_and_shows_degrees(gnc: Run, fake: FakeCompare) -> None:
    said = gnc("a.h5", "-v").stdout
    for key in ("max_cosine", "best_known", "gap", "rattlers", "contacts", "congruent_to"):
        assert re.search(rf" {key}$", said, re.MULTILINE), key
    fake.result = result(row(), worse())
    assert "43.69076700" in gnc("a.h5", "b.h5", "-v").stdout
    assert "43.69076700" not in gnc("a.h5", "b.h5").stdout
    fake.result = RESULTS["compare_list"]
    assert "0.7230784683335085370323448093945153982568" in gnc("--list", "-v").stdout


@pytest.mark.parametrize(
    ("rows", "options", "status", "words"),
    [
        ((row(),), (), 0, None),
        ((row(), worse()), (), 5, "1e-06 gap at d = 3, K = 24 (worse.h5); 1 of 2 rows worse"),
        ((worse(more={"passed": True}),), ("--tolerance", "1e-5"), 0, "gate passed: --tolerance"),
        ((unlisted(),), (), 0, None),
        ((unlisted(more={"passed": False, "on_record": False}),), ("--require-entry",), 5,
         "no code on record"),
        ((row(),), ("--require-entry",), 0, "all on record"),
        ((better(),), (), 0, None),
        ((better(proven=True, more={"passed": False}),), (), 5, "below an entry marked proved"),
        ((built(gap=1e-10, status=Standing.WORSE),), ("--require-entry",), 5, "no code on record"),
        ((row(max_cosine=None, gap=None, status=None, more={"passed": None}),), (), 4, "no time"),
        ((worse(), row(gap=None, status=None, more={"passed": None})), (), 5, "1e-06 gap"),
        ((row(),), ("--max", "gap=1e-20"), 5, "gate failed: --max gap=1e-20"),
        ((row(),), ("--check", "counts.matches == 1 and status == 'matches'"), 0, "gate passed"),
        ((), (), 0, None),
    ],
)
def test_exit_status(
    gnc: Run, fake: FakeCompare, rows: Any, options: Any, status: int, words: str | None
) -> None:
    fake.result = result(*rows, mode="files")
    for shape in ((), ("--json",), ("--csv",), ("--jsonl",)):
        run = gnc("a.h5", *options, *shape)
        assert run.exit_code == status, run.stderr
        assert run.stderr == "" if words is None else words in run.stderr
        assert len(run.stderr.splitlines()) == (words is not None)


def test_rows_within_their_tolerance_do_not_fail_it(gnc: Run, fake: FakeCompare) -> None:
    fake.result = result(worse(gap=5e-10))
    assert gnc("a.h5").exit_code == 0


def test_interruptions(gnc: Run, fake: FakeCompare) -> None:
    fake.result = result(solved(), mode="solve", interrupted=True)
    run = gnc("--solve", "--d", "3", "--K", "24", "--json")
    assert run.exit_code == ExitCode.INTERRUPTED
    assert len(json.loads(run.stdout)["rows"]) == 1
    fake.result = result(solved(), mode="solve", unfinished=True)
    run = gnc("--solve", "--d", "3", "--K", "24", "--json")
    assert run.exit_code == 0 and "--time-limit came before all pairs" in run.stderr


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (UsageError("bad option"), 2),
        (DataError("bad data"), 3),
        (OutputError("no room"), 3),
        (UnavailableError("no room for a worker"), 6),
        (MemoryError(), 6),
        (KeyboardInterrupt(), 130),
    ],
)
def test_every_error_has_its_code(
    gnc: Run, fake: FakeCompare, error: BaseException, status: int
) -> None:
    fake.error = error
    run = gnc("a.h5")
    assert (run.exit_code, run.stdout) == (status, "")
    assert len(run.stderr.splitlines()) == (0 if status == 130 else 1)


BAD_OPTIONS: list[tuple[tuple[str, ...], str]] = [
    (("a.h5", "--d", "1"), "at least 2"),
    (("a.h5", "--d", "3.5"), "'3.5'"),
    (("--list", "--K", "2..x"), "'x'"),
    (("--list", "--d", "3..5..0"), "step 0"),
    (("a.h5", "--digits", "0"), "at least 1"),
    (("a.h5", "--tolerance", "-1"), "at least 0"),
    (("a.h5", "--tolerance", "nan"), "'nan'"),
    (("--solve", "--budget", "0"), "above 0"),
    (("--solve", "--workers", "0"), "at least 1"),
    (("--solve", "--seed", "-1"), "at least 0"),
    (("--solve", "--out", "-"), "--jsonl"),
    (("--solve", "--out", "rows.csv"), ".jsonl"),
    (("--solve", "--resume"), "--out rows.jsonl"),
    (("a.h5", "--json", "--jsonl"), "exclude each other"),
    (("a.h5", "-q", "-v"), "-q and -v"),
    (("a.h5", "--plot", "a.gif"), ".svg"),
    (("a.h5", "--report", "a.html"), ".prom"),
    (("a.h5", "--min", "gap"), "KEY=VALUE"),
    (("a.h5", "--allow", "gap=1%"), "--baseline"),
    (("a.h5", "--no-such"), "--no-such"),
]


@pytest.mark.parametrize(("args", "words"), BAD_OPTIONS)
def test_bad_options_exit_2_before_any_work(
    gnc: Run, fake: FakeCompare, args: tuple[str, ...], words: str
) -> None:
    run = gnc(*args)
    assert (run.exit_code, run.stdout, fake.calls) == (2, "", [])
    (line,) = run.stderr.splitlines()
    assert words in line


def test_no_output_overwrites_an_input(
    gnc: Run, fake: FakeCompare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for option, input in (("--table", "t.md"), ("FILES", "t.md")):
        Path(input).write_text("mine")
        words = ("a.h5", option, input) if option == "--table" else (input,)
        run = gnc(*words, "--report", "./t.md", "--force")
        assert (run.exit_code, run.stdout, fake.calls) == (2, "", [])
        assert f"would overwrite the input {option} 't.md'" in run.stderr


def test_csv_has_a_row_a_code(gnc: Run, fake: FakeCompare) -> None:
    fake.result = RESULTS["compare_several"]
    rows = list(csv.DictReader(io.StringIO(gnc("a.h5", "--csv", "-q").stdout)))
    assert [r["status"] for r in rows] == ["matches", "worse", "no_entry", "improves"]
    assert rows[0]["rattlers.one_vs_one"] == "0" and rows[2]["best_known"] == ""
    assert not [name for name in rows[0] if name.startswith(("counts", "table"))]


def test_jsonl_streams_each_row_once(gnc: Run, fake: FakeCompare) -> None:
    fake.result = RESULTS["compare_several"]
    run = gnc("a.h5", "--jsonl", "-q")
    rows = [json.loads(line, parse_constant=pytest.fail) for line in run.stdout.splitlines()]
    assert [r["file"] for r in rows] == ["snub.h5", "worse.h5", "own.h5", "new.h5"]
    assert all(list(r)[:3] == ["schema", "command", "version"] for r in rows)
    for line in rows:
        VALIDATOR.validate(line)
        assert not VALIDATOR.is_valid(line | {"extra": 1})
        for key in ("schema", "command", "version", "gap"):
            assert not VALIDATOR.is_valid({k: v for k, v in line.items() if k != key}), key
    # What was printed before an error stays printed.
    seen: list[str] = []
    original = fake.__class__.__call__

    def breaking(self: FakeCompare, *sources: Any, **options: Any) -> Any:
        original(self, *sources, **options)
        seen.append("rows")
        raise DataError("the second file is bad")

    fake.__class__.__call__ = breaking  # type: ignore[method-assign]
    try:
        run = gnc("a.h5", "--jsonl")
    finally:
        fake.__class__.__call__ = original  # type: ignore[method-assign]
    assert run.exit_code == 3 and len(run.stdout.splitlines()) == 4 and seen


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("r.md", ["## gnc compare\n", "| snub.h5 |", "❌ failed", "improves"]),
        ("r.xml", ["<testsuites", "--tolerance 1e-09", 'failures="1"']),
        ("r.prom", ["gnc_compare_gap{d=", 'file="worse.h5"', 'status="no_entry"',
                    "gnc_compare_counts_worse 1"]),
    ],
)  # fmt: skip
def test_reports(
    gnc: Run, fake: FakeCompare, tmp_path: Path, name: str, words: list[str]
) -> None:
    fake.result = RESULTS["compare_several"]
    assert gnc("a.h5", "--report", tmp_path / name).exit_code == 5
    text = (tmp_path / name).read_text()
    for word in words:
        assert word in text, word
    if name.endswith(".prom"):
        samples = [line.rpartition(" ")[0] for line in text.splitlines() if line[0] != "#"]
        assert len(samples) == len(set(samples))


def test_a_report_on_one_code_ends_with_its_advice(
    gnc: Run, fake: FakeCompare, tmp_path: Path
) -> None:
    assert gnc("a.h5", "--report", tmp_path / "r.md").exit_code == 0
    assert "**matches**: ties the best known code" in (tmp_path / "r.md").read_text()


def test_baseline(gnc: Run, fake: FakeCompare, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(gnc("a.h5", "--json").stdout)
    gates = ("--baseline", path, "--allow", "max_cosine=1e-9")
    assert gnc("a.h5", *gates).exit_code == 0
    fake.result = result(row(max_cosine=0.73))
    assert gnc("a.h5", *gates).exit_code == 5
    fake.result = result(row(K=25))
    assert gnc("a.h5", *gates).exit_code == 3


def test_square_brackets_are_no_markup(gnc: Run, fake: FakeCompare) -> None:
    fake.result = result(row(file="[red]a[/red].h5"), row(congruent_to="[b]"))
    said = gnc("a.h5").stdout
    assert "[red]a[" in said and "[b]" in said


def test_help_tells_the_modes_and_every_option(gnc: Run) -> None:
    run = gnc("--help", env={"COLUMNS": "120", "TERMINAL_WIDTH": "120"})
    assert run.exit_code == 0
    modes = ("FILES", "--list", "--solve", "--table")
    for option in (*modes, "--digits", "--export", "--require-entry", "--budget", "--workers"):
        assert option in run.stdout


def test_a_list_loads_nothing_heavy() -> None:
    script = (
        "import sys\n"
        "sys.argv[1:] = 'compare --list --d 3..8 --K 2..100 --proven'.split()\n"
        "from gnc_cli.cli import main\n"
        "try: main()\n"
        "except SystemExit as e: assert e.code == 0\n"
        "heavy = {'torch', 'scipy', 'matplotlib', 'h5py', 'mpmath', 'geoopt'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    title, _, _, *entries, _, _ = run.stdout.splitlines()
    assert title.split()[-2] == str(len(entries))
    assert all(" yes " in entry for entry in entries)
