"""Results: the base record, its rows, columns and tables, and the metadata of fields.

A record is a frozen dataclass: `plain.py` writes and reads it, `keys.py` describes its keys.
"""

import dataclasses
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, get_args, get_type_hints

from gnc_cli.brackets import Bracket
from gnc_cli.errors import import_extra
from gnc_cli.escaping import in_html
from gnc_cli.plain import plain

VIEWS: dict[str, Callable[[], Any]] = {}
"""Command -> function that imports its view. The folder of the command fills it (`__init__.py`),
which is loaded before any of its results is made."""
PLOTS: dict[str, Callable[[], Any]] = {}
"""Command -> function that imports the one that draws its results; filled like `VIEWS`."""

NOT_IN_JSON = {"exclude": True, "validation_alias": ""}
"""Metadata of a field for Python alone: arrays for plots, the code itself."""
SPREAD: dict[str, Any] = {"spread": ()}
"""Metadata of a field that holds a record: its keys are keys of the outer record in JSON, except
for those that the tuple names."""
OMITTED_IF_NONE = {"exclude_if": lambda value: value is None}
"""Metadata of a field that the JSON lacks if it is None."""
HIGHER, LOWER = ({"json_schema_extra": {"better": way}} for way in ("higher", "lower"))
"""Metadata of a number, or of a record of numbers: the better direction."""
LABEL: dict[str, Any] = {"label": True}
"""Metadata of a field that distinguishes rows."""
QUESTION: dict[str, Any] = {"question": ()}
"""Metadata of a field that must be equal in a baseline; a tuple that is not empty names the keys of
the field that must be."""
OFF_DASHBOARD: dict[str, Any] = {"aside": True}
"""Metadata of a field whose numbers do not appear on a dashboard."""
WORD: dict[str, Any] = {"word": True}
"""Metadata of a text: a dashboard has a 1 with the text as a label."""


