"""The classifier of a run: learned, moving class means, or a fixed code with its classes placed.

Which class gets which row of a code is the assignment problem of section 4 of arXiv 2310.05351.
Beyond K = d + 1 the rows of a Softmax Code are not all equally far apart, so it matters which class
sits beside which. Trained classifiers put similar classes (cat and dog) on near rows; with the
classifier fixed so that they lie far apart, accuracy fell, from 92.1 to 90.0% on the square (figure
4) and from 92.0 to 86.4% on the hexagon (figure B.6).

An assignment p, shape (K,), gives row `p[k]` to class k: the classifier is `code[p]`. Its score is

    sum over pairs k < j of similarity[k, j] * <code[p[k]], code[p[j]]>,

large where similar classes are near. Adding a constant to all similarities changes no comparison.
To find the best is a quadratic assignment problem: exact for few classes, a heuristic beyond.
"""

import itertools
import math
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc_cli.collapse.reference import gnc2_reference
from gnc_cli.errors import DataError, UsageError
from gnc_cli.geometry.gram import max_cosine
from gnc_cli.geometry.one_vs_rest import minimum_one_vs_rest
from gnc_cli.geometry.sphere import as_points, normalise
from gnc_cli.io.codefile import read_points
from gnc_cli.io.inputs import read_lines
from gnc_cli.known_codes.best import best
from gnc_cli.parameters import spelled
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.distributed import started_by_torchrun
from gnc_cli.training.networks.heads import ClassMeanHead, DecayHead, FixedHead, Head, SphereHead
from gnc_cli.training.settings import Settings

_RESTARTS = 8
"""Descents of `fixed:solve` where no theorem and no construction answers."""
_PATIENCE = 1500.0
"""Seconds that other processes wait for a code; at 1800 their connection breaks."""


Code = tuple[np.ndarray, str]
"""Unit rows (K, d), float64, of a fixed head before classes are placed on it; what to call them."""
_ALL = 8
"""Up to this many classes every permutation is looked at."""
_SYMMETRIC = 12
"""Up to this many, one of each orbit of the code's symmetries, if there are at most _ORBITS."""
_ORBITS = 20_000
_MOST = 2896
"""Classes whose K x K matrices take 64 MB."""
_BLOCK = 1 << 20
"""Pairs of classes scored at once."""
_ROUNDING = 1e-12
"""Share of the largest score there could be that rounding may make."""
_EFFORT = 3e8
"""Starts of the heuristic times K^3."""
_STARTS = 64
_FRANK_WOLFE = 3e10
"""Steps of a descent times K^3; between 5 and 30 steps."""


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


def assign(
    how: str, code: np.ndarray, similarity: np.ndarray | None, *, seed: int = 0
) -> np.ndarray:
    """The row of each class: a permutation, int64 (K,), of the rows (K, d) of a code.

    `how` is `identity`, `random` (of the seed), `best` (the highest score: similar classes near)
    or `worst` (the lowest: similar classes far apart). Best and worst want the similarity of the
    classes, (K, K), whose diagonal does not matter; of entries that differ across it their mean
    counts. They are exact for K <= 8, and up to K = 12 where the code has enough symmetries that
    few assignments differ (the lexicographically first of equals). Beyond they are the best that a
    heuristic finds: Frank-Wolfe descents (FAQ) from several starts, each followed by exchanges of
    two classes until none helps; never worse than `identity`, nor than `random` of the same seed.
    On one core K = 100 takes some 4 seconds, K = 1000 half a minute, K = 2000 some minutes.

    Example:
        >>> square = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
        >>> alike = np.zeros((4, 4))
        >>> alike[0, 1] = alike[2, 3] = 0.8  # cat and dog, car and truck
        >>> square[assign("best", square, alike)][:2].tolist()  # cat and dog side by side
        [[1.0, 0.0], [0.0, 1.0]]
    """
    K = len(code)
    if how == "identity":
        return np.arange(K)
    if how == "random":
        return np.random.default_rng(seed).permutation(K)
    assert similarity is not None, "of best and worst"
    if K > _MOST:
        raise UsageError(
            f"{spelled('assignment', how)} of {K} classes: possible up to {_MOST}; choose identity "
            "or random"
        )
    gram = _gram(code)
    gain = (similarity + similarity.T) / (2.0 if how == "best" else -2.0)
    np.fill_diagonal(gain, 0.0)
    candidates = _few(code)
    if candidates is None:
        candidates = _local_maxima(gain, gram, seed)
    scores = _scores(gain, gram, candidates)
    # Which of equals comes first is not for rounding to say.
    return candidates[np.argmax(scores >= scores.max() - _ROUNDING * np.abs(gain).sum())]


