"""`bounds` with a margin: which dimensions it needs, and how many points it leaves room for.

It tests gnc_cli/limits: answers.py.
"""

import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import jsonschema
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gnc_cli import bounds, schemas
from gnc_cli.limits import request
from gnc_cli.limits.result import ClassesAnswer, ClassesRow, DimensionAnswer, DimensionRow

VALIDATOR = jsonschema.Draft202012Validator(schemas.load("bounds"))

asked = st.integers(1, 2000).map(lambda n: {"margin": n / 1000}) | st.integers(-1000, 999).map(
    lambda n: {"max_cosine": n / 1000}
)
_TOLD_APART = 10**11
_MOST_D = 10**5
sizes = st.integers(2, 300) | st.integers(2, 10**9) | st.integers(2, 10**18)


@cache
def dimension(K: Any, **asked: float) -> DimensionAnswer:
    result = bounds(K=K, **asked)  # type: ignore[arg-type]
    VALIDATOR.validate(result.to_json())
    assert result.dimension is not None and result.classes is None
    assert result.rows == result.best == ()
    return result.dimension


@cache
def classes(d: Any, **asked: float) -> ClassesAnswer:
    result = bounds(d=d, **asked)  # type: ignore[arg-type]
    VALIDATOR.validate(result.to_json())
    assert result.classes is not None and result.dimension is None
    assert result.rows == result.best == ()
    return result.classes


@pytest.fixture(autouse=True, scope="module")
def quick_bounds_alone() -> Iterator[None]:
    """What is said of one pair is that of dimensions and numbers of points."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(request, "LP_DIMENSIONS", 0)
        yield


def status(d: int, K: int, **asked: float) -> str | None:
    (best,) = bounds(d, K, **asked).best  # type: ignore[arg-type]
    return best.status


def is_open(d: int, K: int, **asked: float) -> bool:
    """Whether no bound excludes it but the linear program, which is asked of pairs alone."""
    (best,) = bounds(d, K, **asked).best  # type: ignore[arg-type]
    return best.status != "excluded" or "delsarte-lp" in (best.lower_name, best.upper_name)


def row(answer: Any, name: str, exists: bool) -> Any:
    (found,) = [r for r in answer.rows if (r.name, r.exists) == (name, exists)]
    return found


# Which dimension


def test_a_million_classes_with_margin_0_3() -> None:
    answer = dimension(10**6, margin=0.3)
    assert row(answer, "theorem-3.9", True).d == 60
    assert row(answer, "theorem-3.9", False).d == 8
    assert row(answer, "covering", True).d == 36
    best = row(answer, "construction", True)
    assert best.d == answer.sufficient == 21 and best.constructive
    assert row(answer, "levenshtein", False).d == answer.necessary == 18
    (alone,) = answer.best
    assert (alone.sufficient, alone.necessary) == (answer.sufficient, answer.necessary)


def test_the_source_of_an_exclusion_excludes() -> None:
    """E8's margin is 1/2: it leaves room in d = 4; the 600-cell, of margin 0.191, leaves none."""
    proved = row(dimension(10**6, margin=0.3), "proved-optimum", False)
    assert proved.d == 5 and proved.source.startswith("optimal code (4, 120): 600-cell")
    kissing = row(dimension(300, max_cosine=0.5), "cardinality", False)
    assert kissing.d == 9 and kissing.source.startswith("kissing number in 8 dimensions")


@pytest.mark.parametrize(
    ("K", "margin", "sufficient", "necessary"),
    [
        (10, 1.5, None, None),
        (10, 2.0, None, None),
        (3, 1.5000001, None, None),
        (10**18, 1.0000001, None, None),
        (2, 2.0, 2, 2),
        (3, 1.5, 2, 2),
        (10, 1.1, 9, 9),
        (10, 1.0000001, 9, 9),
        (10, 1.0, 5, 5),
        (4, 1.0, 2, 2),
        (6, 0.5, 2, 2),
        (7, 0.5, 3, 3),
        (10**6, 1e-12, 2, 2),
        (100, 1.0, 50, 50),
    ],
)
def test_ends(K: int, margin: float, sufficient: int | None, necessary: int | None) -> None:
    answer = dimension(K, margin=margin)
    assert answer.sufficient == sufficient
    if necessary is None or sufficient == necessary:
        assert answer.necessary == necessary
    else:
        assert answer.necessary is not None and answer.necessary <= necessary


