"""`solve` as a Python function: known answers, laws, endings, and the JSON of every kind."""

import json
import os
import threading
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnc_cli import compare, schemas, solve
from gnc_cli.errors import DataError
from gnc_cli.geometry.sphere import normalise
from gnc_cli.io.codefile import read_code
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.search.result import Outcome, SolveResult
from tests.console.stand_in import code
from tests.problems import PROBLEMS, Problem, icosahedron, random_rotation

QUICK: dict[str, Any] = {"restarts": 64}
SMALL = [p for p in PROBLEMS if p.K <= 30 and (not p.softmax_proven or p.K in (5, 6))]
"""Some of each family of theorem 3.3, all others."""
VALIDATOR = jsonschema.Draft202012Validator(schemas.load("solve"))


def quick(d: int, K: int, **options: Any) -> SolveResult:
    return solve(d, K, **(QUICK | options))


def consistent(result: SolveResult) -> None:
    """What holds of every result, whatever it was."""
    VALIDATOR.validate(json.loads(result.dumps()))
    W = result.weights
    assert W.shape == (result.K, result.d) and W.dtype == np.float64
    rho = result.rho_one_vs_rest
    assert 0.0 <= rho.lower <= rho.upper
    assert rho.upper >= 1.0 - result.max_cosine - 1e-13
    assert result.rho_one_vs_one**2 == pytest.approx(2.0 - 2.0 * result.max_cosine, abs=1e-12)
    assert np.cos(np.radians(result.min_angle_deg)) == pytest.approx(result.max_cosine, abs=1e-12)
    assert result.margins.cosface == rho.lower
    assert np.degrees(result.margins.arcface_rad) == pytest.approx(result.min_angle_deg)
    assert result.outcome.advice and result.seconds >= 0.0


@pytest.mark.parametrize("known", SMALL, ids=str)
def test_tammes_codes_with_known_answers(known: Problem) -> None:
    result = quick(known.d, known.K, problem="tammes", method="descent")
    consistent(result)
    assert result.origin == "descent"
    assert result.max_cosine == pytest.approx(known.max_cosine, abs=1e-12)
    assert result.rho_one_vs_rest.lower == pytest.approx(known.rho, abs=1e-12)
    assert result.rho_one_vs_rest.width <= 1e-12
    assert result.first_order_gain is not None and result.first_order_gain <= 1e-9
    if known.name != "within-orthoplex":  # there optima form a continuum, with flat directions
        assert result.outcome is Outcome.CONVERGED
        assert result.stationarity is not None and result.stationarity <= 1e-9
    assert result.local_minimum == "yes"
    if known.rattlers is not None:
        assert result.rattlers.one_vs_one == known.rattlers
    if known.contacts is not None:
        assert result.contacts == known.contacts


@pytest.mark.parametrize("problem", ["tammes", "softmax"])
@pytest.mark.parametrize("known", [p for p in PROBLEMS if p.softmax_proven], ids=str)
def test_closed_forms(known: Problem, problem: str) -> None:
    result = solve(known.d, known.K, problem=problem)
    consistent(result)
    assert result.outcome is Outcome.CLOSED_FORM and result.origin.startswith("closed form: ")
    assert result.max_cosine == pytest.approx(known.max_cosine, abs=1e-15)
    assert result.rho_one_vs_rest.lower <= known.rho <= result.rho_one_vs_rest.upper
    assert result.rho_one_vs_rest.width <= 1e-13
    assert result.restarts == 0 and result.steps == 0


@cache
def _solved(seed: int) -> SolveResult:
    return quick(3, 9, problem="tammes", seed=seed)


