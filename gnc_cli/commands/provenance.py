"""The command line as it enters a file: options in order, files without folders."""

import shlex
from pathlib import PurePath
from typing import Any

import typer

__all__ = ["command_line"]

_FILES = frozenset({"baseline", "fixed", "init", "out", "plot", "report"})


def command_line(context: typer.Context) -> str:
    """What was asked for, in a form that can be run again in the file's folder.

    Only options given on the command line appear, with the values that were understood: `--K 1e2`
    reads `--K 100`.
    """
    words = ["gnc", str(context.info_name)]
    for option in context.command.params:
        source = context.get_parameter_source(str(option.name))
        if source is None or source.name != "COMMANDLINE":
            continue
        value = context.params[str(option.name)]
        if isinstance(value, bool):
            names = option.opts if value else (option.secondary_opts or [])
            words += names[:1]
        elif option.multiple:
            for item in value:
                words += [option.opts[0], _word(item)]
        else:
            name = _word(value)
            if option.name in _FILES:
                name = PurePath(name).name or name
            words += [option.opts[0], name]
    return shlex.join(words)


def _word(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ",".join(_word(v) for v in value)
    return str(getattr(value, "value", value))
