"""Results of `gnc compare`: codes beside the known codes, one row each."""

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
    """What `compare` does."""

    FILES = "files"
    LIST = "list"


@dataclass(frozen=True, kw_only=True)
class CompareRow:
    """One code, or one entry of the table, beside the best known code of its (d, K)."""

    d: int = field(metadata=LABEL | QUESTION)
    """Dimension of the space."""
    K: int = field(metadata=LABEL | QUESTION)
    """Number of points."""
    max_cosine: float | None = field(default=None, metadata=LOWER)
    """Largest cosine between two different points; None in a list, for lines, or where time ran
    out."""
    best_known: float | None
    """Smallest largest cosine on record for this d and K; None where there is none."""
    figure: str | None = None
    """best_known as its source has it: a fraction where it is exact; every digit in a list."""
    gap: float | None = field(default=None, metadata=LOWER)
    """max_cosine - best_known: negative is better. It is 0 within the rounding of best_known below
    it. Of lines the coherence counts in place of max_cosine. A file whose problem is softmax is
    judged by its distance: 1 - rho_one_vs_rest.lower counts where that is less than max_cosine."""
    status: ComparisonStatus | None = field(default=None, metadata=WORD)
    """Where proven is true, `improves` is a contradiction: the entry or the file is wrong. None
    where nothing was compared."""
    rattlers: Rattlers | None = field(metadata=LOWER)
    """Points whose own distance is above the minimum, by either distance; None where not known."""
    contacts: int | None
    """Pairs at the smallest distance, within the rattler tolerance; None where not known."""
    congruent_to: str | None = None
    """The construction or stored code it equals up to rotation, reflection and order."""
    source: str | None
    """Whom to cite for the code of best_known: a theorem, who found or published it, or a
    construction by name."""
    optimality: str | None = None
    """Whom to cite for the proof that best_known is optimal; None where there is none."""
    how: str | None = None
    """The command that found the code of best_known, or writes the stored one, where this project
    found it."""
    proven: bool | None
    """Whether best_known is proved optimal; None where not settled."""
    date: str | None = None
    """Of the source of best_known; None for a theorem or a construction."""
    file: str | None = field(default=None, metadata=LABEL)
    """The file that was read; None for arrays and lists."""
    seconds: float | None = field(default=None, metadata=LOWER)
    """Wall time of this row."""


@dataclass(frozen=True, kw_only=True)
class ListedRow(CompareRow):
    """An entry of the table."""

    record: str
    """`proved` optimal, `certified` (an exact certificate is public, not refereed), `best-known`,
    `claimed` (not vetted, never counted) or `solved` (by this project)."""
    note: str = ""
    """A note of the table."""


@dataclass(frozen=True)
class Polynomial:
    """The minimal polynomial of a cosine, proposed or proved."""

    coefficients: tuple[str, ...]
    """Integers of any size as text, the highest power first."""
    text: str
    """The polynomial in x as it is written."""
    evidence: float
    """Decimal digits with which the cosine fits, beyond those that chance explains."""
    proved: bool
    """Whether an exact code near this one, with the same contacts, provably has this minimal
    polynomial. Its coordinates were found in the number field of the root, and verified there.
    False: a proposal."""


@dataclass(frozen=True)
class PolishedCosine:
    """The code behind a file to many digits, or what stood in their way."""

    decimals: int
    """Digits after the point."""
    cosine: str | None = None
    """The largest cosine of the polished code, rounded to nearest; None where there was an
    obstacle."""
    how: str | None = None
    """What decided: `contacts` or `first-order conditions`."""
    contacts: int | None = None
    """Pairs of points at this cosine."""
    moved: float | None = None
    """Largest change of a coordinate by the polish."""
    polynomial: Polynomial | None = None
    """None where none fits better than chance."""
    obstacle: str | None = None
    """Why there are no digits, a value of `codes.digits.Obstacle`; None where there are."""
    advice: str | None = None
    """What is wrong and what may help, one sentence; None where there are digits."""


