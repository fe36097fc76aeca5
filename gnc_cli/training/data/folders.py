"""Images in class folders, all brought to one size; unreadable ones are counted and named.

Three layouts are known: `train/CLASS/...` with `test/CLASS/...` or `val/CLASS/...`; Tiny-ImageNet's
(`val/images` with `val_annotations.txt`); and `CLASS/...` alone. Hidden files and files without the
suffix of an image are ignored. The folder of a class may be a link; links to folders below it are
not followed.

Sets that fit into half of the memory are decoded into it. Others are decoded once at the start,
which finds broken images, and again whenever an image is needed. A pool of threads decodes, since
Pillow does so outside the GIL. The shorter side is brought to the size and the
middle is kept, with antialiasing. EXIF orientation is respected, transparency is dropped, and 16
bits are cut to 8.
"""

import contextlib
import io
import os
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Container, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.io.catalogue import translated
from gnc_cli.io.inputs import file_size, open_regular, read_lines, walk
from gnc_cli.parsing import abridge
from gnc_cli.runtime.distributed import on_this_machine
from gnc_cli.runtime.system import process_cores
from gnc_cli.training.data.image_set import (
    ImageData,
    ImageSet,
    chooser,
    drop_empty_classes,
    fits_in_memory,
)

if TYPE_CHECKING:
    from PIL import Image

_DEFAULT_MAX_SIZE = 64
"""Largest default size in pixels, that of Tiny-ImageNet: larger images train slowly."""
_MAX_HEADERS = 1000
"""Number of headers, spread over all files, that decide size and colours."""
_TEST_STRIDE = 5
"""One in this many images of a class is for testing if the folder has no test images."""
_STRIDE_SPLIT = "each fifth image of a class in sorted order is test"
"""Source of the test images of a folder without any, in words, as `_TEST_STRIDE`."""
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
"""Suffixes of the files that are taken for images."""
_TEST_PARTS = ("test", "val", "valid", "validation")
"""Names of folders with test images; the first that has labels counts."""
_ANNOTATIONS = "val_annotations.txt"
"""File of Tiny-ImageNet with the class of each test image."""

Choose = Callable[[Sequence[str]], Sequence[int]]
"""Function from the names of the classes to the numbers of those to keep, in the new order."""
_ALL_CLASSES: Choose = chooser()
_MAX_PIXELS = 89_478_485
"""Largest image in pixels, beyond which Pillow warns of a decompression bomb."""
_MAX_HEIGHT = 65_535
"""Largest number of rows of pixels, as Pillow allocates memory for each row: JPEG's own limit."""
_MAX_BYTES = 1 << 28
"""Largest file that is read, in bytes: every thread reads one into memory."""
_MAX_PARALLEL_PIXELS = 1 << 23
"""Largest image in pixels that is decoded while others are, which bounds the memory."""
_LARGE_IMAGE_LOCK = threading.Lock()
"""Lock that lets one larger image be decoded at a time."""
_FILES_PER_TASK = 32
"""Number of files per task of a thread, enough to make the queue cheap."""
_MAX_THREADS = 16
"""Largest default number of threads, which leaves cores of a large machine to others."""
_CHECK_BLOCK = 1024
"""Number of files decoded together for a check, which bounds the memory."""


def read_folder(
    path: str,
    *,
    image_size: int | None = None,
    choose: Choose = _ALL_CLASSES,
    threads: int | None = None,
) -> ImageData:
    """Read a folder of images: one channel if all headers sampled are greyscale, else three.

    Mirror images of coloured images are taken for the same class. Greyscale sets are often
    characters, so that theirs are not.

    Args:
        path: the folder.
        image_size: side S in pixels; by default 64 if the shorter side of most images has that or
            more, else its most common length.
        choose: returns the numbers of the classes to read.
        threads: number of threads that decode, by default the cores of this process, at most 16.

    Returns:
        Images uint8 (N, C, S, S) and labels int64 (N,).

    Raises:
        DataError: there are fewer than two classes, or no image can be read.
    """
    layout = _find_layout(path, choose)
    parts = [layout.train] + ([layout.test] if layout.test is not None else [])
    sets, facts, notes = _read_parts(path, parts, image_size, None, threads)
    test = sets[1] if len(sets) > 1 and len(sets[1].labels) else None
    data = ImageData(
        sets[0],
        test,
        layout.class_names,
        folder_name(path),
        {"split": layout.split} | facts,
        notes,
        flip=facts["channels"] == 3,
    )
    return drop_empty_classes(data, repr(path))


