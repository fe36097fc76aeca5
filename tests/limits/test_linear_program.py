"""Delsarte's linear programme: published values, sharp codes, known codes, proofs that can fail."""

import csv
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnc_cli.limits.delsarte import DelsarteProof, delsarte_points, prove
from gnc_cli.limits.levenshtein import LEVENSHTEIN
from gnc_cli.limits.limit import Dimension, Ending
from gnc_cli.limits.linear_program import DelsarteLP
from tests.limits.levenshtein_verbatim import verbatim

LP = DelsarteLP(degree=24)
HALF = Fraction(1, 2)
TABLE = Path(__file__).parents[2] / "data" / "known_codes" / "table.csv"

KISSING = {
    3: 13, 4: 25, 5: 46, 6: 82, 7: 140, 8: 240, 9: 380, 10: 595, 11: 915, 12: 1416, 16: 8313,
    24: 196560,
}  # fmt: skip
"""Odlyzko and Sloane 1979, table 1."""

SHARP = [(3, 6), (3, 12), (4, 8), (5, 16), (6, 27), (7, 56), (8, 240), (22, 275), (23, 4600)]
"""Codes that attain Levenshtein's bound (Levenshtein 1992, table 9.1)."""


@pytest.mark.parametrize("d", KISSING)
def test_published_kissing_bounds(d: int) -> None:
    found = LP.points(d, HALF)
    assert found is not None and found.exact == KISSING[d]
    assert found.log10 == pytest.approx(math.log10(KISSING[d]))


def test_tight_values_are_tight() -> None:
    cases = [(8, 240, 1e-6), (24, 196560, 1e-2)]
    for d, K, slack in cases:
        proof = delsarte_points(d, HALF)
        assert proof is not None and 0 <= proof.bound - K < slack
    three = delsarte_points(3, HALF, 30)
    assert three is not None and float(three.bound) == pytest.approx(13.158, abs=3e-4)


@pytest.mark.parametrize(("d", "degree"), [(3, 14), (4, 9), (8, 7)])
def test_a_proof_holds_where_mpmath_looks(d: int, degree: int) -> None:
    proof = delsarte_points(d, HALF, degree)
    assert proof is not None and proof.degree <= degree
    assert proof.coefficients[0] == 1 and min(proof.coefficients) >= 0 and proof.excess < 1
    with mpmath.workdps(30):
        largest = max(_sum(proof, -1 + mpmath.mpf(3 * k) / 200) for k in range(101))
    assert largest <= proof.excess + mpmath.mpf(10) ** -20
    # Not much below either: the polynomial touches 0.
    assert largest > -0.01


def _sum(proof: DelsarteProof, x: mpmath.mpf) -> mpmath.mpf:
    total = mpmath.mpf(0)
    for i, c in enumerate(proof.coefficients):
        share = _gegenbauer(proof.d, i, x) / _gegenbauer(proof.d, i, mpmath.mpf(1))
        total += mpmath.mpf(c.numerator) / c.denominator * share
    return total


