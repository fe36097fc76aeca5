"""Recognition: what it decides, and what it leaves open."""

import threading

import numpy as np

from gnc_cli.geometry.gram import row_maxima
from gnc_cli.known_codes.recognition import Recognised, recognise
from gnc_cli.runtime.deadline import Deadline
from tests.comparison.samples import built


def recognised(W: np.ndarray, deadline: Deadline | None = None, **limits: float) -> Recognised:
    rattles = np.zeros(len(W), dtype=bool)
    return recognise(
        W, float(row_maxima(W)[0].max()), rattles, deadline or Deadline(), 0.0, **limits
    )


def test_what_is_decided() -> None:
    W = built("24-cell")
    assert recognised(W) == Recognised("24-cell", "decided")
    assert recognised(W[:23]).state == "decided"


def test_what_is_left_open() -> None:
    W = built("24-cell")
    assert recognised(W, Deadline(0.0)) == Recognised(None, "undecided")
    # Without a limit there is one of its own, and the interruption still counts.
    assert recognised(W, seconds=0.0) == Recognised(None, "undecided")
    assert recognised(W, Deadline(60.0), seconds=0.0) == Recognised("24-cell", "decided")
    stop = threading.Event()
    stop.set()
    assert recognised(W, Deadline(None, stop), seconds=0.0).state == "undecided"
    assert recognised(W, max_numbers=95) == Recognised(None, None)
