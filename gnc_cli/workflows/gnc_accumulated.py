"""What `GNCMetrics` has taken in so far, and how two such heaps become one."""

from dataclasses import dataclass

import numpy as np

from gnc_cli.errors import UsageError
from gnc_cli.metrics.class_moments import ClassMoments
from gnc_cli.metrics.decisions import Decisions, merge
from gnc_cli.workflows.gnc_batch import coarsest

__all__ = ["Accumulated", "joined_decisions"]


@dataclass(frozen=True, eq=False)
class Accumulated:
    """Statistics of batches; picklable, so that processes can send it to each other."""

    moments: dict[str, ClassMoments]
    """By space, `unit` or `raw`: that of the GNC metrics first."""
    right: np.ndarray
    """Samples that their logits get right, by class, shape (K,)."""
    answered: np.ndarray
    """Samples that came with logits, by class, shape (K,)."""
    judged: dict[str, Decisions]
    """Of the second pass, by space; empty without one."""
    judged_by: tuple[np.ndarray, ...]
    """Samples by class, shape (K,), behind the means of the second pass, one a process."""
    own: bool
    """Whether the second pass was over the samples of the first."""
    alone: bool
    """Whether the second pass went by means that other processes had no part in."""
    storage: str | None
    """Dtype of the features; the coarsest where they differ."""

    def joined(self, other: "Accumulated") -> "Accumulated":
        """Both together; neither changes."""
        moments = {}
        for space, mine in self.moments.items():
            moments[space] = ClassMoments.from_state(mine.state())
            moments[space].merge(other.moments[space])
        return Accumulated(
            moments=moments,
            right=self.right + other.right,
            answered=self.answered + other.answered,
            judged=joined_decisions(self.judged, other.judged),
            judged_by=self.judged_by + other.judged_by,
            own=self.own and other.own,
            alone=self.alone or other.alone,
            storage=coarsest(self.storage, other.storage),
        )

    @property
    def decisions(self) -> Decisions | None:
        """Of the second pass, in the space of the GNC metrics; else what the logits said."""
        if self.judged:
            return next(iter(self.judged.values()))
        if not self.answered.any():
            return None
        return Decisions(
            right=self.right, ncc_right=None, loo_right=None, loo_counted=None, agree=None,
            counted=self.answered, positive=None, margin_min=None, margin_sum=None, rechecked=0,
        )  # fmt: skip

    @property
    def stale(self) -> bool:
        """Whether some process judged before another took in more samples."""
        counts = next(iter(self.moments.values())).counts
        return not all(np.array_equal(by, counts) for by in self.judged_by)

    def check_second_pass(self) -> None:
        """Refuse a second pass by other means, or not over each sample of the first once.

        Raises:
            UsageError: it is such a one.
        """
        if self.stale:
            raise UsageError(
                "update() came after judge() in some process: judge() all batches again, in every "
                "process, then sync()"
            )
        if not self.judged or not self.own:
            return
        counts = next(iter(self.moments.values())).counts
        counted = next(iter(self.judged.values())).counted
        seen, N = int(counted.sum()), int(counts.sum())
        if (counted > counts).any():
            raise UsageError(
                f"judge() has seen {seen} samples that are not the {N} of update(), each once: "
                "reset() and give both the same batches, or judge(own=False) other data"
            )
        if seen < N:
            raise UsageError(
                f"judge() has seen {seen} of {N} samples: judge() the other batches too, in every "
                "process, then sync(); or judge(own=False) other data"
            )

    @property
    def nc4(self) -> float | None:
        """Share of samples on which the classifier and the nearest mean of raw rows agree."""
        raw = self.judged.get("raw")
        if raw is None or raw.agree is None or not raw.counted.any():
            return None
        return raw.agree / int(raw.counted.sum())

    @property
    def accuracy(self) -> float | None:
        """Of the logits."""
        answered = int(self.answered.sum())
        return int(self.right.sum()) / answered if answered else None


def joined_decisions(a: dict[str, Decisions], b: dict[str, Decisions]) -> dict[str, Decisions]:
    """Decisions on two sets of samples, by space; either may be empty."""
    return {space: merge(a[space], b[space]) for space in a} if a and b else a or b
