"""What `gnc bounds` says, how narrow and how fast, for RESULTS.md.

    python -m benchmarks.bounds times grid      # times on a quiet machine: a minute; grid: two
    python -m benchmarks.bounds report

`times` runs the command as a user would, in processes of their own, in turns; `grid` looks for
bounds that contradict each other. What they find is kept in work/VERSION/bounds.json. `report`
asks for the intervals and dimensions anew and writes the section between the markers of RESULTS.md.
"""

import json
import math
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

import gnc_cli
from benchmarks.paths import MEASURED
from benchmarks.report import machine, table, write_section
from gnc_cli.limits.result import BoundRow

KEPT = MEASURED / "bounds.json"
ROUNDS = 5
COMMANDS = {
    "--help": ["--help"],
    **{
        asked: ["bounds", *asked.split(), "-q"]
        for asked in (
            "--d 10 --K 100",
            "--d 512 --K 1e6",
            "--d 100000 --K 1e18",
            "--K 1e6 --margin 0.3",
            "--d 512 --margin 0.3",
            "--d 2..512 --K 1000 --csv",
            "--K 10572,85742,360232 --d 128,256,512",
            "--d 10 --K 100 --lp",
            "--d 4 --K 24 --lp",
            "--d 24 --K 196560 --lp",
        )
    },
}
TARGETS = {"--d 10 --K 100": 0.5, "--d 512 --K 1e6": 0.5, "--d 2..512 --K 1000 --csv": 3.0}
"""Seconds."""
PAIRS = [
    (2, 30),
    (3, 24),
    (4, 24),
    (10, 100),
    (10, 200),
    (20, 100),
    (64, 10**5),
    (128, 10**6),
    (512, 10**4),
    (512, 10**6),
    (768, 50257),
    (4096, 128256),
]
"""Closed forms and proved codes, the paper's figures, faces, and the vocabularies of two language
models with the dimensions of their last layers."""
SIZES = [10**4, 10**5, 10**6, 10**8]
MARGINS = [0.3, 0.5, 0.7]


def times() -> dict[str, Any]:
    """Wall and processor seconds of whole commands, round by round.

    Modules are compiled beforehand, as those of an installed command are.
    """
    spent: dict[str, list[list[float]]] = {name: [] for name in COMMANDS}
    with tempfile.TemporaryDirectory() as compiled:
        env = os.environ | {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": compiled}
        for _ in range(1 + ROUNDS):
            for name, options in COMMANDS.items():
                spent[name].append(_one(options, env))
    return {"spent": {name: rounds[1:] for name, rounds in spent.items()}, "load": os.getloadavg()}


def _one(options: list[str], env: dict[str, str]) -> list[float]:
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "gnc_cli", *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=env)
    wall = time.perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return [wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime]


def grid() -> dict[str, Any]:
    """The pairs of the grid of tests/limits/law_grid.py, and what is wrong there."""
    from tests.limits import law_grid

    begun, pairs, wrong = time.process_time(), 0, []
    for chunk in range(law_grid.CHUNKS):
        for pair in law_grid.grid(chunk):
            pairs += 1
            wrong += law_grid.violations(*pair)
    return {"pairs": pairs, "wrong": wrong, "seconds": time.process_time() - begun}


def times_table(kept: dict[str, Any]) -> str:
    """Least and median of the rounds."""
    rows = []
    for name, rounds in kept["spent"].items():
        wall, cpu = (sorted(column) for column in zip(*rounds, strict=True))
        target = f"{TARGETS[name]:g}" if name in TARGETS else ""
        asked = "gnc --help" if name == "--help" else f"gnc bounds {name}"
        rows.append(
            [
                f"`{asked}`",
                f"{wall[0]:.2f}",
                f"{statistics.median(wall):.2f}",
                f"{cpu[0]:.2f}",
                target,
            ]
        )
    return table(["command", "least s", "median s", "least CPU s", "target s"], rows)


def grid_line(kept: dict[str, Any]) -> str:
    """One sentence."""
    found = "no violation" if not kept["wrong"] else f"{len(kept['wrong'])} VIOLATIONS"
    return (
        f"Grid of {kept['pairs']} pairs (d, K), d from 2 to 10^6, K from 2 to 10^18, every lower "
        f"bound beside every upper one, both quantities: {found} "
        f"({kept['seconds']:.0f} s of processor time)."
    )


