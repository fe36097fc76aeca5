"""Codes in text files: coordinates as others publish them, and their decimals as written.

A file holds one point per line, or one coordinate per line. Sloane's tables name such files
`pack.3.24.txt`: dimension, then number of points; only the name says where a point ends.
"""

import os
import re
from pathlib import PurePath

import numpy as np

from gnc_cli.errors import DataError, UsageError
from gnc_cli.io.catalogue import Catalogue, Entry
from gnc_cli.io.codefile import CodeFile, collect, read_points
from gnc_cli.io.formats import FORMATS
from gnc_cli.io.inputs import open_input, split_key
from gnc_cli.parameters import spelled

_SLOANE = re.compile(r"[a-z]+\.(\d{1,6})\.(\d{1,9})\.txt", re.ASCII | re.IGNORECASE)
_MOST_NUMBERS = 2_000_000
_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
"""What is as exact as it looks; longer exponents are no coordinates, and would fill the memory."""


def is_text(path: str | os.PathLike[str]) -> bool:
    """Whether `read_published` reads decimals from this file."""
    name, key = split_key(os.fspath(path))
    return key is None and PurePath(name).suffix.lower() in (".txt", ".csv")


def read_published(path: str | os.PathLike[str], d: int | None = None) -> CodeFile:
    """The code in any file that gnc reads, or in a text file with one coordinate per line.

    There `d` says how many make a point, where the name, `pack.3.24.txt`, does not.
    """
    name, _ = split_key(os.fspath(path))
    if is_text(path):
        with open_input(name) as file, FORMATS[".txt"].reader(file, name) as catalogue:
            code = collect(_in_points(catalogue, d))
    else:
        code = read_points(path)
    if d is not None and code.weights.shape[1] != d:
        raise DataError(
            f"{name!r} has points of {code.weights.shape[1]} coordinates, {spelled('d')} asks for "
            f"{d}; drop {spelled('d')}"
        )
    return code


def _in_points(catalogue: Catalogue, d: int | None) -> Catalogue:
    """The catalogue of a text file, its single numbers gathered into points."""
    (entry,) = catalogue.entries.values()
    count, width = entry.shape
    if width != 1:
        return catalogue
    path = catalogue.path
    named = _SLOANE.fullmatch(PurePath(path).name)
    if d is not None:
        if count % d:
            raise DataError(
                f"{path!r} holds {count} numbers, which make no points of {spelled('d', d)}; "
                "is it cut short?"
            )
    elif named is not None:
        d, K = int(named[1]), int(named[2])
        if d * K != count:
            raise DataError(
                f"{path!r} holds {count} numbers, its name promises {K} points of {d}; "
                f"is it cut short? otherwise give {spelled('d')}"
            )
    else:
        raise UsageError(
            f"{path!r} has one number per line; say how many make a point: {spelled('d', 3)} "
            "(or name the file as Sloane does, pack.3.24.txt)"
        )
    shape = (count // max(d, 1), d)

    def load() -> np.ndarray:
        return entry.load().reshape(shape)

    return Catalogue(path, {"table": Entry(shape, entry.dtype, entry.real, load)}, catalogue.attrs)


def read_decimals(path: str, rows: np.ndarray) -> list[list[str]] | None:
    """The decimals of a text file behind the floats (K, d) read from it, none rounded.

    None where the file is not at hand any more (a pipe, another program wrote to it), is no
    decimal text, or is very large.
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
    if len(words) != rows.size or not all(_DECIMAL.fullmatch(word) for word in words):
        return None
    if not np.array_equal(np.array([float(word) for word in words]), rows.ravel()):
        return None
    d = rows.shape[1]
    return [words[k : k + d] for k in range(0, len(words), d)]
