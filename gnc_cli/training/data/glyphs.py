"""Characters as classes, drawn from fonts: real data with many classes and no download.

Some styles of the fonts are for training, the others for testing: a test picture shows a known
character in a style never seen. Characters that look the same are one class: A, Alpha and the
Cyrillic A; O and 0 are two.
"""

import dataclasses
import hashlib
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from gnc_cli.errors import DataError, UsageError
from gnc_cli.parameters import spelled
from gnc_cli.parsing import abridge
from gnc_cli.training.data.fonts import Face, GlyphDrawer, find_fonts, read_faces, split_faces
from gnc_cli.training.data.image_set import (
    ImageData,
    ImageSet,
)

_IMAGE_SIZES = (16, 32, 64)
_SCRIPTS = {
    "hangul": ("HANGUL SYLLABLE",),
    "han": ("CJK UNIFIED IDEOGRAPH",),
    "kana": ("HIRAGANA LETTER", "KATAKANA LETTER"),
}
"""What the Unicode names of a script's characters begin with, where it is not the script's name."""
_DEJAVU = "DejaVu of matplotlib"
_FEW = 100
"""A face takes part if it has half as many of a script's characters as classes; or as this."""
_CHUNK = 128
"""Characters drawn at a time: few classes need few of them."""
_NAMED = 20
"""Merged pairs that the facts name, those of the first classes."""
_RULE = (
    "merged where at least half of the faces draw both alike: no 2 x 2 pixels differ by more than "
    "a fifth of full ink on average, nor 8 x 8 cells by more than 1/32 in root mean square"
)
_CELLS = 8
_WINDOW = 4 * 255 // 5
_PAIRS = 512
"""Pairs compared pixel by pixel at a time."""


def glyph_images(
    classes: int | None,
    image_size: int,
    fonts: str | None,
    script: str | None = None,
) -> ImageData:
    """Pictures of characters, a class each, in training and in test styles.

    Classes come in a fixed order: digits and letters of ASCII, then the others by code point.
    Letters, numbers, punctuation and symbols take part; what is blank or looks like an earlier
    character (`GlyphClasses`) does not. Of matplotlib's fonts a character must be in all 12
    styles, 9 for training and 3 for testing; of a folder's (`fonts`) in four training faces and one
    test face, or in as many as there are. Without `classes` come all that the fonts give.

    With a `script` (`hangul`, `han`, `kana`, or the word that the Unicode names of its characters
    begin with: `latin`, `greek`, `thai`) come its letters alone: first those that most faces have,
    of these the ones without accents, then by code point. Faces with less than half as many of them
    as classes are left out before training and test are parted. Where several faces draw a
    character alike to the last pixel, one picture stays, for training if it can be; only the
    DejaVu styles without a `script` keep all, nine and three a class.

    Images are uint8 (N, 1, S, S), class after class; the same bytes on every call, as long as
    fonts, Pillow and FreeType are the same.
    """
    if image_size not in _IMAGE_SIZES:
        option = spelled("image_size", image_size)
        raise UsageError(f"{option} is not for glyphs: choose 16, 32 or 64")
    from PIL import __version__, features

    script = script and script.lower()
    root, files = find_fonts(fonts)
    faces, warnings = read_faces(root, files)
    name = _DEJAVU if fonts is None else root.name
    if script is not None:
        faces = _of_script(faces, script, classes, name, warnings)
    train, test = split_faces(faces)
    every = fonts is None and script is None
    enough = (len(train), len(test)) if every else (min(4, len(train)), 1)
    characters = _characters(faces, train, test, enough, common_first=script is not None)
    drawers = [GlyphDrawer(face.path, face.index, image_size) for face in faces]
    distinct = GlyphClasses(len(faces), image_size)
    names: list[str] = []
    merged: list[tuple[int, str]] = []
    blank = tried = 0
    for start in range(0, len(characters), _CHUNK):
        if len(names) == classes:
            break
        chunk = characters[start : start + _CHUNK]
        pictures = np.stack(
            [
                drawer.draw(c if ord(c) in face.characters else "" for c in chunk)
                for drawer, face in zip(drawers, faces, strict=True)
            ],
            axis=1,
        )
        drawn = has_ink(pictures)
        usable = (drawn[:, train].sum(1) >= enough[0]) & (drawn[:, test].sum(1) >= enough[1])
        answers = iter(distinct.add(pictures[usable]))
        for character, use in zip(chunk, usable, strict=True):
            if len(names) == classes:
                break
            tried += 1
            if not use:
                blank += 1
                continue
            like = next(answers)
            if like is None:
                names.append(character)
            else:
                merged.append((like, character))
    if len(names) < (classes or 2):
        raise DataError(
            f"the fonts in {name!r} give {len(names)} classes at {image_size} pixels "
            f"({len(merged)} of {len(characters)} characters look like others); ask for fewer "
            f"{spelled('classes')}, or name fonts with more faces of one script"
        )
    pictures = np.stack(distinct.pictures[: len(names)])
    there = has_ink(pictures)
    if not every:
        _drop_repeated(pictures, there, [*train, *test])
    sets = [_image_set(pictures[:, rows], there[:, rows]) for rows in (train, test)]
    digest = hashlib.sha256()
    for images in sets:
        digest.update(np.ascontiguousarray(images.images).data)
        digest.update(np.ascontiguousarray(images.labels).data)
    facts: dict[str, Any] = {
        "fonts": name,
        "script": script,
        "training_styles": [faces[row].name for row in train],
        "test_styles": [faces[row].name for row in test],
        "image_size": image_size,
        "characters": tried,
        "blank": blank,
        "merged": len(merged),
        "merged_first": [[names[like], character] for like, character in sorted(merged)[:_NAMED]],
        "rule": _RULE,
        "repeated": int(has_ink(pictures).sum() - there.sum()),
        "sha256": digest.hexdigest(),
        "pillow": __version__,
        "freetype": features.version_module("freetype2") or "none",
    }
    return ImageData(sets[0], sets[1], tuple(names), "glyphs", facts, tuple(warnings), flip=False)


