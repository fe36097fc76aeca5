"""Images in class folders: what cannot be read is counted and named, the rest has one size.

Three layouts are known: `train/CLASS/...` with `test/CLASS/...` or `val/CLASS/...`; Tiny-ImageNet's
(`val/images` with `val_annotations.txt`); and `CLASS/...` alone. Hidden files and files that are no
images by their suffix are passed over; links to folders are followed for the folder of a class and
no deeper.

Sets are decoded into memory at once. Only where they do not fit there (half of the machine's) every
picture is decoded once at the start, which finds what is broken, and again whenever it is needed.
"""

import os
import warnings
from collections import Counter
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.io.catalogue import translated
from gnc_cli.io.inputs import read_lines, walk
from gnc_cli.parsing import listed
from gnc_cli.training.data.decoding import (
    decoding_pool,
    images_of,
    read_headers,
)
from gnc_cli.training.data.image_set import (
    ImageData,
    ImageSet,
    chooser,
    fits_in_memory,
    with_present_classes,
)

_SIZE = 64
"""Pixels a side, at most, where nobody asks for a size."""
_SAMPLE = 1000
"""Files, spread over the whole, whose headers decide about size and colours."""
_FIFTH = 5
_HELD_BACK = "each fifth image of a class in sorted order is test"
_SUFFIXES = (
    ".jpg",
    ".jpeg",
    ".png",
    ".bmp",
    ".gif",
    ".webp",
    ".ppm",
    ".pgm",
    ".pbm",
    ".tif",
    ".tiff",
)
_TEST_PARTS = ("test", "val", "valid", "validation")
_ANNOTATIONS = "val_annotations.txt"

Choose = Callable[[Sequence[str]], Sequence[int]]
"""From the names of the classes those to keep, by number, in the new order."""
_ALL: Choose = chooser()


def read_folder(
    path: str,
    *,
    image_size: int | None = None,
    choose: Choose = _ALL,
    threads: int | None = None,
) -> ImageData:
    """The images of a folder: one channel where all images looked at are greyscale, else three.

    By default the size is 64 where the shorter side of most images has that, else its most common
    length. Mirror images are taken for the same class where there are colours: greyscale sets are
    often characters.
    """
    layout = _find_layout(path, choose)
    parts = [layout.train] + ([layout.test] if layout.test is not None else [])
    sets, facts, complaints = _read(path, parts, image_size, None, threads)
    test = sets[1] if len(sets) > 1 and len(sets[1].labels) else None
    data = ImageData(
        sets[0],
        test,
        layout.class_names,
        folder_name(path),
        {"split": layout.split} | facts,
        complaints,
        flip=facts["channels"] == 3,
    )
    return with_present_classes(data, repr(path))


def read_folder_test(
    path: str, *, image_size: int, channels: int, choose: Choose, threads: int | None
) -> tuple[ImageSet, list[str]]:
    """The test images of a folder, all its images where it has no such part, and the warnings.

    Labels count in the order of `choose`; classes may be without images.
    """
    layout = _find_layout(path, choose)
    part = layout.test or layout.train
    if layout.split == _HELD_BACK:
        both = np.concatenate([layout.train.labels, part.labels])
        part = ImageFiles(layout.train.paths + part.paths, both)
    (images,), _, complaints = _read(path, [part], image_size, channels, threads)
    return images, list(complaints)


def folder_name(path: str) -> str:
    """What a folder is called in reports: `folder:tiny`."""
    return f"folder:{os.path.basename(os.path.realpath(os.path.expanduser(path)))}"


@dataclass(frozen=True, eq=False)
class ImageFiles:
    """Files that look like images, not opened yet, and the class of each."""

    paths: list[str]
    labels: np.ndarray
    """int64 (N,)."""


