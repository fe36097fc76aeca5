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

_Input = TypeVar("_Input")
_Output = TypeVar("_Output")
_without_option: ContextVar[frozenset[str] | None] = ContextVar("without_option", default=None)
"""Parameters that are not options of the command, in a shell; None in Python."""


@dataclass(frozen=True)
class Kind:
    """Values that a parameter takes."""

    metavar: str | None
    """Placeholder of the value in help texts."""
    read: Callable[[Any], Any]
    """Function that converts a value, or the text of one, to the value that the code uses.

    Raises:
        UsageError: it is not of this kind; the message begins with the value.
    """
    choices: type[StrEnum] | None = None
    noun: str = "a text"
    """Noun for a value of the kind, in messages."""


@dataclass(frozen=True)
class Parameter:
    """The declaration of one parameter, as metadata of its annotation."""

    help: str
    kind: Kind | None = None
    """Kind of the values. None if the annotation implies it (flags, texts, paths), and for arrays,
    which the function checks itself."""
    group: str = "Options"
    """Heading of the option in a help text."""
    short: str | None = None
    """Other names of the option: `-d`, `--d -d`."""
    flag: str | None = None
    """The option if it differs from the parameter's name: `--min`."""
    metavar: str | None = None
    """Placeholder of the value in place of the kind's."""
    repeatable: bool = False
    """True if the option may be given several times."""
    argument: bool = False
    """True if a command line gives it by its position, without an option's name."""
    in_shell: bool = True
    """True if it is an option of the command; others are set in a file (`--config`)."""
    reads: bool = False
    """True if it names files that are read."""
    writes: tuple[str, ...] = ()
    """Suffixes of the file that it names, if that is written."""
    belongs_to: tuple[str, ...] = ()
    """Subjects of a call to which it belongs, from the `Subjects` of its annotation."""

    def read(self, name: str, value: Any) -> Any:
        """Return the value that the code uses; None and arrays stay unchanged.

        Raises:
            UsageError: the value is not of the kind; the message names the parameter.
        """
        if isinstance(value, (bytes, bytearray, memoryview)):  # Python iterates over them as ints
            raise self.mistaken(name, value)
        if value is None or self.kind is None:
            return value
        try:
            return self.kind.read(value)
        except UsageError as error:
            raise UsageError(f"{self.label(name)} {error}") from None
        except (TypeError, ValueError, AttributeError, OverflowError):
            raise self.mistaken(name, value) from None

    def mistaken(self, name: str, value: object) -> UsageError:
        """Return the error of a value of another type."""
        noun = "a text or an array" if self.kind is None else self.kind.noun
        advice = "; arrays have names: measure(features=X, labels=y)" if self.argument else ""
        return UsageError(f"{self.label(name)} must be {noun}, got {parsing.quote(value)}{advice}")

    def label(self, name: str) -> str:
        """Return the parameter called `name` as its caller sees it: `--time-limit`, `FILES`."""
        in_command_line = _without_option.get() is not None
        return name.upper() if self.argument and in_command_line else spelled(name)

    def option(self, name: str, value: object = True) -> str:
        """Return the option of a parameter; of a pair `--a/--b` the second if value is False."""
        positive, _, negative = (self.flag or f"--{name.replace('_', '-')}").partition("/")
        return negative if value is False and negative else positive


if TYPE_CHECKING:

    class Read(Generic[_Input, _Output]):
        """The type of a field whose value is read from a wider one: `Read[Input, Output]`.

        Callers may pass an `Input`, the code gets an `Output`; `Read(default)` is its default.
        """

        def __init__(self, default: _Input) -> None: ...

        @overload
        def __get__(self, instance: None, owner: type) -> _Input: ...
        @overload
        def __get__(self, instance: object, owner: type) -> _Output: ...
        def __get__(self, instance: object | None, owner: type) -> Any: ...

        def __set__(self, instance: object, value: _Input) -> None: ...

else:

    class Read:
        """Substitute at run time: an annotation is the wider type, a value is itself."""

        def __class_getitem__(cls, types):
            """Return the wider type."""
            return types[0]

        def __new__(cls, default):
            """Return the default."""
            return default


