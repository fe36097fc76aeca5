"""A value of a bound that is given back as a target is reached, by whichever method."""

from collections.abc import Iterator
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gnc_cli.limits.catalogue import catalogue
from gnc_cli.limits.closed_forms import THEOREM_3_3_LOWER, THEOREM_3_3_UPPER
from gnc_cli.limits.delsarte import DelsarteLP
from gnc_cli.limits.kissing import KISSING
from gnc_cli.limits.levenshtein import LEVENSHTEIN
from gnc_cli.limits.limit import Limit, Quantity, counted, loosened, reaches
from gnc_cli.limits.theorem_3_9 import THEOREM_3_9_CHORD

LIMITS = [
    *(x for x in catalogue(Quantity.ONE_VS_ONE) if not x.listed and x is not KISSING),
    THEOREM_3_9_CHORD,
]
"""All formulas; a table of kissing numbers has strict values."""
BY_NAME = pytest.mark.parametrize(
    "limit", LIMITS, ids=lambda limit: f"{limit.name}-{limit.exists}-{limit.of_rho}"
)

OFFSETS = [Fraction(0)] + [
    sign * Fraction(text)
    for text in ("1e-16", "1e-14", "3e-13", "1e-12", "1e-11")
    for sign in (-1, 1)
]
"""Relative; the first two are within a rounding."""

ONLY_AT = {"covering-3": 3, "fejes-toth": 3}
dimensions = st.integers(2, 12) | st.integers(2, 1024) | st.integers(2, 10**6)
sizes = st.integers(2, 30) | st.integers(2, 2000) | st.integers(2, 10**6)


def answers(limit: Limit, d: int, K: int, target: Fraction) -> Iterator[bool]:
    """Whether K points in d dimensions reach the target: by the value, by points, by dimension."""
    found = limit.at(d, K)
    assert found is not None and found.valid
    yield reaches(found.value, target)
    count = limit.points(d, target)
    yield not limit.exists if count is None else count.exact is None or count.exact >= K
    # Three points are best placed in a plane: more dimensions do not help covering by caps.
    if limit.name != "covering" or K >= 4:
        first = limit.dimension(K, target).d
        yield first is not None and first <= d


@BY_NAME
@given(dimensions, sizes, st.sampled_from(OFFSETS))
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
    found = limit.at(d, K)
    if found is None or not found.valid:
        return
    target = loosened(Fraction(found.value) * (1 + offset))
    if target > 2:
        return
    said = list(answers(limit, d, K, target))
    assert said == [offset <= Fraction(1, 10**14)] * len(said)


@pytest.mark.parametrize(("d", "K"), [(9, 10), (4, 24), (8, 240)])
@pytest.mark.parametrize("offset", OFFSETS[:1] + OFFSETS[4:8])
def test_so_does_the_linear_programme(d: int, K: int, offset: Fraction) -> None:
    limit = DelsarteLP(degree=16)
    found = limit.at(d, K)
    assert found is not None
    said = list(answers(limit, d, K, loosened(Fraction(found.value) * (1 + offset))))
    assert said == [offset <= Fraction(1, 10**14)] * 3


def test_near_misses_are_no_ties() -> None:
    """0.69098300563 is above 1 - cos(72 degrees), the pentagon's clearance, by 5e-13."""
    for margin, K in (("0.69098300563", 4), ("0.69098300562", 5)):
        target = loosened(Fraction(margin))
        for limit in (THEOREM_3_3_LOWER, THEOREM_3_3_UPPER, LEVENSHTEIN):
            count = limit.points(2, target)
            assert count is not None and count.exact == K
    assert LEVENSHTEIN.points(9, Fraction(10, 9) + Fraction(1, 10**20)).exact == 9


def test_a_count_forgives_the_rounding_of_forty_digits_alone() -> None:
    import mpmath

    for power, whole in ((26, 240), (24, 239)):
        count = counted(2.4, lambda power=power: 240 * (1 - mpmath.mpf(10) ** -power))
        assert count is not None and count.exact == whole
