"""Cost of what `measure` adds to its passes, and the ratio of random rows against drawn codes.

    python -m benchmarks.measure.extras [--rounds 5]

Processor time on one thread, with and without, in turns within one process: the three forms of a
head (K = 1000, d = 512, N = 20000), and the spectrum of the features (K = 100, d = 512, N = 50000).
Then `random_gnc2` beside certified distances of drawn codes.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from unittest import mock

import numpy as np

from gnc_cli import measure
from gnc_cli.collapse import statistics
from gnc_cli.collapse.reference import random_gnc2
from gnc_cli.geometry.one_vs_rest import minimum_one_vs_rest
from gnc_cli.geometry.sphere import random_points
from gnc_cli.metrics.decisions import Judge, stream_decisions
from gnc_cli.metrics.rows import ArrayRows
from gnc_cli.runtime.threads import limit_threads

PAIRS = [(512, 100), (512, 1000), (64, 10), (64, 100), (128, 500), (32, 100)]


def in_turns(without: Callable[[], object], with_it: Callable[[], object], rounds: int) -> str:
    """Median of the ratios of pairs, and the range."""
    ratios = []
    for turn in range(rounds + 1):
        seconds = []
        for work in (without, with_it):
            begun = time.process_time()
            work()
            seconds.append(time.process_time() - begun)
        if turn:  # the first warms up
            ratios.append(seconds[1] / seconds[0])
    return f"{np.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def forms(rounds: int) -> str:
    rng = np.random.default_rng(0)
    K, d, N = 1000, 512, 20000
    W = rng.standard_normal((K, d)) * rng.uniform(0.5, 2.0, (K, 1))
    labels, bias = rng.integers(0, K, N), rng.standard_normal(K)
    features = ArrayRows((W[labels] + rng.standard_normal((N, d))).astype(np.float32))
    judge = Judge(weights=W, bias=bias, means=random_points(rng, K, d))
    return in_turns(
        lambda: stream_decisions(features, labels, judge),
        lambda: stream_decisions(features, labels, replace(judge, compared=True)),
        rounds,
    )


class _Nothing:
    """Sums over no directions."""

    def joined(self, other: "_Nothing") -> "_Nothing":
        return self


def spectrum(rounds: int) -> str:
    rng = np.random.default_rng(0)
    K, d, N = 100, 512, 50000
    W, labels = rng.standard_normal((K, d)), rng.integers(0, K, N)
    features = (W[labels] + 0.5 * rng.standard_normal((N, d))).astype(np.float32)

    def run() -> object:
        return measure(features=features, labels=labels, weights=W, threads=1)

    def without() -> object:
        nothing = _Nothing()
        with (
            mock.patch.object(statistics, "direction_sums", lambda *_: lambda start, stop: nothing),
            mock.patch.object(statistics, "feature_spectrum", lambda *_: None),
        ):
            return run()

    return in_turns(without, run, rounds)


def main() -> None:
    """Print the lines of RESULTS.md."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with limit_threads(1):
        print(f"- three forms of the head: {forms(rounds)} times the pass of decisions")
        print(f"- spectrum of the features: {spectrum(rounds)} times the whole measurement")
    for d, K in PAIRS:
        drawn = [
            minimum_one_vs_rest(
                random_points(np.random.default_rng(seed), K, d), tolerance=1e-3
            ).lower
            for seed in range(10)
        ]
        print(
            f"- random rows ({d}, {K}): {random_gnc2(d, K):.3f}; ten drawn codes: mean "
            f"{np.mean(drawn):.3f}, {min(drawn):.3f} to {max(drawn):.3f}"
        )


if __name__ == "__main__":
    main()
