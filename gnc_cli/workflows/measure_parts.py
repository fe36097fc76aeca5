"""What a measurement is put together from: statistics of the samples, where from, how much."""

from dataclasses import dataclass
from typing import Any

from gnc_cli.metrics.class_moments import ClassMoments
from gnc_cli.metrics.decisions import Decisions
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.results import BootstrapIntervals

__all__ = ["Effort", "Identity", "Statistics"]


@dataclass(frozen=True, eq=False)
class Statistics:
    """What one reading of the samples leaves; nothing where there are only weights."""

    moments: ClassMoments | None = None
    """In the space of the GNC metrics: unit rows, or raw ones with normalize=off."""
    raw: ClassMoments | None = None
    """Of raw rows; needed for the classic variants alone."""
    decisions: Decisions | None = None
    train: ClassMoments | None = None
    """Of other data whose class means count for GNC1 and NCC; `moments` are then about these."""
    raw_train: ClassMoments | None = None
    """The same of raw rows, for the classic variants."""
    bootstrap: BootstrapIntervals | None = None
    nc4: float | None = None
    """Share of samples on which classifier and nearest mean of raw rows agree; classic variants."""


@dataclass(frozen=True)
class Identity:
    """Where the numbers are from; copied into the result."""

    file: str | None = None
    snapshot: str | None = None
    epoch: float | None = None
    step: float | None = None
    layer: str | None = None
    split: str | None = None
    attrs: dict[str, Any] | None = None


@dataclass(frozen=True)
class Effort:
    """How much is asked about GNC2."""

    minimum_only: bool = False
    """Neither quantiles nor worst classes: what a training loop wants."""
    every_class: bool | None = None
    """A bracket for each class; None for up to 5000 classes."""
    duplicates: float | None = None
    """Cosine above which two classes are duplicates."""
    variants: str = "none"
    """`none`, `authors`, `classic` or `all`."""
    probability: float = 0.9
    """For the scale that softmax needs."""
    seed: int = 0
    device: str = "cpu"
    deadline: Deadline | None = None
