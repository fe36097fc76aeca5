"""Facts that are looked up first: known codes through the four commands.

    python -m benchmarks.known_codes.facts

Prints what `bounds` answers to some questions. Of thirty rows of data/known_codes/table.csv, drawn
by the checksum of `d,K`, it prints those for which `solve`, `measure`, `bounds` or `compare` has
another cosine than the table.
"""

import csv
import json
import subprocess
import sys
import tempfile
from fractions import Fraction
from hashlib import sha256

import numpy as np

from benchmarks.paths import TABLE
from benchmarks.report import table

_QUESTIONS = [
    "--d 5 --margin 0.5",
    "--d 9 --margin 0.5",
    "--d 10 --margin 0.5",
    "--d 14 --margin 0.5",
    "--d 20 --margin 0.5",
    "--d 22 --margin 0.5",
    "--d 16 --K 289 --max-cosine 0.25",
    "--d 64 --K 4224",
    "--d 256 --K 66048",
]
_SECONDS = 120.0
"""Time limit of each command."""


def drawn(number: int) -> list[tuple[int, int, str, str]]:
    """Rows by the checksum of their pair: d, K, the largest cosine and the status."""
    with TABLE.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if 2 * int(row["d"]) < int(row["K"]) <= 2000]
    rows.sort(key=lambda row: sha256(f"{row['d']},{row['K']}".encode()).hexdigest())
    chosen = sorted(rows[:number], key=lambda row: (int(row["d"]), int(row["K"])))
    return [(int(r["d"]), int(r["K"]), r["max_cosine"], r["status"]) for r in chosen]


def asked(*words: str) -> dict:
    """The JSON of one command."""
    command = [sys.executable, "-m", "gnc_cli", *words, "--json", "-q"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
    return json.loads(done.stdout)


def answers(d: int, K: int, file: str) -> list[float | None]:
    """The best known cosine by solve, measure, bounds and compare."""
    size = "--d", str(d), "--K", str(K)
    solved = asked("solve", *size, "--restarts", "1", "--time-limit", "2")["best_known"]
    reference = asked("measure", "--weights", file)["gnc2_reference"]
    bound = asked("bounds", *size)["best"][0]["best_known"]
    row = asked("compare", file, "--tolerance", "9")["rows"][0]
    return [
        solved and solved["max_cosine"],
        reference and 1.0 - reference["value"],
        bound and bound["max_cosine"],
        row["best_known"],
    ]


def question(words: str) -> str:
    """What `bounds` says, in short."""
    found = asked("bounds", *words.split())
    if found["classes"] is not None:
        return f"{found['classes']['guaranteed']:,} <= K < {found['classes']['excluded']:,}"
    best = found["best"][0]
    if best["status"] is not None:
        return str(best["status"])
    return f"exact: {best['exact']}, proven: {best['best_known']['proven']}"


def main() -> None:
    """Ask and print."""
    print(table(["gnc bounds", "answer"], [[words, question(words)] for words in _QUESTIONS]))
    rows = drawn(30)
    different = 0
    with tempfile.TemporaryDirectory() as folder:
        for d, K, value, status in rows:
            file = f"{folder}/rows.npy"
            np.save(file, np.random.default_rng(0).standard_normal((K, d)))
            cosines = answers(d, K, file)
            exact = float(Fraction(value))
            if any(cosine is None or abs(cosine - exact) >= 1e-14 for cosine in cosines):
                different += 1
                print(d, K, status, value, cosines, flush=True)
    print(f"{len(rows) - different} of {len(rows)} entries agree")


if __name__ == "__main__":
    main()
