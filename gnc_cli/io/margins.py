"""Our own solved Softmax Codes as figures: certified one-vs-rest distances and how to repeat them.

The figures lie in `data/known_codes/margins.csv`; each row is the certified lower end that the
command in it prints.
"""

import csv
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256

from gnc_cli.io.known_codes import data_folder

__all__ = ["SolvedMargin", "SolvedMargins", "stored_margins"]

_DATE = "2026-11"


@dataclass(frozen=True)
class SolvedMargin:
    """One solved code: a proved lower bound of rho*(d, K)."""

    d: int
    K: int
    rho: float
    command: str


@dataclass(frozen=True)
class SolvedMargins:
    """The file with its birth certificate."""

    entries: tuple[SolvedMargin, ...]
    date: str
    sha256: str

    def covering(self, d: int, K: int) -> SolvedMargin | None:
        """The best code of at least K points in at most d dimensions, or None.

        Its first K points, with zeros appended, are a code of (d, K) with no smaller distance.
        """
        fitting = [e for e in self.entries if e.d <= d and e.K >= K]
        return max(fitting, key=lambda e: e.rho, default=None)


@lru_cache(maxsize=1)
def stored_margins() -> SolvedMargins:
    """The figures that this version ships."""
    data = (data_folder() / "margins.csv").read_bytes()
    rows = csv.DictReader(data.decode("utf-8").splitlines())
    entries = tuple(
        SolvedMargin(int(r["d"]), int(r["K"]), float(r["rho_one_vs_rest"]), r["command"])
        for r in rows
    )
    return SolvedMargins(entries, _DATE, sha256(data).hexdigest())