def test_a_margin_that_a_million_dimensions_do_not_reach() -> None:
    answer = dimension(10**18, margin=0.9999)
    assert answer.sufficient is None and answer.necessary == 10**6 + 1
    assert row(answer, "covering", True).ending == "beyond"
    assert status(10**5, 10**18, margin=0.9999) == "excluded"


@settings(max_examples=16)
@example(269, {"margin": 0.323})
@given(sizes, asked)
def test_a_dimension_is_the_first(K: int, asked: dict[str, float]) -> None:
    answer = dimension(K, **asked)
    enough, least = answer.sufficient, answer.necessary
    for r in answer.rows:
        assert isinstance(r, DimensionRow)
        assert (r.ending == "found") == (r.d is not None and r.d <= 10**6)
        assert r.side == ("lower" if r.exists == ("margin" in asked) else "upper")
    if least is None:
        assert enough is None
        assert status(_MOST_D, K, **asked) == status(2, K, **asked) == "excluded"
        return
    assert enough is None or least <= enough
    if enough is not None and enough <= _MOST_D:
        assert status(enough, K, **asked) == "exists"
        assert enough == 2 or status(enough - 1, K, **asked) != "exists"
    if least <= _MOST_D:
        assert is_open(least, K, **asked)
        assert least == 2 or status(least - 1, K, **asked) == "excluded"


def test_several_sizes_at_once() -> None:
    sizes = (10, 10**6, 1000)
    answer = dimension(sizes, margin=0.3)
    alone = [dimension(K, margin=0.3) for K in sizes]
    assert [b.K for b in answer.best] == list(sizes)
    assert list(answer.best) == [b for one in alone for b in one.best]
    assert list(answer.rows) == [r for one in alone for r in one.rows]
    assert answer.sufficient == max(one.sufficient or 0 for one in alone)
    assert answer.necessary == max(one.necessary or 0 for one in alone)
    # One that is impossible makes all impossible.
    mixed = dimension((2, 10), margin=1.5)
    assert [b.sufficient for b in mixed.best] == [2, None]
    assert mixed.sufficient is mixed.necessary is None


# How many points


@pytest.mark.parametrize(
    ("d", "margin", "guaranteed", "excluded"),
    [
        (2, 0.5, 6, 7),
        (2, 1.0, 4, 5),
        (2, 1.5, 3, 4),
        (2, 2.0, 2, 3),
        (7, 2.0, 2, 3),
        (10, 1.0000001, 11, 12),
        (10, 1.1, 11, 12),
        (10, 1.1000001, 10, 11),
        (10, 1.2, 6, 7),
        (10, 1.5, 3, 4),
        (10**5, 1.000005, 10**5 + 1, 10**5 + 2),
        (10, 1.0, 20, 21),
        (8, 0.5, 240, 241),
        (3, 0.5, 12, 13),
        (4, 0.5, 24, 25),
        (24, 0.5, 196_560, 196_561),
        (5, 1.0, 10, 11),
    ],
)
def test_counts(d: int, margin: float, guaranteed: int, excluded: int) -> None:
    answer = classes(d, margin=margin)
    assert answer.guaranteed == guaranteed
    assert answer.log10_guaranteed == pytest.approx(math.log10(guaranteed), rel=1e-14)
    assert answer.excluded == excluded
    if margin == 0.5:
        for more in ({"max_cosine": 0.5}, {"arcface_m": math.pi / 3}):
            other = classes(d, **more)
            assert (other.guaranteed, other.excluded) == (guaranteed, excluded)


@settings(max_examples=16)
@example(3, {"margin": 0.048})
@given(st.integers(2, 40) | st.integers(2, 600), asked)
def test_a_number_of_points_is_the_last(d: int, asked: dict[str, float]) -> None:
    answer = classes(d, **asked)
    most, first = answer.guaranteed, answer.excluded
    assert answer.log10_guaranteed is not None  # two points always
    assert answer.log10_excluded is None or answer.log10_excluded >= answer.log10_guaranteed
    # With more digits, values of neighbours are equal within a relative 1e-13.
    if most is not None and most * d < _TOLD_APART:
        assert most >= 2 and status(d, most, **asked) == "exists"
        assert status(d, most + 1, **asked) != "exists"
    if first is not None and first * d < _TOLD_APART:
        assert most is not None and most < first
        assert status(d, first, **asked) == "excluded"
        assert is_open(d, first - 1, **asked)
    for r in answer.rows:
        assert isinstance(r, ClassesRow)
        if r.K is not None:
            assert 2 <= r.K <= 10**15 + 1
            assert r.log10_K == pytest.approx(math.log10(r.K), rel=1e-14)


