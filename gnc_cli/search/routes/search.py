"""Certified searches: from many starts, or one descent where a K x K matrix is too large."""

from dataclasses import dataclass, replace

import numpy as np

from gnc_cli.codes.certify import certify_code
from gnc_cli.geometry.gram import max_cosine
from gnc_cli.geometry.second_order import UNDECIDED
from gnc_cli.geometry.sphere import antipodes
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.parallel import Pool
from gnc_cli.runtime.threads import accelerator, available_cores
from gnc_cli.search.effort import MAX_UNKNOWNS, batch_size
from gnc_cli.search.result import Outcome, SolveResult
from gnc_cli.search.routes.route import TOLERANCE, TOLERANCE_ROUGH, Route, Save
from gnc_cli.search.solver import solve_code
from gnc_cli.search.verdict import proved_upper_end

_POLISH_FIELDS = ("stationarity", "first_order_gain", "local_minimum")
"""Values that are undecided where the time ends before the polish."""
_MAX_QUICK_POINTS, _MAX_QUICK_NUMBERS = 500, 20_000
"""Largest K and K d whose certificate takes a moment: it is completed, whatever the time limit."""
_TIE_TOLERANCE = 1e-9
"""Largest difference of equal distances: stored coordinates are rounded."""
_MAX_CERTIFICATE_SECONDS = 30.0
"""Longest certificate of a larger code, in seconds: one that ends earlier has wider brackets, still
valid."""
_PROOF_TOLERANCE = 1e-11
"""Largest difference of a proved optimum and a polished code that attains it, by rounding."""
_PROCESS_BYTES = 250e6
"""Memory of a process with its libraries, in bytes."""
_WRITING_SECONDS = 4.0
"""Time reserved for writing a large code, in seconds; a fifth of the limit at most."""


@dataclass(frozen=True)
class Search(Route):
    """Descents from many starts, polished."""

    advice = "lower --K, --d or --workers"

    start: np.ndarray | None = None
    """First start, shape (K, d): the user's, a known code, or the code of an earlier call."""
    origin: str = ""
    """Origin of a known code; empty for others."""

    def start_from(self, code: SolveResult) -> Route:
        """Return this search, with a code as its start unless its start is better."""
        start = self.start
        if start is not None and self.instance.is_lines:
            start = antipodes(start)
        if start is not None and 1.0 - max_cosine(start) > code.distance + _TIE_TOLERANCE:
            return self  # the code of an earlier call is better
        return replace(self, start=code.weights, origin=code.origin)

    @property
    def memory(self) -> float:
        """Largest memory, in bytes: per process a batch of descents with pairs, and a polish."""
        r = self.instance
        rows = (2 if r.separate or r.is_lines else 1) * r.K
        coordinates = (rows - (0 if r.fixed is None else len(r.fixed))) * (r.d - 1)
        polish = 24.0 * coordinates**2 if coordinates <= MAX_UNKNOWNS else 0.0
        workers = self.machine.processes
        process = batch_size(r.d, r.K**2) * (110.0 * rows * r.d + 24.0 * r.K**2) + polish
        if r.is_lines or r.symmetry is not None:
            process += 12.0 * rows * r.d**2  # a matrix of the group for each point
        return max(super().memory, workers * process + (workers - 1) * _PROCESS_BYTES)

    def solve(self, deadline: Deadline, save: Save | None) -> SolveResult:
        """Search from many starts; a code whose optimality is proved ends the search."""
        instance, machine = self.instance, self.machine
        d, K, device = instance.d, instance.K, str(accelerator(machine.device) or "cpu")
        target_distance = self.plan.target_distance
        if np.isinf(target_distance) and instance.restriction is None:
            # A code that attains the proved bound ends the search.
            target_distance = proved_upper_end(d, K, instance.quantity) - _PROOF_TOLERANCE

        def save_best(weights: np.ndarray, state: dict[str, int]) -> None:
            if save is not None:
                save(lambda: (weights, state))

        quick = K <= _MAX_QUICK_POINTS and K * d <= _MAX_QUICK_NUMBERS
        # This process alone feeds a GPU.
        pool = Pool(machine.processes, machine.cluster) if device == "cpu" else Pool(1)
        with machine.limited_threads(K**2 * d), pool:
            solution = solve_code(
                instance,
                replace(self.plan, target_distance=target_distance),
                deadline,
                pool,
                init=self.start,
                origin=self.origin,
                device=device,
                save=save_best,
            )
            certificate = (
                None
                if instance.is_lines
                else certify_code(
                    solution.weights,
                    tolerance=TOLERANCE if solution.polished else TOLERANCE_ROUGH,
                    deadline=None if quick else deadline.limited(_MAX_CERTIFICATE_SECONDS),
                )
            )
        result = self.record(solution.weights, certificate, solution, deadline.elapsed)
        stopped = result.outcome in (Outcome.TIME_LIMIT, Outcome.INTERRUPTED)
        undecided = [
            name
            for name in _POLISH_FIELDS
            if stopped and getattr(result, name) in (None, UNDECIDED)
        ]
        return replace(
            result,
            undecided=(*result.undecided, *undecided),
            extras={**result.extras, "state": solution.state},
        )


@dataclass(frozen=True)
class LargeSearch(Route):
    """One descent in blocks, without a K x K matrix, certified by its largest cosine."""

    start: np.ndarray | None = None
    """The user's start, or the code of an earlier call, shape (K, d)."""

    @property
    def memory(self) -> float:
        """Largest memory, in bytes: rows with gradient, moments and copies; close pairs; blocks."""
        from gnc_cli.search.large_scale import MAX_PAIRS, NEIGHBOURS, PAIR_BYTES

        d, K, threads = self.instance.d, self.instance.K, self.machine.threads or available_cores()
        pairs = PAIR_BYTES * min(MAX_PAIRS, K * NEIGHBOURS[1] // 2)
        return max(super().memory, (72.0 + 4.0 * threads) * K * d + pairs + 25e6 * threads)

    def solve(self, deadline: Deadline, save: Save | None) -> SolveResult:
        """Descend once, and certify the code as far as the time allows."""
        from gnc_cli.search.large_scale import solve_large

        deadline = deadline.reserving(min(_WRITING_SECONDS, 0.2 * (deadline.seconds or 0.0)))
        solution = solve_large(
            self.instance, self.plan, self.machine, init=self.start, deadline=deadline, save=save
        )
        certificate = (
            None
            if solution.row_maxima is None
            else certify_code(
                solution.weights,
                tolerance=TOLERANCE_ROUGH,
                row_max=solution.row_maxima,
                deadline=deadline,
            )
        )
        return self.record(solution.weights, certificate, solution, deadline.elapsed)
