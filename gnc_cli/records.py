"""What all results share: brackets, the base record, and the one way into JSON."""

import dataclasses
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from types import NoneType, UnionType
from typing import Any, ClassVar, Union, get_args, get_origin, get_type_hints

from gnc_cli.errors import UnavailableError

SCHEMA = 1
_HEAD = ("schema", "command", "version")
_LARGEST_INTEGER = 2**63
"""Readers of JSON seldom take larger integers."""


@dataclass(frozen=True)
class Bracket:
    """A certified interval: the true value lies in [lower, upper].

    A comparison is True where it is proved: of a bracket that straddles 0.6 neither `< 0.6` nor
    `> 0.6` is. `float()` is the middle.

    Raises:
        ArithmeticError: lower is above upper, which is a mistake in this program.
    """

    lower: float
    """Proved: the value is at least this."""
    upper: float
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

    @property
    def mid(self) -> float:
        """The middle, from which the true value is at most half the width away."""
        return self.lower + self.width / 2.0

    def __float__(self) -> float:
        return self.mid

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
class Rattlers:
    """How many rows lie above the minimum, by either distance; None where not computed."""

    one_vs_one: int | None
    """Rows whose nearest neighbour is farther than the smallest chord by more than `tolerance`."""
    one_vs_rest: int | None
    """Rows whose one-vs-rest distance exceeds the minimum by more than `tolerance`."""
    tolerance: float
    """Absolute, on distances."""


@dataclass(frozen=True)
class Margins:
    """The largest margins that losses on the sphere can satisfy for every class at once."""

    cosface: float
    """Additive cosine margin with features at their best: the certified lower end of rho."""
    arcface_rad: float
    """Additive angle: the smallest angle between two weights, radians; features on their weights
    attain it."""


@dataclass(frozen=True)
class BestKnown:
    """The best known code of (d, K), whichever command prints it."""

    max_cosine: float
    """Largest cosine of two of its rows."""
    figure: str
    """It as its source has it: a fraction where it is exact, else decimals, 15 at most."""
    source: str
    """Whom to cite: a theorem, the paper behind the table's entry, that of the construction; or
    that this project found it."""
    proven: bool
    """Proved optimal for this (d, K)."""
    kind: str
    """`theorem`, `table`, `construction` or `solved` (by this project)."""
    d: int
    """Dimension and size of the code; more points or fewer dimensions than asked where it holds
    one of that size."""
    K: int
    date: str | None
    """Of the source, or of the solve; None where the code is a theorem's or a construction."""
    table: str | None
    """The table of known codes that it is from, with its date: `our copy of 2026-11`; and what a
    table of the user's has, where it is not from there."""
    how: str | None
    """The command that found the code, where this project did."""


class ComparisonStatus(Enum):
    """Where a code stands beside the best known one."""

    MATCHES = "matches"
    """Equal within 1e-11 or the rounding of the table's figure, whichever is larger."""
    WORSE = "worse"
    IMPROVES = "improves"
    """Below the table's figure by more than its rounding, verified in rational arithmetic."""
    NO_ENTRY = "no_entry"


@dataclass(frozen=True)
class TableStamp:
    """Which table of known codes a comparison was made with."""

    rows: int
    """Number of codes in the table."""
    date: str
    """Year and month, or the file's own date (ISO)."""
    sha256: str
    """Checksum of the table's file, in hexadecimal digits."""
    current: bool
    """Given by the user as current (`--table`); our copy otherwise."""

    @property
    def title(self) -> str:
        """Which table, with its date."""
        return f"{'the table' if self.current else 'our copy'} of {self.date}"

    def __str__(self) -> str:
        return f"{self.title} (sha256 {self.sha256})"


HIDDEN = {"json": False}
"""Metadata of a field that is for Python alone: arrays for plots, the code itself."""
SPREAD: dict[str, Any] = {"spread": True, "but": ()}
"""Metadata of a field whose own fields, but some, stand beside the others in the JSON."""
OMITTED_IF_NONE = {"omitted": True}
"""Metadata of a field that the JSON lacks where it is None."""
HIGHER, LOWER = {"better": "higher"}, {"better": "lower"}
"""Metadata of a figure: which direction is better; of a record, that of its figures."""


