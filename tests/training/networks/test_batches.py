"""Images on their way: moves against NumPy and SciPy, and every sample once in any processes."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage
from torch.nn import functional as F

from gnc_cli.errors import UsageError
from gnc_cli.runtime.distributed import Processes
from gnc_cli.training.networks.batches import (
    Augmentation,
    Batch,
    Batches,
    DeviceImages,
    channel_statistics,
)
from tests.training.networks.fakes import GREY, MOVES, Elsewhere, fake_images

STILL = Augmentation(padding=0, flip=False, degrees=0.0)
CPU = torch.device("cpu")


def _batches(N: int, batch_size: int, rank: int = 0, size: int = 1, seed: int = 3) -> Batches:
    """One pixel per image, which is its label too."""
    return Batches(
        np.arange(N, dtype=np.uint8).reshape(N, 1, 1, 1),
        np.arange(N),
        batch_size=batch_size,
        seed=seed,
        normalisation=GREY,
        augmentation=STILL,
        device=CPU,
        processes=Processes(rank, size),
    )


def _rows(batch: Batch) -> list[int]:
    """Which images they are, read from the labels and from the pixels."""
    pixels = ((batch.images.flatten() * 0.25 + 0.5) * 255).round().int().tolist()
    assert pixels == batch.labels.tolist()
    return pixels


@given(st.integers(2, 200), st.integers(2, 60), st.integers(1, 4))
def test_an_epoch_has_every_sample_once_and_its_means_add_up(N: int, batch: int, size: int) -> None:
    try:
        shares = [_batches(N, batch, rank, size) for rank in range(size)]
    except UsageError:
        assert N // -(-N // batch) < 2 * size
        return
    whole = _batches(N, batch)
    together = list(zip(*(share.epoch(2) for share in shares), strict=True))
    in_twos = batch == 2 and N % 2 == 1  # the last three stay together
    assert len(together) == whole.steps == -(-N // batch) - in_twos
    seen: list[int] = []
    for parts, one in zip(together, whole.epoch(2), strict=True):
        rows = [row for part in parts for row in _rows(part)]
        assert rows == _rows(one) and one.weight == 1
        assert N // whole.steps <= len(rows) <= batch + in_twos
        assert min(len(part.labels) for part in parts) >= 2
        mean = sum(part.weight * part.labels.double().mean() for part in parts) / size
        assert mean == pytest.approx(np.mean(rows), rel=1e-12)
        seen += rows
    assert sorted(seen) == list(range(N))


def test_any_batch_comes_out_the_same_however_it_is_had(
    place: torch.device, monkeypatch: pytest.MonkeyPatch
) -> None:
    images, labels = fake_images(46)
    read_only = images.copy()
    read_only.flags.writeable = False

    def batches(stored: object, resident_bytes: int = 1 << 20, **more: Processes) -> Batches:
        monkeypatch.setattr("gnc_cli.training.networks.batches._MAX_RESIDENT_BYTES", resident_bytes)
        return Batches(
            DeviceImages(stored, place),
            labels,
            batch_size=16,
            seed=1,
            normalisation=GREY,
            augmentation=MOVES,
            device=place,
            **more,
        )

    want = list(batches(images).epoch(4))
    assert len({len(batch.labels) for batch in want}) == 2
    for stored, limit in [(read_only, 0), (Elsewhere(images), 0), (Elsewhere(images), 1 << 20)]:
        other = batches(stored, limit)
        found = list(other.epoch(4, start=1))
        assert len(found) == len(want) - 1
        if isinstance(stored, Elsewhere):  # all in one go, or batch by batch
            assert stored.asked == (1 if limit else len(found))
        for a, b in zip(found, want[1:], strict=True):
            assert torch.equal(a.images, b.images) and torch.equal(a.labels, b.labels)
            assert a.images.device.type == a.labels.device.type == place.type
    parts = [batches(images, processes=Processes(rank, 3)).epoch(4) for rank in range(3)]
    for shares, one in zip(zip(*parts, strict=True), want, strict=True):
        parted = torch.cat([share.images for share in shares])
        torch.testing.assert_close(
            parted, one.images, rtol=0, atol=0 if place.type == "cpu" else 1e-5
        )


def test_batches_that_cannot_be_shared_are_refused() -> None:
    with pytest.raises(UsageError, match="batch_size=4: 5 .*2 batches.* 4 processes two"):
        _batches(5, 4, size=4)


def _images(n: int, C: int, S: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, (n, C, S, S), dtype=torch.uint8, generator=generator)


def _drawn(moves: Augmentation, n: int, seed: int = 0) -> torch.Tensor:
    return moves.draw(n, torch.Generator().manual_seed(seed))


def _crop_and_flip(image: np.ndarray, down: int, right: int, flip: int, pad: int) -> np.ndarray:
    """The plain way, one image: pad with black, cut a window out, mirror it."""
    S = image.shape[1]
    padded = np.pad(image, ((0, 0), (pad, pad), (pad, pad)))
    window = padded[:, pad + down : pad + down + S, pad + right : pad + right + S]
    return window[:, :, ::-1] if flip else window


@pytest.mark.parametrize(("S", "C", "pad", "flip"), [(8, 3, 4, True), (5, 1, 7, False)])
def test_crops_and_mirrors_are_exact(S: int, C: int, pad: int, flip: bool, device: str) -> None:
    moves, images = Augmentation(pad, flip, 0.0), _images(60, C, S)
    drawn = _drawn(moves, 60)
    assert drawn[:, :2].min() == -pad and drawn[:, :2].max() == pad
    assert set(drawn[:, 2].tolist()) == ({0.0, 1.0} if flip else {0.0})
    moved = moves.apply(images.to(device), drawn)
    assert moved.dtype == torch.float32 and moved.device.type == device.partition(":")[0]
    for image, row, mine in zip(images, drawn.tolist(), moved.cpu(), strict=True):
        expected = _crop_and_flip(image.numpy(), *map(int, row[:3]), pad=pad)
        assert np.array_equal(mine.numpy(), expected)


@pytest.mark.parametrize(
    ("S", "crop", "degrees"),
    [
        (16, (0, 0, 0), 90.0),
        (9, (0, 0, 0), 13.0),
        (32, (0, 0, 0), -15.0),
        (15, (2, -3, 1), 11.0),
        (15, (-2, 1, 1), 0.0),
    ],
)
def test_rotations_after_crop_and_mirror_are_those_of_scipy(
    S: int, crop: tuple[int, int, int], degrees: float, device: str
) -> None:
    """Positive against the clock, about the centre, bilinear, black outside."""
    images = _images(2, 3, S)
    if any(crop):  # else the crop would cut off what the one map still sees
        images = F.pad(images[:, :, 5:-5, 5:-5], (5,) * 4)
    drawn = torch.tensor([[*crop, math.radians(degrees)]] * 2)
    moved = Augmentation().apply(images.to(device), drawn).cpu().numpy()
    cropped = np.stack([_crop_and_flip(image, *crop, pad=4) for image in images.numpy()])
    expected = ndimage.rotate(
        cropped.astype(float), degrees, axes=(2, 3), reshape=False, order=1, mode="grid-constant"
    )
    np.testing.assert_allclose(moved, expected, atol=2e-2)


@given(st.integers(1, 40), st.integers(0, 2**31), st.sampled_from([0.0, 15.0]), st.data())
def test_an_image_does_not_see_its_batch(
    n: int, seed: int, degrees: float, data: st.DataObject
) -> None:
    moves, images = Augmentation(3, True, degrees), _images(n, 2, 7, seed)
    drawn = _drawn(moves, n, seed)
    whole = moves.apply(images, drawn)
    cut = data.draw(st.integers(0, n))
    for part in (slice(0, cut), slice(cut, n)):
        assert torch.equal(moves.apply(images[part], drawn[part]), whole[part])
    order = torch.tensor(data.draw(st.permutations(range(n))))
    assert torch.equal(moves.apply(images[order], drawn[order]), whole[order])


@pytest.mark.parametrize(("C", "S"), [(1, 360), (3, 210)])
def test_statistics_are_those_of_numpy(
    C: int, S: int, rng: np.random.Generator, device: str
) -> None:
    images = rng.integers(0, 256, (37, C, S, S), dtype=np.uint8)
    images[:, 0] //= 3
    stored = Elsewhere(images)
    found = channel_statistics(stored)
    assert stored.asked > 1  # in blocks
    scaled = images.astype(np.float64) / 255
    np.testing.assert_allclose(found.mean, scaled.mean(axis=(0, 2, 3)), rtol=1e-12)
    np.testing.assert_allclose(found.std, scaled.std(axis=(0, 2, 3)), rtol=1e-12)
    given = torch.from_numpy(images[:3]).to(device)
    out, same = found.apply(given), found.apply(given.float())
    mean, std = (np.array(x)[:, None, None] for x in (found.mean, found.std))
    np.testing.assert_allclose(out.cpu(), (scaled[:3] - mean) / std, atol=1e-5)
    assert out.dtype == torch.float32 and torch.equal(out, same)
