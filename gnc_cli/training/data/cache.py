"""Image data that takes long to make, kept in the user's cache directory as .npz."""

import contextlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from gnc_cli.errors import OutputError
from gnc_cli.io.atomic import atomic_file
from gnc_cli.training.data.image_set import ImageData, ImageSet


def cache_folder() -> Path | None:
    """`gnc` in the user's cache directory ($XDG_CACHE_HOME or ~/.cache); None without a home."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(base):  # the XDG specification has relative ones ignored
        return Path(base, "gnc")
    with contextlib.suppress(RuntimeError):
        return Path.home() / ".cache" / "gnc"
    return None


def read_cached(key: str) -> ImageData | None:
    """What `write_cached` stored under this key; None where it is missing, damaged or foreign."""
    folder = cache_folder()
    if folder is None or not (folder / f"{key}.npz").is_file():
        return None
    # Damage, which the checksums of the archive show, is nearly any exception of zipfile or NumPy,
    # and all mean one thing: make it anew.
    try:
        with open(folder / f"{key}.npz", "rb") as file, np.load(file) as stored:
            about: dict[str, Any] = json.loads(stored["about"].tobytes())
            train, test = (
                ImageSet(stored[f"{part}_images"], stored[f"{part}_labels"])
                if f"{part}_images" in stored else None
                for part in ("train", "test")
            )  # fmt: skip
        assert train is not None
        about |= {name: tuple(about[name]) for name in ("class_names", "warnings")}
        return ImageData(train=train, test=test, **about)
    except Exception:
        return None


def write_cached(key: str, data: ImageData) -> None:
    """Store data under a key for the next run; a cache that cannot be written is no error.

    Readers in other processes see the old file or the new one. The pictures must be arrays.
    """
    folder = cache_folder()
    if folder is None:
        return
    sets = {"train": data.train} | ({"test": data.test} if data.test is not None else {})
    arrays = {
        f"{name}_{part}": np.asarray(getattr(images, part))
        for name, images in sets.items()
        for part in ("images", "labels")
    }
    about = {name: value for name, value in vars(data).items() if name not in ("train", "test")}
    text = np.frombuffer(json.dumps(about).encode(), np.uint8)
    with contextlib.suppress(OSError, OutputError):
        folder.mkdir(parents=True, exist_ok=True)
        with atomic_file(folder / f"{key}.npz", force=True) as file:
            np.savez(file, about=text, **arrays)  # type: ignore[arg-type]
