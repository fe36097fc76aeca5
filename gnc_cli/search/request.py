"""A call of `solve`: its arguments, checked against each other before any work."""

import math
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import PurePath
from typing import Any

import numpy as np

from gnc_cli.constructions.registry import named_construction
from gnc_cli.errors import DataError, UsageError
from gnc_cli.geometry.sphere import random_points
from gnc_cli.known_codes.best import Reference, best
from gnc_cli.metrics.rows import real_matrix
from gnc_cli.parameters import Path, excludes, requires, spelled
from gnc_cli.runtime.deadline import Call, StageProgress
from gnc_cli.runtime.threads import limit_threads, threads_for
from gnc_cli.search.effort import LARGE

STORED = "known"
"""What `construction` takes for coordinates that this project ships."""
_OF_A_SEARCH = (
    "tau",
    "weight_decay",
    "n",
    "fixed",
    "symmetry",
    "method",
    "init",
    "restarts",
    "steps",
    "resume",
    "time_limit",
    "workers",
    "cluster",
)
"""The arguments that have no meaning for a construction."""
_UNIT = 1e-14
"""Rows this near to unit length are not touched."""
_EQUAL = 1e-12
"""Rows that differ by no more coincide."""
_ROUNDING = 1e-12
"""A target within this of a certified value is met: 0.2 by 0.20000000000000018."""


