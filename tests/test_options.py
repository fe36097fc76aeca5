"""Every option is declared once, has a help text, and its choices are those of the contract."""

from typing import Any, get_args

import pytest

from gnc_cli import options
from gnc_cli.options import Method, Missing, Normalize, Problem, Quantity, Rows, Variants

ALIASES = [n for n in options.__all__ if get_args(getattr(options, n))]


def _declared(name: str) -> Any:
    return get_args(getattr(options, name))[-1]


def _flags(name: str) -> list[str]:
    option = _declared(name)
    # Typer keeps the first name in the place of a default until the command is built; arguments
    # have none.
    return [] if option.param_decls is None else [option.default, *option.param_decls]


@pytest.mark.parametrize("name", ALIASES)
def test_help_is_a_short_sentence_in_a_panel(name: str) -> None:
    option = _declared(name)
    assert option.help and option.help.endswith(".")
    assert len(option.help) <= 180
    assert option.rich_help_panel


def test_no_name_is_declared_twice() -> None:
    # Solve takes one d and K and writes a code, compare takes several and writes rows; measure
    # expects a K, writes rows of its own and has more to say about time. Bounds take a K of any
    # size, limit the time of the linear programme alone, and have no probability by default.
    twins = {
        "BoundDims", "BoundProbability", "BoundSizes", "BoundTable", "BoundsTimeLimit", "Dims",
        "MeasureOut",
        "MeasureTimeLimit", "NumClasses", "RowsOut", "Sizes",
    }  # fmt: skip
    names = [flag for name in ALIASES for flag in _flags(name) if name not in twins]
    assert len(names) == len(set(names))
    again = {flag for name in twins for flag in _flags(name)}
    assert again == {
        "--d", "-d", "--K", "-K", "--out", "--time-limit", "--probability", "--table"
    } <= set(names)  # fmt: skip


def test_common_options_of_the_contract() -> None:
    names = {flag for name in ALIASES for flag in _flags(name)}
    common = "--json --csv --jsonl --out --force --report --plot --seed --device --threads"
    common += " --time-limit -q -v --d -d --K -K --min --max --check --rows --baseline --allow"
    assert set(common.split()) <= names


def test_choices() -> None:
    assert [p.value for p in Problem] == ["softmax", "tammes", "ufm"]
    assert [m.value for m in Method] == ["auto", "descent", "paper"]
    assert [r.value for r in Rows] == ["all", "any", "last"]
    assert [n.value for n in Normalize] == ["auto", "require", "off"]
    assert [m.value for m in Missing] == ["skip", "error"]
    assert [v.value for v in Variants] == ["none", "authors", "classic", "all"]
    assert [q.value for q in Quantity] == ["one-vs-rest", "one-vs-one"]
