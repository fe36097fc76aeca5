"""Characters as classes, drawn from fonts: real data with many classes and no download.

Some styles of the fonts are for training, the others for testing: a test image shows a known
character in a style that training has not seen. Characters that look the same are one class: A,
Alpha and the Cyrillic A. O and 0 are two.
"""

import dataclasses
import hashlib
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc_cli.errors import DataError, UsageError
from gnc_cli.parameters import spelled
from gnc_cli.parsing import abridge
from gnc_cli.training.data.fonts import Face, GlyphDrawer, find_fonts, read_faces, split_faces
from gnc_cli.training.data.image_set import ImageData, ImageSet

_IMAGE_SIZES = (16, 32, 64)
"""Sides in pixels: multiples of 8, for the cells of the rule, that divide the canvas of 128."""
_SCRIPTS = {
    "hangul": ("HANGUL SYLLABLE",),
    "han": ("CJK UNIFIED IDEOGRAPH",),
    "kana": ("HIRAGANA LETTER", "KATAKANA LETTER"),
}
"""First words of the Unicode names of a script's characters, if these are not the script's name."""
_DEJAVU = "DejaVu of matplotlib"
"""Name of the default fonts in reports."""
_DEFAULT_CLASSES = 100
"""Number of classes taken for the letters of a face if the call has none: a face needs half of
them."""
_CHARACTERS_PER_CHUNK = 128
"""Number of characters drawn together. More would draw characters that a few classes never need."""
_MAX_LISTED_MERGES = 20
"""Largest number of merged pairs in the facts, those of the first classes: enough for a check."""
_RULE = (
    "merged where at least half of the faces draw both alike: no 2 x 2 pixels differ by more than "
    "a fifth of full ink on average, nor 8 x 8 cells by more than 1/32 in root mean square"
)
"""Rule by which characters that look alike are one class, in words."""
_SIDE_CELLS = 8
"""Number of cells along each side of an image, as in `_RULE`."""
_MAX_WINDOW_DIFFERENCE = 4 * 255 // 5
"""Largest difference in ink summed over 2 x 2 pixels: a fifth of full ink, as in `_RULE`."""
_BLOCK_PAIRS = 512
"""Number of pairs compared pixel by pixel together, which bounds the memory."""


def glyph_images(
    classes: int | None,
    image_size: int,
    fonts: str | None,
    script: str | None = None,
) -> ImageData:
    """Draw images of characters, one class per character, in training and in test styles.

    Classes come in a fixed order: digits and letters of ASCII, then the others by code point.
    Letters, numbers, punctuation and symbols take part. Characters that are blank or look like an
    earlier one (`GlyphClasses`) do not. Of matplotlib's fonts a character must be in all 12 styles,
    9 for training and 3 for testing. Of a folder's (`fonts`) it must be in four training faces and
    one test face, or in as many as there are. Without `classes` all that the fonts have are drawn.

    With a `script` (`hangul`, `han`, `kana`, or the word that the Unicode names of its characters
    begin with: `latin`, `greek`, `thai`) its letters alone are drawn: first those that most faces
    have, of these the ones without accents, then by code point. Faces with less than half as many
    of them as classes are dropped before training and test are split. If several faces draw a
    character with the same pixels, one image stays, for training if possible. Only the DejaVu
    styles without a `script` keep all, nine and three per class.

    Args:
        classes: number of classes.
        image_size: side S of the images in pixels: 16, 32 or 64.
        fonts: a folder of fonts; None for those of matplotlib.
        script: the script whose letters are drawn.

    Returns:
        Images uint8 (N, 1, S, S), ordered by class. The bytes are the same on every call with the
        same fonts, Pillow and FreeType.

    Raises:
        UsageError: the size is none of these.
        DataError: fonts are missing or unusable, or have too few different characters.
    """
    if image_size not in _IMAGE_SIZES:
        raise UsageError(
            f"{spelled('image_size', image_size)} is not for glyphs: choose 16, 32 or 64"
        )
    from PIL import __version__, features

    script = script and script.lower()
    root, files = find_fonts(fonts)
    faces, warnings = read_faces(root, files)
    name = _DEJAVU if fonts is None else root.name
    if script is not None:
        faces = _faces_with_script(faces, script, classes, name, warnings)
    train, test = split_faces(faces)
    all_styles = fonts is None and script is None
    split = _Split(
        train,
        test,
        min_train=len(train) if all_styles else min(4, len(train)),
        min_test=len(test) if all_styles else 1,
    )
    characters = _candidates(faces, split, common_first=script is not None)
    glyphs = _distinct_glyphs(faces, split, characters, classes, image_size)
    if len(glyphs.names) < (classes or 2):
        raise DataError(
            f"the fonts in {name!r} give {len(glyphs.names)} classes at {image_size} pixels "
            f"({glyphs.facts['merged']} of {len(characters)} characters look like others); ask for "
            f"fewer {spelled('classes')}, or name fonts with more faces of one script"
        )
    present = has_ink(glyphs.images)
    if not all_styles:
        _drop_repeated(glyphs.images, present, [*train, *test])
    sets = [_image_set(glyphs.images[:, rows], present[:, rows]) for rows in (train, test)]
    facts: dict[str, Any] = {
        "fonts": name,
        "script": script,
        "training_styles": [faces[row].name for row in train],
        "test_styles": [faces[row].name for row in test],
        "image_size": image_size,
        **glyphs.facts,
        "rule": _RULE,
        "repeated": int(has_ink(glyphs.images).sum() - present.sum()),
        "sha256": _sha256(sets),
        "pillow": __version__,
        "freetype": features.version_module("freetype2") or "none",
    }
    return ImageData(
        sets[0],
        sets[1],
        class_names=tuple(glyphs.names),
        name="glyphs",
        facts=facts,
        warnings=tuple(warnings),
        flip=False,
    )


