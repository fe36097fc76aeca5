"""The arguments of a public function, read and checked by their declarations before it runs.

`entry` makes the function of a command from its call, a record whose fields are the declaration;
`validated` is for other functions, which are declared in their signature.
"""

import functools
import glob
import inspect
import os
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.util import find_spec
from typing import Any, ParamSpec, TypeVar

from gnc_cli.errors import UnavailableError, UsageError
from gnc_cli.parameters import (
    CODE_SUFFIXES,
    Parameter,
    check_current_folder,
    check_suffix,
    declared,
    plain_signature,
    spelled,
)
from gnc_cli.runtime.deadline import Progress
from gnc_cli.runtime.threads import default_settings

_P = ParamSpec("_P")
_Q = TypeVar("_Q")
_R = TypeVar("_R")
_NEEDS = {
    **dict.fromkeys((".png", ".svg", ".pdf"), ("matplotlib", "leave out the plot")),
    ".html": ("plotly", "choose .png or .svg"),
    ".parquet": ("pyarrow", "choose .csv or .h5"),
    ".pt": ("torch", "choose .h5 or .npz"),
}
"""Suffix of an output -> the package that writes it, and what to do without the package."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Call:
    """A call of a public function: what its caller said, each argument read by its declaration."""

    interrupt: threading.Event | None = None
    """Set from outside, it ends the call early."""
    progress: Progress | None = None

    def is_set(self, name: str) -> bool:
        """Return whether an argument differs from its default, None of arrays."""
        value, default = getattr(self, name), getattr(type(self), name)
        return value is not None and (default is None or value != default)

    def chosen(self, subject: str) -> list[str]:
        """Return the arguments that belong to a subject and differ from their defaults."""
        parameters = declared(type(self))
        return [n for n, p in parameters.items() if subject in p.belongs_to and self.is_set(n)]


def entry(request: Callable[_P, _Q]) -> Callable[[Callable[[_Q], _R]], Callable[_P, _R]]:
    """Make the public function of a command from its call.

    Files: no output may be another output or an input, and all must be writable; existing ones
    need a true `force` or `resume` among the arguments. None passes where it is the default.

    Args:
        request: the class of the call, a frozen dataclass with declared fields (`Parameter`). It
            is made of the arguments as they were read, and checks them against each other.
    """
    parameters, signature = declared(request), inspect.signature(request)

    def made(function: Callable[[_Q], _R]) -> Callable[_P, _R]:
        @functools.wraps(function)
        def called(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            bound = _read(function.__name__, signature, parameters, args, kwargs)
            return function(request(*bound.args, **bound.kwargs))

        _describe(called, function, parameters, signature)
        called.declaration = request  # type: ignore[attr-defined]
        return default_settings()(called)

    return made


def validated(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Let every declared argument be read and every file be checked before `function` runs."""
    parameters, signature = declared(function), inspect.signature(function)
    name = function.__qualname__.removesuffix(".__init__")

    @functools.wraps(function)
    def called(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        bound = _read(name, signature, parameters, args, kwargs)
        return function(*bound.args, **bound.kwargs)

    _describe(called, function, parameters, signature)
    # A network with its loader is the caller's, and runs under the caller's settings.
    return called if "loader" in signature.parameters else default_settings()(called)


def _read(
    called: str,
    signature: inspect.Signature,
    parameters: Mapping[str, Parameter],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> inspect.BoundArguments:
    """Read the arguments of a call by their declarations, and check its files.

    Raises:
        UsageError: an argument has no such name, or is not of its kind; see `check_files`.
    """
    for unknown in kwargs.keys() - signature.parameters.keys():
        from gnc_cli.io.catalogue import NAMES

        close = [role for role, tiers in NAMES.items() if unknown in sum(tiers, ())]
        close = [name for name in close if name in signature.parameters]
        close = close or get_close_matches(unknown, signature.parameters, 1)
        hint = f"did you mean {close[0]}?" if close else f"see help({called})"
        raise UsageError(f"{called}() has no argument {unknown!r}; {hint}")
    names = [p.name for p in signature.parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    bound = signature.bind(*args[: len(names)], **kwargs)
    for name, value in bound.arguments.items():
        if name in parameters:
            if value is None and signature.parameters[name].default is not None:
                raise parameters[name].mistaken(name, value)
            bound.arguments[name] = parameters[name].read(name, value)
    if len(args) > len(names):
        raise UsageError(
            f"{called}() takes {' and '.join(names)} by position; name the others, and give "
            "several of one as a list"
        )
    check_files(parameters, bound.arguments)
    return bound


def _describe(
    called: Callable[..., Any],
    function: Callable[..., Any],
    parameters: Mapping[str, Parameter],
    signature: inspect.Signature,
) -> None:
    """Give a public function its signature, and a docstring with all of its parameters."""
    called.__doc__ = _with_arguments(function.__doc__ or "", parameters)
    result = inspect.signature(function).return_annotation
    ordered = sorted(  # those by name: declared parameters first, in their order
        signature.parameters.values(),
        key=lambda p: (p.kind, p.kind is p.KEYWORD_ONLY and p.name not in parameters),
    )
    plain = signature.replace(parameters=ordered, return_annotation=result)
    called.__signature__ = plain_signature(plain)  # type: ignore[attr-defined]


def _with_arguments(text: str, parameters: Mapping[str, Parameter]) -> str:
    """A docstring with the declared parameters that it does not describe before the others."""
    text = inspect.cleandoc(text)
    lines = [f"    {n}: {p.help}\n" for n, p in parameters.items() if f"    {n}: " not in text]
    entries = re.sub(r"--([A-Za-z-]+)", lambda m: m[1].replace("-", "_"), "".join(lines))
    return text.replace("Args:\n", f"Args:\n{entries}", 1)


def check_files(parameters: Mapping[str, Parameter], values: Mapping[str, Any]) -> None:
    """Refuse before the work what could not be read or written after it.

    Args:
        parameters: declarations by name.
        values: arguments by name.

    Raises:
        UsageError: an output without a known suffix, or that is another output or an input;
            SOURCE_DATE_EPOCH is no time.
        OutputError: an existing file without `force` or `resume`, or an unwritable folder.
        UnavailableError: the package that writes an output is not installed.
    """
    written = {
        name: values[name]
        for name, parameter in parameters.items()
        if parameter.writes and values.get(name) is not None
    }
    if written.get("out") == "-" and parameters["out"].writes == CODE_SUFFIXES:
        del written["out"]  # a code goes to stdout
    if written or "SOURCE_DATE_EPOCH" in os.environ:
        from gnc_cli.io.code import creation_time

        creation_time()  # parts of NumPy read the variable as well
    if not written:
        return
    from gnc_cli.io.atomic import check_writable

    for name, value in written.items():
        check_current_folder(value)
        why = "rows on stdout are --csv, --json or --jsonl; " if value == "-" else ""
        suffix = check_suffix(value, parameters[name].writes, spelled(name), why)
        package, instead = _NEEDS.get(suffix, ("numpy", ""))
        if find_spec(package) is None:
            raise UnavailableError(
                f"{spelled(name)} {value!r} needs {package}; pip install {package}, or {instead}"
            )
    read = {p.label(n): values[n] for n, p in parameters.items() if p.reads and n in values}
    check_apart({spelled(name): value for name, value in written.items()}, read)
    force, resume = bool(values.get("force")), bool(values.get("resume"))
    for value in written.values():
        check_writable(value, force=force, resume=resume)


def check_apart(written: Mapping[str, Any], read: Mapping[str, Any] | None) -> None:
    """Refuse before the work that two of its files are one.

    Args:
        written: each output by its option, one or several; None where it was not asked for, `-` for
            stdout.
        read: each input by its option: a file, `FILE:key`, a glob, `-`, several of these, or
            anything that is no file, such as an array.

    Raises:
        UsageError: an output is another output or an input, by whatever name.
    """
    outputs = [(option, name) for option, path in written.items() for name in _names(path)]
    inputs = [(option, name) for option, value in (read or {}).items() for name in _names(value)]
    for at, (option, path) in enumerate(outputs):
        for other, earlier in outputs[:at]:
            if _same(path, earlier):
                raise UsageError(f"{other} and {option} both write {path!r}; give each its own")
        for other, name in inputs:
            if any(_same(path, file) for file in _files(name)):
                raise UsageError(
                    f"{option} {path!r} would overwrite the input {other} {name!r}; "
                    "write to another file"
                )


def _names(value: Any) -> list[str]:
    """The files among one or several values; arrays, numbers, stdin and stdout are none."""
    several = value if isinstance(value, (list, tuple)) else [value]
    named = [os.fspath(one) for one in several if isinstance(one, (str, os.PathLike))]
    return [name for name in named if name.partition(":")[0] != "-"]


def _files(name: str) -> list[str]:
    from gnc_cli.io.inputs import split_key

    path, _ = split_key(name)
    return glob.glob(path, recursive=True) if not os.path.exists(path) else [path]


def _same(a: str, b: str) -> bool:
    try:
        return os.path.samefile(a, b)
    except OSError:  # one of them is still to be made
        return os.path.realpath(a) == os.path.realpath(b)
