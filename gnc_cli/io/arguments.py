"""Arguments of public functions, read and checked by their declarations before the function runs.

`entry` makes the function of a command from its call, a record whose fields are the declarations.
`validated` is for other functions, whose signatures hold the declarations.
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
_PACKAGES = {
    **dict.fromkeys((".png", ".svg", ".pdf"), ("matplotlib", "leave out the plot")),
    ".html": ("plotly", "choose .png or .svg"),
    ".parquet": ("pyarrow", "choose .csv or .h5"),
    ".pt": ("torch", "choose .h5 or .npz"),
}
"""Package that writes an output, and the next step without it, by suffix."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Call:
    """Call of a public function, with each argument read by its declaration."""

    interrupt: threading.Event | None = None
    """Event that another thread sets to end the call early."""
    progress: Progress | None = None
    """Callback for the progress of the call."""

    def is_set(self, name: str) -> bool:
        """Return whether an argument differs from its default, which is None for arrays."""
        value, default = getattr(self, name), getattr(type(self), name)
        return value is not None and (default is None or value != default)

    def changed_arguments(self, subject: str) -> list[str]:
        """Return the arguments that belong to a subject and differ from their defaults."""
        parameters = declared(type(self))
        return [n for n, p in parameters.items() if subject in p.belongs_to and self.is_set(n)]


