"""CIFAR-10 and CIFAR-100 in their python version, from the folder or straight from the tar file.

Every file must have its published md5 sum; then it is read by an unpickler that builds arrays and
plain values alone. Nothing is downloaded or unpacked to disk.

Source of the data: A. Krizhevsky, Learning multiple layers of features from tiny images, 2009.
"""

import hashlib
import io
import os
import pickle
import tarfile
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.io.catalogue import translated
from gnc_cli.io.inputs import open_input
from gnc_cli.training.data.image_set import ImageData, ImageSet, data_folders

_SIDE = 32
_MAX_BYTES = 512 << 20
"""Largest member of a tar file that is read, in bytes: the largest real one has 155 MB."""
_SOURCE = "https://www.cs.toronto.edu/~kriz/cifar.html"
_ADVICE = f"get it again from {_SOURCE}"


@dataclass(frozen=True)
class CifarLayout:
    """The files of one data set."""

    name: str
    folder: str
    """Folder of the unpacked files, also inside the tar file."""
    archive: str
    sums: Mapping[str, str]
    """md5 of every file by its name: training batches in order, the test batch, the names."""
    meta: str
    """Name of the file with the names of the classes."""
    names_key: bytes
    labels_key: bytes

    @property
    def batches(self) -> tuple[str, ...]:
        """Training files in order, then the test file."""
        return tuple(name for name in self.sums if name != self.meta)


CIFAR10 = CifarLayout(
    name="cifar10",
    folder="cifar-10-batches-py",
    archive="cifar-10-python.tar.gz",
    sums={
        "data_batch_1": "c99cafc152244af753f735de768cd75f",
        "data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
        "data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
        "data_batch_4": "634d18415352ddfa80567beed471001a",
        "data_batch_5": "482c414d41f54cd18b22e5b47cb7c3cb",
        "test_batch": "40351d587109b95175f43aff81a1287e",
        "batches.meta": "5ff9c542aee3614f3951f8cda6e48888",
    },
    meta="batches.meta",
    names_key=b"label_names",
    labels_key=b"labels",
)
CIFAR100 = CifarLayout(
    name="cifar100",
    folder="cifar-100-python",
    archive="cifar-100-python.tar.gz",
    sums={
        "train": "16019d7e3df5f24257cddd939b257f8d",
        "test": "f0ef6b0ae62326f3e7ffdfab6717acfc",
        "meta": "7973b15100ade9c7d40fb424638fde48",
    },
    meta="meta",
    names_key=b"fine_label_names",
    labels_key=b"fine_labels",
)


def read_cifar(layout: CifarLayout, path: str | None) -> ImageData:
    """Read CIFAR-10, or CIFAR-100 with its fine labels.

    Args:
        layout: the files of the data set.
        path: the folder of the batches, a folder that contains it or the tar file, or the tar file;
            by default `data_folders()` are searched in their order.

    Returns:
        Images uint8 (N, 3, 32, 32) and labels int64 (N,).

    Raises:
        DataError: files are missing, or have another md5 sum than the published ones.
    """
    source = _find_source(layout, path)
    contents: dict[str, Any] = {}
    for name, data in (_folder_files if source.is_dir() else _tar_files)(layout, source):
        md5 = hashlib.md5(data, usedforsecurity=False).hexdigest()
        if md5 != layout.sums[name]:
            raise DataError(
                f"'{source}/{name}' has md5 {md5}, expected {layout.sums[name]}; {_ADVICE}, or "
                "write other content to h5:FILE with images, labels, test_images and test_labels"
            )
        contents[name] = _Unpickler(io.BytesIO(data), encoding="bytes").load_plain(
            f"{source}/{name}"
        )
    names = tuple(name.decode("ascii") for name in contents[layout.meta][layout.names_key])
    images, labels = [], []
    for name in layout.batches:  # uint8 (n, 3072): red, green and blue planes
        images.append(np.asarray(contents[name][b"data"]).reshape(-1, 3, _SIDE, _SIDE))
        labels.append(np.array(contents[name][layout.labels_key], dtype=np.int64))
    train = ImageSet(np.concatenate(images[:-1]), np.concatenate(labels[:-1]))
    test = ImageSet(images[-1], labels[-1])
    facts = {"image_size": _SIDE, "md5": dict(layout.sums)}
    return ImageData(train, test, names, layout.name, facts, (), flip=True)


class _Unpickler(pickle.Unpickler):
    """Unpickler of arrays, lists, dicts, texts and numbers, which are all that the files have."""

    def load_plain(self, location: str) -> Any:
        """Return the one object of the file; strings of Python 2 are bytes."""
        # NumPy warns of arrays that its old versions wrote.
        with translated(location, "a batch of CIFAR"), warnings.catch_warnings(action="ignore"):
            return self.load()

    def find_class(self, module: str, name: str, /) -> Any:
        if (module, name) in (
            ("numpy", "ndarray"),
            ("numpy", "dtype"),
            ("numpy.core.multiarray", "_reconstruct"),
        ):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"it wants to build {module}.{name}, which may run code")


def _find_source(layout: CifarLayout, path: str | None) -> Path:
    """Return the folder of the batches, or the tar file."""
    candidates = data_folders() if path is None else [Path(os.path.expanduser(path))]
    if path is not None and not os.path.isdir(candidates[0]):
        with open_input(str(candidates[0])):  # its error says why a file cannot be opened
            return candidates[0]
    for folder in candidates:
        if (source := _source_in(layout, folder)) is not None:
            return source
    raise DataError(
        f"{layout.name} is not in {', '.join(map(str, candidates))}; put {layout.archive} or the "
        f"folder {layout.folder} from {_SOURCE} there, write {layout.name}:PATH or set $GNC_DATA"
    )


def _source_in(layout: CifarLayout, folder: Path) -> Path | None:
    """Return the folder itself, the batches' folder in it, or the tar file in it."""
    for candidate in (folder, folder / layout.folder):
        if (candidate / layout.meta).is_file() or (candidate / layout.batches[-1]).is_file():
            return candidate
    archive = folder / layout.archive
    return archive if archive.is_file() else None


def _folder_files(layout: CifarLayout, folder: Path) -> Iterator[tuple[str, bytes]]:
    for name in layout.sums:
        path = folder / name
        if not path.is_file():
            raise DataError(f"{str(folder)!r} has no file {name!r} of {layout.name}; {_ADVICE}")
        with translated(str(path), f"a file of {layout.name}"):
            data = path.read_bytes()
        yield name, data


def _tar_files(layout: CifarLayout, path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the files of the set in the archive's order, which may differ from the original's."""
    missing = list(layout.sums)
    with (
        open(path, "rb") as raw,
        translated(str(path), f"{layout.archive} from {_SOURCE}"),
        tarfile.open(fileobj=raw, mode="r|*") as tar,
    ):
        for member in tar:
            name = PurePosixPath(member.name).name
            if name not in missing or not member.isfile() or member.size > _MAX_BYTES:
                continue
            stream = tar.extractfile(member)
            assert stream is not None
            missing.remove(name)
            yield name, stream.read()
            if not missing:
                return
    raise DataError(
        f"{str(path)!r} lacks {', '.join(missing)} of {layout.name}; expected "
        f"{layout.archive}: {_ADVICE}"
    )
