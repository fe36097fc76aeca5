"""Codes whose coordinates gnc ships: parts of them, and what `solve` and `bounds` make of them."""

from pathlib import Path

import numpy as np
import pytest

from gnc_cli import bounds, solve
from gnc_cli.geometry.gram import max_cosine
from gnc_cli.geometry.one_vs_rest import minimum_one_vs_rest
from gnc_cli.geometry.sphere import random_points
from gnc_cli.known_codes import stored
from gnc_cli.known_codes.best import best, constructed
from gnc_cli.known_codes.stored import ATLAS, best_stored, stored_codes, stored_entry, stored_part
from gnc_cli.known_codes.table import data_folder, numerical_codes
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.search import run as run_module
from gnc_cli.search.routes.construction import ImprovementSearch, StoredCode
from gnc_cli.search.routes.search import Search
from tests.problems import route_of

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
        assert name == f"code found by gnc for d = {d}, K = {K}"
        # Where a code is not polished, its distance is more than 1 - the largest cosine.
        assert -2e-12 <= max_cosine(unit) - entry.max_cosine < 1e-4


def test_every_numerical_code_has_coordinates() -> None:
    files = (path.name.split(".") for path in (data_folder() / "coordinates").iterdir())
    named = {(int(d), int(K)) for d, K, *_ in files}
    assert numerical_codes().entries.keys() <= named | atlas().keys()
    assert not named & atlas().keys()  # one of them would never be read


@pytest.mark.parametrize(("d", "K"), [(10, 100), (20, 200), (16, 97), (64, 200)])
def test_a_part_is_no_worse_and_certified(d: int, K: int) -> None:
    entry = best_stored(d, K)
    assert entry is not None
    part = stored_part(entry, d, K)
    assert part.shape == (K, d)
    assert minimum_one_vs_rest(part).lower >= 1.0 - entry.max_cosine - 1e-8


def test_a_part_of_fewer_dimensions_has_zeros() -> None:
    entry = best_stored(4, 9)
    assert entry is not None
    part = stored_part(entry, 6, 7)
    assert part.shape == (7, 6) and (part[:, 4:] == 0.0).all()


@pytest.mark.parametrize(("d", "K"), GRID)
def test_solve_is_never_below_bounds_where_there_are_coordinates(d: int, K: int) -> None:
    """A search starts from a code as good as the lower end, if the best code has coordinates."""
    route = route_of(d=d, K=K)
    route = route.base if isinstance(route, ImprovementSearch) else route
    known, built = best(d, K), constructed(d, K)
    (row,) = bounds(d, K).best
    if type(route).__name__ == "Search":  # nothing has coordinates
        assert built is None and best_stored(d, K) is None
        assert known is None or known.kind == "table"
        return
    result = route.solve(Deadline(), None)
    if known is not None and known.kind != "table":
        assert result.distance >= row.lower - 1e-8
    elif stored_entry(d, K) is not None:  # a published value whose code gnc has found again
        assert result.distance >= row.lower - 1e-12


def test_every_code_with_coordinates_can_be_written() -> None:
    """Also where a code of more points or fewer dimensions is better."""
    for d, K in [*sorted(numerical_codes().entries)[::20], (6, 256), (9, 72), (14, 81)]:
        route = route_of(d=d, K=K, construction="known")
        assert isinstance(route, StoredCode) and (route.entry.d, route.entry.K) == (d, K)


@pytest.mark.parametrize(("d", "K"), [(16, 150), (64, 200), (10, 100)])
def test_descent_alone_uses_no_stored_code(d: int, K: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("coordinates are read")

    for module in (stored, run_module):
        for name in ("stored_codes", "best_stored", "stored_part"):
            monkeypatch.setattr(module, name, refuse, raising=False)
    route = route_of(d=d, K=K, method="descent")
    assert isinstance(route, Search) and route.start is None
    result = solve(d, K, method="descent", restarts=1, problem="tammes")
    assert result.start is None


def test_a_resumed_search_keeps_the_better_code(tmp_path: Path) -> None:
    """That of the file where it is better than the stored one, and else the stored one."""
    out = tmp_path / "code.h5"
    first = solve(9, 58, restarts=4, out=out)
    assert first.start is not None and first.start.gain > 0.001
    again = solve(9, 58, restarts=4, out=out, resume=True)
    assert again.distance >= first.distance - 1e-12
    np.save(poor := tmp_path / "poor.npy", random_points(np.random.default_rng(0), 58, 9))
    low = solve(9, 58, init=poor, restarts=0, out=out, force=True)
    assert low.distance < first.start.distance
    mended = solve(9, 58, restarts=1, seed=5, out=out, resume=True)
    assert mended.distance >= first.start.distance


def test_a_proved_code_needs_no_search_and_no_time() -> None:
    result = solve(3, 11, problem="tammes")
    assert result.steps == 0
    assert result.optimum is not None and result.optimum.proved
