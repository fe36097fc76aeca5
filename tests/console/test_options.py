"""The help of the options that all commands share: it can be followed as it is written."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from gnc_cli import schemas
from gnc_cli.cli import app
from gnc_cli.console.options import EXAMPLES


def gnc(*words: Any) -> Any:
    plain = CliRunner(env={"COLUMNS": "120", "NO_COLOR": "1"})
    return plain.invoke(app, [str(word) for word in words], prog_name="gnc")


def shown_help(command: str) -> str:
    """The help text as one line."""
    return " ".join(gnc(command, "--help").stdout.replace("│", " ").split())


@pytest.mark.parametrize("command", schemas.RESULTS)
def test_help_has_an_example_of_check(command: str) -> None:
    assert f"Example: '{EXAMPLES[command]}'." in shown_help(command)


def test_the_examples_pass_where_they_are_true(tmp_path: Path) -> None:
    code, sets = tmp_path / "code.txt", tmp_path / "run.npz"
    np.savetxt(code, np.vstack([np.eye(3), -np.eye(3)]))
    W = np.eye(3) - 1 / 3
    np.savez(sets, features=W.repeat(2, axis=0), labels=np.arange(6) // 2, weights=W)
    for words in (
        ("solve", "--d", 3, "--K", 6),
        ("measure", sets),
        ("bounds", "--d", 3, "--K", 6),
        ("compare", code),
    ):
        run = gnc(*words, "--check", EXAMPLES[words[0]])
        assert run.exit_code == 0, run.stderr
