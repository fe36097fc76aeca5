"""Sets of uint8 images with labels from 0, as every source returns them, and selections of them."""

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

_MAX_LISTED_NAMES = 20
"""Number of class names that a message lists: two lines."""
_SYNONYMS = {"car": "automobile", "plane": "airplane", "aeroplane": "airplane"}
"""Class names of CIFAR-10 by those of other sets: STL-10 has cars, others planes."""


class Images(Protocol):
    """Images of one size, in memory or in files; a NumPy array is one."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(N, C, S, S): number of images, channels (1 or 3), height and width in pixels."""

    def __getitem__(self, rows: np.ndarray, /) -> np.ndarray:
        """Return the images of the given rows, in their order: uint8 (n, C, S, S)."""


class FileImages(Images, Protocol):
    """Images in files, decoded when rows are read."""

    def select(self, rows: np.ndarray) -> "FileImages":
        """Return the images of the given rows, not decoded."""


@dataclass(frozen=True, eq=False)
class ImageSet:
    """Images and the class of each."""

    images: np.ndarray | FileImages
    """uint8 (N, C, S, S) with C = 1 or 3."""
    labels: np.ndarray
    """int64 (N,), 0..K-1; a training set has every class."""


@dataclass(frozen=True, eq=False)
class MatchedSet(ImageSet):
    """Out-of-distribution images, with the labels of the training classes of the same names."""

    name: str
    """Name of the set in reports."""
    classes_matched: int
    """Number of the set's classes with the name of a training class."""
    warnings: tuple[str, ...]
    """One line each, as of `ImageData`."""


@dataclass(frozen=True, eq=False)
class ImageData:
    """A training set, a test set or None, and their provenance."""

    train: ImageSet
    test: ImageSet | None
    class_names: tuple[str, ...]
    """K names, in the order of the labels."""
    name: str
    """Name of the data in reports: "glyphs", "folder:tiny"; never an absolute path."""
    facts: dict[str, Any]
    """Plain JSON: counts, dropped and merged classes, checksums, fonts."""
    warnings: tuple[str, ...]
    """One line each: fonts skipped, images that could not be read."""
    flip: bool
    """True if an image's mirror image is of the same class."""
    ood: MatchedSet | None = None
    """Images to test on, out of distribution."""


def chooser(
    classes: int | None = None, subset: Sequence[str] | None = None
) -> Callable[[Sequence[str]], list[int]]:
    """Return a function that takes the names of all classes and returns the numbers to keep.

    These are the first `classes`, all by default, or a `subset` in its order: names in upper or
    lower case, or numbers from 0 if no class has such a name. The function raises DataError for
    a class that is not there, and UsageError for one that is requested twice.

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
            k = _class_number(name.strip(), names)
            if k in order:
                raise UsageError(f"class {names[k]!r} is asked for twice, then as {name!r}")
            order.append(k)
        return order

    return choose


def _class_number(requested: str, names: Sequence[str]) -> int:
    if requested in names:
        return list(names).index(requested)
    folded = [name.casefold() for name in names]
    if requested.casefold() in folded:
        return folded.index(requested.casefold())
    if requested.isdecimal() and requested.isascii() and int(requested) < len(names):
        return int(requested)
    raise DataError(
        f"there is no class {requested!r}; choose of {abridge(names, _MAX_LISTED_NAMES)}"
    )


def matches(other_names: Sequence[str], names: Sequence[str]) -> dict[int, int]:
    """Map the classes of another set to the classes `names` of the same name.

    Upper and lower case are the same, and `_` and `-` are blanks. Two pairs of synonyms count as
    the same: car and automobile (STL-10 and CIFAR-10 differ in this), plane and airplane.
    """

    def plain(name: str) -> str:
        word = " ".join(name.casefold().replace("_", " ").replace("-", " ").split())
        return _SYNONYMS.get(word, word)

    numbers = {plain(name): k for k, name in reversed(list(enumerate(names)))}
    return {j: numbers[plain(name)] for j, name in enumerate(other_names) if plain(name) in numbers}


def restrict(data: ImageData, order: Sequence[int]) -> ImageData:
    """Return the classes `order` of a data set, in this order, with labels from 0."""
    K = len(data.class_names)
    if list(order) == list(range(K)):
        return data
    number = np.full(K, -1, dtype=np.int64)
    number[list(order)] = np.arange(len(order))
    names = tuple(data.class_names[k] for k in order)
    train, test = _renumber(data.train, number), data.test and _renumber(data.test, number)
    return dataclasses.replace(
        data, train=train, test=test if test and len(test.labels) else None, class_names=names
    )


def _renumber(images: ImageSet, number: np.ndarray) -> ImageSet:
    labels = number[images.labels]
    return _select(ImageSet(images.images, labels), np.flatnonzero(labels >= 0))


def first_per_class(data: ImageData, count: int) -> ImageData:
    """Return the data with the first `count` training images of each class, in their order."""
    labels = data.train.labels
    rows = [np.flatnonzero(labels == k)[:count] for k in range(len(data.class_names))]
    return dataclasses.replace(data, train=_select(data.train, np.sort(np.concatenate(rows))))


def _select(images: ImageSet, rows: np.ndarray) -> ImageSet:
    """Return the given rows, in ascending order; images in files are not read."""
    pixels = images.images
    pixels = pixels[rows] if isinstance(pixels, np.ndarray) else pixels.select(rows)
    return ImageSet(pixels, images.labels[rows])


def drop_empty_classes(data: ImageData, source: str) -> ImageData:
    """Return the data without the classes that have no training image, which a warning names.

    Raises:
        DataError: fewer than two classes have training images in `source`.
    """
    count = np.bincount(data.train.labels, minlength=len(data.class_names))
    order = np.flatnonzero(count).tolist()
    if len(order) < 2:
        raise DataError(
            f"{source} has training images of {len(order)} class(es); expected 2 or more"
        )
    if len(order) == len(count):
        return data
    absent = [repr(data.class_names[k]) for k in np.flatnonzero(count == 0)]
    line = f"{len(absent)} class(es) without training images are left out: {abridge(absent)}"
    return dataclasses.replace(restrict(data, order), warnings=(*data.warnings, line))


def fits_in_memory(size: int) -> bool:
    """Return whether each process of torchrun on this machine can keep `size` bytes of images."""
    return size <= memory_limit() // (on_this_machine("LOCAL_WORLD_SIZE") or 1)


def data_folders() -> list[Path]:
    """Return the folders searched for data sets: ./data, $GNC_DATA, the user's cache directory."""
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    folders = ["data", os.environ.get("GNC_DATA"), os.path.join(cache, "gnc")]
    return [Path(os.path.expanduser(folder)) for folder in folders if folder]


def data_facts(data: ImageData) -> dict[str, Any]:
    """Return the description of the data in the result, as plain JSON."""
    _, channels, size, _ = data.train.images.shape
    counts = np.bincount(data.train.labels, minlength=len(data.class_names))
    summary = {
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
    # The counts come first, and replace those of the source.
    return summary | data.facts | summary | {"ood": matched, "warnings": portable(warnings)}
