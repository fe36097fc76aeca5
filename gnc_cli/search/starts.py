"""Starts of descents: good codes moved into another basin, and rows of algebraic constructions.

Basin hopping moves a good code (K, d) before it descends again. `fill_hole` moves one or two rows
into deep holes, `jitter` shakes all rows, `melt` shakes one cap hard, `twist` turns one cap against
the rest, `splice` joins caps of two codes (Deaven and Ho, Phys. Rev. Lett. 75, 1995, for clusters).

Algebraic starts lie near the constructions whose parameters are near (d, K):

- sub-code: rows of a construction with more rows, a cap or a slab of it, or those rows of them
  whose cosines with each other are at most a smaller cosine of the construction;
- section: rows of a construction in one or two dimensions more, each time those of nearly equal
  cosines to one direction, projected along it, and a cap of the projections;
- extension: a construction with fewer rows, and new rows in its deepest holes.

Directions are sums of few rows. Around them the rows of a construction lie in few layers, and whole
layers lead to codes most of whose pairs are contacts, far better than the construction: the cap of
80 rows around one row of the shortened Kerdock code of 128 improves from 0.2 to 0.1687. Random rows
of the same code end where random starts do, above 0.194.

A code from such a start owes as much to algebra as to the search, and its origin names both.
"""

from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np
from scipy.linalg import expm

from gnc_cli.constructions.construction import Construction
from gnc_cli.constructions.registry import best_construction, cross_sections, in_dimension
from gnc_cli.geometry.gram import contacts, without_contacts

Move = Callable[[np.random.Generator, np.ndarray, np.ndarray], np.ndarray]
"""Function that moves a code (K, d) with the help of another of the same shape."""
_MAX_HOLES = 10
"""Largest number of holes of which one is filled, so that it is deep."""
_MAX_CUT = 40
"""Largest number of rows of a construction to cut, over K: few rows of a larger one would stay."""
_MAX_ENTRIES = 1 << 18
"""Largest number of entries of a construction, 2 MB: some dozens stay in memory."""
_MIN_ROWS_SHARE = 0.75
"""Smallest number of rows of a construction to extend, over K, so that most rows are its own."""
_MAX_SUMMANDS = 12
"""Largest number of rows whose sum is a direction: around sums of more, the layers are many."""
_CAP_SHARE = 0.7
"""Share of caps among the parts of constructions that are cut out; the others are slabs."""
_SPREAD_SHARE = 0.5
"""Share of caps and slabs in which rows with large cosines to each other are left out."""


def perturb(rng: np.random.Generator, code: np.ndarray, mate: np.ndarray) -> np.ndarray:
    """Move a code (K, d) at random; `mate` is another good code of the same shape."""
    moved = MOVES[rng.integers(len(MOVES))](rng, code.copy(), mate)
    return unit(moved)


