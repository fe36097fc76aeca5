"""Matrices that may be larger than memory, read in order and block by block, ahead of their use.

Readers of files, arrays and tensors share one interface, `Rows`: a shape and `read(start, stop)`.
Blocks of labelled rows are prepared for float64 here: selected, checked, scaled to norm 1.
"""

import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol, TypeVar

import numpy as np

from gnc_cli.errors import DataError, import_extra
from gnc_cli.geometry.sphere import row_norms
from gnc_cli.parameters import spelled
from gnc_cli.parsing import quote
from gnc_cli.runtime.deadline import Deadline, Progress
from gnc_cli.runtime.threads import loaded

T = TypeVar("T")

_BLOCK_BYTES = 16 << 20
"""Bytes of a block as float64, large enough for fast products, small enough for the cache."""
_ROWS_AT_ONCE = 256
"""Number of rows at a time that stay in the cache."""
_MAX_JOINED_BLOCKS = 4
"""Largest number of blocks that are sorted by class together, which bounds their memory."""


class Rows(Protocol):
    """A matrix (N, d) that is read by rows."""

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns, (N, d)."""
        ...

    @property
    def dtype(self) -> np.dtype:
        """Type as stored; bfloat16 reads as float32."""
        ...

    @property
    def step(self) -> int:
        """Number of rows that are read at once without waste (a chunk of the file), or 1."""
        ...

    def read(self, start: int, stop: int) -> np.ndarray:
        """Return rows start to stop as stored, in native byte order, shape (stop - start, d).

        Any thread may call this.

        Raises:
            DataError: the file fails.
        """
        ...


def is_tensor(value: Any) -> bool:
    """Return True for a torch tensor, without importing torch."""
    torch = loaded("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def to_numpy(value: Any, name: str = "the array", *, texts: bool = False) -> np.ndarray:
    """Convert a tensor, an array, nested lists, a data frame or its column to real numbers.

    Tensors leave their graph; those on the CPU share their memory with the result. Floating dtypes
    that NumPy lacks (bfloat16, float8) become float32, exactly. A column of lists is a matrix.

    Args:
        value: dense and real, without masked entries.
        name: of the argument, for messages.
        texts: True to accept words and booleans, too.

    Raises:
        DataError: anything else; the message names it and says what to give instead.

    Example:
        >>> to_numpy([[1, 2], [3, 4]])
        array([[1, 2],
               [3, 4]])
    """
    if is_tensor(value):
        value = checked_tensor(value, name).detach()
        float16 = sys.modules["torch"].float16
        if value.is_floating_point() and value.element_size() < 4 and value.dtype != float16:
            value = value.float()
        try:
            value = value.numpy(force=True)
        except RuntimeError:  # of torch.func, a DTensor, a masked or a fake tensor
            raise DataError(
                f"{name} must be a dense tensor of numbers, got {type(value).__name__}; give a "
                "plain tensor: full_tensor() of a DTensor, what torch.func returns, not its inputs"
            ) from None
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        count = int(np.ma.count_masked(value))
        raise DataError(f"{name}: {count} masked values; leave their rows out or fill them")
    if hasattr(value, "__arrow_c_stream__") and not hasattr(value, "__array__"):
        value = import_extra("pyarrow", name, "parquet").chunked_array(value)
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, RuntimeError, OverflowError, DeprecationWarning):
        raise DataError(f"{name} must be rows of one length, got {quote(value)}") from None
    if array.dtype == object and array.ndim == 1 and len(array):
        array = _stacked(array, name)
    if array.dtype.kind not in ("biufSU" if texts else "iuf"):
        kind = quote(value) if array.ndim == 0 else f"dtype {array.dtype}"
        raise DataError(f"{name} must be an array of real numbers, got {kind}")
    return array


def _stacked(rows: np.ndarray, name: str) -> np.ndarray:
    """Convert an array of Python objects to one of their type: numbers, lists of these, or words.

    Raises:
        DataError: an entry is missing, or a list has another length than the first; the message
            names the row.
    """
    parts = [np.asarray(row) for row in rows]
    for row, part in enumerate(parts):
        if (
            part.shape != parts[0].shape
            or part.dtype == object
            or (part.dtype.kind == "U") != (parts[0].dtype.kind == "U")
        ):
            raise DataError(
                f"{name}: row {row} is {quote(rows[row])}; expected what row 0 is, "
                f"{quote(rows[0])}: leave such rows out"
            )
    return np.stack(parts)


def checked_tensor(value: Any, name: str) -> Any:
    """Return a torch tensor that stores its numbers one by one.

    Raises:
        DataError: it is complex, sparse, nested, quantized or on the meta device.
    """
    steps = {
        "a complex one": (
            value.is_complex(),
            f"give {name}.real, or real and imaginary parts as columns",
        ),
        "one on the meta device": (value.is_meta, "load its numbers first"),
        "a nested one": (value.is_nested, f"give torch.cat({name}.unbind())"),
        "a quantized one": (value.is_quantized, f"give {name}.dequantize()"),
        "a sparse one": (value.layout != sys.modules["torch"].strided, f"give {name}.to_dense()"),
    }
    for kind, (wrong, step) in steps.items():
        if wrong:
            raise DataError(f"{name} must be a dense tensor of numbers, got {kind}; {step}")
    return value


def real_matrix(value: Any, name: str) -> np.ndarray:
    """Copy a matrix of numbers as float64, shape (K, d).

    Raises:
        DataError: it has no rows and columns of real numbers.
    """
    array = to_numpy(value, name)
    if array.ndim != 2:
        raise DataError(f"{name} has shape {array.shape}; expected a matrix, one point per row")
    return np.array(array, dtype=np.float64)


class ArrayRows:
    """An array in memory as `Rows`.

    Example:
        >>> ArrayRows(np.eye(3)).read(1, 2)
        array([[0., 1., 0.]])
    """

    step = 1

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        self.shape = (int(array.shape[0]), int(array.shape[1]))
        self.dtype = array.dtype

    def read(self, start: int, stop: int) -> np.ndarray:
        """Return rows start to stop, shape (stop - start, d)."""
        return self.array[start:stop]


class ColumnRows:
    """Selected columns of rows, as `Rows`.

    Instances that share `block` read the rows once if a thread asks each for the same block.

    Args:
        rows: all columns, shape (N, D).
        columns: indices, shape (d,), or a slice.
        block: last rows that each thread has read.

    Example:
        >>> ColumnRows(ArrayRows(np.eye(3)), slice(2), threading.local()).read(1, 3)
        array([[0., 1.],
               [0., 0.]])
    """

    def __init__(self, rows: Rows, columns: np.ndarray | slice, block: threading.local) -> None:
        self._rows, self._columns, self._block = rows, columns, block
        self.shape = (rows.shape[0], len(np.arange(rows.shape[1])[columns]))
        self.dtype, self.step = rows.dtype, rows.step

    def read(self, start: int, stop: int) -> np.ndarray:
        """Return rows start to stop, shape (stop - start, d)."""
        block = self._block
        if getattr(block, "span", None) != (start, stop):
            block.rows, block.span = self._rows.read(start, stop), (start, stop)
        return np.asarray(block.rows[:, self._columns])


def block_rows(rows: Rows, size: int | None = None) -> int:
    """Return the number of rows to read at a time.

    It is `size`, by default whole chunks of the file, about 16 MB as float64.
    """
    if size is not None:
        return max(1, size)
    count = max(1, _BLOCK_BYTES // (8 * max(1, rows.shape[1])))
    if rows.step <= count:
        return count // rows.step * rows.step
    return min(rows.step, 8 * count)


def blocks(N: int, step: int) -> Iterator[tuple[int, int]]:
    """Yield the ends (start, stop) of consecutive blocks.

    >>> list(blocks(5, 2))
    [(0, 2), (2, 4), (4, 5)]
    """
    for start in range(0, N, step):
        yield start, min(N, start + step)


def ordered(jobs: Iterable[Callable[[], T]], workers: int, extra: int = 2) -> Iterator[T]:
    """Yield the results of the jobs in their order, computed by `workers` threads.

    So sums do not depend on the number of threads. Jobs are created lazily, `extra` more than there
    are threads, so that even one thread works while the caller does. The exception of a job is
    raised in place of its result; jobs that have not begun are then dropped.
    """
    waiting: deque[Future[T]] = deque()
    with ThreadPoolExecutor(max(1, workers)) as pool:
        try:
            for job in jobs:
                # The context of the caller says how messages spell parameters.
                waiting.append(pool.submit(copy_context().run, job))
                if len(waiting) >= max(1, workers) + extra:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


@dataclass(frozen=True, kw_only=True)
class Pass:
    """Settings of one pass over rows."""

    block: int | None = None
    """Number of rows to read at a time; None for whole chunks of the file, 16 MB as float64."""
    workers: int = 1
    """Number of threads; with several, limit BLAS to one (`limit_threads(1)`)."""
    span: tuple[int, int] | None = None
    """Ends (start, stop) of the rows; None for all."""
    deadline: Deadline | None = None
    """Deadline, polled after each block."""
    progress: Progress | None = None
    """Callback after each block: stage, rows done, rows, share done."""

    def spans(self, rows: Rows, target: int = 0) -> list[tuple[int, int]]:
        """Return the ends (start, stop) of the blocks.

        A block is enlarged to about `target` rows, but to four times the usual size at most.
        """
        first, end = self.span or (0, rows.shape[0])
        step = block_rows(rows, self.block)
        if self.block is None:
            step *= max(1, min(_MAX_JOINED_BLOCKS, -(-target // step)))
        return [(first + start, first + stop) for start, stop in blocks(end - first, step)]

    def watched(
        self, results: Iterable[T], spans: Sequence[tuple[int, int]], stage: str, name: str
    ) -> Iterator[T]:
        """Yield the results of blocks and report each; `name` is that of the rows.

        Raises:
            TimeoutError: the deadline expired.
        """
        for result, (_, stop) in zip(results, spans, strict=True):
            yield result
            count, N = stop - spans[0][0], spans[-1][1] - spans[0][0]
            if self.progress is not None:
                self.progress(stage, count, N, count / N)
            if self.deadline is not None and self.deadline.expired:
                raise TimeoutError(f"{name}: stopped after {count} of {N} rows")


ONE_THREAD = Pass()
"""Pass over all rows in one thread, without a deadline."""


def check_labels(labels: np.ndarray, N: int, K: int) -> None:
    """Raise DataError unless labels are N integers from -1 to K - 1, shape (N,)."""
    if labels.shape != (N,) or labels.dtype.kind not in "iu":
        raise DataError(
            f"labels have shape {labels.shape} and dtype {labels.dtype}; expected ({N},), integers"
        )
    if N and not (labels.min() >= -1 and labels.max() < K):
        wrong = labels.min() if labels.min() < -1 else labels.max()
        raise DataError(
            f"label {wrong} is out of range; expected 0 to {K - 1}, or -1 to leave a row out"
        )


class ZeroRowsError(DataError):
    """Rows of zeros, which have no direction, although one is needed."""


@dataclass(frozen=True, eq=False)
class RowBlock:
    """Labelled rows of a block, in float64."""

    selection: np.ndarray | slice
    """Selection of these rows in the block."""
    labels: np.ndarray
    """Labels, all >= 0, shape (n,)."""
    rows: dict[str, np.ndarray]
    """Rows by space, "unit" or "raw", shape (n, d); copies, which may be overwritten."""
    norms: np.ndarray
    """Norms of the raw rows, shape (n,)."""


def read_block(
    rows: Rows, labels: np.ndarray, spaces: Sequence[str], name: str, start: int, stop: int
) -> RowBlock:
    """Read the rows from start to stop, leave out those of label -1, check and scale the others.

    Nothing is read if `start` is `stop`.

    Args:
        rows: shape (N, d).
        labels: shape (N,); rows of label -1 are left out.
        spaces: "unit", "raw" or both.
        name: of the rows in messages.
        start: first row.
        stop: row after the last one.

    Raises:
        DataError: a row that counts is not finite or, in unit space, zero.
    """
    classes = labels[start:stop]
    selection: np.ndarray | slice = slice(None) if classes.min(initial=0) >= 0 else classes >= 0
    stored = rows.read(start, stop)[selection] if stop > start else np.empty((0, rows.shape[1]))
    raw = np.array(stored, dtype=np.float64, order="C")
    norms = row_norms(raw)
    _check_norms(norms, np.arange(start, stop)[selection], spaces, name)
    labels = classes[selection].astype(np.int64, copy=False)
    return RowBlock(selection, labels, _in_spaces(raw, norms, spaces), norms)


def read_by_class(
    rows: Rows, labels: np.ndarray, spaces: Sequence[str], name: str, start: int, stop: int
) -> Iterator[RowBlock]:
    """Yield the rows of `read_block` sorted by class, in blocks of about half the usual size.

    No class is in two of them, and rows of one class stay in order. Arguments and errors are those
    of `read_block`.
    """
    classes, step = labels[start:stop], max(1, block_rows(rows) // 2)
    order = np.argsort(classes, kind="stable")[np.count_nonzero(classes < 0) :]
    stored = rows.read(start, stop) if stop > start else np.empty((0, rows.shape[1]))
    parts = (
        stored[a:b].astype(np.float64, order="C") for a, b in blocks(len(stored), _ROWS_AT_ONCE)
    )
    norms = np.concatenate([np.zeros(0), *map(row_norms, parts)])
    present = np.sort(order)
    _check_norms(norms[present], start + present, spaces, name)
    classes = classes[order].astype(np.int64)
    cuts = np.append(np.searchsorted(classes, classes[::step]), len(classes))
    for a, b in pairwise(np.unique(cuts).tolist()):
        part = order[a:b]
        raw = np.array(stored[part], dtype=np.float64, order="C")
        yield RowBlock(part, classes[a:b], _in_spaces(raw, norms[part], spaces), norms[part])


def _check_norms(norms: np.ndarray, index: np.ndarray, spaces: Sequence[str], name: str) -> None:
    """Raise the errors of `read_block`, by norms, (n,), of the rows numbered by `index`, (n,)."""
    refuse_rows(~np.isfinite(norms), index, f"{name} holds NaN or infinity", "fix or remove it")
    if "unit" in spaces:
        problem = f"{name} holds zero rows, which have no direction"
        advice = f"remove them, or measure with {spelled('normalize', 'off')}"
        refuse_rows(norms == 0.0, index, problem, advice, ZeroRowsError)
        problem = f"{name} holds rows whose squares leave the numbers of float64"
        refuse_rows(
            (norms < 1e-150) | (norms > 1e150), index, problem, "divide all rows by one norm"
        )


def _in_spaces(raw: np.ndarray, norms: np.ndarray, spaces: Sequence[str]) -> dict[str, np.ndarray]:
    """Return float64 rows (n, d) by space; `raw` is overwritten unless requested."""
    out = None if "raw" in spaces else raw
    return {
        space: raw if space == "raw" else np.multiply(raw, (1.0 / norms)[:, None], out=out)
        for space in spaces
    }


def refuse_rows(
    wrong: np.ndarray,
    index: np.ndarray,
    problem: str,
    advice: str,
    error: type[DataError] = DataError,
) -> None:
    """Raise an error if a row is wrong, shape (n,); `index`, (n,), numbers the rows."""
    if wrong.any():
        rows = index[wrong]
        raise error(
            f"{problem}: {len(rows)} of rows {index[0]} to {index[-1]}, first row {rows[0]}; "
            f"{advice}"
        )
