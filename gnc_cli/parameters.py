"""The declaration of a parameter: once, in a field of the call of its command.

    @dataclass(frozen=True)
    class Solve(Call):
        d: Annotated[int | None, Parameter("Dimension of the space.", whole(2))] = None

    @entry(Solve)
    def solve(call: Solve) -> SolveResult: ...

`io/arguments.py` makes the public function, which reads and checks every argument by its
declaration, so that Python callers and shells meet the same checks; `console/expose.py` makes the
options of a command from the same declarations. Errors name a parameter as its caller wrote it:
`--time-limit` in a shell, `time_limit` in Python.
"""

import contextlib
import inspect
import os
from collections.abc import Callable, Collection, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import PurePath
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Generic,
    TypeVar,
    Union,
    get_args,
    get_origin,
    overload,
)

from gnc_cli import parsing
from gnc_cli.errors import OutputError, UsageError

_In = TypeVar("_In")
_Out = TypeVar("_Out")
_without_option: ContextVar[frozenset[str] | None] = ContextVar("without_option", default=None)
"""In a shell, the parameters that are no options of the command; None in Python."""


@dataclass(frozen=True)
class Kind:
    """What values a parameter takes."""

    metavar: str | None
    """What stands for the value in help texts."""
    read: Callable[[Any], Any]
    """A value, or the text of one, to the value that the function works with.

    Raises:
        UsageError: it is not of this kind; the message begins with the value.
    """
    choices: type[StrEnum] | None = None
    noun: str = "a text"
    """What a value of the kind is, in messages."""


@dataclass(frozen=True)
class Parameter:
    """The declaration of one parameter, as metadata of its annotation."""

    help: str
    kind: Kind | None = None
    """None where the annotation says it (flags, texts, paths), and for what the function itself
    looks into: arrays."""
    group: str = "Options"
    """Heading of the option in a help text."""
    short: str | None = None
    """Other names of the option: `-d`, `--d -d`."""
    flag: str | None = None
    """The option where it is not the parameter's name: `--min`."""
    metavar: str | None = None
    """In place of the kind's."""
    repeatable: bool = False
    """The option may be given several times."""
    argument: bool = False
    """Given by its place in a command line, without an option's name."""
    in_shell: bool = True
    """Whether it is an option of the command; others are set in a file (`--config`)."""
    reads: bool = False
    """Names files that are read."""
    writes: tuple[str, ...] = ()
    """Names a file that is written, with one of these suffixes."""
    belongs_to: tuple[str, ...] = ()
    """Subjects of a call that it is about, by `Of` beside it."""

    def read(self, name: str, value: Any) -> Any:
        """The value that the function works with; None and arrays pass as they are.

        Raises:
            UsageError: names the parameter as its caller wrote it.
        """
        if isinstance(value, (bytes, bytearray, memoryview)):  # to Python they are whole numbers
            raise self.mistaken(name, value)
        if value is None or self.kind is None:
            return value
        try:
            return self.kind.read(value)
        except UsageError as error:
            raise UsageError(f"{self.named(name)} {error}") from None
        except (TypeError, ValueError, AttributeError, OverflowError):
            raise self.mistaken(name, value) from None

    def mistaken(self, name: str, value: object) -> UsageError:
        """The error of a value of another type."""
        noun = "a text or an array" if self.kind is None else self.kind.noun
        advice = "; arrays have names: measure(features=X, labels=y)" if self.argument else ""
        return UsageError(f"{self.named(name)} must be {noun}, got {parsing.shown(value)}{advice}")

    def named(self, name: str) -> str:
        """The parameter called `name` as its caller sees it: `--time-limit`, `FILES`."""
        in_command_line = _without_option.get() is not None
        return name.upper() if self.argument and in_command_line else spelled(name)

    def option(self, name: str, value: object = True) -> str:
        """The option of the parameter called `name`; of a pair `--a/--b` the one for `value`."""
        on, _, off = (self.flag or f"--{name.replace('_', '-')}").partition("/")
        return off if value is False and off else on


