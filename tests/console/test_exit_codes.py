"""Exit codes, each with its one line on stderr, and nothing computed where options are wrong."""

import json
from pathlib import Path
from typing import Any

import pytest

from gnc_cli.cli import app
from gnc_cli.errors import DataError, ExitCode, OutputError, UnavailableError, UsageError
from gnc_cli.search.result import Outcome
from tests.conftest import runner
from tests.console.stand_in import StandIn, code

BASE = ("solve", "--d", "10", "--K", "100")
UFM = ("--problem", "ufm")


@pytest.mark.parametrize("outcome", list(Outcome))
def test_every_outcome_has_its_code(gnc: Any, fake: StandIn, outcome: Outcome) -> None:
    fake.result = code(outcome=outcome)
    expected = {Outcome.TARGET_MISSED: 4, Outcome.INTERRUPTED: 130}.get(outcome, 0)
    assert gnc(*BASE).exit_code == expected
    assert gnc(*BASE, "--json").exit_code == expected


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (UsageError("bad option"), 2),
        (DataError("bad data"), 3),
        (OutputError("no room"), 3),
        (UnavailableError("no cuda"), 6),
        (MemoryError(), 6),
        (KeyboardInterrupt(), 130),
        (BrokenPipeError(), 3),
    ],
)
def test_every_error_has_its_code(
    gnc: Any, fake: StandIn, error: BaseException, status: int
) -> None:
    fake.error = error
    run = gnc(*BASE)
    assert run.exit_code == status
    assert run.stdout == ""
    assert len(run.stderr.splitlines()) == (0 if status == 130 else 1)


def test_a_bug_says_so(gnc: Any, fake: StandIn) -> None:
    fake.error = ZeroDivisionError("by 0")
    run = gnc(*BASE)
    assert run.exit_code == ExitCode.BUG
    assert "this is a bug" in run.stderr.splitlines()[-1] and "--version -v" in run.stderr
    assert "Traceback" in run.stderr


@pytest.mark.parametrize(
    ("gates", "status"),
    [
        (("--min", "rho_one_vs_rest=0.66"), 0),
        (("--min", "rho_one_vs_rest=0.665"), 4),
        (("--min", "rho_one_vs_rest=0.665", "--max", "max_cosine=0.3"), 5),
        (("--max", "rho_one_vs_rest.upper=1"), 0),
    ],
)
def test_gates(gnc: Any, gates: tuple[str, ...], status: int) -> None:
    run = gnc(*BASE, *gates)
    assert run.exit_code == status
    assert run.stderr.count("gnc: gate ") == len(gates) // 2


BAD_OPTIONS: list[tuple[tuple[str, ...], str]] = [
    (("solve",), "missing --d and --K"),
    (("solve", "--d", "3"), "--K"),
    (("solve", "--d", "1", "--K", "5"), "--d 1 is too small"),
    (("solve", "--d", "3", "--K", "1"), "at least 2"),
    (("solve", "--d", "10.5", "--K", "5"), "--d 10.5 is not a whole number"),
    (("solve", "--d", "ten", "--K", "5"), "'ten' is not a number"),
    (("solve", "--d", "3,4", "--K", "5"), "'3,4'"),
    (("solve", "--d", "3", "--K", "1e30"), "--K 1e30 is too large"),
    ((*BASE, "--no-such"), "no such option"),
    ((*BASE, "stray"), "stray"),
    (("sovle",), "sovle"),
    ((*BASE, "--problem", "max"), "'softmax', 'tammes', 'ufm'"),
    ((*BASE, "--method", "magic"), "'magic'"),
    ((*BASE, "--tau", "0.1"), "--tau requires --problem ufm; add --problem ufm"),
    ((*BASE, "--weight-decay", "0.1"), "--weight-decay requires --problem ufm; add --problem ufm"),
    ((*BASE, "--n", "2"), "--n requires --problem ufm; add --problem ufm"),
    ((*BASE, *UFM), "--tau 0.1"),
    ((*BASE, *UFM, "--tau", "0"), "above 0"),
    ((*BASE, *UFM, "--tau", "1..0.1"), "number of points"),
    ((*BASE, *UFM, "--tau", "1", "--target", "0.5"), "--target excludes --problem ufm; keep one"),
    ((*BASE, *UFM, "--weight-decay", "-1"), "--weight-decay -1 is too small"),
    ((*BASE, "--symmetry", "cyclic:1"), "'cyclic:1'"),
    ((*BASE, "--restarts", "-1"), "at least 0"),
    ((*BASE, "--steps", "1.5"), "--steps 1.5 is not"),
    ((*BASE, "--steps", "60"), "--steps requires K > 2896 or --problem ufm; set the effort"),
    ((*BASE, "--seed", "-1"), "at least 0"),
    ((*BASE, "--time-limit", "0"), "above 0"),
    ((*BASE, "--time-limit", "inf"), "'inf'"),
    ((*BASE, "--threads", "0"), "at least 1"),
    ((*BASE, "--device", "tpu"), "'tpu' is not a device"),
    ((*BASE, "--resume"), "add --out code.h5"),
    ((*BASE, "--resume", "--out", "-"), "add --out code.h5"),
    ((*BASE, "--resume", "--out", "a.npz"), "code.h5"),
    ((*BASE, "--json", "--csv"), "--json and --csv exclude each other"),
    ((*BASE, "--json", "--jsonl", "--csv"), "exclude each other"),
    ((*BASE, "--out", "-", "--json"), "both want stdout"),
    ((*BASE, "--out", "-", "--csv"), "both want stdout"),
    ((*BASE, "-q", "-v"), "-q and -v"),
    ((*BASE, "--out", "a.hdf"), "'a.hdf'"),
    ((*BASE, "--out", ""), "''"),
    ((*BASE, "--report", "a.html"), ".prom"),
    ((*BASE, "--plot", "a.gif"), ".svg"),
    ((*BASE, "--min", "rho"), "'rho' is not KEY=VALUE"),
    ((*BASE, "--max", "max_cosine=small"), "'small' is not a number"),
    ((*BASE, "--rows", "first"), "'first'"),
    ((*BASE, "--allow", "max_cosine=1%"), "add --baseline"),
]


