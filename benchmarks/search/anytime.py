"""Quality against wall time: gnc, pymanopt's packing and the paper's recipe, on equal cores.

    python -m benchmarks.search.anytime run     # hours; can be resumed
    python -m benchmarks.search.anytime run --pairs 10,100 --seeds 5 --limits 5 15 60 --methods gnc
    python -m benchmarks.search.anytime report  # into RESULTS.md
    python -m benchmarks.search.anytime show    # the same to stdout

- `gnc` is a run of `gnc solve --method descent --time-limit T` for each T, a process of its own;
  `before` is the same of an earlier checkout (`--before FOLDER`).
- `pymanopt` minimises `epsilon * log sum exp(cos / epsilon)` over pairs, as its packing example
  does, by conjugate gradients on the oblique manifold with a falling epsilon. Starts follow each
  other in one process per core; the best of all points evaluated by T counts, at once.
- `paper` is the paper's recipe, start after start in one process per core; a start that the time
  cuts short counts as well. Where a start takes longer than a second (K > 120), each T is a run.

Quality is the certified lower end of rho_one_vs_rest. The clock of the last two starts after their
imports and stops for their certificates, that of gnc's process does neither. Rows are kept in
work/VERSION/anytime.jsonl; a run that is there already is not repeated.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.paths import MEASURED
from benchmarks.report import machine, table, write_section
from benchmarks.runs import keep, measure, rows
from benchmarks.search.paper_recipe import paper_recipe

ROWS = MEASURED / "anytime.jsonl"
PAIRS = [(10, 100), (3, 50), (5, 43), (8, 120), (24, 500), (64, 5000)]
LIMITS = [1.0, 2.0, 3.0, 5.0, 10.0, 15.0, 30.0, 60.0]
METHODS = ["gnc", "pymanopt", "paper"]
HEADING = "## Quality against time"
_LARGE = 2896
"""Beyond, `gnc solve` is one descent with threads in place of processes."""
_PAPER_SECOND = 120
"""Up to this K a start of the paper's recipe takes a second or less."""

Improved = Callable[[np.ndarray, float], None]
"""Told of each better code (K, d) with its largest cosine."""
Search = Callable[[int, int, int, float, Improved], int]
"""`search(d, K, seed, seconds, improved)`: start after start until the time is over; how many."""


def run(
    pairs: list[tuple[int, int]],
    methods: list[str],
    seeds: int,
    limits: list[float],
    cores: int,
    before: Path | None,
) -> None:
    """Run what is not there yet, all methods of a pair and seed in turn."""
    done = {row["case"] for row in rows(ROWS)}
    for d, K in pairs:
        for seed in range(seeds):
            for method in methods:
                left = [T for T in limits if _case(method, d, K, seed, T) not in done]
                for T, row in _results(method, d, K, seed, left, cores, before):
                    about = {"method": method, "d": d, "K": K, "seed": seed, "limit": T}
                    keep({"case": _case(method, d, K, seed, T), **about, **row}, ROWS)


def _case(method: str, d: int, K: int, seed: int, T: float) -> str:
    return f"{method} ({d}, {K}) seed {seed} at {T:g} s"


def _results(
    method: str, d: int, K: int, seed: int, limits: list[float], cores: int, before: Path | None
) -> Iterator[tuple[float, dict[str, Any]]]:
    """A row for each limit."""
    if method in ("gnc", "before"):
        work = ["--threads" if K > _LARGE else "--workers", str(cores)] if method == "gnc" else []
        for T in limits:
            asked = ["--d", str(d), "--K", str(K), "--method", "descent", "--time-limit", str(T)]
            folder = before if method == "before" else None
            yield T, measure([*asked, "--seed", str(seed), *work], folder)
        return
    search = {"pymanopt": pymanopt_packing, "paper": paper_starts}[method]
    together = method == "pymanopt" or K <= _PAPER_SECOND
    for group in [limits] if together else [[T] for T in limits]:
        if group:
            yield from race(search, d, K, seed, group, cores)


