"""Everything that benchmarks/RESULTS.md shows, one after the other; each part can be resumed."""

import subprocess
import sys

PARTS = (
    "search.solve run softmax tammes3 tammes large",
    "search.solve report",
    "search.anytime run --seeds 5",
    "search.anytime report",
    "search.held_out run --d 3 --seconds 60",
    "search.held_out run --d 4..8 --seconds 600",
    "search.held_out run --d 9..24 --most 3 --seconds 120",
    "search.held_out report",
    "search.regime run",
    "search.regime report",
    "cost.scaling run",
    "cost.scaling report",
    "constructions leech isotropic-9",
    "search.engineers",
    "measure.models",
    "measure moments decisions gnc2 recipe large report",
    "bounds times grid report",
    "bounds.intervals",
    "training.train temperature heads placements processes speed report",
    "training.paper run",
    "training.paper report",
)

if __name__ == "__main__":
    for part in PARTS:
        module, *arguments = part.split()
        subprocess.run([sys.executable, "-m", f"benchmarks.{module}", *arguments], check=True)
