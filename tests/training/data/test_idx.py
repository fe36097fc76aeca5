"""IDX files that the tests write: names, gzip, EMNIST, places, and everything that can be wrong."""

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from gnc_cli.errors import DataError
from gnc_cli.training.data import idx
from gnc_cli.training.data.idx import IDX_SETS, read_idx
from gnc_cli.training.data.load import load_images

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (12, 5, 5)).astype(np.uint8)
LABELS = (np.arange(12) % 3).astype(np.uint8)


def encoded(array: np.ndarray) -> bytes:
    """An IDX file, by the format's definition."""
    header = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    return header + array.tobytes()


def write(
    folder: Path,
    prefix: str = "",
    *,
    images: np.ndarray = IMAGES,
    labels: np.ndarray = LABELS,
    packed: bool = True,
    test: str | None = "t10k",
    dot: str = "-",
) -> Path:
    """A set with 12 training images and its first 6 again for testing."""
    folder.mkdir(parents=True, exist_ok=True)
    for part, count in (("train", 12), (test, 6)):
        if part is not None:
            for word, axes, array in (("images", 3, images), ("labels", 1, labels)):
                name = f"{prefix}{part}-{word}{dot}idx{axes}-ubyte" + ".gz" * packed
                raw = encoded(array[:count])
                (folder / name).write_bytes(gzip.compress(raw) if packed else raw)
    return folder


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("dot", ["-", "."])
def test_what_was_written_is_read(packed: bool, dot: str, tmp_path: Path) -> None:
    data = load_images(f"idx:{write(tmp_path / 'mine', packed=packed, dot=dot)}")
    assert data.test is not None and data.name == "idx:mine" and not data.flip
    for images, count in ((data.train, 12), (data.test, 6)):
        assert np.array_equal(images.images[np.arange(count)], IMAGES[:count, None])
        assert images.labels.dtype == np.int64 and np.array_equal(images.labels, LABELS[:count])
    assert data.class_names == ("0", "1", "2") and data.facts["image_size"] == 5
    some = load_images(f"idx:{tmp_path / 'mine'}", subset=["2", "0"], image_size=10)
    assert some.train.images.shape == (8, 1, 10, 10)


def test_gzip_is_known_by_its_bytes_and_a_test_set_may_be_missing(tmp_path: Path) -> None:
    for path in write(tmp_path, test=None).iterdir():
        path.rename(path.with_suffix(""))
    assert load_images(f"idx:{tmp_path}").test is None
    write(tmp_path, images=255 - IMAGES, test=None)  # unpacked files come first
    assert np.array_equal(read_idx("idx", str(tmp_path)).train.images[np.arange(12)][:, 0], IMAGES)


def test_names_of_known_sets(tmp_path: Path) -> None:
    for name in ("mnist", "fashion-mnist", "kmnist"):
        data = load_images(f"{name}:{write(tmp_path / IDX_SETS[name].folders[1]).parents[1]}")
        assert data.name == name and len(data.class_names) == 3, "seven have no images here"
        assert data.flip == (name == "fashion-mnist")
    assert load_images(f"fashion-mnist:{tmp_path}").class_names[0] == "T-shirt/top"
    assert load_images(f"kmnist:{tmp_path}").class_names == ("o", "ki", "su")
    (label,) = [
        k for k, name in enumerate(IDX_SETS["emnist"].prefixes["emnist-byclass-"]) if name == "a"
    ]
    assert label == 36  # digits, capitals, small letters


def test_emnist_is_transposed_and_its_letters_count_from_one(tmp_path: Path) -> None:
    write(tmp_path, "emnist-letters-", labels=LABELS + 1, test="test")
    for name in ("emnist", "emnist-letters", "idx"):
        data = load_images(f"{name}:{tmp_path}")
        assert data.class_names == ("A", "B", "C") and data.test is not None
        assert np.array_equal(data.train.labels, LABELS)
        images = data.train.images[np.arange(12)]
        assert np.array_equal(images[:, 0], IMAGES.transpose(0, 2, 1))
    write(tmp_path, "emnist-digits-", test="test")
    assert load_images(f"emnist-digits:{tmp_path}").class_names == ("0", "1", "2")
    with pytest.raises(DataError, match="several sets.*emnist-letters-.*emnist-balanced:"):
        load_images(f"emnist:{tmp_path}")
    write(tmp_path, "emnist-letters-", test="test")
    with pytest.raises(DataError, match="labels up to 255; those of emnist-letters- end at 25"):
        load_images(f"emnist-letters:{tmp_path}")


def test_places_that_are_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("GNC_DATA", str(tmp_path / "mine"))
    monkeypatch.setattr(idx, "_DEBIAN_FOLDER", tmp_path / "share")
    with pytest.raises(DataError, match="mine/fashion-mnist, .*: no train-images.*mnist:DIR with"):
        load_images("fashion-mnist")
    # Each place comes before those that were filled earlier.
    for place in (
        "share/fashion-mnist",
        "cache/gnc/fashion-mnist",
        "mine/FashionMNIST/raw",
        "data/fashion-mnist",
    ):
        shade = len(place)
        write(tmp_path / place, images=np.full_like(IMAGES, shade))
        assert load_images("fashion-mnist").train.images[np.arange(1)].max() == shade


PLAIN, LABEL = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"
TEST = "t10k-images-idx3-ubyte"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (PLAIN, encoded(IMAGES)[:-1], r"\(12, 5, 5\), 300 bytes, and 299 follow"),
        (PLAIN, encoded(IMAGES) + b"x", "300 bytes, and more follow"),
        (PLAIN, gzip.compress(encoded(IMAGES), mtime=0)[:-30], "cannot be read as an IDX file"),
        (PLAIN, b"", "is empty"),
        (PLAIN, b"\0\0\x08\x03\0", "cannot be read as an IDX file"),
        (PLAIN, b"<!DOCTYPE html>", r"begins with b'<!DO', and images in IDX with b'\\x00"),
        (PLAIN, encoded(LABELS), "begins with .*x01', and images"),
        (LABEL, encoded(IMAGES), "begins with .*x03', and labels"),
        (PLAIN, encoded(IMAGES[:, :4]), r"images of \(4, 5\); cut them to squares"),
        (LABEL, encoded(LABELS[:5]), r"5 label\(s\) for 12 images"),
        (LABEL, encoded(LABELS * 0), r"1 class\(es\); expected 2"),
        (TEST, encoded(IMAGES[:6, :4, :4]), "pixels a side"),
        (TEST, None, "has no test images"),
        (LABEL, None, "has no train labels"),
    ],
)
def test_damaged_files_are_named(
    name: str, content: bytes | None, message: str, tmp_path: Path
) -> None:
    write(tmp_path, packed=False)
    if content is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=message) as raised:
        read_idx("idx", str(tmp_path))
    assert str(tmp_path) in str(raised.value) and "\n" not in str(raised.value)


def test_a_bomb_takes_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few bytes that claim gigabytes, packed or not, and packed zeros without end."""
    write(tmp_path, packed=False)
    monkeypatch.setattr(idx.np, "empty", lambda *args: pytest.fail("memory was taken"))
    header = bytes([0, 0, 8, 3]) + struct.pack(">3I", 1 << 20, 1 << 10, 1 << 10)
    for content in (header, header + bytes(1000), gzip.compress(header + bytes(1000))):
        (tmp_path / PLAIN).write_bytes(content)
        with pytest.raises(DataError, match=f"{1 << 40} bytes, and has {len(content)} itself"):
            read_idx("idx", str(tmp_path))
