"""What a solve says of its code: beside the best known one, and beside the best possible."""

import numpy as np
import pytest

from gnc_cli.codes.constructions.registry import find
from gnc_cli.io.known_codes import stored_codes
from gnc_cli.numerics.gram import max_cosine
from gnc_cli.numerics.one_vs_rest import minimum_one_vs_rest
from gnc_cli.numerics.sphere import random_points
from gnc_cli.results import Bracket, Outcome, SolveResult, Standing
from gnc_cli.workflows import solve_verdict
from gnc_cli.workflows.bounds import bounds
from gnc_cli.workflows.known import Reference
from gnc_cli.workflows.solve import solve
from gnc_cli.workflows.solve_verdict import Judgement, judge


def judged(W: np.ndarray, problem: str = "softmax") -> Judgement:
    K, d = W.shape
    return judge(problem, d, K, W, max_cosine(W), minimum_one_vs_rest(W)[0])


@pytest.mark.parametrize("problem", ["softmax", "tammes"])
def test_a_proved_optimum(problem: str) -> None:
    code = find("e8-roots")
    assert code is not None
    found = judged(np.asarray(code.build()), problem)
    assert found.verdict == "optimal (proved)" and found.optimum.proved
    assert found.status is Standing.MATCHES and not found.misses_proved_optimum
    assert found.optimum.upper == pytest.approx(0.5, abs=1e-12)
    assert found.optimum.shortfall == pytest.approx(0.0, abs=1e-12)


def test_worse_than_a_proved_optimum() -> None:
    found = judged(random_points(np.random.default_rng(0), 24, 3))
    assert found.misses_proved_optimum and found.status is Standing.WORSE
    assert found.verdict.endswith("% below the optimum, which is known: proven optimal")
    assert found.gap is not None and found.gap > 0.0


def test_a_tie_with_a_code_that_nobody_has_proved() -> None:
    (_, W), *_ = stored_codes(3, 15)
    found = judged(W)
    assert found.status is Standing.MATCHES and not found.optimum.proved
    assert found.verdict.startswith("ties the best on record; at most ")
    assert found.verdict.endswith(f" % below the optimum ({found.optimum.name})")


def test_the_upper_end_is_that_of_bounds() -> None:
    found = judged(random_points(np.random.default_rng(1), 100, 10))
    (best,) = bounds(10, 100).best
    assert (found.optimum.upper, found.optimum.name) == (best.upper, best.upper_name)
    assert found.optimum.source.startswith("bisector theorem with Levenshtein 1979, 1998")
    distance = minimum_one_vs_rest(random_points(np.random.default_rng(1), 100, 10))[0].lower
    assert found.optimum.shortfall == pytest.approx(1.0 - distance / best.upper, abs=1e-12)
    assert "below the best on record; at most" in found.verdict


@pytest.mark.parametrize(
    ("on_record", "kind", "cosine", "status", "words"),
    [
        (True, "table", 0.6, Standing.IMPROVES, "beats the best on record by 0.1: new best, keep"),
        (True, "table", 0.5, Standing.MATCHES, "ties the best on record; at most"),
        (False, "construction", 0.6, Standing.NO_ENTRY, "better than any code known for this size"),
        (False, "construction", 0.5, Standing.NO_ENTRY, "as good as any code known for this size"),
        (False, "construction", 0.4, Standing.WORSE, "17 % below the best on record"),
    ],
)
def test_beside_what_is_known(
    on_record: bool,
    kind: str,
    cosine: float,
    status: Standing,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A Softmax Code of distance one half in (10, 500)."""
    known = Reference(cosine, kind, 10, 500, "somebody", own=True, on_record=on_record)
    monkeypatch.setattr(solve_verdict, "best", lambda d, K: known)
    found = judge("softmax", 10, 500, None, 0.7, Bracket(0.5, 0.5))
    assert found.status is status and found.verdict.startswith(words)
    assert found.gap == pytest.approx(0.5 - cosine, abs=1e-12)


def test_a_local_optimum_is_called_one() -> None:
    result = solve(3, 13, method="descent", restarts=1, steps=40)
    assert isinstance(result, SolveResult) and result.outcome is Outcome.LOCAL_OPTIMUM
    assert result.stationarity is not None and result.stationarity < 1e-9
    assert result.verdict is not None and "below the optimum, which is known" in result.verdict
    assert result.optimum is not None and 0.0 < result.optimum.shortfall < 0.05


def test_a_search_ends_at_a_proved_optimum() -> None:
    result = solve(3, 12, method="descent", restarts=640)
    assert isinstance(result, SolveResult) and result.outcome is Outcome.CONVERGED
    assert result.verdict == "optimal (proved)" and result.restarts == 64


def test_nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solve_verdict, "best", lambda d, K: None)
    found = judge("tammes", 10, 500, None, 0.5, Bracket(0.5, 0.6))
    assert found.best_known is None and found.gap is None and found.status is Standing.NO_ENTRY
    assert found.verdict.startswith("nothing is on record for this size; at most ")
