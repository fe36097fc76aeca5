"""The classifier of a run: learned, moving class means, or a fixed code with its classes placed."""

import math
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc_cli.collapse.reference import gnc2_reference
from gnc_cli.errors import DataError, UsageError
from gnc_cli.geometry.gram import max_cosine
from gnc_cli.geometry.one_vs_rest import minimum_one_vs_rest
from gnc_cli.geometry.sphere import normalise
from gnc_cli.io.codefile import read_points
from gnc_cli.io.inputs import read_lines
from gnc_cli.known_codes.best import best
from gnc_cli.parameters import spelled
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.distributed import started_by_torchrun
from gnc_cli.training.networks.assignment import assign, distinct_assignments
from gnc_cli.training.networks.heads import ClassMeanHead, DecayHead, FixedHead, Head, SphereHead
from gnc_cli.training.settings import Settings

_RESTARTS = 8
"""Descents of `fixed:solve` where no theorem and no construction answers."""
_PATIENCE = 1500.0
"""Seconds that other processes wait for a code; at 1800 their connection breaks."""


Code = tuple[np.ndarray, str]
"""Unit rows (K, d), float64, of a fixed head before classes are placed on it; what to call them."""


@dataclass(frozen=True, eq=False)
class HeadPlan:
    """What a head is made of, before any network is."""

    d: int
    K: int
    code: np.ndarray | None = None
    """Rows (K, d) of a fixed head, class k on row k; in checkpoints, not in config.json."""
    code_name: str | None = None
    permutation: tuple[int, ...] | None = None
    margin: float | None = None
    margin_source: str | None = None
    """`given`, or whose largest possible margin it is."""

    def to_json(self) -> dict[str, Any]:
        """Plain dictionary for config.json."""
        return {name: value for name, value in vars(self).items() if name != "code"}


def plan_code(
    settings: Settings, K: int, deadline: Deadline, threads: int | None
) -> tuple[int, Code | None]:
    """The dimension of the features, and the code of a fixed head: read, or solved."""
    d = feature_dim_of(settings, K)
    if settings.head_code is None:
        return d, None
    if settings.head_code == "solve":
        return d, _solve_code(d, K, settings.seed, deadline, threads)
    return d, _read_code(settings.head_code, d, K)


def plan_heads(
    settings: Settings, d: int, K: int, code: Code | None, similarity: np.ndarray | None
) -> list[HeadPlan]:
    """Place the classes on the code and settle the margin.

    One plan, but of `assignment="all"` one for each placement, of which no symmetry makes two
    equal. `similarity` of the classes, (K, K), is for `best` and `worst`.
    """
    margin = _margin(settings, None if code is None else code[0], d, K)
    if code is None:
        return [HeadPlan(d, K, margin=margin[0], margin_source=margin[1])]
    rows, name = code
    how = settings.assignment or "identity"
    if how == "all":
        placements = list(distinct_assignments(rows))
    elif how in ("identity", "random", "best", "worst"):
        placements = [assign(how, rows, similarity, seed=settings.seed)]
    else:
        placements = [_read_placement(how, K)]
    return [HeadPlan(d, K, rows[p], name, tuple(p.tolist()), *margin) for p in placements]


def feature_dim_of(settings: Settings, K: int) -> int:
    """The dimension of the features; where `--feature-dim` does not say, the code's, or by K."""
    if settings.feature_dim is not None:
        return settings.feature_dim
    if settings.head_code is not None and settings.head_code != "solve":
        return read_points(settings.head_code).weights.shape[1]
    return 10 if K <= 200 else 64 if K <= 5000 else 256


def build_head(settings: Settings, plan: HeadPlan) -> Head:
    """The head as a module."""
    if settings.constraint == "decay":
        return DecayHead(plan.d, plan.K, seed=settings.seed)
    if plan.code is not None:
        return FixedHead(plan.code, tau=settings.tau)
    if settings.head_kind == "cmf":
        return ClassMeanHead(
            plan.d, plan.K, tau=settings.tau, beta=settings.beta, seed=settings.seed
        )
    return SphereHead(plan.d, plan.K, tau=settings.tau, seed=settings.seed)


def read_similarity(path: str, K: int) -> np.ndarray:
    """A symmetric matrix (K, K) from any file gnc reads."""
    matrix = read_points(path).weights
    if matrix.shape != (K, K) or not np.allclose(matrix, matrix.T, atol=1e-6):
        raise DataError(
            f"{spelled('similarity', path)} holds a matrix {matrix.shape}; give a symmetric one of "
            f"({K}, {K})"
        )
    return matrix


def _read_code(path: str, d: int, K: int) -> Code:
    code = read_points(path).weights
    if code.shape != (K, d):
        raise DataError(
            f"{path!r} holds {code.shape[0]} points in {code.shape[1]} dimensions, and there are "
            f"{K} classes and features of {d}; solve one: gnc solve --d {d} --K {K} --out code.h5"
        )
    return normalise(code), os.path.basename(path)


def _solve_code(d: int, K: int, seed: int, deadline: Deadline, threads: int | None) -> Code:
    from gnc_cli.search.api import solve
    from gnc_cli.search.effort import LARGE
    from gnc_cli.search.result import Outcome

    seconds = min(deadline.remaining, _PATIENCE if started_by_torchrun() else math.inf)
    result = solve(
        d,
        K,
        seed=seed,
        restarts=_RESTARTS if K <= LARGE else None,
        threads=threads,
        interrupt=deadline.interrupt,
        time_limit=max(seconds, 1e-3) if math.isfinite(seconds) else None,
    )
    if result.outcome in (Outcome.TIME_LIMIT, Outcome.INTERRUPTED):
        raise DataError(
            f"{spelled('head', 'fixed:solve')}: the search for the code was stopped before its "
            "end, and nothing is written; allow more time, or solve it first: gnc solve "
            f"--d {d} --K {K} --out code.h5, then {spelled('head', 'fixed:code.h5')}"
        )
    return np.asarray(result.weights), f"{result.origin}, rho {result.distance:.6g}"


def _read_placement(path: str, K: int) -> np.ndarray:
    """K row numbers, one for each class, from a text file."""
    try:
        text = " ".join(read_lines(path))
        rows = np.array(text.replace(",", " ").split(), dtype=np.int64)
    except ValueError as error:
        raise DataError(
            f"{spelled('assignment', path)} cannot be read ({error}); give identity, random, best, "
            "worst, all, or a text file with a row number for each class"
        ) from error
    if not np.array_equal(np.sort(rows), np.arange(K)):
        raise DataError(
            f"{spelled('assignment', path)} must have each of 0..{K - 1} once, a row of the code "
            f"for each class; it has {len(rows)} numbers"
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
    elif code is not None:
        return _angle(max_cosine(code)), "the fixed code"
    elif (record := best(d, K)) is not None:
        return _angle(record.max_cosine), record.source
    raise UsageError(
        f"no code is known for d = {d:,}, K = {K:,} to take the margin from; "
        f"give {spelled('margin')}"
    )


def _angle(cosine: float) -> float:
    """In radians."""
    return math.acos(min(1.0, max(-1.0, cosine)))
