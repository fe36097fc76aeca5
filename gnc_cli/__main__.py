"""`python -m gnc_cli` is `gnc`, and the console script ends here."""

import atexit
import contextlib
import os
import signal
import sys
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_INTERRUPTED = 130


def main() -> None:
    """Run the program; a signal before or after its work ends it with 130, temporary files gone."""
    _handle(_leave)  # an exception might be swallowed by what is being imported
    code: Any = 0
    try:
        from gnc_cli.cli import main as run

        _handle(_interrupt)
        run()
    except KeyboardInterrupt:
        code = _INTERRUPTED
    except SystemExit as end:
        code = end.code
    _handle(signal.SIG_IGN)
    if code == _INTERRUPTED:
        # Python would end by the signal itself where an interrupt has passed through `exec`.
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()
        os._exit(code)
    sys.exit(code)


def _handle(handler: Any) -> None:
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            signal.signal(number, handler)


def _leave(*_: Any) -> None:
    os._exit(_INTERRUPTED)


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
