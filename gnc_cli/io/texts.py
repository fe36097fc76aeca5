"""Texts: tables with one point per line, objects of JSON, one per line, either packed by gzip; OFF.

OFF is the text format of Geomview. Numbers are collected in arrays, a piece of the text at a time.
"""

import contextlib
import csv
import gzip
import io
import json
import math
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache, partial
from itertools import chain, islice
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
from gnc_cli.io.inputs import excess, file_size, max_unpacked_bytes, memory_limit, pieces
from gnc_cli.parsing import DECIMAL, EXPRESSION_MARKS, nearest_float, quote

_MAX_EXPRESSION_BYTES = 4_000_000
"""Largest file with expressions, in bytes, which takes about a minute."""
_WORD_START = re.compile(r"(?!(nan|inf(inity)?)$|sqrt\()[^\W\d]", re.IGNORECASE)
"""Beginning of a word; `sqrt(2)` is a number."""
_COMMENT = re.compile(r"(^|\s)#.*")
_INDEX = re.compile(r"[0-9]{1,18}")
"""Whole number of a face of OFF, within int64."""
_OFF_HEADER = re.compile(r"(?:OFF|nOFF (\d{1,18})) (\d{1,18}) (\d{1,18}) \d{1,18}", re.ASCII)
"""Kind, number of coordinates of nOFF, and numbers of points, faces and edges."""


@contextlib.contextmanager
def txt(file: IO[bytes], path: str) -> Iterator[Catalogue]:
    """Open the numbers of a text file, one row per line, shape (rows, columns), float64, exact.

    Under a header with one column of labels these, which may be words, are a dataset, and the other
    columns are features. A header is a first line of words, or of the numbers of the columns from
    0, as pandas writes it. Columns are separated by commas if the first line has one, in `.tsv` by
    tabs, and by blanks otherwise. Numbers may be expressions, such as `1/3` or `sqrt(5)/5`: see
    `parsing`.

    Raises:
        DataError: no text, no numbers, or rows of unequal length; the message names the line.
    """
    lines = partial(_lines, file, path)
    skip, first = next(((n, line) for n, line in enumerate(lines(), start=1) if line), (0, ""))
    if not first:
        raise DataError(f"{path!r} holds no numbers; expected one point a line")
    tabs = path.lower().endswith((".tsv", ".tsv.gz"))
    delimiter = "," if "," in first else "\t" if tabs else None
    cells = [cell.strip().strip('"') for cell in first.split(delimiter)]
    words = {cell for cell in cells if _WORD_START.match(cell)}
    numbers = [cell for cell in cells if not _WORD_START.match(cell)]
    data_lines = partial(_lines, file, path, skip)
    # Without commas, the numbers from 0 may be a permutation, in a file without points.
    is_header = len(cells) > 2 and cells == [str(index) for index in range(len(cells))]
    is_header = is_header and ("," in first or any("." in line for line in lines()))
    if words and numbers in ([str(k + start) for k in range(len(numbers))] for start in (0, 1)):
        data = (cell.strip().strip('"') for line in data_lines() for cell in line.split(delimiter))
        is_header = words.isdisjoint(data)  # pandas: 0, 1, 2, label
    header = cells if is_header or not numbers else []
    if not any(data_lines()) or (
        len(header) == 1
        and label_column(header) is None
        and all(map(_WORD_START.match, filter(None, data_lines())))
    ):
        header = []  # the only line, or a file of words, one per line
    lines = data_lines if header else lines
    try:
        entries = _columns(lines, delimiter, header, file_size(file))
    except DataError:
        raise
    except (ValueError, csv.Error) as error:
        reason = str(error).partition("; use `usecols`")[0].rstrip(".")
        row = re.search(r" at row (\d+)(, column \d+|)$", reason)
        if row is not None:  # NumPy counts rows of numbers, from 1 if it says that lengths differ
            line_numbers = (number for number, line in enumerate(lines(), start=1) if line)
            line_number = next(islice(line_numbers, int(row[1]) - (not row[2]), None))
            # The cause is the message of `nearest_float`.
            reason = f"{error.__cause__ or reason[: row.start()]} in line {line_number}{row[2]}"
        raise DataError(
            f"{path!r} is not a table of numbers: {reason}; separate columns by commas or blanks, "
            "write one point on each line, put # before lines of words, and drop a column of row "
            "names (to_csv(index=False))"
        ) from error
    yield Catalogue(path, entries)


