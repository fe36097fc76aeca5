"""What every source of images gives: uint8 pictures, labels from 0; and some classes of it."""

import dataclasses
import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from gnc_cli.errors import DataError, UsageError

MEMORY_BYTES = 2 << 30
"""Pictures up to here are read into memory; larger sets are read when they are needed."""

_NAMED = 5
_SYNONYMS = {"car": "automobile", "plane": "airplane", "aeroplane": "airplane"}
"""STL-10 has cars, CIFAR-10 automobiles; others have planes."""


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


def chooser(
    classes: int | None = None, subset: Sequence[str] | None = None
) -> Callable[[Sequence[str]], list[int]]:
    """A function from the names of all classes to the numbers of those to take, in the new order.

    Args:
        classes: number of classes (the first ones); all by default.
        subset: instead names, whatever their case, or numbers from 0 where no class has such a
            name.

    Raises:
        UsageError: fewer than 2 names; a class twice.
        DataError: of the function: there are not so many classes, or none of that name.

    Example:
        >>> chooser(subset=["dog", "0"])(["bird", "Cat", "Dog"])
        [2, 0]
    """
    if subset is not None and len(subset) < 2:
        raise UsageError(f"{len(subset)} class(es) were asked for; expected 2 or more")

    def choose(names: Sequence[str]) -> list[int]:
        if subset is not None:
            return _by_name(subset, names)
        if classes is not None and classes > len(names):
            raise DataError(
                f"{classes} classes were asked for, and there are {len(names)}; ask for "
                f"{len(names)} or fewer"
            )
        return list(range(len(names) if classes is None else classes))

    return choose


def _by_name(subset: Sequence[str], names: Sequence[str]) -> list[int]:
    order: list[int] = []
    for asked in subset:
        k = _find(asked.strip(), names)
        if k in order:
            raise UsageError(f"class {names[k]!r} is asked for twice, the second time as {asked!r}")
        order.append(k)
    return order


def _find(asked: str, names: Sequence[str]) -> int:
    if asked in names:
        return list(names).index(asked)
    folded = [name.casefold() for name in names]
    same = [k for k, name in enumerate(folded) if name == asked.casefold()]
    if len(same) == 1:
        return same[0]
    if len(same) > 1:
        which = ", ".join(repr(names[k]) for k in same)
        raise DataError(f"class {asked!r} may be any of {which}; write it exactly")
    if asked.isdecimal() and asked.isascii() and int(asked) < len(names):
        return int(asked)
    near = difflib.get_close_matches(asked.casefold(), folded, _NAMED, 0.5)
    shown = [names[folded.index(name)] for name in near] or list(names[:_NAMED])
    among = "the nearest are" if near else f"of {len(names)} the first are"
    raise DataError(f"there is no class {asked!r}; {among} {', '.join(shown)}")


def matches(theirs: Sequence[str], ours: Sequence[str]) -> dict[int, int]:
    """Their class to our class of the same name: whatever the case, `_` and `-` as blanks.

    Two pairs of synonyms count as the same: car and automobile (STL-10 and CIFAR-10 differ in
    this), plane and airplane.

    Example:
        >>> matches(["Car", "cat", "monkey"], ["automobile", "cat"])
        {0: 0, 1: 1}
    """

    def plain(name: str) -> str:
        word = " ".join(name.casefold().replace("_", " ").replace("-", " ").split())
        return _SYNONYMS.get(word, word)

    known = {plain(name): k for k, name in reversed(list(enumerate(ours)))}
    found = {j: known.get(plain(name)) for j, name in enumerate(theirs)}
    return {j: k for j, k in found.items() if k is not None}


def restricted(data: ImageData, order: Sequence[int]) -> ImageData:
    """The classes `order` of a data set, in this order, labels from 0."""
    K = len(data.class_names)
    if list(order) == list(range(K)):
        return data
    number = np.full(K, -1, dtype=np.int64)
    number[np.asarray(order, dtype=np.int64)] = np.arange(len(order))
    names = tuple(data.class_names[k] for k in order)
    test = None if data.test is None else _renumbered(data.test, number)
    if test is not None and not len(test.labels):
        test = None
    return dataclasses.replace(
        data, train=_renumbered(data.train, number), test=test, class_names=names
    )


def _renumbered(images: ImageSet, number: np.ndarray) -> ImageSet:
    labels = number[images.labels]
    rows = np.flatnonzero(labels >= 0)
    pictures: Pictures = images.images
    if len(rows) < len(labels):
        in_memory = isinstance(pictures, np.ndarray)
        pictures = pictures[rows] if in_memory else _Selected(pictures, rows)
    return ImageSet(pictures, labels[rows])


class _Selected:
    """Some rows of pictures that are not in memory."""

    def __init__(self, images: Pictures, rows: np.ndarray) -> None:
        self._images, self._rows = images, rows
        self.shape = (len(rows), *images.shape[1:])

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, rows: np.ndarray, /) -> np.ndarray:
        return self._images[self._rows[rows]]


def with_present_classes(data: ImageData, where: str) -> ImageData:
    """The data set without classes that no training image has; a warning names these.

    Raises:
        DataError: fewer than 2 classes are left.
    """
    count = np.bincount(data.train.labels, minlength=len(data.class_names))
    order = np.flatnonzero(count).tolist()
    if len(order) < 2:
        raise DataError(
            f"{where} has training images of {len(order)} class(es); expected 2 or more"
        )
    if len(order) == len(count):
        return data
    absent = [repr(data.class_names[k]) for k in np.flatnonzero(count == 0)]
    line = f"{len(absent)} class(es) without training images are left out: {first_of(absent)}"
    return dataclasses.replace(restricted(data, order), warnings=(*data.warnings, line))


def first_of(names: Sequence[str], most: int = _NAMED) -> str:
    """The first few names, and how many more there are.

    Example:
        >>> first_of("abcdefg")
        'a, b, c, d, e and 2 more'
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
