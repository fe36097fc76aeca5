"""Starts from algebra: codes near the constructions whose parameters are near (d, K).

- sub-code: a construction with more rows, without some: the rows of a cap, those with the most
  contacts, or random ones;
- extension: a construction with fewer rows, and new rows in its deepest holes;
- section: rows of a construction in d + 1 dimensions, of nearly equal cosine to one direction,
  projected along it;
- layers: constructions in d - 1 dimensions on parallel circles of latitude.

A code found from such a start is found by algebra as much as by search: the origin says so.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from gnc_cli.constructions.construction import Construction
from gnc_cli.constructions.registry import best_construction, cross_sections, in_dimension
from gnc_cli.search.perturbations import contacts, deep_holes

_MOST_ROWS = 6
"""Constructions of at most this many times K rows are cut."""
_FEWEST_ROWS = 0.75
"""Constructions of at least this share of K rows are extended."""


def algebraic_start(rng: np.random.Generator, d: int, K: int) -> tuple[str, np.ndarray] | None:
    """A random code from nearby constructions: its origin, and unit rows (K, d).

    The origin is `kind: construction`. None where there is no construction near (d, K).
    """
    ways = [(way, choices) for way in _WAYS if (choices := _between(*_WAYS[way][1](d, K)))]
    if not ways:
        return None
    way, choices = ways[rng.integers(len(ways))]
    # The nearer in size, the more often.
    distance = np.array([abs(np.log(c.K / K)) for c in choices])
    weights = 1.0 / (0.1 + distance)
    construction = choices[int(rng.choice(len(choices), p=weights / weights.sum()))]
    code = _WAYS[way][0](rng, np.asarray(construction.build(), dtype=np.float64), d, K)
    return f"{way}: {construction.origin}", code / np.linalg.norm(code, axis=1, keepdims=True)


def resized(rng: np.random.Generator, code: np.ndarray, K: int) -> np.ndarray:
    """A code (K', d) of another size made one of K unit rows, at random.

    Fewer by leaving out a cap, rows with the most contacts, or any; more by filling holes. So a
    symmetric code of a few rows more is a start for sizes that no union of orbits has.
    """
    d = code.shape[1]
    return _sub_code(rng, code, d, K) if len(code) > K else _extension(rng, code, d, K)


@lru_cache(maxsize=64)
def _between(d: int, least: int, most: int) -> tuple[Construction, ...]:
    """Constructions in exactly d dimensions with least to most rows, sums of smaller ones too."""
    fitting = [c for c in (*in_dimension(d), *cross_sections(d)) if least <= c.K <= most]
    summed = best_construction(d, least)
    if summed is not None and summed.K <= most and not summed.changes:
        fitting.append(summed)
    return tuple({(c.origin, c.K): c for c in fitting}.values())


def _sub_code(rng: np.random.Generator, rows: np.ndarray, d: int, K: int) -> np.ndarray:
    """K of the rows."""
    leaving = len(rows) - K
    way = rng.integers(3)
    if way == 0:
        return rows[rng.permutation(len(rows))[:K]]
    if way == 1:  # those nearest to, or farthest from, a direction
        nearness = rows @ _direction(rng, rows)
        order = np.lexsort((rng.random(len(rows)), nearness.round(6)))
        return rows[order[:K]]
    touching = contacts(rows)
    kept = np.ones(len(rows), dtype=bool)
    for _ in range(leaving):
        number = np.where(kept, touching[:, kept].sum(1) + rng.random(len(rows)), -1.0)
        kept[number.argmax()] = False
    return rows[kept]


def _extension(rng: np.random.Generator, rows: np.ndarray, d: int, K: int) -> np.ndarray:
    """The rows and new ones, each in one of the deepest holes."""
    while len(rows) < K:
        rows = np.concatenate([rows, rng.choice(deep_holes(rng, rows)[:5], 1)])
    return rows


def _section(rng: np.random.Generator, rows: np.ndarray, d: int, K: int) -> np.ndarray:
    """The K rows whose cosines to a direction are nearest to one value, in the space across it."""
    pole = _direction(rng, rows)
    height = rows @ pole
    level = height[rng.integers(len(rows))] if rng.random() < 0.5 else 0.0
    order = np.lexsort((rng.random(len(rows)), np.abs(height - level).round(6)))
    order = order[np.abs(height[order]) < 0.95]
    across = np.linalg.svd(pole[None])[2][1:]
    section = rows[order[:K]] @ across.T
    section /= np.linalg.norm(section, axis=1, keepdims=True)
    # Rows on one meridian fall together; they move apart.
    section += 1e-3 * rng.standard_normal(section.shape)
    return section if len(section) == K else _extension(rng, section, d, K)


def _layers(rng: np.random.Generator, rows: np.ndarray, d: int, K: int) -> np.ndarray:
    """Copies of the rows, or parts of them, turned at random, at several heights."""
    number = int(np.ceil(K / len(rows))) + int(rng.integers(2))
    heights = np.sort(np.cos(np.pi * (np.arange(number) + rng.uniform(0.3, 0.7)) / number))
    widths = np.sqrt(1.0 - heights**2)
    wanted = np.minimum((K * widths / widths.sum()).astype(int), len(rows))
    layers = []
    for height, width, count in zip(heights, widths, wanted, strict=True):
        turn, _ = np.linalg.qr(rng.standard_normal((d - 1, d - 1)))
        part = rows if count == len(rows) else _sub_code(rng, rows, d - 1, count)
        layers.append(np.column_stack([width * part @ turn.T, np.full(len(part), height)]))
    return _extension(rng, np.concatenate(layers), d, K)


def _direction(rng: np.random.Generator, rows: np.ndarray) -> np.ndarray:
    """A row, the middle of a few rows, a hole, or any unit vector."""
    number = int(rng.integers(5))
    if number < 3:
        chosen = rows[rng.integers(len(rows))]
        near = rows[np.argsort(-(rows @ chosen))[: number + 1]]
        direction = near.sum(axis=0)
    else:
        direction = deep_holes(rng, rows)[0] if number == 3 else rng.standard_normal(rows.shape[1])
    length = np.linalg.norm(direction)
    return rows[0] if length < 1e-9 else np.asarray(direction / length)


_WAYS: dict[
    str,
    tuple[
        Callable[[np.random.Generator, np.ndarray, int, int], np.ndarray],
        Callable[[int, int], tuple[int, int, int]],
    ],
] = {
    "sub-code": (_sub_code, lambda d, K: (d, K, _MOST_ROWS * K)),
    "extension": (_extension, lambda d, K: (d, int(np.ceil(_FEWEST_ROWS * K)), K - 1)),
    "section": (_section, lambda d, K: (d + 1, K, _MOST_ROWS * K)),
    "layers": (_layers, lambda d, K: (d - 1, max(2, K // 8), K if d > 3 else 0)),
}
"""What makes a code, and the constructions that it starts from: dimension, fewest and most rows."""
