"""What pictures share: colours, a figure without a display, and drawings of several commands.

Matplotlib is used through `Figure` alone: no pyplot, no global state, no window system.
"""

import contextlib
import io
import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc_cli.figures import count
from gnc_cli.io.atomic import atomic_file
from gnc_cli.parameters import check_suffix

# Okabe and Ito's palette: distinct to people with any colour vision, and in grey.
BLUE = "#0072B2"
ORANGE = "#D55E00"
GREEN = "#009E73"
PURPLE = "#CC79A7"
GREY = "#8A8F98"
INK = "#22262B"
COSINES = (
    "#053061",
    "#2166AC",
    "#4393C3",
    "#92C5DE",
    "#D1E5F0",
    "#F7F7F7",
    "#FDDBC7",
    "#F4A582",
    "#D6604D",
    "#B2182B",
    "#67001F",
)
"""Of a Gram matrix, evenly spaced from its lowest to its highest value (ColorBrewer's RdBu)."""

COLOURS = (BLUE, ORANGE, GREEN, PURPLE, "#E69F00", "#56B4E9", INK)
"""Of lines and classes, in their order."""
MOST_MARKS = 40
"""Points of a line that are marked one by one."""
_MARKERS = {"-": "o", "--": "x", ":": "+"}
_MOST_PRODUCTS = 8_000_000
"""64 MB: of larger codes evenly spaced rows are compared with all others."""
_PALE = ("#D3DAE4", "#FCFDFE")
"""Of a ball, from its shade to its light."""
_STYLE: Any = {
    "font.size": 10.0,
    "axes.titlesize": 11.0,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 9.0,
    "axes.labelcolor": INK,
    "axes.edgecolor": GREY,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,
    "axes.formatter.min_exponent": 4,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": "#E3E6EA",
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "legend.fontsize": 9.0,
    "figure.constrained_layout.use": True,
    "figure.constrained_layout.w_pad": 0.12,
    "figure.constrained_layout.h_pad": 0.08,
    "svg.hashsalt": "gnc",
    "pdf.fonttype": 42,
}


@contextlib.contextmanager
def styled() -> Iterator[None]:
    """Matplotlib's settings for our pictures, for drawing and saving inside the block.

    Of the user's own settings (matplotlibrc) the fonts count, for names in any script. A
    `matplotlibrc` of the current folder, which may be somebody else's, is not read.
    """
    exists = os.path.exists
    os.path.exists = lambda path: path != "matplotlibrc" and exists(path)
    try:
        import matplotlib
    finally:
        os.path.exists = exists
    with matplotlib.rc_context():
        # Looking at the backend would import pyplot.
        names = [name for name in matplotlib.rcParams if name.startswith("font.")]
        fonts = {name: matplotlib.rcParams[name] for name in names}
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(fonts | _STYLE)
        yield


def new_figure(width: float, height: float, title: str, facts: str) -> Any:
    """A figure of this size in inches, with a title and, in smaller letters below it, the facts."""
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation

    figure: Any = Figure(figsize=(width, height))
    heading = figure.suptitle(title + "\n", fontsize=14, fontweight="bold", linespacing=1.2)
    # The layout keeps room for the heading's empty second line; the facts are set into it.
    place: Any = {"xycoords": heading, "ha": "center", "va": "bottom", "fontsize": 10}
    figure.add_artist(Annotation(facts, (0.5, 0.0), color=INK, **place))
    return figure


def save(figure: Any, path: str | os.PathLike[str]) -> None:
    """Write a figure in the format of the suffix; an existing picture is replaced in one step.

    Raises:
        UsageError: unknown suffix.
        OutputError: the file cannot be written; nothing has changed.
    """
    suffix = check_suffix(path, (".png", ".svg", ".pdf"))
    undated: dict[str, dict[str, Any]] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    picture = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # names in a script that the font lacks
        # The layout's last digits differ from call to call; the same picture has the same bytes.
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        for ax in figure.axes:
            ax.set_position([round(x, 6) for x in ax.get_position(original=True).bounds])
        figure.savefig(picture, format=suffix[1:], dpi=150, metadata=undated.get(suffix))
    with atomic_file(path, force=True) as file:
        file.write(picture.getbuffer())


