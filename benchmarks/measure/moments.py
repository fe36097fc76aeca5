"""Time and memory of class moments, GNC1 and GNC3 from a file, against what they need at least.

    python -m benchmarks.measure.moments [--rounds 5] [--large]

Features (50000, 512) float32 in a contiguous HDF5 file, K = 1000 and 10000, labels shuffled. In
turns within one process: ours, from opening the file to GNC1 and GNC3; the needed work alone (the
dataset read raw through h5py, `D^T D` of (50000, 512) and `M^T M` of (K, 512) in float64, `eigh`);
and a plain float64 script of two passes with the features already in memory. All may use all cores.
`--large` writes 2,000,000 rows (4 GB), streams them in a process of its own, tells the peak memory
and removes them.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import h5py
import numpy as np

from benchmarks.measure.plain import write
from gnc_cli.collapse.conventions import Selection
from gnc_cli.collapse.sources import resolve
from gnc_cli.geometry.sphere import row_norms
from gnc_cli.metrics.class_moments import stream_moments
from gnc_cli.metrics.gnc1 import gnc1_of_means
from gnc_cli.metrics.gnc3 import gnc3
from gnc_cli.metrics.rows import Pass
from gnc_cli.runtime.threads import available_cores, limit_threads

D = 512


def ours(file: Path) -> tuple[float, float]:
    """GNC1 and GNC3 from the file."""
    with resolve(Selection(files=(str(file),)))[0].open() as samples:
        assert samples.features is not None and samples.labels is not None
        assert samples.weights is not None
        K, cores = len(samples.weights), available_cores()
        with limit_threads(1):
            (by_space,) = stream_moments(
                [samples.features],
                samples.labels,
                K,
                ["unit"],
                [{}],
                ["features"],
                Pass(workers=cores),
            )
        moments, present = by_space["unit"], by_space["unit"].present
        one = gnc1_of_means(moments.within_cov(), moments.means[present])
        assert one is not None
        weights = samples.weights / row_norms(samples.weights)[:, None]
        means = moments.means
        if not present.all():
            weights, means = weights[present], means[present]
        return one.value, gnc3(weights, means)


def needed(file: Path, deviations: np.ndarray, means: np.ndarray) -> float:
    """Seconds of a raw read and of the products."""
    begun = time.perf_counter()
    with h5py.File(file) as h5:
        h5["features"][()]
    deviations.T @ deviations
    np.linalg.eigh(means.T @ means)
    return time.perf_counter() - begun


def script(features: np.ndarray, labels: np.ndarray, W: np.ndarray) -> tuple[float, float]:
    """GNC1 and GNC3 as one would write them in NumPy."""
    H = features.astype(np.float64)
    H /= np.linalg.norm(H, axis=1, keepdims=True)
    counts = np.bincount(labels)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    means = np.add.reduceat(H[np.argsort(labels, kind="stable")], starts) / counts[:, None]
    deviations = H - means[labels]
    within, between = deviations.T @ deviations / len(H), means.T @ means / len(means)
    values, vectors = np.linalg.eigh(between)
    kept = values > max(means.shape) * np.finfo(float).eps * values[-1]
    basis = vectors[:, kept]
    one = np.trace(within @ (basis / values[kept] @ basis.T)) / len(means)
    W = W / np.linalg.norm(W, axis=1, keepdims=True)
    return float(one), float(1.0 - (W * means).sum(axis=1).mean())


def case(file: Path, K: int, rounds: int) -> str:
    """Run one case and say how it went."""
    write(file, 50000, D, K)
    with h5py.File(file) as h5:
        features, labels, W = h5["features"][()], h5["labels"][()], h5["weights"][()].astype(float)
    deviations, took = features.astype(np.float64), np.empty((rounds, 3))
    for turn in range(rounds):
        begun = time.perf_counter()
        found = ours(file)
        took[turn, 0] = time.perf_counter() - begun
        took[turn, 1] = needed(file, deviations, W)
        begun = time.perf_counter()
        plain = script(features, labels, W)
        took[turn, 2] = time.perf_counter() - begun
    best, ratios = took.min(axis=0), np.median(took[:, :1] / took[:, 1:], axis=0)
    error = max(abs(a / b - 1.0) for a, b in zip(found, plain, strict=True))
    return (
        f"K={K}: {best[0]:.3f} s; needed {best[1]:.3f} s, ratio of the best "
        f"{best[0] / best[1]:.2f}, median of pairs {ratios[0]:.2f}; script {best[2]:.3f} s, "
        f"{best[0] / best[2]:.2f}, {ratios[1]:.2f}; relative difference {error:.1e}"
    )


def main() -> None:
    """Print one line a case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--peak", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak:
        begun = time.perf_counter()
        found = ours(options.peak)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        seconds = time.perf_counter() - begun
        print(f"GNC1 {found[0]:.6g}, GNC3 {found[1]:.6g}, {seconds:.1f} s, peak {peak:.2f} GB")
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "features.h5"
        if options.large:
            write(file, 2_000_000, D, 1000)
            again = [sys.executable, "-m", "benchmarks.measure.moments", "--peak", str(file)]
            subprocess.run(again, check=True)
            return
        for K in (1000, 10000):
            print(case(file, K, options.rounds), flush=True)


if __name__ == "__main__":
    main()
