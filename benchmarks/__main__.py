"""Everything that benchmarks/RESULTS.md shows, one after the other; each part can be resumed."""

import subprocess
import sys

PARTS = (
    "solve run softmax tammes3 tammes large versus",
    "solve report",
    "constructions leech isotropic-9",
    "engineers",
    "measure moments decisions gnc2 recipe large report",
    "bounds times grid report",
    "train temperature heads placements processes speed report",
)

if __name__ == "__main__":
    for part in PARTS:
        module, *arguments = part.split()
        subprocess.run([sys.executable, "-m", f"benchmarks.{module}", *arguments], check=True)