@dataclass(frozen=True, eq=False)
class Curve:
    """A line over epochs, or over other places in their order."""

    name: str
    x: Sequence[float]
    y: Sequence[float | None]
    """None and NaN are left out."""
    colour: Any
    style: str = "-"
    """Of the line: `-`, `--` or `:`, with a mark of its own for each."""
    upper: Sequence[float] | None = None
    """Upper ends, where `y` are the lower ones of brackets."""


def draw_curves(
    ax: Any, title: str, curves: Sequence[Curve], *, log: bool = False, joined: bool = True
) -> None:
    """Curves with a grid and a title.

    Args:
        log: a logarithmic axis, where all values are positive.
        joined: as lines, else as marks alone.
    """
    lowest = np.inf
    for curve in curves:
        y = np.array(curve.y, dtype=float)
        finite = np.isfinite(y)
        x, y = np.asarray(curve.x)[finite], y[finite]
        lowest = min(lowest, y.min(initial=np.inf))
        ax.plot(
            x,
            y,
            linestyle=curve.style if joined else "none",
            color=curve.colour,
            marker=_MARKERS[curve.style] if len(y) <= MOST_MARKS or not joined else "",
            markersize=4 if joined else 6,
            label=curve.name,
        )
        if curve.upper is not None:
            upper = np.asarray(curve.upper, dtype=float)[finite]
            ax.fill_between(x, y, upper, color=curve.colour, alpha=0.18, lw=0)
    ax.set_title(title)
    ax.grid()
    if log and lowest > 0.0:
        ax.set_yscale("log")


