"""A place for libraries that cannot bear a failing write."""

import contextlib
from collections.abc import Iterator
from typing import IO, Any

__all__ = ["deferring_errors"]


@contextlib.contextmanager
def deferring_errors(file: IO[bytes]) -> Iterator[IO[bytes]]:
    """`file`, with its first OSError kept back until the block has ended, then raised.

    HDF5 and PyTorch cannot recover from a full disk: they fail again on closing, with errors of
    their own, and HDF5 once more at exit. So they are told that all went well, and the caller
    hears what happened and throws the file away.
    """
    sink = _Sink(file)
    try:
        yield sink  # type: ignore[misc]
    finally:
        # Whatever the library made of the fault, the fault itself is the news.
        if sink.error is not None:
            raise sink.error


class _Sink:
    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.error: OSError | None = None

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._file, name)

        def call(*args: Any) -> Any:
            if self.error is None:
                try:
                    return method(*args)
                except OSError as error:
                    self.error = error
            return len(args[0]) if name in ("write", "readinto") else 0

        return call
