"""The conjecture's rows: where t comes from, every verdict, evidence on disk, the named codes."""

import json
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from gnc_cli.codes.conjecture import rational_margin
from gnc_cli.codes.constructions.construction import Construction, Cosine, Rows
from gnc_cli.codes.local_climb import Climb
from gnc_cli.io.gncfile import read_code
from gnc_cli.numerics.one_vs_rest import minimum_one_vs_rest, one_vs_rest
from gnc_cli.results import Bracket, CompareRow, Standing
from gnc_cli.workflows import compare_solve as solving
from gnc_cli.workflows.compare_claims import TammesValue
from gnc_cli.workflows.compare_conjecture import compare_conjecture
from gnc_cli.workflows.compare_local import climbs_from
from gnc_cli.workflows.compare_named import NamedJob, named_codes, named_row
from gnc_cli.workflows.known import Reference
from tests.workflows.compare_fakes import Solver, named_rows, random_rows

KEYS = {
    "how", "h_minus_w", "reference", "one_minus_t", "excess", "tolerance", "verdict",
    "same_maximiser", "origin", "outcome", "rho_one_vs_rest", "seed", "restarts",
}  # fmt: skip


def using(monkeypatch: pytest.MonkeyPatch, answer: Any) -> Solver:
    fake = Solver(answer)
    monkeypatch.setattr("gnc_cli.workflows.solve.solve", fake)
    monkeypatch.setattr(solving, "_load", lambda: None)
    return fake


def always(W: np.ndarray) -> Any:
    return lambda d, K, **_: W


def held_against(monkeypatch: pytest.MonkeyPatch, t: float, *, proven: bool) -> None:
    """As if the table had this entry."""
    entry = Reference(t, Fraction(t), 0.0, "a table", proven, listed=True)
    monkeypatch.setattr("gnc_cli.workflows.compare_conjecture.reference", lambda d, K, table: entry)


def one(result: Any) -> CompareRow:
    (row,) = result.rows
    assert set(row.more) >= KEYS
    return row


def test_h_is_compared_with_w_where_it_is_held() -> None:
    from dataclasses import replace

    from gnc_cli.workflows.compare_claims import features_apart
    from tests.workflows.compare_fakes import solved

    W = named_rows("icosahedron")
    H = W.copy()
    H[3], H[7] = W[4], -W[7]
    found = replace(solved(W), features=H, extras={"rattlers_one_vs_rest": np.arange(12) == 7})
    assert features_apart(found) == pytest.approx(np.linalg.norm(W[3] - W[4]))
    assert features_apart(replace(found, features=None)) is None
    assert features_apart(replace(found, extras={})) is None


def test_an_optimal_code_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = using(monkeypatch, always(named_rows("icosahedron")))
    result = compare_conjecture([3], [12], budget=4.0, seed=2)
    row = one(result)
    assert row.more["verdict"] == "agrees" and row.more["same_maximiser"] is True
    assert row.more["reference"] == "table" and row.more["how"] == "independent"
    assert row.more["one_minus_t"] == pytest.approx(1 - 5**-0.5)
    assert abs(row.more["excess"]) < 1e-13
    assert row.more["h_minus_w"] < 1e-7
    assert row.status is Standing.MATCHES and row.congruent_to == "icosahedron"
    assert result.extras["verdicts"] == {"agrees": 1}
    # Nothing of Tammes in the search: no start, no closed form, no target.
    (call,) = fake.calls
    assert call["problem"] == "softmax" and call["cross_start"] is False
    assert call["method"] == "descent" and call["time_limit"] == 4.0 and call["seed"] == 2
    assert not {"init", "target", "fixed"} & set(call)


def test_a_theorem_gives_t_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    using(monkeypatch, always(np.concatenate([np.eye(3), -np.eye(3)])))
    row = one(compare_conjecture([3], [6]))
    assert row.more["reference"] == "theorem" and row.more["one_minus_t"] == 1.0
    assert row.more["verdict"] == "agrees"


def test_a_poor_code_is_below_and_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    using(monkeypatch, always(random_rows(3, 12)))
    row = one(compare_conjecture([3], [12]))
    assert row.more["verdict"] == "below" and row.more["same_maximiser"] is None
    assert row.more["excess"] < -0.1
    assert row.status is Standing.WORSE


