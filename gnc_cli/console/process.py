"""The process around a command: standard streams, signals, and errors of the system.

The result goes to stdout; progress on a terminal, and messages of one line each, to stderr.

The first of Ctrl-C, SIGTERM and SIGHUP makes the computation finish with its best result, and ends
a wait for input; the second one aborts.
"""

import _thread
import contextlib
import errno
import json
import logging
import math
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from io import TextIOWrapper
from types import FrameType
from typing import Any

import typer

from gnc_cli.errors import ExitCode, GncError, OutputError, UnavailableError, UsageError
from gnc_cli.escaping import visible
from gnc_cli.plain import plain
from gnc_cli.records import Result
from gnc_cli.runtime.deadline import DEFAULT_SIGNALS, Progress, end_wait
from gnc_cli.runtime.distributed import is_rank_zero
from gnc_cli.runtime.system import ADDRESS_SPACE, SIGNALS

_MIN_SPACE = 640_000_000
"""Least bytes of address space; with less, OpenBLAS waits forever while it is loaded."""

_WRITE_ERRORS = (
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EIO,
    errno.EROFS,
    errno.EBADF,
    errno.EPIPE,
)
_CONNECTION_ERRORS = ("gloo/transport", "NCCL")
"""Parts of messages of torch after it has lost its connection to another process."""
_DISTRIBUTIONS = {"PIL": "pillow", "flint": "python-flint"}
"""Module -> its name for pip, where the two differ."""
_NO_MEMORY = (
    "DefaultCPUAllocator",
    "CUDA out of memory",
    "CUDA error: out of memory",
    "not enough memory",  # torch, on Linux and elsewhere
    "failed to map segment",
    "annot allocate memory",
    "could not create a primitive",
)
"""Parts of messages of torch, of its libraries, of the loader and of the system if memory is short.
"""
ABORTED = threading.Event()
"""Event of the second signal: the error that a library raises after it is not a bug."""
_CLEANUP_TIME = 1.0
"""Seconds after the second signal in which temporary files are removed."""
_WITHOUT_BEST = frozenset(
    {"bounds", "moments", "decisions", "directions", "rows", "reach", "reach of sets"}
)
"""Stages without a best value: only their completed share is shown."""


def emit(text: str, *, rows: bool = False) -> None:
    """Write a text to stdout and flush it.

    Args:
        text: the text, with its last line end.
        rows: the text is some rows of a stream, whose reader may leave without an error message
            (`--jsonl | head -1`).

    Raises:
        OutputError: stdout is closed, its reader has left, or the disk is full.
    """
    try:
        # Colours were decided when the table was drawn.
        typer.echo(text, nl=False, color=True)
        sys.stdout.flush()
    except OSError as error:
        # Python's last flush, at exit, would report the same closed pipe a second time.
        with contextlib.suppress(OSError, ValueError), open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        reason = error.strerror or str(error)
        if error.errno == errno.EBADF:
            reason = "it is closed; use --out or --report"
        failure = OutputError(f"cannot write the result to stdout: {reason}")
        failure.silent = rows and isinstance(error, BrokenPipeError)
        raise failure from error


def print_line(row: Any, head: Mapping[str, Any]) -> None:
    """Print one row of --jsonl: a result, or a record of one after the keys of `head`."""
    line = row.to_json() if isinstance(row, Result) else {**head, **plain(row)}
    emit(json.dumps(line, allow_nan=False) + "\n", rows=True)


