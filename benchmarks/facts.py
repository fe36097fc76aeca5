"""Facts that are looked up first: known codes through the four commands, beside an earlier gnc.

    python -m benchmarks.facts                                # this gnc
    python -m benchmarks.facts --before /path/to/its/bin/gnc  # and another one beside it

Thirty rows of data/known_codes/table.csv, drawn by the checksum of `d,K`, and the questions of the
kissing problem. Printed are the cosines of `bounds`, and whether `solve`, `measure`, `bounds` and
`compare` agree with each other and with the table. The thirty rows go into RESULTS.md, what an
earlier gnc printed for the questions into NOTES.md.
"""

import argparse
import csv
import json
import subprocess
import tempfile
from fractions import Fraction
from hashlib import sha256

import numpy as np

from benchmarks.solve import TABLE

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


def asked(gnc: str, *words: str) -> dict:
    """The JSON of one command."""
    command = [gnc, *words, "--json", "-q"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
    return json.loads(done.stdout)


def answers(gnc: str, d: int, K: int, file: str) -> list[float | None]:
    """The best known cosine by solve, measure, bounds and compare."""
    size = "--d", str(d), "--K", str(K)
    solved = asked(gnc, "solve", *size, "--restarts", "1", "--time-limit", "2")["best_known"]
    reference = asked(gnc, "measure", "--weights", file)["gnc2_reference"]
    bound = asked(gnc, "bounds", *size)["best"][0]["best_known"]
    row = asked(gnc, "compare", file, "--tolerance", "9")["rows"][0]
    return [
        solved and solved["max_cosine"],
        reference and 1.0 - reference["value"],
        bound and bound["max_cosine"],
        row["best_known"],
    ]


def question(gnc: str, words: str) -> str:
    """What `bounds` says, in short."""
    found = asked(gnc, "bounds", *words.split())
    if found["classes"] is not None:
        return f"{found['classes']['guaranteed']:,} <= K < {found['classes']['excluded']:,}"
    best = found["best"][0]
    if best["status"] is not None:
        return str(best["status"])
    return f"exact: {best['exact']}, proven: {best['best_known']['proven']}"


def main() -> None:
    """Parse and go."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", help="an earlier gnc")
    before = parser.parse_args().before
    programs = [*([before] if before else []), "gnc"]
    print("| gnc bounds |" + " before |" * bool(before) + " now |")
    print("| --- |" + " --- |" * len(programs))
    for words in _QUESTIONS:
        print(f"| {words} | " + " | ".join(question(gnc, words) for gnc in programs) + " |")
    print("\n| d | K | status | table |" + " before |" * bool(before) + " now | all agree |")
    print("| --- | --- | --- |" + " --- |" * (len(programs) + 2))
    with tempfile.TemporaryDirectory() as folder:
        for d, K, figure, status in drawn(30):
            file = f"{folder}/rows.npy"
            np.save(file, np.random.default_rng(0).standard_normal((K, d)))
            told = [answers(gnc, d, K, file) for gnc in programs]
            agree = all(x is not None and abs(x - told[-1][0]) < 1e-14 for x in told[-1])
            right = agree and abs(told[-1][0] - float(Fraction(figure))) < 1e-14
            shown = " | ".join("-" if x[2] is None else f"{x[2]:.12f}" for x in told)
            ends = f"{shown} | {'yes' if right else 'no'} |"
            print(f"| {d} | {K} | {status} | {figure[:17]} | {ends}", flush=True)


if __name__ == "__main__":
    main()
