"""Interactive page of a code, or of the features of a run: `--plot FILE.html`.

The page contains its data and plotly.js (from the package plotly, extra `viewer`), so that it opens
without a network.
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
"""Largest number of points in a plot, so that it turns smoothly; of more, evenly spaced ones."""
_MOST_LINES = 6000
"""Largest number of contacts in a plot, so that it turns smoothly; of more, evenly spaced ones."""
_MOST_NAMED = 40
"""Largest number of classes in a legend, which fits the page."""
_MOST_HEAT = 400
"""Largest number of rows of a heat map, whose clustering takes a second; more are sampled."""
_SPACES = re.compile(" {2,}")
"""Gap between two facts, which a browser would show as one space."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Features of a run at one moment, at most `MOST_POINTS` of them."""

    name: str
    """Name of the moment, such as `epoch 10`."""
    features: np.ndarray
    """Unit rows, shape (m, d)."""
    labels: np.ndarray
    """Classes, shape (m,)."""
    weights: np.ndarray
    """Unit rows, shape (K, d)."""
    classes: np.ndarray
    """Class of each row of `weights`, shape (K,)."""
    N: int
    """Number of samples of the file, in the plot or not."""
    values: str = ""
    """Measured values, in words."""


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
    """Write the page of a code: points with contacts and rattlers, Gram matrix, degrees.

    Args:
        path: the .html file; an existing one is replaced.
        title: the heading.
        facts: the line below the heading.
        weights: unit rows, shape (K, d).
        contacts: pairs of rows, shape (m, 2); None if they were not counted.
        rattlers: shape (K,), true if a row's distance exceeds the minimum; None if unknown.
        distance: name of the distance that defines the rattlers.
        names: names of the points, for hovering.

    Raises:
        OutputError: the file cannot be written.
    """
    K, d = weights.shape
    rows = evenly(K, MOST_POINTS)
    free = np.zeros(K, dtype=bool) if rattlers is None else rattlers
    pairs = np.empty((0, 2), np.intp) if contacts is None else contacts
    degrees = np.bincount(pairs.ravel(), minlength=K)
    place = np.full(K, -1)
    place[rows] = np.arange(len(rows))
    edges = place[pairs]
    edges = edges[(edges >= 0).all(axis=1)]
    lines = edges[evenly(len(edges), _MOST_LINES)]
    W = weights[rows]
    points = [f"point {k}" for k in range(K)] if names is None else [*map(in_html, names)]
    labels = [
        points[k]
        + ("" if contacts is None else f"<br>{degrees[k]} contacts")
        + ("<br>rattler" if free[k] else "")
        for k in rows
    ]
    views = {name: points.round(5) for name, points in _views(W, lines).items()}
    order = seriated(weights)
    counts = np.bincount(degrees)
    kinds = [_dot(BLUE, "points")]
    kinds += [_dot(ORANGE, f"{distance} rattlers ({count(free.sum())})")] if free.any() else []
    kinds += ["lines: contacts"] if len(lines) else []
    kinds += ["contacts were not counted"] if contacts is None else []
    parts = [
        (len(rows), K, "points"),
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
            "colours": np.where(free[rows], ORANGE, BLUE).tolist(),
            # On a sphere contacts are arcs between the points, in projections they cross them.
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
    """Write the page of a run: features and class weights at each of its snapshots.

    Beyond three dimensions they are projected on the principal axes of the last weights.

    Args:
        path: the .html file; an existing one is replaced.
        title: the heading.
        facts: the line below the heading.
        snapshots: at least one, in their order.
        names: names of the classes, by label, for hovering.

    Raises:
        OutputError: the file cannot be written.
    """
    last = snapshots[-1].weights
    d = last.shape[1]
    axes = np.eye(d, 3) if d <= 3 else np.linalg.svd(last, full_matrices=False)[2][:3].T
    frames = [
        {
            "name": ": ".join(filter(None, (snapshot.name, snapshot.values))),
            "points": _packed((snapshot.features @ axes).T),
            "classes": snapshot.labels.tolist(),
            "weights": _packed((snapshot.weights @ axes).T),
            "of": snapshot.classes.tolist(),
        }
        for snapshot in snapshots
    ]
    classes, labels = snapshots[-1].classes, [*map(in_html, names)]
    kinds = ["dots: features", "diamonds: class weights"]
    kinds += (
        ["one colour per class"]
        if len(classes) > _MOST_NAMED
        else [
            _dot(
                f"hsl({k * 137.508 % 360:.0f} 65% 50%)",
                labels[k] if k < len(labels) else f"class {k}",
            )
            for k in classes.tolist()
        ]
    )
    kinds += ["projected on the principal axes of the last weights"] if d > 3 else []
    largest = max(snapshots, key=lambda snapshot: snapshot.N)
    legend = _legend(kinds, [(len(largest.features), largest.N, "samples")])
    data = {"frames": frames, "sphere": d <= 3, "names": labels}
    _write(path, title, facts, legend, data)


def evenly(n: int, limit: int) -> np.ndarray:
    """Return min(n, limit) evenly spaced integers from 0 to n - 1, shape (min(n, limit),)."""
    return np.linspace(0, n - 1, min(n, limit)).astype(np.intp)


def _dot(colour: str, words: str) -> str:
    return f'<span style="color: {colour}">●</span> {words}'


def _legend(kinds: Sequence[str], parts: Sequence[tuple[int, int, str]]) -> str:
    """Return the meaning of the colours, and the parts `(m, n, noun)` of which only m are drawn."""
    sampled = [f"{count(m)} of {count(n)} {noun}" for m, n, noun in parts if m < n]
    sentence = f". Drawn: {', '.join(sampled)}, evenly spaced." if sampled else "."
    return ", ".join(kinds) + sentence


def _write(
    path: str | os.PathLike[str], title: str, facts: str, legend: str, data: dict[str, Any]
) -> None:
    from plotly.offline import get_plotlyjs

    template = (resources.files("gnc_cli.console") / "viewer.html").read_text(encoding="utf-8")
    colours = {"ink": INK, "grey": GREY, "blue": BLUE, "orange": ORANGE, "cosines": COSINES}
    # Text in a script element must not look like a tag or a comment.
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
    """Encode an array for plotly.js: float32 in base64."""
    data = np.ascontiguousarray(array, dtype="<f4")
    text = base64.b64encode(data.tobytes()).decode()
    return {"dtype": "f4", "bdata": text, "shape": ", ".join(map(str, data.shape))}


def _views(W: np.ndarray, lines: np.ndarray) -> dict[str, np.ndarray]:
    """Return the points, shape (K, 3), of each projection by its name."""
    d = W.shape[1]
    if d <= 3:
        return {"as it is": W @ np.eye(d, 3)}
    axes = np.linalg.svd(W, full_matrices=False)[2]
    views = {
        f"principal axes {i + 1} to {i + 3}": W @ axes[i : i + 3].T
        for i in range(0, min(len(axes) - 2, 9), 3)
    }
    for k in (0, len(W) // 2):
        rest = W - np.outer(W @ W[k], W[k])
        plane = np.linalg.svd(rest, full_matrices=False)[2][:2]
        views[f"seen from point {k}"] = np.column_stack([rest @ plane.T, W @ W[k]])
    if len(lines) and len(W) <= 1000:
        views["contact graph"] = _spectral(len(W), lines)
    rng = np.random.default_rng(0)
    views["random directions"] = W @ np.linalg.qr(rng.standard_normal((d, 3)))[0]
    return views


def _spectral(K: int, lines: np.ndarray) -> np.ndarray:
    """Return the three slowest modes of the contact graph, shape (K, 3), scaled to the unit ball.

    They are eigenvectors of its normalised Laplacian.
    """
    adjacency = np.zeros((K, K))
    adjacency[lines[:, 0], lines[:, 1]] = adjacency[lines[:, 1], lines[:, 0]] = 1.0
    root = 1.0 / np.sqrt(np.maximum(adjacency.sum(axis=1), 1.0))
    modes = np.linalg.eigh(root[:, None] * adjacency * root)[1][:, -4:-1]
    points = np.asarray(root[:, None] * modes)
    return points / max(float(np.linalg.norm(points, axis=1).max()), 1e-12)


def seriated(W: np.ndarray) -> np.ndarray:
    """Return indices of evenly spaced rows, shape (m,), with close points next to each other."""
    from scipy.cluster.hierarchy import leaves_list, linkage

    rows = evenly(len(W), _MOST_HEAT)
    tree = linkage(W[rows], "average", optimal_ordering=True)
    return np.asarray(rows[leaves_list(tree)])