def note(text: str) -> None:
    """Print one line on stderr, unless stderr is closed or full."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            typer.echo(f"gnc: {visible(' '.join(text.split()))}", err=True)


@contextlib.contextmanager
def _handled(numbers: Sequence[int], handler: Any) -> Iterator[None]:
    """Handle these signals with `handler` in the block; only the main thread can."""
    main = threading.current_thread() is threading.main_thread()
    earlier = {number: signal.signal(number, handler) for number in numbers if main}
    try:
        yield
    finally:
        for number, old in earlier.items():
            signal.signal(number, old)


@contextlib.contextmanager
def interruptible(quiet: bool) -> Iterator[threading.Event]:
    """Yield an event that the first signal sets; the second signal raises KeyboardInterrupt.

    Python runs signal handlers between bytecodes of the main thread only, which may be minutes
    away inside a linear algebra call. Therefore a separate thread reads the wake-up file that the
    interpreter's C handler writes immediately. It sets the event, and after a second signal ends
    the process if the main thread has not done so.

    In `fatal_signals` each signal has its default effect, until `begin_work`.
    """
    import socket

    event = threading.Event()
    ABORTED.clear()
    # A process under nohup continues to ignore the end of its terminal, but not Ctrl-C or SIGTERM.
    caught = [n for n in SIGNALS if n in SIGNALS[:2] or signal.getsignal(n) != signal.SIG_IGN]
    arrived = 0

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal arrived
        arrived += 1
        event.set()
        if arrived > 1:
            ABORTED.set()
            raise KeyboardInterrupt
        end_wait()

    reader, writer = socket.socketpair()
    writer.setblocking(False)
    finished, watched = threading.Event(), threading.Event()

    def watch() -> None:
        count = 0
        while data := reader.recv(64):
            new = sum(byte in SIGNALS for byte in data)
            count += new
            if new:
                event.set()
            if new and count == new and not quiet:
                note("finishing with the best so far; interrupt again to stop at once")
            if count > 1 and not finished.wait(_CLEANUP_TIME):
                os._exit(ExitCode.INTERRUPTED)
        watched.set()

    old_wakeup = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    default = partial(_handled, caught, signal.SIG_DFL)
    DEFAULT_SIGNALS.append(default)
    try:
        # If memory is short a thread may die at its start, and Thread.start() would wait forever.
        _thread.start_new_thread(watch, ())
        with _handled(caught, handle):
            yield event
    finally:
        finished.set()
        if default in DEFAULT_SIGNALS:
            DEFAULT_SIGNALS.remove(default)
        signal.set_wakeup_fd(old_wakeup)
        writer.close()
        watched.wait(_CLEANUP_TIME)
        reader.close()


def check_address_space() -> None:
    """Refuse a process in which numerical libraries hang.

    Raises:
        UnavailableError: its address space is too small.
    """
    if ADDRESS_SPACE < _MIN_SPACE:
        raise UnavailableError(
            f"this process may have {ADDRESS_SPACE / 1e6:.0f} MB of address space (ulimit -v), and "
            f"needs {_MIN_SPACE / 1e6:.0f} MB or more; raise the limit"
        )


def open_streams() -> None:
    """Replace closed standard streams with /dev/null, so that no later file takes their numbers.

    The substitute of stdout is read-only, so that a result is not lost silently. Letters that the
    encoding of stdout lacks are printed as `?`.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:  # the system assigns the lowest free number
            os.open(os.devnull, os.O_RDONLY if name == "stdout" else os.O_RDWR)
        if getattr(sys, name) is None:
            mode = "w" if number else "r"
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
    if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="replace")


def report_error(error: Exception) -> int:
    """Print the line of an error, and return its exit code."""
    if isinstance(error, GncError):
        # Every process that torchrun started has the same usage error.
        if not error.silent and (is_rank_zero() or not isinstance(error, UsageError)):
            note(str(error))
        return error.exit_code
    if hasattr(error, "format_message"):  # an error of Typer, with any version of click
        return _note_usage(error)
    if ABORTED.is_set():
        return ExitCode.INTERRUPTED
    if (failure := refusal(error)) is not None:
        note(str(failure))
        return failure.exit_code
    import traceback

    traceback.print_exception(error)
    note(
        f"this is a bug: {error!r}; please report it with the lines above, and "
        "what `gnc --version -v` prints"
    )
    return ExitCode.BUG


def _note_usage(error: Any) -> int:
    # Empty after the help of a bare `gnc`; "Value error" is a term of pydantic.
    if message := error.format_message().replace("Value error, ", ""):
        path = error.ctx.command_path if error.ctx else "gnc"
        note(f"{message[0].lower()}{message[1:].rstrip('.')}; see {path} --help")
    return int(error.exit_code)