@pytest.mark.parametrize(("args", "words"), BAD_OPTIONS)
def test_bad_options_exit_2_before_any_work(args: tuple[str, ...], words: str) -> None:
    run = runner(app)(*args)
    assert run.exit_code == ExitCode.USAGE
    assert run.stdout == ""
    (line,) = run.stderr.splitlines()
    assert words in line
    assert "Traceback" not in line and "Value error" not in line


def test_unwritable_outputs_exit_3_before_any_work(gnc: Any, fake: StandIn, tmp_path: Path) -> None:
    existing = tmp_path / "code.h5"
    existing.write_bytes(b"precious")
    lost = tmp_path / "nowhere" / "code.h5"
    for option, path in [
        ("--out", existing),
        ("--out", lost),
        ("--report", lost.with_suffix(".md")),
        ("--plot", lost.with_suffix(".png")),
    ]:
        run = gnc(*BASE, option, path)
        assert run.exit_code == ExitCode.DATA
        (line,) = run.stderr.splitlines()
        assert path.name in line
    assert fake.calls == []
    assert existing.read_bytes() == b"precious"
    for option in ("--force", "--resume"):
        assert gnc(*BASE, "--out", existing, option).exit_code == 0


def test_a_foreign_baseline_exits_3_before_any_work(
    gnc: Any, fake: StandIn, tmp_path: Path
) -> None:
    path = tmp_path / "run.json"
    path.write_text(gnc("solve", "--d", "10", "--K", "50", "--json").stdout)
    fake.calls.clear()
    run = gnc(*BASE, "--baseline", path, "--allow", "max_cosine=10%")
    assert run.exit_code == ExitCode.DATA
    assert "has K 50, this run 100" in run.stderr
    assert fake.calls == []


def test_baseline(gnc: Any, fake: StandIn, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(gnc(*BASE, "--json").stdout)
    gates = ("--baseline", path, "--allow", "max_cosine=1%")
    assert gnc(*BASE, *gates).exit_code == 0
    fake.result = code(max_cosine=0.34)
    run = gnc(*BASE, *gates, "--json")
    assert run.exit_code == 5
    assert "was 0.335" in run.stderr
    assert json.loads(run.stdout)["max_cosine"] == 0.34


def test_bare_gnc_prints_help_and_exits_2(gnc: Any) -> None:
    run = gnc()
    assert run.exit_code == 2
    assert "solve" in run.stdout and "Usage" in run.stdout


def test_version(gnc: Any) -> None:
    from gnc_cli import __version__

    run = gnc("--version")
    assert (run.exit_code, run.stdout) == (0, f"gnc {__version__}\n")
