"""The tables of `gnc solve`: a code, a sweep over the temperature, the constructions."""

from gnc_cli.console.details import details
from gnc_cli.console.table import Cell, Styled, Table, facts
from gnc_cli.figures import (
    certified,
    count,
    decimals,
    duration,
    lower_end,
    plural,
    published,
    short,
)
from gnc_cli.known_codes.best import BestKnown
from gnc_cli.known_codes.citation import cite, standing
from gnc_cli.search.result import (
    TITLES,
    ConstructionList,
    Outcome,
    SolveResult,
    SolveSweep,
)

_COLOURS = {
    Outcome.CONVERGED: "green",
    Outcome.CLOSED_FORM: "green",
    Outcome.TARGET_REACHED: "green",
    Outcome.NONFINITE: "red",
    Outcome.TARGET_MISSED: "red",
    Outcome.INTERRUPTED: "red",
}
_SUMMARISED = ("min_angle_deg", "best_known.figure", "verdict", "outcome", "tau", "gnc2")
"""Keys that remarks, the title or the notes below the table have already."""
_MEASURES = {"softmax": "distance", "lines": "coherence"}
"""Measure compared with the best known code, by problem; for others the largest cosine."""
_EFFORT = ("seed", "restarts", "batches", "hits", "steps")
"""Keys of a search, which a code without one lacks."""


def view(result: SolveResult | SolveSweep | ConstructionList, verbose: bool) -> list[Table]:
    """Return the tables of a result; `verbose` ones have every value and the keys of the JSON."""
    if isinstance(result, ConstructionList):
        return [_constructions(result)]
    if isinstance(result, SolveSweep):
        if result.rows[0].ufm is None:  # a problem without a temperature: one row
            return view(result.rows[0], verbose)
        return [_sweep(result)]
    summary = _code(result, verbose)
    skipped = _SUMMARISED if result.searched else (*_SUMMARISED, *_EFFORT)
    remaining = [details(result, [summary], *skipped)] if verbose else []
    return [summary, *remaining, Table(notes=_endings(result))]


def _code(r: SolveResult, verbose: bool) -> Table:
    references, softmax = (
        [_best_known(r, r.best_known)] if r.best_known else [],
        r.problem == "softmax",
    )
    rows = [
        ("distances", "undecided", "not every pair of points was compared", "rho_one_vs_rest"),
        *references,
    ]
    if r.coherence is not None:
        angle = f"minimal angle {r.min_angle_deg:.8f} degrees"
        rows = [("coherence", decimals(r.coherence), angle, "coherence"), *references]
    elif r.rho_one_vs_rest is not None:
        rho, angle = r.rho_one_vs_rest, f"minimal angle {r.min_angle_deg:.8f} degrees"
        rows = [
            ("one-vs-rest distance", lower_end(rho), certified(rho), "rho_one_vs_rest"),
            *(references if softmax else []),
            ("largest cosine", decimals(r.max_cosine), angle, "max_cosine"),
            *([] if softmax else references),
        ]
    if r.ufm is not None and r.ufm.hardmax_gap is not None:
        remark = "at most: loss above its tau -> 0 limit"
        rows.append(("HardMax gap", short(r.ufm.hardmax_gap.upper), remark, "hardmax_gap"))
    rows.append(_origin(r))
    if r.out not in (None, "-"):
        rows.append(("written", str(r.out), "", "out"))
    title = f"{TITLES[r.problem]}   d = {count(r.d)}, K = {count(r.K)}"
    title += "" if r.ufm is None else f", tau = {r.ufm.tau:.6g}"
    return facts(title, rows, verbose=verbose)


def _endings(r: SolveResult) -> list[Cell]:
    """Return the verdict on the code, and the ending of the search where that adds to it."""
    notes: list[Cell] = [] if r.verdict is None else [(Styled("verdict", "bold"), f": {r.verdict}")]
    settled = r.optimum is not None and r.optimum.proved and not r.searched
    unimproved = r.start is not None and r.outcome in (Outcome.STORED, Outcome.CONSTRUCTED)
    if not (settled or unimproved):
        notes.append((_ending(r.outcome, "bold "), f": {r.advice}"))
    return notes


def _ending(outcome: Outcome, weight: str = "") -> Styled:
    return Styled(outcome.value.replace("_", " "), weight + _COLOURS.get(outcome, "yellow"))


def _best_known(r: SolveResult, code: BestKnown) -> tuple[str, str, str, str]:
    """Return the row of the best known value of the measure that the problem maximises.

    A code with the largest cosine t has a one-vs-rest distance of 1 - t or more.
    """
    softmax = r.problem == "softmax"
    is_origin = code.kind == "construction" and not r.searched  # named in the row of the origin
    parts = []
    if (code.d, code.K) != (r.d, r.K) or not is_origin:
        parts.append(cite(code.source))
    parts.append(standing(code.proven, code.optimality))
    parts += [code.table] if code.table else []
    name = f"best known {_MEASURES.get(r.problem, 'cosine')}"
    value = published(code.figure, distance=softmax)
    return name, value, ", ".join(parts), "" if softmax else "best_known.max_cosine"


def _origin(r: SolveResult) -> tuple[str, str, str, str]:
    """Return the row of the origin: its name, the gain over the known code, and the effort."""
    kind, _, name = r.origin.partition(": ")
    label = name.partition(",")[0].partition(" (")[0]
    if kind.endswith("stored code"):  # its source is in the row of the best known code
        label = (
            name.partition(", found by")[0].removeprefix("found by ")
            if kind == "stored code"
            else ""
        )
    parts, starts = [label] if label else [], plural(r.restarts, "start")
    if r.start is not None and r.searched:
        start_kind = r.start.origin.partition(": ")[0]
        parts.append(f"{r.start.gain:.2g} better than the {start_kind}")
    elif r.start is not None and r.steps:
        parts.append(f"{starts} found none better")
    if r.searched and r.steps:
        parts += [starts, f"seed {r.seed}"]
    parts.append(duration(r.seconds))
    return "found by", kind, ", ".join(parts), ""


def _sweep(sweep: SolveSweep) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for r in sweep.rows:
        assert r.ufm is not None, "a sweep is of the feature model"
        gap = r.ufm.hardmax_gap
        rows.append(
            (
                f"{r.ufm.tau:.6g}",
                lower_end(r.ufm.gnc2, 8),
                decimals(r.max_cosine, 8),
                short(r.ufm.gnc1),
                short(r.ufm.gnc3),
                short(gap.upper if gap else None),
                _ending(r.outcome),
            )
        )
    size = f"d = {count(sweep.d)}, K = {count(sweep.K)}"
    title = f"{TITLES[sweep.problem]}   {size}, {plural(len(rows), 'row')}"
    notes = [] if sweep.out in (None, "-") else [(Styled("written", "bold"), f"  {sweep.out}")]
    headings = ("tau", "one-vs-rest", "max cosine", "GNC1", "GNC3", "HardMax gap", "outcome")
    return Table(title, headings, rows, notes=notes, text=frozenset({6}))


def _constructions(constructions: ConstructionList) -> Table:
    """Return two lines per code: a table would cut names, which users copy."""
    lines: list[Cell] = []
    for row in constructions.rows:
        values = f"   d = {row.d}, K = {row.K}, largest cosine {row.max_cosine}"
        proved = f"; proved optimal: {row.optimality}" if row.optimality else ""
        lines.append((Styled(row.name, "bold"), values))
        lines.append(("    ", row.title, Styled(f" ({row.reference}{proved})", "dim")))
    return Table("Constructions: gnc solve --construction NAME", sentences=lines)
