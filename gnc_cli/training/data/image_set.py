"""What every source of images gives: uint8 pictures, labels from 0; some classes of them."""

import dataclasses
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from gnc_cli.errors import DataError, UsageError
from gnc_cli.io.code import portable
from gnc_cli.io.inputs import memory_limit
from gnc_cli.parsing import abridge
from gnc_cli.runtime.distributed import on_this_machine

_MOST_NAMES = 20
_SYNONYMS = {"car": "automobile", "plane": "airplane", "aeroplane": "airplane"}
"""STL-10 has cars, CIFAR-10 automobiles; others have planes."""


class Pictures(Protocol):
    """Pictures of one size, in memory or in a file; a NumPy array is one."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(N, C, S, S): how many, channels (1 or 3), height and width."""

    def __getitem__(self, rows: np.ndarray, /) -> np.ndarray:
        """The pictures of these rows, in that order: uint8 (n, C, S, S)."""


class FilePictures(Pictures, Protocol):
    """Pictures that are decoded when asked for."""

    def some(self, rows: np.ndarray) -> "FilePictures":
        """Those of these rows alone."""


@dataclass(frozen=True, eq=False)
class ImageSet:
    """Pictures and the class of each."""

    images: np.ndarray | FilePictures
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
    ood: MatchedSet | None = None
    """To test on, out of distribution."""


def chooser(
    classes: int | None = None, subset: Sequence[str] | None = None
) -> Callable[[Sequence[str]], list[int]]:
    """A function from the names of all classes to the numbers of those to take, in the new order.

    They are the first `classes`, all by default; or a `subset`: names, whatever their case,
    or numbers from 0 where no class has such a name.

    Example:
        >>> chooser(subset=["dog", "0"])(["bird", "Cat", "Dog"])
        [2, 0]
    """

    def choose(names: Sequence[str]) -> list[int]:
        if subset is None:
            if classes is not None and classes > len(names):
                raise DataError(
                    f"{classes} classes were asked for, and there are {len(names)}; ask for "
                    f"{len(names)} or fewer"
                )
            return list(range(classes or len(names)))
        order: list[int] = []
        for name in subset:
            k = _find(name.strip(), names)
            if k in order:
                raise UsageError(f"class {names[k]!r} is asked for twice, then as {name!r}")
            order.append(k)
        return order

    return choose


def _find(wanted: str, names: Sequence[str]) -> int:
    if wanted in names:
        return list(names).index(wanted)
    folded = [name.casefold() for name in names]
    if wanted.casefold() in folded:
        return folded.index(wanted.casefold())
    if wanted.isdecimal() and wanted.isascii() and int(wanted) < len(names):
        return int(wanted)
    raise DataError(f"there is no class {wanted!r}; choose of {abridge(names, _MOST_NAMES)}")


def matches(theirs: Sequence[str], ours: Sequence[str]) -> dict[int, int]:
    """Their class to our class of the same name: whatever the case, `_` and `-` as blanks.

    Two pairs of synonyms count as the same: car and automobile (STL-10 and CIFAR-10 differ in
    this), plane and airplane.
    """

    def plain(name: str) -> str:
        word = " ".join(name.casefold().replace("_", " ").replace("-", " ").split())
        return _SYNONYMS.get(word, word)

    known = {plain(name): k for k, name in reversed(list(enumerate(ours)))}
    return {j: known[plain(name)] for j, name in enumerate(theirs) if plain(name) in known}


def restricted(data: ImageData, order: Sequence[int]) -> ImageData:
    """The classes `order` of a data set, in this order, labels from 0."""
    K = len(data.class_names)
    if list(order) == list(range(K)):
        return data
    number = np.full(K, -1, dtype=np.int64)
    number[list(order)] = np.arange(len(order))
    names = tuple(data.class_names[k] for k in order)
    train, test = _renumbered(data.train, number), data.test and _renumbered(data.test, number)
    if test is not None and not len(test.labels):
        test = None
    return dataclasses.replace(data, train=train, test=test, class_names=names)


def _renumbered(images: ImageSet, number: np.ndarray) -> ImageSet:
    labels = number[images.labels]
    return _some(ImageSet(images.images, labels), np.flatnonzero(labels >= 0))


def first_per_class(data: ImageData, count: int) -> ImageData:
    """The same data with the first `count` training images of each class, in their order."""
    labels = data.train.labels
    rows = [np.flatnonzero(labels == k)[:count] for k in range(len(data.class_names))]
    return dataclasses.replace(data, train=_some(data.train, np.sort(np.concatenate(rows))))


def _some(images: ImageSet, rows: np.ndarray) -> ImageSet:
    """Rows in ascending order; pictures that are not in memory stay where they are."""
    pictures = images.images
    pictures = pictures[rows] if isinstance(pictures, np.ndarray) else pictures.some(rows)
    return ImageSet(pictures, images.labels[rows])


def with_present_classes(data: ImageData, where: str) -> ImageData:
    """The data set without classes that no training image has; a warning names these."""
    count = np.bincount(data.train.labels, minlength=len(data.class_names))
    order = np.flatnonzero(count).tolist()
    if len(order) < 2:
        raise DataError(
            f"{where} has training images of {len(order)} class(es); expected 2 or more"
        )
    if len(order) == len(count):
        return data
    absent = [repr(data.class_names[k]) for k in np.flatnonzero(count == 0)]
    line = f"{len(absent)} class(es) without training images are left out: {abridge(absent)}"
    return dataclasses.replace(restricted(data, order), warnings=(*data.warnings, line))


def fits_in_memory(size: int) -> bool:
    """Whether pictures of `size` bytes are kept: each of torchrun's processes here has its own."""
    return size <= memory_limit() // (on_this_machine("LOCAL_WORLD_SIZE") or 1)


def data_folders() -> list[Path]:
    """Where data sets are looked for: ./data, $GNC_DATA, the user's cache directory."""
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    places = ["data", os.environ.get("GNC_DATA"), os.path.join(cache, "gnc")]
    return [Path(os.path.expanduser(place)) for place in places if place]


def data_facts(data: ImageData) -> dict[str, Any]:
    """What the result says of the data; plain JSON."""
    _, channels, size, _ = data.train.images.shape
    counts = np.bincount(data.train.labels, minlength=len(data.class_names))
    ours = {
        "name": data.name,
        "classes": len(data.class_names),
        "train_images": len(data.train.labels),
        "test_images": None if data.test is None else len(data.test.labels),
        "ood_images": None if data.ood is None else len(data.ood.labels),
        "smallest_class": int(counts.min()),
        "largest_class": int(counts.max()),
        "channels": channels,
        "image_size": size,
    }
    matched, warnings = None, list(data.warnings)
    if data.ood is not None:
        matched = {"name": data.ood.name, "classes_matched": data.ood.classes_matched}
        warnings += [f"{data.ood.name}: {line}" for line in data.ood.warnings]
    # In this order, and with these counts.
    return ours | data.facts | ours | {"ood": matched, "warnings": portable(warnings)}
