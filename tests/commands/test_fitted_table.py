"""Tables fit their width: spare columns go before names suffer, and names stay apart."""

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from gnc_cli.commands.fitted_table import Column, FittedTable, shortened


def drawn(width: int, *columns: Column) -> list[str]:
    text = io.StringIO()
    Console(file=text, width=width).print(FittedTable(columns))
    return [line.rstrip() for line in text.getvalue().splitlines()]


def test_the_most_spare_goes_first() -> None:
    columns = [
        Column("name", ["abcdefgh"], name=True), Column("a", ["111111"], spare=2),
        Column("b", ["222222"], spare=1), Column("c", ["333333"]),
    ]  # fmt: skip
    heads = [drawn(width, *columns)[0].split() for width in (32, 31, 24, 23, 16)]
    assert heads == [["name", "a", "b", "c"], *[["name", "b", "c"]] * 2, *[["name", "c"]] * 2]
    assert drawn(16, *columns)[1] == "abcdefgh  333333"


@pytest.mark.parametrize("width", [8, 12, 20, 40])
@pytest.mark.parametrize("text", ["x" * 50, "runs/seed_0/epoch_10.h5", "猫" * 30, "短", ""])
def test_names_fit(text: str, width: int) -> None:
    (short,) = shortened([text], width)
    assert cell_len(short) <= width
    assert (short == text) == (cell_len(text) <= width)


def test_what_differs_is_kept() -> None:
    names = [f"runs/b/seed_{i}/c/{i}.h5" for i in range(3)]
    assert shortened(names, 18) == [f".../seed_{i}/c/{i}.h5" for i in range(3)]
    assert shortened([n.replace("runs/b", "") for n in names], 30)[0] == "/seed_0/c/0.h5"
    assert shortened(["x/y.h5", "x/y.h5"], 5) == ["...h5"] * 2  # nothing differs


def test_figures_without_room_go_beneath() -> None:
    columns = [Column(name, [cell], spare=spare) for name, cell, spare in (
        ("a", "1 000 000", 0), ("b", "0.123456789", 0), ("c", "-0.5", 1), ("d", "0.75", 0))]
    assert drawn(21, *columns) == [
        "        a", "              b     d", "1 000 000", "    0.123456789  0.75"
    ]  # fmt: skip
    text = io.StringIO()
    Console(file=text, width=28).print(FittedTable(columns, "see --csv"))
    assert text.getvalue().splitlines()[-1] == "hidden: c; see --csv"
