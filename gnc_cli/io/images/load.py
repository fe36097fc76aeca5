"""Images by what the user calls them: `glyphs`, `cifar10`, `folder:PATH`, `h5:PATH`."""

import dataclasses
import os
from collections.abc import Callable, Sequence

import numpy as np

from gnc_cli.errors import DataError, UsageError
from gnc_cli.io.images.choice import chooser, matches, restricted
from gnc_cli.io.images.cifar import CIFAR10, CIFAR100, read_cifar
from gnc_cli.io.images.fitting import fitted
from gnc_cli.io.images.folders import folder_name, read_folder, read_folder_test
from gnc_cli.io.images.glyphs import glyph_images
from gnc_cli.io.images.image_set import ImageData, ImageSet, MatchedSet
from gnc_cli.io.images.stored import read_stored

__all__ = ["load_images", "load_matched"]

_CIFAR = {"cifar10": CIFAR10, "cifar100": CIFAR100}
_KINDS = ("glyphs", *_CIFAR, "folder", "h5")
_GLYPHS = 100
_GLYPH_SIZE = 32
_LARGEST = 1024


def load_images(
    data: str = "glyphs",
    *,
    classes: int | None = None,
    subset: Sequence[str] | None = None,
    image_size: int | None = None,
    fonts: str | None = None,
    path: str | None = None,
    cache: bool = True,
    threads: int | None = None,
) -> ImageData:
    """A training set and, where there is one, a test set.

    Args:
        data: `glyphs`, `cifar10`, `cifar100`, `folder:PATH` or `h5:PATH`. `cifar10:PATH` names the
            folder or tar file of CIFAR; without it ./data, $GNC_DATA and the user's cache directory
            are searched. Nothing is downloaded.
        classes: the first so many, in the data set's own order; 100 glyphs by default, else all.
        subset: the classes of these names (whatever their case) or numbers, in this order.
        image_size: pixels a side; by default 32 for glyphs, 64 or less for folders, else as stored.
        fonts: a folder of fonts for glyphs, in place of the 12 that come along.
        path: may stand here in place of `:PATH`.
        cache: glyphs are kept in the user's cache directory.
        threads: that decode image files; by default the cores that this process has.

    Raises:
        UsageError: no such data; options that contradict each other.
        DataError: the data are missing, damaged or of another layout, or lack a class.
    """
    kind, path = _named(data, path)
    if fonts is not None and kind != "glyphs":
        raise UsageError(f"fonts {fonts!r} are for glyphs, and the data are {data!r}")
    _check_size(image_size)
    choose = chooser(classes, subset)
    if kind == "glyphs":
        size = image_size or _GLYPH_SIZE
        found = glyph_images(classes or _GLYPHS, size, fonts, cache=cache)
        if subset is not None:
            try:
                order = choose(found.class_names)
            except DataError:  # a rarer character
                found = glyph_images(None, size, fonts, cache=cache)
                order = choose(found.class_names)
            found = restricted(found, order)
    elif kind == "folder":
        found = read_folder(path, image_size=image_size, choose=choose, threads=threads)
    else:
        whole = read_cifar(_CIFAR[kind], path or None) if kind in _CIFAR else read_stored(path)
        found = _resized(restricted(whole, choose(whole.class_names)), image_size)
    counts = {
        "classes": len(found.class_names),
        "train_images": len(found.train.labels),
        "test_images": 0 if found.test is None else len(found.test.labels),
    }
    return dataclasses.replace(found, facts=found.facts | counts)


def load_matched(
    data: str,
    class_names: Sequence[str],
    *,
    image_size: int | None = None,
    channels: int,
    note: Callable[[str], None] | None = None,
    threads: int | None = None,
) -> MatchedSet:
    """Out-of-distribution test images of classes that are known by their names.

    Names match whatever their case; `car` is `automobile` and `plane` is `airplane`, so that STL-10
    (Coates, Ng and Lee, 2011) meets CIFAR-10 (Krizhevsky, 2009). Other classes are left out. The
    images are those for testing, or all where the data have no such part of their own.

    Args:
        data: as `load_images` takes it.
        class_names: of the network, in the order of its labels.
        image_size: of the network; by default as `load_images` has it.
        channels: of the network, 1 or 3; colours become greys, and greys become colours.
        note: is told of images that cannot be read.
        threads: that decode image files; by default the cores that this process has.

    Returns:
        Labels are those of `class_names`.

    Raises:
        UsageError: no such data.
        DataError: no class matches; both lists begin the message.
    """
    kind, path = _named(data, None)
    _check_size(image_size)
    ours: list[int] = []

    def choose(names: Sequence[str]) -> list[int]:
        pairs = matches(names, class_names)
        if not pairs:
            raise DataError(
                f"no class of {data!r} ({_first(names)}) has the name of a class of the network "
                f"({_first(class_names)}); rename its class folders"
            )
        ours[:] = pairs.values()
        return list(pairs)

    if kind == "folder":
        found, warnings = read_folder_test(
            path, image_size=image_size, channels=channels, choose=choose, threads=threads
        )
        name = folder_name(path)
    else:
        whole = load_images(data, image_size=image_size)
        some = restricted(whole, choose(whole.class_names))
        found, warnings, name = some.test or some.train, list(some.warnings), some.name
    if note is not None:
        for line in warnings:
            note(f"{data}: {line}")
    size = image_size or found.images.shape[2]
    labels = np.array(ours)[found.labels]
    return MatchedSet(
        fitted(found.images, channels, size), labels, name, len(ours), tuple(warnings)
    )


def _named(data: str, path: str | None) -> tuple[str, str]:
    """What kind of data it is, and where; `` where nothing was said."""
    kind, _, place = data.partition(":")
    if kind not in _KINDS:
        hint = ""
        if os.path.exists(data):
            hint = f"; is it {'folder' if os.path.isdir(data) else 'h5'}:{data}?"
        raise UsageError(
            f"data {data!r} are unknown; write glyphs, cifar10, cifar100, folder:PATH or "
            f"h5:PATH{hint}"
        )
    if place and path:
        raise UsageError(f"data {data!r} name a path, and so does {path!r}; give one of both")
    place = place or path or ""
    if place and kind == "glyphs":
        raise UsageError(f"glyphs have no path, found {place!r}; fonts take a folder")
    if not place and kind in ("folder", "h5"):
        raise UsageError(f"{data!r} names no path; write {kind}:PATH")
    return kind, place


def _check_size(image_size: int | None) -> None:
    if image_size is not None and not 1 <= image_size <= _LARGEST:
        raise UsageError(f"image size {image_size} is not from 1 to {_LARGEST} pixels")


def _resized(data: ImageData, size: int | None) -> ImageData:
    """The same images with so many pixels a side."""
    if size is None:
        return data
    sets = [
        images and ImageSet(fitted(images.images, images.images.shape[1], size), images.labels)
        for images in (data.train, data.test)
    ]
    assert sets[0] is not None
    return dataclasses.replace(
        data, train=sets[0], test=sets[1], facts=data.facts | {"image_size": size}
    )


def _first(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