def refusal(error: Exception) -> GncError | None:
    """Return an error of the system with a message of one line; None if `error` is a bug.

    Files that the user named have their own messages. The errors here concern packages, files of
    libraries, threads, memory, and stdout while a help text is printed.
    """
    text, number = str(error), error.errno if isinstance(error, OSError) else None
    module = error.name or "" if isinstance(error, ModuleNotFoundError) else ""
    if module and not module.startswith("gnc_cli"):
        package = module.partition(".")[0]
        return UnavailableError(
            f"the module {module} is missing; pip install {_DISTRIBUTIONS.get(package, package)}"
        )
    if number in (errno.EMFILE, errno.ENFILE):
        return UnavailableError("too many open files; raise the limit (ulimit -n)")
    if number == errno.EAGAIN or "can't start new thread" in text:
        return UnavailableError(
            "no further process or thread may start; raise the limit (ulimit -u, ulimit -v), or "
            "give --workers 1 --threads 1"
        )
    if isinstance(error, MemoryError) or any(words in text for words in _NO_MEMORY):
        place = "GPU" if "CUDA" in text else "machine"
        return UnavailableError(
            f"the memory of the {place} is not enough; try a smaller --d or --K, or, with gnc "
            "train, a smaller --batch-size"
        )
    if isinstance(error, RuntimeError) and any(words in text for words in _CONNECTION_ERRORS):
        return UnavailableError(
            "another process of this run has ended, or cannot be reached; see its messages, and "
            "start all of them again, gnc train with --resume"
        )
    if isinstance(error, OSError) and number in _WRITE_ERRORS:
        name = "to stdout" if error.filename is None else repr(error.filename)
        return OutputError(f"cannot write {name}: {error.strerror}")
    if number == errno.ENOENT and "No usable temporary directory" in text:
        return OutputError("no folder for temporary files can be written to; set TMPDIR to one")
    return None


@contextlib.contextmanager
def progress_on_terminal(quiet: bool, first: str) -> Iterator[Progress | None]:
    """Show a bar per stage while the block runs; yield None if stderr is not a terminal.

    Args:
        quiet: show nothing.
        first: name of the stage before progress is reported.
    """
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        TaskID,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bars

    bars = Bars(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[share]}"),
        TextColumn("{task.fields[best]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    waiting = bars.add_task(first, total=None, best="", share="")
    tasks: dict[str, TaskID] = {}

    def report(stage: str, completed: int, total: int, best: float) -> None:
        bars.update(waiting, visible=False)
        length = total if total > 0 else None
        value = f"best {best:.9g}" if math.isfinite(best) else "best -"
        fields: dict[str, Any] = {
            "share": f"{completed:,}" if length is None else f"{completed:,}/{length:,}",
            "best": "" if stage in _WITHOUT_BEST else value,
        }
        if stage not in tasks:
            tasks[stage] = bars.add_task(stage, total=length, **fields)
        bars.update(tasks[stage], completed=completed, total=length, **fields)

    with bars:
        yield report


class _Notes(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        note(record.getMessage())


@contextlib.contextmanager
def conversation(quiet: bool, verbose: bool) -> Iterator[None]:
    """Show warnings (not with `quiet`) and, with `verbose`, the messages of gnc_cli's loggers."""
    logger, handler = logging.getLogger("gnc_cli"), _Notes()
    old_level, old_propagate = logger.level, logger.propagate
    level = logging.ERROR if quiet else logging.INFO if verbose else logging.WARNING
    logger.setLevel(level)
    logger.addHandler(handler)
    logger.propagate = False

    def show_warning(message: Warning | str, category: type[Warning], *_: Any) -> None:
        if not quiet and not issubclass(category, DeprecationWarning):
            note(f"warning: {message}")

    try:
        with warnings.catch_warnings():
            warnings.showwarning = show_warning  # type: ignore[assignment]
            yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(old_level)
        logger.propagate = old_propagate
