"""What is not proved: shown where it says more than a proof, with the reason, and never counted."""

import pytest

from gnc_cli import bounds
from gnc_cli.limits.result import rank


def test_a_bound_weaker_than_a_proved_one_is_dropped() -> None:
    result = bounds(d=8, max_cosine=0.5)
    assert result.classes is not None and result.classes.guaranteed == 240
    assert all(row.proven for row in result.classes.rows)  # no 868 beside 240


@pytest.mark.parametrize(
    ("question", "counted"),
    [
        ({"d": (5, 8, 26, 47), "max_cosine": 0.5}, True),
        ({"K": (200, 10**5, 10**9), "max_cosine": 0.5}, True),
        ({"d": (5, 11, 26), "K": (45, 869, 199_000)}, False),
    ],
)
def test_what_is_shown_beside_says_more(question: dict[str, object], counted: bool) -> None:
    result = bounds(**question)  # type: ignore[arg-type]
    rows = result.answer.rows
    unproved = [row for row in rows if not row.proven]
    for row in unproved:
        same = [r for r in rows if (r.d == row.d if hasattr(row, "log10_K") else r.K == row.K)]
        if not counted:
            same = [r for r in rows if (r.d, r.K) == (row.d, row.K)]
        held = [r for r in same if r.proven and r.exists is row.exists and getattr(r, "valid", 1)]
        assert rank(row) < min(map(rank, held))
    assert unproved or not counted


@pytest.mark.parametrize(("d", "proved", "expected"), [(5, 45, 44), (7, 135, 134)])
def test_the_answer_says_why_45_and_135_stand(d: int, proved: int, expected: int) -> None:
    result = bounds(d=d, max_cosine=0.5)
    assert result.classes is not None and result.classes.excluded == proved + 1
    (row,) = [r for r in result.classes.rows if not r.proven and not r.exists]
    assert row.K == expected + 1 and "(no rigorous certificate at hand)" in row.source
    text = " ".join(str(result).split())
    assert "Mittelmann and Vallentin 2010, no rigorous certificate at hand" in text
