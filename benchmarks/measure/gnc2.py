"""Time and width of certified GNC2, and of the subgradient recipe that gives no certificate.

    python -m benchmarks.measure.gnc2                       # every case
    python -m benchmarks.measure.gnc2 random near --device auto
    python -m benchmarks.measure.gnc2 recipe --steps 1000   # a tenth of the steps, time scaled

Groups: `random` rows; `solved`, a Softmax Code for (10, 100) found on the spot; `near`, codes as
trained classifiers come: simplex ETF and orthoplex moved by noise, and rows after some hundred
steps of descent; `recipe`, the 10,000 subgradient steps on unit h per class in float32 (ascent on
`min_j <w_k - w_j, h>`, one K x K product a step, step 0.1 divided by 10 after each quarter) beside
our brackets of all classes: in torch with autograd, as its authors run it, and as quick as NumPy
makes it with the gradient written out. One process, BLAS threads as the environment says.
"""

import argparse
import os
import time
from collections.abc import Callable, Iterator

import numpy as np

from gnc_cli.geometry.sphere import normalise, random_points
from gnc_cli.metrics.gnc2 import gnc2_detail

STEPS = 10_000
HEAD = ["case", "d", "K", "classes", "seconds", "CPU s", "widest bracket", "GNC2"]
RECIPE = [
    "case",
    "d",
    "K",
    "ours s",
    "widest bracket",
    "torch s",
    "times",
    "NumPy s",
    "times",
    "error of GNC2",
    "of a class",
]


def orthoplex(d: int, K: int, rng: np.random.Generator) -> np.ndarray:
    """K of the 2d points +-e_i."""
    return np.vstack([np.eye(d), -np.eye(d)])[rng.permutation(2 * d)[:K]]


def simplex(K: int) -> np.ndarray:
    """K points with all cosines -1/(K - 1), in R^K."""
    return normalise(np.eye(K) - 1.0 / K)


def near(points: np.ndarray, d: int, noise: float, rng: np.random.Generator) -> np.ndarray:
    """The points turned at random in R^d, each then moved by about `noise`."""
    turned = points @ np.linalg.qr(rng.standard_normal((d, d)))[0][: points.shape[1]]
    return normalise(turned + noise / np.sqrt(d) * rng.standard_normal(turned.shape))


def descended(d: int, K: int, rng: np.random.Generator, steps: int = 300) -> np.ndarray:
    """Random rows after momentum descent on the log-sum-exp of 50 times their cosines, float32."""
    W = random_points(rng, K, d).astype(np.float32)
    speed = np.zeros_like(W)
    for t in range(steps):
        gram = W @ W.T
        np.fill_diagonal(gram, -np.inf)
        pull = np.exp(50.0 * (gram - gram.max(axis=1, keepdims=True)))
        pull /= pull.sum(axis=1, keepdims=True)
        speed = 0.9 * speed + pull @ W + pull.T @ W
        W = W - 0.05 * (1.0 - t / steps) * speed
        W /= np.linalg.norm(W, axis=1, keepdims=True)
    return normalise(W)


def solved(d: int, K: int) -> np.ndarray:
    """A Softmax Code by `solve`, ten seconds."""
    import tempfile
    from pathlib import Path

    from gnc_cli import solve

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "code.npy"
        solve(d, K, method="descent", time_limit=10.0, out=str(file))
        return np.load(file)


def cases(group: str) -> Iterator[tuple[str, Callable[[], np.ndarray], list[bool]]]:
    """Name, rows, and what to do with them: every class, or the minimum alone."""
    rng = np.random.default_rng(0)
    if group == "random":
        for d, K, what in ((64, 1000, [True]), (512, 10000, [True, False]), (64, 100000, [False])):
            yield "random rows", lambda d=d, K=K: random_points(rng, K, d), what
    elif group == "solved":
        yield "solved", lambda: solved(10, 100), [True]
    else:
        for noise in (0.1, 0.01, 1e-4):
            for K in (100, 500):
                name = f"simplex ETF, noise {noise:g}"
                yield name, lambda K=K, e=noise: near(simplex(K), 512, e, rng), [True]
            for d, K in ((128, 200), (512, 1000)):
                name = f"orthoplex, noise {noise:g}"
                made = lambda d=d, K=K, e=noise: near(orthoplex(d, K, rng), d, e, rng)  # noqa: E731
                yield name, made, [True]
        for d, K in ((64, 1000), (512, 1000), (256, 2000)):
            yield "descended", lambda d=d, K=K: descended(d, K, rng), [True]


