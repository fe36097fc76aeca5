"""Three-point bounds: what is stored, what neighbours of a pair give, and what is computed."""

import gzip
import json
from fractions import Fraction
from pathlib import Path

import pytest

from gnc_cli import bounds
from gnc_cli.errors import UsageError
from gnc_cli.geometry.rounding import rounded_up
from gnc_cli.known_codes.table import data_folder
from gnc_cli.limits import lists
from gnc_cli.limits.certificate import verify
from gnc_cli.limits.limit import Ending
from gnc_cli.limits.lists import Exclusion, ThreePointLimit, stored_certificates
from gnc_cli.runtime.deadline import Deadline

FOLDER = data_folder() / "certificates"
LARGE = 12_000
"""Bytes: above are those of degree 10 and more."""
LIMIT = ThreePointLimit()


def file_of(stored: Exclusion) -> str:
    name = f"d{stored.d}-K{stored.K}.json.gz"
    assert str(stored.finding.source).endswith(f" of ({stored.d}, {stored.K}), {name}")
    return name


def test_list_and_files_agree() -> None:
    stored = stored_certificates()
    assert len({(c.d, c.K) for c in stored}) == len(stored) >= 40
    assert {file_of(c) for c in stored} == {path.name for path in FOLDER.glob("*.json.gz")}
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) <= 5_000_000
    for line in stored:
        document = json.loads(gzip.decompress((FOLDER / file_of(line)).read_bytes()))
        assert (document["d"], document["K"]) == (line.d, line.K)
        assert rounded_up(1 - Fraction(document["cosine"])) == line.finding.value


def _by_effort(stored: Exclusion) -> object:
    """Large ones take seconds: they are proved with --slow."""
    large = (FOLDER / file_of(stored)).stat().st_size > LARGE
    return pytest.param(stored, marks=[pytest.mark.slow] if large else [], id=file_of(stored))


@pytest.mark.parametrize("stored", [_by_effort(c) for c in stored_certificates()])
def test_every_stored_certificate_is_proved(stored: Exclusion) -> None:
    answer = verify(str(FOLDER / file_of(stored)), Deadline())
    assert answer.status == "proved" and answer.upper == stored.finding.value


def test_no_code_contradicts_a_stored_certificate() -> None:
    for stored in stored_certificates():
        (best,) = bounds(stored.d, stored.K).best
        assert best.lower <= best.upper <= stored.finding.value + 1e-12


@pytest.mark.parametrize(
    ("d", "K", "upper"),
    [
        (4, 13, 0.728),
        (4, 16, 0.640),
        (4, 20, 0.577),
        (4, 24, 0.502),
        (5, 17, 0.773),
        (5, 20, 0.726),
        (3, 15, 0.426),
        (3, 20, 0.330),
        (3, 30, 0.228),
        (6, 20, 0.818),
        (10, 100, 0.717),
    ],
)
def test_upper_ends_are_near_those_of_sampled_programs(d: int, K: int, upper: float) -> None:
    (best,) = bounds(d, K).best
    assert upper - 0.005 < best.upper < upper + 0.002


def test_neighbours_of_a_pair_count() -> None:
    best = LIMIT.evaluate(4, 20)
    assert best is not None and best.strict
    more, fewer = LIMIT.evaluate(4, 21), LIMIT.evaluate(3, 20)
    assert more is not None and more.value <= best.value
    assert fewer is not None and fewer.value <= best.value
    assert LIMIT.evaluate(12, 10**6) is None and LIMIT.evaluate(4, 8) is None


@pytest.mark.parametrize("d", [2, 3, 4, 6, 8, 10, 11])
@pytest.mark.parametrize("target", ["0.3", "0.5", "0.577", "0.73", "0.95", "1.1"])
def test_points_and_dimensions_say_what_pairs_do(d: int, target: str) -> None:
    wanted = Fraction(target)

    def excluded(d: int, K: int) -> bool:
        finding = LIMIT.evaluate(d, K)
        return finding is not None and finding.value <= wanted

    count = LIMIT.points(d, wanted)
    if count is None:
        assert not any(excluded(d, K) for K in range(2, 150))
    else:
        assert count.exact is not None
        assert excluded(d, count.exact + 1) and not excluded(d, count.exact)
    reach = LIMIT.dimension(60, wanted)
    assert reach.ending is Ending.REACHED and reach.d is not None
    assert not excluded(reach.d, 60) and (reach.d == 2 or excluded(reach.d - 1, 60))


def test_pairs_without_a_certificate_are_computed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(lists, "_DEGREE", 6)
    stages: list[str] = []
    path = tmp_path / "certificate.json"
    run = bounds(9, 21, sdp=True, export=path, progress=lambda stage, *_: stages.append(stage))
    (row,) = (row for row in run.rows if row.name == "three-point")
    assert "computed" in row.source and row.strict and run.messages == ()
    assert row.margin < bounds(9, 21, lp=True).best[0].upper
    assert set(stages) == {"three-point bound"}
    answer = verify(str(path), Deadline())
    assert (answer.d, answer.K, answer.status) == (9, 21, "proved")
    assert answer.upper == run.best[0].upper


def test_where_nothing_can_be_computed_a_message_says_so() -> None:
    (message,) = bounds([3, 4], 1000, sdp=True).messages
    assert "semidefinite program has no result at 2 of 2 pairs: its degree, 8," in message


def test_pairs_whose_bounds_meet_are_not_computed() -> None:
    run = bounds([2, 3, 8], [6, 240], sdp=True, time_limit=1e-9)
    assert [pair.exact for pair in run.best] == [True, True, True, True, False, True]
    # The one open pair is left out.
    assert run.outcome == "time_limit" and run.messages


def test_time_limits_leave_programs_out() -> None:
    assert bounds(9, 22, sdp=True, time_limit=1e-9).outcome == "time_limit"


def test_programs_are_for_pairs() -> None:
    with pytest.raises(UsageError, match="sdp requires pairs"):
        bounds(K=20, margin=0.5, sdp=True)
