"""Text files around a result: reports written atomically, earlier results read back."""

import json
import os
from pathlib import Path
from typing import Any

from gnc_cli.errors import DataError
from gnc_cli.io.atomic import atomic_file, check_writable

__all__ = ["check_targets", "read_result", "speaks", "write_text"]


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
