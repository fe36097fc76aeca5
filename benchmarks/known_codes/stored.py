"""Codes of our own for the pairs (d, K) that no table lists, and the data files that hold them.

    python -m benchmarks.known_codes.stored run --seconds 20  # d = 4..8, K up to 64; can be resumed
    python -m benchmarks.known_codes.stored run --K 100,128,200,256,512,1024 --seconds 40
    python -m benchmarks.known_codes.stored run --seconds 60 --seed 1  # the better code counts
    python -m benchmarks.known_codes.stored write             # into data/known_codes
    python -m benchmarks.known_codes.stored ties --d 3 --K 7..30  # optima that are not congruent

A pair counts where 2 d < K, and neither a theorem nor a table has it. Each run is `gnc solve
--problem tammes --method descent --time-limit T --workers 1` in a process of its own. The best code
of each pair is kept in benchmarks/work/stored. `write` adds the polished ones that neither a
construction nor a part of a larger code equals, one of these codes included: their certified
one-vs-rest distance, rounded down, with the command to margins.csv, and their coordinates.

`ties` solves from single starts of one seed after the other, and keeps a code of each class of
congruent codes, rattlers aside, that has the smallest largest cosine within 2e-12: those that are
stored, and `ties/D.K.SEED.txt` for others. `compare --digits 50 --describe` then shows whether the
cosines are the same number.
"""

import argparse
import csv
import math
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.paths import WORK
from benchmarks.runs import keep, measure, rows
from gnc_cli import solve
from gnc_cli.codes.certify import one_vs_one_rattlers
from gnc_cli.codes.congruence import Congruence, congruence
from gnc_cli.geometry.gram import row_maxima
from gnc_cli.geometry.sphere import normalise
from gnc_cli.io.codefile import read_points
from gnc_cli.known_codes.best import best
from gnc_cli.known_codes.stored import stored_codes
from gnc_cli.known_codes.table import data_folder
from gnc_cli.parsing import integers
from gnc_cli.runtime.deadline import Deadline

FOLDER = WORK / "stored"
ROWS = WORK / "stored.jsonl"
_TIE = 2e-12
"""Largest cosines this near are one."""
_EQUAL = 1e-9
"""A code this near to a construction's cosine is no news."""


def pairs(dimensions: list[int], sizes: list[int]) -> list[tuple[int, int]]:
    """The pairs that no theorem and no table has."""
    found = []
    for d in dimensions:
        for K in (size for size in sizes if size > 2 * d):
            known = best(d, K)
            if known is None or not known.same_size or known.kind in ("construction", "solved"):
                found.append((d, K))
    return found


def run(wanted: list[tuple[int, int]], seconds: float, seed: int) -> None:
    """Solve what is not there yet; keep the better code of each pair."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    kept = rows(ROWS)
    done = {row["case"] for row in kept}
    least = {(row["d"], row["K"]): row["result"]["max_cosine"] for row in chosen(kept)}
    for d, K in wanted:
        case = f"({d}, {K}) {seconds:g} s seed {seed}"
        if case in done:
            continue
        asked = (
            f"--d {d} --K {K} --problem tammes --method descent --seed {seed} "
            f"--time-limit {seconds:g} --workers 1"
        )
        file = FOLDER / f"{d}.{K}.new.txt"
        row = measure([*asked.split(), "--out", str(file), "--force"])
        if "result" in row and row["result"]["max_cosine"] < least.get((d, K), math.inf):
            least[d, K] = row["result"]["max_cosine"]
            file.replace(FOLDER / f"{d}.{K}.txt")
        else:
            file.unlink(missing_ok=True)
        keep({"case": case, "d": d, "K": K, "command": f"gnc solve {asked}", **row}, ROWS)


def chosen(kept: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The row of the best code of each pair, the first that found it."""
    least: dict[tuple[int, int], dict[str, Any]] = {}
    for row in kept:
        if "result" in row:
            pair = row["d"], row["K"]
            held = least.get(pair)
            if held is None or row["result"]["max_cosine"] < held["result"]["max_cosine"]:
                least[pair] = row
    return [least[pair] for pair in sorted(least)]


