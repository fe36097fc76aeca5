"""The arguments of a public function, read and checked by their declarations before it runs."""

import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

from gnc_cli.errors import UsageError
from gnc_cli.parameters import Parameter, declared, spelled

_P = ParamSpec("_P")
_R = TypeVar("_R")


def validated(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Let every declared argument be read and every file be checked before `function` runs.

    Files: no output may be another output or an input, and all must be writable; existing ones
    need a true `force` or `resume` among the arguments. None and flags pass as they are.
    """
    parameters = declared(function)
    signature = inspect.signature(function)

    @functools.wraps(function)
    def checked(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        bound = signature.bind(*args, **kwargs)
        for name, value in bound.arguments.items():
            if name in parameters:
                bound.arguments[name] = parameters[name].read(name, value)
        check_files(parameters, bound.arguments)
        return function(*bound.args, **bound.kwargs)

    return checked


def check_files(parameters: Mapping[str, Parameter], values: Mapping[str, Any]) -> None:
    """Refuse before the work what could not be read or written after it.

    Args:
        parameters: declarations by name.
        values: arguments by name.

    Raises:
        UsageError: an output without a known suffix, or that is another output or an input; two
            inputs from stdin, or stdin that is a terminal.
        OutputError: an existing file without `force` or `resume`, or an unwritable folder.
    """
    read = {
        n.upper() if p.argument else spelled(n): values[n]
        for n, p in parameters.items()
        if p.reads and n in values
    }
    _check_stdin(read)
    written = {
        name: values[name]
        for name, parameter in parameters.items()
        if parameter.writes and values.get(name) is not None and values[name] != "-"
    }
    if not written:
        return
    from gnc_cli.io.atomic import check_writable
    from gnc_cli.io.outputs import check_apart, check_suffix

    for name, value in written.items():
        check_suffix(value, parameters[name].writes, spelled(name))
    check_apart({spelled(name): value for name, value in written.items()}, read)
    force, resume = bool(values.get("force")), bool(values.get("resume"))
    for value in written.values():
        check_writable(value, force=force, resume=resume)


def _check_stdin(read: Mapping[str, Any]) -> None:
    """`-`, or `-:key`, is HDF5 from a pipe, for one input at most."""
    wanted = []
    for name, value in read.items():
        files = value if isinstance(value, (list, tuple)) else [value]
        texts = [file for file in files if isinstance(file, str)]
        wanted += [name for text in texts if text.partition(":")[0] == "-"]
    if len(wanted) > 1:
        raise UsageError(f"{' and '.join(wanted)} both want stdin; give all but one a file")
    if wanted and sys.stdin is not None and sys.stdin.isatty():
        raise UsageError(
            f"{wanted[0]} - reads HDF5 from a pipe, not from the terminal; pipe one"
        )
