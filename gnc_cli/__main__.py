"""`python -m gnc_cli` is `gnc`, and the console script ends here."""

import os
import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    # `python -m` searches the current folder, which may hold foreign files, before the libraries;
    # a checkout that is not installed is searched last.
    sys.path[:] = [*sys.path[1:], os.path.dirname(os.path.dirname(__file__))]

import atexit
import contextlib
import signal
import time
from typing import Any

from gnc_cli.runtime.system import SIGNALS

_INTERRUPTED = 130


def main() -> None:
    """Run the program; a signal before or after its work removes temporary files and exits 130."""
    start = time.monotonic()
    _handle(_leave)  # a module that is being imported might swallow an exception
    code: Any = 0
    try:
        from gnc_cli.cli import main as run
        from gnc_cli.runtime.deadline import Deadline

        _handle(_interrupt)
        Deadline.program_start = start
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
    # Python takes up to a second to free the memory of torch, and after an interrupt within `exec`
    # it would end by the signal itself.
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
