"""`python tests/cli/fake_gnc.py MODE solve ...`: the real program around a stand-in solver.

MODE `prompt` answers at once; `slow` works until it is interrupted and then takes as long as
GNC_FAKE_LAST seconds to finish; `stubborn` never looks at its interrupt and never returns to
Python's signal handlers for long.
"""

import os
import sys
import time
import types
from typing import Any

from gnc_cli.cli import main
from gnc_cli.results import Outcome
from tests.cli.fakes import FakeSolve, code


def _slow(d: int, K: int, **options: Any) -> Any:
    print("working", file=sys.stderr, flush=True)
    if not options["interrupt"].wait(60):
        raise TimeoutError
    time.sleep(float(os.environ.get("GNC_FAKE_LAST", "0")))
    if options["out"] == "-":
        sys.stdout.buffer.write(b"bytes")
    return code(outcome=Outcome.INTERRUPTED)


def _stubborn(d: int, K: int, **options: Any) -> Any:
    import signal

    # Deaf main thread: as inside a library call that never comes back to the interpreter.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    print("working", file=sys.stderr, flush=True)
    while True:
        time.sleep(0.1)


if __name__ == "__main__":
    mode = sys.argv.pop(1)
    module: Any = types.ModuleType("gnc_cli.workflows.solve")
    module.solve = {"prompt": FakeSolve(), "slow": _slow, "stubborn": _stubborn}[mode]
    sys.modules[module.__name__] = module
    main()