def crooked() -> tuple[np.ndarray, float, float]:
    """A code whose one-vs-rest distance is well above 1 - max_cosine, with both numbers."""
    W = random_rows(3, 7, seed=4)
    gram = W @ W.T - 3 * np.eye(7)
    rho = minimum_one_vs_rest(W)[0].lower
    assert rho > 1 - gram.max() + 1e-3
    return W, float(gram.max()), rho


def test_a_counterexample_is_proved_and_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # A table that wrongly calls a large t optimal: what the code would look like if it were.
    W, cosine, rho = crooked()
    using(monkeypatch, always(W))
    held_against(monkeypatch, cosine, proven=True)
    out = tmp_path / "rows.jsonl"
    row = one(compare_conjecture([3], [7], out=out))
    assert row.more["verdict"] == "counterexample"
    assert row.more["excess"] == pytest.approx(rho - (1 - cosine), abs=1e-12)
    # Beside the rows, under a name that holds wherever the two are moved.
    assert row.more["evidence"] == "counterexample-3-7-seed-0.h5"
    code = read_code(tmp_path / row.more["evidence"])
    assert np.array_equal(code.weights, W)
    assert code.features is not None
    # The file alone suffices to check the claim.
    assert rational_margin(code.weights, code.features) > 1 - cosine + 1e-3
    claim = code.provenance["conjecture"]
    assert claim["verdict"] == "counterexample" and claim["t"] == cosine and claim["K"] == 7
    assert claim["proved_margin"] == row.more["proved_margin"]
    assert float(claim["proved_margin"]) == pytest.approx(rho, abs=1e-14)
    assert json.loads(out.read_text())["evidence"] == row.more["evidence"]
    assert str(tmp_path) not in out.read_text()


