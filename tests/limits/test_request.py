"""The arguments of `bounds`: what is understood, and what is refused in the caller's words."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from gnc_cli import bounds
from gnc_cli.errors import UsageError
from gnc_cli.limits.limit import Quantity, Target
from gnc_cli.limits.request import Bounds
from gnc_cli.limits.run import question_of

REST, ONE = Quantity.ONE_VS_REST, Quantity.ONE_VS_ONE


@pytest.mark.parametrize(
    ("arguments", "quantity"),
    [
        ({"d": (10,), "K": (100,)}, REST),
        ({"d": (10,), "K": (100,), "margin": 0.3}, REST),
        ({"d": (10,), "K": (100,), "quantity": ONE}, ONE),
        ({"d": (10,), "K": (100,), "max_cosine": 0.3}, ONE),
        ({"K": (100,), "margin": 0.3}, REST),
        ({"K": (100,), "margin": 0.3, "quantity": REST}, REST),
        ({"K": (100,), "arcface_m": 0.3}, ONE),
        ({"d": (10,), "margin": 0.3}, REST),
        ({"d": (10,), "max_cosine": 0.0, "quantity": ONE}, ONE),
    ],
)
def test_what_is_bounded(arguments: dict[str, Any], quantity: Quantity) -> None:
    assert question_of(Bounds(**arguments))[1].subject is quantity


@pytest.mark.parametrize(
    ("value", "numbers"),
    [
        (10, [10]),
        (1e3, [1000]),
        (np.int64(10), [10]),
        ([3, 5, 3], [3, 5]),
        ("3,5..7", [3, 5, 6, 7]),
        (range(2, 5), [2, 3, 4]),
        (np.array([3, 4]), [3, 4]),
        ((n for n in (2, 9)), [2, 9]),
    ],
)
def test_dimensions_and_sizes_are_given_in_many_ways(value: Any, numbers: list[int]) -> None:
    assert [b.d for b in bounds(d=value, K=40).best] == numbers
    value = (n for n in (2, 9)) if numbers == [2, 9] else value
    assert [b.K for b in bounds(d=4, K=value).best] == numbers


def test_targets_are_the_decimals_of_the_user() -> None:
    assert Target(margin=0.3).distance == Fraction(3, 10)
    assert Target(margin=1e-3).distance == Fraction(1, 1000)
    assert Target(max_cosine=0.2).distance == Fraction(4, 5)
    assert Target(max_cosine=-1.0).distance == 2
    asked = Target(arcface_m=math.pi / 3)
    assert asked.distance is not None and float(asked.distance) == pytest.approx(0.5, rel=1e-15)
    assert asked.cosine == pytest.approx(0.5, rel=1e-15)
    assert Target(arcface_m=math.pi).distance == 2
    small = Target(arcface_m=1e-9).distance
    assert small is not None  # not lost in 1 - cos
    assert float(small) == pytest.approx(5e-19, rel=1e-15)
    assert Target().distance is None


TWO = "give two of d, K and a margin"
BAD: list[tuple[dict[str, Any], str]] = [
    ({}, TWO),
    ({"d": 10}, TWO),
    ({"K": 10}, TWO),
    ({"max_cosine": 0.3}, TWO),
    ({"lp": True}, TWO),
    ({"d": 1, "K": 10}, "d 1 is too small"),
    ({"d": 10, "K": 2.5}, "K 2.5"),
    ({"d": 10**5 + 1, "K": 10}, "d 100001 is too large; give at most 100000"),
    ({"d": 10, "K": 10**18 + 1}, "K 1000000000000000001 is too large; give at most 1e18"),
    ({"d": 10, "K": True}, "K True"),
    ({"d": 10, "K": math.nan}, "K nan"),
    ({"d": [], "K": 5}, "d "),
    ({"d": 10, "K": [3, None]}, "K None"),
    ({"d": 10, "margin": "wide"}, "margin 'wide' is not a number"),
    ({"d": 10, "margin": 0.0}, "margin 0.0 is too small; give a number above 0"),
    ({"d": 10, "margin": 2.1}, "margin 2.1"),
    ({"d": 10, "margin": math.nan}, "margin nan"),
    ({"d": 10, "arcface_m": 3.2}, "arcface_m 3.2"),
    ({"d": 10, "max_cosine": 1.0}, "max_cosine 1"),
    ({"d": 10, "margin": 0.3, "max_cosine": 0.3}, "margin and max_cosine exclude each other"),
    ({"d": 10, "arcface_m": 1.0, "max_cosine": 0.3}, "arcface_m and max_cosine exclude"),
    (
        {"d": 10, "margin": 0.3, "quantity": "one-vs-one"},
        "margin excludes quantity='one-vs-one'; give max_cosine or arcface_m",
    ),
    ({"d": 10, "arcface_m": 0.3, "quantity": "one-vs-rest"}, "drop quantity='one-vs-rest'"),
    ({"d": 10, "K": 5, "quantity": "chords"}, "quantity 'chords' is not one of one-vs-rest, one-"),
    ({"d": 10, "K": 5, "probability": 1.0}, "probability 1.0"),
    ({"d": 10, "K": 5, "time_limit": 3.0}, "time_limit requires lp"),
    ({"d": 10, "K": 5, "lp": True, "time_limit": 0.0}, "time_limit 0.0"),
    ({"d": range(2, 1002), "K": range(2, 103)}, "1,000 dimensions and 101 sizes make more than"),
    ({"d": range(2, 10_003), "margin": 0.3}, "10,001 values are more than 10,000"),
    ({"K": range(2, 10_003), "margin": 0.3}, "10,001 values are more than 10,000"),
    ({"d": 2, "arcface_m": 1e-170}, "arcface_m=1e-170 leaves a distance below 1e-30"),
    ({"d": 3, "arcface_m": 1e-16}, "leaves a distance below 1e-30"),
    ({"d": 3, "margin": 9e-31}, "leaves a distance below 1e-30"),
    ({"d": 10, "K": 5, "out": "x.txt"}, "out 'x.txt' has no known suffix; end it in one of .csv, "),
    ({"d": 10, "K": 5, "out": "-"}, "rows on stdout are --csv, --json or"),
    ({"d": 10, "K": 5, "plot": "a.gif"}, "plot 'a.gif' has no known suffix"),
]


@pytest.mark.parametrize(("asked", "words"), BAD)
def test_bad_calls_are_refused_in_one_line(asked: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        bounds(**asked)
    assert words in str(caught.value) and "\n" not in str(caught.value)
