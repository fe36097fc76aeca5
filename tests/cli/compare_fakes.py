"""A stand-in for the work of `gnc compare`, so that the command line is tested by itself."""

import sys
import types
from typing import Any

import pytest

from gnc_cli.results import CompareResult, CompareRow, Rattlers, Standing, TableStamp

STAMP = TableStamp(286, "2026-10", "e2cd" * 16, current=False)


def row(**changes: Any) -> CompareRow:
    """The snub cube from a file, as good as it gets."""
    more: dict[str, Any] = {
        "min_angle_deg": 43.690767,
        "rho_one_vs_rest": {"lower": 0.2769, "upper": 0.277},
        "reference": "table",
        "date": "2026-10",
        "on_record": True,
        "improves_on": None,
        "proved_cosine": None,
        "passed": True,
        "advice": "ties the best known code within 1e-11 or the figure's rounding, "
        "whichever is larger",
    }
    fields: dict[str, Any] = dict(
        d=3,
        K=24,
        max_cosine=0.7230784683335086,
        best_known=0.7230784683335085,
        gap=1e-16,
        status=Standing.MATCHES,
        rattlers=Rattlers(0, 0, 1e-7),
        contacts=60,
        congruent_to="snub-cube",
        source="proven optimal",
        proven=True,
        file="snub.h5",
        seconds=0.25,
    )
    fields["more"] = more | changes.pop("more", {})
    return CompareRow(**(fields | changes))


def polished(**changes: Any) -> CompareRow:
    """The snub cube to sixty-five digits, and what its cosine is."""
    digits = {
        "decimals": 65,
        "cosine": "0.72307846833350853703234480939451539825681993370625152508243999372",
        "how": "contacts", "contacts": 60, "moved": 1e-16,
        "polynomial": {"coefficients": ["7", "1", "-3", "-1"], "text": "7x^3 + x^2 - 3x - 1",
                       "evidence": 59.1},
        "obstacle": None, "advice": None,
    }  # fmt: skip
    files = {"exported": ["there/coordinates.txt", "there/gram.npy"],
             "left_out": ["contacts.g6: contacts were not computed"]}  # fmt: skip
    return row(more={"digits": digits | changes, **files})


def refused() -> CompareRow:
    """A code that is not polished enough for more digits."""
    return polished(
        cosine=None, how=None, contacts=None, moved=None, polynomial=None,
        obstacle="not_stationary", advice="the contacts do not hold the code in place",
    )  # fmt: skip


def worse(**changes: Any) -> CompareRow:
    """A code that misses the best known by 1e-6."""
    fields: dict[str, Any] = dict(
        max_cosine=0.72308, gap=1e-6, status=Standing.WORSE, congruent_to=None, file="worse.h5",
        more={"passed": False, "advice": "a better code is known"},
    )  # fmt: skip
    return row(**(fields | changes))


def unlisted(**changes: Any) -> CompareRow:
    """A pair that nobody has."""
    fields: dict[str, Any] = dict(
        d=9, K=500, best_known=None, gap=None, status=Standing.NO_ENTRY, source=None, proven=None,
        congruent_to=None, file="own.h5",
        more={"reference": None, "date": None, "on_record": False, "advice": "nothing known"},
    )  # fmt: skip
    return row(**(fields | changes))


def built(**changes: Any) -> CompareRow:
    """A pair that a construction of ours alone has."""
    more = {"reference": "construction", "date": None, "on_record": False,
            "advice": "no worse than the best known, construction: Kerdock code"}  # fmt: skip
    fields: dict[str, Any] = dict(
        d=9, K=500, gap=0.0, status=Standing.NO_ENTRY, source="construction: Kerdock code",
        proven=False, congruent_to=None, file="own.h5", more=more,
    )  # fmt: skip
    return row(**(fields | changes))


def better(**changes: Any) -> CompareRow:
    """News."""
    fields: dict[str, Any] = dict(
        d=8, K=26, max_cosine=0.17, best_known=0.1726, gap=-0.0026, status=Standing.IMPROVES,
        source="published improvement, 2026", proven=False, congruent_to=None, file="new.h5",
        more={
            "improves_on": "our copy of 2026-10 (sha256 e2cd)",
            "proved_cosine": "0.170000000000000",
            "advice": "improves on our copy: no cosine exceeds 0.170000000000000",
        },
    )  # fmt: skip
    return row(**(fields | changes))


def listed(**changes: Any) -> CompareRow:
    """An entry of the table."""
    fields: dict[str, Any] = dict(
        d=3, K=24, max_cosine=None, best_known=0.7230784683335085, gap=None, status=None,
        rattlers=Rattlers(0, None, float("nan")), contacts=60, congruent_to=None,
        source="proven optimal", proven=True,
        more={"figure": "0.7230784683335085370323448093945153982568"},
    )  # fmt: skip
    return CompareRow(**(fields | changes))


def solved(**changes: Any) -> CompareRow:
    """A fresh solve that found the best known code."""
    more = {
        "problem": "tammes", "method": "descent", "origin": "descent", "outcome": "converged",
        "rho_one_vs_rest": {"lower": 0.2769, "upper": 0.277}, "seed": 0, "restarts": 64,
        "passed": True, "reference": "table", "date": "2026-10", "on_record": True,
    }  # fmt: skip
    fields: dict[str, Any] = dict(
        d=3, K=24, max_cosine=0.7230784683335086, best_known=0.7230784683335085, gap=1e-16,
        status=Standing.MATCHES, rattlers=Rattlers(0, 0, 1e-7), contacts=60, congruent_to=None,
        source="proven optimal", proven=True, seconds=1.5,
    )  # fmt: skip
    fields["more"] = more | changes.pop("more", {})
    return CompareRow(**(fields | changes))


def result(*rows: CompareRow, mode: str = "files", **extras: Any) -> CompareResult:
    """Rows as a whole."""
    return CompareResult(
        seconds=2.0, version="0.1.0", rows=rows, table=STAMP,
        extras={"mode": mode, "interrupted": False, "unfinished": False, **extras},
    )  # fmt: skip


class FakeCompare:
    """Remembers how it was called and returns what it was told to."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.result = result(row())
        self.error: BaseException | None = None

    def __call__(self, *sources: Any, **options: Any) -> CompareResult:
        self.calls.append({"sources": sources, **options})
        if self.error is not None:
            raise self.error
        for made in self.result.rows:
            if options["on_row"] is not None:
                options["on_row"](made)
        return self.result


def install_compare(monkeypatch: pytest.MonkeyPatch) -> FakeCompare:
    """Put a FakeCompare where `gnc compare` looks for the work function."""
    fake = FakeCompare()
    module = types.ModuleType("gnc_cli.workflows.compare")
    module.compare = fake  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "gnc_cli.workflows.compare", module)
    return fake