def intervals() -> str:
    """The paper's interval of rho*, that without the bisector theorem, and that of all bounds."""
    rows = []
    for d, K in PAIRS:
        found = gnc_cli.bounds(d=d, K=K)
        (best,) = found.best
        ends = {(row.name, row.side): row for row in found.rows}
        low, high = (ends["theorem-3.9", side] for side in ("lower", "upper"))
        assert low.valid and high.valid
        chord = min(_without(row) for row in found.rows if row.valid and not row.exists)
        if K >= d + 2 and chord[0] > 1.0:
            chord = 1.0, "theorem 3.3, falling with K"
        below, above = ends[best.lower_name, "lower"], ends[best.upper_name, "upper"]
        rows.append(
            [
                f"({d}, {K})",
                _outward(low.value, high.value),
                _outward(best.lower, chord[0]),
                chord[1],
                f"{best.lower:.6f} (exact)" if best.exact else _outward(best.lower, best.upper),
                _short(below.source),
                _short(above.source),
            ]
        )
    head = [
        "(d, K)",
        "theorem 3.9",
        "without the bisector theorem",
        "its upper end by",
        "rho*",
        "from below",
        "from above",
    ]
    return table(head, rows)


def _outward(lower: float, upper: float) -> str:
    """Four decimals that still hold."""
    return f"{math.floor(1e4 * lower) / 1e4:.4f} .. {math.ceil(1e4 * upper - 1e-9) / 1e4:.4f}"


def _without(row: BoundRow) -> tuple[float, str]:
    """An upper bound without the bisector theorem: of a bound on t* only the chord is left."""
    return math.sqrt(2.0 * row.value) if row.bisector else row.value, _short(row.source)


def _short(source: str) -> str:
    """Without titles of papers."""
    said = re.sub(r", certified distance| \((?=[a-z]).*|, The .*|; certificate of .*", "", source)
    return said if said.startswith("theorem") else said.partition(": ")[0]


def dimensions() -> str:
    """The dimensions that a margin needs: theorem 3.9 and all bounds together."""
    rows = []
    for K in SIZES:
        for margin in MARGINS:
            answer = gnc_cli.bounds(K=K, margin=margin).dimension
            assert answer is not None
            theorem = {row.exists: row.d for row in answer.rows if row.name == "theorem-3.9"}
            (best,) = answer.best
            sure = [row for row in answer.rows if row.exists and row.d == best.sufficient]
            rows.append(
                [
                    f"{K:.0e}".replace("e+0", "e"),
                    f"{margin:g}",
                    f"{theorem[False]} .. {theorem[True] or 'never'}",
                    f"{best.necessary} .. {best.sufficient}",
                    sure[0].name,
                ]
            )
    head = ["K", "margin", "theorem 3.9", "all bounds", "sufficient by"]
    return table(head, rows)


def report(kept: dict[str, Any]) -> str:
    """The section of RESULTS.md."""
    said = ["## gnc bounds", f"Machine: {machine()}."]
    if "grid" in kept:
        said.append(grid_line(kept["grid"]))
    said += [
        "### The interval of rho*",
        "Ends are rounded outward. "
        "The bisector theorem, rho* = 1 - t* (docs/theory/theorem.md), makes every bound on the "
        "largest cosine t* one on rho*. Without it an upper bound from the same sources is the "
        "chord sqrt(2 - 2 t*), or 1 from K = d + 2 on; the lower end is the same. `exact`: both "
        "ends are one number. The last two columns name the sources of the ends.",
        intervals(),
        "### The dimensions that a margin needs",
        "Necessary .. sufficient: below the first no code of K points has the margin, from the "
        "second on one exists. `never`: theorem 3.9 guarantees no margin of 1/2 or more.",
        dimensions(),
    ]
    if "times" in kept:
        said += [
            "### Seconds",
            f"Whole commands, {ROUNDS} runs each in turns, start-up included; the load was "
            f"{kept['times']['load'][0]:.1f} in the last minute.",
            times_table(kept["times"]),
        ]
    return "\n\n".join(said)


def main() -> None:
    """Parts by name, in their order."""
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    for word in sys.argv[1:]:
        if word == "report":
            write_section("bounds", report(kept))
            continue
        kept[word] = {"times": times, "grid": grid}[word]()
        KEPT.parent.mkdir(parents=True, exist_ok=True)
        KEPT.write_text(json.dumps(kept))
        print(times_table(kept[word]) if word == "times" else grid_line(kept[word]), flush=True)


if __name__ == "__main__":
    main()
