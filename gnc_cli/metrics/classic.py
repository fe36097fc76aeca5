"""The collapse metrics in use before GNC, each by its name: NC1, NC2, NC3, CDNV, energies.

All on raw features and raw weights, except the energies and effective ranks, which are of rows
brought to norm 1. Only classes with samples enter; where weights are paired with class means, those
of the other classes are left out. Where the class means are those of other data, all of them enter:
only CDNV, which needs the spread of both classes of a pair, leaves some out. No number depends on
the scale of the features or the weights, so that both are first divided by a power of two.
"""

import numpy as np

from gnc_cli.metrics.cdnv import Cdnv
from gnc_cli.metrics.centring import centred, directions, magnitude, means_present, rounding_of
from gnc_cli.metrics.class_moments import ClassMoments
from gnc_cli.metrics.energies import Energies, effective_rank
from gnc_cli.metrics.nc1 import nc1, nc1_trace_quotient
from gnc_cli.metrics.nc2 import Angles, equinorm, etf_error
from gnc_cli.metrics.nc3 import nc3
from gnc_cli.metrics.pairs import pair_rows, pair_tiles
from gnc_cli.numerics.deadline import Deadline

__all__ = ["classic"]

_SQUARES_HOLD = 1e-140, 1e140
"""Class means between these: the squares that covariances sum kept their digits."""


def classic(
    moments: ClassMoments,
    W: np.ndarray | None,
    *,
    means_of: ClassMoments | None = None,
    seed: int = 0,
    deadline: Deadline | None = None,
) -> dict[str, float | None]:
    """Every classic metric but NC4, which needs the samples once more.

    Last bits may depend on the number of BLAS threads, which cut products in different places.

    Args:
        moments: of raw features, K classes of which P have samples.
        W: raw class weights, shape (K, d). NC3 and its dual form take the rows of the classes
            that have a mean; equinorm and ETF error of the weights take all rows, not centred;
            energies and effective rank all rows, scaled to norm 1 here.
        means_of: moments of other data whose class means are used, those that `moments` took as
            centres (`--means-from`): all of them, also where `moments` has no sample of a class;
            CDNV is over the pairs of classes of which `moments` has samples.
        seed: of the sample of rows for statistics over pairs beyond 30000 rows.
        deadline: polled at each tile of pairs.

    Returns:
        Plain numbers, None where undefined (one class present, means that are zero or coincide, no
        weights or a zero row of them; for the first three also features beyond 1e140 or below
        1e-140, whose squares are lost): `nc1`, `nc1_trace_quotient`, `cdnv`; of the centred class
        means `nc2_equinorm_means`, `nc2_equiangularity`, `nc2_max_angle`, `nc2_etf_error`; of the
        weights `nc2_equinorm_weights`, `nc2_etf_error_weights`; `nc3`,
        `nc3_dual_etf_error`; `log_energy`, `riesz_energy`, `effective_rank_means` of the class
        means, each divided by its norm, not centred; the same with `_weights` of the weights;
        `pair_rows` and `pair_rows_weights`, how many rows the statistics over pairs held against
        all others.

    Raises:
        TimeoutError: the deadline expired first.
    """
    present, means = means_present(moments, means_of)
    unit = magnitude(means)
    means = means / unit
    M = centred(means)
    within_cov, spread = None, np.zeros(len(M))
    if _SQUARES_HOLD[0] < unit < _SQUARES_HOLD[1]:
        within_cov, spread = moments.within_cov() / unit**2, moments.spread()[present] / unit**2
    sampled = moments.present[present]
    cdnv, angles = Cdnv(spread), Angles(M)
    for tile in pair_tiles(M, floor=rounding_of(means), seed=seed, deadline=deadline):
        cdnv.add(tile if sampled.all() else tile.among(sampled))
        angles.add(tile)
    W = None if W is None else W / magnitude(W)
    paired = None if W is None else W[present]
    unit_weights = directions(W)
    return {
        "nc1": None if within_cov is None else nc1(within_cov, M),
        "nc1_trace_quotient": None if within_cov is None else nc1_trace_quotient(within_cov, M),
        "cdnv": None if within_cov is None else cdnv.value,
        "nc2_equinorm_means": equinorm(M),
        "nc2_equinorm_weights": None if W is None else equinorm(W),
        "nc2_equiangularity": angles.equiangularity,
        "nc2_max_angle": angles.max_angle,
        "nc2_etf_error": etf_error(M, M),
        "nc2_etf_error_weights": None if W is None else etf_error(W, W),
        "nc3": None if paired is None else nc3(paired, M),
        "nc3_dual_etf_error": None if paired is None else etf_error(paired, M),
        **_evenness(directions(means), "", "_means", seed, deadline),
        **_evenness(unit_weights, "_weights", "_weights", seed, deadline),
        "pair_rows": pair_rows(len(M)),
        "pair_rows_weights": None if unit_weights is None else pair_rows(len(unit_weights)),
    }


def _evenness(
    X: np.ndarray | None, energy_of: str, rank_of: str, seed: int, deadline: Deadline | None
) -> dict[str, float | None]:
    """Energies and effective rank of unit rows, under the names that end so."""
    energies = Energies()
    if X is not None:
        # Distances know no origin; about their mean, close rows lose fewer digits.
        shifted = X - X.mean(axis=0)
        for tile in pair_tiles(shifted, floor=rounding_of(X), seed=seed, deadline=deadline):
            energies.add(tile)
    return {
        f"log_energy{energy_of}": energies.log,
        f"riesz_energy{energy_of}": energies.riesz,
        f"effective_rank{rank_of}": None if X is None else effective_rank(X, deadline=deadline),
    }