def draw_cosines(ax: Any, W: np.ndarray, levels: Sequence[tuple[float, str, str]]) -> None:
    """The cosines of all pairs of unit rows (K, d), sorted: a plateau is a value of many pairs.

    Args:
        levels: lines to compare with: cosine, name, colour.
    """
    K = len(W)
    rows = np.linspace(0, K - 1, min(K, max(1, _MOST_PRODUCTS // K))).astype(np.intp)
    others = np.arange(K) != rows[:, None]
    cosines = np.sort(np.clip(W[rows] @ W.T, -1.0, 1.0)[others])
    shown = cosines[np.linspace(0, len(cosines) - 1, min(len(cosines), 5000)).astype(np.intp)]
    ax.plot(np.linspace(0.0, 100.0, len(shown)), shown, color=BLUE, lw=2.5, solid_capstyle="butt")
    for i, (value, name, colour) in enumerate(levels):
        # The dashes of one line lie in the gaps of the others: lines that coincide are all seen.
        ax.axhline(
            value,
            color=colour,
            lw=1.4,
            ls=(3 * i, (3, 3 * max(1, len(levels) - 1))),
            label=f"{name} {value:z.4f}",
        )
    sampled = f" (rows: {count(len(rows))} of {count(K)})" if len(rows) < K else ""
    ax.set(title="Pairwise cosines" + sampled, xlabel="pairs, sorted (%)", ylabel="cosine")
    ax.grid()
    if levels:
        ax.legend(loc="lower right", handlelength=3.0)


def draw_distances(
    ax: Any,
    lower: np.ndarray,
    upper: np.ndarray,
    rattlers: np.ndarray,
    levels: Sequence[tuple[float, str, str]],
) -> None:
    """Certified one-vs-rest distances of the classes, sorted, and lines to compare with.

    Args:
        lower, upper: ends, shape (K,).
        rattlers: which classes are free to move, shape (K,).
        levels: distance, name, colour.
    """
    order = np.argsort(lower, kind="stable")
    rank = np.arange(1, len(order) + 1)
    ax.fill_between(rank, lower[order], upper[order], color=GREY, alpha=0.4, lw=0)
    size = float(np.clip(1200.0 / len(order), 2.0, 22.0))
    for some, colour, name in ((~rattlers, BLUE, "class"), (rattlers, ORANGE, "rattler")):
        if some.any():
            drawn = some[order]
            places = rank[drawn], lower[order][drawn]
            ax.scatter(*places, size, colour, label=name, zorder=3, rasterized=len(order) > 2000)
    for value, name, colour in levels:
        ax.axhline(value, color=colour, lw=1.4, ls="--", label=f"{name} {value:.6g}")
    ax.set(title="One-vs-rest distances", xlabel="classes, sorted", ylabel="distance")
    if 0.0 < lower.min() < 0.1 * np.median(lower):
        ax.set_yscale("log")
    else:
        ax.set_ylim(open_limits(ax.dataLim.intervaly))
    ax.locator_params(axis="x", integer=True)
    ax.grid(axis="y")
    ax.legend()


def open_limits(values: np.ndarray) -> tuple[float, float]:
    """Of an axis that does not magnify differences of rounding.

    >>> open_limits(np.array([0.5, 0.5]))
    (0.499, 0.501)
    """
    low, high = float(values.min()), float(values.max())
    margin = max(0.1 * (high - low), 0.002 * high, 1e-6)
    return low - margin, high + margin


def draw_code(ax: Any, W: np.ndarray, pairs: np.ndarray, rattlers: np.ndarray) -> None:
    """Unit rows (K, 2) or (K, 3) with their contacts (m, 2) and rattlers (K,), on bare axes."""
    points = W @ draw_ball(ax, W)
    x, y, z = polylines(points, pairs, curved=W.shape[1] == 3)
    width = float(np.clip(24.0 / np.sqrt(len(W)), 0.5, 1.5))
    size = float(np.clip(3200.0 / len(W), 3.0, 70.0))
    colours = np.where(rattlers, ORANGE, BLUE)
    for behind in (True, False):
        ax.plot(
            np.where((z < 0.0) == behind, x, np.nan),
            y,
            color=INK,
            lw=width,
            alpha=0.13 if behind else 1.0,
            label=None if behind or not len(pairs) else "contact",
        )
        half = (points[:, 2] < 0.0) == behind
        ax.scatter(
            *points[half, :2].T,
            s=0.55 * size if behind else size,
            color=colours[half],
            alpha=0.28 if behind else 1.0,
            edgecolors="white",
            linewidths=0.0 if behind else min(1.0, size / 30.0),
            zorder=1 if behind else 5,
        )
    for some, colour, name in ((~rattlers, BLUE, "class"), (rattlers, ORANGE, "rattler")):
        if some.any():
            ax.scatter([], [], s=45, color=colour, label=name)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0.02), ncols=3)


def draw_ball(ax: Any, W: np.ndarray) -> np.ndarray:
    """Draw the circle or the sphere on bare axes; the matrix (d, 3) to its view of rows (K, d).

    The third coordinate points to the viewer.
    """
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Circle

    flat = W.shape[1] == 2
    ax.set_axis_off()
    rim = ax.add_patch(Circle((0, 0), 1.0, fill=False, edgecolor=GREY, lw=0.9, zorder=2))
    # Lambert's law with a lamp at the upper left; kept pale, the code is the subject.
    side = np.linspace(-1.0, 1.0, 240)
    height = np.sqrt(np.clip(1.0 - side**2 - side[:, None] ** 2, 0.0, None))
    light = np.full_like(height, 0.9) if flat else 0.5 * side[:, None] - 0.45 * side + 0.74 * height
    shades = LinearSegmentedColormap.from_list("ball", _PALE)
    image = ax.imshow(light, shades, vmin=0.0, vmax=1.0, extent=(-1, 1, -1, 1), origin="lower")
    image.set_clip_path(rim)
    ax.set(xlim=(-1.08, 1.08), ylim=(-1.08, 1.08))
    return np.eye(2, 3) if flat else _open_view(W)


def _open_view(W: np.ndarray) -> np.ndarray:
    """A rotation, shape (3, 3), under which no two points hide each other, as far as possible."""
    from scipy.spatial.distance import pdist

    rng = np.random.default_rng(0)
    views = [np.linalg.qr(rng.standard_normal((3, 3)))[0] for _ in range(300)]
    return max(views, key=lambda view: float(pdist(W[:150] @ view[:, :2]).min(initial=np.inf)))


def polylines(points: np.ndarray, pairs: np.ndarray, *, curved: bool) -> np.ndarray:
    """Pairs (m, 2) of points (K, 3) as one line (3, n) with NaN between them.

    Args:
        curved: as arcs of the sphere, else as segments.
    """
    t = np.linspace(0.0, 1.0, 25 if curved else 2)[None, :, None]
    chords = points[pairs[:, :1]] * (1.0 - t) + points[pairs[:, 1:]] * t
    if curved:  # antipodes have no arc: a point
        chords = chords / np.maximum(np.linalg.norm(chords, axis=2, keepdims=True), 1e-9)
    gaps = np.full((len(pairs), 1, 3), np.nan)
    return np.concatenate([chords, gaps], axis=1).reshape(-1, 3).T
