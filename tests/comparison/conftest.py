"""Shared by the tests of `gnc compare`."""

import pytest

from gnc_cli.known_codes.table import SolvedMargins


@pytest.fixture
def nothing_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if this project had solved no codes of its own."""
    none = SolvedMargins((), "", "")
    monkeypatch.setattr("gnc_cli.known_codes.best.stored_margins", lambda: none)
