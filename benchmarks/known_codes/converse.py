"""Softmax Codes that are no Tammes codes: pairs of rattlers of the stored codes, moved together.

    python -m benchmarks.known_codes.converse                      # every stored code: seconds
    python -m benchmarks.known_codes.converse 4.51 6.59 --out DIR  # these; moved codes as text

By docs/theory/theorem.md, if two rows of a Tammes code can be placed at its largest cosine t from
each other and farther from all other rows, then some Softmax Code has a larger cosine than t. For
every stored code with two one-vs-one rattlers or more, each pair of them is placed so that the
slack is largest, the smallest amount by which their cosines with the other rows stay below t; the
other rattlers stay where they are. Then the pair is moved on along its great circle, as long as
the certified one-vs-rest distance of the code stays 1 - t. Whether the stored code is a Tammes
code, nobody knows; what is printed goes into RESULTS.md.
"""

import argparse
from itertools import combinations
from pathlib import Path

import numpy as np
from scipy.optimize import LinearConstraint, NonlinearConstraint, minimize

from benchmarks.report import table
from gnc_cli.codes.certify import one_vs_one_rattlers
from gnc_cli.geometry.gram import row_maxima
from gnc_cli.geometry.one_vs_rest import minimum_one_vs_rest, one_vs_rest
from gnc_cli.geometry.sphere import normalise
from gnc_cli.io.codefile import read_points
from gnc_cli.known_codes.table import data_folder

_RATTLES = 1e-7
"""A row is a rattler if its smallest distance exceeds that of the code by more."""
_SLACK = 1e-6
"""A pair counts where its slack is larger."""
_ROUNDING = 1e-14
"""The certified distance may be below 1 - t by this much: coordinates are float64."""
_FAR = 0.7
"""Rows whose cosine with both of a pair is below t by more do not meet it on its way."""


def placed(W: np.ndarray, i: int, j: int, t: float) -> tuple[float, np.ndarray]:
    """The slack, and the code with rows i and j at cosine t; a local search from their places."""
    d = W.shape[1]
    others = np.delete(W, [i, j], axis=0)
    near = others[np.maximum(others @ W[i], others @ W[j]) > t - _FAR]
    zeros, ones = np.zeros_like(near), np.ones((len(near), 1))
    # Variables: the two rows and the slack. Cosine with any other row + slack <= t.
    rows = np.block([[near, zeros, ones], [zeros, near, ones]])

    def products(z: np.ndarray) -> np.ndarray:
        x, y = z[:d], z[d:-1]
        return np.array([x @ x, y @ y, x @ y])

    def derivatives(z: np.ndarray) -> np.ndarray:
        x, y, none = z[:d], z[d:-1], np.zeros(d)
        lines = ([2.0 * x, none], [none, 2.0 * y], [y, x])
        return np.array([[*np.concatenate(line), 0.0] for line in lines])

    goal = np.array([1.0, 1.0, t])
    found = minimize(
        lambda z: -z[-1],
        np.concatenate([W[i], W[j], [0.0]]),
        jac=lambda z: np.append(np.zeros(2 * d), -1.0),
        method="SLSQP",
        constraints=[
            LinearConstraint(rows, -np.inf, t),
            NonlinearConstraint(products, goal, goal, jac=derivatives),
        ],
        options={"maxiter": 500, "ftol": 1e-14},
    )
    V = W.copy()
    V[i], V[j] = normalise(found.x[:-1].reshape(2, d))
    V = moved(V, i, j, t)
    return t - float((others @ V[[i, j]].T).max()), V


def moved(W: np.ndarray, i: int, j: int, cosine: float) -> np.ndarray:
    """Rows i and j at this cosine, both moved by the same angle along their great circle."""
    V = W.copy()
    middle, apart = normalise(np.array([W[i] + W[j], W[i] - W[j]]))
    half = np.arccos(cosine) / 2.0
    V[i] = np.cos(half) * middle + np.sin(half) * apart
    V[j] = np.cos(half) * middle - np.sin(half) * apart
    return V


def farthest(W: np.ndarray, i: int, j: int, t: float) -> np.ndarray:
    """Rows i and j as close to each other as a distance of 1 - t allows, by bisection.

    As long as no other cosine exceeds t, every other row has this distance by itself.
    """
    others = np.delete(W, [i, j], axis=0)
    low, high, best = t, 1.0, W
    while high - low > 1e-12:
        middle = (low + high) / 2.0
        V = moved(W, i, j, middle)
        good = (others @ V[[i, j]].T).max() <= t
        if good and one_vs_rest(V, np.array([i, j])).lower.min() >= 1.0 - t - _ROUNDING:
            low, best = middle, V
        else:
            high = middle
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="stored codes, as 4.51; default all")
    parser.add_argument("--out", type=Path, help="folder for the moved codes")
    options = parser.parse_args()
    files = sorted((data_folder() / "coordinates").glob("*.txt"))
    counts = dict.fromkeys(("codes", "with a rattler", "with two or more", "with such a pair"), 0)
    lines = []
    for file in files:
        if options.names and file.stem not in options.names:
            continue
        W = normalise(read_points(file).weights)
        row_max, _ = row_maxima(W)
        t = float(row_max.max())
        free = np.flatnonzero(one_vs_one_rattlers(row_max, _RATTLES))
        counts["codes"] += 1
        counts["with a rattler"] += len(free) >= 1
        counts["with two or more"] += len(free) >= 2
        places = [(*placed(W, i, j, t), i, j) for i, j in combinations(free, 2)]
        slack, V, i, j = max(places, key=lambda place: place[0], default=(-1.0, W, 0, 0))
        if slack <= _SLACK:
            continue
        counts["with such a pair"] += 1
        V = farthest(V, i, j, t)
        largest, rho = float(row_maxima(V)[0].max()), minimum_one_vs_rest(V).lower
        pair = f"({W.shape[1]}, {len(W)})", str(len(free)), f"{i}, {j}"
        values = f"{t:.12f}", f"{slack:.1e}", f"{largest:.6f}", f"{rho:.15f}", f"{1 - t - rho:.0e}"
        lines.append((W.shape[1], len(W), [*pair, *values]))
        print(*lines[-1][2], flush=True)
        if options.out is not None:
            np.savetxt(options.out / f"{file.stem}.softmax.txt", V, fmt="%.17g")
    lines.sort(key=lambda line: line[:2])
    head = ["(d, K)", "rattlers", "rows", "t", "slack", "largest cosine", "rho", "1 - t - rho"]
    print(table(head, [line[2] for line in lines]))
    print(", ".join(f"{number} {what}" for what, number in counts.items()))


if __name__ == "__main__":
    main()
