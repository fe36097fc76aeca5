"""What all pictures share: colours, a figure without a display, and saving it whole.

Matplotlib is used through `Figure` alone: no pyplot, no global state, no window system.
"""

import contextlib
import io
import os
import warnings
from collections.abc import Iterator
from typing import Any

from gnc_cli.io.atomic import atomic_file
from gnc_cli.io.outputs import check_suffix

# Okabe and Ito's palette: told apart by people with any colour vision, and in grey.
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
