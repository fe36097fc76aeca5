"""Images by what the user calls them: `glyphs:DIR`, `fashion-mnist`, `folder:PATH`, `npz:FILE`.

A reader is loaded when its kind of images is asked for.
"""

import dataclasses
import os
from collections.abc import Callable, Sequence

import numpy as np

from gnc_cli.errors import DataError, UsageError
from gnc_cli.parsing import listed
from gnc_cli.training.data.glyphs import glyph_images, glyphs_of
from gnc_cli.training.data.idx import IDX_SETS, read_idx
from gnc_cli.training.data.image_set import (
    FilePictures,
    ImageData,
    ImageSet,
    MatchedSet,
    chooser,
    first_per_class,
    matches,
    restricted,
)

_CIFAR = ("cifar10", "cifar100")
_WITH_PATH = ("folder", "idx", "h5", "npz")
_KINDS = ("glyphs", *_CIFAR, *IDX_SETS, *_WITH_PATH)
_GLYPHS = 100
_GLYPH_SIZE = 32
_BLOCK = 1024
"""Pictures resized at a time."""
_LUMA = np.array([19595, 38470, 7471])
"""Red, green and blue in 65536ths of their luminance (ITU-R BT.601), as Pillow weighs them."""


def load_images(
    data: str = "glyphs",
    *,
    classes: int | None = None,
    subset: Sequence[str] | None = None,
    per_class: int | None = None,
    image_size: int | None = None,
    script: str | None = None,
    threads: int | None = None,
) -> ImageData:
    """A training set and, where there is one, a test set.

    `data` is `glyphs[:DIR]`, `cifar10[:PATH]`,
    `cifar100[:PATH]`, one of `IDX_SETS` with or without `:DIR`, `folder:PATH`, `idx:DIR`, `h5:FILE`
    or `npz:FILE`; nothing is downloaded. Of its classes come the first `classes` in its own order
    (100 glyphs by default, else all), or those of the names or numbers in `subset`, in that order;
    of each of them the first `per_class` training images. Images have `image_size` pixels a side,
    by default 32 for glyphs, 64 or less for folders, else as stored. `threads` decode image files,
    by default as many as this process has cores.
    """
    kind, path = _kind_and_path(data)
    choose = chooser(classes, subset)
    if kind == "folder":
        from gnc_cli.training.data.folders import read_folder

        whole = read_folder(path, image_size=image_size, choose=choose, threads=threads)
    elif kind == "glyphs":
        size = image_size or _GLYPH_SIZE
        whole = glyph_images(classes or _GLYPHS, size, path or None, script)
        if subset is not None:
            try:
                whole = restricted(whole, choose(whole.class_names))
            except DataError:  # a rarer character
                whole = glyph_images(None, size, path or None, script)
                whole = restricted(whole, choose(whole.class_names))
    else:
        if kind in _CIFAR:
            from gnc_cli.training.data.cifar import CIFAR10, CIFAR100, read_cifar

            whole = read_cifar(CIFAR10 if kind == "cifar10" else CIFAR100, path or None)
        elif kind in IDX_SETS or kind == "idx":
            whole = read_idx(kind, path or None)
        else:
            from gnc_cli.training.data.stored import read_stored

            whole = read_stored(path, kind)
        whole = _with_size(restricted(whole, choose(whole.class_names)), image_size)
    return whole if per_class is None else first_per_class(whole, per_class)


