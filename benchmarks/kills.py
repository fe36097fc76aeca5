"""SIGKILL at random moments: `python -m benchmarks.kills 60` kills 60 commands and counts.

Each command is killed, then run to its end in the same folder. Counted are files that can no longer
be read, runs that cannot go on, and temporary files that are left after the next run.
"""

import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from gnc_cli import compare, measure

COMMANDS = {
    "solve": ("solve --d 5 --K 24 --time-limit 3 --out a.h5 --force", 6.0),
    "solve --resume": ("solve --d 5 --K 24 --time-limit 3 --out a.h5 --resume", 6.0),
    "measure --resume": ("measure s.npz t.npz u.npz --out rows.jsonl --resume", 4.0),
    "compare --solve": ("compare --solve --d 3 --K 5..9 --budget 1 --out rows.jsonl --resume", 8.0),
    "train": ("train --classes 4 --image-size 16 --epochs 3 --out run --resume", 20.0),
}
"""By name: the command, and seconds within which it is killed."""


def one(name: str, rng: random.Random) -> dict[str, int]:
    """Kill a command once, run it again, and count what is wrong."""
    words, seconds = COMMANDS[name]
    command = [sys.executable, "-m", "gnc_cli", *words.split()]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        W = np.random.default_rng(0).normal(size=(30, 8))
        for letter in "stu":
            np.savez(place / f"{letter}.npz", weights=W)
        first = subprocess.Popen(command, cwd=place, **quiet)  # type: ignore[call-overload]
        time.sleep(rng.uniform(0.5, seconds))
        killed = first.poll() is None
        first.kill()
        first.wait()
        corrupt = 0
        if (place / "a.h5").exists():
            try:
                compare(place / "a.h5")
                measure(weights=place / "a.h5")
            except ValueError:
                corrupt = 1
        again = subprocess.run(command, cwd=place, **quiet)  # type: ignore[call-overload]
        left = len(list(place.rglob(".gnc-*")))
    return {"killed": killed, "corrupt": corrupt, "stuck": again.returncode != 0, "left": left}


def main() -> None:
    """Kill as many commands as the first argument says."""
    rng, total = random.Random(0), int(sys.argv[1]) if len(sys.argv) > 1 else 60
    sums = {name: dict.fromkeys(("killed", "corrupt", "stuck", "left"), 0) for name in COMMANDS}
    for at in range(total):
        name = list(COMMANDS)[at % len(COMMANDS)]
        for key, value in one(name, rng).items():
            sums[name][key] += value
        print(f"{at + 1} of {total}", file=sys.stderr)
    for name, counts in sums.items():
        print(f"{name:18}", *(f"{key} {value}" for key, value in counts.items()))


if __name__ == "__main__":
    main()
