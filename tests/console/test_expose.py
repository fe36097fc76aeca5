"""Options of `gnc solve` (expose.py, options.py), and its output on stdout and stderr."""

import json
import logging
import re
import warnings
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import runner
from tests.console.stand_in import StandIn, code, gnc_around

BASE = ("solve", "--d", "10", "--K", "100")


DEFAULTS = {
    "d": 10,
    "K": 100,
    "problem": "softmax",
    "method": "auto",
    "seed": 0,
    "restarts": None,
    "steps": None,
    "init": None,
    "fixed": None,
    "symmetry": None,
    "target": None,
    "time_limit": None,
    "tau": None,
    "weight_decay": None,
    "n": 1,
    "list_constructions": False,
    "device": "auto",
    "threads": None,
    "workers": None,
    "cluster": None,
    "out": None,
    "force": False,
    "resume": False,
    "plot": None,
    "progress": None,
    "construction": None,
    "table": None,
}
"""Every parameter of `solve`, d and K of `BASE`; a new option adds a line."""


def test_defaults_reach_the_work_function(gnc: Any, fake: StandIn) -> None:
    assert gnc(*BASE).exit_code == 0
    (call,) = fake.calls
    assert call.pop("interrupt").is_set() is False
    assert call == DEFAULTS | {"command_line": "gnc solve --d 10 --K 100"}


def test_options_reach_the_work_function(gnc: Any, fake: StandIn, tmp_path: Path) -> None:
    out, plot = tmp_path / "code.h5", tmp_path / "code.svg"
    run = gnc(
        "solve",
        "-d",
        "1e1",
        "-K",
        "1_000",
        "--problem",
        "tammes",
        "--method",
        "descent",
        "--seed",
        "7",
        "--restarts",
        "1e2",
        "--init",
        tmp_path / "a.npz",
        "--target",
        "-0.25",
        "--time-limit",
        "1.5e2",
        "--device",
        "cuda:1",
        "--threads",
        "2",
        "--out",
        out,
        "--plot",
        plot,
        "--resume",
        "--max",
        "max_cosine=1",
        "-q",
    )
    assert run.exit_code == 0, run.stderr
    (call,) = fake.calls
    call.pop("interrupt")
    assert call == DEFAULTS | {
        "K": 1000,
        "problem": "tammes",
        "method": "descent",
        "seed": 7,
        "restarts": 100,
        "init": str(tmp_path / "a.npz"),
        "target": -0.25,
        "time_limit": 150.0,
        "device": "cuda:1",
        "threads": 2,
        "out": str(out),
        "resume": True,
        "plot": str(plot),
        "command_line": "gnc solve --d 1e1 --K 1_000 --problem tammes "
        "--method descent --init a.npz --restarts 1e2 "
        "--target -0.25 --resume --seed 7 --time-limit 1.5e2 --device cuda:1 --threads 2 "
        "--out code.h5 --plot code.svg --quiet --max max_cosine=1",
    }


def test_verbose_table_names_the_keys_of_gates(gnc: Any) -> None:
    said = gnc(*BASE, "-v").stdout
    for key in ("rho_one_vs_rest", "max_cosine", "margins.cosface", "rattlers", "stationarity"):
        assert re.search(rf"^{re.escape(key)}[. ]| {re.escape(key)}$", said, re.MULTILINE)


def test_json_is_pure_whatever_else_is_said(gnc: Any, tmp_path: Path) -> None:
    run = gnc(*BASE, "--json", "--min", "contacts=999", "--report", tmp_path / "r.md", "-v")
    assert run.exit_code == 5
    assert json.loads(run.stdout)["K"] == 100
    assert len(run.stderr.splitlines()) == 1


def test_nonfinite_numbers_are_null(gnc: Any, fake: StandIn) -> None:
    fake.result = code(stationarity=float("nan"), first_order_gain=float("inf"))
    printed = json.loads(gnc(*BASE, "--json").stdout, parse_constant=pytest.fail)
    assert printed["stationarity"] is None and printed["first_order_gain"] is None


def test_jsonl_has_a_row_a_line(gnc: Any) -> None:
    run = gnc(*BASE, "--jsonl", "--problem", "ufm", "--tau", "1,0.1")
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    assert [row["tau"] for row in rows] == [1.0, 0.1]
    assert all(row["schema"] == 1 and row["d"] == 10 for row in rows)
    assert json.loads(gnc(*BASE, "--jsonl").stdout) == json.loads(gnc(*BASE, "--json").stdout)


def test_out_to_stdout_moves_the_table_to_stderr(gnc: Any, fake: StandIn) -> None:
    run = gnc(*BASE, "--out", "-")
    assert run.stdout == ""
    assert "Softmax Code" in run.stderr
    assert fake.calls[0]["out"] == "-"


def test_square_brackets_are_no_markup(gnc: Any, fake: StandIn) -> None:
    fake.result = code(origin="closed form: [red]E8[/red]", out="a[b].h5")
    said = gnc(*BASE).stdout
    assert "[red]E8[/red]" in said and "a[b].h5" in said


def test_colours_only_on_demand(gnc: Any) -> None:
    assert "\x1b[" not in gnc(*BASE).stdout
    assert "\x1b[" in gnc(*BASE, env={"FORCE_COLOR": "1"}, color=True).stdout
    assert "\x1b[3" not in gnc(*BASE, env={"FORCE_COLOR": "1", "NO_COLOR": "1"}, color=True).stdout


def test_quiet_shows_the_gates_that_do_not_pass(gnc: Any) -> None:
    gates = ("--min", "rho_one_vs_rest=0.6", "--max", "max_cosine=0.3")
    assert len(gnc(*BASE, *gates).stderr.splitlines()) == 2
    run = gnc(*BASE, *gates, "-q")
    assert run.exit_code == 5 and run.stderr.startswith("gnc: gate failed: --max max_cosine=0.3 (")
    assert len(run.stderr.splitlines()) == 1


def test_warnings_become_one_line() -> None:
    def noisy(**_: Any) -> Any:
        warnings.warn("first\nsecond", RuntimeWarning, stacklevel=1)
        logging.getLogger("gnc_cli.codes").info("a detail")
        return code()

    gnc = runner(gnc_around(noisy))
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert gnc(*BASE).stderr == "gnc: warning: first second\n"
        assert gnc(*BASE, "-q").stderr == ""
        assert gnc(*BASE, "-v").stderr == "gnc: warning: first second\ngnc: a detail\n"


@pytest.mark.parametrize(
    ("name", "words"),
    [("r.md", "## gnc solve"), ("r.xml", "<testsuites"), ("r.prom", "# TYPE gnc_solve_")],
)
def test_report_is_written_and_replaced_only_by_force(
    gnc: Any, tmp_path: Path, name: str, words: str
) -> None:
    path = tmp_path / name
    assert gnc(*BASE, "--report", path, "--max", "max_cosine=0.3").exit_code == 5
    assert words in path.read_text() and "max_cosine=0.3" in path.read_text()
    path.write_text("old")
    assert gnc(*BASE, "--report", path).exit_code == 3
    assert path.read_text() == "old"
    assert gnc(*BASE, "--report", path, "--force").exit_code == 0
    assert words in path.read_text()
    assert [p.name for p in tmp_path.iterdir()] == [name]
