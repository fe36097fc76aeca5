"""`gnc solve` end to end with the real solver: results, files, signals, exit codes."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from typer.testing import CliRunner

from gnc_cli import compare, measure, schemas
from gnc_cli.cli import COMMANDS, app
from gnc_cli.errors import UsageError
from gnc_cli.geometry.gram import row_maxima
from gnc_cli.io.codefile import read_code
from gnc_cli.search import large_scale
from gnc_cli.search.result import Outcome
from tests import golden
from tests.console.stand_in import code

GOLDEN = Path(__file__).parent / "golden"
VALIDATOR = jsonschema.Draft202012Validator(schemas.load("solve"))
QUICK = ("--restarts", "8")
SEARCH = ("--method", "descent", *QUICK)
"""Without the constructions, which know all small codes."""
LONG = ("--d", "3", "--K", "15", "--seed", "3", "--method", "descent")
ROUNDS = (*LONG, "--restarts", "6400")
"""A hundred rounds of some tenths of a second: one is soon over, many are left to be stopped."""


def gnc(*args: Any, **more: Any) -> Any:
    plain = {"COLUMNS": "120", "NO_COLOR": "1"}
    words = [str(a) for a in args]
    return CliRunner(env=plain).invoke(app, ["solve", *words], prog_name="gnc", **more)


def solved(*args: Any) -> dict[str, Any]:
    """The JSON of a run that ended well, as its schema wants it."""
    run = gnc(*args, "--json")
    assert run.exit_code == 0, run.stderr
    assert run.stderr == ""
    result: dict[str, Any] = json.loads(run.stdout)
    VALIDATOR.validate(result)
    return result


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ("code", "--d 3 --K 9"),
        ("ufm", "--d 2 --K 4 --problem ufm --tau 0.1 --restarts 2"),
        ("sweep", "--d 2 --K 3 --problem ufm --tau 1,0.1 --restarts 2"),
    ],
)
def test_each_shape_of_the_json(shape: str, words: str) -> None:
    golden.check(gnc(*words.split(), "--json").stdout, GOLDEN / f"{shape}.json")
    rows = list(csv.DictReader(io.StringIO(gnc(*words.split(), "--csv").stdout)))
    assert [row.get("tau") or None for row in rows] == {
        "code": [None],
        "ufm": ["0.1"],
        "sweep": ["1.0", "0.1"],
    }[shape]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_schema_is_one(command: str) -> None:
    schema = schemas.load(command)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["title"] == f"gnc {command} --json"
    with pytest.raises(UsageError, match=command):
        schemas.load("nothing")


def test_every_outcome_is_valid() -> None:
    for outcome in Outcome:
        VALIDATOR.validate(code(outcome=outcome, ending=outcome).to_json())
    VALIDATOR.validate(code(contacts=None, first_order_gain=float("nan")).to_json())


def test_a_code_whose_pairs_were_not_all_seen_is_undecided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None of its values is a number: not in JSON, the table, a plot, a gate or the file."""
    monkeypatch.setattr(large_scale, "_GRACE_SECONDS", 0.0)
    out, plot = tmp_path / "open.h5", tmp_path / "open.png"
    words = ("--d", 7, "--K", 3000, "--method", "descent", "--time-limit", "0.001")
    result = solved(*words, "--out", out, "--plot", plot)
    assert result["outcome"] == "time_limit" and plot.stat().st_size > 0
    names = ("max_cosine", "min_angle_deg", "rho_one_vs_one", "rho_one_vs_rest", "rattlers")
    names += ("contacts", "margins", "status", "gap", "optimum")
    assert {name: result[name] for name in names} == dict.fromkeys(names)
    assert result["undecided"] == list(names)
    run = gnc(*words)
    (row,) = [line for line in run.stdout.splitlines() if line.startswith("distances ")]
    assert "undecided" in row and "0." not in row
    for gate in (
        "--min=max_cosine=-1",
        "--max=margins.cosface=9",
        "--min=rattlers.one_vs_one=0",
    ):
        assert gnc(*words, gate).exit_code == 4, gate
    assert gnc(*words, "--target", "0.1").exit_code == 4
    stored = read_code(out)
    assert stored.provenance["result"]["max_cosine"] is None
    row, measured = compare(out).rows[0], measure(weights=out)
    top = row_maxima(stored.weights)[0].max()
    assert row.max_cosine == pytest.approx(top, abs=1e-15)
    assert measured.max_cosine == pytest.approx(top, abs=1e-15)


