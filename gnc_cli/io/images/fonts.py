"""The faces that glyphs are drawn from: matplotlib's DejaVu styles, or those of a folder."""

import importlib.util
import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gnc_cli.errors import DataError, UnavailableError

__all__ = ["DEJAVU", "Face", "find_fonts", "read_faces", "split_faces"]

DEJAVU = tuple(
    f"DejaVu{family}{style}.ttf"
    for family, slant in (("Sans", "Oblique"), ("SansMono", "Oblique"), ("Serif", "Italic"))
    for style in ("", f"-{slant}", "-Bold", f"-Bold{slant}")
)
"""Three families in four styles each, all of which matplotlib ships."""
SUFFIXES = (".ttf", ".otf", ".ttc")
LARGEST_COLLECTION = 1000
ITALIC_OR_OBLIQUE = 0b10_0000_0001


@dataclass(frozen=True, eq=False)
class Face:
    """One style of a font family, and the characters it has."""

    path: str
    index: int
    """Number in a collection; 0 in a file of one face."""
    name: str
    """Family and style: "DejaVu Sans Bold Oblique"."""
    order: tuple[Any, ...]
    """Sorts faces by family, width, weight, slant and style."""
    characters: frozenset[int]
    """Code points that the face draws."""


def find_fonts(folder: str | None) -> tuple[Path, list[str]]:
    """The folder of the fonts and the paths of the files in it, sorted; subfolders too.

    Args:
        folder: any folder of .ttf, .otf and .ttc files; None: the DejaVu fonts of matplotlib.

    Raises:
        DataError: not a folder, or no font in it.
        UnavailableError: matplotlib or one of its fonts is not there.
    """
    if folder is None:
        spec = importlib.util.find_spec("matplotlib")  # its folder, without the cost of importing
        if spec is None or not spec.submodule_search_locations:
            raise UnavailableError("glyphs need the fonts of matplotlib: pip install matplotlib")
        root = Path(spec.submodule_search_locations[0], "mpl-data", "fonts", "ttf")
        if missing := [name for name in DEJAVU if not (root / name).is_file()]:
            raise UnavailableError(
                f"matplotlib has no {missing[0]!r} in its fonts; reinstall it or name a --fonts DIR"
            )
        return root, sorted(DEJAVU)
    root = Path(folder)
    if not root.is_dir():
        raise DataError(f"--fonts {folder!r} is not a folder; name one with .ttf, .otf, .ttc files")
    files = sorted(
        Path(place, name).relative_to(root).as_posix()
        for place, _, names in os.walk(root)
        for name in names
        if name.lower().endswith(SUFFIXES)
    )
    if not files:
        raise DataError(f"--fonts {folder!r} has no .ttf, .otf or .ttc file; name another folder")
    return root, files


def read_faces(root: Path, files: Sequence[str]) -> tuple[list[Face], list[str]]:
    """Every face that can be drawn, in the order of `Face.order`, and why others were skipped.

    Faces that cannot be read, that have no Unicode characters or no outlines, and styles that an
    earlier face has already are skipped, each with a line that gives the file's base name.

    Raises:
        DataError: fewer than two faces are left, so that no style could be kept for testing.
    """
    # fontTools logs oddities of a font, which are nobody's business here.
    logging.getLogger("fontTools").addHandler(logging.NullHandler())
    found: list[Face] = []
    warnings: list[str] = []
    for name in files:
        base = os.path.basename(name)
        # A broken font raises anything from struct.error to AssertionError in its reader.
        try:
            count = _count_faces(root / name)
        except Exception as error:
            warnings.append(_skipped(base, error))
            continue
        for index in range(count):
            try:
                found.append(_read_face(root, name, index))
            except Exception as error:
                warnings.append(_skipped(base if count == 1 else f"{base} face {index}", error))
    styles: dict[tuple[Any, ...], Face] = {}
    for face in sorted(found, key=lambda face: face.order):
        first = styles.setdefault(face.order[:-2], face)
        if first is not face:
            warnings.append(
                f"{os.path.basename(face.path)} skipped: {face.name} is also in "
                f"{os.path.basename(first.path)}"
            )
    if len(styles) < 2:
        raise DataError(
            f"the fonts in {root.name!r} have {len(styles)} usable face(s); training and test need "
            f"different ones: put in at least 2, better 5 or more"
            + (f" ({warnings[0]})" if warnings else "")
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


def _skipped(name: str, error: Exception) -> str:
    reason = " ".join(str(error).split()) or type(error).__name__
    return f"{name} skipped: not a usable font ({reason[:80]})"


def _count_faces(path: Path) -> int:
    with open(path, "rb") as file:
        head = file.read(12)
    if head[:4] != b"ttcf":
        return 1
    count = int.from_bytes(head[8:12], "big")
    if not 0 < count <= LARGEST_COLLECTION:
        raise ValueError(f"a collection of {count} faces")
    return count


def _read_face(root: Path, name: str, index: int) -> Face:
    from fontTools.ttLib import TTFont  # type: ignore[import-untyped]
    from PIL import ImageFont

    path = str(root / name)
    ImageFont.truetype(path, 90, index=index)  # a face of bitmaps alone is refused here
    with TTFont(path, lazy=True, fontNumber=index) as font:
        names, style_bits = font["name"], font["OS/2"]
        family = names.getBestFamilyName() or Path(name).stem
        style = names.getBestSubFamilyName() or "Regular"
        glyphs = font.getBestCmap() or {}
        slanted = bool(style_bits.fsSelection & ITALIC_OR_OBLIQUE)
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
    return Face(path, index, f"{family} {style}", order, characters)
