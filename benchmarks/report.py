"""Tables in Markdown, the machine that they name, and their sections of RESULTS.md."""

import datetime
import os
import platform
from pathlib import Path

from benchmarks.paths import RESULTS, version


def table(head: list[str], lines: list[list[str]]) -> str:
    """Markdown."""
    rule = ["---"] * len(head)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, rule, *lines])


def replaced(text: str, name: str, body: str) -> str:
    """Return a page with `body` between the markers of that name; new markers go to its end."""
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    head, marker, rest = text.partition(start)
    tail = rest.partition(end)[2] if marker else "\n"
    head = head if marker else head.rstrip("\n") + "\n\n"
    return f"{head}{start}\n{body}\n{end}{tail}"


def write_section(name: str, body: str) -> None:
    """Put `body` between the markers of that name in RESULTS.md; a new section goes to its end."""
    text = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else "# Measured\n"
    RESULTS.write_text(replaced(text, name, body), encoding="utf-8")


def machine() -> str:
    """Return the machine without its name, the date and the version, for the head of a section."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    model = next((line.split(":")[1].strip() for line in lines if "model name" in line), "CPU")
    import torch

    return (
        f"{os.cpu_count()} cores ({model}, shared with other work), {platform.system()}, "
        f"Python {platform.python_version()}, torch {torch.__version__.split('+')[0]}; "
        f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}, version {version()}"
    )
