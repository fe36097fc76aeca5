"""The atlas: numerical codes on a grid of (d, K), which `bounds`, `measure` and `solve` know.

    python -m benchmarks.known_codes.atlas search --seconds 30  # the grid; the same again goes on
    python -m benchmarks.known_codes.atlas search --grid networks --seconds 60 --seed 1
    python -m benchmarks.known_codes.atlas search --grid tops --seconds 20
    python -m benchmarks.known_codes.atlas thin --d 4..24       # sizes between, from larger codes
    python -m benchmarks.known_codes.atlas write                # into data/known_codes
    python -m benchmarks.known_codes.atlas list                 # what is not there yet

The grid has ten sizes K for each d = 4 to 24, in geometric steps from 2 d to 512 (`steps`), and the
sizes of networks (`networks`). A search is `gnc solve --problem tammes --workers 1 --seed S
--time-limit T` in a process of its own. Between these sizes `thin` makes codes of larger ones, from
K = 614 on (`tops`): the points with the most contacts are left out, and what is left descends again
from two sharpnesses.

The best code of each pair is kept in benchmarks/work/atlas, and each attempt is a line of the
ledger, records/atlas.jsonl. `write` stores the codes that neither a theorem, a construction, the
table nor a part of another stored code equals: rows as integers in atlas.npz, 32 bits where the
code is polished and 16 where it is not, and the certified one-vs-rest distance of these rows in
margins.csv. Then run `python data/known_codes/check.py`.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.known_codes import stored
from benchmarks.paths import RECORDS, WORK
from benchmarks.runs import measure, rows
from gnc_cli.codes.certify import certify_code
from gnc_cli.geometry.gram import max_cosine, without_contacts
from gnc_cli.geometry.sphere import normalise
from gnc_cli.io.codefile import read_points
from gnc_cli.known_codes.best import best, constructed
from gnc_cli.known_codes.stored import ATLAS, best_stored, stored_part
from gnc_cli.known_codes.table import data_folder, numerical_codes
from gnc_cli.parsing import integers
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.search.descent import LAST_SHARPENING, descend_batch
from gnc_cli.search.parametrisation import free
from gnc_cli.search.problem import Candidate, Tammes
from gnc_cli.search.refine import polish_candidate, refine

Pair = tuple[int, int]

FOLDER = WORK / "atlas"
LEDGER = RECORDS / "atlas.jsonl"
NETWORKS = (8, 10, 16, 20, 24, 32, 48, 64, 128), (50, 100, 128, 200, 256, 500, 512, 1000)
_LARGEST, _SIZES = 512, 10
_HUNTED = 64
"""Up to this size stored codes come from long searches."""
_TOP = 614
"""Size that the codes between begin with."""
_SHARPNESS, _END = (5.0, 15.0), 1e4
"""Of a code that is thinned, times its scale: a low one keeps its order and mends its gaps."""
_STEPS = 600
_REFINED = 40
"""Steps of its refinement at each sharpness."""
_POLISHED = 900
"""Coordinates up to which it is polished."""
_FAR = 0.97
"""A construction of this share of the distance of a larger code may lead to a better one."""
_EQUAL = 1e-9
"""A code this near to a known one is no news."""
_CERTIFICATE = 20.0
"""Seconds of the certificate of a code: its lower end is there at once."""


def grid(name: str) -> list[Pair]:
    """The pairs of a grid, by dimension."""
    if name == "tops":
        return [(d, _TOP) for d in range(4, 25)]
    if name == "networks":
        return [(d, K) for d in NETWORKS[0] for K in NETWORKS[1] if K > 2 * d]
    found = []
    for d in range(4, 25):
        sizes = np.geomspace(2 * d, _LARGEST, _SIZES + 1)[1:]
        found += [(d, int(K)) for K in sizes.round()]
    return found


def between(d: int, share: float) -> list[int]:
    """Sizes K in d dimensions, from 2 d to the largest, with steps of this share of rho: it falls
    like K^(-2 / (d - 1)), about."""
    sizes, K = [], 2.0 * d + 1.0
    while K < _TOP:
        sizes.append(round(K))
        K = max(K + 1.0, K * (1.0 + share) ** ((d - 1) / 2))
    return sizes


def distance(path: Path) -> float:
    """1 - the largest cosine of a code that is kept; 0 where there is none."""
    return 1.0 - max_cosine(np.load(path)) if path.exists() else 0.0


def keep(d: int, K: int, code: np.ndarray, **how: Any) -> None:
    """Enter an attempt into the ledger, and its code into the folder where it is the best yet."""
    path = FOLDER / f"{d}.{K}.npy"
    value = 1.0 - max_cosine(code)
    if value > distance(path):
        np.save(path, code)
    date = datetime.now(UTC).date().isoformat()
    row = {"d": d, "K": K, "distance": value, **how, "date": date}
    with LEDGER.open("a") as file:
        file.write(json.dumps(row) + "\n")
    print(f"({d}, {K})  {value:.9f}", *how.values(), flush=True)


def search(wanted: Sequence[Pair], seconds: float, seed: int) -> None:
    """Search for what this seed has not been tried on."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    done = {(row["d"], row["K"]) for row in rows(LEDGER) if row.get("seed") == seed}
    for d, K in wanted:
        if (d, K) in done:
            continue
        file = FOLDER / f"{d}.{K}.new.h5"
        asked = f"--d {d} --K {K} --problem tammes --workers 1 --seed {seed} --time-limit {seconds}"
        found = measure([*asked.split(), "--out", str(file), "--force"])
        if "result" not in found:
            print(f"({d}, {K}) exit {found['failed']}", found["stderr"])
            continue
        origin = found["result"]["origin"]
        keep(d, K, read_points(file).weights, seed=seed, seconds=seconds, origin=origin)
        file.unlink()


