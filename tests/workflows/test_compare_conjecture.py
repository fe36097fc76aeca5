"""The conjecture's rows: where t comes from, every verdict, evidence on disk, the named codes."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnc_cli.codes.conjecture import rational_margin
from gnc_cli.io.gncfile import read_code
from gnc_cli.numerics.one_vs_rest import minimum_one_vs_rest
from gnc_cli.results import CompareRow, Standing
from gnc_cli.workflows import compare_solve as solving
from gnc_cli.workflows.compare_conjecture import compare_conjecture
from gnc_cli.workflows.compare_named import named_codes
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


def table(tmp_path: Path, d: int, K: int, t: float, proven: str = "no") -> Path:
    path = tmp_path / "table.csv"
    path.write_text(f"d,K,max_cosine,proven\n{d},{K},{t!r},{proven}\n")
    return path


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
    out = tmp_path / "rows.jsonl"
    row = one(compare_conjecture([3], [7], table=table(tmp_path, 3, 7, cosine, "yes"), out=out))
    assert row.more["verdict"] == "counterexample"
    assert row.more["excess"] == pytest.approx(rho - (1 - cosine), abs=1e-12)
    path = Path(row.more["evidence"])
    assert path.parent == tmp_path and path.name == "counterexample-3-7-seed-0.h5"
    code = read_code(path)
    assert np.array_equal(code.weights, W)
    assert code.features is not None
    # The file alone suffices to check the claim.
    assert rational_margin(code.weights, code.features) > 1 - cosine + 1e-3
    claim = code.provenance["conjecture"]
    assert claim["verdict"] == "counterexample" and claim["t"] == cosine and claim["K"] == 7
    assert claim["proved_margin"] == row.more["proved_margin"]
    assert float(claim["proved_margin"]) == pytest.approx(rho, abs=1e-14)
    assert json.loads(out.read_text())["evidence"] == str(path)


def test_a_candidate_has_survived_a_tammes_polish(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    W, cosine, _ = crooked()
    fake = using(monkeypatch, always(W))
    monkeypatch.chdir(tmp_path)
    row = one(compare_conjecture([3], [7], table=table(tmp_path, 3, 7, cosine)))
    assert row.more["verdict"] == "candidate"
    assert Path(row.more["evidence"]).exists()
    polish = fake.calls[-1]
    assert polish["problem"] == "tammes" and polish["restarts"] == 0
    assert np.array_equal(polish["init"], W)


def test_a_polish_that_beats_t_turns_a_candidate_into_news_for_the_table(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    W, cosine, _ = crooked()
    best = named_rows("tammes-7")
    using(monkeypatch, lambda d, K, **o: best if "init" in o else W)
    row = one(compare_conjecture([3], [7], table=table(tmp_path, 3, 7, cosine)))
    assert row.more["verdict"] == "improves"
    assert row.more["polished_cosine"] == pytest.approx(0.2101383127306)
    assert row.more.get("evidence") is None
    assert not list(tmp_path.glob("*.h5"))


def test_a_claim_that_exact_arithmetic_does_not_bear_is_dropped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from fractions import Fraction

    W, cosine, _ = crooked()
    using(monkeypatch, always(W))
    monkeypatch.setattr(
        "gnc_cli.workflows.compare_claims.rational_margin", lambda W, H: 1 - Fraction(cosine)
    )
    row = one(compare_conjecture([3], [7], table=table(tmp_path, 3, 7, cosine, "yes")))
    assert row.more["verdict"] == "agrees" and row.more["proved_margin"] is None
    assert not list(tmp_path.glob("*.h5"))


def test_a_code_that_beats_the_table_is_no_candidate(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    using(monkeypatch, always(named_rows("icosahedron")))
    row = one(compare_conjecture([3], [12], table=table(tmp_path, 3, 12, 0.45)))
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
    from gnc_cli.workflows.known import Reference

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
    assert row.more["reference"] == "construction" and row.more["verdict"] == "agrees"
    assert row.proven is True and row.congruent_to == "hemicube"
    assert fake.calls[0]["problem"] == "softmax" and fake.calls[0]["cross_start"] is False


def test_a_named_code_that_is_not_found_is_climbed_from(monkeypatch: pytest.MonkeyPatch) -> None:
    using(monkeypatch, always(random_rows(5, 16)))
    monkeypatch.setattr("gnc_cli.workflows.compare_named._DISTURBANCES", (0.01, 0.2))
    row = one(compare_conjecture([5], [16], named=True, budget=60.0))
    assert row.more["verdict"] == "below" and row.more["how"] == "independent"
    climbs = row.more["climbs"]
    assert [c["disturbance"] for c in climbs] == [0.01, 0.2]
    for climb in climbs:
        assert -1e-4 < climb["excess"] < 1e-12
        assert climb["rho_one_vs_rest"]["upper"] < 0.8 + 1e-12


def test_a_large_named_code_is_certified_and_labelled(tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    row = compare_conjecture([52], named=True, budget=1.0, out=out).rows[0]
    assert row.more["name"] == "isotropic-4" and row.more["how"] == "local"
    assert row.more["verdict"] == "agrees" and row.max_cosine == 0.0625
    assert row.more["rho_one_vs_rest"]["lower"] == 0.9375
    assert row.more["rho_one_vs_rest"]["upper"] == pytest.approx(0.9375, abs=1e-12)
    assert row.more["rows_certified"] == 9 and row.more["rows_spread"] < 1e-12
    assert row.more["h_minus_w"] < 1e-12
    again = compare_conjecture([52], named=True, budget=1.0, out=out, resume=True).rows[0]
    assert again == row


def test_too_large_for_a_climb_is_certified_alone() -> None:
    row = compare_conjecture([24], named=True, budget=60.0).rows[0]
    assert (row.K, row.more["how"], row.more["climbs"]) == (196560, "certified", [])
    assert row.more["rho_one_vs_rest"]["lower"] == 0.5
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
