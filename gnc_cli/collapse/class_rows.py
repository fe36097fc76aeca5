"""One record per class: the ten worst of the summary, and the files that `--per-class` and
`--merge-list` write.
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
    """A record for each of the K classes, in order of their labels (K,), made on access: K may be a
    million. GNC2 is about the classes `of_rows`, (m,); `names` are by label.
    """

    def __init__(
        self,
        detail: Gnc2Detail,
        of_rows: np.ndarray,
        moments: ClassMoments | None,
        decisions: Decisions | None,
        labels: np.ndarray,
        names: list[str] | None,
    ) -> None:
        self._detail, self._of_rows, self._labels, self._names = detail, of_rows, labels, names
        self._decisions = decisions
        # Copied, as an accumulator of batches goes on.
        self._counts = None if moments is None else moments.counts.copy()
        self._centred = moments is not None and moments.centres is not None
        self._row = np.full(len(labels), -1)
        self._row[of_rows] = np.arange(len(of_rows))
        self._bracket = np.full(len(of_rows), -1)
        self._bracket[detail.classes] = np.arange(len(detail.classes))
        self._norms = None if moments is None else np.linalg.norm(moments.means, axis=1)
        self._spread = None if moments is None else moments.spread()

    def worst(self, most: int) -> tuple[ClassRow, ...]:
        """Those nearest to the hull of the others, the nearest first."""
        return tuple(self[int(self._of_rows[i])] for i in self._detail.worst[:most])

    def __len__(self) -> int:
        return len(self._labels)

    def __getitem__(self, k: int) -> ClassRow:  # type: ignore[override]
        if not 0 <= k < len(self):
            raise IndexError(k)
        detail, row, decisions = self._detail, int(self._row[k]), self._decisions
        bracket = rattler = near = cosine = accuracy = margin = None
        if row >= 0 and (at := int(self._bracket[row])) >= 0:
            bracket = Bracket(float(detail.lower[at]), float(detail.upper[at]))
            rattler = bool(detail.rattles[at]) if detail.decided[at] else None
        if row >= 0 and detail.nearest is not None and detail.nearest_cosine is not None:
            near = int(self._of_rows[detail.nearest[row]])
            cosine = float(detail.nearest_cosine[row])
        count = None if self._counts is None else int(self._counts[k])
        alone = count == 1 and not self._centred
        counted = int(decisions.samples[k]) if count and decisions is not None else 0
        if counted and decisions is not None:
            accuracy = None if decisions.right is None else float(decisions.right[k]) / counted
            margin = None if decisions.margin_min is None else float(decisions.margin_min[k])
        return ClassRow(
            label=int(self._labels[k]),
            name=self._name(k),
            count=count,
            mean_norm=float(self._norms[k]) if count and self._norms is not None else None,
            spread=float(self._spread[k])
            if count and not alone and self._spread is not None
            else None,
            one_vs_rest=bracket,
            nearest=None if near is None else int(self._labels[near]),
            nearest_name=None if near is None else self._name(near),
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
    """Write a row per class: .csv with a header, .h5 with a dataset per column or .parquet, these
    with `provenance`.

    The columns of names are left out of .h5 and .parquet where no class has a name.
    """
    from gnc_cli.io.atomic import atomic_file
    from gnc_cli.io.row_files import COLUMN_WRITERS, write_csv

    cells = (tuple(_cells(row)) for row in rows)
    with atomic_file(path, force=force) as file:
        if PurePath(path).suffix.lower() == ".csv":
            write_csv(file, CLASS_COLUMNS, cells)
            return
        held = list(zip(*cells, strict=True)) or [()] * len(CLASS_COLUMNS)
        columns = {
            name: values
            for name, values in zip(CLASS_COLUMNS, held, strict=True)
            if not name.endswith("name") or any(value is not None for value in values)
        }
        COLUMN_WRITERS[PurePath(path).suffix.lower()](
            file, "per_class", columns, {"command": "gnc measure"} | (provenance or {})
        )


def write_merges(
    path: str | os.PathLike[str], merges: Iterable[ClassMerge], *, force: bool
) -> None:
    """Write a row per class to merge: .csv with a header, the fields of `ClassMerge`."""
    from gnc_cli.io.atomic import atomic_file
    from gnc_cli.io.row_files import write_csv

    names = [field.name for field in dataclasses.fields(ClassMerge)]
    with atomic_file(path, force=force) as file:
        write_csv(file, names, map(dataclasses.astuple, merges))


def _cells(row: ClassRow) -> Iterator[Any]:
    ends = {f"one_vs_rest_{end}": getattr(row.one_vs_rest, end, None) for end in ("lower", "upper")}
    return map((vars(row) | ends).get, CLASS_COLUMNS)
