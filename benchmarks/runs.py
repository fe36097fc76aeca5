"""Runs of `gnc solve` as processes, and the files of rows that benchmarks keep."""

import csv
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from benchmarks.paths import TABLE


def best_known() -> dict[tuple[int, int], float]:
    """Return the reference values: results are compared with them, and no search uses them."""
    with TABLE.open() as file:
        return {
            (int(r["d"]), int(r["K"])): float(Fraction(r["max_cosine"]))
            for r in csv.DictReader(file)
            if r["status"] != "claimed"
        }


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


def keep(row: dict[str, Any], path: Path) -> None:
    """Append a row and say so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(row) + "\n")
    shown = row.get("result", {})
    wall = f"{row.get('wall', 0):6.1f} s"
    print(row["case"], wall, shown.get("max_cosine"), row.get("failed", ""), flush=True)


def rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a file so far."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
