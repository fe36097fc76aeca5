"""Moves from one basin to another: what basin hopping does to a good code before it descends again.

Each move takes a code (K, d) and returns one nearby. `fill_hole` moves one or two rows into deep
holes, `jitter` shakes all rows, `melt` shakes one cap hard, `twist` turns one cap against the rest,
`splice` joins caps of two codes (Deaven and Ho, Phys. Rev. Lett. 75, 1995, for clusters).
"""

from collections.abc import Callable

import numpy as np
from scipy.linalg import expm

from gnc_cli.geometry.gram import contacts

_HOLES = 10
"""Deep holes of which one is filled, at most."""

Move = Callable[[np.random.Generator, np.ndarray, np.ndarray], np.ndarray]


def perturb(rng: np.random.Generator, code: np.ndarray, mate: np.ndarray) -> np.ndarray:
    """One random move; `mate` is another good code of the same shape."""
    moved = MOVES[rng.integers(len(MOVES))](rng, code.copy(), mate)
    return unit(moved)


def shake(
    rng: np.random.Generator, whole: np.ndarray, K: int, movable: np.ndarray, spacing: float
) -> np.ndarray:
    """A small move that a polish alone can follow up: jitter everywhere, in a cap, or one hole.

    Args:
        whole: the code, or the code and its features below it, shape (K, d) or (2 K, d).
        movable: rows that may move, bool; the others keep every bit.
        spacing: smallest chord of the code.
    """
    kind = rng.integers(3)
    if kind == 0 and movable[:K].all():
        code = fill_hole(rng, whole[:K].copy(), whole[:K])
        moved = np.tile(code, (len(whole) // K, 1)) if len(whole) > K else code
    else:
        touched = movable.copy()
        if kind == 1:
            order = _from_random_pole(rng, whole)
            touched[order[rng.integers(min(6, len(whole) - 1), max(7, len(whole) // 3)) :]] = False
        size = spacing / np.sqrt(whole.shape[1]) * 10 ** rng.uniform(-0.9, -0.25)
        moved = whole + size * rng.standard_normal(whole.shape) * touched[:, None]
    return np.where(movable[:, None], unit(moved), whole)


def fill_hole(rng: np.random.Generator, code: np.ndarray, mate: np.ndarray) -> np.ndarray:
    """Move one or two rows into deep holes: any row, a crowded one, or one of the least contacts
    (rattlers first)."""
    for _ in range(rng.integers(1, 3)):
        kind = rng.integers(3)
        if kind == 0:
            leaving = rng.integers(len(code))
        elif kind == 1:
            nearest = _cosines(code).max(axis=1)
            leaving = rng.choice(np.argsort(-nearest)[: max(3, len(code) // 4)])
        else:
            least = np.argsort(contacts(code).sum(axis=1) + rng.random(len(code)))
            leaving = rng.choice(least[: max(2, len(code) // 8)])
        code[leaving] = rng.choice(deep_holes(rng, code))
    return code


def deep_holes(rng: np.random.Generator, code: np.ndarray) -> np.ndarray:
    """At most ten unit rows (H, d) far from all rows of a code, the farthest first.

    The best of random points, moved away from their nearest rows, and each hole once: no two are
    nearer than half the spacing of the code. Among points as they are drawn few holes are deep:
    with these and the rows of least contacts the hops of (6, 86) gain 1.3 times as much.
    """
    points = unit(rng.standard_normal((400, code.shape[1])))
    points = points[np.argsort((points @ code.T).max(axis=1))[:40]]
    for turn in range(12):
        cosines = points @ code.T
        weights = np.exp((20.0 + 20.0 * turn) * (cosines - cosines.max(axis=1, keepdims=True)))
        weights /= weights.sum(axis=1, keepdims=True)
        points = unit(points - 0.9 / (3.0 + turn) * (weights @ code))
    points = points[np.argsort((points @ code.T).max(axis=1))]
    near = points @ points.T > 1.0 - 0.125 * _spacing(code) ** 2
    holes: list[int] = []
    for i in range(len(points)):
        if len(holes) < _HOLES and not near[i, holes].any():
            holes.append(i)
    return points[holes]


def jitter(rng: np.random.Generator, code: np.ndarray, mate: np.ndarray) -> np.ndarray:
    """Shake every row by 5 to 50% of the spacing."""
    length = _spacing(code) * rng.uniform(0.05, 0.5)
    return code + length / np.sqrt(code.shape[1]) * rng.standard_normal(code.shape)


def melt(rng: np.random.Generator, code: np.ndarray, mate: np.ndarray) -> np.ndarray:
    """Shake the rows of one cap by 20 to 100% of the spacing."""
    order = _from_random_pole(rng, code)
    cap = order[: rng.integers(min(4, len(code)), max(5, len(code) // 3) + 1)]
    length = _spacing(code) * rng.uniform(0.2, 1.0) / np.sqrt(code.shape[1] / 3)
    code[cap] += length * rng.standard_normal((len(cap), code.shape[1]))
    return code


def twist(rng: np.random.Generator, code: np.ndarray, mate: np.ndarray) -> np.ndarray:
    """Turn one cap by a random rotation about its own axis."""
    d = code.shape[1]
    pole = rng.standard_normal(code.shape[1:])
    pole /= np.linalg.norm(pole)
    skew = rng.standard_normal((d, d))
    across = np.eye(d) - np.outer(pole, pole)
    turn = expm(rng.uniform(0.1, 2.0) * across @ (skew - skew.T) @ across)
    cap = code @ pole > rng.uniform(-0.5, 0.5)
    code[cap] = code[cap] @ turn.T
    return code + 1e-3 * rng.standard_normal(code.shape)


def splice(rng: np.random.Generator, code: np.ndarray, mate: np.ndarray) -> np.ndarray:
    """A cap of this code and the rest from a randomly turned mate."""
    turn, _ = np.linalg.qr(rng.standard_normal((code.shape[1],) * 2))
    mate = mate @ turn
    pole = rng.standard_normal(code.shape[1])
    mine, other = code[np.argsort(-(code @ pole))], mate[np.argsort(-(mate @ pole))]
    cut = rng.integers(len(code) // 4, 3 * len(code) // 4 + 1)
    joined = np.concatenate([mine[:cut], other[cut:]])
    return joined + 1e-3 * rng.standard_normal(code.shape)


MOVES: tuple[Move, ...] = (fill_hole, jitter, melt, twist, splice)
"""All moves, each as likely as the others."""


def unit(rows: np.ndarray) -> np.ndarray:
    """Rows scaled to norm 1; none is zero."""
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def _spacing(code: np.ndarray) -> float:
    """Smallest chord."""
    return float(np.sqrt(max(0.0, 2.0 - 2.0 * _cosines(code).max())))


def _cosines(code: np.ndarray) -> np.ndarray:
    """Of all pairs of rows; -2 for a row with itself."""
    gram = code @ code.T
    np.fill_diagonal(gram, -2.0)
    return gram


def _from_random_pole(rng: np.random.Generator, code: np.ndarray) -> np.ndarray:
    return np.argsort(-(code @ rng.standard_normal(code.shape[1])))
