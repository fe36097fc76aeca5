"""What all bounds obey together: nothing contradicts, codes fit, order and inverses hold.

It tests gnc_cli/limits: limit.py and registry.py.
"""

import math
from collections.abc import Iterator
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gnc_cli.known_codes.table import our_copy
from gnc_cli.limits.delsarte import DelsarteLP
from gnc_cli.limits.levenshtein import LEVENSHTEIN
from gnc_cli.limits.limit import (
    LARGEST_D,
    Dimension,
    Ending,
    Limit,
    Quantity,
    ball,
    count_below,
    loosened,
)
from gnc_cli.limits.registry import all_limits, unproved_limits
from gnc_cli.limits.theorem_3_3 import THEOREM_3_3_LOWER, THEOREM_3_3_UPPER
from gnc_cli.limits.theorem_3_9 import THEOREM_3_9_CHORD
from tests.documents import ROOT
from tests.limits import law_grid

LIMITS: list[Limit] = [*all_limits(Quantity.ONE_VS_ONE), THEOREM_3_9_CHORD]
EXCLUDING = [limit for limit in LIMITS if not limit.exists]
BY_NAME = pytest.mark.parametrize(
    "limit", LIMITS, ids=lambda limit: f"{limit.name}-{limit.exists}-{limit.bounds_rho}"
)

SHARP = {
    (3, 12),
    (5, 16),
    (6, 27),
    (7, 56),
    (8, 240),
    (21, 112),
    (22, 100),
    (22, 275),
    (22, 891),
    (21, 162),
    (23, 552),
    (23, 4600),
    (24, 196560),
    (52, 325),
    (105, 756),
    (301, 2752),
    (456, 4617),
}
"""Cohn and Kumar 2007, Table 1, as far as our table has them, besides simplices and orthoplexes.

Also among their universal optima, but not sharp: the 600-cell, (4, 120)."""

dimensions = st.integers(2, 40) | st.integers(2, 1024) | st.integers(2, LARGEST_D)
sizes = (
    st.integers(2, 300) | st.integers(2, 10**9) | st.floats(9.0, 299.0).map(lambda e: int(10.0**e))
)
targets = st.fractions(Fraction(1, 1000), 2, max_denominator=1000).map(loosened)


def _value(limit: Limit, d: int, K: int) -> float | None:
    found = limit.evaluate(d, K)
    return found.value if found is not None and found.valid else None


# No contradictions


def test_no_lower_bound_is_above_an_upper_one() -> None:
    assert [said for pair in law_grid.sample() for said in law_grid.violations(*pair)] == []


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(law_grid.CHUNKS))
def test_nor_is_one_anywhere_on_the_whole_grid(chunk: int) -> None:
    assert [said for pair in law_grid.grid(chunk) for said in law_grid.violations(*pair)] == []


# The page, known codes and certificates


def test_the_page_of_bounds_has_a_row_for_each() -> None:
    page = (ROOT / "docs/theory/bounds.md").read_text(encoding="utf-8")
    names = {limit.name for limit in [*LIMITS, *unproved_limits(our_copy())]} | {DelsarteLP.name}
    assert [name for name in sorted(names) if f"`{name}`" not in page] == []


def test_known_codes_are_excluded_by_nothing() -> None:
    for entry in our_copy().entries.values():
        clearance = float(1 - entry.interval[1])
        for limit in EXCLUDING:
            highest = _value(limit, entry.d, entry.K)
            assert highest is None or clearance <= highest * (1.0 + 1e-12), (limit.name, entry)


def test_sharp_codes_and_no_others_attain_levenshtein() -> None:
    attained = set()
    for entry in our_copy().entries.values():
        gap = LEVENSHTEIN.evaluate(entry.d, entry.K).value / float(1 - entry.exact) - 1.0
        assert gap > -1e-12
        if gap < 1e-9 and entry.K > entry.d + 1 and entry.K != 2 * entry.d:
            attained.add((entry.d, entry.K))
    assert attained == SHARP


# Monotony


@BY_NAME
@given(dimensions, sizes, st.integers(1, 3) | st.integers(1, 10**12))
def test_more_points_are_no_further_apart(limit: Limit, d: int, K: int, more: int) -> None:
    few, many = _value(limit, d, K), _value(limit, d, K + more)
    if few is not None and many is not None:
        assert many <= few * (1.0 + 1e-12)


@BY_NAME
@given(dimensions, sizes, st.integers(1, 3) | st.integers(1, LARGEST_D))
def test_more_dimensions_leave_more_room(limit: Limit, d: int, K: int, more: int) -> None:
    """Two and three points lie in a plane, where covering by caps says less the larger d is.

    The table joins no entries where theorem 3.3 gives an orthoplex, K <= 2 d.
    """
    larger = min(d + more, LARGEST_D)
    if (limit.name == "covering" and K < 4) or (limit.name == "known-code" and K <= 2 * larger):
        return
    narrow, wide = _value(limit, d, K), _value(limit, larger, K)
    if narrow is not None and wide is not None:
        assert wide >= narrow * (1.0 - 1e-12)


# Inverses


