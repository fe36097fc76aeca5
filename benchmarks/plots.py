"""`python -m benchmarks.plots [NAME]`: the tables of RESULTS.md as plots for docs/results.md."""

import re
import sys
from collections.abc import Callable
from typing import Any

from benchmarks.paths import RESULTS, ROOT
from gnc_cli.console.drawing import BLUE, GREEN, GREY, save, styled

DOCS = ROOT / "docs"


def table(heading: str) -> list[list[str]]:
    """The rows of the first table below a heading of RESULTS.md, without its head."""
    text = RESULTS.read_text(encoding="utf-8")
    below = text[text.index(f"{heading}\n") :]
    rows: list[list[str]] = []
    for line in below.splitlines():
        if line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
        elif rows:
            break
    return rows[2:]


def _numbers(text: str) -> list[float]:
    return [float(part) for part in re.findall(r"\d+\.\d+", text)]


def intervals(ax: Any) -> None:
    """What is proved of rho*: the paper's theorem 3.9 and all bounds together."""
    rows = table("### The interval of rho*")
    for at, (_, paper, _, _, proved, *_) in enumerate(reversed(rows)):
        low, high = _numbers(paper)
        ax.plot([low, high], [at, at], color=GREY, lw=2, label="theorem 3.9" if at == 0 else None)
        ends = _numbers(proved)
        ax.plot(
            [ends[0], ends[-1]],
            [at, at],
            color=BLUE,
            lw=6,
            solid_capstyle="butt",
            label="all bounds" if at == 0 else None,
        )
        if len(ends) == 1:
            ax.plot(
                ends, [at], "o", color=GREEN, label="known exactly" if at == len(rows) - 1 else None
            )
    ax.set_yticks(range(len(rows)), [row[0] for row in reversed(rows)])
    ax.set(xlabel="one-vs-rest distance of the best code", title="What is proved of rho*(d, K)")
    ax.grid(axis="x")
    ax.legend(loc="upper right")


def engineers(ax: Any) -> None:
    """Margins of codes from algebra for common dimensions."""
    rows = table("## Classes for engineers: gnc solve --d D --K K")
    curves: dict[int, list[tuple[int, float]]] = {}
    for d, K, _, rho, *_ in rows:
        curves.setdefault(int(d), []).append((int(K.replace(" ", "")), float(rho)))
    for d, points in curves.items():
        ax.plot(*zip(*points, strict=True), "o-", label=f"d = {d}", ms=4)
    ax.set_xscale("log")
    ax.set(
        xlabel="classes K",
        ylabel="certified one-vs-rest distance",
        title="Codes from algebra, built in seconds",
    )
    ax.grid()
    ax.legend(ncols=2, fontsize=8)


def main() -> None:
    """Write the plots."""
    from matplotlib.figure import Figure

    plots: dict[str, Callable[[Any], None]] = {"intervals": intervals, "engineers": engineers}
    for name in sys.argv[1:] or plots:
        with styled():
            figure = Figure(figsize=(8.0, 4.4), layout="constrained")
            plots[name](figure.subplots())
            save(figure, DOCS / f"results-{name}.svg")


if __name__ == "__main__":
    main()
