"""The tables that `gnc solve` shows: a code, a sweep over the temperature, the constructions."""

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
_SHOWN = ("min_angle_deg", "best_known.figure", "verdict", "outcome", "tau", "gnc2")
"""Figures that stand in remarks, in the title and in what is said below."""
_COMPARED = {"softmax": "distance", "lines": "coherence"}
"""What is compared with the best known, by problem; of others the largest cosine."""
_EFFORT = ("seed", "restarts", "batches", "hits", "steps")


def view(result: SolveResult | SolveSweep | ConstructionList, verbose: bool) -> list[Table]:
    """The tables for a person; `verbose` ones have every figure and the keys of the JSON."""
    if isinstance(result, ConstructionList):
        return [_constructions(result)]
    if isinstance(result, SolveSweep):
        if result.rows[0].ufm is None:  # a problem without a temperature: one row
            return view(result.rows[0], verbose)
        return [_sweep(result)]
    sheet = _code(result, verbose)
    skipped = _SHOWN if result.searched else (*_SHOWN, *_EFFORT)
    further = [details(result, [sheet], *skipped)] if verbose else []
    return [sheet, *further, Table(notes=_endings(result))]


def _code(r: SolveResult, verbose: bool) -> Table:
    known, softmax = [_best_known(r, r.best_known)] if r.best_known else [], r.problem == "softmax"
    rows = [
        ("distances", "undecided", "not every pair of points was compared", "rho_one_vs_rest"),
        *known,
    ]
    if r.coherence is not None:
        angle = f"minimal angle {r.min_angle_deg:.8f} degrees"
        rows = [("coherence", decimals(r.coherence), angle, "coherence"), *known]
    elif r.rho_one_vs_rest is not None:
        rho, angle = r.rho_one_vs_rest, f"minimal angle {r.min_angle_deg:.8f} degrees"
        rows = [
            ("one-vs-rest distance", lower_end(rho), certified(rho), "rho_one_vs_rest"),
            *(known if softmax else []),
            ("largest cosine", decimals(r.max_cosine), angle, "max_cosine"),
            *([] if softmax else known),
        ]
    if r.ufm is not None and r.ufm.hardmax_gap is not None:
        most = "at most: loss above its tau -> 0 limit"
        rows.append(("HardMax gap", short(r.ufm.hardmax_gap.upper), most, "hardmax_gap"))
    rows.append(_origin(r))
    if r.out not in (None, "-"):
        rows.append(("written", str(r.out), "", "out"))
    title = f"{TITLES[r.problem]}   d = {count(r.d)}, K = {count(r.K)}"
    title += "" if r.ufm is None else f", tau = {r.ufm.tau:.6g}"
    return facts(title, rows, verbose=verbose)


def _endings(r: SolveResult) -> list[Cell]:
    """How good the code is, and how the search ended where that says more."""
    notes: list[Cell] = [] if r.verdict is None else [(Styled("verdict", "bold"), f": {r.verdict}")]
    settled = r.optimum is not None and r.optimum.proved and not r.searched
    found_before = r.start is not None and r.outcome in (Outcome.STORED, Outcome.CONSTRUCTED)
    if not (settled or found_before):
        notes.append((_ending(r.outcome, "bold "), f": {r.advice}"))
    return notes


def _ending(outcome: Outcome, weight: str = "") -> Styled:
    return Styled(outcome.value.replace("_", " "), weight + _COLOURS.get(outcome, "yellow"))


def _best_known(r: SolveResult, known: BestKnown) -> tuple[str, str, str, str]:
    """The best known value of what the problem maximises: a code with the largest cosine t has a
    one-vs-rest distance of 1 - t or more.
    """
    softmax = r.problem == "softmax"
    named = known.kind == "construction" and not r.searched  # stands below
    parts = []
    if (known.d, known.K) != (r.d, r.K) or not named:
        parts.append(cite(known.source))
    parts.append(standing(known.proven, known.optimality))
    parts += [known.table] if known.table else []
    name = f"best known {_COMPARED.get(r.problem, 'cosine')}"
    value = published(known.figure, distance=softmax)
    return name, value, ", ".join(parts), "" if softmax else "best_known.max_cosine"


def _origin(r: SolveResult) -> tuple[str, str, str, str]:
    """What found the code, what a search added to the code known before, and with which effort."""
    kind, _, name = r.origin.partition(": ")
    named = name.partition(",")[0].partition(" (")[0]
    if kind.endswith("stored code"):  # of which the best known code says where it is from
        named = (
            name.partition(", found by")[0].removeprefix("found by ")
            if kind == "stored code"
            else ""
        )
    parts, starts = [named] if named else [], plural(r.restarts, "start")
    if r.start is not None and r.searched:
        known = r.start.origin.partition(": ")[0]
        parts.append(f"{r.start.gain:.2g} better than the {known}")
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
    written = [] if sweep.out in (None, "-") else [(Styled("written", "bold"), f"  {sweep.out}")]
    headings = ("tau", "one-vs-rest", "max cosine", "GNC1", "GNC3", "HardMax gap", "outcome")
    return Table(title, headings, rows, notes=written, text=frozenset({6}))


def _constructions(constructions: ConstructionList) -> Table:
    """Two lines per code: names are to be typed again and must not be cut."""
    lines: list[Cell] = []
    for row in constructions.rows:
        figures = f"   d = {row.d}, K = {row.K}, largest cosine {row.max_cosine}"
        proved = f"; proved optimal: {row.optimality}" if row.optimality else ""
        lines.append((Styled(row.name, "bold"), figures))
        lines.append(("    ", row.title, Styled(f" ({row.reference}{proved})", "dim")))
    return Table("Constructions: gnc solve --construction NAME", sentences=lines)
