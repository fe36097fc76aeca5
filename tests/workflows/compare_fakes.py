"""A stand-in for the solver behind `compare`: codes that are known beforehand, at once."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gnc_cli.codes.certify import certify_code
from gnc_cli.codes.constructions.registry import find
from gnc_cli.results import Margins, Outcome, SolveResult

__all__ = ["Solver", "named_rows", "random_rows", "solved"]


def random_rows(d: int, K: int, seed: int = 0) -> np.ndarray:
    """Unit rows without any pattern."""
    W = np.random.default_rng(seed).standard_normal((K, d))
    return W / np.linalg.norm(W, axis=1, keepdims=True)


def named_rows(name: str) -> np.ndarray:
    """The rows of a construction."""
    code = find(name)
    assert code is not None
    return np.asarray(code.build())


def solved(W: np.ndarray, problem: str = "tammes", **changes: Any) -> SolveResult:
    """A certified result for these rows."""
    found = certify_code(W, tolerance=1e-7)
    fields: dict[str, Any] = dict(
        seconds=0.5, version="0", problem=problem, d=W.shape[1], K=len(W), origin="descent",
        outcome=Outcome.CONVERGED, max_cosine=found.max_cosine, min_angle_deg=0.0,
        rho_one_vs_one=found.rho_one_vs_one, rho_one_vs_rest=found.rho_one_vs_rest,
        rattlers=found.rattlers, contacts=1,
        stationarity=None, first_order_gain=None, margins=Margins(0.0, 0.0), best_known=None,
        status=None, gap=None, optimum=None, verdict=None,
        seed=0, restarts=1, steps=1, out=None, weights=W, features=found.features,
        extras={
            "rattlers_one_vs_one": found.rattles_one_vs_one,
            "rattlers_one_vs_rest": found.rattles_one_vs_rest,
        },
    )  # fmt: skip
    return SolveResult(**(fields | changes))


class Solver:
    """Called like `solve`; remembers how, and answers by problem, (d, K) and start."""

    def __init__(self, answer: Callable[..., np.ndarray]) -> None:
        self.answer = answer
        self.calls: list[dict[str, Any]] = []

    def __call__(self, d: int, K: int, **options: Any) -> SolveResult:
        self.calls.append({"d": d, "K": K, **options})
        return solved(self.answer(d, K, **options), options["problem"], seed=options["seed"])