def distinct_assignments(code: np.ndarray, *, most: int = 1000) -> np.ndarray:
    """One assignment of each kind, up to the symmetries of the code (K, d); int64 (m, K).

    Two assignments are of one kind when a rotation or reflection of the code makes one of the
    other. There are K! / (number of symmetries): 3 for the square, 60 for the hexagon, 1 for a
    simplex. (The paper counts 15 for the hexagon.) Of each kind comes the lexicographically first,
    in lexicographic order, so that the identity comes first.

    Example:
        >>> square = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
        >>> distinct_assignments(square).tolist()
        [[0, 1, 2, 3], [0, 1, 3, 2], [0, 2, 1, 3]]
    """
    from gnc_cli.codes.congruence import CodeSymmetries

    symmetries = CodeSymmetries(code)
    K = len(code)
    count = math.factorial(K) // symmetries.order
    if count > most:
        number = str(count) if count < 10**9 else f"about 10^{len(str(count)) - 1}"
        raise UsageError(
            f"{number} different assignments of {K} classes: at most {most} are listed; "
            "choose best, worst or random"
        )
    # The first row of each orbit of those that keep the rows before: first of its kind.
    partial: list[tuple[int, ...]] = [()]
    for _ in range(K):
        partial = [
            (*rows, row)
            for rows in partial
            for row, least in enumerate(symmetries.orbits(rows).tolist())
            if row == least and row not in rows
        ]
    return np.array(partial, dtype=np.int64)


def class_similarity(class_means: np.ndarray) -> np.ndarray:
    """Cosines (K, K) of the class means (K, d), finite nonzero rows of any scale."""
    M = normalise(as_points(class_means, "class means"))
    return np.clip(M @ M.T, -1.0, 1.0)


def _gram(code: np.ndarray) -> np.ndarray:
    """Cosines of the rows, with a diagonal of 0."""
    W = normalise(as_points(code, "code"))
    gram = W @ W.T
    np.fill_diagonal(gram, 0.0)
    return gram


def _few(code: np.ndarray) -> np.ndarray | None:
    """All assignments that can differ, in lexicographic order, where they are few."""
    K = len(code)
    if K <= _ALL:
        return np.array(list(itertools.permutations(range(K))))
    if K > _SYMMETRIC:
        return None
    try:
        return distinct_assignments(code, most=_ORBITS)
    except UsageError:
        return None


def _scores(similarity: np.ndarray, gram: np.ndarray, assignments: np.ndarray) -> np.ndarray:
    """The score of every row of `assignments`, shape (m, K)."""
    k, j = np.triu_indices(len(gram), 1)
    pairs = similarity[k, j]
    block = max(1, _BLOCK // len(pairs))
    blocks = (assignments[first : first + block] for first in range(0, len(assignments), block))
    return np.concatenate([gram[p[:, k], p[:, j]] @ pairs for p in blocks])


def _local_maxima(gain: np.ndarray, gram: np.ndarray, seed: int) -> np.ndarray:
    """Permutations that no exchange of two entries improves, from different starts.

    SciPy's FAQ (Vogelstein et al., Fast approximate quadratic programming for graph matching, 2015)
    descends over the doubly stochastic matrices and rounds; it finds planted answers at K = 100
    that exchanges alone do not come near. Its `2opt` is left aside: a sweep there costs K^4, a
    sweep here K^2 and K^2 more for each exchange made.

    The score of p is the sum over pairs k < j of `gain[k, j] * gram[p[k], p[j]]`. The first two
    climb from the identity and from `default_rng(seed).permutation(K)`, the others from descents.

    `gain` and `gram` are symmetric with a diagonal of 0, (K, K). The result, int64 (m, K), has up
    to 66 permutations, 3 where K is large.
    """
    from scipy.optimize import quadratic_assignment

    K = len(gram)
    plain = np.arange(K), np.random.default_rng(seed).permutation(K)
    optima = [_exchange(gain, gram, start) for start in plain]
    rng = np.random.default_rng([seed, K])
    steps = int(min(30, max(5, _FRANK_WOLFE / K**3)))
    options = {"maximize": True, "maxiter": steps, "rng": rng}
    for start in range(max(1, min(_STARTS, int(_EFFORT / K**3)))):
        # The centre of the doubly stochastic matrices, then points halfway to a permutation.
        P = np.full((K, K), 1.0 / K)
        if start:
            P = (P + np.eye(K)[rng.permutation(K)]) / 2.0
        relaxed = quadratic_assignment(gain, gram, options={**options, "P0": P})
        optima.append(_exchange(gain, gram, relaxed.col_ind))
    return np.array(optima)


def _exchange(gain: np.ndarray, gram: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Let two classes exchange their rows, the best partner for each in turn, until none helps.

    With B = gram[p][:, p] and M = gain @ B, the exchange of r and s adds
    M_rs + M_sr - M_rr - M_ss + 2 gain_rs B_rs to the score and changes M by a matrix of rank
    one and two columns.
    """
    p = p.copy()
    enough = _ROUNDING * np.abs(gain).sum()
    better = True
    while better:
        better = False
        B = gram[np.ix_(p, p)]
        M = gain @ B
        for r in range(len(p)):
            added = M[r] + M[:, r] - M[r, r] - M.diagonal() + 2.0 * gain[r] * B[r]
            s = int(added.argmax())
            if added[s] <= enough:
                continue
            better = True
            change = gain[:, r] - gain[:, s]
            to_r, to_s = M[:, s] - change * B[r, s], M[:, r] + change * B[r, s]
            M += change[:, None] * (B[s] - B[r])
            M[:, r], M[:, s] = to_r, to_s
            p[[r, s]] = p[[s, r]]
            B[[r, s]] = B[[s, r]]
            B[:, [r, s]] = B[:, [s, r]]
    return p
