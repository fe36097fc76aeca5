"""Processor time of `measure` from a file against plain NumPy that computes the same values.

    python -m benchmarks.measure.plain [--rounds 3] [--start]

Features float32 in a contiguous HDF5 file, labels shuffled, a classifier with a bias. The script
reads all into memory and computes in float64, block by block: class means and covariance of unit
rows, GNC1 and GNC3 in both forms, accuracy, nearest class means, agreement; with `--variants
classic` also the moments of raw rows, NC1 to NC4, CDNV, angles, ETF errors, energies and effective
ranks. It has no GNC2, margins, leave-one-out accuracy, forms of the head or spectrum of the
features, and it proves nothing. Each run is a process on one thread, in turns; its processor time
counts, imports included. `--start` measures small files beside `gnc --help` instead.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import h5py
import numpy as np

CASES = [
    (50_000, 768, 1000, "none"),
    (50_000, 768, 1000, "classic"),
    (200_000, 256, 1000, "none"),
    (200_000, 256, 1000, "classic"),
    (50_000, 512, 10_000, "classic"),
]
SMALL = [(10, 4), (10, 64), (100, 10), (100, 64)]
STEP = 4096
"""Rows at a time: as fast as any number, and twice as fast as all at once."""


def write(file: Path, N: int, d: int, K: int) -> None:
    """Write features around K random directions, in blocks of rows; labels, weights and a bias."""
    rng = np.random.default_rng(K)
    W = rng.standard_normal((K, d), dtype=np.float32)
    labels = np.concatenate([np.arange(K), rng.integers(0, K, N - K)])
    rng.shuffle(labels)
    with h5py.File(file, "w") as h5:
        features = h5.create_dataset("features", (N, d), "f4")
        for start in range(0, N, 20_000):
            y = labels[start : start + 20_000]
            noise = rng.standard_normal((len(y), d), dtype=np.float32)
            features[start : start + len(y)] = np.float32(0.2) * W[y] + noise
        h5["labels"], h5["weights"] = labels, W
        h5["bias"] = rng.standard_normal(K) / 10


def unit_rows(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def gnc1(within: np.ndarray, means: np.ndarray) -> float:
    between = means.T @ means / len(means)
    return float(np.trace(within @ np.linalg.pinv(between, hermitian=True)) / len(means))


def script(file: str, variants: str) -> dict[str, float]:
    """Compute the values as one would write them in NumPy."""
    with h5py.File(file) as h5:
        features, y, W, bias = (h5[name][()] for name in ("features", "labels", "weights", "bias"))
    W = W.astype(np.float64)
    (N, d), K = features.shape, len(W)
    counts = np.bincount(y, minlength=K)[:, None]
    sums = np.zeros((2, K, d))
    for start in range(0, N, STEP):
        labels = y[start : start + STEP]
        for space, rows in enumerate(spaces(features[start : start + STEP], variants)):
            np.add.at(sums[space], labels, rows)
    means = sums / counts
    halves = (means * means).sum(axis=2) / 2.0
    within, spread = np.zeros((2, d, d)), np.zeros(K)
    right, nearest_right, agree, raw_agree = 0, 0, 0, 0
    for start in range(0, N, STEP):
        labels = y[start : start + STEP]
        named = (features[start : start + STEP].astype(np.float64) @ W.T + bias).argmax(axis=1)
        nearest = []
        for space, rows in enumerate(spaces(features[start : start + STEP], variants)):
            deviations = rows - means[space][labels]
            within[space] += deviations.T @ deviations
            nearest.append((rows @ means[space].T - halves[space]).argmax(axis=1))
            if space == 1:
                np.add.at(spread, labels, (deviations * deviations).sum(axis=1))
        right += int((named == labels).sum())
        nearest_right += int((nearest[0] == labels).sum())
        agree += int((nearest[0] == named).sum())
        raw_agree += int((nearest[-1] == named).sum())
    within /= N
    centred, raw_centred = (M - M.mean(axis=0) for M in means)
    units = unit_rows(W)
    values = {
        "gnc1": gnc1(within[0], means[0]),
        "gnc1_centred": gnc1(within[0], centred),
        "gnc3": float(1.0 - (units * means[0]).sum(axis=1).mean()),
        "gnc3_centred": float(1.0 - (units * unit_rows(centred)).sum(axis=1).mean()),
        "accuracy": right / N,
        "ncc_accuracy": nearest_right / N,
        "ncc_agreement": agree / N,
    }
    if variants == "classic":
        values |= {"nc1": gnc1(within[1], raw_centred), "nc4": raw_agree / N}
        values |= classic(raw_centred, W, spread / counts[:, 0])
        values |= evenness(unit_rows(means[1]), "", "_means")
        values |= evenness(units, "_weights", "_weights")
    return values


def spaces(rows: np.ndarray, variants: str) -> list[np.ndarray]:
    """Return the unit rows, and the raw rows for the classic metrics."""
    raw = rows.astype(np.float64)
    return [unit_rows(raw), raw] if variants == "classic" else [unit_rows(raw)]


def classic(M: np.ndarray, W: np.ndarray, spread: np.ndarray) -> dict[str, float]:
    """Compute the metrics of pairs of centred class means, and ETF errors."""
    K = len(M)
    gram, norms = M @ M.T, np.linalg.norm(M, axis=1)
    squares = norms[:, None] ** 2 + norms**2 - 2.0 * gram
    np.fill_diagonal(squares, np.inf)
    off = ~np.eye(K, dtype=bool)
    cosines = (gram / np.outer(norms, norms))[off]
    lengths = np.linalg.norm(W, axis=1)
    return {
        "cdnv": float(((spread[:, None] + spread) / (2.0 * squares)).sum() / (K * (K - 1))),
        "nc2_equinorm_means": float(norms.std() / norms.mean()),
        "nc2_equinorm_weights": float(lengths.std() / lengths.mean()),
        "nc2_equiangularity": float(cosines.std()),
        "nc2_max_angle": float(np.abs(cosines + 1.0 / (K - 1)).mean()),
        "nc2_etf_error": etf_error(gram),
        "nc2_etf_error_weights": etf_error(W @ W.T),
        "nc3_dual_etf_error": etf_error(W @ M.T),
        "nc3": float(np.linalg.norm(W / np.linalg.norm(W) - M / np.linalg.norm(M))),
    }


def etf_error(gram: np.ndarray) -> float:
    K = len(gram)
    target = (np.eye(K) - 1.0 / K) / np.sqrt(K - 1)
    return float(np.linalg.norm(gram / np.linalg.norm(gram) - target))


def evenness(X: np.ndarray, of_energy: str, of_rank: str) -> dict[str, float]:
    """Compute energies and the effective rank of unit rows."""
    squares = (2.0 - 2.0 * (X @ X.T))[~np.eye(len(X), dtype=bool)]
    shares = np.linalg.svd(X, compute_uv=False)
    shares = shares[shares > 0.0] / shares.sum()
    return {
        f"log_energy{of_energy}": float(-0.5 * np.log(squares).mean()),
        f"riesz_energy{of_energy}": float((1.0 / np.sqrt(squares)).mean()),
        f"effective_rank{of_rank}": float(np.exp(-(shares @ np.log(shares)))),
    }


def ours(file: str, variants: str) -> tuple[dict[str, float], float]:
    """Measure the file; its values by name, and the processor time of GNC2."""
    from gnc_cli import measure
    from gnc_cli.collapse import assemble

    spent, detail = 0.0, assemble.gnc2_detail

    def timed(*args: object, **more: object) -> object:
        nonlocal spent
        begun = time.process_time()
        result = detail(*args, **more)  # type: ignore[arg-type]
        spent += time.process_time() - begun
        return result

    assemble.gnc2_detail = timed  # type: ignore[assignment]
    result = measure(file, threads=1, variants=variants)
    values = {k: v for k, v in result.flat().items() if isinstance(v, float) and "classes" not in k}
    found = {name.rpartition(".")[2].removeprefix("gnc/"): value for name, value in values.items()}
    return found, spent


def processor_time(*args: str) -> tuple[float, str]:
    """Run Python on one thread; its processor time in seconds, and what it printed."""
    before = os.times()
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, *args]
    done = subprocess.run(command, check=True, env=environment, text=True, capture_output=True)
    after = os.times()
    user = after.children_user - before.children_user
    return user + after.children_system - before.children_system, done.stdout


def case(file: Path, N: int, d: int, K: int, variants: str, rounds: int) -> str:
    """Run one case and return its row of the table."""
    write(file, N, d, K)
    took = np.empty((rounds, 3))
    for turn in range(rounds):
        run = ("-m", "benchmarks.measure.plain", "--file", str(file), "--variants", variants)
        took[turn, 0], printed = processor_time(*run, "--run", "ours")
        took[turn, 2], values = processor_time(*run, "--run", "script")
        spent, _, mine = printed.partition(" ")
        took[turn, 1] = took[turn, 0] - float(spent)
    theirs, found = eval(values), eval(mine, {"nan": np.nan})
    error = max(abs(found[name] / value - 1.0) for name, value in theirs.items() if name in found)
    whole, sample = (sorted(took[:, i] / took[:, 2]) for i in (0, 1))
    best = took.min(axis=0)
    ranges = (f"{np.median(r):.2f} ({r[0]:.2f} to {r[-1]:.2f})" for r in (sample, whole))
    return (
        f"| {N:,} | {d} | {K:,} | {variants} | {best[2]:.1f} | {best[1]:.1f} "
        f"| {best[0]:.1f} | {' | '.join(ranges)} | {error:.0e} |"
    )


def start_up(folder: Path, rounds: int) -> None:
    """Print the processor time of small files beside that of `--help`."""
    commands = {"gnc --help": ["--help"]}
    for K, d in SMALL:
        for suffix in (".h5", ".npz"):
            file = folder / f"{K}-{d}{suffix}"
            rng = np.random.default_rng(0)
            W, y = rng.standard_normal((K, d)), np.arange(10 * K) % K
            sets: dict[str, Any] = {
                "weights": W,
                "labels": y,
                "features": W[y] + rng.standard_normal((len(y), d)),
            }
            if suffix == ".npz":
                np.savez(file, **sets)
            else:
                with h5py.File(file, "w") as h5:
                    for name, values in sets.items():
                        h5[name] = values
            commands[f"K = {K}, d = {d}, {suffix}"] = ["measure", str(file)]
    took = {
        name: [processor_time("-m", "gnc_cli", *words)[0] for _ in range(rounds)]
        for name, words in commands.items()
    }
    least = np.median(took["gnc --help"])
    print("| command | CPU s | times `gnc --help` |\n| --- | --- | --- |")
    for name, seconds in took.items():
        print(f"| {name} | {np.median(seconds):.2f} | {np.median(seconds) / least:.2f} |")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--start", action="store_true")
    parser.add_argument("--run", choices=["ours", "script"], help=argparse.SUPPRESS)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    parser.add_argument("--variants", default="none", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run == "ours":
        found, spent = ours(options.file, options.variants)
        print(spent, found)
        return
    if options.run == "script":
        print(script(options.file, options.variants))
        return
    with tempfile.TemporaryDirectory() as folder:
        if options.start:
            start_up(Path(folder), options.rounds)
            return
        names = "N | d | K | variants | script: CPU s | sample part | whole | sample part / script"
        print(f"| {names} | whole / script | difference |\n|{' --- |' * 10}")
        for N, d, K, variants in CASES:
            rounds = options.rounds if K < 10_000 else 1
            print(case(Path(folder) / "features.h5", N, d, K, variants, rounds), flush=True)


if __name__ == "__main__":
    main()
