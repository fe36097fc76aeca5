"""Time of accuracy, NCC, leave-one-out, agreement and margins against the products they need.

    python -m benchmarks.measure.decisions [--N 50000] [--rounds 3]

Features (N, 512) float32 in memory, K = 1000 and 10000; beside them, in turns within one process,
the two float32 products `H W^T` and `H M^T` alone, in blocks of 64 MB, by all BLAS threads. Two
kinds of features: around class centres (about nine of ten right), and noise (all wrong, the worst
case for agreement). Counts are compared with NumPy's float64 products on the first 2000 samples.
"""

import argparse
import time

import numpy as np

from gnc_cli.geometry.sphere import random_points
from gnc_cli.metrics.decisions import Judge, stream_decisions
from gnc_cli.metrics.rows import ArrayRows, Pass
from gnc_cli.runtime.threads import available_cores, limit_threads

D = 512
NOISE = {1000: 4.7, 10000: 4.0}
"""Length of the noise beside unit centres at which about nine samples in ten are right."""


def products(H: np.ndarray, *matrices: np.ndarray) -> float:
    """Seconds that the float32 products alone take."""
    begun = time.perf_counter()
    step = (64 << 20) // (4 * len(matrices[0]))
    room = np.empty((step, len(matrices[0])), dtype=np.float32)
    for start in range(0, len(H), step):
        rows = H[start : start + step]
        for V in matrices:
            np.matmul(rows, V.T, out=room[: len(rows)])
    return time.perf_counter() - begun


def unit_means(H: np.ndarray, labels: np.ndarray, K: int) -> np.ndarray:
    """Class means of the unit rows, float64, shape (K, d)."""
    unit = H / np.linalg.norm(H.astype(np.float64), axis=1, keepdims=True)
    order = np.argsort(labels, kind="stable")
    counts = np.bincount(labels, minlength=K)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    return np.add.reduceat(unit[order], starts, axis=0) / counts[:, None]


def agree_with_float64(
    H: np.ndarray, labels: np.ndarray, W: np.ndarray, bias: np.ndarray, M: np.ndarray, n: int
) -> bool:
    """Whether counts and margins of the first n samples are those of plain float64."""
    X, y = H[:n].astype(np.float64), labels[:n]
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    named = (X @ W.T + bias).argmax(axis=1)
    near = (unit @ M.T - 0.5 * (M * M).sum(axis=1)).argmax(axis=1)
    cosines = unit @ (W / np.linalg.norm(W, axis=1, keepdims=True)).T
    own = cosines[np.arange(n), y].copy()
    cosines[np.arange(n), y] = -np.inf
    margins = own - cosines.max(axis=1)
    ours = stream_decisions(ArrayRows(H[:n]), y, Judge(weights=W, bias=bias, means=M))
    assert ours.right is not None and ours.ncc_right is not None and ours.margin_min is not None
    counts = ours.right.sum(), ours.ncc_right.sum(), ours.agree
    same = counts == ((named == y).sum(), (near == y).sum(), (named == near).sum())
    return bool(same and abs(ours.margin_min.min() - margins.min()) < 1e-14)


def case(N: int, K: int, kind: str, rounds: int) -> str:
    """Run one case and say how it went."""
    cores, rng = available_cores(), np.random.default_rng(K)
    labels = rng.permutation(np.arange(N) % K)
    W = random_points(rng, K, D) * rng.uniform(0.9, 1.1, (K, 1))
    H = rng.standard_normal((N, D), dtype=np.float32)
    if kind == "clustered":
        H *= np.float32(NOISE[K] / np.sqrt(D))
        H += W.astype(np.float32)[labels]
    bias = 0.01 * rng.standard_normal(K)
    M, counts = unit_means(H, labels, K), np.bincount(labels, minlength=K)
    small = W.astype(np.float32), M.astype(np.float32)
    took, needed = [], []
    for _ in range(rounds):
        begun = time.perf_counter()
        with limit_threads(1):
            found = stream_decisions(
                ArrayRows(H),
                labels,
                Judge(weights=W, bias=bias, means=M, own_counts=counts),
                reading=Pass(workers=cores),
            )
        took.append(time.perf_counter() - begun)
        with limit_threads(cores):
            needed.append(products(H, *small))
    assert found.right is not None and found.ncc_right is not None and found.loo_right is not None
    shares = {
        "accuracy": found.right.sum(),
        "NCC": found.ncc_right.sum(),
        "left out": found.loo_right.sum(),
        "agree": found.agree or 0,
    }
    told = ", ".join(f"{name} {count / N:.4f}" for name, count in shares.items())
    ratios = np.array(took) / needed
    same = agree_with_float64(H, labels, W, bias, M, 2000)
    return (
        f"K={K} {kind}: {min(took):.2f} s, products {min(needed):.2f} s, ratio of the best "
        f"{min(took) / min(needed):.2f}, of pairs {ratios.min():.2f} to {ratios.max():.2f}; "
        f"{told}; as float64: {same}"
    )


def main() -> None:
    """Print one line a case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--N", type=int, default=50000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--K", type=int, nargs="+", default=[1000, 10000])
    options = parser.parse_args()
    for K in options.K:
        for kind in ("clustered", "noise"):
            print(case(options.N, K, kind, options.rounds), flush=True)


if __name__ == "__main__":
    main()
