"""`gnc compare` end to end: pipes, broken files, streams."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from typer.testing import CliRunner

from gnc_cli import schemas
from gnc_cli.cli import app
from gnc_cli.codes.constructions.registry import find

GNC = f'"{sys.executable}" -m gnc_cli'
VALIDATOR = jsonschema.Draft202012Validator(schemas.load("compare"))


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command.replace("gnc ", f"{GNC} ")], cwd=folder,
        capture_output=True, text=True, stdin=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the icosahedron, something worse, and broken files."""
    code = find("icosahedron")
    assert code is not None
    W = np.asarray(code.build())
    np.save(tmp_path / "good.npy", W)
    np.save(tmp_path / "bad.npy", W + 1e-6 * np.arange(36).reshape(12, 3) % 1e-5)
    np.save(tmp_path / "two.npy", np.concatenate([np.eye(2), -np.eye(2)]))
    (tmp_path / "t.txt").write_text("4,24,0.5\n")
    (tmp_path / "text.h5").write_text("once upon a time")
    (tmp_path / "cut.npy").write_bytes((tmp_path / "good.npy").read_bytes()[:200])
    np.savetxt(tmp_path / "numbers.txt", W.ravel())
    return tmp_path


def test_a_code_through_a_pipe(folder: Path) -> None:
    run = shell("gnc solve --construction snub-cube --out - -q | gnc compare - --json", folder)
    assert run.returncode == 0, run.stderr
    printed = json.loads(run.stdout)
    VALIDATOR.validate(printed)
    (row,) = printed["rows"]
    assert (row["file"], row["status"], row["congruent_to"]) == ("-", "matches", "snub-cube")
    assert (row["contacts"], row["rattlers"]["one_vs_rest"]) == (60, 0)


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        ("good.npy", 0, ""),
        ("good.npy bad.npy", 5, "gate failed: --tolerance 1e-09"),
        ("bad.npy --tolerance 1e-3", 0, "gate passed: --tolerance 0.001"),
        ("two.npy --table t.txt --require-entry", 0, "all on record"),
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
        ("", 2, "nothing to compare"),
        ("good.npy --list", 2, "exclude each other"),
        ("--solve --d 3", 2, "--K 2..40"),
        ("--list --proven --digits 5", 2, "--digits belongs to files"),
    ],
)
def test_every_ending(
    folder: Path, arguments: str, status: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    before = sorted(os.listdir(folder))
    run = CliRunner(env={"COLUMNS": "100"}).invoke(
        app, ["compare", *arguments.split()], prog_name="gnc"
    )
    assert run.exit_code == status, run.stderr
    assert words in run.stderr and "Traceback" not in run.stderr
    assert len(run.stderr.splitlines()) == bool(words)
    assert (run.stdout == "") == (status in (2, 3))
    assert sorted(os.listdir(folder)) == before


def test_a_list_for_other_programs() -> None:
    def said(*options: str) -> str:
        run = CliRunner().invoke(app, ["compare", "--list", *options], prog_name="gnc")
        assert (run.exit_code, run.stderr) == (0, "")
        return str(run.stdout)

    header, first, *_ = said("--d", "3..4", "--K", "4..24", "--csv").splitlines()
    assert header.split(",")[2:6] == ["d", "K", "max_cosine", "best_known"]
    assert first.split(",")[2:5] == ["3", "4", ""]
    printed = json.loads(said("--json"))
    VALIDATOR.validate(printed)
    assert len(printed["rows"]) == printed["table"]["rows"]
    assert said("--jsonl", "--d", "99") == ""
    for line in said("--jsonl", "--d", "5").splitlines():
        VALIDATOR.validate(json.loads(line))


def test_rows_stream_while_the_work_goes_on(folder: Path) -> None:
    # The second solve would take minutes; the reader leaves after the first row.
    run = shell("gnc compare --solve --d 2 --K 5,6 --jsonl | head -1", folder)
    row = json.loads(run.stdout)
    VALIDATOR.validate(row)
    assert (row["d"], row["K"], row["status"], row["passed"]) == (2, 5, "matches", True)


def test_fresh_solves_are_judged_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = "compare --solve --d 2..3 --K 4,5 --budget 5 --out rows.jsonl --json".split()
    run = CliRunner().invoke(app, words, prog_name="gnc")
    assert run.exit_code == 0, run.stderr
    printed = json.loads(run.stdout)
    VALIDATOR.validate(printed)
    assert printed["counts"]["matches"] == 4
    assert len((tmp_path / "rows.jsonl").read_text().splitlines()) == 4
    assert CliRunner().invoke(app, words, prog_name="gnc").exit_code == 3
    again = CliRunner().invoke(app, [*words, "--resume"], prog_name="gnc")
    assert json.loads(again.stdout)["rows"] == printed["rows"]
