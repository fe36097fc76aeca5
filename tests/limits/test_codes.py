"""Bounds from codes: the paper's numbers, commands that keep their word, laws, ties.

It tests gnc_cli/limits: lists.py.
"""

import json
import math
from bisect import bisect_left
from dataclasses import replace
from fractions import Fraction
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from gnc_cli import bounds
from gnc_cli.cli import app
from gnc_cli.constructions.registry import best_construction, single_codes
from gnc_cli.known_codes.best import best
from gnc_cli.known_codes.citation import cite
from gnc_cli.known_codes.table import KnownCode, KnownCodes, numerical_codes, our_copy
from gnc_cli.limits.limit import Ending, Limit, Quantity, loosened
from gnc_cli.limits.registry import all_limits

NAMES = ("known-code", "solved-code", "construction", "proved-optimum")


def limits_of(table: KnownCodes | None = None) -> list[Limit]:
    """The bounds that codes give."""
    return [limit for limit in all_limits(Quantity.ONE_VS_REST, table) if limit.name in NAMES]


KNOWN, SOLVED, BUILT, OPTIMAL = limits_of()
LIMITS = dict(zip(NAMES, (KNOWN, SOLVED, BUILT, OPTIMAL), strict=True))
TARGETS = [Fraction(n, 60) for n in range(6, 66)]
_LISTED = {d for codes in (our_copy(), numerical_codes()) for d, _ in codes.entries}
DIMENSIONS = sorted({*range(2, 40), *(e for d in _LISTED for e in (d, d + 1))})
"""Between them no list of codes changes."""
PAIRS = st.tuples(st.integers(2, 80), st.integers(2, 3000))


def value(limit: Limit, d: int, K: int) -> float | None:
    found = limit.evaluate(d, K)
    return None if found is None else found.value


def test_known_codes_of_more_points_count() -> None:
    found = KNOWN.evaluate(10, 100)
    assert found is not None and found.source == (
        f"known code (10, 136): {our_copy().entries[10, 136].source}"
    )
    assert found.value == pytest.approx(1 - 0.39292978913456184, abs=2e-13)
    assert found.value < 1 - 0.39292978913456184  # the value is good to 1e-13
    assert found.command is None and value(KNOWN, 11, 100) == found.value
    assert value(KNOWN, 2, 9) is None and value(KNOWN, 24, 196561) is None


@pytest.mark.parametrize(
    ("d", "K", "expected", "command"),
    [
        (512, 10_000, 23 / 24, "--d 512 --K 10000 --construction unitary-23-section"),
        (64, 10**5, 0.75, "--d 64 --K 100000 --construction delsarte-goethals-6"),
        (512, 10**6, 29 / 32, "--d 512 --K 1000000 --construction reed-solomon-32-32-4"),
        (128, 10**6, 16 / 21, "--d 128 --K 1000000 --construction bch3-7-shortened-2"),
        (12_288, 356_278, 0.99, "--d 12288 --K 356278"),
        (10**5, 10**6, 256 / 257, "--d 100000 --K 1000000"),
    ],
)
def test_constructions(d: int, K: int, expected: float, command: str) -> None:
    found = BUILT.evaluate(d, K)
    assert found is not None and found.command == f"gnc solve {command}"
    assert 0.0 <= expected - found.value < 2e-16


def test_values_stay_on_their_side() -> None:
    third = Fraction(1, 3)
    for limit in (KNOWN, BUILT):
        below = value(limit, 7, 56)
        assert below is not None and 1 - third - Fraction(1, 10**15) < below <= 1 - third
    above = value(OPTIMAL, 7, 56)
    assert above is not None and 1 - third <= above < 1 - third + Fraction(1, 10**15)
    icosahedron = [value(limit, 3, 12) for limit in (BUILT, KNOWN, OPTIMAL)]
    root = Fraction(math.isqrt(5 * 10**60), 10**30)
    for low in icosahedron[:2]:
        assert low is not None and 0 <= 1 - root / 5 - Fraction(low) < Fraction(3, 10**15)
    assert icosahedron[2] is not None and Fraction(icosahedron[2]) >= 1 - root / 5
    # Good to 1e-13 only: the lower end gives it away, the upper end adds it.
    ends = value(KNOWN, 3, 13), value(OPTIMAL, 3, 13)
    assert ends[0] is not None and ends[1] == pytest.approx(ends[0] + 2e-13, abs=1e-15)


