"""Sequences of commands, damages, kills and limits: what breaks a promise.

    python -m benchmarks.faults.sequences run --count 10000     # resumable; prints what it finds
    python -m benchmarks.faults.sequences run --count 10000 --disk DIR   # DIR: a small file system
    python -m benchmarks.faults.sequences report                # into RESULTS.md; or show

The steps and what must hold after each are those of `tests/faults/sequences.py`, of which the tests
run some; here commands that take long are stopped too, and every part has another seed. A
find is printed as the shortest sequence of commands that shows it, and does not stop the others:
from then on a sequence in which its kind comes up ends there. With `--disk` the disk that is full
is a real one; its file system is filled but for 4 to 256 KB:

    mount -t tmpfs -o size=64m tmpfs DIR

Rows are in work/VERSION/sequences.jsonl, one per part.
"""

import argparse
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.paths import MEASURED
from benchmarks.report import machine, table, write_section
from benchmarks.runs import rows
from tests.faults.sequences import Fault, Longer, search

ROWS = MEASURED / "sequences.jsonl"
_PART = 50
"""Sequences of one row."""

Row = dict[str, Any]


def run(count: int, disk: Path | None) -> None:
    """Run sequences, until there are so many with earlier ones."""
    ROWS.parent.mkdir(parents=True, exist_ok=True)
    while (done := sum(row["sequences"] for row in rows(ROWS))) < count:
        earlier = rows(ROWS)
        known = {find["kind"] for row in earlier for find in row["finds"]}
        row = part(len(earlier), min(_PART, count - done), known, disk)
        with ROWS.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(f"{done + row['sequences']} sequences, {row['seconds']:.0f} s", flush=True)
        for find in row["finds"]:
            print(f"\n{find['said']}", *find["story"], "", sep="\n", flush=True)


def part(number: int, count: int, known: set[str], disk: Path | None) -> Row:
    """Run one part; its number is its seed."""

    class Part(Longer):
        counts = Counter[str]()

    Part.known, Part.disk = known, disk
    begun, finds = time.monotonic(), []
    try:
        search(Part, count, seed=number, steps=10)
    except Fault as fault:
        finds = [{"kind": fault.kind, "said": str(fault)[:2000], "story": Part.story}]
    counts = {name: Part.counts[name] for name in sorted(Part.counts)}
    return {
        "sequences": counts.pop("before a find", counts["sequences"]),
        "disk": disk is not None,
        "counts": counts,
        "finds": finds,
        "seconds": round(time.monotonic() - begun, 1),
    }


def section(kept: list[Row], where: str) -> str:
    """Markdown: how the commands ended, and each kind of find with its shortest sequence."""
    counts, done, last = Counter[str](), 0, {}
    for row in kept:
        counts.update(row["counts"])
        done += row["sequences"]
        kinds = [name.removeprefix("fault ") for name in row["counts"] if name[:6] == "fault "]
        last |= dict.fromkeys(kinds, done)
    stories = {find["kind"]: find["story"] for row in kept for find in row["finds"]}
    ends = sorted((name for name in counts if name.startswith("exit ")), key=lambda n: -counts[n])
    parts = [
        "## Sequences of commands",
        f"Machine: {where}. Commands one after another in one folder, their files damaged, links, "
        "foreign files and read-only folders in between, and each of them under a signal at a "
        "drawn line, a full disk, few open files or little memory: `benchmarks.faults.sequences`. "
        "Commands include those of the search for a shorter sequence.",
        table(
            ["sequences", "on a full file system", "commands", *ends],
            [
                [
                    f"{done:,}",
                    f"{sum(row['sequences'] for row in kept if row['disk']):,}",
                    *(f"{counts[name]:,}" for name in ("commands", *ends)),
                ]
            ],
        ),
    ]
    if stories:
        head = ["find", "times", "last seen at", "shortest sequence"]
        lines = [
            [
                kind.replace("|", "\\|"),
                str(counts[f"fault {kind}"]),
                f"{last.get(kind, 0):,}",
                "; ".join(f"`{line}`" for line in story).replace("|", "\\|"),
            ]
            for kind, story in stories.items()
        ]
        parts.append(table(head, lines))
    return "\n\n".join(parts)


def main() -> None:
    """Parse and go."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument("--count", type=int, default=10_000, help="sequences, with earlier ones")
    running.add_argument("--disk", type=Path, help="a small file system, of which parts are filled")
    commands.add_parser("report")
    commands.add_parser("show")
    asked = parser.parse_args()
    if asked.command == "run":
        run(asked.count, asked.disk)
    else:
        body = section(rows(ROWS), machine())
        write_section("sequences", body) if asked.command == "report" else print(body)


if __name__ == "__main__":
    main()
