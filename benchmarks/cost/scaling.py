"""How time and memory grow with N, K and d, beside what each algorithm should cost.

    python -m benchmarks.cost.scaling run     # all series, under six minutes; can be resumed
    python -m benchmarks.cost.scaling run step-K certificate-K --budget 10
    python -m benchmarks.cost.scaling report  # into RESULTS.md, and docs/results-scaling.svg
    python -m benchmarks.cost.scaling show    # to stdout

Every series runs in a process of its own, smallest size first, and ends early where the next size
would not fit into its budget. Time is the least of repeated calls; memory is how far the peak of
the process rose above its size after a call of the least size. Exponents are fitted to the last
decade, where fixed costs count least. Rows are kept in work/VERSION/scaling.jsonl.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.paths import MEASURED, ROOT
from benchmarks.report import machine, table, write_section
from benchmarks.runs import rows

ROWS = MEASURED / "scaling.jsonl"
PLOT = ROOT / "docs" / "results-scaling.svg"
HEADING = "## How cost grows"
_D = 16
"""Dimension of the series in K."""
_REPEATED = 0.3
"""Seconds for which a call is repeated."""
_TOLERANCE = 0.15
"""An exponent this far above what it should be is named."""
_FEW_BYTES = 20e6
"""A peak below this tells of the allocator alone."""

Timed = Iterator[tuple[str, float]]
"""Parts of one call and their seconds."""


@dataclass(frozen=True)
class Series:
    """One quantity that grows."""

    title: str
    variable: str
    sizes: tuple[int, ...]
    call: Callable[[int], Timed]
    """Builds what a size needs, then yields the seconds of its parts."""
    should: dict[str, tuple[float, str]]
    """Of each part: the exponent of its time, and why."""
    memory: float
    """Exponent of the peak memory."""


def _decades(first: int, last: int) -> tuple[int, ...]:
    """1, 3, 10, 30, ... times the first, up to the last."""
    found = [first]
    while (after := found[-1] * 3 if len(found) % 2 else found[-2] * 10) <= last:
        found.append(after)
    return tuple(found)


def _repeated(call: Callable[[], Any]) -> float:
    """The least seconds of a call, repeated where it is short."""
    took: list[float] = []
    while not took or sum(took) < _REPEATED:
        begun = time.perf_counter()
        call()
        took.append(time.perf_counter() - begun)
    return min(took)


def _points(K: int, d: int) -> np.ndarray:
    from gnc_cli.geometry.sphere import random_points

    return random_points(np.random.default_rng(K + d), K, d)


def step(K: int, d: int) -> Timed:
    """Steps of four descents side by side, as a task of a search makes them."""
    from gnc_cli.runtime.deadline import Deadline
    from gnc_cli.runtime.threads import limit_threads
    from gnc_cli.search.annealing import anneal
    from gnc_cli.search.parametrisation import free
    from gnc_cli.search.problem import Tammes

    problem, steps = Tammes(free(d, K)), 3
    starts = problem.starts(np.random.default_rng(0), 4)
    sharpness = np.full(4, 10.0)
    with limit_threads(1):
        yield (
            "step",
            _repeated(
                lambda: anneal(
                    problem,
                    starts,
                    sharpness,
                    100.0,
                    step=1.0,
                    steps=steps,
                    deadline=Deadline(),
                    device="cpu",
                )
            )
            / steps,
        )


def large(K: int) -> Timed:
    """The large-scale descent: a step that meets all pairs, one on the list, the exact pass."""
    from gnc_cli.search.instance import Instance, Machine, Plan
    from gnc_cli.search.large_scale import solve_large

    stamps = [time.perf_counter()]
    plan = Plan(steps=3, progress=lambda *_: stamps.append(time.perf_counter()))
    solve_large(Instance(d=_D, K=K), plan, Machine(device="cpu"))
    ended = time.perf_counter()
    first, *others = np.diff(stamps)
    yield "all pairs", float(first)
    yield "list", float(min(others))
    yield "exact pass", ended - stamps[-1]


def certificate(K: int, d: int, *, every: bool = False) -> Timed:
    """Random rows: the bracket of the minimum, or of every class."""
    from gnc_cli.geometry.one_vs_rest import minimum_one_vs_rest, one_vs_rest

    W = _points(K, d)
    yield "bracket", _repeated(lambda: (one_vs_rest if every else minimum_one_vs_rest)(W))


def measured(N: int, K: int, d: int) -> Timed:
    """`gnc measure` of a file: all metrics of N features, with GNC2 of K rows."""
    import h5py

    import gnc_cli

    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "features.h5"
        with h5py.File(file, "w") as h5:
            W, labels = _points(K, d).astype(np.float32), np.arange(N) % K
            features = h5.create_dataset("features", (N, d), "f4")
            for start in range(0, N, 10000):
                y = labels[start : start + 10000]
                features[start : start + len(y)] = W[y] + rng.standard_normal((len(y), d), "f4") / d
            h5["labels"], h5["weights"] = labels, W
        yield "measure", _repeated(lambda: gnc_cli.measure(file))


def bounded(d: int, K: int) -> Timed:
    """`gnc bounds` of one pair."""
    import gnc_cli

    yield "bounds", _repeated(lambda: gnc_cli.bounds(d=d, K=K))


_PAIRS = "all pairs: K^2 d"
SERIES = {
    "step-K": Series(
        f"search step, 4 starts, d = {_D}",
        "K",
        (*_decades(10, 1000), 2896),
        lambda K: step(K, _D),
        {"step": (2.0, _PAIRS)},
        2.0,
    ),
    "step-d": Series(
        "search step, 4 starts, K = 500",
        "d",
        _decades(4, 4000),
        lambda d: step(500, d),
        {"step": (1.0, _PAIRS)},
        1.0,
    ),
    "large-K": Series(
        f"large-scale step, d = {_D}",
        "K",
        _decades(100, 100_000),
        large,
        {
            "all pairs": (2.0, _PAIRS),
            "list": (1.0, "pairs of a list of bounded length per row; all pairs below K = 4800"),
            "exact pass": (2.0, _PAIRS),
        },
        1.0,
    ),
    "certificate-K": Series(
        f"certificate of the minimum, random rows, d = {_D}",
        "K",
        _decades(100, 100_000),
        lambda K: certificate(K, _D),
        {"bracket": (2.0, _PAIRS)},
        1.0,
    ),
    "certificate-d": Series(
        "certificate of the minimum, random rows, K = 1000",
        "d",
        _decades(4, 4000),
        lambda d: certificate(1000, d),
        {"bracket": (1.0, _PAIRS)},
        1.0,
    ),
    "classes-K": Series(
        f"certificate of every class, random rows, d = {_D}",
        "K",
        _decades(10, 10_000),
        lambda K: certificate(K, _D, every=True),
        {"bracket": (2.0, _PAIRS)},
        2.0,
    ),
    "measure-N": Series(
        "measure, K = 100, d = 64",
        "N",
        _decades(1000, 1_000_000),
        lambda N: measured(N, 100, 64),
        {"measure": (1.0, "N (K d + d^2)")},
        1.0,
    ),
    "measure-K": Series(
        "measure, N = 30000, d = 64",
        "K",
        _decades(10, 10_000),
        lambda K: measured(30_000, K, 64),
        {"measure": (2.0, "N K d + K^2 d, 1 to 2")},
        1.0,
    ),
    "measure-d": Series(
        "measure, N = 10000, K = 100",
        "d",
        _decades(4, 4000),
        lambda d: measured(10_000, 100, d),
        {"measure": (3.0, "N (K d + d^2) + d^3, 2 to 3")},
        2.0,
    ),
    "bounds-K": Series(
        "bounds, d = 100",
        "K",
        tuple(10**n for n in range(3, 10)),
        lambda K: bounded(100, K),
        {"bounds": (0.0, "independent of K")},
        0.0,
    ),
    "bounds-d": Series(
        "bounds, K = 10^6",
        "d",
        _decades(10, 10_000),
        lambda d: bounded(d, 10**6),
        {"bounds": (1.0, "recurrences in d, at most d")},
        0.0,
    ),
}


def follow(name: str, budget: float) -> None:
    """In a process of its own: a line per size."""
    series = SERIES[name]
    list(series.call(series.sizes[0]))  # loads libraries
    begun, base, last = time.perf_counter(), _peak(), 0.0
    most = max(exponent for exponent, _ in series.should.values())
    for before, size in zip((1, *series.sizes[:-1]), series.sizes, strict=True):
        started = time.perf_counter()
        if started - begun + last * (size / before) ** most > budget:
            break
        parts = dict(series.call(size))
        last = time.perf_counter() - started
        row = {"series": name, "size": size, "parts": parts, "bytes": _peak() - base}
        print(json.dumps(row), flush=True)


def _peak() -> float:
    """Peak memory of this process in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def run(names: list[str], budget: float) -> None:
    """Run the series that are not there yet."""
    done = {row["series"] for row in rows(ROWS)}
    ROWS.parent.mkdir(parents=True, exist_ok=True)
    for name in names:
        if name in done:
            continue
        begun = time.perf_counter()
        command = [sys.executable, "-m", "benchmarks.cost.scaling", "follow", name, f"{budget}"]
        found = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout
        with ROWS.open("a") as file:
            file.write(found)
        print(f"{name}: {time.perf_counter() - begun:.0f} s", flush=True)


