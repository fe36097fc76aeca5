"""What all rows share: parts of a code are the code's, in whatever blocks they are made."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.constructions import construction
from tests.constructions.checks import check_parts, named

NAMES = (
    "polygon-9",
    "petersen",
    "icosahedron",
    "gold-3",
    "kerdock-4-shortened-2",
    "quadratic-9",
    "cubic-5",
    "odd-cubic-7",
    "odd-quintic-7",
    "paley-13",
    "quadric-3-2",
    "quadric-5-1",
    "quadric-3-3-shortened-2",
    "quadric-4-2-extended",
    "net-4-5",
    "unitary-3",
    "unitary-3-section",
)
"""A code of each kind of rows."""


@given(st.sampled_from(NAMES), st.integers(0, 999), st.integers(0, 999))
def test_parts(name: str, start: int, stop: int) -> None:
    check_parts(named(name).build(), start, stop)


@pytest.mark.parametrize("name", NAMES)
def test_a_block_ends_anywhere(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = named(name).build()
    whole = np.asarray(rows)
    monkeypatch.setattr(construction, "_BLOCK_ENTRIES", 90)
    np.testing.assert_allclose(rows.unit(3, len(rows) - 2), whole[3:-2], rtol=0, atol=3e-16)
