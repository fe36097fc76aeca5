"""What a call of `solve` asks for: its arguments checked against each other, before any work."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields, replace
from functools import partial
from inspect import signature
from typing import Any

import numpy as np

from gnc_cli.errors import DataError, UsageError
from gnc_cli.geometry.sphere import random_points
from gnc_cli.metrics.rows import real_matrix
from gnc_cli.parameters import declared, spelled, wording
from gnc_cli.runtime.deadline import Deadline, Progress, StageProgress
from gnc_cli.runtime.parallel import Pool
from gnc_cli.runtime.threads import limit_threads, threads_for
from gnc_cli.search.effort import LARGE

_UNIT = 1e-14
"""Rows this near to unit length are not touched."""
_EQUAL = 1e-12
"""Rows that differ by no more coincide."""
_BLOCK = 1 << 22
"""Entries that are compared at once."""
_ROUNDING = 1e-12
"""A target within this of a certified value is met: 0.2 by 0.20000000000000018."""


@dataclass(frozen=True)
class Request:
    """A checked call of `solve`: those of its arguments that say which code is wanted, and how."""

    d: int
    K: int
    problem: str
    """`tammes`, `softmax` or `ufm`."""
    method: str = "auto"
    seed: int = 0
    restarts: int | None = None
    steps: int | None = None
    init: np.ndarray | None = None
    """Unit rows, shape (K, d)."""
    fixed: np.ndarray | None = None
    """Unit rows that stay, shape (F, d)."""
    symmetry: tuple[str, int] | None = None
    """`("antipodal", 2)` or `("cyclic", n)`."""
    table: Any = None
    """Known codes, or their file, that the code is compared with."""
    target: float | None = None
    """Stop at this value: largest cosine (Tammes), or rho (softmax)."""
    tau: tuple[float, ...] = ()
    weight_decay: float | None = None
    n: int = 1

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
    def reachable_target(self) -> float | None:
        """The target, easier by what rounding may take away."""
        if self.target is None:
            return None
        return self.target + (-_ROUNDING if self.problem == "softmax" else _ROUNDING)

    @property
    def may_use_closed_form(self) -> bool:
        """Nothing was asked that only a descent can give."""
        plain = self.init is None and self.fixed is None and self.symmetry is None
        return self.method == "auto" and self.problem != "ufm" and plain


Partial = tuple[np.ndarray, dict[str, Any] | None]
"""A code before its end, (K, d), and the state of its search."""


@dataclass(frozen=True)
class RuntimeOptions:
    """How long a solve may take, where it runs, and whom it tells of its progress."""

    deadline: Deadline
    device: str = "auto"
    threads: int | None = None
    progress: Progress | None = None
    workers: int = 1
    cluster: str | None = None
    save: Callable[[Callable[[], Partial]], None] | None = None
    """Called often with what makes the result so far; keeps it now and then."""

    def pool(self, device: str) -> Pool:
        """The processes that search; this one alone feeds a GPU."""
        return Pool(self.workers, self.cluster) if device == "cpu" else Pool(1)

    def limited_threads(self, flops_per_call: float) -> AbstractContextManager[None]:
        """The user's number of threads, or one that suits calls of this size."""
        return limit_threads(threads_for(flops_per_call, self.threads))

    def stage(self, name: str) -> StageProgress | None:
        """Progress of one stage: `(done, total, best)`."""
        return None if self.progress is None else partial(self.progress, name)


def given(asked: Mapping[str, Any]) -> list[str]:
    """The arguments of `solve` that differ from their defaults, in the order of its signature."""
    from gnc_cli.search.api import solve

    found = []
    for name in declared(solve):
        value, default = asked[name], signature(solve).parameters[name].default
        if type(value) is not type(default) or value != default:
            found.append(name)
    return found


