"""One record per class: the ten worst of the summary, and the file that `--per-class` writes."""

import dataclasses
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np

from gnc_cli.collapse.parts import Statistics, Weights
from gnc_cli.collapse.result import ClassRow
from gnc_cli.io.atomic import atomic_file
from gnc_cli.io.row_files import column, write_columns, write_csv
from gnc_cli.metrics.gnc2 import Gnc2Detail
from gnc_cli.records import Bracket

_FIELDS = tuple(field.name for field in dataclasses.fields(ClassRow))
CLASS_COLUMNS = tuple(
    column
    for name in _FIELDS
    for column in ([f"{name}_lower", f"{name}_upper"] if name == "one_vs_rest" else [name])
)
"""Header of a `--per-class` file: the fields of `ClassRow`, the bracket as two."""


class ClassRows(Sequence[ClassRow]):
    """A record for each of the K classes, in order of their labels, made on access: K may be a
    million. `names` are by label."""

    def __init__(
        self,
        detail: Gnc2Detail,
        statistics: Statistics,
        weights: Weights,
        labels: np.ndarray,
        names: list[str] | None,
    ) -> None:
        self._detail, self._weights, self._labels, self._names = detail, weights, labels, names
        self._row = np.full(len(labels), -1)
        self._row[weights.classes] = np.arange(len(weights.classes))
        self._bracket = np.full(len(weights.rows), -1)
        self._bracket[detail.classes] = np.arange(len(detail.classes))
        moments, self._decisions = statistics.moments, statistics.decisions
        self._counts = None if moments is None else moments.counts
        self._spread = None if moments is None else moments.spread()
        self._norms = None if moments is None else np.linalg.norm(moments.means, axis=1)

    def worst(self, most: int) -> tuple[ClassRow, ...]:
        """Those nearest to the hull of the others, the nearest first."""
        return tuple(self[int(self._weights.classes[i])] for i in self._detail.worst[:most])

    def __len__(self) -> int:
        return len(self._labels)

    def __getitem__(self, k: int) -> ClassRow:  # type: ignore[override]
        if not 0 <= k < len(self):
            raise IndexError(k)
        detail, row = self._detail, int(self._row[k])
        at = -1 if row < 0 else int(self._bracket[row])
        bracket = None if at < 0 else Bracket(float(detail.lower[at]), float(detail.upper[at]))
        near, cosine = None, None
        if row >= 0 and detail.nearest is not None and detail.nearest_cosine is not None:
            near = int(self._weights.classes[int(detail.nearest[row])])
            cosine = float(detail.nearest_cosine[row])
        seen = self._counts is not None and bool(self._counts[k])
        decided = self._decisions if seen and self._decisions is not None else None
        counted = 0 if decided is None else int(decided.counted[k])
        right = _at(None if decided is None or not counted else decided.right, k)
        return ClassRow(
            label=int(self._labels[k]),
            name=self._name(k),
            count=None if self._counts is None else int(self._counts[k]),
            mean_norm=_at(self._norms, k) if seen else None,
            spread=_at(self._spread, k) if seen else None,
            one_vs_rest=bracket,
            nearest=None if near is None else int(self._labels[near]),
            nearest_name=None if near is None else self._name(near),
            nearest_cosine=cosine,
            rattler=self._rattler(bracket),
            accuracy=None if right is None else right / counted,
            min_margin=_at(None if decided is None or not counted else decided.margin_min, k),
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


def _at(values: np.ndarray | None, k: int) -> float | None:
    return None if values is None else float(values[k])


def write_per_class(
    path: str | os.PathLike[str],
    rows: Iterable[ClassRow],
    *,
    force: bool = False,
    provenance: dict[str, Any] | None = None,
) -> None:
    """Write a row per class: .csv with a header, or .h5 with a dataset per column and `provenance`.

    The columns of names are left out of .h5 where no class has a name.
    """
    cells = (tuple(_cells(row)) for row in rows)
    with atomic_file(path, force=force) as file:
        if PurePath(path).suffix.lower() == ".csv":
            write_csv(file, CLASS_COLUMNS, cells)
            return
        held = list(zip(*cells, strict=True)) or [()] * len(CLASS_COLUMNS)
        columns = {
            name: column(values)
            for name, values in zip(CLASS_COLUMNS, held, strict=True)
            if not name.endswith("name") or any(value is not None for value in values)
        }
        write_columns(file, "per_class", columns, {"command": "gnc measure"} | (provenance or {}))


def _cells(row: ClassRow) -> Iterator[Any]:
    for name in _FIELDS:
        value = getattr(row, name)
        if name != "one_vs_rest":
            yield value
        else:
            yield from (None, None) if value is None else (value.lower, value.upper)
