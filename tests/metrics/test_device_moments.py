"""Sums on a device against two passes of NumPy over all rows."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.errors import DataError
from gnc_cli.geometry.sphere import normalise
from gnc_cli.metrics.class_moments import ClassMoments
from gnc_cli.metrics.device_moments import DeviceMoments


def _batches(
    device: str, K: int, parts: list[tuple[np.ndarray, np.ndarray]], unit: bool = False
) -> ClassMoments:
    moments = DeviceMoments(parts[0][0].shape[1], K, device)
    for rows, labels in parts:
        moments.update(
            torch.as_tensor(rows, device=device), torch.as_tensor(labels, device=device), unit=unit
        )
    return moments.to_host()


def _equals_two_passes(
    found: ClassMoments, rows: np.ndarray, labels: np.ndarray, digits: float = 1e-12
) -> None:
    counts = np.bincount(labels, minlength=found.K)
    assert np.array_equal(found.counts, counts) and found.N == len(rows)
    within = np.zeros((found.d, found.d))
    for k in range(found.K):
        own = rows[labels == k]
        mean = own.mean(axis=0) if len(own) else np.zeros(found.d)
        off = own - mean
        within += off.T @ off
        assert found.means[k] == pytest.approx(mean, abs=digits)
        spread = (off**2).sum() / max(1, len(own))
        assert found.spread()[k] == pytest.approx(spread, rel=digits, abs=1e-28)
    within /= len(rows)
    assert np.abs(found.within_cov() - within).max() <= digits * np.abs(within).max()


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 5),
    st.integers(1, 6),
    st.integers(1, 40),
    st.integers(1, 5),
    st.sampled_from([1.0, 1e-3, 1e-7]),
)
def test_batches_equal_two_passes(
    seed: int, d: int, K: int, N: int, parts: int, width: float
) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.integers(K, size=N)
    rows = rng.standard_normal((K, d))[labels] + width * rng.standard_normal((N, d))
    cuts = list(zip(np.array_split(rows, parts), np.array_split(labels, parts), strict=True))
    digits = 1e-11 if width > 1e-5 else 1e-7  # the rows themselves are rounded to 1e-16
    _equals_two_passes(_batches("cpu", K, cuts), rows, labels, digits)


def test_the_device_agrees_with_the_host(device: str, rng: np.random.Generator) -> None:
    K, d, N = 7, 12, 600
    labels = rng.integers(K, size=N)
    rows = (rng.standard_normal((K, d))[labels] + 0.1 * rng.standard_normal((N, d))) * 3.0
    cuts = list(zip(np.array_split(rows, 9), np.array_split(labels, 9), strict=True))
    _equals_two_passes(_batches(device, K, cuts), rows, labels)
    _equals_two_passes(_batches(device, K, cuts, unit=True), normalise(rows), labels)
    host = ClassMoments(d, K)
    host.update(*cuts[0])
    host.merge(_batches(device, K, cuts[1:]))
    _equals_two_passes(host, rows, labels)
    assert np.array_equal(
        _batches(device, K, cuts).within_cov(), _batches(device, K, cuts).within_cov()
    )


def test_an_outlier_first_costs_no_digits(device: str, rng: np.random.Generator) -> None:
    rows = 1.0 + 1e-5 * rng.standard_normal((2000, 4))
    rows[0] = 1e6
    labels = np.zeros(2000, dtype=np.int64)
    cuts = list(zip(np.array_split(rows, 200), np.array_split(labels, 200), strict=True))
    _equals_two_passes(_batches(device, 1, cuts), rows, labels, 1e-11)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_and_gradients(device: str, dtype: torch.dtype) -> None:
    rows = torch.tensor([[3.0, 4.0], [0.0, 2.0]], device=device, dtype=dtype, requires_grad=True)
    moments = DeviceMoments(2, 2, device)
    moments.update(rows, torch.tensor([0, 1], dtype=torch.int32), unit=True)
    assert moments.to_host().means == pytest.approx(np.array([[0.6, 0.8], [0.0, 1.0]]))
    assert not moments._scatter.requires_grad


def test_inference_mode_and_autocast_change_nothing(device: str, rng: np.random.Generator) -> None:
    rows, labels = rng.standard_normal((60, 8)), rng.integers(3, size=60)
    at, of = torch.as_tensor(rows, device=device), torch.as_tensor(labels, device=device)
    moments = DeviceMoments(8, 3, device)
    with torch.inference_mode(), torch.autocast(torch.device(device).type, dtype=torch.bfloat16):
        moments.update(at[:20] * 1.0, of[:20], unit=True)
    moments.update(at[20:40], of[20:40], unit=True)  # and outside again
    with torch.inference_mode():
        moments.update(at[40:], of[40:], unit=True)
    _equals_two_passes(moments.to_host(), normalise(rows), labels)


def test_left_out_rows_are_not_looked_at(device: str) -> None:
    rows = torch.tensor([[1.0, 0.0], [float("nan"), 0.0], [0.0, 0.0]], device=device)
    moments = DeviceMoments(2, 2, device)
    moments.update(rows, torch.tensor([1, -1, -1]), unit=True)
    moments.update(rows[1:], torch.tensor([-1, -1]), unit=True)
    moments.update(rows[:0], torch.tensor([], dtype=torch.int64), unit=True)
    assert moments.to_host().counts.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("rows", "labels", "message"),
    [
        ([[1.0, 2.0]], [2], "label 2 is out of range; expected 0 to 1, or -1"),
        ([[1.0, 2.0]], [-100], "label -100 is out of range"),
        ([[1.0, 2.0], [float("nan"), 0.0]], [0, 0], "row 1 is NaN or infinite"),
        ([[1.0, 2.0], [float("-inf"), 0.0]], [0, 0], "row 1 is NaN or infinite"),
        ([[0.0, 0.0], [1.0, 0.0]], [0, 0], r"row 0 is zero and has no direction \(1 such"),
        ([[1.0, 2.0, 3.0]], [0], r"\(1, 3\), labels \(1,\); expected \(n, 2\), \(n,\)"),
        ([[1.0, 2.0]], [0, 1], r"\(1, 2\), labels \(2,\)"),
    ],
)
def test_what_it_refuses(
    device: str, rows: list[list[float]], labels: list[int], message: str
) -> None:
    moments = DeviceMoments(2, 2, device)
    with pytest.raises(DataError, match=message):
        moments.update(torch.tensor(rows, device=device), torch.tensor(labels), unit=True)
    assert moments.to_host().N == 0
