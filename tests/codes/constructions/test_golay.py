"""The Golay code by its weights and duality, the Steiner systems by counting every subset."""

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest

from gnc_cli.codes.constructions.golay import (
    golay_code,
    octads,
    steiner_3_6_22,
    steiner_4_7_23,
)


def test_the_code_is_linear_self_dual_and_has_minimum_distance_8() -> None:
    words = golay_code()
    assert words.shape == (4096, 24) and words.dtype == np.uint8
    weights, number = np.unique(words.sum(1), return_counts=True)
    assert dict(zip(weights.tolist(), number.tolist(), strict=True)) == {
        0: 1, 8: 759, 12: 2576, 16: 759, 24: 1
    }  # fmt: skip
    keys = words @ (1 << np.arange(24))
    assert len(np.unique(keys)) == 4096
    assert np.isin(np.bitwise_xor.outer(keys[::64], keys), keys).all()
    meetings = words.astype(np.float32) @ words.T.astype(np.float32)
    assert not (meetings % 2).any()


@pytest.mark.parametrize(
    ("blocks", "t", "shape", "size", "meetings"),
    [
        (octads, 5, (759, 24), 8, {0, 2, 4}),
        (steiner_4_7_23, 4, (253, 23), 7, {1, 3}),
        (steiner_3_6_22, 3, (77, 22), 6, {0, 2}),
    ],
)
def test_every_t_points_lie_in_exactly_one_block(
    blocks: Callable[[], np.ndarray], t: int, shape: tuple[int, int], size: int, meetings: set[int]
) -> None:
    B = blocks()
    assert B.shape == shape and (B.sum(1) == size).all()
    covered = [subset for block in B for subset in combinations(np.flatnonzero(block).tolist(), t)]
    assert len(covered) == len(set(covered)) == len(list(combinations(range(shape[1]), t)))
    products = B.astype(int) @ B.T.astype(int)
    assert set(np.unique(products[~np.eye(len(B), dtype=bool)]).tolist()) == meetings


@pytest.mark.parametrize("shared", [golay_code, octads, steiner_4_7_23, steiner_3_6_22])
def test_what_is_shared_cannot_be_changed(shared: Callable[[], np.ndarray]) -> None:
    with pytest.raises(ValueError, match="read-only"):
        shared()[0, 0] = 1
