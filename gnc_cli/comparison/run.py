"""One call of `compare`: the table listed, files compared or pairs solved; then the picture."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from math import nan
from typing import TYPE_CHECKING, Any, cast

from gnc_cli import __version__
from gnc_cli.comparison.request import Compare
from gnc_cli.comparison.result import CompareResult, ListedRow, Mode, SolvedRow
from gnc_cli.constructions.families.theorem_3_3 import closed_form
from gnc_cli.io.arguments import check_apart
from gnc_cli.io.ledger import Ledger
from gnc_cli.known_codes.best import Reference, best
from gnc_cli.known_codes.table import KnownCode, KnownCodes, TableStamp, numerical_codes, our_copy
from gnc_cli.known_codes.verdict import TOLERANCE, passes, verdict
from gnc_cli.limits.registry import possible_table
from gnc_cli.metrics.gnc2 import Rattlers
from gnc_cli.parameters import spelled
from gnc_cli.records import plain, read_plain
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.parallel import WORTH_PROCESSES, Pool, processes
from gnc_cli.runtime.threads import limit_threads, threads_for

if TYPE_CHECKING:
    from gnc_cli.comparison.codes import Judged
    from gnc_cli.search.result import SolveResult

PROBLEM = "tammes"
_BUDGET = 10.0
"""Default time limit of a pair, seconds."""
_RECOGNISING = 2.0
"""Time limit for recognising a code, seconds."""


def run(call: Compare) -> CompareResult:
    """Answer a call; see `api.compare`."""
    started = time.monotonic()
    table = possible_table(call.table)
    deadline = Deadline.of_call(call.time_limit, call.interrupt)
    mode = Mode(call.mode)
    codes: Sequence[Any] = ()
    rows: Sequence[Any]
    match mode:
        case Mode.LIST:
            rows = list_codes(call, table)
        case Mode.FILES:
            codes = compare_files(call, table, deadline)
            rows = [code.row for code in codes]
        case Mode.SOLVE:
            rows = compare_solves(call, table, deadline)
    result = CompareResult(
        seconds=time.monotonic() - started,
        version=__version__,
        rows=tuple(rows),
        table=table.stamp,
        mode=mode,
        interrupted=deadline.interrupted,
        unfinished=mode is Mode.SOLVE and len(rows) < len(call.d or ()) * len(call.K or ()),
        codes=tuple(codes),
    )
    if call.plot is not None:
        from gnc_cli.comparison.plot import plot_compare

        plot_compare(result, call.plot)
    return result


def list_codes(call: Compare, table: KnownCodes) -> list[ListedRow]:
    """The best entry of each pair: of our copy, of the table, or of our numerical codes."""
    listed = our_copy().merged(table).merged(numerical_codes())
    rows = [_entry(e) for e in listed.select(call.d, call.K, proven=call.proven)]
    if call.on_row is not None:
        for row in rows:
            call.on_row(row)
    return rows


def _entry(entry: KnownCode) -> ListedRow:
    # The table counts rattlers of the one-vs-one kind, and does not say within which tolerance.
    free = None if entry.rattlers is None else Rattlers(entry.rattlers, None, nan)
    return ListedRow(
        d=entry.d,
        K=entry.K,
        best_known=entry.max_cosine,
        figure=entry.figure,
        rattlers=free,
        contacts=entry.contacts,
        source=entry.source,
        date=entry.date,
        proven=entry.proven,
        how=entry.command,
        record=entry.status,
        note=entry.note,
    )


# Files


def compare_files(call: Compare, table: KnownCodes, deadline: Deadline) -> "list[Judged]":
    """Each file in its order; further digits; files for other programs.

    All files are read before the first is measured: a bad file costs no waiting.
    """
    from gnc_cli.comparison.codes import described, judge_code, load_code, polished_cosine
    from gnc_cli.comparison.files import NAMES, export_code, export_folders

    dimension = None if call.d is None else call.d[0]
    codes = [load_code(source, dimension) for source in call.files]
    folders = []
    if call.export is not None:
        folders = export_folders(call.export, [code.file for code in codes], call.force)
        written = [folder / name for folder in folders for name in NAMES]
        read = {"FILES": call.files, spelled("table"): call.table}
        check_apart({spelled("export"): written}, read)
    judged: list[Judged] = []
    for at, code in enumerate(codes):
        if deadline.interrupted:
            break
        result = judge_code(code, table, deadline, call.threads)
        if result.row.status is None and deadline.interrupted:
            break
        with limit_threads(threads_for(float(code.rows.size) ** 3, call.threads)):
            row, digits = result.row, None
            if call.digits is not None:
                polished, digits = polished_cosine(result, call.digits, deadline)
                row = replace(row, digits=polished)
            if call.describe:
                row = described(row, result, code.precision, deadline)
            if folders:
                exported, left_out = export_code(
                    result.weights,
                    result.contact_pairs,
                    digits,
                    folders[at],
                    deadline,
                    force=call.force,
                )
                row = replace(row, exported=exported, left_out=left_out)
        # A limit that nobody gave asks no more of a file than its numbers can say.
        tolerance = call.tolerance
        allowed = max(tolerance, code.precision) if tolerance == TOLERANCE else tolerance
        row = replace(row, passed=passes(row, allowed, call.require_entry))
        judged.append(replace(result, row=row))
        if call.on_row is not None:
            call.on_row(row)
        if call.progress is not None:
            gap = max((j.row.gap for j in judged if j.row.gap is not None), default=nan)
            call.progress("codes, largest gap", len(judged), len(codes), gap)
    return judged


# Fresh solves


@dataclass(frozen=True)
class PairJob:
    """One pair to solve, with all that a process of its own needs."""

    d: int
    K: int
    budget: float
    """Seconds."""
    seed: int
    known: Reference | None
    stamp: TableStamp
    """Of the table asked for."""

    def __str__(self) -> str:
        return f"d = {self.d:,}, K = {self.K:,}"


@dataclass(frozen=True)
class _DeadlineFlag:
    """A deadline in the place of an event: searches poll it as they would an interruption."""

    deadline: Deadline

    def is_set(self) -> bool:
        return self.deadline.expired


def compare_solves(
    call: Compare,
    table: KnownCodes,
    deadline: Deadline,
) -> list[SolvedRow]:
    """A fresh solve of every pair (d, K), by dimension, then size, until the deadline.

    The regression test of the solver: what it finds in the budget of a pair, from nothing. Where
    theorem 3.3 has a closed form, the solver may use it (`method auto`); everywhere else it
    searches (`method descent`), and `origin` names a construction whose points a search started
    from. `gnc solve --problem tammes --method descent --seed SEED --time-limit BUDGET` repeats a
    row. One that a time limit cut depends on how far a process got.

    With `out` every row is kept as soon as it is there; with `resume` the rows in that file are
    taken and the others made.
    """
    budget = call.budget or _BUDGET
    pairs = [(d, K) for d in sorted(call.d or ()) for K in sorted(call.K or ())]
    jobs = [PairJob(d, K, budget, call.seed, best(d, K, table), table.stamp) for d, K in pairs]
    # What the rows of one ledger have in common.
    options = {
        "mode": "solve",
        "problem": PROBLEM,
        "budget": budget,
        "seed": call.seed,
        "table": table.stamp.sha256,
    }
    rows: dict[tuple[int, int], SolvedRow] = {}

    def add(row: SolvedRow) -> None:
        good = passes(row, call.tolerance, call.require_entry)
        rows[row.d, row.K] = row = replace(row, passed=good)
        if call.on_row is not None:
            call.on_row(row)

    def done(row: SolvedRow) -> None:
        # Whether a row passes is a matter of each run's own tolerance.
        ledger.append({key: value for key, value in plain(row).items() if key != "passed"})
        add(row)
        if call.progress is not None:
            gap = max((r.gap for r in rows.values() if r.gap is not None), default=nan)
            call.progress("pairs, largest gap", len(rows), len(jobs), gap)

    with Ledger(
        call.out,
        partial(read_plain, SolvedRow),
        "d",
        options,
        resume=call.resume,
        force=call.force,
    ) as ledger:
        wanted = {*pairs}
        for row in ledger.rows:
            if (row.d, row.K) in wanted:
                add(row)
        missing = [job for job in jobs if (job.d, job.K) not in rows]
        worth = len(missing) * budget > WORTH_PROCESSES
        with Pool(processes(call.workers, call.cluster) if worth else 1, call.cluster) as pool:
            for _, row in pool.run(solve_pair, missing, deadline):
                if row is not None:
                    done(row)
    return [rows[pair] for pair in pairs if pair in rows]


def solve_pair(job: PairJob, deadline: Deadline) -> SolvedRow | None:
    """Solve one pair on one thread, beside the best known code; None where the deadline cut it."""
    from gnc_cli.codes.exact_cosine import verify_below
    from gnc_cli.comparison.codes import OF_ALL_PAIRS, Recognised, recognise
    from gnc_cli.search.api import solve

    method = "auto" if closed_form(job.d, job.K) is not None else "descent"
    if method == "descent":
        _warm_up()
    result = cast(
        "SolveResult",
        solve(
            job.d,
            job.K,
            problem=PROBLEM,
            method=method,
            seed=job.seed,
            time_limit=job.budget,
            threads=1,
            workers=1,
            interrupt=cast(threading.Event, _DeadlineFlag(deadline)),
        ),
    )
    if deadline.expired:
        return None
    W = result.weights
    rattles = result.extras.get("rattlers_one_vs_one")
    known_as = Recognised(None, None)
    if rattles is not None and result.max_cosine is not None:
        known_as = recognise(W, result.max_cosine, rattles, Deadline(_RECOGNISING))
    undecided = [key for key in result.undecided if key.split(".")[0] in OF_ALL_PAIRS]
    return SolvedRow(
        d=job.d,
        K=job.K,
        max_cosine=result.max_cosine,
        rattlers=result.rattlers,
        contacts=result.contacts,
        congruent_to=known_as.name,
        seconds=result.seconds,
        rho_one_vs_rest=result.rho_one_vs_rest,
        problem=PROBLEM,
        method=method,
        origin=result.origin,
        outcome=result.outcome.value,
        seed=result.seed,
        restarts=result.restarts,
        undecided=(*undecided, *known_as.undecided),
        **verdict(
            result.max_cosine,
            job.d,
            job.K,
            job.known,
            job.stamp,
            verified=lambda t: verify_below(W, t) is True,
            rows=lambda: W,
        ),
    )


@lru_cache(maxsize=1)
def _warm_up() -> None:
    """Load what a search needs, which the first pair should not pay for."""
    from gnc_cli.search.api import solve

    solve(3, 7, problem=PROBLEM, method="descent", restarts=1, threads=1)
