"""Texts: one point per line, in columns; objects of JSON, one per line; either packed by gzip.

All of a file is in the memory, which bounds its size.
"""

import contextlib
import csv
import gzip
import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath
from typing import IO, Any

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.io.catalogue import (
    WORDS,
    Catalogue,
    Entry,
    label_column,
    label_columns,
    translated,
)
from gnc_cli.io.expressions import MARKS, nearest_float
from gnc_cli.io.inputs import decoded, file_size, memory_limit, most_unpacked
from gnc_cli.parsing import shown

_MOST_EXACT = 4_000_000
"""Characters of a file with expressions: about a minute."""
_WORD = re.compile(r"(?!(nan|inf(inity)?)$|sqrt\()[^\W\d]", re.IGNORECASE)
"""How a word of a header begins; `sqrt(2)` is a number."""
_COMMENT = re.compile(r"(^|\s)#.*")


@contextlib.contextmanager
def txt(file: IO[bytes], path: str) -> Iterator[Catalogue]:
    """The numbers of a text file, one row per line, shape (rows, columns), float64, exact; under a
    header with one column of labels these, which may be words, and the rest as features.

    A header is a first line of words, or of the numbers of the columns from 0, as pandas has it.
    Columns are separated by commas if the first line of data has one, in `.tsv` by tabs, and by
    blanks otherwise. Numbers may be expressions, such as `1/3` or `sqrt(5)/5`: see `expressions`.

    Raises:
        DataError: no text, no numbers, or rows of unequal length; names the line.
    """
    text = decoded(file, path, "if it is another format, give it that format's suffix")
    lines = [_COMMENT.sub("", line).strip() for line in text.splitlines()]
    first = next((line for line in lines if line), None)
    if first is None:
        raise DataError(f"{path!r} holds no numbers; expected one point a line")
    tabs = path.lower().endswith((".tsv", ".tsv.gz"))
    delimiter = "," if "," in first else "\t" if tabs else None
    words = [word.strip().strip('"') for word in first.split(delimiter)]
    counted = len(words) > 2 and words == [str(at) for at in range(len(words))]
    counted = counted and ("," in first or "." in text)  # else a permutation
    rest = [line for line in lines[lines.index(first) + 1 :] if line]
    named = [word for word in words if _WORD.match(word)]
    counts = [word for word in words if not _WORD.match(word)]
    if named and counts in ([str(at + k) for at in range(len(counts))] for k in (0, 1)):
        cells = {cell.strip().strip('"') for line in rest for cell in line.split(delimiter)}
        counted = cells.isdisjoint(named)  # pandas: 0, 1, 2, label
    header = words if counted or not counts else []
    if not rest or (
        len(header) == 1 and label_column(header) is None and all(map(_WORD.match, rest))
    ):
        header = []  # the only line, or a file of words, one per line
    lines[lines.index(first)] = "" if header else first
    try:
        entries = _columns(lines, delimiter, header)
    except ValueError as error:
        reason = str(error).partition("; use `usecols`")[0].rstrip(".")
        row = re.search(r" at row (\d+)(, column \d+|)$", reason)
        if row is not None:  # NumPy counts rows of numbers, and from 1 where their length changes
            numbers = [number for number, line in enumerate(lines, start=1) if line]
            number_of_line = numbers[int(row[1]) - (not row[2])]
            # The cause is what `nearest_float` says.
            reason = f"{error.__cause__ or reason[: row.start()]} in line {number_of_line}{row[2]}"
        raise DataError(
            f"{path!r} is no table of numbers: {reason}; separate columns by commas or blanks, "
            "write one point on each line, put # before lines of words, and drop a column of row "
            "names (to_csv(index=False))"
        ) from error
    yield Catalogue(path, entries)


def _columns(lines: list[str], delimiter: str | None, header: list[str]) -> dict[str, Entry]:
    """Read columns: those of numbers as one matrix, labels, and words by the name of their column.

    Without a header one column of words is that of the labels.

    Raises:
        ValueError: other cells hold no numbers; NumPy says which.
    """
    called = label_columns(header)
    label = header.index(called[0]) if len(called) == 1 else None
    apart = {at for at, name in enumerate(header) if name in called}
    if len({header[at] for at in apart}) < len(apart):
        raise ValueError(f"two columns are called {called[0]!r}")
    words: dict[int, np.ndarray] = {}
    try:
        table = _numbers("\n".join(lines), delimiter)
    except ValueError:
        kept = [*filter(None, lines)]
        rows = [*csv.reader(kept, delimiter=delimiter)] if delimiter else [*map(str.split, kept)]
        if len({len(row) for row in rows}) != 1 or len(header) not in (0, len(rows[0])):
            raise
        cells = np.array([[cell.strip() for cell in row] for row in rows], dtype=object)
        for column in range(cells.shape[1]):
            if all(map(_WORD.match, filter(None, cells[:, column]))) or (
                column in apart and not _are_numbers(cells[:, column])
            ):
                words[column] = np.array([cell or None for cell in cells[:, column]], dtype=object)
                cells[:, column] = "0"
        if not header and len(words) != 1:
            raise
        table = _numbers("\n".join(map((delimiter or " ").join, cells.tolist())), delimiter)
    if header and table.shape[1] != len(header):
        raise ValueError(
            f"the first line has {len(header)} names, the others have {table.shape[1]} columns"
        )
    if not header and words:
        (label,) = words
        column = words[label].tolist()
        if column.count(column[0]) == 1 and len({*column}) < len(column):
            raise ValueError(
                f"{shown(column[0])} of the first line is in no other: a name? Begin each name of "
                "a column with a letter"
            )
    apart |= {*words, *([] if label is None else [label])}
    numbers = [column for column in range(table.shape[1]) if column not in apart]
    matrix = listed_values(table[:, numbers])
    if header and apart:
        named = ", ".join(header[column] for column in numbers)
        matrix = replace(matrix, note=f"{len(numbers)} columns of numbers: {shown(named)}")
    stems = {word.rstrip("0123456789") for word in header} - {""}
    if not apart and len(stems) != 1:  # x1, x2, ...: the user says that all are coordinates
        matrix = replace(matrix, question=_question(table))
    entries = {
        header[column]: listed_values(words.get(column, table[:, column]))
        for column in sorted(apart)
        if header
    }
    if label is not None:
        entries.pop(header[label] if header else "", None)
        entries["labels"] = listed_values(words.get(label, table[:, label]))
    return entries | ({"features" if apart else "table": matrix} if numbers else {})


