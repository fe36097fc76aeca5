"""Bachoc and Vallentin's three-point bound: from certificates that gnc has, or computed.

A certificate of (d', K', s) says that every code of K' points in R^d' has a largest cosine above s
(`three_point_certificate` has the theorem). A code of K >= K' points in d <= d' dimensions contains
such a code, with zeros appended. So it has a largest cosine above s too, and rho* < 1 - s: the best
certificate of all such (d', K') counts.
"""

from fractions import Fraction

from gnc_cli.geometry.rounding import rounded_up
from gnc_cli.limits.limit import Count, Dimension, Finding, Limit
from gnc_cli.limits.stored_certificates import (
    COMPUTED,
    StoredCertificate,
    best_stored,
    stored_certificates,
)
from gnc_cli.runtime.deadline import Deadline, StageProgress

_DEGREE = 8
"""Of programmes that are solved on demand, in about ten seconds."""


class ThreePointLimit(Limit):
    """The best stored certificate; on demand also one that is computed for the pair itself."""

    name = "three-point"
    source = "Bachoc and Vallentin 2008"
    exists = False
    listed = True

    def __init__(
        self,
        *,
        compute: bool = False,
        deadline: Deadline | None = None,
        progress: StageProgress | None = None,
    ) -> None:
        """
        Args:
            compute: whether `at` computes a certificate for a pair without a stored one.
            deadline: of these computations.
            progress: of each of them.
        """
        self._compute, self._deadline, self._progress = compute, deadline, progress
        self.declined = False
        self.silent = 0

    def at(self, d: int, K: int) -> Finding | None:
        stored = best_stored(d, K)
        if self._compute and (stored is None or (stored.d, stored.K) != (d, K)):
            self._add(d, K)
        computed = COMPUTED.get((d, K)) if self._compute else None
        if computed is not None and (stored is None or Fraction(computed.cosine) > stored.cosine):
            source = f"{self.source}; computed, proved in whole numbers"
            return Finding(rounded_up(1 - Fraction(computed.cosine)), strict=True, source=source)
        if stored is None:
            return None
        return Finding(rounded_up(1 - stored.cosine), strict=True, source=self._cited(stored))

    def points(self, d: int, target: Fraction) -> Count | None:
        """One less than the fewest points that a certificate for d or more dimensions excludes."""
        excluding = [c for c in stored_certificates() if c.d >= d and _excludes(c, target)]
        fewest = min(excluding, key=lambda c: c.K, default=None)
        return None if fewest is None else Count.of(fewest.K - 1, source=self._cited(fewest))

    def dimension(self, K: int, target: Fraction) -> Dimension:
        """One above the largest dimension that is excluded; 2 where none is."""
        excluded = (c.d for c in stored_certificates() if c.K <= K and _excludes(c, target))
        return Dimension(max(excluded, default=1) + 1)

    def _cited(self, stored: StoredCertificate) -> str:
        return f"{self.source}; certificate of ({stored.d}, {stored.K}), {stored.file}"

    def _add(self, d: int, K: int) -> None:
        """Compute the certificate of a pair, unless there is no time or it cannot be had."""
        from gnc_cli.limits.certificate import Unresolved
        from gnc_cli.limits.three_point_programme import three_point_certificate

        if (d, K) in COMPUTED:
            return
        certificate = None
        if d >= 3 and K > 2 * d:
            try:
                certificate = three_point_certificate(
                    d, K, _DEGREE, deadline=self._deadline, progress=self._progress
                )
            except Unresolved:
                self.declined = True
                return
        if certificate is None:
            self.silent += 1
        else:
            COMPUTED[d, K] = certificate


def _excludes(certificate: StoredCertificate, target: Fraction) -> bool:
    return target >= 1 - certificate.cosine
