"""Channel statistics against NumPy, from arrays and from what only answers like one."""

import numpy as np
import pytest
import torch

from gnc_cli.errors import DataError
from gnc_cli.networks import normalisation
from gnc_cli.networks.normalisation import Normalisation, channel_statistics


class _Stored:
    """Images that can only be asked for rows, as a file's can."""

    def __init__(self, images: np.ndarray) -> None:
        self._images, self.shape, self.most = images, images.shape, 0

    def __getitem__(self, rows: np.ndarray) -> np.ndarray:
        self.most = max(self.most, len(rows))
        return self._images[rows]


@pytest.mark.parametrize("C", [1, 3])
def test_statistics_are_those_of_numpy(
    C: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(normalisation, "_BLOCK", 200 * C)
    images = rng.integers(0, 256, (37, C, 5, 5), dtype=np.uint8)
    images[:, 0] //= 3
    stored = _Stored(images)
    found = channel_statistics(stored)
    assert stored.most == 8
    np.testing.assert_allclose(found.mean, (images / 255).mean(axis=(0, 2, 3)), rtol=1e-14)
    np.testing.assert_allclose(found.std, (images / 255).std(axis=(0, 2, 3)), rtol=1e-14)
    assert channel_statistics(images) == found


def test_a_tiny_spread_keeps_its_digits() -> None:
    images = np.full((1000, 1, 10, 10), 255, dtype=np.uint8)
    images[0, 0, 0, 0] = 254
    share = 1e-5
    expected = np.sqrt(share * (1 - share)) / 255
    np.testing.assert_allclose(channel_statistics(images).std, expected, rtol=1e-12)


def test_a_constant_channel_has_unit_std() -> None:
    images = np.full((4, 2, 3, 3), 7, dtype=np.uint8)
    images[:, 1, 0] = 9
    found = channel_statistics(images)
    assert found.std[0] == 1.0 and 0.0 < found.std[1] < 1.0
    assert found.apply(torch.from_numpy(images))[:, 0].abs().max() < 1e-7


def test_normalised_images_have_mean_0_and_std_1(rng: np.random.Generator, device: str) -> None:
    images = torch.from_numpy(rng.integers(0, 256, (50, 3, 8, 8), dtype=np.uint8))
    statistics = channel_statistics(images.numpy())
    out = statistics.apply(images.to(device)).cpu()
    assert out.dtype == torch.float32
    torch.testing.assert_close(out.mean(dim=(0, 2, 3)), torch.zeros(3), atol=1e-5, rtol=0)
    torch.testing.assert_close(
        out.std(dim=(0, 2, 3), correction=0), torch.ones(3), atol=1e-5, rtol=0
    )
    floats = images.float()
    assert torch.equal(statistics.apply(floats), statistics.apply(images))
    assert torch.equal(floats, images.float()), "the argument stays as it is"


def test_what_cannot_be_normalised_is_refused() -> None:
    with pytest.raises(DataError, match="no images"):
        channel_statistics(np.empty((0, 3, 4, 4), dtype=np.uint8))
    with pytest.raises(DataError, match="of 1 channels"):
        Normalisation((0.5,), (1.0,)).apply(torch.zeros(2, 3, 4, 4))
