"""Table of `-v`: each value that the tables above do not show, explained by its field."""

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
"""Longest text in the column of values, in letters; a longer one, such as a source, stands in the
column of remarks."""
_STRIP = 48
"""Narrowest column of sentences, in letters; if there is less room, they stand below the values."""
_DIGITS = 9
"""Significant digits of a number; `--json` has all."""
_ENDS = {"lower": "higher", "upper": "lower"}
"""Beginning of a name -> better direction: proved ends are rounded outwards."""


def details(record: Any, tables: Sequence[Table], *skipped: str, title: str = "") -> Table:
    """Return the further values of a record: key of the JSON, value, explanation.

    The first sentence of the field's docstring explains a number; texts explain themselves.

    Args:
        record: a result, or a record in it.
        tables: tables above. The keys in their rows, and keys below these, are omitted.
        skipped: further keys that are omitted.
        title: title of a separate table with relative keys; it begins with the key of the record.
    """
    omitted = {*skipped, "seconds", "version"}
    omitted |= {str(row[t.keys]) for t in tables if t.keys is not None for row in t.rows}
    rows = [
        (Styled(key, "cyan"), value, Styled(remark, "dim"))
        for key, value, remark in _values(record, "", "")
        if not any(f"{key}.".startswith(f"{name}.") for name in omitted)
    ]
    return Table(
        title if rows else "",
        ("", "", ""),
        rows,
        text=frozenset({0, 1, 2}),
        remarks=2,
        strip=_STRIP,
    )


def _values(record: Any, prefix: str, better: str) -> Iterator[tuple[str, str, str]]:
    """Yield key, value and explanation of each value, except labels, which stand in a title."""
    texts = documents(type(record))
    for field in dataclasses.fields(record):
        value, key = getattr(record, field.name), prefix + field.name
        way = field.metadata.get("json_schema_extra", {}).get("better", better)
        way = _ENDS.get(field.name.partition("_")[0], way)
        if field.metadata.keys() & {"exclude", "label"}:
            continue
        if dataclasses.is_dataclass(value) and not isinstance(value, Bracket):
            yield from _values(value, prefix if "spread" in field.metadata else f"{key}.", way)
        elif text := format_value(value, way):
            words = isinstance(value, (str, Enum, tuple, dict))  # these explain themselves
            document = "" if words else texts.get(field.name, "")
            sentence = re.split(r"\. (?=[A-Z`])|; None\b", document)[0].rstrip(".")
            if words and len(text) > _WORD:
                text, sentence = "", text
            yield key, text, sentence.replace("`", "")


def format_value(value: Any, better: str = "") -> str:
    """Return a value in the format of its type; nothing for None, NaN and tables.

    A number with a `better` direction is rounded in the other one.

    Example:
        >>> format_value(0.66899868267649, "higher"), format_value({"lr": 0.1, "seed": (1, 2)})
        ('0.668998682', 'lr 0.1; seed 1, 2')
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
        return ", ".join(filter(None, map(format_value, value)))
    if isinstance(value, dict):
        items = {key: format_value(item) for key, item in value.items()}
        return "; ".join(f"{key} {item}" for key, item in items.items() if item)
    return str(value.value if isinstance(value, Enum) else value)