@cache
def optima() -> list[tuple[int, int, float]]:
    listed = [(e.d, e.K, e.max_cosine) for e in our_copy().select(proven=True)]
    return listed + [(c.d, c.K, c.cosine.value) for c in single_codes() if c.proven]


def most_points(table: list[KnownCode], d: int, cosine: float) -> int:
    """In orthogonal subspaces of R^d, dimension by dimension."""
    some = [e for e in table if e.max_cosine <= cosine]
    most = [0]
    for dimension in range(1, d + 1):
        more = (most[dimension - e.d] + e.K for e in some if e.d <= dimension)
        most.append(max([most[-1] + 2, *more]))
    return most[d]


@settings(max_examples=100, deadline=None)
@given(PAIRS)
def test_against_plain_scans(pair: tuple[int, int]) -> None:
    d, K = pair
    table, solved = [*our_copy().entries.values()], numerical_codes().select()
    best = max((1 - e.max_cosine for e in table if e.d <= d and e.K >= K), default=None)
    if K > 2 * d:
        cosines = sorted({e.max_cosine for e in table if e.max_cosine > 0.0})
        at = bisect_left(cosines, True, key=lambda t: most_points(table, d, t) >= K)
        best = max(best or 0.0, 1 - cosines[at]) if at < len(cosines) else best
    assert value(KNOWN, d, K) == pytest.approx(best, abs=5.1e-12)
    rho = max((float(1 - e.exact) for e in solved if e.d <= d and e.K >= K), default=None)
    assert value(SOLVED, d, K) == rho
    least = min((1 - t for e, L, t in optima() if e >= d and L <= K), default=None)
    assert value(OPTIMAL, d, K) == pytest.approx(least, abs=2e-13)
    code = best_construction(d, K) if K > 2 * d else None
    assert value(BUILT, d, K) == pytest.approx(code and 1 - code.cosine.value, abs=2e-15)


@settings(max_examples=80, deadline=None)
@given(st.integers(2, 60), st.sampled_from(TARGETS).map(loosened))
def test_points_are_the_last(d: int, target: Fraction) -> None:
    for limit in LIMITS.values():
        count = limit.points(d, target)
        if count is None:
            K = 2 * d + 1 if limit is BUILT else 10**6 if not limit.exists else 2
            here = value(limit, d, K)
            assert here is None or (here >= target) != limit.exists
            continue
        assert count.exact is not None and count.log10 == math.log10(count.exact)
        here, more = value(limit, d, count.exact), value(limit, d, count.exact + 1)
        if limit.exists:
            assert here is not None and (here >= target)
            assert more is None or not (more >= target)
        else:
            assert here is None or (here >= target)
            assert more is not None and not (more >= target)


