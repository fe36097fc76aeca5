"""The search over constructions: laws of its answers; and `sums.py` against a plain knapsack."""

from functools import cache
from importlib import import_module
from math import inf
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.constructions import registry
from gnc_cli.constructions.construction import Family
from gnc_cli.constructions.registry import (
    best_construction,
    cross_sections,
    in_dimension,
    largest_construction,
)

ENGINEERS = {
    (64, 10**4): 1 / 5,
    (128, 1000): 1 / 17,
    (128, 50257): 3 / 16,
    (256, 1000): 1 / 33,
    (512, 10**6): 3 / 32,
    (768, 50257): 1 / 24,
    (128, 10**4): 0.1182,
    (256, 10**4): 0.0552,
    (384, 10**4): 1 / 20,
    (512, 10**4): 1 / 24,
    (512, 10**5): 27 / 486,
    (768, 10**4): 1 / 48,
    (768, 10**6): 0.0722,
    (1024, 10**4): 15 / 783,
    (1024, 10**6): 1 / 32,
    (2048, 10**4): 1 / 170,
    (4096, 10**4): 1 / 257,
    (100, 10**6): 0.3477,
}
"""No larger cosine than this."""


def test_dimensions_of_each_module_are_as_listed() -> None:
    folder = Path(registry.__file__).parent / "families"
    assert {path.stem for path in folder.glob("[a-z]*.py")} == set(registry._DIMENSIONS)
    for name, (least, most) in registry._DIMENSIONS.items():
        module = import_module(f"gnc_cli.constructions.families.{name}")
        codes = getattr(module, "CODES", ())
        assert bool(codes) == (name in registry._MODULES_OF_SINGLE_CODES)
        members = {d for f in getattr(module, "FAMILIES", ()) for d in _dimensions(f)}
        dimensions = members | {code.d for code in codes}
        assert min(dimensions) == least and max(dimensions) <= most
        assert most == inf or max(dimensions) == most


def _dimensions(family: Family) -> list[int]:
    return [d for d in range(2, 3700) if any(family.in_dimension(d))]


@pytest.mark.parametrize(("d", "K"), ENGINEERS)
def test_pairs_that_engineers_use(d: int, K: int) -> None:
    code = best_construction(d, K)
    assert code is not None and (code.d, code.K) == (d, K)
    assert code.cosine.value <= ENGINEERS[d, K] + 1e-15


@given(st.integers(3, 130), st.integers(8, 40), st.integers(0, 30), st.integers(0, 90))
def test_more_room_and_fewer_rows_are_never_worse(
    d: int, ratio: int, wider: int, fewer: int
) -> None:
    K = ratio * d + 200
    narrow = best_construction(d, K)
    if narrow is not None:
        wide = best_construction(d + wider, K - fewer)
        assert wide is not None and wide.cosine.value <= narrow.cosine.value


@cache
def _most_rows(d: int, cosine: float) -> int:
    """By trying every construction for the first part."""
    best = 2 * d
    for e in range(2, d + 1):
        sizes = [c.K for c in in_dimension(e) if c.cosine.value <= cosine]
        best = max(best, max(sizes, default=0) + _most_rows(d - e, cosine))
    return best


@pytest.mark.parametrize("d", [14, 23, 31])
@pytest.mark.parametrize("cosine", [0.21, 0.26, 0.34])
def test_sums_have_as_many_rows_as_any(d: int, cosine: float) -> None:
    most = _most_rows(d, cosine)
    code = best_construction(d, most)
    assert code is not None and code.cosine.value <= cosine
    more = best_construction(d, most + 1)
    assert more is None or more.cosine.value > cosine


@pytest.mark.parametrize("d", [*range(3, 11), 19, 20, 21, 22, 23])
def test_cross_sections_count_in_more_dimensions(d: int) -> None:
    for section in cross_sections(d):
        for wider in (d, d + 1, d + 3):
            found = best_construction(wider, section.K)
            assert section.K <= 2 * wider or (
                found is not None and found.cosine.value <= section.cosine.value
            )


@given(st.integers(2, 80), st.floats(0.0, 0.9))
def test_the_largest_is_the_last_that_is_good_enough(d: int, cosine: float) -> None:
    most = largest_construction(d, cosine)
    more = best_construction(d, 2 * d + 1 if most is None else most.K + 1)
    assert more is None or more.cosine.value > cosine
    if most is not None:
        assert most.d == d and most.cosine.value <= cosine
        best = best_construction(d, most.K)
        assert best is not None and best.cosine.value <= most.cosine.value


@pytest.mark.parametrize(
    ("d", "cosine", "origin", "K"),
    [
        (24, 0.5, "leech", 196560),
        (25, 0.5, "leech + pair", 196562),
        (512, 0.0625, "gold-9", 525312),
        (24, 0.49, "leech, the 47104 rows at cosine 1/4 from one row, embedded", 47104),
        (10, 1 / 7, "smith, the 24 rows at cosine 1/6 from one row, embedded", 24),
        (40, 0.0, None, None),
        (40, -0.1, None, None),
    ],
)
def test_the_largest_for_a_cosine(d: int, cosine: float, origin: str | None, K: int | None) -> None:
    found = largest_construction(d, cosine)
    assert K == (None if found is None else found.K)
    assert origin is None or (found is not None and found.origin.startswith(origin))


@pytest.mark.parametrize(
    ("d", "K"), [(4, 13), (4, 14), (5, 11), (6, 18), (7, 57), (8, 30), (9, 60), (12, 100)]
)
def test_rows_are_as_stated(d: int, K: int) -> None:
    code = best_construction(d, K)
    assert code is not None and (code.d, code.K) == (d, K)
    W = np.asarray(code.build())
    assert W.shape == (K, d)
    gram = W @ W.T
    assert np.abs(gram.diagonal() - 1.0).max() < 1e-12
    assert (gram - 2.0 * np.eye(K)).max() <= code.cosine.value + 1e-12