def load_matched(
    name: str, data: ImageData, note: Callable[[str], None], threads: int | None
) -> ImageData:
    """`data` with images called `name`, out of distribution, of classes known by their names.

    Names match whatever their case; `car` is `automobile` and `plane` is `airplane`, so that STL-10
    (Coates, Ng and Lee, 2011) meets CIFAR-10 (Krizhevsky, 2009). Other classes are left out. The
    images are those for testing, or all where the set has no such part of its own; colours become
    greys, or greys colours, as the training images are. Of `glyphs` come the classes' characters in
    all faces. Labels are those of the training set. `note` is called with each warning, such as
    that of images that cannot be read.
    """
    _, channels, size, _ = data.train.images.shape
    kind, path = _kind_and_path(name)
    ours: list[int] = []

    def choose(names: Sequence[str]) -> list[int]:
        pairs = matches(names, data.class_names)
        if not pairs:
            raise DataError(
                f"no class of {name!r} ({listed(names)}) has the name of a class of the network "
                f"({listed(data.class_names)}); rename its class folders"
            )
        ours[:] = pairs.values()
        return list(pairs)

    if kind == "folder":
        from gnc_cli.training.data.folders import folder_name, read_folder_test

        images, warnings = read_folder_test(
            path, image_size=size, channels=channels, choose=choose, threads=threads
        )
        title = folder_name(path)
    elif kind == "glyphs":
        images, ours, title, warnings = glyphs_of(data.class_names, size, path or None)
    else:
        whole = load_images(name, image_size=size)
        some = restricted(whole, choose(whole.class_names))
        images, warnings, title = some.test or some.train, list(some.warnings), some.name
    for line in warnings:
        note(f"{name}: {line}")
    pictures, labels = fitted(images.images, channels, size), np.array(ours)[images.labels]
    matched = MatchedSet(pictures, labels, title, len(ours), tuple(warnings))
    return dataclasses.replace(data, ood=matched)


def _kind_and_path(data: str) -> tuple[str, str]:
    kind, _, path = data.partition(":")
    if kind not in _KINDS:
        if (suffix := os.path.splitext(data)[1][1:]) in _WITH_PATH:
            raise UsageError(f"data {data!r} are unknown; write {suffix}:{data}")
        raise UsageError(
            f"data {data!r} are unknown; write {', '.join(_KINDS[: -len(_WITH_PATH)])} or "
            f"{', '.join(f'{word}:PATH' for word in _WITH_PATH)}"
        )
    if not path and kind in _WITH_PATH:
        raise UsageError(f"{data!r} names no path; write {kind}:PATH")
    return kind, path


def _with_size(data: ImageData, size: int | None) -> ImageData:
    """The same images with `size` pixels a side; as they are where nobody asks."""
    if size is None:
        return data

    def resized(images: ImageSet) -> ImageSet:
        return ImageSet(fitted(images.images, images.images.shape[1], size), images.labels)

    facts = data.facts | {"image_size": size}
    test = data.test and resized(data.test)
    return dataclasses.replace(data, train=resized(data.train), test=test, facts=facts)


def fitted(
    images: np.ndarray | FilePictures, channels: int, size: int
) -> np.ndarray | FilePictures:
    """The same pictures with these channels and pixels a side.

    Colours become their luminance, greys all three colours; sizes change with antialiasing.
    """
    if images.shape[1:] == (channels, size, size):
        return images
    whole = np.empty((images.shape[0], channels, size, size), np.uint8)
    for start in range(0, len(whole), _BLOCK):
        rows = np.arange(start, min(start + _BLOCK, len(whole)))
        pictures = images[rows]
        if channels == 1 and pictures.shape[1] == 3:
            grey = np.tensordot(pictures.astype(np.int64), _LUMA, axes=(1, 0))
            pictures = ((grey + 0x8000) >> 16).astype(np.uint8)[:, None]
        if pictures.shape[2] != size:
            pictures = _resized(pictures, size)
        whole[rows] = pictures  # of greys in each of three channels
    return whole


def _resized(pictures: np.ndarray, size: int) -> np.ndarray:
    from PIL import Image

    count, channels = pictures.shape[:2]
    planes = np.empty((count * channels, size, size), np.uint8)
    for target, plane in zip(planes, pictures.reshape(-1, *pictures.shape[2:]), strict=True):
        image = Image.fromarray(np.ascontiguousarray(plane))
        target[:] = np.asarray(image.resize((size, size), Image.Resampling.BILINEAR))
    return planes.reshape(count, channels, size, size)
