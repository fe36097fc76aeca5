"""`--group KEY`: rows that differ in one key, such as the seed, as mean and deviation."""

import json
import math
from collections.abc import Sequence
from typing import Any

from gnc_cli.errors import DataError
from gnc_cli.results import MeasureGroup

__all__ = ["group_rows"]

_NUMBERS = (
    "gnc1", "gnc2", "gnc2_quantiles", "gnc2_ratio", "gnc3", "ncc_accuracy", "ncc_leave_one_out",
    "accuracy", "ncc_agreement", "sample_margins", "margins", "max_cosine", "variants",
)  # fmt: skip
"""First parts of the keys that are averaged."""
_SHARED = ("epoch", "step", "layer", "split", "snapshot")
_OF_THE_FILE = ("gnc_format", "kind", "created", "gnc_version", "provenance")


def group_rows(rows: Sequence[dict[str, Any]], key: str) -> tuple[MeasureGroup, ...]:
    """Mean and standard deviation over the rows that agree in all but `key` and the file.

    Args:
        rows: as JSON, in order.
        key: an attribute of the files or snapshots.

    Raises:
        DataError: no row has the attribute.

    Example:
        >>> rows = [{"epoch": 1, "gnc3": x, "attrs": {"seed": s}} for s, x in ((0, 1.0), (1, 3.0))]
        >>> (group,) = group_rows(rows, "seed")
        >>> group.count, group.mean["gnc3"], round(group.deviation["gnc3"], 6)
        (2, 2.0, 1.414214)
    """
    if not any(key in row.get("attrs", {}) for row in rows):
        held = sorted({name for row in rows for name in row.get("attrs", {})} - {*_OF_THE_FILE})
        raise DataError(
            f"--group {key}: no row carries that attribute; there are {', '.join(held) or 'none'}"
        )
    members: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        members.setdefault(json.dumps(_identity(row, key), sort_keys=True), []).append(row)
    return tuple(_group(json.loads(text), held) for text, held in members.items())


def _identity(row: dict[str, Any], key: str) -> dict[str, Any]:
    attrs = {
        k: v for k, v in row.get("attrs", {}).items() if k != key and k not in _OF_THE_FILE
    }
    return {name: row.get(name) for name in _SHARED} | {"attrs": attrs}


def _group(identity: dict[str, Any], rows: Sequence[dict[str, Any]]) -> MeasureGroup:
    flat = [_numbers(row) for row in rows]
    names = list(dict.fromkeys(name for numbers in flat for name in numbers))
    mean: dict[str, float | None] = {}
    deviation: dict[str, float | None] = {}
    for name in names:
        values = [numbers[name] for numbers in flat if name in numbers]
        centre = math.fsum(values) / len(values)
        squares = math.fsum((v - centre) ** 2 for v in values)
        mean[name] = centre
        deviation[name] = math.sqrt(squares / (len(values) - 1)) if len(values) > 1 else None
    return MeasureGroup(**identity, count=len(rows), mean=mean, deviation=deviation)


def _numbers(row: dict[str, Any]) -> dict[str, float]:
    found: dict[str, float] = {}

    def visit(name: str, value: Any) -> None:
        if isinstance(value, dict):
            for part, item in value.items():
                visit(f"{name}.{part}", item)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            found[name] = float(value)

    for name in _NUMBERS:
        visit(name, row.get(name))
    return found