@dataclass(frozen=True)
class Result:
    """Base of all results: `schema command version seconds` and the output formats."""

    seconds: float = field(metadata=LOWER, compare=False)
    """Wall time of the whole computation; results of unequal times can be equal."""
    version: str = field(metadata={"exclude": True})
    """Version of gnc that made it; rows of a result do not repeat it."""

    schema: ClassVar[int] = 1
    command: ClassVar[str] = ""
    csv_head: ClassVar[tuple[str, ...]] = ("schema", "command", "version")
    """Columns of CSV before those of the record of a line."""

    @property
    def first_keys(self) -> dict[str, Any]:
        """The first keys of the JSON."""
        return {"schema": self.schema, "command": self.command, "version": self.version}

    def to_json(self) -> dict[str, Any]:
        """Return a plain dictionary: Python scalars, lists, null for NaN, no arrays."""
        fields: dict[str, Any] = plain(self)
        seconds = fields.pop("seconds")
        return self.first_keys | fields | {"seconds": seconds}

    def dumps(self) -> str:
        """Return the JSON text that `--json` prints: one object, one line."""
        return json.dumps(self.to_json(), allow_nan=False)

    def flat(self, prefix: str = "gnc/") -> dict[str, Any]:
        """Return one level of keys for dashboards: `{'gnc/rho_one_vs_rest.lower': 0.66}`."""
        return {prefix + key: value for key, value in flatten(self.to_json()).items()}

    def __init_subclass__(cls) -> None:
        # A dataclass keeps a __repr__ of the class; the generated one would print every array.
        if "__repr__" not in cls.__dict__:
            cls.__repr__ = Result.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        """Return the class and its values, without arrays, rows and None."""
        values = {
            item.name: value.value if isinstance(value, Enum) else value
            for item in dataclasses.fields(self)
            if isinstance(value := getattr(self, item.name), (str, int, float, Enum, Bracket))
        }
        parts = [f"{k}={v!r}" for k, v in values.items() if k not in ("seconds", "version")]
        rows = [f"{len(self.rows)} rows"] if hasattr(self, "rows") else []
        return f"{type(self).__name__}({', '.join([*parts, *rows])})"

    def __str__(self) -> str:
        """Return the text that the command prints: tables, and messages such as warnings."""
        tables = filter(None, map(str, self._tables()))
        return "\n\n".join(["\n".join(tables).rstrip(), *self.messages])

    def _repr_html_(self) -> str:
        """Return the result for a notebook: tables, messages, and a hint at `to_json`."""
        parts = [t.html() for t in self._tables()] + [f"<p>{in_html(m)}</p>" for m in self.messages]
        return f"{''.join(parts)}<p><code>.to_json()</code> has every value</p>"

    def _tables(self) -> Any:
        return VIEWS[self.command]().view(self, False)

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Draw the result into a file, as `--plot` does.

        Args:
            path: .png, .svg or .pdf; a code of `solve` or `compare` also .html, a page with the
                code to turn. An existing file is replaced.

        Raises:
            UsageError: unknown suffix, or nothing to draw.
            OutputError: the file cannot be written.
        """
        PLOTS[self.command]()(self, path)

    def to_pandas(self) -> Any:
        """Return a data frame of the rows (needs the extra pandas)."""
        pandas = import_extra("pandas", "to_pandas()", "pandas")
        names, rows = self.csv_rows()
        return pandas.DataFrame(rows, columns=names)

    def lines(self) -> list[dict[str, Any]]:
        """Return the rows of CSV and JSON lines, each with the keys that all rows share."""
        return rows_of(self.to_json())

    def csv_rows(self) -> tuple[list[str], list[dict[str, Any]]]:
        """Return the columns of CSV, which depend on the kinds of lines alone, and the rows.

        Keys of records are dotted. A dictionary is one cell of JSON, a list of texts one text;
        tables inside a row are omitted.
        """
        from gnc_cli.keys import columns, properties

        names = [name for kind in self.line_kinds for name in columns(properties(kind))]
        names = list(dict.fromkeys([*self.csv_head, *names]))
        rows = [{name: _cell(look_up(line, name)) for name in names} for line in self.lines()]
        return names, rows

    @property
    def line_kinds(self) -> tuple[type, ...]:
        """Record types of `lines`."""
        return self.row_kinds() or (type(self),)

    @classmethod
    def row_kinds(cls) -> tuple[type, ...]:
        """Return the record types of `rows`; none if the result is one row itself."""
        item, *_ = get_args(get_type_hints(cls).get("rows")) or ((),)
        return get_args(item) or (item,) if item else ()

    @classmethod
    def judged_kinds(cls) -> tuple[type, ...]:
        """Return the record types of `judged_rows`."""
        return (*cls.row_kinds(), cls)

    @classmethod
    def marked(cls, mark: str) -> dict[str, Any]:
        """Return the keys of the result and its rows whose fields have `mark` in their metadata."""
        kinds = (*cls.judged_kinds(), cls)
        return {key: value for kind in kinds for key, value in marked(kind, mark).items()}

    def judged_rows(self) -> list[dict[str, Any]]:
        """Return the rows that gates and dashboards examine."""
        return rows_of(self.to_json())

    @property
    def title(self) -> str:
        """Heading of a report: the problem in a few words."""
        return ", ".join(
            f"{key} = {value:,}" if isinstance(value, int) else f"{key} = {value}"
            for key in ("problem", "d", "K")
            if (value := getattr(self, key, None))
        )

    @property
    def messages(self) -> tuple[str, ...]:
        """Further messages for the user, of one line each."""
        return ()

    @property
    def interrupted(self) -> bool:
        """True if a signal ended the computation early."""
        return self._has_outcome("interrupted")

    @property
    def target_missed(self) -> bool:
        """True if an explicit target was not reached."""
        return self._has_outcome("target_missed")

    def _has_outcome(self, outcome: str) -> bool:
        """Return True if the result, or one of its rows, has this outcome."""
        outcomes = [getattr(row, "outcome", None) for row in (self, *getattr(self, "rows", ()))]
        return outcome in [getattr(value, "value", value) for value in outcomes]

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Return the schema with which pydantic writes the keys of `SPREAD` records."""
        from pydantic_core.core_schema import wrap_serializer_function_ser_schema as wrapped

        schema = handler(source)
        definition = handler.resolve_ref_schema(schema)
        definition["serialization"] = wrapped(lambda record, write: cls.spread_out(write(record)))
        return schema

    @classmethod
    def spread_fields(cls) -> dict[str, tuple[str, ...]]:
        """Return the names of `SPREAD` records, each with the keys that it omits."""
        fields = dataclasses.fields(cls)
        return {item.name: item.metadata["spread"] for item in fields if "spread" in item.metadata}

    @classmethod
    def spread_out(cls, keys: dict[str, Any]) -> dict[str, Any]:
        """Return the keys of a result, with the keys of each `SPREAD` record in its place."""
        spread: dict[str, Any] = {}
        omitted = cls.spread_fields()
        for name, value in keys.items():
            parts = {name: value}
            if name in omitted:  # a key of both is that of the outer record
                skipped = {*spread, *omitted[name]}
                parts = {key: part for key, part in (value or {}).items() if key not in skipped}
            spread |= parts
        return spread


