"""The keys of records, each with its JSON Schema, made by pydantic.

The docstring under a field describes it, and its schema also says which direction is better. The
columns of CSV and the keys of gates are read from these schemas.
"""

import ast
import dataclasses
import inspect
import itertools
import sys
from functools import cache
from typing import Any

from pydantic import ConfigDict, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema


@cache
def gate_keys(records: tuple[Any, ...]) -> dict[str, Any]:
    """Return the keys that a row of these results may have, each with its schema."""
    keys: dict[str, Any] = {}
    for record in records:
        head = first_keys(record)
        schemas = properties(record) | head
        keys |= head | {name: schemas[name] for name in record.csv_head}
        for kind in record.judged_kinds():
            keys = properties(kind) | keys
    return {name: schema for name, schema in keys.items() if name != "rows"}


def first_keys(record: Any) -> dict[str, Any]:
    """Return the first keys of a result, each with its schema."""
    return {
        "schema": {"const": record.schema},
        "command": {"const": record.command},
        "version": {"type": "string", "description": "Version of gnc that made it."},
    }


def properties(record: Any) -> dict[str, Any]:
    """Return the keys of a record, each with its schema, without references to other schemas."""
    schema = tuple_schema((record,))
    return dict(_resolve(schema["prefixItems"][0], schema["$defs"])["properties"])


def tuple_schema(records: Any) -> dict[str, Any]:
    """Return the schema of a tuple of these records: `prefixItems` and `$defs`."""
    config = ConfigDict(
        arbitrary_types_allowed=True,
        extra="forbid",
        json_schema_serialization_defaults_required=True,
    )
    schema = TypeAdapter(tuple[records], config=config).json_schema(
        mode="serialization", schema_generator=_Schemas
    )
    for definition in schema["$defs"].values():
        del definition["title"]
    return schema


class _Schemas(GenerateJsonSchema):
    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> dict[str, Any]:
        """Return the schema of a record, with its docstrings and the keys of `SPREAD` records."""
        result, record = super().dataclass_schema(schema), schema["cls"]
        result["description"] = (record.__doc__ or "").partition("\n")[0]
        keys = result["properties"]
        for name, text in documents(record).items():
            if name in keys:
                keys[name]["description"] = text
        if spread := getattr(record, "spread_fields", dict[str, Any])():
            for name in spread:
                inner = self.get_schema_from_definitions(keys[name]["anyOf"][0]["$ref"])
                keys[name] = (inner or {})["properties"]
            result["properties"] = record.spread_out(keys)
            result["required"] = [name for name in result["required"] if name not in spread]
        return result

    def float_schema(self, schema: core_schema.FloatSchema) -> dict[str, Any]:
        """Allow null, which stands for numbers that are not finite."""
        return {"type": ["number", "null"]}

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> dict[str, Any]:
        return self.generate_inner(schema["schema"])

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _resolve(part: Any, definitions: dict[str, Any]) -> Any:
    """Return a schema with definitions in place of references."""
    if isinstance(part, list):
        return [_resolve(item, definitions) for item in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        part = definitions[part["$ref"].rpartition("/")[2]] | part
    return {key: _resolve(item, definitions) for key, item in part.items() if key != "$ref"}


def documents(record: type) -> dict[str, str]:
    """Return the docstring under each field, including inherited fields."""
    texts: dict[str, str] = {}
    for base in filter(dataclasses.is_dataclass, reversed(record.__mro__)):
        body = _classes(base.__module__)[base.__name__]
        for field, string in itertools.pairwise(body):
            if isinstance(field, ast.AnnAssign) and isinstance(string, ast.Expr):
                texts[ast.unparse(field.target)] = " ".join(ast.literal_eval(string.value).split())
    return texts


@cache
def _classes(module: str) -> dict[str, list[ast.stmt]]:
    """Return the bodies of the classes of a module, which is parsed once."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {node.name: node.body for node in tree.body if isinstance(node, ast.ClassDef)}


def columns(keys: dict[str, Any]) -> list[str]:
    """Return the dotted keys that are columns of CSV, without those of tables inside a record.

    Args:
        keys: the keys of a record, each with its schema, see `properties`.
    """
    names: list[str] = []
    for name, schema in keys.items():
        for part in _alternatives(schema):
            if "properties" in part:
                names += [f"{name}.{inner}" for inner in columns(part["properties"])]
            elif part.get("items", {"type": "string"}).get("type") == "string":
                names.append(name)
    return names


def find_schemas(schema: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """Return the schemas under a dotted key; none if there is no such key.

    Example:
        >>> schema = {"properties": {"low": {"type": "number"}}}
        >>> find_schemas(schema, "low"), find_schemas(schema, "high")
        ([{'type': 'number'}], [])
    """
    if not key:
        return [schema]
    name, _, rest = key.partition(".")
    schemas: list[dict[str, Any]] = []
    for part in _alternatives(schema):
        if name in part.get("properties", {}):
            schemas += find_schemas(part["properties"][name], rest)
        elif "items" in part and name.isdigit():
            schemas += find_schemas(part["items"], rest)
        elif part.get("additionalProperties"):  # a dictionary
            values = part["additionalProperties"]
            schemas += find_schemas({} if values is True else values, rest)
        elif not part.keys() & {"type", "const", "properties"}:  # anything
            schemas.append(part)
    return schemas


def key_names(schema: dict[str, Any]) -> list[str]:
    """Return the dotted keys of a record, without those in dictionaries and lists.

    Example:
        >>> key_names({"properties": {"low": {"type": "number"}}})
        ['low']
    """
    names: list[str] = []
    for part in _alternatives(schema):
        for name, inner in part.get("properties", {}).items():
            names += [name, *(f"{name}.{rest}" for rest in key_names(inner))]
    return list(dict.fromkeys(names))


def better(keys: dict[str, Any], key: str) -> str | None:
    """Return the better direction, `higher` or `lower`, of the value under a dotted key."""
    names, direction = key.split("."), None
    for end in range(1, len(names) + 1):
        for schema in find_schemas({"properties": keys}, ".".join(names[:end])):
            direction = schema.get("better", direction)
    return direction


def _alternatives(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the types of a key that may have one of several, without null."""
    if "anyOf" not in schema:
        return [] if schema == {"type": "null"} else [schema]
    return [schema for part in schema["anyOf"] for schema in _alternatives(part)]
