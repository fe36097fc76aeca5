"""Which characters look the same: A, Alpha and the Cyrillic A are one class, O and 0 are two."""

import numpy as np

__all__ = ["RULE", "GlyphClasses", "has_ink"]

RULE = (
    "merged where at least half of the faces draw both alike: no 2 x 2 pixels differ by more than "
    "a fifth of full ink on average, nor 8 x 8 cells by more than 1/32 in root mean square"
)
CELLS = 8
WINDOW = 4 * 255 // 5
PAIRS = 512
"""Pairs compared pixel by pixel at a time."""


class GlyphClasses:
    """Characters that differ from all before them, collected in order.

    A character is compared with the classes alone, not with what was merged into them: the rule is
    not transitive, and nothing drifts. Where a face lacks a character (a blank picture), it has no
    say. The comparison is exact, in whole numbers; a matrix product over cells only finds the pairs
    worth comparing, so that 20,000 characters take seconds.
    """

    def __init__(self, faces: int, image_size: int) -> None:
        self.pictures: list[np.ndarray] = []
        """Of each class its pictures, uint8 (F, S, S), one a face."""
        self._cells = np.empty((faces, 0, CELLS * CELLS), np.float32)
        self._full = 255 * (image_size // CELLS) ** 2

    def add(self, pictures: np.ndarray) -> list[tuple[int | None, bool]]:
        """Take in further characters, their pictures uint8 (m, F, S, S).

        Returns:
            For each the class that it looks like, or None where it became a class itself, and
            whether every face that has both draws them the same to the last pixel.
        """
        cells = self._cell_sums(pictures)
        old = len(self.pictures)
        everything = np.concatenate([self._cells, cells], axis=1)
        known = [*self.pictures, *pictures]
        rows, others = self._near(cells, everything, old)
        like = self._alike(known, rows + old, others)
        numbers = {place: place for place in range(old)}
        kept: list[int] = []
        answers: list[tuple[int | None, bool]] = []
        for row, picture in enumerate(pictures):
            matches = others[(rows == row) & like]
            first = next((int(place) for place in matches if int(place) in numbers), None)
            if first is None:
                numbers[row + old] = len(self.pictures)
                self.pictures.append(picture)
                kept.append(row)
                answers.append((None, False))
            else:
                answers.append((numbers[first], _identical(known[first], picture)))
        self._cells = np.concatenate([self._cells, cells[:, kept]], axis=1)
        return answers

    def _cell_sums(self, pictures: np.ndarray) -> np.ndarray:
        """Ink of the 8 x 8 cells as parts of full ink, float32 (F, m, 64)."""
        sums = _block_sums(pictures)
        return (sums.transpose(1, 0, 2) / np.float32(self._full)).astype(np.float32)

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
        for start in range(0, len(rows), PAIRS):
            a = np.stack([known[place] for place in rows[start : start + PAIRS]]).astype(np.int16)
            b = np.stack([known[place] for place in others[start : start + PAIRS]])
            both = has_ink(a) & has_ink(b)
            a -= b
            columns = a[..., 1:] + a[..., :-1]
            windows = np.abs(columns[:, :, 1:] + columns[:, :, :-1]).max(axis=(2, 3))
            squares = (_block_sums(a).astype(np.int64) ** 2).sum(axis=2)
            # 64 cells: 64 * (full / 32)**2 is full**2 / 16.
            alike = (windows <= WINDOW) & (16 * squares <= self._full**2) & both
            answers.append(2 * alike.sum(axis=1) >= both.sum(axis=1))
        return np.concatenate(answers)


def has_ink(pictures: np.ndarray) -> np.ndarray:
    """Which pictures (..., S, S) are not blank, bool (...)."""
    return np.asarray(pictures.reshape(*pictures.shape[:-2], -1).max(axis=-1) > 0)


def _block_sums(pictures: np.ndarray) -> np.ndarray:
    """Sums over the 8 x 8 cells of pictures (m, F, S, S), int32 (m, F, 64)."""
    m, faces, side, _ = pictures.shape
    # Rows first: these sums run along memory, and a few of them fit into 16 bits (8 * 255).
    rows = pictures.reshape(m, faces, CELLS, side // CELLS, side).sum(axis=3, dtype=np.int16)
    cells = rows.reshape(m, faces, CELLS * CELLS, side // CELLS)
    return np.asarray(cells.sum(axis=3, dtype=np.int32))


def _identical(a: np.ndarray, b: np.ndarray) -> bool:
    both = has_ink(a) & has_ink(b)
    return bool(np.array_equal(a[both], b[both]))
