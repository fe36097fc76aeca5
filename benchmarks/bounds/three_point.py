"""Three-point certificates: built for all pairs whose gap they may close, and the best ones stored.

    python -m benchmarks.bounds.three_point --out certificates --jobs 2 --time-limit 28800
    python -m benchmarks.bounds.three_point --out certificates --store

The first command builds one file per pair and degree, `d4-K20-D8.json.gz`, and skips those that
exist: it may be stopped and started again. Pairs with the widest gap come first, small degrees
before large ones. `ledger.csv` gets a line for each, with the seconds that it took; its cosine is
empty where no certificate was found. The second command chooses one file per pair, among these and
those that are stored, by what a larger one gains for its size. It writes the files that no other
bound but Delsarte's program equals into data/known_codes/certificates, with their list.
"""

import argparse
import csv
import gzip
import itertools
import json
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from benchmarks.paths import CERTIFICATES
from gnc_cli.plain import plain

STORED = CERTIFICATES
MOST_BYTES = 4_900_000
"""Of all stored files."""
DEGREES = (8, 10, 12)
DIMENSIONS = (3, 4, 5, 6, 7, 8, 10)
SHARP = ((3, 8), (4, 10), (5, 16), (6, 27))
"""Pairs whose optimum is solved, stored to show how near the bound comes."""
LEDGER = ("d", "K", "degree", "cosine", "bytes", "seconds")


@dataclass(frozen=True)
class Candidate:
    """A certificate that may be stored."""

    d: int
    K: int
    degree: int
    cosine: str
    path: Path

    @property
    def size(self) -> int:
        """In bytes."""
        return self.path.stat().st_size


def pairs(dimensions: list[int]) -> list[tuple[int, int]]:
    """The pairs that are tried, the widest gap first; without those that are solved."""
    from gnc_cli.limits.api import bounds

    wanted = [(d, K) for d in range(3, 9) for K in range(2 * d + 1, 41)]
    wanted += [(3, K) for K in range(41, 61)] + [(10, 40), (10, 100)]
    gaps = {}
    for d, K in wanted:
        if d not in dimensions:
            continue
        (best,) = bounds(d=d, K=K, lp=True).best
        if best.upper - best.lower > 1e-9:
            gaps[d, K] = best.upper - best.lower
    return sorted(gaps, key=lambda pair: -gaps[pair])


def file_name(d: int, K: int, degree: int) -> str:
    return f"d{d}-K{K}-D{degree}.json.gz"


def build(d: int, K: int, degree: int, out: Path) -> list[object]:
    """One certificate; the line of the ledger."""
    from gnc_cli.limits.three_point_program import three_point_certificate

    started = time.monotonic()
    certificate = three_point_certificate(d, K, degree, deadline=None)
    cosine, size = "", 0
    if certificate is not None:
        path = out / file_name(d, K, degree)
        text = json.dumps(plain(certificate), separators=(",", ":"))
        path.write_bytes(gzip.compress(text.encode("ascii"), mtime=0))
        cosine, size = certificate.cosine, path.stat().st_size
    return [d, K, degree, cosine, size, f"{time.monotonic() - started:.0f}"]


def read_ledger(out: Path) -> dict[tuple[int, int, int], list[str]]:
    path = out / "ledger.csv"
    if not path.exists():
        return {}
    with path.open() as file:
        lines = list(csv.reader(file))[1:]
    return {(int(line[0]), int(line[1]), int(line[2])): line for line in lines}


def build_all(
    out: Path, jobs: int, degrees: list[int], dimensions: list[int], time_limit: float
) -> None:
    started = time.monotonic()
    out.mkdir(parents=True, exist_ok=True)
    done = read_ledger(out)
    tasks = [(d, K, degree) for degree in degrees for d, K in pairs(dimensions)]
    left = iter([task for task in tasks if task not in done])
    with (out / "ledger.csv").open("a") as file, ProcessPoolExecutor(jobs) as pool:
        writer = csv.writer(file)
        if not done:
            writer.writerow(LEDGER)
        running = {pool.submit(build, *task, out): task for task in itertools.islice(left, jobs)}
        while running:
            future = next(as_completed(running))
            task = running.pop(future)
            try:
                line = future.result()
            except Exception as error:  # one failure must not end the others
                print(task, repr(error), flush=True)
                line = [*task, "", 0, 0]
            writer.writerow(line)
            file.flush()
            print(*line, flush=True)
            following = next(left, None)
            if following is not None and time.monotonic() - started < time_limit:
                running[pool.submit(build, *following, out)] = following


