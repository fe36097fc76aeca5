"""Text files around a result: reports written atomically, earlier results read back."""

import glob
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gnc_cli.errors import DataError, UsageError
from gnc_cli.io.atomic import atomic_file, check_writable
from gnc_cli.io.inputs import split_key

__all__ = ["check_apart", "check_outputs", "check_targets", "read_result", "speaks", "write_text"]


def check_apart(
    written: Sequence[tuple[str, str]], read: Sequence[tuple[str, str]] = ()
) -> None:
    """Say before the work that two of its files are one.

    Args:
        written: option and path of each output.
        read: option and name of each input, which may be `FILE:key`, a glob or `-`.

    Raises:
        UsageError: an output is another output or an input, by whatever name.
    """
    for at, (option, path) in enumerate(written):
        for other, earlier in written[:at]:
            if _same(path, earlier):
                raise UsageError(f"{other} and {option} both write {path!r}; give each its own")
        for other, name in read:
            if any(_same(path, file) for file in _files(name)):
                raise UsageError(
                    f"{option} {path!r} would overwrite the input {other} {name!r}; "
                    "write to another file"
                )


def _files(name: str) -> list[str]:
    path, _ = split_key(name)
    if path == "-":
        return []
    return glob.glob(path, recursive=True) if not os.path.exists(path) else [path]


def _same(a: str, b: str) -> bool:
    try:
        return os.path.samefile(a, b)
    except OSError:  # one of them is still to be made
        return os.path.realpath(a) == os.path.realpath(b)


def check_outputs(
    named: Sequence[tuple[str, str | os.PathLike[str] | None]],
    *,
    plot: str | os.PathLike[str] | None,
    force: bool,
    read: Sequence[tuple[str, str]] = (),
) -> None:
    """Refuse before the work what could not be written after it.

    Args:
        named: option and path of each output but the plot; None where it was not asked for.
        plot: the picture, if any.
        read: option and name of each input, which no output may overwrite.

    Raises:
        UsageError, OutputError: two outputs in one file, an output that is an input, an existing
            file, an unwritable folder, a picture of unknown suffix.
    """
    asked = [*named, ("--plot", plot)]
    files = [(option, os.fspath(path)) for option, path in asked if path is not None]
    check_apart(files, read)
    check_targets([path for _, path in files], force=force)
    if plot is not None:
        from gnc_cli.plots.style import check_plot_suffix

        check_plot_suffix(plot)


def check_targets(paths: list[str], *, force: bool = False, resume: bool = False) -> None:
    """Say before a long computation that one of its files could not be written after it.

    Raises:
        OutputError: a folder is missing or not writable, or a file exists with neither `force` nor
            `resume`.
    """
    for path in paths:
        check_writable(path, force=force, resume=resume)


def speaks() -> bool:
    """Whether this process prints: of several under torchrun the first alone does."""
    return os.environ.get("RANK", "0") == "0" or os.environ.get("WORLD_SIZE", "1") == "1"


def write_text(path: str, text: str, *, force: bool = False) -> None:
    """Write `text` as UTF-8; a kill leaves the old file or the new one.

    Raises:
        OutputError: it cannot be written; nothing has changed.
    """
    with atomic_file(path, force=force) as file:
        file.write(text.encode())


def read_result(path: str) -> dict[str, Any]:
    """A result that `--json` printed earlier, as a dictionary.

    Raises:
        DataError: no such file, not JSON, or not a result of gnc.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise DataError(f"cannot read {path!r}: {reason}; give a file that --json wrote") from error
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path!r} is not JSON ({error}); give a file that --json wrote") from error
    if not isinstance(value, dict) or "schema" not in value or "command" not in value:
        raise DataError(f"{path!r} is not a result of gnc; give a file that --json wrote")
    return value
