"""Code of a file, with the time and the way of its creation: `created` and `provenance`."""

import datetime
import json
import os
import re
import time
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

import numpy as np

from gnc_cli.errors import DataError, UsageError
from gnc_cli.plain import plain, with_leaves

_WINDOWS_FOLDERS = re.compile(r"""(?<!\w)[A-Za-z]:[\\/](?:[^\\/\s'"]+[\\/])*(?=[^\\/\s'"])""")
r"""Folders of a path of Windows, `C:\Users\ada\tiny`."""
_FOLDERS = re.compile(r"""(?<![^\s='"])/(?:[^\s/'"]+/)*(?=[^\s/'"])""")
"""Folders of a path that starts a word: after a blank, a quote or an equals sign, not in a URL."""
_KIND_FOLDERS = re.compile(r"(?<!\S)([A-Za-z]\w*:)/(?!/)(?:[^\s/]+/)*(?=[^\s/])")
"""Kind and folders of `folder:/home/ada/tiny`, but not of a URL."""


@dataclass(frozen=True, eq=False)
class CodeFile:
    """Code of a file: rows are points, exactly as they were stored.

    Raises:
        DataError: the shapes disagree.
    """

    weights: np.ndarray
    """Rows of the code or classifier, shape (K, d), float64, not normalised."""
    features: np.ndarray | None = None
    """Features as stored, shape (N, d); for a numerical code one row per class."""
    labels: np.ndarray | None = None
    """Class of each feature, shape (N,), integers."""
    bias: np.ndarray | None = None
    """Bias of the classifier, shape (K,)."""
    attrs: dict[str, Any] = field(default_factory=dict)
    """Further attributes (`split`, `scale`); files add `created`, `gnc_version`."""
    provenance: dict[str, Any] = field(default_factory=dict)
    """Origin: command, options, seed, library versions, result. JSON types."""
    state: dict[str, int] | None = None
    """Search state for --resume: seed and number of starts done."""
    storage: str = "float64"
    """Dtype of the weights in the file."""

    def __post_init__(self) -> None:
        if self.weights.ndim != 2:
            raise DataError(f"weights have shape {self.weights.shape}; expected (K, d)")
        K, d = self.weights.shape
        if self.features is not None and (self.features.ndim != 2 or self.features.shape[1] != d):
            raise DataError(f"features have shape {self.features.shape}; expected (N, {d})")
        if self.labels is not None:
            rows = K if self.features is None else len(self.features)
            if self.labels.shape != (rows,):
                raise DataError(f"labels have shape {self.labels.shape}; expected ({rows},)")
        if self.bias is not None and self.bias.shape != (K,):
            raise DataError(f"bias has shape {self.bias.shape}; expected ({K},)")

    def arrays(self) -> dict[str, np.ndarray]:
        """Return `weights`, (K, d), and `features`, (N, d), if any, as contiguous float64."""
        matrices = {"weights": self.weights, "features": self.features}
        return {
            name: np.ascontiguousarray(array, dtype=np.float64)
            for name, array in matrices.items()
            if array is not None
        }


def creation_time() -> str:
    """Return the time in UTC, ISO 8601 to the second; SOURCE_DATE_EPOCH replaces the clock.

    Raises:
        UsageError: SOURCE_DATE_EPOCH is not a number of seconds.
    """
    text = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        seconds = time.time() if text is None else int(text)
        moment = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise UsageError(
            f"SOURCE_DATE_EPOCH is {text!r}; expected seconds since 1970, for example 1700000000"
        ) from error
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def provenance_text(provenance: dict[str, Any]) -> str:
    """Format `provenance` as JSON text with sorted keys, and the last parts of absolute paths.

    >>> provenance_text({"seed": 0, "command": "gnc solve --init /home/ada/a.h5"})
    '{"command": "gnc solve --init a.h5", "seed": 0}'
    """
    return json.dumps(portable(provenance), sort_keys=True, allow_nan=False)


def parse_provenance(text: Any) -> dict[str, Any]:
    """Parse the text of `provenance_text`; other texts give an empty dictionary."""
    try:
        value = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {}


def portable(value: Any) -> Any:
    r"""Convert `value` to JSON types, with the last parts of absolute paths.

    >>> portable({"data": "folder:/home/ada/tiny", "out": "/tmp/run", "url": "https://a.b/c"})
    {'data': 'folder:tiny', 'out': 'run', 'url': 'https://a.b/c'}
    >>> portable([r"folder:C:\Users\ada\tiny", "D:/ada/run"])
    ['folder:tiny', 'run']
    """
    return with_leaves(plain(value), _strip_folders)


def _strip_folders(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if os.path.isabs(value) and "\n" not in value:
        return PurePath(value).name
    return _KIND_FOLDERS.sub(r"\1", _FOLDERS.sub("", _WINDOWS_FOLDERS.sub("", value)))
