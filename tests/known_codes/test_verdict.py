"""The comparison of a largest cosine with the best known one."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.known_codes.best import BestKnown
from gnc_cli.known_codes.verdict import ComparisonStatus, comparison_status

KNOWN = BestKnown(
    max_cosine=0.5,
    figure="1/2",
    source="a table",
    proven=False,
    kind="table",
    d=3,
    K=24,
    date="2026-10",
    exact=Fraction(1, 2),
    rounding=1e-13,
)


def no_proof(t: Fraction) -> bool:
    raise AssertionError("nothing to prove")


@pytest.mark.parametrize(
    ("gap", "expected"),
    [
        (0.1, ComparisonStatus.WORSE),
        (1e-10, ComparisonStatus.WORSE),
        (5e-12, ComparisonStatus.MATCHES),
        (0.0, ComparisonStatus.MATCHES),
        (-5e-14, ComparisonStatus.MATCHES),
    ],
)
def test_ties_and_worse(gap: float, expected: ComparisonStatus) -> None:
    assert comparison_status(0.5 + gap, KNOWN, no_proof) is expected


def test_an_improvement_takes_a_proof() -> None:
    asked: list[Fraction] = []

    def proof(t: Fraction) -> bool:
        asked.append(t)
        return len(asked) == 1

    assert comparison_status(0.5 - 1e-9, KNOWN, proof) is ComparisonStatus.IMPROVES
    assert comparison_status(0.5 - 1e-9, KNOWN, proof) is ComparisonStatus.MATCHES
    # Below the value by its whole rounding, in exact arithmetic.
    assert asked == [Fraction(1, 2) - Fraction(1e-13)] * 2


def test_without_a_record_nothing_ties_or_improves() -> None:
    family = replace(KNOWN, kind="construction", rounding=0.0, on_record=False)
    assert comparison_status(0.4, family, no_proof) is ComparisonStatus.NO_ENTRY
    assert comparison_status(0.5, family, no_proof) is ComparisonStatus.NO_ENTRY
    assert comparison_status(0.5 + 1e-12, family, no_proof) is ComparisonStatus.NO_ENTRY
    assert comparison_status(0.6, family, no_proof) is ComparisonStatus.WORSE
    proven = replace(family, proven=True, on_record=True)
    below_half = comparison_status(0.4, proven, lambda t: t == Fraction(1, 2))
    assert below_half is ComparisonStatus.IMPROVES
    assert comparison_status(0.4, None, no_proof) is ComparisonStatus.NO_ENTRY


@given(st.floats(-1, 1), st.floats(-0.9, 0.9))
def test_only_proofs_improve(cosine: float, value: float) -> None:
    known = replace(KNOWN, max_cosine=value, exact=Fraction(value))
    assert comparison_status(cosine, known, lambda t: False) is not ComparisonStatus.IMPROVES
    better = comparison_status(cosine, known, lambda t: Fraction(cosine) < t)
    assert (better is ComparisonStatus.IMPROVES) == (cosine < value - 1e-13)
