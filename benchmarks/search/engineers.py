"""What `gnc solve` answers to those who choose d and K for faces, retrieval and language models.

    python -m benchmarks.search.engineers              # every pair, then the table
    python -m benchmarks.search.engineers 512 768      # these dimensions alone

Whole processes with a limit of a minute, certificate included, nothing written but where a row
says so. The upper end is that of `gnc bounds`; the gap is the distance of the ends in % of it.
Rows are added to work/VERSION/engineers.jsonl; the table goes into RESULTS.md between its
markers.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.paths import MEASURED
from benchmarks.report import machine, write_section
from gnc_cli import bounds

ROWS = MEASURED / "engineers.jsonl"
DIMS = (64, 128, 256, 512, 768, 1024)
SIZES = (1_000, 10_000, 50_257, 85_742, 128_256, 360_232, 1_000_000)
"""Among them the identities of MS1MV2 and Glint360K, and the tokens of GPT-2 and Llama 3."""
SEARCH_SECONDS = "60"
"""Wall time of the searches that look for a better code than the construction (K = 1000)."""
WRITTEN = ((512, 500_000),)
"""Written to a file as well."""


def measure(d: int, K: int, written: bool) -> dict[str, Any]:
    """One solve as a process of its own, with its processor time, peak memory and size of file."""
    with tempfile.TemporaryDirectory() as folder:
        file, answer = Path(folder) / "code.h5", Path(folder) / "answer.json"
        args = ["solve", "--d", str(d), "--K", str(K), "--json", "-q"]
        args += ["--time-limit", SEARCH_SECONDS]
        args += ["--out", str(file)] if written else []
        with answer.open("w") as stdout:
            process = subprocess.Popen([sys.executable, "-m", "gnc_cli", *args], stdout=stdout)
        _, status, use = os.wait4(process.pid, 0)
        if status:
            raise RuntimeError(f"gnc {' '.join(args)} ended with status {status}")
        return {
            "d": d,
            "K": K,
            "cpu": use.ru_utime + use.ru_stime,
            "peak_mb": use.ru_maxrss / 1024,
            "file_mb": file.stat().st_size / 1e6 if written else None,
            "upper": bounds(d=d, K=K).best[0].upper,
            "result": json.loads(answer.read_text()),
        }


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: the latest row of each pair."""
    latest = {(row["d"], row["K"], row["file_mb"] is not None): row for row in rows}
    head = ["d", "K", "max_cosine", "rho lower", "rho upper", "gap %", "origin", "CPU s"]
    head += ["peak GB", "file MB"]
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
                f"{row['upper']:.6f}",
                f"{100 * (1 - rho['lower'] / row['upper']):.2f}",
                r["origin"].removeprefix("construction: "),
                f"{row['cpu']:.1f}",
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
    ROWS.parent.mkdir(parents=True, exist_ok=True)
    pairs = [(d, K, False) for d in dims for K in SIZES]
    for d, K, written in pairs + [(d, K, True) for d, K in WRITTEN if d in dims]:
        row = measure(d, K, written)
        with ROWS.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(d, K, row["result"]["max_cosine"], row["result"]["origin"], f"{row['cpu']:.1f} s")
        sys.stdout.flush()
    rows = [json.loads(line) for line in ROWS.read_text().splitlines()]
    write_section(
        "engineers",
        "## Classes for engineers: gnc solve --d D --K K\n\n"
        f"Machine: {machine()}. One run per pair, whole process, `--time-limit 60`. The upper end "
        f"is that of `gnc bounds`, the gap their distance in % of it.\n\n{table(rows)}",
    )


if __name__ == "__main__":
    main()
