"""`--plot FILE.html`: one self-contained page of a code, or of the features of a run.

The page holds its numbers and plotly.js (from the package plotly, extra `viewer`), so that it opens
anywhere, without a network.
"""

import base64
import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np

from gnc_cli.console.drawing import BLUE, COSINES, GREY, INK, ORANGE, polylines
from gnc_cli.escaping import in_html
from gnc_cli.figures import count
from gnc_cli.io.atomic import write_text

MOST_POINTS = 3000
"""Of larger codes and sets evenly spaced points are drawn."""
_MOST_LINES = 6000
"""Contacts that are drawn; of more, evenly spaced ones."""
_MOST_NAMED = 40
"""Classes whose colours a legend names."""
_MOST_HEAT = 400
"""Rows and columns of a heat map that are put in order by clustering; more are sampled."""
_SPACES = re.compile(" {2,}")
"""Between two facts: a page shows one space."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Features of a run at one moment, at most `MOST_POINTS` of them."""

    name: str
    """Such as `epoch 10`."""
    features: np.ndarray
    """Unit rows, shape (m, d)."""
    labels: np.ndarray
    """Classes, shape (m,)."""
    weights: np.ndarray
    """Unit rows, shape (K, d)."""
    classes: np.ndarray
    """Class of each row of `weights`, shape (K,)."""
    N: int
    """Samples of the file, drawn or not."""
    figures: str = ""
    """What was measured of it, in words."""


def write_code_page(
    path: str | os.PathLike[str],
    *,
    title: str,
    facts: str,
    weights: np.ndarray,
    contacts: np.ndarray | None,
    rattlers: np.ndarray | None,
    distance: str = "one-vs-one",
    names: Sequence[str] | None = None,
) -> None:
    """A code to turn: its points with contacts and rattlers, its Gram matrix, its degrees.

    Args:
        path: the .html file; an existing one is replaced.
        title, facts: the heading and the line below it.
        weights: unit rows, shape (K, d).
        contacts: pairs of rows, shape (m, 2); None where they were not counted.
        rattlers: shape (K,), true where the own distance is above the minimum; None if unknown.
        distance: of which rattlers are meant.
        names: of the points, for hovering.

    Raises:
        OutputError: the file cannot be written.
    """
    K, d = weights.shape
    shown = evenly(K, MOST_POINTS)
    free = np.zeros(K, dtype=bool) if rattlers is None else rattlers
    pairs = np.empty((0, 2), np.intp) if contacts is None else contacts
    degrees = np.bincount(pairs.ravel(), minlength=K)
    place = np.full(K, -1)
    place[shown] = np.arange(len(shown))
    between = place[pairs]
    between = between[(between >= 0).all(axis=1)]
    lines = between[evenly(len(between), _MOST_LINES)]
    W = weights[shown]
    points = [f"point {k}" for k in range(K)] if names is None else [*map(in_html, names)]
    labels = [
        points[k]
        + ("" if contacts is None else f"<br>{degrees[k]} contacts")
        + ("<br>rattler" if free[k] else "")
        for k in shown
    ]
    views = {name: points.round(5) for name, points in _views(W, lines).items()}
    order = seriated(weights)
    counts = np.bincount(degrees)
    kinds = [_dot(BLUE, "points")]
    kinds += [_dot(ORANGE, f"{distance} rattlers ({count(free.sum())})")] if free.any() else []
    kinds += ["lines: contacts"] if len(lines) else []
    kinds += ["contacts were not counted"] if contacts is None else []
    parts = [
        (len(shown), K, "points"),
        (len(lines), len(pairs), "contacts"),
        (len(order), K, "points in the heat map"),
    ]
    _write(
        path,
        title,
        facts,
        _legend(kinds, parts),
        {
            "views": {name: _packed(points.T) for name, points in views.items()},
            "arcs": {
                name: _packed(polylines(points, lines, curved=d <= 3))
                for name, points in views.items()
            },
            "labels": labels,
            "colours": np.where(free[shown], ORANGE, BLUE).tolist(),
            # On a sphere contacts lie beside the points, else across them.
            "opacity": float(np.clip((150 if d <= 3 else 60) / max(1, len(lines)), 0.06, 0.65)),
            "sphere": d <= 3,
            "heat": {
                "names": [points[k] for k in order],
                "z": _packed(weights[order] @ weights[order].T),
            },
            "degrees": None
            if contacts is None
            else {"x": np.flatnonzero(counts).tolist(), "y": counts[counts > 0].tolist()},
        },
    )


