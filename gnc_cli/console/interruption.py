"""Ctrl-C, SIGTERM and SIGHUP: the first asks the computation to finish with its best, and ends a
wait for input; the second aborts.
"""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType

from gnc_cli.console.show import note
from gnc_cli.errors import ExitCode
from gnc_cli.runtime.deadline import WAITS

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, a batch system's end, a terminal that closes."""
ABORTED = threading.Event()
"""A second signal has come: what a library makes of the interrupt is no bug."""
_PATIENCE = 1.0
"""Seconds that the second signal leaves for cleaning up temporary files."""


@contextlib.contextmanager
def interruptible(quiet: bool = False) -> Iterator[threading.Event]:
    """An event that the first of these signals sets; the second raises KeyboardInterrupt.

    Python runs signal handlers between bytecodes of the main thread only, which may be minutes
    away inside a linear algebra call. So a thread of its own reads the wake-up file that the
    interpreter's C handler writes at once; it sets the event, and after a second signal leaves the
    process if the main thread has not done so itself.
    """
    import socket

    event = threading.Event()
    ABORTED.clear()
    if threading.current_thread() is not threading.main_thread():
        yield event
        return
    # What ignores the end of its terminal (nohup) goes on ignoring it.
    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    caught = [number for number in _SIGNALS if number != signal.SIGHUP or not ignored]
    arrived = 0

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal arrived
        arrived += 1
        event.set()
        if arrived > 1:
            ABORTED.set()
            raise KeyboardInterrupt
        WAITS.stop()

    ear, mouth = socket.socketpair()
    mouth.setblocking(False)
    done = threading.Event()

    def listen() -> None:
        heard = 0
        while data := ear.recv(64):
            new = sum(byte in _SIGNALS for byte in data)
            heard += new
            if new:
                event.set()
            if new and heard == new and not quiet:
                note("finishing with the best so far; interrupt again to stop at once")
            if heard > 1 and not done.wait(_PATIENCE):
                if sys.stderr is not None and sys.stderr.isatty():
                    os.write(2, b"\x1b[?25h\n")  # a progress bar hides the cursor
                os._exit(ExitCode.INTERRUPTED)

    listener = threading.Thread(target=listen, name="gnc-signals", daemon=True)
    old_wakeup = signal.set_wakeup_fd(mouth.fileno(), warn_on_full_buffer=False)
    old_handlers = {number: signal.signal(number, handle) for number in caught}
    listener.start()
    try:
        yield event
    finally:
        done.set()
        WAITS.reset()
        for number, handler in old_handlers.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(old_wakeup)
        mouth.close()
        listener.join()
        ear.close()