def race(
    search: Search, d: int, K: int, seed: int, limits: list[float], cores: int
) -> Iterator[tuple[float, dict[str, Any]]]:
    """Run a search in one process per core, with seeds of their own; the best by each limit."""
    from gnc_cli.codes.certify import certify_code

    with ProcessPoolExecutor(cores, get_context("spawn")) as processes:
        works = [
            processes.submit(_marks, search, d, K, cores * seed + core, limits)
            for core in range(cores)
        ]
        ends = [work.result() for work in works]
    best: tuple[float, np.ndarray] | None = None
    for T, *found in zip(limits, *ends, strict=True):
        best = min([*filter(None, found), *filter(None, [best])], key=lambda b: b[0], default=None)
        if best is None:  # no start has ended yet
            yield T, {"wall": T}
            continue
        made = certify_code(best[1], tolerance=1e-4)
        rho = {"lower": made.rho_one_vs_rest.lower, "upper": made.rho_one_vs_rest.upper}
        yield T, {"wall": T, "result": {"max_cosine": made.max_cosine, "rho_one_vs_rest": rho}}


def _marks(
    search: Search, d: int, K: int, seed: int, limits: list[float]
) -> list[tuple[float, np.ndarray] | None]:
    """In a process of its own: the largest cosine and the code last improved before each limit."""
    from gnc_cli.runtime.threads import limit_threads

    marks: list[tuple[float, np.ndarray] | None] = [None] * len(limits)
    best = np.inf
    last = len(limits) - 1

    def improved(weights: np.ndarray, cosine: float) -> None:
        nonlocal best
        if cosine < best:
            # What comes after the last limit was cut by it.
            mark = min(int(np.searchsorted(limits, time.perf_counter() - begun)), last)
            best, marks[mark] = cosine, (cosine, weights.copy())

    import pymanopt  # noqa: F401  # loaded before the clock starts

    with limit_threads(1):
        begun = time.perf_counter()
        search(d, K, seed, limits[-1], improved)
    return marks


def paper_starts(d: int, K: int, seed: int, seconds: float, improved: Improved) -> int:
    """The paper's recipe, start after start."""
    from gnc_cli.geometry.gram import row_maxima
    from gnc_cli.runtime.deadline import Deadline

    deadline, start = Deadline(seconds), 0
    while not deadline.expired:
        weights = paper_recipe(d, K, seed=1000 * seed + start, stop=lambda: deadline.expired)
        improved(weights, float(row_maxima(weights)[0].max()))
        start += 1
    return start


def pymanopt_packing(d: int, K: int, seed: int, seconds: float, improved: Improved) -> int:
    """pymanopt's packing problem, restated from its published objective, start after start."""
    import pymanopt
    from pymanopt.manifolds import Oblique
    from pymanopt.optimizers import ConjugateGradient

    manifold = Oblique(d, K)  # columns are points there
    begun, start = time.perf_counter(), 0
    while time.perf_counter() - begun < seconds:
        np.random.seed(1000 * seed + start)
        columns = manifold.random_point()
        for epsilon in (0.1, 0.01, 0.001, 0.0001):
            left = seconds - (time.perf_counter() - begun)
            if left <= 0.0:
                break

            @pymanopt.function.numpy(manifold)
            def cost(X: np.ndarray, epsilon: float = epsilon) -> float:
                value, _, top = smooth_maximum(X.T, epsilon)
                improved(X.T, top)
                return value

            @pymanopt.function.numpy(manifold)
            def gradient(X: np.ndarray, epsilon: float = epsilon) -> np.ndarray:
                return smooth_maximum(X.T, epsilon)[1].T

            problem = pymanopt.Problem(manifold, cost, euclidean_gradient=gradient)
            optimizer = ConjugateGradient(max_time=left, max_iterations=2000, verbosity=0)
            columns = optimizer.run(problem, initial_point=columns).point
        start += 1
    return start


def smooth_maximum(points: np.ndarray, epsilon: float) -> tuple[float, np.ndarray, float]:
    """`epsilon * log sum exp(cos / epsilon)` over pairs of rows, gradient, and largest cosine."""
    gram = points @ points.T
    np.fill_diagonal(gram, -np.inf)
    top = float(gram.max())
    weights = np.exp((gram - top) / epsilon)
    total = weights.sum()
    return top + epsilon * float(np.log(total)), 2.0 * weights @ points / total, top


