"""What the metrics return."""

from dataclasses import dataclass, field

from gnc_cli.records import LOWER, Bracket

__all__ = [
    "Evenness",
    "Gnc2Quantiles",
    "Neco",
    "Rattlers",
]


@dataclass(frozen=True)
class Rattlers:
    """How many rows lie above the minimum, by either distance; None where not computed."""

    one_vs_one: int | None
    """Rows whose nearest neighbour is farther than the smallest chord by more than `tolerance`."""
    one_vs_rest: int | None
    """Rows whose one-vs-rest distance exceeds the minimum by more than `tolerance`."""
    tolerance: float
    """Absolute, on distances."""


@dataclass(frozen=True)
class Gnc2Quantiles:
    """Quantiles of the classes' one-vs-rest distances; each end is the quantile of those ends."""

    q0: Bracket
    """The minimum, always over all classes: GNC2 itself."""
    q0_001: Bracket
    """The distance that one class in a thousand falls below."""
    q0_01: Bracket
    """The distance that one class in a hundred falls below."""
    q0_1: Bracket
    """The distance that one class in ten falls below."""
    q0_5: Bracket
    """The median."""
    classes: int
    """How many classes the quantiles above 0 are over."""
    seed: int | None
    """Of the sample of classes; None where all classes were looked at."""


@dataclass(frozen=True)
class Evenness:
    """How evenly class means and class weights lie, each row divided by its norm, not centred; None
    where one is zero, or there are no weights."""

    log_energy: float | None = field(metadata=LOWER)
    """Mean of `-log |x - y|` over the pairs of class means."""
    riesz_energy: float | None = field(metadata=LOWER)
    """Mean of `1 / |x - y|` over the pairs of class means."""
    effective_rank_means: float | None
    """`exp(entropy of the normalised singular values)` of the class means."""
    log_energy_weights: float | None = field(metadata=LOWER)
    """`log_energy` of the weights."""
    riesz_energy_weights: float | None = field(metadata=LOWER)
    """`riesz_energy` of the weights."""
    effective_rank_weights: float | None
    """`effective_rank_means` of the weights."""
    pair_rows: int
    """Class means that the statistics over pairs compared with all others."""
    pair_rows_weights: int | None
    """The same of the weights."""


@dataclass(frozen=True)
class Neco:
    """How far the classes are from orthogonal to other data (NC5 of arXiv 2310.06823)."""

    orthogonality_deviation: float | None = field(metadata=LOWER)
    """Mean of `|cos(m_k, m_ood)|` over the classes present, from 0 to 1; None where one of these
    means is zero."""
    ood_samples: int
    """Samples of the other data."""
