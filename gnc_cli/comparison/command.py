"""`gnc compare`."""

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gnc_cli import __version__
from gnc_cli.comparison import api
from gnc_cli.console.expose import expose
from gnc_cli.console.options import OutputOptions, Shape
from gnc_cli.console.progress import progress_on_terminal
from gnc_cli.console.show import print_line
from gnc_cli.known_codes.verdict import TOLERANCE, ComparisonStatus
from gnc_cli.parsing import number
from gnc_cli.records import Result

if TYPE_CHECKING:
    from gnc_cli.comparison.result import CompareResult, CompareRow
    from gnc_cli.console.gates import Verdict


@contextlib.contextmanager
def _watch(output: OutputOptions) -> Iterator[dict[str, Any]]:
    """Progress on a terminal; rows as they are ready with --jsonl."""

    def print_row(row: "CompareRow") -> None:
        head = {"schema": Result.schema, "command": "compare", "version": __version__}
        print_line(row, head)

    with progress_on_terminal(output.quiet, "reading codes") as progress:
        on_row = print_row if output.shape is Shape.JSONL else None
        yield {"progress": progress, "on_row": on_row}


def _verdicts(result: "CompareResult", given: dict[str, Any]) -> "list[Verdict]":
    """What the rows say of --tolerance, of proved optima and of --require-entry.

    A row below a figure that is proved optimal fails: the entry or the file is wrong. A passed
    --tolerance is worth a line only where the user set it, or in a report.
    """
    from gnc_cli.comparison.result import JudgedRow
    from gnc_cli.console.gates import Status, Verdict

    rows = [row for row in result.rows if isinstance(row, JudgedRow)]
    if not rows:
        return []
    verdicts = []
    tolerance = number(given.get("tolerance", TOLERANCE))
    worse = [row for row in rows if (row.gap or 0.0) > tolerance and not row.passed]
    unseen = [row for row in rows if row.passed is None]
    status = Status.FAILED if worse else Status.UNDECIDED if unseen else Status.PASSED
    if status is Status.UNDECIDED:
        detail = f"no time for {_place(unseen[0])}"
    else:
        worst = max(rows, key=lambda row: -2.0 if row.gap is None else row.gap)
        detail = f"{'no' if worst.gap is None else f'{worst.gap:.3g}'} gap at {_place(worst)}"
    if len(rows) > 1:
        detail += f"; {len(worse)} of {len(rows)} rows worse"
    if status is not Status.PASSED or tolerance != TOLERANCE or given.get("report"):
        verdicts.append(Verdict(f"--tolerance {tolerance:g}", status, detail))
    for row in rows:
        if row.status is ComparisonStatus.IMPROVES and row.proven:
            detail = f"{_place(row)} is below an entry marked proved optimal"
            verdicts.append(Verdict("proved optima", Status.FAILED, detail))
    if given.get("require_entry"):
        missing = [_place(row) for row in rows if not row.on_record]
        detail = f"no code on record at {'; '.join(missing)}" if missing else "all on record"
        status = Status.FAILED if missing else Status.PASSED
        verdicts.append(Verdict("--require-entry", status, detail))
    return verdicts


def _place(row: "CompareRow") -> str:
    return f"d = {row.d:,}, K = {row.K:,}" + (f" ({row.file})" if row.file else "")


compare = expose(api.compare, view="gnc_cli.comparison.view", verdicts=_verdicts, watch=_watch)
