"""Codes that a descent starts from: good codes moved into another basin, and codes from algebra.

Basin hopping moves a good code (K, d) before it descends again. `fill_hole` moves one or two rows
into deep holes, `jitter` shakes all rows, `melt` shakes one cap hard, `twist` turns one cap against
the rest, `splice` joins caps of two codes (Deaven and Ho, Phys. Rev. Lett. 75, 1995, for clusters).

Starts from algebra lie near the constructions whose parameters are near (d, K):

- sub-code: rows of a construction with more rows, a cap or a slab of it, or of these the rows that
  are not nearer to each other than a smaller cosine of the construction;
- section: rows of a construction in one or two dimensions more, each time those of nearly equal
  cosines to one direction, projected along it, and a cap of what is left;
- extension: a construction with fewer rows, and new rows in its deepest holes.

Directions are sums of few rows. Around them the rows of a construction lie in few layers, and whole
layers lead to codes most of whose pairs are contacts, far better than the construction: the cap of
80 rows around one row of the shortened Kerdock code of 128 goes from 0.2 to 0.1687. Random rows of
the same code end where random starts do, above 0.194.

A code found from such a start is found by algebra as much as by search: the origin says so.
"""

from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np
from scipy.linalg import expm

from gnc_cli.constructions.construction import Construction
from gnc_cli.constructions.registry import best_construction, cross_sections, in_dimension
from gnc_cli.geometry.gram import contacts, without_contacts

_HOLES = 10
"""Deep holes of which one is filled, at most."""

Move = Callable[[np.random.Generator, np.ndarray, np.ndarray], np.ndarray]
_MOST_ROWS = 40
"""Constructions of at most this many times K rows are cut."""
_MOST_NUMBERS = 1 << 18
"""And of at most this many numbers, 2 MB; some dozens are kept."""
_FEWEST_ROWS = 0.75
"""Constructions of at least this share of K rows are extended."""
_MOST_ADDED = 12
"""Rows that a direction is the sum of, at most."""
_CAPS = 0.7
"""Share of caps; the others are slabs."""
_SPREAD = 0.5
"""Share of caps and slabs of which only rows at distances from each other are taken."""


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
    (rattlers first).
    """
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
    """Return rows (..., d) scaled to norm 1; none is zero."""
    return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True))


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


def algebraic_start(
    rng: np.random.Generator, d: int, K: int, favourite: str
) -> tuple[str, np.ndarray] | None:
    """A random code from nearby constructions: its origin, and unit rows (K, d).

    The origin is `kind: construction`. None where there is no construction near (d, K).

    Args:
        favourite: the origin of the best code so far, which is drawn half of the time.
    """
    choices, weights = [], []
    for name, share, sizes, start in _WAYS:
        near = _between(*sizes(d, K))
        # The nearer in size, the more often.
        odds = np.array([1.0 / (0.1 + abs(np.log(c.K / K))) for c in near])
        choices += [(f"{name}: {c.origin}", c, start) for c in near]
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
    """A code (K', d) of another size made one of K unit rows, at random.

    Fewer by a cut, or by leaving out rows with the most contacts, or any; more by filling holes. So
    a symmetric code of a few rows more is a start for sizes that no union of orbits has.
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
def _between(d: int, least: int, most: int) -> tuple[Construction, ...]:
    """Constructions in exactly d dimensions with least to most rows, but more than d; also sums of
    smaller ones.
    """
    least, most = max(least, d + 1), min(most, _MOST_NUMBERS // d)
    fitting = [c for c in (*in_dimension(d), *cross_sections(d)) if least <= c.K <= most]
    summed = best_construction(d, least)
    if summed is not None and summed.K <= most and not summed.changes:
        fitting.append(summed)
    return tuple({(c.origin, c.K): c for c in fitting}.values())


@lru_cache(maxsize=64)
def _rows(construction: Construction) -> np.ndarray:
    """Its unit rows."""
    return unit(np.asarray(construction.build(), dtype=np.float64))


def _cut(rng: np.random.Generator, rows: np.ndarray, d: int, K: int) -> np.ndarray:
    """K of the rows: those nearest to a direction, or to one level across it, and perhaps far from
    each other.
    """
    heights = rows @ _direction(rng, rows)
    level = heights.max() if rng.random() < _CAPS else rng.choice(heights)
    order = _nearest(rng, heights, level)
    if rng.random() < _SPREAD:
        cosines = rows @ rows[rng.integers(len(rows))]
        order = _spread(rows, order, K, rng.choice(cosines[cosines < 1.0 - 1e-6]))
    return rows[order[:K]]


def _spread(rows: np.ndarray, order: np.ndarray, K: int, cosine: float) -> np.ndarray:
    """The order with K rows first, or fewer, that have at most this cosine with each other."""
    near, first = np.zeros(len(rows), dtype=bool), []
    for i in order:
        if not near[i]:
            first.append(i)
            near |= rows @ rows[i] > cosine + 1e-9
            if len(first) == K:
                break
    return np.concatenate([first, order[~np.isin(order, first)]])


def _section(
    rng: np.random.Generator, rows: np.ndarray, d: int, K: int, directions: int
) -> np.ndarray:
    """Rows on one level across a direction, or near it, in the space across it; so again."""
    for _ in range(directions):
        pole = _direction(rng, rows)
        heights = rows @ pole
        level = rng.choice(heights)
        order = _nearest(rng, heights, level)
        order = order[np.abs(heights[order]) < 0.95]
        most = max(K, int((np.abs(heights - level) < 1e-6).sum()))
        rows = unit(rows[order[:most]] @ np.linalg.svd(pole[None])[2][1:].T)
    rows = _extension(rng, rows, d, K) if len(rows) < K else _cut(rng, rows, d, K)
    # Rows on one meridian fall together; they move apart.
    return rows + 1e-3 * rng.standard_normal(rows.shape)


def _extension(rng: np.random.Generator, rows: np.ndarray, d: int, K: int) -> np.ndarray:
    """The rows and new ones, in some of the deepest holes."""
    while len(rows) < K:
        holes = rng.permutation(deep_holes(rng, rows)[:5])
        rows = np.concatenate([rows, holes[: K - len(rows)]])
    return rows


def _direction(rng: np.random.Generator, rows: np.ndarray) -> np.ndarray:
    """The sum of a few rows, of any or of those around one; seldom any unit vector."""
    number = min(len(rows), _MOST_ADDED, int(rng.geometric(0.3)))
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
    return sign * (rows[0] if length < 1e-9 else direction / length)


def _nearest(rng: np.random.Generator, values: np.ndarray, level: float) -> np.ndarray:
    """Places of the values from the nearest to the level on, equal ones in random order."""
    return np.lexsort((rng.random(len(values)), np.abs(values - level).round(6)))


_WAYS: tuple[
    tuple[
        str,
        float,
        Callable[[int, int], tuple[int, int, int]],
        Callable[[np.random.Generator, np.ndarray, int, int], np.ndarray],
    ],
    ...,
] = (
    ("sub-code", 4.0, lambda d, K: (d, K, _MOST_ROWS * K), _cut),
    ("section", 3.0, lambda d, K: (d + 1, K, _MOST_ROWS * K), partial(_section, directions=1)),
    ("section", 2.0, lambda d, K: (d + 2, K, _MOST_ROWS * K), partial(_section, directions=2)),
    ("extension", 1.0, lambda d, K: (d, int(np.ceil(_FEWEST_ROWS * K)), K - 1), _extension),
)
"""Kinds of starts: how often each is drawn, the constructions that it starts from (dimension,
fewest and most rows), and what makes a code of their rows."""
