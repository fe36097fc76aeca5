"""Options of `train` from a TOML file."""

import functools
import os
import tomllib
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

from gnc_cli.errors import DataError, OutputError, UsageError
from gnc_cli.io.inputs import decoded, open_input
from gnc_cli.parameters import Parameter, declared, spelled
from gnc_cli.parsing import quote

_P = ParamSpec("_P")
_R = TypeVar("_R")
_MAX_CONFIG, _MAX_LINE = 64_000, 10_000
"""Largest file in bytes and longest line in letters: tomllib keeps all prefixes of a key a.b.c."""
_CALLER_ONLY = ("force", "resume")
"""Arguments that only the caller may set."""


def configured(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Wrap `function` to take arguments that are not passed from the file `config`.

    The file is data: only the caller decides which code is imported and which files are replaced.
    """

    @functools.wraps(function)
    def wrapper(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        parameters: Any = declared(function)
        config = parameters["config"].read("config", kwargs.get("config"))
        if config is None:
            return function(*args, **kwargs)
        name = os.fspath(config)
        passed = {key: value for key, value in kwargs.items() if value is not None}
        merged: Any = _read_config(name, parameters, passed) | passed
        try:
            return function(*args, **merged)
        except UsageError as error:
            if repr(name) in str(error):
                raise
            raise UsageError(f"{error} ({name!r} sets options too)") from error

    return wrapper


def _read_config(
    name: str, parameters: Mapping[str, Parameter], passed: Mapping[str, Any]
) -> dict[str, Any]:
    """Read the arguments of a TOML file, of which those that the caller passes are not checked.

    Raises:
        DataError: the file is not TOML.
        UsageError: it has an argument that does not exist, or that only the caller may set.
        OutputError: it names an output that exists.
    """
    with open_input(name) as file:
        text = decoded(file, name, "expected options of gnc train as TOML", _MAX_CONFIG)
    if (letters := max(map(len, text.split("\n")))) > _MAX_LINE:
        raise DataError(
            f"{name!r} has a line of {letters:,} letters, more than {_MAX_LINE:,}; write a long "
            "list in several lines"
        )
    try:
        stored = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{name!r} is not TOML: {error}") from error
    for key, value in stored.items():
        if key not in parameters or key == "config":
            raise UsageError(
                f"{name!r} sets {key!r}, which is not an option of gnc train; gnc train --help "
                "lists them"
            )
        if key in passed:
            continue
        if key in _CALLER_ONLY or (key == "model" and ":" in str(value)):
            raise UsageError(
                f"{name!r} sets {key!r} to {quote(value)}, and a file decides neither which code "
                f"is imported nor which files are replaced; if you want it, add {spelled(key)}"
            )
        if key in ("out", "plot") and os.path.lexists(str(value)):
            raise OutputError(
                f"{name!r} sets {key!r} to {quote(value)}, which exists; to continue it or to "
                f"replace it, add {spelled(key)}"
            )
    return stored
