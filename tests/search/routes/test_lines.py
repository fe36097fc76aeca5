"""Lines: known optima, an independent witness, invariance, files, and what excludes them."""

import json
import math
from functools import cache
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnc_cli import bounds, compare, schemas, solve, solve_sweep
from gnc_cli.comparison import plot as compared
from gnc_cli.errors import UsageError
from gnc_cli.io.codefile import read_code
from gnc_cli.search import plot
from gnc_cli.search.request import Solve
from gnc_cli.search.result import Outcome, SolveResult
from gnc_cli.search.routes.construction import Algebra
from gnc_cli.search.routes.lines import KnownLines
from gnc_cli.search.run import choose_route, instance_of
from tests.problems import random_rotation

VALIDATOR = jsonschema.Draft202012Validator(schemas.load("solve"))


def lines(d: int, K: int, **options: object) -> SolveResult:
    """Solve, and compare every value with NumPy's."""
    result = solve(d, K, problem="lines", **options)
    VALIDATOR.validate(json.loads(result.dumps()))
    W = result.weights
    assert W.shape == (K, d) and np.allclose(np.linalg.norm(W, axis=1), 1.0, atol=1e-13)
    largest = np.abs(W @ W.T - np.eye(K)).max()
    assert result.coherence == pytest.approx(largest, abs=1e-14)
    assert result.min_angle_deg == pytest.approx(math.degrees(math.acos(largest)), abs=1e-6)
    assert result.max_cosine is None and result.rho_one_vs_rest is None
    assert result.optimum is not None and 1.0 - result.optimum.upper <= largest + 1e-12
    assert result.distance == 1.0 - result.coherence
    return result


@pytest.mark.parametrize(
    ("d", "K", "value", "origin"),
    [
        (4, 3, 0.0, "closed form: orthogonal lines"),
        (4, 5, 1 / 4, "closed form: simplex"),
        (2, 7, math.cos(math.pi / 7), "closed form: equal angles"),
        (3, 6, 1 / math.sqrt(5), "construction: icosahedron"),
        (7, 28, 1 / 3, "construction: equiangular-28"),
        (8, 120, 1 / 2, "construction: e8-roots"),
        (23, 276, 1 / 5, "construction: equiangular-276"),
    ],
)
def test_known_lines_need_no_search(d: int, K: int, value: float, origin: str) -> None:
    result = lines(d, K)
    assert result.coherence == pytest.approx(value, abs=1e-12) and result.origin.startswith(origin)
    assert result.optimum is not None and result.optimum.proved and not result.searched
    assert result.advice in ("nothing to improve", Outcome.CLOSED_FORM.advice)
    assert "proved" in str(result) and "coherence" in str(result)


@pytest.mark.parametrize(
    ("d", "K", "value"),
    [
        (3, 6, 1 / math.sqrt(5)),  # icosahedron
        (3, 7, 1 / math.sqrt(3)),  # orthoplex bound
        (4, 6, 1 / 3),  # Conway, Hardin and Sloane 1996
        (5, 10, 1 / 3),  # Petersen graph
        (6, 16, 1 / 3),  # equiangular
    ],
)
def test_searches_find_optimal_lines(d: int, K: int, value: float) -> None:
    result = lines(d, K, method="descent", restarts=24)
    assert result.coherence == pytest.approx(value, abs=1e-10)
    assert result.status is not None and result.status.value == "matches"


@cache
def seven_lines() -> np.ndarray:
    """The best known seven lines in four dimensions."""
    return lines(4, 7, method="descent", restarts=16).weights


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10**6))
def test_coherence_does_not_depend_on_signs_and_rotations_of_the_start(seed: int) -> None:
    rng = np.random.default_rng(seed)
    start = seven_lines() + 0.02 * rng.standard_normal((7, 4))
    turned = start @ random_rotation(rng, 4) * rng.choice([-1.0, 1.0], 7)[:, None]
    first, second = (
        lines(4, 7, init=rows, restarts=0, method="descent").coherence for rows in (start, turned)
    )
    assert first == pytest.approx(second, abs=1e-7)


