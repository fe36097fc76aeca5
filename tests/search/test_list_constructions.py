"""`gnc solve --construction` and `--list-constructions` at the command line."""

import csv
import io
import json
import re
from typing import Any

import jsonschema
import pytest
from typer.testing import CliRunner

from gnc_cli import schemas
from gnc_cli.cli import app
from gnc_cli.constructions.registry import names


def gnc(*args: Any, columns: int = 100) -> Any:
    plain = {"COLUMNS": str(columns), "NO_COLOR": "1"}
    words = [str(a) for a in args]
    return CliRunner(env=plain).invoke(app, ["solve", *words], prog_name="gnc")


@pytest.mark.parametrize("columns", [60, 100])
def test_names_are_never_cut(columns: int) -> None:
    run = gnc("--list-constructions", columns=columns)
    assert run.exit_code == 0 and run.stderr == ""
    first = [line.split()[0] for line in run.stdout.splitlines()[2:] if not line.startswith(" ")]
    assert set(names()) <= set(first)


def test_the_list_in_other_shapes() -> None:
    listed = json.loads(gnc("--list-constructions", "--json").stdout)
    jsonschema.Draft202012Validator(schemas.load("solve")).validate(listed)
    rows = list(csv.DictReader(io.StringIO(gnc("--list-constructions", "--csv").stdout)))
    assert [r["name"] for r in rows] == [r["name"] for r in listed["rows"]] and len(rows) > 40
    assert all(r["d"] and r["K"] and r["max_cosine"] and r["reference"] for r in rows)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--d", 3), "drop --d"),
        (("--K", 3, "--out", "x.h5"), "drop --K, --out"),
        (("--json", "--csv"), "exclude each other"),
    ],
)
def test_the_list_takes_nothing_else(args: tuple[Any, ...], words: str) -> None:
    run = gnc("--list-constructions", *args)
    assert run.exit_code == 2 and words in run.stderr and len(run.stderr.splitlines()) == 1


def test_a_construction_needs_no_size() -> None:
    run = gnc("--construction", "e8-roots", "--json", "--check", "contacts == 6720")
    assert run.exit_code == 0
    result = json.loads(run.stdout)
    assert (result["d"], result["K"], result["max_cosine"]) == (8, 240, 0.5)
    assert result["origin"] == "construction: e8-roots" and result["outcome"] == "constructed"
    table = gnc("--construction", "e8-roots").stdout
    assert re.search(r"found by +construction: e8-roots", table) and "proved optimal" in table


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((), "missing options --d and --K"),
        (("--construction", "nonsense"), "'nonsense' is not known; see --list-constructions"),
        (("--construction", "e8-roots", "--d", 7), "needs 8 dimensions; --d 7 is too few"),
        (("--construction", "e8-roots", "--restarts", 2), "drop --restarts"),
    ],
)
def test_refusals_are_one_line(args: tuple[Any, ...], words: str) -> None:
    run = gnc(*args)
    assert run.exit_code == 2 and run.stdout == ""
    assert words in run.stderr and len(run.stderr.splitlines()) == 1


def test_a_missed_target_is_said_where_no_table_says_it() -> None:
    run = gnc("--construction", "paley-9", "--K", 17, "--target", 0.7, "--json")
    assert run.exit_code == 4 and "target missed" in run.stderr
    assert json.loads(run.stdout)["outcome"] == "target_missed"