def test_evidence_in_another_folder_is_named_from_the_rows(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    W, cosine, _ = crooked()
    using(monkeypatch, always(W))
    held_against(monkeypatch, cosine, proven=False)
    for name in ("rows", "claims"):
        (tmp_path / name).mkdir()
    out = tmp_path / "rows" / "all.jsonl"
    row = one(compare_conjecture([3], [7], out=out, evidence=tmp_path / "claims"))
    assert row.more["evidence"] == str(Path("..", "claims", "candidate-3-7-seed-0.h5"))
    assert (out.parent / row.more["evidence"]).exists()


def test_a_candidate_has_survived_a_tammes_polish(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    W, cosine, _ = crooked()
    fake = using(monkeypatch, always(W))
    held_against(monkeypatch, cosine, proven=False)
    monkeypatch.chdir(tmp_path)
    row = one(compare_conjecture([3], [7]))
    assert row.more["verdict"] == "candidate"
    assert row.more["evidence"] == "candidate-3-7-seed-0.h5"
    assert (tmp_path / row.more["evidence"]).exists()
    polish = fake.calls[-1]
    assert polish["problem"] == "tammes" and polish["restarts"] == 0
    assert np.array_equal(polish["init"], W)


def test_a_polish_that_beats_t_turns_a_candidate_into_news_for_the_table(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    W, cosine, _ = crooked()
    best = named_rows("tammes-7")
    held_against(monkeypatch, cosine, proven=False)
    monkeypatch.chdir(tmp_path)
    using(monkeypatch, lambda d, K, **o: best if "init" in o else W)
    row = one(compare_conjecture([3], [7]))
    assert row.more["verdict"] == "improves"
    assert row.more["polished_cosine"] == pytest.approx(0.2101383127306)
    assert row.more.get("evidence") is None
    assert not list(tmp_path.glob("*.h5"))


def test_a_claim_that_exact_arithmetic_does_not_bear_is_dropped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    W, cosine, _ = crooked()
    using(monkeypatch, always(W))
    held_against(monkeypatch, cosine, proven=True)
    monkeypatch.chdir(tmp_path)
    for margin, said in ((1 - Fraction(cosine), "agrees"), (Fraction(1, 10), None)):
        monkeypatch.setattr(
            "gnc_cli.workflows.compare_claims.rational_margin",
            lambda W, H, margin=margin: margin,
        )
        row = one(compare_conjecture([3], [7]))
        assert row.more["verdict"] == said and row.more["proved_margin"] is None
    assert not list(tmp_path.glob("*.h5"))


@pytest.mark.parametrize("polished", [False, True])
def test_a_code_below_a_proved_t_is_a_contradiction(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, polished: bool
) -> None:
    W, cosine, _ = crooked()
    best = named_rows("tammes-7")
    using(monkeypatch, lambda d, K, **o: W if polished and "init" not in o else best)
    held_against(monkeypatch, cosine, proven=True)
    monkeypatch.chdir(tmp_path)
    row = one(compare_conjecture([3], [7]))
    assert row.more["verdict"] == "contradiction"
    assert "the entry or the code is wrong" in row.more["advice"]
    assert np.array_equal(read_code(tmp_path / row.more["evidence"]).weights, best)


def test_a_code_that_beats_the_table_is_no_candidate(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    using(monkeypatch, always(named_rows("icosahedron")))
    held_against(monkeypatch, 0.45, proven=False)
    row = one(compare_conjecture([3], [12]))
    assert row.more["verdict"] == "improves" and row.status is Standing.IMPROVES


def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gnc_cli.workflows.compare_conjecture.reference", lambda d, K, table: None)


def test_without_an_entry_t_is_our_own(monkeypatch: pytest.MonkeyPatch) -> None:
    W = named_rows("gewirtz")

    def both(d: int, K: int, *, problem: str, **_: Any) -> np.ndarray:
        return W if problem == "tammes" else random_rows(d, K)

    fake = using(monkeypatch, both)
    nothing_known(monkeypatch)
    row = one(compare_conjecture([20], [56], seed=5))
    assert row.best_known is None and row.status is Standing.NO_ENTRY
    assert row.more["reference"] == "own"
    assert [c["problem"] for c in fake.calls] == ["tammes", "softmax"]
    assert fake.calls[0]["seed"] != fake.calls[1]["seed"] == row.more["seed"] == 5
    assert row.more["one_minus_t"] == pytest.approx(14 / 15)
    assert row.more["verdict"] == "below"


def test_our_own_t_that_the_code_beats_is_loose(monkeypatch: pytest.MonkeyPatch) -> None:
    good = named_rows("gewirtz")

    def both(d: int, K: int, *, problem: str, **_: Any) -> np.ndarray:
        return good if problem == "softmax" else random_rows(d, K)

    using(monkeypatch, both)
    nothing_known(monkeypatch)
    row = one(compare_conjecture([20], [56]))
    assert row.more["verdict"] == "loose" and row.more["reference"] == "own"


def test_a_construction_that_proves_nothing_competes_with_our_own_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for t, kind in ((0.2, "construction"), (0.9, "own")):
        some = Reference(t, None, 0.0, "construction: x", False, listed=False)
        monkeypatch.setattr(
            "gnc_cli.workflows.compare_conjecture.reference", lambda d, K, table, some=some: some
        )
        fake = using(monkeypatch, always(named_rows("icosahedron")))
        row = one(compare_conjecture([3], [12]))
        assert (row.more["reference"], len(fake.calls)) == (kind, 2)
        assert row.more["one_minus_t"] == pytest.approx(1 - min(t, 5**-0.5))


def test_without_any_t_there_is_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = using(monkeypatch, always(random_rows(9, 23)))
    nothing_known(monkeypatch)
    row = one(compare_conjecture([9], [23], own=False))
    assert row.more["verdict"] is None and row.more["excess"] is None
    assert [c["problem"] for c in fake.calls] == ["softmax"]


def test_named_codes_are_those_of_the_literature() -> None:
    pairs = {(c.d, c.K) for c in named_codes()}
    cohn_kumar = {
        (3, 12), (4, 120), (5, 16), (6, 27), (7, 56), (8, 240), (21, 112), (21, 162), (22, 100),
        (22, 275), (22, 891), (23, 552), (23, 4600), (24, 196560), (52, 325),
    }  # fmt: skip
    others = {
        (3, 24), (4, 10), (4, 24), (10, 40), (16, 288), (20, 56), (21, 50), (21, 77), (64, 4224),
    }  # fmt: skip
    assert cohn_kumar | others <= pairs
    assert all(c.d <= 100 for c in named_codes())


def test_a_named_code_is_searched_for(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = using(monkeypatch, always(named_rows("hemicube")))
    row = one(compare_conjecture([5], [16], named=True))
    assert row.more["name"] == "hemicube" and row.more["how"] == "independent"
    assert row.more["reference"] == "table" and row.more["verdict"] == "agrees"
    assert row.proven is True and row.congruent_to == "hemicube"
    assert fake.calls[0]["problem"] == "softmax" and fake.calls[0]["cross_start"] is False


def test_a_named_code_that_is_not_found_is_climbed_from(monkeypatch: pytest.MonkeyPatch) -> None:
    using(monkeypatch, always(random_rows(5, 16)))
    monkeypatch.setattr("gnc_cli.workflows.compare_local._DISTURBANCES", (0.01, 0.2))
    row = one(compare_conjecture([5], [16], named=True, budget=60.0))
    assert row.more["verdict"] == "below" and row.more["how"] == "independent"
    climbs = row.more["climbs"]
    assert [c["disturbance"] for c in climbs] == [0.01, 0.2]
    for climb in climbs:
        assert -1e-4 < climb["excess"] < 1e-12
        assert climb["rho_one_vs_rest"]["upper"] < 0.8 + 1e-12


def test_a_large_named_code_is_certified_and_labelled(tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    result = compare_conjecture([52], named=True, budget=1.0, out=out)
    (row,) = result.rows
    # No search, so no independent agreement.
    assert result.extras["verdicts"] == {} and result.extras["verdicts_local"] == {"agrees": 1}
    assert row.more["name"] == "isotropic-4" and row.more["how"] == "local"
    assert row.more["verdict"] == "agrees" and row.max_cosine == 0.0625
    assert row.more["reference"] == "construction" and row.more["transitive"] is True
    assert row.more["rho_one_vs_rest"]["lower"] == pytest.approx(0.9375, abs=1e-12)
    assert row.more["rho_one_vs_rest"]["upper"] == pytest.approx(0.9375, abs=1e-12)
    assert row.more["rows_certified"] == 9 and row.more["rows_spread"] < 1e-12
    assert row.more["h_minus_w"] < 1e-12
    again = compare_conjecture([52], named=True, budget=1.0, out=out, resume=True).rows[0]
    assert again == row


def test_too_large_for_a_climb_is_certified_alone() -> None:
    row = compare_conjecture([24], named=True, budget=60.0).rows[0]
    assert (row.K, row.more["how"], row.more["climbs"]) == (196560, "certified", [])
    assert row.more["verdict"] == "agrees"
    assert row.more["rho_one_vs_rest"]["lower"] == pytest.approx(0.5, abs=1e-12)
    assert row.more["rho_one_vs_rest"]["upper"] == pytest.approx(0.5, abs=1e-12)


def test_in_many_dimensions_the_search_draws_symmetries(monkeypatch: pytest.MonkeyPatch) -> None:
    from gnc_cli.codes.rational_symmetry import SymmetricFind

    found = SymmetricFind(named_rows("gewirtz"), 0.9333, 7, 3, 24, 900)
    monkeypatch.setattr(
        "gnc_cli.codes.rational_symmetry.symmetric_softmax_code", lambda *_, **__: found
    )
    row = one(compare_conjecture([20], [56], named=True))
    assert row.more["verdict"] == "agrees" and row.congruent_to == "gewirtz"
    assert row.more["origin"] == "descent, cyclic symmetry of order 7"
    assert row.more["restarts"] == 24


def test_a_better_code_than_a_best_known_named_one_is_news(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # As if the published 24-cell were worse than it is.
    entry = Reference(0.51, Fraction(51, 100), 1e-13, "published value", None, listed=True)
    monkeypatch.setattr("gnc_cli.workflows.compare_named.reference", lambda d, K, table: entry)
    using(monkeypatch, always(named_rows("24-cell")))
    row = one(compare_conjecture([4], [24], named=True))
    assert (row.more["reference"], row.more["verdict"]) == ("table", "improves")
    assert row.best_known == 0.51


def wrong_code(
    monkeypatch: pytest.MonkeyPatch, W: np.ndarray, t: float, *, transitive: bool
) -> CompareRow:
    """The row of a construction that states t, proved optimal, whatever its rows are."""
    K, d = W.shape
    code = Construction(
        "wrong", "wrong", d, K, Cosine(str(t), t), True, "nobody", lambda: cast(Rows, W),
        transitive=transitive,
    )  # fmt: skip
    monkeypatch.setattr("gnc_cli.workflows.compare_named.find", lambda name: code)
    monkeypatch.setattr("gnc_cli.workflows.compare_local._DISTURBANCES", ())
    known = Reference(t, None, 0.0, "nobody", True, listed=True)
    row = named_row(NamedJob("wrong", d, K, 5.0, 0, known, ".", "."), threading.Event())
    assert row is not None
    return row


def test_a_code_wrongly_called_transitive_does_not_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    W = random_rows(6, 400)
    t = float((W @ W.T - 3 * np.eye(400)).max())
    row = wrong_code(monkeypatch, W, t, transitive=True)
    assert row.more["verdict"] is None and row.more["transitive"] is False
    assert row.more["same_maximiser"] is None and "not alike" in row.more["advice"]
    assert row.more["rows_spread"] > 0.01 and row.status is Standing.MATCHES


@pytest.mark.parametrize("transitive", [False, True])
def test_the_stated_cosine_is_not_believed(
    monkeypatch: pytest.MonkeyPatch, transitive: bool
) -> None:
    # A true orbit, all of whose rows are alike, that claims to be better than it is; and the same
    # without a word about its symmetry.
    angles = 2 * np.pi * np.arange(400) / 400
    W = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    row = wrong_code(monkeypatch, W, 0.9, transitive=transitive)
    assert row.more["verdict"] == "below" and row.more["transitive"] is transitive
    assert row.max_cosine == pytest.approx(np.cos(2 * np.pi / 400), abs=1e-12)
    assert row.status is Standing.WORSE
    honest = wrong_code(monkeypatch, W, float(np.cos(2 * np.pi / 400)), transitive=transitive)
    assert honest.more["verdict"] == "agrees"


def test_a_bracket_that_is_too_wide_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    # Not transitive, and the closest pair of rows is not among those looked at.
    W = random_rows(6, 400)
    t = float((W @ W.T - 3 * np.eye(400)).max())
    row = wrong_code(monkeypatch, W, t, transitive=False)
    assert row.more["excess"] == pytest.approx(0.0, abs=1e-12) and row.more["verdict"] is None


def test_a_climb_claims_nothing_that_exact_arithmetic_does_not_bear(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    nonsense = random_rows(5, 16, seed=9)
    for rho, cosine in ((Bracket(0.9, 0.9), 0.5), (Bracket(0.9, 0.9), 0.1)):
        end = Climb(0.1, rho, cosine, random_rows(5, 16), nonsense, 7)
        monkeypatch.setattr("gnc_cli.workflows.compare_local.climb_nearby", lambda *_, end=end: end)
        using(monkeypatch, always(random_rows(5, 16)))
        monkeypatch.chdir(tmp_path)
        row = one(compare_conjecture([5], [16], named=True, budget=1.0))
        assert row.more["verdict"] == "below" and row.more["how"] == "independent"
        assert [c["unproved"] for c in row.more["climbs"]] == [True] * 3
        assert not list(tmp_path.iterdir())


def test_a_climb_above_a_t_that_is_not_optimal_is_settled_like_any_claim(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    W, cosine, rho = crooked()
    features = one_vs_rest(W).directions
    end = Climb(0.1, Bracket(rho, rho), cosine, W, features, 7)
    monkeypatch.setattr("gnc_cli.workflows.compare_local.climb_nearby", lambda *_: end)
    job = NamedJob("crooked", 3, 7, 1.0, 0, cast(Reference, None), str(tmp_path), str(tmp_path))
    value = TammesValue(cosine, 0.0, False, "table")
    rng, flag = np.random.default_rng(0), threading.Event()
    fake = using(monkeypatch, always(W))
    _, claim = climbs_from(job, flag, W, value, rng)
    assert claim["verdict"] == "candidate" and claim["how"] == "local"
    assert float(claim["proved_margin"]) == pytest.approx(rho, abs=1e-14)
    assert fake.calls[-1]["problem"] == "tammes"
    assert read_code(tmp_path / claim["evidence"]).provenance["conjecture"]["K"] == 7
    using(monkeypatch, always(named_rows("tammes-7")))
    assert climbs_from(job, flag, W, value, rng)[1]["verdict"] == "improves"
