"""What `gnc measure --per-class` writes: a row a class, .csv or .h5."""

import os
from collections.abc import Iterable
from pathlib import PurePath
from typing import Any

from gnc_cli.io.atomic import atomic_file
from gnc_cli.io.row_files import check_rows_target, column, write_columns, write_csv
from gnc_cli.results import ClassRow

__all__ = ["CLASS_COLUMNS", "CLASS_SUFFIXES", "write_per_class"]

CLASS_SUFFIXES = (".csv", ".h5")
CLASS_COLUMNS = (
    "label", "name", "count", "mean_norm", "spread", "one_vs_rest_lower", "one_vs_rest_upper",
    "nearest", "nearest_name", "nearest_cosine", "rattler", "accuracy", "min_margin",
)  # fmt: skip
"""Header of a `--per-class` file."""
_NAMES = ("name", "nearest_name")

_Path = str | os.PathLike[str]


def write_per_class(
    path: _Path,
    rows: Iterable[ClassRow],
    *,
    force: bool = False,
    provenance: dict[str, Any] | None = None,
) -> None:
    """Write a row a class: .csv with the header `CLASS_COLUMNS`, or .h5 with a dataset a column.

    The columns of names are left out of .h5 where no class has a name.

    Args:
        path: the target.
        rows: of all classes, by label; a million of them may be made one by one.
        force: replace an existing file.
        provenance: how the rows were made (command, seed, options), for .h5.

    Raises:
        UsageError: unknown suffix.
        OutputError: the file exists without `force`, or cannot be written; nothing has changed.
    """
    check_rows_target("--per-class", path, CLASS_SUFFIXES)
    cells = (_cells(row) for row in rows)
    with atomic_file(path, force=force) as file:
        if PurePath(path).suffix.lower() == ".csv":
            write_csv(file, CLASS_COLUMNS, cells)
            return
        held = list(zip(*cells, strict=True)) or [()] * len(CLASS_COLUMNS)
        columns = {
            name: column(values)
            for name, values in zip(CLASS_COLUMNS, held, strict=True)
            if name not in _NAMES or any(value is not None for value in values)
        }
        made = {"command": "gnc measure"} | (provenance or {})
        write_columns(file, "per_class", columns, made)


def _cells(row: ClassRow) -> tuple[Any, ...]:
    rho = row.one_vs_rest
    ends = (None, None) if rho is None else (rho.lower, rho.upper)
    return (
        row.label, row.name, row.count, row.mean_norm, row.spread, *ends, row.nearest,
        row.nearest_name, row.nearest_cosine, row.rattler, row.accuracy, row.min_margin,
    )  # fmt: skip
