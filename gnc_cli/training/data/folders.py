"""Images in class folders: what cannot be read is counted and named, the rest has one size.

Three layouts are known: `train/CLASS/...` with `test/CLASS/...` or `val/CLASS/...`; Tiny-ImageNet's
(`val/images` with `val_annotations.txt`); and `CLASS/...` alone. Hidden files and files that are no
images by their suffix are passed over; links to folders are followed for the folder of a class and
no deeper.

Sets are decoded into memory at once. Only where they do not fit there (half of the machine's) every
picture is decoded once at the start, which finds what is broken, and again whenever it is needed.
A pool of threads decodes, since Pillow does so outside the GIL: the shorter side is brought to the
size and the middle is kept, with antialiasing; EXIF orientation is respected, transparency dropped,
16 bits are cut to 8.
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
    fits_in_memory,
    with_present_classes,
)

if TYPE_CHECKING:
    from PIL import Image

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
_MOST_PIXELS = 89_478_485
"""Beyond these Pillow warns of a decompression bomb."""
_MAX_HEIGHT = 65_535
"""Rows of pixels, each of which takes memory of its own."""
_MAX_BYTES = 1 << 28
"""Of a file."""
_LARGE = 1 << 23
"""Pixels beyond which one picture is decoded at a time."""
_ONE_LARGE = threading.Lock()
_AT_ONCE = 32
"""Files that a thread takes at a time."""
_MOST_THREADS = 16
_BLOCK = 1024
"""Files that are decoded to be checked at once."""


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
    pool = _decoding_pool(threads)
    files = [file for part in parts for file in part.paths]
    with warnings.catch_warnings(action="ignore"):  # Pillow's, of files that are counted here
        headers = _headers(files[:: max(1, len(files) // _SAMPLE)], pool)
        size = image_size or _common_size([side for side, _ in headers])
        channels = channels or (1 if all(grey for _, grey in headers) else 3)
        lazily = not fits_in_memory(len(files) * channels * size * size)
        broken: dict[str, str] = {}
        sets = []
        for part in parts:
            pictures, bad = _images_of(part.paths, channels, size, pool, lazily=lazily)
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
    line = f"{len(broken)} image(s) cannot be read and are left out: {abridge(named, 3)}"
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
                f"not: {abridge(unknown)}; rename or remove them"
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


class _FolderImages:
    """`Pictures` of files that are larger than memory, decoded whenever they are needed.

    Each is decoded once at the start, which finds what is broken: a header is no witness, for a
    file that was cut off has a good one.
    """

    def __init__(
        self, paths: Sequence[str], channels: int, size: int, pool: ThreadPoolExecutor
    ) -> None:
        self._paths, self._pool = paths, pool
        self.shape = (len(paths), channels, size, size)

    def some(self, rows: np.ndarray) -> "_FolderImages":
        """The pictures of these rows alone."""
        paths = [self._paths[row] for row in rows.tolist()]
        return _FolderImages(paths, *self.shape[1:3], self._pool)

    def __getitem__(self, rows: np.ndarray, /) -> np.ndarray:
        """uint8 (n, C, S, S)."""
        paths = [self._paths[row] for row in np.asarray(rows).tolist()]
        pictures, broken = _decode_all(paths, self.shape[1], self.shape[2], self._pool)
        if broken:
            row = min(broken)
            raise DataError(
                f"{paths[row]!r} cannot be decoded: {broken[row]}; replace or remove it"
            )
        return pictures


def _images_of(
    paths: Sequence[str], channels: int, size: int, pool: ThreadPoolExecutor, *, lazily: bool
) -> tuple[np.ndarray | _FolderImages, dict[int, str]]:
    """The pictures that can be decoded, in order; and by row why others cannot."""
    if lazily:
        broken: dict[int, str] = {}
        for start in range(0, len(paths), _BLOCK):
            _, bad = _decode_all(paths[start : start + _BLOCK], channels, size, pool)
            broken |= {start + row: reason for row, reason in bad.items()}
        kept = [path for row, path in enumerate(paths) if row not in broken]
        return _FolderImages(kept, channels, size, pool), broken
    pixels, broken = _decode_all(paths, channels, size, pool)
    kept_rows = [row for row in range(len(paths)) if row not in broken]
    for new, old in enumerate(kept_rows if broken else ()):  # memory may not hold two copies
        pixels[new] = pixels[old]
    return pixels[: len(kept_rows)], broken


def _decoding_pool(threads: int | None) -> ThreadPoolExecutor:
    """By default as many threads as this process has cores that no other of torchrun's shares.

    The OMP_NUM_THREADS that torchrun sets says nothing of decoding.
    """
    if threads is None:
        threads = min(_MOST_THREADS, process_cores() // (on_this_machine("LOCAL_WORLD_SIZE") or 1))
    return ThreadPoolExecutor(max(1, threads))


def _headers(paths: Sequence[str], pool: ThreadPoolExecutor) -> list[tuple[int, bool]]:
    """Return the shorter side in pixels of each file that has a header, in order, and whether it is
    greyscale; pixels are not decoded.
    """
    from PIL import Image

    def read(path: str) -> tuple[int, bool] | None:
        # A broken file can raise anything in its decoder.
        with (
            contextlib.suppress(Exception),
            open_regular(path) as file,
            Image.open(file) as picture,
        ):
            return min(_size(picture)), picture.mode.startswith(("1", "L", "I"))
        return None

    return [header for header in pool.map(read, paths) if header is not None]


def _decode_all(
    paths: Sequence[str], channels: int, size: int, pool: ThreadPoolExecutor
) -> tuple[np.ndarray, dict[int, str]]:
    """All pictures, uint8 (N, C, S, S), and by row why some could not be decoded."""
    pictures = np.zeros((len(paths), channels, size, size), np.uint8)
    broken: dict[int, str] = {}

    def fill(start: int) -> None:
        for row in range(start, min(start + _AT_ONCE, len(paths))):
            try:
                pictures[row] = _decode(paths[row], channels, size)
            except Exception as error:  # a broken file can raise anything in its decoder
                reason = " ".join(str(error).split())[:100] or type(error).__name__
                unknown = type(error).__name__ == "UnidentifiedImageError"
                broken[row] = "it is no image that Pillow knows" if unknown else reason

    list(pool.map(fill, range(0, len(paths), _AT_ONCE)))
    return pictures, broken


def _decode(path: str, channels: int, size: int) -> np.ndarray:
    """One file, uint8 (C, S, S)."""
    from PIL import Image, ImageOps

    # In one piece: Pillow reads a few bytes at a time, and each costs a call of the system.
    with open_regular(path) as file:
        if (length := file_size(file)) > _MAX_BYTES:
            raise ValueError(f"it has {length:,} bytes, more than {_MAX_BYTES:,}")
        data = io.BytesIO(file.read())
    with Image.open(data) as picture:
        _size(picture)
        picture.draft(None, (2 * size, 2 * size))  # JPEG: an eighth to a half, if that is enough
        with _ONE_LARGE if picture.width * picture.height > _LARGE else contextlib.nullcontext():
            ImageOps.exif_transpose(picture, in_place=True)
            plain = _converted(picture, channels)
            square = ImageOps.fit(plain, (size, size), Image.Resampling.BILINEAR)
    pixels = np.asarray(square)
    return pixels[None] if channels == 1 else pixels.transpose(2, 0, 1)


def _size(picture: "Image.Image") -> tuple[int, int]:
    width, height = picture.size
    if width * height > _MOST_PIXELS or height > _MAX_HEIGHT:
        raise ValueError(
            f"it claims {width} x {height} pixels, more than {_MOST_PIXELS}, or {_MAX_HEIGHT} rows"
        )
    return width, height


def _converted(picture: "Image.Image", channels: int) -> "Image.Image":
    from PIL import Image

    if picture.mode.startswith("I"):  # 16 bits, also where Pillow has 32 for them
        values = np.asarray(picture).astype(np.int64)
        picture = Image.fromarray((values.clip(0, 65535) >> 8).astype(np.uint8))
    elif "transparency" in picture.info and picture.mode != "RGBA":
        picture = picture.convert("RGBA")
    return picture.convert("L" if channels == 1 else "RGB")