def glyphs_of(
    names: Sequence[str], image_size: int, fonts: str | None
) -> tuple[ImageSet, list[int], str, list[str]]:
    """Every different picture that the faces of a folder have of some characters.

    A test set for networks that learned these characters from other fonts: all faces take part, and
    nothing is merged.

    Args:
        names: of the classes; those of more than one character have no picture.

    Returns:
        The images (N, 1, S, S), labels among the characters that have one; the places of these in
        `names`; the name of the fonts; a line for each face skipped.
    """
    root, files = find_fonts(fonts)
    faces, warnings = read_faces(root, files)
    single = [name if len(name) == 1 else "" for name in names]
    pictures = np.stack(
        [
            GlyphDrawer(face.path, face.index, image_size).draw(
                c if c and ord(c) in face.characters else "" for c in single
            )
            for face in faces
        ],
        axis=1,
    )
    there = has_ink(pictures)
    _drop_repeated(pictures, there, range(len(faces)))
    known = np.flatnonzero(there.any(axis=1))
    name = _DEJAVU if fonts is None else root.name
    if not len(known):
        raise DataError(
            f"the fonts in {name!r} have none of the network's classes ({abridge(names)}); "
            f"give {spelled('ood')} other fonts, as in glyphs:DIR"
        )
    return _image_set(pictures[known], there[known]), known.tolist(), name, warnings


