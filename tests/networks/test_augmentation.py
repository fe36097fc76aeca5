"""Moves of images against NumPy and SciPy, and the laws that let processes share a batch."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage

from gnc_cli.errors import DataError
from gnc_cli.networks.augmentation import Augmentation


def _images(n: int, C: int, S: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, (n, C, S, S), dtype=torch.uint8, generator=generator)


def _drawn(moves: Augmentation, n: int, seed: int = 0) -> torch.Tensor:
    return moves.draw(n, torch.Generator().manual_seed(seed))


def _crop_and_flip(image: np.ndarray, down: int, right: int, flip: bool, pad: int) -> np.ndarray:
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
        expected = _crop_and_flip(image.numpy(), int(row[0]), int(row[1]), row[2] == 1, pad)
        assert np.array_equal(mine.numpy(), expected)


def test_no_augmentation_is_the_identity_to_the_bit() -> None:
    moves, images = Augmentation(0, False, 0.0), _images(7, 3, 9)
    assert torch.equal(moves.apply(images, _drawn(moves, 7)), images.float())


@pytest.mark.parametrize(("S", "degrees"), [(16, 90.0), (9, 13.0), (32, -15.0)])
def test_rotations_are_those_of_scipy(S: int, degrees: float, device: str) -> None:
    """Positive against the clock, about the centre, bilinear, black outside."""
    images = _images(2, 3, S)
    drawn = torch.tensor([[0.0, 0.0, 0.0, math.radians(degrees)]] * 2)
    moved = Augmentation(0, False, 15.0).apply(images.to(device), drawn).cpu().numpy()
    expected = ndimage.rotate(
        images.numpy().astype(float),
        degrees,
        axes=(2, 3),
        reshape=False,
        order=1,
        mode="grid-constant",
    )
    np.testing.assert_allclose(moved, expected, atol=2e-2)


def test_a_rotation_comes_after_crop_and_mirror() -> None:
    image = _images(1, 1, 15)
    image[:, :, :5], image[:, :, -5:], image[..., :5], image[..., -5:] = 0, 0, 0, 0
    moved = Augmentation().apply(image, torch.tensor([[2.0, -3.0, 1.0, 0.2]]))[0]
    window = _crop_and_flip(image[0].numpy(), 2, -3, True, 3).astype(float)
    turned = ndimage.rotate(window, math.degrees(0.2), axes=(1, 2), reshape=False, order=1)
    np.testing.assert_allclose(moved.numpy(), turned, atol=2e-3)


def test_no_rotation_among_rotations_interpolates_nothing_visible() -> None:
    images = _images(4, 1, 13)
    drawn = _drawn(Augmentation(2, True, 0.0), 4)
    exact = Augmentation(2, True, 0.0).apply(images, drawn)
    torch.testing.assert_close(
        Augmentation(2, True, 15.0).apply(images, drawn), exact, atol=1e-3, rtol=0
    )


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


@given(st.integers(0, 2**31))
def test_mirrored_twice_is_unmoved(seed: int) -> None:
    moves, images = Augmentation(0, True, 0.0), _images(20, 3, 6, seed)
    drawn = _drawn(moves, 20, seed)
    once = moves.apply(images, drawn)
    assert torch.equal(moves.apply(once.to(torch.uint8), drawn), images.float())


def test_parameters_follow_from_the_generator_and_fill_their_ranges() -> None:
    moves = Augmentation(4, True, 15.0)
    drawn = _drawn(moves, 4000, 3)
    assert torch.equal(drawn, _drawn(moves, 4000, 3))
    assert not torch.equal(drawn, _drawn(moves, 4000, 4))
    shares = torch.bincount((drawn[:, 0] + 4).long(), minlength=9) / 4000
    assert shares.shape == (9,) and (shares - 1 / 9).abs().max() < 0.03
    assert abs(drawn[:, 2].mean() - 0.5) < 0.05
    reach = math.radians(15.0)
    assert drawn[:, 3].abs().max() <= reach and drawn[:, 3].std() > 0.5 * reach
    assert not Augmentation(0, False, 0.0).draw(5, torch.Generator()).any()


def test_normalised_images_are_refused() -> None:
    moves = Augmentation()
    with pytest.raises(DataError, match="uint8.*before normalisation"):
        moves.apply(torch.zeros(2, 3, 4, 4), torch.zeros(2, 4))
    with pytest.raises(DataError, match=r"\(1, 4\).*2 images"):
        moves.apply(_images(2, 3, 4), torch.zeros(1, 4))
