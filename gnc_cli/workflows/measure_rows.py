"""One record a class: `--per-class`, and the ten worst of the summary."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gnc_cli.metrics.gnc2_detail import Gnc2Detail
from gnc_cli.results import Bracket, ClassRow
from gnc_cli.workflows.measure_parts import Statistics
from gnc_cli.workflows.measure_weights import Weights

__all__ = ["ClassRows", "class_rows"]


@dataclass(frozen=True, eq=False)
class ClassRows:
    """Records of classes, made when asked for."""

    worst: list[ClassRow]
    """Nearest to the hull of the others first."""
    every: Sequence[ClassRow]
    """All K, by label."""


def class_rows(
    detail: Gnc2Detail,
    statistics: Statistics,
    weights: Weights,
    labels: np.ndarray,
    names: list[str] | None,
) -> ClassRows:
    """Records of all classes.

    Args:
        detail: brackets and neighbours of the rows of `weights`.
        statistics: of the samples.
        weights: one row a class measured.
        labels: of the K classes in the file, shape (K,).
        names: by label.
    """
    every = _Every(detail, statistics, weights, labels, names)
    return ClassRows([every[int(weights.classes[i])] for i in detail.worst], every)


class _Every(Sequence[ClassRow]):
    """A record for each class, computed on access: K may be a million."""

    def __init__(
        self,
        detail: Gnc2Detail,
        statistics: Statistics,
        weights: Weights,
        labels: np.ndarray,
        names: list[str] | None,
    ) -> None:
        self._detail, self._weights, self._labels, self._names = detail, weights, labels, names
        K = len(labels)
        self._row = np.full(K, -1)
        self._row[weights.classes] = np.arange(len(weights.classes))
        self._bracket = np.full(len(weights.rows), -1)
        self._bracket[detail.classes] = np.arange(len(detail.classes))
        moments, self._decisions = statistics.moments, statistics.decisions
        self._counts = None if moments is None else moments.counts
        self._spread = None if moments is None else moments.spread()
        self._norms = None if moments is None else np.linalg.norm(moments.means, axis=1)

    def __len__(self) -> int:
        return len(self._labels)

    def __getitem__(self, k: int) -> ClassRow:  # type: ignore[override]
        if not 0 <= k < len(self):
            raise IndexError(k)
        detail, row = self._detail, int(self._row[k])
        at = -1 if row < 0 else int(self._bracket[row])
        near = -1 if row < 0 or detail.nearest is None else int(detail.nearest[row])
        neighbour = None if near < 0 else int(self._weights.classes[near])
        cosines = detail.nearest_cosine
        bracket = None if at < 0 else Bracket(float(detail.lower[at]), float(detail.upper[at]))
        count = None if self._counts is None else int(self._counts[k])
        return ClassRow(
            label=int(self._labels[k]),
            name=self._name(k),
            count=count,
            mean_norm=_at(self._norms, k) if count else None,
            spread=_at(self._spread, k) if count else None,
            one_vs_rest=bracket,
            nearest=None if neighbour is None else int(self._labels[neighbour]),
            nearest_name=None if neighbour is None else self._name(neighbour),
            nearest_cosine=None if near < 0 or cosines is None else float(cosines[row]),
            rattler=self._rattler(bracket),
            accuracy=self._accuracy(k) if count else None,
            min_margin=self._min_margin(k) if count else None,
        )

    def _name(self, k: int) -> str | None:
        return None if self._names is None else self._names[int(self._labels[k])]

    def _rattler(self, bracket: Bracket | None) -> bool | None:
        free = self._detail.rattlers
        if bracket is None or free is None:
            return None
        least, tolerance = self._detail.bracket, free.tolerance
        if bracket.lower > least.upper + tolerance:
            return True
        return False if bracket.upper <= least.lower + tolerance else None

    def _accuracy(self, k: int) -> float | None:
        found = self._decisions
        if found is None or found.right is None or not found.counted[k]:
            return None
        return float(found.right[k] / found.counted[k])

    def _min_margin(self, k: int) -> float | None:
        found = self._decisions
        if found is None or found.margin_min is None or not found.counted[k]:
            return None
        return float(found.margin_min[k])


def _at(values: np.ndarray | None, k: int) -> float | None:
    return None if values is None else float(values[k])
