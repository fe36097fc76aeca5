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
class BootstrapIntervals:
    """Percentile intervals over samples drawn again, class by class, with replacement."""

    replicates: int
    """How often samples were drawn again (`--bootstrap`)."""
    level: float
    """Share of the replicates within an interval: 0.95."""
    gnc1: Bracket | None
    """Interval of GNC1; None where no replicate has a value."""
    gnc3: Bracket | None
    """Interval of GNC3, the weights being held fixed; None without weights."""
    ncc_accuracy: Bracket | None
    """The class means being held fixed."""
    accuracy: Bracket | None
    """Interval of the classifier's accuracy; None without a classifier."""
