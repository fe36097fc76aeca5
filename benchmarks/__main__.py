"""Everything that benchmarks/RESULTS.md shows, one after the other; each part can be resumed."""

import subprocess
import sys

PARTS = (
    "solve run softmax tammes3 tammes large",
    "solve report",
    "anytime run --seeds 5",
    "anytime report",
    "held_out run --d 3 --seconds 60",
    "held_out run --d 4..8 --seconds 600",
    "held_out run --d 9..24 --most 3 --seconds 120",
    "held_out report",
    "regime run",
    "regime report",
    "scaling run",
    "scaling report",
    "constructions leech isotropic-9",
    "engineers",
    "models",
    "measure moments decisions gnc2 recipe large report",
    "bounds times grid report",
    "intervals",
    "train temperature heads placements processes speed report",
    "paper run",
    "paper report",
)

if __name__ == "__main__":
    for part in PARTS:
        module, *arguments = part.split()
        subprocess.run([sys.executable, "-m", f"benchmarks.{module}", *arguments], check=True)
