"""A hunt for codes better than those on record, for as long as it is given.

    python -m benchmarks.known_codes.hunt --time-limit 2h  # improvements go to the folder hunt
    python -m benchmarks.known_codes.hunt --time-limit 2h --d 4..8 --K 20..64 --budget 30 --out best

The same command again goes on. Visited are the pairs (d, K) of the table and of our numerical codes
that are not proved optimal and whose best known code was found by a search at that size (no
theorem, no construction, no part of a larger code); without --K those with K up to 200. Pairs that
only this project has searched for come first; among those, and among the others, the code farthest
below the proved bound of its distance comes first.

The pairs are visited in rounds. A visit of round r takes 2^(r - 1) times --budget, at most an hour,
and is what `gnc solve --problem tammes --method descent --seed S --time-limit T` does, with
S = --seed + r - 1. Where the hunt has a code of one to three points more, or of one or two fewer,
that code without these points, or with others in its holes, is the first start (--init): good codes
of one dimension are often parts of one code. No value, coordinate or target of a table enters a
search. A pair joins in the first round that gives it K d / 50 seconds, for polishing alone takes
as long. It is left alone once two visits have found the same best code, that on record or a better
one.

The folder holds `visits.jsonl`, a row per visit, and of each pair the best code, `D.K.h5`. `gnc
compare` proves in rational arithmetic whether its largest cosine is below the best known one.
`--store` adds the visits to `records/visits.jsonl`, each improvement to our numerical codes
(`data/known_codes`: its coordinates, and a row of `margins.csv`). Then run
`python data/known_codes/check.py` and `python -m benchmarks.known_codes.records --write`.
"""

import argparse
import itertools
import json
import math
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.known_codes import stored
from benchmarks.paths import RECORDS
from benchmarks.runs import rows
from gnc_cli import bounds, compare, solve
from gnc_cli.geometry.gram import max_cosine
from gnc_cli.geometry.sphere import normalise
from gnc_cli.io.codefile import read_code
from gnc_cli.known_codes.best import read_table
from gnc_cli.known_codes.table import data_folder, numerical_codes, our_copy
from gnc_cli.parsing import integers, seconds
from gnc_cli.search.starts import resized, unit

Pair = tuple[int, int]
Visit = dict[str, Any]

_MOST_POINTS = 200
_LONGEST = 3600.0
_COORDINATES_PER_SECOND = 50.0
_SAME = 1e-9
"""Codes whose largest cosines are nearer than this are the same code with other digits."""


def pairs(
    d: Sequence[int] | None = None, K: Sequence[int] | None = None, table: str | None = None
) -> list[Pair]:
    """The pairs worth a hunt, likeliest first; see the top of the file."""
    ranked, listed = [], our_copy().merged(read_table(table))
    for row in compare(list=True, d=d, K=K, table=table).rows:
        if row.proven or (K is None and row.K > _MOST_POINTS):
            continue
        (best,) = bounds(row.d, row.K, table=table).best
        known = best.best_known
        if known is None or known.proven or (known.d, known.K) != (row.d, row.K):
            continue
        share = (1.0 - known.max_cosine) / best.upper
        if known.kind in ("table", "solved") and share < 1.0 - _SAME:
            ranked.append((listed.find(row.d, row.K) is not None, share, row.d, row.K))
    return [(d, K) for *_, d, K in sorted(ranked)]


def visits(wanted: Sequence[Pair], budget: float, seed: int) -> Iterator[Visit]:
    """All visits, round by round, without end."""
    for number in itertools.count():
        seconds = min(budget * 2**number, max(budget, _LONGEST))
        for d, K in wanted:
            if seconds >= min(K * d / _COORDINATES_PER_SECOND, _LONGEST):
                yield {"d": d, "K": K, "seed": seed + number, "budget": seconds}


def settled(made: Iterable[Visit]) -> set[Pair]:
    """Pairs whose best code, on record or of this hunt, was found by two visits."""
    made = list(made)
    least: dict[Pair, float] = {}
    for visit in made:
        pair = visit["d"], visit["K"]
        least[pair] = min(visit["gap"], least.get(pair, 0.0))
    hits = Counter(
        (visit["d"], visit["K"])
        for visit in made
        if visit["gap"] <= least[visit["d"], visit["K"]] + _SAME
    )
    return {pair for pair, times in hits.items() if times > 1}


def search(visit: Visit, folder: Path, table: str | None, record: float) -> Visit:
    """Make a visit. A code that is better than `record`, the smallest gap of this hunt for the pair
    so far, is kept in the folder."""
    d, K = visit["d"], visit["K"]
    new = folder / f"{d}.{K}.new.h5"
    parent, init = neighbour(folder, visit)
    result = solve(
        d,
        K,
        problem="tammes",
        method="descent",
        seed=visit["seed"],
        time_limit=visit["budget"],
        init=init,
        out=new,
        force=True,
    )
    (row,) = compare(new, table=table).rows
    if row.gap < record:
        new.replace(_code(folder, d, K))
    else:
        new.unlink()
    found = {"max_cosine": row.max_cosine, "best_known": row.best_known, "gap": row.gap}
    found |= {"improves": _improves(row), "origin": result.origin, "init": parent}
    return visit | found | {"ended": datetime.now(UTC).isoformat(timespec="seconds")}


