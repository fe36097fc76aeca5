"""Which three-point certificates there are: a list of those that ship, and those computed here.

The list is `data/known_codes/certificates/three_point.csv`, and the files lie beside it. They were
checked before they were stored, and `gnc bounds --verify` checks each again.
"""

import csv
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

from gnc_cli.known_codes.table import data_folder

COMPUTED: dict[tuple[int, int], Any] = {}
"""Certificates that this process has computed and checked (`ThreePointCertificate`), by d and K."""


@dataclass(frozen=True)
class StoredCertificate:
    """A line of the list of certificates that ship."""

    d: int
    K: int
    cosine: Fraction
    """Every code of K points in R^d has a larger one."""
    file: str
    """Its name in `data/known_codes/certificates`."""


@cache
def stored_certificates() -> list[StoredCertificate]:
    """Those that this version ships, the best first."""
    path = data_folder() / "certificates" / "three_point.csv"
    rows = csv.DictReader(path.read_text(encoding="utf-8").splitlines())
    stored = [
        StoredCertificate(int(row["d"]), int(row["K"]), Fraction(row["cosine"]), row["file"])
        for row in rows
    ]
    return sorted(stored, key=lambda certificate: -certificate.cosine)


def best_stored(d: int, K: int) -> StoredCertificate | None:
    """The best one of K or fewer points in R^d or more dimensions."""
    return next((c for c in stored_certificates() if c.d >= d and c.K <= K), None)
