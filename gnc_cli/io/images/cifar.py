"""CIFAR-10 and CIFAR-100 in their python version, from the folder or straight from the tar file.

Every file is held against its published md5 sum, then read by an unpickler that builds arrays and
plain values alone. Nothing is ever downloaded or unpacked to disk.

Source of the data: A. Krizhevsky, Learning multiple layers of features from tiny images, 2009.
"""

import hashlib
import io
import os
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.io.catalogue import translated
from gnc_cli.io.images.cache import cache_folder
from gnc_cli.io.images.image_set import ImageData, ImageSet
from gnc_cli.io.images.restricted_pickle import load_plain
from gnc_cli.io.inputs import open_input

__all__ = ["CIFAR10", "CIFAR100", "CifarLayout", "read_cifar"]

_SIDE = 32
_MOST_BYTES = 512 << 20
"""Of one member of a tar file; the largest real one has 155 MB."""
_AGAIN = "get it again from https://www.cs.toronto.edu/~kriz/cifar.html"


@dataclass(frozen=True)
class CifarLayout:
    """The files of one data set."""

    name: str
    folder: str
    """Of the unpacked files, and inside the tar file."""
    archive: str
    archive_md5: str
    sums: Mapping[str, str]
    """md5 of every file by its name: training batches in order, the test batch, the names."""
    meta: str
    """The file with the names of the classes."""
    names_key: bytes
    labels_key: bytes
    test: str

    @property
    def batches(self) -> tuple[str, ...]:
        """Training files in order, then the test file."""
        return tuple(name for name in self.sums if name != self.meta)


CIFAR10 = CifarLayout(
    name="cifar10",
    folder="cifar-10-batches-py",
    archive="cifar-10-python.tar.gz",
    archive_md5="c58f30108f718f92721af3b95e74349a",
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
    test="test_batch",
)
CIFAR100 = CifarLayout(
    name="cifar100",
    folder="cifar-100-python",
    archive="cifar-100-python.tar.gz",
    archive_md5="eb9058c3a382ffc7106e4002c42a8d85",
    sums={
        "train": "16019d7e3df5f24257cddd939b257f8d",
        "test": "f0ef6b0ae62326f3e7ffdfab6717acfc",
        "meta": "7973b15100ade9c7d40fb424638fde48",
    },
    meta="meta",
    names_key=b"fine_label_names",
    labels_key=b"fine_labels",
    test="test",
)


def read_cifar(layout: CifarLayout, path: str | None = None) -> ImageData:
    """CIFAR-10 or CIFAR-100, the fine labels of the latter.

    Args:
        layout: CIFAR10 or CIFAR100.
        path: the folder of the batches, a folder that holds it or the tar file, or the tar file;
            by default ./data, $GNC_DATA and the user's cache directory are searched in this order.

    Raises:
        DataError: it is in none of these places (names them, and what to put there); a file is
            missing, has another md5 sum, or holds something else.
    """
    found = _find(layout, path)
    contents: dict[str, Any] = {}
    for name, data in (_folder_files if found.is_dir() else _tar_files)(layout, found):
        contents[name] = load_plain(io.BytesIO(data), f"{found}/{name}")
    names = _class_names(layout, contents[layout.meta], f"{found}/{layout.meta}")
    sets = {
        name: _batch(layout, contents[name], f"{found}/{name}", len(names))
        for name in layout.batches
    }
    train = [batch for name, batch in sets.items() if name != layout.test]
    images = np.concatenate([batch.images for batch in train])
    labels = np.concatenate([batch.labels for batch in train])
    test = sets[layout.test]
    facts = {"image_size": _SIDE, "md5": dict(layout.sums)}
    return ImageData(ImageSet(images, labels), test, names, layout.name, facts, (), flip=True)


def _find(layout: CifarLayout, path: str | None) -> Path:
    """The folder of the batches, or the tar file."""
    if path is None:
        places = _places()
        for place in places:
            if (found := _inside(layout, place)) is not None:
                return found
        given = "among them" if os.environ.get("GNC_DATA") else "not set"
        raise DataError(
            f"{layout.name} is in none of {', '.join(map(str, places))} ($GNC_DATA is {given}); "
            f"put {layout.archive} or the folder {layout.folder} from "
            f"https://www.cs.toronto.edu/~kriz/cifar.html there, or write {layout.name}:PATH"
        )
    named = Path(path).expanduser()
    if not named.is_dir():
        with open_input(str(named)):  # says what is wrong where it cannot be opened
            return named
    found = _inside(layout, named)
    if found is None:
        raise DataError(
            f"{path!r} holds neither {layout.archive} nor {', '.join(layout.sums)}; name the "
            f"folder {layout.folder} or the tar file of the python version"
        )
    return found


