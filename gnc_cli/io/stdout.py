"""Binary data on stdout, whole or with one line said about why not."""

import contextlib
import os
import sys
from typing import IO

from gnc_cli.errors import OutputError

__all__ = ["write_stdout"]

_PIECE = 1 << 20


def write_stdout(file: IO[bytes]) -> None:
    """Copy `file`, from its beginning, to stdout.

    Raises:
        OutputError: nobody reads stdout any more.
    """
    file.seek(0)
    try:
        while piece := file.read(_PIECE):
            while piece:  # an unbuffered stdout (python -u) may take a part at a time
                piece = piece[sys.stdout.buffer.write(piece) :]
        sys.stdout.buffer.flush()
    except OSError as error:
        # Python flushes stdout once more at exit; give what is left to nobody, or it complains.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise OutputError(
            f"cannot write to stdout: {error.strerror}; is the pipe closed?"
        ) from error
