"""Images in an HDF5 or .npz file, by the names and layouts that people give them.

Pictures are uint8 of shape (N, C, S, S), (N, S, S, C) or (N, S, S), the first that fits.
"""

import math
from pathlib import PurePath

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.io.catalogue import Catalogue, checked, translated
from gnc_cli.io.formats import FORMATS
from gnc_cli.io.inputs import open_input
from gnc_cli.io.loading import load_labels
from gnc_cli.training.data.image_set import (
    ImageData,
    ImageSet,
    fits_in_memory,
    with_present_classes,
)

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
