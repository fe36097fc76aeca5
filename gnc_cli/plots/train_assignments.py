"""Placements of classes on one code: what each came to, and the best and the worst of them."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from gnc_cli.plots.style import BLUE, GREEN, ORANGE
from gnc_cli.plots.train_places import MOST_NAMED, class_labels, show_places
from gnc_cli.results.train import TrainResult

__all__ = ["placement_text", "ranked", "show_assignments", "show_ends"]

_SHARES = (
    ("train_accuracy", "training set", BLUE, "o", "white"),
    ("test_accuracy", "test set", ORANGE, "o", ORANGE),
    ("ood_accuracy", "out of distribution", GREEN, "D", GREEN),
)


def ranked(rows: Sequence[TrainResult]) -> list[TrainResult]:
    """The best first, by test accuracy, by training accuracy where there is no test set."""

    def share(row: TrainResult) -> float:
        found = row.train_accuracy if row.test_accuracy is None else row.test_accuracy
        return -1.0 if found is None else found

    return sorted(rows, key=share, reverse=True)


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
    """A line a placement, the best on top: its accuracies as dots.

    Args:
        ax: Matplotlib axes.
        rows: in the order of `ranked`.
    """
    height = np.arange(len(rows))[::-1]
    for key, name, colour, marker, face in _SHARES:
        found = [(getattr(row, key), y) for row, y in zip(rows, height, strict=True)
                 if getattr(row, key) is not None]  # fmt: skip
        if found:
            ax.plot(*zip(*found, strict=True), ls="none", marker=marker, ms=7, mfc=face,
                    mec=colour, mew=1.5, label=name)  # fmt: skip
    ax.set_yticks(height, [placement_text(row) for row in rows])
    ax.set_ylim(-0.6, len(rows) - 0.4)
    ax.margins(x=0.08)
    ax.grid()
    ax.set_xlabel("share of samples")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)


def show_ends(axes: Sequence[Any], rows: Sequence[TrainResult]) -> None:
    """The best and the worst placement on the circle, one an axes.

    Args:
        axes: two.
        rows: in the order of `ranked`, with `weights` among their extras.
    """
    for ax, row, word in zip(axes, (rows[0], rows[-1]), ("Best", "Worst"), strict=True):
        extras = row.extras
        show_places(ax, extras.get("features"), extras.get("labels"), extras["weights"],
                    extras.get("class_names", ()))  # fmt: skip
        share = row.train_accuracy if row.test_accuracy is None else row.test_accuracy
        ax.set_title(word if share is None else f"{word}: {share:.4f}", loc="center", pad=16.0)
