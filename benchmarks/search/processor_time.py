"""Find codes by descent within seconds of processor time, whatever else a machine does.

    python -m benchmarks.search.processor_time roots 30     # root systems and named codes
    python -m benchmarks.search.processor_time drawn 30     # forty pairs with d = 4 to 8
    python -m benchmarks.search.processor_time larger 60    # pairs with d >= 9
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
from gnc_cli.runtime.deadline import Deadline

ROOTS = [(4, 24), (5, 40), (5, 41), (6, 72), (7, 126), (8, 240)]
LARGER = [(10, 100), (14, 102), (9, 521), (15, 425), (12, 642), (14, 211), (12, 416)]


def drawn() -> Iterator[tuple[int, int]]:
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
    named = {"roots": ROOTS, "larger": LARGER}
    one = [tuple(map(int, which.split(",")))] if "," in which else []
    print("| (d, K) | processor s | seed | max_cosine | gap | share of the distance | origin |")
    print("|---|---|---|---|---|---|---|")
    for d, K in one or named.get(which) or drawn():
        print(search(d, K, seconds, 0), flush=True)


if __name__ == "__main__":
    main()
