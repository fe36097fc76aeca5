"""`gnc solve` around a stand-in: the command line by itself, in milliseconds.

`python -m tests.console.stand_in MODE solve ...`: MODE `prompt` answers at once; `slow` works until
it is interrupted; `stubborn` never looks at its interrupt and never returns to Python's signal
handlers for long.
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from gnc_cli.brackets import Bracket
from gnc_cli.cli import Commands, program
from gnc_cli.io.arguments import entry
from gnc_cli.known_codes.verdict import ComparisonStatus
from gnc_cli.metrics.gnc2 import Rattlers
from gnc_cli.search import api
from gnc_cli.search.request import SolveCommand
from gnc_cli.search.result import Margins, Optimum, Outcome, SolveResult, SolveSweep, UfmMeasures


def code(**changes: Any) -> SolveResult:
    """A result with round numbers: rho in [0.66, 0.67], largest cosine 0.335."""
    fields: dict[str, Any] = dict(
        seconds=1.5,
        version="0.1.0",
        problem="softmax",
        d=10,
        K=100,
        origin="descent",
        outcome=Outcome.CONVERGED,
        max_cosine=0.335,
        min_angle_deg=70.42,
        rho_one_vs_one=1.1532562594670797,
        rho_one_vs_rest=Bracket(0.66, 0.67),
        rattlers=Rattlers(1, 0, 1e-7),
        contacts=843,
        stationarity=2e-15,
        first_order_gain=None,
        local_minimum="yes",
        local_minimum_reason="second-order sufficient conditions hold",
        margins=Margins(0.66, 1.2290608925951367),
        best_known=None,
        status=ComparisonStatus.NO_ENTRY,
        gap=None,
        optimum=Optimum(0.72, 0.085, False, "levenshtein", "Levenshtein 1979"),
        verdict="no code of this size is known; at most 8.5 % below the optimum",
        start=None,
        seed=0,
        restarts=64,
        batches=1,
        hits=1,
        steps=1000,
        out=None,
        weights=np.eye(2),
        features=None,
    )
    return SolveResult(**(fields | changes))


def ufm(tau: float, **changes: Any) -> SolveResult:
    """The same as an optimum of the unconstrained feature model."""
    measures = UfmMeasures(
        tau=tau,
        weight_decay=None,
        n=1,
        gnc1=0.0,
        gnc2=Bracket(0.66, 0.67),
        gnc3=1e-4 * tau,
        hardmax_gap=Bracket(0.0, 0.1 * tau),
    )
    return code(**({"problem": "ufm", "ufm": measures, "seconds": 0.5} | changes))


def sweep(taus: list[float], **changes: Any) -> SolveSweep:
    """One row per temperature."""
    rows = tuple(ufm(t, **changes) for t in taus)
    return SolveSweep(seconds=2.0, version="0.1.0", problem="ufm", d=10, K=100, rows=rows, out=None)


class StandIn:
    """Remembers how it was called; gives `result` or raises `error` where one is set."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.result: SolveResult | SolveSweep | None = None
        self.error: BaseException | None = None

    def __call__(self, *args: Any, **options: Any) -> SolveResult | SolveSweep:
        self.calls.append(options)
        if self.error is not None:
            raise self.error
        if self.result is not None:
            return self.result
        if options["progress"] is not None:
            options["progress"]("descent", 1, 4, 0.5)
            options["progress"]("polish", 0, 0, float("nan"))
        taus = options["tau"] or ()
        own = {name: options[name] for name in ("d", "K", "out")}
        if len(taus) > 1:
            return sweep(list(taus), **own)
        return ufm(taus[0], **own) if taus else code(**own)


def gnc_around(work: Callable[..., Any]) -> Any:
    """The program whose `solve` runs `work` on checked arguments."""

    def command(call: SolveCommand) -> Any:
        return work(**vars(call))

    command.__module__ = api.__name__
    made = entry(SolveCommand)(command)

    class Around(Commands):
        @staticmethod
        def function(name: str) -> Any:
            return made if name == "solve" else Commands.function(name)

    return program(Around)


def _slow(d: int, K: int, *, interrupt: Any, **options: Any) -> Any:
    print("working", file=sys.stderr, flush=True)
    if not interrupt.wait(60):
        raise TimeoutError
    return code(outcome=Outcome.INTERRUPTED)


def _stubborn(d: int, K: int, **options: Any) -> Any:
    import signal

    # As inside a library call that never comes back to the interpreter.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    print("working", file=sys.stderr, flush=True)
    while True:
        time.sleep(0.1)


if __name__ == "__main__":
    gnc_around({"prompt": StandIn(), "slow": _slow, "stubborn": _stubborn}[sys.argv.pop(1)])()
