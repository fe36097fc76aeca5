"""Class moments of rows that may be larger than memory: one pass, every core busy.

Worker threads read, convert and scale blocks ahead; classes that a block brings in get their shift
in order; worker threads then multiply, and what they find is added in order. So the answer does
not depend on the number of workers, to the last bit.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

import numpy as np

from gnc_cli.metrics.class_batch import Batch, BatchSums
from gnc_cli.metrics.class_moments import ClassMoments
from gnc_cli.metrics.row_blocks import RowBlock, check_labels, read_block
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.rows import Rows, block_rows, blocks, ordered

__all__ = ["StreamedMoments", "stream_moments"]

_SETTLE_AFTER = 64
"""Blocks before the shifts are looked at (workers wait for each other); then 8 times as many."""


@dataclass(frozen=True, eq=False)
class StreamedMoments:
    """What one pass over the rows has found."""

    moments: dict[str, ClassMoments]
    """By space: "unit" (rows scaled to norm 1) or "raw"."""
    norm_min: float
    """Of the raw rows that count; infinite where there are none."""
    norm_max: float
    """Likewise; 0 where there are none."""
    block: int
    """Rows that were read at a time."""

    def merged(self, other: "StreamedMoments") -> "StreamedMoments":
        """This and what a pass over other rows has found; uses up the moments of this one.

        Raises:
            DataError: as `ClassMoments.merge`.
        """
        for space, moments in self.moments.items():
            moments.merge(other.moments[space])
        low, high = min(self.norm_min, other.norm_min), max(self.norm_max, other.norm_max)
        return StreamedMoments(self.moments, low, high, max(self.block, other.block))


@dataclass(frozen=True, eq=False)
class _Found:
    """Of one block."""

    sums: dict[str, BatchSums]
    norm_min: float
    norm_max: float


def stream_moments(
    rows: Rows,
    labels: np.ndarray,
    K: int,
    *,
    spaces: Sequence[str] = ("unit",),
    centres: Mapping[str, np.ndarray] | None = None,
    where: str = "features",
    block: int | None = None,
    workers: int = 1,
    span: tuple[int, int] | None = None,
    deadline: Deadline | None = None,
    progress: Callable[[str, int, int, float], None] | None = None,
) -> StreamedMoments:
    """Class moments of `rows` in one or two spaces, each row read once.

    With several workers, hold BLAS to one thread around this (`limit_threads(1)`).

    Args:
        rows: shape (N, d), any real dtype.
        labels: integers from 0 to K - 1, or -1 for rows that are left out, shape (N,).
        K: number of classes.
        spaces: "unit", "raw" or both.
        centres: by space, class means of other data, shape (K, d): see `ClassMoments`.
        where: names the rows in messages, as `'f.h5': dataset 'features'`.
        block: rows to read at a time; None for about 8 MB as float64.
        workers: threads.
        span: only the rows from start to stop.
        deadline: looked at after each block.
        progress: called as progress("moments", rows done, rows, share done).

    Raises:
        DataError: a row that counts is not finite or, in unit space, zero; labels do not fit.
        TimeoutError: the deadline came first.

    Example:
        >>> from gnc_cli.numerics.rows import ArrayRows
        >>> features = np.array([[2.0, 0.0], [0.0, 3.0], [0.0, 5.0]])
        >>> found = stream_moments(ArrayRows(features), np.array([0, 1, 1]), K=2)
        >>> found.moments["unit"].means, found.norm_max
        (array([[1., 0.],
               [0., 1.]]), 5.0)
    """
    check_labels(labels, rows.shape[0], K)
    first, end = span or (0, rows.shape[0])
    step = block_rows(rows, block)
    moments = {s: ClassMoments(rows.shape[1], K, centres=(centres or {}).get(s)) for s in spaces}
    read = partial(read_block, rows, labels, spaces, where)
    jobs = (partial(read, first + a, first + b) for a, b in blocks(end - first, step))
    low, high, done, size = np.inf, 0.0, 0, _SETTLE_AFTER
    ready = ordered(jobs, workers)
    while done < end - first:
        for found in ordered(_products(islice(ready, size), moments), workers):
            for space, sums in found.sums.items():
                moments[space].add(sums)
            low, high = min(low, found.norm_min), max(high, found.norm_max)
            done = min(done + step, end - first)
            if progress is not None:
                progress("moments", done, end - first, done / (end - first))
            if deadline is not None and deadline.expired:
                raise TimeoutError(f"{where}: stopped after {done} of {end - first} rows")
        # No sums are outstanding here, whatever the number of workers: shifts may move.
        for each in moments.values():
            each.settle()
        size *= 8
    return StreamedMoments(moments, float(low), float(high), step)


def _products(
    ready: Iterator[RowBlock], moments: Mapping[str, ClassMoments]
) -> Iterator[Callable[[], _Found]]:
    """Admit the classes of each block, in order, and hand out the work on it."""
    for block in ready:
        low, high = block.norms.min(initial=np.inf), block.norms.max(initial=0.0)
        batches = {
            space: moments[space].admit(rows, block.labels) for space, rows in block.rows.items()
        }
        yield partial(_multiply, batches, moments, low, high)


def _multiply(
    batches: Mapping[str, Batch], moments: Mapping[str, ClassMoments], low: float, high: float
) -> _Found:
    sums = {space: batch.sums(moments[space].shift) for space, batch in batches.items()}
    return _Found(sums, low, high)
