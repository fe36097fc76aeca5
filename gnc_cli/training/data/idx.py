"""Images in IDX files, MNIST's format: those of a folder, or of a data set known by its name.

A file has two zeros, 8 (for bytes), the number of axes, the axes as big-endian 32-bit numbers, and
then the bytes. It may be gzipped, whatever its suffix says. What the axes declare is held against
the file's size before memory is taken. Nothing is ever downloaded.

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
from gnc_cli.io.inputs import GZIP_SIGNATURE, file_size, memory_limit, most_unpacked, open_input
from gnc_cli.parsing import abridge
from gnc_cli.training.data.image_set import (
    ImageData,
    ImageSet,
    data_folders,
    with_present_classes,
)

_FILE = re.compile(r"(.*?)(train|t10k|test)-(images|labels)[-.]idx[13]-ubyte(?:\.gz)?")
"""Prefix (of EMNIST: with the split), part, and what the file holds."""
_DEBIAN = Path("/usr/share/datasets")
"""Where Debian's packages `dataset-NAME` put the files."""
_AGAIN = "get it again, or write it anew"
_BLOCK = 1 << 20
"""Bytes read at a time."""

_Files = dict[tuple[str, str], str]
"""The names of a set's files by part (train, test) and content (images, labels)."""


@dataclass(frozen=True)
class IdxSet:
    """A data set by name: what its files do not say."""

    folders: tuple[str, ...]
    """Where it may lie in a folder of data sets: under its own name, or torchvision's."""
    prefixes: Mapping[str, tuple[str, ...]]
    """What the names of its files begin with, and the names of the classes there."""
    flip: bool = False
    """Whether an image's mirror image is of the same class."""


_LETTERS = "emnist-letters-"
"""Its labels count from 1."""
_DIGITS = tuple(string.digits)
_MERGED = (*string.digits, *string.ascii_uppercase, *"abdefghnqrt")
"""EMNIST's classes where capitals and small letters of one shape are together."""
_EMNIST = {
    "balanced": _MERGED,
    "bymerge": _MERGED,
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
    """A training set and, where its files are there, a test set: uint8 (N, 1, S, S).

    `name` is one of `IDX_SETS`, or `idx` for the set in a folder `path`, whatever it is called;
    classes that are not known by name have their numbers. Without `path` a set is looked for in
    `data_folders()`, and where Debian's package puts it.

    Raises:
        DataError: files are missing, of another format or length, or several sets may be meant.
    """
    folder, prefix, files = _find(name, path)
    known = IDX_SETS.get("emnist" if prefix in IDX_SETS["emnist"].prefixes else name)
    sets = {
        part: _read_part(folder, files, part, prefix)
        for part in ("train", "test")
        if part == "train" or {(part, "images"), (part, "labels")} & files.keys()
    }
    sizes = {images.images.shape[2] for images in sets.values()}
    if len(sizes) > 1:
        raise DataError(f"{str(folder)!r} has images of {sizes} pixels a side; {_AGAIN}")
    largest = max(int(images.labels.max()) for images in sets.values())
    names = known.prefixes[prefix] if known else tuple(map(str, range(largest + 1)))
    if largest >= len(names):
        raise DataError(
            f"{str(folder)!r} has labels up to {largest}; those of {prefix or name} end at "
            f"{len(names) - 1}; {_AGAIN}"
        )
    data = ImageData(
        sets["train"],
        sets.get("test"),
        names,
        f"idx:{folder.resolve().name}" if name == "idx" else prefix.removesuffix("-") or name,
        {"image_size": sizes.pop(), "files": sorted(files.values())},
        (),
        flip=known is not None and known.flip,
    )
    return with_present_classes(data, repr(str(folder)))


def _find(name: str, path: str | None) -> tuple[Path, str, _Files]:
    """The folder of the one set that is meant, what its files' names begin with, and they."""
    known = IDX_SETS.get(name)
    inner = known.folders if known else ()
    if path is not None:
        base = Path(os.path.expanduser(path))
        if not os.path.isdir(base):
            raise DataError(f"{path!r} is no folder; write {name}:DIR with that of the IDX files")
        places = [base, *(base / part for part in inner)]
    else:
        places = [base / part for base in data_folders() for part in inner]
        places.append(_DEBIAN / name)
    for folder in places:
        sets = _sets(folder)
        present = [prefix for prefix in sets if known is None or prefix in known.prefixes]
        if len(present) > 1:
            raise DataError(
                f"{str(folder)!r} has the files of several sets ({abridge(present)}); leave one "
                "of them in it, or name one, as in emnist-balanced:DIR"
            )
        if present:
            return folder, present[0], sets[present[0]]
    prefix = min(known.prefixes) if known else ""
    raise DataError(
        f"{', '.join(map(str, places))}: no {prefix}train-images-idx3-ubyte and so on, or the same "
        f"as .gz; write {name}:DIR with the folder of the IDX files"
    )


def _sets(folder: Path) -> dict[str, _Files]:
    """The files of each set in a folder, by what their names begin with; unpacked ones first."""
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
    """Images and labels of one part."""
    for content in ("images", "labels"):
        if (part, content) not in files:
            raise DataError(f"{str(folder)!r} has no {part} {content} of its IDX files; {_AGAIN}")
    name = str(folder / files[part, "images"])
    images = _read(name, 3)
    if images.shape[1] != images.shape[2]:
        raise DataError(f"{name!r} has images of {images.shape[1:]}; cut them to squares")
    if prefix.startswith("emnist-"):  # stored column by column
        images = np.ascontiguousarray(images.swapaxes(1, 2))
    name = str(folder / files[part, "labels"])
    labels = _read(name, 1)
    if len(labels) != len(images):
        raise DataError(f"{name!r} has {len(labels)} label(s) for {len(images)} images; {_AGAIN}")
    return ImageSet(images[:, None], (labels - np.uint8(prefix == _LETTERS)).astype(np.int64))


def _read(path: str, axes: int) -> np.ndarray:
    """The bytes of an IDX file with `axes` axes, uint8, no more memory than the file can fill."""
    with open_input(path) as file, translated(path, "an IDX file"):
        held = file_size(file)
        packed = file.read(2) == GZIP_SIGNATURE
        file.seek(0)
        stream: IO[bytes] | gzip.GzipFile = gzip.GzipFile(fileobj=file) if packed else file
        magic = stream.read(4)
        if magic != bytes([0, 0, 8, axes]):
            raise DataError(
                f"{path!r} begins with {magic!r}, and {'images' if axes == 3 else 'labels'} in IDX "
                f"with {bytes([0, 0, 8, axes])!r}; {_AGAIN}"
            )
        shape = tuple(np.frombuffer(stream.read(4 * axes), ">u4", axes).tolist())
        needed = math.prod(shape)
        most = most_unpacked(held) if packed else held
        if not 0 < needed <= min(most, memory_limit()):
            raise DataError(
                f"{path!r} declares shape {shape}, {needed} bytes, and has {held} itself; {_AGAIN}"
            )
        array = np.empty(needed, np.uint8)
        filled = 0
        while filled < needed and (piece := stream.read(min(_BLOCK, needed - filled))):
            array[filled : filled + len(piece)] = np.frombuffer(piece, np.uint8)
            filled += len(piece)
        if filled < needed or stream.read(1):
            what = "more" if filled == needed else str(filled)
            raise DataError(
                f"{path!r} declares shape {shape}, {needed} bytes, and {what} follow; {_AGAIN}"
            )
    return array.reshape(shape)
