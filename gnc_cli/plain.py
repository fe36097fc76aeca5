"""JSON's own types: records written in them and read back.

Pydantic converts; it is loaded when a record is first written or read.
"""

import dataclasses
import math
from collections.abc import Callable
from functools import cache
from typing import Any

_LARGEST_INTEGER = 2**63
"""Readers of JSON seldom take larger integers."""


@cache
def _adapter(kind: Any) -> Any:
    """What reads and writes lists of a type; building it takes some milliseconds."""
    from pydantic import ConfigDict, TypeAdapter

    return TypeAdapter(list[kind], config=ConfigDict(arbitrary_types_allowed=True))


_EXACT: dict[str, dict[str, Any]] = {
    "bool": {"strict": True},
    "float": {"strict": True, "allow_inf_nan": False},
    "int": {"strict": True, "lt": _LARGEST_INTEGER},
    "str": {"strict": True},
}
"""Strict reading of numbers and texts: no `"2"` or True in place of 2."""


@cache
def _reader(kind: Any) -> Any:
    """What reads lists of a type; numbers and texts are not converted into each other."""
    from pydantic_core import SchemaValidator

    def exact(schema: Any) -> Any:
        if isinstance(schema, list):
            return [exact(part) for part in schema]
        if not isinstance(schema, dict):
            return schema
        limits = _EXACT.get(str(schema.get("type")), {})
        return limits | {key: exact(part) for key, part in schema.items()}

    return SchemaValidator(exact(_adapter(kind).core_schema))


def plain(value: Any) -> Any:
    """`value` in JSON's own types: enums by value, records as objects, non-finite numbers null.

    Integers beyond 2^63, which readers of JSON seldom take, become floats.
    """
    kind: Any = type(value) if dataclasses.is_dataclass(value) else Any
    adapter = _adapter(kind)
    (written,) = adapter.dump_python(
        [value], mode="json", warnings=False, fallback=lambda array: array.tolist()
    )
    return with_leaves(written, _finite)


def with_leaves(value: Any, change: Callable[[Any], Any]) -> Any:
    """`value` with `change` applied to each leaf of its nested dictionaries and lists.

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
    """The inverse of `plain`: a value of the annotation `kind`, such as a record.

    Args:
        kind: a record, a plain type, a class, or lists, tuples, dictionaries and unions of these.
        value: as JSON or a checkpoint has it.
        field: the dotted key of the value, for messages.

    Raises:
        ValueError: it is of another type; names the field.

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