def write(kept: list[dict[str, Any]], folder: Path, codes: Path = FOLDER) -> int:
    """Write margins.csv and coordinates into a folder of known codes; how many codes are new."""
    added = 0
    every = chosen(kept)
    for row in every:
        d, K, found = row["d"], row["K"], row["result"]
        known, rho = best(d, K), found["rho_one_vs_rest"]
        bars = [] if known is None else [known.max_cosine]
        larger = (o for o in every if o is not row and o["d"] <= d and o["K"] >= K)
        bars += [other["result"]["max_cosine"] for other in larger]
        if found["max_cosine"] > min(bars, default=math.inf) - _EQUAL:
            continue
        if any(abs(end - 1.0 + found["max_cosine"]) > _EQUAL for end in rho.values()):
            continue  # not polished to its end: of a Tammes code they are equal
        points = read_points(codes / f"{d}.{K}.txt").weights
        add(folder, d, K, points, rho["lower"], row["command"])
        added += 1
    return added


def add(folder: Path, d: int, K: int, code: np.ndarray, rho: float, command: str) -> None:
    """Make a code (K, d) our numerical code of its pair, in a folder of known codes.

    Args:
        rho: a lower end of its one-vs-rest distance; margins.csv has it rounded down.
        command: what finds the code, or writes it.
    """
    np.savetxt(coordinates(folder, d, K), code, fmt="%.17g")
    enter(folder, d, K, rho, command)


def enter(folder: Path, d: int, K: int, rho: float, command: str) -> None:
    """Write or replace the row of our numerical code of a pair in margins.csv, rounded down."""
    margins = folder / "margins.csv"
    header, *lines = csv.reader(margins.read_text(encoding="utf-8").splitlines())
    listed = {(int(line[0]), int(line[1])): line for line in lines}
    listed[d, K] = [str(d), str(K), f"{math.floor(rho * 1e12) / 1e12:.12f}", command]
    with margins.open("w", newline="", encoding="utf-8") as file:
        lines = [listed[pair] for pair in sorted(listed)]
        csv.writer(file, lineterminator="\n").writerows([header, *lines])


def coordinates(folder: Path, d: int, K: int) -> Path:
    """The file of our code of a pair in a folder of known codes."""
    return folder / "coordinates" / f"{d}.{K}.txt"


def ties(wanted: list[tuple[int, int]], seconds: float, seed: int) -> None:
    """Look for optima that are not congruent; print how often each was found."""
    (FOLDER / "ties").mkdir(parents=True, exist_ok=True)
    for d, K in wanted:
        classes = [[rows, "stored", 0] for _, rows in stored_codes(d, K)]
        least = min((_largest(rows) for rows, _, _ in classes), default=math.inf)
        deadline, at = Deadline(seconds), seed
        while not deadline.expired:
            found = solve(d, K, problem="tammes", method="descent", restarts=1, workers=1, seed=at)
            at += 1
            if found.max_cosine < least - _TIE:
                least, classes = found.max_cosine, []
            if found.max_cosine > least + _TIE:
                continue
            for known in classes:
                if isinstance(congruence(_held(known[0]), _held(found.weights)), Congruence):
                    known[2] += 1
                    break
            else:
                classes.append([found.weights, f"{d}.{K}.{at - 1}.txt", 1])
                np.savetxt(FOLDER / "ties" / classes[-1][1], found.weights, fmt="%.17g")
        print(f"({d}, {K})  {at - seed} starts", *(row[1:] for row in classes), flush=True)


def _largest(rows: np.ndarray) -> float:
    return float(row_maxima(normalise(rows))[0].max())


def _held(rows: np.ndarray) -> np.ndarray:
    """The rows without rattlers."""
    unit = normalise(rows)
    return unit[~one_vs_one_rattlers(row_maxima(unit)[0], 1e-7)]


def main() -> None:
    """Parse and go."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument("--d", default="4..8", metavar="A..B")
    running.add_argument("--K", default="9..64", metavar="A..B")
    running.add_argument("--seconds", type=float, default=20.0, help="time limit of each")
    running.add_argument("--seed", type=int, default=0)
    commands.add_parser("write")
    tying = commands.add_parser("ties")
    tying.add_argument("--d", default="3", metavar="A..B")
    tying.add_argument("--K", default="7..30", metavar="A..B")
    tying.add_argument("--seconds", type=float, default=60.0, help="time limit of each")
    tying.add_argument("--seed", type=int, default=0, help="of the first start")
    asked = parser.parse_args()
    if asked.command == "ties":
        wanted = [(d, K) for d in integers(asked.d) for K in integers(asked.K)]
        ties(wanted, asked.seconds, asked.seed)
        return
    if asked.command == "run":
        run(pairs(integers(asked.d), integers(asked.K)), asked.seconds, asked.seed)
    else:
        print(write(rows(ROWS), data_folder()), "codes written; run data/known_codes/check.py")


if __name__ == "__main__":
    main()
