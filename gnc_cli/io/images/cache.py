"""Image data that takes long to make, kept in the user's cache directory as HDF5."""

import contextlib
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from gnc_cli.errors import OutputError
from gnc_cli.io.atomic import atomic_file
from gnc_cli.io.images.image_set import ImageData, ImageSet

__all__ = ["cache_folder", "read_cached", "write_cached"]


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
    if folder is None or not (folder / f"{key}.h5").is_file():
        return None
    import h5py

    # Damage shows as nearly any exception of h5py or json, and all mean one thing: make it anew.
    try:
        # Through a Python file: HDF5's own would lock it, which some network disks refuse.
        with open(folder / f"{key}.h5", "rb") as file, h5py.File(file, "r") as h5:
            text = h5["about"][()].tobytes()
            arrays = {name: h5[name][()] for name in h5 if name != "about"}
            if h5.attrs["sha256"] != _digest(text, arrays):
                return None
        about: dict[str, Any] = json.loads(text)
        test = None
        if "test_images" in arrays:
            test = ImageSet(arrays["test_images"], arrays["test_labels"])
        return ImageData(
            train=ImageSet(arrays["train_images"], arrays["train_labels"]),
            test=test,
            class_names=tuple(about["class_names"]),
            name=about["name"],
            facts=about["facts"],
            warnings=tuple(about["warnings"]),
            flip=about["flip"],
        )
    except Exception:
        return None


def write_cached(key: str, data: ImageData) -> None:
    """Store data under a key for the next run; a cache that cannot be written is no error.

    Readers in other processes see the old file or the new one. The pictures must be arrays.
    """
    folder = cache_folder()
    if folder is None:
        return
    import h5py

    about = {
        "class_names": data.class_names,
        "name": data.name,
        "facts": data.facts,
        "warnings": data.warnings,
        "flip": data.flip,
    }
    text = json.dumps(about).encode()
    sets = {"train": data.train} | ({"test": data.test} if data.test is not None else {})
    arrays = {
        f"{name}_{part}": np.asarray(getattr(images, part))
        for name, images in sets.items()
        for part in ("images", "labels")
    }
    with contextlib.suppress(OSError, OutputError):
        folder.mkdir(parents=True, exist_ok=True)
        with atomic_file(folder / f"{key}.h5", force=True) as file, h5py.File(file, "w") as h5:
            h5.attrs["sha256"] = _digest(text, arrays)
            h5["about"] = np.frombuffer(text, np.uint8)
            for name, array in arrays.items():
                h5[name] = array


def _digest(text: bytes, arrays: dict[str, np.ndarray]) -> str:
    digest = hashlib.sha256(text)
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype} {array.shape} ".encode())
        digest.update(array.data)
    return digest.hexdigest()
