"""The classifier of a run: learned, moving class means, or a fixed code with its classes placed."""

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gnc_cli.errors import DataError, UsageError
from gnc_cli.io.readers import read_points
from gnc_cli.networks.assignment import assign, distinct_assignments
from gnc_cli.networks.heads import ClassMeanHead, DecayHead, FixedHead, Head, SphereHead
from gnc_cli.numerics.gram import max_cosine
from gnc_cli.numerics.one_vs_rest import minimum_one_vs_rest
from gnc_cli.numerics.sphere import normalise
from gnc_cli.workflows.known import read_table, reference
from gnc_cli.workflows.measure_reference import gnc2_reference
from gnc_cli.workflows.train_settings import Settings

if TYPE_CHECKING:
    from gnc_cli.numerics.distributed import Processes

__all__ = ["HeadPlan", "build_head", "every_assignment", "feature_dim_of", "plan_head"]

_RESTARTS = 8
"""Descents of `fixed:solve` where no theorem and no construction answers."""


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


def feature_dim_of(settings: Settings, K: int) -> int:
    """The dimension of the features, where `--feature-dim` does not say: the code's, or by K.

    Raises:
        DataError: the code cannot be read.
    """
    if settings.feature_dim is not None:
        return settings.feature_dim
    if settings.code is not None and settings.code != "solve":
        return read_points(settings.code).weights.shape[1]
    return 10 if K <= 200 else 64 if K <= 5000 else 256


def plan_head(
    settings: Settings,
    K: int,
    processes: "Processes",
    similarity: Callable[[], np.ndarray],
    placement: np.ndarray | None = None,
) -> HeadPlan:
    """Read or solve the code, place the classes on it, settle the margin.

    Args:
        settings: of the run.
        K: number of classes.
        processes: the first solves for all.
        similarity: of the classes, (K, K); called for `--assignment best` and `worst` alone.
        placement: rows of the code by class, in place of `--assignment`.

    Raises:
        DataError: the code does not fit the classes, or a file cannot be used.
        UsageError: no margin is known for this d and K.
    """
    d = feature_dim_of(settings, K)
    code = name = permutation = None
    if settings.kind == "fixed":
        code, name = _code(settings, d, K, processes)
        if placement is None:
            placement = _placement(settings, code, similarity)
        permutation = tuple(int(p) for p in placement)
        code = code[placement]
    return HeadPlan(d, K, code, name, permutation, _margin(settings, code, d, K))


def every_assignment(settings: Settings, K: int, processes: "Processes") -> np.ndarray:
    """The placements of `--assignment all`, (m, K): each differs from the others by no symmetry.

    Raises:
        UsageError: there are more than a thousand.
    """
    code, _ = _code(settings, feature_dim_of(settings, K), K, processes)
    return distinct_assignments(code)


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
    settings: Settings, d: int, K: int, processes: "Processes"
) -> tuple[np.ndarray, str]:
    """The rows of the fixed code and what to call it."""
    assert settings.code is not None
    if settings.code == "solve":
        found = _solved(d, K, settings.seed) if processes.first else None
        return next(code for code in processes.all_gather(found) if code is not None)
    code = read_points(settings.code).weights
    if code.shape != (K, d):
        raise DataError(
            f"{settings.code!r} holds {code.shape[0]} points in {code.shape[1]} dimensions, and "
            f"there are {K} classes and features of {d}; solve one: gnc solve --d {d} --K {K} "
            "--out code.h5"
        )
    return normalise(code), os.path.basename(settings.code)


def _solved(d: int, K: int, seed: int) -> tuple[np.ndarray, str]:
    from gnc_cli.results import SolveResult
    from gnc_cli.workflows.solve import solve

    result = solve(d, K, seed=seed, restarts=_RESTARTS)
    assert isinstance(result, SolveResult)
    rho = result.rho_one_vs_rest.lower
    return np.asarray(result.weights), f"{result.origin}, rho {rho:.6g}"


def _placement(
    settings: Settings, code: np.ndarray, similarity: Callable[[], np.ndarray]
) -> np.ndarray:
    how = settings.assignment or "identity"
    if how in ("identity", "random", "best", "worst"):
        near = similarity() if how in ("best", "worst") else None
        return assign(how, code, near, seed=settings.seed)
    return _read_placement(how, len(code))


def _read_placement(path: str, K: int) -> np.ndarray:
    """K row numbers, one for each class, from a text file.

    Raises:
        DataError: unreadable, or not each of 0..K-1 once.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
        rows = np.array(text.replace(",", " ").split(), dtype=np.int64)
    except (OSError, ValueError, UnicodeDecodeError) as error:
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


def _margin(settings: Settings, code: np.ndarray | None, d: int, K: int) -> float | None:
    """The margin asked for, else the largest that is known to be within reach.

    CosFace can be satisfied up to the one-vs-rest distance (lemma C.4), ArcFace up to the smallest
    angle; without a code, up to those of the best known codes. A Softmax Code's own cosine is
    1 - rho or more, so its distance says nothing of angles.
    """
    if settings.loss not in ("cosface", "arcface") or settings.margin is not None:
        return settings.margin
    if code is not None:
        if settings.loss == "cosface":
            return minimum_one_vs_rest(code)[0].lower
        return math.acos(min(1.0, max(-1.0, max_cosine(code))))
    known = _known_distance(d, K) if settings.loss == "cosface" else _known_angle(d, K)
    if known is None:
        raise UsageError(
            f"no code is known for d = {d}, K = {K} to take the margin from; give --margin"
        )
    return known


def _known_distance(d: int, K: int) -> float | None:
    known = gnc2_reference(d, K)
    return None if known is None else known.value


def _known_angle(d: int, K: int) -> float | None:
    """Smallest angle of the best known code of at least K points in d dimensions, radians."""
    table = read_table()
    known = [c for c in (reference(d, K, table), table.covering(d, K)) if c is not None]
    if not known:
        return None
    return math.acos(min(1.0, max(-1.0, min(c.max_cosine for c in known))))