@settings(max_examples=10)
@given(st.integers(0, 10**6))
def test_a_turned_start_gives_the_same_certificate(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first = _solved(0)
    start = (first.weights @ random_rotation(rng, 3))[rng.permutation(9)]
    again = quick(3, 9, problem="tammes", init=start, restarts=0)
    consistent(again)
    assert again.max_cosine == pytest.approx(first.max_cosine, abs=1e-14)
    assert again.rho_one_vs_rest.lower == pytest.approx(first.rho_one_vs_rest.lower, abs=1e-13)
    assert again.rattlers == first.rattlers and again.contacts == first.contacts


@pytest.mark.parametrize(
    "options",
    [{"method": "descent"}, {"problem": "ufm", "tau": 0.05}],
    ids=["search", "ufm"],
)
def test_same_seed_same_code_bit_for_bit(options: dict[str, Any]) -> None:
    one, two, other = (quick(4, 9, seed=seed, **options) for seed in (3, 3, 4))
    assert np.array_equal(one.weights, two.weights)
    assert np.array_equal(one.features, two.features)
    one, two = (replace(r, seconds=0.0) for r in (one, two))
    assert one.to_json() == two.to_json()
    assert not np.array_equal(one.weights, other.weights)


# Endings


@pytest.mark.parametrize(("problem", "target"), [("tammes", 0.2), ("softmax", 0.8)])
def test_targets(problem: str, target: float) -> None:
    """(5, 16) reaches 1/5; a target equal to the optimum counts as reached."""
    result = quick(5, 16, problem=problem, target=target)
    consistent(result)
    assert result.outcome is Outcome.TARGET_REACHED


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"problem": "tammes"},
        {"problem": "ufm", "tau": 0.1},
        {"symmetry": "antipodal"},
        {"fixed": icosahedron()[:3]},
        {"d": 4, "K": 2900},
    ],
    ids=["softmax", "tammes", "ufm", "symmetry", "fixed", "large"],
)
def test_no_time_at_all_is_a_normal_end(options: dict[str, Any]) -> None:
    options = {"d": 3, "K": 40} | options
    result = solve(**options, time_limit=1e-6)
    consistent(result)
    assert result.outcome is Outcome.TIME_LIMIT


def test_an_interruption_is_told(tmp_path: Path) -> None:
    stop = threading.Event()
    stop.set()
    file = tmp_path / "code.h5"
    result = quick(3, 14, method="descent", interrupt=stop, out=file, target=0.1)
    consistent(result)
    assert result.outcome is Outcome.INTERRUPTED
    assert np.array_equal(read_code(file).weights, result.weights)


# Options


def test_what_time_left_open_is_neither_0_nor_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "gnc_cli.search.routes.search._MAX_QUICK_POINTS", 0
    )  # certificates obey the deadline
    stop = threading.Event()
    stop.set()
    out = tmp_path / "code.h5"
    found = solve(4, 30, method="descent", interrupt=stop, out=out)
    assert found.rattlers.one_vs_rest is None
    assert found.undecided[:2] == ("rattlers.one_vs_rest", "stationarity")
    assert found.features is None and read_code(out).features is None
    whole = quick(4, 30)
    assert whole.undecided == () and whole.rattlers.one_vs_rest is not None
    assert whole.features is not None


def test_large_codes_take_another_way() -> None:
    result = solve(4, 2900, steps=3)
    consistent(result)
    assert result.origin == "large-scale descent" and result.steps == 3
    assert result.outcome is Outcome.MAX_STEPS_REACHED
    assert result.rattlers.one_vs_rest == 2899 and result.contacts == 1
    assert result.rho_one_vs_rest.lower >= 1.0 - result.max_cosine - 1e-13


def test_a_start_of_ones_own(tmp_path: Path, rng: np.random.Generator) -> None:
    start = normalise(icosahedron() + 0.01 * rng.standard_normal((12, 3)))
    np.savetxt(tmp_path / "start.txt", start, fmt="%.17g")
    result = quick(3, 12, init=tmp_path / "start.txt", restarts=0)
    assert result.max_cosine == pytest.approx(1 / np.sqrt(5), abs=1e-14)
    assert np.abs(result.weights - start).max() < 0.05 and result.steps == 0


def test_progress_is_told() -> None:
    told: list[tuple[str, int, int, float]] = []
    options: dict[str, Any] = {"method": "descent", "progress": lambda *a: told.append(a)}
    quick(3, 7, **options)
    quick(3, 7, problem="tammes", **options)
    first = next(best for *_, best in told if np.isfinite(best))
    assert first + told[-1][3] == pytest.approx(1.0, abs=1e-5)  # rho, and the cosine
    quick(3, 9, problem="ufm", tau=0.1, **options)
    quick(4, 2900, **options | {"restarts": None, "steps": 2})
    assert list(dict.fromkeys(stage for stage, *_ in told)) == [
        "rho (best known 0.789862)",
        "max_cosine (best known 0.210138)",
        "tau = 0.1",
        "large scale: max_cosine",
    ]
    for _, done, total, value in told:
        assert 0 <= done <= total and isinstance(value, float)


