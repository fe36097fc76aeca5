"""Characters of one face as small grey pictures, all to one scale and on one baseline."""

from collections.abc import Iterable
from typing import TYPE_CHECKING
from unicodedata import east_asian_width

import numpy as np

if TYPE_CHECKING:
    from PIL import Image

__all__ = ["GlyphDrawer"]

CANVAS = 128
"""Glyphs are drawn this large and averaged down, so that hinting does not shape them."""
MARGIN = CANVAS // 16
EM, BASELINE = 90, 96
"""Size and place of letters: capitals with an accent, and descenders, are inside the margin."""
WIDE_EM, WIDE_BASELINE = 112, 107
"""East Asian wide characters are designed on the em square; it fills the picture."""
ABSENT = "\U0010ffff"
"""Never a character: what a face draws here is its sign for a missing one."""


class GlyphDrawer:
    """Draws characters of a face, white ink on black, the ink in the middle from left to right.

    All are to one scale and on one baseline, so that o and O, comma and apostrophe differ. Ink
    that would cross the margin (a sixteenth of the picture) is moved up or down, and made smaller
    only where it is larger than what the margins leave.

    Args:
        path: a TrueType or OpenType file or collection.
        index: the face's number in a collection.
        image_size: side S of the pictures, a divisor of 128.

    Raises:
        OSError: Pillow cannot open the face, or not at this size.
    """

    def __init__(self, path: str, index: int, image_size: int) -> None:
        from PIL import ImageFont

        self._image_size = image_size
        face = ImageFont.truetype(path, EM, index=index, layout_engine=ImageFont.Layout.BASIC)
        self._sizes: dict[int, ImageFont.FreeTypeFont] = {EM: face}
        self._absent = {size: self._ink(ABSENT, size) for size in (EM, WIDE_EM)}

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
        size, baseline = (WIDE_EM, WIDE_BASELINE) if wide else (EM, BASELINE)
        drawn = self._ink(character, size)
        if drawn is None or drawn == self._absent[size]:
            return None
        room = CANVAS - 2 * MARGIN
        if max(drawn[0].size) > room:
            # Sizes are whole numbers, so ink may round up by a pixel.
            drawn = self._ink(character, max(1, size * (room - 1) // max(drawn[0].size)))
            if drawn is None:
                return None
        ink, above = drawn
        top = min(max(baseline + above, MARGIN), CANVAS - MARGIN - ink.height)
        left = (CANVAS - ink.width) // 2
        picture = ink.crop((-left, -top, CANVAS - left, CANVAS - top))
        return picture.reduce(CANVAS // self._image_size).tobytes()

    def _ink(self, character: str, size: int) -> "tuple[Image.Image, int] | None":
        """The character's ink alone, and its top relative to the baseline; None without ink."""
        from PIL import Image, ImageDraw

        face = self._sizes.get(size)
        if face is None:
            face = self._sizes[size] = self._sizes[EM].font_variant(size=size)
        try:
            left, top, right, bottom = face.getbbox(character, anchor="ls")
            width, height = int(right - left), int(bottom - top)
            if not 0 < width * height < (8 * CANVAS) ** 2:
                return None
            image = Image.new("L", (width, height))
            ImageDraw.Draw(image).text((-left, -top), character, fill=255, font=face, anchor="ls")
        except (OSError, ValueError):  # a broken outline
            return None
        box = image.getbbox()
        return None if box is None else (image.crop(box), int(top) + box[1])
