"""`compare --conjecture`: does an independent Softmax search end above 1 - t?

Weights and features are separate unknowns and no Tammes code is a start, so that nothing ties the
search to the conjecture. The Tammes value t is a theorem's, the table's, or, where neither knows
the pair, that of a descent of our own; the row says which under `reference`.
"""

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from gnc_cli.numerics.threads import limit_threads
from gnc_cli.results import CompareResult, CompareRow
from gnc_cli.workflows.compare_claims import TammesValue, independent_row, stated
from gnc_cli.workflows.compare_rows import OnRow, Progress, make_rows, pairs
from gnc_cli.workflows.compare_runs import Flag
from gnc_cli.workflows.compare_solve import search_for
from gnc_cli.workflows.known import Reference, Table, read_table, reference

__all__ = ["ConjectureJob", "compare_conjecture", "tested_pair"]

_OTHER_SEED = 1_000_003
"""Added to the seed for our own Tammes descent, so that the two searches share no start."""
_OWN_ERROR = 1e-12
"""What our own polished Tammes value is good to."""


@dataclass(frozen=True)
class ConjectureJob:
    """One pair to test, with all that a process of its own needs."""

    d: int
    K: int
    budget: float
    seed: int
    known: Reference | None
    own: bool
    """Where nothing is known, find t by a descent of our own."""
    evidence: str
    """Folder for the evidence of a claim."""
    beside: str
    """Folder of the rows, from which they name their evidence."""

    @property
    def key(self) -> tuple[int, int]:
        """(d, K)."""
        return self.d, self.K


def compare_conjecture(
    dims: Sequence[int] = (),
    sizes: Sequence[int] = (),
    *,
    named: bool = False,
    budget: float = 10.0,
    workers: int = 1,
    seed: int = 0,
    own: bool = True,
    table: Table = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    force: bool = False,
    evidence: str | os.PathLike[str] | None = None,
    interrupt: Flag | None = None,
    progress: Progress | None = None,
    on_row: OnRow | None = None,
) -> CompareResult:
    """Test the paper's conjecture on pairs (d, K), or on the named codes.

    Each row holds, beside the common keys: `rho_one_vs_rest`, `one_minus_t`, `excess` (certified
    lower end less 1 - t), `tolerance`, `verdict` on `rho* = 1 - t*` (see
    `gnc_cli.codes.conjecture.Verdict`; null without a t), `same_maximiser` (whether this code is a
    Tammes code as well, a claim of its own), `h_minus_w` (the farthest that an optimal feature lies
    from its weight, over the rows that are no one-vs-rest rattlers), `reference`, `how`.

    Args:
        dims, sizes: every d with every K; not with `named`.
        named: the codes of Cohn and Kumar's table and our exact ones, d <= 100, instead.
        budget: seconds of each search; a pair without a known t has two searches.
        workers: processes, with one thread each.
        seed: of every search.
        own: where no t is known, take that of a Tammes descent of our own.
        table: known codes; our copy by default.
        out: JSON lines, a row as soon as it is there; None to keep nothing.
        resume: keep the rows of `out` and make the others.
        force: replace `out`.
        evidence: folder for code, features and certificate behind a counterexample or candidate;
            beside `out` by default, else the current one.
        interrupt: set it to stop early with the rows so far.
        progress: told `(stage, done, total, largest gap)`.
        on_row: told each row as it is ready, in the order of finishing.

    Returns:
        Rows in order; `extras` holds `interrupted`, and how often each verdict occurred:
        `verdicts` of independent searches, `verdicts_local` of codes that were given.

    Raises:
        UsageError, DataError, OutputError, UnavailableError: see `gnc_cli.errors`.
    """
    beside = os.path.dirname(os.path.realpath(out)) if out is not None else "."
    folder = beside if evidence is None else os.fspath(evidence)
    known = read_table(table)
    run: dict[str, Any] = dict(
        mode="conjecture", stamp=known.stamp, workers=workers, out=out, resume=resume, force=force,
        interrupt=interrupt, progress=progress, on_row=on_row,
    )  # fmt: skip
    options = {"budget": float(budget), "seed": seed}
    if named:
        from gnc_cli.workflows.compare_named import named_jobs, named_row

        jobs = named_jobs(
            dims, sizes, budget=budget, seed=seed, table=known, evidence=folder, beside=beside
        )
        result = make_rows(
            jobs, named_row, key=lambda row: (row.more["name"],),
            options={"named": True, **options}, **run,
        )  # fmt: skip
    else:
        tests = [
            ConjectureJob(d, K, float(budget), seed, reference(d, K, known), own, folder, beside)
            for d, K in pairs(dims, sizes, budget)
        ]
        result = make_rows(
            tests, tested_pair, key=lambda row: (row.d, row.K),
            options={"own": own, **options}, **run,
        )  # fmt: skip
    verdicts, local = (
        Counter(r.more["verdict"] for r in result.rows if (r.more["how"] == "independent") is alone)
        for alone in (True, False)
    )
    counts = {"verdicts": dict(verdicts), "verdicts_local": dict(local)}
    return replace(result, extras={**result.extras, **counts})


def tested_pair(job: ConjectureJob, flag: Flag) -> CompareRow | None:
    """Both searches and the verdict; None where the flag cut them short."""
    search = search_for(job.K)
    with limit_threads(1):
        value = None if job.known is None else stated(job.known)
        if job.own and (value is None or value.kind == "construction" and not value.proven):
            tammes = search(
                job, flag, problem="tammes", method="descent", seed=job.seed + _OTHER_SEED
            )
            if value is None or tammes.max_cosine < value.t - _OWN_ERROR:
                value = TammesValue(tammes.max_cosine, _OWN_ERROR, False, "own")
        return None if flag.is_set() else independent_row(job, flag, value, {}, search)
