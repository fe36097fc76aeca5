"""Inputs of a search: the code to find, the user's rows, the effort, and the part of a machine."""

import math
import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property, partial
from hashlib import sha256
from typing import Any

import numpy as np

from gnc_cli.errors import DataError, UsageError
from gnc_cli.geometry.sphere import random_points
from gnc_cli.known_codes.best import BestKnown, Table, best
from gnc_cli.limits.limit import Quantity
from gnc_cli.limits.lines import best_lines
from gnc_cli.metrics.rows import real_matrix
from gnc_cli.parameters import spelled
from gnc_cli.runtime.deadline import Progress, StageProgress
from gnc_cli.runtime.parallel import processes
from gnc_cli.runtime.threads import limit_threads, threads_for
from gnc_cli.search.effort import MAX_DENSE

_TARGET_TOLERANCE = 1e-12
"""Largest gap to a certified value with which a target is met: 0.2 by 0.20000000000000018."""
_UNIT_TOLERANCE = 1e-14
"""Largest difference from 1 of the length of a row that is used as it is: a few roundings."""
_EQUAL_ROWS_TOLERANCE = 1e-12
"""Largest difference of the coordinates of two rows that coincide."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Instance:
    """The code to find: K points in d dimensions, the problem and its restrictions."""

    d: int
    K: int
    problem: str = "softmax"
    """`softmax`, `tammes`, `ufm` or `lines`."""
    fixed: np.ndarray | None = None
    """Unit rows that stay, the first of the code, shape (F, d), float64."""
    symmetry: tuple[str, int] | None = None
    """Kind and order of a group under which the code is invariant: `("antipodal", 2)` or
    `("cyclic", n)`."""
    tau: tuple[float, ...] = ()
    """Temperatures of the feature model, one row of a sweep each."""
    weight_decay: float | None = None
    """Weight decay of the feature model; None for unit lengths."""
    n: int = 1
    """Number of samples per class of the feature model."""
    table: Table = None
    """Known codes to compare the code with; None for those of gnc."""

    @property
    def separate(self) -> bool:
        """True if weights and features are separate unknowns of a search: some rows are fixed."""
        return self.problem == "softmax" and self.fixed is not None

    @property
    def is_lines(self) -> bool:
        """True for K lines, one row each: 2 K antipodal points in a search."""
        return self.problem == "lines"

    @property
    def quantity(self) -> Quantity:
        """Quantity that the bounds of this problem limit."""
        return Quantity.LINES if self.is_lines else Quantity.ONE_VS_REST

    @property
    def restriction(self) -> str | None:
        """Name of the condition that most codes do not meet; None without one."""
        return "fixed rows" if self.fixed is not None else "symmetry" if self.symmetry else None

    @property
    def is_large(self) -> bool:
        """True if K x K matrices would be too large."""
        return self.K > MAX_DENSE

    @cached_property
    def best_known(self) -> BestKnown | None:
        """Best known code of this size, or best known lines."""
        return best_lines(self.d, self.K) if self.is_lines else best(self.d, self.K, self.table)

    @property
    def identity(self) -> dict[str, Any]:
        """Inputs that must agree for the code of a file to be improved further."""
        rows = b"" if self.fixed is None else np.ascontiguousarray(self.fixed).tobytes()
        return {
            "problem": self.problem,
            "d": self.d,
            "K": self.K,
            "weight_decay": self.weight_decay,
            "n": self.n,
            "tau": ", ".join(map(str, self.tau)),
            "symmetry": ":".join(map(str, self.symmetry or ())),
            "fixed": sha256(rows).hexdigest()[:16] if rows else "",
        }


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The seed, the effort and the target of a search."""

    seed: int = 0
    earlier: Mapping[str, int] = field(default_factory=dict)
    """Numbers of `starts` and `tasks` that earlier calls have done with this seed."""
    restarts: int | None = None
    """Number of starts, earlier ones included; None: adapted to d and K."""
    steps: int | None = None
    """Number of descent steps of a start; None: adapted to d and K."""
    target_distance: float = math.inf
    """Distance at which a search stops: rho, or 1 - max_cosine; infinite without a target."""
    progress: Progress | None = None

    def stage(self, name: str) -> StageProgress | None:
        """Return the progress of one stage: `(done, total, best)`."""
        return None if self.progress is None else partial(self.progress, name)