def thin(dimensions: Sequence[int], share: float, again: bool) -> None:
    """Make codes of all sizes between, each from the next larger one or a construction."""
    for d in dimensions:
        done = {row["K"] for row in rows(LEDGER) if row["d"] == d and "parent" in row and not again}
        sizes = {int(path.stem.split(".")[1]) for path in FOLDER.glob(f"{d}.*.npy")}
        sizes |= {K for e, K in numerical_codes().entries if e == d}
        parent: np.ndarray | None = None
        for K in sorted(sizes.union(between(d, share)), reverse=True):
            held, path = best_stored(d, K), FOLDER / f"{d}.{K}.npy"
            ours = held is not None and (held.d, held.K) == (d, K)
            for name, start in (
                () if K in done or (ours and K <= _HUNTED) else _larger(d, K, parent)
            ):
                keep(d, K, relaxed(start), parent=name)
            if path.exists():
                parent = np.load(path)
            if held is not None and ours and 1.0 - held.max_cosine > distance(path):
                parent = stored_part(held, d, K)


def _larger(d: int, K: int, parent: np.ndarray | None) -> Iterator[tuple[str, np.ndarray]]:
    """Codes of K points, of larger ones that are not far behind: names and rows (K, d)."""
    reached = 0.0
    if parent is not None:
        yield f"{len(parent)} points", without_contacts(parent, K)
        reached = 1.0 - max_cosine(parent)
    built = constructed(d, K)
    if built is not None and 1.0 - built.cosine.value > _FAR * reached:
        yield built.origin, normalise(np.asarray(built.build(), dtype=np.float64))


def relaxed(code: np.ndarray) -> np.ndarray:
    """Descend from a code (K, d) at both sharpnesses; return the best end, refined."""
    K, d = code.shape
    problem, deadline = Tammes(free(d, K)), Deadline()
    scale = 1.0 - max_cosine(code)
    starts, first = np.array([code] * len(_SHARPNESS)), np.array(_SHARPNESS) / scale
    ends, _ = descend_batch(
        problem.parametrisation,
        starts,
        first,
        _END / scale,
        _STEPS,
        deadline,
        sharpening=LAST_SHARPENING,
    )
    whole, _ = refine(problem, ends[0].rows, scale=scale, steps=_REFINED, deadline=deadline)
    if problem.coordinates <= _POLISHED:
        done = polish_candidate(problem, Candidate(problem.value(whole), whole), deadline)
        whole = min(whole, done.whole, key=problem.value)
    return whole


