"""Matrices that may be larger than memory: rows read block by block, in order, ahead of their use.

Readers of files, arrays and tensors all look the same from here: a shape and `read(start, stop)`.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol, TypeVar

import numpy as np

__all__ = ["ArrayRows", "Rows", "block_rows", "blocks", "ordered"]

T = TypeVar("T")

_BLOCK_BYTES = 8 << 20
"""Of a block as float64: large enough for fast products, small enough for the cache."""


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


def block_rows(rows: Rows, wanted: int | None = None) -> int:
    """How many rows to take at a time: whole chunks of the file, about 8 MB as float64.

    Args:
        rows: the matrix.
        wanted: the user's own number, which wins.
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

    The order of what the caller adds up does not depend on the number of threads. A job's exception
    is raised where its result is asked for; jobs not begun are then dropped.

    Args:
        jobs: made lazily: a job is taken only when there is room for it.
        workers: threads; 1 still reads ahead of the caller.
        ahead: finished results that may wait, beside those at work.
    """
    waiting: deque[Future[T]] = deque()
    with ThreadPoolExecutor(max(1, workers)) as pool:
        try:
            for job in jobs:
                waiting.append(pool.submit(job))
                if len(waiting) >= max(1, workers) + ahead:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
