"""Images in HDF5 and .npz: layouts, names, what is refused, and files that are read by rows."""

import io
import zipfile
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from gnc_cli.errors import DataError
from gnc_cli.training.data.load import read_stored

RNG = np.random.default_rng(0)
COLOUR = RNG.integers(0, 256, (12, 3, 5, 5)).astype(np.uint8)
GREY = COLOUR[:, :1]
LABELS = np.arange(12) % 3


def write(path: Path, options: dict[str, Any] | None = None, /, **datasets: Any) -> str:
    with h5py.File(path, "w") as h5:
        for name, data in datasets.items():
            h5.create_dataset(name, data=data, **((options or {}) if "images" in name else {}))
    return str(path)


@pytest.mark.parametrize("options", [{}, {"chunks": True}, {"compression": "gzip"}])
@pytest.mark.parametrize(
    ("images", "expected"),
    [
        (COLOUR, COLOUR),
        (COLOUR.transpose(0, 2, 3, 1), COLOUR),
        (GREY, GREY),
        (GREY.transpose(0, 2, 3, 1), GREY),
        (GREY[:, 0], GREY),
    ],
    ids=["NCSS", "NSSC", "N1SS", "NSS1", "NSS"],
)
def test_layouts(
    images: np.ndarray,
    expected: np.ndarray,
    options: dict[str, Any],
    tmp_path: Path,
) -> None:
    path = write(tmp_path / "a.h5", options, images=images, labels=LABELS)
    data = read_stored(path)
    found = data.train.images
    assert found.shape == expected.shape
    rows = np.array([7, 3, 3, 4, 11, 0])  # unsorted, repeated, runs and single rows
    assert np.array_equal(found[rows], expected[rows])
    assert found[rows[:0]].shape == (0, *expected.shape[1:])
    assert np.array_equal(data.train.labels, LABELS) and data.test is None
    assert data.class_names == ("0", "1", "2") and data.name == "h5:a.h5"
    assert data.flip == (expected.shape[1] == 3)


@pytest.mark.parametrize(
    "names",
    [
        ("images", "labels", "test_images", "test_labels"),
        ("train_images", "train_labels", "test_images", "test_labels"),
        ("x_train", "y_train", "x_test", "y_test"),
        ("X", "y", "val_images", "val_labels"),
        ("train/images", "train/labels", "test/images", "test/labels"),
    ],
)
def test_names(names: tuple[str, ...], tmp_path: Path) -> None:
    arrays = (COLOUR, LABELS[:, None], COLOUR[:2], np.array([2.0, 0.0]))  # columns, whole floats
    path = write(
        tmp_path / "a.h5", **dict(zip(names, arrays, strict=True)), class_names=["cat", "dög", "x"]
    )
    data = read_stored(path)
    assert data.class_names == ("cat", "dög", "x") and data.test is not None
    assert data.test.labels.tolist() == [2, 0] and data.test.labels.dtype == np.int64
    assert np.array_equal(np.asarray(data.test.images), COLOUR[:2])


def test_npz_that_memory_does_not_hold_or_that_claims_too_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "a.npz")
    np.savez(path, X=COLOUR, y=LABELS)
    monkeypatch.setattr("gnc_cli.training.data.image_set.memory_limit", lambda: COLOUR.size - 1)
    with pytest.raises(DataError, match="'X' needs .* GB.*folder:PATH"):
        read_stored(path, "npz")
    monkeypatch.undo()
    header = io.BytesIO()
    shape = {"descr": "|u1", "fortran_order": False, "shape": (1 << 20, 1 << 10, 1 << 10)}
    np.lib.format.write_array_header_1_0(header, shape)  # type: ignore[arg-type]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("X.npy", header.getvalue())
    with pytest.raises(DataError, match="declares"):
        read_stored(path, "npz")


def test_classes_without_images(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.h5",
        images=COLOUR[:4],
        labels=[0, 3, 3, 0],
        test_images=COLOUR[4:7],
        test_labels=[3, 1, 0],
        class_names=[b"a", b"b", b"c", b"d", b"e"],
    )
    data = read_stored(path)
    assert data.class_names == ("a", "d") and data.train.labels.tolist() == [0, 1, 1, 0]
    assert data.test is not None and data.test.labels.tolist() == [1, 0]
    assert np.array_equal(np.asarray(data.test.images), COLOUR[[4, 6]])
    assert "3 class(es) without training images are left out: 'b', 'c', 'e'" in data.warnings


@pytest.mark.parametrize(
    ("datasets", "message"),
    [
        ({"images": COLOUR / 255, "labels": LABELS}, r"float64.*round\(255 \* images\)"),
        ({"images": COLOUR.astype(int), "labels": LABELS}, "int64; images are uint8"),
        ({"images": COLOUR[:, :, :4], "labels": LABELS}, "squares"),
        ({"images": COLOUR.reshape(12, -1), "labels": LABELS}, "squares"),
        ({"images": COLOUR, "labels": LABELS[:5]}, "5 label.s. for 12 images"),
        ({"images": COLOUR, "labels": LABELS - 1}, "no class"),
        ({"images": COLOUR, "labels": np.eye(3)[LABELS] + 1}, r"shape \(12, 3\); expected \(N,\)"),
        ({"images": COLOUR, "labels": LABELS * 10**9}, "number the classes"),
        ({"images": COLOUR, "labels": LABELS * 0}, r"1 class\(es\); expected 2"),
        ({"photos": COLOUR, "labels": LABELS}, "has no 'images' and 'labels' or.*'photos'"),
        ({"images": COLOUR, "labels": LABELS, "class_names": ["a"]}, r"1 name\(s\)"),
        ({"images": COLOUR, "labels": LABELS, "class_names": [1, 2, 3]}, "expected texts"),
        (
            {"images": COLOUR, "labels": LABELS, "x_test": GREY, "y_test": LABELS},
            "bring them to one size",
        ),
    ],
)
def test_refused(datasets: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message) as raised:
        read_stored(write(tmp_path / "a.h5", **datasets))
    assert "a.h5" in str(raised.value) and "\n" not in str(raised.value)