def read_folder_test(
    path: str, *, image_size: int, channels: int, choose: Choose, threads: int | None
) -> tuple[ImageSet, list[str]]:
    """Read the test images of a folder, all its images if it has no test part, and the warnings.

    Labels count in the order of `choose`. Classes may have no images.

    Raises:
        DataError: there are fewer than two classes, or no image can be read.
    """
    layout = _find_layout(path, choose)
    part = layout.test or layout.train
    if layout.split == _STRIDE_SPLIT:
        labels = np.concatenate([layout.train.labels, part.labels])
        part = ImageFiles(layout.train.paths + part.paths, labels)
    (images,), _, notes = _read_parts(path, [part], image_size, channels, threads)
    return images, list(notes)


def folder_name(path: str) -> str:
    """Return the name of a folder in reports: `folder:tiny`."""
    return f"folder:{os.path.basename(os.path.realpath(os.path.expanduser(path)))}"


@dataclass(frozen=True, eq=False)
class ImageFiles:
    """Files with the suffix of an image, not opened yet, and the class of each."""

    paths: list[str]
    labels: np.ndarray
    """int64 (N,)."""


def _read_parts(
    path: str,
    parts: Sequence[ImageFiles],
    image_size: int | None,
    channels: int | None,
    threads: int | None,
) -> tuple[list[ImageSet], dict[str, Any], tuple[str, ...]]:
    """Read the images of each part; return also facts and warnings of all."""
    pool = _decoding_pool(threads)
    files = [file for part in parts for file in part.paths]
    with warnings.catch_warnings(action="ignore"):  # Pillow's, of files that are counted here
        headers = _read_headers(files[:: max(1, len(files) // _MAX_HEADERS)], pool)
        size = image_size or _common_size([side for side, _ in headers])
        channels = channels or (1 if all(grey for _, grey in headers) else 3)
        lazy = not fits_in_memory(len(files) * channels * size * size)
        broken: dict[str, str] = {}
        sets = []
        for part in parts:
            images, broken_rows = _decode_part(part.paths, channels, size, pool, lazy=lazy)
            sets.append(ImageSet(images, np.delete(part.labels, list(broken_rows))))
            broken |= {part.paths[row]: broken_rows[row] for row in sorted(broken_rows)}
    if len(broken) == len(files):
        reason = next(iter(broken.values()), "there is none")
        raise DataError(
            f"{path!r}: none of {len(files)} image file(s) can be read, the first because {reason}"
        )
    facts = {
        "image_size": size,
        "channels": channels,
        "unreadable_images": len(broken),
        "decoded": "once to find broken ones, then when asked for" if lazy else "into memory",
    }
    root = Path(os.path.expanduser(path))
    lines = [f"{Path(file).relative_to(root)} ({reason})" for file, reason in broken.items()]
    line = f"{len(broken)} image(s) cannot be read and are left out: {abridge(lines, 3)}"
    return sets, facts, (line,) if broken else ()


def _common_size(sides: Sequence[int]) -> int:
    """Return the most common of the shorter sides, at most the default size."""
    if not sides or np.median(sides) >= _DEFAULT_MAX_SIZE:
        return _DEFAULT_MAX_SIZE
    counts = Counter(sides)
    return min(counts, key=lambda side: (-counts[side], side))


@dataclass(frozen=True, eq=False)
class _Layout:
    """The classes of a folder, and their images for training and testing."""

    class_names: tuple[str, ...]
    train: ImageFiles
    test: ImageFiles | None
    split: str
    """Source of the test images, in words."""


def _find_layout(path: str, choose: Choose) -> _Layout:
    """Return the chosen classes of a folder, in their order, with their images sorted."""
    root = Path(os.path.expanduser(path))
    if not os.path.isdir(root):
        problem = "is a file, not a folder" if os.path.exists(root) else "does not exist"
        raise DataError(f"{path!r} {problem}; write folder:PATH with one folder per class in it")
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
    class_names = tuple(folders[k] for k in choose(folders))
    files = [_list_images(base / folder) for folder in class_names]
    if base != root:
        test, part = _test_files(root, folders, class_names)
        if test is not None:
            return _Layout(class_names, _labelled(files), test, f"folder {part}/")
    test_paths = [paths[_TEST_STRIDE - 1 :: _TEST_STRIDE] for paths in files]
    train_paths = [
        [p for i, p in enumerate(paths) if i % _TEST_STRIDE < _TEST_STRIDE - 1] for paths in files
    ]
    if not any(test_paths):
        return _Layout(class_names, _labelled(files), None, "no test images, for no class has five")
    return _Layout(class_names, _labelled(train_paths), _labelled(test_paths), _STRIDE_SPLIT)


def _test_files(
    root: Path, folders: Sequence[str], class_names: Sequence[str]
) -> tuple[ImageFiles | None, str]:
    """Return the files of the first test part that has labels, and the part's name."""
    for part in _TEST_PARTS:
        base = root / part
        if (base / _ANNOTATIONS).is_file():
            numbers = {folder: k for k, folder in enumerate(class_names)}
            pairs = [pair for pair in _annotations(base, folders) if pair[1] in numbers]
            labels = np.array([numbers[name] for _, name in pairs], dtype=np.int64)
            return ImageFiles([path for path, _ in pairs], labels), part
        names = set(_class_folders(base)) if base.is_dir() else set()
        if unknown := sorted(names - {*folders, "images"}):
            raise DataError(
                f"{str(base)!r} has {len(unknown)} class(es) that {str(root / 'train')!r} has "
                f"not: {abridge(unknown)}; rename or remove them"
            )
        if names - {"images"}:
            return _labelled([_list_images(base / name) for name in class_names]), part
    return None, ""


def _annotations(base: Path, class_folders: Container[str]) -> list[tuple[str, str]]:
    """Read path and class of each image. A line has file, class and a box, separated by tabs."""
    annotations = base / _ANNOTATIONS
    pairs = []
    for count, line in enumerate(read_lines(str(annotations)), start=1):
        file, name, *_ = [*line.split("\t"), ""]
        if name not in class_folders or os.sep in file:
            raise DataError(
                f"{str(annotations)!r}, line {count}: {line[:60]!r} names no file and class of "
                "train/; expected FILE, a tab and the name of a class folder"
            )
        pairs.append((str(base / "images" / file), name))
    return pairs


def _class_folders(base: Path) -> list[str]:
    with os.scandir(base) as entries:
        return sorted(e.name for e in entries if not e.name.startswith(".") and e.is_dir())


def _list_images(folder: Path) -> list[str]:
    """Return the images in a folder and all its subfolders, sorted."""
    paths = []
    for subfolder, files in walk(folder):
        visible = [name for name in files if not name.startswith(".")]
        paths += [
            os.path.join(subfolder, name) for name in visible if name.lower().endswith(_SUFFIXES)
        ]
    return sorted(paths)


def _labelled(files: Sequence[Sequence[str]]) -> ImageFiles:
    labels = np.repeat(np.arange(len(files)), [len(paths) for paths in files])
    return ImageFiles([path for paths in files for path in paths], labels.astype(np.int64))


class _FolderImages:
    """`FileImages` that are larger than memory and decoded whenever they are needed.

    Each is decoded once before, which finds the broken ones: headers do not show them, as a file
    that was cut off has a good one.
    """

    def __init__(
        self, paths: Sequence[str], channels: int, size: int, pool: ThreadPoolExecutor
    ) -> None:
        self._paths, self._pool = paths, pool
        self.shape = (len(paths), channels, size, size)

    def select(self, rows: np.ndarray) -> "_FolderImages":
        """Return the images of the given rows, not decoded."""
        paths = [self._paths[row] for row in rows.tolist()]
        return _FolderImages(paths, *self.shape[1:3], self._pool)

    def __getitem__(self, rows: np.ndarray, /) -> np.ndarray:
        """Decode the images of the given rows, uint8 (n, C, S, S)."""
        paths = [self._paths[row] for row in np.asarray(rows).tolist()]
        images, broken = _decode_all(paths, self.shape[1], self.shape[2], self._pool)
        if broken:
            row = min(broken)
            raise DataError(
                f"{paths[row]!r} cannot be decoded: {broken[row]}; replace or remove it"
            )
        return images


def _decode_part(
    paths: Sequence[str], channels: int, size: int, pool: ThreadPoolExecutor, *, lazy: bool
) -> tuple[np.ndarray | _FolderImages, dict[int, str]]:
    """Return the images that can be decoded, in order; and by row why others cannot."""
    if lazy:
        broken: dict[int, str] = {}
        for start in range(0, len(paths), _CHECK_BLOCK):
            _, broken_rows = _decode_all(paths[start : start + _CHECK_BLOCK], channels, size, pool)
            broken |= {start + row: reason for row, reason in broken_rows.items()}
        readable = [path for row, path in enumerate(paths) if row not in broken]
        return _FolderImages(readable, channels, size, pool), broken
    pixels, broken = _decode_all(paths, channels, size, pool)
    kept_rows = [row for row in range(len(paths)) if row not in broken]
    for new, old in enumerate(kept_rows if broken else ()):  # memory may not hold two copies
        pixels[new] = pixels[old]
    return pixels[: len(kept_rows)], broken


def _decoding_pool(threads: int | None) -> ThreadPoolExecutor:
    """Return a pool of threads: by default this process's share of the cores under torchrun.

    The OMP_NUM_THREADS that torchrun sets is not meant for decoding.
    """
    if threads is None:
        threads = min(_MAX_THREADS, process_cores() // (on_this_machine("LOCAL_WORLD_SIZE") or 1))
    return ThreadPoolExecutor(max(1, threads))


def _read_headers(paths: Sequence[str], pool: ThreadPoolExecutor) -> list[tuple[int, bool]]:
    """Return shorter side in pixels, and True if greyscale, of each file that has a header."""
    from PIL import Image

    def read(path: str) -> tuple[int, bool] | None:
        # A broken file can raise anything in its decoder.
        with (
            contextlib.suppress(Exception),
            open_regular(path) as file,
            Image.open(file) as image,
        ):
            return min(_check_size(image)), image.mode.startswith(("1", "L", "I"))
        return None

    return [header for header in pool.map(read, paths) if header is not None]


def _decode_all(
    paths: Sequence[str], channels: int, size: int, pool: ThreadPoolExecutor
) -> tuple[np.ndarray, dict[int, str]]:
    """Decode images, uint8 (N, C, S, S); return also by row why some could not be decoded."""
    images = np.zeros((len(paths), channels, size, size), np.uint8)
    broken: dict[int, str] = {}

    def fill(start: int) -> None:
        for row in range(start, min(start + _FILES_PER_TASK, len(paths))):
            try:
                images[row] = _decode(paths[row], channels, size)
            except Exception as error:  # a broken file can raise anything in its decoder
                reason = " ".join(str(error).split())[:100] or type(error).__name__
                unknown = type(error).__name__ == "UnidentifiedImageError"
                broken[row] = "it is not an image that Pillow knows" if unknown else reason

    list(pool.map(fill, range(0, len(paths), _FILES_PER_TASK)))
    return images, broken


def _decode(path: str, channels: int, size: int) -> np.ndarray:
    """Decode one file, uint8 (C, S, S)."""
    from PIL import Image, ImageOps

    # Read whole: Pillow reads a few bytes at a time, each with a call of the system.
    with open_regular(path) as file:
        if (length := file_size(file)) > _MAX_BYTES:
            raise ValueError(f"it has {length:,} bytes, more than {_MAX_BYTES:,}")
        data = io.BytesIO(file.read())
    with Image.open(data) as image:
        _check_size(image)
        image.draft(None, (2 * size, 2 * size))  # JPEG: an eighth to a half, if that is enough
        with (
            _LARGE_IMAGE_LOCK
            if image.width * image.height > _MAX_PARALLEL_PIXELS
            else contextlib.nullcontext()
        ):
            ImageOps.exif_transpose(image, in_place=True)
            converted = _convert(image, channels)
            square = ImageOps.fit(converted, (size, size), Image.Resampling.BILINEAR)
    pixels = np.asarray(square)
    return pixels[None] if channels == 1 else pixels.transpose(2, 0, 1)


def _check_size(image: "Image.Image") -> tuple[int, int]:
    width, height = image.size
    if width * height > _MAX_PIXELS or height > _MAX_HEIGHT:
        raise ValueError(
            f"it claims {width} x {height} pixels, more than {_MAX_PIXELS}, or {_MAX_HEIGHT} rows"
        )
    return width, height


def _convert(image: "Image.Image", channels: int) -> "Image.Image":
    from PIL import Image

    if image.mode.startswith("I"):  # 16 bits, for which Pillow may have 32
        values = np.asarray(image).astype(np.int64)
        image = Image.fromarray((values.clip(0, 65535) >> 8).astype(np.uint8))
    elif "transparency" in image.info and image.mode != "RGBA":
        image = image.convert("RGBA")
    return image.convert("L" if channels == 1 else "RGB")
