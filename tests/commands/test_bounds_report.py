"""Reports of bounds: sentences that are exact, tables that are tables, rows at one level."""

import re

import pytest

from gnc_cli.commands.bounds_report import bounds_lines, bounds_markdown
from gnc_cli.results import BoundsResult
from tests.bounds_samples import HOW, classes, dimension, pair, sweep


def cell(value: object) -> str:
    if value is None:
        return "-"
    text = f"{value:.12g}" if isinstance(value, float) else str(value)
    return text.replace("|", "\\|")


RESULTS = {
    "pair": pair(10, 100, 0.6, 0.9), "sweep": sweep([8, 16], [100, 10**30]),
    "angles": pair(10, 100, quantity="one-vs-one"), "dimension": dimension([10**6]),
    "dimensions": dimension([10**4, 10**30]), "classes": classes([64]),
}  # fmt: skip


@pytest.mark.parametrize("name", RESULTS)
def test_every_table_is_even(name: str) -> None:
    blocks = "\n".join(bounds_markdown(RESULTS[name].to_json(), cell)).split("\n\n")
    tables = [block.splitlines() for block in blocks if block.startswith("| ")]
    assert tables
    for lines in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1


def test_a_pair_says_what_is_proved_and_what_is_not() -> None:
    text = "\n".join(bounds_markdown(RESULTS["pair"].to_json(), cell))
    assert "**one-vs-rest distance of the best code: 0.38858437035 <= rho* <= 1**" in text
    assert "margin 0.6: **open**" in text
    assert "s = 1/tau ≥ 17.48 brings every softmax probability to 0.9" in text
    (guess,) = [line for line in text.splitlines() if "| conjecture-levenshtein |" in line]
    assert "| 0.530644359009 | conjectural; " in guess
    assert f"```\n{HOW.format(d=10, K=100)}\n```" in text


def test_several_have_a_line_each() -> None:
    lines = bounds_markdown(RESULTS["sweep"].to_json(), cell)
    assert len(lines) == 2 + 4
    assert sum("| 10^30 |" in line for line in lines) == 2


@pytest.mark.parametrize("name", RESULTS)
def test_lines_name_themselves_apart(name: str) -> None:
    """No two samples of a dashboard may have the same labels."""
    result: BoundsResult = RESULTS[name]
    lines = bounds_lines(result.to_json())
    part = result.dimension or result.classes or result
    held = [row for row in part.rows if getattr(row, "valid", True)]
    assert len(lines) == len(held) + len(part.best)
    labels = {tuple(line.get(k) for k in ("d", "K", "name", "side")) for line in lines}
    assert len(labels) == len(lines)
    assert all(line["command"] == "bounds" for line in lines)
    assert not any(isinstance(v, (list, dict)) for line in lines for v in line.values())


def test_lines_tell_what_was_found_from_what_was_asked() -> None:
    lines = bounds_lines(RESULTS["dimension"].to_json())
    assert {"K": 10**6, "sufficient": 32, "necessary": 10}.items() <= lines[0].items()
    covering = next(line for line in lines if line.get("name") == "covering")
    assert covering["smallest_d"] == 36 and "d" not in covering
    lines = bounds_lines(RESULTS["classes"].to_json())
    covering = next(line for line in lines if line.get("name") == "covering")
    assert covering["largest_K"] == 47863009 and "K" not in covering
