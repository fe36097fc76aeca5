"""One blocked descent for K beyond K x K matrices, certified by its own largest cosine."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from gnc_cli.codes.certify import certify_code
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.devices import resolve_device
from gnc_cli.runtime.threads import available_cores
from gnc_cli.search.request import apart
from gnc_cli.search.result import SolveResult
from gnc_cli.search.routes.route import TOLERANCE_ROUGH, Route, Save, record

_WRITING = 4.0
"""Seconds kept for writing a large code, a fifth of the limit at most."""


@dataclass(frozen=True)
class LargeSearch(Route):
    """A descent that never holds a K x K matrix."""

    start: np.ndarray | None = None
    """The code of an earlier call, in place of the user's start."""

    @property
    def described(self) -> str:
        return f"a search for {self._size}"

    @property
    def memory(self) -> float:
        """Rows with gradient, moments and copies; a list of close pairs; blocks."""
        from gnc_cli.search.large_scale import MAX_PAIRS, NEIGHBOURS, PER_PAIR

        d, K, threads = self.request.d, self.request.K, self.request.threads or available_cores()
        pairs = PER_PAIR * min(MAX_PAIRS, K * NEIGHBOURS[1] // 2)
        return max(super().memory, (72.0 + 4.0 * threads) * K * d + pairs + 25e6 * threads)

    def resumed(self, weights: np.ndarray, state: Mapping[str, int]) -> "LargeSearch":
        """No state is kept: the code is the start."""
        return replace(self, start=apart(weights, self.request.seed))

    def solve(self, deadline: Deadline, save: Save | None) -> SolveResult:
        from gnc_cli.search.large_scale import solve_large

        request = self.request
        deadline = deadline.reserving(min(_WRITING, 0.2 * (deadline.seconds or 0.0)))
        solution = solve_large(
            request.d,
            request.K,
            seed=request.seed,
            init=request.init if self.start is None else self.start,
            steps=request.steps,
            deadline=deadline,
            device=str(resolve_device(request.device)),
            threads=request.threads,
            progress=request.stage("large scale: max_cosine"),
            fixed=request.fixed,
            save=save,
        )
        certified = certify_code(
            solution.weights,
            tolerance=TOLERANCE_ROUGH,
            row_max=solution.row_maxima,
            deadline=deadline,
        )
        return record(request, solution.weights, certified, solution, deadline.elapsed)