def glyph_test_images(
    names: Sequence[str], image_size: int, fonts: str | None
) -> tuple[ImageSet, list[int], str, list[str]]:
    """Draw some characters with all faces of a folder, each different image once.

    A test set for networks that learned these characters from other fonts: all faces take part, and
    nothing is merged.

    Args:
        names: names of the classes; those of more than one character have no image.
        image_size: side S of the images in pixels.
        fonts: a folder of fonts; None for those of matplotlib.

    Returns:
        The images uint8 (N, 1, S, S), with labels (N,) that count the characters drawn; their
        indices in `names`; the name of the fonts; one line for each face skipped.

    Raises:
        DataError: fonts are missing or unusable, or have none of the characters.
    """
    root, files = find_fonts(fonts)
    faces, warnings = read_faces(root, files)
    drawers = [GlyphDrawer(face.path, face.index, image_size) for face in faces]
    images = _draw(faces, drawers, [name if len(name) == 1 else "" for name in names])
    present = has_ink(images)
    _drop_repeated(images, present, range(len(faces)))
    rows = np.flatnonzero(present.any(axis=1))
    title = _DEJAVU if fonts is None else root.name
    if not len(rows):
        raise DataError(
            f"the fonts in {title!r} have none of the network's classes ({abridge(names)}); "
            f"give {spelled('ood')} other fonts, as in glyphs:DIR"
        )
    return _image_set(images[rows], present[rows]), rows.tolist(), title, warnings


@dataclass(frozen=True)
class _Split:
    """Rows of the faces for training and for testing, and how many must have a character."""

    train: list[int]
    """Rows of the training faces."""
    test: list[int]
    """Rows of the test faces."""
    min_train: int
    """Smallest number of training faces that have a character of a class."""
    min_test: int
    """Smallest number of test faces that have it."""


@dataclass(frozen=True, eq=False)
class _Glyphs:
    """Characters that became classes."""

    names: list[str]
    """The characters, in the order of the classes."""
    images: np.ndarray
    """uint8 (K, F, S, S): one image per class and face, blank if the face lacks the character."""
    facts: dict[str, Any]
    """Plain JSON: numbers of characters tried, blank and merged, and the first merged pairs."""