def _lines(file: IO[bytes], path: str, skip: int = 0) -> Iterator[str]:
    """Yield the lines of a file, stripped, without comments; the first `skip` are empty."""
    advice = "if it is another format, give it that format's suffix"
    text = pieces(file, path, advice, memory_limit() // 8)
    for number, line in enumerate(chain.from_iterable(map(str.splitlines, text))):
        if number < skip:
            yield ""
        else:
            yield (_COMMENT.sub("", line) if "#" in line else line).strip()


def _columns(
    lines: Callable[[], Iterator[str]], delimiter: str | None, header: list[str], size: int
) -> dict[str, Entry]:
    """Read columns: those of numbers as one matrix, labels, and words by the name of their column.

    Without a header one column of words is that of the labels.

    Raises:
        ValueError: other cells hold no numbers; NumPy says which.
        csv.Error: a quotation mark has no end.
    """
    label_names = label_columns(header)
    label = header.index(label_names[0]) if len(label_names) == 1 else None
    others = {index for index, name in enumerate(header) if name in label_names}
    if len({header[index] for index in others}) < len(others):
        raise ValueError(f"two columns are called {label_names[0]!r}")
    words: dict[int, np.ndarray] = {}
    try:
        table = _parse_numbers(lines, delimiter, size)
    except ValueError:
        columns = _word_columns(_split_lines(lines, delimiter), others, len(header))
        if columns is None or not (header or len(columns) == 1):
            raise
        cells: dict[int, list[str | None]] = {column: [] for column in columns}
        table = _parse_numbers(partial(_without_words, lines, delimiter, cells), delimiter, size)
        words = {column: np.array(values, dtype=object) for column, values in cells.items()}
    if header and table.shape[1] != len(header):
        raise ValueError(
            f"the first line has {len(header)} names, the others have {table.shape[1]} columns"
        )
    if not header and words:
        (label,) = words
        column = words[label].tolist()
        if column.count(column[0]) == 1 and len({*column}) < len(column):
            raise ValueError(
                f"{quote(column[0])} of the first line is in no other: a name? Begin each name of "
                "a column with a letter"
            )
    others |= {*words}
    numbers = [column for column in range(table.shape[1]) if column not in others]
    matrix = _array_entry(table[:, numbers] if others else table)
    if header and others:
        names = ", ".join(header[column] for column in numbers)
        matrix = replace(matrix, note=f"{len(numbers)} columns of numbers: {quote(names)}")
    stems = {word.rstrip("0123456789") for word in header} - {""}
    if not others and len(stems) != 1:  # x1, x2, ...: the user says that all are coordinates
        matrix = replace(matrix, question=_question(table))
    entries = {
        header[column]: _joined_entry([words.get(column, table[:, column])])
        for column in sorted(others)
        if header
    }
    if label is not None:
        entries.pop(header[label] if header else "", None)
        entries["labels"] = _joined_entry([words.get(label, table[:, label])])
    return entries | ({"features" if others else "table": matrix} if numbers else {})


def _split_lines(lines: Callable[[], Iterator[str]], delimiter: str | None) -> Iterator[list[str]]:
    """Yield the cells of each line that is not empty."""
    texts = filter(None, lines())
    for row in csv.reader(texts, delimiter=delimiter) if delimiter else map(str.split, texts):
        yield [cell.strip() for cell in row]


def _word_columns(rows: Iterator[list[str]], labels: set[int], width: int) -> set[int] | None:
    """Find the columns of words, and those of labels that are not all numbers.

    None if a row has another length than the first, or than `width` unless this is 0.
    """
    words, numbers = None, [*labels]
    for row in rows:
        if words is None:
            width = width or len(row)
            words = [*range(width)]
        if len(row) != width:
            return None
        words = [column for column in words if not row[column] or _WORD_START.match(row[column])]
        numbers = [column for column in numbers if _is_number(row[column])]
    return None if words is None else {*words, *labels.difference(numbers)}


def _without_words(
    lines: Callable[[], Iterator[str]],
    delimiter: str | None,
    words: dict[int, list[str | None]],
) -> Iterator[str]:
    """Yield the lines with 0 in place of words, which are appended to the lists of their columns.

    The lists are emptied first, since the lines may be read twice.
    """
    shared = lru_cache(1 << 16)(lambda cell: cell or None)  # one object for equal words
    for values in words.values():
        values.clear()
    for row in _split_lines(lines, delimiter):
        for column, values in words.items():
            values.append(shared(row[column]))
            row[column] = "0"
        yield (delimiter or " ").join(row)


def _is_number(cell: str) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


def _question(table: np.ndarray) -> str | None:
    """Return why a table without names of columns may have labels.

    None if its first and last column are like the others.
    """
    whole = ((table == np.floor(table)) & np.isfinite(table)).all(axis=0)
    candidates = whole & (table != table[:1]).any(axis=0)
    if whole.all() or not (candidates[0] or candidates[-1]):
        return None
    others = f"x1 to x{len(whole) - 1}"
    position = "last" if candidates[-1] else "first"
    names = f"{others} and label" if candidates[-1] else f"label and {others}"
    return (
        f"the {position} column has whole numbers, and others do not: labels or coordinates? Add a "
        f"first line of names, {names}, or, if all are coordinates, x1 to x{len(whole)}; drop a "
        "column of row numbers"
    )


def _parse_numbers(
    lines: Callable[[], Iterator[str]], delimiter: str | None, size: int
) -> np.ndarray:
    """Parse a table of decimal numbers, as fast as NumPy does, shape (rows, columns).

    In a file of at most `_MAX_EXPRESSION_BYTES` some may be expressions.
    """
    read = partial(np.loadtxt, delimiter=delimiter, ndmin=2)
    try:
        return read(lines())
    except ValueError:
        if size > _MAX_EXPRESSION_BYTES or not any(map(EXPRESSION_MARKS.search, lines())):
            raise
    return read(lines(), converters=nearest_float, encoding=None)


def _array_entry(array: np.ndarray) -> Entry:
    dtype = WORDS if array.dtype == object else str(array.dtype)
    return Entry(array.shape, dtype, array.dtype.kind in "iuf", lambda: array)


def values_entry(values: list[Any]) -> Entry:
    """Return the dataset of numbers, lists of numbers or words, one per line.

    None among words is refused later.
    """
    return _joined_entry([_value_array(values)])


def _value_array(values: list[Any]) -> np.ndarray:
    """Return words as objects, or numbers; an array without axes of anything else."""
    words = {*map(type, values)} <= {str, type(None)}
    with contextlib.suppress(ValueError):  # lists of several lengths
        array = np.array(values, dtype=object if words else None)
        if words or array.dtype.kind in "iufb":
            return array
    return np.array(None)


def _joined_entry(arrays: list[np.ndarray]) -> Entry:
    """Return the dataset of numbers or words below each other, one per line."""
    with contextlib.suppress(ValueError):  # of several shapes, or without axes
        joined = np.concatenate(arrays)
        kinds = {array.dtype == object for array in arrays}
        if kinds == {False} or (kinds == {True} and any(word is not None for word in joined)):
            return _array_entry(joined)
    return Entry.refused(
        "is not a number, a word or a list of one length in every line", "leave such lines out"
    )


@contextlib.contextmanager
def jsonl(file: IO[bytes], path: str) -> Iterator[Catalogue]:
    """Open a file of objects of JSON, one per line: each key is a dataset."""
    advice = "expected one object of JSON per line; a table, say .parquet, may be larger"
    size, count, N = file_size(file), 0, 0
    columns: dict[str, list[np.ndarray]] = {}
    with translated(path, "objects of JSON, one per line"):
        for piece in pieces(file, path, advice, memory_limit() // 8):
            lines = [*enumerate(piece.removesuffix("\n").split("\n"), start=count + 1)]
            rows = [_json_object(line, number) for number, line in lines if line.strip()]
            count += len(lines)
            keys = dict.fromkeys([*columns, *chain.from_iterable(rows)])
            if problem := excess(8 * len(keys) * (N + len(rows)), size):
                raise ValueError(f"with its {len(keys)} keys in each line it {problem}")
            for key in keys:
                block = _value_array([row.get(key) for row in rows])
                columns.setdefault(key, [np.full(N, None)] if N else []).append(block)
            N += len(rows)
    yield Catalogue(path, {key: _joined_entry(arrays) for key, arrays in columns.items()})


def _json_object(line: str, number: int) -> dict[str, Any]:
    """Parse the object of a line, with its number in errors."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{str(error).partition(';')[0]} in line {number}") from error
    if not isinstance(row, dict):
        raise ValueError(f"no object in line {number}")
    return row


TEXTS = {".txt": txt, ".csv": txt, ".tsv": txt, ".jsonl": jsonl, ".ndjson": jsonl}
"""Readers of texts, by suffix."""


@contextlib.contextmanager
def gz(file: IO[bytes], path: str) -> Iterator[Catalogue]:
    """Open a text that gzip has packed, by the suffix before `.gz`."""
    reader = TEXTS.get(PurePath(path.lower().removesuffix(".gz")).suffix)
    if reader is None:
        raise DataError(
            f"{path!r} is packed by gzip, and not a {', '.join(TEXTS)} by its name; unpack it: "
            f"gunzip {path}"
        )
    limit = min(max_unpacked_bytes(file_size(file)), memory_limit() // 8)
    with translated(path, "gzip"), gzip.GzipFile(fileobj=file) as packed:
        text = io.BytesIO(packed.read(limit + 1))
    if text.getbuffer().nbytes > limit:
        raise DataError(f"{path!r} has more than {limit} bytes, more than is unpacked; gunzip it")
    with reader(text, path) as catalogue:
        yield catalogue


@contextlib.contextmanager
def off_points(file: IO[bytes], path: str) -> Iterator[Catalogue]:
    """Open the points of an OFF or nOFF file, shape (K, d); faces are checked and left out.

    Each face has its own line, which may end in a colour. Points of other than three dimensions
    follow the header `nOFF` and their number of coordinates: `4OFF` would mean homogeneous
    coordinates in space.

    Reference: Geomview Manual, OFF Files.
    """
    text = pieces(file, path, "binary OFF files are not read", memory_limit() // 8)
    with translated(path, "OFF"):
        rows = (line.partition("#")[0].split() for piece in text for line in piece.splitlines())
        lines, first_words = filter(None, rows), list[str]()
        while len(first_words) < 4 + (first_words[:1] == ["nOFF"]) and (words := next(lines, None)):
            first_words += words
        header = _OFF_HEADER.fullmatch(" ".join(first_words))
        if header is None:
            raise ValueError(
                "it does not begin with OFF and the numbers of points, faces and edges"
            )
        d, K, faces = (int(size or 3) for size in header.groups())
        numbers, decimal = array("d"), True
        while decimal and len(numbers) < K * d and (words := next(lines, None)):
            decimal = all(map(DECIMAL.fullmatch, words))
            numbers.extend(map(float, words if decimal else ()))
        checks = Counter(_is_face(line, K) for line in lines)
        if not len(numbers) == K * d > 0 or checks != Counter({True: faces}):
            raise ValueError(
                f"expected {K} points of {d} coordinates, without colours, then {faces} faces, one "
                "per line: the number of its corners, and their points from 0"
            )
        points = np.frombuffer(numbers).reshape(K, d)
    yield Catalogue(path, {"points": Entry(points.shape, "float64", True, lambda: points)})


def _is_face(line: list[str], K: int) -> bool:
    """Return whether a line of OFF has a number of corners, and as many indices of K points."""
    n = int(line[0]) if _INDEX.fullmatch(line[0]) else 0
    corners = line[1 : n + 1]
    return 0 < n == len(corners) and all(_INDEX.fullmatch(k) and int(k) < K for k in corners)
