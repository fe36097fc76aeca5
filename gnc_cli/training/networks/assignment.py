"""Which class gets which row of a code: the assignment problem of section 4 of arXiv 2310.05351.

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

import numpy as np

from gnc_cli.errors import UsageError
from gnc_cli.geometry.sphere import as_points, normalise
from gnc_cli.parameters import spelled

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
    from gnc_cli.codes.automorphisms import CodeSymmetries

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
