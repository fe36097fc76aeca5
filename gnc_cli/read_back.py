"""Records read back from JSON and checkpoints: the inverse of `records.plain`, nothing believed."""

import dataclasses
import math
import sys
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

_LARGEST = 2**63 - 1
"""Of whole numbers; a field of any type may hold more, as the state of a random generator does."""


def read_plain(kind: Any, value: Any, field: str = "") -> Any:
    """The inverse of `plain`: a value of the annotation `kind`, such as a record.

    What `plain` leaves out has its default, what an earlier version did not write is None where
    that may be, and null for a number is NaN.

    Args:
        kind: a record, a plain type, a class, or lists, tuples, dictionaries and unions of these.
        value: as JSON or a checkpoint has it.
        field: the dotted key of the value, for messages.

    Raises:
        ValueError: it is of another type, or a number beyond all bounds; names the field.

    Example:
        >>> from gnc_cli.records import Bracket
        >>> read_plain(Bracket | None, {"lower": 0.5, "upper": 1.0})
        Bracket(lower=0.5, upper=1.0)
        >>> read_plain(Bracket, {"lower": 0.5, "upper": "x"})
        Traceback (most recent call last):
        ValueError: field 'upper' must be float, got 'x'
    """
    origin, parts = get_origin(kind) or kind, get_args(kind)
    if kind is Any or (value is None and NoneType in parts):
        return value
    if origin in (Union, UnionType):
        return read_plain(next(part for part in parts if part is not NoneType), value, field)
    if origin is float and value is None:
        return math.nan
    if origin is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        if abs(value) <= sys.float_info.max:
            return float(value)
    if dataclasses.is_dataclass(origin) and isinstance(value, dict):
        return _read_record(origin, value, field)
    if origin in (tuple, list) and isinstance(value, (tuple, list)):
        kinds = [parts[0]] * len(value) if origin is list or parts[-1] is ... else parts
        if len(kinds) == len(value):
            return origin(
                read_plain(kind, item, _under(field, at))
                for at, (kind, item) in enumerate(zip(kinds, value, strict=True))
            )
    elif origin is dict and isinstance(value, dict):
        one = parts[1] if parts else Any
        return {key: read_plain(one, item, _under(field, key)) for key, item in value.items()}
    elif origin is Literal:
        if (type(value), value) in [(type(part), part) for part in parts]:
            return value
    elif issubclass(origin, Enum) and value in [member.value for member in origin]:
        return origin(value)
    elif origin is int and isinstance(value, int) and not isinstance(value, bool):
        if abs(value) <= _LARGEST:
            return value
    elif origin not in (int, float) and isinstance(value, origin):
        return value
    wanted = getattr(kind, "__name__", str(kind))
    raise ValueError(f"field {field!r} must be {wanted}, got {repr(value)[:60]}")


def _read_record(kind: Any, value: dict[str, Any], field: str) -> Any:
    hints = get_type_hints(kind)
    found = {}
    for each in dataclasses.fields(kind):
        if each.metadata.get("json", True) and each.name in value:
            inner = _under(field, each.name)
            found[each.name] = read_plain(hints[each.name], value[each.name], inner)
        elif each.default is each.default_factory is dataclasses.MISSING:
            if NoneType not in get_args(hints[each.name]):
                raise ValueError(f"field {_under(field, each.name)!r} is missing")
            found[each.name] = None
    try:
        return kind(**found)
    except ArithmeticError as error:
        raise ValueError(f"field {field!r}: {error}") from error


def _under(field: str, key: Any) -> str:
    return f"{field}.{key}" if field else str(key)
