"""GNC3 by its definition, and what it refuses."""

import numpy as np
import pytest

from gnc_cli.errors import DataError
from gnc_cli.geometry.sphere import random_points
from gnc_cli.metrics.gnc3 import gnc3


def test_gnc3_by_definition(rng: np.random.Generator) -> None:
    W, means = random_points(rng, 9, 5), 0.9 * random_points(rng, 9, 5)
    expected = np.mean([1.0 - w @ m for w, m in zip(W, means, strict=True)])
    assert gnc3(W, means) == pytest.approx(expected, rel=1e-14)
    assert gnc3(W, W) == pytest.approx(0.0, abs=1e-16)
    assert gnc3(W, -W) == pytest.approx(2.0)


def test_gnc3_bad_input() -> None:
    with pytest.raises(DataError, match="expected"):
        gnc3(np.eye(3), np.eye(2))
    with pytest.raises(DataError, match="without samples"):
        gnc3(np.eye(2), np.array([[1.0, 0.0], [np.nan, np.nan]]))
