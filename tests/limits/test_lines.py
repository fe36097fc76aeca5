"""Bounds on lines (`limits.lines`, `known_codes.lines`): where they are attained, against random
lines, and closed forms.
"""

import csv
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnc_cli import bounds
from gnc_cli.constructions.registry import antipodal
from gnc_cli.errors import UsageError
from gnc_cli.geometry.gram import welch
from gnc_cli.geometry.sphere import antipodes, random_points
from gnc_cli.known_codes.lines import equiangular, known_lines
from gnc_cli.known_codes.table import data_folder
from gnc_cli.limits.limit import Ending, Quantity
from gnc_cli.limits.lines import best_lines, least_coherence, least_mean_square
from gnc_cli.limits.registry import all_limits
from tests.problems import icosahedron, simplex


@given(st.integers(2, 30), st.integers(2, 80), st.integers(0, 10**6))
def test_no_lines_are_below_the_bounds(d: int, lines: int, seed: int) -> None:
    W = random_points(np.random.default_rng(seed), lines, d)
    products = np.abs((W @ W.T)[np.triu_indices(lines, 1)])
    largest = float(products.max())
    assert welch(d, 2 * lines) <= largest + 1e-12
    assert least_mean_square(d, lines) <= (products**2).mean() + 1e-12
    least = least_coherence(d, lines, largest)
    assert welch(d, 2 * lines) <= least.lower + 1e-11 and least.upper <= largest + 1e-12


def test_least_coherence_where_it_is_known() -> None:
    assert least_coherence(5, 5).upper == 0.0
    for K, code in ((4, simplex(3)), (6, icosahedron())):  # the icosahedron is six lines
        coherence = float(np.abs(code @ code.T)[np.abs(code @ code.T) < 0.999].max())
        least = least_coherence(3, K, coherence)
        assert least.width < 1e-11 and least.upper == pytest.approx(coherence)
    plane = least_coherence(2, 7)
    assert plane.width < 1e-11 and plane.upper == pytest.approx(np.cos(np.pi / 7))
    assert least_coherence(8, 120).lower == pytest.approx(0.5, abs=1e-11)  # E8, by t*(8, 240)
    assert least_coherence(64, 10**6).lower > welch(64, 2 * 10**6) - 1e-11


LIMITS = all_limits(Quantity.LINES)


def coherence(W: np.ndarray) -> float:
    """The largest absolute cosine of two rows, by NumPy alone."""
    unit = W / np.linalg.norm(W, axis=1, keepdims=True)
    return float(np.abs(unit @ unit.T - np.eye(len(W))).max())


@settings(max_examples=40)
@given(st.integers(2, 12), st.integers(2, 40), st.integers(0, 10**6))
def test_no_bound_exceeds_the_coherence_of_lines(d: int, K: int, seed: int) -> None:
    reached = coherence(np.random.default_rng(seed).standard_normal((K, d)))
    for limit in LIMITS:
        finding = limit.evaluate(d, K)
        if finding is not None and finding.valid and not limit.exists:
            assert 1.0 - finding.value <= reached + 1e-12, limit.name
        if finding is not None:  # more lines, or fewer dimensions, allow no less
            fewer = limit.evaluate(d, K + 1)
            assert fewer is None or fewer.value <= finding.value * (1 + 1e-12), limit.name


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.name)
@pytest.mark.parametrize(("d", "K"), [(3, 6), (4, 9), (7, 28), (8, 120), (12, 30)])
def test_counts_and_dimensions_agree_with_values(limit, d: int, K: int) -> None:
    finding = limit.evaluate(d, K)
    if finding is None or not finding.valid or finding.value < 0.05:
        return
    target = Fraction(finding.value) * (1 - Fraction(1, 10**13))
    count = limit.points(d, target)
    if limit.exists:
        assert count is not None and count.exact is not None and count.exact >= K
    elif count is not None and count.exact is not None:  # None: it excludes no number of lines
        assert count.exact >= K or finding.strict
        beyond = limit.evaluate(d, count.exact + 1)
        assert beyond is not None and beyond.value <= target * (1 + Fraction(1, 10**12))
    dimension = limit.dimension(K, target)
    if limit.exists or dimension.ending is Ending.REACHED:
        assert dimension.d is not None and (dimension.d <= d or finding.strict)


def test_the_table_of_lines_contradicts_no_bound_and_itself_nowhere() -> None:
    table = known_lines()
    for (d, K), entry in table.entries.items():
        low, high = entry.interval
        assert float(high) >= least_coherence(d, K).lower - 1e-12, (d, K)
        covering = table.covering(d, K)
        assert covering is not None and covering.interval[1] <= high
        for limit in LIMITS:
            finding = None if limit.exists else limit.evaluate(d, K)
            if finding is not None and finding.valid:
                assert 1.0 - finding.value <= float(high) + 1e-12, (limit.name, d, K)
        assert low <= high
    with (data_folder() / "lines.csv").open(encoding="utf-8") as file:
        row = next(r for r in csv.DictReader(file) if (r["d"], r["K"]) == ("4", "8"))
    # sqrt(2) - 1 by Conway, Hardin and Sloane, as a squared sine
    assert float(row["squared_sine"]) == pytest.approx(1 - (math.sqrt(2) - 1) ** 2, abs=1e-11)


