"""Images in class folders: what cannot be read is counted and named, the rest has one size.

Small sets are decoded into memory at once. Of larger ones every picture is decoded once at the
start, which finds what is broken, and again whenever it is asked for.
"""

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.io.images.choice import with_present_classes
from gnc_cli.io.images.folder_decoding import (
    FolderImages,
    Header,
    decode_all,
    decoding_pool,
    find_broken,
    read_headers,
)
from gnc_cli.io.images.folder_layout import ImageFiles, find_layout
from gnc_cli.io.images.image_set import ImageData, ImageSet, Pictures

__all__ = ["MEMORY_BYTES", "folder_name", "read_folder", "read_folder_test"]

MEMORY_BYTES = 2 << 30
"""Pictures up to here, training and test together, are decoded into memory."""

_SIZE = 64
_SAMPLE = 1000
_BLOCK = 2048
_NAMED = 3
_SPLITS = {
    "fifth": "each fifth image of a class in sorted order is test",
    "none": "no test images, for no class has five",
}


def read_folder(
    path: str,
    *,
    image_size: int | None = None,
    choose: Callable[[Sequence[str]], Sequence[int]] | None = None,
    threads: int | None = None,
) -> ImageData:
    """The images of a folder: `folder_layout` says in which layouts.

    Args:
        path: the folder.
        image_size: pixels; by default 64 where the shorter side of most images has that, else its
            most common length.
        choose: picks from the names of the classes those to keep, by number, in the new order.
        threads: that decode; by default the cores that this process has.

    Returns:
        One channel where every image is greyscale, else three; classes in sorted order. Mirror
        images are taken for the same class where there are colours: greyscale sets are often
        characters.

    Raises:
        DataError: another layout, or no image can be read.
    """
    layout = find_layout(path, choose)
    parts = [layout.train] + ([layout.test] if layout.test is not None else [])
    sets, facts, complaints = _read(path, parts, image_size, None, threads)
    test = sets[1] if len(sets) > 1 and len(sets[1].labels) else None
    found = ImageData(
        sets[0],
        test,
        layout.class_names,
        folder_name(path),
        {"split": _SPLITS.get(layout.split, f"folder {layout.split}/")} | facts,
        (*layout.warnings, *complaints),
        flip=facts["channels"] == 3,
    )
    return with_present_classes(found, repr(path))


def read_folder_test(
    path: str,
    *,
    image_size: int | None,
    channels: int,
    choose: Callable[[Sequence[str]], Sequence[int]],
    threads: int | None = None,
) -> tuple[ImageSet, list[str]]:
    """The test images of a folder, all its images where it has no such part, and the warnings.

    Labels count in the order of `choose`; classes may be without images.

    Raises:
        DataError: another layout, or no image can be read.
    """
    layout = find_layout(path, choose)
    part = layout.test
    if part is None:
        part = layout.train
    elif layout.split in _SPLITS:
        both = np.concatenate([layout.train.labels, part.labels])
        part = ImageFiles(layout.train.paths + part.paths, both)
    (found,), _, complaints = _read(path, [part], image_size, channels, threads)
    return found, [*layout.warnings, *complaints]


def folder_name(path: str) -> str:
    """What a folder is called in reports: `folder:tiny`."""
    return f"folder:{Path(path).expanduser().resolve().name}"


def _read(
    path: str, parts: Sequence[ImageFiles], image_size: int | None, channels: int | None,
    threads: int | None,
) -> tuple[list[ImageSet], dict[str, Any], list[str]]:
    """The readable images of each part; facts and warnings of all."""
    pool = decoding_pool(threads)
    files = [file for part in parts for file in part.paths]
    with warnings.catch_warnings(action="ignore"):  # Pillow's, of files that are counted here
        size = image_size or _common_size(files, path, pool)
        channels = channels or (1 if _all_grey(files, pool) else 3)
        lazily = len(files) * channels * size * size > MEMORY_BYTES
        broken: dict[str, str] = {}
        sets = [_image_set(part, channels, size, lazily, broken, pool) for part in parts]
    if len(broken) == len(files):
        raise DataError(_none_readable(path, len(files), next(iter(broken.values()), None)))
    facts = {
        "image_size": size,
        "channels": channels,
        "unreadable_images": len(broken),
        "decoded": "once to find broken ones, then when asked for" if lazily else "into memory",
    }
    return sets, facts, [_complaint(broken, Path(path).expanduser())] if broken else []


def _image_set(
    files: ImageFiles, channels: int, size: int, lazily: bool, broken: dict[str, str],
    pool: ThreadPoolExecutor,
) -> ImageSet:
    """The readable ones of some files; `broken` gets the others, with the reason."""
    if lazily:
        bad = find_broken(files.paths, channels, size, pool)
    else:
        pixels, bad = decode_all(files.paths, channels, size, pool)
    broken |= {files.paths[row]: bad[row] for row in sorted(bad)}
    kept = np.setdiff1d(np.arange(len(files.paths)), list(bad))
    pictures: Pictures
    if lazily:
        pictures = FolderImages([files.paths[row] for row in kept], channels, size, pool)
    else:
        if bad:
            for new, old in enumerate(kept):  # in place: there may be no room for two
                pixels[new] = pixels[old]
        pictures = pixels[: len(kept)]
    return ImageSet(pictures, files.labels[kept])


def _common_size(files: Sequence[str], path: str, pool: ThreadPoolExecutor) -> int:
    """From headers of files spread over the whole."""
    step = max(1, len(files) // _SAMPLE)
    headers = read_headers(files[::step], pool)
    sides = [header.side for header in headers if isinstance(header, Header)]
    if not sides:
        first = next((header for header in headers if isinstance(header, str)), None)
        raise DataError(_none_readable(path, len(headers), first))
    if np.median(sides) >= _SIZE:
        return _SIZE
    times = Counter(sides)
    return min(times, key=lambda side: (-times[side], side))


def _all_grey(files: Sequence[str], pool: ThreadPoolExecutor) -> bool:
    """Whether no image has colours; the first one that has ends the search."""
    for start in range(0, len(files), _BLOCK):
        headers = read_headers(files[start : start + _BLOCK], pool)
        if any(isinstance(header, Header) and not header.grey for header in headers):
            return False
    return True


def _complaint(broken: dict[str, str], root: Path) -> str:
    """How many images were left out, and the first three."""
    named = list(broken.items())[:_NAMED]
    first = [f"{Path(path).relative_to(root)} ({reason})" for path, reason in named]
    more = f" and {len(broken) - _NAMED} more" if len(broken) > _NAMED else ""
    return f"{len(broken)} image(s) cannot be read and are left out: {', '.join(first)}{more}"


def _none_readable(path: str, count: int, reason: str | None) -> str:
    if reason is None:
        return f"{path!r} holds no images in its class folders; put JPEG or PNG files there"
    return f"{path!r}: none of {count} image file(s) can be read, the first because {reason}"
