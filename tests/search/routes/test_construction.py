"""Constructions within `solve`: listed, chosen, built, certified, held against searches."""

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from gnc_cli import schemas, solve
from gnc_cli.brackets import Bracket
from gnc_cli.constructions.construction import Construction, Cosine
from gnc_cli.constructions.registry import names
from gnc_cli.errors import UsageError
from gnc_cli.geometry.gram import max_cosine, welch
from gnc_cli.io.codefile import read_code
from gnc_cli.known_codes.table import NUMERICAL_DATE
from gnc_cli.search.instance import Instance
from gnc_cli.search.result import Outcome, SolveResult
from gnc_cli.search.routes.construction import (
    ImprovementSearch,
    StoredCode,
    better_code,
    worth_a_search,
)
from tests.problems import route_of

FOUND = f"found by gnc {NUMERICAL_DATE}"
VALIDATOR = jsonschema.Draft202012Validator(schemas.load("solve"))


def solved(*args: Any, **options: Any) -> SolveResult:
    result = solve(*args, **options)
    VALIDATOR.validate(json.loads(result.dumps()))
    return result


@pytest.mark.parametrize(
    ("d", "K", "name", "cosine", "problem"),
    [
        (3, 24, "snub-cube", None, "softmax"),
        (8, 240, "e8-roots", 1 / 2, "tammes"),
        (16, 288, "kerdock-4", 1 / 4, "softmax"),
        (22, 275, "mclaughlin", 1 / 6, "tammes"),
        (21, 50, "hoffman-singleton", 1 / 21, "softmax"),
    ],
)
def test_proved_codes_need_no_search(
    d: int, K: int, name: str, cosine: float | None, problem: str
) -> None:
    result = solved(d, K, problem=problem)
    assert result.origin == f"construction: {name}" and result.outcome is Outcome.CONSTRUCTED
    assert result.restarts == result.steps == 0
    assert cosine is None or result.max_cosine == cosine
    assert max_cosine(result.weights) == pytest.approx(result.max_cosine, abs=1e-14)
    rho = result.rho_one_vs_rest
    assert rho.lower == pytest.approx(1 - result.max_cosine, abs=1e-13) and rho.width < 1e-12
    assert result.best_known is not None and result.best_known.proven
    assert result.best_known.max_cosine == pytest.approx(result.max_cosine, abs=1e-12)


def test_a_named_construction_whole_in_part_and_wider() -> None:
    whole = solved(construction="icosahedron")
    assert (whole.d, whole.K, whole.contacts) == (3, 12, 30)
    part = solved(5, 7, construction="icosahedron")
    assert part.origin == (
        "construction: icosahedron, first 7 of 12 rows, embedded from 3 dimensions"
    )
    assert part.weights.shape == (7, 5) and (part.weights[:, 3:] == 0.0).all()
    np.testing.assert_allclose(
        part.weights @ part.weights.T, (whole.weights @ whole.weights.T)[:7, :7], atol=1e-15
    )


