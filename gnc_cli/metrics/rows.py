"""Matrices that may be larger than memory: rows read block by block, in order, ahead of their use.

Readers of files, arrays and tensors share one interface, `Rows`: a shape and `read(start, stop)`.
Blocks of labelled rows are made ready for float64 work here: left out, checked, scaled to norm 1.
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
from gnc_cli.parsing import shown
from gnc_cli.runtime.deadline import Deadline, Progress
from gnc_cli.runtime.threads import loaded

T = TypeVar("T")

_BLOCK_BYTES = 16 << 20
"""Of a block as float64: large enough for fast products, small enough for the cache."""
_ROWS_AT_ONCE = 256
"""Rows that are worked on at a time where they shall stay in the cache."""
_WIDEST = 4
"""Blocks, as stored, that are sorted by class together."""


class Rows(Protocol):
    """A matrix (N, d) that is read by rows."""

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def dtype(self) -> np.dtype:
        """As stored; bfloat16 reads as float32."""
        ...

    @property
    def step(self) -> int:
        """Rows that are read at once without waste (a chunk of the file); 1 where any will do."""
        ...

    def read(self, start: int, stop: int) -> np.ndarray:
        """Rows start to stop as stored (native byte order), shape (stop - start, d); any thread.

        Raises:
            DataError: the file fails.
        """
        ...


def is_tensor(value: Any) -> bool:
    """Whether `value` is a torch tensor; never imports torch."""
    torch = loaded("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def to_numpy(value: Any, name: str = "the array", *, texts: bool = False) -> np.ndarray:
    """A tensor, an array, nested lists, a data frame or its column as an array of real numbers.

    Tensors leave their graph; those on the CPU share their memory with the result. Floating dtypes
    that NumPy lacks (bfloat16, float8) become float32, exactly. A column of lists is a matrix.

    Args:
        value: dense, nothing masked, real.
        name: of the argument, for messages.
        texts: words and booleans will do, too.

    Raises:
        DataError: anything else; the message says what it is and what to give instead.

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
        raise DataError(f"{name} must be rows of one length, got {shown(value)}") from None
    if array.dtype == object and array.ndim == 1 and len(array):
        array = _stacked(array, name)
    if array.dtype.kind not in ("biufSU" if texts else "iuf"):
        kind = shown(value) if array.ndim == 0 else f"dtype {array.dtype}"
        raise DataError(f"{name} must be an array of real numbers, got {kind}")
    return array


def _stacked(rows: np.ndarray, name: str) -> np.ndarray:
    """An array of Python objects as one of what they are: numbers, lists of these, or words.

    Raises:
        DataError: something is missing, or a list is of another length than the first; names the
            row.
    """
    parts = [np.asarray(row) for row in rows]
    for row, part in enumerate(parts):
        if (
            part.shape != parts[0].shape
            or part.dtype == object
            or (part.dtype.kind == "U") != (parts[0].dtype.kind == "U")
        ):
            raise DataError(
                f"{name}: row {row} is {shown(rows[row])}; expected what row 0 is, "
                f"{shown(rows[0])}: leave such rows out"
            )
    return np.stack(parts)


def checked_tensor(value: Any, name: str) -> Any:
    """A torch tensor that holds its numbers one by one; DataError where it is complex, sparse,
    nested, quantized or on the meta device.
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
    """A matrix of numbers, float64, a copy of what the caller gave.

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
        """Rows start to stop."""
        return self.array[start:stop]