@dataclass(frozen=True)
class Fit:
    """`value = factor * size ** exponent` over the last decade."""

    factor: float
    exponent: float

    def __call__(self, size: float) -> float:
        return self.factor * size**self.exponent


def fitted(sizes: list[int], values: list[float]) -> Fit | None:
    """The least squares of the logarithms over the last decade; None with fewer than two sizes."""
    pairs = [(s, v) for s, v in zip(sizes, values, strict=True) if 10 * s >= sizes[-1] and v > 0]
    if len(pairs) < 2:
        return None
    x, y = np.log(np.array(pairs, dtype=float)).T
    exponent, intercept = np.polyfit(x, y, 1)
    return Fit(float(np.exp(intercept)), float(exponent))


def curves(kept: list[dict[str, Any]], name: str) -> tuple[list[int], dict[str, list[float]]]:
    """Sizes of a series, and its seconds per part and `bytes`."""
    own = [row for row in kept if row["series"] == name]
    parts = {part: [row["parts"][part] for row in own] for part in SERIES[name].should}
    return [row["size"] for row in own], parts | {"bytes": [row["bytes"] for row in own]}


def section(kept: list[dict[str, Any]], where: str) -> str:
    """Markdown: exponents beside what they should be, and what 10^8 classes would need."""
    lines = []
    for name, series in SERIES.items():
        sizes, values = curves(kept, name)
        if not sizes:
            continue
        memory = values.pop("bytes")
        heap = fitted(sizes, memory) if memory[-1] > _FEW_BYTES else None
        for part, seconds in values.items():
            fit, (should, why) = fitted(sizes, seconds), series.should[part]
            title = series.title if len(values) == 1 else f"{series.title}: {part}"
            lines.append(
                [
                    title,
                    f"{series.variable} = {sizes[0]}..{sizes[-1]}",
                    f"{seconds[-1]:.2g}",
                    _exponent(fit, should),
                    f"{should:g} ({why})",
                    f"{memory[-1] / 1e6:.0f}",
                    _exponent(heap, series.memory) if heap else "-",
                    f"{series.memory:g}",
                ]
            )
    head = [
        "what",
        "sizes",
        "s at the last",
        "exponent",
        "should be at most",
        "MB above start",
        "exponent",
        "should be at most",
    ]
    return "\n\n".join(
        [
            HEADING,
            f"Machine: {where}. Exponents are fitted over the last decade of sizes. Memory is the "
            "rise "
            f"of the peak over that after the least size; below {_FEW_BYTES / 1e6:.0f} MB it has "
            "no "
            f"fit. `!` marks an exponent more than {_TOLERANCE} above what it should be at most.",
            table(head, lines),
            *outlook(kept),
        ]
    )


