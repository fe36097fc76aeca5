"""One pair (d, K): the best interval, then every bound with its source."""

import math
from collections.abc import Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from gnc_cli.commands.bounds_build import best_built, command_lines
from gnc_cli.commands.bounds_listing import Entry, Listing, Sentence, bisector_note, keyed, title
from gnc_cli.commands.bounds_words import (
    ONE_VS_ONE,
    angle_text,
    asked_of,
    interval_text,
    scale_text,
    verdict,
)
from gnc_cli.results.figures import cosine, count, points, rounded

__all__ = ["pair_answer", "pair_built", "row_degrees", "row_order", "row_remark", "row_value"]

_COLOURS = {"exists": "bold green", "excluded": "bold red", "open": "bold yellow"}


def row_order(row: dict[str, Any]) -> tuple[bool, bool, float]:
    """Sorts the rows of one (d, K): lower bounds before upper ones, those that hold before those
    that do not, and the best first."""
    upper = row["side"] == "upper"
    # Near 1 cosines hardly differ, their angles do.
    value = row["value"] if row["angle_deg"] is None else -row["angle_deg"]
    value = math.inf if value is None else value
    return upper, not row["valid"], value if upper else -value


def pair_answer(
    result: dict[str, Any], best: dict[str, Any], verbose: bool
) -> list[RenderableType]:
    """The best interval of one (d, K), then every bound.

    Args:
        result: `BoundsResult.to_json()`.
        best: its only one.
    """
    single = best["quantity"] == ONE_VS_ONE
    parts: list[RenderableType] = [
        title("Bounds", f"d = {count(best['d'])}, K = {points(best['K'])}"), "",
        keyed(Text(interval_text(best), "bold"), "best.0", verbose),
        Text(f"  from below: {best['lower_name']}; from above: {best['upper_name']}"),
    ]  # fmt: skip
    known = best["best_known"]
    if known is not None:
        line = f"  best known code: cosine {cosine(known['max_cosine'], True)}, {known['source']}"
        parts.append(keyed(Text(line), "best.0.best_known", verbose))
    if single and best["lower_deg"] is not None:
        parts.append(Text(f"  its smallest angle: {angle_text(best)}"))
    if best["status"] is not None:
        parts.append(keyed(_verdict(result, best), "best.0.status", verbose))
    if best["scale"] is not None:
        asked = asked_of(result)
        where = f"at {asked}" if asked else "for the best code known"
        said = Text(scale_text(best["scale"], result["probability"], where))
        parts.append(keyed(said, "best.0.scale", verbose))
    keys = {id(row): f"rows.{i}" for i, row in enumerate(result["rows"])}
    rows = sorted(result["rows"], key=row_order)
    entries = []
    for before, row in zip([None, *rows], rows, strict=False):
        cells = [row["side"], row["name"], row_value(row)]
        if single:
            cells.append(row_degrees(row))
        cells += [keys[id(row)]] if verbose else []
        apart = before is not None and before["side"] != row["side"]
        style = "" if row["valid"] else "dim"
        entries.append(Entry(tuple(cells), row_remark(row), style, apart))
    headings = ["side", "bound", "largest cosine" if single else "value"]
    headings += (["degrees"] if single else []) + (["key"] if verbose else [])
    parts += ["", Listing(tuple(headings), "source", entries, verbose)]
    parts += [Sentence(Text(note, "dim")) for note in bisector_note(rows)]
    held = [row for row in rows if row["valid"]]
    return parts + command_lines(held if verbose else pair_built(rows))


def pair_built(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with the commands of the best code that has one."""
    return best_built([row for row in rows if row["valid"]], _rank, lambda row: None)


def row_value(row: dict[str, Any]) -> str:
    """The value of a bound, rounded to the safe side."""
    up = row["side"] == "upper"
    if row["quantity"] == ONE_VS_ONE:
        return cosine(row["value"], up, degrees=row["angle_deg"])
    return rounded(row["value"], up)


def row_degrees(row: dict[str, Any]) -> str:
    """Its angle: a lower bound on the cosine is an upper one on the angle."""
    return rounded(row["angle_deg"], up=row["side"] == "lower", digits=10)


def _rank(row: dict[str, Any]) -> float:
    """Of a code; the best is the smallest."""
    return -float(row["value"] if row["angle_deg"] is None else row["angle_deg"])


def row_remark(row: dict[str, Any]) -> str:
    """Whether its hypothesis holds, and its source."""
    if not row["valid"]:
        return f"does not hold: {row['condition']}" if row["condition"] else "does not hold here"
    return f"holds: {row['condition']}; {row['source']}" if row["condition"] else row["source"]


def _verdict(result: dict[str, Any], best: dict[str, Any]) -> Text:
    status = best["status"]
    by = {
        "exists": f" ({_exists(best)})", "excluded": f" ({_excludes(best)})",
        "open": ": no such code is known, and none is excluded",
    }[status]  # fmt: skip
    said = (verdict(status), _COLOURS[status])
    return Text.assemble((asked_of(result) or "", "bold"), ": ", said, by)


def _exists(best: dict[str, Any]) -> str:
    return str(best["upper_name" if best["quantity"] == ONE_VS_ONE else "lower_name"])


def _excludes(best: dict[str, Any]) -> str:
    return str(best["lower_name" if best["quantity"] == ONE_VS_ONE else "upper_name"])