def news(folder: Path) -> Iterator[tuple[int, int, np.ndarray, float]]:
    """The codes that are better than all that is known, rounded, with their distances."""
    codes = {tuple(map(int, path.stem.split("."))): np.load(path) for path in FOLDER.glob("*.npy")}
    kept: list[tuple[int, int, float]] = []
    # From few dimensions and many points on: what is a part of another comes after it.
    for d, K in sorted(codes, key=lambda pair: (pair[0], -pair[1])):
        code = codes[d, K]
        value = 1.0 - max_cosine(code)
        known = best(d, K)
        bar = 0.0 if known is None else known.distance
        bar = max([bar, *(rho for e, L, rho in kept if e <= d and L >= K)])
        if value <= bar + _EQUAL:
            continue
        rounded = _rounded(code, value)
        rows, deadline = normalise(rounded.astype(np.float64)), Deadline(_CERTIFICATE)
        rho = certify_code(rows, tolerance=1e-7, deadline=deadline).rho_one_vs_rest.lower
        if rho > bar + _EQUAL:
            kept.append((d, K, rho))
            yield d, K, rounded, rho


def _rounded(code: np.ndarray, value: float) -> np.ndarray:
    """Rows as integers; a polished code has the (d - 1) K contacts of a jammed one, or so."""
    gram = np.triu(code @ code.T, 1)
    polished = np.count_nonzero(gram > 1.0 - value - 1e-9) > len(code)
    kind = np.int32 if polished else np.int16
    return (code * (np.iinfo(kind).max / np.abs(code).max())).round().astype(kind)


def write(folder: Path) -> int:
    """Store the news; how many codes there are."""
    path = folder / ATLAS
    codes: dict[str, np.ndarray] = {}
    if path.exists():
        with np.load(path) as file:
            codes = {name: file[name] for name in file.files}
    found = list(news(folder))
    for d, K, rounded, rho in found:
        codes[f"{d}.{K}"] = rounded
        stored.coordinates(folder, d, K).unlink(missing_ok=True)  # of a code that was worse
        stored.enter(folder, d, K, rho, f"gnc solve --d {d} --K {K} --construction known")
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, **dict(sorted(codes.items())))
    numerical_codes.cache_clear()
    return len(found)


def main() -> None:
    """Parse and go."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("search", "list"):
        command = commands.add_parser(name)
        command.add_argument("--grid", default="steps", choices=["steps", "tops", "networks"])
        command.add_argument("--d", type=integers, metavar="A..B", help="default: all of the grid")
        command.add_argument("--seed", type=int, default=0)
        command.add_argument("--seconds", type=float, default=30.0, help="time limit of each")
    thinning = commands.add_parser("thin")
    thinning.add_argument("--d", type=integers, default=range(4, 25), metavar="A..B")
    thinning.add_argument("--share", type=float, default=0.01, help="of rho, from size to size")
    thinning.add_argument("--again", action="store_true", help="after searches, sizes done too")
    commands.add_parser("write")
    asked = parser.parse_args()
    if asked.command == "write":
        print(write(data_folder()), "codes written; run data/known_codes/check.py")
    elif asked.command == "thin":
        thin(asked.d, asked.share, asked.again)
    else:
        pairs = [(d, K) for d, K in grid(asked.grid) if asked.d is None or d in asked.d]
        # A theorem, a proof or a code of long searches leaves nothing to do.
        pairs = [pair for pair in pairs if not _settled(*pair)]
        if asked.command == "search":
            search(pairs, asked.seconds, asked.seed)
        else:
            print(len(pairs), "pairs:", *pairs)


def _settled(d: int, K: int) -> bool:
    known = best(d, K)
    hunted = K <= _HUNTED and stored.coordinates(data_folder(), d, K).exists()
    return hunted or (known is not None and known.proven is True)


if __name__ == "__main__":
    main()