def _places() -> list[Path]:
    """Where data sets are looked for, the nearest first."""
    named = os.environ.get("GNC_DATA")
    return [
        Path("data"),
        *([Path(named).expanduser()] if named else []),
        *([cache] if (cache := cache_folder()) is not None else []),
    ]


def _inside(layout: CifarLayout, folder: Path) -> Path | None:
    """The folder itself, the one in it, or the tar file in it."""
    for candidate in (folder, folder / layout.folder):
        if (candidate / layout.meta).is_file() or (candidate / layout.test).is_file():
            return candidate
    archive = folder / layout.archive
    plain = archive.with_suffix("")
    return next((file for file in (archive, plain) if file.is_file()), None)


def _folder_files(layout: CifarLayout, folder: Path) -> Iterator[tuple[str, bytes]]:
    for name, expected in layout.sums.items():
        path = folder / name
        if not path.is_file():
            raise DataError(f"{str(folder)!r} has no file {name!r} of {layout.name}; {_AGAIN}")
        with translated(str(path), f"a file of {layout.name}"):
            data = path.read_bytes()
        _check(str(path), data, expected)
        yield name, data


def _tar_files(layout: CifarLayout, path: Path) -> Iterator[tuple[str, bytes]]:
    """The wanted members, as they lie; of an archive that was packed anew too."""
    missing = dict(layout.sums)
    where = str(path)
    with open(path, "rb") as raw:
        found = hashlib.file_digest(raw, _md5).hexdigest()
        original = found == layout.archive_md5
        raw.seek(0)
        note = f"md5 {found}, published {layout.archive_md5}"
        with (
            translated(f"{where} ({note})", f"the tar file of {layout.name}"),
            tarfile.open(fileobj=raw, mode="r|*") as tar,
        ):
            for member in tar:
                name = PurePosixPath(member.name).name
                if name not in missing or not member.isfile() or member.size > _MOST_BYTES:
                    continue
                stream = tar.extractfile(member)
                assert stream is not None
                data = stream.read()
                if not original:
                    _check(f"{where}/{name}", data, missing[name])
                del missing[name]
                yield name, data
                if not missing:
                    return
    raise DataError(
        f"{where!r} lacks {', '.join(missing)} of {layout.name} ({note}); expected "
        f"{layout.archive}: {_AGAIN}"
    )


def _md5(data: bytes = b"") -> Any:
    return hashlib.md5(data, usedforsecurity=False)  # against accidents


def _check(where: str, data: bytes, expected: str) -> None:
    found = _md5(data).hexdigest()
    if found != expected:
        raise DataError(
            f"{where!r} has md5 {found}, expected {expected}; {_AGAIN}, or write other content to "
            "h5:FILE with images, labels, test_images and test_labels"
        )


def _class_names(layout: CifarLayout, meta: Any, where: str) -> tuple[str, ...]:
    names = _part(meta, layout.names_key, where)
    if not isinstance(names, list) or not all(isinstance(name, bytes | str) for name in names):
        raise DataError(f"{where!r}: {layout.names_key.decode()!r} is no list of names; {_AGAIN}")
    return tuple(name.decode("ascii") if isinstance(name, bytes) else name for name in names)


def _batch(layout: CifarLayout, content: Any, where: str, K: int) -> ImageSet:
    """One file as it should be: uint8 (n, 3072), rows are red, green and blue planes."""
    data = _part(content, b"data", where)
    row = 3 * _SIDE * _SIDE
    if not isinstance(data, np.ndarray) or data.dtype != np.uint8 or data.shape[1:] != (row,):
        what = f"{data.shape} {data.dtype}" if isinstance(data, np.ndarray) else type(data).__name__
        raise DataError(f"{where!r}: 'data' is {what}, expected (n, {row}) uint8; {_AGAIN}")
    key = layout.labels_key.decode()
    labels = _part(content, layout.labels_key, where)
    right = isinstance(labels, list) and len(labels) == len(data)
    if not right or not all(type(label) is int and 0 <= label < K for label in labels):
        raise DataError(
            f"{where!r}: {key!r} is no list of {len(data)} numbers from 0 to {K - 1}; {_AGAIN}"
        )
    images = np.asarray(data).reshape(-1, 3, _SIDE, _SIDE)
    return ImageSet(images, np.array(labels, dtype=np.int64))


def _part(content: Any, key: bytes, where: str) -> Any:
    """Of a dictionary whose keys are bytes, as Python 2 wrote them, or strings."""
    if isinstance(content, dict):
        for name in (key, key.decode()):
            if name in content:
                return content[name]
    held = ", ".join(map(str, content)) if isinstance(content, dict) else type(content).__name__
    raise DataError(f"{where!r} has no {key.decode()!r}, it holds {held[:200]}; {_AGAIN}")