def read_request(asked: Mapping[str, Any]) -> Request:
    """Which arguments of `solve` go together; each by itself has been checked.

    Raises:
        UsageError: an argument is missing or contradicts another.
        DataError: a start or fixed file cannot be used.
    """
    missing = [spelled(name) for name in ("d", "K") if asked[name] is None]
    if missing:
        named, some = " and ".join(missing), "s"[: len(missing) - 1]
        raise UsageError(
            wording(
                f"missing option{some} {named}; see gnc solve --help",
                f"missing argument{some} {named}; write solve(d=3, K=24)",
            )
        )
    kind, _, order = (asked["symmetry"] or "").partition(":")
    read = {"symmetry": (kind, int(order or 2)) if kind else None, "tau": asked["tau"] or ()}
    request = Request(**({field.name: asked[field.name] for field in fields(Request)} | read))
    for contradiction in _contradictions(request):
        raise UsageError(contradiction)
    d, K = request.d, request.K
    fixed, init = _rows("fixed", request.fixed, d), _rows("init", request.init, d)
    if fixed is not None and len(at := np.flatnonzero(_coinciding(fixed))):
        raise DataError(
            f"{spelled('fixed')}: row {at[0]} coincides with another, so that every code with "
            "these rows has distance 0; remove it"
        )
    if fixed is not None and len(fixed) >= K:
        raise UsageError(
            f"{spelled('fixed')} holds {len(fixed)} rows and K = {K}; ask for more points"
        )
    if init is not None and len(init) != K:
        raise DataError(f"{spelled('init')} holds {len(init)} rows, K = {K}; they must agree")
    return replace(request, fixed=fixed, init=None if init is None else apart(init, request.seed))


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
    block = max(1, _BLOCK // W.shape[1])
    for start in range(1, len(W), block):
        these, before = order[start : start + block], order[start - 1 : start - 1 + block]
        equal[these] = np.abs(W[these] - W[before[: len(these)]]).max(axis=1) <= _EQUAL
    return equal


def _contradictions(r: Request) -> Iterator[str]:
    """What does not go together, each with the next step."""
    ufm, problem = r.problem == "ufm", spelled("problem", r.problem)
    if ufm and not r.tau and r.weight_decay is None:
        yield (
            f"{problem} needs a temperature; add {spelled('tau', 0.1)} "
            f"(or {spelled('weight_decay')})"
        )
    of_ufm = {"tau": r.tau, "weight_decay": r.weight_decay, "n": r.n > 1}
    for option in (name for name, value in of_ufm.items() if value and not ufm):
        yield f"{spelled(option)} belongs to {spelled('problem', 'ufm')}, not {r.problem}; drop it"
    for option in ("fixed", "symmetry"):
        if ufm and getattr(r, option) is not None:
            search = f"{spelled('problem', 'softmax')} or tammes with a search"
            yield f"{spelled(option)} needs {search}; drop it"
    for option in ("fixed", "init"):
        if r.symmetry is not None and getattr(r, option) is not None:
            both = f"{spelled(option)} and {spelled('symmetry')}"
            yield f"{both} exclude each other; give one of them"
    if r.symmetry is not None and r.symmetry[1] > r.K:
        cyclic = spelled("symmetry", f"cyclic:{r.symmetry[1]}")
        yield f"{cyclic} has orbits longer than {spelled('K', r.K)}; lower it"
    if ufm and r.target is not None:
        yield f"{spelled('target', r.target)} has no meaning for {problem}; drop it"
    if r.steps is not None and not (ufm or r.large):
        steps = spelled("steps", r.steps)
        yield f"{steps} is for K beyond {LARGE} and ufm; set the effort with {spelled('restarts')}"
    if r.restarts == 0 and r.init is None:
        yield f"{spelled('restarts', 0)} only polishes a given start; add {spelled('init')}"
    up_to_large = {
        spelled("symmetry"): r.symmetry,
        problem: ufm,
        spelled("restarts", r.restarts): r.restarts is not None,
    }
    for what in (option for option, value in up_to_large.items() if value and r.large):
        yield f"{what} is for K = {LARGE} at most; K = {r.K} is one plain descent; drop it"


def _rows(argument: str, source: Any, d: int) -> np.ndarray | None:
    """Unit rows (m, d), float64, of an array or a file."""
    if source is None:
        return None
    name = spelled(argument)
    if isinstance(source, (str, os.PathLike)):
        from gnc_cli.io.codefile import read_points

        rows, said = read_points(source).weights, f"{name} {os.fspath(source)!r}"
    else:
        rows, said = source, name
    rows = real_matrix(rows, said)
    if rows.shape[1] != d:
        hint = "; it looks transposed" if rows.shape[0] == d else ""
        width = spelled("d", d)
        raise DataError(f"{said} has shape {rows.shape}; expected rows of length {width}{hint}")
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    bad = np.flatnonzero(~(np.isfinite(norms) & (norms > 0.0)))
    if len(bad):
        raise DataError(f"{said}: row {bad[0]} is zero or not finite; remove or mend it")
    # Unit rows stay as they are, bit for bit: dividing by a rounded 1 would change them.
    return np.where(np.abs(norms - 1.0) <= _UNIT, rows, rows / norms)
