"""Tables in Markdown, the machine that they name, and their sections of RESULTS.md."""

import os
import platform
from pathlib import Path

from benchmarks.paths import RESULTS


def table(head: list[str], lines: list[list[str]]) -> str:
    """Markdown."""
    rule = ["---"] * len(head)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, rule, *lines])


def write_section(name: str, body: str) -> None:
    """Put `body` between the markers of that name in RESULTS.md; a new section goes to its end."""
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    text = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else "# Measured\n"
    head, found, rest = text.partition(start)
    tail = rest.partition(end)[2] if found else "\n"
    head = head if found else head.rstrip("\n") + "\n\n"
    RESULTS.write_text(f"{head}{start}\n{body}\n{end}{tail}", encoding="utf-8")


def machine() -> str:
    """The machine, without its name."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    model = next((line.split(":")[1].strip() for line in lines if "model name" in line), "CPU")
    import torch

    return (
        f"{os.cpu_count()} cores ({model}, shared with other work), {platform.system()}, "
        f"Python {platform.python_version()}, torch {torch.__version__.split('+')[0]}"
    )
