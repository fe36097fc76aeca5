"""Texts: one point per line, in columns; objects of JSON, one per line; either packed by gzip. Also
OFF, the text format of Geomview.

Numbers are collected in arrays, a piece of the text at a time.
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

_MOST_EXACT = 4_000_000
"""Characters of a file with expressions: about a minute."""
_WORD = re.compile(r"(?!(nan|inf(inity)?)$|sqrt\()[^\W\d]", re.IGNORECASE)
"""How a word of a header begins; `sqrt(2)` is a number."""
_COMMENT = re.compile(r"(^|\s)#.*")
_COUNT = re.compile(r"[0-9]{1,18}")
_OFF_HEADER = re.compile(r"(?:OFF|nOFF (\d{1,18})) (\d{1,18}) (\d{1,18}) \d{1,18}", re.ASCII)


@contextlib.contextmanager
def txt(file: IO[bytes], path: str) -> Iterator[Catalogue]:
    """The numbers of a text file, one row per line, shape (rows, columns), float64, exact; under a
    header with one column of labels these, which may be words, and the rest as features.

    A header is a first line of words, or of the numbers of the columns from 0, as pandas has it.
    Columns are separated by commas if the first line of data has one, in `.tsv` by tabs, and by
    blanks otherwise. Numbers may be expressions, such as `1/3` or `sqrt(5)/5`: see `parsing`.

    Raises:
        DataError: no text, no numbers, or rows of unequal length; names the line.
    """
    lines = partial(_lines, file, path)
    begin, first = next(((n, line) for n, line in enumerate(lines(), start=1) if line), (0, ""))
    if not first:
        raise DataError(f"{path!r} holds no numbers; expected one point a line")
    tabs = path.lower().endswith((".tsv", ".tsv.gz"))
    delimiter = "," if "," in first else "\t" if tabs else None
    words = [word.strip().strip('"') for word in first.split(delimiter)]
    counted = len(words) > 2 and words == [str(index) for index in range(len(words))]
    counted = counted and ("," in first or any("." in line for line in lines()))  # a permutation
    named = {word for word in words if _WORD.match(word)}
    counts = [word for word in words if not _WORD.match(word)]
    rest = partial(_lines, file, path, begin)
    if named and counts in ([str(k + start) for k in range(len(counts))] for start in (0, 1)):
        cells = (cell.strip().strip('"') for line in rest() for cell in line.split(delimiter))
        counted = named.isdisjoint(cells)  # pandas: 0, 1, 2, label
    header = words if counted or not counts else []
    if not any(rest()) or (
        len(header) == 1
        and label_column(header) is None
        and all(map(_WORD.match, filter(None, rest())))
    ):
        header = []  # the only line, or a file of words, one per line
    lines = rest if header else lines
    try:
        entries = _columns(lines, delimiter, header, file_size(file))
    except DataError:
        raise
    except (ValueError, csv.Error) as error:
        reason = str(error).partition("; use `usecols`")[0].rstrip(".")
        row = re.search(r" at row (\d+)(, column \d+|)$", reason)
        if row is not None:  # NumPy counts rows of numbers, and from 1 where their length changes
            numbers = (number for number, line in enumerate(lines(), start=1) if line)
            number_of_line = next(islice(numbers, int(row[1]) - (not row[2]), None))
            # The cause is what `nearest_float` says.
            reason = f"{error.__cause__ or reason[: row.start()]} in line {number_of_line}{row[2]}"
        raise DataError(
            f"{path!r} is no table of numbers: {reason}; separate columns by commas or blanks, "
            "write one point on each line, put # before lines of words, and drop a column of row "
            "names (to_csv(index=False))"
        ) from error
    yield Catalogue(path, entries)


def _lines(file: IO[bytes], path: str, begin: int = 0) -> Iterator[str]:
    """The lines of a file, stripped, without comments; the first `begin` are empty."""
    advice = "if it is another format, give it that format's suffix"
    text = pieces(file, path, advice, memory_limit() // 8)
    for number, line in enumerate(chain.from_iterable(map(str.splitlines, text))):
        if number < begin:
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
    called = label_columns(header)
    label = header.index(called[0]) if len(called) == 1 else None
    apart = {index for index, name in enumerate(header) if name in called}
    if len({header[index] for index in apart}) < len(apart):
        raise ValueError(f"two columns are called {called[0]!r}")
    words: dict[int, np.ndarray] = {}
    try:
        table = _numbers(lines, delimiter, size)
    except ValueError:
        columns = _word_columns(_rows(lines, delimiter), apart, len(header))
        if columns is None or not (header or len(columns) == 1):
            raise
        cells: dict[int, list[str | None]] = {column: [] for column in columns}
        table = _numbers(partial(_without_words, lines, delimiter, cells), delimiter, size)
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
    apart |= {*words, *([] if label is None else [label])}
    numbers = [column for column in range(table.shape[1]) if column not in apart]
    matrix = _stored(table[:, numbers] if apart else table)
    if header and apart:
        named = ", ".join(header[column] for column in numbers)
        matrix = replace(matrix, note=f"{len(numbers)} columns of numbers: {quote(named)}")
    stems = {word.rstrip("0123456789") for word in header} - {""}
    if not apart and len(stems) != 1:  # x1, x2, ...: the user says that all are coordinates
        matrix = replace(matrix, question=_question(table))
    entries = {
        header[column]: _joined([words.get(column, table[:, column])])
        for column in sorted(apart)
        if header
    }
    if label is not None:
        entries.pop(header[label] if header else "", None)
        entries["labels"] = _joined([words.get(label, table[:, label])])
    return entries | ({"features" if apart else "table": matrix} if numbers else {})


def _rows(lines: Callable[[], Iterator[str]], delimiter: str | None) -> Iterator[list[str]]:
    """The cells of each line that is not empty."""
    kept = filter(None, lines())
    for row in csv.reader(kept, delimiter=delimiter) if delimiter else map(str.split, kept):
        yield [cell.strip() for cell in row]


def _word_columns(rows: Iterator[list[str]], apart: set[int], width: int) -> set[int] | None:
    """Find the columns of words, and those of labels that are not all numbers.

    None where a row has another length than the first, or than `width` unless this is 0.
    """
    words, numbers = None, [*apart]
    for row in rows:
        if words is None:
            width = width or len(row)
            words = [*range(width)]
        if len(row) != width:
            return None
        words = [column for column in words if not row[column] or _WORD.match(row[column])]
        numbers = [column for column in numbers if _is_number(row[column])]
    return None if words is None else {*words, *apart.difference(numbers)}


def _without_words(
    lines: Callable[[], Iterator[str]],
    delimiter: str | None,
    words: dict[int, list[str | None]],
) -> Iterator[str]:
    """The lines with 0 in place of words, which join the lists of their columns."""
    shared = lru_cache(1 << 16)(lambda cell: cell or None)  # of equal words one object
    for values in words.values():
        values.clear()
    for row in _rows(lines, delimiter):
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
    """Why a table without names of columns may have labels; None where its first and last column
    are like the others.
    """
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


def _numbers(lines: Callable[[], Iterator[str]], delimiter: str | None, size: int) -> np.ndarray:
    """Decimal numbers, as fast as NumPy reads them; or some that are expressions, in a file of a
    few million bytes.
    """
    read = partial(np.loadtxt, delimiter=delimiter, ndmin=2)
    try:
        return read(lines())
    except ValueError:
        if size > _MOST_EXACT or not any(map(EXPRESSION_MARKS.search, lines())):
            raise
    return read(lines(), converters=nearest_float, encoding=None)


def _stored(array: np.ndarray) -> Entry:
    dtype = WORDS if array.dtype == object else str(array.dtype)
    return Entry(array.shape, dtype, array.dtype.kind in "iuf", lambda: array)


def listed_values(values: list[Any]) -> Entry:
    """Numbers, lists of numbers or words, one per line; None among words is refused later."""
    return _joined([_array(values)])


def _array(values: list[Any]) -> np.ndarray:
    """Words as objects, or numbers; without dimensions where they are something else."""
    words = {*map(type, values)} <= {str, type(None)}
    with contextlib.suppress(ValueError):  # lists of several lengths
        array = np.array(values, dtype=object if words else None)
        if words or array.dtype.kind in "iufb":
            return array
    return np.array(None)


def _joined(arrays: list[np.ndarray]) -> Entry:
    """Numbers or words that lie below each other, one per line."""
    with contextlib.suppress(ValueError):  # of several shapes, or without dimensions
        joined = np.concatenate(arrays)
        kinds = {array.dtype == object for array in arrays}
        if kinds == {False} or (kinds == {True} and any(word is not None for word in joined)):
            return _stored(joined)
    return Entry.refused(
        "is not a number, a word or a list of one length in every line", "leave such lines out"
    )


@contextlib.contextmanager
def jsonl(file: IO[bytes], path: str) -> Iterator[Catalogue]:
    """Objects of JSON, one per line: each key is a dataset."""
    advice = "expected one object of JSON per line; a table, say .parquet, may be larger"
    size, count, N = file_size(file), 0, 0
    columns: dict[str, list[np.ndarray]] = {}
    with translated(path, "objects of JSON, one per line"):
        for piece in pieces(file, path, advice, memory_limit() // 8):
            numbered = [*enumerate(piece.removesuffix("\n").split("\n"), start=count + 1)]
            rows = [_json_object(line, number) for number, line in numbered if line.strip()]
            count += len(numbered)
            keys = dict.fromkeys([*columns, *chain.from_iterable(rows)])
            if problem := excess(8 * len(keys) * (N + len(rows)), size):
                raise ValueError(f"with its {len(keys)} keys in each line it {problem}")
            for key in keys:
                block = _array([row.get(key) for row in rows])
                columns.setdefault(key, [np.full(N, None)] if N else []).append(block)
            N += len(rows)
    yield Catalogue(path, {key: _joined(arrays) for key, arrays in columns.items()})


def _json_object(line: str, number: int) -> dict[str, Any]:
    """The object of a line, by its number."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{str(error).partition(';')[0]} in line {number}") from error
    if not isinstance(row, dict):
        raise ValueError(f"no object in line {number}")
    return row


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
    most = min(max_unpacked_bytes(file_size(file)), memory_limit() // 8)
    with translated(path, "gzip"), gzip.GzipFile(fileobj=file) as packed:
        text = io.BytesIO(packed.read(most + 1))
    if text.getbuffer().nbytes > most:
        raise DataError(f"{path!r} has more than {most} bytes, more than is unpacked; gunzip it")
    with reader(text, path) as catalogue:
        yield catalogue


@contextlib.contextmanager
def off(file: IO[bytes], path: str) -> Iterator[Catalogue]:
    """The points of an OFF or nOFF file; faces are checked and left out.

    Each face has a line of its own, which may end in a colour. The points of other than three
    dimensions follow the header `nOFF` and their number of coordinates: `4OFF` would mean
    homogeneous coordinates in space. Reference: Geomview Manual, OFF Files.
    """
    text = pieces(file, path, "binary OFF files are not read", memory_limit() // 8)
    with translated(path, "OFF"):
        split = (line.partition("#")[0].split() for piece in text for line in piece.splitlines())
        lines, head = filter(None, split), list[str]()
        while len(head) < 4 + (head[:1] == ["nOFF"]) and (words := next(lines, None)):
            head += words
        header = _OFF_HEADER.fullmatch(" ".join(head))
        if header is None:
            raise ValueError(
                "it does not begin with OFF and the numbers of points, faces and edges"
            )
        d, K, faces = (int(size or 3) for size in header.groups())
        numbers, plain = array("d"), True
        while plain and len(numbers) < K * d and (words := next(lines, None)):
            plain = all(map(DECIMAL.fullmatch, words))
            numbers.extend(map(float, words if plain else ()))
        checks = Counter(_is_face(line, K) for line in lines)
        if not len(numbers) == K * d > 0 or checks != Counter({True: faces}):
            raise ValueError(
                f"expected {K} points of {d} coordinates, without colours, then {faces} faces, one "
                "a line: how many corners, and their points from 0"
            )
        points = np.frombuffer(numbers).reshape(K, d)
    yield Catalogue(path, {"points": Entry(points.shape, "float64", True, lambda: points)})


def _is_face(line: list[str], K: int) -> bool:
    n = int(line[0]) if _COUNT.fullmatch(line[0]) else 0
    corners = line[1 : n + 1]
    return 0 < n == len(corners) and all(_COUNT.fullmatch(at) and int(at) < K for at in corners)
