"""Lines without a search: closed forms, and one row of each pair of an antipodal construction."""

from dataclasses import dataclass

import numpy as np

from gnc_cli.constructions.families.theorem_3_3 import simplex_vertices
from gnc_cli.geometry.sphere import one_per_line
from gnc_cli.limits.lines import closed_coherence, line_construction
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.search.instance import Instance, Machine, Plan
from gnc_cli.search.result import Course, Outcome, SolveResult
from gnc_cli.search.routes.route import Route, Save


@dataclass(frozen=True)
class KnownLines(Route):
    """Lines that a theorem or a construction gives."""

    weights: np.ndarray
    """One unit row per line, shape (K, d)."""
    origin: str
    outcome: Outcome
    coherence: float | None = None
    """Exact coherence; None to compute it."""

    def solve(self, deadline: Deadline, save: Save | None) -> SolveResult:
        """Certify the lines."""
        course = Course(origin=self.origin, outcome=self.outcome, searched=False)
        seconds, exact = deadline.elapsed, self.coherence
        return self.record(self.weights, None, course, seconds, coherence=exact)


def known_lines_route(instance: Instance, plan: Plan, machine: Machine) -> KnownLines | None:
    """Return the route to the best lines that need no search, or None."""
    d, K = instance.d, instance.K
    if closed_coherence(d, K) is not None:
        angles = np.pi * np.arange(K)[:, None] / K
        plane = np.hstack([np.cos(angles), np.sin(angles)])
        rows = np.eye(K, d) if K <= d else plane if d == 2 else simplex_vertices(K)
        name = "orthogonal lines" if K <= d else "equal angles" if d == 2 else "simplex"
        origin = f"closed form: {name}"
        return KnownLines(instance, plan, machine, rows, origin, Outcome.CLOSED_FORM)
    code = line_construction(d, K)
    if code is None or code.is_streamed:
        return None
    rows = np.zeros((K, d))
    rows[:, : code.d] = one_per_line(np.asarray(code.build(), dtype=np.float64))[:K]
    origin = f"construction: {code.name}, one row of each pair"
    exact = code.cosine.value if code.K == 2 * K else None
    return KnownLines(instance, plan, machine, rows, origin, Outcome.CONSTRUCTED, exact)
