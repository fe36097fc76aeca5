"""A table of numbers in a text file: one point a line, blanks or commas between, # for comments."""

import io
from typing import IO

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.io.catalogue import translated

__all__ = ["decoded", "read_table"]


def read_table(file: IO[bytes], path: str) -> np.ndarray:
    """The numbers of a text file, one row a line, shape (rows, columns), float64, exact.

    Columns are separated by commas if the first line of data has one, by blanks otherwise.

    Raises:
        DataError: no text, no numbers, or rows of unequal length; names the line.
    """
    text = decoded(file, path, "if it is another format, give it that format's suffix")
    lines = [line.partition("#")[0].strip() for line in text.splitlines()]
    first = next((line for line in lines if line), None)
    if first is None:
        raise DataError(f"{path!r} holds no numbers; expected one point a line")
    delimiter = "," if "," in first else None
    try:
        return np.loadtxt(io.StringIO("\n".join(lines)), delimiter=delimiter, ndmin=2)
    except ValueError:
        _blame(path, lines, delimiter)
        with translated(path, "a table of numbers"):
            raise


def decoded(file: IO[bytes], path: str, advice: str) -> str:
    """The whole of a UTF-8 text file.

    Raises:
        DataError: other bytes; ends in `advice`.
    """
    try:
        return file.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path!r} is no text file (byte {error.start} is not UTF-8); {advice}"
        ) from error


def _blame(path: str, lines: list[str], delimiter: str | None) -> None:
    """Find the line that NumPy stumbled over, and say what is wrong with it."""
    width = None
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        fields = line.split(delimiter)
        for column, word in enumerate(fields, start=1):
            try:
                float(word)
            except ValueError as error:
                raise DataError(
                    f"{path!r}, line {number}, column {column}: {word.strip()[:40]!r} is no "
                    "number; put # before lines of words"
                ) from error
        width = len(fields) if width is None else width
        if len(fields) != width:
            raise DataError(
                f"{path!r}, line {number} has {len(fields)} numbers, the lines before it {width}; "
                "each line must hold one point"
            )
