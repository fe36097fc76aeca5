"""Searches, certified: over many basins, or one descent where a K x K matrix is too large."""

from dataclasses import dataclass, replace

import numpy as np

from gnc_cli.codes.certify import certify_code
from gnc_cli.geometry.gram import max_cosine
from gnc_cli.geometry.second_order import UNDECIDED
from gnc_cli.geometry.sphere import antipodes
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.parallel import Pool
from gnc_cli.runtime.threads import accelerator, available_cores, resolve_device
from gnc_cli.search.effort import MAX_UNKNOWNS, batch_size
from gnc_cli.search.result import Outcome, SolveResult
from gnc_cli.search.routes.route import TOLERANCE, TOLERANCE_ROUGH, Route, Save
from gnc_cli.search.solver import solve_code
from gnc_cli.search.verdict import proved_upper_end

_OF_A_POLISH = ("stationarity", "first_order_gain", "local_minimum")
_QUICK, _QUICK_NUMBERS = 500, 20_000
"""Up to this K and K d the certificate takes a moment and is made whole, whatever the time limit.
"""
_SAME = 1e-9
"""Distances this near are those of one code."""
_CERTIFICATE = 30.0
"""Most seconds of the certificate of a larger code."""
_PROVED_DIGITS = 1e-11
"""What proved figures and the values of a search agree to."""
_PROCESS = 250e6
"""Bytes of a process with its libraries."""
_WRITING = 4.0
"""Seconds kept for writing a large code, a fifth of the limit at most."""


@dataclass(frozen=True)
class Search(Route):
    """Descents from many starts, polished."""

    advice = "lower --K, --d or --workers"

    start: np.ndarray | None = None
    """The first start: the user's, a known code, or the code of an earlier call."""
    origin: str = ""
    """Origin of a known code; empty for others."""
    tasks: int = 0
    """Number of tasks that earlier calls have done with this seed."""

    def beside(self, known: SolveResult) -> Route:
        start = self.start
        if start is not None and self.instance.is_lines:
            start = antipodes(start)
        if start is not None and 1.0 - max_cosine(start) > known.distance + _SAME:
            return self  # an earlier call came further
        return replace(self, start=known.weights, origin=known.origin)

    @property
    def memory(self) -> float:
        """In each process a batch of descents with their pairs, and the matrix of a polish."""
        r = self.instance
        rows = (2 if r.separate or r.is_lines else 1) * r.K
        coordinates = (rows - (0 if r.fixed is None else len(r.fixed))) * (r.d - 1)
        polish = 24.0 * coordinates**2 if coordinates <= MAX_UNKNOWNS else 0.0
        workers = self.machine.processes
        one = batch_size(r.d, r.K**2) * (110.0 * rows * r.d + 24.0 * r.K**2) + polish
        return max(super().memory, workers * one + (workers - 1) * _PROCESS)

    def solve(self, deadline: Deadline, save: Save | None) -> SolveResult:
        instance, machine = self.instance, self.machine
        d, K, device = instance.d, instance.K, str(accelerator(machine.device) or "cpu")
        target_distance = self.plan.target_distance
        if np.isinf(target_distance) and instance.restriction is None:
            # A code that reaches what is proved leaves nothing to search for.
            target_distance = proved_upper_end(d, K, instance.quantity) - _PROVED_DIGITS

        def save_best(weights: np.ndarray, tasks: int) -> None:
            if save is not None:
                save(lambda: (weights, {"seed": self.plan.seed, "starts": tasks}))

        quick = K <= _QUICK and K * d <= _QUICK_NUMBERS
        # This process alone feeds a GPU.
        pool = Pool(machine.processes, machine.cluster) if device == "cpu" else Pool(1)
        with machine.limited_threads(K**2 * d), pool:
            solution = solve_code(
                instance,
                replace(self.plan, target_distance=target_distance, earlier_tasks=self.tasks),
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
                    deadline=None if quick else deadline.limited(_CERTIFICATE),
                )
            )
        result = self.record(solution.weights, certificate, solution, deadline.elapsed)
        stopped = result.outcome in (Outcome.TIME_LIMIT, Outcome.INTERRUPTED)
        undecided = [
            name for name in _OF_A_POLISH if stopped and getattr(result, name) in (None, UNDECIDED)
        ]
        return replace(
            result,
            undecided=(*result.undecided, *undecided),
            extras={**result.extras, "state": {"seed": self.plan.seed, "starts": solution.tasks}},
        )


@dataclass(frozen=True)
class LargeSearch(Route):
    """One blocked descent that never holds a K x K matrix, certified by its own largest cosine."""

    start: np.ndarray | None = None
    """The user's start, or the code of an earlier call."""

    @property
    def memory(self) -> float:
        """Rows with gradient, moments and copies; a list of close pairs; blocks."""
        from gnc_cli.search.large_scale import MAX_PAIRS, NEIGHBOURS, PER_PAIR

        d, K, threads = self.instance.d, self.instance.K, self.machine.threads or available_cores()
        pairs = PER_PAIR * min(MAX_PAIRS, K * NEIGHBOURS[1] // 2)
        return max(super().memory, (72.0 + 4.0 * threads) * K * d + pairs + 25e6 * threads)

    def solve(self, deadline: Deadline, save: Save | None) -> SolveResult:
        from gnc_cli.search.large_scale import solve_large

        instance, plan, machine = self.instance, self.plan, self.machine
        deadline = deadline.reserving(min(_WRITING, 0.2 * (deadline.seconds or 0.0)))
        solution = solve_large(
            instance.d,
            instance.K,
            seed=plan.seed,
            init=self.start,
            steps=plan.steps,
            target_distance=plan.target_distance,  # rho is at least 1 - max_cosine
            deadline=deadline,
            device=str(resolve_device(machine.device)),
            threads=machine.threads,
            progress=plan.stage("large scale: max_cosine"),
            fixed=instance.fixed,
            save=save,
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
