"""CIFAR as Python 2 wrote it, a few images a file: from folder and tar, and all that differs."""

import dataclasses
import hashlib
import io
import os
import pickle
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnc_cli.errors import DataError
from gnc_cli.training.data.cifar import CIFAR10, CIFAR100, CifarLayout, read_cifar
from tests.training.data.python2_pickle import dumps


def _miniature(layout: CifarLayout) -> tuple[CifarLayout, dict[str, bytes], dict[str, Any]]:
    """A layout with the sums of other contents, its files, and what they hold."""
    rng = np.random.default_rng(len(layout.sums))
    contents: dict[str, Any] = {}
    for name in layout.batches:
        data = rng.integers(0, 256, (6, 3072)).astype(np.uint8)
        labels = rng.permutation([0, 1, 2, 2, 1, 0]).tolist()
        contents[name] = {b"data": data, layout.labels_key: labels, b"batch_label": b"some batch"}
        if layout is CIFAR100:
            contents[name][b"coarse_labels"] = [19] * 6
    contents[layout.meta] = {b"num_vis": 3072, layout.names_key: ["apple", "aquarium_fish", "baby"]}
    files = {name: dumps(contents[name]) for name in layout.sums}
    return _with_sums(layout, files), files, contents


def _with_sums(layout: CifarLayout, files: Mapping[str, bytes]) -> CifarLayout:
    sums = {name: hashlib.md5(data).hexdigest() for name, data in files.items()}
    return dataclasses.replace(layout, sums=sums)


def _write(folder: Path, files: Mapping[str, bytes]) -> Path:
    folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


def _pack(path: Path, folder: str, files: Mapping[str, bytes], mode: Any = "w:gz") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, mode) as tar:
        for name, data in reversed(files.items()):
            member = tarfile.TarInfo(f"{folder}/{name}")
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return path


@pytest.mark.parametrize("layout", [CIFAR10, CIFAR100], ids=["cifar10", "cifar100"])
def test_folder_and_tar_agree_with_what_was_written(layout: CifarLayout, tmp_path: Path) -> None:
    synthetic, files, contents = _miniature(layout)
    folder = _write(tmp_path / "a" / layout.folder, files)
    gz = _pack(tmp_path / "b" / layout.archive, layout.folder, files)
    plain = _pack(tmp_path / "c" / "own.tar", "elsewhere", files, "w")
    *train, test = layout.batches
    expected = np.concatenate([contents[name][b"data"] for name in train])
    for path in (folder, folder.parent, gz, gz.parent, plain):
        data = read_cifar(synthetic, str(path))
        assert np.array_equal(np.asarray(data.train.images).reshape(-1, 3072), expected)
        labels = [label for name in train for label in contents[name][layout.labels_key]]
        assert data.train.labels.tolist() == labels and data.test is not None
        assert data.test.labels.tolist() == contents[test][layout.labels_key]
        assert data.class_names == tuple(contents[layout.meta][layout.names_key])
        assert data.train.images.shape == (6 * len(train), 3, 32, 32)
        # The first plane is red, rows are rows.
        assert data.test.images[np.array([0])][0, 1, 2, 3] == contents[test][b"data"][0, 1024 + 67]


def test_another_sum_is_named(tmp_path: Path) -> None:
    synthetic, files, _ = _miniature(CIFAR10)
    wanted = synthetic.sums["data_batch_3"]
    files["data_batch_3"] += b" "
    found = hashlib.md5(files["data_batch_3"]).hexdigest()
    for path in (_write(tmp_path / "f", files), _pack(tmp_path / "t.tgz", "x", files)):
        message = f"data_batch_3' has md5 {found}, expected {wanted}; .* other content to h5:FILE"
        with pytest.raises(DataError, match=message):
            read_cifar(synthetic, str(path))


class _Acting:
    def __reduce__(self) -> Any:
        return os.system, ("true",)


@pytest.mark.parametrize(
    ("value", "name"),
    [(_Acting(), "posix.system"), (np.float64(1.0), "multiarray.scalar"), ({1}, "builtin__.set")],
)
def test_what_acts_is_never_built(value: Any, name: str, tmp_path: Path) -> None:
    """Such a file would also need the published md5 sum, which the test gives it."""
    files = _miniature(CIFAR10)[1] | {"test_batch": pickle.dumps(value, protocol=2)}
    with pytest.raises(DataError, match=f"test_batch.* wants to build .*{name}, which may run"):
        read_cifar(_with_sums(CIFAR10, files), str(_write(tmp_path / "x", files)))
