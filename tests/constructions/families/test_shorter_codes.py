"""Shortened and punctured codes: that their cosines are attained, beyond what test_all builds."""

import pytest

from gnc_cli.constructions.construction import Construction
from gnc_cli.constructions.families.shorter_codes import FAMILIES
from tests.constructions.checks import check

OFFERED = [
    code
    for d in (*range(11, 16), *range(24, 32), *range(48, 64), *range(108, 128))
    for family in FAMILIES
    for code in family.in_dimension(d)
    if 10_000 < code.K < 2**21 and "bch-128" not in code.name
]


@pytest.mark.parametrize("code", OFFERED, ids=lambda c: c.name)
def test_figures_are_attained(code: Construction) -> None:
    check(code)
