"""The faces that glyphs are drawn from, and their characters as small grey pictures.

The faces are matplotlib's DejaVu styles, or those of a folder; pictures are all to one scale and on
one baseline.
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
_CANVAS = 128
"""Glyphs are drawn this large and averaged down, so that hinting does not shape them."""
_MARGIN = _CANVAS // 16
_EM, _BASELINE = 90, 96
"""Size and place of letters: capitals with an accent, and descenders, are inside the margin."""
_WIDE_EM, _WIDE_BASELINE = 112, 107
"""East Asian wide characters are designed on the em square; it fills the picture."""
_ABSENT = "\U0010ffff"
"""Never a character: what a face draws here is its sign for a missing one."""


@dataclass(frozen=True, eq=False)
class Face:
    """One style of a font family, and the characters it has."""

    path: str
    index: int
    """Number in a collection, else 0."""
    name: str
    """Family and style: "DejaVu Sans Bold Oblique"."""
    order: tuple[Any, ...]
    """Sorts faces by family, width, weight, slant and style."""
    characters: frozenset[int]
    """Code points that the face draws."""


def find_fonts(folder: str | None) -> tuple[Path, list[str]]:
    """The folder of the fonts and the paths of the files in it, sorted; subfolders too.

    `folder` is any folder of .ttf, .otf and .ttc files; None: the DejaVu fonts of matplotlib.
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
        Path(place, name).relative_to(root).as_posix()
        for place, names in walk(root)
        for name in names
        if name.lower().endswith(_SUFFIXES) and Path(place, name).is_file()
    )
    if not files:
        raise DataError(f"fonts: {folder!r} has no .ttf, .otf or .ttc file; name another folder")
    return root, files


def read_faces(root: Path, files: Sequence[str]) -> tuple[list[Face], list[str]]:
    """Every face that can be drawn, in the order of `Face.order`, and why others were skipped.

    Faces that cannot be read, that have no Unicode characters or no outlines, and styles that an
    earlier face has already are skipped, each with a line that gives the file's base name.
    """
    # fontTools logs oddities of a font, which are nobody's business here.
    logging.getLogger("fontTools").addHandler(logging.NullHandler())
    usable: list[Face] = []
    warnings: list[str] = []
    for name in files:
        # A broken font raises anything from struct.error to AssertionError in its reader.
        try:
            usable += [_read_face(root, name, at) for at in range(_count_faces(root / name))]
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
    """Rows of the training and of the test faces: every fourth file in order is for testing.

    Of a family of four styles this takes the last, bold and slanted, whose weight and whose slant
    training has seen apart. With fewer than four files the last one is for testing. The faces of a
    collection share outlines, so they stay together, unless it is the only file.
    """
    units = list(dict.fromkeys(face.path for face in faces))
    places = [units.index(face.path) for face in faces]
    if len(units) == 1:
        places = list(range(len(faces)))
    count = max(places) + 1
    test = set(range(3, count, 4)) or {count - 1}
    return (
        [row for row, place in enumerate(places) if place not in test],
        [row for row, place in enumerate(places) if place in test],
    )


def _count_faces(path: Path) -> int:
    from fontTools.ttLib.sfnt import readTTCHeader  # type: ignore[import-untyped]

    with open(path, "rb") as file:
        return readTTCHeader(file).numFonts if file.read(4) == b"ttcf" else 1


def _read_face(root: Path, name: str, index: int) -> Face:
    from fontTools.ttLib import TTFont  # type: ignore[import-untyped]
    from PIL import ImageFont

    path = str(root / name)
    ImageFont.truetype(path, 90, index=index)  # a face of bitmaps alone is refused here
    with TTFont(path, lazy=True, fontNumber=index) as font:
        # The names of glyphs say nothing here, and take long to read.
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
    """Draws characters of a face, white ink on black, the ink in the middle from left to right.

    All are to one scale and on one baseline, so that o and O, comma and apostrophe differ. Ink
    that would cross the margin (a sixteenth of the picture) is moved up or down, and made smaller
    only where it is larger than what the margins leave. `index` is the face's number in a
    collection, `image_size` the side S of the pictures, a divisor of 128.
    """

    def __init__(self, path: str, index: int, image_size: int) -> None:
        from PIL import ImageFont

        self._image_size = image_size
        face = ImageFont.truetype(path, _EM, index=index, layout_engine=ImageFont.Layout.BASIC)
        self._sizes: dict[int, ImageFont.FreeTypeFont] = {_EM: face}
        self._absent = {size: self._ink(_ABSENT, size) for size in (_EM, _WIDE_EM)}

    def draw(self, characters: Iterable[str]) -> np.ndarray:
        """Pictures of the characters, uint8 (n, S, S); blank where the face has no glyph.

        An empty string stands for a character that is not to be drawn.
        """
        side = self._image_size
        blank = bytes(side**2)
        pictures = b"".join(self._picture(c) or blank if c else blank for c in characters)
        return np.frombuffer(pictures, np.uint8).reshape(-1, side, side)

    def _picture(self, character: str) -> bytes | None:
        wide = east_asian_width(character) in "WF"
        size, baseline = (_WIDE_EM, _WIDE_BASELINE) if wide else (_EM, _BASELINE)
        drawn = self._ink(character, size)
        if drawn is None or drawn == self._absent[size]:
            return None
        side = _CANVAS - 2 * _MARGIN
        if max(drawn[0].size) > side:
            # Sizes are whole numbers, so ink may round up by a pixel.
            drawn = self._ink(character, max(1, size * (side - 1) // max(drawn[0].size)))
            if drawn is None:
                return None
        ink, above = drawn
        top = min(max(baseline + above, _MARGIN), _CANVAS - _MARGIN - ink.height)
        left = (_CANVAS - ink.width) // 2
        picture = ink.crop((-left, -top, _CANVAS - left, _CANVAS - top))
        return picture.reduce(_CANVAS // self._image_size).tobytes()

    def _ink(self, character: str, size: int) -> "tuple[Image.Image, int] | None":
        """The character's ink alone, and its top relative to the baseline; None without ink."""
        from PIL import Image, ImageDraw

        face = self._sizes.get(size)
        if face is None:
            face = self._sizes[size] = self._sizes[_EM].font_variant(size=size)
        try:
            left, top, right, bottom = face.getbbox(character, anchor="ls")
            width, height = int(right - left), int(bottom - top)
            if not 0 < width * height < (8 * _CANVAS) ** 2:
                return None
            image = Image.new("L", (width, height))
            ImageDraw.Draw(image).text((-left, -top), character, fill=255, font=face, anchor="ls")
        except (OSError, ValueError):  # a broken outline
            return None
        box = image.getbbox()
        return None if box is None else (image.crop(box), int(top) + box[1])
