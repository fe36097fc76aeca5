"""Which way to a code is taken, and what each says of itself before it begins."""

from pathlib import Path
from typing import Any

import pytest

from gnc_cli import solve
from gnc_cli.errors import UnavailableError, UsageError
from gnc_cli.runtime import memory
from gnc_cli.search.request import Solve
from gnc_cli.search.run import instance_of
from tests.problems import icosahedron, route_of

ROUTES: list[tuple[dict[str, Any], str, str]] = [
    ({"d": 3, "K": 4}, "Theorem", "lower --K or --d"),
    ({"d": 3, "K": 4, "method": "descent"}, "Search", "lower --K, --d or --workers"),
    ({"d": 8, "K": 240}, "Algebra", "lower --K or --d"),
    ({"d": 10, "K": 40}, "ImprovementSearch", "lower --K, --d or --workers"),
    ({"d": 64, "K": 2800}, "Algebra", "lower --K or --d"),
    ({"d": 64, "K": 2800, "time_limit": 9.0}, "ImprovementSearch", "or --workers"),
    ({"d": 3, "K": 13, "construction": "known"}, "StoredCode", "lower --K or --d"),
    ({"d": 4, "K": 4000}, "LargeSearch", "lower --K or --d"),
    ({"d": 3, "K": 12, "init": icosahedron()}, "Search", "or --workers"),
    ({"d": 3, "K": 4, "problem": "ufm", "tau": (1.0, 0.5)}, "FeatureModel", "fewer --tau"),
]


@pytest.mark.parametrize(("options", "name", "words"), ROUTES)
def test_each_request_has_its_route(
    options: dict[str, Any], name: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    route = route_of(**options)
    assert type(route).__name__ == name
    route.check()
    monkeypatch.setattr(memory, "free_memory", lambda: 1.0)
    size = f"a code of K={route.instance.K} points in d={route.instance.d} needs .*{words}"
    with pytest.raises(UnavailableError, match=size):
        route.check()


def test_a_named_construction_brings_its_size() -> None:
    leech = instance_of(Solve(construction="leech"))
    assert (leech.d, leech.K) == (24, 196_560)
    with pytest.raises(UsageError, match="missing d and K"):
        Solve(construction="known")


def test_a_resumed_code_stays_where_it_beats_the_construction(tmp_path: Path) -> None:
    """The best construction for (30, 200) is near Welch's bound, and a descent is better."""
    out = tmp_path / "k.h5"
    first = solve(30, 200, method="descent", restarts=1, out=out)
    again = solve(30, 200, restarts=1, out=out, resume=True, time_limit=6)
    assert again.rho_one_vs_rest.lower >= first.rho_one_vs_rest.lower - 1e-12
