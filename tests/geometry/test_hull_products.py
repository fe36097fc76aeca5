"""Products with all rows: NumPy and torch say the same; the search proves the same with both."""

from functools import partial

import numpy as np
import pytest
import torch

from gnc_cli.geometry import one_vs_rest as module
from gnc_cli.geometry.hull_products import ArrayProducts, TensorProducts
from gnc_cli.geometry.one_vs_rest import HullSearch, one_vs_rest
from gnc_cli.geometry.sphere import random_points
from gnc_cli.runtime.threads import resolve_device


@pytest.mark.parametrize("single", [False, True])
def test_both_answer_as_the_plain_matrix(
    single: bool, device: str, rng: np.random.Generator
) -> None:
    W = random_points(rng, 60, 7)
    small = W.astype(np.float32)
    h, own = random_points(rng, 9, 7), rng.choice(60, 9, replace=False)
    plain = h @ W.T
    mine = plain[np.arange(9), own].copy()
    plain[np.arange(9), own] = -np.inf
    at, accuracy = np.array([4, 0, 8]), 1e-6 if single else 1e-15
    for products in (ArrayProducts(W, small), TensorProducts(W, small, resolve_device(device))):
        seen = products.look(h, own, single)
        assert seen.own_product.dtype == seen.top.dtype == np.float64
        assert seen.own_product == pytest.approx(mine, abs=accuracy)
        assert seen.top == pytest.approx(plain.max(axis=1), abs=accuracy)
        for count in (1, 5, 59):
            values, rows = seen.largest(at, count)
            assert np.array_equal(rows, np.argsort(-plain[at], axis=1)[:, :count])
            assert values == pytest.approx(-np.sort(-plain[at], axis=1)[:, :count], abs=accuracy)


def test_ties_fill_up(device: str) -> None:
    W = np.repeat(np.eye(2), 4, axis=0)
    for products in (ArrayProducts(W, None), TensorProducts(W, None, resolve_device(device))):
        _, rows = products.look(W[:1], np.array([0]), False).largest(np.array([0]), 5)
        assert len(set(rows[0])) == 5 and {1, 2, 3} <= set(rows[0]) and 0 not in rows


def test_torch_proves_what_numpy_proves(
    device: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MAX_DOUBLE_ROWS", 100)
    monkeypatch.setattr(module, "_BLOCK_BYTES", 1 << 17)
    W = random_points(rng, 300, 40)
    exact = one_vs_rest(W)
    products = partial(TensorProducts, device=resolve_device(device))
    search = HullSearch(W, None, 1e-12, products=products)
    search.first_bounds()
    refined = search.minimum(1e-12)
    assert len(refined) < 300
    assert search.lower.min() <= exact.upper.min() and exact.lower.min() <= search.upper.min()
    assert search.upper.min() - search.lower.min() < 1e-11
    search.close_all(np.arange(300))
    assert (search.upper - search.lower).max() < 1e-12
    assert (search.lower <= exact.upper).all() and (exact.lower <= search.upper).all()


def test_single_precision_is_not_lowered(device: str, rng: np.random.Generator) -> None:
    """TF32 and its like are off while the products are made, and as before afterwards."""
    W = random_points(rng, 50, 16)
    products = TensorProducts(W, W.astype(np.float32), resolve_device(device))
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        seen = products.look(W[:8], np.arange(8), True)
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision(before)
    assert seen.own_product == pytest.approx(np.ones(8), abs=1e-6)