@dataclass(frozen=True)
class Request(Call):
    """The arguments of `solve`, each read by its declaration already.

    Where it is made, files of rows are read, and a named construction gives the size that is 0.

    Raises:
        UsageError: an argument is missing or contradicts another.
        DataError: a start or fixed file cannot be used.
    """

    d: int = 0
    K: int = 0
    problem: str = "softmax"
    """`tammes`, `softmax` or `ufm`."""
    tau: tuple[float, ...] = ()
    weight_decay: float | None = None
    n: int = 1
    fixed: np.ndarray | None = None
    """Unit rows that stay, shape (F, d)."""
    symmetry: str | None = None
    method: str = "auto"
    construction: str | None = None
    list_constructions: bool = False
    init: np.ndarray | None = None
    """Unit rows, shape (K, d)."""
    restarts: int | None = None
    steps: int | None = None
    target: float | None = None
    """Stop at this value: largest cosine (Tammes), or rho (softmax)."""
    resume: bool = False
    table: Any = None
    """Known codes, or their file, that the code is compared with."""
    seed: int = 0
    time_limit: float | None = None
    device: str = "auto"
    threads: int | None = None
    workers: int | None = None
    cluster: str | None = None
    out: Path | None = None
    plot: Path | None = None
    command_line: str | None = None

    def __post_init__(self) -> None:
        if self.construction is not None and self.construction != STORED:
            built = named_construction(self.construction, self.d, self.K)
            self._complete(d=built.d, K=built.K)
        if self.list_constructions:
            return
        for contradiction in _contradictions(self):
            raise contradiction
        fixed, init = (_unit_rows(name, self) for name in ("fixed", "init"))
        self._complete(fixed=fixed, init=init if init is None else apart(init, self.seed))
        _check_sizes(self)

    def _complete(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def group(self) -> tuple[str, int] | None:
        """The symmetry: `("antipodal", 2)` or `("cyclic", n)`."""
        kind, _, order = (self.symmetry or "").partition(":")
        return (kind, int(order or 2)) if kind else None

    @property
    def separate(self) -> bool:
        """Weights and features are separate unknowns of a search: some weights are given."""
        return self.problem == "softmax" and self.fixed is not None

    @property
    def restriction(self) -> str | None:
        """What keeps a search from most codes."""
        return "fixed rows" if self.fixed is not None else "symmetry" if self.symmetry else None

    @property
    def large(self) -> bool:
        """Too large for K x K matrices."""
        return self.K > LARGE

    @property
    def target_distance(self) -> float:
        """The target as a distance, rho or 1 - max_cosine, easier by what rounding may take away;
        infinite without one."""
        if self.target is None:
            return math.inf
        return (self.target if self.problem == "softmax" else 1.0 - self.target) - _ROUNDING

    @cached_property
    def known(self) -> Reference | None:
        """The best known code of this size."""
        return best(self.d, self.K, self.table)

    def limited_threads(self, flops_per_call: float) -> AbstractContextManager[object]:
        """The user's number of threads, or one that suits calls of this size."""
        return limit_threads(threads_for(flops_per_call, self.threads))

    def stage(self, name: str) -> StageProgress | None:
        """Progress of one stage: `(done, total, best)`."""
        return None if self.progress is None else partial(self.progress, name)


def _contradictions(r: Request) -> Iterator[UsageError]:
    """What does not go together, each with the next step."""
    if missing := [spelled(name) for name in ("d", "K") if not getattr(r, name)]:
        both = f"{spelled('d', 3)} and {spelled('K', 24)}"
        yield UsageError(f"missing {' and '.join(missing)}; give both, such as {both}")
    ufm = r.problem == "ufm"
    if r.construction is not None:
        if unused := [*["problem"] * ufm, *filter(r.is_set, _OF_A_SEARCH)]:
            yield excludes("construction", ", ".join(map(spelled, unused)), "drop these")
    if r.resume and PurePath(r.out or "").suffix.lower() not in (".h5", ".hdf5"):
        yield requires("resume", spelled("out", "code.h5"))
    if ufm and not r.tau and r.weight_decay is None:
        advice = f"add {spelled('tau', 0.1)} (or {spelled('weight_decay')})"
        yield UsageError(f"{spelled('problem', 'ufm')} requires a temperature; {advice}")
    for name in filter(r.is_set, () if ufm else ("tau", "weight_decay", "n")):
        yield requires(name, spelled("problem", "ufm"))
    excluded = {
        spelled("problem", "ufm"): ("fixed", "symmetry", "target") if ufm else (),
        spelled("symmetry"): () if r.symmetry is None else ("fixed", "init"),
    }
    for other, names in excluded.items():
        for name in filter(r.is_set, names):
            yield excludes(name, other)
    if r.group is not None and r.group[1] > r.K:
        symmetry, least = spelled("symmetry", r.symmetry), spelled("K", r.K)
        yield UsageError(f"{symmetry} has orbits longer than {least}; lower it")
    if r.steps is not None and not (ufm or r.large):
        condition = f"K > {LARGE} or {spelled('problem', 'ufm')}"
        yield requires("steps", condition, f"set the effort with {spelled('restarts')}")
    if r.restarts == 0 and r.init is None:
        init = spelled("init")
        yield UsageError(f"{spelled('restarts', 0)} requires {init}; add {init}")
    for name, value in {"symmetry": r.symmetry, "problem": ufm, "restarts": r.restarts}.items():
        if r.large and value not in (None, False):
            option = spelled(name, r.problem if name == "problem" else None)
            reason = f"K up to {LARGE}, as K = {r.K} is one plain descent"
            yield UsageError(f"{option} requires {reason}; drop {option}")


def _unit_rows(argument: str, request: Request) -> np.ndarray | None:
    """Unit rows (m, d), float64, of an array or a file."""
    source: Any = getattr(request, argument)
    if source is None:
        return None
    name, d = spelled(argument), request.d
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
        raise DataError(f"{name}: row {bad[0]} is zero or not finite; remove or mend it")
    # Unit rows stay as they are, bit for bit: dividing by a rounded 1 would change them.
    return np.where(np.abs(norms - 1.0) <= _UNIT, rows, rows / norms)


def _check_sizes(r: Request) -> None:
    """Refuse rows that coincide, or of another number than K allows."""
    if r.fixed is not None:
        if len(r.fixed) >= r.K:
            raise UsageError(
                f"{spelled('fixed')} holds {len(r.fixed)} rows and K = {r.K}; ask for more points"
            )
        if len(at := np.flatnonzero(_coinciding(r.fixed))):
            raise DataError(
                f"{spelled('fixed')}: row {at[0]} coincides with another, so that every code with "
                "these rows has distance 0; remove it"
            )
    if r.init is not None and len(r.init) != r.K:
        raise DataError(f"{spelled('init')} holds {len(r.init)} rows, K = {r.K}; they must agree")


def apart(W: np.ndarray, seed: int) -> np.ndarray:
    """Unit rows, of which those that coincide with another are random points: no gradient would
    tell them which way to go. The same array where all are apart."""
    equal = np.flatnonzero(_coinciding(W))
    if not len(equal):
        return W
    moved = W.copy()
    moved[equal] = random_points(np.random.default_rng((seed, len(W))), len(equal), W.shape[1])
    return moved


def _coinciding(W: np.ndarray) -> np.ndarray:
    """Which rows coincide with an earlier row, to rounding, shape (m,)."""
    # Neighbours along one random line: rows that coincide are neighbours there.
    order = np.argsort(W @ random_points(np.random.default_rng(0), 1, W.shape[1])[0], kind="stable")
    equal = np.zeros(len(W), dtype=bool)
    equal[order[1:]] = np.abs(np.diff(W[order], axis=0)).max(axis=1) <= _EQUAL
    return equal
