"""Output of `gnc compare`: tables of one code, several, the list; its gates."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from gnc_cli.comparison.result import (
    CompareResult,
    CompareRow,
    FileRow,
    ListedRow,
    Mode,
)
from gnc_cli.console.details import details
from gnc_cli.console.gates import GateVerdict, Status
from gnc_cli.console.table import Cell, Styled, Table, facts
from gnc_cli.figures import (
    certified,
    count,
    decimals,
    lower_end,
    plural,
    published,
    short,
)
from gnc_cli.known_codes.citation import cite, standing
from gnc_cli.known_codes.table import TableStamp, our_copy
from gnc_cli.known_codes.verdict import TOLERANCE, ComparisonStatus
from gnc_cli.metrics.gnc2 import Rattlers
from gnc_cli.parsing import number

_COLOURS = {
    ComparisonStatus.MATCHES: "green",
    ComparisonStatus.IMPROVES: "bold green",
    ComparisonStatus.WORSE: "red",
    ComparisonStatus.NO_ENTRY: "yellow",
}
_TITLES = {
    Mode.FILES: "Codes compared with the best known codes",
    Mode.LIST: "Known codes",
}
_UNNAMED = {
    "decided": "no construction or stored code",
    "undecided": "undecided: the search was cut short; raise --time-limit",
    None: "not looked for",
}
"""Reason why a code has no name, by `congruence`."""
_MAX_LETTERS = 22
"""Largest number of letters of a cosine in the list on a terminal."""
_MIN_EXCESS = 1e-11
"""Smallest excess of a largest cosine above 1 - rho at which a Softmax Code is compared by rho."""
_COLUMNS = (
    "file",
    "d",
    "K",
    "max_cosine",
    "coherence",
    "best known",
    "gap",
    "status",
    "rattlers",
    "contacts",
    "degrees",
    "congruent to",
)
_PRINTED_KEYS = ("min_angle_deg", "figure", "status", "advice", "description", "digits")
"""Keys whose values are in remarks, in the notes below and in other tables."""
_MAX_SOURCES = 8
"""Largest number of sources, and of pairs per source, that are named below a table."""


def view(result: CompareResult, verbose: bool) -> list[Table]:
    """Return the tables for a person.

    Args:
        result: the result of `compare`.
        verbose: with degrees, all digits, and the keys of the JSON, which gates take.
    """
    if result.mode is Mode.FILES and len(result.rows) == 1:
        (row,) = result.rows
        assert isinstance(row, FileRow)
        return _code_tables(row, result.table, verbose)
    counts = [f"{n} {name.replace('_', ' ')}" for name, n in result.counts.items() if n]
    title = f"{_TITLES[result.mode]}   {', '.join([plural(len(result.rows), 'row'), *counts])}"
    rows: Sequence[Any] = result.rows
    if result.mode is Mode.LIST:
        notes: list[Cell] = [_stamp(result.table)]
        if result.table.current:
            notes.append(_stamp(our_copy().stamp))
        return [_list(title, rows, notes, verbose)]
    table = _files(title, rows, verbose)
    return [replace(table, notes=[*_isometries(rows), *_endings(rows), _stamp(result.table)])]


def verdicts(result: CompareResult, options: dict[str, Any]) -> list[GateVerdict]:
    """Return the verdicts of --tolerance, of proved optima and of --require-entry.

    A row below a value that is proved optimal fails: the entry or the file is wrong. A passed
    --tolerance has a line only if the user set it, or in a report.

    Args:
        result: the result of `compare`.
        options: options as the user wrote them, by parameter.
    """
    rows = [row for row in result.rows if isinstance(row, FileRow)]
    if not rows:
        return []
    gates = []
    tolerance = number(options.get("tolerance", TOLERANCE))
    worse = [row for row in rows if (row.gap or 0.0) > tolerance and not row.passed]
    undecided = [row for row in rows if row.passed is None]
    status = Status.FAILED if worse else Status.UNDECIDED if undecided else Status.PASSED
    if status is Status.UNDECIDED:
        detail = f"no time for {_place(undecided[0])}"
    else:
        worst = max(rows, key=lambda row: -2.0 if row.gap is None else row.gap)
        detail = f"{'no' if worst.gap is None else f'{worst.gap:.3g}'} gap at {_place(worst)}"
    if len(rows) > 1:
        detail += f"; {len(worse)} of {len(rows)} rows above it"
    if status is not Status.PASSED or tolerance != TOLERANCE or options.get("report"):
        gates.append(GateVerdict(f"--tolerance {tolerance:g}", status, detail))
    for row in rows:
        if row.status is ComparisonStatus.IMPROVES and row.proven:
            detail = f"{_place(row)} is below an entry marked proved optimal"
            gates.append(GateVerdict("proved optima", Status.FAILED, detail))
    if options.get("require_entry"):
        missing = [_place(row) for row in rows if not row.on_record]
        detail = f"no code on record at {'; '.join(missing)}" if missing else "all on record"
        status = Status.FAILED if missing else Status.PASSED
        gates.append(GateVerdict("--require-entry", status, detail))
    return gates


def _place(row: CompareRow) -> str:
    return f"d = {row.d:,}, K = {row.K:,}" + (f" ({row.file})" if row.file else "")


def _code_tables(r: FileRow, stamp: TableStamp, verbose: bool) -> list[Table]:
    angle = "" if r.min_angle_deg is None else f"minimal angle {r.min_angle_deg:.8f} degrees"
    cosine = ("largest cosine", decimals(r.max_cosine), angle, "max_cosine")
    if r.coherence is not None:
        cosine = ("coherence", decimals(r.coherence), angle, "coherence")
    rows = [cosine]
    if r.best_known is None:
        remark = "no code of this d and K is in a table, built or stored"
        rows.append(("best known", "-", remark, "best_known"))
    else:
        source = cite(r.source or "", r.d, r.K)
        proved = standing(r.proven, r.optimality)
        remark = ", ".join(filter(None, (source, proved, r.best_known_table)))
        rows.append(("best known", published(r.figure or ""), remark, "best_known"))
        scope = "of distances, " if _by_distance(r) else ""
        rows.append(("gap", short(r.gap), f"{scope}negative is better", "gap"))
    if r.rho_one_vs_rest is not None and _by_distance(r):
        rho = r.rho_one_vs_rest
        rows.append(("one-vs-rest distance", lower_end(rho), certified(rho), "rho_one_vs_rest"))
    remark_on_name = (
        "up to rotation, reflection and order" if r.congruent_to else _UNNAMED[r.congruence]
    )
    if r.coherence is None:
        rows.append(("congruent to", r.congruent_to or "-", remark_on_name, "congruent_to"))
    if r.exported:
        names = ", ".join(PurePath(path).name for path in r.exported)
        rows.append(("exported", str(PurePath(r.exported[0]).parent), names, "exported"))
    for line in r.left_out or ():
        name, _, reason = line.partition(": ")
        rows.append(("left out", name, reason, "left_out"))
    title = f"{r.file or 'code'}   d = {count(r.d)}, K = {count(r.K)}"
    tables = [facts(title, rows, verbose=verbose)]
    if verbose:
        tables.append(details(r, tables, *_PRINTED_KEYS))
    points = f" of {count(2 * r.K)} points, two on each line" if r.problem == "lines" else ""
    if r.description is not None:
        tables.append(
            details(r.description, (), "rigidity.direction", title=f"description{points}")
        )
    if r.digits is not None:
        tables.append(details(r.digits, (), "polynomial.coefficients", title=f"digits{points}"))
    notes: list[Cell] = [(*_verdict(r), f": {r.advice}"), *([_stamp(stamp)] if verbose else [])]
    return [*tables, Table(notes=notes)]


def _by_distance(r: FileRow) -> bool:
    """Return True if the one-vs-rest distance decides: a Softmax Code of a larger cosine."""
    bound = 0.0 if r.rho_one_vs_rest is None else r.rho_one_vs_rest.lower
    return r.problem == "softmax" and (r.max_cosine or 0.0) > 1.0 - bound + _MIN_EXCESS


def _files(title: str, rows: Sequence[FileRow], verbose: bool) -> Table:
    cells: list[tuple[Cell, ...]] = [
        (
            r.file or "-",
            str(r.d),
            str(r.K),
            "" if r.problem == "lines" else decimals(r.max_cosine, 10),
            decimals(r.coherence, 10) if r.problem == "lines" else "",
            _record(r),
            short(r.gap),
            _status(r.status),
            _rattlers(r.rattlers),
            count(r.contacts),
            decimals(r.min_angle_deg, 8) if verbose else "",
            r.congruent_to or "-",
        )
        for r in rows
    ]
    return Table(title, _COLUMNS, cells, text=frozenset({0, 7, 11}))


def _isometries(rows: Sequence[FileRow]) -> Iterator[str]:
    """Yield one line for each file that was matched with the first one."""
    for row in rows:
        if (match := row.isometry) is None:
            continue
        words = f"undecided: {match.reason}" if match.exists is None else "another code"
        if match.exists:
            words = f"equal up to rotation, reflection and order, within {short(match.deviation)}"
        yield f"{rows[0].file or 'the first'} and {row.file or 'another'}: {words}"


def _list(title: str, rows: Sequence[ListedRow], notes: list[Cell], verbose: bool) -> Table:
    """Return the table of entries; only on a terminal, where lines wrap, they are short."""
    terminal = sys.stdout is not None and sys.stdout.isatty()
    short = terminal and not verbose
    cells: list[tuple[Cell, ...]] = [
        (
            str(r.d),
            str(r.K),
            (r.figure or "")[: _MAX_LETTERS if short else None],
            r.record or "-",
            _rattlers(r.rattlers),
            count(r.contacts),
            r.date or "-",
            (cite(r.source or "") if short else r.source or "")
            + (f"; {standing(r.proven, r.optimality, whole=not short)}" if r.optimality else ""),
            r.note if verbose else "",
        )
        for r in rows
    ]
    columns = ("d", "K", "best known", "status", "rattlers", "contacts", "date", "source", "note")
    text = frozenset({3, 6, 7, 8})
    return Table(title, columns, cells, notes=notes, text=text, unwrapped=not terminal)


def _endings(rows: Sequence[FileRow]) -> list[Cell]:
    """Return the notes: the meaning of improvements, the digits of each file, and sources."""
    notes: list[Cell] = [
        (*_verdict(r), f": {r.file or f'd = {r.d}, K = {r.K}'}: {r.advice}")
        for r in rows
        if r.status is ComparisonStatus.IMPROVES
    ]
    sources: dict[str, dict[str, None]] = {}
    for r in rows:
        if isinstance(r, FileRow) and r.digits is not None:
            polynomial = r.digits.polynomial
            root = (
                f", {'' if polynomial.proved else 'seemingly '}root of {polynomial.text}"
                if polynomial
                else ""
            )
            cosine = r.digits.cosine or f"none: {r.digits.advice}"
            notes.append((Styled("digits", "bold"), f": {r.file}: {cosine}{root}"))
        if r.source:
            sources.setdefault(r.source, {})[f"({r.d}, {r.K})"] = None
    for source, sizes in list(sources.items())[:_MAX_SOURCES]:
        ellipsis = " ..." if len(sizes) > _MAX_SOURCES else ""
        pairs = ", ".join(list(sizes)[:_MAX_SOURCES])
        notes.append((Styled("best known", "bold"), f" for {pairs}{ellipsis}: {cite(source)}"))
    return notes


def _record(r: CompareRow) -> str:
    """Format the best known cosine; a fraction if it is exact."""
    exact = r.figure is not None and "." not in r.figure
    return r.figure if exact and r.figure else decimals(r.best_known, 10)


def _status(status: ComparisonStatus | None) -> Styled:
    """Return a status in its colour; an improvement in capitals."""
    if status is None:
        return Styled("undecided", "yellow")
    words = status.value.replace("_", " ")
    return Styled(words.upper() if status is ComparisonStatus.IMPROVES else words, _COLOURS[status])


def _verdict(row: CompareRow) -> tuple[str, ...]:
    """Return the status of a row; in red below a proved value, with a remark if a gap passes."""
    status = _status(row.status)
    if row.status is ComparisonStatus.IMPROVES and row.proven:
        return (Styled(status, "bold red"),)
    if row.status is ComparisonStatus.WORSE and isinstance(row, FileRow) and row.passed:
        return status, " (within --tolerance)"
    return (status,)


def _stamp(table: TableStamp) -> Styled:
    """Return the identity of the table of known codes."""
    size = f"{count(table.rows)} entries, sha256 {table.sha256[:12]}"
    return Styled(f"known codes: {table.title}, {size}", "dim")


def _rattlers(free: Rattlers | None) -> str:
    if free is None:
        return "-"
    one, rest = free.one_vs_one, free.one_vs_rest
    return count(one) if rest in (None, one) else f"{count(one)}/{count(rest)}"
