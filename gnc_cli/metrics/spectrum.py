"""Spectrum of features, with or without labels: dimensional collapse.

Two passes. The first is that of the class moments; unlabelled rows are one class. Its scatter is
about means, so that nothing cancels, and gives the covariance of all rows and the singular values
of the rows as they are. The second adds up the directions of the rows, before and after centring,
and keeps some of them for statistics over pairs.

Squares of singular values are eigenvalues of a (d, d) matrix in float64. Singular values below
sqrt(d eps) of the largest (3e-7 for d = 512) are rounding there and count as 0. Features stored in
float32 hold no such directions either.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gnc_cli.geometry.sphere import row_norms
from gnc_cli.metrics.class_moments import ClassMoments
from gnc_cli.metrics.pairs import find_duplicates
from gnc_cli.metrics.rows import Rows, read_block, refuse_rows
from gnc_cli.metrics.variants import entropy_rank
from gnc_cli.records import NOT_IN_JSON

NEAR_DUPLICATE = 0.999
"""Cosine from which two rows nearly coincide."""
ALL_ROWS = 10_000
"""Number of rows up to which near-duplicates are counted."""
_PAIR_ROWS = 2048
"""Number of rows up to which the uniformity is over all pairs; of more, this number is drawn."""
_MIN_NORM, _MAX_NORM = 1e-150, 1e150
"""Smallest and largest norm whose squares are numbers of float64; shorter rows count as zero."""


@dataclass(frozen=True)
class FeatureSpectrum:
    """Spectrum of the features, whatever their labels; zero rows are left out."""

    effective_rank: float | None
    """`exp(entropy of the normalised singular values)` of the raw rows, not centred. It lies
    between 1, all rows parallel, and min(N, d) (RankMe of Garrido et al. 2023, without its 1e-7).
    This and the next three are None with labels beyond 5000 classes or dimensions without
    `--variants classic`, and where they are undefined."""
    participation_ratio: float | None
    """`(sum l)^2 / sum l^2` of the eigenvalues l of the covariance of the raw rows; at most d."""
    stable_rank: float | None
    """`sum s^2 / max s^2` of the singular values s of the raw rows, not centred."""
    first_share: float | None
    """Share of the largest eigenvalue of the covariance in their sum; at least 1/d."""
    mean_cosine: float | None
    """Mean cosine of two rows: 0 evenly spread, 1 parallel (anisotropy, Ethayarajh 2019). None for
    fewer than two rows."""
    mean_cosine_centred: float | None
    """Mean cosine of two rows after the mean of all is subtracted. Rows at the mean have no
    direction and are left out."""
    uniformity: float | None
    """Log of the mean of `exp(-2 |x - y|^2)` over pairs of unit rows. It is 0 if all coincide,
    about -4 if they are evenly spread in many dimensions (Wang and Isola 2020)."""
    uniformity_error: float | None
    """Standard error of `uniformity` by the draw of rows (`--seed`); None where all pairs count."""
    uniformity_rows: int
    """Number of rows whose pairs count for `uniformity`: all, or 2048 that are drawn."""
    near_duplicates: int | None
    """Number of rows whose cosine with another row is at least `near_duplicate_cosine`; None where
    more than 10000 rows were read."""
    zero_rows: int
    """Number of zero rows, which are left out. With labels and `--normalize off` they are in the
    covariance."""
    near_duplicate_cosine: float = NEAR_DUPLICATE
    """Cosine from which two rows nearly coincide: 0.999."""
    eigenvalues: Any = field(default=None, metadata=NOT_IN_JSON, repr=False, compare=False)
    """Eigenvalues of the covariance, descending, float64, shape (d,); None where not known."""


@dataclass(frozen=True, eq=False)
class Directions:
    """Sums over the directions of some rows."""

    counts: np.ndarray
    """Rows with a direction, rows with one after centring, and zero rows, shape (3,)."""
    sums: np.ndarray
    """Sums of the unit rows, before and after centring, shape (2, d)."""
    rows: list[np.ndarray]
    """Selected unit rows, in order, shape (m, d) each."""

    def joined(self, other: "Directions") -> "Directions":
        """Return the sums over these rows and those of `other`, which come after them."""
        counts, sums = self.counts + other.counts, self.sums + other.sums
        return Directions(counts, sums, self.rows + other.rows)


def _read(
    rows: Rows, labels: np.ndarray, name: str, start: int, stop: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return labelled float64 rows, their norms, their numbers, and the mask of nonzero rows.

    Raises:
        DataError: rows are not finite or too long.
    """
    block = read_block(rows, labels, ("raw",), name, start, stop)
    index = np.arange(start, stop)[block.selection]
    problem = f"{name} holds rows whose squares leave the numbers of float64"
    refuse_rows(block.norms > _MAX_NORM, index, problem, "divide all rows by one norm")
    return block.rows["raw"], block.norms, index, block.norms > _MIN_NORM


def moment_sums(rows: Rows, labels: np.ndarray, name: str, start: int, stop: int) -> ClassMoments:
    """Return the moments of the raw rows from start to stop as one class, without zero rows.

    Any thread may call this. Arguments and shapes are those of `direction_sums`.
    """
    raw, _, _, nonzero = _read(rows, labels, name, start, stop)
    moments = ClassMoments(rows.shape[1], 1)
    moments.update(raw[nonzero], labels[start:stop][: nonzero.sum()])
    return moments


