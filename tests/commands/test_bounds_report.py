"""Reports of bounds: sentences that are exact, tables that are tables, rows at one level."""

import math
import re
from decimal import Decimal
from typing import Any

import pytest

from gnc_cli.commands.bounds_lines import bounds_lines
from gnc_cli.commands.bounds_report import bounds_markdown
from gnc_cli.commands.report import report_text
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


def test_a_pair_says_what_is_known_and_by_which_theorem() -> None:
    text = "\n".join(bounds_markdown(RESULTS["pair"].to_json(), cell))
    assert "distance of the best code: 0.38858437035 <= rho* <= 0.530644359009**" in text
    assert "margin 0.6: **no code exists**" in text
    assert "s = 1/tau ≥ 17.48 brings every softmax probability to 0.9" in text
    (line,) = [line for line in text.splitlines() if "| levenshtein |" in line]
    assert "| 0.530644359009 | bisector theorem with Levenshtein 1979 |" in line
    assert text.count("\nbisector theorem: rho* = 1 - t*, ") == 1
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


def tables(name: str) -> list[dict[str, str]]:
    """Every row of every table of markdown."""
    rows = []
    for block in "\n".join(bounds_markdown(RESULTS[name].to_json(), cell)).split("\n\n"):
        if block.startswith("| "):
            lines = [line.strip("| ").split(" | ") for line in block.splitlines()]
            rows += [dict(zip(lines[0], line, strict=True)) for line in lines[2:]]
    return rows


def figure(text: str) -> Decimal:
    """A number as it is shown; of a power of ten its exponent."""
    return Decimal(text.removeprefix("10^").replace(" ", ""))


def beyond(shown: str, value: float, up: bool) -> bool:
    """Whether what is shown lies on the safe side of its value, and near it."""
    slip = (figure(shown) - Decimal(value)) * (1 if up else -1)
    size = abs(Decimal(value))
    return bool(-3e-15 * float(size) <= slip <= Decimal(2e-5) * size + Decimal(1e-11))


@pytest.mark.parametrize("name", ["pair", "angles"])
def test_figures_of_bounds_are_safe(name: str) -> None:
    rows = {(r["side"], r["name"]): r for r in RESULTS[name].to_json()["rows"]}
    shown = tables(name)
    assert len(shown) == len(rows)
    for line in shown:
        row, up = rows[line["side"], line["bound"]], line["side"] == "upper"
        assert beyond(line.get("value") or line["largest cosine"], row["value"], up)
        assert "degrees" not in line or beyond(line["degrees"], row["angle_deg"], not up)


def test_figures_of_a_sweep_are_safe() -> None:
    for line, best in zip(tables("sweep"), RESULTS["sweep"].best, strict=True):
        assert beyond(line["lower"], best.lower, False) and beyond(line["upper"], best.upper, True)


def test_figures_of_dimensions_are_exact() -> None:
    for name in ("dimension", "dimensions"):
        rows: list[Any] = [(r.d, r.name) for r in RESULTS[name].dimension.rows]
        seen = [line for line in tables(name) if "bound" in line]
        for line in seen:
            if "never" not in line["d"] and "up to" not in line["d"]:
                assert (int(figure(line["d"])), line["bound"]) in rows
        assert not any(line["bound"] == "rankin" for line in seen)


def test_figures_of_numbers_of_points_are_safe() -> None:
    rows = {(r.name, r.exists): r for r in RESULTS["classes"].classes.rows}
    seen = tables("classes")
    assert seen and not any(line["bound"] == "rankin" for line in seen)
    for line in seen:
        exists = line["codes"] == "exists up to"
        row = rows[line["bound"], exists]
        if line["K"].startswith("10^"):
            assert beyond(line["K"], row.log10_K, not exists)
        else:
            assert int(figure(line["K"])) == row.K


@pytest.mark.parametrize("name", RESULTS)
def test_reports_say_what_was_asked(name: str) -> None:
    body = RESULTS[name].to_json()
    asked = {k: body[k] for k in ("margin", "max_cosine") if body[k] is not None}
    first = report_text("r.md", body, []).splitlines()[0]
    assert all(repr(value) in first for value in asked.values())
    junit, prom = (report_text(f"r.{suffix}", body, []) for suffix in ("xml", "prom"))
    samples = [line for line in prom.splitlines() if line[0] != "#"]
    for key, value in asked.items():
        assert f'<property name="{key}" value="{value!r}" />' in junit
        assert all(f'{key}="{value!r}"' in line for line in samples)


def test_an_angle_is_a_label_as_it_was_asked() -> None:
    body = RESULTS["angles"].to_json() | {"arcface_m": 0.5, "max_cosine": math.cos(0.5)}
    prom = report_text("r.prom", body, [])
    assert 'arcface_m="0.5"' in prom and "max_cosine" not in prom
    first = report_text("r.md", body, []).splitlines()[0]
    assert first.endswith("smallest angle 0.5 rad (28.65 degrees)")
