"""GNC1 and GNC3 at collapse, in both forms, beside what they are without the noise of class means.

    python -m benchmarks.measure.simplex_cases

Features are the rows of an optimal code, n samples per class, moved by Gaussian noise; the weights
are the code. The true value is first order in the spread: plain NumPy, with the exact rows as class
means, so that directions without a class mean are left out.
"""

from collections.abc import Iterator

import numpy as np

from benchmarks.report import table
from gnc_cli import measure
from gnc_cli.collapse.result import MeasureResult

HEAD = [
    "d",
    "K",
    "code",
    "spread",
    "gnc1",
    "true",
    "gnc1_centred",
    "true",
    "shown",
    "gnc3",
    "gnc3_centred",
    "shown",
    "warning",
]
n = 100


def simplex(K: int, d: int) -> np.ndarray:
    """K points with all cosines -1/(K - 1) in R^d, K <= d + 1."""
    rows = np.linalg.svd(np.eye(K) - 1.0 / K)[0][:, : K - 1] * (K / (K - 1.0)) ** 0.5
    return np.pad(rows, [(0, 0), (0, d - K + 1)])


def beside(*codes: np.ndarray) -> np.ndarray:
    """Codes in orthogonal subspaces."""
    d = sum(code.shape[1] for code in codes)
    starts = np.cumsum([0, *(code.shape[1] for code in codes)])
    return np.concatenate(
        [
            np.pad(code, [(0, 0), (at, d - at - code.shape[1])])
            for code, at in zip(codes, starts, strict=False)
        ]
    )


def icosahedron() -> np.ndarray:
    """12 points in R^3."""
    golden = (1.0 + 5.0**0.5) / 2.0
    signs = [(a, b * golden) for a in (1.0, -1.0) for b in (1.0, -1.0)]
    rows = np.array([np.roll([0.0, a, b], turn) for a, b in signs for turn in range(3)])
    return np.asarray(rows / np.linalg.norm(rows[0]))


def cases() -> Iterator[tuple[str, np.ndarray, float]]:
    """Name of the code, its rows, spread."""
    for d, K in ((16, 10), (10, 10), (512, 10), (512, 100), (9, 10)):
        yield "simplex", simplex(K, d), 1e-4
    axes = beside(*[np.array([[1.0], [-1.0]])] * 5)
    yield "+-e_i, i <= 5", np.pad(axes, [(0, 0), (0, 3)]), 1e-4
    yield "two simplices", beside(simplex(5, 4), simplex(5, 4)), 1e-4
    yield "+-e_i, i <= 3", np.pad(axes[:6, :3], [(0, 0), (0, 1)]), 1e-4
    yield "two triangles", beside(simplex(3, 2), simplex(3, 2)), 1e-4
    for spread in (1e-1, 1e-2, 1e-3, 1e-4):
        yield "icosahedron", icosahedron(), spread


def measured(W: np.ndarray, spread: float, weights: np.ndarray | None = None) -> MeasureResult:
    """n samples per row of W, moved by noise."""
    labels = np.repeat(np.arange(len(W)), n)
    noise = spread * np.random.default_rng(0).standard_normal((len(labels), W.shape[1]))
    weights = W if weights is None else weights
    found = measure(features=W[labels] + noise, labels=labels, weights=weights)
    return found


def exact(W: np.ndarray, spread: float, centred: bool) -> float:
    """`tr(Sigma_W pinv(Sigma_B)) / K` with the rows of W as class means and tangent noise."""
    K, d = W.shape
    M = W - W.mean(axis=0) if centred else W
    within = spread**2 * (np.eye(d) - W.T @ W / K)
    return float(np.trace(within @ np.linalg.pinv(M.T @ M / K, rcond=1e-9)) / K)


def row(code: str, W: np.ndarray, spread: float, weights: np.ndarray | None = None) -> list[str]:
    """One line of the table."""
    r = measured(W, spread, weights)
    true, centred = (f"{exact(W, spread, centred):.3g}" for centred in (False, True))
    ones, threes = (f"{r.gnc1:.3g}", f"{r.gnc1_centred:.3g}"), (r.gnc3, r.gnc3_centred)
    return [
        str(r.d),
        str(r.K),
        code,
        f"{spread:g}",
        ones[0],
        true,
        ones[1],
        centred,
        r.forms["gnc1"],
        *(f"{value:.3g}" for value in threes),
        r.forms["gnc3"],
        "; ".join(text.partition(":")[0] for text in r.warnings) or "-",
    ]


if __name__ == "__main__":
    lines = [row(*case) for case in cases()]
    # A network with ReLU features, bias and weight decay: orthonormal class means.
    means = np.eye(10, 16)
    lines.append(row("orthonormal means", means, 1e-4, means - means.mean(axis=0)))
    print(table(HEAD, lines))
