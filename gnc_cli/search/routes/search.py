"""A search over basins, certified; what its processes hold, and how it goes on from a file."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from gnc_cli.codes.certify import certify_code
from gnc_cli.geometry.second_order import NO, UNDECIDED
from gnc_cli.parameters import spelled
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.devices import accelerator
from gnc_cli.runtime.parallel import Pool, processes
from gnc_cli.search.effort import MAX_UNKNOWNS
from gnc_cli.search.request import Request
from gnc_cli.search.result import Course, Outcome, SolveResult
from gnc_cli.search.routes.route import TOLERANCE, TOLERANCE_ROUGH, Route, Save, record
from gnc_cli.search.solver import SearchResult, solve_code
from gnc_cli.search.verdict import proved_upper_end

_OF_A_POLISH = ("stationarity", "first_order_gain", "local_minimum")
_QUICK = 500
"""Up to this K the certificate takes a moment and is made whole, whatever the time limit."""
_PROVED_DIGITS = 1e-11
"""What proved figures and the values of a search agree to."""
_PROCESS = 250e6
"""Bytes of a process with its libraries."""
_BATCH = 64
_BATCH_PAIRS = 1e6
"""A batch has at most this many descents, and pairs of rows, but four descents at least."""


@dataclass(frozen=True)
class Search(Route):
    """Descents from many starts, polished."""

    start: np.ndarray | None = None
    """Rows of a construction or of the file, the first start in place of the user's."""
    starts: int = 0
    """Number of starts that earlier calls have done with this seed."""

    @property
    def described(self) -> str:
        return f"a search for {self._size}"

    @property
    def smaller(self) -> str:
        return (
            f"{super().smaller}, or {spelled('workers')}" if self._workers > 1 else super().smaller
        )

    @property
    def memory(self) -> float:
        """In each process a batch of descents with their pairs, and the matrix of a polish."""
        r = self.request
        rows = (2 if r.separate else 1) * r.K
        batch = max(4.0, min(_BATCH, _BATCH_PAIRS / r.K**2))
        coordinates = (rows - (0 if r.fixed is None else len(r.fixed))) * (r.d - 1)
        polish = 24.0 * coordinates**2 if coordinates <= MAX_UNKNOWNS else 0.0
        one = batch * (110.0 * rows * r.d + 24.0 * r.K**2) + polish
        return max(super().memory, self._workers * one + (self._workers - 1) * _PROCESS)

    @property
    def _workers(self) -> int:
        return processes(self.request.workers, self.request.cluster)

    def resumed(self, weights: np.ndarray, state: Mapping[str, int]) -> "Search":
        """From the file's code, with the next start of its seed."""
        same = state.get("seed") == self.request.seed
        return replace(self, start=weights, starts=max(0, state.get("starts", 0)) if same else 0)

    def solve(self, deadline: Deadline, save: Save | None) -> SolveResult:
        request, device = self.request, str(accelerator(self.request.device) or "cpu")

        def save_best(weights: np.ndarray, starts: int) -> None:
            if save is not None:
                save(lambda: (weights, {"seed": request.seed, "starts": starts}))

        # This process alone feeds a GPU.
        pool = Pool(self._workers, request.cluster) if device == "cpu" else Pool(1)
        with request.limited_threads(request.K**2 * request.d), pool:
            found = solve_code(
                request,
                deadline,
                pool,
                init=request.init if self.start is None else self.start,
                target=_end_of_search(request),
                device=device,
                known=None if request.known is None else request.known.max_cosine,
                progress=request.progress,
                starts=self.starts,
                save=save_best,
            )
            polished = _polished(found)
            certified = certify_code(
                found.weights,
                tolerance=TOLERANCE if polished else TOLERANCE_ROUGH,
                deadline=deadline if request.K > _QUICK else None,
            )
        course = _course(request, found, deadline)
        result = record(request, found.weights, certified, course, deadline.elapsed)
        stopped = result.outcome in (Outcome.TIME_LIMIT, Outcome.INTERRUPTED)
        undecided = [
            name for name in _OF_A_POLISH if stopped and getattr(result, name) in (None, UNDECIDED)
        ]
        return replace(
            result,
            undecided=(*result.undecided, *undecided),
            extras={**result.extras, "state": {"seed": request.seed, "starts": found.starts}},
        )


def _end_of_search(request: Request) -> float | None:
    """The user's target, else what is proved to be the most: nothing is left to search for."""
    if request.target is not None or request.restriction is not None:
        return request.reachable_target
    rho = proved_upper_end(request.d, request.K) - _PROVED_DIGITS
    return rho if request.problem == "softmax" else 1.0 - rho


def _polished(found: SearchResult) -> bool:
    order = found.order
    if order is None:
        return False
    return order.gain <= 1e-9 or (order.stationarity <= 1e-9 and order.bound <= 1e-7)


def _course(request: Request, found: SearchResult, deadline: Deadline) -> Course:
    """How the search ended, and with which effort."""
    order, second = found.order, found.second
    if deadline.interrupted:
        outcome = Outcome.INTERRUPTED
    elif not found.finished:
        outcome = Outcome.TIME_LIMIT
    elif not _polished(found):
        outcome = Outcome.STALLED
    elif second is not None and second.local_minimum == NO and request.symmetry is None:
        outcome = Outcome.SADDLE  # a search that must keep a symmetry has converged within it
    else:
        outcome = Outcome.CONVERGED
    return Course(
        origin=f"descent from {found.origin}" if found.origin else "descent",
        outcome=outcome,
        stationarity=None if order is None else order.stationarity,
        first_order_gain=None if order is None else order.gain,
        second=second,
        restarts=found.restarts,
        batches=found.batches,
        hits=found.hits or None,
        steps=found.steps,
        history=found.history,
    )