def test_scales() -> None:
    p, logit = 0.9, math.log(9.0)
    answer = dimension((1000, 10**6), margin=0.3, probability=p)
    assert answer.scale == pytest.approx((math.log(999_999) + logit) / 0.3, rel=1e-14)
    assert dimension(10**6, margin=0.3).scale is None
    answer2 = classes(8, max_cosine=0.5, probability=p)
    assert answer2.scale == pytest.approx((math.log(239) + logit) / 0.5, rel=1e-14)
    answer2 = classes(512, margin=0.3, probability=p)
    assert answer2.log10_guaranteed is not None
    log_K = answer2.log10_guaranteed * math.log(10)
    assert answer2.scale == pytest.approx((log_K + logit) / 0.3, rel=1e-13)


@pytest.mark.parametrize("K", [7, 10, 16])
def test_ties_of_simplices_are_ties_everywhere(K: int) -> None:
    margin = K / (K - 1)  # the nearest double is a little larger
    assert status(K - 1, K, margin=margin) == "exists"
    assert dimension(K, margin=margin).sufficient == K - 1
    assert classes(K - 1, margin=margin).guaranteed == K


def test_the_scale_is_that_of_the_margin() -> None:
    free, asked, none = (
        bounds(10, 100, probability=0.9, **more).best[0].scale  # type: ignore[arg-type]
        for more in ({}, {"margin": 0.5}, {"margin": 1.05})
    )
    assert free == pytest.approx(math.log(99 * 9) / 0.669116126803, rel=1e-9)
    assert asked == pytest.approx(math.log(99 * 9) / 0.5) and none is None


def test_no_command_builds_what_no_machine_holds() -> None:
    assert all(row.how is None for row in bounds(2, 10**18).rows)
    assert any(row.how for row in bounds(512, 10**6).rows)


def test_margins_are_the_interval_in_other_terms() -> None:
    for asked, share in (
        ({"margin": 0.6}, 0.6 / 0.669116126803),
        ({"arcface_m": 1.0}, 1.0 / math.acos(1.0 - 0.669116126803)),
        ({"max_cosine": 0.4}, 0.6 / 0.669116126803),
    ):
        result = bounds(10, 100, **asked)  # type: ignore[arg-type]
        (best,) = result.best
        margins = best.margins
        assert margins.cosface.lower == pytest.approx(0.669116126803, rel=1e-11)
        assert margins.arcface_rad.lower == pytest.approx(math.acos(1 - 0.669116126803), rel=1e-11)
        assert margins.share is not None and margins.share.upper == pytest.approx(share, rel=1e-11)
        assert margins.share.lower == pytest.approx(
            share
            * (margins.arcface_rad if "arcface_m" in asked else margins.cosface).lower
            / (margins.arcface_rad if "arcface_m" in asked else margins.cosface).upper
        )
        assert result.probability == 0.9 and best.scale is not None and margins.scale is not None
        assert margins.scale.lower == pytest.approx(0.99 * math.log(99 * 9), rel=1e-12)
        assert margins.scale.upper == pytest.approx(math.log(99 * 9) / 0.669116126803, rel=1e-11)
        assert margins.adacos_scale == pytest.approx(math.sqrt(2) * math.log(99))
        least = dimension(100, **asked)
        assert (margins.sufficient, margins.necessary) == (least.sufficient, least.necessary)
    free = bounds(10, 100).best[0].margins
    assert free.share is None and free.scale is None and free.sufficient is None
    assert bounds(10, 100).probability is None
    several = bounds((10, 11), 100, margin=0.6).best
    assert [b.margins.sufficient for b in several] == [None, None]
    assert all(b.margins.share is not None and b.margins.scale is not None for b in several)


@settings(max_examples=30)
@given(st.integers(2, 3000), st.integers(2, 10**18), asked)
def test_margins_have_ends_in_order_everywhere(d: int, K: int, asked: dict[str, float]) -> None:
    margins = bounds(d, K, probability=0.99, **asked).best[0].margins  # type: ignore[arg-type]
    assert 0.0 < margins.cosface.lower and margins.arcface_rad.upper <= math.pi
    assert margins.scale is not None and 0.0 < margins.scale.lower <= margins.scale.upper
    assert math.cos(margins.arcface_rad.lower) == pytest.approx(1 - margins.cosface.lower)
