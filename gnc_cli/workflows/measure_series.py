"""Rows one after the other: several files or snapshots, those measured before, groups."""

import os
from collections.abc import Callable, Sequence
from typing import Any

from gnc_cli import __version__
from gnc_cli.io.ledger import Ledger
from gnc_cli.results import MeasureResult, MeasureSeries
from gnc_cli.workflows.measure_groups import group_rows
from gnc_cli.workflows.measure_one import Measurer
from gnc_cli.workflows.measure_request import Request
from gnc_cli.workflows.measure_sources import Source

__all__ = ["measure_series"]

_Key = tuple[Any, Any]


def measure_series(
    sources: Sequence[Source],
    measurer: Measurer,
    request: Request,
    *,
    group: str | None,
    append: str | os.PathLike[str] | None,
    on_row: Callable[[MeasureResult], None] | None,
) -> MeasureResult | MeasureSeries:
    """Measure every source; a lone one is its own result, unless it joins others.

    Args:
        sources: in the order of the rows.
        measurer: does the work.
        request: what makes two rows comparable.
        group: see `measure`.
        append: rows measured before, and where new ones go.
        on_row: told each new row.

    Raises:
        DataError, UsageError, OutputError: a source cannot be measured; rows before it are kept in
            `append`.
    """
    first = measurer.reading.processes.first
    earlier: list[dict[str, Any]] = []
    rows: list[MeasureResult] = []
    interrupted, skipped = False, 0
    with Ledger(append if first else None, request.identity(), resume=True) as ledger:
        done = measurer.reading.processes.all_gather(_stamps(ledger.rows))[0]
        for at, source in enumerate(sources):
            if done.get((source.file, source.snapshot)) == source.stamp and append is not None:
                skipped += 1
                continue
            try:
                with source.open() as samples:
                    row = measurer.measure(samples, source)
            except TimeoutError:
                interrupted = True
                break
            rows.append(row)
            if measurer.reading.interruption.interrupted:
                row.extras["interrupted"] = interrupted = True  # its brackets are valid, and wide
                break
            ledger.append(row.to_json() | {"stamp": source.stamp})
            if on_row is not None:
                on_row(row)
            if measurer.reading.progress is not None and len(sources) > 1:
                measurer.reading.progress("rows", at + 1, len(sources), row.gnc2.lower)
        earlier = _earlier(ledger.rows, rows)
    if len(rows) == len(sources) == 1 and group is None and append is None:
        return rows[0]
    shown = [*earlier, *(r.to_json() for r in rows)]
    return MeasureSeries(
        seconds=0.0,
        version=__version__,
        rows=tuple(rows),
        groups=group_rows(shown, group) if group is not None and shown else (),
        group=group,
        skipped=skipped,
        earlier=tuple(earlier),
        interrupted=interrupted,
    )


def _stamps(rows: Sequence[dict[str, Any]]) -> dict[_Key, str]:
    return {_key(row): row.get("stamp", "") for row in rows}


def _earlier(
    rows: Sequence[dict[str, Any]], fresh: Sequence[MeasureResult]
) -> list[dict[str, Any]]:
    """The last row of each set that was not measured again, without its stamp."""
    again = {(row.file, row.snapshot) for row in fresh}
    last = {_key(row): row for row in rows if _key(row) not in again}
    drop = ("stamp", "schema", "command", "version")
    return [{k: v for k, v in row.items() if k not in drop} for row in last.values()]


def _key(row: dict[str, Any]) -> _Key:
    return row.get("file"), row.get("snapshot")
