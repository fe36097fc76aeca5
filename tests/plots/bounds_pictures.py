"""The results that pictures of bounds are drawn from in tests."""

import math
from collections.abc import Sequence
from dataclasses import replace

from gnc_cli.results import BoundsResult
from tests.bounds_samples import classes, dimension, pair, sweep

__all__ = ["DIMS", "RESULTS"]

DIMS = [2**i for i in range(1, 10)]
SIZES = [10**i for i in range(2, 9)]


def known_exactly(dims: Sequence[int]) -> BoundsResult:
    """Codes of 240 points exist, of 241 none."""
    found = classes(dims)
    assert found.classes is not None
    low, high = math.log10(240), math.log10(241)
    rows = tuple(replace(r, K=240 if r.exists else 241, log10_K=low if r.exists else high)
                 for r in found.classes.rows)  # fmt: skip
    best = tuple(replace(b, guaranteed=240, log10_guaranteed=low, excluded=241,
                         log10_excluded=high)
                 for b in found.classes.best)  # fmt: skip
    return replace(found, classes=replace(found.classes, rows=rows, best=best))


RESULTS: dict[str, BoundsResult] = {
    "pair": pair(10, 100, 0.6), "angles": pair(10, 100, quantity="one-vs-one"),
    "failed": pair(30, 15), "tiny": pair(3, 10**9),
    "asked angle": replace(pair(10, 100, quantity="one-vs-one"), max_cosine=0.5,
                           arcface_m=math.pi / 3),
    "over d": sweep(DIMS, [1000], 0.3),
    "degrees over d": sweep(DIMS, [1000], quantity="one-vs-one"),
    "dense": sweep(range(2, 200), [10**6]), "two": sweep([127, 128], [500], 0.9),
    "panels": sweep(DIMS, [1000, 10**6, 10**30], 0.3), "matrix": sweep([128, 512], [10572, 85742]),
    "over K": sweep([3], SIZES), "panels over K": sweep([8, 64], SIZES, 0.3),
    "very large K": sweep([512], [10**i for i in range(2, 301, 20)]),
    "many K": sweep(DIMS, [10**i for i in range(2, 13)], 0.3),
    "every K": sweep(range(2, 21), range(10, 61)),
    "dimension": dimension([10**6]), "never": dimension([10**6], 0.6),
    "dimensions": dimension([10**i for i in range(3, 13)]),
    "three dimensions": dimension([10572, 85742, 360232]), "classes": classes([64]),
    "many classes": classes([10**5]), "classes over d": classes(DIMS),
    "classes of near d": classes([10, 11, 12, 14], 0.6),
    "sparse": sweep([128], [2, 10002, 20002, 30002, 40002]),
    "nothing open": known_exactly([8]), "nothing open over d": known_exactly(range(8, 13)),
    "cosine": replace(dimension([10**6]), margin=None, max_cosine=0.5, quantity="one-vs-one"),
}  # fmt: skip