@dataclass(frozen=True)
class Isometry:
    """The map that takes the code of the first file to this one, or that there is none."""

    exists: bool | None
    """Whether the codes are equal up to rotation, reflection and order; None where undecided."""
    deviation: float | None = None
    """Largest distance of a mapped point from its partner; None without a map."""
    permutation: tuple[int, ...] | None = None
    """Row k of the first code goes to row `permutation[k]` of this one; of lines, each row is
    followed by its opposite."""
    rotation: tuple[tuple[float, ...], ...] | None = None
    """The matrix by which the rows of the first code are multiplied, from the right."""
    reason: str | None = None
    """What left it undecided."""


@dataclass(frozen=True, kw_only=True)
class FileRow(CompareRow):
    """A code of the user's, from a file or an array, with its verdict."""

    rho_one_vs_rest: Bracket | None = field(metadata=HIGHER)
    """Smallest distance of a point from the convex hull of all others; None where not computed."""
    reference: str | None
    """What best_known is: `theorem`, `table`, `construction` or `solved` (by this project)."""
    best_known_table: str | None = None
    """The table of known codes that best_known is from, with its date; with --table also what that
    table has, where it is not from there."""
    on_record: bool
    """Whether this d and K have an entry of their own. It is a theorem, one of a table, or a solved
    code."""
    improves_on: str | None
    """What an improvement improves on: a table with its date and sha256, or a code's source."""
    proved_cosine: str | None
    """Of an improvement, a decimal that no cosine of the coordinates exceeds, proved in rational
    arithmetic."""
    advice: str
    """What the verdict means and what the user may do next, one sentence."""
    undecided: tuple[str, ...] = ()
    """Keys of figures that the time limit left undecided: gates on them end with exit code 4."""
    passed: bool | None = None
    """Whether the code passes. Its gap is within the tolerance, it is not below a value proved
    optimal and, where an entry is required, the pair is on record; None where undecided."""
    min_angle_deg: float | None = field(metadata=HIGHER)
    """Angle of the closest pair, degrees."""
    problem: str | None = field(default=None, metadata=OMITTED_IF_NONE)
    """Of the search that made the code, where the file says it; `lines` with --lines."""
    coherence: float | None = field(default=None, metadata=OMITTED_IF_NONE | LOWER)
    """Of lines, the largest absolute cosine of two, compared with best_known."""
    congruence: str | None
    """Whether congruent_to was `decided`; `undecided` where time ran out; None where the code is
    too large to be looked for."""
    digits: PolishedCosine | None = field(default=None, metadata=OMITTED_IF_NONE)
    """With --digits."""
    description: Description | None = field(default=None, metadata=OMITTED_IF_NONE)
    """With --describe; null also where no time was left."""
    isometry: Isometry | None = field(default=None, metadata=OMITTED_IF_NONE)
    """With --isometry, of every file but the first."""
    exported: tuple[str, ...] | None = field(default=None, metadata=OMITTED_IF_NONE)
    """With --export: the files written."""
    left_out: tuple[str, ...] | None = field(default=None, metadata=OMITTED_IF_NONE)
    """With --export: one line for each file that was not written, with the reason."""

    @property
    def compared(self) -> float | None:
        """The cosine that is compared: the coherence of lines, else the largest cosine."""
        return self.max_cosine if self.coherence is None else self.coherence


@dataclass(frozen=True)
class CompareResult(Result):
    """Codes beside the known codes: the result of `gnc compare`."""

    rows: tuple[FileRow | ListedRow, ...]
    """One per file or entry."""
    table: TableStamp
    """The table of known codes."""
    mode: Mode = field(metadata=NOT_IN_JSON)
    interrupted: bool = field(default=False, metadata=NOT_IN_JSON)
    """A signal came before all rows were there."""
    codes: tuple[Any, ...] = field(default=(), metadata=NOT_IN_JSON, repr=False, compare=False)
    """Of files: `codes.Judged` of each row, with the arrays that pictures need."""

    command = "compare"

    @computed_field  # type: ignore[prop-decorator]
    @property
    def counts(self) -> dict[str, int]:
        """How many rows have each status."""
        return {s.value: sum(row.status is s for row in self.rows) for s in ComparisonStatus}

    @property
    def line_kinds(self) -> tuple[type, ...]:
        """The record of `lines`."""
        return (FileRow if self.mode is Mode.FILES else ListedRow,)

    def lines(self) -> list[dict[str, Any]]:
        """The rows of CSV and JSON lines: without the counts and the table's stamp."""
        return [self.first_keys | plain(row) for row in self.rows]
