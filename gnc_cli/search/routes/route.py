"""A route to a code: its check of memory, its run, and the record in which it ends."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gnc_cli import __version__
from gnc_cli.codes.certify import Certificate, line_contacts, line_measures
from gnc_cli.metrics.gnc2 import EVERY_CLASS
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.memory import check_memory
from gnc_cli.search.instance import Instance, Machine, Plan
from gnc_cli.search.result import Course, Margins, SolveResult, UfmMeasures
from gnc_cli.search.verdict import add_verdict

TOLERANCE = 1e-7
"""Default tolerance of rattlers and contacts, on distances: far above the error of a polish."""
TOLERANCE_ROUGH = 1e-4
"""Tolerance of rattlers and contacts, on distances, for codes without a polish."""

_PAIR_FIELDS = [
    *("max_cosine", "min_angle_deg", "rho_one_vs_one", "rho_one_vs_rest", "rattlers", "contacts"),
    "margins",
]
"""Values that need every pair of points to be compared."""

Save = Callable[[Callable[[], tuple[np.ndarray, dict[str, int] | None]]], None]
"""Function that saves the best code so far where a save is due. Its argument makes the code, shape
(K, d), with the numbers of its search: seed, starts and tasks."""


@dataclass(frozen=True)
class Route(ABC):
    """One route to a code."""

    instance: Instance
    plan: Plan
    machine: Machine

    advice: ClassVar[str] = "lower --K or --d"
    """Next step where the memory does not suffice."""

    @property
    def description(self) -> str:
        """Description of the work in messages."""
        return f"a code of K={self.instance.K} points in d={self.instance.d}"

    @property
    def memory(self) -> float:
        """Largest memory, in bytes: that of the certificate, unless a route needs more."""
        d, K = self.instance.d, self.instance.K
        return (60.0 if K <= EVERY_CLASS else 28.0) * K * d + 250.0 * K

    def check(self) -> None:
        """Refuse a code that this machine cannot hold.

        Raises:
            UnavailableError: the memory or the disk does not suffice.
            UsageError: the result cannot be returned in the requested form.
        """
        check_memory(self.memory, self.description, self.advice)

    def start_from(self, code: SolveResult) -> "Route":
        """Return the same route with a code as its start, where it has one."""
        return self

    @abstractmethod
    def solve(self, deadline: Deadline, save: Save | None) -> SolveResult:
        """Find the code and certify it.

        Args:
            deadline: end of the time, a signal included.
            save: function that saves the best code so far; None without a file.
        """

    def record(
        self,
        weights: Any,
        certificate: Certificate | None,
        course: Course,
        seconds: float,
        *,
        features: np.ndarray | None = None,
        ufm: UfmMeasures | None = None,
        coherence: float | None = None,
    ) -> SolveResult:
        """Return the result with its verdict.

        Args:
            weights: the code, shape (K, d).
            certificate: certificate of the code; None for lines, and where the search was stopped
                before every pair was compared.
            course: origin and effort.
            seconds: duration of the solve.
            features: features, shape (n K, d), in place of those of the certificate.
            ufm: measures of the feature model.
            coherence: coherence of lines where it is exact; None to compute it.
        """
        second, gain, extras = course.second, course.first_order_gain, {"history": course.history}
        values: dict[str, Any] = dict.fromkeys(_PAIR_FIELDS)
        undecided = (*_PAIR_FIELDS, "status", "gap", "optimum")
        if certificate is not None:
            classes, rho = certificate.classes, certificate.rho_one_vs_rest
            extras |= {
                "one_vs_rest_lower": None if classes is None else classes.lower,
                "one_vs_rest_upper": None if classes is None else classes.upper,
                "contact_pairs": certificate.contact_pairs,
                "rattlers_one_vs_one": certificate.rattles_one_vs_one,
                "rattlers_one_vs_rest": None if classes is None else classes.rattles,
            }
            values = {
                "max_cosine": certificate.max_cosine,
                "min_angle_deg": float(np.degrees(certificate.min_angle)),
                "rho_one_vs_one": certificate.rho_one_vs_one,
                "rho_one_vs_rest": rho,
                "rattlers": certificate.rattlers,
                "contacts": certificate.contacts,
                "margins": Margins(rho.lower, certificate.min_angle),
            }
            undecided = ("rattlers.one_vs_rest",) if certificate.undecided else ()
        if self.instance.is_lines:
            coherence, angle, pairs = line_measures(weights, TOLERANCE, coherence)
            extras["contact_pairs"], undecided = pairs, ()
            contacts = line_contacts(pairs)
            values |= {"min_angle_deg": angle, "contacts": contacts}
        result = SolveResult(
            seconds=seconds,
            version=__version__,
            problem=self.instance.problem,
            d=self.instance.d,
            K=self.instance.K,
            origin=course.origin,
            outcome=course.outcome,
            stationarity=course.stationarity,
            first_order_gain=None if gain is None or np.isnan(gain) else gain,
            local_minimum=None if second is None else second.local_minimum,
            local_minimum_reason=None if second is None else second.reason,
            best_known=None,
            status=None,
            gap=None,
            optimum=None,
            verdict=None,
            start=None,
            seed=self.plan.seed,
            restarts=course.restarts,
            batches=course.batches,
            hits=course.hits,
            steps=course.steps,
            out=None,
            weights=weights,
            features=certificate.features if certificate and features is None else features,
            undecided=undecided,
            **values,
            coherence=coherence,
            ufm=ufm,
            searched=course.searched,
            extras={k: v for k, v in extras.items() if v is not None},
        )
        return add_verdict(self.instance, result)
