"""JSON Schemas (draft 2020-12) of what `--json` prints, made by pydantic from the records.

The docstring under a field describes it; which direction is better stands beside its type. The
columns of CSV and the keys of gates are read from these schemas.
"""

import ast
import dataclasses
import inspect
import itertools
from functools import cache
from importlib import import_module
from typing import Any

from pydantic import ConfigDict, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from gnc_cli.errors import UsageError

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
        command: such as `solve`; or `certificate`, for the files of `gnc bounds --export`.

    Raises:
        UsageError: there is none of that name.

    Example:
        >>> load("solve")["title"]
        'gnc solve --json'
    """
    if command == "certificate":
        return _certificates()
    if command not in RESULTS:
        raise UsageError(f"{command!r} is no command; choose one of {', '.join(RESULTS)}")
    described = _described(tuple[*results(command)])  # type: ignore[misc]
    shapes = []
    for record, reference in zip(results(command), described["prefixItems"], strict=True):
        shape = described["$defs"][reference["$ref"].rpartition("/")[2]]
        head = _head(record)
        whole = {"properties": head | shape["properties"], "required": [*head, *shape["required"]]}
        shapes.append(shape | whole)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"gnc {command} --json",
        "anyOf": shapes,
        "$defs": described["$defs"],
    }


def _certificates() -> dict[str, Any]:
    """The schema of the files that `gnc bounds --export` writes."""
    kinds = import_module("gnc_cli.limits.certificate").KINDS.values()
    records: Any = tuple(record for record, _ in kinds)
    described = _described(tuple[records])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "gnc certificate",
        "anyOf": described["prefixItems"],
        "$defs": described["$defs"],
    }


def results(command: str) -> list[Any]:
    """The records that a command prints."""
    module, names = RESULTS[command]
    return [getattr(import_module(module), name) for name in names]


@cache
def gate_keys(command: str) -> dict[str, Any]:
    """The keys that a row of the command's results may have, each with its schema."""
    keys: dict[str, Any] = {}
    for record in results(command):
        head = _head(record)
        own = properties(record) | head
        keys |= head | {name: own[name] for name in record.csv_head}
        for kind in record.judged_kinds():
            keys = properties(kind) | keys
    return {name: schema for name, schema in keys.items() if name != "rows"}


def marked_keys(command: str, mark: str) -> dict[str, Any]:
    """The keys of the command's results and rows whose fields have `mark` in their metadata."""
    return {k: v for record in results(command) for k, v in record.marked(mark).items()}


def _head(record: Any) -> dict[str, Any]:
    """The first keys of a result."""
    head = {name: {"const": getattr(record, name)} for name in ("schema", "command")}
    return head | {"version": {"type": "string", "description": "Version of gnc that made it."}}


def properties(record: Any) -> dict[str, Any]:
    """The keys of a record, each with its schema; records in it are written out."""
    described = _described(record)
    return _written_out(described, described["$defs"])["properties"]


def _described(kind: Any) -> dict[str, Any]:
    config = ConfigDict(
        arbitrary_types_allowed=True,
        extra="forbid",
        json_schema_serialization_defaults_required=True,
    )
    adapter = TypeAdapter(tuple[kind], config=config)
    schema = adapter.json_schema(mode="serialization", schema_generator=_Schemas)
    definitions = schema.get("$defs", {})
    for definition in definitions.values():
        del definition["title"]
    return {**schema["prefixItems"][0], "$defs": definitions}


class _Schemas(GenerateJsonSchema):
    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> dict[str, Any]:
        """A record: with the docstrings of its fields, and the keys of `SPREAD` records."""
        made, record = super().dataclass_schema(schema), schema["cls"]
        made["description"] = (record.__doc__ or "").partition("\n")[0]
        keys = made["properties"]
        for name, text in _documents(record).items():
            if name in keys:
                keys[name]["description"] = text
        if spread := getattr(record, "spread_fields", dict[str, Any])():
            for name in spread:
                inner = self.get_schema_from_definitions(keys[name]["anyOf"][0]["$ref"])
                keys[name] = (inner or {})["properties"]
            made["properties"] = record.spread_out(keys)
            made["required"] = [name for name in made["required"] if name not in spread]
        return made

    def float_schema(self, schema: core_schema.FloatSchema) -> dict[str, Any]:
        """What is not finite is printed as null."""
        return {"type": ["number", "null"]}

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> dict[str, Any]:
        return self.generate_inner(schema["schema"])

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _written_out(part: Any, definitions: dict[str, Any]) -> Any:
    """A schema with the definitions in place of their names."""
    if isinstance(part, list):
        return [_written_out(item, definitions) for item in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        part = definitions[part["$ref"].rpartition("/")[2]] | part
    return {key: _written_out(item, definitions) for key, item in part.items() if key != "$ref"}


def _documents(record: type) -> dict[str, str]:
    """The docstring under each field, also of inherited ones."""
    texts: dict[str, str] = {}
    for base in filter(dataclasses.is_dataclass, reversed(record.__mro__)):
        body = ast.parse(inspect.getsource(base)).body[0].body  # type: ignore[attr-defined]
        for field, below in itertools.pairwise(body):
            if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr):
                texts[ast.unparse(field.target)] = " ".join(ast.literal_eval(below.value).split())
    return texts


def columns(keys: dict[str, Any]) -> list[str]:
    """The dotted keys that are columns of CSV, not those of tables inside a record.

    Args:
        keys: those of a record, each with its schema, see `properties`.
    """
    names: list[str] = []
    for name, schema in keys.items():
        for part in _alternatives(schema):
            if "properties" in part:
                names += [f"{name}.{inner}" for inner in columns(part["properties"])]
            elif part.get("items", {"type": "string"}).get("type") == "string":
                names.append(name)
    return names


def under(schema: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """The schemas that a dotted key leads to; none where there is no such key.

    Example:
        >>> schema = {"properties": {"low": {"type": "number"}}}
        >>> under(schema, "low"), under(schema, "high")
        ([{'type': 'number'}], [])
    """
    if not key:
        return [schema]
    name, _, rest = key.partition(".")
    schemas: list[dict[str, Any]] = []
    for part in _alternatives(schema):
        if name in part.get("properties", {}):
            schemas += under(part["properties"][name], rest)
        elif "items" in part and name.isdigit():
            schemas += under(part["items"], rest)
        elif part.get("additionalProperties"):  # a dictionary
            values = part["additionalProperties"]
            schemas += under({} if values is True else values, rest)
        elif not part.keys() & {"type", "const", "properties"}:  # anything
            schemas.append(part)
    return schemas


def key_names(schema: dict[str, Any]) -> list[str]:
    """The dotted keys of a record; those in dictionaries are not known, those in lists not named.

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
    """Which direction is better, `higher` or `lower`, of the figure under a dotted key."""
    names, way = key.split("."), None
    for end in range(1, len(names) + 1):
        for schema in under({"properties": keys}, ".".join(names[:end])):
            way = schema.get("better", way)
    return way


def _alternatives(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """The types of a key that may be of several, without null."""
    if "anyOf" not in schema:
        return [] if schema == {"type": "null"} else [schema]
    return [each for part in schema["anyOf"] for each in _alternatives(part)]
