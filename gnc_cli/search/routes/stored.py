"""A code whose coordinates this project ships."""

from dataclasses import dataclass

import numpy as np

from gnc_cli.codes.certify import certify_code
from gnc_cli.errors import UsageError
from gnc_cli.geometry.sphere import normalise
from gnc_cli.known_codes.table import stored_codes
from gnc_cli.parameters import spelled
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.search.request import STORED, Request
from gnc_cli.search.result import Course, Outcome, SolveResult
from gnc_cli.search.routes.route import TOLERANCE, Route, Save, record


@dataclass(frozen=True)
class Stored(Route):
    """Coordinates from a file of ours, certified anew."""

    name: str
    rows: np.ndarray

    @classmethod
    def of(cls, request: Request) -> "Stored":
        """The stored code of (d, K).

        Raises:
            UsageError: there is none.
        """
        code = next(stored_codes(request.d, request.K), None)
        if code is None:
            raise UsageError(
                f"no coordinates of d = {request.d:,}, K = {request.K:,} are stored; drop "
                f"{spelled('construction', STORED)} to build or find a code"
            )
        return cls(request, *code)

    @property
    def described(self) -> str:
        return f"the stored code of {self._size}"

    def solve(self, deadline: Deadline, save: Save | None) -> SolveResult:
        weights, request = normalise(self.rows), self.request
        with request.limited_threads(2.0 * request.K**2 * request.d):
            certified = certify_code(weights, tolerance=TOLERANCE, deadline=deadline)
        course = Course(
            origin=f"stored code: {self.name.partition(' for d =')[0]}", outcome=Outcome.STORED
        )
        return record(request, weights, certified, course, deadline.elapsed)