@dataclass(frozen=True)
class Result:
    """What all results share: `schema command version seconds` and the ways out."""

    seconds: float = dataclasses.field(metadata=LOWER)
    """Wall time of the whole computation."""
    version: str
    """Version of gnc that made it."""

    command: ClassVar[str] = ""
    computed: ClassVar[tuple[str, ...]] = ()
    """Properties that stand in the JSON beside the fields."""
    labels: ClassVar[tuple[str, ...]] = ()
    """Keys of its samples that tell them apart, besides those of all commands."""
    csv_head: ClassVar[tuple[str, ...]] = _HEAD
    """Columns of CSV before those of the record of a line."""

    def to_json(self) -> dict[str, Any]:
        """Plain dictionary: Python scalars, lists, no NaN (null), no arrays."""
        body = {"schema": SCHEMA, "command": self.command, "version": self.version}
        fields = plain(self)
        seconds = fields.pop("seconds")
        return body | fields | {"seconds": seconds}

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
            field.name: plain(value) if isinstance(value, Enum) else value
            for field in dataclasses.fields(self)
            if isinstance(value := getattr(self, field.name), (str, int, float, Enum, Bracket))
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
        try:
            import pandas  # type: ignore[import-untyped,import-not-found,unused-ignore]
        except ImportError as error:
            lacking = "to_pandas() needs pandas; pip install 'gnc-cli[pandas]'"
            raise UnavailableError(lacking) from error
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
        own = [name for kind in self.line_kinds for name in _columns(kind)]
        names = list(dict.fromkeys([*self.csv_head, *own]))
        rows = [{name: _cell(look_up(line, name)) for name in names} for line in self.lines()]
        return names, rows

    @property
    def line_kinds(self) -> tuple[type, ...]:
        """The records that `lines` are made of."""
        return _row_kinds(type(self)) or (type(self),)

    @classmethod
    def gate_keys(cls) -> dict[str, Any]:
        """The keys of the rows that gates look at, each with its type."""
        found = {name: hint for name, hint in keys_of(cls).items() if name != "rows"}
        for kind in _row_kinds(cls):
            found |= keys_of(kind)
        return found

    def judged(self) -> list[dict[str, Any]]:
        """The rows that gates look at."""
        return self.lines()

    def samples(self) -> list[dict[str, Any]]:
        """The rows of a dashboard: figures, and what labels them."""
        return self.lines()

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
        rows = (self, *getattr(self, "rows", ()))
        return outcome in {plain(getattr(row, "outcome", None)) for row in rows}


def _records_in(hint: Any) -> tuple[type, ...]:
    """The records among the parts of an annotation."""
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return (hint,)
    return tuple(record for part in get_args(hint) for record in _records_in(part))


def _row_kinds(result: type) -> tuple[type, ...]:
    """The records of a result's `rows`; none where it is one row itself."""
    hint = get_type_hints(result).get("rows")
    return () if hint is None else _records_in(hint)


def keys_of(record: type) -> dict[str, Any]:
    """The keys that `plain` gives a record, of a result with its head, each with its type."""
    hints = get_type_hints(record)
    found: dict[str, Any] = {}
    if issubclass(record, Result):
        found |= {"schema": int, "command": str, "version": str}
    for field in dataclasses.fields(record):
        if field.metadata.get("spread"):
            without = {*found, *field.metadata["but"]}
            for inner in map(keys_of, _records_in(hints[field.name])):
                found |= {key: inner[key] for key in inner if key not in without}
        elif field.metadata.get("json", True):
            found[field.name] = hints[field.name]
    for name in getattr(record, "computed", ()):
        found[name] = get_type_hints(getattr(record, name).fget)["return"]
    return found


def better_of(record: type) -> dict[str, str]:
    """Which direction is better, `higher` or `lower`, of the figures of a record and of those
    inside it, by the name of the field."""
    found: dict[str, str] = {}
    hints = get_type_hints(record)
    for each in dataclasses.fields(record):
        for inner in _records_in(hints[each.name]):
            found |= better_of(inner)
        found |= {each.name: each.metadata["better"]} if "better" in each.metadata else {}
    return found


