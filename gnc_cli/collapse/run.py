"""One call of `measure`: its sources, row after row, and the files that are written."""

import os
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from gnc_cli import __version__
from gnc_cli.collapse.class_rows import write_merges, write_per_class
from gnc_cli.collapse.conventions import ROLES, Budget, Conventions, Normalize, Selection, Variants
from gnc_cli.collapse.measurer import Measurer
from gnc_cli.collapse.reference import checked_table
from gnc_cli.collapse.request import Measure
from gnc_cli.collapse.result import MeasureResult, MeasureSeries
from gnc_cli.collapse.sources import Source, resolve
from gnc_cli.errors import DataError, StoppedError, UsageError
from gnc_cli.io.inputs import read_lines
from gnc_cli.parameters import Lines, declared, is_page, requires, spelled
from gnc_cli.plain import read_plain
from gnc_cli.runtime.deadline import Deadline, begin_work
from gnc_cli.runtime.distributed import Processes, in_all

if TYPE_CHECKING:
    from gnc_cli.io.ledger import Ledger


def run(call: Measure) -> MeasureResult:
    """Measure the one set of a call; see `api.measure`."""
    series = run_series(call, several=False)
    if not series.rows:
        raise StoppedError("interrupted before the samples were read; nothing was measured")
    return series.rows[0]


def run_series(call: Measure, *, several: bool = True) -> MeasureSeries:
    """Measure every set of a call, and write what it asks for; see `api.measure_series`.

    Raises:
        UsageError: the call may have several rows, and `several` is False.
    """
    started = time.monotonic()
    selection, conventions = selection_of(call), conventions_of(call)
    budget = Budget(
        time_limit=call.time_limit,
        device=call.device,
        threads=call.threads,
        interrupt=call.interrupt,
        progress=call.progress,
    )
    sources = resolve(selection)
    for name in call.chosen("one set"):
        if len(sources) != 1:
            raise requires(
                name, f"one set, and there are {len(sources)}", f"{spelled('select')} one"
            )
    reason = (
        f"there are {len(sources)} sets"
        if len(sources) != 1
        else f"{spelled('prefix_dims')} makes one per prefix"
        if call.prefix_dims is not None
        else f"{spelled('out', str(call.out))} keeps those of several calls"
        if call.keeps_rows
        else None
    )
    if reason is not None and not several:
        raise UsageError(f"measure() returns one result, and {reason}; call measure_series()")
    drawn: list[Source] = []
    if call.plot is not None and is_page(call.plot):
        from gnc_cli.collapse.page import drawn_sources

        drawn = drawn_sources(call.plot, sources)
    with Processes.current() as processes:
        measurer = Measurer(selection, conventions, budget, processes)
        with in_all(processes, lambda: _ledger(call, measurer)) as ledger:
            series, failure = _measure_all(call, sources, measurer, ledger)
        out = None if call.out is None else os.fspath(call.out)
        series = replace(series, seconds=time.monotonic() - started, out=out)
        if reason is None and series.rows:
            row = replace(series.rows[0], seconds=series.seconds, out=out)
            series = replace(series, rows=(row,), single=True)
        if failure is not None:
            failure.partial = series
            raise failure
        if processes.first and series.rows:
            _write(series.rows[0] if series.single else series, call, drawn)
    return series


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


def selection_of(call: Measure) -> Selection:
    """Return the datasets that are measured, and how they are read."""
    return Selection(
        files=call.files,
        roles={role: data for role in ROLES if (data := getattr(call, role)) is not None},
        transpose_weights=call.transpose_weights,
        transpose_features=call.transpose_features,
        labels_are=call.labels_are,
        ignore_label=call.ignore_label,
        class_names=call.class_names,
        select=call.select,
        proves=call.proves,
    )


def conventions_of(call: Measure) -> Conventions:
    """Return how the numbers of a row are formed; a wrong line of the table is known before
    anything is read.
    """
    beside = (call.classes, call.class_names, call.reference, call.sets)
    reference: Any = call.reference
    if isinstance(reference, str):  # what is wrong with the file is known before the first row
        from gnc_cli.io.codefile import read_points

        reference = (reference, read_points(reference))
    of_samples = call.chosen("samples") + (["head"] if call.head and not call.proves else [])
    return Conventions(
        unit=call.normalize != Normalize.OFF,
        classic=call.variants == Variants.CLASSIC,
        head=call.head,
        K=call.K,
        classes=call.classes,
        min_count=call.min_count,
        means_from=call.means_from,
        prefix_dims=call.prefix_dims,
        ood=call.ood,
        reference=reference,
        table=checked_table(call.table),
        duplicates=call.duplicates,
        every_class=call.per_class is not None,
        reach=call.reach,
        feature_norm=call.feature_norm,
        sets=call.sets,
        seed=call.seed,
        files=tuple(file for file in beside if isinstance(file, str)),
        given={"samples": tuple(of_samples), "labels": tuple(sorted(call.chosen("labels")))},
    )


