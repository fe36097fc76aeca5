"""Time and memory to build and verify known codes: what is proved of the rows stands beside them.

    python -m benchmarks.constructions                  # the Leech lattice's 196560
    python -m benchmarks.constructions leech isotropic-9 ...

Each code is built and verified in a process of its own, so that its peak memory is its own. Rows
are added to work/VERSION/constructions.jsonl and printed as a table.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.paths import MEASURED
from benchmarks.report import machine

ROWS = MEASURED / "constructions.jsonl"
HEAD = [
    "code",
    "d",
    "K",
    "max cosine",
    "distribution",
    "attained",
    "build s",
    "verify s",
    "CPU s",
    "peak GB",
    "threads",
    "load",
]


def measure(name: str) -> dict[str, Any]:
    """Build and verify one code in this process."""
    from gnc_cli.constructions.registry import find
    from gnc_cli.runtime.threads import available_cores

    code = find(name)
    if code is None:
        raise SystemExit(f"no construction is called {name!r}")
    load, begun, cpu = os.getloadavg()[0], time.perf_counter(), time.process_time()
    rows = code.build()
    built = time.perf_counter()
    found = rows.verify()
    done = time.perf_counter()
    pairs = found.distribution or ()
    return {
        "case": name,
        "d": rows.shape[1],
        "K": found.K,
        "max_cosine": found.max_cosine.text,
        "as_stated": found.distinct and found.max_cosine == code.cosine and found.K == code.K,
        "distribution": {cosine.text: 2 * number / found.K for cosine, number in pairs},
        "attained": found.attained,
        "build": built - begun,
        "verify": done - built,
        "cpu": time.process_time() - cpu,
        "peak_mb": peak_mb(),
        "threads": available_cores(),
        "load": load,
    }


def peak_mb() -> float:
    """Peak memory of this process; what `getrusage` says, a child has from its parent."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    peaks = [float(text.split()[1]) for text in lines if text.startswith("VmHWM:")]
    return (peaks or [resource.getrusage(resource.RUSAGE_SELF).ru_maxrss])[0] / 1024


def line(row: dict[str, Any]) -> str:
    """One code as a line of the table; neighbours of a row at each inner product."""
    neighbours = ", ".join(f"{text}: {number:g}" for text, number in row["distribution"].items())
    value = row["max_cosine"] + ("" if row["as_stated"] else " (not as stated)")
    attained = "yes" if row["attained"] else "upper bound"
    cells = [
        row["case"],
        row["d"],
        row["K"],
        value,
        neighbours,
        attained,
        f"{row['build']:.2f}",
        f"{row['verify']:.2f}",
        f"{row['cpu']:.2f}",
        f"{row['peak_mb'] / 1024:.2f}",
        row["threads"],
        f"{row['load']:.1f}",
    ]
    return "| " + " | ".join(map(str, cells)) + " |"


def main() -> None:
    """Parse and go."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=["leech"])
    parser.add_argument("--here", action="store_true", help="in this process, as one JSON row")
    asked = parser.parse_args()
    if asked.here:
        print(json.dumps(measure(asked.names[0])))
        return
    ROWS.parent.mkdir(parents=True, exist_ok=True)
    print(f"Machine: {machine()}.\n")
    print("| " + " | ".join(HEAD) + " |\n" + "| --- " * len(HEAD) + "|", flush=True)
    for name in asked.names:
        command = [sys.executable, "-m", "benchmarks.constructions", "--here", name]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        with ROWS.open("a") as file:
            file.write(done.stdout)
        print(line(json.loads(done.stdout)), flush=True)


if __name__ == "__main__":
    main()
