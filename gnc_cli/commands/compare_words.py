"""Figures and verdicts of `gnc compare` as a person reads them."""

from typing import Any

from rich.text import Text

__all__ = ["number", "small", "stamp_text", "status_text", "verdict_text"]

_COLOURS = {
    "matches": "green", "improves": "bold green", "worse": "red", "no_entry": "yellow",
}  # fmt: skip


def status_text(status: str | None) -> Text:
    """A status in its colour; news in capitals."""
    said = "undecided" if status is None else status.replace("_", " ")
    return Text(said.upper() if status == "improves" else said,
                style=_COLOURS.get(status or "", "yellow"))  # fmt: skip


def verdict_text(row: dict[str, Any]) -> Text:
    """The status of a row; in red below a proved figure, with a remark where a gap passes."""
    status = status_text(row["status"])
    if row["status"] == "improves" and row["proven"]:
        status.stylize("bold red")
    if row["status"] == "worse" and row.get("passed"):
        status.append(" (within --tolerance)")
    return status


def stamp_text(table: dict[str, Any]) -> Text:
    """Which table of known codes this was."""
    which = "--table" if table["current"] else "our copy"
    entries, sha256 = table["rows"], table["sha256"][:12]
    return Text(f"table: {which} of {table['date']}, {entries} entries, sha256 {sha256}", "dim")


def number(value: float | None, digits: int = 15) -> str:
    """So many decimals, a dash for null."""
    return "-" if value is None else f"{value:.{digits}f}"


def small(value: float | None) -> str:
    """Three digits, a dash for null."""
    return "-" if value is None else f"{value:.3g}"