@BY_NAME
@given(dimensions, targets)
def test_points_invert_values(limit: Limit, d: int, target: Fraction) -> None:
    count = limit.points(d, target)
    if count is None:
        return
    if count.exact is None:
        if count.log10 > 299.0:
            return
        last, next_ = (int(10.0 ** (count.log10 + step)) for step in (-1e-9, 1e-9))
    else:
        last, next_ = count.exact, count.exact + 1
        assert last >= 2 and count.log10 == pytest.approx(math.log10(last), rel=1e-12)
    within, beyond = _value(limit, d, last), _value(limit, d, next_)
    assert (within is None and not limit.exists) or within >= float(target) * (1 - 2e-12)
    if beyond is None:
        assert limit.exists
    else:
        assert beyond < float(target) * (1 + 2e-12)


@BY_NAME
@given(sizes, targets)
def test_dimensions_invert_values(limit: Limit, K: int, target: Fraction) -> None:
    found = limit.dimension(K, target)
    assert (found.d is None) == (found.ending is not Ending.REACHED)
    if limit.exists:
        at, before = _value(limit, found.d or LARGEST_D, K), None
        assert (at is not None and _meets(limit, at, target)) == (found.d is not None)
        if found.d is not None and found.d > 2:
            before = _value(limit, found.d - 1, K)
        assert before is None or not _meets(limit, before, target)
        return
    if found.d is not None:
        at = _value(limit, found.d, K)
        assert at is None or _meets(limit, at, target)
    assert _excluded(limit, _last_excluded(found), K, target)


# A value that is given back as a target is reached, by whichever method

FORMULAS = pytest.mark.parametrize(
    "limit",
    [x for x in LIMITS if not x.is_list],
    ids=lambda limit: f"{limit.name}-{limit.exists}-{limit.bounds_rho}",
)
OFFSETS = [Fraction(0)] + [
    sign * Fraction(text)
    for text in ("1e-16", "1e-14", "3e-13", "1e-12", "1e-11")
    for sign in (-1, 1)
]
"""Relative; the first two are within a rounding."""

ONLY_AT = {"covering-3": 3, "fejes-toth": 3}


def answers(limit: Limit, d: int, K: int, target: Fraction) -> Iterator[bool]:
    """Whether K points in d dimensions reach the target: by the value, by points, by dimension."""
    found = limit.evaluate(d, K)
    assert found is not None and found.valid
    yield (found.value >= target)
    count = limit.points(d, target)
    yield not limit.exists if count is None else count.exact is None or count.exact >= K
    # Three points are best placed in a plane: more dimensions do not help covering by caps.
    if limit.name != "covering" or K >= 4:
        first = limit.dimension(K, target).d
        yield first is not None and first <= d


@FORMULAS
@given(dimensions, st.integers(2, 30) | st.integers(2, 10**6), st.sampled_from(OFFSETS))
@example(9, 10, Fraction(0))
@example(2, 5, Fraction(0))
@example(10, 10, Fraction(0))
@example(500, 1000, Fraction(0))
@example(3, 12, Fraction(0))
@example(4, 120, Fraction(0))
@example(8, 240, Fraction(0))
@example(2, 10**6, Fraction(0))
def test_all_give_one_answer(limit: Limit, d: int, K: int, offset: Fraction) -> None:
    d = ONLY_AT.get(limit.name, d)
    found = limit.evaluate(d, K)
    if found is None or not found.valid:
        return
    target = loosened(Fraction(found.value) * (1 + offset))
    if target > 2:
        return
    said = list(answers(limit, d, K, target))
    assert said == [offset <= Fraction(1, 10**14)] * len(said)


def test_near_misses_are_no_ties() -> None:
    """0.69098300563 is above 1 - cos(72 degrees), the pentagon's clearance, by 5e-13."""
    for margin, K in (("0.69098300563", 4), ("0.69098300562", 5)):
        target = loosened(Fraction(margin))
        for limit in (THEOREM_3_3_LOWER, THEOREM_3_3_UPPER, LEVENSHTEIN):
            count = limit.points(2, target)
            assert count is not None and count.exact == K
    assert LEVENSHTEIN.points(9, Fraction(10, 9) + Fraction(1, 10**20)).exact == 9


def test_a_whole_number_within_the_rounding_is_meant() -> None:
    for power, whole in ((60, 240), (24, 239)):
        gap = Fraction(1, 10**power)
        count = count_below(lambda gap=gap: 240 * ball(1 - gap))
        assert count is not None and count.exact == whole


def _last_excluded(found: Dimension) -> int:
    return LARGEST_D if found.d is None else found.d - 1


def _excluded(limit: Limit, d: int, K: int, target: Fraction) -> bool:
    """Whether a bound says so, or the simplex is too small; one dimension is none at all."""
    value = _value(limit, d, K) if d > 1 else 0.0
    return Fraction(K, K - 1) < target or (value is not None and not _meets(limit, value, target))


def _meets(limit: Limit, value: float, target: Fraction) -> bool:
    """Whether a value reaches a target; those of a bound on numbers of points are strict."""
    strict = limit.name == "cardinality"
    return value >= (target + Fraction(1, 10**12) if strict else target)