@pytest.mark.parametrize(
    ("d", "K", "by"), [(4, 9, FOUND), (3, 13, f"best known, coordinates {FOUND}")]
)
def test_a_stored_code_is_certified_and_said_to_be_one(
    tmp_path: Path, d: int, K: int, by: str
) -> None:
    path = tmp_path / "code.h5"
    result = solved(d, K, construction="known", out=path)
    assert (result.origin, result.outcome) == (f"stored code: {by}", Outcome.STORED)
    assert result.steps == result.restarts == 0 and result.best_known is not None
    assert result.max_cosine == pytest.approx(result.best_known.max_cosine, abs=2e-12)
    # A second witness of the certificate: all pairs, and the bisector theorem.
    assert max_cosine(result.weights) == pytest.approx(result.max_cosine, abs=1e-14)
    rho = result.rho_one_vs_rest
    assert rho.width < 1e-11 and rho.lower == pytest.approx(1.0 - result.max_cosine, abs=1e-9)
    kept = read_code(path)
    assert np.array_equal(kept.weights, result.weights)
    assert kept.provenance["result"]["origin"] == result.origin
    assert kept.provenance["result"]["outcome"] == "stored" and not kept.state


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"construction": "known", "K": 3}, "missing d; give both"),
        ({"construction": "known", "d": 3, "K": 12}, "K = 12 are stored; drop construction="),
        (
            {"construction": "known", "d": 3, "K": 13, "restarts": 9},
            "construction excludes restarts; drop",
        ),
        ({"construction": "snub-cub"}, "'snub-cub' is not known; did you mean snub-cube"),
        ({"construction": "e8-roots", "d": 7}, "needs 8 dimensions; d=7 is too few"),
        ({"construction": "e8-roots", "K": 241}, "240 rows; K=241 is too many"),
        (
            {"construction": "e8-roots", "init": np.eye(3), "time_limit": 9.0},
            "excludes init, time_limit; drop",
        ),
        (
            {"construction": "e8-roots", "problem": "ufm", "tau": 1.0},
            "excludes problem='ufm', tau; drop",
        ),
        ({"construction": "gold-9", "K": 400_000, "plot": "a.png"}, "plot requires the rows"),
        ({"construction": "gold-9", "K": 400_000, "out": "a.txt"}, "in chunks"),
        ({"construction": "kerdock-5"}, "kerdock-.. takes m = 4, 6, .., 12"),
        ({}, "missing d and K;"),
    ],
)
def test_refusals(options: dict[str, Any], words: str, tmp_path: Path) -> None:
    for key in ("out", "plot"):
        if key in options:
            options = options | {key: tmp_path / options[key]}
    with pytest.raises(UsageError, match=words):
        solve(**options)
    assert list(tmp_path.iterdir()) == []


def test_a_search_runs_beside_what_is_not_proved(tmp_path: Path) -> None:
    result = solved(10, 40, restarts=2, problem="tammes", out=tmp_path / "code.h5")
    assert result.origin == "construction: smith" and result.max_cosine == 1 / 6
    assert result.steps > 0 and result.restarts > 0
    assert read_code(tmp_path / "code.h5").state  # the search can be gone on with
    again = solved(10, 40, restarts=2, problem="tammes", out=tmp_path / "code.h5", resume=True)
    assert again.steps == 0 and again.max_cosine == 1 / 6  # it had finished


def test_a_met_target_ends_before_the_search() -> None:
    result = solved(10, 40, problem="tammes", target=0.2)
    assert result.outcome is Outcome.TARGET_REACHED and result.steps == 0


def test_the_better_code_wins() -> None:
    built = solved(construction="smith", problem="tammes")
    found = replace(built, origin="descent", steps=9, outcome=Outcome.CONVERGED)
    assert better_code(built, found).origin == "construction: smith"
    assert better_code(built, found).steps == 9
    lower = replace(found, max_cosine=built.max_cosine - 1e-6)
    won = better_code(built, lower)
    assert won.start is not None and won.start.origin == "construction: smith"
    assert won.start.gain == pytest.approx(1e-6, rel=1e-6) and replace(won, start=None) == lower
    shipped = replace(built, outcome=Outcome.STORED, origin="stored code: x")
    tie = better_code(shipped, replace(found, max_cosine=built.max_cosine - 1e-10))
    assert tie.start is not None and tie.start.gain == 0.0  # stored coordinates are rounded
    assert (tie.origin, tie.searched, tie.steps) == ("stored code: x", False, 9)
    assert better_code(built, replace(found, max_cosine=0.9)).max_cosine == built.max_cosine
    stopped = replace(found, outcome=Outcome.INTERRUPTED)
    assert better_code(built, stopped).outcome is Outcome.INTERRUPTED
    softmax = [
        replace(code, problem="softmax", rho_one_vs_rest=Bracket(lower, 1.0))
        for code, lower in ((built, 0.5), (found, 0.6))
    ]
    assert better_code(*softmax).origin == "descent"
    assert better_code(*reversed(softmax)).origin == "descent"


