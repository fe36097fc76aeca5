"""What `gnc solve` answers to those who choose d and K for faces, retrieval and language models.

    python -m benchmarks.search.engineers              # every pair, then the table
    python -m benchmarks.search.engineers 512 768      # these dimensions alone

Whole processes, certificate included, nothing written but where a row says so. Rows are added to
benchmarks/work/engineers.jsonl; the table goes into RESULTS.md between its markers.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.paths import WORK
from benchmarks.report import machine, write_section

ROWS = WORK / "engineers.jsonl"
DIMS = (64, 128, 256, 384, 512, 768, 1024, 2048, 4096)
SIZES = (1_000, 10_000, 100_000, 1_000_000)
WRITTEN = ((512, 500_000),)
"""Written to a file as well."""


def measure(d: int, K: int, written: bool) -> dict[str, Any]:
    """One solve as a process of its own, with its peak memory and the size of its file."""
    script = (
        "import resource, runpy, sys; sys.argv[0] = 'gnc'\n"
        "try:\n    runpy.run_module('gnc_cli', run_name='__main__')\n"
        "finally:\n    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "    print(peak, file=sys.stderr)\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "code.h5"
        args = ["solve", "--d", str(d), "--K", str(K), "--json", "-q"]
        args += ["--out", str(file)] if written else []
        begun = time.perf_counter()
        run = subprocess.run(
            [sys.executable, "-c", script, *args], capture_output=True, text=True, check=True
        )
        wall = time.perf_counter() - begun
        megabytes = file.stat().st_size / 1e6 if written else None
    peak = int(run.stderr.split()[-1]) / 1024
    return {
        "d": d,
        "K": K,
        "wall": wall,
        "peak_mb": peak,
        "file_mb": megabytes,
        "result": json.loads(run.stdout),
    }


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: the latest row of each pair."""
    latest = {(row["d"], row["K"], row["file_mb"] is not None): row for row in rows}
    head = ["d", "K", "max_cosine", "rho lower", "bracket", "origin", "s", "peak GB", "file MB"]
    lines = []
    for (d, K, _), row in sorted(latest.items()):
        r = row["result"]
        rho = r["rho_one_vs_rest"]
        lines.append(
            [
                str(d),
                f"{K:,}".replace(",", " "),
                f"{r['max_cosine']:.6f}",
                f"{rho['lower']:.6f}",
                f"{rho['upper'] - rho['lower']:.0e}",
                r["origin"].removeprefix("construction: "),
                f"{row['wall']:.1f}",
                f"{row['peak_mb'] / 1024:.2f}",
                "-" if row["file_mb"] is None else f"{row['file_mb']:.0f}",
            ]
        )
    rule = ["---"] * len(head)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, rule, *lines])


def main() -> None:
    """Parse and go."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dims", nargs="*", type=int, default=DIMS)
    dims = parser.parse_args().dims
    ROWS.parent.mkdir(exist_ok=True)
    pairs = [(d, K, False) for d in dims for K in SIZES if K > 2 * d]
    for d, K, written in pairs + [(d, K, True) for d, K in WRITTEN if d in dims]:
        row = measure(d, K, written)
        with ROWS.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(d, K, row["result"]["max_cosine"], row["result"]["origin"], f"{row['wall']:.1f} s")
        sys.stdout.flush()
    rows = [json.loads(line) for line in ROWS.read_text().splitlines()]
    write_section(
        "engineers",
        "## Classes for engineers: gnc solve --d D --K K\n\n"
        f"Machine: {machine()}. One run a pair, whole process.\n\n{table(rows)}",
    )


if __name__ == "__main__":
    main()
