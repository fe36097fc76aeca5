"""The picture of `gnc solve --plot`: the code itself where it can be seen, and its numbers.

The sphere and the histogram of cosines serve `gnc compare` and `gnc train` too.
"""

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gnc_cli.console.numbers import cosine, count
from gnc_cli.console.plot_style import (
    BLUE,
    COSINES,
    GREEN,
    GREY,
    INK,
    ORANGE,
    save,
    show_heading,
    styled,
)
from gnc_cli.console.viewer import seriated, write_code_page
from gnc_cli.io.outputs import is_page
from gnc_cli.known_codes.best import best
from gnc_cli.search.result import TITLES, SolveResult, SolveSweep

_MOST_PRODUCTS = 8_000_000
"""64 MB: of larger codes evenly spaced rows are compared with all others."""
_PALE = "#F4F6F8"
_FEW = 6
"""So many different cosines are written, not drawn."""
_LINE = 18.0
"""Points from one written line to the next."""


def plot_solve(result: SolveResult | SolveSweep, path: str | os.PathLike[str]) -> None:
    """Draw a solve, or a sweep over tau, into a .png, .svg or .pdf file; .html is a page to turn.

    d = 2 and 3 show the points with their contacts, more dimensions the Gram matrix, the best known
    code, the bound and the number of contacts per point; all show the cosines of the pairs and,
    where they differ, the distances of the points. A UFM optimum with d = 2 shows its weights and
    features with their lengths (figures B.1, B.2 of the paper), a sweep the largest cosine and rho
    against tau (figure C.1).

    Raises:
        UsageError: unknown suffix.
        OutputError: the file cannot be written; nothing has changed.
    """
    if is_page(path):
        code = result.rows[-1] if isinstance(result, SolveSweep) else result
        title, facts = _heading(code)
        rattlers, distance = _rattlers(code)
        write_code_page(
            path,
            title=title,
            facts=facts,
            weights=_unit(code),
            distance=distance,
            contacts=code.extras.get("contact_pairs"),
            rattlers=rattlers,
        )
        return
    with styled():
        if isinstance(result, SolveSweep):
            figure = sweep_figure(result)
        elif result.problem == "ufm" and result.d == 2 and len(result.features) == result.K:
            figure = _plane_figure(result)
        else:
            figure = code_figure(result)
        figure.get_layout_engine().set(w_pad=0.12, h_pad=0.08)
        save(figure, path)


def _figure(width: float, height: float) -> Any:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def code_figure(result: SolveResult) -> Any:
    W, history = _unit(result), _history(result)
    rows, cosines = sampled_cosines(W)
    known = None if result.best_known is None else result.best_known.max_cosine
    panels: list[Callable[[Any], None]] = []
    facts = []
    if result.d > 3:
        facts = _beside(result)
        panels.append(lambda ax: _show_facts(ax, facts))
    few = _few_values(cosines) if result.d > 3 else []
    if few:
        facts += [
            ("cosines", f"{value:z.6g}", f"{share:.3g} % of the pairs") for value, share in few
        ]
    else:
        panels.append(lambda ax: show_cosines(ax, cosines, result.K, known))
    if result.d > 3 and "contact_pairs" in result.extras:
        degrees = np.bincount(_contacts(result).ravel(), minlength=result.K)
        if np.ptp(degrees) == 0:
            facts.append(("contacts", count(int(degrees[0])), "of every point"))
        else:
            panels.append(lambda ax: _show_degrees(ax, degrees))
    if not _equal_distances(result, cosines):
        panels.append(lambda ax: _show_distances(ax, result, rows, cosines))
    if history is not None:
        panels.append(lambda ax: _show_convergence(ax, result, history))
    heights = [1.0] * len(panels)
    if facts and len(panels) > 1:
        heights[0] = 0.1 + _LINE / 72.0 / 3.2 * len(facts)
    figure = _figure(11.5, 3.2 * max(2.0, sum(heights)))
    grid = figure.add_gridspec(len(panels), 2, width_ratios=(1.45, 1.0), height_ratios=heights)
    left = figure.add_subplot(grid[:, 0])
    if result.d <= 3:
        draw_code(left, W, _contacts(result), _rattlers(result)[0])
    else:
        _show_gram(figure, left, W)
    for row, show in enumerate(panels):
        show(figure.add_subplot(grid[row, 1]))
    _head(figure, result)
    return figure


