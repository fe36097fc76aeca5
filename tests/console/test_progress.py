"""Bars on stderr: a best value where the stage has one, and none where it only comes to an end."""

import io
import math
import re

import pytest

from gnc_cli.console.process import progress_on_terminal


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, stage: str, value: float) -> str:
    terminal = _Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    for name, text in (("TERM", "xterm"), ("COLUMNS", "120"), ("NO_COLOR", "1")):
        monkeypatch.setenv(name, text)
    with progress_on_terminal(quiet=False, first="working") as report:
        assert report is not None
        report(stage, 5, 10, value)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())


@pytest.mark.parametrize("stage", ["moments", "decisions", "rows"])
def test_a_share_done_is_no_best_value(monkeypatch: pytest.MonkeyPatch, stage: str) -> None:
    said = shown(monkeypatch, stage, 0.5)
    assert stage in said and "5/10" in said and "best" not in said


@pytest.mark.parametrize("stage", ["descent", "gnc2", "pairs, largest gap"])
def test_searches_show_their_best(monkeypatch: pytest.MonkeyPatch, stage: str) -> None:
    assert "best 0.625" in shown(monkeypatch, stage, 0.625)
    assert "best -" in shown(monkeypatch, stage, math.nan)
