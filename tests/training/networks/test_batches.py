"""Batches: every sample once, in any number of processes, wherever the images are."""

import threading

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.errors import UsageError
from gnc_cli.training.networks.batches import Batch, Batches, DeviceImages
from gnc_cli.training.networks.preprocessing import Augmentation
from tests.training.networks.fakes import GREY, MOVES, Elsewhere, fake_images

STILL = Augmentation(padding=0, flip=False, degrees=0.0)
CPU = torch.device("cpu")


def _batches(N: int, batch_size: int, rank: int = 0, size: int = 1, seed: int = 3) -> Batches:
    """One pixel per image, which is its label too."""
    return Batches(
        np.arange(N, dtype=np.uint8).reshape(N, 1, 1, 1), np.arange(N),
        batch_size=batch_size, seed=seed, normalisation=GREY, augmentation=STILL, device=CPU,
        rank=rank, size=size,
    )  # fmt: skip


def _rows(batch: Batch) -> list[int]:
    """Which images they are, read from the labels and from the pixels."""
    pixels = ((batch.images.flatten() * 0.25 + 0.5) * 255).round().int().tolist()
    assert pixels == batch.labels.tolist()
    return pixels


@given(st.integers(1, 200), st.integers(1, 60), st.integers(1, 4))
def test_an_epoch_has_every_sample_once_and_its_means_add_up(N: int, batch: int, size: int) -> None:
    try:
        shares = [_batches(N, batch, rank, size) for rank in range(size)]
    except UsageError:
        assert N // -(-N // batch) < size
        return
    least = 1 if batch == 1 or N == 1 else 2
    whole = _batches(N, batch)
    together = list(zip(*(share.epoch(2) for share in shares), strict=True))
    in_twos = batch == 2 and N % 2 == 1 and N > 1  # the last three stay together
    assert len(together) == whole.steps == -(-N // batch) - in_twos
    seen: list[int] = []
    for parts, one in zip(together, whole.epoch(2), strict=True):
        rows = [row for part in parts for row in _rows(part)]
        assert rows == _rows(one) and one.weight == 1
        assert max(least, N // whole.steps) <= len(rows) <= batch + in_twos
        assert shares[0].smallest <= min(len(part.labels) for part in parts)
        mean = sum(part.weight * part.labels.double().mean() for part in parts) / size
        assert mean == pytest.approx(np.mean(rows), rel=1e-12)
        seen += rows
    assert sorted(seen) == list(range(N))


def test_the_order_is_of_seed_and_epoch() -> None:
    def order(seed: int, epoch: int) -> list[int]:
        return [row for batch in _batches(90, 9, seed=seed).epoch(epoch) for row in _rows(batch)]

    assert order(3, 0) == order(3, 0)
    assert len({tuple(order(seed, epoch)) for seed in (3, 4) for epoch in (0, 1)}) == 4
    assert order(3, 0) != list(range(90))


def test_any_batch_comes_out_the_same_however_it_is_had(
    place: torch.device, monkeypatch: pytest.MonkeyPatch
) -> None:
    images, labels = fake_images(46)
    read_only = images.copy()
    read_only.flags.writeable = False

    def batches(pictures: object, resident_bytes: int = 1 << 20, **more: int) -> Batches:
        monkeypatch.setattr("gnc_cli.training.networks.batches._RESIDENT_BYTES", resident_bytes)
        return Batches(
            DeviceImages(pictures, place), labels, batch_size=16, seed=1, normalisation=GREY,
            augmentation=MOVES, device=place, **more,
        )  # fmt: skip

    want = list(batches(images).epoch(4))
    assert len({len(batch.labels) for batch in want}) == 2
    for pictures, limit in [(read_only, 0), (Elsewhere(images), 0), (Elsewhere(images), 1 << 20)]:
        other = batches(pictures, limit)
        found = list(other.epoch(4, start=1))
        assert len(found) == len(want) - 1
        if isinstance(pictures, Elsewhere):  # all in one go, or batch by batch
            assert pictures.asked == (1 if limit else len(found))
        for a, b in zip(found, want[1:], strict=True):
            assert torch.equal(a.images, b.images) and torch.equal(a.labels, b.labels)
            assert a.images.device.type == a.labels.device.type == place.type
    parts = [batches(images, rank=rank, size=3).epoch(4) for rank in range(3)]
    for shares, one in zip(zip(*parts, strict=True), want, strict=True):
        parted = torch.cat([share.images for share in shares])
        torch.testing.assert_close(
            parted, one.images, rtol=0, atol=0 if place.type == "cpu" else 1e-5
        )


def test_a_broken_image_is_an_error_and_early_ends_leave_no_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Broken(Elsewhere):
        def __getitem__(self, rows: np.ndarray) -> np.ndarray:
            if 7 in rows:
                raise OSError("picture 7")
            return super().__getitem__(rows)

    images, _ = fake_images(20)
    monkeypatch.setattr("gnc_cli.training.networks.batches._RESIDENT_BYTES", 0)
    source = DeviceImages(Broken(images), CPU)
    with pytest.raises(OSError, match="picture 7"):
        list(source.stream(torch.arange(20).split(5)))
    stream = source.stream(torch.arange(5).split(1))
    next(stream)
    stream.close()
    assert not [thread for thread in threading.enumerate() if "gnc-images" in thread.name]


def test_batches_that_cannot_be_shared_are_refused() -> None:
    with pytest.raises(UsageError, match="batch_size=4: 5 .*2 batches.* 4 processes"):
        _batches(5, 4, size=4)
