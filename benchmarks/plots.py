"""`python -m benchmarks.plots`: pictures of the tables in RESULTS.md, for docs/results.md."""

import re
from pathlib import Path
from typing import Any

from gnc_cli.console.plot_style import BLUE, GREEN, GREY, save, styled

RESULTS = Path(__file__).with_name("RESULTS.md")
DOCS = RESULTS.parent.parent / "docs"


def table(heading: str) -> list[list[str]]:
    """The rows of the first table below a heading of RESULTS.md."""
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
    for at, (_, paper, _, _, now, *_) in enumerate(reversed(rows)):
        low, high = _numbers(paper)
        ax.plot([low, high], [at, at], color=GREY, lw=2, label="theorem 3.9" if at == 0 else None)
        ends = _numbers(now)
        ax.plot([ends[0], ends[-1]], [at, at], color=BLUE, lw=6, solid_capstyle="butt",
                label="all bounds" if at == 0 else None)  # fmt: skip
        if len(ends) == 1:
            ax.plot(ends, [at], "o", color=GREEN, label="known exactly" if at == len(rows) - 1
                    else None)  # fmt: skip
    ax.set_yticks(range(len(rows)), [row[0] for row in reversed(rows)])
    ax.set(xlabel="one-vs-rest distance of the best code", title="What is proved of rho*(d, K)")
    ax.grid(axis="x")
    ax.legend(loc="upper right")


def ways(ax: Any) -> None:
    """The same task for the same time: gnc, pymanopt, the paper's recipe."""
    rows = table("### Three ways, equal seconds")
    names = [row[0].removeprefix("(10, 100) ") for row in rows]
    values = [float(row[2]) for row in rows]
    ax.scatter(values[::-1], names[::-1], s=70, color=BLUE, zorder=3)
    for at, value in enumerate(reversed(values)):
        ax.annotate(f"{value:.4f}", (value, at), (9, 0), textcoords="offset points", va="center")
    ax.margins(y=0.3)
    ax.grid(axis="x")
    ax.set(xlim=(0.58, 0.68), xlabel="certified one-vs-rest distance",
           title="Softmax Code of 100 points in 10 dimensions, a minute each")  # fmt: skip


def engineers(ax: Any) -> None:
    """Margins of codes from algebra for common dimensions."""
    rows = table("## Classes for engineers: gnc solve --d D --K K")
    curves: dict[int, list[tuple[int, float]]] = {}
    for d, K, _, rho, *_ in rows:
        curves.setdefault(int(d), []).append((int(K.replace(" ", "")), float(rho)))
    for d, points in curves.items():
        ax.plot(*zip(*points, strict=True), "o-", label=f"d = {d}", ms=4)
    ax.set_xscale("log")
    ax.set(xlabel="classes K", ylabel="certified one-vs-rest distance",
           title="Codes from algebra, built in seconds")  # fmt: skip
    ax.grid()
    ax.legend(ncols=2, fontsize=8)


def main() -> None:
    """Write the pictures."""
    from matplotlib.figure import Figure

    for name, draw in (("intervals", intervals), ("ways", ways), ("engineers", engineers)):
        with styled():
            figure = Figure(figsize=(8.0, 2.2 if name == "ways" else 4.4), layout="constrained")
            draw(figure.subplots())
            save(figure, DOCS / f"results-{name}.svg")


if __name__ == "__main__":
    main()
