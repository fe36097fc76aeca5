"""Images in IDX files, MNIST's format: those of a folder, or of a data set known by its name.

A file has two zeros, 8 (for bytes), the number of axes, the axes as big-endian 32-bit numbers, and
then the bytes. It may be gzipped, whatever its suffix says. The size that the axes declare
is compared with the file's before memory is allocated. Nothing is downloaded.

Sources of the data: Y. LeCun, C. Cortes and C. Burges, The MNIST database of handwritten digits;
H. Xiao, K. Rasul and R. Vollgraf, Fashion-MNIST, arXiv 1708.07747; T. Clanuwat et al., Deep
learning for classical Japanese literature (KMNIST), arXiv 1812.01718; G. Cohen et al., EMNIST: an
extension of MNIST to handwritten letters, arXiv 1702.05373.
"""

import gzip
import math
import os
import re
import string
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.io.catalogue import translated
from gnc_cli.io.inputs import (
    GZIP_SIGNATURE,
    file_size,
    max_unpacked_bytes,
    memory_limit,
    open_input,
)
from gnc_cli.parsing import abridge
from gnc_cli.training.data.image_set import (
    ImageData,
    ImageSet,
    data_folders,
    drop_empty_classes,
)

_FILE = re.compile(r"(.*?)(train|t10k|test)-(images|labels)[-.]idx[13]-ubyte(?:\.gz)?")
"""Name of a file: prefix (for EMNIST with the split), part and content."""
_DEBIAN_FOLDER = Path("/usr/share/datasets")
"""Folder of Debian's packages `dataset-NAME`."""
_ADVICE = "get it again, or rewrite it"
_BLOCK = 1 << 20
"""Bytes read at once, beyond which larger reads are no faster."""

_Files = dict[tuple[str, str], str]
"""The names of a set's files by part (train, test) and content (images, labels)."""


@dataclass(frozen=True)
class IdxSet:
    """A data set known by name: its folders and classes, which its files do not state."""

    folders: tuple[str, ...]
    """Names of its folder in a folder of data sets: its own name, and torchvision's."""
    prefixes: Mapping[str, tuple[str, ...]]
    """Names of the classes by the prefix of the files' names."""
    flip: bool = False
    """True if an image's mirror image is of the same class."""


_LETTERS_PREFIX = "emnist-letters-"
"""Prefix of the split whose labels count from 1."""
_DIGITS = tuple(string.digits)
_MERGED_LETTERS = (*string.digits, *string.ascii_uppercase, *"abdefghnqrt")
"""EMNIST's classes where capital and small letters of one shape are one class."""
_EMNIST = {
    "balanced": _MERGED_LETTERS,
    "bymerge": _MERGED_LETTERS,
    "byclass": (*string.digits, *string.ascii_letters.swapcase()),
    "letters": tuple(string.ascii_uppercase),
    "digits": _DIGITS,
    "mnist": _DIGITS,
}


def _emnist(*splits: str) -> IdxSet:
    return IdxSet(
        ("emnist", "EMNIST/raw", "gzip"),
        {f"emnist-{split}-": _EMNIST[split] for split in splits},
    )


IDX_SETS = {
    "mnist": IdxSet(("mnist", "MNIST/raw"), {"": _DIGITS}),
    "fashion-mnist": IdxSet(
        ("fashion-mnist", "FashionMNIST/raw"),
        {
            "": (
                "T-shirt/top",
                "Trouser",
                "Pullover",
                "Dress",
                "Coat",
                "Sandal",
                "Shirt",
                "Sneaker",
                "Bag",
                "Ankle boot",
            )
        },
        flip=True,
    ),
    "kmnist": IdxSet(
        ("kmnist", "KMNIST/raw"),
        {"": ("o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo")},
    ),
    "emnist": _emnist(*_EMNIST),
    **{f"emnist-{split}": _emnist(split) for split in _EMNIST},
}


def read_idx(name: str, path: str | None) -> ImageData:
    """Read a training set and a test set, if its files are there.

    Args:
        name: one of `IDX_SETS`, or `idx` for the set in the folder `path`, whose classes have their
            numbers unless its files are named as EMNIST's.
        path: the folder of the files; by default `data_folders()` and Debian's are searched.

    Returns:
        Images uint8 (N, 1, S, S) and labels int64 (N,).

    Raises:
        DataError: files are missing, of another format or length, or several sets may be meant.
    """
    folder, prefix, files = _find_set(name, path)
    idx_set = IDX_SETS.get("emnist" if prefix in IDX_SETS["emnist"].prefixes else name)
    sets = {
        part: _read_part(folder, files, part, prefix)
        for part in ("train", "test")
        if part == "train" or {(part, "images"), (part, "labels")} & files.keys()
    }
    sizes = {images.images.shape[2] for images in sets.values()}
    if len(sizes) > 1:
        raise DataError(f"{str(folder)!r} has images of {sizes} pixels a side; {_ADVICE}")
    largest = max(int(images.labels.max()) for images in sets.values())
    names = idx_set.prefixes[prefix] if idx_set else tuple(map(str, range(largest + 1)))
    if largest >= len(names):
        raise DataError(
            f"{str(folder)!r} has labels up to {largest}; those of {prefix or name} end at "
            f"{len(names) - 1}; {_ADVICE}"
        )
    data = ImageData(
        sets["train"],
        sets.get("test"),
        names,
        f"idx:{folder.resolve().name}" if name == "idx" else prefix.removesuffix("-") or name,
        {"image_size": sizes.pop(), "files": sorted(files.values())},
        (),
        flip=idx_set is not None and idx_set.flip,
    )
    return drop_empty_classes(data, repr(str(folder)))