def shake(
    rng: np.random.Generator, whole: np.ndarray, K: int, movable: np.ndarray, spacing: float
) -> np.ndarray:
    """Move a code so little that a polish needs no descent: all rows, a cap, or rows into holes.

    Args:
        rng: the source of random choices.
        whole: the code, or the code and its features below it, shape (K, d) or (2 K, d).
        K: number of rows of the code.
        movable: mask of the rows that may move; the others keep every bit.
        spacing: smallest chord of the code.
    """
    kind = rng.integers(3)
    if kind == 0 and movable[:K].all():
        code = fill_hole(rng, whole[:K].copy(), whole[:K])
        moved = np.tile(code, (len(whole) // K, 1)) if len(whole) > K else code
    else:
        touched = movable.copy()
        if kind == 1:
            order = _order_around_random_pole(rng, whole)
            touched[order[rng.integers(min(6, len(whole) - 1), max(7, len(whole) // 3)) :]] = False
        size = spacing / np.sqrt(whole.shape[1]) * 10 ** rng.uniform(-0.9, -0.25)
        moved = whole + size * rng.standard_normal(whole.shape) * touched[:, None]
    return np.where(movable[:, None], unit(moved), whole)


def fill_hole(rng: np.random.Generator, code: np.ndarray, mate: np.ndarray) -> np.ndarray:
    """Move one or two rows into deep holes.

    It is any row, one with a near neighbour, or one of the fewest contacts (rattlers first).
    """
    for _ in range(rng.integers(1, 3)):
        kind = rng.integers(3)
        if kind == 0:
            leaving = rng.integers(len(code))
        elif kind == 1:
            nearest = _cosines(code).max(axis=1)
            leaving = rng.choice(np.argsort(-nearest)[: max(3, len(code) // 4)])
        else:
            order = np.argsort(contacts(code).sum(axis=1) + rng.random(len(code)))
            leaving = rng.choice(order[: max(2, len(code) // 8)])
        code[leaving] = rng.choice(deep_holes(rng, code))
    return code


def deep_holes(rng: np.random.Generator, code: np.ndarray) -> np.ndarray:
    """Return at most ten unit rows (H, d) far from all rows of a code (K, d), the farthest first.

    These are the best of random points, moved away from their nearest rows, and each hole once: no
    two are nearer than half the spacing of the code. Few random points are deep holes without
    these moves: with them and the rows of fewest contacts, hops at (6, 86) gain 1.3 times as much.
    """
    points = unit(rng.standard_normal((400, code.shape[1])))
    points = points[np.argsort((points @ code.T).max(axis=1))[:40]]
    for turn in range(12):
        cosines = points @ code.T
        weights = np.exp((20.0 + 20.0 * turn) * (cosines - cosines.max(axis=1, keepdims=True)))
        weights /= weights.sum(axis=1, keepdims=True)
        points = unit(points - 0.9 / (3.0 + turn) * (weights @ code))
    points = points[np.argsort((points @ code.T).max(axis=1))]
    same_hole = points @ points.T > 1.0 - 0.125 * _spacing(code) ** 2
    holes: list[int] = []
    for i in range(len(points)):
        if len(holes) < _MAX_HOLES and not same_hole[i, holes].any():
            holes.append(i)
    return points[holes]


def jitter(rng: np.random.Generator, code: np.ndarray, mate: np.ndarray) -> np.ndarray:
    """Shake every row by 5 to 50% of the spacing."""
    length = _spacing(code) * rng.uniform(0.05, 0.5)
    return np.asarray(code + length / np.sqrt(code.shape[1]) * rng.standard_normal(code.shape))


def melt(rng: np.random.Generator, code: np.ndarray, mate: np.ndarray) -> np.ndarray:
    """Shake the rows of one cap by 20 to 100% of the spacing."""
    order = _order_around_random_pole(rng, code)
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
    complement = np.eye(d) - np.outer(pole, pole)
    turn = expm(rng.uniform(0.1, 2.0) * complement @ (skew - skew.T) @ complement)
    cap = code @ pole > rng.uniform(-0.5, 0.5)
    code[cap] = code[cap] @ turn.T
    return code + 1e-3 * rng.standard_normal(code.shape)


def splice(rng: np.random.Generator, code: np.ndarray, mate: np.ndarray) -> np.ndarray:
    """Join a cap of this code (K, d) and the rest of a randomly turned mate."""
    turn, _ = np.linalg.qr(rng.standard_normal((code.shape[1],) * 2))
    mate = mate @ turn
    pole = rng.standard_normal(code.shape[1])
    code, mate = code[np.argsort(-(code @ pole))], mate[np.argsort(-(mate @ pole))]
    cut = rng.integers(len(code) // 4, 3 * len(code) // 4 + 1)
    joined = np.concatenate([code[:cut], mate[cut:]])
    return joined + 1e-3 * rng.standard_normal(code.shape)


MOVES: tuple[Move, ...] = (fill_hole, jitter, melt, twist, splice)
"""All moves, each as likely as the others."""


def unit(rows: np.ndarray) -> np.ndarray:
    """Return rows (..., d) scaled to norm 1; none is zero."""
    return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True))


def _spacing(code: np.ndarray) -> float:
    """Return the smallest chord."""
    return float(np.sqrt(max(0.0, 2.0 - 2.0 * _cosines(code).max())))


def _cosines(code: np.ndarray) -> np.ndarray:
    """Return the cosines of all pairs of rows, -2 for a row with itself."""
    gram = code @ code.T
    np.fill_diagonal(gram, -2.0)
    return np.asarray(gram)


def _order_around_random_pole(rng: np.random.Generator, code: np.ndarray) -> np.ndarray:
    """Return the order of rows by their height above a random equator, the highest first."""
    return np.argsort(-(code @ rng.standard_normal(code.shape[1])))


def algebraic_start(
    rng: np.random.Generator, d: int, K: int, favourite: str
) -> tuple[str, np.ndarray] | None:
    """Make a random code of rows of a nearby construction.

    Args:
        rng: the source of random choices.
        d: dimension.
        K: number of rows.
        favourite: the origin of the best code so far, which is drawn half of the time.

    Returns:
        The origin `kind: construction` and unit rows (K, d). None where no construction is near
        (d, K).
    """
    choices, weights = [], []
    for name, share, sizes, start in _KINDS:
        constructions = _constructions(*sizes(d, K))
        # The nearer in size, the more often.
        odds = np.array([1.0 / (0.1 + abs(np.log(c.K / K))) for c in constructions])
        choices += [(f"{name}: {c.origin}", c, start) for c in constructions]
        weights += list(share * odds / odds.sum())
    if not choices:
        return None
    chances = np.array(weights) / sum(weights)
    best = np.array([origin == favourite for origin, *_ in choices])
    if best.any():
        chances = 0.5 * chances + 0.5 * best / best.sum()
    origin, construction, start = choices[rng.choice(len(choices), p=chances)]
    return origin, unit(start(rng, _rows(construction), d, K))


def resized(rng: np.random.Generator, code: np.ndarray, K: int) -> np.ndarray:
    """Resize a code (K', d) to K unit rows, at random.

    A larger code is cut, or loses the rows with the most contacts, or any rows. A smaller one gets
    rows in its holes. So a symmetric code of a few rows more is a start for a size that no union of
    orbits has.
    """
    if len(code) <= K:
        return _extension(rng, code, code.shape[1], K)
    way = rng.integers(3)
    if way == 0:
        return code[rng.permutation(len(code))[:K]]
    if way == 1:
        return _cut(rng, code, code.shape[1], K)
    return without_contacts(code[rng.permutation(len(code))], K)  # ties at random


@lru_cache(maxsize=64)
def _constructions(d: int, min_rows: int, max_rows: int) -> tuple[Construction, ...]:
    """Return the constructions in exactly d dimensions with these numbers of rows, above d.

    Sums of smaller ones are among them.
    """
    min_rows, max_rows = max(min_rows, d + 1), min(max_rows, _MAX_ENTRIES // d)
    fitting = [c for c in (*in_dimension(d), *cross_sections(d)) if min_rows <= c.K <= max_rows]
    summed = best_construction(d, min_rows)
    if summed is not None and summed.K <= max_rows and not summed.changes:
        fitting.append(summed)
    return tuple({(c.origin, c.K): c for c in fitting}.values())


@lru_cache(maxsize=64)
def _rows(construction: Construction) -> np.ndarray:
    """Build the unit rows of a construction."""
    return unit(np.asarray(construction.build(), dtype=np.float64))


def _cut(rng: np.random.Generator, rows: np.ndarray, d: int, K: int) -> np.ndarray:
    """Choose K of the rows: nearest to a direction or to one level across it, perhaps spread."""
    heights = rows @ _direction(rng, rows)
    level = heights.max() if rng.random() < _CAP_SHARE else rng.choice(heights)
    order = _nearest(rng, heights, level)
    if rng.random() < _SPREAD_SHARE:
        cosines = rows @ rows[rng.integers(len(rows))]
        order = _spread(rows, order, K, rng.choice(cosines[cosines < 1.0 - 1e-6]))
    return np.asarray(rows[order[:K]])


def _spread(rows: np.ndarray, order: np.ndarray, K: int, cosine: float) -> np.ndarray:
    """Move at most K rows that have at most this cosine with each other to the head of an order."""
    excluded, first = np.zeros(len(rows), dtype=bool), []
    for i in order:
        if not excluded[i]:
            first.append(i)
            excluded |= rows @ rows[i] > cosine + 1e-9
            if len(first) == K:
                break
    return np.concatenate([first, order[~np.isin(order, first)]])


def _section(
    rng: np.random.Generator, rows: np.ndarray, d: int, K: int, directions: int
) -> np.ndarray:
    """Project rows on one level across a direction, or near it, along it; and so once more."""
    for _ in range(directions):
        pole = _direction(rng, rows)
        heights = rows @ pole
        level = rng.choice(heights)
        order = _nearest(rng, heights, level)
        order = order[np.abs(heights[order]) < 0.95]
        count = max(K, int((np.abs(heights - level) < 1e-6).sum()))
        rows = unit(rows[order[:count]] @ np.linalg.svd(pole[None])[2][1:].T)
    rows = _extension(rng, rows, d, K) if len(rows) < K else _cut(rng, rows, d, K)
    # Rows on one meridian have one projection: a small move separates them.
    return rows + 1e-3 * rng.standard_normal(rows.shape)


def _extension(rng: np.random.Generator, rows: np.ndarray, d: int, K: int) -> np.ndarray:
    """Add rows in some of the deepest holes."""
    while len(rows) < K:
        holes = rng.permutation(deep_holes(rng, rows)[:5])
        rows = np.concatenate([rows, holes[: K - len(rows)]])
    return rows


def _direction(rng: np.random.Generator, rows: np.ndarray) -> np.ndarray:
    """Draw the direction of a sum of few rows, any or those around one; seldom any direction."""
    number = min(len(rows), _MAX_SUMMANDS, int(rng.geometric(0.3)))
    kind = rng.random()
    if kind < 0.5:
        direction = rows[rng.permutation(len(rows))[:number]].sum(axis=0)
    elif kind < 0.9:
        nearness = rows @ rows[rng.integers(len(rows))]
        direction = rows[_nearest(rng, nearness, 1.0)[:number]].sum(axis=0)
    else:
        direction = rng.standard_normal(rows.shape[1])
    length = np.linalg.norm(direction)
    sign = rng.choice([-1.0, 1.0])
    return np.asarray(sign * (rows[0] if length < 1e-9 else direction / length))


def _nearest(rng: np.random.Generator, values: np.ndarray, level: float) -> np.ndarray:
    """Order values by their distance from the level, equal ones at random, and return indices."""
    return np.lexsort((rng.random(len(values)), np.abs(values - level).round(6)))


_KINDS: tuple[
    tuple[
        str,
        float,
        Callable[[int, int], tuple[int, int, int]],
        Callable[[np.random.Generator, np.ndarray, int, int], np.ndarray],
    ],
    ...,
] = (
    ("sub-code", 4.0, lambda d, K: (d, K, _MAX_CUT * K), _cut),
    ("section", 3.0, lambda d, K: (d + 1, K, _MAX_CUT * K), partial(_section, directions=1)),
    ("section", 2.0, lambda d, K: (d + 2, K, _MAX_CUT * K), partial(_section, directions=2)),
    ("extension", 1.0, lambda d, K: (d, int(np.ceil(_MIN_ROWS_SHARE * K)), K - 1), _extension),
)
"""Kinds of algebraic starts: weight in the draw, constructions (dimension, smallest and largest
number of rows), and the function that makes a code of their rows."""