def test_a_file_of_lines_says_so_and_compare_judges_it_by_coherence(tmp_path: Path) -> None:
    file = tmp_path / "lines.h5"
    result = lines(4, 7, method="descent", restarts=16, out=file, plot=tmp_path / "lines.png")
    assert read_code(str(file)).provenance["identity"]["problem"] == "lines"
    (row,) = compare(file, plot=tmp_path / "compared.png").rows
    assert row.problem == "lines" and row.max_cosine is None
    assert row.coherence == result.coherence == row.compared
    assert row.status.value == "matches" and row.passed and "coherence" in str(compare(file))
    resumed = lines(4, 7, method="descent", restarts=32, out=file, resume=True)
    assert resumed.coherence <= result.coherence
    # The same rows as text are points, unless the call says that they are lines.
    text = tmp_path / "lines.txt"
    np.savetxt(text, result.weights)
    (points,), (same,) = compare(text, tolerance=9).rows, compare(text, lines=True).rows
    assert points.coherence is None and points.max_cosine <= result.coherence + 1e-12
    assert same.coherence == pytest.approx(result.coherence, abs=1e-14)
    assert compare(result).rows[0].coherence == result.coherence


def test_lines_are_described_as_their_antipodal_points(tmp_path: Path) -> None:
    result = compare(lines(5, 10), describe=True, digits=20, export=tmp_path)
    assert str(result).count(" of 20 points, two on each line\n") == 2  # description and digits
    (row,) = result.rows
    assert row.digits.polynomial.text == "3x - 1" and row.digits.polynomial.proved
    assert row.description.symmetry.order == "1440"
    assert row.contacts == 45 and len(np.loadtxt(tmp_path / "coordinates.txt")) == 20


def test_a_table_of_lines_is_headed_by_their_quantity(tmp_path: Path) -> None:
    result = lines(5, 10)
    np.savetxt(tmp_path / "points.txt", np.eye(3))
    several = compare([result, result]), compare([result, tmp_path / "points.txt"])
    heads = [next(line for line in str(s).splitlines() if "  best known" in line) for s in several]
    assert "coherence" in heads[0] and "max_cosine" not in heads[0]
    assert "max_cosine     coherence" in heads[1]
    row = compare(result).rows[0]
    for _, facts in (plot._heading(result), compared._heading(row)):
        assert "coherence 0.33333" in facts and "both points of each line" in facts


def test_a_worse_file_is_sent_back_to_lines(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).standard_normal((7, 4))
    (row,) = compare(rows, lines=True).rows
    assert row.status.value == "worse" and "--problem lines" in row.advice and not row.passed


def test_targets_of_lines_are_coherences() -> None:
    found = lines(5, 10, target=0.34)
    assert found.outcome is Outcome.TARGET_REACHED
    with pytest.raises(UsageError, match="the coherence is at least 0.333"):
        solve(5, 10, problem="lines", target=0.33)


@pytest.mark.parametrize("option", [{"symmetry": "antipodal"}, {"fixed": np.eye(4)[:2]}])
def test_what_lines_exclude(option: dict) -> None:
    with pytest.raises(UsageError, match="lines"):
        solve(4, 7, problem="lines", **option)


def test_too_many_lines_are_refused_before_a_search() -> None:
    with pytest.raises(UsageError, match="K up to"):
        solve(4, 5000, problem="lines")


@pytest.mark.parametrize(
    ("d", "K"), [(64, 2080), (256, 30_000), (1024, 2000), (1024, 500_000), (4096, 8_000_000)]
)
def test_the_command_that_bounds_names_runs(d: int, K: int) -> None:
    """Constructions too large to hold are built as points, and matrices of a search fit."""
    rows = bounds(d, K, quantity="lines").rows
    _, _, *words = next(row.how for row in rows if row.name == "construction").split()
    options = dict(zip((w.removeprefix("--") for w in words[::2]), words[1::2], strict=True))
    call = Solve(**{k: int(v) if v.isdigit() else v for k, v in options.items()})
    route = choose_route(call, instance_of(call), None, {})
    route.check()
    assert (K, d) == (2080, 64) or isinstance(route, (KnownLines, Algebra))


@pytest.mark.parametrize(("d", "K", "pairs"), [(3, 2, 1), (3, 3, 3), (4, 4, 6), (3, 6, 15)])
def test_contacts_count_pairs_of_lines(d: int, K: int, pairs: int) -> None:
    result = solve(d, K, problem="lines")
    assert result.contacts == pairs
    (row,) = compare(result.weights, lines=True).rows
    assert row.contacts == pairs


def test_a_sweep_of_lines_shows_its_only_row() -> None:
    assert "coherence" in str(solve_sweep(3, 4, problem="lines"))
