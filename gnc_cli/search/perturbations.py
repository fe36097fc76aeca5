"""Moves from one basin to another: what basin hopping does to a good code before it descends again.

Each move takes a code (K, d) and returns one nearby. `fill_hole` moves one or two rows into deep
holes, `jitter` shakes all rows, `melt` shakes one cap hard, `twist` turns one cap against the rest,
`splice` joins caps of two codes (Deaven and Ho, Phys. Rev. Lett. 75, 1995, for clusters).
"""

from collections.abc import Callable

import numpy as np
from scipy.linalg import expm

Move = Callable[[np.random.Generator, np.ndarray, np.ndarray], np.ndarray]


def perturb(rng: np.random.Generator, code: np.ndarray, mate: np.ndarray) -> np.ndarray:
    """One random move; `mate` is another good code of the same shape."""
    moved = MOVES[rng.integers(len(MOVES))](rng, code.copy(), mate)
    return moved / np.linalg.norm(moved, axis=1, keepdims=True)


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
    unit = moved / np.linalg.norm(moved, axis=1, keepdims=True)
    return np.where(movable[:, None], unit, whole)


def fill_hole(rng: np.random.Generator, code: np.ndarray, mate: np.ndarray) -> np.ndarray:
    """Move one or two rows into deep holes."""
    for _ in range(rng.integers(1, 3)):
        holes = rng.standard_normal((2000, code.shape[1]))
        holes /= np.linalg.norm(holes, axis=1, keepdims=True)
        depth = (holes @ code.T).max(axis=1)
        deep = np.argsort(depth)[: 1 + rng.integers(40)]
        if rng.random() < 0.5:
            leaving = rng.integers(len(code))
        else:
            gram = code @ code.T
            np.fill_diagonal(gram, -2.0)
            crowded = np.argsort(-gram.max(axis=1))[: max(3, len(code) // 4)]
            leaving = rng.choice(crowded)
        code[leaving] = holes[rng.choice(deep)]
    return code


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


def _spacing(code: np.ndarray) -> float:
    """Smallest chord."""
    gram = code @ code.T
    np.fill_diagonal(gram, -2.0)
    return float(np.sqrt(max(0.0, 2.0 - 2.0 * gram.max())))


def _from_random_pole(rng: np.random.Generator, code: np.ndarray) -> np.ndarray:
    return np.argsort(-(code @ rng.standard_normal(code.shape[1])))
