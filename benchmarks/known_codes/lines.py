"""Lines: thirty pairs of the public table, and the best coherence that a search finds.

    python -m benchmarks.known_codes.lines [SECONDS]

For each pair `gnc solve --problem lines` runs with one seed and a time limit, 20 seconds by
default. The gap to the coherence of the public table is negative where the lines found are better;
the other gap is that to the proved lower bound.
"""

import sys

from benchmarks.report import table
from gnc_cli import solve

PAIRS = (
    *((3, 7), (3, 11), (3, 16), (3, 20), (3, 27)),
    *((4, 7), (4, 10), (4, 16), (4, 23)),
    *((5, 10), (5, 16), (5, 21)),
    *((6, 11), (6, 16), (6, 22), (6, 24)),
    *((7, 14), (7, 28)),
    *((8, 14), (8, 20)),
    *((9, 18), (10, 16), (10, 20), (11, 18), (12, 16)),
    *((13, 26), (14, 20), (15, 21), (16, 20), (16, 24)),
)
"""Dimensions and numbers of lines, among them optimal ones: equiangular, and of a conference
matrix."""


def row(d: int, K: int, seconds: float) -> list[str]:
    """Search one pair; return the values as text."""
    found = solve(d, K, problem="lines", time_limit=seconds)
    assert found.coherence is not None and found.best_known is not None
    assert found.optimum is not None and found.gap is not None
    bound = 1.0 - found.optimum.upper
    status = "optimal" if found.optimum.proved else found.status.value if found.status else ""
    values = f"{found.coherence:.12f}", f"{found.gap:.1e}", f"{found.coherence - bound:.1e}"
    return [str(d), str(K), *values, status, f"{found.seconds:.1f}"]


def main() -> None:
    """Print the table."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 20.0
    rows = [row(d, K, seconds) for d, K in PAIRS]
    heads = ["d", "K", "coherence", "gap to the table", "gap to the bound", "status", "s"]
    print(table(heads, rows))


if __name__ == "__main__":
    main()
