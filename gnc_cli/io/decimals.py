"""The numbers of a text file as they are written: no decimal is rounded to a float on the way."""

import os
import re
from pathlib import PurePath

import numpy as np

from gnc_cli.io.inputs import split_key

__all__ = ["is_text", "read_decimals"]

_TEXT = (".txt", ".csv")
_MOST_NUMBERS = 2_000_000
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
"""What is as exact as it looks; longer exponents are no coordinates, and would fill the memory."""


def is_text(path: str) -> bool:
    """Whether `read_published` reads decimals from this file."""
    name, key = split_key(path)
    return key is None and PurePath(name).suffix.lower() in _TEXT


def read_decimals(path: str, rows: np.ndarray) -> list[list[str]] | None:
    """The words of a text file behind the floats that were read from it.

    Args:
        path: the file.
        rows: as `read_published` gave them, shape (K, d).

    Returns:
        One list a point; None where the file is not at hand any more (a pipe, another program
        wrote to it), is no decimal text, or is very large.
    """
    if rows.size > _MOST_NUMBERS or not is_text(path) or not os.path.isfile(path):
        return None
    try:
        with open(path, encoding="utf-8-sig") as file:
            lines = [line.partition("#")[0].strip() for line in file]
    except (OSError, UnicodeDecodeError):
        return None
    first = next((line for line in lines if line), "")
    delimiter = "," if "," in first else None
    words = [word.strip() for line in lines if line for word in line.split(delimiter)]
    if len(words) != rows.size or not all(_NUMBER.fullmatch(word) for word in words):
        return None
    if not np.array_equal(np.array([float(word) for word in words]), rows.ravel()):
        return None
    d = rows.shape[1]
    return [words[k : k + d] for k in range(0, len(words), d)]
