"""Recognition says what it decided, and what it left open."""

import threading

import numpy as np
import pytest

from gnc_cli.codes.constructions.registry import find
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.gram import row_maxima
from gnc_cli.workflows import compare_congruence
from gnc_cli.workflows.compare_congruence import Recognised, congruent_to, recognise


def asked(W: np.ndarray, deadline: Deadline | None = None) -> Recognised:
    return recognise(W, float(row_maxima(W)[0].max()), np.zeros(len(W), dtype=bool), deadline)


def built(name: str) -> np.ndarray:
    code = find(name)
    assert code is not None
    return np.asarray(code.build(), dtype=np.float64)


def test_what_is_decided() -> None:
    W = built("24-cell")
    assert asked(W) == Recognised("24-cell", "decided")
    assert congruent_to(W, 0.5, np.zeros(24, dtype=bool)) == "24-cell"
    assert asked(W[:23]).state == "decided"


def test_what_is_left_open(monkeypatch: pytest.MonkeyPatch) -> None:
    W = built("24-cell")
    assert asked(W, Deadline(0.0)) == Recognised(None, "undecided")
    # Without a limit there is one of its own, and the interruption still counts.
    monkeypatch.setattr(compare_congruence, "_SECONDS", 0.0)
    assert asked(W) == Recognised(None, "undecided")
    assert asked(W, Deadline(60.0)) == Recognised("24-cell", "decided")
    stop = threading.Event()
    stop.set()
    assert asked(W, Deadline(None, stop)).state == "undecided"
    monkeypatch.setattr(compare_congruence, "_MOST_NUMBERS", 95)
    assert asked(W) == Recognised(None, None)


def test_other_inner_products_need_no_matching(monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest cosine of the 24-cell, 23 of its points, and one point elsewhere."""
    W = built("24-cell").copy()
    W[0] = -W[0] * np.array([1.0, 1.0, 1.0, 1.0])
    W[0] = W[1:].sum(axis=0) + 0.05 * W[1]
    W[0] /= np.linalg.norm(W[0])

    def never(*_: object, **__: object) -> None:
        raise AssertionError("a matching was looked for")

    monkeypatch.setattr(compare_congruence, "congruence", never)
    found = recognise(W, 0.5, np.zeros(24, dtype=bool))
    assert found == Recognised(None, "decided")
