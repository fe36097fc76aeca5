"""Which classes of a data set are taken: the first so many, those named, or those that match."""

import dataclasses
import difflib
from collections.abc import Callable, Sequence

import numpy as np

from gnc_cli.errors import DataError, UsageError
from gnc_cli.io.images.image_set import ImageData, ImageSet, Pictures

__all__ = ["chooser", "matches", "restricted", "with_present_classes"]

_NAMED = 5
_SYNONYMS = {"car": "automobile", "plane": "airplane", "aeroplane": "airplane"}
"""STL-10 has cars, CIFAR-10 automobiles; others have planes."""


def chooser(
    classes: int | None = None, subset: Sequence[str] | None = None
) -> Callable[[Sequence[str]], list[int]]:
    """A function from the names of all classes to the numbers of those to take, in the new order.

    Args:
        classes: the first so many; all by default.
        subset: names, whatever their case, or numbers from 0 where no class has such a name.

    Raises:
        UsageError: both are given; fewer than 2 classes; a class twice.
        DataError: of the function: there are not so many classes, or none of that name.

    Example:
        >>> chooser(subset=["dog", "0"])(["bird", "Cat", "Dog"])
        [2, 0]
    """
    if classes is not None and subset is not None:
        raise UsageError(f"{classes} classes and the classes {', '.join(subset)}: give one of both")
    asked = classes if subset is None else len(subset)
    if asked is not None and asked < 2:
        raise UsageError(f"{asked} class(es) were asked for; expected 2 or more")

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


def matches(theirs: Sequence[str], ours: Sequence[str]) -> dict[int, int]:
    """Their class to our class of the same name: whatever the case, `_` and `-` as blanks.

    Two pairs of synonyms count as the same: car and automobile (STL-10 and CIFAR-10 differ in
    this), plane and airplane.

    Example:
        >>> matches(["Car", "cat", "monkey"], ["automobile", "cat"])
        {0: 0, 1: 1}
    """
    known = {_plain(name): k for k, name in reversed(list(enumerate(ours)))}
    found = {j: known.get(_plain(name)) for j, name in enumerate(theirs)}
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
    absent = [data.class_names[k] for k in np.flatnonzero(count == 0)]
    more = f" and {len(absent) - _NAMED} more" if len(absent) > _NAMED else ""
    line = f"{len(absent)} class(es) without training images are left out: "
    line += ", ".join(map(repr, absent[:_NAMED])) + more
    return dataclasses.replace(restricted(data, order), warnings=(*data.warnings, line))


class _Selected:
    """Some rows of pictures that are not in memory."""

    def __init__(self, images: Pictures, rows: np.ndarray) -> None:
        self._images, self._rows = images, rows
        self.shape = (len(rows), *images.shape[1:])

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, rows: np.ndarray, /) -> np.ndarray:
        return self._images[self._rows[rows]]


def _renumbered(images: ImageSet, number: np.ndarray) -> ImageSet:
    labels = number[images.labels]
    rows = np.flatnonzero(labels >= 0)
    pictures: Pictures = images.images
    if len(rows) < len(labels):
        in_memory = isinstance(pictures, np.ndarray)
        pictures = pictures[rows] if in_memory else _Selected(pictures, rows)
    return ImageSet(pictures, labels[rows])


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


def _plain(name: str) -> str:
    word = " ".join(name.casefold().replace("_", " ").replace("-", " ").split())
    return _SYNONYMS.get(word, word)