class Subjects(tuple[str, ...]):
    """The subjects of a call to which a parameter belongs, after its `Parameter`.

    >>> Annotated[int, Parameter("Starts."), Subjects("search")].__metadata__[1]
    ('search',)
    """

    def __new__(cls, *subjects: str) -> "Subjects":
        """Return the subjects as a tuple."""
        return super().__new__(cls, subjects)


def whole(minimum: int | None = None, maximum: int | None = None) -> Kind:
    """Return the kind of a whole number; `1e6` and `10.0` are whole."""
    return Kind(
        "INT",
        lambda value: parsing.integer(value, minimum=minimum, maximum=maximum),
        noun="a whole number",
    )


def wholes(minimum: int | None, maximum: int | None) -> Kind:
    """Return the kind of one or several distinct whole numbers: `3,5,8`, `2..64`, `[3, 5]`."""
    return Kind(
        "INTS",
        lambda value: tuple(parsing.integers(value, minimum=minimum, maximum=maximum)),
        noun="whole numbers",
    )


def real(
    minimum: float | None = None,
    maximum: float | None = None,
    greater_than: float | None = None,
    less_than: float | None = None,
) -> Kind:
    """Return the kind of a finite number in a range."""
    limits = {
        "minimum": minimum,
        "maximum": maximum,
        "greater_than": greater_than,
        "less_than": less_than,
    }
    return Kind("FLOAT", lambda value: parsing.number(value, **limits), noun="a number")


def reals(*, greater_than: float, max_count: int) -> Kind:
    """Return the kind of one or several finite numbers: `1,0.5`, `1..0.001/13`, `[1.0, 0.5]`."""
    limits: dict[str, Any] = {"greater_than": greater_than, "max_count": max_count}
    return Kind("FLOATS", lambda value: tuple(parsing.numbers(value, **limits)), noun="numbers")


DURATION = Kind("TIME", parsing.seconds, noun="a number")
"""Kind of a time in seconds; in a shell also `90s`, `15m`, `2h`."""


def one_of(choices: type[StrEnum]) -> Kind:
    """Return the kind of a member of an enum, or of its text."""

    def read(value: Any) -> StrEnum:
        try:
            return choices(value)
        except ValueError:
            raise UsageError(f"{parsing.quote(value)} is not one of {', '.join(choices)}") from None

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
    paths = [value] if isinstance(value, (str, os.PathLike)) else value
    return tuple(map(_path_text, paths))


def _not_empty(value: str) -> str:
    if not value:
        raise UsageError("'' is empty; name something or leave it out")
    if "\0" in value:
        raise UsageError(f"{parsing.quote(value)} has a NUL character, which no name may have")
    return value


def implied_kind(annotation: Any) -> Kind | None:
    """Return the kind that an annotation implies: flag, text or path; None for arrays (`Any`)."""
    types = _types(annotation)
    if bool in types:
        return Kind(None, _flag, noun="True or False")
    if Any in types or str not in types:
        return None
    if os.PathLike in types:
        return Kind(None, _path, noun="the path of a file or folder")
    return Kind(None, _words)


def plain_signature(signature: inspect.Signature) -> inspect.Signature:
    """Return a signature for `help`: the types alone, without the declarations."""
    plain = [
        parameter.replace(annotation=get_args(annotation)[0])
        if get_origin(annotation := parameter.annotation) is Annotated
        else parameter
        for parameter in signature.parameters.values()
    ]
    return signature.replace(parameters=plain)


def _types(annotation: Any) -> set[Any]:
    """Return the types of an annotation, without their type arguments."""
    if get_origin(annotation) in (Annotated, Union, UnionType):
        parts = get_args(annotation)
        parts = parts[:1] if get_origin(annotation) is Annotated else parts
        return {name for part in parts for name in _types(part)}
    return {get_origin(annotation) or annotation}


def _table(value: Any) -> Any:
    return value if hasattr(value, "entries") else _path_text(value)


PATH_TEXT = Kind(None, _path_text, noun="the path of a file or folder")
"""Kind of a path, read as a text."""
PATHS = Kind("FILES", _paths, noun="the path of a file, or several")
TABLE = Kind(None, _table, noun="a table of known codes or the path of one")


