"""One call of `measure`: its sources, row after row, and the files that are written."""

import os
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gnc_cli import __version__
from gnc_cli.collapse.class_rows import write_merges, write_per_class
from gnc_cli.collapse.measurer import Measurer
from gnc_cli.collapse.reference import checked_table
from gnc_cli.collapse.request import OF_ONE_SET, Request
from gnc_cli.collapse.result import MeasureResult, MeasureSeries
from gnc_cli.collapse.sources import Source, resolve
from gnc_cli.errors import DataError
from gnc_cli.io.inputs import read_lines
from gnc_cli.parameters import is_page, requires, spelled
from gnc_cli.records import read_plain
from gnc_cli.runtime.deadline import Deadline, begin_work
from gnc_cli.runtime.distributed import Processes, in_all

if TYPE_CHECKING:
    from gnc_cli.io.ledger import Ledger


def run(request: Request) -> MeasureResult | MeasureSeries:
    """Measure every row of a request, and write what it asks for; see `api.measure`."""
    started = time.monotonic()
    checked_table(request.table)  # a line of it that is wrong is known before anything is read
    sources = resolve(request)
    for name in OF_ONE_SET:
        if getattr(request, name) is not None and len(sources) != 1:
            raise requires(
                name, f"one set, and there are {len(sources)}", f"{spelled('select')} one"
            )
    drawn: list[Source] = []
    if request.plot is not None and is_page(request.plot):
        from gnc_cli.collapse.page import drawn_sources

        drawn = drawn_sources(request.plot, sources)
    with Processes.current() as processes:
        measurer = Measurer(request, processes)
        with in_all(processes, lambda: _ledger(measurer)) as ledger:
            series, failure = _measure_all(sources, measurer, ledger)
        one = len(series.rows) == len(sources) == 1 and request.prefix_dims is None
        result = series.rows[0] if one and not request.keeps_rows else series
        out = None if request.out is None else os.fspath(request.out)
        result = replace(result, seconds=time.monotonic() - started, out=out)
        if failure is not None:
            failure.partial = result
            raise failure
        if processes.first and series.rows:
            _write(result, request, drawn)
    return result


@dataclass(frozen=True)
class _KeptRow:
    """A line of a rows file."""

    stamp: str
    """Of the input that it is of."""
    cut_short: float | None
    """The time limit that cut it short."""
    row: MeasureResult

    @classmethod
    def read(cls, line: dict[str, Any]) -> "_KeptRow":
        """The line's JSON object as a record; ValueError names the field that is wrong."""
        return read_plain(cls, {**line, "row": line})


def _ledger(measurer: Measurer) -> "AbstractContextManager[Ledger[_KeptRow] | None]":
    """The rows of `--out rows.jsonl`, which the first process keeps."""
    request = measurer.request
    if not (request.keeps_rows and measurer.processes.first):
        return nullcontext()
    from gnc_cli.io.ledger import Ledger

    return Ledger(
        request.out,
        _KeptRow.read,
        "schema",
        request.identity(measurer.ood_name),
        resume=request.resume,
        force=request.force,
    )


def _measure_all(
    sources: Sequence[Source],
    measurer: Measurer,
    ledger: "Ledger[_KeptRow] | None",
) -> tuple[MeasureSeries, DataError | None]:
    """One row after the other; those that the ledger holds already are not measured again.

    Returns:
        The series, and the DataError that ended it, if one did.
    """
    request, processes = measurer.request, measurer.processes
    limit, interruption = request.time_limit, Deadline(None, request.interrupt)
    kept_rows = [] if ledger is None else ledger.rows
    earlier = {kept.row.key: kept for kept in kept_rows}
    written = [kept.row.key for kept in kept_rows]
    done: dict[Any, tuple[str, float | None]] = processes.all_gather(
        {key: (kept.stamp, kept.cut_short) for key, kept in earlier.items()}
    )[0]
    fresh: list[MeasureResult] = []
    interrupted, skipped, failure = False, 0, None
    for at, source in enumerate(sources):
        keys = [(source.file, source.snapshot, d) for d in request.prefix_dims or (None,)]
        try:
            stamp = measurer.stamp(source) if request.keeps_rows else ""
            if all(_is_done(done.get(key), stamp, limit) for key in keys):
                skipped += len(keys)
                continue
            with source.open() as samples:
                measured = measurer.measure(samples, source)
                begin_work()
        except TimeoutError:
            interrupted = True
            break
        except DataError as error:
            if not fresh:
                raise
            failure = error
            break
        if any(processes.all_gather(interruption.interrupted)):
            # Its brackets are valid, and wide.
            fresh += [replace(row, interrupted=True) for row in measured]
            interrupted = True
            break
        fresh += measured
        for row in measured:
            if ledger is not None:
                cut_short = limit if row.cut_short else None
                ledger.append(row.to_json() | {"stamp": stamp, "cut_short": cut_short})
                written.append(row.key)
            if request.on_row is not None:
                request.on_row(row)
        if request.progress is not None and len(sources) > 1:
            request.progress("rows", at + 1, len(sources), (at + 1) / len(sources))
    last = {key: number for number, key in enumerate(written)}
    if ledger is not None and len(last) < len(written):
        ledger.drop({*range(len(written))} - {*last.values()})
    # The last row of each set, by epoch and step; else as the files stand.
    rows = {key: kept.row for key, kept in earlier.items()}
    rows |= {row.key: row for row in fresh}
    series = MeasureSeries(
        seconds=0.0,
        version=__version__,
        rows=tuple(sorted(rows.values(), key=MeasureResult.order)),
        skipped=skipped,
        interrupted=interrupted,
    )
    return series, failure


def _is_done(row: tuple[str, float | None] | None, stamp: str, limit: float | None) -> bool:
    """Whether a row that was kept is of the set as it is now, and was not cut short by less time
    than there is now; `row` is its stamp and the limit that cut it short."""
    known, cut_by = row or (None, None)
    return known == stamp and (cut_by is None or (limit is not None and limit <= cut_by))


def _write(
    result: MeasureResult | MeasureSeries, request: Request, drawn: Sequence[Source]
) -> None:
    """The files asked for; the rows of a ledger are in it already."""
    if result.out is not None and not request.keeps_rows:
        from gnc_cli.io.row_files import write_rows

        write_rows(
            result.out, result, beside=getattr(result, "witnesses", None), force=request.force
        )
    if request.per_class is not None and isinstance(result, MeasureResult):
        made = {
            "command": "gnc measure",
            "file": result.file,
            "snapshot": result.snapshot,
            "policy": result.policy,
            "result": {"gnc1": result.gnc1, "gnc2": result.gnc2},
        }
        write_per_class(request.per_class, result.per_class, force=request.force, provenance=made)
    if (
        request.merge_list is not None
        and isinstance(result, MeasureResult)
        and result.merges is not None  # else time came first, which a warning says
    ):
        write_merges(request.merge_list, result.merges, force=request.force)
    if drawn and request.plot is not None:
        from gnc_cli.collapse.page import write_snapshots

        names = [] if request.class_names is None else read_lines(request.class_names)
        measured = {(r.file, r.snapshot): r for r in getattr(result, "rows", [result])}
        write_snapshots(
            request.plot, drawn, names, lambda s: measured.get((s.file, s.snapshot)), result.forms
        )
    elif request.plot is not None:
        from gnc_cli.collapse.plot import plot_measure

        plot_measure(result, request.plot)
