"""Deadlines: time limits and interruptions that long loops poll; progress, and times of saves."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import ClassVar, TypeVar

from gnc_cli.errors import StoppedError

Progress = Callable[[str, int, int, float], None]
"""`progress(stage, done, total, best)`; a total of 0 means unknown."""
StageProgress = Callable[[int, int, float], None]
"""Progress of one stage: `progress(done, total, best)`."""
_T = TypeVar("_T")
_POLL = 0.1
"""Seconds between two checks of a deadline that a library cannot poll."""
_SAVE_EVERY = 30.0
"""Seconds between two saves of unfinished work."""
_SAVE_SHARE = 20.0
"""Saves are at least this many times their own duration apart."""
_WAITS: list[str] = []
"""Names of the inputs that the main thread waits for and cannot poll: a pipe, a download."""
DEFAULT_SIGNALS: list[Callable[[], AbstractContextManager[None]]] = []
"""Contexts that give signals, which a command catches, their default effect; empty outside
commands, and as soon as a signal would lose results."""


def fatal_signals() -> AbstractContextManager[None]:
    """Give signals their default effect while the block runs, if no result would be lost.

    A library in C that hangs holds the interpreter, so that no signal handler in Python is called.
    """
    return DEFAULT_SIGNALS[-1]() if DEFAULT_SIGNALS else contextlib.nullcontext()


def begin_work() -> None:
    """Record that results exist, in memory or on disk, which no signal may throw away."""
    DEFAULT_SIGNALS.clear()


@contextlib.contextmanager
def waiting(source: str) -> Iterator[None]:
    """Allow `end_wait` to end the block.

    Args:
        source: names the awaited input in the message.
    """
    _WAITS.append(source)
    try:
        yield
    finally:
        _WAITS.pop()


def end_wait() -> None:
    """End the wait of the main thread, if there is one; signal handlers call this.

    Raises:
        StoppedError: the main thread waits for an input.
    """
    if _WAITS:
        raise StoppedError(f"interrupted while waiting for {_WAITS[-1]}; nothing was done")


class Deadline:
    """A clock that long computations poll at each step or block.

    Args:
        seconds: time allowed from now on; None for no limit.
        interrupt: set from outside (a signal handler, another thread or process) to stop early.
        clock: monotonic clock in seconds; tests pass a clock of their own.
    """

    program_start: ClassVar[float | None] = None
    """Start of a program that has made no call yet, in seconds of `time.monotonic`."""

    def __init__(
        self,
        seconds: float | None = None,
        interrupt: threading.Event | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.seconds = seconds
        self.interrupt = interrupt
        self._clock = clock
        self._start = clock()

    @classmethod
    def begin_call(cls, seconds: float | None, interrupt: threading.Event | None) -> "Deadline":
        """Return the deadline of a whole call of the library: a user's time limit.

        In the first call of a command the limit counts from the start of the program, but at least
        half of it remains for the call. Nested calls count from their own beginning.
        """
        deadline, start = cls(seconds, interrupt), cls.program_start
        if start is not None:
            Deadline.program_start = None
            half = deadline._start - (seconds or 0.0) / 2
            deadline._start = min(deadline._start, max(start, half))
        return deadline

    @property
    def interrupted(self) -> bool:
        """True if the computation was interrupted from outside."""
        return self.interrupt is not None and self.interrupt.is_set()

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return self._clock() - self._start

    @property
    def remaining(self) -> float:
        """Seconds left; infinite without a limit, never negative."""
        if self.seconds is None:
            return float("inf")
        return max(0.0, self.seconds - self.elapsed)

    @property
    def expired(self) -> bool:
        """True if the time is up, or the computation was interrupted."""
        return self.interrupted or self.remaining <= 0.0

    def check(self) -> None:
        """Stop work whose partial result has no value.

        Raises:
            TimeoutError: the deadline has expired.
        """
        if self.expired:
            raise TimeoutError("the deadline expired before every pair of rows was seen")

    def wait_for(self, work: Callable[[], _T]) -> _T | None:
        """Return the result of a C library that polls no deadline; None if the deadline expires.

        The library must release the interpreter lock, and should have a time limit of its own: its
        thread cannot be stopped, and ends with the process at the latest.
        """
        future: Future[_T] = Future()

        def run() -> None:
            try:
                future.set_result(work())
            except BaseException as error:  # raised again in the waiting thread
                future.set_exception(error)

        threading.Thread(target=run, daemon=True).start()
        while not self.expired:
            with contextlib.suppress(TimeoutError):
                return future.result(timeout=min(_POLL, self.remaining))
        return None

    def limited(self, seconds: float) -> "Deadline":
        """Return a deadline `seconds` from now, or this one if it is earlier; same interruption."""
        return Deadline(min(seconds, self.remaining), self.interrupt, self._clock)

    def no_sooner(self, seconds: float) -> "Deadline":
        """Return the same deadline, but at least `seconds` from now, even after an interruption."""
        return Deadline(
            max(seconds, 0.0 if self.expired else self.remaining),
            None if self.interrupted else self.interrupt,
            self._clock,
        )

    def reserving(self, seconds: float) -> "Deadline":
        """Return the same deadline, earlier by `seconds` that the following steps need."""
        if self.seconds is None:
            return self
        earlier = Deadline(self.seconds - seconds, self.interrupt, self._clock)
        earlier._start = self._start
        return earlier


NO_DEADLINE = Deadline()
"""Deadline that never expires."""


class SaveTimes:
    """Times of saves of unfinished work: every 30 seconds, less often if a save takes long."""

    def __init__(self) -> None:
        self._next = time.monotonic() + _SAVE_EVERY

    @property
    def due(self) -> bool:
        """True if it is time for a save."""
        return time.monotonic() >= self._next

    @contextlib.contextmanager
    def saving(self) -> Iterator[None]:
        """Measure the save in the block, and schedule the next one."""
        start = time.monotonic()
        yield
        end = time.monotonic()
        self._next = end + max(_SAVE_EVERY, _SAVE_SHARE * (end - start))
