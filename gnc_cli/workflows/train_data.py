"""The images of a run: read, counted, described."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.io.images.image_set import ImageData, ImageSet, MatchedSet
from gnc_cli.io.images.load import load_images, load_matched
from gnc_cli.io.run_places import portable
from gnc_cli.networks.augmentation import Augmentation
from gnc_cli.workflows.train_settings import Settings

__all__ = ["augmentation_of", "data_facts", "read_data", "read_ood"]


def read_data(settings: Settings, threads: int | None = None) -> ImageData:
    """The images that the settings name.

    Args:
        settings: of the run.
        threads: that decode image files; by default the cores that this process has.

    Raises:
        DataError, UsageError: they cannot be read, or have no such classes.
    """
    kind, _, path = settings.data.partition(":")
    name = kind if kind in ("cifar10", "cifar100") else settings.data
    data = load_images(
        name, classes=settings.classes, subset=settings.subset, image_size=settings.image_size,
        fonts=settings.fonts, path=path if name == kind and path else None,
        threads=threads,
    )  # fmt: skip
    if len(data.class_names) < 2:
        raise DataError(f"{settings.data!r} has a single class; at least two are needed")
    return data


def read_ood(
    settings: Settings, data: ImageData, note: Callable[[str], None], threads: int | None = None
) -> MatchedSet | None:
    """The out-of-distribution set, where there is one, with the labels of the training set.

    Args:
        settings: of the run.
        data: its training data.
        note: told what was left out, a line each.
        threads: as for `read_data`.
    """
    if settings.ood is None:
        return None
    shape = data.train.images.shape
    return load_matched(
        settings.ood, data.class_names, image_size=shape[-1], channels=shape[1], note=note,
        threads=threads,
    )  # fmt: skip


def augmentation_of(settings: Settings, data: ImageData) -> tuple[Settings, Augmentation]:
    """The augmentation asked for, else all that keeps the classes; named in the settings too."""
    names = settings.augment
    if names is None:
        names = ("crop", "flip", "rotate") if data.flip else ("crop", "rotate")
    papers = Augmentation()
    chosen = Augmentation(
        padding=papers.padding if "crop" in names else 0, flip="flip" in names,
        degrees=papers.degrees if "rotate" in names else 0.0,
    )  # fmt: skip
    return dataclasses.replace(settings, augment=names), chosen


def data_facts(data: ImageData, ood: ImageSet | None) -> dict[str, Any]:
    """What the result says of the data; plain JSON."""
    shape = data.train.images.shape
    counts = np.bincount(data.train.labels, minlength=len(data.class_names))
    ours = {
        "name": data.name,
        "classes": len(data.class_names),
        "train_images": len(data.train.labels),
        "test_images": None if data.test is None else len(data.test.labels),
        "ood_images": None if ood is None else len(ood.labels),
        "smallest_class": int(counts.min()),
        "largest_class": int(counts.max()),
        "channels": shape[1],
        "image_size": shape[-1],
    }
    matched, warnings = None, list(data.warnings)
    if isinstance(ood, MatchedSet):
        matched = {"name": ood.name, "classes_matched": ood.classes_matched}
        warnings += [f"{ood.name}: {line}" for line in ood.warnings]
    # In this order, and with these counts.
    return ours | data.facts | ours | {"ood": matched, "warnings": portable(warnings)}
