"""Conversion of records to the types of JSON, and back.

Pydantic converts; it is loaded when a record is first written or read.
"""

import dataclasses
import math
from collections.abc import Callable
from functools import cache
from typing import Any

_LARGEST_INTEGER = 2**63
"""Bound of the integers that are written as such: readers of JSON seldom accept larger ones."""


@cache
def _adapter(kind: Any) -> Any:
    """Return the converter of lists of a type, which takes some milliseconds to build."""
    from pydantic import ConfigDict, TypeAdapter

    return TypeAdapter(list[kind], config=ConfigDict(arbitrary_types_allowed=True))


_STRICT_TYPES: dict[str, dict[str, Any]] = {
    "bool": {"strict": True},
    "float": {"strict": True, "allow_inf_nan": False},
    "int": {"strict": True, "lt": _LARGEST_INTEGER},
    "str": {"strict": True},
}
"""Options of pydantic for strict reading of numbers and texts: no `"2"` or True in place of 2."""


@cache
def _reader(kind: Any) -> Any:
    """Return the reader of lists of a type, which does not convert between numbers and texts."""
    from pydantic_core import SchemaValidator

    def exact(schema: Any) -> Any:
        if isinstance(schema, list):
            return [exact(part) for part in schema]
        if not isinstance(schema, dict):
            return schema
        limits = _STRICT_TYPES.get(str(schema.get("type")), {})
        return limits | {key: exact(part) for key, part in schema.items()}

    return SchemaValidator(exact(_adapter(kind).core_schema))


def plain(value: Any) -> Any:
    """Convert a value to the types of JSON: enums by value, records to objects, NaN to null.

    Integers beyond 2^63, which readers of JSON seldom accept, become floats.
    """
    kind: Any = type(value) if dataclasses.is_dataclass(value) else Any
    adapter = _adapter(kind)
    (converted,) = adapter.dump_python(
        [value], mode="json", warnings=False, fallback=lambda array: array.tolist()
    )
    return with_leaves(converted, _finite)


def with_leaves(value: Any, change: Callable[[Any], Any]) -> Any:
    """Apply `change` to each leaf of nested dictionaries and lists.

    >>> with_leaves({"a": [1, 2]}, str)
    {'a': ['1', '2']}
    """
    if isinstance(value, dict):
        return {key: with_leaves(part, change) for key, part in value.items()}
    if isinstance(value, list):
        return [with_leaves(part, change) for part in value]
    return change(value)


def _finite(value: Any) -> Any:
    if isinstance(value, int) and abs(value) >= _LARGEST_INTEGER:
        value = float(value) if value.bit_length() < 1024 else math.inf
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read_plain(kind: Any, value: Any, field: str = "") -> Any:
    """Convert the result of `plain` back to a value of the annotation `kind`, such as a record.

    Args:
        kind: a record, a plain type, a class, or lists, tuples, dictionaries and unions of these.
        value: the value in JSON or in a checkpoint.
        field: the dotted key of the value, for messages.

    Raises:
        ValueError: it is of another type; the message names the field.

    Example:
        >>> from gnc_cli.brackets import Bracket
        >>> read_plain(Bracket, {"lower": 0.5, "upper": 1.0})
        Bracket(lower=0.5, upper=1.0)
        >>> read_plain(Bracket, {"lower": 0.5, "upper": []})
        Traceback (most recent call last):
        ValueError: field 'upper': input should be a valid number, got []
    """
    from pydantic import ValidationError

    try:
        (read,) = _reader(kind).validate_python([value])
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(map(str, [*([field] if field else []), *first["loc"][1:]]))
        reason, wrong = (
            first["msg"][:1].lower() + first["msg"][1:],
            repr(first["input"])[:60],
        )
        raise ValueError(f"field {key[:60]!r}: {reason}, got {wrong}") from error
    except ArithmeticError as error:
        raise ValueError(str(error)) from error
    return read
