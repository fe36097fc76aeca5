"""`compare --solve --hunt`: a search for codes better than those on record.

Picked are the pairs (d, K) of the tables and of our own solved codes that are not proved optimal
and whose best known code is one of that size that a search found (no theorem, no construction, no
part of a larger code): with `d` and `K` those given, else all with K up to 200. First come the
codes that only this project has searched for, then those of the tables; among either the one
farthest below the proved bound of its distance comes first.

The pairs are visited in rounds. A visit of round r takes 2^(r - 1) times the budget, at most an
hour, and is a search from nothing with the seed `seed + r - 1`; pairs with a large K d join in the
first round that gives them K d / 50 seconds. A pair whose best code, the one on record or a better
one of this hunt, was found by two visits is left alone: more of the same would find it again. So
the round gives seed and budget, and a hunt that is resumed makes the visits that are missing. No
figure, coordinate or target of a table
enters a search: a visit is what `gnc solve --problem tammes --method descent --seed SEED
--time-limit BUDGET --workers 1` does.

The folder holds `visits.jsonl`, a row for each visit, and of each pair with a better code the best
one found, `D.K.h5`, with the seed and the proof in its provenance.
"""

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from math import inf
from pathlib import Path

import numpy as np

from gnc_cli.comparison.request import Request
from gnc_cli.comparison.result import CompareRow, HuntRow, HuntSummary, best_visits
from gnc_cli.comparison.solve import PROBLEM, PairJob, solved, solved_row
from gnc_cli.errors import OutputError, UsageError
from gnc_cli.io.codefile import CodeFile, write_code
from gnc_cli.io.ledger import Ledger
from gnc_cli.known_codes.best import Reference, best, our_copy
from gnc_cli.known_codes.table import KnownCodes, stored_margins
from gnc_cli.known_codes.verdict import TOLERANCE
from gnc_cli.parameters import spelled
from gnc_cli.records import plain, read_plain
from gnc_cli.runtime.deadline import Deadline, Progress
from gnc_cli.runtime.parallel import Pool
from gnc_cli.search.result import Outcome
from gnc_cli.search.verdict import proved_upper_end

_FOLDER = "hunt"
_VISITS = "visits.jsonl"
_MOST_POINTS = 200
"""Of pairs that nobody asked for."""
_COORDINATES_PER_SECOND = 50.0
"""Fewer seconds than K d over this are not worth a visit: polishing alone takes as long."""
_ENOUGH = 2
"""Visits that found the best code of a pair, after which it is left alone."""
_LONGEST = 3600.0
"""Seconds of a visit."""
_RESERVE = 2.0
"""Seconds before the end in which a visit writes its certificate."""
_METHOD = "descent"

_Pair = tuple[int, int]


@dataclass(frozen=True)
class Visit(PairJob):
    """One solve of a pair."""

    round: int


def hunt(
    request: Request,
    table: KnownCodes,
    deadline: Deadline,
    progress: Progress | None = None,
    on_row: Callable[[CompareRow], None] | None = None,
) -> tuple[list[HuntRow], HuntSummary]:
    """Visit the pairs round by round until the deadline; the rows by round, and what became of it.

    Raises:
        UsageError: no pair can be hunted.
        OutputError: the folder holds something and is not to be resumed, or cannot be written.
        DataError: it was made with other options.
    """
    pairs = picked(request, table)
    folder = _folder(request)
    options = {
        "mode": "hunt",
        "problem": PROBLEM,
        "budget": request.budget,
        "seed": request.seed,
        "table": table.stamp.sha256,
    }
    rows: dict[tuple[int, int, int], HuntRow] = {}
    kept: dict[_Pair, float] = {}
    """Largest cosines of the codes in the folder."""

    def add(row: HuntRow) -> None:
        rows[row.round, row.d, row.K] = row
        if on_row is not None:
            on_row(row)
        if progress is not None:
            gap = min(r.gap for r in rows.values() if r.gap is not None)
            progress("visits, smallest gap", len(rows), 0, gap)

    def done(at: int, found: tuple[HuntRow, np.ndarray | None] | None) -> None:
        if found is None:
            return
        row, W = found
        if W is not None:
            path = _file(folder, row)
            assert row.max_cosine is not None
            if row.max_cosine < kept.get((row.d, row.K), inf):
                kept[row.d, row.K] = row.max_cosine
                _write(path, row, W)
            row = replace(row, file=os.fspath(path))
        ledger.append(plain(row))
        add(row)

    with Ledger(
        folder / _VISITS,
        partial(read_plain, HuntRow),
        "d",
        options,
        resume=request.resume,
        force=request.force,
    ) as ledger:
        for row in ledger.rows:
            if (row.d, row.K) not in pairs:
                continue
            if row.file is not None and _file(folder, row).exists():
                assert row.max_cosine is not None
                kept[row.d, row.K] = min(row.max_cosine, kept.get((row.d, row.K), inf))
            add(row)
        with Pool(request.workers, request.cluster) as pool:
            for visits in _rounds(request, table, pairs):
                settled = _settled(rows.values())
                missing = [
                    v
                    for v in visits
                    if (v.round, v.d, v.K) not in rows and (v.d, v.K) not in settled
                ]
                pool.run(visit, missing, deadline, done)
                if deadline.expired or pairs.keys() <= settled:
                    break
    places = {pair: place for place, pair in enumerate(pairs)}
    made = sorted(rows.values(), key=lambda row: (row.round, places[row.d, row.K]))
    leaders = best_visits(made)
    return made, HuntSummary(
        len(pairs),
        len(leaders),
        sum(row.improved for row in leaders),
        sum(row.tied for row in leaders),
    )


