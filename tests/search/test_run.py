"""Which way to a code is taken, and what each says of itself before it begins."""

from typing import Any

import pytest

from gnc_cli import solve
from gnc_cli.errors import UnavailableError, UsageError
from gnc_cli.known_codes.best import best
from gnc_cli.runtime import memory
from gnc_cli.search import request as module
from gnc_cli.search.request import Request
from gnc_cli.search.run import choose_route
from tests.problems import icosahedron

ROUTES = [
    ({"d": 3, "K": 4}, "Theorem", "the simplex ETF of K=4 points in d=3"),
    ({"d": 3, "K": 4, "method": "descent"}, "Search", "a search for K=4 points in d=3"),
    ({"d": 8, "K": 240}, "Constructed", "the construction e8-roots of K=240 points in d=8"),
    ({"d": 10, "K": 40}, "SearchBeside", "a search for K=40 points in d=10"),
    ({"d": 64, "K": 2800}, "Constructed", "the construction kerdock-6 of K=2800 points in d=64"),
    ({"d": 64, "K": 2800, "time_limit": 9.0}, "SearchBeside", "a search for K=2800"),
    (
        {"d": 5, "K": 7, "construction": "icosahedron"},
        "Constructed",
        "the construction icosahedron",
    ),
    ({"d": 3, "K": 13, "construction": "known"}, "Stored", "the stored code of K=13 points in d=3"),
    ({"d": 4, "K": 4000}, "LargeSearch", "a search for K=4000 points in d=4"),
    ({"d": 3, "K": 12, "init": icosahedron()}, "Search", "a search for K=12 points in d=3"),
    ({"d": 3, "K": 4, "problem": "ufm", "tau": (1.0, 0.5)}, "FeatureModel", "at 2 temperatures"),
]


@pytest.mark.parametrize(("options", "name", "words"), ROUTES)
def test_each_request_has_its_route(
    options: dict[str, Any], name: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    route = choose_route(Request(**options))
    assert type(route).__name__ == name and words in route.described
    route.check()
    monkeypatch.setattr(memory, "free_memory", lambda: 1.0)
    with pytest.raises(UnavailableError, match=f"{words}.* needs .*: lower K or d"):
        route.check()


def test_a_named_construction_brings_its_size() -> None:
    assert (Request(construction="leech").d, Request(construction="leech").K) == (24, 196_560)
    with pytest.raises(UsageError, match="missing d and K"):
        Request(construction="known")


def test_the_best_known_code_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(module, "best", lambda *a: asked.append(a) or best(*a))
    solve(3, 14, restarts=1)
    assert asked == [(3, 14, None)]