def _faces_with_script(
    faces: Sequence[Face], script: str, classes: int | None, fonts: str, warnings: list[str]
) -> list[Face]:
    """Return the faces with enough letters of a script, reduced to these; warn of the others."""
    prefixes = _SCRIPTS.get(script, (f"{script.upper()} ",))
    codes: frozenset[int] = frozenset().union(*(face.characters for face in faces))
    letter_codes = {
        code
        for code in codes
        if unicodedata.name(chr(code), "").startswith(prefixes)
        and unicodedata.category(chr(code)) in ("Lu", "Ll", "Lt", "Lo")
    }
    min_letters = max(1, (classes or _DEFAULT_CLASSES) // 2)
    letters = [
        dataclasses.replace(face, characters=face.characters & letter_codes) for face in faces
    ]
    usable = [face for face in letters if len(face.characters) >= min_letters]
    if len(usable) < 2:
        raise DataError(
            f"{spelled('script', script)}: {len(usable)} of {len(faces)} faces in {fonts!r} have "
            f"{min_letters} or more of its letters; name other {spelled('fonts')}, or a script: "
            f"{', '.join(_SCRIPTS)}, or the first word of its letters' Unicode names, as in latin"
        )
    if dropped := len(faces) - len(usable):
        warnings.append(
            f"{dropped} face(s) have fewer than {min_letters} {script} letters: left out"
        )
    return usable


def _candidates(faces: Sequence[Face], split: _Split, *, common_first: bool) -> list[str]:
    """Return the characters that enough faces have, in the order of their classes.

    Digits and letters of ASCII come first, then the others by code point. With `common_first` come
    those that most faces have, and of these letters without accents.
    """
    in_train = Counter(code for row in split.train for code in faces[row].characters)
    in_test = Counter(code for row in split.test for code in faces[row].characters)
    characters = [
        chr(code)
        for code, count in in_train.items()
        # Letters, numbers, punctuation, symbols: no marks that combine, no spaces, no controls.
        if count >= split.min_train
        and in_test[code] >= split.min_test
        and unicodedata.category(chr(code))[0] in "LNPS"
    ]
    if not common_first:
        return sorted(characters, key=lambda c: (not (c.isascii() and c.isalnum()), c))
    total = in_train + in_test
    return sorted(characters, key=lambda c: (-total[ord(c)], bool(unicodedata.decomposition(c)), c))


def _distinct_glyphs(
    faces: Sequence[Face],
    split: _Split,
    characters: Sequence[str],
    classes: int | None,
    image_size: int,
) -> _Glyphs:
    """Draw characters in order until `classes` of them are neither blank nor alike."""
    distinct = GlyphClasses(len(faces), image_size)
    names: list[str] = []
    merged: list[tuple[int, str]] = []
    blank = 0
    for character, has_quorum, match in _matches(faces, split, characters, distinct):
        if not has_quorum:
            blank += 1
        elif match is None:
            names.append(character)
        else:
            merged.append((match, character))
        if len(names) == classes:
            break
    facts = {
        "characters": len(names) + len(merged) + blank,
        "blank": blank,
        "merged": len(merged),
        "merged_first": [[names[k], c] for k, c in sorted(merged)[:_MAX_LISTED_MERGES]],
    }
    return _Glyphs(names, np.array(distinct.images[: len(names)]), facts)


def _matches(
    faces: Sequence[Face], split: _Split, characters: Sequence[str], distinct: "GlyphClasses"
) -> Iterator[tuple[str, bool, int | None]]:
    """Yield each character, whether enough faces draw it, and the earlier class that it matches."""
    drawers = [GlyphDrawer(face.path, face.index, distinct.image_size) for face in faces]
    for start in range(0, len(characters), _CHARACTERS_PER_CHUNK):
        chunk = characters[start : start + _CHARACTERS_PER_CHUNK]
        images = _draw(faces, drawers, chunk)
        inked = has_ink(images)
        has_quorum = (inked[:, split.train].sum(1) >= split.min_train) & (
            inked[:, split.test].sum(1) >= split.min_test
        )
        matches = iter(distinct.add(images[has_quorum]))
        for character, usable in zip(chunk, has_quorum.tolist(), strict=True):
            yield character, usable, next(matches) if usable else None


def _draw(
    faces: Sequence[Face], drawers: Sequence[GlyphDrawer], characters: Sequence[str]
) -> np.ndarray:
    """Draw characters with each face, uint8 (n, F, S, S); blank if a face lacks one."""
    columns = [
        drawer.draw(c if c and ord(c) in face.characters else "" for c in characters)
        for drawer, face in zip(drawers, faces, strict=True)
    ]
    return np.stack(columns, axis=1)


def _drop_repeated(images: np.ndarray, present: np.ndarray, order: Sequence[int]) -> None:
    """Clear `present` (K, F) where an earlier face in `order` draws the same pixels.

    The faces of a collection share most outlines, and so do the proportional and the monospaced
    face of a family: a test image would be one of training.
    """
    for class_images, class_present in zip(images, present, strict=True):
        earlier: set[bytes] = set()
        for row in order:
            pixels = class_images[row].tobytes()
            class_present[row] &= pixels not in earlier
            earlier.add(pixels)


def _image_set(images: np.ndarray, present: np.ndarray) -> ImageSet:
    """Return the images (K, F, S, S) that are `present` (K, F), as (N, 1, S, S) with labels."""
    return ImageSet(images[present][:, None], np.nonzero(present)[0].astype(np.int64))


def _sha256(sets: Sequence[ImageSet]) -> str:
    digest = hashlib.sha256()
    for array in [array for part in sets for array in (part.images, part.labels)]:
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


class GlyphClasses:
    """Characters that differ from all before them, collected in order.

    A character is compared with the classes alone, not with those merged into them: the rule is
    not transitive, and merged ones would let a class drift. A face that lacks a character (a blank
    image) has no vote. The comparison is exact, in whole numbers. A matrix product over cells only
    selects the pairs worth comparing, so that 20,000 characters take seconds.
    """

    def __init__(self, faces: int, image_size: int) -> None:
        self.image_size = image_size
        self.images: list[np.ndarray] = []
        """Images of each class, uint8 (F, S, S), one per face."""
        self._cells = np.empty((faces, 0, _SIDE_CELLS * _SIDE_CELLS), np.float32)
        self._full_cell = 255 * (image_size // _SIDE_CELLS) ** 2
        """Ink of a cell that is all white."""

    def add(self, images: np.ndarray) -> list[int | None]:
        """Compare further characters with the classes, and append those that match none.

        Args:
            images: one per character and face, uint8 (m, F, S, S).

        Returns:
            For each character the class that it matches, None if it became a class itself.
        """
        # Ink of the 8 x 8 cells as parts of full ink, float32 (F, m, 64).
        sums = _block_sums(images).transpose(1, 0, 2)
        cells = (sums / np.float32(self._full_cell)).astype(np.float32)
        num_earlier = len(self.images)
        all_cells = np.concatenate([self._cells, cells], axis=1)
        all_images = [*self.images, *images]
        rows, others = self._close_pairs(cells, all_cells)
        same = self._compare(all_images, rows + num_earlier, others)
        numbers = {index: index for index in range(num_earlier)}
        new_rows: list[int] = []
        answers: list[int | None] = []
        for row, image in enumerate(images):
            matches = others[(rows == row) & same].tolist()
            match = next((numbers[index] for index in matches if index in numbers), None)
            if match is None:
                numbers[row + num_earlier] = len(self.images)
                self.images.append(image)
                new_rows.append(row)
            answers.append(match)
        self._cells = np.concatenate([self._cells, cells[:, new_rows]], axis=1)
        return answers

    @staticmethod
    def _close_pairs(cells: np.ndarray, all_cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the pairs (row, earlier) with close cells in half of the faces; a few too many.

        `cells` (F, m, 64) are the last m of `all_cells` (F, n, 64).
        """
        m, total = cells.shape[1], all_cells.shape[1]
        votes = np.zeros((m, total), np.int16)
        voters = np.zeros((m, total), np.int16)
        for a, b in zip(cells, all_cells, strict=True):
            a_squares, b_squares = (a**2).sum(1), (b**2).sum(1)
            votes_here = (a_squares > 0)[:, None] & (b_squares > 0)
            distance = a_squares[:, None] + b_squares - 2 * (a @ b.T)
            votes += (distance <= 1 / 16 + 1e-3) & votes_here  # 64 / 32**2, and some rounding
            voters += votes_here
        earlier = np.arange(total) < (total - m + np.arange(m))[:, None]
        rows, others = np.nonzero((2 * votes >= voters) & (voters > 0) & earlier)
        return rows, others

    def _compare(
        self, images: list[np.ndarray], rows: np.ndarray, others: np.ndarray
    ) -> np.ndarray:
        """Apply `_RULE` to each pair of images (F, S, S), bool (pairs,)."""
        answers = [np.empty(0, bool)]
        for start in range(0, len(rows), _BLOCK_PAIRS):
            a = np.stack([images[row] for row in rows[start : start + _BLOCK_PAIRS]]).astype(
                np.int16
            )
            b = np.stack([images[row] for row in others[start : start + _BLOCK_PAIRS]])
            voters = has_ink(a) & has_ink(b)
            a -= b
            columns = a[..., 1:] + a[..., :-1]
            windows = np.abs(columns[:, :, 1:] + columns[:, :, :-1]).max(axis=(2, 3))
            squares = (_block_sums(a).astype(np.int64) ** 2).sum(axis=2)
            # 64 cells: 64 * (full / 32)**2 is full**2 / 16.
            close = (windows <= _MAX_WINDOW_DIFFERENCE) & (16 * squares <= self._full_cell**2)
            answers.append(2 * (close & voters).sum(axis=1) >= voters.sum(axis=1))
        return np.concatenate(answers)


def has_ink(images: np.ndarray) -> np.ndarray:
    """Return for images (..., S, S) whether they are not blank, bool (...)."""
    return np.asarray(images.reshape(*images.shape[:-2], -1).max(axis=-1) > 0)


def _block_sums(images: np.ndarray) -> np.ndarray:
    """Sum over the 8 x 8 cells of images (m, F, S, S), int32 (m, F, 64)."""
    m, faces, side, _ = images.shape
    # Rows first: these sums run along memory, and eight rows fit into 16 bits (8 * 255).
    rows = images.reshape(m, faces, _SIDE_CELLS, side // _SIDE_CELLS, side).sum(
        axis=3, dtype=np.int16
    )
    cells = rows.reshape(m, faces, _SIDE_CELLS * _SIDE_CELLS, side // _SIDE_CELLS)
    return np.asarray(cells.sum(axis=3, dtype=np.int32))
