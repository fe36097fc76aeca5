"""`python -m gnc_cli` is `gnc`, and the console script ends here."""

import os
import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    # `python -m` puts the current folder, which may be somebody else's, before the libraries; a
    # checkout that is not installed is found last.
    sys.path[:] = [*sys.path[1:], os.path.dirname(os.path.dirname(__file__))]

import atexit
import contextlib
import signal
import time
from typing import Any

from gnc_cli.runtime.system import SIGNALS

_INTERRUPTED = 130


def main() -> None:
    """Run the program; a signal before or after its work ends it with 130, temporary files gone."""
    began = time.monotonic()
    _handle(_leave)  # an exception might be swallowed by what is being imported
    code: Any = 0
    try:
        from gnc_cli.cli import main as run
        from gnc_cli.runtime.deadline import Deadline

        _handle(_interrupt)
        Deadline.program_start = began
        run()
    except KeyboardInterrupt:
        code = _INTERRUPTED
    except SystemExit as end:
        code = end.code
    _handle(signal.SIG_IGN)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    # To free what torch has loaded takes Python up to a second, and where an interrupt has passed
    # through `exec` it would end by the signal itself.
    os._exit(code)


def _handle(handler: Any) -> None:
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            signal.signal(number, handler)


def _leave(*_: Any) -> None:
    os._exit(_INTERRUPTED)


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