def _find_set(name: str, path: str | None) -> tuple[Path, str, _Files]:
    """Return the folder of the set, the prefix of its files' names, and the files."""
    idx_set = IDX_SETS.get(name)
    subfolders = idx_set.folders if idx_set else ()
    if path is not None:
        base = Path(os.path.expanduser(path))
        if not os.path.isdir(base):
            raise DataError(
                f"{path!r} is not a folder; write {name}:DIR with that of the IDX files"
            )
        folders = [base, *(base / part for part in subfolders)]
    else:
        folders = [base / part for base in data_folders() for part in subfolders]
        folders.append(_DEBIAN_FOLDER / name)
    for folder in folders:
        sets = _list_sets(folder)
        present = [prefix for prefix in sets if idx_set is None or prefix in idx_set.prefixes]
        if len(present) > 1:
            raise DataError(
                f"{str(folder)!r} has the files of several sets ({abridge(present)}); leave one "
                "of them in it, or name one, as in emnist-balanced:DIR"
            )
        if present:
            return folder, present[0], sets[present[0]]
    prefix = min(idx_set.prefixes) if idx_set else ""
    raise DataError(
        f"{', '.join(map(str, folders))}: no {prefix}train-images-idx3-ubyte and so on, or the "
        f"same as .gz; write {name}:DIR with the folder of the IDX files"
    )


def _list_sets(folder: Path) -> dict[str, _Files]:
    """Return the files of each set in a folder by their names' prefix, unpacked ones first."""
    sets: dict[str, _Files] = {}
    if folder.is_dir():
        with translated(str(folder), "a folder of IDX files"):
            names = sorted(os.listdir(folder))
        for match in filter(None, map(_FILE.fullmatch, names)):
            prefix, part, content = match.groups()
            part = "train" if part == "train" else "test"
            sets.setdefault(prefix, {}).setdefault((part, content), match.string)
    return sets


def _read_part(folder: Path, files: _Files, part: str, prefix: str) -> ImageSet:
    """Read the images and labels of one part."""
    for content in ("images", "labels"):
        if (part, content) not in files:
            raise DataError(f"{str(folder)!r} has no {part} {content} of its IDX files; {_ADVICE}")
    name = str(folder / files[part, "images"])
    images = _read(name, 3)
    if images.shape[1] != images.shape[2]:
        raise DataError(f"{name!r} has images of {images.shape[1:]}; cut them to squares")
    if prefix.startswith("emnist-"):  # stored column by column
        images = np.ascontiguousarray(images.swapaxes(1, 2))
    name = str(folder / files[part, "labels"])
    labels = _read(name, 1)
    if len(labels) != len(images):
        raise DataError(f"{name!r} has {len(labels)} label(s) for {len(images)} images; {_ADVICE}")
    return ImageSet(
        images[:, None], (labels - np.uint8(prefix == _LETTERS_PREFIX)).astype(np.int64)
    )


def _read(path: str, axes: int) -> np.ndarray:
    """Read an IDX file with `axes` axes as uint8, in no more memory than the file can fill."""
    with open_input(path) as file, translated(path, "an IDX file"):
        file_bytes = file_size(file)
        packed = file.read(2) == GZIP_SIGNATURE
        file.seek(0)
        stream: IO[bytes] | gzip.GzipFile = gzip.GzipFile(fileobj=file) if packed else file
        magic = stream.read(4)
        if magic != bytes([0, 0, 8, axes]):
            raise DataError(
                f"{path!r} begins with {magic!r}, and {'images' if axes == 3 else 'labels'} in IDX "
                f"with {bytes([0, 0, 8, axes])!r}; {_ADVICE}"
            )
        shape = tuple(np.frombuffer(stream.read(4 * axes), ">u4", axes).tolist())
        size = math.prod(shape)
        max_bytes = max_unpacked_bytes(file_bytes) if packed else file_bytes
        if not 0 < size <= min(max_bytes, memory_limit()):
            raise DataError(
                f"{path!r} declares shape {shape}, {size} bytes, and has {file_bytes} "
                f"itself; {_ADVICE}"
            )
        array = np.empty(size, np.uint8)
        filled = 0
        while filled < size and (piece := stream.read(min(_BLOCK, size - filled))):
            array[filled : filled + len(piece)] = np.frombuffer(piece, np.uint8)
            filled += len(piece)
        if filled < size or stream.read(1):
            excess = "more" if filled == size else str(filled)
            raise DataError(
                f"{path!r} declares shape {shape}, {size} bytes, and {excess} follow; {_ADVICE}"
            )
    return array.reshape(shape)