def _exponent(fit: Fit | None, should: float) -> str:
    if fit is None:
        return "-"
    return f"{fit.exponent:.2f}" + (" !" if fit.exponent > should + _TOLERANCE else "")


def outlook(kept: list[dict[str, Any]], K: float = 1e8) -> list[str]:
    """What so many classes would need, from the fits; nothing where a series is not there."""
    sizes, values = curves(kept, "large-K")
    own, certified = curves(kept, "certificate-K")
    if len(sizes) < 2 or len(own) < 2:
        return []
    # With the exponents of the algorithms: a fit's error would be raised to three decades.
    pairs, exact = (values[part][-1] * (K / sizes[-1]) ** 2 for part in ("all pairs", "exact pass"))
    listed = values["list"][-1] * K / sizes[-1]
    proof = certified["bracket"][-1] * (K / own[-1]) ** 2
    memory = K * np.diff(values["bytes"])[-1] / np.diff(sizes)[-1]  # without fixed buffers
    lines = [
        ["rows, float32", "-", f"{4 * K * _D / 1e9:.0f}", "-"],
        ["search for the near pairs, once", _long(pairs), "", _machines(pairs)],
        ["a step on the list", _long(listed), f"{memory / 1e9:.0f}", _machines(listed)],
        [
            "1000 steps, a search every tenth",
            _long(100 * pairs + 1000 * listed),
            "",
            _machines(100 * pairs + 1000 * listed),
        ],
        ["exact pass in float64", _long(exact), "", _machines(exact)],
        ["certificate of the minimum", _long(proof), "", _machines(proof)],
    ]
    return [
        f"### What K = 10^{np.log10(K):.0f} would need",
        f"d = {_D}, from the largest sizes above, times (K / size)^2 for passes over all pairs and "
        "K / size for lists and memory: where the exponents above are smaller, fixed costs are "
        "counted too often. Machines: how many like this one finish within a day, if blocks of "
        "rows are shared out without loss.",
        table(["what", "one machine", "GB", "machines for a day"], lines),
    ]