def marked(kind: type, mark: str) -> dict[str, Any]:
    """Return the keys of a record whose fields have `mark` in their metadata, with its value.

    Example:
        >>> from gnc_cli.search.result import UfmMeasures
        >>> [*marked(UfmMeasures, "question")]
        ['tau', 'weight_decay', 'n']
    """
    keys: dict[str, Any] = {}
    for item in dataclasses.fields(kind):
        if mark in item.metadata:
            keys[item.name] = item.metadata[mark]
        if "spread" in item.metadata:
            record, _ = get_args(get_type_hints(kind)[item.name])
            inner = marked(record, mark)
            keys |= {key: inner[key] for key in inner if key not in item.metadata["spread"]}
    return keys


def rows_of(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of a result's JSON, each with the shared keys; without rows, the result."""
    if not isinstance(result.get("rows"), list):
        return [result]
    shared = {k: v for k, v in result.items() if k not in ("rows", "seconds", "out")}
    return [shared | row for row in result["rows"] if isinstance(row, dict)]


def flatten(value: Any, *, lists: bool = True) -> dict[str, Any]:
    """Return nested dictionaries as one level of dotted keys.

    Args:
        value: a dictionary, as `to_json` returns it.
        lists: lists count as levels (`rows.0.d`). Otherwise a list of texts becomes one text, and
            tables inside a row are omitted.

    Example:
        >>> flatten({"gnc2": {"lower": 0.5}, "pairs": [{"a": 1}], "warnings": ["x", "y"]})
        {'gnc2.lower': 0.5, 'pairs.0.a': 1, 'warnings.0': 'x', 'warnings.1': 'y'}
        >>> flatten({"gnc2": {"lower": 0.5}, "pairs": [{"a": 1}], "warnings": ["x"]}, lists=False)
        {'gnc2.lower': 0.5, 'warnings': 'x'}
    """
    flat: dict[str, Any] = {}
    for key, part in value.items():
        if isinstance(part, list) and lists:
            part = {str(place): item for place, item in enumerate(part)}
        if isinstance(part, dict):
            flat |= {f"{key}.{k}": item for k, item in flatten(part, lists=lists).items()}
        elif not isinstance(part, list):
            flat[key] = part
        elif part and all(isinstance(item, str) for item in part):
            flat[key] = "; ".join(part)
    return flat


def look_up(row: Any, key: str) -> Any:
    """Return the value under a dotted key (`rows.0.gnc2.lower`), or None if there is none."""
    for part in key.split("."):
        if isinstance(row, dict):
            row = row.get(part)
        elif isinstance(row, list) and part.isdigit() and int(part) < len(row):
            row = row[int(part)]
        else:
            return None
    return row


def _cell(value: Any) -> Any:
    """Return the cell of CSV for a value."""
    if isinstance(value, dict):
        return json.dumps(value, allow_nan=False)
    return "; ".join(value) or None if isinstance(value, list) else value


def results(command: str) -> tuple[type[Result], ...]:
    """Return the records that a command prints, which are those that its view takes."""
    kinds = get_type_hints(VIEWS[command]().view)["result"]
    return get_args(kinds) or (kinds,)
