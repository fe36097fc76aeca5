"""Every kind of plot of `solve`, and `console/drawing.py`: whole, valid, without pyplot."""

import os
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from gnc_cli import solve
from gnc_cli.brackets import Bracket
from gnc_cli.console.drawing import draw_cosines, styled
from gnc_cli.geometry.sphere import random_points
from gnc_cli.search.plot import code_figure, sweep_figure
from gnc_cli.search.result import Optimum, SolveResult, SolveSweep
from tests.console.stand_in import code, ufm
from tests.problems import icosahedron, polygon

HISTORY = np.column_stack([np.arange(0.0, 500.0, 10.0), 0.5 - np.exp(-np.arange(50.0))])


def random_code(d: int, K: int) -> np.ndarray:
    return random_points(np.random.default_rng(0), K, d)


def result_of(W: np.ndarray, problem: str = "softmax", **extras: Any) -> SolveResult:
    K, d = W.shape
    cosine = float(min((W @ W.T - 3 * np.eye(K)).max(), 1.0))
    return code(
        problem=problem,
        d=d,
        K=K,
        max_cosine=cosine,
        weights=W,
        extras=extras,
        rho_one_vs_rest=Bracket(1 - cosine, 1 - cosine + 1e-12),
        optimum=None,
        verdict=None,
    )


def full_extras(K: int) -> dict[str, Any]:
    lower = np.linspace(0.5, 0.6, K)
    return {
        "history": HISTORY,
        "one_vs_rest_lower": lower,
        "one_vs_rest_upper": lower + 1e-3,
        "contact_pairs": np.array([[0, 1]]),
        "rattlers_one_vs_one": np.arange(K) == 1,
        "rattlers_one_vs_rest": np.arange(K) == 0,
    }


def with_tau(result: SolveResult, tau: float, **changes: Any) -> SolveResult:
    return replace(result, problem="ufm", ufm=ufm(tau).ufm, **changes)


def plane_result(**extras: Any) -> SolveResult:
    W = polygon(8) * np.linspace(1, 2, 8)[:, None]
    made = with_tau(result_of(polygon(8), **extras), 0.02, weights=W, features=0.5 * W[::-1])
    assert made.ufm is not None
    return replace(made, ufm=replace(made.ufm, weight_decay=0.001))


def sweep(*taus: float) -> SolveSweep:
    rows = tuple(with_tau(result_of(icosahedron()), tau, max_cosine=0.4 + tau) for tau in taus)
    return SolveSweep(1.0, "0", problem="ufm", d=3, K=12, rows=rows, out=None)


