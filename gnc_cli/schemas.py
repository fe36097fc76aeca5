"""JSON Schemas (draft 2020-12) of the output of `--json`, and of certificates."""

from typing import Any

from gnc_cli import collapse, comparison, limits, search, training  # noqa: F401  they fill VIEWS
from gnc_cli.errors import UsageError
from gnc_cli.keys import first_keys, tuple_schema
from gnc_cli.limits.certificate import KINDS
from gnc_cli.records import VIEWS, results


def load(command: str) -> dict[str, Any]:
    """Return the schema of a command's JSON.

    Args:
        command: such as `solve`; or `certificate`, for the files of `gnc bounds --export`.

    Raises:
        UsageError: there is no such command.

    Example:
        >>> load("solve")["title"]
        'gnc solve --json'
    """
    if command == "certificate":
        return _schema("gnc certificate", tuple(record for record, _ in KINDS.values()))
    if command not in VIEWS:
        raise UsageError(f"{command!r} is not a command; choose one of {', '.join(sorted(VIEWS))}")
    schema = _schema(f"gnc {command} --json", results(command))
    shapes = []
    for record, reference in zip(results(command), schema["anyOf"], strict=True):
        shape = schema["$defs"][reference["$ref"].rpartition("/")[2]]
        head = first_keys(record)
        whole = {"properties": head | shape["properties"], "required": [*head, *shape["required"]]}
        shapes.append(shape | whole)
    return schema | {"anyOf": shapes}


def _schema(title: str, records: tuple[type, ...]) -> dict[str, Any]:
    """Return the schema of documents that are one of these records."""
    whole = tuple_schema(records)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "anyOf": whole["prefixItems"],
        "$defs": whole["$defs"],
    }