def _ledger(call: Measure, measurer: Measurer) -> "AbstractContextManager[Ledger[_KeptRow] | None]":
    """The rows of `--out rows.jsonl`, which the first process keeps."""
    if not (call.keeps_rows and measurer.processes.first):
        return nullcontext()
    from gnc_cli.io.ledger import Ledger

    return Ledger(
        call.out,
        _KeptRow.read,
        "schema",
        _identity(call, measurer),
        resume=call.resume,
        force=call.force,
    )


def _identity(call: Measure, measurer: Measurer) -> dict[str, Any]:
    """Return what must be equal for two rows to stand in one file."""
    names = [name for name, p in declared(Measure).items() if "row" in p.belongs_to]
    options = {
        name: asdict(value) if isinstance(value := getattr(call, name), Lines) else value
        for name in names
    }
    table = measurer.conventions.table
    return options | {
        "table": None if table is None else table.stamp.sha256,
        "ood": measurer.ood_name,
        "every_class": call.per_class is not None,
    }


def _measure_all(
    call: Measure,
    sources: Sequence[Source],
    measurer: Measurer,
    ledger: "Ledger[_KeptRow] | None",
) -> tuple[MeasureSeries, DataError | None]:
    """One row after the other; those that the ledger holds already are not measured again.

    Returns:
        The series, and the DataError that ended it, if one did.
    """
    processes = measurer.processes
    limit, interruption = call.time_limit, Deadline(None, call.interrupt)
    kept_rows = [] if ledger is None else ledger.rows
    earlier = {kept.row.key: kept for kept in kept_rows}
    written = [kept.row.key for kept in kept_rows]
    done: dict[Any, tuple[str, float | None]] = processes.all_gather(
        {key: (kept.stamp, kept.cut_short) for key, kept in earlier.items()}
    )[0]
    fresh: list[MeasureResult] = []
    interrupted, skipped, failure = False, 0, None
    for at, source in enumerate(sources):
        keys = [(source.file, source.snapshot, d) for d in call.prefix_dims or (None,)]
        try:
            stamp = measurer.stamp(source) if call.keeps_rows else ""
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
            if call.on_row is not None:
                call.on_row(row)
        if call.progress is not None and len(sources) > 1:
            call.progress("rows", at + 1, len(sources), (at + 1) / len(sources))
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
    than there is now; `row` is its stamp and the limit that cut it short.
    """
    known, cut_by = row or (None, None)
    return known == stamp and (cut_by is None or (limit is not None and limit <= cut_by))


def _write(result: MeasureResult | MeasureSeries, call: Measure, drawn: Sequence[Source]) -> None:
    """The files asked for; the rows of a ledger are in it already."""
    if result.out is not None and not call.keeps_rows:
        from gnc_cli.io.row_files import write_rows

        write_rows(
            result.out, result, datasets=getattr(result, "witnesses", None), force=call.force
        )
    if call.per_class is not None and isinstance(result, MeasureResult):
        made = {
            "command": "gnc measure",
            "file": result.file,
            "snapshot": result.snapshot,
            "policy": result.policy,
            "result": {"gnc1": result.gnc1, "gnc2": result.gnc2},
        }
        write_per_class(call.per_class, result.per_class, force=call.force, provenance=made)
    if (
        call.merge_list is not None
        and isinstance(result, MeasureResult)
        and result.merges is not None  # else time came first, which a warning says
    ):
        write_merges(call.merge_list, result.merges, force=call.force)
    if drawn and call.plot is not None:
        from gnc_cli.collapse.page import write_snapshots

        names = [] if call.class_names is None else read_lines(call.class_names)
        measured = {(r.file, r.snapshot): r for r in getattr(result, "rows", [result])}
        write_snapshots(
            call.plot, drawn, names, lambda s: measured.get((s.file, s.snapshot)), result.forms
        )
    elif call.plot is not None:
        result.plot(call.plot)
