"""One code beside the best known one, as a sheet of lines; its further digits below."""

from pathlib import PurePath
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from gnc_cli.commands.compare_words import number, small, stamp_text, verdict_text
from gnc_cli.commands.solve_table import bracket_value, certified
from gnc_cli.results.figures import count

__all__ = ["compare_sheet"]

_UNNAMED = {
    "decided": "no construction or stored code",
    "undecided": "undecided: the search was cut short; raise --time-limit",
    None: "not looked for",
}
"""Of a code without a name, by the key `congruence`."""


def compare_sheet(r: dict[str, Any], table: dict[str, Any], verbose: bool) -> list[RenderableType]:
    """Title, lines and verdict of one row of a compare's JSON, with the table's stamp."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold", min_width=27)
    grid.add_column(style="dim")
    if verbose:
        grid.add_column(style="cyan", no_wrap=True)

    def line(name: str, value: str, remark: str = "", key: str = "") -> None:
        grid.add_row(name, value, remark, *([key] if verbose else []))

    angle = r.get("min_angle_deg")
    line("largest cosine", number(r["max_cosine"]),
         "" if angle is None else f"smallest angle {angle:.8f} degrees", "max_cosine")  # fmt: skip
    if r["best_known"] is None:
        line("best known", "-", "no table, construction or solved code has this d and K",
             "best_known")  # fmt: skip
    else:
        line("best known", number(r["best_known"]), _known(r), "best_known")
        line("gap", small(r["gap"]), "negative is better", "gap")
    free = r["rattlers"]
    if free is not None:
        line("rattlers", f"{count(free['one_vs_one'])} one-vs-one, "
             f"{count(free['one_vs_rest'])} one-vs-rest",
             f"free by more than {free['tolerance']:.1g}", "rattlers")  # fmt: skip
        line("contacts", count(r["contacts"]), "pairs at the smallest distance", "contacts")
    rho = r.get("rho_one_vs_rest")
    if rho is not None and rho["lower"] is not None:
        line("one-vs-rest distance", bracket_value(rho), certified(rho), "rho_one_vs_rest")
    line("congruent to", r["congruent_to"] or "-",
         "up to rotation, reflection and order" if r["congruent_to"] else
         _UNNAMED[r.get("congruence", "decided")], "congruent_to")  # fmt: skip
    if r.get("exported"):
        names = ", ".join(PurePath(path).name for path in r["exported"])
        line("exported", str(PurePath(r["exported"][0]).parent), names, "exported")
    for said in r.get("left_out", ()):
        line("left out", said.partition(":")[0], said.partition(": ")[2], "left_out")
    title = Text.assemble((r["file"] or "code", "bold"), f"   d = {r['d']}, K = {r['K']}")
    ending = Text.assemble(verdict_text(r), f": {r['advice']}")
    digits = [_digits(r["digits"], verbose), ""] if r.get("digits") else []
    return [title, "", grid, "", *digits, ending, stamp_text(table)]


def _digits(found: dict[str, Any], verbose: bool) -> RenderableType:
    """The polished code, in lines of sixty digits, so that any terminal shows them all."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    if verbose:
        grid.add_column(style="cyan", no_wrap=True)

    def line(name: str, value: str, key: str = "") -> None:
        grid.add_row(name, value, *([f"digits.{key}"] if verbose and key else [""] * verbose))

    if found["cosine"] is None:
        line(f"{found['decimals']} digits", f"none: {found['advice']}", "obstacle")
        return grid
    whole, _, text = found["cosine"].partition(".")
    parts = [text[at : at + 60] for at in range(0, len(text), 60)]
    line("polished cosine", f"{whole}.{parts[0]}", "cosine")
    for part in parts[1:]:
        line("", " " * (len(whole) + 1) + part)
    line("decided by", f"{found['how']}; a coordinate moved by {found['moved']:.1e} at most", "how")
    proposal = found["polynomial"]
    if proposal is None:
        line("polynomial", "none fits better than chance", "polynomial")
    else:
        evidence = f"({proposal['evidence']:.0f} digits beyond chance)"
        line("polynomial", f"{proposal['text']}   {evidence}", "polynomial")
    return grid


def _known(r: dict[str, Any]) -> str:
    proved = {True: "proved optimal", False: "not proved", None: "optimality not settled"}
    said, source = proved[r["proven"]], r["source"]
    if (source or "").startswith("proven optimal"):
        return said + source.removeprefix("proven optimal")
    return f"{said}, {source}" if source else said
