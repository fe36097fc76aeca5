"""JSON Schemas (draft 2020-12) of what `--json` prints, generated from the records.

A record is a frozen dataclass: its fields, except hidden ones, are the keys; the docstring under a
field describes it. Pydantic turns the types of the fields into JSON Schema; what a record prints
beyond its fields (spread records, computed properties) is added here as `records.plain` does it.
"""

import ast
import dataclasses
import inspect
from importlib import import_module
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter

from gnc_cli.errors import UsageError
from gnc_cli.records import SCHEMA, Result

RESULTS = {
    "bounds": ("gnc_cli.limits.result", ("BoundsResult",)),
    "compare": ("gnc_cli.comparison.result", ("CompareResult",)),
    "measure": ("gnc_cli.collapse.result", ("MeasureResult", "MeasureSeries")),
    "solve": ("gnc_cli.search.result", ("SolveResult", "SolveSweep", "ConstructionList")),
    "train": ("gnc_cli.training.result", ("TrainResult", "TrainSeries")),
}
"""The records that each command prints."""


def load(command: str) -> dict[str, Any]:
    """The schema of a command's JSON.

    Args:
        command: such as `solve`.

    Raises:
        UsageError: there is none of that name.

    Example:
        >>> load("solve")["title"]
        'gnc solve --json'
    """
    if command not in RESULTS:
        raise UsageError(f"{command!r} is no command; choose one of {', '.join(RESULTS)}")
    module, names = RESULTS[command]
    generator = _Schemas()
    shapes = [generator.result(getattr(import_module(module), name)) for name in names]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"gnc {command} --json",
        "anyOf": shapes,
        "$defs": generator.definitions,
    }


class _Schemas:
    """The schemas of records, each once, under `definitions`."""

    def __init__(self) -> None:
        self.definitions: dict[str, Any] = {}

    def result(self, record: type[Result]) -> dict[str, Any]:
        """A whole result: with its head."""
        head = {
            "schema": {"const": SCHEMA},
            "command": {"const": record.command},
            "version": {"type": "string", "description": "Version of gnc that made it."},
        }
        inner = self.record(record)
        properties = {**head, **inner["properties"]}
        required = [*head, *inner["required"]]
        return {**inner, "properties": properties, "required": required}

    def record(self, record: type) -> dict[str, Any]:
        """The object that `records.plain` makes of a record."""
        hints, documents = get_type_hints(record), _documents(record)
        properties: dict[str, Any] = {}
        required: list[str] = []
        for field in dataclasses.fields(record):
            if field.name == "version" and issubclass(record, Result):
                continue
            if field.metadata.get("spread"):
                # As `records.plain` does: what both have is the outer record's.
                without = {*properties, *field.metadata["but"]}
                for part in _records_in(hints[field.name]):
                    spread = self.record(part)
                    new = [key for key in spread["properties"] if key not in without]
                    properties |= {key: spread["properties"][key] for key in new}
                    if not _optional(hints[field.name]):
                        required += [key for key in spread["required"] if key in new]
            elif field.metadata.get("json", True):
                properties[field.name] = self.value(hints[field.name])
                if field.name in documents:
                    properties[field.name]["description"] = documents[field.name]
                if not field.metadata.get("omitted"):
                    required.append(field.name)
        for name in getattr(record, "computed", ()):
            accessor = getattr(record, name)
            properties[name] = self.value(get_type_hints(accessor.fget)["return"])
            properties[name] |= {"description": accessor.__doc__ or ""}
            required.append(name)
        return {
            "type": "object",
            "description": (record.__doc__ or "").partition("\n")[0],
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        }

    def value(self, hint: Any) -> dict[str, Any]:
        """The schema of one type; records by reference."""
        if hint is NoneType:
            return {"type": "null"}
        if dataclasses.is_dataclass(hint) and isinstance(hint, type):
            if hint.__name__ not in self.definitions:
                self.definitions[hint.__name__] = {}  # a record may hold itself
                self.definitions[hint.__name__] = self.record(hint)
            return {"$ref": f"#/$defs/{hint.__name__}"}
        if get_origin(hint) in (Union, UnionType):
            return {"anyOf": [self.value(part) for part in get_args(hint)]}
        if get_origin(hint) in (tuple, list):
            inner = [part for part in get_args(hint) if part is not Ellipsis]
            return {"type": "array", "items": self.value(inner[0])} if inner else {"type": "array"}
        if hint is float:
            # What is not finite is printed as null.
            return {"type": ["number", "null"]}
        schema = TypeAdapter(hint).json_schema(mode="serialization")
        schema.pop("title", None)
        return schema


def _records_in(hint: Any) -> list[type]:
    parts = (hint, *get_args(hint))
    return [p for p in parts if isinstance(p, type) and dataclasses.is_dataclass(p)]


def _optional(hint: Any) -> bool:
    return NoneType in get_args(hint)


def _documents(record: type) -> dict[str, str]:
    """The docstring under each field, also of inherited ones."""
    found: dict[str, str] = {}
    for base in reversed(record.__mro__):
        if not dataclasses.is_dataclass(base):
            continue
        (tree,) = ast.parse(inspect.getsource(base)).body
        assert isinstance(tree, ast.ClassDef)
        for field, below in zip(tree.body, tree.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                text = getattr(getattr(below, "value", None), "value", None)
                if isinstance(below, ast.Expr) and isinstance(text, str):
                    found[field.target.id] = " ".join(text.split())
    return found
