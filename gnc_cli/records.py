"""What all results share: brackets, the base record, and the one way into JSON and back.

A record is a frozen dataclass. Pydantic turns it into JSON, reads it back and describes it
(`schemas.py`); it is loaded when a record is first written or read. What else is known of a figure
stands in the metadata of its field.
"""

import dataclasses
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from importlib import import_module
from typing import Annotated, Any, ClassVar, get_args, get_type_hints

from gnc_cli.errors import import_extra

_LARGEST_INTEGER = 2**63
"""Readers of JSON seldom take larger integers."""

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


class _NullIsNaN:
    """Reads the null that stands for a number that is not finite."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        from pydantic_core.core_schema import no_info_before_validator_function

        def number(value: Any) -> Any:
            return math.nan if value is None else value

        return no_info_before_validator_function(number, {**handler(source), "allow_inf_nan": True})


Number = Annotated[float, _NullIsNaN()]
"""A number that may be infinite or NaN, null in JSON."""


@dataclass(frozen=True)
class Bracket:
    """A certified interval: the true value lies in [lower, upper].

    A comparison is True where it is proved: of a bracket that straddles 0.6 neither `< 0.6` nor
    `> 0.6` is. `float()` is the middle, at most half the width away from the true value.

    Raises:
        ArithmeticError: lower is above upper, which is a mistake in this program.
    """

    lower: Number
    """Proved: the value is at least this."""
    upper: Number
    """Proved: the value is at most this."""

    def __post_init__(self) -> None:
        if self.lower > self.upper:
            raise ArithmeticError(
                f"lower end {self.lower!r} above upper end {self.upper!r}: a proof is wrong"
            )

    @property
    def width(self) -> float:
        """upper - lower."""
        return self.upper - self.lower

    def __float__(self) -> float:
        return self.lower + self.width / 2.0

    def __lt__(self, other: "Bracket | float") -> bool:
        return self.upper < getattr(other, "lower", other)

    def __le__(self, other: "Bracket | float") -> bool:
        return self.upper <= getattr(other, "lower", other)

    def __gt__(self, other: "Bracket | float") -> bool:
        return self.lower > getattr(other, "upper", other)

    def __ge__(self, other: "Bracket | float") -> bool:
        return self.lower >= getattr(other, "upper", other)

    def __format__(self, code: str) -> str:
        """`f"{gnc2:.4f}"`: one number where both ends read so, else `[lower, upper]`."""
        lower, upper = (format(end, code) for end in (self.lower, self.upper))
        return str(self) if not code else lower if lower == upper else f"[{lower}, {upper}]"

    def narrowed(self, other: "Bracket") -> "Bracket":
        """What two brackets of one value say together.

        Raises:
            ArithmeticError: they have no value in common.
        """
        return Bracket(max(self.lower, other.lower), min(self.upper, other.upper))


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
        table = import_module("gnc_cli.console.table")
        return str(table.printed(self._tables(), None)).rstrip()

    def _repr_html_(self) -> str:
        """The result in a notebook: what the command prints, and where every figure is."""
        sheet = "".join(table.html() for table in self._tables())
        return f"{sheet}<p><code>.to_json()</code> has every figure</p>"

    def _tables(self) -> Any:
        view = import_module(f"{type(self).__module__.rpartition('.')[0]}.view")
        return view.view(self, False)

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
        from gnc_cli.schemas import columns, properties

        own = [name for kind in self.line_kinds for name in columns(properties(kind))]
        names = list(dict.fromkeys([*self.csv_head, *own]))
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
        """The records that `judged` rows are made of."""
        return (*cls.row_kinds(), cls)

    @classmethod
    def marked(cls, mark: str) -> dict[str, Any]:
        """The keys of the result and its rows whose fields have `mark` in their metadata."""
        kinds = (*cls.judged_kinds(), cls)
        return {key: value for kind in kinds for key, value in marked(kind, mark).items()}

    def judged(self) -> list[dict[str, Any]]:
        """The rows that gates and dashboards look at."""
        return rows_of(self.to_json())

    @property
    def title(self) -> str:
        """What was asked, in a few words: the heading of a report."""
        named = {key: getattr(self, key, None) for key in ("problem", "d", "K")}
        texts = {k: f"{v:,}" if isinstance(v, int) else str(v) for k, v in named.items() if v}
        return ", ".join(f"{key} = {text}" for key, text in texts.items())

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
            if name not in left_out:
                spread[name] = value
                continue
            # What both have is the outer record's.
            without = {*spread, *left_out[name]}
            spread |= {key: part for key, part in (value or {}).items() if key not in without}
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


def _cell(value: Any) -> Any:
    """What stands in a column of CSV."""
    if isinstance(value, dict):
        return json.dumps(value, allow_nan=False)
    return "; ".join(value) or None if isinstance(value, list) else value


def read_plain(kind: Any, value: Any, field: str = "") -> Any:
    """The inverse of `plain`: a value of the annotation `kind`, such as a record.

    Args:
        kind: a record, a plain type, a class, or lists, tuples, dictionaries and unions of these.
        value: as JSON or a checkpoint has it.
        field: the dotted key of the value, for messages.

    Raises:
        ValueError: it is of another type; names the field.

    Example:
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
        if isinstance(part, list):
            if not lists:
                if part and all(isinstance(item, str) for item in part):
                    flat[key] = "; ".join(part)
                continue
            part = {str(place): item for place, item in enumerate(part)}
        if isinstance(part, dict):
            inner = flatten(part, lists=lists)
            flat |= {f"{key}.{name}": item for name, item in inner.items()}
        else:
            flat[key] = part
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
