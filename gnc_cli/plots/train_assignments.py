"""Placements of classes on one code: what each came to, and the best and the worst of them."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from gnc_cli.plots.style import BLUE, GREEN, GREY, ORANGE
from gnc_cli.plots.train_places import MOST_NAMED, class_labels, show_places
from gnc_cli.results.train import TrainResult

__all__ = ["MANY_ROWS", "placement_text", "ranked", "show_assignments", "show_ends"]

MANY_ROWS = 16
"""More lines than these are set close together, in small letters."""
_HIGH = 0.5
"""Where all shares are above it, the axis does not start at 0."""
_SHARES = (
    ("train_accuracy", "training set", BLUE, "o", "white"),
    ("test_accuracy", "test set", ORANGE, "o", ORANGE),
    ("ood_accuracy", "out of distribution", GREEN, "D", GREEN),
)


def ranked(rows: Sequence[TrainResult]) -> list[TrainResult]:
    """The best first, by test accuracy, by training accuracy where there is no test set."""

    def value(row: TrainResult) -> float:
        found = _judged(row)[1]
        return -1.0 if found is None else found

    return sorted(rows, key=value, reverse=True)


def placement_text(row: TrainResult) -> str:
    """Who stands next to whom: around the circle where d is 2, else the row of each class.

    The name of the run where the classes are too many to be listed.
    """
    permutation = row.head.permutation or ()
    names = list(row.extras.get("class_names") or map(str, range(len(permutation))))
    if 0 < len(names) <= MOST_NAMED:
        names = class_labels(names)
    else:
        return os.path.basename(row.run)
    weights = row.extras.get("weights")
    if weights is None or np.shape(weights)[1] != 2:
        return "  ".join(f"{n} → {p}" for n, p in zip(names, permutation, strict=False))
    W = np.asarray(weights, dtype=float)
    order = np.argsort(np.arctan2(W[:, 1], W[:, 0]), kind="stable")
    first = int(np.flatnonzero(order == 0)[0])
    order = np.roll(order, -first)
    if len(order) > 2 and order[1] > order[-1]:  # a mirror image is the same arrangement
        order = np.roll(order[::-1], 1)
    return " - ".join(names[k] for k in order)


def show_assignments(ax: Any, rows: Sequence[TrainResult]) -> None:
    """A line a placement, the best on top: its accuracies as dots, one a little below another.

    The axis starts at 0, with a line at the share that chance gets right, unless all shares are so
    high that nothing could be told apart; it then says where it starts.

    Args:
        ax: Matplotlib axes.
        rows: in the order of `ranked`, at least one.
    """
    height = np.arange(len(rows))[::-1]
    many = len(rows) > MANY_ROWS
    seen = [looks for looks in _SHARES if any(getattr(row, looks[0]) is not None for row in rows)]
    aside = np.linspace(0.2, -0.2, len(seen)) if len(seen) > 1 else np.zeros(len(seen))
    for y in height[::2]:
        ax.axhspan(y - 0.5, y + 0.5, color="#F1F3F5", lw=0, zorder=0)
    lowest = 1.0
    for (key, name, colour, marker, face), up in zip(seen, aside, strict=True):
        found = [(getattr(row, key), y + up) for row, y in zip(rows, height, strict=True)
                 if getattr(row, key) is not None]  # fmt: skip
        lowest = min(lowest, *(value for value, _ in found))
        ax.plot(*zip(*found, strict=True), ls="none", marker=marker, ms=4 if many else 7, mfc=face,
                mec=colour, mew=1.0 if many else 1.5, label=name, clip_on=False)  # fmt: skip
    K = len(rows[0].head.permutation or ())
    label = "share of samples"
    ax.margins(x=0.08)
    if lowest < _HIGH:
        ax.set_xlim(left=0.0)
        if K:
            ax.axvline(1.0 / K, color=GREY, lw=1.3, ls="--", zorder=1, label=f"chance, 1/{K}")
    else:
        label += f"; the axis starts at {ax.get_xlim()[0]:.3f}"
    ax.set_yticks(height, [placement_text(row) for row in rows])
    ax.tick_params(axis="y", labelsize=7.0 if many else 10.0, length=0.0)
    ax.set_ylim(-0.6, len(rows) - 0.4)
    ax.grid(axis="x")
    ax.set_xlabel(label)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2 if len(seen) > 2 else 3)


def show_ends(axes: Sequence[Any], rows: Sequence[TrainResult]) -> None:
    """The best and the worst placement in the plane, one an axes, and how many tie with it.

    Args:
        axes: two.
        rows: all of them, in the order of `ranked`, with `weights` among their extras.
    """
    for ax, row, word in zip(axes, (rows[0], rows[-1]), ("Best", "Worst"), strict=True):
        extras = row.extras
        show_places(ax, extras.get("features"), extras.get("labels"), extras["weights"],
                    extras.get("class_names", ()))  # fmt: skip
        name, share = _judged(row)
        ties = sum(_judged(other)[1] == share for other in rows)
        shared = f"\none of {ties} that tie" if ties > 1 else ""
        said = word if share is None else f"{word}: {name} {share:.4f}{shared}"
        ax.set_title(said, loc="center", pad=12.0)


def _judged(row: TrainResult) -> tuple[str, float | None]:
    """What placements are ranked by."""
    if row.test_accuracy is None:
        return "training accuracy", row.train_accuracy
    return "test accuracy", row.test_accuracy
