"""Image files to uint8 pictures of one size, by a pool of threads: Pillow decodes outside the GIL.

The shorter side is brought to the size and the middle is kept, with antialiasing; EXIF orientation
is respected, transparency dropped, 16 bits are cut to 8.
"""

import contextlib
import io
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.io.inputs import file_size, open_regular
from gnc_cli.runtime.distributed import on_this_machine
from gnc_cli.runtime.system import process_cores

if TYPE_CHECKING:
    from PIL import Image

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


class FolderImages:
    """`Pictures` of files that are larger than memory, decoded whenever they are needed.

    Each is decoded once at the start, which finds what is broken: a header is no witness, for a
    file that was cut off has a good one.
    """

    def __init__(
        self, paths: Sequence[str], channels: int, size: int, pool: ThreadPoolExecutor
    ) -> None:
        self._paths, self._pool = paths, pool
        self.shape = (len(paths), channels, size, size)

    def some(self, rows: np.ndarray) -> "FolderImages":
        """The pictures of these rows alone."""
        paths = [self._paths[row] for row in rows.tolist()]
        return FolderImages(paths, *self.shape[1:3], self._pool)

    def __getitem__(self, rows: np.ndarray, /) -> np.ndarray:
        """uint8 (n, C, S, S)."""
        paths = [self._paths[row] for row in np.asarray(rows).tolist()]
        pictures, broken = decode_all(paths, self.shape[1], self.shape[2], self._pool)
        if broken:
            row = min(broken)
            raise DataError(
                f"{paths[row]!r} cannot be decoded: {broken[row]}; replace or remove it"
            )
        return pictures


def images_of(
    paths: Sequence[str], channels: int, size: int, pool: ThreadPoolExecutor, *, lazily: bool
) -> tuple[np.ndarray | FolderImages, dict[int, str]]:
    """The pictures that can be decoded, in order; and by row why others cannot."""
    if lazily:
        broken: dict[int, str] = {}
        for start in range(0, len(paths), _BLOCK):
            _, bad = decode_all(paths[start : start + _BLOCK], channels, size, pool)
            broken |= {start + row: reason for row, reason in bad.items()}
        kept = [path for row, path in enumerate(paths) if row not in broken]
        return FolderImages(kept, channels, size, pool), broken
    pixels, broken = decode_all(paths, channels, size, pool)
    kept_rows = [row for row in range(len(paths)) if row not in broken]
    for new, old in enumerate(kept_rows if broken else ()):  # memory may not hold two copies
        pixels[new] = pixels[old]
    return pixels[: len(kept_rows)], broken


def decoding_pool(threads: int | None) -> ThreadPoolExecutor:
    """By default as many threads as this process has cores that no other of torchrun's shares.

    The OMP_NUM_THREADS that torchrun sets says nothing of decoding.
    """
    if threads is None:
        threads = min(_MOST_THREADS, process_cores() // (on_this_machine("LOCAL_WORLD_SIZE") or 1))
    return ThreadPoolExecutor(max(1, threads))


@dataclass(frozen=True)
class Header:
    """What the first bytes of an image file say."""

    side: int
    """The shorter side in pixels."""
    grey: bool


def read_headers(paths: Sequence[str], pool: ThreadPoolExecutor) -> list[Header]:
    """The headers of the files that have one, in order; pixels are not decoded."""
    from PIL import Image

    def read(path: str) -> Header | None:
        # A broken file can raise anything in its decoder.
        with (
            contextlib.suppress(Exception),
            open_regular(path) as file,
            Image.open(file) as picture,
        ):
            return Header(min(_size(picture)), picture.mode.startswith(("1", "L", "I")))
        return None

    return [header for header in pool.map(read, paths) if header is not None]


def decode_all(
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
