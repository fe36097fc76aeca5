"""What every source of images gives: uint8 pictures, labels from 0, and where they came from."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

__all__ = ["ImageData", "ImageSet", "MatchedSet", "Pictures"]


class Pictures(Protocol):
    """Pictures of one size, in memory or in a file; a NumPy array is one."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(N, C, S, S): how many, channels (1 or 3), height and width."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: np.ndarray, /) -> np.ndarray:
        """The pictures of these rows, in that order: uint8 (n, C, S, S)."""


@dataclass(frozen=True, eq=False)
class ImageSet:
    """Pictures and the class of each."""

    images: Pictures
    """uint8 (N, C, S, S), C is 1 or 3."""
    labels: np.ndarray
    """int64 (N,), 0..K-1; a training set has every class."""


@dataclass(frozen=True, eq=False)
class MatchedSet(ImageSet):
    """Out-of-distribution pictures, with the labels of the classes that have the same names."""

    name: str
    """As in `ImageData`."""
    classes_matched: int
    warnings: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class ImageData:
    """A training set, a test set where there is one, and how they came to be."""

    train: ImageSet
    test: ImageSet | None
    class_names: tuple[str, ...]
    """K names, in the order of the labels."""
    name: str
    """What the data is called in reports: "glyphs", "folder:tiny"; never an absolute path."""
    facts: dict[str, Any]
    """Plain JSON: counts, what was dropped or merged, checksums, fonts used."""
    warnings: tuple[str, ...]
    """One line each: fonts skipped, images that could not be read."""
    flip: bool
    """Whether an image's mirror image is of the same class."""
