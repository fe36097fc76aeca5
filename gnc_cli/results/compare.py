"""Results of `gnc compare`: codes beside the known codes."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from gnc_cli.results.core import Rattlers, Result, plain

__all__ = ["CompareResult", "CompareRow", "Standing", "TableStamp"]


class Standing(Enum):
    """Where a code stands beside the best known one."""

    MATCHES = "matches"
    """Equal within 1e-11 or the rounding of the table's figure, whichever is larger."""
    WORSE = "worse"
    IMPROVES = "improves"
    """Below the table's figure by more than its rounding, verified in rational arithmetic."""
    NO_ENTRY = "no_entry"


@dataclass(frozen=True)
class TableStamp:
    """Which table of known codes a comparison was made with."""

    rows: int
    date: str
    """Year and month, or the file's own date (ISO)."""
    sha256: str
    current: bool
    """Given by the user as current (`--table`); our copy otherwise."""


@dataclass(frozen=True)
class CompareRow:
    """One code, or one entry of the table, beside the best known code of its (d, K)."""

    d: int
    K: int
    max_cosine: float | None
    """Of the code at hand; None in a plain list of the table."""
    best_known: float | None
    gap: float | None
    """max_cosine - best_known: negative is better."""
    status: Standing | None
    rattlers: Rattlers | None
    contacts: int | None
    congruent_to: str | None
    """The construction or stored code it equals up to rotation, reflection and order."""
    source: str | None
    """Of best_known."""
    proven: bool | None
    """Whether best_known is proved optimal; None where not settled."""
    file: str | None = None
    """What was read; None for a fresh solve."""
    seconds: float | None = None
    more: dict[str, Any] = field(default_factory=dict)
    """Further keys of one mode (verified figure, digits, brackets), spread into the JSON row."""

    def to_json(self) -> dict[str, Any]:
        """One flat object: the keys above, then those of `more`."""
        body: dict[str, Any] = plain(self)
        return body | body.pop("more")


@dataclass(frozen=True)
class CompareResult(Result):
    """Codes beside the known codes: the result of `gnc compare`."""

    rows: tuple[CompareRow, ...]
    table: TableStamp
    extras: dict[str, Any] = field(
        default_factory=dict, metadata={"json": False}, repr=False, compare=False
    )
    """Arrays for plots; never printed."""

    command = "compare"

    def _body(self) -> dict[str, Any]:
        rows = [row.to_json() for row in self.rows]
        counts = {s.value: sum(r.status is s for r in self.rows) for s in Standing}
        return {"rows": rows, "counts": counts, "table": plain(self.table)}
