"""The verdict on a code: `comparison.verdict`."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gnc_cli.comparison.files import Code
from gnc_cli.comparison.verdict import advice, passes, verdict
from gnc_cli.known_codes.best import BestKnown, best
from gnc_cli.known_codes.table import TableStamp, our_copy
from gnc_cli.known_codes.verdict import ComparisonStatus
from tests.known_codes.test_verdict import KNOWN

OURS = TableStamp(286, "2026-10", "e2cd", current=False)
THEIRS = TableStamp(30000, "2026-11-21", "beef", current=True)


def code(file: str | None, d: int, K: int) -> Code:
    return Code(np.ones((K, d)), file)


@pytest.mark.parametrize(
    ("status", "gap", "require_entry", "on_record", "expected"),
    [
        (ComparisonStatus.WORSE, 1e-9, False, True, True),
        (ComparisonStatus.WORSE, 1.1e-9, False, True, False),
        (ComparisonStatus.WORSE, 1e-10, True, False, False),
        (ComparisonStatus.MATCHES, 5e-12, False, True, True),
        (ComparisonStatus.IMPROVES, -0.1, True, True, True),
        (ComparisonStatus.NO_ENTRY, None, False, False, True),
        (ComparisonStatus.NO_ENTRY, None, True, False, False),
        (ComparisonStatus.NO_ENTRY, -0.1, True, False, False),
        (None, None, True, False, None),
    ],
)
def test_passes(
    status: ComparisonStatus | None,
    gap: float | None,
    require_entry: bool,
    on_record: bool,
    expected: bool | None,
) -> None:
    row: Any = SimpleNamespace(status=status, gap=gap, on_record=on_record, proven=None)
    assert passes(row, tolerance=1e-9, require_entry=require_entry) is expected


def said(cosine: float | None, known: BestKnown | None, stamp: TableStamp) -> dict[str, Any]:
    return verdict(Code(np.eye(3), None), cosine, known, stamp)


def test_what_a_row_says_of_its_verdict() -> None:
    better = said(0.0, replace(KNOWN, stamp=OURS), THEIRS)
    # The value is that of our copy: it is improved on, although another table was given.
    assert better["status"] is ComparisonStatus.IMPROVES and better["gap"] == -0.5
    assert better["improves_on"] == str(OURS) and str(OURS) in better["advice"]
    assert float(better["proved_cosine"]) == 0.0 and "check the public" not in better["advice"]
    tie = said(0.5, KNOWN, OURS)
    assert (tie["reference"], tie["improves_on"], tie["proved_cosine"]) == ("table", None, None)
    assert tie["date"] == "2026-10" and tie["on_record"] and "1e-11" in tie["advice"]
    family = replace(KNOWN, kind="construction", source="construction: x", on_record=False)
    alone = said(0.5, family, OURS)
    assert alone["reference"] == "construction" and not alone["on_record"]
    assert alone["advice"].startswith(
        "no record for (3, 3) here; its largest cosine is equal to that of the best known, "
        "construction: x; a fuller table"
    )
    below = said(0.4, family, OURS)
    assert "cosine is 0.1 below that of the best known" in below["advice"]
    nothing = said(0.5, None, OURS)
    assert nothing["reference"] is nothing["gap"] is None
    assert "construction" not in nothing["advice"]
    late = said(None, KNOWN, OURS)
    assert late["status"] is late["gap"] is None and late["best_known"] == 0.5


def test_a_worse_code_can_be_gone_on_with() -> None:
    said = advice(ComparisonStatus.WORSE, code("my code.h5", 3, 24), OURS)
    assert "gnc solve --d 3 --K 24 --problem tammes --init 'my code.h5'" in said
    for nothing in (None, "-"):
        assert "--init" not in advice(ComparisonStatus.WORSE, code(nothing, 3, 24), OURS)


def test_an_improvement_of_a_code_of_ours_does_not_name_the_table() -> None:
    known, stamp = best(13, 60), our_copy().stamp
    assert known is not None and known.kind == "solved"
    words = advice(ComparisonStatus.IMPROVES, code(None, 13, 60), stamp, "0.17", known)
    assert words.startswith("improves on the best known code (Granto 2026, one more point by gnc,")
    assert str(stamp) not in words
