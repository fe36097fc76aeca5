"""Parts of plots that several commands share: colours, settings, and panels of curves and codes.

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
"""ColorBrewer's RdBu, evenly spaced from the lowest to the highest value of a Gram matrix."""

COLOURS = (BLUE, ORANGE, GREEN, PURPLE, "#E69F00", "#56B4E9", INK)
"""Colours of lines and classes, in their order."""
MOST_MARKS = 40
"""Largest number of points that a line marks one by one; the marks of more would overlap."""
_MARKERS = {"-": "o", "--": "x", ":": "+"}
"""Mark of each line style."""
_MOST_COSINES = 8_000_000
"""Largest number of cosines, 64 MB; of a larger code, evenly spaced rows stand for all."""
_BALL_SHADES = ("#D3DAE4", "#FCFDFE")
"""Darkest and lightest colour of a ball; pale, so that the code stands out."""
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
    """Set the style of our plots inside the block, for drawing as for saving.

    Of the user's matplotlibrc only the fonts are kept, as class names may be in any script. The
    `matplotlibrc` of the current folder is not read, since it may be somebody else's.
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
    """Make an empty matplotlib figure (inches), with facts in small print below its title."""
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation

    figure: Any = Figure(figsize=(width, height))
    heading = figure.suptitle(title + "\n", fontsize=14, fontweight="bold", linespacing=1.2)
    # The layout keeps room for the heading's empty second line; the facts are set into it.
    place: Any = {"xycoords": heading, "ha": "center", "va": "bottom", "fontsize": 10}
    figure.add_artist(Annotation(facts, (0.5, 0.0), color=INK, **place))
    return figure


def save(figure: Any, path: str | os.PathLike[str]) -> None:
    """Write a matplotlib figure in the format of the suffix, replacing a file in one step.

    Raises:
        UsageError: unknown suffix.
        OutputError: the file cannot be written; nothing has changed.
    """
    suffix = check_suffix(path, (".png", ".svg", ".pdf"))
    undated: dict[str, dict[str, Any]] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    image = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # names in a script that the font lacks
        # The layout's last digits differ from call to call; rounding makes equal plots equal files.
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        for ax in figure.axes:
            ax.set_position([round(x, 6) for x in ax.get_position(original=True).bounds])
        figure.savefig(image, format=suffix[1:], dpi=150, metadata=undated.get(suffix))
    with atomic_file(path, force=True) as file:
        file.write(image.getbuffer())


@dataclass(frozen=True, eq=False)
class Curve:
    """A line over epochs, layers or another ordered axis, or the lower ends of brackets over it."""

    name: str
    """Name in the legend."""
    x: Sequence[float]
    """Places on the axis, shape (n,)."""
    y: Sequence[float | None]
    """Values, shape (n,); None and NaN are not drawn."""
    colour: Any
    style: str = "-"
    """Style of the line, which decides its marks too: `-`, `--` or `:`."""
    upper: Sequence[float] | None = None
    """Upper ends, shape (n,), of brackets whose lower ends are `y`."""


def draw_curves(
    ax: Any, title: str, curves: Sequence[Curve], *, log: bool = False, joined: bool = True
) -> None:
    """Draw curves, a grid and a title.

    Args:
        ax: axes of matplotlib.
        title: title of the panel.
        curves: curves of the panel.
        log: make the value axis logarithmic if all values are positive.
        joined: draw lines; without it, marks alone.
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
    """Draw the sorted cosines of all pairs, where a plateau is a value that many pairs have.

    Args:
        ax: axes of matplotlib.
        W: unit rows, shape (K, d).
        levels: cosine, name and colour of each horizontal line to compare with.
    """
    K = len(W)
    rows = np.linspace(0, K - 1, min(K, max(1, _MOST_COSINES // K))).astype(np.intp)
    others = np.arange(K) != rows[:, None]
    cosines = np.sort(np.clip(W[rows] @ W.T, -1.0, 1.0)[others])
    curve = cosines[np.linspace(0, len(cosines) - 1, min(len(cosines), 5000)).astype(np.intp)]
    ax.plot(np.linspace(0.0, 100.0, len(curve)), curve, color=BLUE, lw=2.5, solid_capstyle="butt")
    for i, (value, name, colour) in enumerate(levels):
        # The dashes of one line lie in the gaps of the others, so that equal levels all show.
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
    """Draw the sorted one-vs-rest distances of the classes, with their certified brackets.

    Args:
        ax: axes of matplotlib.
        lower: lower ends, shape (K,).
        upper: upper ends, shape (K,).
        rattlers: mask of the classes that are free to move, shape (K,).
        levels: distance, name and colour of each horizontal line to compare with.
    """
    order = np.argsort(lower, kind="stable")
    rank = np.arange(1, len(order) + 1)
    ax.fill_between(rank, lower[order], upper[order], color=GREY, alpha=0.4, lw=0)
    size = float(np.clip(1200.0 / len(order), 2.0, 22.0))
    for mask, colour, name in ((~rattlers, BLUE, "class"), (rattlers, ORANGE, "rattler")):
        if mask.any():
            sorted_mask = mask[order]
            places = rank[sorted_mask], lower[order][sorted_mask]
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
    """Return the limits of an axis around values, wide enough to hide differences of rounding.

    Args:
        values: values of the axis, of any shape.

    >>> open_limits(np.array([0.5, 0.5]))
    (0.499, 0.501)
    """
    low, high = float(values.min()), float(values.max())
    margin = max(0.1 * (high - low), 0.002 * high, 1e-6)
    return low - margin, high + margin


def draw_code(ax: Any, W: np.ndarray, pairs: np.ndarray, rattlers: np.ndarray) -> None:
    """Draw the points of a code in the plane or in space, with lines between points in contact.

    Args:
        ax: axes of matplotlib, which lose their frame.
        W: unit rows, shape (K, 2) or (K, 3).
        pairs: rows in contact, shape (m, 2).
        rattlers: mask of the rows that are free to move, shape (K,).
    """
    points = W @ draw_ball(ax, W)
    x, y, z = polylines(points, pairs, curved=W.shape[1] == 3)
    width = float(np.clip(24.0 / np.sqrt(len(W)), 0.5, 1.5))
    size = float(np.clip(3200.0 / len(W), 3.0, 70.0))
    colours = np.where(rattlers, ORANGE, BLUE)
    for rear in (True, False):
        ax.plot(
            np.where((z < 0.0) == rear, x, np.nan),
            y,
            color=INK,
            lw=width,
            alpha=0.13 if rear else 1.0,
            label=None if rear or not len(pairs) else "contact",
        )
        half = (points[:, 2] < 0.0) == rear
        ax.scatter(
            *points[half, :2].T,
            s=0.55 * size if rear else size,
            color=colours[half],
            alpha=0.28 if rear else 1.0,
            edgecolors="white",
            linewidths=0.0 if rear else min(1.0, size / 30.0),
            zorder=1 if rear else 5,
        )
    for mask, colour, name in ((~rattlers, BLUE, "class"), (rattlers, ORANGE, "rattler")):
        if mask.any():
            ax.scatter([], [], s=45, color=colour, label=name)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0.02), ncols=3)


def draw_ball(ax: Any, W: np.ndarray) -> np.ndarray:
    """Draw the unit circle or sphere, and return the view in which rows are to be drawn on it.

    Args:
        ax: axes of matplotlib, which lose their frame.
        W: unit rows, shape (K, 2) or (K, 3).

    Returns:
        The matrix, shape (d, 3), that takes rows to coordinates right, up and towards the viewer.
    """
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Circle

    flat = W.shape[1] == 2
    ax.set_axis_off()
    rim = ax.add_patch(Circle((0, 0), 1.0, fill=False, edgecolor=GREY, lw=0.9, zorder=2))
    # Lambert's law with a lamp at the upper left.
    side = np.linspace(-1.0, 1.0, 240)
    height = np.sqrt(np.clip(1.0 - side**2 - side[:, None] ** 2, 0.0, None))
    light = np.full_like(height, 0.9) if flat else 0.5 * side[:, None] - 0.45 * side + 0.74 * height
    shades = LinearSegmentedColormap.from_list("ball", _BALL_SHADES)
    image = ax.imshow(light, shades, vmin=0.0, vmax=1.0, extent=(-1, 1, -1, 1), origin="lower")
    image.set_clip_path(rim)
    ax.set(xlim=(-1.08, 1.08), ylim=(-1.08, 1.08))
    return np.eye(2, 3) if flat else _open_view(W)


def _open_view(W: np.ndarray) -> np.ndarray:
    """Return the orthogonal matrix, shape (3, 3), of 300 random ones that best separates points."""
    from scipy.spatial.distance import pdist

    rng = np.random.default_rng(0)
    views = [np.linalg.qr(rng.standard_normal((3, 3)))[0] for _ in range(300)]
    return max(views, key=lambda view: float(pdist(W[:150] @ view[:, :2]).min(initial=np.inf)))


def polylines(points: np.ndarray, pairs: np.ndarray, *, curved: bool) -> np.ndarray:
    """Return all segments between pairs of points as one line, shape (3, n), with NaN in the gaps.

    Args:
        points: points, shape (K, 3).
        pairs: ends of each segment, as rows of `points`, shape (m, 2).
        curved: arcs of the unit sphere in place of segments.
    """
    t = np.linspace(0.0, 1.0, 25 if curved else 2)[None, :, None]
    chords = points[pairs[:, :1]] * (1.0 - t) + points[pairs[:, 1:]] * t
    if curved:  # antipodes have no arc: a point
        chords = chords / np.maximum(np.linalg.norm(chords, axis=2, keepdims=True), 1e-9)
    gaps = np.full((len(pairs), 1, 3), np.nan)
    return np.concatenate([chords, gaps], axis=1).reshape(-1, 3).T
