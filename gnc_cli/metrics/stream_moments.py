"""Class moments of rows that may be larger than memory: one pass, every core busy.

Worker threads read blocks ahead, scale and sum them; the sums are joined in order; worker threads
then multiply what the joining left over. So the answer does not depend on the number of workers, to
the last bit.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from gnc_cli.metrics.class_moments import ClassMoments, ClassSums, class_sums
from gnc_cli.metrics.rows import Rows, block_rows, blocks, check_labels, ordered, read_block
from gnc_cli.runtime.deadline import Deadline


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
        block: rows to read at a time; None for about 16 MB as float64.
        workers: threads.
        span: only the rows from start to stop.
        deadline: looked at after each block.
        progress: called as progress("moments", rows done, rows, share done).

    Raises:
        DataError: a row that counts is not finite or, in unit space, zero; labels do not fit.
        TimeoutError: the deadline came first.

    Example:
        >>> from gnc_cli.metrics.rows import ArrayRows
        >>> features = np.array([[2.0, 0.0], [0.0, 3.0], [0.0, 5.0]])
        >>> found = stream_moments(ArrayRows(features), np.array([0, 1, 1]), K=2)
        >>> found.moments["unit"].means, found.norm_max
        (array([[1., 0.],
               [0., 1.]]), 5.0)
    """
    check_labels(labels, rows.shape[0], K)
    first, end = span or (0, rows.shape[0])
    step, low, high, done = block_rows(rows, block), np.inf, 0.0, 0
    moments = {s: ClassMoments(rows.shape[1], K, centres=(centres or {}).get(s)) for s in spaces}
    read = partial(_block_sums, rows, labels, moments, where)
    jobs = (partial(read, first + a, first + b) for a, b in blocks(end - first, step))
    for scatters, least, most in ordered(_joined(ordered(jobs, workers), moments), workers):
        for space, scatter in scatters.items():
            moments[space].scatter += scatter
        low, high = min(low, least), max(high, most)
        done = min(done + step, end - first)
        if progress is not None:
            progress("moments", done, end - first, done / (end - first))
        if deadline is not None and deadline.expired:
            raise TimeoutError(f"{where}: stopped after {done} of {end - first} rows")
    return StreamedMoments(moments, float(low), float(high), step)


def _block_sums(
    rows: Rows,
    labels: np.ndarray,
    moments: Mapping[str, ClassMoments],
    where: str,
    start: int,
    stop: int,
) -> tuple[dict[str, ClassSums], float, float]:
    """Sums of one block by space, and its smallest and largest norm."""
    block = read_block(rows, labels, tuple(moments), where, start, stop)
    sums = {s: class_sums(x, block.labels, moments[s].centres) for s, x in block.rows.items()}
    return sums, block.norms.min(initial=np.inf), block.norms.max(initial=0.0)


def _joined(
    ready: Iterable[tuple[dict[str, ClassSums], float, float]],
    moments: Mapping[str, ClassMoments],
) -> Iterator[Callable[[], tuple[dict[str, np.ndarray], float, float]]]:
    """Join the sums of each block, in order, and hand out the products that are left to do."""
    for sums, low, high in ready:
        parts = {space: (s.scatter, moments[space].join(s)) for space, s in sums.items()}
        yield partial(_scatters, parts, low, high)


def _scatters(
    parts: Mapping[str, tuple[np.ndarray, np.ndarray]], low: float, high: float
) -> tuple[dict[str, np.ndarray], float, float]:
    return {space: S + apart.T @ apart for space, (S, apart) in parts.items()}, low, high
