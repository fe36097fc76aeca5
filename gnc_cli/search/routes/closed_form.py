"""The optimum in closed form, where theorem 3.3 has one."""

from dataclasses import dataclass

import numpy as np

from gnc_cli.codes.certify import certify_code
from gnc_cli.constructions.families.theorem_3_3 import ClosedForm
from gnc_cli.geometry.one_vs_rest import one_vs_rest
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.search.result import Course, Outcome, SolveResult
from gnc_cli.search.routes.route import TOLERANCE, Route, Save, record

_FEW = 200
"""Up to this K the bracket of each class is computed."""


@dataclass(frozen=True)
class Theorem(Route):
    """The code of theorem 3.3."""

    form: ClosedForm

    @property
    def described(self) -> str:
        return f"the {self.form.name} of {self._size}"

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
