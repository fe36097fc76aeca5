"""The classifier of a run: learned, moving class means, or a fixed code with its classes placed."""

import math
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gnc_cli.collapse.reference import gnc2_reference
from gnc_cli.errors import DataError, UsageError
from gnc_cli.geometry.gram import max_cosine
from gnc_cli.geometry.one_vs_rest import minimum_one_vs_rest
from gnc_cli.geometry.sphere import normalise
from gnc_cli.io.codefile import read_points
from gnc_cli.io.inputs import split_key
from gnc_cli.known_codes.best import best
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.distributed import Processes
from gnc_cli.training.networks.assignment import assign, distinct_assignments
from gnc_cli.training.networks.heads import ClassMeanHead, DecayHead, FixedHead, Head, SphereHead
from gnc_cli.training.settings import Settings
from gnc_cli.training.together import of_first

_RESTARTS = 8
"""Descents of `fixed:solve` where no theorem and no construction answers."""
_PATIENCE = 1500.0
"""Seconds that other processes wait for a code; at 1800 their connection breaks."""
_UNIT = 1e-4
"""Rows whose lengths are as near to 1 as this are taken for a code's own."""


@dataclass(frozen=True, eq=False)
class HeadPlan:
    """What a head is made of, before any network is."""

    d: int
    K: int
    code: np.ndarray | None
    """Rows (K, d) of a fixed head, class k on row k."""
    code_name: str | None
    permutation: tuple[int, ...] | None
    margin: float | None
    margin_source: str | None = None
    """`given`, or whose largest possible margin it is."""

    def to_json(self) -> dict[str, Any]:
        """Plain dictionary for config.json, without the code, which is in the checkpoints."""
        return {name: value for name, value in vars(self).items() if name != "code"}

    @classmethod
    def from_json(
        cls, stored: dict[str, Any], read_code: Callable[[], np.ndarray]
    ) -> "HeadPlan":
        """The plan that `to_json` stored; `read_code` gives the rows of a fixed head.

        Raises:
            KeyError, TypeError, AttributeError: something else is stored.
        """
        placed = stored["permutation"]
        if placed is None:
            return cls(**stored, code=None)
        return cls(**(stored | {"code": read_code(), "permutation": tuple(placed)}))


@dataclass(frozen=True, eq=False)
class Effort:
    """How long a code may be searched for, and with how many threads."""

    deadline: Deadline = field(default_factory=Deadline)
    interrupt: threading.Event | None = None
    threads: int | None = None


def feature_dim_of(settings: Settings, K: int) -> int:
    """The dimension of the features; where `--feature-dim` does not say, the code's, or by K."""
    if settings.feature_dim is not None:
        return settings.feature_dim
    if settings.code is not None and settings.code != "solve":
        return read_points(settings.code).weights.shape[1]
    return 10 if K <= 200 else 64 if K <= 5000 else 256


def plan_head(
    settings: Settings,
    K: int,
    processes: Processes,
    similarity: Callable[[], np.ndarray],
    effort: Effort | None = None,
) -> HeadPlan:
    """Read or solve the code, place the classes on it, settle the margin: once for all processes.

    `similarity`, of the classes, (K, K), is called for `--assignment best` and `worst` alone, by
    all processes.

    Raises:
        DataError: the code does not fit the classes, or a file cannot be used.
        UsageError: no margin is known for this d and K.
    """
    d, code, name = _code(settings, K, processes, effort)
    if code is None:
        margin = of_first(processes, lambda: _margin(settings, None, d, K))
        return HeadPlan(d, K, None, None, None, *margin)
    near = similarity() if settings.assignment in ("best", "worst") else None

    def place() -> HeadPlan:
        how = settings.assignment or "identity"
        if how in ("identity", "random", "best", "worst"):
            rows = assign(how, code, near, seed=settings.seed)
        else:
            rows = _read_placement(how, K)
        return _placed(code, name, rows, _margin(settings, code, d, K))

    return of_first(processes, place)


def every_plan(
    settings: Settings, K: int, processes: Processes, effort: Effort | None = None
) -> list[HeadPlan]:
    """A plan for each placement of `--assignment all`, of which no symmetry makes two equal.

    Raises:
        DataError: the code does not fit the classes, or cannot be read.
        UsageError: there are more than a thousand.
    """
    d, code, name = _code(settings, K, processes, effort)
    assert code is not None, "a fixed head"

    def place() -> list[HeadPlan]:
        margin = _margin(settings, code, d, K)
        return [_placed(code, name, rows, margin) for rows in distinct_assignments(code)]

    return of_first(processes, place)


def build_head(settings: Settings, plan: HeadPlan) -> Head:
    """The head as a module."""
    if settings.constraint == "decay":
        return DecayHead(plan.d, plan.K, seed=settings.seed)
    if plan.code is not None:
        return FixedHead(plan.code, tau=settings.tau)
    if settings.kind == "cmf":
        return ClassMeanHead(
            plan.d, plan.K, tau=settings.tau, beta=settings.beta, seed=settings.seed
        )
    return SphereHead(plan.d, plan.K, tau=settings.tau, seed=settings.seed)


