"""What the metrics return."""

from dataclasses import dataclass

from gnc_cli.records import Bracket

__all__ = [
    "BootstrapIntervals",
    "Gnc2Quantiles",
]


@dataclass(frozen=True)
class Gnc2Quantiles:
    """Quantiles of the classes' one-vs-rest distances; each end is the quantile of those ends."""

    q0: Bracket
    """The minimum, always over all classes: GNC2 itself."""
    q0_001: Bracket
    q0_01: Bracket
    q0_1: Bracket
    q0_5: Bracket
    classes: int
    """How many classes the quantiles above 0 are over."""
    seed: int | None
    """Of the sample of classes; None where all classes were looked at."""


@dataclass(frozen=True)
class BootstrapIntervals:
    """Percentile intervals over samples drawn again, class by class, with replacement."""

    replicates: int
    level: float
    gnc1: Bracket | None
    gnc3: Bracket | None
    ncc_accuracy: Bracket | None
    """The class means being held fixed."""
    accuracy: Bracket | None
