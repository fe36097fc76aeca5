"""Coordinates as others publish them: one point a line, or (Sloane) one coordinate a line.

Sloane's tables name their files `pack.3.24.txt`: dimension, then number of points; the numbers
follow each other, one a line, and only the name says where a point ends.
"""

import os
import re
from pathlib import PurePath

import numpy as np

from gnc_cli.errors import DataError, UsageError
from gnc_cli.io.catalogue import Catalogue, Entry
from gnc_cli.io.codefile import CodeFile
from gnc_cli.io.formats import READERS
from gnc_cli.io.inputs import open_input, split_key
from gnc_cli.io.readers import collect, read_points

__all__ = ["read_published"]

_TEXT = (".txt", ".csv")
_SLOANE = re.compile(r"[a-z]+\.(\d{1,6})\.(\d{1,9})\.txt", re.ASCII | re.IGNORECASE)


def read_published(path: str | os.PathLike[str], d: int | None = None) -> CodeFile:
    """The code in any file that gnc reads, or in a text file with one coordinate a line.

    Args:
        path: a file, `FILE:key`, or `-` for HDF5 on stdin.
        d: dimension; needed where a file of single numbers has not a name like `pack.3.24.txt`.

    Raises:
        DataError: the file cannot be used, or its points have not d coordinates.
        UsageError: single numbers, and nothing says how many make a point.
    """
    name, key = split_key(os.fspath(path))
    if key is None and PurePath(name).suffix.lower() in _TEXT:
        with open_input(name) as file, READERS[".txt"](file, name) as catalogue:
            code = collect(_in_points(catalogue, d))
    else:
        code = read_points(path)
    if d is not None and code.weights.shape[1] != d:
        raise DataError(
            f"{name!r} has points of {code.weights.shape[1]} coordinates, --d asks for {d}; "
            "drop --d"
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
    if d is None and named is None:
        raise UsageError(
            f"{path!r} has one number a line; say how many make a point: --d 3 "
            "(or name the file as Sloane does, pack.3.24.txt)"
        )
    if d is None:
        assert named is not None
        d, K = int(named[1]), int(named[2])
        if d * K != count:
            raise DataError(
                f"{path!r} holds {count} numbers, its name promises {K} points of {d}; "
                "is it cut short? otherwise say --d"
            )
    elif count % d:
        raise DataError(
            f"{path!r} holds {count} numbers, which make no points of --d {d}; is it cut short?"
        )
    shape = (count // max(d, 1), d)

    def load() -> np.ndarray:
        return entry.load().reshape(shape)

    return Catalogue(path, {"table": Entry(shape, entry.dtype, entry.real, load)}, catalogue.attrs)