def _long(seconds: float) -> str:
    for unit, length in (("years", 365.25 * 86400), ("days", 86400), ("hours", 3600)):
        if seconds >= length:
            return f"{seconds / length:.2g} {unit}"
    return f"{seconds:.2g} s"


def _machines(seconds: float) -> str:
    return f"{max(1, int(np.ceil(seconds / 86400))):,}"


def draw(kept: list[dict[str, Any]], path: Path) -> None:
    """Log-log panels: seconds per part, with the exponent fitted and the one it should have."""
    from matplotlib.figure import Figure

    from gnc_cli.console.drawing import BLUE, GREEN, GREY, ORANGE, save, styled

    names = [name for name in SERIES if curves(kept, name)[0]]
    with styled():
        figure = Figure(figsize=(11.0, 2.6 * -(-len(names) // 3)), layout="constrained")
        panels = figure.subplots(-(-len(names) // 3), 3, squeeze=False).ravel()
        for panel in panels[len(names) :]:
            panel.set_visible(False)
        for panel, name in zip(panels, names, strict=False):
            sizes, values = curves(kept, name)
            del values["bytes"]
            for color, (part, seconds) in zip((BLUE, GREEN, ORANGE), values.items(), strict=False):
                fit, (should, _) = fitted(sizes, seconds), SERIES[name].should[part]
                exponent = f"{fit.exponent:.2f}" if fit else "-"
                label = f"{part}: {exponent} (at most {should:g})"
                panel.loglog(sizes, seconds, "o-", color=color, ms=4, label=label)
                line = seconds[-1] * (np.array(sizes) / sizes[-1]) ** should
                panel.loglog(sizes, line, ":", color=GREY, lw=1)
            title = SERIES[name].title.replace(", random rows", ",\nrandom rows")
            panel.set_title(title, fontsize=9)
            panel.set(xlabel=SERIES[name].variable, ylabel="s")
            panel.set_ylim(bottom=min(map(min, values.values())) / 3)
            panel.grid()
            panel.legend(fontsize=7)
        save(figure, path)


def main() -> None:
    """Parse and go."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument(
        "series", nargs="*", default=[*SERIES], metavar="SERIES", help=", ".join(SERIES)
    )
    running.add_argument("--budget", type=float, default=45.0, help="seconds of a series")
    following = commands.add_parser("follow", help="used by run")
    following.add_argument("name", choices=SERIES)
    following.add_argument("budget", type=float)
    commands.add_parser("report")
    commands.add_parser("show")
    asked = parser.parse_args()
    if asked.command == "run":
        run(asked.series, asked.budget)
    elif asked.command == "follow":
        follow(asked.name, asked.budget)
    elif asked.command == "report":
        write_section("scaling", section(rows(ROWS), machine()))
        draw(rows(ROWS), PLOT)
    else:
        print(section(rows(ROWS), machine()))


if __name__ == "__main__":
    main()
