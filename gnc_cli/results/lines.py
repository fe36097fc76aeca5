"""Rows as lines of a table: scalars under dotted keys, without the tables inside a row."""

from typing import Any

__all__ = ["flat_row"]

_JOINED = ("missing_labels", "warnings")


def flat_row(row: dict[str, Any]) -> dict[str, Any]:
    """One level, for a line of CSV, a data frame or a report.

    Lists (worst classes, pairs of duplicates) are tables of their own and are left out, but for
    warnings and missing labels, which become one text. `schema` and `command` are of the whole.

    Args:
        row: a row of a result's JSON.

    Example:
        >>> flat_row({"schema": 1, "gnc2": {"lower": 0.5}, "pairs": [{"a": 1}], "warnings": ["x"]})
        {'gnc2.lower': 0.5, 'warnings': 'x'}
    """
    return dict(_scalars({k: v for k, v in row.items() if k not in ("schema", "command")}, ""))


def _scalars(value: dict[str, Any], prefix: str) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, part in value.items():
        name = f"{prefix}{key}"
        if isinstance(part, dict):
            found += _scalars(part, f"{name}.")
        elif not isinstance(part, list):
            found.append((name, part))
        elif key in _JOINED:
            found.append((name, "; ".join(map(str, part)) or None))
    return found
