"""Results: the base record, its rows, columns and tables, and what the metadata of a field says.

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
from gnc_cli.plain import plain

VIEWS: dict[str, Callable[[], Any]] = {}
"""Command -> function that imports its view. The folder of the command fills it (`__init__.py`),
which is loaded before any of its results is made."""
PLOTS: dict[str, Callable[[], Any]] = {}
"""Command -> function that imports the one that draws its results; filled like `VIEWS`."""

HIDDEN = {"exclude": True, "validation_alias": ""}
"""Metadata of a field that is for Python alone: arrays for plots, the code itself."""
SPREAD: dict[str, Any] = {"spread": ()}
"""Metadata of a field that holds a record: its keys stand beside the others in the JSON, except
those that the tuple names."""
OMITTED_IF_NONE = {"exclude_if": lambda value: value is None}
"""Metadata of a field that the JSON lacks where it is None."""
HIGHER, LOWER = ({"json_schema_extra": {"better": way}} for way in ("higher", "lower"))
"""Metadata of a figure: which direction is better; of a record, that of its figures."""
LABEL: dict[str, Any] = {"label": True}
"""Metadata of a field that tells rows apart."""
QUESTION: dict[str, Any] = {"question": ()}
"""Metadata of a field that a baseline must share; a tuple that is not empty names the keys of the
field that count."""
ASIDE: dict[str, Any] = {"aside": True}
"""Metadata of a field whose numbers are no figures of a dashboard."""
WORD: dict[str, Any] = {"word": True}
"""Metadata of a text: a dashboard has a 1 with the text as a label."""


@dataclass(frozen=True)
class Result:
    """What all results share: `schema command version seconds` and the ways out."""

    seconds: float = field(metadata=LOWER, compare=False)
    """Wall time of the whole computation; no part of what makes two results equal."""
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
        """Plain dictionary: Python scalars, lists, no NaN (null), no arrays."""
        fields = plain(self)
        seconds = fields.pop("seconds")
        return self.first_keys | fields | {"seconds": seconds}

    def dumps(self) -> str:
        """The JSON text that `--json` prints: one object, one line."""
        return json.dumps(self.to_json(), allow_nan=False)

    def flat(self, prefix: str = "gnc/") -> dict[str, Any]:
        """One level, for dashboards: `{'gnc/rho_one_vs_rest.lower': 0.66}`."""
        return {prefix + key: value for key, value in flatten(self.to_json()).items()}

    def __init_subclass__(cls) -> None:
        # Dataclasses keep a __repr__ that a class brings; theirs would print every array.
        if "__repr__" not in cls.__dict__:
            cls.__repr__ = Result.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        """The class and its figures, without arrays, rows and what is None."""
        shown = {
            each.name: value.value if isinstance(value, Enum) else value
            for each in dataclasses.fields(self)
            if isinstance(value := getattr(self, each.name), (str, int, float, Enum, Bracket))
        }
        parts = [f"{k}={v!r}" for k, v in shown.items() if k not in ("seconds", "version")]
        rows = [f"{len(self.rows)} rows"] if hasattr(self, "rows") else []
        return f"{type(self).__name__}({', '.join([*parts, *rows])})"

    def __str__(self) -> str:
        """What the command prints."""
        return "\n".join(filter(None, map(str, self._tables()))).rstrip()

    def _repr_html_(self) -> str:
        """The result in a notebook: what the command prints, and where every figure is."""
        sheet = "".join(table.html() for table in self._tables())
        return f"{sheet}<p><code>.to_json()</code> has every figure</p>"

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
        """A data frame of the rows (needs the extra pandas)."""
        pandas = import_extra("pandas", "to_pandas()", "pandas")
        names, rows = self.csv_rows()
        return pandas.DataFrame(rows, columns=names)

    def lines(self) -> list[dict[str, Any]]:
        """The rows of CSV and JSON lines, each with what all rows share."""
        return rows_of(self.to_json())

    def csv_rows(self) -> tuple[list[str], list[dict[str, Any]]]:
        """The columns of CSV, the same for every result with lines of this kind, and the rows.

        Keys of records are dotted. A dictionary is one cell of JSON, a list of texts one text;
        tables inside a row are left out.
        """
        from gnc_cli.keys import columns, properties

        names = [name for kind in self.line_kinds for name in columns(properties(kind))]
        names = list(dict.fromkeys([*self.csv_head, *names]))
        rows = [{name: _cell(look_up(line, name)) for name in names} for line in self.lines()]
        return names, rows

    @property
    def line_kinds(self) -> tuple[type, ...]:
        """The records that `lines` are made of."""
        return self.row_kinds() or (type(self),)

    @classmethod
    def row_kinds(cls) -> tuple[type, ...]:
        """The records of `rows`; none where the result is one row itself."""
        item, *_ = get_args(get_type_hints(cls).get("rows")) or ((),)
        return get_args(item) or (item,) if item else ()

    @classmethod
    def judged_kinds(cls) -> tuple[type, ...]:
        """The records that `judged_rows` are made of."""
        return (*cls.row_kinds(), cls)

    @classmethod
    def marked(cls, mark: str) -> dict[str, Any]:
        """The keys of the result and its rows whose fields have `mark` in their metadata."""
        kinds = (*cls.judged_kinds(), cls)
        return {key: value for kind in kinds for key, value in marked(kind, mark).items()}

    def judged_rows(self) -> list[dict[str, Any]]:
        """The rows that gates and dashboards look at."""
        return rows_of(self.to_json())

    @property
    def title(self) -> str:
        """What was asked, in a few words: the heading of a report."""
        return ", ".join(
            f"{key} = {value:,}" if isinstance(value, int) else f"{key} = {value}"
            for key in ("problem", "d", "K")
            if (value := getattr(self, key, None))
        )

    @property
    def messages(self) -> tuple[str, ...]:
        """What a person must know besides: one line each."""
        return ()

    @property
    def interrupted(self) -> bool:
        """Whether a signal ended the computation early."""
        return self._ended("interrupted")

    @property
    def target_missed(self) -> bool:
        """Whether an explicit target was not reached."""
        return self._ended("target_missed")

    def _ended(self, outcome: str) -> bool:
        """Whether one of the rows, or the whole, ended so."""
        endings = [getattr(row, "outcome", None) for row in (self, *getattr(self, "rows", ()))]
        return outcome in [getattr(ending, "value", ending) for ending in endings]

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """How pydantic writes a result: with the keys of `SPREAD` records among its own."""
        from pydantic_core.core_schema import wrap_serializer_function_ser_schema as wrapped

        schema = handler(source)
        own = handler.resolve_ref_schema(schema)
        own["serialization"] = wrapped(lambda record, write: cls.spread_out(write(record)))
        return schema

    @classmethod
    def spread_fields(cls) -> dict[str, tuple[str, ...]]:
        """The names of `SPREAD` records, each with the keys that it leaves out."""
        fields = dataclasses.fields(cls)
        return {each.name: each.metadata["spread"] for each in fields if "spread" in each.metadata}

    @classmethod
    def spread_out(cls, keys: dict[str, Any]) -> dict[str, Any]:
        """The keys of a result, in place of each `SPREAD` record those of the record."""
        spread: dict[str, Any] = {}
        left_out = cls.spread_fields()
        for name, value in keys.items():
            parts = {name: value}
            if name in left_out:  # what both have is the outer record's
                without = {*spread, *left_out[name]}
                parts = {key: part for key, part in (value or {}).items() if key not in without}
            spread |= parts
        return spread


def marked(kind: type, mark: str) -> dict[str, Any]:
    """The keys of a record whose fields have `mark` in their metadata, each with what it says.

    Example:
        >>> from gnc_cli.search.result import UfmMeasures
        >>> [*marked(UfmMeasures, "question")]
        ['tau', 'weight_decay', 'n']
    """
    keys: dict[str, Any] = {}
    for each in dataclasses.fields(kind):
        if mark in each.metadata:
            keys[each.name] = each.metadata[mark]
        if "spread" in each.metadata:
            record, _ = get_args(get_type_hints(kind)[each.name])
            inner = marked(record, mark)
            keys |= {key: inner[key] for key in inner if key not in each.metadata["spread"]}
    return keys


def rows_of(result: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a result's JSON, each with the keys that all share; one row where it has none."""
    if not isinstance(result.get("rows"), list):
        return [result]
    shared = {k: v for k, v in result.items() if k not in ("rows", "seconds", "out")}
    return [shared | row for row in result["rows"] if isinstance(row, dict)]


def flatten(value: Any, *, lists: bool = True) -> dict[str, Any]:
    """One level under dotted keys.

    Args:
        value: a dictionary, as `to_json` gives it.
        lists: whether lists count as levels (`rows.0.d`). Without, a list of texts becomes one
            text, and tables inside a row are left out.

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
    """What stands under a dotted key (`rows.0.gnc2.lower`); None where nothing does."""
    for part in key.split("."):
        if isinstance(row, dict):
            row = row.get(part)
        elif isinstance(row, list) and part.isdigit() and int(part) < len(row):
            row = row[int(part)]
        else:
            return None
    return row


def _cell(value: Any) -> Any:
    """What stands in a column of CSV."""
    if isinstance(value, dict):
        return json.dumps(value, allow_nan=False)
    return "; ".join(value) or None if isinstance(value, list) else value


def results(command: str) -> tuple[type[Result], ...]:
    """Return the records that a command prints, which are those that its view takes."""
    taken = get_type_hints(VIEWS[command]().view)["result"]
    return get_args(taken) or (taken,)