def medians(kept: list[dict[str, Any]]) -> dict[tuple[int, int], dict[str, dict[float, float]]]:
    """Of the certified rho over seeds: by pair, method and limit; 0 where no start had ended."""
    values: dict[tuple[int, int], dict[str, dict[float, list[float]]]] = {}
    for row in kept:
        if "failed" not in row:
            pair = values.setdefault((row["d"], row["K"]), {})
            rho = row["result"]["rho_one_vs_rest"]["lower"] if "result" in row else 0.0
            pair.setdefault(row["method"], {}).setdefault(row["limit"], []).append(rho)
    return {
        pair: {
            name: {T: median(found) for T, found in sorted(curve.items())}
            for name, curve in methods.items()
        }
        for pair, methods in values.items()
    }


def section(kept: list[dict[str, Any]], where: str) -> str:
    """Markdown: the medians, and what they say."""
    found = medians(kept)
    limits = sorted({T for methods in found.values() for curve in methods.values() for T in curve})
    lines, above = [], []
    for (d, K), methods in found.items():
        for method, curve in methods.items():
            seeds = {r["seed"] for r in kept if (r["method"], r["d"], r["K"]) == (method, d, K)}
            shown = [f"{curve[T]:.6f}" if curve.get(T) else "-" for T in limits]
            lines.append([f"({d}, {K})", method, str(len(seeds)), *shown])
        above.append(f"- ({d}, {K}): {_above(methods)}")
    ours = [row for row in kept if row["method"] == "gnc" and "result" in row]
    late = max((row["wall"] - row["limit"] for row in ours), default=0.0)
    failed = [f"- {row['case']}: exit {row['failed']}" for row in kept if "failed" in row]
    head = ["(d, K)", "method", "seeds", *(f"{T:g} s" for T in limits)]
    return "\n\n".join(
        [
            HEADING,
            f"Machine: {where}. Certified rho_one_vs_rest, medians over seeds. `gnc`: a process "
            f"`gnc solve --method descent --time-limit T` for each T, start-up inside; it ended at "
            f"most {late:.1f} s after T. `pymanopt`: its packing problem, log-sum-exp by conjugate "
            "gradients with a falling epsilon. `paper`: the paper's recipe. These two start again "
            "and again in one process per core, without start-up. `-`: nothing yet.",
            table(head, lines),
            "gnc is above both others:\n\n" + "\n".join(above + failed),
        ]
    )


def _above(methods: dict[str, dict[float, float]]) -> str:
    """From which limit on gnc's median is the largest, in words."""
    ours = methods.get("gnc", {})
    others = [curve for name, curve in methods.items() if name in ("pymanopt", "paper")]
    both = [T for T in ours if all(T in curve for curve in others)]
    if not others or not both:
        return "not compared"
    behind = [T for T in both if ours[T] <= max(curve[T] for curve in others)]
    after = [T for T in both if T > max(behind, default=0.0)]
    return f"from {after[0]:g} s" if after else f"not by {both[-1]:g} s"


def main() -> None:
    """Parse and go."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument("--pairs", nargs="+", type=_pair, default=PAIRS, metavar="D,K")
    running.add_argument("--methods", nargs="+", default=METHODS, choices=[*METHODS, "before"])
    running.add_argument("--seeds", type=int, default=3, help="seeds 0, 1, ...")
    running.add_argument("--limits", nargs="+", type=float, default=LIMITS, metavar="SECONDS")
    running.add_argument("--largest", type=float, help="no limits beyond this")
    running.add_argument("--cores", type=int, default=2)
    running.add_argument("--before", type=Path, help="checkout of an earlier version")
    commands.add_parser("report")
    commands.add_parser("show")
    asked = parser.parse_args()
    if asked.command == "run":
        limits = [T for T in sorted(asked.limits) if T <= (asked.largest or T)]
        run(asked.pairs, asked.methods, asked.seeds, limits, asked.cores, asked.before)
    elif asked.command == "report":
        write_section("anytime", section(rows(ROWS), machine()))
    else:
        print(section(rows(ROWS), machine()))


def _pair(text: str) -> tuple[int, int]:
    d, K = text.split(",")
    return int(d), int(K)


if __name__ == "__main__":
    main()
