"""The table that `gnc solve` shows to a person."""

import math
from decimal import ROUND_FLOOR, Decimal
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from gnc_cli.commands.baseline import rows_of
from gnc_cli.results.figures import rounded

__all__ = ["bracket_value", "certified", "solve_table"]

_TITLES = {"softmax": "Softmax Code", "tammes": "Tammes code", "ufm": "UFM optimum"}
_GOOD = {"converged", "closed_form", "target_reached"}
_BAD = {"nonfinite", "target_missed", "interrupted"}


def solve_table(result: dict[str, Any], verbose: bool = False) -> RenderableType:
    """Draw a solve's JSON: one code as a sheet, a sweep as a table of rows.

    Args:
        result: `SolveResult.to_json()` or `SolveSweep.to_json()`.
        verbose: add the JSON keys, which are also the names that gates take.
    """
    return _sweep(result) if "rows" in result else _sheet(result, verbose)


def _sheet(r: dict[str, Any], verbose: bool) -> RenderableType:
    rho = r["rho_one_vs_rest"]
    margins, rattlers = r["margins"], r["rattlers"]
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold", min_width=27)
    grid.add_column(style="dim")
    if verbose:
        grid.add_column(style="cyan", no_wrap=True)

    def line(name: str, value: str, remark: str | Text = "", key: str = "") -> None:
        cells: list[str | Text] = [name, value, remark]
        grid.add_row(*cells, *([key] if verbose else []))

    line("one-vs-rest distance", bracket_value(rho), certified(rho), "rho_one_vs_rest")
    line("one-vs-one distance", _number(r["rho_one_vs_one"]), "smallest chord", "rho_one_vs_one")
    line("largest cosine", _number(r["max_cosine"]), _angle(r["min_angle_deg"]), "max_cosine")
    if "tau" in r:
        _ufm_lines(r, line)
    line("CosFace margin", _number(margins["cosface"]), "largest m that every class can satisfy",
         "margins.cosface")  # fmt: skip
    line("ArcFace margin", _number(margins["arcface_rad"]), "radians, features on their weights",
         "margins.arcface_rad")  # fmt: skip
    line("rattlers", f"{_count(rattlers['one_vs_rest'])} one-vs-rest, "
         f"{_count(rattlers['one_vs_one'])} one-vs-one",
         f"free by more than {rattlers['tolerance']:.1g}", "rattlers")  # fmt: skip
    line("contacts", _count(r["contacts"]), "pairs at the smallest distance", "contacts")
    line("stationarity", _small(r["stationarity"]), "largest residual of the first-order equations",
         "stationarity")  # fmt: skip
    gain = r["first_order_gain"]
    line("first-order gain", _small(gain), _locally(gain, r["stationarity"]),
         "first_order_gain")  # fmt: skip
    known = r["best_known"]
    if known is not None:
        proved = "proved optimal" if known["proven"] else "not proved"
        source = "" if known["source"] == "proven optimal" else f", {known['source']}"
        line("best known cosine", _number(known["max_cosine"]), f"{proved}{source}", "best_known")
    if r["optimum"] is not None:
        line("optimal distance", f"at most {rounded(r['optimum']['upper'], up=True, digits=15)}",
             r["optimum"]["source"], "optimum")  # fmt: skip
    effort = f"{_plural(r['restarts'], 'start')}, {_plural(r['steps'], 'step')}, seed {r['seed']}, "
    took = f"{r['seconds']:.3g} s"
    line("found by", r["origin"], effort + took if r["steps"] else took, "origin")
    if r["out"] not in (None, "-"):
        line("written", str(r["out"]), "", "out")
    title = Text.assemble(
        (_TITLES.get(r["problem"], r["problem"]), "bold"), f"   d = {r['d']}, K = {r['K']}"
    )
    return Group(title, "", grid, "", _ending(r))


