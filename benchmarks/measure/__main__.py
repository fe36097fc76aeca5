"""What `gnc measure` needs: moments, decisions and GNC2 beside their targets, for RESULTS.md.

    python -m benchmarks.measure moments decisions gnc2 recipe large   # on a quiet machine
    python -m benchmarks.measure report

Each part runs its own module; what it printed is kept in work/VERSION/measure.json, so that
parts can be run one by one. `report` writes the section between the markers of RESULTS.md.
"""

import json
import subprocess
import sys

from benchmarks.paths import MEASURED
from benchmarks.report import machine, write_section

KEPT = MEASURED / "measure.json"
PARTS = {
    "plain": ["plain"],
    "start": ["plain", "--start"],
    "moments": ["moments", "--rounds", "7"],
    "large": ["moments", "--large"],
    "decisions": ["decisions", "--rounds", "5"],
    "gnc2": ["gnc2", "random", "solved", "near"],
    "recipe": ["gnc2", "recipe"],
}
TITLES = {
    "plain": "### From a file, beside plain NumPy: processor time on one thread",
    "start": "### Small files, beside `gnc --help`",
    "moments": "### Moments, GNC1, GNC3 from the file: features (50000, 512) float32",
    "large": "### Two million rows, d = 512 (4 GB), K = 1000",
    "decisions": "### NCC, accuracy, agreement, margins: features (50000, 512) float32",
    "gnc2": "### GNC2 with its certificate",
    "recipe": "### GNC2 beside the subgradient recipe",
}
NOTES = {
    "plain": "`script` is blocked NumPy in float64 without GNC2, margins, leave-one-out accuracy "
    "and spectrum; with `classic` it computes NC1 to NC4 as well. `measure` does so with `none`, "
    "too, up to 5000 classes: the rows `classic` compare equal work. `sample part` is all of "
    "`measure`, its start included, but GNC2. Best of the rounds; ratios are medians, with their "
    "range.",
    "start": "Processor time of whole processes on one thread, medians.",
    "moments": "`needed` is the raw read through h5py, `D^T D`, `M^T M` and `eigh`; `script` is "
    "plain NumPy in float64, two passes, the features already in memory. In turns in one process. "
    "Two million rows take about 1.3 times as long a row as `needed` does.",
    "large": "Streamed in chunks, one process.",
    "decisions": "`products` are the two float32 matrix products alone, on the same threads; ours "
    "gives margins, leave-one-out and agreement as well.",
    "gnc2": "`classes` is how many have a bracket of their own; the minimum is always certified.",
    "recipe": "The 10,000 subgradient steps that public code takes, in float32, on unit h of all "
    "classes: in torch with autograd, and by hand in NumPy. Ours brackets all classes.",
}


def run(part: str) -> None:
    """Run a part and keep what it prints."""
    command = [sys.executable, "-m", f"benchmarks.measure.{PARTS[part][0]}", *PARTS[part][1:]]
    done = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE)
    print(done.stdout)
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    KEPT.write_text(json.dumps(kept | {part: done.stdout.strip()}))


def report() -> None:
    """Write the section of RESULTS.md."""
    kept = json.loads(KEPT.read_text())
    said = ["## gnc measure", f"Machine: {machine()}."]
    for part, title in TITLES.items():
        if part in kept:
            lines = kept[part].splitlines()
            plain = not any(line.startswith("|") for line in lines)
            body = "\n".join(f"- {line}" for line in lines) if plain else kept[part]
            said += [title, NOTES[part], body]
    write_section("measure", "\n\n".join(said))


if __name__ == "__main__":
    for word in sys.argv[1:]:
        report() if word == "report" else run(word)