def write_run_page(
    path: str | os.PathLike[str],
    *,
    title: str,
    facts: str,
    snapshots: Sequence[Snapshot],
    names: Sequence[str],
) -> None:
    """The features of a run as they move over its snapshots, with the class weights.

    Beyond three dimensions they are seen along the principal axes of the last weights.

    Args:
        path: the .html file; an existing one is replaced.
        title, facts: the heading and the line below it.
        snapshots: in their order, at least one.
        names: of the classes, by label, for hovering.

    Raises:
        OutputError: the file cannot be written.
    """
    last = snapshots[-1].weights
    d = last.shape[1]
    axes = np.eye(d, 3) if d <= 3 else np.linalg.svd(last, full_matrices=False)[2][:3].T
    frames = [
        {
            "name": ": ".join(filter(None, (snapshot.name, snapshot.figures))),
            "points": _packed((snapshot.features @ axes).T),
            "classes": snapshot.labels.tolist(),
            "weights": _packed((snapshot.weights @ axes).T),
            "of": snapshot.classes.tolist(),
        }
        for snapshot in snapshots
    ]
    classes, shown = snapshots[-1].classes, [*map(in_html, names)]
    kinds = ["dots: features", "diamonds: class weights"]
    kinds += (
        ["one colour per class"]
        if len(classes) > _MOST_NAMED
        else [
            _dot(
                f"hsl({k * 137.508 % 360:.0f} 65% 50%)",
                shown[k] if k < len(shown) else f"class {k}",
            )
            for k in classes.tolist()
        ]
    )
    kinds += ["projected on the principal axes of the last weights"] if d > 3 else []
    drawn = max(snapshots, key=lambda snapshot: snapshot.N)
    legend = _legend(kinds, [(len(drawn.features), drawn.N, "samples")])
    data = {"frames": frames, "sphere": d <= 3, "names": shown}
    _write(path, title, facts, legend, data)


def evenly(n: int, most: int) -> np.ndarray:
    """At most `most` of the numbers 0 to n - 1, evenly spaced, both ends among them."""
    return np.linspace(0, n - 1, min(n, most)).astype(np.intp)


def _dot(colour: str, words: str) -> str:
    return f'<span style="color: {colour}">●</span> {words}'


def _legend(kinds: Sequence[str], parts: Sequence[tuple[int, int, str]]) -> str:
    """What the colours are, and how much of what was left out: shown, of how many, of what."""
    left_out = [f"{count(m)} of {count(n)} {what}" for m, n, what in parts if m < n]
    sentence = f". Drawn: {', '.join(left_out)}, evenly spaced." if left_out else "."
    return ", ".join(kinds) + sentence


def _write(
    path: str | os.PathLike[str], title: str, facts: str, legend: str, data: dict[str, Any]
) -> None:
    from plotly.offline import get_plotlyjs

    template = (resources.files("gnc_cli.console") / "viewer.html").read_text(encoding="utf-8")
    colours = {"ink": INK, "grey": GREY, "blue": BLUE, "orange": ORANGE, "cosines": COSINES}
    # In a script element no text may look like a tag or a comment.
    body = json.dumps(data | {"palette": colours}).replace("<", "\\u003c")
    parts = re.split(r"@(\w+)@", template)
    filled = {
        "TITLE": in_html(title),
        "FACTS": in_html(_SPACES.sub(" · ", facts)),
        "LEGEND": legend,
        "DATA": body,
        "PLOTLY": get_plotlyjs(),
    }
    parts[1::2] = [filled[name] for name in parts[1::2]]
    write_text(os.fspath(path), "".join(parts), force=True)


def _packed(array: np.ndarray) -> dict[str, str]:
    """An array as plotly.js reads it: float32 in base64."""
    data = np.ascontiguousarray(array, dtype="<f4")
    text = base64.b64encode(data.tobytes()).decode()
    return {"dtype": "f4", "bdata": text, "shape": ", ".join(map(str, data.shape))}


def _views(W: np.ndarray, lines: np.ndarray) -> dict[str, np.ndarray]:
    """Points (K, 3) of each projection that can be chosen, by its name."""
    d = W.shape[1]
    if d <= 3:
        return {"as it is": W @ np.eye(d, 3)}
    axes = np.linalg.svd(W, full_matrices=False)[2]
    views = {
        f"principal axes {at + 1} to {at + 3}": W @ axes[at : at + 3].T
        for at in range(0, min(len(axes) - 2, 9), 3)
    }
    for k in (0, len(W) // 2):
        rest = W - np.outer(W @ W[k], W[k])
        across = np.linalg.svd(rest, full_matrices=False)[2][:2]
        views[f"seen from point {k}"] = np.column_stack([rest @ across.T, W @ W[k]])
    if len(lines) and len(W) <= 1000:
        views["contact graph"] = _spectral(len(W), lines)
    rng = np.random.default_rng(0)
    views["random directions"] = W @ np.linalg.qr(rng.standard_normal((d, 3)))[0]
    return views


def _spectral(K: int, lines: np.ndarray) -> np.ndarray:
    """Three slowest modes of the contact graph's normalised Laplacian, scaled to the unit ball."""
    adjacency = np.zeros((K, K))
    adjacency[lines[:, 0], lines[:, 1]] = adjacency[lines[:, 1], lines[:, 0]] = 1.0
    root = 1.0 / np.sqrt(np.maximum(adjacency.sum(axis=1), 1.0))
    modes = np.linalg.eigh(root[:, None] * adjacency * root)[1][:, -4:-1]
    points = np.asarray(root[:, None] * modes)
    return points / max(float(np.linalg.norm(points, axis=1).max()), 1e-12)


def seriated(W: np.ndarray) -> np.ndarray:
    """Rows (at most `_MOST_HEAT`, evenly spaced) in an order that puts near points side by side."""
    from scipy.cluster.hierarchy import leaves_list, linkage

    rows = evenly(len(W), _MOST_HEAT)
    tree = linkage(W[rows], "average", optimal_ordering=True)
    return np.asarray(rows[leaves_list(tree)])
