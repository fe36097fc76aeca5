"""The faces that glyphs are drawn from, and their characters as small grey images.

The faces are matplotlib's DejaVu styles, or those of a folder. All images have one scale and one
baseline.
"""

import importlib.util
import logging
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import east_asian_width

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.io.inputs import walk
from gnc_cli.parsing import abridge

if TYPE_CHECKING:
    from PIL import Image

_DEJAVU = tuple(
    f"DejaVu{family}{style}.ttf"
    for family, slant in (("Sans", "Oblique"), ("SansMono", "Oblique"), ("Serif", "Italic"))
    for style in ("", f"-{slant}", "-Bold", f"-Bold{slant}")
)
"""Three families in four styles each, all of which matplotlib ships."""
_SUFFIXES = (".ttf", ".otf", ".ttc")
_ITALIC_OR_OBLIQUE = 0b10_0000_0001
"""Bits 0 and 9 of `fsSelection` in a font's table OS/2."""
_CANVAS = 128
"""Side in pixels at which glyphs are drawn, then averaged down so that hinting has no effect."""
_MARGIN = _CANVAS // 16
"""Pixels of the canvas without ink on each side."""
_EM, _BASELINE = 90, 96
"""Size and baseline in pixels: accented capitals and descenders lie inside the margin."""
_WIDE_EM, _WIDE_BASELINE = 112, 107
"""The same for East Asian wide characters: their em square fills the canvas."""
_NONCHARACTER = "\U0010ffff"
"""Code point that is never a character, for which a face draws its sign for missing ones."""


@dataclass(frozen=True, eq=False)
class Face:
    """One style of a font family, and the characters it has."""

    path: str
    index: int
    """Number in a collection, else 0."""
    name: str
    """Family and style: "DejaVu Sans Bold Oblique"."""
    order: tuple[Any, ...]
    """Sort key: family, width, weight, slant, style, file and index."""
    characters: frozenset[int]
    """Code points that the face draws."""


def find_fonts(folder: str | None) -> tuple[Path, list[str]]:
    """Find the font files in a folder and its subfolders.

    Args:
        folder: a folder with .ttf, .otf or .ttc files; None for the DejaVu fonts of matplotlib.

    Returns:
        The folder, and the sorted paths of the files relative to it.

    Raises:
        DataError: it is not a folder, or has no font file.
    """
    if folder is None:
        spec = importlib.util.find_spec("matplotlib")  # its folder, without the cost of importing
        assert spec is not None and spec.submodule_search_locations
        root = Path(spec.submodule_search_locations[0], "mpl-data", "fonts", "ttf")
        return root, sorted(_DEJAVU)
    root = Path(folder)
    if not os.path.isdir(root):
        raise DataError(f"fonts: {folder!r} is not a folder; name one with .ttf, .otf, .ttc files")
    files = sorted(
        Path(subfolder, name).relative_to(root).as_posix()
        for subfolder, names in walk(root)
        for name in names
        if name.lower().endswith(_SUFFIXES) and Path(subfolder, name).is_file()
    )
    if not files:
        raise DataError(f"fonts: {folder!r} has no .ttf, .otf or .ttc file; name another folder")
    return root, files


def read_faces(root: Path, files: Sequence[str]) -> tuple[list[Face], list[str]]:
    """Read every face that can be drawn, and say why the others are skipped.

    Faces that cannot be read, that have no Unicode characters or no outlines, and styles that an
    earlier face has already are skipped.

    Returns:
        The faces, sorted by `Face.order`; one line for each skipped file, with its base name.

    Raises:
        DataError: fewer than two faces are usable.
    """
    # fontTools logs oddities of a font, of which no user of its images needs to know.
    logging.getLogger("fontTools").addHandler(logging.NullHandler())
    usable: list[Face] = []
    warnings: list[str] = []
    for name in files:
        # A broken font raises anything from struct.error to AssertionError in its reader.
        try:
            usable += [_read_face(root, name, index) for index in range(_count_faces(root / name))]
        except Exception as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            base = os.path.basename(name)
            warnings.append(f"{base} skipped: not a usable font ({reason[:80]})")
    styles: dict[tuple[Any, ...], Face] = {}
    for face in sorted(usable, key=lambda face: face.order):
        first = styles.setdefault(face.order[:-2], face)
        if first is not face:
            warnings.append(
                f"{os.path.basename(face.path)} skipped: {face.name} is also in "
                f"{os.path.basename(first.path)}"
            )
    if len(styles) < 2:
        raise DataError(
            f"the fonts in {root.name!r} have {len(styles)} usable face(s); training and test need "
            f"different ones: put in at least 2, better 5 or more; {abridge(warnings, 1)}"
        )
    return list(styles.values()), warnings


def split_faces(faces: Sequence[Face]) -> tuple[list[int], list[int]]:
    """Return the rows of the training and of the test faces: every fourth file is for testing.

    Of a family of four styles this takes the last, bold and slanted: training has seen its weight
    and its slant, but not together. With fewer than four files the last one is for testing. The
    faces of a collection share outlines, so they stay together, unless it is the only file.
    """
    files = list(dict.fromkeys(face.path for face in faces))
    units = [files.index(face.path) if files[1:] else row for row, face in enumerate(faces)]
    count = max(units) + 1
    test = set(range(3, count, 4)) or {count - 1}
    return (
        [row for row, unit in enumerate(units) if unit not in test],
        [row for row, unit in enumerate(units) if unit in test],
    )


