"""Which classes are measured, and what they are called: `--classes`, `--min-count`, names."""

import os
from dataclasses import dataclass

import numpy as np

from gnc_cli.errors import DataError, UsageError
from gnc_cli.io.lines import read_lines

__all__ = ["Selection", "class_names", "select_classes"]


@dataclass(frozen=True, eq=False)
class Selection:
    """The classes measured, by their labels in the file."""

    kept: np.ndarray
    """Labels, increasing, shape (m,)."""
    K: int
    """Classes in the file."""

    @property
    def everything(self) -> bool:
        """Whether no class is left out."""
        return len(self.kept) == self.K

    def labels(self, labels: np.ndarray) -> np.ndarray:
        """Labels as places in `kept`; -1 for samples of classes left out."""
        if self.everything:
            return labels
        place = np.full(self.K, -1, dtype=np.int64)
        place[self.kept] = np.arange(len(self.kept))
        return place[labels]


def class_names(path: str | os.PathLike[str] | None, K: int) -> list[str] | None:
    """Names of the classes, one a line in order of their labels.

    Raises:
        DataError: the file cannot be read, or has another number of lines.
    """
    if path is None:
        return None
    names = read_lines(os.fspath(path))
    if len(names) != K:
        raise DataError(
            f"{os.fspath(path)!r} has {len(names)} names for {K} classes; give one a line, in order"
        )
    return names


def select_classes(
    K: int,
    *,
    classes: str | os.PathLike[str] | None = None,
    names: list[str] | None = None,
    counts: np.ndarray | None = None,
    min_count: int | None = None,
) -> Selection:
    """The classes that a list and a number of samples leave.

    Args:
        K: classes in the file.
        classes: file of labels, or of names where `names` are given, one a line.
        counts: samples a class, shape (K,); None without samples.
        min_count: leave out classes of fewer samples.

    Raises:
        UsageError: `min_count` without samples.
        DataError: a line names no class, or fewer than two classes are left.
    """
    kept = np.ones(K, dtype=bool)
    if classes is not None:
        kept = np.zeros(K, dtype=bool)
        kept[_listed(os.fspath(classes), K, names)] = True
    if min_count is not None:
        if counts is None:
            raise UsageError("--min-count counts samples, and there are none; use --classes FILE")
        kept &= counts >= min_count
    left = np.flatnonzero(kept)
    if len(left) < 2:
        by = " by --classes and --min-count" if classes is not None or min_count is not None else ""
        raise DataError(f"{len(left)} of {K} classes left{by}; at least two are needed")
    return Selection(left, K)


def _listed(path: str, K: int, names: list[str] | None) -> list[int]:
    places = {} if names is None else {name: k for k, name in enumerate(names)}
    found = []
    for number, word in enumerate(read_lines(path), start=1):
        if word in places:
            found.append(places[word])
        elif word.isascii() and word.isdigit() and int(word) < K:
            found.append(int(word))
        elif word:
            hint = "a label from 0 to " + str(K - 1) + (" or a name" if places else "")
            raise DataError(f"{path!r}, line {number}: {word[:40]!r} is no class; expected {hint}")
    return found
