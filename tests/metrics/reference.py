"""Every metric of `gnc measure` once more: slow, plain float64, as literal as NumPy allows.

The witness of the fast code, so it shares nothing with it: loops over samples, classes and pairs,
matrices formed in full, `numpy.linalg.pinv`, `scipy.optimize`. Rows are points. A value that is not
defined is None. `classes` is always the sorted list of classes with samples, and `means` a dict.
`given` are class means of other data, which stand for those of the features.
"""

import itertools
import math

import numpy as np

Means = dict[int, np.ndarray]


# Samples and classes ------------------------------------------------------------------------------


def unit(rows: np.ndarray) -> np.ndarray:
    """Rows brought to norm 1, shape kept."""
    rows = np.asarray(rows, dtype=np.float64)
    return np.array([row / math.sqrt(sum(float(x) ** 2 for x in row)) for row in rows])


def class_means(features: np.ndarray, labels: np.ndarray) -> Means:
    """The plain mean of each class that has samples."""
    return {
        int(k): np.mean([h for h, y in zip(features, labels, strict=True) if y == k], axis=0)
        for k in sorted(set(labels.tolist()))
    }


def class_variances(
    features: np.ndarray, labels: np.ndarray, given: Means | None = None
) -> dict[int, float]:
    """Mean squared distance of a class's samples to their mean."""
    means = given or class_means(features, labels)
    return {
        k: float(np.mean([np.sum((h - means[k]) ** 2) for h in features[labels == k]]))
        for k in sorted(set(labels.tolist()))
    }


def within_covariance(
    features: np.ndarray, labels: np.ndarray, given: Means | None = None
) -> np.ndarray:
    """Sigma_W: mean over samples."""
    means = given or class_means(features, labels)
    deviations = [h - means[int(y)] for h, y in zip(features, labels, strict=True)]
    return sum(np.outer(u, u) for u in deviations) / len(deviations)  # type: ignore[return-value]


def between_covariance(means: Means, centred: bool = False) -> np.ndarray:
    """Sigma_B: mean over the classes present, about 0 or about the mean of class means."""
    rows = list(centred_rows(means)) if centred else list(means.values())
    return sum(np.outer(m, m) for m in rows) / len(rows)  # type: ignore[return-value]


def centred_rows(means: Means) -> np.ndarray:
    """M: class means less the plain mean of class means, classes in order."""
    rows = np.array([means[k] for k in sorted(means)])
    centred = rows - rows.mean(axis=0)
    for row in centred:
        if np.linalg.norm(row) <= rounding(rows):
            row[:] = 0.0
    return centred


def rounding(rows: np.ndarray) -> float:
    """The length that counts as zero beside these rows."""
    return 16.0 * np.finfo(np.float64).eps * max(float(np.linalg.norm(row)) for row in rows)


# The paper's metrics ------------------------------------------------------------------------------


def trace_of_quotient(within: np.ndarray, between: np.ndarray, classes: int) -> float:
    """`tr(within pinv(between)) / classes`, pinv with the relative cutoff max(K, d) eps."""
    cutoff = max(classes, len(between)) * np.finfo(np.float64).eps
    inverse = np.linalg.pinv(between, rcond=cutoff, hermitian=True)
    return float(np.trace(within @ inverse)) / classes


def gnc1(features: np.ndarray, labels: np.ndarray) -> float:
    """Of unit features, or of any; between covariance not centred."""
    means = class_means(features, labels)
    within, between = within_covariance(features, labels), between_covariance(means)
    return trace_of_quotient(within, between, len(means))


def gnc3(W: np.ndarray, means: Means) -> float:
    """Mean over the classes present of `1 - <w_k, class_mean_k>`."""
    return float(np.mean([1.0 - W[k] @ m for k, m in means.items()]))


def one_vs_rest(W: np.ndarray, k: int) -> float:
    """Distance of row k to the hull of the others, by non-negative least squares."""
    from scipy.optimize import nnls

    vertices = np.delete(W, k, axis=0) - W[k]
    system = np.vstack([vertices.T, np.ones(len(vertices))])
    target = np.zeros(len(system))
    target[-1] = 1.0
    weights, _ = nnls(system, target)
    return float(np.linalg.norm((weights / weights.sum()) @ vertices))


def gnc2(W: np.ndarray) -> float:
    """The smallest one-vs-rest distance."""
    return min(one_vs_rest(W, k) for k in range(len(W)))


