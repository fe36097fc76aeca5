"""Folders of images: layouts, what cannot be read, sizes, channels, in memory or when asked for."""

import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from gnc_cli.errors import DataError
from gnc_cli.training.data import folders, image_set
from gnc_cli.training.data.folders import read_folder, read_folder_test
from gnc_cli.training.data.image_set import chooser

RED, GREEN, BLUE = (200, 0, 0), (0, 200, 0), (0, 0, 200)


def save(path: Path, colour: Any = RED, size: tuple[int, int] = (8, 8), mode: str = "RGB") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, size, colour).save(path)


def save_pixels(path: Path, pixels: np.ndarray, **options: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path, **options)


def fill(root: Path, classes: dict[str, Any], count: int = 6) -> Path:
    for name, colour in classes.items():
        for i in range(count):
            save(root / name / f"{i}.png", colour)
    return root


def colours(images: Any) -> list[tuple[int, ...]]:
    """The middle pixel of each image."""
    whole = np.asarray(images[np.arange(images.shape[0])])
    middle = whole.shape[2] // 2
    return [tuple(pixel) for pixel in whole[:, :, middle, middle].tolist()]


def test_classes_alone_hold_back_each_fifth(tmp_path: Path) -> None:
    root = fill(tmp_path / "pets", {"dog": GREEN, "cat": RED}, 11)
    save(root / "dog" / ".hidden.png", BLUE)
    (root / "dog" / "notes.txt").write_text("no image")
    (root / ".git" / "x").mkdir(parents=True)
    data = read_folder(str(root))
    assert data.class_names == ("cat", "dog") and data.name == "folder:pets" and data.flip
    assert data.train.labels.tolist() == [0] * 9 + [1] * 9 and data.test is not None
    assert data.test.labels.tolist() == [0, 0, 1, 1]
    assert data.train.images.shape == (18, 3, 8, 8)
    assert colours(data.train.images) == [RED] * 9 + [GREEN] * 9
    assert "each fifth" in data.facts["split"] and data.warnings == ()
    assert read_folder(str(fill(tmp_path / "few", {"a": RED, "b": BLUE}, 4))).test is None
    # For another network all of them are test images.
    images, lines = read_folder_test(
        str(root), image_size=4, channels=1, choose=lambda names: [1], threads=None
    )
    assert images.images.shape == (11, 1, 4, 4) and not images.labels.any() and lines == []


@pytest.mark.parametrize("part", ["test", "val"])
def test_train_and_test_folders(part: str, tmp_path: Path) -> None:
    fill(tmp_path / "train", {"a": RED, "b": GREEN, "c": BLUE}, 5)
    fill(tmp_path / part, {"c": BLUE, "a": RED}, 2)
    data = read_folder(str(tmp_path), choose=chooser(subset=["C", "b"]))
    assert data.class_names == ("c", "b") and data.test is not None
    assert colours(data.train.images) == [BLUE] * 5 + [GREEN] * 5
    assert data.test.labels.tolist() == [0, 0] and colours(data.test.images) == [BLUE] * 2
    assert data.facts["split"] == f"folder {part}/"
    images, _ = read_folder_test(
        str(tmp_path), image_size=4, channels=3, choose=lambda names: [2, 0], threads=None
    )
    assert colours(images.images) == [BLUE] * 2 + [RED] * 2
    save(tmp_path / part / "d" / "1.png")
    with pytest.raises(DataError, match=r"1 class\(es\) that .* has not: d"):
        read_folder(str(tmp_path))


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """Three classes in Tiny-ImageNet's layout."""
    lines = []
    for i, (wnid, colour) in enumerate([("n03", BLUE), ("n01", RED), ("n02", GREEN)]):
        for j in range(3):
            save(tmp_path / "train" / wnid / "images" / f"{wnid}_{j}.JPEG", colour)
        (tmp_path / "train" / wnid / f"{wnid}_boxes.txt").write_text("0 0 1 1")
        save(tmp_path / "val" / "images" / f"val_{i}.JPEG", colour)
        lines.append(f"val_{i}.JPEG\t{wnid}\t0\t0\t7\t7\n")
    (tmp_path / "val" / "val_annotations.txt").write_text("".join(lines))
    save(tmp_path / "test" / "images" / "test_0.JPEG")
    return tmp_path


