"""The classifier of a run: learned, moving class means, or a fixed code with assigned classes.

Which class gets which row of a code is the assignment problem of section 4 of arXiv 2310.05351.
Beyond K = d + 1 the rows of a Softmax Code do not all have the same distances, so it matters which
classes are neighbours. Trained classifiers put similar classes (cat and dog) on neighbouring rows.
With the classifier fixed so that they are far apart, accuracy falls in the paper's figures 4 and
B.6: from 92.1 to 90.0% on the square, and from 92.0 to 86.4% on the hexagon.

An assignment p, shape (K,), gives row `p[k]` to class k: the classifier is `code[p]`. Its score is

    sum over pairs k < j of similarity[k, j] * <code[p[k]], code[p[j]]>,

which is large if similar classes are close. A constant added to all similarities changes no
comparison. The best assignment solves a quadratic assignment problem: exactly for few classes, by
a heuristic for more.
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
"""Number of descents of `fixed:solve` if no theorem and no construction gives the code."""
_MAX_WAIT = 1500.0
"""Longest search for a code under torchrun, in seconds: other processes disconnect after 1800."""
Code = tuple[np.ndarray, str]
"""Unit rows (K, d), float64, of a fixed head before classes are assigned, and their name."""
_MAX_CLASSES_ALL = 8
"""Largest number of classes whose K! permutations are all scored: 40,320."""
_MAX_CLASSES_ORBITS = 12
"""Largest number of classes for which one permutation per orbit of the symmetries is scored."""
_MAX_ASSIGNMENTS = 20_000
"""Largest number of such orbits; beyond it the heuristic is used."""
_MAX_CLASSES = 2896
"""Largest number of classes for the heuristic: its K x K matrices take 64 MB each."""
_MAX_PAIRS = 1 << 20
"""Number of pairs of classes scored together, which bounds the memory."""
_ROUNDING_SHARE = 1e-12
"""Bound on the rounding errors of a score, as a share of the sum of all similarities."""
_DESCENT_BUDGET = 3e8
"""Largest number of descents of the heuristic times K^3, which bounds its time; one at least."""
_MAX_DESCENTS = 64
"""Largest number of descents, which few classes reach."""
_STEP_BUDGET = 3e10
"""Largest number of steps of a descent times K^3, which bounds its time; from 5 to 30 steps."""


@dataclass(frozen=True, eq=False)
class HeadPlan:
    """The data from which a head is built."""

    d: int
    K: int
    code: np.ndarray | None = None
    """Rows (K, d) of a fixed head, class k on row k; in checkpoints, not in config.json."""
    code_name: str | None = None
    permutation: tuple[int, ...] | None = None
    margin: float | None = None
    margin_source: str | None = None
    """`given`, or the code whose largest possible margin it is."""

    def to_json(self) -> dict[str, Any]:
        """Return a plain dictionary for config.json."""
        return {name: value for name, value in vars(self).items() if name != "code"}


def plan_code(
    settings: Settings, K: int, deadline: Deadline, threads: int | None
) -> tuple[int, Code | None]:
    """Return the dimension of the features, and the code of a fixed head, read or solved.

    Raises:
        DataError: the file's code has another shape, or the search was stopped.
    """
    d = feature_dim(settings, K)
    if settings.head_code is None:
        return d, None
    if settings.head_code == "solve":
        return d, _solve_code(d, K, settings.seed, deadline, threads)
    return d, _read_code(settings.head_code, d, K)


def plan_heads(
    settings: Settings, d: int, K: int, code: Code | None, similarity: np.ndarray | None
) -> list[HeadPlan]:
    """Assign the classes to the rows of the code, and determine the margin.

    Args:
        settings: settings of the run.
        d: dimension of the features.
        K: number of classes.
        code: rows (K, d) of a fixed head and their name, None for other heads.
        similarity: of the classes, (K, K), for `best` and `worst`.

    Returns:
        One plan, with `assignment="all"` one for each assignment up to symmetries of the code.

    Raises:
        UsageError: no code is known from which to take the margin, or there are too many classes.
        DataError: the file with the assignment has no permutation.
    """
    margin = _margin(settings, None if code is None else code[0], d, K)
    if code is None:
        return [HeadPlan(d, K, margin=margin[0], margin_source=margin[1])]
    rows, name = code
    rule = settings.assignment or "identity"
    if rule == "all":
        assignments = list(distinct_assignments(rows))
    elif rule in ("identity", "random", "best", "worst"):
        assignments = [assign(rule, rows, similarity, seed=settings.seed)]
    else:
        assignments = [_read_assignment(rule, K)]
    return [HeadPlan(d, K, rows[p], name, tuple(p.tolist()), *margin) for p in assignments]


def feature_dim(settings: Settings, K: int) -> int:
    """Return the dimension of the features: as set, else that of the code, else by K."""
    if settings.feature_dim is not None:
        return settings.feature_dim
    if settings.head_code is not None and settings.head_code != "solve":
        return int(read_points(settings.head_code).weights.shape[1])
    return 10 if K <= 200 else 64 if K <= 5000 else 256


def build_head(settings: Settings, plan: HeadPlan) -> Head:
    """Build the head of a plan."""
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
    """Read a symmetric matrix (K, K) from any file that gnc reads.

    Raises:
        DataError: the matrix is not symmetric, or of another shape.
    """
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
    from gnc_cli.search.effort import MAX_DENSE
    from gnc_cli.search.result import Outcome

    seconds = min(deadline.remaining, _MAX_WAIT if started_by_torchrun() else math.inf)
    result = solve(
        d,
        K,
        seed=seed,
        restarts=_RESTARTS if K <= MAX_DENSE else None,
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


def _read_assignment(path: str, K: int) -> np.ndarray:
    """Read K row numbers, one for each class, from a text file."""
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
    """Return the margin, by default the largest that is known to be possible, and its source.

    CosFace can be satisfied up to the one-vs-rest distance (lemma C.4), ArcFace up to the minimal
    angle. Without a code these are those of the best known codes of at least K points in d
    dimensions. The largest cosine of a Softmax Code is 1 - rho or more, so that its distance does
    not bound its angles.
    """
    if settings.loss not in ("cosface", "arcface"):
        return None, None
    if settings.margin is not None:
        return settings.margin, "given"
    if settings.loss == "cosface":
        if code is not None:
            return minimum_one_vs_rest(code).lower, "the fixed code"
        if (reference := gnc2_reference(d, K)) is not None:
            in_id = reference.source in reference.id
            return (
                reference.value,
                reference.id if in_id else f"{reference.id} ({reference.source})",
            )
    elif code is not None:
        return _angle(max_cosine(code)), "the fixed code"
    elif (record := best(d, K)) is not None:
        return _angle(record.max_cosine), record.source
    raise UsageError(
        f"no code is known for d = {d:,}, K = {K:,} to take the margin from; "
        f"give {spelled('margin')}"
    )


def _angle(cosine: float) -> float:
    """Return the angle of a cosine, in radians."""
    return math.acos(min(1.0, max(-1.0, cosine)))


def assign(
    rule: str, code: np.ndarray, similarity: np.ndarray | None, *, seed: int = 0
) -> np.ndarray:
    """Assign a row of a code to each class.

    `best` and `worst` are exact for K <= 8, and up to K = 12 if the code has enough symmetries
    that few assignments differ. Of equal ones they are the lexicographically first. For larger K
    they are the best that a heuristic finds: Frank-Wolfe descents (FAQ) from several starts, each
    followed by exchanges of two classes until none helps. They are never worse than `identity`, nor
    than `random` with the same seed. On one core K = 100 takes some 4 seconds, K = 1000 half a
    minute, K = 2000 some minutes.

    Args:
        rule: `identity`, `random`, `best` (the highest score: similar classes are close) or `worst`
            (the lowest score).
        code: rows (K, d).
        similarity: of the classes, (K, K), for `best` and `worst`. The diagonal does not matter,
            and of entries that differ across it their mean counts.
        seed: seed of `random`, and of the descents.

    Returns:
        A permutation, int64 (K,): the row of each class.

    Raises:
        UsageError: there are too many classes for `best` or `worst`.

    Example:
        >>> square = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
        >>> similarity = np.zeros((4, 4))
        >>> similarity[0, 1] = similarity[2, 3] = 0.8  # cat and dog, car and truck
        >>> square[assign("best", square, similarity)][:2].tolist()  # cat and dog are neighbours
        [[1.0, 0.0], [0.0, 1.0]]
    """
    K = len(code)
    if rule == "identity":
        return np.arange(K)
    if rule == "random":
        return np.random.default_rng(seed).permutation(K)
    assert similarity is not None, "required by best and worst"
    if K > _MAX_CLASSES:
        raise UsageError(
            f"{spelled('assignment', rule)} of {K} classes: possible up to {_MAX_CLASSES}; choose "
            "identity or random"
        )
    gram = _gram(code)
    gain = (similarity + similarity.T) / (2.0 if rule == "best" else -2.0)
    np.fill_diagonal(gain, 0.0)
    candidates = _few_assignments(code)
    if candidates is None:
        candidates = _local_maxima(gain, gram, seed)
    scores = _scores(gain, gram, candidates)
    # Rounding does not decide which of equal ones is the first.
    is_best = scores >= scores.max() - _ROUNDING_SHARE * np.abs(gain).sum()
    return np.asarray(candidates[np.argmax(is_best)])


def distinct_assignments(code: np.ndarray, *, max_count: int = 1000) -> np.ndarray:
    """List the assignments up to symmetries of the code (K, d); int64 (m, K).

    Two assignments are equivalent if a rotation or reflection of the code turns one into the other.
    There are m = K! / (number of symmetries) classes: 3 for the square, 60 for the hexagon, 1 for a
    simplex. (The paper counts 15 for the hexagon.) Each is represented by its lexicographically
    first assignment. They are in lexicographic order, so that the identity comes first.

    Raises:
        UsageError: there are more than `max_count`.

    Example:
        >>> square = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
        >>> distinct_assignments(square).tolist()
        [[0, 1, 2, 3], [0, 1, 3, 2], [0, 2, 1, 3]]
    """
    from gnc_cli.codes.congruence import CodeSymmetries

    symmetries = CodeSymmetries(code)
    K = len(code)
    count = math.factorial(K) // symmetries.order
    if count > max_count:
        number = str(count) if count < 10**9 else f"about 10^{len(str(count)) - 1}"
        raise UsageError(
            f"{number} different assignments of {K} classes: at most {max_count} are listed; "
            "choose best, worst or random"
        )
    # The first row of each orbit under the symmetries that fix the earlier rows.
    partial: list[tuple[int, ...]] = [()]
    for _ in range(K):
        partial = [
            (*rows, row)
            for rows in partial
            for row, first_row in enumerate(symmetries.orbits(rows).tolist())
            if row == first_row and row not in rows
        ]
    return np.array(partial, dtype=np.int64)


def class_similarity(class_means: np.ndarray) -> np.ndarray:
    """Return the cosines (K, K) of class means (K, d), finite nonzero rows of any norm."""
    M = normalise(as_points(class_means, "class means"))
    return np.asarray(np.clip(M @ M.T, -1.0, 1.0))


def _gram(code: np.ndarray) -> np.ndarray:
    """Return the cosines (K, K) of the rows (K, d), with a diagonal of 0."""
    W = normalise(as_points(code, "code"))
    gram: np.ndarray = W @ W.T
    np.fill_diagonal(gram, 0.0)
    return gram


def _few_assignments(code: np.ndarray) -> np.ndarray | None:
    """Return all assignments up to symmetries, in lexicographic order, or None if they are many."""
    K = len(code)
    if K <= _MAX_CLASSES_ALL:
        return np.array(list(itertools.permutations(range(K))))
    if K > _MAX_CLASSES_ORBITS:
        return None
    try:
        return distinct_assignments(code, max_count=_MAX_ASSIGNMENTS)
    except UsageError:
        return None


def _scores(similarity: np.ndarray, gram: np.ndarray, assignments: np.ndarray) -> np.ndarray:
    """Return the scores (m,) of `assignments` (m, K)."""
    k, j = np.triu_indices(len(gram), 1)
    pairs = similarity[k, j]
    block = max(1, _MAX_PAIRS // len(pairs))
    blocks = (assignments[first : first + block] for first in range(0, len(assignments), block))
    return np.concatenate([gram[p[:, k], p[:, j]] @ pairs for p in blocks])


def _local_maxima(gain: np.ndarray, gram: np.ndarray, seed: int) -> np.ndarray:
    """Search permutations that no exchange of two entries improves, from different starts.

    SciPy's FAQ (Vogelstein et al., Fast approximate quadratic programming for graph matching, 2015)
    descends over the doubly stochastic matrices and rounds. It finds planted solutions at K = 100
    that exchanges alone do not approach. Its `2opt` is not used: a sweep there costs K^4, a sweep
    here K^2 and K^2 more for each exchange.

    The score of p is the sum over pairs k < j of `gain[k, j] * gram[p[k], p[j]]`. The first two
    starts are the identity and `default_rng(seed).permutation(K)`, the others come from descents.

    `gain` and `gram` are symmetric with a diagonal of 0, (K, K). The result, int64 (m, K), has up
    to 66 permutations, and 3 if K is large.
    """
    from scipy.optimize import quadratic_assignment

    K = len(gram)
    simple_starts = np.arange(K), np.random.default_rng(seed).permutation(K)
    optima = [_exchange(gain, gram, start) for start in simple_starts]
    rng = np.random.default_rng([seed, K])
    steps = int(min(30, max(5, _STEP_BUDGET / K**3)))
    options = {"maximize": True, "maxiter": steps, "rng": rng}
    for start in range(max(1, min(_MAX_DESCENTS, int(_DESCENT_BUDGET / K**3)))):
        # The centre of the doubly stochastic matrices, then points halfway to a permutation.
        P = np.full((K, K), 1.0 / K)
        if start:
            P = (P + np.eye(K)[rng.permutation(K)]) / 2.0
        relaxed = quadratic_assignment(gain, gram, options={**options, "P0": P})
        optima.append(_exchange(gain, gram, relaxed.col_ind))
    return np.array(optima)


def _exchange(gain: np.ndarray, gram: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Swap the rows of two classes, the best partner for each in turn, until no swap helps.

    With B = gram[p][:, p] and M = gain @ B, the exchange of r and s adds
    M_rs + M_sr - M_rr - M_ss + 2 gain_rs B_rs to the score and changes M by a matrix of rank
    one and two columns.
    """
    p = p.copy()
    min_gain = _ROUNDING_SHARE * np.abs(gain).sum()
    improved = True
    while improved:
        improved = False
        B = gram[np.ix_(p, p)]
        M = gain @ B
        for r in range(len(p)):
            gains = M[r] + M[:, r] - M[r, r] - M.diagonal() + 2.0 * gain[r] * B[r]
            s = int(gains.argmax())
            if gains[s] <= min_gain:
                continue
            improved = True
            change = gain[:, r] - gain[:, s]
            column_r, column_s = M[:, s] - change * B[r, s], M[:, r] + change * B[r, s]
            M += change[:, None] * (B[s] - B[r])
            M[:, r], M[:, s] = column_r, column_s
            p[[r, s]] = p[[s, r]]
            B[[r, s]] = B[[s, r]]
            B[:, [r, s]] = B[:, [s, r]]
    return p
