"""Quality and time of `gnc solve` at default effort: sampled, resumable, reported with the machine.

    python -m benchmarks.solve run softmax tammes3 tammes large
    python -m benchmarks.solve report

Each case runs the command as a user would (a process of its own), so start-up counts. Rows are kept
in benchmarks/work/solve.jsonl; a case that is there already is not run again. `report` writes the
section between the markers of benchmarks/RESULTS.md.
"""

import argparse
import csv
import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROWS = HERE / "work" / "solve.jsonl"
RESULTS = HERE / "RESULTS.md"
TABLE = HERE.parent / "data" / "known_codes" / "table.csv"
NAMED = [(4, 24), (4, 120), (5, 16), (5, 43), (6, 27), (7, 56), (8, 240), (5, 41), (6, 86)]


def best_known() -> dict[tuple[int, int], float]:
    """The reference figures; they are compared with, never searched towards."""
    with TABLE.open() as file:
        return {
            (int(r["d"]), int(r["K"])): float(Fraction(r["max_cosine"]))
            for r in csv.DictReader(file)
            if r["status"] != "claimed"
        }


def cases(group: str) -> list[tuple[str, list[str]]]:
    """Name and options of each run of a group."""
    table = best_known()

    def solve(d: int, K: int, *more: str) -> list[str]:
        return ["--d", str(d), "--K", str(K), "--method", "descent", *more]

    if group == "softmax":
        return [(f"softmax (10, 100) seed {s}", solve(10, 100, "--seed", str(s))) for s in range(3)]
    if group == "tammes3":
        return [
            (f"tammes (3, {K})", solve(3, K, "--problem", "tammes"))
            for d, K in sorted(table)
            if d == 3 and 7 <= K <= 130
        ]
    if group == "tammes":
        return [(f"tammes ({d}, {K})", solve(d, K, "--problem", "tammes")) for d, K in NAMED]
    if group == "large":
        return [
            ("large (512, 10000)", solve(512, 10000, "--time-limit", "120")),
            ("large (64, 100000)", solve(64, 100000, "--time-limit", "180")),
        ]
    raise SystemExit(f"no group {group!r}")


def run(groups: list[str], only: str | None, every: int) -> None:
    """Run what is not there yet."""
    done = {row["case"] for row in rows()}
    for group in groups:
        for name, options in cases(group)[::every]:
            if name not in done and (only is None or only in name):
                keep({"case": name, "group": group, **measure(options)})


def measure(
    options: list[str], checkout: Path | None = None, program: Sequence[str] = ("-m", "gnc_cli")
) -> dict[str, Any]:
    """One run of the command, of this version or of another checkout: JSON, wall time, memory."""
    env = None if checkout is None else os.environ | {"PYTHONPATH": str(checkout.resolve())}
    begun, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, *program, "solve", *options, "--json", "-q"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=checkout, env=env
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 4):
        return {"failed": done.returncode, "stderr": done.stderr[-400:]}
    return {
        "wall": time.perf_counter() - begun,
        "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "peak_mb": after.ru_maxrss / 1024,  # of the largest child so far
        "load": os.getloadavg()[0],
        "result": json.loads(done.stdout),
    }


def keep(row: dict[str, Any], path: Path = ROWS) -> None:
    """Append a row and say so."""
    path.parent.mkdir(exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(row) + "\n")
    shown = row.get("result", {})
    wall = f"{row.get('wall', 0):6.1f} s"
    print(row["case"], wall, shown.get("max_cosine"), row.get("failed", ""), flush=True)


def rows(path: Path = ROWS) -> list[dict[str, Any]]:
    """All rows so far."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


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


def main() -> None:
    """Parse and go."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument("groups", nargs="+")
    running.add_argument("--only", help="cases whose name contains this")
    running.add_argument("--every", type=int, default=1, help="each n-th case of a group")
    commands.add_parser("report")
    asked = parser.parse_args()
    if asked.command == "run":
        run(asked.groups, asked.only, asked.every)
    else:
        from benchmarks.report import section

        write_section("solve", section(rows(), best_known(), machine()))


if __name__ == "__main__":
    main()