def _unit(result: SolveResult) -> np.ndarray:
    W = np.asarray(result.weights, dtype=float)
    return np.asarray(W / np.linalg.norm(W, axis=1, keepdims=True))


def _contacts(result: SolveResult) -> np.ndarray:
    return np.asarray(result.extras.get("contact_pairs", np.empty((0, 2), np.intp)))


def _equal_distances(result: SolveResult, cosines: np.ndarray) -> bool:
    """All points are at one distance from the rest: a picture of it says nothing."""
    shown = result.extras.get("one_vs_rest_lower")
    return float(np.ptp(cosines.max(axis=1) if shown is None else shown)) <= 1e-6


def _show_gram(figure: Any, ax: Any, W: np.ndarray) -> None:
    """The cosines of all pairs (of evenly spaced rows where K is large), near points together."""
    order = seriated(W)
    cosines = W[order] @ W[order].T
    reach = float(np.abs(cosines - np.eye(len(order))).max())
    from matplotlib.colors import LinearSegmentedColormap

    colours = LinearSegmentedColormap.from_list("cosines", COSINES)
    image = ax.imshow(cosines, cmap=colours, vmin=-reach, vmax=reach, rasterized=True)
    sampled = f" ({count(len(order))} of {count(len(W))} points)" if len(order) < len(W) else ""
    ax.set(title="Cosines of all pairs, near points side by side" + sampled, xticks=[], yticks=[])
    figure.colorbar(image, ax=ax, shrink=0.6, label="cosine")


def _beside(result: SolveResult) -> list[tuple[str, str, str]]:
    """The largest cosine beside the best known one and the proved bound: name, value, remark."""
    rows = [("largest cosine", f"{result.max_cosine:z.6f}", "of this code")]
    if (known := result.best_known) is not None:
        remark = "proved optimal" if known.proven else "not proved optimal"
        rows.append(("best known", f"{known.max_cosine:z.6f}", remark))
    if (optimum := result.optimum) is not None:
        least = float(cosine(1.0 - optimum.upper, up=False, decimals=6))
        rows.append(("lower bound", f"{least:z.6f}", f"proved, {optimum.name}"))
    return rows


def _few_values(cosines: np.ndarray) -> list[tuple[float, float]]:
    """Each value with its share of the pairs in percent; empty where there are many."""
    values = np.sort(cosines, axis=None)
    groups = np.split(values, np.flatnonzero(np.diff(values) > 1e-6) + 1)
    if len(groups) > _FEW or any(group[-1] - group[0] > 1e-5 for group in groups):
        return []
    return [(round(float(group[0]), 9), 100.0 * len(group) / len(values)) for group in groups]


def _show_facts(ax: Any, rows: Sequence[tuple[str, str, str]]) -> None:
    ax.set_axis_off()
    ax.set_title("Beside the best known code and the bound")
    above = ""
    for line, (name, value, remark) in enumerate(rows):
        for x, side, text in ((0.0, "left", name), (0.53, "right", value), (0.57, "left", remark)):
            if text != above:
                ax.annotate(
                    text,
                    (x, 1.0),
                    (0.0, -_LINE * line - 4.0),
                    ha=side,
                    va="top",
                    xycoords="axes fraction",
                    textcoords="offset points",
                )
        above = name


def _show_degrees(ax: Any, degrees: np.ndarray) -> None:
    values, counts = np.unique(degrees, return_counts=True)
    ax.bar(values, counts, color=BLUE, width=0.8)
    ax.set(title="Contacts per point", xlabel="contacts", ylabel="points")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.yaxis.get_major_locator().set_params(integer=True)
    ax.grid(axis="y")


def _plane_figure(result: SolveResult) -> Any:
    history = _history(result)
    figure = _figure(11.0, 9.0)
    grid = figure.add_gridspec(2, 2, height_ratios=(1.35, 1.0))
    _show_vectors(figure.add_subplot(grid[0, 0]), result.weights, BLUE, "Classifier weights")
    _show_vectors(figure.add_subplot(grid[0, 1]), result.features, ORANGE, "Features")
    below = figure.add_subplot(grid[1, :] if history is None else grid[1, 0])
    _show_length_ratios(below, result.weights, result.features)
    if history is not None:
        _show_convergence(figure.add_subplot(grid[1, 1]), result, history)
    _head(figure, result)
    return figure