def _columns(kind: type) -> list[str]:
    """The dotted keys of a record's line that are columns of CSV."""
    names: list[str] = []
    for name, hint in keys_of(kind).items():
        inner = [column for record in _records_in(hint) for column in _columns(record)]
        if _is_list(hint):
            names += [name] if str in get_args(_bare(hint)) else []
        elif inner:
            names += [f"{name}.{column}" for column in inner]
        else:
            names.append(name)
    return list(dict.fromkeys(names))


def _cell(value: Any) -> Any:
    """What stands in a column of CSV."""
    if isinstance(value, dict):
        return json.dumps(value, allow_nan=False)
    return "; ".join(value) or None if isinstance(value, list) else value


def _bare(hint: Any) -> Any:
    """`X` of `X | None`."""
    if get_origin(hint) in (Union, UnionType):
        parts = [part for part in get_args(hint) if part is not NoneType]
        return parts[0] if len(parts) == 1 else hint
    return hint


def _is_list(hint: Any) -> bool:
    return get_origin(_bare(hint)) in (tuple, list)


def types_under(hint: Any, key: str) -> list[Any]:
    """The types that a dotted key leads to from a type; none where there is no such key.

    Example:
        >>> types_under(Bracket | None, "lower"), types_under(Bracket, "middle")
        ([<class 'float'>], [])
    """
    if not key:
        return [hint]
    part, _, rest = key.partition(".")
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return [found for each in parts for found in types_under(each, key)]
    if dataclasses.is_dataclass(hint):
        keys = keys_of(hint)  # type: ignore[arg-type]
        return types_under(keys[part], rest) if part in keys else []
    if hint is Any or dict in (hint, origin):
        return types_under(parts[1] if parts else Any, rest)
    return types_under(parts[0], rest) if origin in (tuple, list) and part.isdigit() else []


def key_names(hints: Iterable[Any]) -> list[str]:
    """The dotted keys of the records among some types; those in dictionaries are not known, those
    in lists not named.

    Example:
        >>> key_names([Bracket | None, float])
        ['lower', 'upper']
    """
    found: dict[str, None] = {}
    records = [r for hint in hints if not _is_list(hint) for r in _records_in(hint)]
    for record in records:
        for name, inner in keys_of(record).items():
            found |= dict.fromkeys([name, *(f"{name}.{part}" for part in key_names([inner]))])
    return list(found)


def plain(value: Any) -> Any:
    """`value` in JSON's own types: enums by value, records as objects, non-finite numbers null.

    Integers beyond 2^63, which readers of JSON seldom take, become floats.
    """
    if isinstance(value, Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _object(value)
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if hasattr(value, "tolist"):  # NumPy's arrays and scalars, without loading NumPy
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int) and abs(value) >= _LARGEST_INTEGER:
        return float(value)
    return value


def _object(record: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in dataclasses.fields(record):
        value = getattr(record, field.name)
        if field.name == "version":
            continue  # of the whole result; its rows do not repeat it
        if field.metadata.get("spread"):
            # What both have is the outer record's.
            without = {*found, *field.metadata["but"]}
            spread = {} if value is None else plain(value)
            found |= {k: v for k, v in spread.items() if k not in without}
        elif field.metadata.get("json", True) and not (
            value is None and field.metadata.get("omitted")
        ):
            found[field.name] = plain(value)
    return found | {name: plain(getattr(record, name)) for name in getattr(record, "computed", ())}


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
    found: dict[str, Any] = {}
    for key, part in value.items():
        if isinstance(part, list):
            if not lists:
                if part and all(isinstance(item, str) for item in part):
                    found[key] = "; ".join(part)
                continue
            part = {str(place): item for place, item in enumerate(part)}
        if isinstance(part, dict):
            inner = flatten(part, lists=lists)
            found |= {f"{key}.{name}": item for name, item in inner.items()}
        else:
            found[key] = part
    return found


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