def test_progress_under_a_time_limit_counts_its_seconds() -> None:
    told: list[tuple[str, int, int, float]] = []
    solve(3, 9, fixed=np.eye(3)[:2], time_limit=3, workers=1, progress=lambda *a: told.append(a))
    totals = dict.fromkeys((stage.split(" ")[0], total) for stage, _, total, _ in told)
    assert [stage for stage, _ in totals] == ["max_cosine", "rho"]
    assert all(0 <= done <= total < 3 for _, done, total, _ in told)


def test_files_hold_what_the_result_says(tmp_path: Path) -> None:
    command = f"gnc solve --d 3 --K 10 --out {tmp_path / 'code.h5'}"
    result = quick(
        3, 10, out=tmp_path / "code.h5", plot=tmp_path / "code.png", seed=7, command_line=command
    )
    stored = read_code(tmp_path / "code.h5")
    assert np.array_equal(stored.weights, result.weights)
    assert stored.features is not None and result.features is not None
    assert np.array_equal(stored.features, result.features)
    said = stored.provenance
    assert said["seed"] == 7 and said["method"] == "auto"
    assert said["result"]["max_cosine"] == result.max_cosine
    assert str(tmp_path) not in str(said) and "--out code.h5" in str(said)
    assert "out" not in said["result"] and set(said["libraries"]) >= {"numpy", "scipy", "torch"}
    assert (tmp_path / "code.png").read_bytes().startswith(b"\x89PNG")
    assert result.out == str(tmp_path / "code.h5")


def test_a_failing_solve_leaves_the_old_file(tmp_path: Path) -> None:
    file = tmp_path / "code.h5"
    solve(3, 4, out=file)
    before = file.read_bytes()
    with pytest.raises(DataError):
        solve(3, 5, init=np.zeros((5, 3)), out=file, force=True)
    assert file.read_bytes() == before


def test_same_run_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    monkeypatch.setattr(Deadline, "elapsed", 0.0)
    files = [tmp_path / name for name in ("a.h5", "b.h5")]
    for file in files:
        solve(3, 7, problem="tammes", restarts=4, out=file)
    assert files[0].read_bytes() == files[1].read_bytes()


# Resume


def test_resume_begins_with_the_next_start(tmp_path: Path) -> None:
    file, options = tmp_path / "code.h5", {"problem": "tammes", "out": tmp_path / "code.h5"}
    first = quick(3, 15, restarts=64, **options)  # one task
    assert read_code(file).state == {"seed": 0, "starts": 64, "tasks": 1}
    again = quick(3, 15, restarts=3 * 64, resume=True, **options)
    assert again.restarts == 2 * 64 and again.max_cosine <= first.max_cosine
    assert read_code(file).state == {"seed": 0, "starts": 3 * 64, "tasks": 3}
    done = quick(3, 15, restarts=3 * 64, resume=True, **options)
    assert done.restarts == 0 and done.max_cosine == pytest.approx(again.max_cosine, abs=1e-13)
    other = quick(3, 15, restarts=64, seed=1, resume=True, **options)
    assert other.restarts == 64 and other.max_cosine <= again.max_cosine + 1e-13
    assert read_code(file).state == {"seed": 1, "starts": 64, "tasks": 1}


def test_restarts_counts_starts_after_a_call_with_fewer(tmp_path: Path) -> None:
    """Of two calls with few starts in one batch each, the second one searches too."""
    options: dict[str, Any] = {"method": "descent", "out": tmp_path / "code.h5"}
    assert quick(3, 15, restarts=4, **options).restarts == 4
    assert quick(3, 15, restarts=64, resume=True, **options).restarts == 60


