"""`--plot FILE.html`: one self-contained page of a code, or of the features of a run.

The page holds its numbers and plotly.js (from the package plotly, extra `viewer`), so that it opens
anywhere, without a network.
"""

import base64
import html
import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np

from gnc_cli.console.plot_style import BLUE, GREY, INK, ORANGE
from gnc_cli.io.atomic import write_text

MOST_POINTS = 3000
"""Of larger codes evenly spaced points are drawn."""
_MOST_LINES = 6000
_MOST_HEAT = 400
"""Rows and columns of a heat map that are put in order by clustering; more are sampled."""
_ARC = 9
"""Points of an arc between two contacts on the sphere."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Features of a run at one moment."""

    name: str
    """Such as `epoch 10`."""
    features: np.ndarray
    """Unit rows, shape (N, d)."""
    labels: np.ndarray
    """Classes, shape (N,)."""
    weights: np.ndarray
    """Unit rows, shape (K, d)."""


def write_code_page(
    path: str | os.PathLike[str],
    *,
    title: str,
    facts: str,
    weights: np.ndarray,
    contacts: np.ndarray,
    rattlers: np.ndarray,
    names: Sequence[str] | None = None,
) -> None:
    """A code to turn: its points with contacts and rattlers, its Gram matrix, its degrees.

    Args:
        path: the .html file; an existing one is replaced.
        title, facts: the heading and the line below it.
        weights: unit rows, shape (K, d).
        contacts: pairs of rows, shape (m, 2).
        rattlers: shape (K,), true where the own one-vs-one distance is above the minimum.
        names: of the points, for hovering.

    Raises:
        OutputError: the file cannot be written.
    """
    K = len(weights)
    shown = np.linspace(0, K - 1, min(K, MOST_POINTS)).astype(np.intp)
    degrees = np.bincount(contacts.ravel(), minlength=K)
    place = np.full(K, -1)
    place[shown] = np.arange(len(shown))
    lines = place[contacts]
    lines = lines[(lines >= 0).all(axis=1)][:_MOST_LINES]
    W = weights[shown]
    labels = [
        f"{names[k] if names is not None else f'point {k}'}<br>{degrees[k]} contacts"
        + ("<br>rattler" if rattlers[k] else "")
        for k in shown
    ]
    views = {name: points.round(5) for name, points in _views(W, lines).items()}
    order = seriated(weights)
    counts = np.bincount(degrees)
    _write(path, title, facts, {
        "views": {name: _packed(points.T) for name, points in views.items()},
        "arcs": {name: _packed(_lines(points, lines, weights.shape[1] <= 3))
                 for name, points in views.items()},
        "labels": labels,
        "colours": np.where(rattlers[shown], ORANGE, BLUE).tolist(),
        "opacity": float(np.clip(150 / max(1, len(lines)), 0.06, 0.65)),
        "sphere": weights.shape[1] <= 3,
        "heat": {"order": order.tolist(), "z": _packed(weights[order] @ weights[order].T)},
        "degrees": {"x": np.flatnonzero(counts).tolist(), "y": counts[counts > 0].tolist()},
    })  # fmt: skip


def write_run_page(
    path: str | os.PathLike[str], *, title: str, facts: str, snapshots: Sequence[Snapshot]
) -> None:
    """The features of a run as they move over its snapshots, with the class weights.

    Beyond three dimensions they are seen along the principal axes of the last weights.

    Raises:
        OutputError: the file cannot be written.
    """
    axes = _axes(snapshots[-1].weights)
    frames = []
    for snapshot in snapshots:
        N = len(snapshot.features)
        some = np.linspace(0, N - 1, min(N, MOST_POINTS)).astype(np.intp)
        frames.append({
            "name": snapshot.name,
            "points": _packed((snapshot.features[some] @ axes).T),
            "classes": snapshot.labels[some].tolist(),
            "weights": _packed((snapshot.weights @ axes).T),
        })  # fmt: skip
    d = snapshots[-1].weights.shape[1]
    _write(path, title, facts, {"frames": frames, "sphere": d <= 3})


def _write(path: str | os.PathLike[str], title: str, facts: str, data: dict[str, Any]) -> None:
    from plotly.offline import get_plotlyjs

    template = (resources.files("gnc_cli.console") / "viewer.html").read_text(encoding="utf-8")
    colours = {"ink": INK, "grey": GREY, "blue": BLUE, "orange": ORANGE}
    # In a script element no text may look like its end.
    body = json.dumps(data | {"palette": colours}).replace("</", "<\\/")
    parts = re.split(r"@(\w+)@", template)
    filled = {
        "TITLE": html.escape(title), "FACTS": html.escape(facts), "DATA": body,
        "PLOTLY": get_plotlyjs(),
    }  # fmt: skip
    parts[1::2] = [filled[name] for name in parts[1::2]]
    write_text(os.fspath(path), "".join(parts), force=True)


def _packed(array: np.ndarray) -> dict[str, str]:
    """An array as plotly.js reads it: float32 in base64."""
    data = np.ascontiguousarray(array, dtype="<f4")
    text = base64.b64encode(data.tobytes()).decode()
    return {"dtype": "f4", "bdata": text, "shape": ", ".join(map(str, data.shape))}


def _axes(W: np.ndarray) -> np.ndarray:
    """Three axes, shape (d, 3): the coordinates if d <= 3, else where the rows spread most."""
    d = W.shape[1]
    return np.eye(d, 3) if d <= 3 else np.linalg.svd(W, full_matrices=False)[2][:3].T


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


def _lines(points: np.ndarray, lines: np.ndarray, on_sphere: bool) -> np.ndarray:
    """Contacts as one polyline (3, n) with NaN between them: arcs on a sphere, else segments."""
    t = np.linspace(0.0, 1.0, _ARC if on_sphere else 2)[None, :, None]
    chords = points[lines[:, :1]] * (1.0 - t) + points[lines[:, 1:]] * t
    if on_sphere:
        chords = chords / np.maximum(np.linalg.norm(chords, axis=2, keepdims=True), 1e-9)
    gaps = np.full((len(lines), 1, 3), np.nan)
    return np.concatenate([chords, gaps], axis=1).reshape(-1, 3).T


def seriated(W: np.ndarray) -> np.ndarray:
    """Rows (at most `_MOST_HEAT`, evenly spaced) in an order that puts near points side by side."""
    from scipy.cluster.hierarchy import leaves_list, linkage

    rows = np.linspace(0, len(W) - 1, min(len(W), _MOST_HEAT)).astype(np.intp)
    tree = linkage(W[rows], "average", optimal_ordering=True)
    return np.asarray(rows[leaves_list(tree)])
