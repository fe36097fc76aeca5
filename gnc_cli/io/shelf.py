"""Input files by name, opened as often as asked for; a pipe is read once and kept."""

import contextlib
import hashlib
import io
import os
from collections.abc import Iterator

from gnc_cli.io.catalogue import Catalogue
from gnc_cli.io.formats import reader_for
from gnc_cli.io.inputs import open_input, split_key

__all__ = ["Shelf", "file_stamp"]


class Shelf:
    """The inputs of one command."""

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}

    @contextlib.contextmanager
    def open(self, path: str) -> Iterator[Catalogue]:
        """The catalogue of a file, or of `-`, for the block.

        Raises:
            DataError: missing, damaged, or of no format that gnc reads.
        """
        with contextlib.ExitStack() as stack:
            if path in self._kept:
                file = stack.enter_context(io.BytesIO(self._kept[path]))
            else:
                file = stack.enter_context(open_input(path))  # type: ignore[assignment]
                if isinstance(file, io.BytesIO):
                    self._kept[path] = file.getvalue()
            yield stack.enter_context(reader_for(path, file)(file, path))

    def stamp(self, path: str) -> str:
        """A text that changes when the file does: size and time, or a digest of what was piped."""
        if path in self._kept:
            return hashlib.sha256(self._kept[path]).hexdigest()[:16]
        return file_stamp(path)


def file_stamp(name: str) -> str:
    """A text that changes when the file `FILE` or `FILE:key` does: size and time; "" if missing."""
    path, _ = split_key(name)
    try:
        status = os.stat(path)
    except OSError:
        return ""
    return f"{status.st_size}-{status.st_mtime_ns}"