RESULTS = {
    "polygon": result_of(polygon(7), **full_extras(7)),
    "icosahedron": result_of(icosahedron(), "tammes", **full_extras(12)),
    "antipodes": result_of(np.array([[1.0, 0, 0], [-1, 0, 0]]), history=None),
    "nothing known": result_of(random_code(3, 9)),
    "full": result_of(random_code(10, 100), **full_extras(100)),
    "no brackets": result_of(random_code(4, 9), one_vs_rest_lower=np.ones(9), history=HISTORY[:1]),
    "overflowed history": result_of(random_code(4, 9), history=HISTORY * [[1, np.nan]]),
    "plane": plane_result(),
    "sweep": sweep(1.0, 0.1, 0.01),
    "one tau": sweep(0.5),
}


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_has_a_plot_that_is_not_blank(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.png"
    RESULTS[name].plot(path)
    with Image.open(path) as image:
        image.load()
        assert image.format == "PNG"
        assert min(image.size) >= 600
        shades = np.asarray(image.convert("L"))
    assert 0.002 < (shades < 128).mean() < 0.6
    assert os.listdir(tmp_path) == ["a.png"]


def test_a_sweep_shows_its_limit_in_both_panels() -> None:
    figure = sweep_figure(RESULTS["sweep"])
    for ax, end in zip(figure.axes, (5**-0.5, 1 - 5**-0.5), strict=True):
        curve, limit = ax.lines
        assert curve.get_xdata().tolist() == [0.01, 0.1, 1.0]
        assert limit.get_ydata() == pytest.approx([end, end], abs=1e-9)
        named = [text.get_text() for text in ax.get_legend().get_texts()]
        assert named[1] == rf"$\tau \to 0$: optimal code, {end:.4f}"


def panels(result: Any) -> dict[str, Any]:
    """The axes of a code's plot by their titles."""
    return panels_of(code_figure(result))


def panels_of(figure: Any) -> dict[str, Any]:
    return {ax.get_title("left") or ax.get_title(): ax for ax in figure.axes}


def test_a_code_stands_beside_the_best_known_one_and_the_bound() -> None:
    descent: Any = solve(10, 12, method="descent", restarts=1)
    worse = replace(descent, max_cosine=0.3, optimum=Optimum(0.8, 0.1, False, "rankin", ""))
    known = descent.best_known
    for found, lines in (
        (solve(construction="e8-roots"), ["largest 0.5000"]),
        (descent, [f"largest {descent.max_cosine:.4f}"]),
        (worse, ["largest 0.3000", f"optimal {known.max_cosine:.4f}"]),
        (
            replace(worse, best_known=replace(known, proven=False)),
            ["largest 0.3000", f"best known {known.max_cosine:.4f}", "proved lower bound 0.2000"],
        ),
    ):
        ax = panels(found)["Pairwise cosines"]
        assert [line.get_label() for line in ax.lines[1:]] == lines


def test_a_plot_of_lines_says_that_both_points_of_each_are_drawn() -> None:
    figure = code_figure(solve(4, 12, problem="lines"))
    assert "both points of each line" in figure.artists[0].get_text()


def test_distances_are_drawn_where_they_differ() -> None:
    assert {"One-vs-rest distances", "Objective during the search"} <= {*panels(RESULTS["full"])}
    assert "One-vs-rest distances" not in panels(RESULTS["no brackets"])


def test_lines_of_one_value_are_all_seen() -> None:
    colours = ("#ff0000", "#00ff00", "#0000ff")
    for count in (1, 2, 3):
        figure = Figure(dpi=300)
        levels = [(0.5, "", colour) for colour in colours[:count]]
        draw_cosines(figure.add_axes((0, 0, 1, 1)), np.array([[1.0, 0], [0, 1]]), levels)
        figure.axes[0].get_legend().remove()
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        pixels = np.asarray(canvas.buffer_rgba())[..., :3].reshape(-1, 3)
        shares = [(pixels == 255 * np.eye(3)[i]).all(axis=1).sum() for i in range(count)]
        assert min(shares) > 0.5 * max(shares) > 0


def test_numbers_of_steps_do_not_run_into_each_other() -> None:
    history = HISTORY * [400, 1]
    with styled():
        extras = full_extras(100) | {"history": history}
        figure = code_figure(result_of(random_code(10, 100), **extras))
        figure.draw_without_rendering()
    labels = [label for label in figure.axes[-1].get_xticklabels() if label.get_text()]
    boxes = [label.get_window_extent() for label in labels]
    assert "100,000" in [label.get_text() for label in labels]
    assert all(a.x1 + 5 < b.x0 for a, b in pairwise(boxes))


def test_a_gram_matrix_fills_its_column() -> None:
    for name in ("full", "no brackets"):
        with styled():
            figure = code_figure(RESULTS[name])
            figure.draw_without_rendering()
        matrix = panels_of(figure)["Cosines, near points side by side"].get_window_extent()
        assert matrix.height > 0.6 * figure.bbox.height


def test_pyplot_is_never_imported(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "import gnc_cli.search.plot\n"
        "assert 'matplotlib' not in sys.modules\n"
        "from tests.search import test_plot as t\n"
        "t.RESULTS['icosahedron'].plot(sys.argv[1])\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "a.png")], check=True, cwd=root)