def test_equiangular_lines_attain_the_relative_bound_or_are_of_odd_cosine() -> None:
    for d, lines, most, square, source in equiangular():
        assert lines <= most <= d * (d + 1) // 2 and source
        assert square >= Fraction(lines - d, d * (lines - 1))  # Welch
        if lines > 2 * d:  # Neumann
            root = Fraction(math.isqrt(square.denominator), math.isqrt(square.numerator))
            assert (1 / root**2 == square and root % 2 == 1) or d <= 3


@pytest.mark.parametrize(
    ("d", "K", "value"),
    [
        (2, 5, math.cos(math.pi / 5)),
        (3, 3, 0.0),
        (3, 4, 1 / 3),
        (3, 6, 1 / math.sqrt(5)),
        (3, 7, 1 / math.sqrt(3)),
        (5, 10, 1 / 3),
        (6, 16, 1 / 3),
        (7, 28, 1 / 3),
        (15, 36, 1 / 5),
        (21, 126, 1 / 5),
        (22, 176, 1 / 5),
        (23, 276, 1 / 5),
        (43, 344, 1 / 7),
        (8, 120, 1 / 2),
        (23, 2300, 1 / 3),
        (24, 98280, 1 / 2),
        (64, 2112, 1 / 8),
    ],
)
def test_optimal_lines_close_the_interval(d: int, K: int, value: float) -> None:
    (best,) = bounds(d, K, quantity="lines").best
    assert best.lower == pytest.approx(value, abs=1e-11) == best.upper
    assert best.margins is None and best.best_known is not None and best.best_known.proven
    assert best.lower_deg == pytest.approx(math.degrees(math.acos(value)), abs=1e-8)
    known = best_lines(d, K)
    assert known is not None and known.max_cosine == pytest.approx(value, abs=1e-11)


def test_welch_is_strict_where_no_equiangular_frame_exists() -> None:
    says = {name: next(x for x in LIMITS if x.name == name) for name in ("welch", "orthoplex")}
    assert not says["welch"].evaluate(7, 28).strict and says["welch"].evaluate(7, 29).strict
    assert says["welch"].evaluate(16, 40).strict  # 1/mu is no odd number
    assert (
        says["orthoplex"].evaluate(7, 28) is None and says["orthoplex"].evaluate(7, 29) is not None
    )


def test_numbers_of_lines_and_dimensions_of_a_coherence() -> None:
    answer = bounds(7, quantity="lines", max_cosine=0.34).classes
    assert answer is not None and (answer.guaranteed, answer.excluded) == (28, 29)
    text = str(bounds(7, quantity="lines", max_cosine=0.34))
    assert "Numbers of lines with" in text and "up to K = 28 lines" in " ".join(text.split())
    assert "of the best lines, 2 pairs" in str(bounds(7, (28, 29), quantity="lines"))
    needed = bounds(K=28, quantity="lines", max_cosine=0.34).dimension
    assert needed is not None and (needed.sufficient, needed.necessary) == (7, 7)
    result = bounds(7, 30, quantity="lines", max_cosine=0.34)
    assert result.best[0].status == "excluded" and "coherence" in str(result)


@pytest.mark.parametrize("option", [{"margin": 0.3}, {"lp": True}, {"probability": 0.9}])
def test_options_of_codes_exclude_lines(option: dict) -> None:
    with pytest.raises(UsageError, match="lines"):
        bounds(7, 30, quantity="lines", **option)


def test_antipodal_constructions_are_antipodal() -> None:
    for code in antipodal(9):
        rows = np.asarray(code.build())
        products = rows @ rows.T
        assert np.allclose(np.sort(products, axis=1)[:, 0], -1.0), code.name
    assert coherence(antipodes(np.eye(3))) == pytest.approx(1.0)


def test_equiangular_lines_hide_no_better_packing() -> None:
    """The 28 lines of R^7 in R^14, cosine 1/3, are far from the best 28 lines there."""
    best = best_lines(14, 28)
    assert best is not None and best.same_size and best.max_cosine < 0.19997
    text = (data_folder() / "lines.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(text.splitlines()):
        entry = known_lines().find(int(row["d"]), int(row["K"]))
        assert (
            entry is not None
            and entry.max_cosine <= math.sqrt(1 - float(row["squared_sine"])) + 1e-9
        )
    assert bounds(2, 3, quantity="lines").rows[0].source == "simplex"


def test_some_lines_exist_for_every_size() -> None:
    """K lines at equal angles in a plane; elsewhere nothing may be known."""
    for d, K in ((3, 1000), (64, 10**6)):
        (best,) = bounds(d, K, quantity="lines").best
        assert 0.0 < best.lower < best.upper < 1.0
        angles = np.pi * np.arange(3) / K
        W = np.column_stack([np.cos(angles), np.sin(angles)])
        assert best.upper <= float(np.abs(W @ W.T)[np.triu_indices(3, 1)].max()) + 1e-9