def _count_faces(path: Path) -> int:
    from fontTools.ttLib.sfnt import readTTCHeader  # type: ignore[import-untyped]

    with open(path, "rb") as file:
        return readTTCHeader(file).numFonts if file.read(4) == b"ttcf" else 1


def _read_face(root: Path, name: str, index: int) -> Face:
    from fontTools.ttLib import TTFont  # type: ignore[import-untyped]
    from PIL import ImageFont

    path = str(root / name)
    ImageFont.truetype(path, _EM, index=index)  # a face of bitmaps alone is refused here
    with TTFont(path, lazy=True, fontNumber=index) as font:
        # The names of glyphs are not needed, and take long to read.
        font.setGlyphOrder([".notdef", *map(str, range(1, font["maxp"].numGlyphs))])
        names, style_bits = font["name"], font["OS/2"]
        family = names.getBestFamilyName() or Path(name).stem
        style = names.getBestSubFamilyName() or "Regular"
        glyphs = font.getBestCmap() or {}
        slanted = bool(style_bits.fsSelection & _ITALIC_OR_OBLIQUE)
        order = (
            family.casefold(),
            style_bits.usWidthClass,
            style_bits.usWeightClass,
            slanted,
            style.casefold(),
            name,
            index,
        )
    characters = frozenset(code for code, glyph in glyphs.items() if glyph != ".notdef")
    if not characters:
        raise ValueError("no Unicode characters")
    if len(characters) * _count_faces(root / name) > os.path.getsize(path):
        # A table of 16 bytes may claim all of Unicode, and a collection do so for each face.
        raise ValueError(f"it claims {len(characters):,} characters, more than it has bytes for")
    return Face(path, index, f"{family} {style}", order, characters)


class GlyphDrawer:
    """Drawer of a face's characters: white ink on black, centred from left to right.

    All have one scale and one baseline, so that o and O, comma and apostrophe differ. Ink that
    would cross the margin (a sixteenth of the image) is moved up or down, and made smaller only if
    it is larger than the margins allow. `index` is the face's number in a collection, `image_size`
    the side S of the images in pixels, a divisor of 128.
    """

    def __init__(self, path: str, index: int, image_size: int) -> None:
        from PIL import ImageFont

        self._image_size = image_size
        face = ImageFont.truetype(path, _EM, index=index, layout_engine=ImageFont.Layout.BASIC)
        self._sizes: dict[int, ImageFont.FreeTypeFont] = {_EM: face}
        self._missing = {size: self._ink(_NONCHARACTER, size) for size in (_EM, _WIDE_EM)}

    def draw(self, characters: Iterable[str]) -> np.ndarray:
        """Draw characters, uint8 (n, S, S), blank for an empty string and for a missing glyph."""
        side = self._image_size
        blank = bytes(side**2)
        images = b"".join(self._pixels(c) or blank if c else blank for c in characters)
        return np.frombuffer(images, np.uint8).reshape(-1, side, side)

    def _pixels(self, character: str) -> bytes | None:
        wide = east_asian_width(character) in "WF"
        size, baseline = (_WIDE_EM, _WIDE_BASELINE) if wide else (_EM, _BASELINE)
        glyph = self._ink(character, size)
        if glyph is None or glyph == self._missing[size]:
            return None
        side = _CANVAS - 2 * _MARGIN
        if max(glyph[0].size) > side:
            # Sizes are whole numbers, so ink may round up by a pixel.
            glyph = self._ink(character, max(1, size * (side - 1) // max(glyph[0].size)))
            if glyph is None:
                return None
        ink, offset = glyph
        y = min(max(baseline + offset, _MARGIN), _CANVAS - _MARGIN - ink.height)
        x = (_CANVAS - ink.width) // 2
        canvas = ink.crop((-x, -y, _CANVAS - x, _CANVAS - y))
        return canvas.reduce(_CANVAS // self._image_size).tobytes()

    def _ink(self, character: str, size: int) -> "tuple[Image.Image, int] | None":
        """Draw a character's ink alone; return it and its top below the baseline, None if blank."""
        from PIL import Image, ImageDraw

        face = self._sizes.get(size)
        if face is None:
            face = self._sizes[size] = self._sizes[_EM].font_variant(size=size)
        try:
            x, y, right, bottom = face.getbbox(character, anchor="ls")
            width, height = int(right - x), int(bottom - y)
            # A broken outline may claim any size.
            if not 0 < width * height < (8 * _CANVAS) ** 2:
                return None
            image = Image.new("L", (width, height))
            ImageDraw.Draw(image).text((-x, -y), character, fill=255, font=face, anchor="ls")
        except (OSError, ValueError):  # a broken outline
            return None
        box = image.getbbox()
        return None if box is None else (image.crop(box), int(y) + box[1])