def sweep_figure(sweep: SolveSweep) -> Any:
    figure = _figure(11.5, 4.8)
    pairs = [(row.ufm.tau, row) for row in sweep.rows if row.ufm is not None]
    taus, rows = zip(*sorted(pairs, key=lambda pair: pair[0]), strict=True)
    known = best(sweep.d, sweep.K)
    limit = None if known is None else known.max_cosine
    word = "optimal" if known is not None and known.proven else "best known"
    for ax, values, end, title in zip(
        figure.subplots(1, 2),
        ([row.max_cosine for row in rows], [row.rho_one_vs_rest.lower for row in rows]),
        (limit, None if limit is None else 1.0 - limit),
        ("Largest cosine", "One-vs-rest distance"),
        strict=True,
    ):
        ax.plot(taus, values, "o-", color=BLUE, ms=5, label="cross-entropy optimum")
        if end is not None:
            name = rf"$\tau \to 0$: {word} code, {end:z.4f}"
            ax.axhline(end, color=GREEN, lw=1.4, ls="--", label=name)
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        ax.margins(y=0.1)
        ax.set(title=title, xlabel=r"temperature $\tau$")
        ax.grid()
        ax.legend(loc="best")
    number = f"{count(len(taus))} temperatures from {taus[0]:g} to {taus[-1]:g}"
    facts = number if len(taus) > 1 else rf"$\tau$ = {taus[0]:g}"
    show_heading(figure, f"UFM optimum: d = {sweep.d}, K = {count(sweep.K)}", facts)
    return figure


def _head(figure: Any, result: SolveResult) -> None:
    show_heading(figure, *_heading(result))


def _heading(result: SolveResult) -> tuple[str, str]:
    """Title and facts."""
    title = f"{TITLES[result.problem]}: d = {result.d}, K = {count(result.K)}"
    if result.ufm is not None:
        title += f", \N{GREEK SMALL LETTER TAU} = {result.ufm.tau:g}"
    rho = result.rho_one_vs_rest
    if rho.width <= 1e-6:
        bracket = f"{rho.lower:.9g}, certified to {max(rho.width, 1e-16):.0e}"
    else:
        bracket = f"in [{rho.lower:.6f}, {rho.upper:.6f}]"
    facts = (
        f"one-vs-rest distance {bracket}     largest cosine {result.max_cosine:z.9f}     "
        f"smallest angle {result.min_angle_deg:.5f}\N{DEGREE SIGN}"
    )
    return title, facts


def _rattlers(result: SolveResult) -> tuple[np.ndarray, str]:
    """By the distance that the problem is about, else by the other one, shape (K,); which it is."""
    distances = ["one-vs-rest", "one-vs-one"]
    for distance in reversed(distances) if result.problem == "tammes" else distances:
        name = f"rattlers_{distance.replace('-', '_')}"
        if name in result.extras:
            return np.asarray(result.extras[name]), distance
    return np.zeros(result.K, dtype=bool), distances[0]


def _history(result: SolveResult) -> np.ndarray | None:
    """Steps and best values, (T, 2); None below two finite points."""
    history = result.extras.get("history")
    history = None if history is None else history[np.isfinite(history).all(axis=1)]
    return None if history is None or len(history) < 2 else history


