"""What `-v` adds to a sheet: each figure that the sheet has not shown, explained by its field."""

import dataclasses
import re
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any

from gnc_cli.brackets import Bracket
from gnc_cli.console.table import Styled, Table
from gnc_cli.figures import count, format_bracket, rounded
from gnc_cli.keys import documents

_WORD = 16
"""Letters of the longest text that stands in the column of values; a longer one, such as a source,
stands in that of remarks."""
_STRIP = 48
"""Letters below which a strip of sentences would be narrow; they stand below the figures then."""
_DIGITS = 9
"""Significant digits of a number; `--json` has all."""
_ENDS = {"lower": "higher", "upper": "lower"}
"""Proved ends are rounded outwards: which direction is better, by the beginning of their names."""


def details(
    record: Any, tables: Sequence[Table], *skipped: str, prefix: str = "", title: str = ""
) -> Table:
    """Return the further figures of a record: key of the JSON, value, what it is.

    What a number is says the first sentence of the field's docstring; words explain themselves.

    Args:
        record: a result, or a record in it.
        tables: those that stand above. The keys in their rows, and what lies under them, are shown.
        skipped: further keys that are shown, or are no figures.
        prefix: what stands before the keys in the JSON, such as `best.0.`.
        title: the key of the record, above a table of its own; keys are then those within it.
    """
    shown = {*skipped, "seconds", "version"}
    shown |= {str(row[t.keys]) for t in tables if t.keys is not None for row in t.rows}
    rows = [
        (Styled(key, "cyan"), value, Styled(remark, "dim"))
        for key, value, remark in _figures(record, prefix, "")
        if not any(f"{key}.".startswith(f"{name}.") for name in shown)
    ]
    return Table(
        title if rows else "",
        ("", "", ""),
        rows,
        text=frozenset({0, 1, 2}),
        remarks=2,
        strip=_STRIP,
    )


def _figures(record: Any, prefix: str, better: str) -> Iterator[tuple[str, str, str]]:
    """Yield key, value and explanation of each figure; what tells rows apart stands in a title."""
    texts = documents(type(record))
    for field in dataclasses.fields(record):
        value, key = getattr(record, field.name), prefix + field.name
        way = field.metadata.get("json_schema_extra", {}).get("better", better)
        way = _ENDS.get(field.name.partition("_")[0], way)
        if field.metadata.keys() & {"exclude", "label"}:
            continue
        if dataclasses.is_dataclass(value) and not isinstance(value, Bracket):
            yield from _figures(value, prefix if "spread" in field.metadata else f"{key}.", way)
        elif text := written(value, way):
            words = isinstance(value, (str, Enum, tuple, dict))  # which explain themselves
            document = "" if words else texts.get(field.name, "")
            sentence = re.split(r"\. (?=[A-Z`])|; None\b", document)[0].rstrip(".")
            if words and len(text) > _WORD:
                text, sentence = "", text
            yield key, text, sentence.replace("`", "")


def written(value: Any, better: str = "") -> str:
    """Return a figure in the format of its type; nothing for null and for tables.

    A number of which one direction is `better` is rounded to the other.

    Example:
        >>> written(0.66899868267649, "higher"), written((5, 6000)), written({"lr": 0.1, "seed": 1})
        ('0.668998682', '5, 6,000', 'lr 0.1; seed 1')
    """
    if (
        value is None
        or value != value
        or dataclasses.is_dataclass(value) != isinstance(value, Bracket)
    ):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return count(value)
    if isinstance(value, Bracket):
        return format_bracket(value, _DIGITS)
    if isinstance(value, float):
        return rounded(value, better == "lower", _DIGITS) if better else f"{value:.{_DIGITS}g}"
    if isinstance(value, (tuple, list)):
        return ", ".join(filter(None, map(written, value)))
    if isinstance(value, dict):
        items = {key: written(item) for key, item in value.items()}
        return "; ".join(f"{key} {item}" for key, item in items.items() if item)
    return str(value.value if isinstance(value, Enum) else value)
