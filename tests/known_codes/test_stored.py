"""Codes whose coordinates gnc ships: parts of them, and what `solve` and `bounds` make of them."""

import numpy as np
import pytest

from gnc_cli import bounds
from gnc_cli.geometry.gram import max_cosine
from gnc_cli.geometry.one_vs_rest import minimum_one_vs_rest
from gnc_cli.known_codes.best import best
from gnc_cli.known_codes.stored import ATLAS, best_stored, stored_codes, stored_part
from gnc_cli.known_codes.table import data_folder, numerical_codes
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.search.request import Request
from gnc_cli.search.result import SolveResult
from gnc_cli.search.routes.construction import SearchBeside
from gnc_cli.search.run import choose_route

GRID = [
    (d, K)
    for d in (3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 16, 19, 22, 24, 30, 48, 64, 100)
    for K in (9, 17, 31, 58, 77, 100, 150, 224, 313, 500)
]


def atlas() -> dict[tuple[int, int], np.ndarray]:
    with np.load(data_folder() / ATLAS) as file:
        return {tuple(map(int, name.split("."))): file[name] for name in file.files}


def test_the_atlas_holds_the_codes_of_its_rows() -> None:
    """Each is as good as its row says, and named; what nothing reads would be dead weight."""
    codes = atlas()
    assert len(codes) >= 150
    assert (data_folder() / ATLAS).stat().st_size <= 5e6
    for (d, K), rows in codes.items():
        entry = numerical_codes().find(d, K)
        assert entry is not None and rows.shape == (K, d) and rows.dtype.kind == "i"
        ((name, unit),) = stored_codes(d, K)
        assert name == f"found by gnc for d = {d}, K = {K}"
        # By rounding to 16 bits the distance is more than 1 - the largest cosine.
        slack = 1e-9 if rows.dtype == np.int32 else 1e-4
        assert -2e-12 <= max_cosine(unit) - entry.max_cosine < slack


def test_every_numerical_code_has_coordinates() -> None:
    for d, K in numerical_codes().entries:
        assert next(stored_codes(d, K), None) is not None


@pytest.mark.parametrize(("d", "K"), [(10, 100), (20, 200), (16, 97), (64, 200)])
def test_a_part_is_no_worse_and_certified(d: int, K: int) -> None:
    entry = best_stored(d, K)
    assert entry is not None
    part = stored_part(entry, d, K)
    assert part.shape == (K, d)
    assert minimum_one_vs_rest(part).lower >= 1.0 - entry.max_cosine - 1e-15


def test_a_part_of_fewer_dimensions_has_zeros() -> None:
    entry = best_stored(4, 9)
    assert entry is not None
    part = stored_part(entry, 6, 7)
    assert part.shape == (7, 6) and (part[:, 4:] == 0.0).all()


@pytest.mark.parametrize(("d", "K"), GRID)
def test_solve_is_never_below_bounds_where_there_are_coordinates(d: int, K: int) -> None:
    """What it begins with is as good as the lower end; only figures without coordinates are not."""
    route = choose_route(Request(d=d, K=K))
    route = route.known if isinstance(route, SearchBeside) else route
    known = best(d, K)
    if known is None or type(route).__name__ == "Search":
        assert known is None or known.kind == "table"
        return
    result = route.solve(Deadline(), None)
    assert isinstance(result, SolveResult)
    (row,) = bounds(d, K).best
    if known.kind != "table":
        assert result.distance >= row.lower * (1.0 - 1e-14)