def candidates(out: Path) -> dict[tuple[int, int], list[Candidate]]:
    """All that are built and all that are stored, by pair: small degrees first, then the best."""
    found = [
        Candidate(d, K, degree, line[3], out / file_name(d, K, degree))
        for (d, K, degree), line in read_ledger(out).items()
        if line[3]
    ]
    with (STORED / "three_point.csv").open() as file:
        for row in csv.DictReader(file):
            pair = int(row["d"]), int(row["K"])
            found.append(Candidate(*pair, int(row["degree"]), row["cosine"], STORED / row["file"]))
    by_pair: dict[tuple[int, int], list[Candidate]] = {}
    for one in sorted(found, key=lambda c: (c.d, c.K, c.degree, -Fraction(c.cosine))):
        by_pair.setdefault((one.d, one.K), []).append(one)
    return by_pair


def chosen(out: Path) -> list[Candidate]:
    """One per pair: larger degrees while they fit, the best gain first."""
    options = candidates(out)
    best = {pair: of_pair[0] for pair, of_pair in options.items()}
    size = sum(one.size for one in best.values())
    while True:
        gains = list(_gains(best, options))
        fitting = [gain for gain in gains if size + gain[1] <= MOST_BYTES]
        if not fitting:
            return [*best.values()]
        _, more, other = max(fitting, key=lambda gain: gain[0])
        best[other.d, other.K] = other
        size += more


def _gains(
    best: dict[tuple[int, int], Candidate], options: dict[tuple[int, int], list[Candidate]]
) -> Iterator[tuple[float, int, Candidate]]:
    """What other candidates gain per byte, and cost in bytes."""
    for pair, one in best.items():
        for other in options[pair]:
            gain = float(Fraction(other.cosine) - Fraction(one.cosine))
            more = other.size - one.size
            if gain > 1e-6:
                yield gain / max(more, 1), more, other


def is_useful(one: Candidate) -> bool:
    """Whether no other bound but Delsarte's program, which a sweep has to ask for, is as good."""
    from gnc_cli.limits.api import bounds

    others = [
        row.margin
        for row in bounds(one.d, one.K).rows
        if row.proven and row.valid and not row.exists
        if row.name not in ("three-point", "delsarte-lp")
    ]
    return (one.d, one.K) in SHARP or 1 - Fraction(one.cosine) < min(others)


def store(out: Path) -> None:
    kept = [(one, one.path.read_bytes()) for one in chosen(out) if is_useful(one)]
    for path in STORED.glob("*.gz"):
        path.unlink()
    with (STORED / "three_point.csv").open("w") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["d", "K", "cosine", "degree", "file"])
        for one, content in kept:
            name = f"d{one.d}-K{one.K}.json.gz"
            (STORED / name).write_bytes(content)
            writer.writerow([one.d, one.K, one.cosine, one.degree, name])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--degrees", default=",".join(map(str, DEGREES)))
    parser.add_argument("--dimensions", default=",".join(map(str, DIMENSIONS)))
    parser.add_argument("--time-limit", type=float, default=float("inf"), help="seconds")
    parser.add_argument("--store", action="store_true")
    arguments = parser.parse_args()
    if arguments.store:
        store(arguments.out)
    else:
        degrees, dimensions = (
            [int(number) for number in numbers.split(",")]
            for numbers in (arguments.degrees, arguments.dimensions)
        )
        build_all(arguments.out, arguments.jobs, degrees, dimensions, arguments.time_limit)
