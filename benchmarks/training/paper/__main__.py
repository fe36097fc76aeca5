"""The figures of arXiv 2310.05351 on real images: Fashion-MNIST, and Hangul in many fonts.

    python -m benchmarks.training.paper run                  # all without a GPU, the cheapest first
    python -m benchmarks.training.paper run 4 2 --most 1200  # begin no run after 20 minutes
    python -m benchmarks.training.paper run 3 --fonts DIR    # fonts elsewhere than the system's
    python -m benchmarks.training.paper report               # RESULTS.md, docs/results-paper-*.svg
    python -m benchmarks.training.paper show

Each run is a process `gnc train ... --json` on one thread (figure B.2: `gnc solve`), or on a GPU
with all cores, which draw and measure. Rows are kept in work/VERSION/paper.jsonl; a run that is
there already is not repeated, one that was cut or failed starts anew.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import h5py

from benchmarks.paths import MEASURED
from benchmarks.report import machine, write_section
from benchmarks.runs import rows
from benchmarks.training.paper.figures import BEFORE, FIGURES, FONTS, Case, cases
from benchmarks.training.paper.plots import draw
from benchmarks.training.paper.tables import section

ROWS = MEASURED / "paper.jsonl"
PACKAGES = (
    "The images are in Debian's packages dataset-fashion-mnist, and fonts-nanum fonts-unfonts-core "
    "fonts-unfonts-extra fonts-baekmuk (--fonts DIR where they lie elsewhere)."
)
_KEPT = (
    "test_accuracy",
    "ood_accuracy",
    "train_accuracy",
    "test_ncc_accuracy",
    "ncc_accuracy",
    "gnc1",
    "gnc3",
    "loss",
    "images_per_second",
    "seconds",
    "gnc2",
    "gnc2_reference",
    "head",
)


def run(figures: list[str], fonts: Path, most: float) -> None:
    """Run what is not there yet, and begin nothing after `most` seconds."""
    begun = time.monotonic()
    done = {row["case"] for row in rows(ROWS)}
    for figure in figures:
        for case in cases(figure):
            if case.case in done:
                continue
            if time.monotonic() - begun > most:
                return
            try:
                row = measured(case, fonts)
            except subprocess.CalledProcessError as error:
                print(f"{case.case}: exit {error.returncode}: {error.stderr}{PACKAGES}", flush=True)
                continue
            ROWS.parent.mkdir(parents=True, exist_ok=True)
            with ROWS.open("a") as file:
                file.write(json.dumps(row) + "\n")
            print(
                f"{case.case}: {row['wall']:.0f} s, test accuracy {row['test_accuracy']}, GNC2 "
                f"{row['gnc2']['lower']:.3f}",
                flush=True,
            )


def measured(case: Case, fonts: Path) -> dict[str, Any]:
    """One run of the command: what the tables and plots need of its result."""
    about = {"case": case.case, "figure": case.figure, "name": case.name, "seed": case.seed}
    with tempfile.TemporaryDirectory() as folder:
        trains = case.options[0] == "train"
        out, before = Path(folder, "run" if trains else "code.h5"), Path(folder, "before")
        if case.before:
            _done(case.before, fonts, before, before)
        begun = time.perf_counter()
        done = _done(case.options, fonts, before, out)
        wall = time.perf_counter() - begun
        result = json.loads(done.stdout)
        last = max(out.glob("snapshots/*-train.h5")) if trains else out
        plane = _plane(last) if result["d"] == 2 else {}
    history = [
        {key: value for key, value in epoch.items() if key in ("epoch", *_KEPT)}
        for epoch in result.get("history", [])
        if epoch["gnc2"] is not None
    ]
    kept = {key: result.get(key) for key in _KEPT}
    sizes = {key: result[key] for key in ("d", "K")}
    return about | {
        "options": list(case.options),
        "wall": wall,
        "load": os.getloadavg()[0],
        **sizes,
        **kept,
        "history": history,
        **plane,
    }


def _done(
    options: tuple[str, ...], fonts: Path, before: Path, out: Path
) -> "subprocess.CompletedProcess[str]":
    """One process on one thread of the CPU, or on the device of its options with all cores."""
    words = [w.replace(FONTS, str(fonts)).replace(BEFORE, str(before)) for w in options]
    alone = "--device" not in words
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "gnc_cli",
            *words,
            *(("--device", "cpu", "--threads", "1") if alone else ()),
            "--out",
            str(out),
            "--json",
            "-q",
        ],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | ({"OMP_NUM_THREADS": "1"} if alone else {}),
    )


def _plane(path: Path) -> dict[str, Any]:
    """The rows of the classifier, (K, 2), as they are."""
    with h5py.File(path) as file:
        found: list[list[list[float]]] = []
        file.visititems(
            lambda name, item: (
                found.append(item[:].tolist()) if name.rpartition("/")[2] == "weights" else None
            )
        )
    return {"weights": found[-1]}


def main() -> None:
    """Parse and go."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument("figures", nargs="*", metavar="FIGURE", help=", ".join(FIGURES))
    running.add_argument("--most", type=float, default=float("inf"), metavar="SECONDS")
    running.add_argument("--fonts", type=Path, default=Path("/usr/share/fonts"), metavar="DIR")
    commands.add_parser("report")
    commands.add_parser("show")
    asked = parser.parse_args()
    if asked.command == "run":
        for figure in asked.figures:
            if figure not in FIGURES:
                parser.error(f"figure {figure!r} is unknown; choose of {', '.join(FIGURES)}")
        usual = [figure for figure, about in FIGURES.items() if not about.cuda]
        run(asked.figures or usual, asked.fonts, asked.most)
    elif asked.command == "report":
        write_section("paper", section(rows(ROWS), machine()))
        draw(rows(ROWS))
    else:
        print(section(rows(ROWS), machine()))


if __name__ == "__main__":
    main()
