"""Time of the proofs which classes of a large head can win, planted ones among them.

    python -m benchmarks.measure.reach                              # K = 50,257, d = 768
    python -m benchmarks.measure.reach --K 128256 --d 2048 --part 12

Rows are Gaussian of lengths 0.05 to 0.15 sqrt(d); 100 of them are made mixtures of 100 to 3000
others and rounded to float32, 50 are made equal to another. Each head is taken without bias, with
Gaussian biases and features of any norm, and with features of norm 10 at most. `--part` asks for so
many classes only, half of them planted.
"""

import argparse
import math
import resource
import time
from collections import Counter

import numpy as np

from benchmarks.report import table
from gnc_cli.metrics.reach import LinearHead
from gnc_cli.runtime.threads import available_cores

PLANTED, TWINS = 100, 50


def planted_head(K: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows (K, d), float64 of float32 values, and the planted classes (150,)."""
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((K, d), dtype=np.float32)
    W *= rng.uniform(0.05, 0.15, size=(K, 1)).astype(np.float32)
    classes = rng.permutation(K)
    planted, others = classes[: PLANTED + TWINS], classes[PLANTED + TWINS :]
    for k in planted[:PLANTED]:
        mixed = rng.choice(others, rng.integers(100, 3000), replace=False)
        W[k] = rng.dirichlet(np.ones(len(mixed))) @ W[mixed]
    W[planted[PLANTED:]] = W[rng.choice(others, TWINS, replace=False)]
    return W.astype(np.float64), planted


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--K", type=int, default=50257)
    parser.add_argument("--d", type=int, default=768)
    parser.add_argument("--part", type=int)
    options = parser.parse_args()
    W, planted = planted_head(options.K, options.d)
    bias = 0.1 * np.random.default_rng(1).standard_normal(options.K)
    part = None
    if options.part is not None:
        others = np.setdiff1d(np.arange(options.K), planted)
        some = planted[:: max(1, 2 * len(planted) // options.part)]
        part = np.concatenate([some, others[: options.part - len(some)]])
    lines = []
    for name, b, norm in (("none", None, math.inf), ("any", bias, math.inf), ("any", bias, 10.0)):
        wall, processor = time.perf_counter(), time.process_time()
        answers = LinearHead(W, b, norm, threads=available_cores()).reaches(part)
        times = time.perf_counter() - wall, time.process_time() - processor
        counts = Counter(str(reach.verdict) for reach in answers.values())
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        verdicts = [str(counts[verdict]) for verdict in ("can win", "cannot win", "ties only")]
        seconds = [f"{value:.0f}" for value in times]
        undecided = str(counts["undecided"])
        lines.append([name, f"{norm:g}", *verdicts, undecided, *seconds, f"{peak:.1f}"])
        print(lines[-1], flush=True)
    head = ["bias", "R", "can win", "cannot", "ties", "undecided", "s", "CPU s", "peak GB"]
    print(table(head, lines))


if __name__ == "__main__":
    main()
