"""Options of every command for the output and for gates."""

import sys
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Annotated

from gnc_cli.errors import UsageError
from gnc_cli.parameters import Parameter, one_of

_OUTPUT = "Output"
_GATES = "Gates for CI"
"""Headings of the options in the help."""


class Shape(Enum):
    """Format of stdout."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    JSONL = "jsonl"


class GatedRows(StrEnum):
    """Rows of a result that must pass a gate."""

    ALL = "all"
    ANY = "any"
    LAST = "last"


@dataclass(frozen=True)
class OutputOptions:
    """Options of the output.

    Raises:
        UsageError: options that exclude each other.
    """

    report: Annotated[
        str | None,
        Parameter(
            "Write a report: .md (pull request), .xml (JUnit) or .prom (Prometheus).",
            group=_OUTPUT,
            metavar="FILE",
            writes=(".md", ".xml", ".prom"),
        ),
    ] = None
    json: Annotated[
        bool, Parameter("Print one JSON object in place of the table.", group=_OUTPUT)
    ] = False
    csv: Annotated[bool, Parameter("Print CSV: a header, then rows.", group=_OUTPUT)] = False
    jsonl: Annotated[bool, Parameter("Print one JSON object per row.", group=_OUTPUT)] = False
    quiet: Annotated[
        bool,
        Parameter(
            "Print only the result and failed or undecided gates: no progress, no notes.",
            group=_OUTPUT,
            short="-q",
        ),
    ] = False
    verbose: Annotated[
        bool,
        Parameter(
            "Show every value with its key of the JSON, and logs.", group=_OUTPUT, short="-v"
        ),
    ] = False

    def __post_init__(self) -> None:
        formats = [name for name in ("json", "csv", "jsonl") if getattr(self, name)]
        if len(formats) > 1:
            names = " and ".join(f"--{name}" for name in formats)
            raise UsageError(f"{names} exclude each other; keep one of them")
        if self.quiet and self.verbose:
            raise UsageError("-q and -v exclude each other; keep one of them")

    @property
    def shape(self) -> Shape:
        """Format of stdout."""
        shapes = [shape for shape in Shape if getattr(self, shape.value, False)]
        return shapes[0] if shapes else Shape.TABLE

    def check_stdout(self, out: object) -> None:
        """Refuse two results on stdout.

        Args:
            out: file of the data; `-` is stdout.

        Raises:
            UsageError: stdout would carry two results, or a terminal would get HDF5.
        """
        if out != "-":
            return
        if self.shape is not Shape.TABLE:
            raise UsageError(
                f"--out - and --{self.shape.value} both want stdout; write --out code.h5 instead"
            )
        if sys.stdout is not None and sys.stdout.isatty():
            raise UsageError("--out - would write HDF5 onto the terminal; pipe or redirect it")


@dataclass(frozen=True)
class GateOptions:
    """Gates that the result must pass."""

    minimum: Annotated[
        list[str] | None,
        Parameter(
            "Exit 5 if a number of the result is below VALUE, 4 if its bracket straddles it. "
            "Repeatable; keys are those of --json, dotted.",
            group=_GATES,
            flag="--min",
            metavar="KEY=VALUE",
            repeatable=True,
        ),
    ] = None
    maximum: Annotated[
        list[str] | None,
        Parameter(
            "Exit 5 if a number of the result is above VALUE, 4 if its bracket straddles "
            "it. Repeatable.",
            group=_GATES,
            flag="--max",
            metavar="KEY=VALUE",
            repeatable=True,
        ),
    ] = None
    rows: Annotated[
        GatedRows,
        Parameter(
            "Which rows must pass where there are several. Default last: only the last row "
            "is judged.",
            one_of(GatedRows),
            _GATES,
        ),
    ] = GatedRows.LAST
    baseline: Annotated[
        str | None,
        Parameter(
            "Earlier --json output of the same problem, to compare with by --allow.",
            group=_GATES,
            metavar="FILE",
            reads=True,
        ),
    ] = None
    allow: Annotated[
        list[str] | None,
        Parameter(
            "How much worse than the baseline a number may be: 10% is relative, 0.01 "
            "absolute. Repeatable.",
            group=_GATES,
            metavar="KEY=CHANGE",
            repeatable=True,
        ),
    ] = None
