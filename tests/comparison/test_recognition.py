"""Recognition says what it decided, and what it left open."""

import math
import threading

import numpy as np
import pytest

from gnc_cli import compare, solve
from gnc_cli.comparison import recognition as module
from gnc_cli.comparison.recognition import Recognised, recognise
from gnc_cli.geometry.gram import row_maxima
from gnc_cli.known_codes.verdict import ComparisonStatus
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.search.result import SolveResult
from tests.comparison.samples import built, only


def recognised(W: np.ndarray, deadline: Deadline | None = None) -> Recognised:
    return recognise(W, float(row_maxima(W)[0].max()), np.zeros(len(W), dtype=bool), deadline)


def test_what_is_decided() -> None:
    W = built("24-cell")
    assert recognised(W) == Recognised("24-cell", "decided")
    assert recognised(W[:23]).state == "decided"


def test_what_is_left_open(monkeypatch: pytest.MonkeyPatch) -> None:
    W = built("24-cell")
    assert recognised(W, Deadline(0.0)) == Recognised(None, "undecided")
    # Without a limit there is one of its own, and the interruption still counts.
    monkeypatch.setattr(module, "_SECONDS", 0.0)
    assert recognised(W) == Recognised(None, "undecided")
    assert recognised(W, Deadline(60.0)) == Recognised("24-cell", "decided")
    stop = threading.Event()
    stop.set()
    assert recognised(W, Deadline(None, stop)).state == "undecided"
    monkeypatch.setattr(module, "_MOST_NUMBERS", 95)
    assert recognised(W) == Recognised(None, None)


def test_other_codes_of_the_orthoplex_size_are_not_taken_for_it() -> None:
    # Five points: two poles and a triangle; or two poles and three right-angled ones.
    triangle = [[math.cos(t), math.sin(t), 0.0] for t in (0.0, 2.0, 4.0)]
    row = only(compare([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0], *triangle]))
    assert row.status is ComparisonStatus.MATCHES and row.congruent_to is None


NAMED = [
    (3, 7, "tammes-7"),
    (3, 8, "square-antiprism"),
    (3, 9, "tammes-9"),
    (3, 12, "icosahedron"),
    (3, 24, "snub-cube"),
    (4, 10, "petersen"),
    (4, 24, "24-cell"),
    (4, 120, "600-cell"),
    (5, 16, "hemicube"),
    (6, 27, "schlaefli"),
    (7, 56, "equiangular-28"),
    pytest.param(8, 240, "e8-roots", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("d", "K", "name"), NAMED, ids=lambda v: str(v))
def test_named_codes_are_found_from_random_starts(d: int, K: int, name: str) -> None:
    """By a search that knows none of them."""
    best = solve(construction=name, problem="tammes")
    assert isinstance(best, SolveResult)
    found = solve(
        d,
        K,
        problem="tammes",
        method="descent",
        restarts=200,
        target=best.max_cosine + 1e-9,
    )
    assert isinstance(found, SolveResult)
    # From random rows, or orbits of random groups; no construction.
    assert found.origin == "descent" or found.origin.startswith("descent from orbits of ")
    assert found.steps > 0
    row = only(compare(found.weights))
    assert row.status is ComparisonStatus.MATCHES and row.congruent_to == name