def test_large_codes_are_streamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = solved(64, 5000)
    monkeypatch.setattr("gnc_cli.constructions.construction.MAX_NUMBERS", 1000)
    streamed = solved(64, 5000, out=tmp_path / "code.h5")
    assert not isinstance(streamed.weights, np.ndarray)
    assert streamed.rho_one_vs_rest == whole.rho_one_vs_rest
    np.testing.assert_array_equal(np.asarray(streamed.weights), whole.weights)
    stored = read_code(tmp_path / "code.h5")
    np.testing.assert_allclose(stored.weights, whole.weights, atol=1e-8)
    assert stored.provenance["result"]["origin"] == streamed.origin


def test_an_upper_bound_says_so() -> None:
    result = solved(construction="cubic-31", K=5000)
    assert result.origin.endswith("(largest cosine: an upper bound)")
    assert max_cosine(result.weights) <= result.max_cosine + 1e-15


def test_the_list_names_what_can_be_built(gnc: Callable[..., Any]) -> None:
    listed = json.loads(gnc("solve", "--list-constructions", "--json").stdout)
    VALIDATOR.validate(listed)
    table = gnc("solve", "--list-constructions", "--csv").stdout
    for rows in (listed["rows"], list(csv.DictReader(io.StringIO(table)))):
        named = [row["name"] for row in rows]
        assert len(set(named)) == len(named) > 40
        assert all(r["d"] and r["K"] and r["max_cosine"] and r["reference"] for r in rows)
    for row in listed["rows"]:
        if row["proven"] is not None and int(row["K"]) <= 60:
            result = solved(construction=row["name"])
            assert (str(result.d), str(result.K)) == (row["d"], row["K"])


def test_names_are_never_cut(gnc: Callable[..., Any]) -> None:
    run = gnc("solve", "--list-constructions", env={"COLUMNS": "60", "NO_COLOR": "1"})
    assert run.exit_code == 0 and run.stderr == ""
    first = [line.split()[0] for line in run.stdout.splitlines()[2:] if not line.startswith(" ")]
    assert set(names()) <= set(first)


def named(d: int, K: int, cosine: float, proven: bool = False) -> Construction:
    def build() -> Any:
        raise AssertionError("a choice builds nothing")

    return Construction(
        "x", "", d, K, Cosine("?", cosine), "somebody" if proven else None, "", build
    )


def test_what_needs_no_search() -> None:
    def worth(code: Construction, **more: Any) -> bool:
        return worth_a_search(Instance(d=code.d, K=code.K), code, invited=bool(more))

    assert not worth(named(8, 240, 0.5, proven=True))
    assert not worth(named(8, 240, 0.5, proven=True), time_limit=9.0)
    assert not worth(named(512, 10_000, 1 / 16)) and not worth(named(64, 100_000, 0.25))
    assert not worth(named(4096, 10**6, 0.9))  # nothing else can be done in minutes
    assert worth(named(100, 5000, 0.25))
    assert worth(named(10, 40, 1 / 6))  # small enough to search anyway
    # At the sizes of networks descents are better than codes near Welch's bound.
    assert worth(named(64, 200, 1 / 17)) and worth(named(512, 2048, 512**-0.5))


def test_a_proved_code_with_coordinates_needs_no_search() -> None:
    assert isinstance(route_of(d=3, K=13), StoredCode)
    assert isinstance(route_of(d=3, K=19), ImprovementSearch)


@pytest.mark.parametrize(("d", "K", "searches"), [(32, 1000, True), (64, 100_000, False)])
def test_a_time_limit_invites_a_search_but_not_where_it_ends_far_behind(
    d: int, K: int, searches: bool
) -> None:
    code = named(d, K, 1.2 * welch(d, K))
    assert worth_a_search(Instance(d=d, K=K), code, invited=True) is searches
    assert not worth_a_search(Instance(d=d, K=K), code, invited=False)


def test_the_sheet_says_that_a_descent_has_no_chance() -> None:
    result = solved(d=64, K=4000)
    assert result.outcome is Outcome.CONSTRUCTED and "far behind" in result.advice