def entry(request: Callable[_P, _Q]) -> Callable[[Callable[[_Q], _R]], Callable[_P, _R]]:
    """Make the public function of a command from its call.

    Files: no output may be another output or an input, and all must be writable. Existing ones
    require a true `force` or `resume` among the arguments. None is valid where it is the default.

    Args:
        request: class of the call, a frozen dataclass with declared fields (`Parameter`). It is
            created from the arguments that were read, and checks them against each other.
    """
    parameters, signature = declared(request), inspect.signature(request)

    def decorate(function: Callable[[_Q], _R]) -> Callable[_P, _R]:
        @functools.wraps(function)
        def wrapper(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            bound = _read(function.__name__, signature, parameters, args, kwargs)
            return function(request(*bound.args, **bound.kwargs))

        _describe(wrapper, function, parameters, signature)
        wrapper.declaration = request  # type: ignore[attr-defined]
        return default_settings()(wrapper)

    return decorate


def validated(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Wrap a function: declared arguments are read and files are checked before it runs."""
    parameters, signature = declared(function), inspect.signature(function)
    name = function.__qualname__.removesuffix(".__init__")

    @functools.wraps(function)
    def wrapper(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        bound = _read(name, signature, parameters, args, kwargs)
        return function(*bound.args, **bound.kwargs)

    _describe(wrapper, function, parameters, signature)
    # A network and its loader belong to the caller, and run under the caller's settings.
    return wrapper if "loader" in signature.parameters else default_settings()(wrapper)


def _read(
    function: str,
    signature: inspect.Signature,
    parameters: Mapping[str, Parameter],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> inspect.BoundArguments:
    """Read the arguments of a call by their declarations, and check its files.

    Raises:
        UsageError: an argument is unknown or of another kind; see `check_files`.
    """
    for unknown in kwargs.keys() - signature.parameters.keys():
        from gnc_cli.io.catalogue import NAMES

        roles = [role for role, tiers in NAMES.items() if unknown in sum(tiers, ())]
        matches = [role for role in roles if role in signature.parameters] or get_close_matches(
            unknown, signature.parameters, 1
        )
        hint = f"did you mean {matches[0]}?" if matches else f"see help({function})"
        raise UsageError(f"{function}() has no argument {unknown!r}; {hint}")
    names = [p.name for p in signature.parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    bound = signature.bind(*args[: len(names)], **kwargs)
    for name, value in bound.arguments.items():
        if name in parameters:
            if value is None and signature.parameters[name].default is not None:
                raise parameters[name].mistaken(name, value)
            bound.arguments[name] = parameters[name].read(name, value)
    if len(args) > len(names):
        raise UsageError(
            f"{function}() takes {' and '.join(names)} by position; name the others, and give "
            "several of one as a list"
        )
    check_files(parameters, bound.arguments)
    return bound


def _describe(
    wrapper: Callable[..., Any],
    function: Callable[..., Any],
    parameters: Mapping[str, Parameter],
    signature: inspect.Signature,
) -> None:
    """Give a public function its signature, and a docstring with all of its parameters."""
    wrapper.__doc__ = _with_arguments(function.__doc__ or "", parameters)
    result = inspect.signature(function).return_annotation
    arguments = sorted(  # keyword-only parameters: declared ones first, in their order
        signature.parameters.values(),
        key=lambda p: (p.kind, p.kind is p.KEYWORD_ONLY and p.name not in parameters),
    )
    signature = signature.replace(parameters=arguments, return_annotation=result)
    wrapper.__signature__ = plain_signature(signature)  # type: ignore[attr-defined]


def _with_arguments(text: str, parameters: Mapping[str, Parameter]) -> str:
    """Insert the declared parameters that a docstring does not describe before the others."""
    text = inspect.cleandoc(text)
    lines = [f"    {n}: {p.help}\n" for n, p in parameters.items() if f"    {n}: " not in text]
    entries = re.sub(r"--([A-Za-z-]+)", lambda m: m[1].replace("-", "_"), "".join(lines))
    return text.replace("Args:\n", f"Args:\n{entries}", 1)


def check_files(parameters: Mapping[str, Parameter], values: Mapping[str, Any]) -> None:
    """Check before the work that all files can be read and written.

    Args:
        parameters: declarations by name.
        values: arguments by name.

    Raises:
        UsageError: an output without a known suffix, or that is another output or an input;
            SOURCE_DATE_EPOCH is not a time.
        OutputError: an existing file without `force` or `resume`, or an unwritable folder.
        UnavailableError: the package that writes an output is not installed.
    """
    outputs = {
        name: values[name]
        for name, parameter in parameters.items()
        if parameter.writes and values.get(name) is not None
    }
    if outputs.get("out") == "-" and parameters["out"].writes == CODE_SUFFIXES:
        del outputs["out"]  # a code goes to stdout
    if outputs or "SOURCE_DATE_EPOCH" in os.environ:
        from gnc_cli.io.code import creation_time

        creation_time()  # parts of NumPy read the variable as well
    if not outputs:
        return
    from gnc_cli.io.atomic import check_writable

    for name, value in outputs.items():
        check_current_folder(value)
        reason = "rows on stdout are --csv, --json or --jsonl; " if value == "-" else ""
        suffix = check_suffix(value, parameters[name].writes, spelled(name), reason)
        package, step = _PACKAGES.get(suffix, ("numpy", ""))
        if find_spec(package) is None:
            raise UnavailableError(
                f"{spelled(name)} {str(value)!r} needs {package}; pip install {package}, or {step}"
            )
    inputs = {p.label(n): values[n] for n, p in parameters.items() if p.reads and n in values}
    check_apart({spelled(name): value for name, value in outputs.items()}, inputs)
    force, resume = bool(values.get("force")), bool(values.get("resume"))
    for value in outputs.values():
        check_writable(value, force=force, resume=resume)


def check_apart(targets: Mapping[str, Any], sources: Mapping[str, Any] | None) -> None:
    """Check before the work that no output is another output or an input.

    Args:
        targets: outputs by option, one or several each; None if not requested, `-` for stdout.
        sources: inputs by option: a file, `FILE:key`, a glob, `-`, several of these, or other
            values, such as an array.

    Raises:
        UsageError: an output is another output or an input, under any name.
    """
    outputs = [(option, name) for option, path in targets.items() for name in _names(path)]
    inputs = [(option, name) for option, value in (sources or {}).items() for name in _names(value)]
    for index, (option, path) in enumerate(outputs):
        for earlier_option, earlier in outputs[:index]:
            if _is_same_file(path, earlier):
                raise UsageError(
                    f"{earlier_option} and {option} both write {path!r}; give each its own"
                )
        for input_option, name in inputs:
            if any(_is_same_file(path, file) for file in _files(name)):
                raise UsageError(
                    f"{option} {path!r} would overwrite the input {input_option} {name!r}; "
                    "write to another file"
                )


def _names(value: Any) -> list[str]:
    """Return the files among one or several values, without arrays, numbers, stdin and stdout."""
    values = value if isinstance(value, (list, tuple)) else [value]
    names = [os.fspath(path) for path in values if isinstance(path, (str, os.PathLike))]
    return [name for name in names if name.partition(":")[0] != "-"]


def _files(name: str) -> list[str]:
    """Return the existing files that `FILE:key` or a glob names."""
    from gnc_cli.io.inputs import split_key

    path, _ = split_key(name)
    return glob.glob(path, recursive=True) if not os.path.exists(path) else [path]


def _is_same_file(a: str, b: str) -> bool:
    try:
        return os.path.samefile(a, b)
    except OSError:  # one of them does not exist yet
        return os.path.realpath(a) == os.path.realpath(b)
