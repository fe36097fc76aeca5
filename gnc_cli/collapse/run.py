"""One call of `measure`: it measures its sources row by row, and writes the output files."""

import os
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, cast

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
from gnc_cli.runtime.distributed import Processes, run_on_all

if TYPE_CHECKING:
    from gnc_cli.io.ledger import Ledger


def run(call: Measure) -> MeasureResult:
    """Measure the one set of a call; see `api.measure`."""
    series = run_series(call, allow_several=False)
    if not series.rows:
        raise StoppedError("interrupted before the samples were read; nothing was measured")
    return series.rows[0]


def run_series(call: Measure, *, allow_several: bool = True) -> MeasureSeries:
    """Measure every set of a call, and write its output files; see `api.measure_series`.

    Raises:
        UsageError: the call may have several rows, and `allow_several` is False.
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
    for name in call.changed_arguments("one set"):
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
    if reason is not None and not allow_several:
        raise UsageError(f"measure() returns one result, and {reason}; call measure_series()")
    page_sources: list[Source] = []
    if call.plot is not None and is_page(call.plot):
        from gnc_cli.collapse.page import drawable_sources

        page_sources = drawable_sources(call.plot, sources)
    with Processes.current() as processes:
        measurer = Measurer(selection, conventions, budget, processes)
        with run_on_all(processes, lambda: _ledger(call, measurer)) as ledger:
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
            _write(series.rows[0] if series.single else series, call, page_sources)
    return series


@dataclass(frozen=True)
class _KeptRow:
    """A line of a rows file."""

    stamp: str
    """`Measurer.stamp` of the input that was measured."""
    cut_short: float | None
    """The time limit in seconds that cut it short; None if none did."""
    row: MeasureResult

    @classmethod
    def read(cls, line: dict[str, Any]) -> "_KeptRow":
        """Return the line's JSON object as a record.

        Raises:
            ValueError: a field is wrong; the message names it.
        """
        return cast("_KeptRow", read_plain(cls, {**line, "row": line}))


def selection_of(call: Measure) -> Selection:
    """Return the datasets that are measured, and the options for reading them."""
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
    """Return the conventions of a call.

    The user's table of codes and the file of `--reference` are checked before any set is read.

    Raises:
        DataError: one of them cannot be used.
    """
    inputs = (call.classes, call.class_names, call.reference, call.sets)
    reference: Any = call.reference
    if isinstance(reference, str):
        from gnc_cli.io.codefile import read_points

        reference = (reference, read_points(reference))
    sample_options = call.changed_arguments("samples") + (
        ["head"] if call.head and not call.proves else []
    )
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
        files=tuple(file for file in inputs if isinstance(file, str)),
        requirements={
            "samples": tuple(sample_options),
            "labels": tuple(sorted(call.changed_arguments("labels"))),
        },
    )


def _ledger(call: Measure, measurer: Measurer) -> "AbstractContextManager[Ledger[_KeptRow] | None]":
    """Return the ledger of `--out rows.jsonl`, which only the first process has."""
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
    """Return the options that must be equal for two rows in one file."""
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
    """Measure one row after the other, except those that the ledger has already.

    Returns:
        The series, and the DataError that ended it, if one did.
    """
    processes = measurer.processes
    limit, interruption = call.time_limit, Deadline(None, call.interrupt)
    ledger_rows = [] if ledger is None else ledger.rows
    earlier = {line.row.key: line for line in ledger_rows}
    ledger_keys = [line.row.key for line in ledger_rows]
    stamps: dict[Any, tuple[str, float | None]] = processes.all_gather(
        {key: (line.stamp, line.cut_short) for key, line in earlier.items()}
    )[0]
    fresh: list[MeasureResult] = []
    interrupted, skipped, failure = False, 0, None
    for index, source in enumerate(sources):
        keys = [(source.file, source.snapshot, d) for d in call.prefix_dims or (None,)]
        try:
            stamp = measurer.stamp(source) if call.keeps_rows else ""
            if all(_is_current(stamps.get(key), stamp, limit) for key in keys):
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
            # The brackets of an interrupted row are valid, but wide.
            fresh += [replace(row, interrupted=True) for row in measured]
            interrupted = True
            break
        fresh += measured
        for row in measured:
            if ledger is not None:
                cut_short = limit if row.cut_short else None
                ledger.append(row.to_json() | {"stamp": stamp, "cut_short": cut_short})
                ledger_keys.append(row.key)
            if call.on_row is not None:
                call.on_row(row)
        if call.progress is not None and len(sources) > 1:
            call.progress("rows", index + 1, len(sources), (index + 1) / len(sources))
    last = {key: number for number, key in enumerate(ledger_keys)}
    if ledger is not None and len(last) < len(ledger_keys):
        ledger.drop({*range(len(ledger_keys))} - {*last.values()})
    # The last row of each set, by epoch and step, then in the order of the files.
    rows = {key: line.row for key, line in earlier.items()}
    rows |= {row.key: row for row in fresh}
    series = MeasureSeries(
        seconds=0.0,
        version=__version__,
        rows=tuple(sorted(rows.values(), key=MeasureResult.order)),
        skipped=skipped,
        interrupted=interrupted,
    )
    return series, failure


def _is_current(row: tuple[str, float | None] | None, stamp: str, limit: float | None) -> bool:
    """Return True if a kept row need not be measured again.

    `row` is its stamp, and the time limit that cut it short. The set must be unchanged, and the
    limit not smaller than the present one.
    """
    row_stamp, row_limit = row or (None, None)
    return row_stamp == stamp and (row_limit is None or (limit is not None and limit <= row_limit))


def _write(
    result: MeasureResult | MeasureSeries, call: Measure, page_sources: Sequence[Source]
) -> None:
    """Write the output files of a call; the rows of a ledger are written already."""
    if result.out is not None and not call.keeps_rows:
        from gnc_cli.io.row_files import write_rows

        write_rows(
            result.out, result, datasets=getattr(result, "witnesses", None), force=call.force
        )
    if call.per_class is not None and isinstance(result, MeasureResult):
        provenance = {
            "command": "gnc measure",
            "file": result.file,
            "snapshot": result.snapshot,
            "policy": result.policy,
            "result": {"gnc1": result.gnc1, "gnc2": result.gnc2},
        }
        write_per_class(call.per_class, result.per_class, force=call.force, provenance=provenance)
    if (
        call.merge_list is not None
        and isinstance(result, MeasureResult)
        and result.merges is not None  # None if time ran out, as a warning says
    ):
        write_merges(call.merge_list, result.merges, force=call.force)
    if page_sources and call.plot is not None:
        from gnc_cli.collapse.page import write_snapshots

        names = [] if call.class_names is None else read_lines(call.class_names)
        measured = {(r.file, r.snapshot): r for r in getattr(result, "rows", [result])}
        write_snapshots(
            call.plot,
            page_sources,
            names,
            lambda s: measured.get((s.file, s.snapshot)),
            result.forms,
        )
    elif call.plot is not None:
        result.plot(call.plot)
