"""One record per class, for the worst classes of a result and for `--per-class`.

The files of `--per-class` and `--merge-list` are written here.
"""

import dataclasses
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np

from gnc_cli.brackets import Bracket
from gnc_cli.collapse.result import ClassMerge, ClassRow
from gnc_cli.metrics.class_moments import ClassMoments
from gnc_cli.metrics.decisions import Decisions
from gnc_cli.metrics.gnc2 import Gnc2Detail

CLASS_COLUMNS = tuple(
    column
    for name in (field.name for field in dataclasses.fields(ClassRow))
    for column in ([f"{name}_lower", f"{name}_upper"] if name == "one_vs_rest" else [name])
)
"""Header of a `--per-class` file: the fields of `ClassRow`, the bracket as two."""


class ClassRows(Sequence[ClassRow]):
    """A record for each of the K classes, made on access since K may be a million.

    Args:
        detail: one-vs-rest distances of m rows.
        classes: the classes of these rows among the K, shape (m,).
        moments: class moments of the features; None without features.
        decisions: decisions on the samples; None without features.
        labels: labels of the K classes in the file, shape (K,).
        names: names of the classes, by label.
    """

    def __init__(
        self,
        detail: Gnc2Detail,
        classes: np.ndarray,
        moments: ClassMoments | None,
        decisions: Decisions | None,
        labels: np.ndarray,
        names: list[str] | None,
    ) -> None:
        self._detail, self._classes, self._labels, self._names = detail, classes, labels, names
        self._decisions = decisions
        # Copied, since later batches change the moments.
        self._counts = None if moments is None else moments.counts.copy()
        self._centred = moments is not None and moments.centres is not None
        self._row = np.full(len(labels), -1)
        self._row[classes] = np.arange(len(classes))
        self._bracket = np.full(len(classes), -1)
        self._bracket[detail.classes] = np.arange(len(detail.classes))
        self._norms = None if moments is None else np.linalg.norm(moments.means, axis=1)
        self._spread = None if moments is None else moments.spread()

    def worst(self, max_rows: int) -> tuple[ClassRow, ...]:
        """Return the classes nearest to the hull of the others, the nearest first."""
        return tuple(self[int(self._classes[i])] for i in self._detail.worst[:max_rows])

    def __len__(self) -> int:
        return len(self._labels)

    def __getitem__(self, k: int) -> ClassRow:  # type: ignore[override]
        if not 0 <= k < len(self):
            raise IndexError(k)
        detail, row, decisions = self._detail, int(self._row[k]), self._decisions
        bracket = rattler = nearest = cosine = accuracy = margin = None
        if row >= 0 and (index := int(self._bracket[row])) >= 0:
            bracket = Bracket(float(detail.lower[index]), float(detail.upper[index]))
            rattler = bool(detail.rattles[index]) if detail.decided[index] else None
        if row >= 0 and detail.nearest is not None and detail.nearest_cosine is not None:
            nearest = int(self._classes[detail.nearest[row]])
            cosine = float(detail.nearest_cosine[row])
        count = None if self._counts is None else int(self._counts[k])
        has_spread = count != 1 or self._centred
        total = int(decisions.samples[k]) if count and decisions is not None else 0
        if total and decisions is not None:
            accuracy = None if decisions.right is None else float(decisions.right[k]) / total
            margin = None if decisions.margin_min is None else float(decisions.margin_min[k])
        return ClassRow(
            label=int(self._labels[k]),
            name=self._name(k),
            count=count,
            mean_norm=float(self._norms[k]) if count and self._norms is not None else None,
            spread=float(self._spread[k])
            if count and has_spread and self._spread is not None
            else None,
            one_vs_rest=bracket,
            nearest=None if nearest is None else int(self._labels[nearest]),
            nearest_name=None if nearest is None else self._name(nearest),
            nearest_cosine=cosine,
            rattler=rattler,
            accuracy=accuracy,
            min_margin=margin,
        )

    def _name(self, k: int) -> str | None:
        return None if self._names is None else self._names[int(self._labels[k])]


def write_per_class(
    path: str | os.PathLike[str],
    rows: Iterable[ClassRow],
    *,
    force: bool,
    provenance: dict[str, Any] | None,
) -> None:
    """Write a row per class: .csv with a header, .h5 with a dataset per column, or .parquet.

    .h5 and .parquet hold `provenance` too, and no columns of names if no class has a name.

    Raises:
        OutputError: the file cannot be written.
    """
    from gnc_cli.io.atomic import atomic_file
    from gnc_cli.io.row_files import COLUMN_WRITERS, write_csv

    cells = (tuple(_cells(row)) for row in rows)
    with atomic_file(path, force=force) as file:
        if PurePath(path).suffix.lower() == ".csv":
            write_csv(file, CLASS_COLUMNS, cells)
            return
        all_columns = list(zip(*cells, strict=True)) or [()] * len(CLASS_COLUMNS)
        columns = {
            name: values
            for name, values in zip(CLASS_COLUMNS, all_columns, strict=True)
            if not name.endswith("name") or any(value is not None for value in values)
        }
        COLUMN_WRITERS[PurePath(path).suffix.lower()](
            file, "per_class", columns, {"command": "gnc measure"} | (provenance or {})
        )


def write_merges(
    path: str | os.PathLike[str], merges: Iterable[ClassMerge], *, force: bool
) -> None:
    """Write a row per class to merge as .csv, whose header is the fields of `ClassMerge`.

    Raises:
        OutputError: the file cannot be written.
    """
    from gnc_cli.io.atomic import atomic_file
    from gnc_cli.io.row_files import write_csv

    names = [field.name for field in dataclasses.fields(ClassMerge)]
    with atomic_file(path, force=force) as file:
        write_csv(file, names, map(dataclasses.astuple, merges))


def _cells(row: ClassRow) -> Iterator[Any]:
    ends = {f"one_vs_rest_{end}": getattr(row.one_vs_rest, end, None) for end in ("lower", "upper")}
    return map((vars(row) | ends).get, CLASS_COLUMNS)
