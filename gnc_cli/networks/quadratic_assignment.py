"""A heuristic for quadratic assignment: relaxed descents, then exchanges of two.

SciPy's FAQ descends over the doubly stochastic matrices and rounds; it finds planted answers at
K = 100 that exchanges alone do not come near. Its `2opt` is left aside: a sweep there costs K^4,
a sweep here K^2 and K^2 more for each exchange made.

Source: J. T. Vogelstein et al., Fast approximate quadratic programming for graph matching, 2015.
"""

import numpy as np

__all__ = ["local_maxima"]

_EFFORT = 3e8
"""Starts of the heuristic times K^3."""
_STARTS = 64
_FRANK_WOLFE = 3e10
"""Steps of a descent times K^3; between 5 and 30 steps."""
_ROUNDING = 1e-12
"""Share of the largest score there could be that rounding may make."""


def local_maxima(gain: np.ndarray, gram: np.ndarray, seed: int) -> np.ndarray:
    """Permutations that no exchange of two entries improves, from different starts.

    The score of p is the sum over pairs k < j of `gain[k, j] * gram[p[k], p[j]]`. The first two
    climb from the identity and from `default_rng(seed).permutation(K)`, the others from descents.

    Args:
        gain, gram: symmetric, float64, with a diagonal of 0, shape (K, K).

    Returns:
        int64, shape (m, K): up to 66 of them, 3 where K is large.

    Example:
        >>> path = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
        >>> centre_first = path[np.ix_([1, 0, 2], [1, 0, 2])]
        >>> set(local_maxima(centre_first, path, 0)[:, 0].tolist())
        {1}
    """
    from scipy.optimize import quadratic_assignment

    K = len(gram)
    plain = np.arange(K), np.random.default_rng(seed).permutation(K)
    found = [_exchange(gain, gram, start) for start in plain]
    rng = np.random.default_rng([seed, K])
    steps = int(min(30, max(5, _FRANK_WOLFE / K**3)))
    options = {"maximize": True, "maxiter": steps, "rng": rng}
    for start in range(max(1, min(_STARTS, int(_EFFORT / K**3)))):
        # The centre of the doubly stochastic matrices, then points halfway to a permutation.
        P = np.full((K, K), 1.0 / K)
        if start:
            P = (P + np.eye(K)[rng.permutation(K)]) / 2.0
        relaxed = quadratic_assignment(gain, gram, options={**options, "P0": P})
        found.append(_exchange(gain, gram, relaxed.col_ind))
    return np.array(found)


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
