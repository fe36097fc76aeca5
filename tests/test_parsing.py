"""Forgiving numbers: what is read, what is refused, and the laws of ranges."""

import itertools
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli import parsing
from gnc_cli.errors import UsageError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("100", 100),
        ("1e6", 10**6),
        ("1_000_000", 10**6),
        ("10k", 10**4),
        ("2.5K", 2500),
        ("1M", 10**6),
        ("1G", 10**9),
        ("7B", 7 * 10**9),
        ("9_007_199_254_740.993k", 2**53 + 1),
        ("1e2", 100),
        ("10.0", 10),
        ("+7", 7),
        (" 5 ", 5),
        ("2.5e1", 25),
        ("-3", -3),
        ("1,000,000", 10**6),
        ("9_007_199_254_740_993", 2**53 + 1),
    ],
)
def test_integer_reads(text: str, value: int) -> None:
    assert parsing.integer(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ten",
        "10.5",
        "1e-3",
        "0x10",
        "1__0",
        "10m",
        "k",
        "1e3k",
        "1kM",
        "10 k",
        "1.0005k",
        "_1",
        "1_",
        "nan",
        "inf",
        "1e999999999",
        "1e400",
        "9e18e",
        "1e19",
        "١٠",
        "1,2",
        "0,500",
        "1,0000",
        "2..4",
    ],
)
def test_integer_refuses_and_quotes(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parsing.integer(text)
    said = (
        text if text in ("10.5", "1e-3", "1e400", "1e19", "1.0005k") else repr(text)
    )  # a number: bare
    assert str(caught.value).startswith(f"{said} ") and "give" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90.0),
        ("90s", 90.0),
        ("15m", 900.0),
        ("2h", 7200.0),
        (" 1.5 h ", 5400.0),
        ("1e-3", 1e-3),
        (10, 10.0),
    ],
)
def test_durations_read(text: Any, seconds: float) -> None:
    assert parsing.seconds(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "h", "2hh", "2 hours", "1h30m", "2d", "nan", "infs", "1e400s", "15M", "1k"]
)
def test_durations_refuse_and_quote(text: str) -> None:
    with pytest.raises(UsageError, match="is not a time; give one such as 90, 90s, 15m or 2h") as c:
        parsing.seconds(text)
    assert repr(text) in str(c.value)
    with pytest.raises(UsageError, match="^0m is too small; give a time above 0"):
        parsing.seconds("0m")


@pytest.mark.parametrize("text", ["", "epoch", "=3", "epoch=", " = "])
def test_pairs_have_two_parts(text: str) -> None:
    assert parsing.pair(" a = b=c ") == ("a", "b=c")
    with pytest.raises(UsageError, match="KEY=VALUE"):
        parsing.pair(text)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("3,5,8", [3, 5, 8]),
        ("2..6", [2, 3, 4, 5, 6]),
        ("2..9..3", [2, 5, 8]),
        ("5..2", [5, 4, 3, 2]),
        ("10..1e4/4", [10, 100, 1000, 10000]),
        ("2..5/20", [2, 3, 4, 5]),
        ("7", [7]),
        ("1e2,2..3", [100, 2, 3]),
        ("1k,2..3", [1000, 2, 3]),
        ("1k..2.5k..500", [1000, 1500, 2000, 2500]),
        ("1k..1M/4", [1000, 10**4, 10**5, 10**6]),
    ],
)
def test_integers_read(text: str, values: list[int]) -> None:
    assert parsing.integers(text) == values


@pytest.mark.parametrize("text", ["1,000,000", "10,050", "1,234,567"])
def test_one_number_with_commas_is_no_list(text: str) -> None:
    with pytest.raises(UsageError, match=f"^{text} is a list .* write {text.replace(',', '')}$"):
        parsing.integers(text, minimum=2)
    with pytest.raises(UsageError, match="^1,000,2,000 is a list .* write 1000,2000$"):
        parsing.integers("1,000,2,000", minimum=2)
    assert parsing.integers("100,200", minimum=2) == [100, 200]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("0.1", [0.1]),
        ("1,0.5,1e-3", [1.0, 0.5, 1e-3]),
        ("0.1..0.5..0.1", [0.1, 0.2, 0.3, 0.4, 0.5]),
        ("1..0.01/3", [1.0, 0.1, 0.01]),
        ("-1..-4/3", [-1.0, -2.0, -4.0]),
        ("0.5k,1k..2k..1k", [500.0, 1000.0, 2000.0]),
    ],
)
def test_numbers_read(text: str, values: list[float]) -> None:
    assert parsing.numbers(text) == values


@pytest.mark.parametrize(
    "text",
    [
        "",
        ",",
        "1,",
        "1..",
        "..2",
        "1..2..3..4",
        "1..2..0.5/3",
        "1..2..0",
        "0..1/3",
        "-1..1/3",
        "1..2/1",
        "1..2/2.5",
        "1..2/x",
        "1..2",
        "0..1e9..1e-3",
        "1..2/1e7",
    ],
)
def test_numbers_refuse(text: str) -> None:
    with pytest.raises(UsageError):
        parsing.numbers(text)


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6), st.integers(2, 40))
def test_geometric_points_have_exact_ends_and_equal_ratios(a: float, b: float, n: int) -> None:
    points = parsing.numbers(f"{a!r}..{b!r}/{n}")
    assert len(points) == n
    assert (points[0], points[-1]) == (a, b)
    for before, after in itertools.pairwise(points):
        assert math.isclose(after / before, (b / a) ** (1 / (n - 1)), rel_tol=1e-12)


@given(st.lists(st.integers(-(10**12), 10**12), min_size=1, max_size=20))
def test_lists_round_trip(values: list[int]) -> None:
    assert parsing.integers(",".join(map(str, values))) == list(dict.fromkeys(values))


@given(st.floats(allow_nan=False, allow_infinity=False, max_value=1e300, min_value=-1e300))
def test_every_printed_float_reads_back(value: float) -> None:
    assert parsing.number(repr(value)) == value


@given(st.text(max_size=20))
def test_nothing_but_a_usage_error_comes_out(text: str) -> None:
    for parse in (
        parsing.integer,
        parsing.integers,
        parsing.number,
        parsing.numbers,
        parsing.device,
        parsing.prescribed_symmetry,
    ):
        try:
            parse(text)
        except UsageError as error:
            assert "\n" not in str(error).replace(repr(text), "")


@pytest.mark.parametrize("text", ["auto", "cpu", "cuda", "cuda:1"])
def test_devices(text: str) -> None:
    assert parsing.device(text) == text


@pytest.mark.parametrize("text", ["", "gpu", "cuda:", "cuda:x", "CPU", "mps"])
def test_no_devices(text: str) -> None:
    with pytest.raises(UsageError, match="is not a device"):
        parsing.device(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [("antipodal", ("antipodal", 2)), ("cyclic:5", ("cyclic", 5)), ("cyclic:02", ("cyclic", 2))],
)
def test_symmetries(text: str, value: tuple[str, int]) -> None:
    assert parsing.prescribed_symmetry(text) == value


@pytest.mark.parametrize("text", ["", "cyclic", "cyclic:1", "cyclic:x", "antipodal:2", "c:3"])
def test_no_symmetries(text: str) -> None:
    with pytest.raises(UsageError, match="is not a symmetry"):
        parsing.prescribed_symmetry(text)
