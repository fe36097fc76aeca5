"""Bachoc and Vallentin's three-point bound: from certificates that ship, or are computed.

A certificate of (d', K', s) says that every code of K' points in R^d' has a largest cosine above s
(`three_point_certificate` has the theorem). A code of K >= K' points in d <= d' dimensions contains
such a code, with zeros appended. So it has a largest cosine above s too, and rho* < 1 - s: the best
certificate of all such (d', K') counts.

The list of those that ship is `data/known_codes/certificates/three_point.csv`, and the files lie
beside it. They were checked before they were stored, and `gnc bounds --verify` checks each again.
"""

import csv
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

from gnc_cli.known_codes.table import data_folder
from gnc_cli.limits.exclusions import Exclusion, ExclusionLimit
from gnc_cli.limits.limit import Finding
from gnc_cli.runtime.deadline import Deadline, StageProgress

if TYPE_CHECKING:
    from gnc_cli.limits.three_point_certificate import ThreePointCertificate

_DEGREE = 8
"""Of programmes that are solved on demand, in about ten seconds."""
_SOURCE = "Bachoc and Vallentin 2008"


@cache
def stored_certificates() -> list[Exclusion]:
    """Those that this version ships."""
    path = data_folder() / "certificates" / "three_point.csv"
    rows = csv.DictReader(path.read_text(encoding="utf-8").splitlines())
    cited = _SOURCE + "; certificate of ({d}, {K}), {file}"
    return [
        Exclusion.above(int(r["d"]), int(r["K"]), Fraction(r["cosine"]), cited.format(**r))
        for r in rows
    ]


class ThreePointLimit(ExclusionLimit):
    """The best stored certificate; on demand also one that is computed for the pair itself."""

    def __init__(
        self,
        *,
        compute: bool = False,
        deadline: Deadline | None = None,
        progress: StageProgress | None = None,
    ) -> None:
        """
        Args:
            compute: whether `solve` computes a certificate for a pair without a stored one.
            deadline: of these computations.
            progress: of each of them.
        """
        super().__init__("three-point", _SOURCE, stored_certificates())
        self._compute, self._deadline, self._progress = compute, deadline, progress
        self.certificate: ThreePointCertificate | None = None
        """That of the last pair, where it is better than the stored ones."""

    def solve(self, d: int, K: int) -> Finding | None:
        self.certificate = None
        best = self.best(d, K)
        if not self._compute or (best is not None and (best.d, best.K) == (d, K)):
            return None
        from gnc_cli.limits.claim import Unresolved
        from gnc_cli.limits.three_point_programme import three_point_certificate

        try:
            certificate = three_point_certificate(d, K, _DEGREE, self._deadline, self._progress)
        except Unresolved:
            self.declined = True
            return None
        if certificate is None:
            self.silent += 1
            return None
        source = f"{_SOURCE}; computed, proved in whole numbers"
        own = Exclusion.above(d, K, Fraction(certificate.cosine), source).finding
        if best is not None and best.finding.value <= own.value:
            return None
        self.certificate = certificate
        return own
