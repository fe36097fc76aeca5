"""Table of `-v` (details.py): every value of the JSON once, explained and rounded correctly."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli import compare
from gnc_cli.collapse.view import view as measured
from gnc_cli.comparison.view import view as compared
from gnc_cli.console.details import details, format_value
from gnc_cli.console.table import Table, facts
from gnc_cli.keys import find_schemas, gate_keys
from gnc_cli.limits.view import view as bounded
from gnc_cli.records import HIGHER, LABEL, LOWER, Bracket, flatten, plain, results, rows_of
from gnc_cli.search.view import view as solved
from gnc_cli.training.view import view as trained
from tests.comparison.samples import built
from tests.console.stand_in import code, ufm
from tests.console.test_tables import OURS, _set
from tests.limits.questions import result
from tests.training.made_runs import run

Case = tuple[Callable[[Any, bool], list[Table]], Callable[[], Any], set[str]]

CASES: dict[str, Case] = {
    "solve": (solved, lambda: code(best_known=OURS), {"min_angle_deg", "d", "K"}),
    "solve --tau": (solved, lambda: ufm(0.1), {"min_angle_deg", "d", "K", "tau", "gnc2"}),
    "measure": (measured, _set, {"N", "d", "K"}),
    "bounds": (
        bounded,
        lambda: result("pair"),
        {"d", "K", "lower", "upper"},
    ),
    "compare": (
        compared,
        lambda: compare(built("icosahedron")),
        {"table", "counts", "min_angle_deg", "d", "K"},
    ),
    "train": (trained, run, {"d", "K", "epochs", "epoch", "step"}),
}
"""View, result, and the values that stand in titles and remarks."""


def keys_of(tables: list[Table]) -> list[str]:
    """The keys that tables show: in their columns of keys, and on the left of further values."""
    cells = [(row, table) for table in tables for row in table.rows]
    keyed = [str(row[table.keys]) for row, table in cells if table.keys is not None]
    return [key for key in keyed if key] + [
        str(row[0]) for row, table in cells if getattr(row[0], "style", "") == "cyan"
    ]


@pytest.mark.parametrize("name", CASES)
def test_every_number_is_shown_once(name: str) -> None:
    view, ask, titles = CASES[name]
    asked = ask()
    shown = keys_of(view(asked, True))
    assert len(shown) == len({*shown})
    body = plain(asked.best[0]) if name == "bounds" else rows_of(asked.to_json())[0]
    gated = {"properties": gate_keys(results(asked.command))}
    assert all(find_schemas(gated, key) for key in shown)  # a printed key is that of a gate
    aside = ("schema", "seconds", "history", "policy", "recipe", "data", "best.", "seed")
    for key, value in flatten(body, lists=False).items():
        if isinstance(value, (int, float)) and not key.startswith(aside):
            parents = {key, *(key[:at] for at, letter in enumerate(key) if letter == ".")}
            assert parents & {*shown, *titles}, key


@dataclasses.dataclass(frozen=True)
class _Record:
    name: str = dataclasses.field(metadata=LABEL)
    good: float = dataclasses.field(metadata=HIGHER)
    """The first sentence, of `words`; None for nothing. The second."""
    bad: float = dataclasses.field(metadata=LOWER)
    bracket: Bracket = dataclasses.field(metadata=HIGHER)
    """A bracket."""
    words: tuple[str, ...] = ()
    many: dict[str, float] = dataclasses.field(default_factory=dict)
    missing: float = math.nan


def test_what_a_field_becomes() -> None:
    record = _Record("a", 2 / 3, 2 / 3, Bracket(1 / 3, 2 / 3), ("x", "y"), {"low": 0.5})
    table = facts("", [("bad", "0.7", "", "bad")], verbose=True)
    assert details(record, [table]).rows == [
        ("good", "0.666666666", "The first sentence, of words"),
        ("bracket", "0.333333333 to 0.666666667", "A bracket"),
        ("words", "x, y", ""),
        ("many", "low 0.5", ""),
    ]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_rounded_to_the_side_that_claims_less(x: float) -> None:
    slack = 3e-15 * abs(x)
    assert (
        float(format_value(x, "higher")) <= x + slack
        and float(format_value(x, "lower")) >= x - slack
    )
    assert float(format_value(x)) == pytest.approx(x, rel=1e-8)
