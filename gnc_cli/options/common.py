"""The options that commands share: effort, output, gates."""

from enum import StrEnum
from typing import Annotated

from gnc_cli import parsing
from gnc_cli.options.declare import GATES, OUTPUT, RUN, door, integer, option, positive

__all__ = [
    "Allow", "Baseline", "Check", "Csv", "Device", "Force", "Json", "Jsonl", "Max", "Min", "Plot",
    "Quiet", "Report", "Rows", "RowsChoice", "Seed", "Threads", "TimeLimit", "Verbose",
]  # fmt: skip


class Rows(StrEnum):
    """Which rows of a result must pass a gate."""

    ALL = "all"
    ANY = "any"
    LAST = "last"


Seed = Annotated[
    int,
    option("--seed", panel=RUN, metavar="INT", parser=integer(0),
           help="Same seed, same machine: same result. Default 0."),
]  # fmt: skip
TimeLimit = Annotated[
    float | None,
    option("--time-limit", panel=RUN, metavar="SECONDS", parser=positive,
           help="Wall time; the best so far is written when it ends. Default none."),
]  # fmt: skip
Device = Annotated[
    str,
    option("--device", panel=RUN, metavar="DEVICE", parser=door(parsing.device),
           help="auto, cpu, cuda or cuda:1. Default auto."),
]  # fmt: skip
Threads = Annotated[
    int | None,
    option("--threads", panel=RUN, metavar="INT", parser=integer(1),
           help="Processor threads. Default adapts to the size of the problem."),
]  # fmt: skip

Json = Annotated[
    bool, option("--json", panel=OUTPUT, help="Print one JSON object in place of the table.")
]
Csv = Annotated[bool, option("--csv", panel=OUTPUT, help="Print CSV: a header, then rows.")]
Jsonl = Annotated[bool, option("--jsonl", panel=OUTPUT, help="Print one JSON object a row.")]
Report = Annotated[
    str | None,
    option("--report", panel=OUTPUT, metavar="FILE",
           help="Write a report: .md (pull request), .xml (JUnit) or .prom (Prometheus)."),
]  # fmt: skip
Plot = Annotated[
    str | None,
    option("--plot", panel=OUTPUT, metavar="FILE", help="Draw the result: .png, .svg or .pdf."),
]
Force = Annotated[bool, option("--force", panel=OUTPUT, help="Overwrite existing files.")]
Quiet = Annotated[bool, option("--quiet", "-q", panel=OUTPUT, help="No progress, no notes.")]
Verbose = Annotated[
    bool, option("--verbose", "-v", panel=OUTPUT, help="Show JSON keys in the table, and logs.")
]

Min = Annotated[
    list[str] | None,
    option("--min", panel=GATES, metavar="KEY=VALUE",
           help="Exit 5 if a number of the result is below VALUE, 4 if its bracket straddles it. "
           "Repeatable; keys are those of --json, dotted."),
]  # fmt: skip
Max = Annotated[
    list[str] | None,
    option("--max", panel=GATES, metavar="KEY=VALUE", help="The same from above. Repeatable."),
]  # fmt: skip
Check = Annotated[
    list[str] | None,
    option("--check", panel=GATES, metavar="EXPR",
           help="Any comparison: 'max_cosine<0.34 and contacts>=10'. Repeatable."),
]  # fmt: skip
RowsChoice = Annotated[
    Rows,
    option("--rows", panel=GATES,
           help="Where there are several rows, which must pass. Default last."),
]  # fmt: skip
Baseline = Annotated[
    str | None,
    option("--baseline", panel=GATES, metavar="FILE",
           help="Earlier --json output of the same problem, to compare with by --allow."),
]  # fmt: skip
Allow = Annotated[
    list[str] | None,
    option("--allow", panel=GATES, metavar="KEY=CHANGE",
           help="How much worse than the baseline a number may be: 10% or 0.01. Repeatable."),
]  # fmt: skip
