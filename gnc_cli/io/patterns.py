"""Names of many files: globs, and the order in which people number things."""

import glob
import os
import re
from collections.abc import Sequence

from gnc_cli.errors import DataError
from gnc_cli.io.inputs import split_key

__all__ = ["expand", "natural_key"]

_DIGITS = re.compile(r"(\d+)", re.ASCII)


def natural_key(text: str) -> tuple[tuple[int, str, str], ...]:
    """A key for sorting in which numbers count as numbers.

    >>> sorted(["part_10", "part_2", "a"], key=natural_key)
    ['a', 'part_2', 'part_10']
    """
    words = _DIGITS.split(text)
    plain = [word.lstrip("0") if i % 2 else word for i, word in enumerate(words)]
    # A number without leading zeros is the larger the longer it is; texts stand in even places.
    sizes = [len(word) if i % 2 else 0 for i, word in enumerate(plain)]
    return tuple(zip(sizes, plain, words, strict=True))


def expand(names: str | Sequence[str]) -> list[tuple[str, str | None]]:
    """Files and keys behind `FILE`, `FILE:key` and globs of both.

    A glob gives its files in natural order; a file of that very name comes first. The order of the
    names themselves stays as it is.

    Raises:
        DataError: no file matches a glob.
    """
    found: list[tuple[str, str | None]] = []
    for name in [names] if isinstance(names, str) else names:
        path, key = split_key(name)
        if path == "-" or os.path.exists(path) or not glob.has_magic(path):
            found.append((path, key))
            continue
        matches = sorted(glob.glob(path, recursive=True), key=natural_key)
        if not matches:
            raise DataError(f"no file matches {path!r}; check the pattern and the folder")
        found += [(match, key) for match in matches]
    return found