def _code(
    settings: Settings, K: int, processes: Processes, effort: Effort | None
) -> tuple[int, np.ndarray | None, str | None]:
    """The dimension; of a fixed code also its unit rows (K, d), float64, and what to call it."""

    def find() -> tuple[int, np.ndarray | None, str | None]:
        d = feature_dim_of(settings, K)
        if settings.code is None:
            return d, None, None
        if settings.code == "solve":
            return d, *_solved(d, K, settings.seed, effort or Effort(), processes.size == 1)
        return d, *_read_code(settings.code, d, K)

    return of_first(processes, find)


def _read_code(path: str, d: int, K: int) -> tuple[np.ndarray, str]:
    code = read_points(path).weights
    if code.shape != (K, d):
        raise DataError(
            f"{path!r} holds {code.shape[0]} points in {code.shape[1]} dimensions, and there are "
            f"{K} classes and features of {d}; solve one: gnc solve --d {d} --K {K} --out code.h5"
        )
    rows = normalise(code)
    scaled = np.abs(rows - code).max() > _UNIT  # lengths, for directions are the same
    file, key = split_key(path)
    name = os.path.basename(file) + (f":{key}" if key else "")
    return rows, f"{name}, rows scaled to length 1" if scaled else name


def _solved(d: int, K: int, seed: int, effort: Effort, alone: bool) -> tuple[np.ndarray, str]:
    from gnc_cli.search.api import solve
    from gnc_cli.search.effort import LARGE
    from gnc_cli.search.result import Outcome, SolveResult

    seconds = min(effort.deadline.remaining, math.inf if alone else _PATIENCE)
    result = solve(
        d, K, seed=seed, restarts=_RESTARTS if K <= LARGE else None, threads=effort.threads,
        interrupt=effort.interrupt,
        time_limit=max(seconds, 1e-3) if math.isfinite(seconds) else None,
    )  # fmt: skip
    assert isinstance(result, SolveResult)
    if result.outcome in (Outcome.TIME_LIMIT, Outcome.INTERRUPTED):
        raise DataError(
            "--head fixed:solve: the search for the code was stopped before its end, and nothing "
            f"is written; allow more time, or solve it first: gnc solve --d {d} --K {K} --out "
            "code.h5, then --head fixed:code.h5"
        )
    rho = result.rho_one_vs_rest.lower
    return np.asarray(result.weights), f"{result.origin}, rho {rho:.6g}"


def _placed(
    code: np.ndarray, name: str | None, rows: np.ndarray, margin: tuple[float | None, str | None]
) -> HeadPlan:
    """The plan of a fixed head whose class k has row `rows[k]`; margins do not depend on that."""
    K, d = code.shape
    return HeadPlan(d, K, code[rows], name, tuple(int(p) for p in rows), *margin)


def _read_placement(path: str, K: int) -> np.ndarray:
    """K row numbers, one for each class, from a text file."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        rows = np.array(text.replace(",", " ").split(), dtype=np.int64)
    except (OSError, ValueError) as error:
        raise DataError(
            f"--assignment {path!r} cannot be read ({error}); give identity, random, best, worst, "
            "all, or a text file with a row number for each class"
        ) from error
    if not np.array_equal(np.sort(rows), np.arange(K)):
        raise DataError(
            f"--assignment {path!r} must have each of 0..{K - 1} once, a row of the code for each "
            f"class; it has {len(rows)} numbers"
        )
    return rows


def _margin(
    settings: Settings, code: np.ndarray | None, d: int, K: int
) -> tuple[float | None, str | None]:
    """The margin asked for, else the largest that is known to be within reach; and its source.

    CosFace can be satisfied up to the one-vs-rest distance (lemma C.4), ArcFace up to the smallest
    angle; without a code, up to those of the best known codes of at least K points in d dimensions.
    A Softmax Code's own cosine is 1 - rho or more, so its distance says nothing of angles.
    """
    if settings.loss not in ("cosface", "arcface"):
        return None, None
    if settings.margin is not None:
        return settings.margin, "given"
    if settings.loss == "cosface":
        if code is not None:
            return minimum_one_vs_rest(code).lower, "the fixed code"
        if (known := gnc2_reference(d, K)) is not None:
            in_id = known.source in known.id
            return known.value, known.id if in_id else f"{known.id} ({known.source})"
    else:
        if code is not None:
            return _angle(max_cosine(code)), "the fixed code"
        if (record := best(d, K)) is not None:
            return _angle(record.max_cosine), record.source
    raise UsageError(
        f"no code is known for d = {d}, K = {K} to take the margin from; give --margin"
    )


def _angle(cosine: float) -> float:
    """In radians."""
    return math.acos(min(1.0, max(-1.0, cosine)))