def measure(W: np.ndarray, every: bool, device: str) -> list[str]:
    """One run as cells of the table: all classes, or the minimum alone."""
    begun, cpu = time.perf_counter(), time.process_time()
    detail = gnc2_detail(W, every_class=every, minimum_only=not every, device=device)
    wall, busy = time.perf_counter() - begun, time.process_time() - cpu
    width = (detail.upper - detail.lower).max() if every else detail.bracket.width
    return [
        str(W.shape[1]),
        str(len(W)),
        "all" if every else "minimum",
        f"{wall:.2f}",
        f"{busy:.2f}",
        f"{width:.0e}",
        f"{detail.bracket.lower:.12f}",
    ]


def recipe(W: np.ndarray, steps: int) -> np.ndarray:
    """Lower estimates of all distances by subgradient steps in float32, shape (K,)."""
    small = W.astype(np.float32)
    H, index = small.copy(), np.arange(len(W))
    best = np.full(len(W), -np.inf, dtype=np.float32)
    for t in range(steps):
        products = H @ small.T
        own = products[index, index].copy()
        products[index, index] = -np.inf
        rival = products.argmax(axis=1)
        best = np.maximum(best, own - products[index, rival])
        H = H + np.float32(0.1 * 0.1 ** (4 * t // steps)) * (small - small[rival])
        H /= np.linalg.norm(H, axis=1, keepdims=True)
    return best.astype(np.float64)


def torch_recipe(W: np.ndarray, steps: int) -> np.ndarray:
    """The same steps by autograd."""
    import torch

    small = torch.from_numpy(W).float()
    H = small.clone().requires_grad_()
    own = torch.eye(len(W), dtype=torch.bool)
    best = torch.full((len(W),), -float("inf"))
    for t in range(steps):
        products = H @ small.T
        rivals = products.masked_fill(own, -float("inf")).amax(dim=1)
        margins = products.diagonal() - rivals
        best = torch.maximum(best, margins.detach())
        (slope,) = torch.autograd.grad(margins.sum(), H)
        with torch.no_grad():
            H += 0.1 * 0.1 ** (4 * t // steps) * slope
            H /= H.norm(dim=1, keepdim=True)
    return best.double().numpy()


def against_recipe(name: str, W: np.ndarray, steps: int) -> list[str]:
    """Our brackets of all classes beside the recipe: time, factor, errors of the recipe."""
    begun = time.perf_counter()
    ours = gnc2_detail(W, every_class=True)
    wall = time.perf_counter() - begun
    took = []
    for way in (torch_recipe, recipe):
        begun = time.perf_counter()
        theirs = way(W, steps)
        took.append((time.perf_counter() - begun) * STEPS / steps)
    error = ours.bracket.lower - theirs.min()
    largest, star = np.abs(ours.upper - theirs).max(), "*" if steps < STEPS else ""
    return [
        name,
        str(W.shape[1]),
        str(len(W)),
        f"{wall:.3f}",
        f"{(ours.upper - ours.lower).max():.0e}",
        *(cell for t in took for cell in (f"{t:.1f}{star}", f"{t / wall:.0f}")),
        f"{error:.1e}",
        f"{largest:.1e}",
    ]


def main() -> None:
    """Parse, measure, print tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("groups", nargs="*", default=["random", "solved", "near", "recipe"])
    parser.add_argument("--steps", type=int, default=STEPS, help="of the recipe")
    parser.add_argument("--device", default="cpu")
    asked = parser.parse_args()
    gnc2_detail(random_points(np.random.default_rng(0), 60, 8))  # loads SciPy
    print(f"load {os.getloadavg()[0]:.1f}; * = {asked.steps} steps timed and scaled\n")
    for group in asked.groups:
        head = RECIPE if group == "recipe" else HEAD
        print("| " + " | ".join(head) + " |\n" + "| --- " * len(head) + "|", flush=True)
        if group == "recipe":
            rng = np.random.default_rng(0)
            for d, K in ((10, 100), (64, 1000)):
                cells = against_recipe("random rows", random_points(rng, K, d), asked.steps)
                print("| " + " | ".join(cells) + " |", flush=True)
            cells = against_recipe("solved", solved(10, 100), asked.steps)
            print("| " + " | ".join(cells) + " |", flush=True)
            continue
        for name, rows, what in cases(group):
            W = rows()
            for every in what:
                cells = [name, *measure(W, every, asked.device)]
                print("| " + " | ".join(cells) + " |", flush=True)
        print()


if __name__ == "__main__":
    main()
