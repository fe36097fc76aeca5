"""What a solve says of its code: beside the best known one, and beside the best possible."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gnc_cli.brackets import Bracket
from gnc_cli.constructions.registry import find
from gnc_cli.errors import UsageError
from gnc_cli.geometry.gram import max_cosine
from gnc_cli.geometry.one_vs_rest import minimum_one_vs_rest
from gnc_cli.geometry.sphere import normalise, random_points
from gnc_cli.known_codes.best import BestKnown
from gnc_cli.known_codes.verdict import ComparisonStatus
from gnc_cli.limits.api import bounds
from gnc_cli.search.api import solve
from gnc_cli.search.instance import Instance
from gnc_cli.search.result import Outcome
from gnc_cli.search.verdict import add_verdict
from tests.console.stand_in import code

_OPTIMAL = "optimal to 1e-9 (the optimal value is proved)"


def judge(instance: Instance, W: Any, cosine: float, rho: Bracket) -> Any:
    """Return the verdict on a code with these values."""
    d, K, problem = instance.d, instance.K, instance.problem
    result = code(
        d=d, K=K, problem=problem, weights=W, max_cosine=cosine, rho_one_vs_rest=rho, optimum=None
    )
    return add_verdict(instance, result)


def judge_rows(W: np.ndarray, problem: str = "softmax") -> Any:
    K, d = W.shape
    return judge(Instance(d=d, K=K, problem=problem), W, max_cosine(W), minimum_one_vs_rest(W))


KNOWN = BestKnown(
    max_cosine=0.6, figure="0.6", source="somebody", proven=False, kind="table", d=10, K=500
)


def beside(known: BestKnown | None, cosine: float, problem: str = "softmax") -> Any:
    """A code of (10, 500) whose one-vs-rest distance is one half."""
    instance = Instance(d=10, K=500, problem=problem)
    vars(instance)["best_known"] = known
    return judge(instance, np.ones((2, 1)), cosine, Bracket(0.5, 0.5))


@pytest.mark.parametrize("problem", ["softmax", "tammes"])
def test_a_proved_optimum(problem: str) -> None:
    roots = find("e8-roots")
    assert roots is not None
    found = judge_rows(np.asarray(roots.build()), problem)
    assert found.verdict == _OPTIMAL
    assert found.status is ComparisonStatus.MATCHES
    assert found.optimum.upper == pytest.approx(0.5, abs=1e-12)
    assert found.optimum.shortfall == pytest.approx(0.0, abs=1e-12)


def test_the_upper_end_is_that_of_bounds() -> None:
    found = judge_rows(random_points(np.random.default_rng(1), 100, 10))
    (best,) = bounds(10, 100).best
    assert (found.optimum.upper, found.optimum.name) == (best.upper, best.upper_name)
    assert found.optimum.source.startswith("bisector theorem with Bachoc and Vallentin 2008")
    distance = minimum_one_vs_rest(random_points(np.random.default_rng(1), 100, 10)).lower
    assert found.optimum.shortfall == pytest.approx(1.0 - distance / best.upper, abs=1e-12)
    assert "below the best known code; at most" in found.verdict


@pytest.mark.parametrize(
    ("cosine", "words", "status"),
    [
        # Only cosines are proved in rational arithmetic, so a distance alone is no improvement.
        (0.6, "beats the best known code by 0.1; at most ", ComparisonStatus.MATCHES),
        (0.5, "ties the best known code; at most ", ComparisonStatus.MATCHES),
        (0.4, "16.7 % below the best known code; at most ", ComparisonStatus.WORSE),
        (0.499, "0.2 % below the best known code; at most ", ComparisonStatus.WORSE),
    ],
)
def test_beside_what_is_known(cosine: float, words: str, status: ComparisonStatus) -> None:
    known = replace(KNOWN, max_cosine=cosine)
    found = beside(known, 0.7)
    assert found.verdict.startswith(words)
    # A Softmax Code's status and gap are those of its distance, as `compare` has them.
    assert found.status is status
    assert found.gap == pytest.approx(0.5 - cosine, abs=1e-15)
    found = beside(known, 0.7, "tammes")
    assert found.status is ComparisonStatus.WORSE
    assert found.gap == pytest.approx(0.7 - cosine, abs=1e-15)


def test_better_than_a_code_of_gnc_is_no_record() -> None:
    known = replace(KNOWN, kind="solved", source="found by gnc")
    found = beside(known, 0.5)
    assert found.verdict.startswith("0.1 better than the code known to gnc; at most ")


def test_better_than_a_part_of_a_larger_code_is_no_record() -> None:
    known = replace(KNOWN, K=600, same_size=False, on_record=False)
    found = beside(known, 0.5)
    assert found.status is ComparisonStatus.NO_ENTRY and "beats" not in found.verdict
    said = "no record for (10, 500) here; the best part of a larger code is 0.1 worse; at most "
    assert found.verdict.startswith(said)
    known = replace(known, K=500, same_size=True)  # a construction has the size, and is no record
    found = beside(known, 0.5)
    assert "here; the best construction is 0.1 worse; at most " in found.verdict


def test_what_kept_a_search_from_most_codes_is_named() -> None:
    cube = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) / np.sqrt(3)
    rho = minimum_one_vs_rest(cube)
    instance = Instance(d=3, K=8, symmetry=("antipodal", 2))
    found = judge(instance, cube, max_cosine(cube), rho)
    assert "9.8 % below the optimum without the symmetry, which is known" in found.verdict
    result = solve(3, 8, symmetry="antipodal", restarts=4)
    assert result.outcome is Outcome.CONVERGED
    assert result.local_minimum == "no"  # the cube's faces may turn against each other
    fixed = solve(3, 9, fixed=normalise(np.array([[1.0, 0, 0], [1.0, 0.2, 0]])), restarts=4)
    assert fixed.outcome is not Outcome.LOCAL_OPTIMUM
    assert fixed.verdict is not None and "without the fixed rows" in fixed.verdict


@pytest.mark.parametrize("gap", [5e-11, 5e-10, -5e-10])
def test_what_meets_a_proved_optimum_is_optimal(gap: float) -> None:
    optimum = 0.2769215316664915
    rho = Bracket(optimum - gap, optimum + 1e-9)
    found = judge(Instance(d=3, K=24), np.ones((2, 1)), 0.8, rho)
    assert found.verdict == _OPTIMAL


@pytest.mark.parametrize(
    ("problem", "target", "words"),
    [
        ("softmax", 0.3, "target 0.3 is out of reach for d = 3, K = 24: rho is at most 0.2769"),
        ("softmax", 0.3, r"\(.* snub-cube, Robinson 1961, .*\); see gnc bounds --d 3 --K 24"),
        ("tammes", 0.7, "target 0.7 is out of reach .* the largest cosine is at least 0.7230"),
    ],
)
def test_targets_that_no_code_reaches_are_refused(problem: str, target: float, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        solve(3, 24, problem=problem, target=target)


def test_a_local_optimum_is_called_one() -> None:
    result = solve(3, 13, method="descent", restarts=1)
    assert result.outcome is Outcome.LOCAL_OPTIMUM
    assert result.stationarity is not None and result.stationarity < 1e-9
    assert result.verdict is not None and "below the optimum, which is known" in result.verdict
    assert result.optimum is not None and 0.0 < result.optimum.shortfall < 0.05


def test_a_search_ends_at_a_proved_optimum() -> None:
    result = solve(3, 12, method="descent", restarts=640)
    assert result.outcome is Outcome.CONVERGED
    assert result.verdict == _OPTIMAL and result.batches == 1


def test_nothing_known() -> None:
    found = beside(None, 0.5, "tammes")
    assert found.best_known is None and found.gap is None
    assert found.status is ComparisonStatus.NO_ENTRY
    assert found.verdict.startswith("no code of this size is known; at most ")


def test_an_open_bracket_says_at_most() -> None:
    """The certified lower end of a search that was cut short may be far below the distance."""
    W = random_points(np.random.default_rng(0), 24, 3)
    upper = minimum_one_vs_rest(W).upper
    for problem, width, is_open in (
        ("softmax", 2e-6, True),
        ("softmax", 5e-7, False),
        ("tammes", upper, False),
    ):
        instance = Instance(d=3, K=24, problem=problem)
        found = judge(instance, W, max_cosine(W), Bracket(upper - width, upper))
        assert found.verdict.startswith("at most ") == is_open


@pytest.mark.parametrize(("d", "K", "option"), [(5, 32, " --construction known"), (9, 58, "")])
def test_a_search_that_ends_below_a_code_that_gnc_ships_names_the_command_for_it(
    d: int, K: int, option: str
) -> None:
    poor = solve(d, K, init=random_points(np.random.default_rng(0), K, d), restarts=0)
    assert poor.verdict is not None
    _, _, command = poor.verdict.rpartition("; for a better code: gnc solve ")
    assert command == f"--d {d} --K {K}{option}"
    better = solve(d, K, construction="known") if option else solve(d, K, restarts=1)
    assert better.verdict is not None
    assert better.distance > poor.distance and "for a better code" not in better.verdict
