"""Images by the names of `--data`: `glyphs:DIR`, `fashion-mnist`, `folder:PATH`, `npz:FILE`.

The reader of a kind of images is imported on its first use. HDF5 and .npz files may have any of the
usual names and layouts: images are uint8 of shape (N, C, S, S), (N, S, S, C) or (N, S, S), the
first that fits.
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
from gnc_cli.training.data.glyphs import glyph_images, glyph_test_images
from gnc_cli.training.data.idx import IDX_SETS, read_idx
from gnc_cli.training.data.image_set import (
    FileImages,
    ImageData,
    ImageSet,
    MatchedSet,
    chooser,
    drop_empty_classes,
    first_per_class,
    fits_in_memory,
    matches,
    restrict,
)

_CIFAR_SETS = ("cifar10", "cifar100")
_PATH_KINDS = ("folder", "idx", "h5", "npz")
_KINDS = ("glyphs", *_CIFAR_SETS, *IDX_SETS, *_PATH_KINDS)
_DEFAULT_GLYPHS = 100
"""Number of classes of glyphs."""
_DEFAULT_GLYPH_SIZE = 32
"""Side of glyphs in pixels, as in CIFAR."""
_BLOCK = 1024
"""Number of images resized together, which bounds the memory of the intermediate values."""
_LUMA_WEIGHTS = np.array([19595, 38470, 7471])
"""Red, green and blue in 65536ths of their luminance (ITU-R BT.601), as Pillow weighs them."""
_TRAIN_PAIRS = (
    ("images", "labels"),
    ("train_images", "train_labels"),
    ("x_train", "y_train"),
    ("train/images", "train/labels"),
    ("X_train", "y_train"),
    ("X", "y"),
    ("x", "y"),
    ("data", "target"),
    ("arr_0", "arr_1"),  # names that numpy.savez gives to arrays without one
)
"""Names of the training images and labels in a file. The first pair that is there counts."""
_TEST_PAIRS = (
    ("test_images", "test_labels"),
    ("x_test", "y_test"),
    ("test/images", "test/labels"),
    ("X_test", "y_test"),
    ("val_images", "val_labels"),
    ("x_val", "y_val"),
    ("val/images", "val/labels"),
    ("X_val", "y_val"),
)
"""Names of the test images and labels."""
_NAMES_ENTRY = "class_names"
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
    """Load a training set and a test set, if there is one. Nothing is downloaded.

    Args:
        data: `glyphs[:DIR]`, `cifar10[:PATH]`, `cifar100[:PATH]`, one of `IDX_SETS` with or without
            `:DIR`, `folder:PATH`, `idx:DIR`, `h5:FILE` or `npz:FILE`.
        classes: number of classes, the first in the order of the data; by default 100 glyphs, else
            all.
        subset: names or numbers of the classes, in the order of the new labels.
        per_class: number of training images per class, the first ones.
        image_size: side S of the images in pixels, by default 32 for glyphs, 64 or less for
            folders, else as stored.
        script: script of the glyphs.
        threads: number of threads that decode image files, by default the cores of this process.

    Returns:
        Images uint8 (N, C, S, S) and labels int64 (N,).

    Raises:
        DataError: files are missing or malformed, or do not have the classes.
        UsageError: the kind of data is unknown, or a class is requested twice.
    """
    kind, path = _parse_source(data)
    choose = chooser(classes, subset)
    if kind == "folder":
        from gnc_cli.training.data.folders import read_folder

        whole = read_folder(path, image_size=image_size, choose=choose, threads=threads)
    elif kind == "glyphs":
        size = image_size or _DEFAULT_GLYPH_SIZE
        whole = glyph_images(classes or _DEFAULT_GLYPHS, size, path or None, script)
        if subset is not None:
            try:
                whole = restrict(whole, choose(whole.class_names))
            except DataError:  # a rarer character
                whole = glyph_images(None, size, path or None, script)
                whole = restrict(whole, choose(whole.class_names))
    else:
        if kind in _CIFAR_SETS:
            from gnc_cli.training.data.cifar import CIFAR10, CIFAR100, read_cifar

            whole = read_cifar(CIFAR10 if kind == "cifar10" else CIFAR100, path or None)
        elif kind in IDX_SETS or kind == "idx":
            whole = read_idx(kind, path or None)
        else:
            whole = read_stored(path, kind)
        whole = _resize_sets(restrict(whole, choose(whole.class_names)), image_size)
    return whole if per_class is None else first_per_class(whole, per_class)


def load_matched(
    name: str, data: ImageData, note: Callable[[str], None], threads: int | None
) -> ImageData:
    """Return the data with the out-of-distribution images `name`, whose classes match by name.

    Upper and lower case are the same; `car` is `automobile` and `plane` is `airplane`, so that
    STL-10 (Coates, Ng and Lee, 2011) matches CIFAR-10 (Krizhevsky, 2009). Other classes are left
    out. The images are those for testing, or all if the set has no test images. They become grey or
    coloured as the training images are. `glyphs` are the classes' characters in all faces. Labels
    are those of the training set. `note` is called with each warning, such as that of images that
    cannot be read.

    Raises:
        DataError: no class matches, or the images cannot be read.
        UsageError: the kind of data is unknown.
    """
    _, channels, size, _ = data.train.images.shape
    kind, path = _parse_source(name)
    class_numbers: list[int] = []

    def choose(names: Sequence[str]) -> list[int]:
        pairs = matches(names, data.class_names)
        if not pairs:
            raise DataError(
                f"no class of {name!r} ({abridge(names)}) has the name of a class of the network "
                f"({abridge(data.class_names)}); rename its class folders"
            )
        class_numbers[:] = pairs.values()
        return list(pairs)

    if kind == "folder":
        from gnc_cli.training.data.folders import folder_name, read_folder_test

        images, warnings = read_folder_test(
            path, image_size=size, channels=channels, choose=choose, threads=threads
        )
        title = folder_name(path)
    elif kind == "glyphs":
        images, class_numbers, title, warnings = glyph_test_images(
            data.class_names, size, path or None
        )
    else:
        whole = load_images(name, image_size=size)
        selected = restrict(whole, choose(whole.class_names))
        images = selected.test or selected.train
        warnings, title = list(selected.warnings), selected.name
    for line in warnings:
        note(f"{name}: {line}")
    ood = MatchedSet(
        fit_images(images.images, channels, size),
        np.array(class_numbers)[images.labels],
        title,
        len(class_numbers),
        tuple(warnings),
    )
    return dataclasses.replace(data, ood=ood)


def _parse_source(data: str) -> tuple[str, str]:
    kind, _, path = data.partition(":")
    if kind not in _KINDS:
        if (suffix := os.path.splitext(data)[1][1:]) in _PATH_KINDS:
            raise UsageError(f"data {data!r} are unknown; write {suffix}:{data}")
        raise UsageError(
            f"data {data!r} are unknown; write {', '.join(_KINDS[: -len(_PATH_KINDS)])} or "
            f"{', '.join(f'{with_path}:PATH' for with_path in _PATH_KINDS)}"
        )
    if not path and kind in _PATH_KINDS:
        raise UsageError(f"{data!r} names no path; write {kind}:PATH")
    return kind, path


def _resize_sets(data: ImageData, size: int | None) -> ImageData:
    """Return the data with images of `size` pixels a side; None leaves them unchanged."""
    if size is None:
        return data

    def resize(images: ImageSet) -> ImageSet:
        return ImageSet(fit_images(images.images, images.images.shape[1], size), images.labels)

    facts = data.facts | {"image_size": size}
    test = data.test and resize(data.test)
    return dataclasses.replace(data, train=resize(data.train), test=test, facts=facts)


def fit_images(
    images: np.ndarray | FileImages, channels: int, size: int
) -> np.ndarray | FileImages:
    """Return the images with these channels and pixels a side, uint8 (N, C, S, S).

    Colours become their luminance, and greys all three colours. Sizes change with antialiasing.
    """
    if images.shape[1:] == (channels, size, size):
        return images
    whole = np.empty((images.shape[0], channels, size, size), np.uint8)
    for start in range(0, len(whole), _BLOCK):
        rows = np.arange(start, min(start + _BLOCK, len(whole)))
        pixels = images[rows]
        if channels == 1 and pixels.shape[1] == 3:
            grey = np.tensordot(pixels.astype(np.int64), _LUMA_WEIGHTS, axes=(1, 0))
            pixels = ((grey + 0x8000) >> 16).astype(np.uint8)[:, None]
        if pixels.shape[2] != size:
            pixels = _resize(pixels, size)
        whole[rows] = pixels  # one grey channel is written to all three
    return whole


def _resize(pixels: np.ndarray, size: int) -> np.ndarray:
    from PIL import Image

    count, channels = pixels.shape[:2]
    planes = np.empty((count * channels, size, size), np.uint8)
    for target, plane in zip(planes, pixels.reshape(-1, *pixels.shape[2:]), strict=True):
        image = Image.fromarray(np.ascontiguousarray(plane))
        target[:] = np.asarray(image.resize((size, size), Image.Resampling.BILINEAR))
    return planes.reshape(count, channels, size, size)


def read_stored(path: str, kind: str = "h5") -> ImageData:
    """Read a training set and a test set, if there is one, from an HDF5 or .npz file.

    They have the first names of `_TRAIN_PAIRS` and `_TEST_PAIRS` that are there. Without
    `class_names` the classes have their numbers. Mirror images of coloured images are taken for
    the same class.

    Args:
        path: the file.
        kind: its format, `h5` or `npz`.

    Returns:
        Images uint8 (N, C, S, S) and labels int64 (N,).

    Raises:
        DataError: the file lacks images or labels, or has them of another type, shape or length.
    """
    with open_input(path) as stream, FORMATS[f".{kind}"](stream, path) as catalogue:
        pair, test_pair = _pair(catalogue, _TRAIN_PAIRS), _pair(catalogue, _TEST_PAIRS)
        if pair is None:
            expected = " or ".join(" and ".join(map(repr, names)) for names in _TRAIN_PAIRS[:6])
            raise DataError(f"{path!r} has no {expected}; it holds {catalogue}")
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
    return drop_empty_classes(data, repr(path))


def _pair(catalogue: Catalogue, names: tuple[tuple[str, str], ...]) -> tuple[str, str] | None:
    """Return the first of these pairs of names that the file has, or None."""
    return next((pair for pair in names if set(pair) <= catalogue.entries.keys()), None)


def _image_set(catalogue: Catalogue, pair: tuple[str, str]) -> ImageSet:
    pixels, labels = _load_images(catalogue, pair[0]), load_labels(catalogue, pair[1])
    location, N = catalogue.location(pair[1]), len(pixels)
    if len(labels) != N:
        raise DataError(
            f"{location} has {len(labels)} label(s) for {N} images of {pair[0]!r}; expected one "
            "each"
        )
    if N and labels.max() >= max(2, 10 * N):
        raise DataError(
            f"{location} goes up to {labels.max()} for {N} images; number the classes from 0 on"
        )
    return ImageSet(pixels, labels)


def _load_images(catalogue: Catalogue, name: str) -> np.ndarray:
    """Load images as uint8 (N, C, S, S)."""
    entry, location = checked(catalogue, name, whole=False), catalogue.location(name)
    if entry.dtype != "uint8":
        raise DataError(
            f"{location} has dtype {entry.dtype}; images are uint8 from 0 to 255: store "
            f"{'numpy.round(255 * images)' if 'float' in entry.dtype else 'them'} as uint8"
        )
    axes, num_bytes = _layout(location, entry.shape), math.prod(entry.shape)
    if not fits_in_memory(num_bytes):
        raise DataError(
            f"{location} needs {num_bytes / 1e9:.3g} GB, more than half of this machine's memory; "
            "images in class folders are read as they are needed: folder:PATH"
        )
    with translated(catalogue.path, "images"):
        pixels = entry.load()
        if -1 in axes:
            return np.ascontiguousarray(pixels)[:, None]
        return np.ascontiguousarray(pixels.transpose(axes))


def _layout(location: str, shape: tuple[int, ...]) -> tuple[int, int, int, int]:
    """Return the axes of the file for N, C, S and S, with -1 for C if there is none."""
    if len(shape) == 3 and shape[1] == shape[2]:
        return 0, -1, 1, 2
    if len(shape) == 4 and shape[1] in (1, 3) and shape[2] == shape[3]:
        return 0, 1, 2, 3
    if len(shape) == 4 and shape[3] in (1, 3) and shape[1] == shape[2]:
        return 0, 3, 1, 2
    raise DataError(f"{location} has shape {shape}; images are {_LAYOUTS}, so cut them to squares")


def _class_names(catalogue: Catalogue, K: int) -> tuple[str, ...]:
    """Return the names of K or more classes, by default their numbers."""
    if _NAMES_ENTRY not in catalogue.entries:
        return tuple(map(str, range(K)))
    entry = catalogue.entries[_NAMES_ENTRY]
    location = catalogue.location(_NAMES_ENTRY)
    if entry.problem is not None or len(entry.shape) != 1 or entry.real:
        raise DataError(f"{location} is {entry}; expected texts of shape (K,)")
    with translated(catalogue.path, "class names"):
        names = tuple(map(str, entry.load().tolist()))
    if len(names) < K:
        raise DataError(
            f"{location} has {len(names)} name(s), and labels go up to {K - 1}; number them from 0"
        )
    return names