@pytest.mark.parametrize(
    "spoilt",
    [
        {"extra": 1},
        {"K": 2.5},
        {"rho_one_vs_rest": {"lower": 0.5}},
        {"outcome": "fine"},
        {"schema": 2},
        {"rows": []},
        {"seed": "0"},
    ],
)
def test_spoilt_results_are_not(spoilt: dict[str, Any]) -> None:
    assert not VALIDATOR.is_valid(code().to_json() | spoilt)


def test_a_person_sees_the_certificate(tmp_path: Path) -> None:
    file, plot, report = (tmp_path / f"code.{s}" for s in ("h5", "svg", "md"))
    run = gnc(
        "-d",
        3,
        "-K",
        12,
        *SEARCH,
        "--out",
        file,
        "--plot",
        plot,
        "--report",
        report,
        "--min",
        "rho_one_vs_rest=0.55",
        "--max",
        "max_cosine=0.4472136",
    )
    assert run.exit_code == 0, run.stderr
    assert "0.552786404500" in run.stdout and "converged" in run.stdout
    assert run.stderr.count("gate") == 2
    assert plot.stat().st_size > 1000 and "0.5527" in report.read_text()
    stored = read_code(file)
    assert stored.provenance["result"]["rho_one_vs_rest"]["lower"] > 0.5527864045
    assert "gnc solve" in stored.provenance["command"]
    again = gnc("-d", 3, "-K", 12, *SEARCH, "--out", file)
    assert again.exit_code == 3 and "--force" in again.stderr


def test_gates_hold_real_results_to_their_word() -> None:
    base = ("-d", 3, "-K", 15, "--problem", "tammes", "--method", "descent", "--restarts", 4)
    assert gnc(*base, "--target", 0.59).exit_code == 4
    assert gnc(*base, "--target", 0.59, "--max", "max_cosine=0.59").exit_code == 5
    assert gnc(*base, "--target", 0.62).exit_code == 0
    assert gnc(*base, "--target", 0.5).exit_code == 2  # no code reaches it


def test_codes_through_pipes() -> None:
    """`--out -` into `--init -`: HDF5 from one to the other, the table on stderr."""
    first = gnc("-d", 5, "-K", 6, "--out", "-")
    assert first.exit_code == 0 and "closed form" in first.stderr
    given = ("--init", "-", "--method", "descent", "--restarts", 1, "--json")
    second = gnc("-d", 5, "-K", 6, *given, input=first.stdout_bytes)
    assert second.exit_code == 0, second.stderr
    assert json.loads(second.stdout)["max_cosine"] == pytest.approx(-0.2, abs=1e-12)


@pytest.mark.parametrize(
    ("args", "status", "words"),
    [
        (("-d", 3, "-K", 13, "--symmetry", "antipodal"), 2, "try K = 12"),
        (("-d", 3, "-K", 12, "--symmetry", "cyclic:40"), 2, "longer than --K 12"),
        (("-d", 3, "-K", 12, "--init", "nowhere.h5"), 3, "nowhere.h5"),
        (("-d", 2, "-K", 4, "--problem", "ufm", "--weight-decay", 1), 2, "smaller"),
        (("-d", 3, "-K", 12, "--device", "cuda:99"), 6, "cuda"),
    ],
)
def test_refusals_are_one_line(args: tuple[Any, ...], status: int, words: str) -> None:
    run = gnc(*args)
    assert run.exit_code == status
    assert run.stdout == ""
    (line,) = run.stderr.splitlines()
    assert line.startswith("gnc: ") and words in line


def test_a_time_limit_is_a_normal_end(tmp_path: Path) -> None:
    file = tmp_path / "code.h5"
    run = gnc(*LONG, "--time-limit", 1, "--out", file, "--json")
    assert run.exit_code == 0
    first = json.loads(run.stdout)
    VALIDATOR.validate(first)
    assert first["outcome"] == "time_limit" and "--resume" in first["advice"]
    again = solved(*LONG, "--time-limit", 1, "--out", file, "--resume")
    assert again["steps"] > 0
    assert again["rho_one_vs_rest"]["lower"] >= first["rho_one_vs_rest"]["lower"] - 1e-9
