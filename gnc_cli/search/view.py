"""The tables that `gnc solve` shows: a code, a sweep over the temperature, the constructions."""

from gnc_cli.console.table import Cell, Styled, Table, facts
from gnc_cli.figures import (
    above_minimum,
    certified,
    count,
    decimals,
    duration,
    lower_end,
    plural,
    published,
    rounded,
    short,
)
from gnc_cli.known_codes.best import BestKnown
from gnc_cli.known_codes.citation import cited, standing
from gnc_cli.search.result import (
    TITLES,
    ConstructionList,
    Outcome,
    SolveResult,
    SolveSweep,
    UfmMeasures,
)

_COLOURS = {
    Outcome.CONVERGED: "green",
    Outcome.CLOSED_FORM: "green",
    Outcome.TARGET_REACHED: "green",
    Outcome.NONFINITE: "red",
    Outcome.TARGET_MISSED: "red",
    Outcome.INTERRUPTED: "red",
}


_BRIEF = ("rho_one_vs_rest", "max_cosine", "hardmax_gap", "best_known", "origin", "out")
"""What a sheet shows without `-v`."""


def view(result: SolveResult | SolveSweep | ConstructionList, verbose: bool) -> list[Table]:
    """The tables for a person; `verbose` ones show the keys of the JSON beside the figures."""
    if isinstance(result, ConstructionList):
        return [_constructions(result)]
    return [_sweep(result) if isinstance(result, SolveSweep) else _code(result, verbose)]


def _code(r: SolveResult, verbose: bool) -> Table:
    free, ufm, softmax = r.rattlers, r.ufm, r.problem == "softmax"
    rho, margins, reason = r.rho_one_vs_rest, r.margins, "not every pair of points was compared"
    known = [] if r.best_known is None else [_best_known(r, r.best_known, verbose)]
    rows: list[tuple[str, ...]] = [
        ("distances", "undecided", reason, "rho_one_vs_rest"),
        *known,
    ]
    if rho is not None and free is not None and margins is not None:
        rows = [
            ("one-vs-rest distance", lower_end(rho), certified(rho), "rho_one_vs_rest"),
            *(known if softmax else []),
            ("one-vs-one distance", decimals(r.rho_one_vs_one), "smallest chord", "rho_one_vs_one"),
            (
                "largest cosine",
                decimals(r.max_cosine),
                f"minimal angle {r.min_angle_deg:.8f} degrees",
                "max_cosine",
            ),
            *([] if softmax else known),
            *([] if ufm is None else _feature_model(ufm)),
            (
                "CosFace margin",
                decimals(margins.cosface),
                "largest m that every class can satisfy",
                "margins.cosface",
            ),
            (
                "ArcFace margin",
                decimals(margins.arcface_rad),
                "minimal angle of two weights, radians",
                "margins.arcface_rad",
            ),
            (
                "rattlers",
                f"{count(free.one_vs_rest)} one-vs-rest, {count(free.one_vs_one)} one-vs-one",
                above_minimum(free.tolerance),
                "rattlers",
            ),
            ("contacts", count(r.contacts), "pairs at the smallest distance", "contacts"),
            (
                "stationarity",
                short(r.stationarity),
                "largest residual of the first-order equations",
                "stationarity",
            ),
            (
                "first-order gain",
                short(r.first_order_gain),
                "what small moves could still gain; 0 where stationary",
                "first_order_gain",
            ),
            (
                "local minimum",
                r.local_minimum or "-",
                r.local_minimum_reason or "not examined",
                "local_minimum",
            ),
        ]
    if r.optimum is not None:
        most = f"at most {rounded(r.optimum.upper, up=True, digits=15)}"
        rows.append(("optimal distance", most, r.optimum.source, "optimum"))
    rows.append(_origin(r, verbose))
    if r.out not in (None, "-"):
        rows.append(("written", str(r.out), "", "out"))
    rows = [row for row in rows if row[1] != "-" or r.searched]
    rows = [row for row in rows if verbose or row[3] in _BRIEF]
    notes: list[Cell] = [] if r.verdict is None else [(Styled("verdict", "bold"), f": {r.verdict}")]
    settled = r.optimum is not None and r.optimum.proved and not r.searched
    found_before = r.start is not None and r.outcome in (Outcome.STORED, Outcome.CONSTRUCTED)
    if not (settled or found_before):
        ended = Styled(
            r.outcome.value.replace("_", " "), f"bold {_COLOURS.get(r.outcome, 'yellow')}"
        )
        notes.append((ended, f": {r.advice}"))
    if verbose and r.undecided:
        notes.append(f"not decided in the time given: {', '.join(r.undecided)}")
    title = f"{TITLES[r.problem]}   d = {count(r.d)}, K = {count(r.K)}"
    if ufm is not None and not verbose:
        title += f", tau = {ufm.tau:.6g}"
    return facts(title, rows, notes, verbose=verbose)


def _best_known(r: SolveResult, known: BestKnown, verbose: bool) -> tuple[str, ...]:
    """The best known value of what the problem maximises: a code with the largest cosine t has a
    one-vs-rest distance of 1 - t or more."""
    softmax = r.problem == "softmax"
    named = known.kind == "construction" and not r.searched and not verbose  # stands below
    parts = []
    if (known.d, known.K) != (r.d, r.K) or not named:
        parts.append(known.source if verbose else cited(known.source))
    parts.append(standing(known.proven, known.optimality, whole=verbose))
    parts += [known.table] if known.table else []
    name = f"best known {'distance' if softmax else 'cosine'}"
    return name, published(known.figure, distance=softmax), ", ".join(parts), "best_known"


def _origin(r: SolveResult, verbose: bool) -> tuple[str, ...]:
    """What found the code, what a search added to the code known before, and with which effort."""
    kind, _, name = r.origin.partition(": ")
    if not verbose:
        named = name.partition(",")[0].partition(" (")[0]
        if kind.endswith("stored code"):  # of which the best known code says where it is from
            named = name.partition(", found by")[0] if kind == "stored code" else ""
        name = named
    parts = [name] if name else []
    starts, steps = plural(r.restarts, "start"), [plural(r.steps, "step")] if verbose else []
    if r.start is not None and r.searched:
        known = r.start.origin.partition(": ")[0]
        parts.append(f"{r.start.gain:.2g} better than the {known}")
    elif r.start is not None and r.steps:
        parts.append(f"no better from {starts}")
    if r.searched and r.steps:
        parts += [starts, *steps, f"seed {r.seed}"]
    parts.append(duration(r.seconds))
    return "found by", kind, ", ".join(parts), "origin"


def _feature_model(ufm: UfmMeasures) -> list[tuple[str, ...]]:
    gap = ufm.hardmax_gap
    rows: list[tuple[str, ...]] = [
        ("temperature tau", decimals(ufm.tau), "logits = cosines / tau", "tau"),
        ("GNC1", short(ufm.gnc1), "variability within classes; 0 when collapsed", "gnc1"),
        ("GNC3", short(ufm.gnc3), "distance from self-duality; 0 when collapsed", "gnc3"),
    ]
    if gap is not None:
        most = "at most: loss above its tau -> 0 limit"
        rows.append(("HardMax gap", short(gap.upper), most, "hardmax_gap"))
    return rows


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
                Styled(r.outcome.value.replace("_", " "), _COLOURS.get(r.outcome, "yellow")),
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
