"""Processor time of two commits, in turns within one run: which commands became slower or faster.

    python -m benchmarks.history HEAD~20                        # HEAD compared with an older commit
    python -m benchmarks.history main HEAD --rounds 9
    python -m benchmarks.history HEAD~1 --cases help bounds     # some cases only
    python -m benchmarks.history HEAD~1 --at-most 1.25          # exit 1 where one is slower, for CI

Each commit is checked out into a folder of its own. Every round runs every case once per commit,
and each round begins with the other commit, so that both meet the same load. Ratios are formed
within rounds, and no round is dropped: the first one (nothing compiled or cached yet) is printed by
itself, outlying rounds are counted, and the load is printed before and after. The interval of the
median is that of two order statistics and holds for any distribution of the noise. A difference
that is smaller than its interval is `undecided`. Rows are added to benchmarks/work/history.jsonl.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.paths import ROOT, WORK
from benchmarks.report import table

ROWS = WORK / "history.jsonl"
CASES = {
    "help": "--help",
    "bounds": "bounds --d 10 --K 100 -q",
    "bounds (8, 240)": "bounds --d 8 --K 240 -q",
    "solve (3, 24)": "solve --d 3 --K 24 -q",
    "solve (10, 100)": "solve --d 10 --K 100 --restarts 32 --method descent --workers 1 -q",
    "measure small": "measure small.npz -q",
    "measure middle": "measure middle.npz -q",
}
FILES = {"small.npz": (200, 8, 10), "middle.npz": (50_000, 128, 200)}
"""Samples, dimensions and classes of the files that the cases measure."""
ROUNDS = 7
"""Seven rounds have an interval of 98 % from the least to the largest ratio."""
CONFIDENCE = 0.9
"""Least probability that the interval holds the median."""
SAME = 0.05
"""An interval within this distance of 1 shows that nothing changed that a user would see."""
OUTLYING = 5.0
"""A ratio this many median deviations from the median is an outlier."""


@dataclass(frozen=True)
class Comparison:
    """Ratios of processor time, one per round, and what they show."""

    ratios: list[float]

    @property
    def middle(self) -> float:
        """The median ratio."""
        return median(self.ratios)

    @property
    def interval(self) -> tuple[float, float]:
        """The narrowest pair of order statistics, as far from both ends, that holds the median."""
        ranked, number = sorted(self.ratios), len(self.ratios)
        outside, skipped = 2.0 / 2**number, 0  # both tails, of the least and the largest ratio
        while True:
            outside += 2.0 * math.comb(number, skipped + 1) / 2**number
            if outside > 1.0 - CONFIDENCE or 2 * (skipped + 1) >= number:
                return ranked[skipped], ranked[number - 1 - skipped]
            skipped += 1

    @property
    def outliers(self) -> int:
        """The number of rounds far from the others. They are counted, and kept."""
        deviations = [abs(ratio - self.middle) for ratio in self.ratios]
        return sum(deviation > OUTLYING * median(deviations) for deviation in deviations)

    @property
    def verdict(self) -> str:
        """One of `slower`, `faster`, `same` and `undecided`."""
        lower, upper = self.interval
        if max(1.0 - lower, upper - 1.0) <= SAME:
            return "same"
        if upper - lower >= abs(self.middle - 1.0):
            return "undecided"
        return "slower" if self.middle > 1.0 else "faster"


@contextmanager
def checkouts(commits: list[str]) -> Iterator[dict[str, Path]]:
    """Check commits out into temporary folders, beside a folder `files` with the measured files."""
    with tempfile.TemporaryDirectory() as scratch:
        folders = {commit: Path(scratch) / str(number) for number, commit in enumerate(commits)}
        try:
            for commit, folder in folders.items():
                _git("worktree", "add", "--quiet", "--detach", str(folder), commit)
            yield folders
        finally:
            for folder in folders.values():
                _git("worktree", "remove", "--force", str(folder))


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def write_files(folder: Path) -> None:
    """Write features around the class means, labels and the weights of a head."""
    for name, (N, d, K) in FILES.items():
        rng = np.random.default_rng(0)
        weights, labels = rng.standard_normal((K, d)), np.arange(N) % K
        features = weights[labels] + 0.3 * rng.standard_normal((N, d))
        arrays = {"features": features, "weights": weights}
        np.savez(
            folder / name,
            labels=labels,
            **{key: array.astype(np.float32) for key, array in arrays.items()},
        )


def processor_seconds(case: str, checkout: Path, folder: Path) -> float:
    """Run one case of a checkout in a folder; return the processor time of the whole process."""
    environment = os.environ | {"PYTHONPATH": str(checkout), "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "gnc_cli", *CASES[case].split()],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
    )
    _, status, use = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"gnc {CASES[case]} of {checkout} ended with {process.returncode}")
    return use.ru_utime + use.ru_stime


def measure(commits: list[str], cases: list[str], rounds: int) -> dict[str, list[list[float]]]:
    """Return the processor seconds of each case: a list per round, in the order of the commits."""
    spent: dict[str, list[list[float]]] = {case: [] for case in cases}
    with checkouts(commits) as folders, tempfile.TemporaryDirectory() as files:
        write_files(Path(files))
        for number in range(rounds):
            for case in cases:
                turns = commits[::-1] if number % 2 else commits
                seconds = {
                    commit: processor_seconds(case, folders[commit], Path(files))
                    for commit in turns
                }
                spent[case].append([seconds[commit] for commit in commits])
    return spent


def report(spent: dict[str, list[list[float]]]) -> str:
    """Return the table in Markdown, one row per case."""
    lines = []
    for case, rounds in spent.items():
        comparison = compare(rounds)
        base, now = (median(column) for column in zip(*rounds, strict=True))
        lower, upper = comparison.interval
        lines.append(
            [
                case,
                f"{base:.2f}",
                f"{now:.2f}",
                "{:.2f}, {:.2f}".format(*rounds[0]),
                f"{comparison.middle:.2f}",
                f"{lower:.2f} .. {upper:.2f}",
                str(comparison.outliers),
                comparison.verdict,
            ]
        )
    head = ["case", "base CPU s", "now CPU s", "first round", "ratio", "interval", "outliers", ""]
    return table(head, lines)


def compare(rounds: list[list[float]]) -> Comparison:
    """Return the ratios now / base of the rounds of one case."""
    return Comparison([now / base for base, now in rounds])


def main() -> None:
    """Measure, print, and fail where a case is slower than allowed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base", help="the commit to compare with")
    parser.add_argument("commit", nargs="?", default="HEAD")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--at-most", type=float, default=math.inf, metavar="RATIO")
    options = parser.parse_args()
    if 2.0 / 2**options.rounds > 1.0 - CONFIDENCE:
        parser.error("too few rounds for an interval: --rounds must be 5 or more")
    commits = [_git("rev-parse", name) for name in (options.base, options.commit)]
    if commits[0] == commits[1]:
        parser.error("both names are one commit")
    before = os.getloadavg()[0]
    spent = measure(commits, options.cases, options.rounds)
    load = [before, os.getloadavg()[0]]
    ROWS.parent.mkdir(exist_ok=True)
    with ROWS.open("a") as file:
        file.write(json.dumps({"commits": commits, "load": load, "spent": spent}) + "\n")
    shown = [commit[:8] for commit in commits]
    print(
        f"{shown[1]} compared with {shown[0]}: processor seconds, {options.rounds} rounds in turns,"
        f" one thread; {os.cpu_count()} cores, load {load[0]:.1f} before and {load[1]:.1f} after\n"
    )
    print(report(spent))
    slower = [case for case in spent if compare(spent[case]).interval[0] > options.at_most]
    if slower:
        sys.exit(f"slower than {options.at_most:g} times the base: {', '.join(slower)}")


if __name__ == "__main__":
    main()