@settings(max_examples=100, deadline=None)
@given(st.integers(2, 400), st.sampled_from(TARGETS).map(loosened))
def test_dimensions_are_the_first(K: int, target: Fraction) -> None:
    sums = sorted({*DIMENSIONS, *range(2, K // 2 + 1)})
    for limit in LIMITS.values():
        found = limit.dimension(K, target)
        reached = [
            d
            for d in (range(2, max(2, (K + 1) // 2)) if limit is BUILT else sums)
            if ((here := value(limit, d, K)) is None and not limit.exists)
            or (here is not None and (here >= target))
        ]
        assert found.ending is (Ending.REACHED if reached else Ending.UNREACHABLE)
        assert found.d == (reached[0] if reached else None)


def test_a_table_beside_our_copy() -> None:
    ours = our_copy()
    better = replace(ours.entries[10, 136], figure="0.390000000000", rounding=1e-12, source="mine")
    worse = replace(ours.entries[3, 24], figure="0.723078468334", rounding=1e-12, status="")
    table = replace(ours, entries={(10, 136): better, (3, 24): worse})
    known, _, _, optimal = limits_of(table)
    found = known.evaluate(10, 100)
    assert found is not None and found.value == pytest.approx(0.61, abs=1e-16)
    assert found.source == "known code (10, 136): mine"
    for d, K in [(3, 24), (24, 4000), (3, 13)]:
        assert known.evaluate(d, K) == KNOWN.evaluate(d, K) and optimal.evaluate(
            d, K
        ) == OPTIMAL.evaluate(d, K)


@pytest.mark.parametrize(
    ("limit", "d", "K", "kind"),
    [
        (BUILT, 8, 240, "e8-roots"),
        (BUILT, 10, 100, "section-10-110, first 100"),
        (BUILT, 5, 11, "petersen + pair"),
        (BUILT, 9, 22, "smith, the 24 rows"),
        (BUILT, 9, 240, "signed-quadruples-9, first 240"),
        (KNOWN, 3, 5, "(3, 5)"),
        (KNOWN, 3, 24, "(3, 24)"),
        (KNOWN, 10, 38, "(10, 40)"),
        (KNOWN, 9, 200, "(8, 240)"),
        (KNOWN, 4, 20, "(4, 24)"),
        (KNOWN, 3, 11, "(3, 1"),
    ],
)
def test_commands_keep_their_word(limit: Limit, d: int, K: int, kind: str) -> None:
    found = limit.evaluate(d, K)
    assert found is not None and found.command is not None and kind in str(found.source)
    program, *words = found.command.split()
    if "--construction" not in words:  # a search beside it is not what is tested
        words += ["--restarts", "1"] if K > 2 * d else []
    run = CliRunner().invoke(app, [*words, "--json", "-q"], prog_name=program)
    assert run.exit_code == 0, run.output
    result = json.loads(run.stdout)
    assert result["d"] <= d and result["K"] >= K
    assert result["rho_one_vs_rest"]["lower"] >= found.value - 1e-12


def test_constructions_have_no_last_dimension() -> None:
    classes = bounds(d=12_288, margin=0.99).classes
    assert classes is not None and classes.guaranteed == 356_278
    (pair,) = bounds(12_288, 356_278).best
    assert pair.lower == pytest.approx(0.99, abs=1e-15) and pair.best_known is not None
    assert pair.best_known.max_cosine == 0.01
    dimension = bounds(K=356_278, margin=0.99).dimension
    assert dimension is not None and dimension.sufficient is not None
    assert dimension.sufficient <= 12_288


@pytest.mark.parametrize(
    ("d", "K"),
    [
        (56, 52_416_000 + 240),
        (72 + 24, 6_218_175_600 + 196_560),
        (80, 6_218_175_600 + 240),
        (160, 2 * (6_218_175_600 + 240)),
        (67, 331_737_984 + 2 * 3),
    ],
)
def test_known_codes_share_a_space(d: int, K: int) -> None:
    classes = bounds(d=d, max_cosine=0.5).classes
    assert classes is not None and classes.guaranteed == max(K, classes.guaranteed or 0)
    count = KNOWN.points(d, loosened(Fraction(1, 2)))
    assert count is not None and count.exact is not None and count.exact >= K
    known = best(d, count.exact)
    assert known is not None and known.max_cosine == 0.5 and not known.proven
    assert value(KNOWN, d, count.exact) == 0.5 and value(KNOWN, d, count.exact + 1) != 0.5


def test_a_sum_says_what_it_is_made_of() -> None:
    found = KNOWN.evaluate(96, 6_218_372_160)
    assert found is not None and found.source is not None
    assert "(72, 6218175600) + (24, 196560) in orthogonal subspaces: G. Nebe" in found.source
    assert "J. Leech" in found.source and found.command is None
    known = best(96, 6_218_372_160)
    assert known is not None and not known.on_record
    assert cite(known.source) == "(72, 6218175600) + (24, 196560) in orthogonal subspaces"


def test_sums_of_enormous_codes_stay_exact() -> None:
    ours = our_copy()
    huge = replace(
        ours.entries[8, 240], K=10**15 - 1, figure="0.999999", status="", optimality=None
    )
    table = replace(ours, entries={(8, huge.K): huge})
    assert table.summed(8000, 10**15) is None or table.summed(8000, 10**15).K >= 10**15  # type: ignore[union-attr]
    some = table.summed(16, 2 * 10**15 - 2)
    assert some is not None and some.K == 2 * (10**15 - 1)