def direction_sums(
    rows: Rows,
    labels: np.ndarray,
    name: str,
    mean: np.ndarray | None,
    seed: int,
) -> Callable[[int, int], Directions]:
    """Return a function that sums the directions of the rows from start to stop, in any thread.

    Args:
        rows: shape (N, d); up to `ALL_ROWS` all are kept, otherwise a draw of them.
        labels: shape (N,); rows of label -1 are left out.
        name: of the rows in messages.
        mean: mean of the raw rows, shape (d,); None to leave out directions after centring.
        seed: seed of the draw.
    """
    N = rows.shape[0]
    sample = np.arange(N)
    if N > ALL_ROWS:
        sample = np.random.default_rng(seed).choice(N, _PAIR_ROWS, replace=False, shuffle=False)

    def sums_of(start: int, stop: int) -> Directions:
        raw, norms, index, nonzero = _read(rows, labels, name, start, stop)
        mask = nonzero & np.isin(index, sample[(sample >= start) & (sample < stop)])
        unit = raw[mask] / norms[mask, None]
        sums, centred = np.zeros((2, rows.shape[1])), np.zeros(0, dtype=bool)
        sums[0] = np.divide(1.0, norms, out=np.zeros_like(norms), where=nonzero) @ raw
        if mean is not None:
            raw -= mean
            norms = row_norms(raw)
            floor = max(_MIN_NORM, 16.0 * np.finfo(np.float64).eps * float(np.linalg.norm(mean)))
            centred = nonzero & (norms > floor)
            sums[1] = np.divide(1.0, norms, out=np.zeros_like(norms), where=centred) @ raw
        counts = np.array([nonzero.sum(), centred.sum(), (~nonzero).sum()])
        return Directions(counts, sums, [unit])

    return sums_of


def total_moments(moments: ClassMoments) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean (d,) and the scatter (d, d) about it of the rows of all classes together."""
    counts, means = moments.counts[moments.present], moments.means[moments.present]
    mean = counts @ means / moments.N
    deviations = (means - mean) * np.sqrt(counts)[:, None]
    scatter = moments.scatter + deviations.T @ deviations
    if moments.centres is not None:  # about other points than the means of the classes
        shifts = moments.offsets[moments.present] * np.sqrt(counts)[:, None]
        scatter -= shifts.T @ shifts
    return mean, scatter


def feature_spectrum(
    moments: ClassMoments | None, directions: Directions, N: int, seed: int
) -> FeatureSpectrum:
    """Return all values of the features' spectrum.

    Args:
        moments: moments of the labelled raw rows; None if unknown.
        directions: sums over all these rows.
        N: number of rows read.
        seed: seed of the draw of rows for `uniformity`, if there are more than 2048.
    """
    values: dict[str, Any] = dict.fromkeys(
        ("effective_rank", "participation_ratio", "stable_rank", "first_share", "eigenvalues")
    )
    if moments is not None:
        mean, scatter = total_moments(moments)
        eigenvalues = _eigenvalues(scatter / moments.N)
        squares = _eigenvalues(scatter / moments.N + np.outer(mean, mean))[: moments.N]
        values |= {
            "effective_rank": entropy_rank(np.sqrt(squares)),
            "stable_rank": float(squares.sum() / squares[0]) if squares[0] > 0.0 else None,
            "eigenvalues": eigenvalues,
        }
        if eigenvalues[0] > 0.0:
            eigenvalues = eigenvalues / eigenvalues[0]
            values["first_share"] = float(1.0 / eigenvalues.sum())
            values["participation_ratio"] = float(
                eigenvalues.sum() ** 2 / (eigenvalues @ eigenvalues)
            )
    cosines = [
        float((total @ total - n) / (n * (n - 1.0))) if n > 1 else None
        for n, total in zip(directions.counts.tolist()[:2], directions.sums, strict=True)
    ]
    U, near_duplicates = np.concatenate(directions.rows), 0
    if 1 < len(U) and N <= ALL_ROWS:
        first = find_duplicates(U, NEAR_DUPLICATE)[3]
        near_duplicates = int((np.bincount(first)[first] > 1).sum())
    return FeatureSpectrum(
        **values,
        mean_cosine=cosines[0],
        mean_cosine_centred=cosines[1],
        **_uniformity(U, int(directions.counts[0]), seed),
        near_duplicates=None if N > ALL_ROWS else near_duplicates,
        zero_rows=int(directions.counts[2]),
    )


def _eigenvalues(covariance: np.ndarray) -> np.ndarray:
    """Return the eigenvalues, descending; those below the rounding of the largest are 0."""
    values = np.linalg.eigvalsh(covariance)[::-1]
    floor = len(values) * np.finfo(np.float64).eps * max(values[0], 0.0)
    return np.where(values > floor, values, 0.0)


def _uniformity(U: np.ndarray, N: int, seed: int) -> dict[str, Any]:
    """Return the uniformity of the unit rows U, (m, d), drawn of N, as fields of the record.

    The mean over all pairs of the rows is a U-statistic: its variance is that of the mean over the
    rows of twice their own means (Hoeffding 1948), less the share of the N rows that was seen.
    """
    if len(U) > _PAIR_ROWS:
        U = U[np.random.default_rng(seed).choice(len(U), _PAIR_ROWS, replace=False, shuffle=False)]
    n, value, error = len(U), None, None
    if n > 1:
        kernel = np.exp(4.0 * (U @ U.T) - 4.0)
        np.fill_diagonal(kernel, 0.0)
        means = kernel.sum(axis=1) / (n - 1)
        value = min(0.0, math.log(means.mean()))
        if n < N:
            error = 2.0 * float(means.std(ddof=1) / means.mean()) * math.sqrt((1.0 - n / N) / n)
    return {"uniformity": value, "uniformity_error": error, "uniformity_rows": n}
