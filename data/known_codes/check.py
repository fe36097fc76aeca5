"""Checks the figures in this folder and writes their checksums into SOURCES.md.

    python data/known_codes/check.py

`table.csv`, `cardinality.csv` and `margins.csv` are the sources themselves: edit them by hand, then
run this. It sorts the rows, and stops with a message where figures contradict each other or a
bound that is proved.
"""

import csv
import re
import sys
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

from gnc_cli.known_codes import table as module
from gnc_cli.known_codes.table import KnownCodes, our_copy, stored_cardinalities
from gnc_cli.limits.limit import Quantity
from gnc_cli.limits.registry import all_limits

HERE = Path(__file__).parent
_COARSEST = 1e-11
"""What figures must be good to."""
_ROUNDING = 1e-12
"""Relative, of bounds."""


def sort(name: str) -> None:
    """Rows by their numbers; the header stays."""
    path = HERE / name
    header, *rows = csv.reader(path.read_text(encoding="utf-8").splitlines())

    def order(row: list[str]) -> tuple[Fraction, ...]:
        return int(row[0]), Fraction(row[1]), -Fraction(row[2])

    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *sorted(rows, key=order)])


def contradictions(table: KnownCodes) -> list[str]:
    """What cannot be true of the table and the bounds."""
    found = []
    bounds = [limit for limit in all_limits(Quantity.ONE_VS_ONE) if not limit.exists]
    for entry in table.select():
        name = f"({entry.d}, {entry.K}) {entry.figure}"
        if not entry.source or not entry.date:
            found.append(f"{name} has no source or no date")
        if entry.rounding > _COARSEST:
            found.append(f"{name} has too few decimals; where it is exact, write a fraction")
        clearance = float(1 - entry.interval[1])
        for limit in bounds:
            most = limit.evaluate(entry.d, entry.K)
            if most and most.valid and clearance > most.value * (1 + _ROUNDING):
                found.append(f"{name} is impossible by {limit.name}: {limit.citation(most)}")
        best = table.covering(entry.d, entry.K)
        assert best is not None or entry in table.claims
        if best and best.interval[1] < entry.interval[0] and "implied" not in entry.note:
            found.append(f"{name} is no record: ({best.d}, {best.K}) has {best.figure}")
        summed = table.summed(entry.d, entry.K)
        if summed and summed.interval[1] < entry.interval[0]:
            found.append(f"{name} is no record: {summed.source} has {summed.figure}")
    cardinalities = stored_cardinalities()
    for bound in cardinalities:
        name = f"at most {bound.K} points in d = {bound.d} at {bound.cosine}"
        for entry in (*table.entries.values(), *table.claims):
            fits = entry.d <= bound.d and entry.interval[1] <= bound.cosine
            if fits and entry.K > bound.K:
                found.append(f"{name}: ({entry.d}, {entry.K}) is a code with {entry.figure}")
        for other in cardinalities:
            stronger = other.d <= bound.d and other.cosine <= bound.cosine
            if other.status == bound.status and stronger and other.K > bound.K:
                found.append(f"{name} makes {other.K} in d = {other.d} at {other.cosine} needless")
    return found


def stamp(name: str) -> None:
    """The checksum and the number of rows of a file, in SOURCES.md."""
    data = (HERE / name).read_bytes()
    path = HERE / "SOURCES.md"
    text, changed = re.subn(
        rf"(    {re.escape(name)} +)[0-9a-f]{{64}} +\d+ rows",
        rf"\g<1>{sha256(data).hexdigest()}  {len(data.splitlines()) - 1} rows",
        path.read_text(encoding="utf-8"),
    )
    assert changed == 1, f"SOURCES.md has no line for {name}"
    path.write_text(text, encoding="utf-8")


def main() -> int:
    """Sort, check, stamp; 1 where something contradicts."""
    module.data_folder = lambda: HERE
    sort("table.csv")
    sort("cardinality.csv")
    found = contradictions(our_copy())
    if found:
        print(*found, sep="\n", file=sys.stderr)
        return 1
    names = ("table.csv", "cardinality.csv", "margins.csv", "lines.csv", "equiangular.csv")
    for name in names:
        stamp(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
