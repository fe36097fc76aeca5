"""The runs as plots: docs/results-paper-*.svg, one per figure that has been run."""

from statistics import mean
from typing import Any

import numpy as np

from benchmarks.paths import ROOT
from benchmarks.training.paper.figures import FIGURES
from benchmarks.training.paper.tables import Row, groups, values
from gnc_cli.console.drawing import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, save, styled

DOCS = ROOT / "docs"


def draw(kept: list[Row]) -> None:
    """Plot each figure of the paper that has rows."""
    from matplotlib.figure import Figure

    for figure in FIGURES:
        found = groups(kept, figure)
        if not found:
            continue
        with styled():
            if figure in ("b1", "b2"):
                canvas = Figure(figsize=(4.0 * len(found), 4.4), layout="compressed")
                _circles(canvas.subplots(1, len(found), squeeze=False)[0], found)
            elif figure in ("2", "2-hangul", "b3", "b4"):
                canvas = Figure(figsize=(11.0, 3.8), layout="constrained")
                _curves(canvas.subplots(1, 4), found)
            elif figure == "3":
                canvas = Figure(figsize=(8.0, 4.4), layout="constrained")
                _dimensions(canvas.subplots(), found)
            else:
                canvas = Figure(figsize=(11.0, 3.8), layout="constrained")
                _placements(canvas.subplots(1, 2), found)
            save(canvas, DOCS / f"results-paper-{figure}.svg")


def _curves(panels: Any, found: dict[str, list[Row]]) -> None:
    """GNC1, GNC2, GNC3 and nearest class means against epochs, a line per temperature."""
    keys = {"gnc1": "GNC1", "gnc2": "GNC2", "gnc3": "GNC3", "ncc_accuracy": "NCC, training"}
    for panel, (key, title) in zip(panels, keys.items(), strict=True):
        for color, (name, some) in zip((ORANGE, GREEN, BLUE), found.items(), strict=False):
            for row in some:
                epochs = [epoch["epoch"] for epoch in row["history"]]
                label = name if row is some[0] else None
                panel.plot(epochs, values(row["history"], key), color=color, label=label)
        panel.set(title=title, xlabel="epochs")
        panel.grid()
        if key in ("gnc1", "gnc3"):
            panel.set_yscale("log")
    best = next(iter(found.values()))[0]["gnc2_reference"]["value"]
    panels[1].axhline(best, color=GREY, ls="--", label="best known")
    lines = panels[1].get_legend_handles_labels()
    panels[-1].legend(*lines, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _placements(panels: Any, found: dict[str, list[Row]]) -> None:
    """Test accuracy at the end and GNC2 on the way."""
    accuracy, spreading = panels
    places = range(len(found), 0, -1)
    for place, some in zip(places, found.values(), strict=True):
        ends = values(some, "test_accuracy")
        accuracy.plot(ends, [place] * len(ends), "o", color=GREY, ms=4)
        accuracy.plot(mean(ends), place, "o", color=BLUE, ms=7)
    accuracy.set_yticks(places, found)
    accuracy.set(xlabel="test accuracy: each seed, and mean")
    accuracy.grid(axis="x")
    learned = {name: some for name, some in found.items() if "learned" in name or "cmf" in name}
    colors = (BLUE, GREEN, ORANGE, PURPLE, INK, GREY)
    for color, (name, some) in zip(colors, learned.items(), strict=False):
        for row in some:
            epochs = [epoch["epoch"] for epoch in row["history"]]
            label = name if row is some[0] else None
            spreading.plot(epochs, values(row["history"], "gnc2"), color=color, label=label)
    best = next(iter(found.values()))[0]["gnc2_reference"]["value"]
    spreading.axhline(best, color=GREY, ls="--", label="best known")
    spreading.set(xlabel="epochs", ylabel="GNC2", ylim=(0.0, None))
    spreading.grid()
    spreading.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _circles(panels: Any, found: dict[str, list[Row]]) -> None:
    """The rows of the classifier as they are, longest at length 1."""
    for panel, (name, (row, *_)) in zip(panels, found.items(), strict=True):
        weights = np.array(row["weights"])
        weights /= np.linalg.norm(weights, axis=1).max()
        for x, y in weights:
            panel.plot([0.0, x], [0.0, y], color=BLUE, lw=1)
        panel.plot(*weights.T, "o", color=BLUE, ms=4)
        panel.set(title=name, aspect="equal", xlim=(-1.1, 1.1), ylim=(-1.1, 1.1))
        panel.set(xticks=[], yticks=[])
        panel.spines[:].set_visible(False)


def _dimensions(panel: Any, found: dict[str, list[Row]]) -> None:
    """Test accuracy and rho* against d, with its proved interval.

    Where theorem 3.9 alone proves more than the best known code has, a short search has a better
    code.
    """
    from gnc_cli import bounds, solve

    K = next(iter(found.values()))[0]["K"]
    dimensions = [some[0]["d"] for some in found.values()]
    accuracies = [mean(values(some, "test_accuracy")) for some in found.values()]
    proved: Any = [bounds(d=d, K=K).best[0] for d in dimensions]
    rho = [some[0]["gnc2_reference"]["value"] for some in found.values()]
    for at, (d, interval) in enumerate(zip(dimensions, proved, strict=True)):
        if rho[at] < interval.lower:
            code: Any = solve(d=d, K=K, restarts=16)
            rho[at] = code.rho_one_vs_rest.lower
    panel.fill_between(
        dimensions,
        [p.lower for p in proved],
        [p.upper for p in proved],
        color=GREY,
        alpha=0.3,
        label="proved interval of rho*",
    )
    panel.plot(dimensions, rho, "o-", color=GREEN, label="rho*, best known")
    panel.plot(dimensions, accuracies, "o-", color=BLUE, label="test accuracy")
    panel.set_xscale("log")
    panel.set_xticks(dimensions, [str(d) for d in dimensions])
    panel.minorticks_off()
    panel.set(xlabel="dimension d")
    panel.grid()
    panel.legend()