def neighbour(folder: Path, visit: Visit) -> tuple[int | None, np.ndarray | None]:
    """The size of a code of the hunt with few points more or fewer, and that code of K points."""
    d, K = visit["d"], visit["K"]
    sizes = [
        size for size in (K + 1, K + 2, K + 3, K - 1, K - 2) if _code(folder, d, size).exists()
    ]
    if not sizes:
        return None, None
    rng = np.random.default_rng([visit["seed"], d, K])
    size = int(rng.choice(sizes))
    return size, unit(resized(rng, read_code(_code(folder, d, size)).weights, K))


def _code(folder: Path, d: int, K: int) -> Path:
    return folder / f"{d}.{K}.h5"


def hunt(
    wanted: Sequence[Pair],
    folder: Path,
    *,
    seconds: float,
    budget: float = 10.0,
    seed: int = 0,
    table: str | None = None,
) -> list[Visit]:
    """Make the visits that are missing and fit into the time; those made so far, also before."""
    end = time.monotonic() + seconds
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / "visits.jsonl"
    made = {_key(row): row for row in rows(kept)}
    for visit in visits(wanted, budget, seed):
        done = settled(made.values())
        if done.issuperset(wanted) or time.monotonic() + visit["budget"] > end:
            break
        pair = visit["d"], visit["K"]
        if _key(visit) in made or pair in done:
            continue
        gaps = [row["gap"] for row in made.values() if (row["d"], row["K"]) == pair]
        row = search(visit, folder, table, min(gaps, default=math.inf))
        made[_key(row)] = row
        with kept.open("a") as file:
            file.write(json.dumps(row) + "\n")
        news = "IMPROVES" if row["improves"] else ""
        print(f"({row['d']}, {row['K']}) {row['budget']:g} s  gap {row['gap']:.2g}", news)
    return list(made.values())


def store(folder: Path, table: str | None) -> None:
    """Add the visits of a hunt and its improvements to the repository."""
    ledger = RECORDS / "visits.jsonl"
    known = [json.dumps(row) for row in rows(ledger)]
    with ledger.open("a") as file:
        for row in rows(folder / "visits.jsonl"):
            if json.dumps(row) not in known:
                file.write(json.dumps(row) + "\n")
    # `D.K.new.h5` is of a visit that was cut short.
    for path in (path for path in folder.glob("*.h5") if path.stem.count(".") == 1):
        (row,) = compare(path, table=table).rows
        if _improves(row):
            code = read_code(path).weights
            # At least; the code of a visit may be unpolished.
            rho = 1.0 - max_cosine(normalise(code))
            command = f"gnc solve --d {row.d} --K {row.K} --construction known"
            stored.add(data_folder(), row.d, row.K, code, rho, command)
    numerical_codes.cache_clear()


def _improves(row: Any) -> bool:
    return row.status is not None and row.status.value == "improves" and row.gap < -_SAME


def _key(visit: Visit) -> tuple[Any, ...]:
    return tuple(visit[name] for name in ("d", "K", "seed", "budget"))


def main() -> None:
    """Parse and go."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--d", type=integers, metavar="A..B", help="default: all on record")
    parser.add_argument("--K", type=integers, metavar="A..B", help="default: up to 200")
    parser.add_argument("--time-limit", type=seconds, default=3600.0, help="90, 15m or 2h")
    parser.add_argument("--budget", type=seconds, default=10.0, help="of a visit of round 1")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--table", help="a current table of known codes: d,N,cosine per line")
    parser.add_argument("--out", type=Path, default=Path("hunt"), help="folder")
    parser.add_argument("--store", action="store_true", help="only keep what the folder has")
    asked = parser.parse_args()
    if asked.store:
        store(asked.out, asked.table)
        return
    wanted = pairs(asked.d, asked.K, asked.table)
    if not wanted:
        raise SystemExit("no pair on record with these d and K is worth a hunt")
    made = hunt(
        wanted,
        asked.out,
        seconds=asked.time_limit,
        budget=asked.budget,
        seed=asked.seed,
        table=asked.table,
    )
    improved = {(row["d"], row["K"]) for row in made if row["improves"]}
    tied = {(row["d"], row["K"]) for row in made if abs(row["gap"]) <= _SAME}
    print(
        f"{len(made)} visits, {len(wanted)} pairs worth a hunt, {len(improved)} improved, "
        f"{len(tied - improved)} tied"
    )


if __name__ == "__main__":
    main()