def picked(request: Request, table: KnownCodes) -> dict[_Pair, Reference]:
    """The pairs worth a hunt with their best known codes, likeliest first; see the module's words.

    Raises:
        UsageError: there are none.
    """
    listed = {*table.entries, *our_copy().entries, *((e.d, e.K) for e in stored_margins().entries)}
    found: dict[_Pair, Reference] = {}
    shares: dict[_Pair, float] = {}
    """Of the proved bound of the distance."""
    for d, K in listed:
        if request.d is not None and d not in request.d:
            continue
        if K > _MOST_POINTS if request.K is None else K not in request.K:
            continue
        known = best(d, K, table)
        if known is None or known.proven or not known.own:
            continue
        share = (1.0 - known.max_cosine) / proved_upper_end(d, K)
        if known.kind in ("table", "solved") and share < 1.0 - TOLERANCE:
            found[d, K], shares[d, K] = known, share
    if not found:
        raise UsageError(
            f"{spelled('hunt')} finds no pair on record with these d and K that a better code is "
            f"looked for: proved optima, constructions and parts of larger codes are left out; see "
            f"{spelled('list')}"
        )

    def rank(pair: _Pair) -> tuple[bool, float, _Pair]:
        return found[pair].kind != "solved", shares[pair], pair

    return {pair: found[pair] for pair in sorted(found, key=rank)}


def _settled(rows: Collection[HuntRow]) -> set[_Pair]:
    """Pairs whose best code, on record or of this hunt, was found by enough visits."""
    least = {(row.d, row.K): min(0.0, row.gap or 0.0) for row in best_visits(rows)}
    found = Counter(
        (row.d, row.K)
        for row in rows
        if row.gap is not None and row.gap <= least[row.d, row.K] + TOLERANCE
    )
    return {pair for pair, times in found.items() if times >= _ENOUGH}


def _rounds(
    request: Request, table: KnownCodes, pairs: dict[_Pair, Reference]
) -> Iterator[list[Visit]]:
    """The visits of each round, without end."""
    budget, number = request.budget, 1
    while True:
        budget = min(budget, max(_LONGEST, request.budget))
        yield [
            Visit(d, K, budget, request.seed + number - 1, known, table.stamp, number)
            for (d, K), known in pairs.items()
            if budget >= min(K * d / _COORDINATES_PER_SECOND, _LONGEST)
        ]
        budget, number = 2.0 * budget, number + 1


def visit(job: Visit, deadline: Deadline) -> tuple[HuntRow, np.ndarray | None] | None:
    """Solve a pair on one thread; the row, and the code where it is an improvement.

    None where the deadline cut the visit short without one: it is made again.
    """
    seconds = min(job.budget, deadline.remaining - _RESERVE)
    if seconds <= 0.0:
        return None
    result = solved(job, seconds, deadline, _METHOD)
    found = solved_row(job, result, _METHOD)
    row = HuntRow(**vars(found), round=job.round, budget=job.budget)
    ended = (Outcome.TIME_LIMIT, Outcome.INTERRUPTED)
    cut = result.outcome in ended and (seconds < job.budget or deadline.expired)
    if row.improved:
        return row, result.weights
    return None if cut else (row, None)


def _folder(request: Request) -> Path:
    """The folder of the hunt, made where missing."""
    folder = Path(request.export or _FOLDER)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        full = any(folder.iterdir())
    except OSError as error:
        raise OutputError(
            f"cannot make folder {os.fspath(folder)!r}: {error.strerror}; name another with "
            f"{spelled('export')}"
        ) from error
    if full and not (request.resume or request.force):
        raise OutputError(
            f"folder {os.fspath(folder)!r} is not empty; add {spelled('resume')} to go on with the "
            f"hunt in it, {spelled('force')} to begin anew, or name another with "
            f"{spelled('export')}"
        )
    return folder


def _file(folder: Path, row: HuntRow) -> Path:
    return folder / f"{row.d}.{row.K}.h5"


def _write(path: Path, row: HuntRow, W: np.ndarray) -> None:
    provenance = {
        "method": row.method,
        "seed": row.seed,
        "command": f"gnc solve --d {row.d} --K {row.K} --problem {row.problem} --method "
        f"{row.method} --seed {row.seed} --time-limit {row.budget:g} --workers 1",
        "libraries": {name: version(name) for name in ("numpy", "scipy", "torch", "geoopt")},
        "result": plain(row),
    }
    write_code(path, CodeFile(W, provenance=provenance), force=True)