@dataclass(frozen=True)
class Lines:
    """Lines of a text file, given as a list."""

    lines: tuple[str, ...]


def _lines(value: Any) -> Any:
    if isinstance(value, (str, os.PathLike)):
        return _path_text(value)
    return Lines(tuple(map(str, value)))


LINES = Kind(None, _lines, noun="a list, or the path of a file with one a line")


# Parameters and limits that several commands share. A larger number is taken for a slip of the
# keyboard: no machine of today could finish the work.
MOST_DIMENSIONS = 10**6
"""Largest dimension of a space."""
MOST_CLASSES = 10**8
"""Largest number of classes of samples: the sums of each class are kept in memory."""
MOST_POINTS = 10**9
"""Largest number of points of a code that is made, read or solved."""
MOST_PAIRS = 100_000
"""Largest number of pairs (d, K) in one call."""
MOST_SAMPLES = 10**9
"""Largest number of samples, also of a batch or a class; of starts or steps of a search."""
MOST_THREADS = 1024
"""Largest number of threads or processes of one command."""
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
"""Suffixes of files that a code can be written to; `io/codefile.py` has a writer for each."""
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
    """Return the annotations of a function, or of a class with those of its bases.

    Those of a function that `entry` made are the ones of its call.
    """
    owner: Any = getattr(function, "declaration", function)
    owners = reversed(owner.__mro__) if isinstance(owner, type) else [owner]
    return {
        name: annotation
        for scope in owners
        for name, annotation in inspect.get_annotations(scope).items()
    }


def declared(function: Callable[..., Any]) -> dict[str, Parameter]:
    """Return the declared parameters of a function, or the declared fields of a class, by name."""
    parameters = {}
    for name, annotation in annotations(function).items():
        if get_origin(annotation) is Annotated:
            parameter = next(a for a in get_args(annotation) if isinstance(a, Parameter))
            kind = parameter.kind or implied_kind(annotation)
            subjects = next((a for a in get_args(annotation) if isinstance(a, Subjects)), ())
            parameters[name] = replace(parameter, kind=kind, belongs_to=subjects)
    return parameters


def spelled(name: str, value: object = None) -> str:
    """Return a parameter as its caller wrote it, with its value if that is given.

    >>> spelled("time_limit"), spelled("d", 3)
    ('time_limit', 'd=3')
    """
    keys = _without_option.get()
    if keys is not None and name not in keys:
        option = f"--{name.replace('_', '-')}"
        return option if value is None or value is True else f"{option} {value}"
    content = value.value if isinstance(value, StrEnum) else value
    return name if value is None else f"{name}={content!r}"


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
    """Make `spelled` name options in the block, except for `keys`, which only a file can set."""
    token = _without_option.set(frozenset(keys))
    try:
        yield
    finally:
        _without_option.reset(token)


def check_suffix(path: Path, suffixes: Collection[str], option: str = "", reason: str = "") -> str:
    """Return the suffix of a file, in lower case.

    Args:
        path: the file.
        suffixes: allowed suffixes.
        option: begins the message.
        reason: stands before the advice in the message.

    Raises:
        UsageError: the suffix is not one of `suffixes`.
    """
    suffix = PurePath(path).suffix.lower()
    if suffix not in suffixes:
        one_of = "one of " if len(suffixes) > 1 else ""
        raise UsageError(
            f"{option} {os.fspath(path)!r} has no known suffix; {reason}end it in {one_of}"
            f"{', '.join(suffixes)}".lstrip()
        )
    return suffix


def check_current_folder(path: Path = "") -> None:
    """Refuse a relative path if the current folder was deleted.

    Raises:
        OutputError: the current folder does not exist.
    """
    try:
        os.path.isabs(path) or os.getcwd()
    except FileNotFoundError as error:
        raise OutputError(
            "the current folder was deleted; change to another one (cd), and start again there"
        ) from error


def is_page(path: Path | None) -> bool:
    """Return True if a plot is requested as a page (.html)."""
    return path is not None and PurePath(path).suffix.lower() == ".html"
