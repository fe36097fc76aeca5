"""Results of `gnc compare`: codes compared with the known codes, one row each."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pydantic import computed_field

from gnc_cli.brackets import Bracket
from gnc_cli.codes.description import Description
from gnc_cli.known_codes.table import TableStamp
from gnc_cli.known_codes.verdict import ComparisonStatus
from gnc_cli.metrics.gnc2 import Rattlers
from gnc_cli.plain import plain
from gnc_cli.records import (
    HIGHER,
    LABEL,
    LOWER,
    NOT_IN_JSON,
    OMITTED_IF_NONE,
    QUESTION,
    WORD,
    Result,
)


class Mode(StrEnum):
    """Mode of `compare`."""

    FILES = "files"
    LIST = "list"


@dataclass(frozen=True, kw_only=True)
class CompareRow:
    """Row of a code or table entry, compared with the best known code of its (d, K)."""

    d: int = field(metadata=LABEL | QUESTION)
    """Dimension of the space."""
    K: int = field(metadata=LABEL | QUESTION)
    """Number of points."""
    max_cosine: float | None = field(default=None, metadata=LOWER)
    """Largest cosine of two different points; None in a list, for lines, or if time ran out."""
    best_known: float | None
    """Smallest largest cosine on record for this d and K; None if there is none."""
    figure: str | None = None
    """Text of best_known as in its source: a fraction if it is exact; every digit in a list."""
    gap: float | None = field(default=None, metadata=LOWER)
    """Difference max_cosine - best_known: negative is better. It is 0 below best_known within its
    rounding. For lines the coherence takes the place of max_cosine. A file whose problem is softmax
    is compared by its distance: by 1 - rho_one_vs_rest.lower if that is less than max_cosine."""
    status: ComparisonStatus | None = field(default=None, metadata=WORD)
    """Result of the comparison. If proven is true, `improves` is a contradiction: the entry or the
    file is wrong. None if nothing was compared."""
    rattlers: Rattlers | None = field(metadata=LOWER)
    """Numbers of points whose distance exceeds the minimum, by either distance; None if unknown."""
    contacts: int | None
    """Number of pairs at the smallest distance, within the rattler tolerance; None if unknown."""
    congruent_to: str | None = None
    """Construction or stored code that is equal up to rotation, reflection and order."""
    source: str | None
    """Source of the code of best_known: a theorem, a publication, or a construction by name."""
    optimality: str | None = None
    """Source of the proof that best_known is optimal; None if there is none."""
    how: str | None = None
    """Command that finds the code of best_known, or writes the stored one, if gnc found it."""
    proven: bool | None
    """True if best_known is proved optimal; None if that is not settled."""
    date: str | None = None
    """Date of the source of best_known; None for a theorem or a construction."""
    file: str | None = field(default=None, metadata=LABEL)
    """File that was read; None for arrays and lists."""
    seconds: float | None = field(default=None, metadata=LOWER)
    """Wall time of this row."""


@dataclass(frozen=True, kw_only=True)
class ListedRow(CompareRow):
    """Row of an entry of the table."""

    record: str
    """Status of the entry: `proved` optimal, `certified` (an exact certificate is public, not
    refereed), `best-known`, `claimed` (not checked, never counted) or `solved` (by this
    project)."""
    note: str = ""
    """Note of the table."""


@dataclass(frozen=True)
class Polynomial:
    """Minimal polynomial of a cosine, proposed or proved."""

    coefficients: tuple[str, ...]
    """Integers of any size as text, the highest power first."""
    text: str
    """Polynomial in x as it is written."""
    evidence: float
    """Number of decimal digits with which the cosine fits, beyond those that chance explains."""
    proved: bool
    """True if an exact code near this one, with the same contacts, is proved to have this minimal
    polynomial: its coordinates were found in the number field of the root, and verified there.
    False for a proposal."""


@dataclass(frozen=True)
class PolishedCosine:
    """Polish of the code of a file to many digits, or the obstacle to it."""

    decimals: int
    """Number of digits after the point."""
    cosine: str | None = None
    """Largest cosine of the polished code, rounded to nearest; None if there was an obstacle."""
    how: str | None = None
    """Equations that determine the code: `contacts` or `first-order conditions`."""
    contacts: int | None = None
    """Number of pairs of points at this cosine."""
    moved: float | None = None
    """Largest change of a coordinate by the polish."""
    polynomial: Polynomial | None = None
    """Minimal polynomial of the cosine; None if none fits better than chance."""
    obstacle: str | None = None
    """Reason why there are no digits, a value of `codes.digits.Obstacle`; None if there are."""
    advice: str | None = None
    """Sentence that states the problem and a remedy; None if there are digits."""


@dataclass(frozen=True)
class Isometry:
    """Map from the code of the first file to this one, or the statement that there is none."""

    exists: bool | None
    """True if the codes are equal up to rotation, reflection and order; None if undecided."""
    deviation: float | None = None
    """Largest distance of a mapped point from its partner; None without a map."""
    permutation: tuple[int, ...] | None = None
    """Row `permutation[k]` of this code to which row k of the first goes; for lines, each row is
    followed by its opposite."""
    rotation: tuple[tuple[float, ...], ...] | None = None
    """Matrix by which the rows of the first code are multiplied, from the right."""
    reason: str | None = None
    """Reason why it is undecided."""


@dataclass(frozen=True, kw_only=True)
class FileRow(CompareRow):
    """Row of a code of the user's, from a file or an array, with its verdict."""

    rho_one_vs_rest: Bracket | None = field(metadata=HIGHER)
    """Smallest distance of a point from the convex hull of all others; None if not computed."""
    reference: str | None
    """Kind of best_known: `theorem`, `table`, `construction` or `solved` (by this project)."""
    best_known_table: str | None = None
    """Table of known codes that contains best_known, with its date; with --table also the
    comparison with that table, if it is another."""
    on_record: bool
    """True if this d and K have their own entry: of a theorem, a table or a code found by gnc."""
    improves_on: str | None
    """Reference of an improvement: a table with its date and sha256, or a code's source."""
    proved_cosine: str | None
    """Decimal that no cosine of the coordinates exceeds, proved in rational arithmetic, for an
    improvement."""
    advice: str
    """Sentence that says what the verdict means, and the next step."""
    undecided: tuple[str, ...] = ()
    """Keys of values that the time limit left undecided: gates on them end with exit code 4."""
    passed: bool | None = None
    """True if the code passes: its gap is within the tolerance, it is not below a value proved
    optimal and, if an entry is required, the pair is on record; None if undecided."""
    min_angle_deg: float | None = field(metadata=HIGHER)
    """Angle of the closest pair, in degrees."""
    problem: str | None = field(default=None, metadata=OMITTED_IF_NONE)
    """Problem of the search that made the code, if the file says it; `lines` with --lines."""
    coherence: float | None = field(default=None, metadata=OMITTED_IF_NONE | LOWER)
    """Largest absolute cosine of two lines, which is compared with best_known."""
    congruence: str | None
    """State of congruent_to: `decided`; `undecided` if time ran out; None if the code is too large
    for the search."""
    digits: PolishedCosine | None = field(default=None, metadata=OMITTED_IF_NONE)
    """Polish to many digits, with --digits."""
    description: Description | None = field(default=None, metadata=OMITTED_IF_NONE)
    """Description, with --describe; null also if no time was left."""
    isometry: Isometry | None = field(default=None, metadata=OMITTED_IF_NONE)
    """Map from the first file's code, with --isometry, in all rows but the first."""
    exported: tuple[str, ...] | None = field(default=None, metadata=OMITTED_IF_NONE)
    """Files written, with --export."""
    left_out: tuple[str, ...] | None = field(default=None, metadata=OMITTED_IF_NONE)
    """One line for each file that was not written, with the reason, with --export."""

    @property
    def compared(self) -> float | None:
        """Cosine that is compared: the coherence of lines, else the largest cosine."""
        return self.max_cosine if self.coherence is None else self.coherence


