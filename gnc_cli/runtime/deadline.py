"""When to stop (a time limit, an interruption), polled by every long loop, how far it is, and when
to save what there is.
"""

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
"""The same of one stage: `progress(done, total, best)`."""
_T = TypeVar("_T")
_POLL = 0.1
"""Seconds between two looks at a deadline that a library cannot poll."""
_SAVE_EVERY = 30.0
"""Seconds between two saves of unfinished work."""
_SAVE_SHARE = 20.0
"""Saves are at least this many times their own duration apart."""
_WAITS: list[str] = []
"""What the main thread waits for and cannot poll: a pipe whose writer has stalled, a download."""
DEFAULT_SIGNALS: list[Callable[[], AbstractContextManager[None]]] = []
"""Gives the signals that a command catches their default effect for a block; empty elsewhere, and
once there is something to lose."""


def fatal_signals() -> AbstractContextManager[None]:
    """Let a signal end a command while the block runs, if nothing is lost by that.

    A library in C that hangs holds the interpreter, and no handler of Python's would be called.
    """
    return DEFAULT_SIGNALS[-1]() if DEFAULT_SIGNALS else contextlib.nullcontext()


def begin_work() -> None:
    """Note that something has been computed or written, which no signal may throw away."""
    DEFAULT_SIGNALS.clear()


@contextlib.contextmanager
def waiting(what: str) -> Iterator[None]:
    """While the block runs, `end_wait` ends it.

    Args:
        what: is waited for, in the message.
    """
    _WAITS.append(what)
    try:
        yield
    finally:
        _WAITS.pop()


def end_wait() -> None:
    """For the handler of a signal, which Python runs in the main thread: end what it waits for.

    Raises:
        StoppedError: it waits.
    """
    if _WAITS:
        raise StoppedError(f"interrupted while waiting for {_WAITS[-1]}; nothing was done")


class Deadline:
    """A clock that long computations poll at each step or block.

    Args:
        seconds: time allowed from now on; None for no limit.
        interrupt: set from outside (a signal handler, another thread or process) to stop early.
        clock: monotonic clock in seconds; tests hand in their own.
    """

    program_began: ClassVar[float | None] = None
    """When a program began that has made no call yet, by `time.monotonic`."""

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
    def of_call(cls, seconds: float | None, interrupt: threading.Event | None) -> "Deadline":
        """The deadline of a whole call of the library: a user's time limit.

        It counts from the start of the program in the first call of a command; half is left for
        the call. The calls within it, with limits of their own, count from where they begin.
        """
        deadline, began = cls(seconds, interrupt), cls.program_began
        if began is not None:
            Deadline.program_began = None
            half = deadline._start - (seconds or 0.0) / 2
            deadline._start = min(deadline._start, max(began, half))
        return deadline

    @property
    def interrupted(self) -> bool:
        """Interrupted from outside."""
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
        """Time is up, or interrupted."""
        return self.interrupted or self.remaining <= 0.0

    def check(self) -> None:
        """Stop work of which a part is worth nothing.

        Raises:
            TimeoutError: it expired.
        """
        if self.expired:
            raise TimeoutError("the deadline expired before every pair of rows was seen")

    def wait_for(self, work: Callable[[], _T]) -> _T | None:
        """Return the result of a library in C that polls no deadline, or None once this expires.

        The library must leave the interpreter free, and should have a time limit of its own: its
        thread cannot be stopped, and ends with the process at the latest.
        """
        future: Future[_T] = Future()

        def run() -> None:
            try:
                future.set_result(work())
            except BaseException as error:  # it belongs to the thread that waits
                future.set_exception(error)

        threading.Thread(target=run, daemon=True).start()
        while not self.expired:
            with contextlib.suppress(TimeoutError):
                return future.result(timeout=min(_POLL, self.remaining))
        return None

    def within(self, seconds: float) -> "Deadline":
        """A deadline at most `seconds` from now and no later than this one, same interruption."""
        return Deadline(min(seconds, self.remaining), self.interrupt, self._clock)

    def no_sooner(self, seconds: float) -> "Deadline":
        """The same deadline, at least `seconds` from now, also where it was interrupted before."""
        return Deadline(
            max(seconds, 0.0 if self.expired else self.remaining),
            None if self.interrupted else self.interrupt,
            self._clock,
        )

    def reserving(self, seconds: float) -> "Deadline":
        """The same deadline brought forward by `seconds`, to keep time for what must follow."""
        if self.seconds is None:
            return self
        earlier = Deadline(self.seconds - seconds, self.interrupt, self._clock)
        earlier._start = self._start
        return earlier


UNLIMITED = Deadline()
"""Never expires."""


class SaveTimes:
    """When unfinished work is saved: every half a minute, less often where a save takes long."""

    def __init__(self) -> None:
        self._next = time.monotonic() + _SAVE_EVERY

    @property
    def due(self) -> bool:
        """Whether it is time for a save."""
        return time.monotonic() >= self._next

    @contextlib.contextmanager
    def saving(self) -> Iterator[None]:
        """Around a save."""
        began = time.monotonic()
        yield
        now = time.monotonic()
        self._next = now + max(_SAVE_EVERY, _SAVE_SHARE * (now - began))
