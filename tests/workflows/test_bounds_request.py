"""The doorway of `bounds`: what is understood, and what is refused in the user's words."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from gnc_cli import bounds
from gnc_cli.errors import UsageError
from gnc_cli.workflows.bounds_request import (
    MOST_ANSWERS,
    MOST_PAIRS,
    ONE_VS_ONE,
    ONE_VS_REST,
    Question,
    Request,
    read_request,
)

NOTHING: dict[str, Any] = dict.fromkeys(
    ["d", "K", "margin", "cosface_m", "arcface_m", "max_cosine", "quantity", "probability",
     "time_limit"]
)  # fmt: skip


def read(**asked: Any) -> Request:
    return read_request(**({"lp": False} | NOTHING | asked))


@pytest.mark.parametrize(
    ("asked", "question", "quantity"),
    [
        ({"d": 10, "K": 100}, Question.PAIRS, ONE_VS_REST),
        ({"d": 10, "K": 100, "margin": 0.3}, Question.PAIRS, ONE_VS_REST),
        ({"d": 10, "K": 100, "quantity": "one-vs-one"}, Question.PAIRS, ONE_VS_ONE),
        ({"d": 10, "K": 100, "max_cosine": 0.3}, Question.PAIRS, ONE_VS_ONE),
        ({"K": 100, "margin": 0.3}, Question.DIMENSION, ONE_VS_REST),
        ({"K": 100, "cosface_m": 0.3, "quantity": "one-vs-rest"}, Question.DIMENSION, ONE_VS_REST),
        ({"K": 100, "arcface_m": 0.3}, Question.DIMENSION, ONE_VS_ONE),
        ({"d": 10, "margin": 0.3}, Question.CLASSES, ONE_VS_REST),
        ({"d": 10, "max_cosine": 0.0, "quantity": "one-vs-one"}, Question.CLASSES, ONE_VS_ONE),
    ],
)
def test_questions(asked: dict[str, Any], question: Question, quantity: str) -> None:
    request = read(**asked)
    assert (request.question, request.quantity) == (question, quantity)


@pytest.mark.parametrize(
    ("value", "numbers"),
    [
        (10, (10,)), (1e6, (10**6,)), (np.int64(10), (10,)), ([3, 5, 3], (3, 5)),
        (range(2, 5), (2, 3, 4)), (np.array([3, 4]), (3, 4)), ((n for n in (2, 9)), (2, 9)),
        (10**6, (10**6,)),
    ],
)  # fmt: skip
def test_dimensions(value: Any, numbers: tuple[int, ...]) -> None:
    assert read(d=value, margin=0.3).d == numbers


def test_sizes_are_exact_at_any_length() -> None:
    for K in (10**300, 10**300 - 1, 2**63):
        assert read(K=K, margin=0.3).K == (K,)


def test_targets_are_the_decimals_of_the_user() -> None:
    assert read(d=3, margin=0.3).target == Fraction(3, 10)
    assert read(d=3, cosface_m=1e-3).target == Fraction(1, 1000)
    assert read(d=3, max_cosine=0.2).target == Fraction(4, 5)
    assert read(d=3, max_cosine=-1.0).target == 2
    asked = read(d=3, arcface_m=math.pi / 3)
    assert asked.target is not None and float(asked.target) == pytest.approx(0.5, rel=1e-15)
    assert asked.max_cosine == pytest.approx(0.5, rel=1e-15)
    assert read(d=3, arcface_m=math.pi).target == 2
    small = read(d=3, arcface_m=1e-9)
    assert small.margin == pytest.approx(5e-19, rel=1e-15)  # not lost in 1 - cos
    assert read(d=3, K=4).margin is None


TWO = "give two of --d, --K and a margin"
BAD: list[tuple[dict[str, Any], str]] = [
    ({}, TWO), ({"d": 10}, TWO), ({"K": 10}, TWO), ({"margin": 0.3}, TWO),
    ({"max_cosine": 0.3}, TWO), ({"lp": True}, TWO),
    ({"d": 1, "K": 10}, "--d 1 is below 2"), ({"d": 10, "K": 1}, "--K 1 is below 2"),
    ({"d": 10, "K": 2.5}, "--K 2.5 is not a whole number"),
    ({"d": 2 * 10**6, "K": 10}, "--d 2000000 is too large; give at most 1e+06"),
    ({"d": 10, "K": 10**301}, "--K of some 301 digits is too large; give at most 1e+300"),
    ({"d": 10, "K": True}, "--K True"), ({"d": 10, "K": float("nan")}, "--K nan"),
    ({"d": [], "K": 5}, "--d is an empty list"), ({"d": "10", "K": 5}, "--d '10'"),
    ({"d": 10, "K": [3, None]}, "--K None"),
    ({"d": 10, "margin": "0.3"}, "--margin '0.3' is not a number"),
    ({"d": 10, "margin": 0.0}, "--margin 0 is no margin; give one above 0, up to 2"),
    ({"d": 10, "margin": 2.1}, "--margin 2.1"), ({"d": 10, "margin": -0.3}, "--margin -0.3"),
    ({"d": 10, "margin": math.nan}, "--margin nan"), ({"d": 10, "cosface_m": 3.0}, "--cosface-m 3"),
    ({"d": 10, "arcface_m": 0.0}, "--arcface-m 0"), ({"d": 10, "arcface_m": 3.2}, "up to pi"),
    ({"d": 10, "max_cosine": 1.0}, "--max-cosine 1 must be"),
    ({"d": 10, "max_cosine": -1.5}, "--max-cosine -1.5"),
    ({"d": 10, "max_cosine": math.nan}, "--max-cosine nan"),
    ({"d": 10, "margin": 0.3, "cosface_m": 0.3}, "--margin and --cosface-m exclude each other"),
    ({"d": 10, "margin": 0.3, "max_cosine": 0.3}, "--margin and --max-cosine exclude each other"),
    ({"d": 10, "arcface_m": 1.0, "max_cosine": 0.3}, "--arcface-m and --max-cosine exclude"),
    ({"d": 10, "margin": 0.3, "quantity": "one-vs-one"}, "give --max-cosine or --arcface-m"),
    ({"d": 10, "cosface_m": 0.3, "quantity": "one-vs-one"}, "--cosface-m is a one-vs-rest"),
    ({"d": 10, "arcface_m": 0.3, "quantity": "one-vs-rest"}, "drop --quantity one-vs-rest"),
    ({"d": 10, "max_cosine": 0.3, "quantity": "one-vs-rest"}, "or give --margin"),
    ({"d": 10, "K": 5, "quantity": "chords"}, "--quantity 'chords' is none of one-vs-rest, one-"),
    ({"d": 10, "K": 5, "probability": 0.0}, "--probability 0 must lie between 0 and 1"),
    ({"d": 10, "K": 5, "probability": 1.0}, "--probability 1 must"),
    ({"d": 10, "K": 5, "probability": math.nan}, "--probability nan"),
    ({"d": 10, "K": 5, "time_limit": 3.0}, "--time-limit belongs to --lp"),
    ({"d": 10, "K": 5, "lp": True, "time_limit": 0.0}, "--time-limit 0 must be positive"),
    ({"d": 10, "K": 5, "lp": True, "time_limit": math.nan}, "--time-limit nan"),
    ({"d": range(2, 1002), "K": range(2, 103)}, "1,000 dimensions and 101 sizes make more than"),
    ({"d": range(2, 10_003), "margin": 0.3}, "10,001 values are more than 10,000"),
    ({"K": range(2, 10_003), "margin": 0.3}, "10,001 values are more than 10,000"),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "words"), BAD)
def test_bad_calls_are_refused_in_one_line(asked: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        bounds(**asked)
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_as_many_pairs_as_are_allowed() -> None:
    request = read(d=range(2, 1002), K=range(2, 102))
    assert len(request.d) * len(request.K) == MOST_PAIRS
    assert len(read(d=range(2, MOST_ANSWERS + 2), margin=0.3).d) == MOST_ANSWERS


@pytest.mark.parametrize("suffix", ["x.txt", "-", "x"])
def test_rows_go_into_tables(suffix: str) -> None:
    with pytest.raises(UsageError, match=r"--out '.*end it in .csv, .json, .h5"):
        bounds(10, 100, out=suffix)


def test_pictures_have_three_kinds() -> None:
    with pytest.raises(UsageError, match=r"\.png, \.svg, \.pdf"):
        bounds(10, 100, plot="a.gif")


def test_sizes_beyond_any_double() -> None:
    with pytest.raises(UsageError, match="too large"):
        bounds(10, 10**400)


def test_a_double_of_the_largest_size() -> None:
    assert bounds(10, 1e300).best  # type: ignore[arg-type]
