"""The panels of a comparison: gaps, densities and excesses against K, and a contact graph."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from gnc_cli.plots.style import BLUE, GREEN, GREY, INK, ORANGE
from gnc_cli.results import CompareRow, Standing

__all__ = ["cap_density", "draw_graph", "show_density", "show_excess", "show_gaps"]

_FLOOR = 1e-16
"""Gaps below the rounding of a cosine are ties."""
_MOST_EDGES = 20_000
_MOST_NAMED = 14
"""Dimensions that a legend can name."""


def show_gaps(ax: Any, rows: Sequence[CompareRow]) -> None:
    """How far each largest cosine is above the best known one, against K; misses marked."""
    known = [r for r in rows if r.gap is not None]
    for d, some, colour in _by_dimension(known):
        ax.plot(
            [r.K for r in some], [_height(r) for r in some], ".-", color=colour, ms=5, lw=0.7,
            label=f"d = {d}",
        )  # fmt: skip
    misses = [r for r in known if r.more.get("passed") is False]
    better = [r for r in known if r.status is Standing.IMPROVES]
    for some, marker, colour, label in (
        (misses, "x", ORANGE, "worse"), (better, "^", GREEN, "improves, size of the gap"),
    ):  # fmt: skip
        if some:
            ax.plot(
                [r.K for r in some], [_height(r) for r in some], marker, color=colour, ms=8,
                mew=1.8, ls="none", label=label, zorder=4,
            )  # fmt: skip
    unknown = [r.K for r in rows if r.gap is None]
    if unknown:
        ax.plot(unknown, [_FLOOR] * len(unknown), "|", color=GREY, ms=9, label="nothing known")
    ax.set_yscale("log")
    top = max([_height(r) for r in known], default=_FLOOR)
    ax.set_ylim(_FLOOR / 3.0, max(10.0 * top, 1e-12))
    ax.set_ylabel("largest cosine above the best known")
    ax.set_title("Gap to the best known code")
    _finish(ax, rows)


def show_density(ax: Any, rows: Sequence[CompareRow]) -> None:
    """Share of the sphere that caps around the points cover without overlap, against K."""
    listed = [r for r in rows if r.best_known is not None]
    for d, some, colour in _by_dimension(listed):
        shares = [cap_density(d, r.K, r.best_known) for r in some]
        ax.plot([r.K for r in some], shares, ".-", color=colour, ms=5, lw=0.7, label=f"d = {d}")
    found = [r for r in rows if r.max_cosine is not None]
    if found:
        shares = [cap_density(r.d, r.K, r.max_cosine) for r in found]
        ax.plot(
            [r.K for r in found], shares, "o", mfc="none", color=INK, ms=7, ls="none",
            label="code at hand",
        )  # fmt: skip
    proven = [r for r in listed if r.proven]
    if proven:
        shares = [cap_density(r.d, r.K, r.best_known) for r in proven]
        ax.plot(
            [r.K for r in proven], shares, "*", color=GREEN, ms=8, ls="none", label="proved optimal"
        )
    shares = [cap_density(r.d, r.K, r.best_known) for r in listed]
    if shares and min(shares) < 0.05:
        ax.set_yscale("log")
    ax.set_ylabel("share of the sphere covered by caps")
    ax.set_title("Density of the known codes")
    _finish(ax, rows)


def show_excess(ax: Any, rows: Sequence[CompareRow]) -> None:
    """How far each certified one-vs-rest distance stays below 1 - t, against K."""
    tested = [r for r in rows if r.more.get("excess") is not None]

    def below(row: CompareRow) -> float:
        return max(-float(row.more["excess"]), _FLOOR)

    for d, some, colour in _by_dimension(tested):
        ax.plot(
            [r.K for r in some], [below(r) for r in some], ".-", color=colour, ms=5, lw=0.7,
            label=f"d = {d}",
        )  # fmt: skip
    claims = [r for r in tested if r.more.get("verdict") in ("counterexample", "candidate")]
    if claims:
        ax.plot(
            [r.K for r in claims], [abs(r.more["excess"]) for r in claims], "^", color=ORANGE,
            ms=9, ls="none", label="above 1 - t, by this much", zorder=4,
        )  # fmt: skip
    ax.set_yscale("log")
    ax.set_ylim(bottom=_FLOOR / 3.0)
    ax.set_ylabel("1 - t less the certified distance")
    ax.set_title("Softmax Codes found without Tammes codes")
    _finish(ax, rows)


def draw_graph(ax: Any, W: np.ndarray, pairs: np.ndarray, rattles: np.ndarray) -> None:
    """The contact graph of a code in more than three dimensions, on its two principal axes.

    Args:
        ax: Matplotlib axes.
        W: unit rows, shape (K, d).
        pairs: contacts, shape (m, 2).
        rattles: which rows are free, shape (K,), bool.
    """
    from matplotlib.collections import LineCollection

    # A turn of the principal plane that hangs on nothing but the code, so that equal files draw
    # equally; symmetric codes have many principal planes, of which this takes one.
    unlike = 1e-3 * np.sin(np.arange(W.size)).reshape(W.shape)
    _, _, axes = np.linalg.svd(W + unlike, full_matrices=False)
    flat = W @ axes[:2].T
    edges = flat[pairs[:_MOST_EDGES]]
    faint = float(np.clip(10.0 / np.sqrt(max(len(edges), 1)), 0.05, 0.7))
    ax.add_collection(LineCollection(list(edges), colors=INK, alpha=faint, lw=0.7, zorder=1))
    size = float(np.clip(3000.0 / len(W), 3.0, 60.0))
    for some, colour, label in ((~rattles, BLUE, "point"), (rattles, ORANGE, "rattler")):
        if some.any():
            ax.scatter(
                flat[some, 0], flat[some, 1], s=size, color=colour, edgecolors="white",
                linewidths=min(0.8, size / 30.0), label=label, zorder=3,
                rasterized=len(W) > 5000,
            )  # fmt: skip
    ax.set_aspect("equal")
    ax.set_axis_off()
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0.02), ncols=2, handletextpad=0.4)
    ax.set_title(f"Contact graph, {len(pairs):,} contacts, seen along two axes")


def cap_density(d: int, K: int, cosine: float | None) -> float:
    """Share of the unit sphere in R^d under K caps whose radius is half the smallest angle.

    Example:
        >>> round(cap_density(3, 6, 0.0), 6), round(cap_density(2, 7, np.cos(2 * np.pi / 7)), 6)
        (0.87868, 1.0)
    """
    from scipy.special import betainc

    if cosine is None:
        return float("nan")
    # sin^2 of half the angle; a cap's share is half a regularised incomplete beta function.
    half = min(1.0, max(0.0, (1.0 - cosine) / 2.0))
    return float(K * 0.5 * betainc((d - 1) / 2.0, 0.5, half))


def _height(row: CompareRow) -> float:
    assert row.gap is not None
    size = abs(row.gap) if row.status is Standing.IMPROVES else row.gap
    return max(size, _FLOOR)


def _by_dimension(
    rows: Iterable[CompareRow],
) -> Iterable[tuple[int, list[CompareRow], Any]]:
    """Rows of each d by K, with a colour that rises with d."""
    import matplotlib

    of: dict[int, list[CompareRow]] = {}
    for row in sorted(rows, key=lambda r: (r.d, r.K)):
        of.setdefault(row.d, []).append(row)
    shade: Callable[[float], Any] = matplotlib.colormaps["viridis"]
    for at, (d, some) in enumerate(of.items()):
        yield d, some, BLUE if len(of) == 1 else shade(0.9 * at / (len(of) - 1))


def _finish(ax: Any, rows: Sequence[CompareRow]) -> None:
    sizes = [r.K for r in rows]
    if sizes and max(sizes) > 50 * min(sizes):
        ax.set_xscale("log")
    else:
        ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_xlabel("number of points K")
    ax.grid()
    dimensions = len({r.d for r in rows})
    if ax.get_legend_handles_labels()[0]:
        ax.legend(ncols=2 if dimensions > 6 else 1, fontsize=8 if dimensions <= _MOST_NAMED else 6)
