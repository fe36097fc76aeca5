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
_Done = tuple[str, float | None]
"""Stamp of a row, and the time limit that cut it short."""


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
    limit = measurer.reading.time_limit
    with Ledger(append if first else None, request.identity(), resume=True) as ledger:
        done = measurer.reading.processes.all_gather(_stamps(ledger.rows))[0]
        for at, source in enumerate(sources):
            stamp = measurer.stamp(source)
            if append is not None and _is_done(done.get(_key_of(source)), stamp, limit):
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
            cut = limit if row.extras.get("cut_short") else None
            ledger.append(row.to_json() | {"stamp": stamp, "cut_short": cut})
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


def _stamps(rows: Sequence[dict[str, Any]]) -> dict[_Key, _Done]:
    return {_key(row): (row.get("stamp", ""), row.get("cut_short")) for row in rows}


def _is_done(known: _Done | None, stamp: str, limit: float | None) -> bool:
    """Whether a row of this stamp is there, and not cut short by less time than there is now."""
    if known is None or known[0] != stamp:
        return False
    return known[1] is None or (limit is not None and limit <= known[1])


def _earlier(
    rows: Sequence[dict[str, Any]], fresh: Sequence[MeasureResult]
) -> list[dict[str, Any]]:
    """The last row of each set that was not measured again, without its stamp."""
    again = {(row.file, row.snapshot) for row in fresh}
    last = {_key(row): row for row in rows if _key(row) not in again}
    drop = ("stamp", "cut_short", "schema", "command", "version")
    return [{k: v for k, v in row.items() if k not in drop} for row in last.values()]


def _key_of(source: Source) -> _Key:
    return source.file, source.snapshot


def _key(row: dict[str, Any]) -> _Key:
    return row.get("file"), row.get("snapshot")
