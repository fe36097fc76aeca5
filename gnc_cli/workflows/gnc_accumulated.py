"""What `GNCMetrics` has taken in so far, and how two such heaps become one."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc_cli.metrics.class_moments import ClassMoments
from gnc_cli.metrics.decisions import Decisions, merge
from gnc_cli.workflows.gnc_batch import coarsest
from gnc_cli.workflows.measure_weights import Weights

__all__ = ["Accumulated"]


@dataclass(frozen=True, eq=False)
class Accumulated:
    """Statistics of batches; picklable, so that processes can send it to each other."""

    moments: dict[str, ClassMoments]
    """By space: `unit`, `raw`."""
    right: np.ndarray
    """Samples that their logits get right, by class, shape (K,)."""
    answered: np.ndarray
    """Samples that came with logits, by class, shape (K,)."""
    judged: Decisions | None
    """Of the second pass."""
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
        judged = [part for part in (self.judged, other.judged) if part is not None]
        return Accumulated(
            moments=moments,
            right=self.right + other.right,
            answered=self.answered + other.answered,
            judged=merge(*judged) if len(judged) == 2 else judged[0] if judged else None,
            own=self.own and other.own,
            alone=self.alone or other.alone,
            storage=coarsest(self.storage, other.storage),
        )

    @property
    def decisions(self) -> Decisions | None:
        """Of the second pass; without one, what the logits said; None where there were none."""
        if self.judged is not None or not self.answered.any():
            return self.judged
        return Decisions(
            right=self.right, ncc_right=None, loo_right=None, loo_counted=None, agree=None,
            counted=self.answered, positive=None, margin_min=None, margin_sum=None, rechecked=0,
        )  # fmt: skip

    @property
    def accuracy(self) -> float | None:
        """Of the logits."""
        answered = int(self.answered.sum())
        return int(self.right.sum()) / answered if answered else None

    def policy(self, weights: Weights, *, unit: bool, variants: str) -> dict[str, Any]:
        """What was done, in the words of `measure`."""
        own = "unit rows" if unit else "raw rows"
        by_weights = self.judged is not None and self.judged.right is not None
        return {
            "normalize": "auto" if unit else "off",
            "spaces": {
                "gnc1": own, "gnc2": own, "gnc3": own, "ncc": own, "sample_margins": own,
                "accuracy": "raw rows" if by_weights else "logits",
                "classic": "raw rows",
            },
            "weights": "given" if weights.given else "class means stand in",
            "class_means": {"gnc1": "own", "ncc": "own" if self.own else "other", "gnc3": "own"},
            "between_cov": "not centred",
            "missing": "skip",
            "classes": None,
            "min_count": None,
            "classes_left_out": 0,
            "precision": {
                "storage": self.storage,
                "sums": "float64",
                "decisions": "float32 products, near ties again in float64",
            },
            "variants": variants,
            "chunk_rows": None,
        }  # fmt: skip