# Decisions ----------------------------------------------------------------------------------------


def classifier_scores(features: np.ndarray, W: np.ndarray, bias: np.ndarray | None) -> np.ndarray:
    """Raw features, raw weights, bias: (N, K)."""
    scores = np.array([[float(h @ w) for w in W] for h in features])
    return scores if bias is None else scores + bias


def nearest_mean_scores(features: np.ndarray, means: Means, K: int) -> np.ndarray:
    """Minus the squared distance to each class mean, (N, K); -inf for classes without samples."""
    scores = np.full((len(features), K), -np.inf)
    for i, h in enumerate(features):
        for k, m in means.items():
            scores[i, k] = -float(np.sum((h - m) ** 2))
    return scores


def leave_one_out_scores(features: np.ndarray, labels: np.ndarray, K: int) -> np.ndarray:
    """As above, each sample's own class mean computed anew without it; -inf where it was alone."""
    scores = nearest_mean_scores(features, class_means(features, labels), K)
    for i, (h, y) in enumerate(zip(features, labels, strict=True)):
        others = np.flatnonzero((labels == y) & (np.arange(len(labels)) != i))
        own = features[others].mean(axis=0) if len(others) else np.full(len(h), np.inf)
        scores[i, y] = -float(np.sum((h - own) ** 2))
    return scores


def share_right(scores: np.ndarray, labels: np.ndarray) -> float:
    """Share of samples whose first largest score is their label's: micro accuracy."""
    return sum(int(np.argmax(s)) == y for s, y in zip(scores, labels, strict=True)) / len(labels)


def ncc_leave_one_out(features: np.ndarray, labels: np.ndarray, K: int) -> float | None:
    """The same, each sample out of its own mean; classes of one sample are not counted."""
    counted = [i for i, y in enumerate(labels) if (labels == y).sum() > 1]
    if not counted:
        return None
    return share_right(leave_one_out_scores(features, labels, K)[counted], labels[counted])


# Variants -----------------------------------------------------------------------------------------


def gnc1_centred(
    features: np.ndarray, labels: np.ndarray, given: Means | None = None
) -> float | None:
    """GNC1 with the between covariance centred; the formula of NC1 too."""
    means = given or class_means(features, labels)
    if not centred_rows(means).any():
        return None
    between = between_covariance(means, centred=True)
    return trace_of_quotient(within_covariance(features, labels, given), between, len(means))


nc1 = gnc1_centred


def gnc3_centred(W: np.ndarray, means: Means) -> float | None:
    """`mean_k (1 - cos(w_k, M_k))`."""
    pairs = list(zip(W[sorted(means)], centred_rows(means), strict=True))
    if not all(np.linalg.norm(w) and np.linalg.norm(m) for w, m in pairs):
        return None
    return float(np.mean([1.0 - cosine(w, m) for w, m in pairs]))


def cosine(x: np.ndarray, y: np.ndarray) -> float:
    """Of the angle between two vectors."""
    return float(x @ y / (np.linalg.norm(x) * np.linalg.norm(y)))


def nc1_trace_quotient(
    features: np.ndarray, labels: np.ndarray, given: Means | None = None
) -> float | None:
    """`tr Sigma_W / tr Sigma_B`, centred."""
    means = given or class_means(features, labels)
    if not centred_rows(means).any():
        return None
    between = float(np.trace(between_covariance(means, centred=True)))
    return float(np.trace(within_covariance(features, labels, given))) / between


def cdnv(features: np.ndarray, labels: np.ndarray, given: Means | None = None) -> float | None:
    """Mean over ordered pairs of classes with samples of `(var_k + var_j) / (2 |m_k - m_j|^2)`."""
    means = given or class_means(features, labels)
    variances = class_variances(features, labels, means)
    zero = rounding(np.array(list(means.values())))
    terms = []
    for k, j in itertools.permutations(variances, 2):
        square = float(np.sum((means[k] - means[j]) ** 2))
        if square <= zero**2:
            return None
        terms.append((variances[k] + variances[j]) / (2.0 * square))
    return float(np.mean(terms)) if terms else None


def equinorm(rows: np.ndarray) -> float | None:
    """Coefficient of variation of the row norms."""
    norms = [float(np.linalg.norm(row)) for row in rows]
    return float(np.std(norms) / np.mean(norms)) if any(norms) else None