if TYPE_CHECKING:

    class Read(Generic[_In, _Out]):
        """The type of a field whose value is read from a wider one: `Read[In, Out]`.

        Callers may pass an `In`, the code reads an `Out`; `Read(default)` is its default.
        """

        def __init__(self, default: _In) -> None: ...

        @overload
        def __get__(self, instance: None, owner: type) -> _In: ...
        @overload
        def __get__(self, instance: object, owner: type) -> _Out: ...
        def __get__(self, instance: object | None, owner: type) -> Any: ...

        def __set__(self, instance: object, value: _In) -> None: ...

else:

    class Read:
        """What a type checker alone sees: an annotation is the wider type, a value itself."""

        def __class_getitem__(cls, types):
            return types[0]

        def __new__(cls, default):
            return default


class Of(tuple[str, ...]):
    """The subjects of a call that a parameter is about, beside its `Parameter`.

    >>> Annotated[int, Parameter("Starts."), Of("search")].__metadata__[1]
    ('search',)
    """

    def __new__(cls, *subjects: str) -> "Of":
        return super().__new__(cls, subjects)


def whole(least: int | None = None, most: int | None = None) -> Kind:
    """A whole number; `1e6` and `10.0` are whole."""
    return Kind(
        "INT", lambda value: parsing.integer(value, least=least, most=most), noun="a whole number"
    )


def wholes(least: int | None, most: int | None) -> Kind:
    """One or several whole numbers, each once: `3,5,8`, `2..64`, `[3, 5]`."""
    return Kind(
        "INTS",
        lambda value: tuple(parsing.integers(value, least=least, most=most)),
        noun="whole numbers",
    )


def real(
    least: float | None = None,
    most: float | None = None,
    above: float | None = None,
    below: float | None = None,
) -> Kind:
    """A finite number in a range."""
    limits = {"least": least, "most": most, "above": above, "below": below}
    return Kind("FLOAT", lambda value: parsing.number(value, **limits), noun="a number")


def reals(*, above: float, longest: int) -> Kind:
    """One or several finite numbers, up to `longest`: `1,0.5`, `1..0.001/13`, `[1.0, 0.5]`."""
    limits: dict[str, Any] = {"above": above, "longest": longest}
    return Kind("FLOATS", lambda value: tuple(parsing.numbers(value, **limits)), noun="numbers")


DURATION = Kind("TIME", parsing.seconds, noun="a number")
"""A time in seconds; in a shell also `90s`, `15m`, `2h`."""


def one_of(choices: type[StrEnum]) -> Kind:
    """A member of an enum, or its text."""

    def read(value: Any) -> StrEnum:
        try:
            return choices(value)
        except ValueError:
            raise UsageError(f"{parsing.shown(value)} is not one of {', '.join(choices)}") from None

    return Kind(None, read, choices)


def _flag(value: Any) -> bool:
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):  # also NumPy's
        return bool(value)
    raise TypeError