def test_a_search_is_saved_before_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill then takes what came after; here it comes in the midst of the second round."""
    monkeypatch.setattr("gnc_cli.runtime.deadline._SAVE_EVERY", 0.0)
    monkeypatch.setattr("gnc_cli.runtime.deadline._SAVE_SHARE", 0.0)
    file, options = tmp_path / "code.h5", {"problem": "tammes", "restarts": 3 * 64}
    file.write_bytes(b"an earlier file")

    def killed(stage: str, done: int, total: int, best: float) -> None:
        if done == 2 * 64:
            raise KeyError

    with pytest.raises(KeyError):
        solve(3, 15, **options, out=file, force=True, progress=killed)  # type: ignore[arg-type]
    assert read_code(file).state == {"seed": 0, "starts": 64, "tasks": 1}
    assert compare(file).rows[0].d == 3
    again = solve(3, 15, **options, out=file, resume=True)  # type: ignore[arg-type]
    assert again.restarts == 2 * 64
    assert sorted(os.listdir(tmp_path)) == ["code.h5"]


def test_a_large_descent_is_saved_before_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gnc_cli.runtime.deadline._SAVE_EVERY", 0.0)
    monkeypatch.setattr("gnc_cli.runtime.deadline._SAVE_SHARE", 0.0)
    file = tmp_path / "code.h5"

    def killed(stage: str, done: int, total: int, best: float) -> None:
        if done:
            raise KeyError

    with pytest.raises(KeyError):
        quick(4, 2900, restarts=None, steps=9, out=file, progress=killed)
    assert read_code(file).weights.shape == (2900, 4)
    assert quick(4, 2900, restarts=None, steps=3, out=file, resume=True).steps == 3


def test_resume_without_a_file_begins_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "code.hdf5"
    result = quick(3, 7, method="descent", out=file, resume=True)
    assert f"{str(file)!r} does not exist yet; starting without it" in caplog.messages
    assert result.outcome is Outcome.CONVERGED and read_code(file).state


@pytest.mark.parametrize(
    "change",
    [
        {"K": 8},
        {"problem": "tammes"},
        {"symmetry": "cyclic:7"},
        {"fixed": np.eye(3)[:2]},
    ],
    ids=lambda c: next(iter(c)),
)
def test_resume_with_other_options_is_refused(
    change: dict[str, Any], tmp_path: Path, _resumable: bytes
) -> None:
    file = tmp_path / "code.h5"
    file.write_bytes(_resumable)
    options: dict[str, Any] = {"d": 3, "K": 7, "method": "descent"} | QUICK | change
    with pytest.raises(DataError, match="was made with .* = .+, not .*use force"):
        solve(**options, out=file, resume=True)
    assert file.read_bytes() == _resumable


@pytest.fixture(scope="module")
def _resumable(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    file = tmp_path_factory.mktemp("resume") / "code.h5"
    quick(3, 7, method="descent", out=file)
    return file.read_bytes()


def test_without_a_state_the_code_is_the_start(tmp_path: Path) -> None:
    """Of a large descent and of a feature model."""
    file = tmp_path / "code.h5"
    first, again = (
        quick(4, 2900, restarts=None, steps=3, out=file, resume=resume) for resume in (False, True)
    )
    assert again.max_cosine < first.max_cosine
    with pytest.raises(DataError, match="was made with K = 2900, not 2901"):
        solve(4, 2901, steps=3, out=file, resume=True)
    file = tmp_path / "model.h5"
    options: dict[str, Any] = {"problem": "ufm", "tau": 0.1, "steps": 50, "out": file}
    first = quick(3, 7, restarts=2, **options)
    again = quick(3, 7, restarts=1, resume=True, **options)
    assert abs(again.max_cosine - first.max_cosine) < 1e-9


@pytest.mark.parametrize("restarts", [0, 1])
def test_a_start_with_equal_rows_ends(restarts: int) -> None:
    start = np.repeat(np.eye(3), 3, axis=0)[:8]
    result = quick(3, 8, init=start, restarts=restarts)
    rho = result.rho_one_vs_rest
    assert 0.0 <= rho.lower <= rho.upper
    assert rho.upper >= 1.0 - result.max_cosine - 1e-15


def test_advice_fits_what_was_given() -> None:
    ended = code(outcome=Outcome.TIME_LIMIT, hits=0)
    assert ended.advice == "raise --time-limit, or write --out FILE.h5 and continue with --resume"
    assert replace(ended, out="code.npz").advice == ended.advice
    assert replace(ended, out="code.h5").advice == "continue with --resume"
    found = replace(ended, hits=3, batches=5, out="code.h5").advice
    assert found == "3 of 5 independent batches of starts found this code; continue with --resume"