@dataclass(frozen=True)
class CompareResult(Result):
    """Result of `gnc compare`: codes compared with the known codes."""

    rows: tuple[FileRow | ListedRow, ...]
    """One row per file or entry."""
    table: TableStamp
    """Table of known codes."""
    mode: Mode = field(metadata=NOT_IN_JSON)
    """Mode of the call."""
    interrupted: bool = field(default=False, metadata=NOT_IN_JSON)
    """True if a signal came before all rows were ready."""
    codes: tuple[Any, ...] = field(default=(), metadata=NOT_IN_JSON, repr=False, compare=False)
    """Compared codes of files, `codes.ComparedCode` of each row, with the arrays of plots."""

    command = "compare"

    @computed_field  # type: ignore[prop-decorator]
    @property
    def counts(self) -> dict[str, int]:
        """Number of rows of each status."""
        return {s.value: sum(row.status is s for row in self.rows) for s in ComparisonStatus}

    @property
    def line_kinds(self) -> tuple[type, ...]:
        """Record of `lines`."""
        return (FileRow if self.mode is Mode.FILES else ListedRow,)

    def lines(self) -> list[dict[str, Any]]:
        """Return the rows of CSV and JSON lines, without the counts and the table's stamp."""
        return [self.first_keys | plain(row) for row in self.rows]