def pair_cosines(rows: np.ndarray) -> list[float] | None:
    """Of all ordered pairs; None where a row is zero or there is no pair."""
    if len(rows) < 2 or not all(np.linalg.norm(row) for row in rows):
        return None
    return [cosine(x, y) for x, y in itertools.permutations(rows, 2)]


def equiangularity(rows: np.ndarray) -> float | None:
    """Standard deviation of the cosines."""
    cosines = pair_cosines(rows)
    return None if cosines is None else float(np.std(cosines))


def max_angle(rows: np.ndarray) -> float | None:
    """`mean |cos + 1/(K - 1)|`."""
    cosines = pair_cosines(rows)
    if cosines is None:
        return None
    return float(np.mean([abs(c + 1.0 / (len(rows) - 1)) for c in cosines]))


def etf_error(A: np.ndarray) -> float | None:
    """`| A/|A|_F - (I - 11^T/K)/sqrt(K - 1) |_F` of a (K, K) matrix."""
    K = len(A)
    if K < 2 or not np.linalg.norm(A):
        return None
    target = (np.eye(K) - np.ones((K, K)) / K) / math.sqrt(K - 1)
    return float(np.linalg.norm(A / np.linalg.norm(A) - target))


def nc3(W: np.ndarray, M: np.ndarray) -> float | None:
    """`| W/|W|_F - M/|M|_F |_F`, the same classes in both."""
    if not (np.linalg.norm(W) and np.linalg.norm(M)):
        return None
    return float(np.linalg.norm(W / np.linalg.norm(W) - M / np.linalg.norm(M)))


def pair_distances(rows: np.ndarray) -> list[float] | None:
    """Of all unordered pairs; None where there is none or one is 0."""
    distances = [float(np.linalg.norm(x - y)) for x, y in itertools.combinations(rows, 2)]
    return distances if distances and min(distances) > rounding(rows) else None


def log_energy(rows: np.ndarray) -> float | None:
    """Mean over pairs of `-log |x - y|`."""
    distances = pair_distances(rows)
    return None if distances is None else float(np.mean([-math.log(x) for x in distances]))


def riesz_energy(rows: np.ndarray) -> float | None:
    """Mean over pairs of `1 / |x - y|`."""
    distances = pair_distances(rows)
    return None if distances is None else float(np.mean([1.0 / x for x in distances]))


def effective_rank(rows: np.ndarray) -> float | None:
    """exp of the entropy of the singular values over their sum."""
    values = np.linalg.svd(rows, compute_uv=False)
    if not values.sum():
        return None
    shares = [float(x) for x in values / values.sum() if x > 0.0]
    return math.exp(-sum(x * math.log(x) for x in shares))


def classic(
    features: np.ndarray, labels: np.ndarray, W: np.ndarray | None, given: Means | None = None
) -> dict[str, float | None]:
    """All of the classic ones but NC4, under their names in the results."""
    means = given or class_means(features, labels)
    M = centred_rows(means)
    rows = np.array([means[k] for k in sorted(means)])
    unit_means = unit(rows) if all(np.linalg.norm(row) for row in rows) else None
    found: dict[str, float | None] = {
        "nc1": nc1(features, labels, given),
        "nc1_trace_quotient": nc1_trace_quotient(features, labels, given),
        "cdnv": cdnv(features, labels, given),
        "nc2_equinorm_means": equinorm(M),
        "nc2_equiangularity": equiangularity(M),
        "nc2_max_angle": max_angle(M),
        "nc2_etf_error": etf_error(M @ M.T),
        "log_energy": None if unit_means is None else log_energy(unit_means),
        "riesz_energy": None if unit_means is None else riesz_energy(unit_means),
        "effective_rank_means": None if unit_means is None else effective_rank(unit_means),
    }
    if W is not None:
        paired = W[sorted(means)]
        found |= {
            "nc2_equinorm_weights": equinorm(W),
            "nc2_etf_error_weights": etf_error(W @ W.T),
            "nc3": nc3(paired, M),
            "nc3_dual_etf_error": etf_error(paired @ M.T),
            "log_energy_weights": log_energy(unit(W)),
            "riesz_energy_weights": riesz_energy(unit(W)),
            "effective_rank_weights": effective_rank(unit(W)),
        }
    return found
