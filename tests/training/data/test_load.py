"""Data by name: classes and subsets, sizes and channels, and sets that match another's classes."""

import dataclasses
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from gnc_cli.errors import DataError, GncError, UsageError
from gnc_cli.training.data.cifar import CIFAR10
from gnc_cli.training.data.fonts import find_fonts
from gnc_cli.training.data.image_set import ImageData, ImageSet, MatchedSet
from gnc_cli.training.data.load import fit_images, load_images, load_matched
from tests.training.data.python2_pickle import dumps

NAMES = ("airplane", "automobile", "bird", "cat")


@pytest.fixture
def cifar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A little CIFAR-10; pixels are 10 times the class."""
    labels = [3, 2, 1, 0]
    batch = {b"data": np.uint8(labels)[:, None].repeat(3072, 1) * 10, b"labels": labels}
    sums = {}
    for name in CIFAR10.sums:
        raw = dumps({b"label_names": list(NAMES)} if name == CIFAR10.meta else batch)
        (tmp_path / name).write_bytes(raw)
        sums[name] = hashlib.md5(raw).hexdigest()
    known = dataclasses.replace(CIFAR10, sums=sums)
    monkeypatch.setattr("gnc_cli.training.data.cifar.CIFAR10", known)
    return f"cifar10:{tmp_path}"


@pytest.fixture
def stl(tmp_path: Path) -> str:
    """Class folders with STL-10's words; pixels are 10 times CIFAR's class, else 90."""
    for name, value in {"Airplane": 0, "car": 10, "cat": 30, "monkey": 90}.items():
        (tmp_path / "stl" / name).mkdir(parents=True)
        for i in range(6):
            Image.new("RGB", (40, 40), (value,) * 3).save(tmp_path / "stl" / name / f"{i}.png")
    return f"folder:{tmp_path / 'stl'}"


def matched(
    name: str, names: Sequence[str], size: int, channels: int, lines: list[str] | None = None
) -> MatchedSet:
    """Images called `name` for training images of these classes, size and channels."""
    blank = ImageSet(np.zeros((1, channels, size, size), np.uint8), np.zeros(1, np.int64))
    data = ImageData(blank, None, tuple(names), "", {}, (), flip=False)
    found = load_matched(name, data, (lines if lines is not None else []).append, threads=None).ood
    assert found is not None
    return found


def test_cifar_whole_and_in_part(cifar: str) -> None:
    whole = load_images(cifar)
    assert whole.class_names == NAMES and whole.test is not None
    assert (len(whole.train.labels), len(whole.test.labels)) == (20, 4)
    first = load_images(cifar, classes=2)
    assert first.class_names == NAMES[:2] and len(first.train.labels) == 10
    for subset in (["CAT", "airplane"], ["3", "0"], ["cat", " 0"]):
        some = load_images(cifar, subset=subset, image_size=16)
        assert some.class_names == ("cat", "airplane") and some.test is not None
        for images in (some.train, some.test):
            assert images.images.shape[1:] == (3, 16, 16)
            pixels = np.asarray(images.images)[:, 0, 5, 5]
            assert np.array_equal(pixels, np.array([30, 0])[images.labels])


@pytest.mark.parametrize(
    ("data", "options", "kind", "message"),
    [
        ("cifar", {"classes": 5}, DataError, "there are 4; ask for 4 or fewer"),
        ("cifar", {"subset": ["cat", "3"]}, UsageError, "'cat' is asked for twice"),
        (
            "cifar",
            {"subset": ["cat", "automobil"]},
            DataError,
            "choose of airplane",
        ),
        ("glyphs:a", {}, DataError, "fonts: .a. is not a folder"),
        ("folder", {}, UsageError, "'folder' names no path; write folder:PATH"),
        ("svhn", {}, UsageError, "'svhn' are unknown; write glyphs, cifar10, .*fashion-mnist"),
        ("npz", {}, UsageError, "'npz' names no path; write npz:PATH"),
    ],
)
def test_what_was_asked_for_is_wrong(
    data: str, options: dict[str, Any], kind: type[GncError], message: str, cifar: str
) -> None:
    with pytest.raises(kind, match=message):
        load_images(data.replace("cifar", cifar), **options)


def test_matched_by_name(cifar: str, stl: str) -> None:
    """The pixels tell the class: labels are those of the network."""
    (Path(stl.partition(":")[2]) / "cat" / "x.png").write_text("no image")
    lines: list[str] = []
    images = matched(stl, NAMES, 32, 3, lines)
    assert len(lines) == 1 and "cat/x.png" in lines[0] and images.warnings[0] in lines[0]
    assert images.images.shape == (18, 3, 32, 32)
    assert np.array_equal(np.asarray(images.images)[:, 0, 3, 3], 10 * images.labels)
    assert set(images.labels.tolist()) == {0, 1, 3}
    assert (images.name, images.classes_matched) == ("folder:stl", 3)
    back = matched(cifar, ["monkey", "Car", "cat"], 8, 1)
    assert back.images.shape == (2, 1, 8, 8) and back.labels.tolist() == [2, 1]
    assert np.asarray(back.images)[:, 0, 0, 0].tolist() == [30, 10]
    with pytest.raises(DataError, match="monkey.*has the name.*apple, pear"):
        matched(stl, ["apple", "pear"], 8, 3)


def test_glyphs_of_other_fonts(tmp_path: Path) -> None:
    """All faces of the folder draw the network's characters; what they lack is left out."""
    fonts = find_fonts(None)[0]
    for name in ("DejaVuSans.ttf", "DejaVuSerif.ttf"):
        (tmp_path / name).write_bytes((fonts / name).read_bytes())
    names = ["b", "automobile", "A", "\uac00", "a"]  # no Hangul in DejaVu
    found = matched(f"glyphs:{tmp_path}", names, 16, 1)
    assert np.bincount(found.labels).tolist() == [2, 0, 2, 0, 2]
    assert (found.classes_matched, found.name) == (3, tmp_path.name)
    own = load_images(f"glyphs:{tmp_path}", subset=["A", "b"], image_size=16)
    of_class = np.asarray(found.images)[found.labels == 2]
    assert np.array_equal(of_class[:1], np.asarray(own.train.images)[:1])
    with pytest.raises(DataError, match="none of the network's classes"):
        matched(f"glyphs:{tmp_path}", ["\uac00"], 16, 1)


def test_fitting_against_pillow() -> None:
    rng = np.random.default_rng(0)
    colour = rng.integers(0, 256, (5, 3, 12, 12)).astype(np.uint8)
    pillow = [Image.fromarray(image.transpose(1, 2, 0)) for image in colour]
    grey = fit_images(colour, 1, 12)
    luminance = [np.asarray(image.convert("L")) for image in pillow]
    assert np.array_equal(np.asarray(grey)[:, 0], luminance)
    small = fit_images(colour, 3, 7)
    resized = [image.resize((7, 7), Image.Resampling.BILINEAR) for image in pillow]
    assert np.array_equal(small, [np.asarray(image).transpose(2, 0, 1) for image in resized])
    assert np.array_equal(fit_images(grey, 3, 12), np.repeat(np.asarray(grey), 3, axis=1))
    assert fit_images(colour, 3, 12) is colour
