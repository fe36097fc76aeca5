"""Shared by the tests of `gnc compare`."""

import pytest

from gnc_cli.known_codes.table import KnownCodes, numerical_codes


@pytest.fixture
def nothing_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if this project had solved no codes of its own."""
    none = KnownCodes(numerical_codes().stamp, {})
    monkeypatch.setattr("gnc_cli.known_codes.best.numerical_codes", lambda: none)
