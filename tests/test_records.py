"""What every result can do: columns of CSV, a short repr, a table in a notebook."""

import dataclasses
from dataclasses import dataclass, field

import numpy as np

from gnc_cli import bounds
from gnc_cli.records import HIDDEN, SPREAD, Bracket, Result
from tests.console.stand_in import code, sweep, ufm


@dataclass(frozen=True)
class _Inner:
    low: float | None = None
    bracket: Bracket | None = None


@dataclass(frozen=True)
class _Example(Result):
    command = "example"
    d: int = 3
    spread: _Inner | None = field(default=None, metadata=SPREAD)
    inner: _Inner | None = None
    words: tuple[str, ...] = ()
    pairs: tuple[int, ...] = ()
    array: np.ndarray = field(default_factory=lambda: np.zeros(9), metadata=HIDDEN)


def test_columns_of_csv_do_not_depend_on_what_is_null() -> None:
    full = _Inner(0.5, Bracket(0.0, 1.0))
    bare = _Example(seconds=1.0, version="1")
    filled = dataclasses.replace(bare, spread=full, inner=full, words=("a", "b"), pairs=(1, 2))
    names, (row,) = bare.csv_rows()
    assert names == filled.csv_rows()[0]
    assert names[:4] == ["schema", "command", "version", "seconds"]
    own = {"d", "low", "bracket.lower", "bracket.upper", "inner.low", "inner.bracket.lower",
           "inner.bracket.upper", "words"}  # fmt: skip
    assert own == {*names[4:]} and row["d"] == 3
    assert filled.csv_rows()[1][0]["words"] == "a; b"


def test_every_solve_has_the_same_columns() -> None:
    names = code().csv_rows()[0]
    assert names == ufm(0.1).csv_rows()[0] == sweep([1.0, 0.1]).csv_rows()[0]
    assert {"tau", "best_known.max_cosine", "gnc2.lower"} <= {*names}


def test_a_result_prints_its_figures_alone() -> None:
    text = repr(code())
    assert text.startswith("SolveResult(d=10, K=100, rho_one_vs_rest in [0.66, 0.67]: ")
    assert "array" not in text and "None" not in text and len(text) < 160
    told = "margin=0.3, K=1000, sufficient=11, necessary=8"
    assert repr(bounds(K=1000, margin=0.3)) == f"BoundsResult(one-vs-rest: {told})"
    assert "lower=0.2769" in repr(bounds(3, 24)) and "2 pairs" in repr(bounds([3, 4], 24))
    assert repr(sweep([1.0, 0.1])).endswith("2 rows)")


def test_a_notebook_shows_a_table() -> None:
    one, two = code(origin="a < b")._repr_html_(), sweep([1.0, 0.1])._repr_html_()
    assert "<td>a &lt; b</td>" in one and "verdict: " in one and "to_json()" in one
    assert "contacts" not in one and "None" not in one and one.count("<tr>") < 8
    assert two.count("<tr>") == 3
