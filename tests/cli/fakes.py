"""A stand-in for the solver, so that the command line is tested by itself and in milliseconds."""

from __future__ import annotations

import sys
import types
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc_cli.results import (
    Bracket,
    Margins,
    Optimum,
    Outcome,
    Rattlers,
    SolveResult,
    SolveSweep,
    Standing,
    UfmMeasures,
)

if TYPE_CHECKING:
    import pytest  # not for `fake_gnc.py`, which starts many times


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
        margins=Margins(0.66, 1.2290608925951367),
        best_known=None,
        status=Standing.NO_ENTRY,
        gap=None,
        optimum=Optimum(0.72, 0.085, False, "levenshtein", "Levenshtein 1979"),
        verdict="no code of this size is known; at most 8.5 % below the optimum (Levenshtein)",
        seed=0,
        restarts=64,
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
    """One row a temperature."""
    rows = tuple(ufm(t, **changes) for t in taus)
    return SolveSweep(seconds=2.0, version="0.1.0", problem="ufm", d=10, K=100, rows=rows, out=None)


class FakeSolve:
    """Remembers how it was called and returns what it was told to."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.result: SolveResult | SolveSweep | None = None
        self.error: BaseException | None = None

    def __call__(self, d: int, K: int, **options: Any) -> SolveResult | SolveSweep:
        self.calls.append({"d": d, "K": K, **options})
        if self.error is not None:
            raise self.error
        if self.result is not None:
            return self.result
        if options["progress"] is not None:
            options["progress"]("descent", 1, 4, 0.5)
            options["progress"]("polish", 0, 0, float("nan"))
        tau = options["tau"]
        if isinstance(tau, list):
            return sweep(tau, d=d, K=K, out=options["out"])
        make = code if tau is None else ufm
        args = () if tau is None else (tau,)
        return make(*args, d=d, K=K, problem=options["problem"], out=options["out"])


def install(monkeypatch: pytest.MonkeyPatch) -> FakeSolve:
    """Put a FakeSolve where `gnc solve` looks for the work function."""
    fake = FakeSolve()
    module = types.ModuleType("gnc_cli.workflows.solve")
    module.solve = fake  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "gnc_cli.workflows.solve", module)
    return fake
