"""The verdict on a largest cosine, and what the user is told."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.results import Standing, TableStamp
from gnc_cli.workflows.compare_standing import advice, passes, standing, table_name
from gnc_cli.workflows.known import Reference

KNOWN = Reference(0.5, Fraction(1, 2), 1e-13, "a table", False, listed=True)
OURS = TableStamp(286, "2026-10", "e2cd", current=False)
THEIRS = TableStamp(30000, "2026-11-21", "beef", current=True)


def no_proof(t: Fraction) -> bool:
    raise AssertionError("nothing to prove")


@pytest.mark.parametrize(
    ("gap", "expected"),
    [
        (0.1, Standing.WORSE),
        (1e-10, Standing.WORSE),
        (5e-12, Standing.MATCHES),
        (0.0, Standing.MATCHES),
        (-5e-14, Standing.MATCHES),
    ],
)
def test_ties_and_worse(gap: float, expected: Standing) -> None:
    assert standing(0.5 + gap, KNOWN, no_proof) is expected


def test_an_improvement_takes_a_proof() -> None:
    asked: list[Fraction] = []

    def proof(t: Fraction) -> bool:
        asked.append(t)
        return len(asked) == 1

    assert standing(0.5 - 1e-9, KNOWN, proof) is Standing.IMPROVES
    assert standing(0.5 - 1e-9, KNOWN, proof) is Standing.MATCHES
    # Below the figure by its whole rounding, in exact arithmetic.
    assert asked == [Fraction(1, 2) - Fraction(1e-13)] * 2


def test_the_public_rounding_hides_small_gains() -> None:
    public = replace(KNOWN, rounding=1e-12)
    assert standing(0.5 - 9e-13, public, no_proof) is Standing.MATCHES
    assert standing(0.5 - 2e-12, public, lambda t: True) is Standing.IMPROVES


def test_a_construction_is_no_record() -> None:
    family = Reference(0.5, None, 0.0, "construction: x", False, listed=False)
    assert standing(0.4, family, no_proof) is Standing.NO_ENTRY
    assert standing(0.5 + 1e-15, family, no_proof) is Standing.MATCHES
    assert standing(0.6, family, no_proof) is Standing.WORSE
    proven = replace(family, proven=True)
    assert standing(0.4, proven, lambda t: t == Fraction(1, 2)) is Standing.IMPROVES
    assert standing(0.4, None, no_proof) is Standing.NO_ENTRY


@given(st.floats(-1, 1), st.floats(-0.9, 0.9))
def test_only_proofs_improve(cosine: float, figure: float) -> None:
    known = replace(KNOWN, max_cosine=figure, exact=Fraction(figure))
    assert standing(cosine, known, lambda t: False) is not Standing.IMPROVES
    better = standing(cosine, known, lambda t: Fraction(cosine) < t)
    assert (better is Standing.IMPROVES) == (cosine < figure - 1e-13)


@pytest.mark.parametrize(
    ("status", "gap", "require_entry", "expected"),
    [
        (Standing.WORSE, 1e-9, False, True),
        (Standing.WORSE, 1.1e-9, False, False),
        (Standing.MATCHES, 5e-12, False, True),
        (Standing.IMPROVES, -0.1, True, True),
        (Standing.NO_ENTRY, None, False, True),
        (Standing.NO_ENTRY, None, True, False),
        (Standing.NO_ENTRY, -0.1, True, False),
        (None, None, True, None),
    ],
)
def test_passes(
    status: Standing | None, gap: float | None, require_entry: bool, expected: bool | None
) -> None:
    assert passes(status, gap, tolerance=1e-9, require_entry=require_entry) is expected


@pytest.mark.parametrize("status", [None, *Standing])
@pytest.mark.parametrize("stamp", [OURS, THEIRS])
def test_advice_is_one_sentence(status: Standing | None, stamp: TableStamp) -> None:
    said = advice(status, 3, 24, "my code.h5", stamp)
    assert said and "\n" not in said and not said.endswith(".")


def test_an_improvement_names_its_table() -> None:
    assert table_name(OURS) == "our copy of 2026-10 (sha256 e2cd)"
    assert table_name(THEIRS) == "the table of 2026-11-21 (sha256 beef)"
    ours = advice(Standing.IMPROVES, 3, 24, None, OURS)
    theirs = advice(Standing.IMPROVES, 3, 24, None, THEIRS)
    assert table_name(OURS) in ours and "--table" in ours
    assert table_name(THEIRS) in theirs and "--table" not in theirs
    assert "rational" in ours and "rational" in theirs


def test_a_worse_code_can_be_gone_on_with() -> None:
    said = advice(Standing.WORSE, 3, 24, "my code.h5", OURS)
    assert "gnc solve --d 3 --K 24 --problem tammes --init 'my code.h5'" in said
    for nothing in (None, "-"):
        assert "--init" not in advice(Standing.WORSE, 3, 24, nothing, OURS)