def _of_script(
    faces: Sequence[Face], script: str, classes: int | None, fonts: str, warnings: list[str]
) -> list[Face]:
    """The faces with enough letters of a script, and these alone; a warning counts others."""
    begins = _SCRIPTS.get(script, (f"{script.upper()} ",))
    every: frozenset[int] = frozenset().union(*(face.characters for face in faces))
    wanted = {
        code
        for code in every
        if unicodedata.name(chr(code), "").startswith(begins)
        and unicodedata.category(chr(code)) in ("Lu", "Ll", "Lt", "Lo")
    }
    least = max(1, (classes or _FEW) // 2)
    letters = [dataclasses.replace(face, characters=face.characters & wanted) for face in faces]
    able = [face for face in letters if len(face.characters) >= least]
    if len(able) < 2:
        raise DataError(
            f"{spelled('script', script)}: {len(able)} of {len(faces)} faces in {fonts!r} have "
            f"{least} or more of its letters; name other {spelled('fonts')}, or a script: "
            f"{', '.join(_SCRIPTS)}, or the first word of its letters' Unicode names, as in latin"
        )
    if left := len(faces) - len(able):
        warnings.append(f"{left} face(s) have fewer than {least} {script} letters: left out")
    return able


def _characters(
    faces: Sequence[Face],
    train: Sequence[int],
    test: Sequence[int],
    enough: tuple[int, int],
    *,
    common_first: bool,
) -> list[str]:
    """Characters that enough faces have: digits and letters of ASCII first, then by code point.

    With `common_first` come those that most faces have, and of these letters without accents.
    """
    in_train = Counter(code for row in train for code in faces[row].characters)
    in_test = Counter(code for row in test for code in faces[row].characters)
    chosen = [
        chr(code)
        for code, count in in_train.items()
        # Letters, numbers, punctuation, symbols: no marks that combine, no spaces, no controls.
        if count >= enough[0]
        and in_test[code] >= enough[1]
        and unicodedata.category(chr(code))[0] in "LNPS"
    ]
    if not common_first:
        return sorted(chosen, key=lambda c: (not (c.isascii() and c.isalnum()), c))
    both = in_train + in_test
    return sorted(chosen, key=lambda c: (-both[ord(c)], bool(unicodedata.decomposition(c)), c))


def _drop_repeated(pictures: np.ndarray, there: np.ndarray, order: Sequence[int]) -> None:
    """Clear `there` (K, F) where an earlier face in `order` draws the very same picture.

    The faces of a collection share most outlines, and so do the proportional and the monospaced
    face of a family: a test picture would be one of training.
    """
    for pictures_of_class, there_of_class in zip(pictures, there, strict=True):
        seen: set[bytes] = set()
        for row in order:
            picture = pictures_of_class[row].tobytes()
            there_of_class[row] &= picture not in seen
            seen.add(picture)


def _image_set(pictures: np.ndarray, there: np.ndarray) -> ImageSet:
    """Those of the pictures (K, F, S, S) that are `there` as images (N, 1, S, S)."""
    return ImageSet(pictures[there][:, None], np.nonzero(there)[0].astype(np.int64))


class GlyphClasses:
    """Characters that differ from all before them, collected in order.

    A character is compared with the classes alone, not with what was merged into them: the rule is
    not transitive, and nothing drifts. Where a face lacks a character (a blank picture), it has no
    say. The comparison is exact, in whole numbers; a matrix product over cells only finds the pairs
    worth comparing, so that 20,000 characters take seconds.
    """

    def __init__(self, faces: int, image_size: int) -> None:
        self.pictures: list[np.ndarray] = []
        """Of each class its pictures, uint8 (F, S, S), one per face."""
        self._cells = np.empty((faces, 0, _CELLS * _CELLS), np.float32)
        self._full = 255 * (image_size // _CELLS) ** 2

    def add(self, pictures: np.ndarray) -> list[int | None]:
        """Take in further characters, their pictures uint8 (m, F, S, S).

        The answer is for each the class that it looks like, None where it became a class itself.
        """
        # Ink of the 8 x 8 cells as parts of full ink, float32 (F, m, 64).
        sums = _block_sums(pictures).transpose(1, 0, 2)
        cells = (sums / np.float32(self._full)).astype(np.float32)
        old = len(self.pictures)
        everything = np.concatenate([self._cells, cells], axis=1)
        known = [*self.pictures, *pictures]
        rows, others = self._near(cells, everything, old)
        like = self._alike(known, rows + old, others)
        numbers = {place: place for place in range(old)}
        kept: list[int] = []
        answers: list[int | None] = []
        for row, picture in enumerate(pictures):
            matches = others[(rows == row) & like].tolist()
            like_class = next((numbers[place] for place in matches if place in numbers), None)
            if like_class is None:
                numbers[row + old] = len(self.pictures)
                self.pictures.append(picture)
                kept.append(row)
            answers.append(like_class)
        self._cells = np.concatenate([self._cells, cells[:, kept]], axis=1)
        return answers

    @staticmethod
    def _near(cells: np.ndarray, everything: np.ndarray, old: int) -> tuple[np.ndarray, np.ndarray]:
        """Pairs (row, earlier) whose cells are near in half of the faces; a little generous."""
        m, total = cells.shape[1], everything.shape[1]
        near = np.zeros((m, total), np.int16)
        both = np.zeros((m, total), np.int16)
        for new, known in zip(cells, everything, strict=True):
            mine, theirs = (new**2).sum(1), (known**2).sum(1)
            have = (mine > 0)[:, None] & (theirs > 0)
            distance = mine[:, None] + theirs - 2 * (new @ known.T)
            near += (distance <= 1 / 16 + 1e-3) & have
            both += have
        earlier = np.arange(total) < (old + np.arange(m))[:, None]
        rows, others = np.nonzero((2 * near >= both) & (both > 0) & earlier)
        return rows, others

    def _alike(self, known: list[np.ndarray], rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """The rule itself for each pair, bool (pairs,)."""
        answers = [np.empty(0, bool)]
        for start in range(0, len(rows), _PAIRS):
            a = np.stack([known[place] for place in rows[start : start + _PAIRS]]).astype(np.int16)
            b = np.stack([known[place] for place in others[start : start + _PAIRS]])
            both = has_ink(a) & has_ink(b)
            a -= b
            columns = a[..., 1:] + a[..., :-1]
            windows = np.abs(columns[:, :, 1:] + columns[:, :, :-1]).max(axis=(2, 3))
            squares = (_block_sums(a).astype(np.int64) ** 2).sum(axis=2)
            # 64 cells: 64 * (full / 32)**2 is full**2 / 16.
            alike = (windows <= _WINDOW) & (16 * squares <= self._full**2) & both
            answers.append(2 * alike.sum(axis=1) >= both.sum(axis=1))
        return np.concatenate(answers)


def has_ink(pictures: np.ndarray) -> np.ndarray:
    """Which pictures (..., S, S) are not blank, bool (...)."""
    return np.asarray(pictures.reshape(*pictures.shape[:-2], -1).max(axis=-1) > 0)


def _block_sums(pictures: np.ndarray) -> np.ndarray:
    """Sums over the 8 x 8 cells of pictures (m, F, S, S), int32 (m, F, 64)."""
    m, faces, side, _ = pictures.shape
    # Rows first: these sums run along memory, and a few of them fit into 16 bits (8 * 255).
    rows = pictures.reshape(m, faces, _CELLS, side // _CELLS, side).sum(axis=3, dtype=np.int16)
    cells = rows.reshape(m, faces, _CELLS * _CELLS, side // _CELLS)
    return np.asarray(cells.sum(axis=3, dtype=np.int32))
