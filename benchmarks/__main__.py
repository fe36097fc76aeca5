"""The sections of benchmarks/RESULTS.md: which command makes each, and which are repeated here.

python -m benchmarks           # every repeated section, one after the other; each can be resumed
python -m benchmarks --list    # the table of all sections
python -m benchmarks --write   # the same into docs/results.md
"""

import argparse
import re
import subprocess
import sys
from dataclasses import dataclass

from benchmarks.paths import RESULTS, ROOT
from benchmarks.report import replaced, table

PAGE = ROOT / "docs" / "results.md"


@dataclass(frozen=True)
class Section:
    """A section of RESULTS.md."""

    heading: str
    commands: tuple[str, ...] = ()
    """Modules of `benchmarks` with their arguments, in order."""
    exception: str = ""
    """The reason why `python -m benchmarks` does not repeat the section."""


_PRINTED = "prints its table, which is copied"
SECTIONS = (
    Section(
        "Search",
        tuple(
            f"search.processor_time {which}"
            for which in ("roots 30", "small 30", "medium 60", "large 60")
        ),
        _PRINTED,
    ),
    Section("gnc solve", ("search.solve run softmax tammes3 tammes large", "search.solve report")),
    Section("Quality against time", ("search.anytime run --seeds 5", "search.anytime report")),
    Section(
        "Held-out codes",
        (
            "search.held_out run --d 3 --seconds 60",
            "search.held_out run --d 4..8 --seconds 600",
            "search.held_out run --d 9..24 --most 3 --seconds 120",
            "search.held_out report",
        ),
    ),
    Section("gnc solve at sizes of networks", ("search.regime run", "search.regime report")),
    Section(
        "The default compared with descent",
        ("search.default run", "search.default report"),
        "takes hours",
    ),
    Section(
        "Softmax Codes that are no Tammes codes, if the stored codes are optimal",
        ("known_codes.converse",),
        _PRINTED,
    ),
    Section("Constructions", ("constructions leech isotropic-9",), _PRINTED),
    Section("Sections of lattices", ("constructions.sections --report",), _PRINTED),
    Section("Classes for engineers: gnc solve --d D --K K", ("search.engineers",)),
    Section("gnc measure and plain NumPy", ("measure plain start report",)),
    Section("gnc measure", ("measure moments decisions gnc2 recipe large report",)),
    Section("GNC1 and GNC3 at collapse, in both forms", ("measure.simplex_cases",), _PRINTED),
    Section("What measure adds to its passes", ("measure.extras",), _PRINTED),
    Section("Which classes can win: gnc measure --reach", ("measure.reach",), _PRINTED),
    Section("gnc bounds", ("bounds times grid report",)),
    Section("Fifty intervals of rho\\*", ("bounds.intervals",), _PRINTED),
    Section("Known codes", ("known_codes.facts",), _PRINTED),
    Section("Lines", ("known_codes.lines",), _PRINTED),
    Section(
        "Proved local optima",
        ("known_codes.local_optima run", "known_codes.local_optima report"),
        "takes hours",
    ),
    Section("gnc train", ("training.train temperature heads placements processes speed report",)),
    Section("Real images: the paper's figures", ("training.paper run", "training.paper report")),
    Section(
        "Sequences of commands",
        ("faults.sequences run --count 10000", "faults.sequences report"),
        "looks for faults",
    ),
    Section("Killed commands", ("faults.kills run 300", "faults.kills report"), "looks for faults"),
    Section("Faults tried from outside", (), "tried by hand"),
    Section(
        "Hostile bytes", ("faults.fuzz run --seconds 600", "faults.fuzz report"), "looks for faults"
    ),
    Section("How cost grows", ("cost.scaling run", "cost.scaling report")),
    Section("Ten kinds of networks: measure_model(model, loader)", ("measure.models",)),
    Section("On a GPU", ("cost.gpu loop descent measure", "cost.gpu b4"), "requires a GPU"),
    Section("Installing", (), "measured by hand"),
)
"""Sections in the order of RESULTS.md."""

_DATE = re.compile(r"^Machine: .*?; (\d{4}-\d\d-\d\d(?: and \d\d)?), ", re.M)


def dates() -> dict[str, str]:
    """Return the date of each section that RESULTS.md has, by its heading."""
    text = RESULTS.read_text(encoding="utf-8")
    sections = re.findall(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    return {heading: "; ".join(_DATE.findall(body)) for heading, body in sections}


def listed() -> str:
    """Return the table of the sections in Markdown."""
    measured, lines = dates(), []
    for section in SECTIONS:
        commands = "; ".join(f"`python -m benchmarks.{command}`" for command in section.commands)
        repeated = f"no: {section.exception}" if section.exception else "yes"
        date = measured.get(section.heading) or "not with this version"
        lines.append([section.heading, date, repeated, commands or "-"])
    return table(["section", "measured", "repeated", "commands"], lines)


def main() -> None:
    """Run the commands of the repeated sections, or list all sections."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if options.list:
        print(listed())
    elif options.write:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(replaced(page, "sections", listed()), encoding="utf-8")
    else:
        for section in SECTIONS:
            for command in () if section.exception else section.commands:
                module, *arguments = command.split()
                words = [sys.executable, "-m", f"benchmarks.{module}", *arguments]
                subprocess.run(words, check=True)


if __name__ == "__main__":
    main()
