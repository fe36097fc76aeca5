"""Which stored codes are proved to lie near a local optimum (docs/theory/local-optimality.md).

    python -m benchmarks.known_codes.local_optima run          # all stored codes: hours of one core
    python -m benchmarks.known_codes.local_optima run --K 64        # up to 64 points
    python -m benchmarks.known_codes.local_optima report

`run` makes and checks the certificate of each code of at most 3,000 coordinates, and writes a row
into benchmarks/records/local_optima.csv: distance and rigidity, or why there is none. A row counts
as long as the coordinates have its hash; other rows are made anew. The files themselves are not
kept: `gnc compare --export` makes them. `report` counts the rows.
"""

import argparse
import csv
import re
import time
from fractions import Fraction
from hashlib import sha256
from typing import Any

import numpy as np

from benchmarks.paths import RECORDS, ROOT
from gnc_cli.known_codes.stored import ATLAS, stored_codes
from gnc_cli.known_codes.table import data_folder
from gnc_cli.limits.claim import RefutedError, UnresolvedError
from gnc_cli.limits.local_optimum import LocalOptimum
from gnc_cli.runtime.deadline import Deadline

ROWS = RECORDS / "local_optima.csv"
_COLUMNS = (
    *("d", "K", "name", "sha256", "radius", "sigma", "core", "contacts", "seconds", "reason"),
)


def codes() -> list[tuple[int, int]]:
    """The pairs (d, K) with stored coordinates."""
    names = [path.name for path in (data_folder() / "coordinates").glob("*.txt")]
    with np.load(data_folder() / ATLAS) as atlas:
        names += atlas.files
    pairs = {(int(name.split(".")[0]), int(name.split(".")[1])) for name in names}
    return sorted(pairs)


def improved() -> list[tuple[int, int]]:
    """The pairs of RECORDS.md."""
    text = (ROOT / "benchmarks" / "RECORDS.md").read_text(encoding="utf-8")
    return [(int(d), int(K)) for d, K in re.findall(r"^\| (\d+), (\d+) \|", text, re.M)]


def row_of(d: int, K: int, name: str, rows: np.ndarray) -> dict[str, Any]:
    """The row of one code."""
    started = time.monotonic()
    row: dict[str, Any] = {"d": d, "K": K, "name": name, "sha256": _hash(rows)}
    try:
        certificate = LocalOptimum.from_code(rows, Deadline(600.0))
    except (RefutedError, UnresolvedError) as error:
        row["reason"] = str(error)
    else:
        row["radius"] = f"{float(Fraction(certificate.radius)):.1e}"
        row["sigma"] = f"{float(Fraction(certificate.sigma)):.1e}"
        row["core"] = len(certificate.stress.core)
        row["contacts"] = len(certificate.contacts)
    return row | {"seconds": f"{time.monotonic() - started:.1f}"}


def _hash(rows: np.ndarray) -> str:
    return sha256(np.ascontiguousarray(rows, dtype="<f8").tobytes()).hexdigest()[:12]


def kept() -> list[dict[str, Any]]:
    """The rows that were written."""
    if not ROWS.exists():
        return []
    with ROWS.open(encoding="utf-8", newline="") as file:
        return [*csv.DictReader(file)]


def run(most: int) -> None:
    """Make the rows that are missing or out of date, records and small codes first."""
    done = {(row["d"], row["K"], row["name"], row["sha256"]): row for row in kept()}
    current = []
    records = improved()
    for d, K in sorted(codes(), key=lambda pair: (pair not in records, pair[0] * pair[1])):
        for name, rows in stored_codes(d, K):
            key = (str(d), str(K), name, _hash(rows))
            if key not in done and most >= K:
                done[key] = row_of(d, K, name, rows)
                print(d, K, done[key].get("radius") or done[key]["reason"], flush=True)
            if key in done:
                current.append(done[key])
        current.sort(key=lambda row: (int(row["d"]), int(row["K"]), row["name"]))
        with ROWS.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, _COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(current)


def report() -> None:
    """Count the proved codes, and name the reasons of the others."""
    rows, records = kept(), improved()
    parts = {
        "stored codes": rows,
        "of these K <= 64": [row for row in rows if int(row["K"]) <= 64],
        "improved records": [row for row in rows if (int(row["d"]), int(row["K"])) in records],
    }
    for name, part in parts.items():
        print(f"{name}: {sum(bool(row['radius']) for row in part)} of {len(part)} proved")
    for row in rows:
        if row["reason"]:
            print(f"({row['d']}, {row['K']}): {row['reason']}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("action", choices=["run", "report"])
    parser.add_argument("--K", type=int, default=10**9)
    words = parser.parse_args()
    run(words.K) if words.action == "run" else report()
