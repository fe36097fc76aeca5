"""Named codes, found from random starts by a search that knows none of them, then recognised."""

import pytest

from gnc_cli import compare, solve
from gnc_cli.results import SolveResult, Standing

NAMED = [
    (3, 7, "tammes-7"), (3, 8, "square-antiprism"), (3, 9, "tammes-9"), (3, 12, "icosahedron"),
    (3, 24, "snub-cube"), (4, 10, "petersen"), (4, 24, "24-cell"), (4, 120, "600-cell"),
    (5, 16, "hemicube"), (6, 27, "schlaefli"), (7, 56, "equiangular-28"),
    pytest.param(8, 240, "e8-roots", marks=pytest.mark.slow),
]  # fmt: skip


@pytest.mark.parametrize(("d", "K", "name"), NAMED, ids=lambda v: str(v))
def test_descent_finds_the_named_codes(d: int, K: int, name: str) -> None:
    built = solve(construction=name, problem="tammes")
    assert isinstance(built, SolveResult)
    found = solve(
        d, K, problem="tammes", method="descent", restarts=200, steps=400,
        target=built.max_cosine + 1e-9,
    )  # fmt: skip
    assert isinstance(found, SolveResult)
    assert found.origin == "descent" and found.steps > 0
    (row,) = compare(found.weights).rows
    assert row.status is Standing.MATCHES and row.congruent_to == name
