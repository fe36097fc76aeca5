"""The files of a command, checked before the work: outputs apart from inputs and each other."""

import glob
import os
from collections.abc import Collection, Mapping
from pathlib import PurePath
from typing import Any

from gnc_cli.errors import UsageError
from gnc_cli.io.inputs import split_key

_Path = str | os.PathLike[str]


def check_apart(written: Mapping[str, Any], read: Mapping[str, Any] | None = None) -> None:
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
    path, _ = split_key(name)
    return glob.glob(path, recursive=True) if not os.path.exists(path) else [path]


def _same(a: str, b: str) -> bool:
    try:
        return os.path.samefile(a, b)
    except OSError:  # one of them is still to be made
        return os.path.realpath(a) == os.path.realpath(b)


def check_suffix(path: _Path, suffixes: Collection[str], option: str = "", why: str = "") -> str:
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


def is_page(path: _Path | None) -> bool:
    """Whether a picture is asked for as a page (.html)."""
    return path is not None and PurePath(path).suffix.lower() == ".html"
