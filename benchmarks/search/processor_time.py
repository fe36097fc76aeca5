"""Find codes by descent within seconds of processor time, whatever else a machine does.

    python -m benchmarks.search.processor_time roots 30     # root systems and named codes
    python -m benchmarks.search.processor_time small 30     # forty pairs with d = 4 to 8
    python -m benchmarks.search.processor_time medium 60    # twelve with d >= 9, K <= 100
    python -m benchmarks.search.processor_time large 60     # fifteen with K > 100
    python -m benchmarks.search.processor_time 14,200 60    # one pair

Each search is `solve(d, K, problem="tammes", method="descent", workers=1)` in this process, whose
deadlines read the clock of the process in place of the wall clock. A search with two workers has
twice the processor time in the same seconds. No entry of a table enters a search.
"""

import random
import sys
import time
from collections.abc import Iterator
from unittest import mock

from gnc_cli import solve
from gnc_cli.known_codes.best import best
from gnc_cli.known_codes.table import our_copy
from gnc_cli.runtime.deadline import Deadline

ROOTS = [(4, 24), (5, 40), (5, 41), (6, 72), (7, 126), (8, 240)]
LARGE = [
    *((9, 521), (10, 136), (10, 271), (10, 314), (11, 268), (11, 373), (12, 343), (12, 416)),
    *((13, 162), (13, 244), (13, 351), (14, 102), (15, 380), (16, 197), (16, 341)),
]
"""Pairs of published tables with K > 100, most of them from searches of 2026."""


def medium() -> list[tuple[int, int]]:
    """Twelve pairs of the table with d = 9 to 17 and K <= 100 that have no proved optimum."""
    entries = our_copy().entries.values()
    pairs = [(e.d, e.K) for e in entries if 9 <= e.d <= 17 and e.K <= 100 and e.status != "proved"]
    return sorted(random.Random(47).sample(sorted(pairs), 12))


def small() -> Iterator[tuple[int, int]]:
    """Eight pairs of each d from 4 to 8, K <= 130, whose best known code was found by a search."""
    rng = random.Random(47)
    for d in range(4, 9):
        sizes = []
        for K in range(2 * d + 1, 131):
            known = best(d, K)
            if known is not None and known.same_size and known.kind in ("table", "solved"):
                sizes.append(K)
        yield from ((d, K) for K in sorted(rng.sample(sizes, 8)))


def search(d: int, K: int, seconds: float, seed: int) -> str:
    """Search for a code and compare it with the best known one; a row of a Markdown table."""
    init = Deadline.__init__

    def by_processor(
        self: Deadline, seconds: float | None = None, interrupt: object = None, clock: object = None
    ) -> None:
        init(self, seconds, interrupt, time.process_time)

    with mock.patch.object(Deadline, "__init__", by_processor):
        result = solve(
            d,
            K,
            problem="tammes",
            method="descent",
            time_limit=seconds,
            seed=seed,
            workers=1,
        )
    known, cosine = best(d, K), result.max_cosine
    assert known is not None, "every pair of the lists has a known code"
    share = (1.0 - cosine) / known.distance
    return (
        f"| ({d}, {K}) | {seconds:g} | {seed} | {cosine:.12f} | {cosine - known.max_cosine:.1e} "
        f"| {share:.3%} | {result.origin} |"
    )


def main() -> None:
    """Run the searches that the command line names."""
    which, seconds = sys.argv[1], float(sys.argv[2])
    lists = {"roots": lambda: ROOTS, "small": small, "medium": medium, "large": lambda: LARGE}
    pairs = lists[which]() if which in lists else [tuple(map(int, which.split(",")))]
    print("| (d, K) | processor s | seed | max_cosine | gap | share of the distance | origin |")
    print("|---|---|---|---|---|---|---|")
    for d, K in pairs:
        print(search(d, K, seconds, 0), flush=True)


if __name__ == "__main__":
    main()
