"""Errors of the library and exit codes of the command line.

An error's message is one line that quotes the user's value and names the next step. `cli.py` turns
it into a line on stderr and an exit status.
"""

from enum import IntEnum
from importlib import import_module
from typing import Any


class ExitCode(IntEnum):
    """Exit status of every `gnc` command."""

    OK = 0
    """Done; a plain time limit is a normal end."""
    BUG = 1
    """An unexpected exception: please report it."""
    USAGE = 2
    """The options are wrong or contradict each other."""
    DATA = 3
    """An input cannot be used, or an output cannot be written."""
    UNDECIDED = 4
    """An explicit target was missed, a bracket straddles a gate's limit, or a certificate is larger
    than what is checked."""
    GATE_FAILED = 5
    """A gate or a comparison failed, or a certificate claims what it does not prove; outranks
    UNDECIDED."""
    UNAVAILABLE = 6
    """A device, an optional package, or enough memory or disk space, is missing."""
    INTERRUPTED = 130
    """Ctrl-C, SIGTERM or SIGHUP: the best so far was written and can be resumed. While the
    structure of an HDF5 file is read, nothing was written, and a shell shows 130, 143 or 129."""


class GncError(Exception):
    """Base of every error that gnc raises on purpose."""

    exit_code = ExitCode.BUG
    partial: Any = None
    """Result of the work before the error, if it is valid."""
    silent = False
    """True if no line is printed: another process prints it, or the reader has left."""

    def _render_traceback_(self) -> list[str]:
        """Return the one line that IPython shows in place of a traceback."""
        return [f"{type(self).__name__}: {self}"]


class UsageError(GncError, ValueError):
    """An argument is wrong, or contradicts another."""

    exit_code = ExitCode.USAGE


class DataError(GncError, ValueError):
    """A file or array cannot be used as requested."""

    exit_code = ExitCode.DATA


class OutputError(GncError, OSError):
    """A file cannot be written; nothing on disk has changed."""

    exit_code = ExitCode.DATA


class StoppedError(GncError):
    """A signal ended the wait for an input that may never come."""

    exit_code = ExitCode.INTERRUPTED


class UnavailableError(GncError, RuntimeError):
    """A device, an optional package, or the required memory or disk space is missing."""

    exit_code = ExitCode.UNAVAILABLE


def import_extra(package: str, feature: str, extra: str, alternative: str = "") -> Any:
    """Return the module of an optional package.

    Args:
        package: name of the package.
        feature: names the function or file that needs it in the message.
        extra: the extra of gnc-cli that installs it.
        alternative: end of the message, another way to proceed.

    Raises:
        UnavailableError: it cannot be imported.
    """
    try:
        return import_module(package)
    except ImportError as error:
        raise UnavailableError(
            f"{feature} needs {package}; pip install 'gnc-cli[{extra}]'{alternative}"
        ) from error
