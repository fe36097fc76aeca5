"""What `gnc compare` shows: tables of one code, several, the list; its own gates."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import PurePath
from typing import Any

from gnc_cli.codes.description import Description
from gnc_cli.comparison.result import (
    CompareResult,
    CompareRow,
    FileRow,
    ListedRow,
    Mode,
    PolishedCosine,
)
from gnc_cli.console.gates import GateVerdict, Status
from gnc_cli.console.table import Cell, Styled, Table, facts
from gnc_cli.figures import (
    above_minimum,
    certified,
    count,
    decimals,
    lower_end,
    plural,
    published,
    short,
)
from gnc_cli.known_codes.citation import cited, standing
from gnc_cli.known_codes.table import TableStamp, our_copy
from gnc_cli.known_codes.verdict import TOLERANCE, ComparisonStatus
from gnc_cli.metrics.gnc2 import Rattlers
from gnc_cli.parsing import number
from gnc_cli.records import Bracket, look_up, plain

_COLOURS = {
    ComparisonStatus.MATCHES: "green",
    ComparisonStatus.IMPROVES: "bold green",
    ComparisonStatus.WORSE: "red",
    ComparisonStatus.NO_ENTRY: "yellow",
}
_TITLES = {
    Mode.FILES: "Codes beside the known codes",
    Mode.LIST: "Known codes",
}
_UNNAMED = {
    "decided": "no construction or stored code",
    "undecided": "undecided: the search was cut short; raise --time-limit",
    None: "not looked for",
}
"""Why a code has no name, by `congruence`."""
_FIGURE = 22
"""A terminal shows this many letters of a figure in the list."""
_LINE = 60
"""Digits of a polished cosine per line."""
_APART = 1e-11
"""A largest cosine this far above 1 - rho is not what a Softmax Code is judged by."""
_MOST = 8
"""Sources, and pairs per source, that are named below a table."""


def view(result: CompareResult, verbose: bool) -> list[Table]:
    """The tables for a person.

    Args:
        verbose: degrees, whole figures, and the keys of the JSON, which gates take.
    """
    if result.mode is Mode.FILES and len(result.rows) == 1:
        (row,) = result.rows
        assert isinstance(row, FileRow)
        return _sheet(row, result.table, verbose)
    counts = [f"{n} {name.replace('_', ' ')}" for name, n in result.counts.items() if n]
    title = f"{_TITLES[result.mode]}   {', '.join([plural(len(result.rows), 'row'), *counts])}"
    rows: Sequence[Any] = result.rows
    if result.mode is Mode.LIST:
        notes: list[Cell] = [_stamp(result.table)]
        if result.table.current:
            notes.append(_stamp(our_copy().stamp))
        return [_list(title, rows, notes, verbose)]
    table = _files(title, rows, verbose)
    return [replace(table, notes=[*_endings(rows), _stamp(result.table)])]


def verdicts(result: CompareResult, options: dict[str, Any]) -> list[GateVerdict]:
    """What the rows say of --tolerance, of proved optima and of --require-entry.

    A row below a figure that is proved optimal fails: the entry or the file is wrong. A passed
    --tolerance is worth a line only where the user set it, or in a report.

    Args:
        options: as the user wrote them, by parameter.
    """
    rows = [row for row in result.rows if isinstance(row, FileRow)]
    if not rows:
        return []
    judged = []
    tolerance = number(options.get("tolerance", TOLERANCE))
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
    if status is not Status.PASSED or tolerance != TOLERANCE or options.get("report"):
        judged.append(GateVerdict(f"--tolerance {tolerance:g}", status, detail))
    for row in rows:
        if row.status is ComparisonStatus.IMPROVES and row.proven:
            detail = f"{_place(row)} is below an entry marked proved optimal"
            judged.append(GateVerdict("proved optima", Status.FAILED, detail))
    if options.get("require_entry"):
        missing = [_place(row) for row in rows if not row.on_record]
        detail = f"no code on record at {'; '.join(missing)}" if missing else "all on record"
        status = Status.FAILED if missing else Status.PASSED
        judged.append(GateVerdict("--require-entry", status, detail))
    return judged


def _place(row: CompareRow) -> str:
    return f"d = {row.d:,}, K = {row.K:,}" + (f" ({row.file})" if row.file else "")


def _sheet(r: FileRow, stamp: TableStamp, verbose: bool) -> list[Table]:
    angle = "" if r.min_angle_deg is None else f"minimal angle {r.min_angle_deg:.8f} degrees"
    rows = [("largest cosine", decimals(r.max_cosine), angle, "max_cosine")]
    if r.best_known is None:
        remark = "no table, construction or numerical code has this d and K"
        rows.append(("best known", "-", remark, "best_known"))
    else:
        source = (r.source or "") if verbose else cited(r.source or "", r.d, r.K)
        proved = standing(r.proven, r.optimality, whole=verbose)
        remark = ", ".join(filter(None, (source, proved, r.best_known_table)))
        rows.append(("best known", published(r.figure or ""), remark, "best_known"))
        of = "of distances, " if _by_distance(r) else ""
        rows.append(("gap", short(r.gap), f"{of}negative is better", "gap"))
    if r.rattlers is not None:
        free = r.rattlers
        loose = f"{count(free.one_vs_one)} one-vs-one, {count(free.one_vs_rest)} one-vs-rest"
        rows.append(("rattlers", loose, above_minimum(free.tolerance), "rattlers"))
        rows.append(("contacts", count(r.contacts), "pairs at the smallest distance", "contacts"))
    if r.rho_one_vs_rest is not None:
        rho = r.rho_one_vs_rest
        rows.append(("one-vs-rest distance", lower_end(rho), certified(rho), "rho_one_vs_rest"))
    if not verbose:
        shown = ["max_cosine", "best_known", "gap"]
        if _by_distance(r):
            shown.append("rho_one_vs_rest")
        rows = [row for row in rows if row[3] in shown]
    named = "up to rotation, reflection and order" if r.congruent_to else _UNNAMED[r.congruence]
    rows.append(("congruent to", r.congruent_to or "-", named, "congruent_to"))
    if r.exported:
        names = ", ".join(PurePath(path).name for path in r.exported)
        rows.append(("exported", str(PurePath(r.exported[0]).parent), names, "exported"))
    for line in r.left_out or ():
        name, _, reason = line.partition(": ")
        rows.append(("left out", name, reason, "left_out"))
    title = f"{r.file or 'code'}   d = {count(r.d)}, K = {count(r.K)}"
    notes: list[Cell] = [(*_verdict(r), f": {r.advice}"), *([_stamp(stamp)] if verbose else [])]
    if verbose and r.undecided:
        notes.append(f"not decided in the time given: {', '.join(r.undecided)}")
    tables = [facts(title, rows, verbose=verbose)]
    if r.description is not None:
        tables.append(_description(r.description, verbose))
    if r.digits is not None:
        tables.append(_digits(r.digits, verbose))
    tables[-1] = replace(tables[-1], notes=notes)
    return tables


def _by_distance(r: FileRow) -> bool:
    """Whether the one-vs-rest distance decides, because the largest cosine alone says less."""
    bound = 0.0 if r.rho_one_vs_rest is None else r.rho_one_vs_rest.lower
    return r.problem == "softmax" and (r.max_cosine or 0.0) > 1.0 - bound + _APART


def _description(of: Description, verbose: bool) -> Table:
    """What a code is; figures that are missing with their reasons."""
    values = plain(of)
    rows = []
    for key, (name, written, remark) in _DESCRIBED.items():
        value = look_up(values, key)
        if value is not None:
            rows.append((name, written(value), remark, f"description.{key}"))
    rows += [("left out", line, "", "description.left_out") for line in of.left_out]
    return facts("", rows, verbose=verbose)


def _sizes(orbits: list[int]) -> str:
    return ", ".join(map(str, orbits[:_MOST])) + (" ..." if len(orbits) > _MOST else "")


def _span(ends: dict[str, float]) -> str:
    return f"{Bracket(**ends):.6f}"


_nine = partial(decimals, digits=9)
_DESCRIBED: dict[str, tuple[str, Callable[[Any], str], str]] = {
    "symmetry.order": ("symmetry group", str, "rotations and reflections"),
    "symmetry.orbits": ("orbits", _sizes, "points in each"),
    "design.strength": ("design", str, "its strength"),
    "covering_radius_deg": ("covering radius", _span, "degrees"),
    "energies.coulomb": ("Coulomb energy", _nine, "sum of 1 / r"),
    "energies.thomson": ("smallest known", _nine, "Thomson's problem, Wales and Ulker"),
    "energies.logarithmic": ("logarithmic energy", _nine, "sum of -log r"),
    "energies.harmonic": ("harmonic energy", _nine, "sum of r^(2 - d)"),
    "contact_graph_rank": ("contact graph", count, "rank of its adjacency matrix"),
    "rigidity.verdict": ("rigidity", str, "of the contacts as they are"),
    "rigidity.reason": ("decided by", str, ""),
    "rigidity.stressed": ("stressed", count, "contacts that no motion opens"),
    "rigidity.free_points": ("free points", count, "without a stressed contact"),
    "rigidity.rank": ("rigidity rank", count, "of the first derivatives of the contacts"),
    "rigidity.degrees_of_freedom": ("freedom", count, "dimension of the motions, without turns"),
}
"""Of each figure of a description: what a person reads, how its value is written, a remark."""


def _digits(digits: PolishedCosine, verbose: bool) -> Table:
    """The polished code, in lines of sixty digits, so that any terminal shows them all."""
    if digits.cosine is None:
        rows = [(f"{digits.decimals} digits", f"none: {digits.advice}", "", "digits.obstacle")]
        return facts("", rows, verbose=verbose)
    whole, _, text = digits.cosine.partition(".")
    lines = [text[at : at + _LINE] for at in range(0, len(text), _LINE)]
    rows = [("polished cosine", f"{whole}.{lines[0]}", "", "digits.cosine")]
    rows += [("", " " * (len(whole) + 1) + line, "", "") for line in lines[1:]]
    how = f"{digits.how}; a coordinate moved by {digits.moved:.1e} at most"
    rows.append(("decided by", how, "", "digits.how"))
    proposal = "none fits better than chance"
    if digits.polynomial is not None:
        evidence = f"proposed: {digits.polynomial.evidence:.0f} digits beyond chance"
        basis = "proved" if digits.polynomial.proved else evidence
        proposal = f"{digits.polynomial.text}   ({basis})"
    rows.append(("polynomial", proposal, "", "digits.polynomial"))
    return facts("", rows, verbose=verbose)


def _files(title: str, rows: Sequence[FileRow], verbose: bool) -> Table:
    cells: list[tuple[Cell, ...]] = [
        (
            r.file or "-",
            *_figures(r),
            decimals(r.min_angle_deg, 8) if verbose else "",
            r.congruent_to or "-",
        )
        for r in rows
    ]
    columns = ("file", *_FIGURES, "degrees", "congruent to")
    return Table(title, columns, cells, text=frozenset({0, 6, 10}))


_FIGURES = ("d", "K", "max_cosine", "best known", "gap", "status", "rattlers", "contacts")


def _figures(r: FileRow) -> tuple[Cell, ...]:
    return (
        str(r.d),
        str(r.K),
        decimals(r.max_cosine, 10),
        _record(r),
        short(r.gap),
        _status(r.status),
        _rattlers(r.rattlers),
        count(r.contacts),
    )


def _list(title: str, rows: Sequence[ListedRow], notes: list[Cell], verbose: bool) -> Table:
    """A line for each entry; only a terminal, where lines wrap, has short ones."""
    terminal = sys.stdout is not None and sys.stdout.isatty()
    short = terminal and not verbose
    cells: list[tuple[Cell, ...]] = [
        (
            str(r.d),
            str(r.K),
            (r.figure or "")[: _FIGURE if short else None],
            r.record or "-",
            _rattlers(r.rattlers),
            count(r.contacts),
            r.date or "-",
            (cited(r.source or "") if short else r.source or "")
            + (f"; {standing(r.proven, r.optimality, whole=not short)}" if r.optimality else ""),
            r.note if verbose else "",
        )
        for r in rows
    ]
    columns = ("d", "K", "best known", "status", "rattlers", "contacts", "date", "source", "note")
    text = frozenset({3, 6, 7, 8})
    return Table(title, columns, cells, notes=notes, text=text, unwrapped=not terminal)


def _endings(rows: Sequence[FileRow]) -> list[Cell]:
    """What an improvement means, the digits of each file, and whom to cite."""
    notes: list[Cell] = [
        (*_verdict(r), f": {r.file or f'd = {r.d}, K = {r.K}'}: {r.advice}")
        for r in rows
        if r.status is ComparisonStatus.IMPROVES
    ]
    sources: dict[str, dict[str, None]] = {}
    for r in rows:
        if isinstance(r, FileRow) and r.digits is not None:
            of = r.digits.polynomial
            root = f", {'' if of.proved else 'seemingly '}root of {of.text}" if of else ""
            cosine = r.digits.cosine or f"none: {r.digits.advice}"
            notes.append((Styled("digits", "bold"), f": {r.file}: {cosine}{root}"))
        if r.source:
            sources.setdefault(r.source, {})[f"({r.d}, {r.K})"] = None
    for source, where in list(sources.items())[:_MOST]:
        more = " ..." if len(where) > _MOST else ""
        some = ", ".join(list(where)[:_MOST])
        notes.append((Styled("best known", "bold"), f": {cited(source)}: {some}{more}"))
    return notes


def _record(r: CompareRow) -> str:
    """The best known cosine, a fraction where it is exact."""
    exact = r.figure is not None and "." not in r.figure
    return r.figure if exact and r.figure else decimals(r.best_known, 10)


def _status(status: ComparisonStatus | None) -> Styled:
    """A status in its colour; news in capitals."""
    if status is None:
        return Styled("undecided", "yellow")
    words = status.value.replace("_", " ")
    return Styled(words.upper() if status is ComparisonStatus.IMPROVES else words, _COLOURS[status])


def _verdict(row: CompareRow) -> tuple[str, ...]:
    """The status of a row; in red below a proved figure, with a remark where a gap passes."""
    status = _status(row.status)
    if row.status is ComparisonStatus.IMPROVES and row.proven:
        return (Styled(status, "bold red"),)
    if row.status is ComparisonStatus.WORSE and isinstance(row, FileRow) and row.passed:
        return status, " (within --tolerance)"
    return (status,)


def _stamp(table: TableStamp) -> Styled:
    """Which table of known codes this was."""
    size = f"{count(table.rows)} entries, sha256 {table.sha256[:12]}"
    return Styled(f"known codes: {table.title}, {size}", "dim")


def _rattlers(free: Rattlers | None) -> str:
    if free is None:
        return "-"
    one, rest = free.one_vs_one, free.one_vs_rest
    return count(one) if rest in (None, one) else f"{count(one)}/{count(rest)}"
