"""`gnc solve` with a stand-in for its function."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import runner
from tests.console.stand_in import StandIn, gnc_around


@pytest.fixture
def fake() -> StandIn:
    """The stand-in: set `.result` or `.error`, read `.calls`."""
    return StandIn()


@pytest.fixture
def gnc(fake: StandIn) -> Callable[..., Any]:
    """`gnc("solve", "--d", "3")` returns exit_code, stdout and stderr."""
    return runner(gnc_around(fake))
