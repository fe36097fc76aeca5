"""Codes that need neither a search nor algebra: those of theorem 3.3, and those shipped."""

from dataclasses import dataclass

import numpy as np

from gnc_cli.codes.certify import certify_code
from gnc_cli.constructions.families.theorem_3_3 import ClosedForm
from gnc_cli.errors import UsageError
from gnc_cli.geometry.one_vs_rest import one_vs_rest
from gnc_cli.geometry.sphere import normalise
from gnc_cli.known_codes.table import stored_codes
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.search.result import Course, Outcome, SolveResult
from gnc_cli.search.routes.route import TOLERANCE, Route, Save, record

_FEW = 200
"""Up to this K the bracket of each class is computed."""


@dataclass(frozen=True)
class Theorem(Route):
    """The optimum in closed form, where theorem 3.3 has one."""

    form: ClosedForm

    def solve(self, deadline: Deadline, save: Save | None) -> SolveResult:
        weights, request = self.form.weights, self.request
        # All classes are alike: one gives the upper end, and the closest pair the lower.
        one = None if request.K <= _FEW else one_vs_rest(weights, np.array([0])).upper[0]
        certified = certify_code(weights, tolerance=TOLERANCE, deadline=deadline, upper_end=one)
        course = Course(
            origin=f"closed form: {self.form.name}",
            outcome=Outcome.CLOSED_FORM,
            stationarity=0.0,
            first_order_gain=0.0,
        )
        return record(request, weights, certified, course, deadline.elapsed)


@dataclass(frozen=True)
class Stored(Route):
    """Coordinates from a file of ours, certified anew; UsageError where there are none."""

    def solve(self, deadline: Deadline, save: Save | None) -> SolveResult:
        request = self.request
        code = next(stored_codes(request.d, request.K), None)
        if code is None:
            raise UsageError(
                f"no coordinates of d = {request.d:,}, K = {request.K:,} are stored; drop "
                "--construction known to build or find a code"
            )
        name, rows = code
        weights = normalise(rows)
        with request.limited_threads(2.0 * request.K**2 * request.d):
            certified = certify_code(weights, tolerance=TOLERANCE, deadline=deadline)
        course = Course(
            origin=f"stored code: {name.partition(' for d =')[0]}", outcome=Outcome.STORED
        )
        return record(request, weights, certified, course, deadline.elapsed)