def _are_numbers(cells: Any) -> bool:
    try:
        return bool(np.isfinite(cells.astype(np.float64)).all())
    except ValueError:
        return False


def _question(table: np.ndarray) -> str | None:
    """Why a table without names of columns may have labels; None where its first and last column
    are like the others."""
    whole = ((table == np.floor(table)) & np.isfinite(table)).all(axis=0)
    numbers = whole & (table != table[:1]).any(axis=0)
    if whole.all() or not (numbers[0] or numbers[-1]):
        return None
    others = f"x1 to x{len(whole) - 1}"
    place = "last" if numbers[-1] else "first"
    names = f"{others} and label" if numbers[-1] else f"label and {others}"
    return (
        f"the {place} column has whole numbers, and others do not: labels or coordinates? Add a "
        f"first line of names, {names}, or, if all are coordinates, x1 to x{len(whole)}; drop a "
        "column of row numbers"
    )


def _numbers(text: str, delimiter: str | None) -> np.ndarray:
    """Decimal numbers, as fast as NumPy reads them; or some that are expressions."""
    try:
        return np.loadtxt(io.StringIO(text), delimiter=delimiter, ndmin=2)
    except ValueError:
        if len(text) > _MOST_EXACT or MARKS.search(text) is None:
            raise
    return np.loadtxt(
        io.StringIO(text), delimiter=delimiter, ndmin=2, converters=nearest_float, encoding=None
    )


def listed_values(values: Any) -> Entry:
    """Numbers, lists of numbers or words, one per line; None among words is refused later."""
    kinds = {*map(type, values)}
    words = str in kinds and kinds <= {str, type(None)}
    with contextlib.suppress(ValueError):  # lists of several lengths
        array = np.array(values, dtype=object if words else None)
        if words or array.dtype.kind in "iufb":
            dtype = WORDS if words else str(array.dtype)
            return Entry(array.shape, dtype, array.dtype.kind in "iuf", lambda: array)
    return Entry.refused(
        "is not a number, a word or a list of one length in every line", "leave such lines out"
    )


@contextlib.contextmanager
def jsonl(file: IO[bytes], path: str) -> Iterator[Catalogue]:
    """Objects of JSON, one per line: each key of the first is a dataset."""
    advice = "expected one object of JSON per line; a table, say .parquet, may be larger"
    # As Python has it, JSON may take twenty times as many bytes.
    lines = decoded(file, path, advice, memory_limit() // 16).strip().split("\n")
    with translated(path, "objects of JSON, one per line"):
        rows = json.loads("[" + ",\n".join(lines) + "]")
        columns = {
            key: [row.get(key) for row in rows]
            for key in dict.fromkeys(key for row in rows for key in row)
        }
    yield Catalogue(path, {str(key): listed_values(values) for key, values in columns.items()})


TEXTS = {".txt": txt, ".csv": txt, ".tsv": txt, ".jsonl": jsonl, ".ndjson": jsonl}
"""By suffix."""


@contextlib.contextmanager
def gz(file: IO[bytes], path: str) -> Iterator[Catalogue]:
    """A text that gzip has packed, by the suffix before `.gz`."""
    reader = TEXTS.get(PurePath(path.lower().removesuffix(".gz")).suffix)
    if reader is None:
        raise DataError(
            f"{path!r} is packed by gzip, and no {', '.join(TEXTS)} by its name; unpack it: gunzip "
            f"{path}"
        )
    most = min(most_unpacked(file_size(file)), memory_limit() // 8)
    with translated(path, "gzip"), gzip.GzipFile(fileobj=file) as packed:
        text = io.BytesIO(packed.read(most + 1))
    if text.getbuffer().nbytes > most:
        raise DataError(f"{path!r} has more than {most} bytes, more than is unpacked; gunzip it")
    with reader(text, path) as catalogue:
        yield catalogue