class ColumnRows:
    """Some columns of rows, as `Rows`.

    Those that share `block` read the rows once where a thread asks each for the same block.

    Args:
        columns: their indices, or a slice.

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
        """Rows start to stop."""
        block = self._block
        if getattr(block, "span", None) != (start, stop):
            block.rows, block.span = self._rows.read(start, stop), (start, stop)
        return np.asarray(block.rows[:, self._columns])


def block_rows(rows: Rows, wanted: int | None = None) -> int:
    """Return the number of rows to read at a time: `wanted`, else whole chunks of the file, about
    16 MB as float64.
    """
    if wanted is not None:
        return max(1, wanted)
    count = max(1, _BLOCK_BYTES // (8 * max(1, rows.shape[1])))
    if rows.step <= count:
        return count // rows.step * rows.step
    return min(rows.step, 8 * count)


def blocks(N: int, step: int) -> Iterator[tuple[int, int]]:
    """The ends (start, stop) of consecutive blocks.

    >>> list(blocks(5, 2))
    [(0, 2), (2, 4), (4, 5)]
    """
    for start in range(0, N, step):
        yield start, min(N, start + step)


def ordered(jobs: Iterable[Callable[[], T]], workers: int, ahead: int = 2) -> Iterator[T]:
    """Results of the jobs in their order, computed by `workers` threads, at most `ahead` waiting.

    The order of what the caller adds up does not depend on the number of threads; 1 still reads
    ahead of the caller. Jobs are made lazily. A job's exception is raised where its result is asked
    for; jobs not begun are then dropped.
    """
    waiting: deque[Future[T]] = deque()
    with ThreadPoolExecutor(max(1, workers)) as pool:
        try:
            for job in jobs:
                # A message names parameters as the caller does, which is known in its context.
                waiting.append(pool.submit(copy_context().run, job))
                if len(waiting) >= max(1, workers) + ahead:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


@dataclass(frozen=True, kw_only=True)
class Pass:
    """How rows are read through once, and when that ends early."""

    block: int | None = None
    """Rows to read at a time; None: whole chunks of the file, about 16 MB as float64."""
    workers: int = 1
    """Threads; with several, hold BLAS to one (`limit_threads(1)`)."""
    span: tuple[int, int] | None = None
    """Only the rows from start to stop."""
    deadline: Deadline | None = None
    """Looked at after each block."""
    progress: Progress | None = None
    """Called after each block with stage, rows done, rows, share done."""

    def spans(self, rows: Rows, wanted: int = 0) -> list[tuple[int, int]]:
        """Return the ends (start, stop) of the blocks, of about `wanted` rows where that is more
        than usual, but of four usual blocks at most.
        """
        first, end = self.span or (0, rows.shape[0])
        step = block_rows(rows, self.block)
        if self.block is None:
            step *= max(1, min(_WIDEST, -(-wanted // step)))
        return [(first + start, first + stop) for start, stop in blocks(end - first, step)]

    def watched(
        self, results: Iterable[T], spans: Sequence[tuple[int, int]], stage: str, where: str
    ) -> Iterator[T]:
        """Yield the results of blocks and report each; `where` names the rows.

        Raises:
            TimeoutError: the deadline expired.
        """
        for result, (_, stop) in zip(results, spans, strict=True):
            yield result
            done, N = stop - spans[0][0], spans[-1][1] - spans[0][0]
            if self.progress is not None:
                self.progress(stage, done, N, done / N)
            if self.deadline is not None and self.deadline.expired:
                raise TimeoutError(f"{where}: stopped after {done} of {N} rows")


ONE_THREAD = Pass()
"""All rows in one thread, to the end."""


def check_labels(labels: np.ndarray, N: int, K: int) -> None:
    """Raise DataError for another length than N, no integers, or a label outside -1 to K - 1."""
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
    """Rows of zeros, which have no direction, where one is needed."""


@dataclass(frozen=True, eq=False)
class RowBlock:
    """The rows of a block that count, in float64."""

    kept: np.ndarray | slice
    """Which rows of the block these are."""
    labels: np.ndarray
    """All >= 0, shape (n,)."""
    rows: dict[str, np.ndarray]
    """By space, "unit" or "raw", shape (n, d); nobody else's, to be overwritten at will."""
    norms: np.ndarray
    """Of the raw rows, shape (n,)."""