def _gegenbauer(d: int, n: int, x: mpmath.mpf) -> mpmath.mpf:
    """The explicit sum of powers of 2 x."""
    a = mpmath.mpf(d - 2) / 2
    return sum(
        (-1) ** k * mpmath.rf(a, n - k) / mpmath.factorial(k) / mpmath.factorial(n - 2 * k)
        * (2 * x) ** (n - 2 * k)
        for k in range(n // 2 + 1)
    )  # fmt: skip


@pytest.mark.parametrize("place", [1, 2, 5])
@pytest.mark.parametrize("change", [Fraction(1, 1000), -Fraction(1, 1000)])
def test_a_disturbed_proof_proves_less(place: int, change: Fraction) -> None:
    proof = delsarte_points(8, HALF, 6)
    assert proof is not None
    coefficients = list(proof.coefficients)
    coefficients[place] += change
    disturbed = prove(8, HALF, coefficients[1:])
    assert disturbed is not None
    assert disturbed.excess > proof.excess + Fraction(1, 10**6)
    assert disturbed.bound > proof.bound + Fraction(1, 10**4)


def test_what_is_far_from_feasible_proves_nothing() -> None:
    assert prove(3, HALF, [Fraction(0), Fraction(1)]) is None
    assert prove(3, HALF, []) is None
    # A negative coefficient is no part of a proof: it counts as 0.
    assert prove(3, Fraction(0), [3.0, 2.0, -1.0]) == prove(3, Fraction(0), [3.0, 2.0, 0.0])


def test_a_proof_by_hand() -> None:
    # f = 1 + 3 x + 2 P_2 = 3 x (x + 1): the octahedron.
    proof = prove(3, Fraction(0), [Fraction(3), Fraction(2)])
    assert proof is not None and (proof.excess, proof.bound) == (0, 6)
    assert replace(proof, excess=HALF).bound == 11


@settings(max_examples=25, deadline=None)
@given(st.integers(3, 60), st.integers(-100, 60))
def test_never_worse_than_levenshtein(d: int, percent: int) -> None:
    s = Fraction(percent, 100)
    of_levenshtein = verbatim(d, 1 - s)
    if of_levenshtein > 10**7:
        return
    proof = delsarte_points(d, s)
    assert proof is not None and proof.bound <= of_levenshtein * (1 + Fraction(1, 10**9))


@pytest.mark.parametrize(("d", "K"), [*SHARP, (10, 100), (512, 1000), (64, 10**5), (2, 7)])
def test_at_equals_levenshtein_where_no_degree_helps(d: int, K: int) -> None:
    ours, other = LP.at(d, K), LEVENSHTEIN.at(d, K)
    assert ours is not None and other is not None
    assert -1e-9 < other.value - ours.value <= 0.0


@pytest.mark.parametrize(
    ("d", "K", "gain"),
    [(4, 24, 0.00359), (3, 13, 0.00434), (5, 40, 0.00487), (6, 72, 0.0066), (10, 10**4, 0.0048)],
)
def test_at_improves_on_levenshtein(d: int, K: int, gain: float) -> None:
    ours, other = LP.at(d, K), LEVENSHTEIN.at(d, K)
    assert ours is not None and other is not None
    assert other.value - ours.value == pytest.approx(gain, rel=0.02)


def test_the_600_cell_is_optimal() -> None:
    # Boroczky 1978, Andreev 1999; Levenshtein's bound is 0.0018 above.
    found = LP.at(4, 120)
    assert found is not None
    assert 0 <= found.value - (3 - math.sqrt(5)) / 4 < 1e-9


def test_known_codes_stay_within() -> None:
    with TABLE.open(newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if int(row["d"]) <= 8]
    tried = rows[:: len(rows) // 8]
    assert len(tried) >= 8
    for row in tried:
        found = LP.at(int(row["d"]), int(row["K"]))
        if found is not None:
            assert 1.0 - float(row["max_cosine"]) <= found.value + 1e-12, row


@pytest.mark.parametrize(("d", "K"), [(3, 13), (4, 24), (8, 240), (16, 1000), (300, 5000)])
def test_at_and_points_agree(d: int, K: int) -> None:
    found = LP.at(d, K)
    assert found is not None
    at_value = LP.points(d, Fraction(found.value))
    below = LP.points(d, Fraction(found.value) - Fraction(1, 10**6))
    above = LP.points(d, Fraction(found.value) * (1 + Fraction(1, 10**12)))
    # The value itself counts as reached, a little more of it excludes K.
    assert at_value is not None and at_value.exact == K
    assert above is not None and above.exact == K - 1
    assert LP.dimension(K, Fraction(found.value)) == Dimension(d)
    assert below is not None and below.exact is not None and below.exact >= K


def test_at_steps_back_until_it_has_a_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    # Where the programme reaches K is found in floating point; an answer too large is no answer.
    monkeypatch.setattr(LP, "_cosine", lambda d, K: (0.5 + 3e-9, 10))
    found = LP.at(8, 240)
    assert found is not None and 0.5 < found.value < 0.5 + 1e-8
    monkeypatch.setattr(LP, "_cosine", lambda d, K: (0.51, 10))
    assert LP.at(8, 240) is None


def test_just_beyond_a_sharp_code() -> None:
    # Levenshtein's polynomial of degree 11 touches 0 at 10^-6 from -1.
    other = LEVENSHTEIN.at(24, 196561)
    assert other is not None
    proof = delsarte_points(24, 1 - Fraction(other.value), 11)
    assert proof is not None and abs(proof.bound - 196561) < 1e-4
    ours = LP.at(24, 196561)
    assert ours is not None and other.value - ours.value == pytest.approx(3.95e-8, rel=0.05)


def test_at_falls_with_more_points_and_rises_with_d() -> None:
    for d, few in ((4, 30), (9, 60)):
        here, more, higher = LP.at(d, few), LP.at(d, few + 3), LP.at(d + 1, few)
        assert here is not None and more is not None and higher is not None
        assert more.value < here.value <= higher.value


def test_simplices() -> None:
    for K in (3, 5, 9):
        found = LP.at(8, K)
        assert found is not None and found.value == pytest.approx(K / (K - 1), rel=1e-15)
    assert [LP.points(8, Fraction(K, K - 1)).exact for K in (2, 3, 9)] == [2, 3, 9]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("K", "target"),
    [(14, HALF), (240, HALF), (100, Fraction(7, 10)), (15, Fraction(1)), (16, 1)],
)
def test_dimension_is_the_first_that_is_not_excluded(K: int, target: Fraction) -> None:
    first = 2
    while (allowed := LP.points(first, Fraction(target))) is None or allowed.exact < K:  # type: ignore[operator]
        first += 1
    assert LP.dimension(K, Fraction(target)) == Dimension(first)


def test_silence_excludes_no_dimension() -> None:
    low = DelsarteLP(degree=8)
    assert low.points(3, Fraction(1, 10)) is None
    assert low.dimension(10**6, Fraction(1, 10)) == Dimension(3)
    assert low.dimension(10**6, Fraction(1, 1000)) == Dimension(2)
    # Silent from d = 9 on, and the last word holds.
    first = low.dimension(10**6, Fraction(3, 10)).d
    assert first == 9
    last = low.points(first - 1, Fraction(3, 10))
    assert last is not None and last.exact is not None and last.exact < 10**6
    assert low.points(first, Fraction(3, 10)) is None


def test_ends_of_dimension() -> None:
    assert LP.dimension(5, Fraction(126, 100)) == Dimension(None, Ending.NEVER)
    assert LP.dimension(5, Fraction(5, 4)) == Dimension(4)
    assert LP.dimension(10**9, Fraction(1)) == Dimension(1001)
    assert LP.dimension(10**9 + 1, Fraction(1)) == Dimension(2)


def test_silence_outside_the_range() -> None:
    assert LP.at(1001, 5000) is None and LP.points(1001, HALF) is None
    assert LP.at(20, 10**9 + 1) is None and LP.at(5, 2) is None
    assert LP.at(3, 10**6) is None and LP.points(3, Fraction(1, 10**6)) is None
    assert LP.points(500, HALF) is None


class _Polls:
    """Expires at the n-th poll."""

    def __init__(self, left: int) -> None:
        self.left = left

    @property
    def expired(self) -> bool:
        self.left -= 1
        return self.left < 0


def test_a_deadline_silences() -> None:
    for left in range(4):
        late = DelsarteLP(deadline=_Polls(left))
        assert late.at(4, 24) is None and late.declined
    late = DelsarteLP(deadline=_Polls(0))
    assert late.points(4, HALF) is None and late.declined
    patient = DelsarteLP(degree=24, deadline=_Polls(100))
    assert patient.at(4, 24) == LP.at(4, 24) and not patient.declined
    # What needs no programme, or is outside the range, was not left out for lack of time.
    late = DelsarteLP(deadline=_Polls(0))
    assert late.at(8, 5) is not None and late.at(1001, 5000) is None and not late.declined
    # What was excluded before stays excluded.
    assert DelsarteLP(deadline=_Polls(0)).dimension(500, HALF) == Dimension(2)
    early = DelsarteLP(deadline=_Polls(3)).dimension(500, HALF).d
    assert early is not None and 4 < early <= 10
