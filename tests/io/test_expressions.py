"""Exact numbers of text files: rounded once, from a small grammar; all else is one line."""

from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli import compare
from gnc_cli.comparison.files import load_code, read_decimals
from gnc_cli.errors import DataError
from gnc_cli.io import texts
from gnc_cli.io.codefile import read_points
from gnc_cli.parsing import nearest_float
from tests.problems import icosahedron

ICOSAHEDRON = """# two coordinates are those of a regular decagon
0 0 1
0 0 -1
2*sqrt(5)/5 0 sqrt(5)/5
-2*sqrt(5)/5 0 -sqrt(5)/5
(5-sqrt(5))/10 sqrt((5+sqrt(5))/10) sqrt(5)/5
(5-sqrt(5))/10 -sqrt((5+sqrt(5))/10) sqrt(5)/5
-(5-sqrt(5))/10 sqrt((5+sqrt(5))/10) -sqrt(5)/5
-(5-sqrt(5))/10 -sqrt((5+sqrt(5))/10) -sqrt(5)/5
(5+sqrt(5))/10 sqrt((5-sqrt(5))/10) -sqrt(5)/5
(5+sqrt(5))/10 -sqrt((5-sqrt(5))/10) -sqrt(5)/5
-(5+sqrt(5))/10 sqrt((5-sqrt(5))/10) sqrt(5)/5
-(5+sqrt(5))/10 -sqrt((5-sqrt(5))/10) sqrt(5)/5
"""


@given(st.integers(-(10**30), 10**30), st.integers(1, 10**30))
def test_quotients_are_rounded_as_python_rounds_fractions(p: int, q: int) -> None:
    assert nearest_float(f"{p}/{q}") == float(Fraction(p, q))
    with localcontext() as context:
        context.prec = 200
        root = (Decimal(abs(p)) / q).sqrt()
        assert nearest_float(f"sqrt({abs(p)}/{q})") == float(root)
        assert nearest_float(f"-sqrt({abs(p)}/{q}) + {q}") == float(q - root)


def test_the_grammar() -> None:
    values = {
        "1/3": 1 / 3,
        "+.5*3": 1.5,
        " ( 1 + sqrt(5) ) / 4 ": (1.0 + 5.0**0.5) / 4.0,
        "1-2-3": -4.0,
        "2*3/4*5": 7.5,
        "sqrt(sqrt(16))": 2.0,
        "sqrt(2)-sqrt(2)": 0.0,
        "sqrt(8)-2*sqrt(2)": 0.0,
        # Halfway between two floats, and beyond it: to the even one, and up.
        "9007199254740993/1": 9007199254740992.0,
        "9007199254740993+1/99999999999999999999": 9007199254740994.0,
        "-1e-300": -1e-300,
        "--(1/2)*-2": -1.0,
    }
    for word, value in values.items():
        assert nearest_float(word) == value, word
    assert not np.signbit(nearest_float("(-1)*0"))


@pytest.mark.parametrize(
    "word",
    [
        "1/0",
        "0/0",
        "sqrt(-2)",
        "sqrt(0-1/3)",
        "2024/01/05",
        "12/25/2024",
        "sqrt(1,2)/1",
        "sqrt(*(2))",
        "2sqrt(2)",
        "+/-",
        "...",
        "1**2",
        "1//2",
        "(1/3",
        "1/3)",
        "()/2",
        "sqrt/2",
        "sqrt2/2",
        "(2)(3)",
        "1e5/3",
        "pi/2",
        "__import__('os')/1",
        "٣/4",
        "1_0/3",
        "x/y",
        "(" * 150 + "1/3",
        "1/" + "9" * 5000,
        "9" * 100_000 + "x(",
        "9" * 150 + "*" + "9" * 40 + "/sqrt(2)\\",
    ],
)
def test_hostile_words_are_one_line_that_names_file_and_line(tmp_path: Path, word: str) -> None:
    path = tmp_path / "code.txt"
    path.write_text(f"1 0\n# a comment\n\n0 {word.replace(' ', '')}\n", encoding="utf-8")
    with pytest.raises(DataError) as caught:
        read_points(path)
    message = str(caught.value)
    assert "code.txt" in message and "in line 4" in message
    assert "\n" not in message and len(message) < 800


def test_the_reason_is_that_of_the_word(tmp_path: Path) -> None:
    path = tmp_path / "code.txt"
    for text, reason in (
        (
            "1 0\n0 sqrt(1/3-1/3)\n",
            "'sqrt(1/3-1/3)' cannot be shown to be real in line 2, column 2",
        ),
        ("1/3;1/2;0\n", "'1/3;1/2;0' is not a number in line 1, column 1"),
        ("2024/1/5 0\n", "'2024/1/5' divides a quotient in line 1, column 1"),
        ("1,2\n1, at row 99\n", "'at row 99' in line 2, column 2"),
    ):
        path.write_text(text)
        with pytest.raises(DataError) as caught:
            read_points(path)
        assert reason in str(caught.value)


def test_few_numbers_are_expressions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(texts, "_MAX_EXPRESSION_BYTES", 8)
    path = tmp_path / "code.txt"
    path.write_text("1/3 0\n0 1\n")
    with pytest.raises(DataError, match="'1/3' to float64 in line 1, column 1"):
        read_points(path)


def test_a_code_in_exact_numbers(tmp_path: Path) -> None:
    path = tmp_path / "ico.txt"
    path.write_text(ICOSAHEDRON)
    (row,) = compare(path).rows
    assert row.congruent_to == "icosahedron"
    W = read_points(path).weights
    assert (
        np.abs(
            np.sort((W @ W.T).ravel()) - np.sort((icosahedron() @ icosahedron().T).ravel())
        ).max()
        < 1e-15
    )
    # A first line of roots is no header; columns may be separated by commas.
    path.write_text("sqrt(2)/2, sqrt(2)/2\n-sqrt(2)/2, sqrt(2) / 2\n")
    assert np.array_equal(read_points(path).weights, 0.5**0.5 * np.array([[1, 1], [-1, 1]]))
    path.write_text("1/3 2/3\n1/3 2/3 2/3\n")
    with pytest.raises(DataError, match="changed from 2 to 3 in line 2"):
        read_points(path)


def test_fractions_stay_exact(tmp_path: Path) -> None:
    """A cosine is proved of the fractions themselves; roots count as the floats that they are."""
    path = tmp_path / "code.txt"
    path.write_text("1/3 2/3 2/3\n-2/3 -1/3 2/3\n0.25 1e-3 -1\n")
    code = load_code(path, d=None)
    words = read_decimals(str(path), code.rows)
    assert words is not None and words[0] == ["1/3", "2/3", "2/3"]
    assert code.exact.integers(np.array([0])).tolist() == [[1, 2, 2]]
    path.write_text("1/3 2/3 2/3\nsqrt(1/3) 0 0\n")
    assert read_decimals(str(path), load_code(path, d=None).rows) is None


def test_decimal_text_takes_the_fast_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "nearest_float", None)
    (tmp_path / "code.txt").write_text("1 0.5\n-1e-3 +2.\n")
    assert read_points(tmp_path / "code.txt").weights.shape == (2, 2)
