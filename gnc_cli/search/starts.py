"""Starts from algebra: codes near the constructions whose parameters are near (d, K).

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

from gnc_cli.constructions.construction import Construction
from gnc_cli.constructions.registry import best_construction, cross_sections, in_dimension
from gnc_cli.geometry.gram import without_contacts
from gnc_cli.search.perturbations import deep_holes, unit

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
    smaller ones."""
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
    each other."""
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
