"""Run `gnc` in this process, with a stand-in for the solver."""

from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.cli.fakes import FakeSolve, install

Run = Callable[..., Any]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeSolve:
    """The stand-in: set `.result` or `.error`, read `.calls`."""
    return install(monkeypatch)


@pytest.fixture
def gnc(fake: FakeSolve) -> Run:
    """`gnc("solve", "--d", "3")` returns exit_code, stdout and stderr."""
    from gnc_cli.cli import app

    plain = {"COLUMNS": "100", "NO_COLOR": None, "FORCE_COLOR": None}

    def run(*args: str, **more: Any) -> Any:
        return CliRunner(env=plain).invoke(app, [str(a) for a in args], prog_name="gnc", **more)

    return run
