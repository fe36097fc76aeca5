"""Kissing numbers and sizes of optimal codes: between published codes and the linear programs."""

from fractions import Fraction

import pytest

from gnc_cli.console.table import Table
from gnc_cli.known_codes.table import Cardinality, our_copy, stored_cardinalities
from gnc_cli.limits.api import bounds
from gnc_cli.limits.delsarte import DelsarteLP
from gnc_cli.limits.levenshtein import LEVENSHTEIN
from gnc_cli.limits.limit import Limit
from gnc_cli.limits.lists import CARDINALITY, UNPROVED_CARDINALITY
from gnc_cli.limits.result import BestBounds, ClassesRow
from gnc_cli.limits.view import view

HALF = Fraction(1, 2)
KISSING = {b.d: b.K for b in stored_cardinalities() if b.cosine == HALF and b.status == "proved"}
SHARP = [b for b in stored_cardinalities() if b.cosine != HALF]


def most(limit: Limit, d: int, target: Fraction = HALF) -> int:
    count = limit.points(d, target)
    assert count is not None and count.exact is not None
    return count.exact


@pytest.mark.parametrize("d", KISSING)
def test_between_codes_and_linear_programs(d: int) -> None:
    """No wrong digit: above the best known code, below both programs on pairs of points."""
    code = max(e.K for e in our_copy().entries.values() if e.d <= d and e.max_cosine <= 0.5)
    assert code <= KISSING[d] <= most(DelsarteLP(), d) <= most(LEVENSHTEIN, d)


@pytest.mark.parametrize("bound", [b for b in stored_cardinalities() if b.status == "proved"])
@pytest.mark.parametrize("loose", [0, Fraction(1, 10**13), Fraction(2, 10**13)])
def test_one_point_more_is_excluded(bound: Cardinality, loose: Fraction) -> None:
    """As typed, as loosened, and as the square of a loosened margin."""
    d, K, target = bound.d, bound.K, (1 - bound.cosine) * (1 - loose)
    assert most(CARDINALITY, d, target) == K
    found = CARDINALITY.evaluate(d, K + 1)
    assert found is not None and found.strict and found.value <= float(target) + 1e-12
    assert CARDINALITY.dimension(K + 1, target).d == d + 1
    assert f"at most {K}" in str(found.source)


@pytest.mark.parametrize("bound", SHARP)
def test_a_size_that_is_sharp_has_its_code(bound: Cardinality) -> None:
    """The code of the table has the cosine of the bound, to its last digit but one."""
    entry = our_copy().find(bound.d, bound.K)
    assert entry is not None and entry.proven
    low, high = entry.interval
    assert low - Fraction(3, 10**13) <= bound.cosine <= high


@pytest.mark.parametrize(
    ("d", "exists", "excluded"),
    [
        (5, 40, 46),
        (9, 306, 364),
        (10, 510, 554),
        (11, 604, 870),
        (12, 841, 1357),
        (14, 1932, 3178),
        (18, 8358, 16470),
        (20, 19448, 36403),
        (22, 49896, 81377),
        (23, 93150, 123329),
    ],
)
def test_the_kissing_problem(d: int, exists: int, excluded: int) -> None:
    """A published code exists, though its coordinates are not here; claims do not count."""
    found = bounds(d=d, margin=0.5).classes
    assert found is not None and (found.guaranteed, found.excluded) == (exists, excluded)
    proved = [row for row in found.rows if row.proven and row.K == exists]
    assert proved[0].name == "known-code" and f"({d}, {exists}): " in proved[0].source


@pytest.mark.parametrize(
    ("d", "K", "cosine"), [(64, 4224, 1 / 8), (256, 66048, 1 / 16), (16, 288, 1 / 4)]
)
def test_proved_optima_of_families(d: int, K: int, cosine: float) -> None:
    (best,) = bounds(d, K, quantity="one-vs-one").best
    assert isinstance(best, BestBounds) and best.exact and best.best_known is not None
    assert best.best_known.proven and best.lower == best.upper == cosine
    (more,) = bounds(d, K + 1, max_cosine=cosine).best
    assert more.status == "excluded" and more.lower_name == "cardinality"


def words(**asked: object) -> str:
    tables: list[Table] = view(bounds(**asked), False)  # type: ignore[arg-type]
    return " ".join(" ".join(" ".join(map(str, row)) for row in t.rows) for t in tables)


def test_what_is_not_proved_is_shown_as_such_and_never_counts() -> None:
    found = bounds(d=26, margin=0.5).classes
    assert found is not None
    shown = [row for row in found.rows if not row.proven and isinstance(row, ClassesRow)]
    names = {row.K: row.name for row in shown}
    assert names[199806] == "claimed-code" and "numerical-bound" in names.values()
    text = words(d=26, margin=0.5)
    assert "not proved: exists up to K = 199,806 claimed-code: claimed, not vetted: (26, " in text
    assert "not proved: excluded from K = 16,407 numerical-bound: de Laat and Leijenhorst" in words(
        d=18, margin=0.5
    )
    (best,) = bounds(18, 16450, max_cosine=0.5).best
    assert best.status == "open" and best.lower < 0.5
    assert "not proved at least 0.5 de Laat and Leijenhorst" in words(d=18, K=16450, max_cosine=0.5)
    dimension = bounds(K=199632, margin=0.5).dimension
    assert dimension is not None and dimension.sufficient == 27
    assert "not proved" not in words(d=9, margin=0.5)
    at = [limit.evaluate(11, 869) for limit in (UNPROVED_CARDINALITY, CARDINALITY)]
    assert [found and found.value for found in at] == [0.5, 0.75]  # the latter by (16, 288)


@pytest.mark.parametrize(
    ("asked", "command"),
    [
        ({"d": 3, "K": 13}, "gnc solve --d 3 --K 13 --construction known"),
        ({"d": 4, "K": 9}, "gnc solve --d 4 --K 9 --construction known"),
        ({"d": 3, "K": 24}, "gnc solve --d 3 --K 24 --construction snub-cube"),
        (
            {"d": 9, "margin": 0.5},
            "gnc solve --d 9 --K 306 --construction signed-quadruples-9",
        ),
        ({"d": 6, "K": 98}, "no construction or stored code of gnc is as good; see its source"),
    ],
)
def test_build_it_builds_the_code_above_it(asked: dict[str, float], command: str) -> None:
    notes = [note for table in view(bounds(**asked), False) for note in table.notes]  # type: ignore[arg-type]
    assert ("build it:", f" {command}") in notes