def _words(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return _not_empty(value)


def _path(value: Any) -> Any:
    _path_text(value)
    return value


def _path_text(value: Any) -> str:
    text = _words(os.fspath(value))
    check_current_folder(text)
    return text


def _paths(value: Any) -> tuple[str, ...]:
    several = [value] if isinstance(value, (str, os.PathLike)) else value
    return tuple(map(_path_text, several))


def _not_empty(value: str) -> str:
    if not value:
        raise UsageError("'' is empty; name something or leave it out")
    if "\0" in value:
        raise UsageError(f"{parsing.shown(value)} has a NUL character, which no name may have")
    return value


def implied_kind(annotation: Any) -> Kind | None:
    """What a declared parameter without a kind takes, by its type; None for arrays (`Any`)."""
    types = _types(annotation)
    if bool in types:
        return Kind(None, _flag, noun="True or False")
    if Any in types or str not in types:
        return None
    if os.PathLike in types:
        return Kind(None, _path, noun="the path of a file or folder")
    return Kind(None, _words)


def plain_signature(signature: inspect.Signature) -> inspect.Signature:
    """What `help` shows: the types alone, without the declarations."""
    plain = [
        parameter.replace(annotation=get_args(annotation)[0])
        if get_origin(annotation := parameter.annotation) is Annotated
        else parameter
        for parameter in signature.parameters.values()
    ]
    return signature.replace(parameters=plain)


def _types(annotation: Any) -> set[Any]:
    """The types that an annotation names, without what they are generic in."""
    if get_origin(annotation) in (Annotated, Union, UnionType):
        parts = get_args(annotation)
        parts = parts[:1] if get_origin(annotation) is Annotated else parts
        return {name for part in parts for name in _types(part)}
    return {get_origin(annotation) or annotation}


def _table(value: Any) -> Any:
    return value if hasattr(value, "entries") else _path_text(value)


PATH_TEXT = Kind(None, _path_text, noun="the path of a file or folder")
"""A path as a text."""
PATHS = Kind("FILES", _paths, noun="the path of a file, or several")
TABLE = Kind(None, _table, noun="a table of known codes or the path of one")


@dataclass(frozen=True)
class Lines:
    """What a file of lines would hold."""

    lines: tuple[str, ...]


def _lines(value: Any) -> Any:
    if isinstance(value, (str, os.PathLike)):
        return _path_text(value)
    return Lines(tuple(map(str, value)))


LINES = Kind(None, _lines, noun="a list, or the path of a file with one a line")


# What several commands share.
MOST_DIMENSIONS = 10**6
MOST_CLASSES = 10**8
"""With samples: sums of each class are held in memory."""
MOST_POINTS = 10**9
"""Of a code that is made, read or solved."""
MOST_PAIRS = 100_000
"""Pairs (d, K) in one call."""
MOST_SAMPLES = 10**9
"""Also of a batch, a class, or a search: starts, steps."""
MOST_THREADS = 1024
"""Or processes, of one command."""
Seed = Annotated[
    int,
    Parameter("Same seed, same machine: same result. Default 0.", whole(0), "Effort and machine"),
]
TimeLimit = Annotated[
    float | None,
    Parameter(
        "Wall time, 90 (seconds), 15m or 2h; the best so far is written when it ends. "
        "Default none.",
        DURATION,
        "Effort and machine",
    ),
]
Device = Annotated[
    str,
    Parameter(
        "auto, cpu, cuda or cuda:1. Default auto: the first GPU where there is one and the "
        "work is large enough for it, else the CPU.",
        Kind("DEVICE", parsing.device),
        "Effort and machine",
    ),
]
Threads = Annotated[
    int | None,
    Parameter(
        "CPU threads. Default adapts to the size of the problem.",
        whole(1, MOST_THREADS),
        "Effort and machine",
    ),
]
Workers = Annotated[
    int | None,
    Parameter(
        "Parallel processes, of one thread each. Default: one per core.",
        whole(1, MOST_THREADS),
        "Effort and machine",
    ),
]
Cluster = Annotated[
    str | None,
    Parameter(
        "Work on a cluster: tcp://host:8786, the address of a Dask scheduler. Needs "
        "gnc-cli[cluster].",
        Kind("URL", parsing.scheduler),
        "Effort and machine",
    ),
]
Path = str | os.PathLike[str]
CODE_SUFFIXES = (".h5", ".hdf5", ".npz", ".npy", ".safetensors", ".pt", ".txt", ".off")
"""What a code can be written as; `io/codefile.py` has a writer for each."""
Force = Annotated[bool, Parameter("Overwrite existing files.", group="Output")]
PublicTable = Annotated[
    Any,
    Parameter(
        "A current table of known codes, d,N,cosine per line, used with our copy. Default: the "
        "file in GNC_TABLE.",
        TABLE,
        "Known codes",
        metavar="FILE",
        reads=True,
    ),
]
Plot = Annotated[
    Path | None,
    Parameter(
        "Draw the result: .png, .svg or .pdf.",
        group="Output",
        metavar="FILE",
        writes=(".png", ".svg", ".pdf"),
    ),
]
PlotOrPage = Annotated[
    Path | None,
    Parameter(
        "Draw the result: .png, .svg or .pdf; .html is an interactive page (needs plotly).",
        group="Output",
        metavar="FILE",
        writes=(".png", ".svg", ".pdf", ".html"),
    ),
]


def annotations(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of a function, of a class with those of its bases, or of the call from which
    `entry` made a function.
    """
    owner: Any = getattr(function, "declaration", function)
    owners = reversed(owner.__mro__) if isinstance(owner, type) else [owner]
    return {
        name: annotation
        for each in owners
        for name, annotation in inspect.get_annotations(each).items()
    }


def declared(function: Callable[..., Any]) -> dict[str, Parameter]:
    """The declared parameters of a function, or the declared fields of a class, by name."""
    parameters = {}
    for name, annotation in annotations(function).items():
        if get_origin(annotation) is Annotated:
            parameter = next(a for a in get_args(annotation) if isinstance(a, Parameter))
            kind = parameter.kind or implied_kind(annotation)
            subjects = next((a for a in get_args(annotation) if isinstance(a, Of)), ())
            parameters[name] = replace(parameter, kind=kind, belongs_to=subjects)
    return parameters


def spelled(name: str, value: object = None) -> str:
    """A parameter as its caller wrote it, with a value where one is given.

    >>> spelled("time_limit"), spelled("d", 3)
    ('time_limit', 'd=3')
    """
    keys = _without_option.get()
    if keys is not None and name not in keys:
        option = f"--{name.replace('_', '-')}"
        return option if value is None or value is True else f"{option} {value}"
    shown = value.value if isinstance(value, StrEnum) else value
    return name if value is None else f"{name}={shown!r}"


def requires(name: str, condition: str, advice: str | None = None) -> UsageError:
    """Return the error of a parameter that means nothing without an option or a state.

    >>> str(requires("feature_norm", spelled("reach")))
    'feature_norm requires reach; add reach'
    """
    return UsageError(f"{spelled(name)} requires {condition}; {advice or f'add {condition}'}")


def excludes(name: str, other: str, advice: str = "keep one of them") -> UsageError:
    """Return the error of a parameter that contradicts another option, or a state.

    >>> str(excludes("duplicates", spelled("normalize", "off")))
    "duplicates excludes normalize='off'; keep one of them"
    """
    return UsageError(f"{spelled(name)} excludes {other}; {advice}")


@contextlib.contextmanager
def in_shell(*keys: str) -> Iterator[None]:
    """While this runs, `spelled` names options; not so `keys`, which only a file can set."""
    token = _without_option.set(frozenset(keys))
    try:
        yield
    finally:
        _without_option.reset(token)


def check_suffix(path: Path, suffixes: Collection[str], option: str = "", why: str = "") -> str:
    """The suffix of a file, in lower case.

    Raises:
        UsageError: it is none of `suffixes`; begins with the option, gives the reason `why`.
    """
    suffix = PurePath(path).suffix.lower()
    if suffix not in suffixes:
        one_of = "one of " if len(suffixes) > 1 else ""
        raise UsageError(
            f"{option} {os.fspath(path)!r} has no known suffix; {why}end it in {one_of}"
            f"{', '.join(suffixes)}".lstrip()
        )
    return suffix


def check_current_folder(path: Path = "") -> None:
    """Refuse a relative path where the current folder was deleted.

    Raises:
        OutputError: there is no current folder any more.
    """
    try:
        os.path.isabs(path) or os.getcwd()
    except FileNotFoundError as error:
        raise OutputError(
            "the current folder was deleted; change to another one (cd), and start again there"
        ) from error


def is_page(path: Path | None) -> bool:
    """Whether a picture is asked for as a page (.html)."""
    return path is not None and PurePath(path).suffix.lower() == ".html"