def test_tiny_imagenet(tiny: Path) -> None:
    data = read_folder(str(tiny))
    assert data.class_names == ("n01", "n02", "n03") and data.test is not None
    assert data.test.labels.tolist() == [2, 0, 1]
    assert np.argmax(colours(data.test.images), axis=1).tolist() == [2, 0, 1]
    chosen = read_folder(str(tiny), choose=chooser(subset=["n03", "n01"]))
    assert chosen.test is not None and chosen.test.labels.tolist() == [0, 1]
    with (tiny / "val" / "val_annotations.txt").open("a") as file:
        file.write("val_9.JPEG\tn99\t0\n")
    with pytest.raises(DataError, match="val_annotations.txt', line 4: 'val_9"):
        read_folder(str(tiny))


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (["a.png", "b.png"], r"has 0 class folder\(s\); write folder:PATH"),
        (["train/a.png"], r"train' has 0 class folder\(s\)"),
        (["test/a/1.png", "val/a/1.png"], "or with train/ that has them"),
        (["cat/1.png"], r"has 1 class folder\(s\)"),
        (["cat/1.txt", "dog/1.txt"], r"none of 0 image file\(s\)"),
        (["cat/1.txt", "dog/broken.png"], r"none of 1 image file\(s\) can be read"),
    ],
)
def test_other_layouts_are_refused(files: list[str], message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        read_folder(str(tmp_path / "nowhere"))
    for name in files:
        save(tmp_path / name.replace(".txt", ".png"))
        if name.endswith((".txt", "broken.png")):
            (tmp_path / name.replace(".txt", ".png")).unlink()
            (tmp_path / name).write_text("text")
    with pytest.raises(DataError, match=message):
        read_folder(str(tmp_path))


@pytest.mark.parametrize("memory", [1 << 30, 0], ids=["memory", "asked for"])
def test_broken_images_are_counted_and_named(
    memory: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image_set, "memory_limit", lambda: memory)
    root = fill(tmp_path, {"a": RED, "b": GREEN, "c": BLUE, "d": BLUE, "empty": RED}, 3)
    (root / "a" / "0.png").write_bytes(b"")
    (root / "a" / "1.png").write_text("no image")
    (root / "b" / "3.png").symlink_to(root / "nowhere")
    for i in range(3):
        (root / "c" / f"{i}.png").write_bytes(b"\x89PNG")
        (root / "empty" / f"{i}.png").unlink()
    (root / "a" / "bomb.ppm").write_bytes(b"P6 10000 10000 255\n")
    (root / "d" / "tall.pgm").write_bytes(b"P5 1 80000000 255\n")
    (root / "d" / "vast.png").write_bytes(b"")
    os.truncate(root / "d" / "vast.png", 1 << 40)
    data = read_folder(str(root))
    assert data.class_names == ("a", "b", "d")
    assert data.train.labels.tolist() == [0, 1, 1, 1, 2, 2, 2]
    assert colours(data.train.images) == [RED] + [GREEN] * 3 + [BLUE] * 3
    broken, absent = data.warnings
    assert broken.startswith("9 image(s) cannot be read and are left out: a/0.png (")
    assert "a/bomb.ppm (it claims 10000 x 10000 pixels" in broken and "and 6 more" in broken
    assert absent == "2 class(es) without training images are left out: 'c', 'empty'"
    assert data.facts["unreadable_images"] == 9


def test_both_ways_give_the_same_pixels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    for i in range(40):
        pixels = rng.integers(0, 256, (*rng.integers(20, 200, 2), 3)).astype(np.uint8)
        save_pixels(tmp_path / "ab"[i % 2] / f"{i}.jpg", pixels)
    now = read_folder(str(tmp_path), image_size=16).train.images
    monkeypatch.setattr(image_set, "memory_limit", lambda: 0)
    later = read_folder(str(tmp_path), image_size=16).train.images
    assert isinstance(now, np.ndarray) and not isinstance(later, np.ndarray)
    rows = rng.permutation(len(now))
    assert np.array_equal(later[rows], now[rows]) and later.shape == now.shape


@pytest.mark.parametrize(
    ("sizes", "asked", "side"),
    [
        ([(20, 30), (40, 20), (28, 28)], None, 20),
        ([(64, 80), (300, 200), (500, 90)], None, 64),
        ([(20, 30), (40, 20), (28, 28)], 9, 9),
    ],
)
def test_sizes(sizes: list[tuple[int, int]], asked: int | None, side: int, tmp_path: Path) -> None:
    for i, size in enumerate(sizes * 2):
        save(tmp_path / "ab"[i % 2] / f"{i}.png", size=size)
    assert read_folder(str(tmp_path), image_size=asked).train.images.shape[2:] == (side, side)


def test_shorter_side_and_centre_crop(tmp_path: Path) -> None:
    # Red, green, blue side by side: the middle square is green.
    strip = np.repeat(np.uint8([[RED, GREEN, BLUE]]), 10, axis=1).repeat(10, axis=0)
    save_pixels(tmp_path / "wide" / "1.png", strip)
    save_pixels(tmp_path / "high" / "1.png", strip.transpose(1, 0, 2))
    wide, high = read_folder(str(tmp_path), image_size=5).train.images[np.array([1, 0])]
    assert np.array_equal(wide, high.transpose(0, 2, 1))
    # Borders are antialiased with what lies beyond them, as if cropped afterwards.
    assert (wide[:, :, 1:4] == np.array(GREEN)[:, None, None]).all()
    assert (wide[1, :, [0, 4]] > 100).all()


def test_exif_orientation(tmp_path: Path) -> None:
    upright = np.zeros((8, 8, 3), np.uint8)
    upright[:4] = 255  # light above
    for name, turned, tag in (("a", upright, 1), ("b", upright[::-1], 3)):
        exif = Image.Exif()
        exif[0x0112] = tag
        save_pixels(tmp_path / name / "1.jpg", turned, exif=exif, quality=100)
    images = read_folder(str(tmp_path)).train.images[np.array([0, 1])]
    assert (images[:, :, :3] > 200).all() and (images[:, :, 5:] < 50).all()


def test_one_channel_only_where_all_are_grey(tmp_path: Path) -> None:
    for name in "ab":
        save(tmp_path / name / "1.png", 100, mode="L")
        save(tmp_path / name / "2.png", (100, 255), mode="LA")
        save_pixels(tmp_path / name / "3.png", np.full((8, 8), 100 << 8, np.uint16))
    data = read_folder(str(tmp_path))
    assert data.train.images.shape[1] == 1 and not data.flip
    assert set(colours(data.train.images)) == {(100,)}
    save(tmp_path / "b" / "4.png", (100, 100, 100))
    palette = Image.new("P", (8, 8), 0)
    palette.putpalette([100, 100, 100])
    palette.save(tmp_path / "b" / "5.png", transparency=b"\x00")
    coloured = read_folder(str(tmp_path)).train.images
    assert set(colours(coloured)) == {(100, 100, 100)} and coloured.shape[1] == 3


def test_large_images_are_decoded_one_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory is that of one, however many threads decode."""
    threads, most = 0, 0
    guard, convert = threading.Lock(), folders._convert

    def counted(image: Any, channels: int) -> Any:
        nonlocal threads, most
        with guard:
            threads += 1
            most = max(most, threads)
        together.wait(0.05)
        with guard:
            threads -= 1
        return convert(image, channels)

    root = fill(tmp_path, {"a": RED, "b": GREEN}, 64)
    monkeypatch.setattr(folders, "_convert", counted)
    counts = []
    for large in (1 << 23, 16):
        together, most = threading.Event(), 0
        monkeypatch.setattr(folders, "_MAX_PARALLEL_PIXELS", large)
        read_folder(str(root), threads=4)
        counts.append(most)
    assert counts[0] > 1 == counts[1]
