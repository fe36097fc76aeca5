"""The classifier of a run: learned, moving class means, or a fixed code with its classes placed."""

import math
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
from gnc_cli.workflows.known import best
from gnc_cli.workflows.measure_reference import gnc2_reference
from gnc_cli.workflows.train_code import Effort, fixed_code
from gnc_cli.workflows.train_settings import Settings
from gnc_cli.workflows.train_together import of_first

if TYPE_CHECKING:
    from gnc_cli.numerics.distributed import Processes

__all__ = ["HeadPlan", "build_head", "every_plan", "feature_dim_of", "plan_head"]


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
    effort: Effort | None = None,
) -> HeadPlan:
    """Read or solve the code, place the classes on it, settle the margin.

    Args:
        settings: of the run.
        K: number of classes.
        processes: the first reads, solves and places for all.
        similarity: of the classes, (K, K); all processes call it, for `--assignment best` and
            `worst` alone.
        effort: of the search for a code.

    Raises:
        DataError: the code does not fit the classes, or a file cannot be used.
        UsageError: no margin is known for this d and K.
    """
    d, code, name = _code(settings, K, processes, effort)
    if code is None:
        margin = of_first(processes, lambda: _margin(settings, None, d, K))
        return HeadPlan(d, K, None, None, None, *margin)
    near = None
    if settings.assignment in ("best", "worst"):
        near = similarity()

    def placed() -> HeadPlan:
        margin = _margin(settings, code, d, K)
        return _placed(code, name, _placement(settings, code, near), margin)

    return of_first(processes, placed)


def every_plan(
    settings: Settings, K: int, processes: "Processes", effort: Effort | None = None
) -> list[HeadPlan]:
    """A plan for each placement of `--assignment all`, of which no symmetry makes two equal.

    Raises:
        DataError: the code does not fit the classes, or cannot be read.
        UsageError: there are more than a thousand.
    """
    d, code, name = _code(settings, K, processes, effort)
    assert code is not None, "a fixed head"

    def placed() -> list[HeadPlan]:
        margin = _margin(settings, code, d, K)
        return [_placed(code, name, rows, margin) for rows in distinct_assignments(code)]

    return of_first(processes, placed)


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
    settings: Settings, K: int, processes: "Processes", effort: Effort | None
) -> tuple[int, np.ndarray | None, str | None]:
    """The dimension; of a fixed code also its rows and what to call it."""

    def found() -> tuple[int, np.ndarray | None, str | None]:
        d = feature_dim_of(settings, K)
        if settings.kind != "fixed":
            return d, None, None
        return d, *fixed_code(settings, d, K, effort or Effort(), alone=processes.size == 1)

    return of_first(processes, found)


def _placed(
    code: np.ndarray,
    name: str | None,
    rows: np.ndarray,
    margin: tuple[float | None, str | None],
) -> HeadPlan:
    """The plan of a fixed head whose class k has row `rows[k]`; margins do not hang on that."""
    K, d = code.shape
    return HeadPlan(d, K, code[rows], name, tuple(int(p) for p in rows), *margin)


def _placement(
    settings: Settings, code: np.ndarray, near: np.ndarray | None
) -> np.ndarray:
    how = "identity" if settings.assignment is None else settings.assignment
    if how in ("identity", "random", "best", "worst"):
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


def _margin(
    settings: Settings, code: np.ndarray | None, d: int, K: int
) -> tuple[float | None, str | None]:
    """The margin asked for, else the largest that is known to be within reach; and its source.

    CosFace can be satisfied up to the one-vs-rest distance (lemma C.4), ArcFace up to the smallest
    angle; without a code, up to those of the best known codes. A Softmax Code's own cosine is
    1 - rho or more, so its distance says nothing of angles.
    """
    if settings.loss not in ("cosface", "arcface"):
        return None, None
    if settings.margin is not None:
        return settings.margin, "given"
    if code is not None:
        if settings.loss == "cosface":
            return minimum_one_vs_rest(code)[0].lower, "the fixed code"
        return _angle(max_cosine(code)), "the fixed code"
    known = _known_distance(d, K) if settings.loss == "cosface" else _known_angle(d, K)
    if known is None:
        raise UsageError(
            f"no code is known for d = {d}, K = {K} to take the margin from; give --margin"
        )
    return known


def _known_distance(d: int, K: int) -> tuple[float, str] | None:
    known = gnc2_reference(d, K)
    if known is None:
        return None
    said = known.id if known.source in known.id else f"{known.id} ({known.source})"
    return known.value, said


def _known_angle(d: int, K: int) -> tuple[float, str] | None:
    """Smallest angle of the best known code of at least K points in d dimensions, radians."""
    known = best(d, K)
    return None if known is None else (_angle(known.max_cosine), known.source)


def _angle(cosine: float) -> float:
    """In radians."""
    return math.acos(min(1.0, max(-1.0, cosine)))