def _read(
    path: str,
    parts: Sequence[ImageFiles],
    image_size: int | None,
    channels: int | None,
    threads: int | None,
) -> tuple[list[ImageSet], dict[str, Any], tuple[str, ...]]:
    """The readable images of each part; facts and warnings of all."""
    pool = decoding_pool(threads)
    files = [file for part in parts for file in part.paths]
    with warnings.catch_warnings(action="ignore"):  # Pillow's, of files that are counted here
        headers = read_headers(files[:: max(1, len(files) // _SAMPLE)], pool)
        size = image_size or _common_size([header.side for header in headers])
        channels = channels or (1 if all(header.grey for header in headers) else 3)
        lazily = not fits_in_memory(len(files) * channels * size * size)
        broken: dict[str, str] = {}
        sets = []
        for part in parts:
            pictures, bad = images_of(part.paths, channels, size, pool, lazily=lazily)
            sets.append(ImageSet(pictures, np.delete(part.labels, list(bad))))
            broken |= {part.paths[row]: bad[row] for row in sorted(bad)}
    if len(broken) == len(files):
        reason = next(iter(broken.values()), "there is none")
        raise DataError(
            f"{path!r}: none of {len(files)} image file(s) can be read, the first because {reason}"
        )
    facts = {
        "image_size": size,
        "channels": channels,
        "unreadable_images": len(broken),
        "decoded": "once to find broken ones, then when asked for" if lazily else "into memory",
    }
    root = Path(os.path.expanduser(path))
    named = [f"{Path(file).relative_to(root)} ({reason})" for file, reason in broken.items()]
    line = f"{len(broken)} image(s) cannot be read and are left out: {listed(named, 3)}"
    return sets, facts, (line,) if broken else ()


def _common_size(sides: Sequence[int]) -> int:
    """The most common of the shorter sides, or less."""
    if not sides or np.median(sides) >= _SIZE:
        return _SIZE
    times = Counter(sides)
    return min(times, key=lambda side: (-times[side], side))


@dataclass(frozen=True, eq=False)
class _Layout:
    """Which images of a folder belong to which class, and which are for testing."""

    class_names: tuple[str, ...]
    train: ImageFiles
    test: ImageFiles | None
    split: str
    """Where the test images come from, in words."""


def _find_layout(path: str, choose: Choose) -> _Layout:
    """The chosen classes of a folder, in their order; their images in sorted order."""
    root = Path(os.path.expanduser(path))
    if not os.path.isdir(root):
        what = "is a file, not a folder" if os.path.exists(root) else "does not exist"
        raise DataError(f"{path!r} {what}; write folder:PATH with one folder per class in it")
    with translated(path, "a folder of images"):
        return _class_layout(root, choose)


def _class_layout(root: Path, choose: Choose) -> _Layout:
    base = root / "train" if (root / "train").is_dir() else root
    folders = _class_folders(base)
    if len(folders) < 2 or {*folders} <= {*_TEST_PARTS}:
        raise DataError(
            f"{str(base)!r} has {len(folders)} class folder(s); write folder:PATH with one folder "
            "per class in it, or with train/ that has them"
        )
    kept = [folders[k] for k in choose(folders)]
    files = [_image_files(base / folder) for folder in kept]
    if base != root:
        test, part = _test_files(root, folders, kept)
        if test is not None:
            return _Layout(tuple(kept), _listed(files), test, f"folder {part}/")
    # Each fifth image of a class is held back for testing.
    held = [paths[_FIFTH - 1 :: _FIFTH] for paths in files]
    rest = [[p for i, p in enumerate(paths) if i % _FIFTH < _FIFTH - 1] for paths in files]
    if not any(held):
        return _Layout(tuple(kept), _listed(files), None, "no test images, for no class has five")
    return _Layout(tuple(kept), _listed(rest), _listed(held), _HELD_BACK)


def _test_files(
    root: Path, folders: Sequence[str], kept: Sequence[str]
) -> tuple[ImageFiles | None, str]:
    """Those of the first part that has labels, and its name."""
    for part in _TEST_PARTS:
        base = root / part
        if (base / _ANNOTATIONS).is_file():
            numbers = {folder: k for k, folder in enumerate(kept)}
            pairs = [pair for pair in _annotations(base, folders) if pair[1] in numbers]
            labels = np.array([numbers[name] for _, name in pairs], dtype=np.int64)
            return ImageFiles([path for path, _ in pairs], labels), part
        names = set(_class_folders(base)) if base.is_dir() else set()
        if unknown := sorted(names - {*folders, "images"}):
            raise DataError(
                f"{str(base)!r} has {len(unknown)} class(es) that {str(root / 'train')!r} has "
                f"not: {listed(unknown)}; rename or remove them"
            )
        if names - {"images"}:
            return _listed([_image_files(base / name) for name in kept]), part
    return None, ""


def _annotations(base: Path, known: Container[str]) -> list[tuple[str, str]]:
    """Path and class of each image; a line has file, class and a box, between tabs."""
    where = base / _ANNOTATIONS
    pairs = []
    for count, line in enumerate(read_lines(str(where)), start=1):
        file, name, *_ = [*line.split("\t"), ""]
        if name not in known or os.sep in file:
            raise DataError(
                f"{str(where)!r}, line {count}: {line[:60]!r} names no file and class of train/; "
                "expected FILE, a tab and the name of a class folder"
            )
        pairs.append((str(base / "images" / file), name))
    return pairs


def _class_folders(base: Path) -> list[str]:
    with os.scandir(base) as entries:
        return sorted(e.name for e in entries if not e.name.startswith(".") and e.is_dir())


def _image_files(folder: Path) -> list[str]:
    """All below a folder, whatever folders it has inside."""
    paths = []
    for place, files in walk(folder):
        shown = [name for name in files if not name.startswith(".")]
        paths += [os.path.join(place, name) for name in shown if name.lower().endswith(_SUFFIXES)]
    return sorted(paths)


def _listed(files: Sequence[Sequence[str]]) -> ImageFiles:
    labels = np.repeat(np.arange(len(files)), [len(paths) for paths in files])
    return ImageFiles([path for paths in files for path in paths], labels.astype(np.int64))