def read_block(
    rows: Rows, labels: np.ndarray, spaces: Sequence[str], where: str, start: int, stop: int
) -> RowBlock:
    """Read the rows from start to stop, leave out those of label -1, check and scale the others.

    `spaces` are "unit", "raw" or both; `where` names the rows in messages. Nothing is read where
    `start` is `stop`.

    Raises:
        DataError: a row that counts is not finite or, in unit space, zero.
    """
    chosen = labels[start:stop]
    kept: np.ndarray | slice = slice(None) if chosen.min(initial=0) >= 0 else chosen >= 0
    stored = rows.read(start, stop)[kept] if stop > start else np.empty((0, rows.shape[1]))
    raw = np.array(stored, dtype=np.float64, order="C")
    norms = row_norms(raw)
    _check_norms(norms, np.arange(start, stop)[kept], spaces, where)
    labels = chosen[kept].astype(np.int64, copy=False)
    return RowBlock(kept, labels, _in_spaces(raw, norms, spaces), norms)


def read_by_class(
    rows: Rows, labels: np.ndarray, spaces: Sequence[str], where: str, start: int, stop: int
) -> Iterator[RowBlock]:
    """Yield the rows of `read_block` sorted by class, in blocks of about half the usual size: no
    class is in two of them, and rows of one class stay in order.
    """
    chosen, step = labels[start:stop], max(1, block_rows(rows) // 2)
    order = np.argsort(chosen, kind="stable")[np.count_nonzero(chosen < 0) :]
    stored = rows.read(start, stop) if stop > start else np.empty((0, rows.shape[1]))
    parts = (stored[a:b].astype(np.float64) for a, b in blocks(len(stored), _ROWS_AT_ONCE))
    norms = np.concatenate([np.zeros(0), *map(row_norms, parts)])
    kept = np.sort(order)
    _check_norms(norms[kept], start + kept, spaces, where)
    chosen = chosen[order].astype(np.int64)
    cuts = np.append(np.searchsorted(chosen, chosen[::step]), len(chosen))
    for a, b in pairwise(np.unique(cuts).tolist()):
        part = order[a:b]
        raw = np.array(stored[part], dtype=np.float64, order="C")
        yield RowBlock(part, chosen[a:b], _in_spaces(raw, norms[part], spaces), norms[part])


def _check_norms(norms: np.ndarray, index: np.ndarray, spaces: Sequence[str], where: str) -> None:
    """Refuse rows, numbered by `index`, that `read_block` refuses, by their norms, (n,)."""
    refuse_rows(~np.isfinite(norms), index, f"{where} holds NaN or infinity", "mend or remove it")
    if "unit" in spaces:
        what = f"{where} holds zero rows, which have no direction"
        advice = f"remove them, or measure with {spelled('normalize', 'off')}"
        refuse_rows(norms == 0.0, index, what, advice, ZeroRowsError)
        what = f"{where} holds rows whose squares leave the numbers of float64"
        refuse_rows((norms < 1e-150) | (norms > 1e150), index, what, "divide all rows by one norm")


def _in_spaces(raw: np.ndarray, norms: np.ndarray, spaces: Sequence[str]) -> dict[str, np.ndarray]:
    """Return float64 rows (n, d) by space; `raw` is overwritten where it is not asked for."""
    out = None if "raw" in spaces else raw
    return {
        space: raw if space == "raw" else np.multiply(raw, (1.0 / norms)[:, None], out=out)
        for space in spaces
    }


def refuse_rows(
    wrong: np.ndarray,
    index: np.ndarray,
    what: str,
    advice: str,
    error: type[DataError] = DataError,
) -> None:
    """Raise DataError, or another `error`, where a row is wrong; `index` numbers the rows."""
    if wrong.any():
        rows = index[wrong]
        raise error(
            f"{what}: {len(rows)} of rows {index[0]} to {index[-1]}, first row {rows[0]}; {advice}"
        )