def _ufm_lines(r: dict[str, Any], line: Any) -> None:
    line("temperature tau", _number(r["tau"]), "logits = cosines / tau", "tau")
    line("GNC1", _small(r["gnc1"]), "variability within classes; 0 when collapsed", "gnc1")
    line("GNC3", _small(r["gnc3"]), "distance from self-duality; 0 when collapsed", "gnc3")
    gap = r["hardmax_gap"]
    if gap is not None:
        line("HardMax gap", _small(gap["upper"]), "scaled loss above its tau -> 0 limit, at most",
             "hardmax_gap")  # fmt: skip


def _sweep(result: dict[str, Any]) -> RenderableType:
    rows = rows_of(result)
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in ("tau", "one-vs-rest", "largest cosine", "GNC1", "GNC3", "HardMax gap", "s"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("outcome", no_wrap=True)
    for r in rows:
        gap = r.get("hardmax_gap") or {}
        table.add_row(
            f"{r['tau']:.6g}" if r.get("tau") is not None else "-",
            bracket_value(r["rho_one_vs_rest"], 10),
            _number(r["max_cosine"], 10),
            _small(r.get("gnc1")),
            _small(r.get("gnc3")),
            _small(gap.get("upper")),
            f"{r['seconds']:.3g}",
            Text(r["outcome"], style=_colour(r["outcome"])),
        )
    problem = result["problem"]
    title = Text.assemble(
        (_TITLES.get(problem, problem), "bold"),
        f"   d = {result['d']}, K = {result['K']}, {_plural(len(rows), 'row')}",
    )
    parts: list[RenderableType] = [title, "", table]
    if result["out"] not in (None, "-"):
        parts += ["", Text.assemble(("written  ", "bold"), str(result["out"]))]
    return Group(*parts)


def _ending(r: dict[str, Any]) -> Text:
    said = r["outcome"].replace("_", " ")
    ended = Text.assemble((said, f"bold {_colour(r['outcome'])}"), f": {r['advice']}")
    if r["verdict"] is None:
        return ended
    return Text.assemble(("verdict", "bold"), f": {r['verdict']}\n", ended)


def _colour(outcome: str) -> str:
    return "green" if outcome in _GOOD else "red" if outcome in _BAD else "yellow"


def bracket_value(bracket: dict[str, Any], most: int = 15) -> str:
    """The proved lower end, cut to the digits that both ends settle (at least six)."""
    lower, upper = bracket["lower"], bracket["upper"]
    if lower is None:
        return "-"
    width = abs(upper - lower) if upper is not None else 1.0
    digits = most if width == 0.0 else min(most, max(6, math.floor(-math.log10(width)) + 1))
    # Rounded down where it matters: what is printed is still proved.
    nearest = f"{lower:.{digits}f}"
    if float(nearest) <= lower + 1e-15:
        return nearest
    return str(Decimal(lower).quantize(Decimal(1).scaleb(-digits), ROUND_FLOOR))


def certified(bracket: dict[str, Any]) -> str:
    """How far a bracket's lower end is to be trusted, in words."""
    lower, upper = bracket["lower"], bracket["upper"]
    if lower is None or upper is None:
        return "certified from below only"
    if upper == lower:
        return "certified, exact to rounding"
    if upper - lower > 1e-6:
        return f"certified: at least this, at most {upper:.6f}"
    return f"certified, bracket {upper - lower:.1e}"


def _angle(degrees: float | None) -> str:
    return "" if degrees is None else f"smallest angle {degrees:.8f} degrees"


def _locally(gain: float | None, stationarity: float | None) -> str:
    if gain is None:
        return "not computed"
    if gain <= 1e-9 and (stationarity is None or stationarity <= 1e-9):
        return "nothing to gain to first order"
    return "what small moves could still gain"


def _number(value: float | None, digits: int = 15) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _small(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def _count(value: int | None) -> str:
    return "-" if value is None else f"{value:,}".replace(",", " ")


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