@dataclass(frozen=True, kw_only=True)
class Machine:
    """The device, threads and processes of a call."""

    device: str = "auto"
    """`auto`, `cpu`, `cuda` or `cuda:1`."""
    threads: int | None = None
    """Number of threads on the CPU; None: one that suits the work."""
    workers: int | None = None
    """Number of processes on this machine; None: one per core."""
    cluster: str | None = None
    """Address of a Dask scheduler, in place of processes here."""

    @property
    def processes(self) -> int:
        """Number of processes that work on this machine."""
        return processes(self.workers, self.cluster)

    def limited_threads(self, flops_per_call: float) -> AbstractContextManager[object]:
        """Limit libraries to the user's number of threads, or one that suits calls of this size.

        Args:
            flops_per_call: floating-point operations of one call of a library.
        """
        return limit_threads(threads_for(flops_per_call, self.threads))


def target_distance(problem: str, target: float | None) -> float:
    """Return a target as a distance, smaller by what rounding may take away; infinite without one.

    Args:
        problem: `softmax`, whose target is rho; of others it is a largest cosine or a coherence.
        target: the user's number; None for no target.
    """
    if target is None:
        return math.inf
    return (target if problem == "softmax" else 1.0 - target) - _TARGET_TOLERANCE


def fixed_rows(source: Any, d: int, K: int) -> np.ndarray | None:
    """Read the rows that stay, from an array or a file, as unit rows (F, d), float64; or None.

    Args:
        source: an array (F, d), the path of a file, or None.
        d: dimension.
        K: number of points of the whole code.

    Raises:
        UsageError: there are K rows or more.
        DataError: they have another length, or one of them is zero, not finite, or coincides with
            another.
    """
    rows = _unit_rows("fixed", source, d)
    if rows is None:
        return None
    if len(rows) >= K:
        raise UsageError(
            f"{spelled('fixed')} holds {len(rows)} rows and K = {K}; ask for more points"
        )
    if len(equal := np.flatnonzero(_coinciding(rows))):
        raise DataError(
            f"{spelled('fixed')}: row {equal[0]} coincides with another, so that every code with "
            "these rows has distance 0; remove it"
        )
    return rows


def start_rows(source: Any, d: int, K: int, seed: int) -> np.ndarray | None:
    """Read the rows of a start, from an array or a file, as unit rows (K, d), float64; or None.

    Args:
        source: an array (K, d), the path of a file, or None.
        d: dimension.
        K: number of points.
        seed: of the random points that replace rows which coincide with another.

    Raises:
        DataError: they are not K rows of length d, or one of them is zero or not finite.
    """
    rows = _unit_rows("init", source, d)
    if rows is None:
        return None
    if len(rows) != K:
        raise DataError(f"{spelled('init')} holds {len(rows)} rows, K = {K}; they must agree")
    return replace_equal_rows(rows, seed)


def _unit_rows(argument: str, source: Any, d: int) -> np.ndarray | None:
    if source is None:
        return None
    name = spelled(argument)
    if isinstance(source, (str, os.PathLike)):
        from gnc_cli.io.codefile import read_points

        name = f"{name} {os.fspath(source)!r}"
        source = read_points(source).weights
    rows = real_matrix(source, name)
    if rows.shape[1] != d:
        hint = "; it looks transposed" if rows.shape[0] == d else ""
        raise DataError(
            f"{name} has shape {rows.shape}; expected rows of length {spelled('d', d)}{hint}"
        )
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    bad = np.flatnonzero(~(np.isfinite(norms) & (norms > 0.0)))
    if len(bad):
        raise DataError(f"{name}: row {bad[0]} is zero or not finite; remove or fix it")
    # Unit rows stay as they are, bit for bit: dividing by a rounded 1 would change them.
    return np.where(np.abs(norms - 1.0) <= _UNIT_TOLERANCE, rows, rows / norms)


def replace_equal_rows(W: np.ndarray, seed: int) -> np.ndarray:
    """Replace unit rows (K, d) that coincide with an earlier row by random points.

    No gradient would separate them. Where no rows coincide, the same array is returned.
    """
    equal = np.flatnonzero(_coinciding(W))
    if not len(equal):
        return W
    moved = W.copy()
    moved[equal] = random_points(np.random.default_rng((seed, len(W))), len(equal), W.shape[1])
    return moved


def _coinciding(W: np.ndarray) -> np.ndarray:
    """Return a mask (m,) of the rows (m, d) that coincide with an earlier row to rounding."""
    # Rows that coincide are neighbours in the order along one random line.
    order = np.argsort(W @ random_points(np.random.default_rng(0), 1, W.shape[1])[0], kind="stable")
    equal = np.zeros(len(W), dtype=bool)
    equal[order[1:]] = np.abs(np.diff(W[order], axis=0)).max(axis=1) <= _EQUAL_ROWS_TOLERANCE
    return equal
