"""Images by what the user calls them: `glyphs:DIR`, `fashion-mnist`, `folder:PATH`, `npz:FILE`.

A reader is loaded when its kind of images is asked for. HDF5 and .npz files have the names and
layouts that people give them: pictures are uint8 of shape (N, C, S, S), (N, S, S, C) or (N, S, S),
the first that fits.
"""

import dataclasses
import math
import os
from collections.abc import Callable, Sequence
from pathlib import PurePath

import numpy as np

from gnc_cli.errors import DataError, UsageError
from gnc_cli.io.catalogue import Catalogue, checked, translated
from gnc_cli.io.formats import FORMATS
from gnc_cli.io.inputs import open_input
from gnc_cli.io.loading import load_labels
from gnc_cli.parsing import abridge
from gnc_cli.training.data.glyphs import glyph_images, glyphs_of
from gnc_cli.training.data.idx import IDX_SETS, read_idx
from gnc_cli.training.data.image_set import (
    FilePictures,
    ImageData,
    ImageSet,
    MatchedSet,
    chooser,
    first_per_class,
    fits_in_memory,
    matches,
    restricted,
    with_present_classes,
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
_TRAIN = (
    ("images", "labels"),
    ("train_images", "train_labels"),
    ("x_train", "y_train"),
    ("train/images", "train/labels"),
    ("X_train", "y_train"),
    ("X", "y"),
    ("x", "y"),
    ("data", "target"),
    ("arr_0", "arr_1"),  # what numpy.savez calls arrays without names
)
_TEST = (
    ("test_images", "test_labels"),
    ("x_test", "y_test"),
    ("test/images", "test/labels"),
    ("X_test", "y_test"),
    ("val_images", "val_labels"),
    ("x_val", "y_val"),
    ("val/images", "val/labels"),
    ("X_val", "y_val"),
)
_NAMES = "class_names"
_LAYOUTS = "(N, C, S, S), (N, S, S, C) or (N, S, S) with C = 1 or 3"


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
                f"no class of {name!r} ({abridge(names)}) has the name of a class of the network "
                f"({abridge(data.class_names)}); rename its class folders"
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


def read_stored(path: str, kind: str = "h5") -> ImageData:
    """Images and labels of a file under the first names of `_TRAIN`, a test set under `_TEST`.

    `kind` is `h5` or `npz`, and names the file's format. `class_names` are their numbers by
    default. Mirror images are taken for the same class where there are colours.
    """
    with open_input(path) as stream, FORMATS[f".{kind}"](stream, path) as catalogue:
        pair, test_pair = _pair(catalogue, _TRAIN), _pair(catalogue, _TEST)
        if pair is None:
            wanted = " or ".join(" and ".join(map(repr, names)) for names in _TRAIN[:6])
            raise DataError(f"{path!r} has no {wanted}; it holds {catalogue}")
        train = _image_set(catalogue, pair)
        test = None if test_pair is None else _image_set(catalogue, test_pair)
        K = 1 + max(int(part.labels.max(initial=0)) for part in (train, test) if part is not None)
        class_names = _class_names(catalogue, K)
    if test is not None and test.images.shape[1:] != train.images.shape[1:]:
        raise DataError(
            f"{path!r}: test images are {test.images.shape[1:]} and training images "
            f"{train.images.shape[1:]}; bring them to one size"
        )
    _, channels, size, _ = train.images.shape
    data = ImageData(
        train,
        test,
        class_names,
        f"{kind}:{PurePath(path).name}",
        {"datasets": [*pair, *(test_pair or ())], "image_size": size},
        (),
        flip=channels == 3,
    )
    return with_present_classes(data, repr(path))


def _pair(catalogue: Catalogue, names: tuple[tuple[str, str], ...]) -> tuple[str, str] | None:
    """The images and labels that are there, under the first of these names."""
    return next((pair for pair in names if set(pair) <= catalogue.entries.keys()), None)


def _image_set(catalogue: Catalogue, pair: tuple[str, str]) -> ImageSet:
    pictures, labels = _pictures(catalogue, pair[0]), load_labels(catalogue, pair[1])
    where, N = catalogue.where(pair[1]), len(pictures)
    if len(labels) != N:
        raise DataError(
            f"{where} has {len(labels)} label(s) for {N} images of {pair[0]!r}; expected one each"
        )
    if N and labels.max() >= max(2, 10 * N):
        raise DataError(
            f"{where} goes up to {labels.max()} for {N} images; number the classes from 0 on"
        )
    return ImageSet(pictures, labels)


def _pictures(catalogue: Catalogue, name: str) -> np.ndarray:
    """uint8 (N, C, S, S)."""
    entry, where = checked(catalogue, name, whole=False), catalogue.where(name)
    if entry.dtype != "uint8":
        raise DataError(
            f"{where} has dtype {entry.dtype}; images are uint8 from 0 to 255: store "
            f"{'numpy.round(255 * images)' if 'float' in entry.dtype else 'them'} as uint8"
        )
    axes, needed = _layout(where, entry.shape), math.prod(entry.shape)
    if not fits_in_memory(needed):
        raise DataError(
            f"{where} needs {needed / 1e9:.3g} GB, more than half of this machine's memory; "
            "images in class folders are read as they are needed: folder:PATH"
        )
    with translated(catalogue.path, "images"):
        pictures = entry.load()
        if -1 in axes:
            return np.ascontiguousarray(pictures)[:, None]
        return np.ascontiguousarray(pictures.transpose(axes))


def _layout(where: str, shape: tuple[int, ...]) -> tuple[int, int, int, int]:
    """The axes of the file that are N, C, S, S; C is -1 where there is none."""
    if len(shape) == 3 and shape[1] == shape[2]:
        return 0, -1, 1, 2
    if len(shape) == 4 and shape[1] in (1, 3) and shape[2] == shape[3]:
        return 0, 1, 2, 3
    if len(shape) == 4 and shape[3] in (1, 3) and shape[1] == shape[2]:
        return 0, 3, 1, 2
    raise DataError(f"{where} has shape {shape}; images are {_LAYOUTS}, so cut them to squares")


def _class_names(catalogue: Catalogue, K: int) -> tuple[str, ...]:
    """One for each class, or more; the numbers where the file has none."""
    if _NAMES not in catalogue.entries:
        return tuple(map(str, range(K)))
    entry = catalogue.entries[_NAMES]
    where = catalogue.where(_NAMES)
    if entry.problem is not None or len(entry.shape) != 1 or entry.real:
        raise DataError(f"{where} is {entry}; expected texts of shape (K,)")
    with translated(catalogue.path, "class names"):
        names = tuple(map(str, entry.load().tolist()))
    if len(names) < K:
        raise DataError(
            f"{where} has {len(names)} name(s), and labels go up to {K - 1}; number them from 0"
        )
    return names