def sampled_cosines(W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows k, evenly spaced where K is large, (r,), and <w_k, w_j> for all j != k, (r, K - 1)."""
    K = len(W)
    rows = np.linspace(0, K - 1, min(K, max(1, _MOST_PRODUCTS // K))).astype(np.intp)
    others = np.arange(K) != rows[:, None]
    return rows, np.clip(W[rows] @ W.T, -1.0, 1.0)[others].reshape(len(rows), K - 1)


def show_cosines(ax: Any, cosines: np.ndarray, K: int, known: float | None = None) -> None:
    """Histogram of `sampled_cosines`, with the largest one marked, and a better known one."""
    low, top = float(cosines.min()), float(cosines.max())
    margin = max(0.0, 0.3 - (top - low) / 2)  # a single cosine should look like one
    half = (top - low + 2 * margin) / 120  # of a bin; simple fractions lie in the middle of one
    bins = np.linspace(low - margin - half, top + margin + half, 62)
    share, *_ = ax.hist(
        cosines.ravel(), bins, weights=np.full(cosines.size, 100 / cosines.size), color=BLUE
    )
    logarithmic = share.max() > 200.0 * share[share > 0.0].min()
    if logarithmic:
        ax.set_yscale("log")
    ax.set_ylim(top=ax.get_ylim()[1] * (3.0 if logarithmic else 1.12))
    ax.axvline(top, color=ORANGE, lw=1.4, ls="--")
    if known is not None and known < top - 0.002:
        ax.axvline(known, color=GREEN, lw=1.4, ls="--")
        ax.text(
            known,
            0.86,
            f"best known {known:z.4f} ",
            transform=ax.get_xaxis_transform(),
            ha="right",
            va="top",
            color=GREEN,
            fontsize=9,
        )
    ax.text(
        top,
        0.98,
        f"largest {top:z.4f} ",
        transform=ax.get_xaxis_transform(),
        ha="right",
        va="top",
        color=ORANGE,
        fontsize=9,
    )
    sampled = f" (rows: {count(len(cosines))} of {count(K)})" if len(cosines) < K else ""
    ax.set(
        title="Pairwise cosines" + sampled,
        xlabel=r"cosine of classes $k \neq j$",
        ylabel="share of pairs (%)",
    )
    ax.grid(axis="y")


def _show_distances(ax: Any, result: SolveResult, rows: np.ndarray, cosines: np.ndarray) -> None:
    """One-vs-rest distance of each class, sorted; nearest chords where those were not computed."""
    found = result.extras
    low = found.get("one_vs_rest_lower", found.get("one_vs_rest_upper"))
    if low is not None:
        high = found.get("one_vs_rest_upper", low)
        floor, name = result.rho_one_vs_rest.lower, "certified minimum"
        ax.set(title="One-vs-rest distances", ylabel="distance")
        free = found.get("rattlers_one_vs_rest", np.zeros(result.K, dtype=bool))
    else:
        low = high = np.sqrt(2.0 - 2.0 * cosines.max(axis=1))
        floor, name = result.rho_one_vs_one, "minimum"
        ax.set(title="Distance to the nearest class", ylabel="chord")
        free = found.get("rattlers_one_vs_one", np.zeros(result.K, dtype=bool))[rows]
    order = np.argsort(low, kind="stable")
    low, high, free = low[order], high[order], free[order]
    rank = np.arange(1, len(low) + 1)
    size = float(np.clip(1200.0 / len(low), 2.0, 22.0))
    ax.axhline(floor, color=GREEN, lw=1.4, ls="--", zorder=1)
    ax.vlines(rank, low, high, color=GREY, lw=max(0.3, size / 12), alpha=0.7, zorder=2)
    for some, colour, what in ((~free, BLUE, "class"), (free, ORANGE, "rattler")):
        ax.scatter(
            rank[some],
            low[some],
            s=size,
            color=colour,
            label=what,
            zorder=3,
            linewidths=0,
            rasterized=len(low) > 5000,
        )
    # Equal to the last digit is the usual end: keep rounding noise from filling the panel.
    base = min(floor, low[0])
    span = max(high.max() - base, 0.1 * abs(floor), 1e-6)
    ax.set_ylim(base - 0.3 * span, high.max() + (0.25 if free.any() else 0.5) * span)
    ax.text(
        0.02,
        floor - 0.03 * span,
        f"{name} {floor:.6f}",
        va="top",
        color=GREEN,
        fontsize=9,
        transform=ax.get_yaxis_transform(),
    )
    if free.any():
        ax.legend(loc="upper left", ncols=2, handletextpad=0.2)
    _count_classes(ax, "classes, sorted")


def _count_classes(ax: Any, label: str) -> None:
    ax.set_xlabel(label)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.grid(axis="y")


def _show_convergence(ax: Any, result: SolveResult, history: np.ndarray) -> None:
    """How far the best value so far was from the final one, against the steps taken."""
    step, value = history.T
    gap = np.abs(value - value[-1])
    name = {"softmax": r"$\rho$", "tammes": "the largest cosine"}.get(result.problem, "the loss")
    ax.set(title=f"Convergence of {name}", xlabel="steps")
    ax.grid()
    seen = gap > 0.0
    if np.count_nonzero(seen) >= 2:
        ax.semilogy(step[seen], gap[seen], color=BLUE, lw=1.5, drawstyle="steps-post")
        ax.set_ylabel("|best so far - last|")
        ax.text(
            0.98,
            0.96,
            f"last: {value[-1]:.9g}",
            transform=ax.transAxes,
            ha="right",
            va="top",
            fontsize=9,
        )
    else:  # found at once: a margin keeps rounding from being magnified
        ax.plot(step, value, "o-", color=BLUE, lw=1.5, ms=3, drawstyle="steps-post")
        ax.set(ylabel="best so far", ylim=(value.min() - 1e-3, value.max() + 1e-3))


def _show_vectors(ax: Any, vectors: np.ndarray, colour: str, title: str) -> None:
    """Rows of an (m, 2) array as vectors from the origin, with the circle of their mean length."""
    from matplotlib.patches import Circle

    lengths = np.linalg.norm(vectors, axis=1)
    mean = float(lengths.mean())
    ax.add_patch(Circle((0, 0), mean, fill=False, edgecolor=GREY, lw=0.9, ls="--"))
    _draw_lines(ax, np.stack([np.zeros_like(vectors), vectors], axis=1), colour, 1.2, 0.55)
    ax.scatter(*vectors.T, s=26, color=colour, zorder=3, edgecolors="white", linewidths=0.6)
    reach = 1.12 * float(lengths.max())
    ax.set(aspect="equal", xlim=(-reach, reach), ylim=(-reach, reach), title=title)
    ax.set_xlabel(f"mean length {mean:.4g} (dashed), spread {100 * lengths.std() / mean:.2g} %")
    ax.locator_params(nbins=5)
    ax.grid()


def _show_length_ratios(ax: Any, weights: np.ndarray, features: np.ndarray) -> None:
    """|w_k| / |h_k| of each class, in the order in which the weights go round the circle."""
    order = np.argsort(np.arctan2(weights[:, 1], weights[:, 0]))
    ratio = (np.linalg.norm(weights, axis=1) / np.linalg.norm(features, axis=1))[order]
    rank, middle = np.arange(1, len(ratio) + 1), float(ratio.mean())
    ax.axhline(middle, color=GREEN, lw=1.4, ls="--")
    ax.vlines(rank, middle, ratio, color=GREY, lw=1.0)
    ax.scatter(rank, ratio, s=18, color=BLUE, zorder=3)
    reach = max(1.45 * float(np.abs(ratio - middle).max()), 0.05 * middle)
    ax.set(title="Length ratios", ylabel=r"$|w_k|\,/\,|h_k|$")
    ax.set_ylim(middle - reach, middle + reach)
    ax.text(
        0.98,
        0.97,
        f"mean {middle:.4f}",
        transform=ax.transAxes,
        ha="right",
        va="top",
        color=GREEN,
        fontsize=9,
    )
    _count_classes(ax, "classes, around the circle")


def _draw_lines(
    ax: Any, lines: np.ndarray, colour: str, width: float, alpha: float = 1.0, zorder: float = 1
) -> None:
    """Polylines of p points each, shape (m, p, 2)."""
    from matplotlib.collections import LineCollection

    ax.add_collection(
        LineCollection(list(lines), colors=colour, lw=width, alpha=alpha, zorder=zorder)
    )


def _bare_disc(ax: Any, reach: float) -> None:
    """Square axes without ticks, and a pale unit disc."""
    from matplotlib.patches import Circle

    ax.set_axis_off()
    ax.set(aspect="equal", xlim=(-reach, reach), ylim=(-reach, reach))
    ax.add_patch(Circle((0, 0), 1.0, facecolor=_PALE, edgecolor=GREY, lw=0.9, zorder=0))


def _legend(ax: Any, rattlers: np.ndarray, fixed: str, contact: str | None) -> None:
    for some, colour, label in ((~rattlers, BLUE, fixed), (rattlers, ORANGE, "rattler")):
        if some.any():
            ax.scatter([], [], s=45, color=colour, label=label)
    if contact is not None:
        ax.plot([], [], color=INK, lw=1.3, label=contact)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0.02), ncols=3, handletextpad=0.4)


def draw_code(ax: Any, W: np.ndarray, pairs: np.ndarray, rattlers: np.ndarray) -> None:
    """Draw unit rows (K, 2) or (K, 3), their contacts (m, 2) and rattlers (K,), on bare axes."""
    _bare_disc(ax, 1.08)
    if W.shape[1] == 2:
        if len(W) <= 500:
            _draw_lines(ax, np.stack([np.zeros_like(W), W], axis=1), BLUE, 0.8, 0.25)
        _draw_lines(ax, W[pairs], INK, 1.3, zorder=3)
        depth = np.ones(len(W))
    else:
        W = W @ open_view(W).T
        draw_sphere(ax)
        _draw_arcs(ax, W, pairs)
        depth = W[:, 2]
    size = float(np.clip(3200.0 / len(W), 3.0, 70.0))
    colours = np.where(rattlers, ORANGE, BLUE)
    for some, shown in (
        (depth < 0.0, {"s": 0.55 * size, "alpha": 0.28, "lw": 0.0, "zorder": 2}),
        (depth >= 0.0, {"s": size, "alpha": 1.0, "lw": min(1.0, size / 30.0), "zorder": 5}),
    ):
        ax.scatter(
            *W[some, :2].T,
            color=colours[some],
            edgecolors="white",
            **shown,
            rasterized=len(W) > 5000,
        )
    _legend(ax, rattlers, "class", "contact" if len(pairs) else None)


def draw_sphere(ax: Any) -> None:
    """A pale unit ball on square axes, seen from the third axis."""
    from matplotlib.patches import Circle

    x = np.linspace(-1.0, 1.0, 240)
    height = np.sqrt(np.clip(1.0 - x**2 - x[:, None] ** 2, 0.0, None))
    # Lambert's law with a lamp at the upper left; kept pale, the code is the subject.
    light = np.clip(-0.45 * x + 0.5 * x[:, None] + 0.74 * height, 0.0, 1.0)
    shade = np.stack([0.83 + 0.16 * light, 0.86 + 0.13 * light, 0.90 + 0.095 * light], axis=-1)
    ball = ax.imshow(
        shade, extent=(-1, 1, -1, 1), origin="lower", interpolation="bilinear", zorder=0
    )
    rim = Circle((0, 0), 1.0, fill=False, edgecolor=GREY, lw=0.8, zorder=4)
    ax.add_patch(rim)
    ball.set_clip_path(rim)
    ax.set(xlim=(-1.08, 1.08), ylim=(-1.08, 1.08))


def _draw_arcs(ax: Any, W: np.ndarray, pairs: np.ndarray) -> None:
    t = np.linspace(0.0, 1.0, 25)[None, :, None]
    chord = W[pairs[:, :1]] * (1.0 - t) + W[pairs[:, 1:]] * t
    length = np.linalg.norm(chord, axis=2, keepdims=True)
    arcs = chord / np.where(length > 1e-9, length, 1.0)  # antipodes have no arc: a point
    pieces = np.stack([arcs[:, :-1], arcs[:, 1:]], axis=2).reshape(-1, 2, 3)
    behind = pieces[:, :, 2].mean(axis=1) < 0.0
    width = float(np.clip(24.0 / np.sqrt(len(W)), 0.5, 1.5))
    _draw_lines(ax, pieces[behind, :, :2], INK, width, 0.13)
    _draw_lines(ax, pieces[~behind, :, :2], INK, width, zorder=3)


def open_view(W: np.ndarray) -> np.ndarray:
    """A rotation, shape (3, 3), under which no two points hide each other, as far as possible."""
    from scipy.spatial.distance import pdist

    rng = np.random.default_rng(0)
    views = [np.linalg.qr(rng.standard_normal((3, 3)))[0] for _ in range(300)]
    return max(views, key=lambda view: float(pdist(W[:150] @ view[:2].T).min(initial=np.inf)))
