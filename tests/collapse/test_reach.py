"""`gnc measure --reach` and `--sets`: records, tables, files, gates, and what is refused."""

import json
import math
import re
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from gnc_cli import measure
from gnc_cli.collapse.reach import _summary
from gnc_cli.errors import DataError, UsageError
from gnc_cli.metrics.reach import LinearHead, Reach, Verdict
from tests.collapse.conftest import put, save

K, D = 30, 4


@pytest.fixture
def head(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Class 7 lies in the middle of others, 9 and 12 coincide."""
    W = rng.normal(size=(K, D)).astype(np.float32)
    W[7] = W[[0, 1, 2, 3, 4]].mean(axis=0) * 0.1
    W[9] = W[12]
    return {"weights": W, "bias": (0.1 * rng.normal(size=K)).astype(np.float32)}


def labels(rows: Any) -> list[int]:
    return [row.labels[0] for row in rows]


@pytest.mark.parametrize("suffix", [".safetensors", ".pt", ".npz", ".h5"])
def test_files_of_every_kind(tmp_path: Path, head: dict[str, np.ndarray], suffix: str) -> None:
    for bias in (False, True):
        arrays = head if bias else {"weights": head["weights"]}
        result = measure(put(tmp_path / f"{bias}{suffix}", arrays), reach=True)
        assert result.reach is not None
        reach = result.reach
        assert (reach.biased, reach.feature_norm, reach.subjects) == (bias, math.inf, K)
        assert 7 in labels(reach.unreachable_rows) and reach.undecided == 0
        assert reach.can_win + reach.unreachable.lower + reach.ties.lower == K
        assert len(reach.hardest_rows) == (0 if bias else 10)
        if not bias:
            assert [(*row.labels, row.twin) for row in reach.tied_rows] == [(9, 12), (12, 9)]


def test_the_norm_is_that_of_the_features(head: dict[str, np.ndarray]) -> None:
    features = np.array([[3.0, 4.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]])
    samples = {"features": features, "labels": np.array([0, 1])}
    own = measure(**head, **samples, reach=True)
    named = measure(**head, reach=True, feature_norm=5.0)
    assert own.reach == named.reach and own.reach is not None and own.reach.feature_norm == 5.0


def test_some_classes_against_all(head: dict[str, np.ndarray]) -> None:
    whole = measure(weights=head["weights"], reach=True)
    part = measure(weights=head["weights"], reach=True, classes=[0, 5, 7])
    assert part.reach is not None and whole.reach is not None
    assert (part.K, part.reach.subjects, part.reach.rivals) == (3, 3, K)
    assert labels(part.reach.unreachable_rows) == sorted(
        {0, 5, 7} & {*labels(whole.reach.unreachable_rows)}
    )
    padded = np.vstack([head["weights"], np.zeros((6, D))])
    with pytest.raises(DataError, match="6 zero row.*classes='nonzero'"):
        measure(weights=padded, reach=True)
    left = measure(weights=padded, reach=True, sets=[[K - 1]], classes="nonzero")
    assert left.reach == whole.reach and left.reach_sets is not None
    assert left.reach_sets.rivals == K
    with pytest.raises(DataError, match="or one that is left out"):
        measure(weights=padded, sets=[[K]], classes="nonzero")


def test_sets_of_one_class_are_classes(head: dict[str, np.ndarray]) -> None:
    result = measure(**head, feature_norm=2.0, reach=True, sets=[[k] for k in range(K)])
    assert result.reach and result.reach_sets
    assert labels(result.reach_sets.unreachable_rows) == labels(result.reach.unreachable_rows)
    for one, other in zip(result.reach.hardest_rows, result.reach_sets.hardest_rows, strict=True):
        assert one.labels == other.labels
        assert one.margin.lower == pytest.approx(other.margin.lower, abs=1e-9)


def test_drawn_sets_and_the_bound_of_unit_rows() -> None:
    W = np.eye(6) - 1.0 / 6
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    result = measure(weights=W, sets="random:2:5", seed=3, feature_norm=2.0)
    assert result.reach is None
    sets = result.reach_sets
    assert sets is not None and 1 <= sets.subjects <= 5 == sets.can_win + 5 - sets.subjects
    assert sets.best_possible == pytest.approx(2.0 * 6 / math.sqrt(2 * 5 * 4))
    for row in sets.hardest_rows:  # the simplex attains it
        assert row.margin.upper == pytest.approx(sets.best_possible, abs=1e-9)
    again = measure(weights=W, sets="random:2:5", seed=3, feature_norm=2.0)
    assert again.reach_sets == sets
    for other in (
        measure(weights=2.0 * W, sets="random:2:5"),
        measure(weights=W, sets=[[0], [1, 2]]),
    ):
        assert other.reach_sets is not None
        assert other.reach_sets.best_possible is None


def test_tables_and_gates(gnc: Any, tmp_path: Path, head: dict[str, np.ndarray]) -> None:
    path = save(tmp_path / "head.h5", {"weights": head["weights"]})
    names, sets = tmp_path / "names.txt", tmp_path / "sets.txt"
    names.write_text("".join(f"token {k}\n" for k in range(K)))
    sets.write_text("0 1\n\ntoken 2, token 9\n")
    only = tmp_path / "only.txt"
    only.write_text("7\n0\n")
    args = ("measure", path, "--reach", "--class-names", names)
    run = gnc(*args, "--sets", sets)
    for words in (
        f"reach of {K} classes against all {K} classes, features of any norm",
        "token 7 (7)",
        "token 9 (9) = token 12 (12)",
        "token 2 (2) + token 9 (9) = token 12 (12)",
        "reach of 2 sets against",
        "with some feature; after ReLU or LayerNorm maybe with none",
    ):
        assert words in run.stdout, words
    reach = json.loads(gnc(*args, "--json").stdout)["reach"]
    assert reach["unreachable"]["lower"] == len(reach["unreachable_rows"])
    assert reach["feature_norm"] is None and reach["undecided"] == 0
    assert gnc(*args, "--max", "reach.unreachable=0").exit_code == 5
    assert gnc(*args, "--max", f"reach.unreachable={K}", "--max", "reach.ties=2").exit_code == 0
    keyed = gnc(*args, "-v", "--classes", only, "--feature-norm", 2).stdout
    assert f"reach of 2 classes against all {K} classes, features in the ball |h| <= 2" in keyed
    assert re.search(r"cannot win +1 +token 7 \(7\) +reach.unreachable\n", keyed), keyed
    late = gnc(*args, "--time-limit", "1e-9", "--max", "reach.unreachable=0")
    assert late.exit_code == 4 and f"not decided   {K}" in late.stdout
    series = gnc("measure", path, path, "--reach").stdout.splitlines()
    assert "cannot win" in series[2]
    unknown = gnc("measure", path, "--max", "unreachable=0")
    assert unknown.exit_code == 2 and "did you mean reach.unreachable" in unknown.stderr


def test_a_class_that_is_not_decided_has_its_bound(gnc: Any, tmp_path: Path) -> None:
    """A row that lies between two others but for rounding."""
    W = np.random.default_rng(3).normal(size=(12, 6))
    W[9] = 0.3 * W[10] + 0.7 * W[11]
    run = gnc("measure", save(tmp_path / "head.h5", {"weights": W}), "--reach")
    assert re.search(r"not decided +1 +9 \(reach at most \d\S*e-1[3-6]\)\n", run.stdout), run.stdout


def test_the_hardest_without_upper_ends_are_those_of_least_proved_margin() -> None:
    head, lower = LinearHead(np.eye(4)), (3.0, 1.0, 2.0, 0.5)
    answers = {(k,): Reach(Verdict.CAN_WIN, lower[k], math.inf) for k in range(4)}
    summary = _summary(head, answers, np.arange(4), None)
    assert labels(summary.hardest_rows) == [3, 1, 2, 0]


def test_proofs_are_written(tmp_path: Path, head: dict[str, np.ndarray]) -> None:
    out = tmp_path / "rows.h5"
    W, b, R = head["weights"].astype(float), head["bias"].astype(float), 2.0
    measure(**head, reach=True, sets=[[0, 1], [7, 9, 3]], feature_norm=R, out=out)
    with h5py.File(out) as file:
        for group, count in (("reach", K), ("reach_sets", 2)):
            data = {name: dataset[()] for name, dataset in file[group].items()}
            assert len(data["verdicts"]) == count
            for at in range(count):
                own = data["classes"][slice(*data["class_offsets"][at : at + 2])]
                part = slice(*data["weight_offsets"][at : at + 2])
                used, values, h = data["indices"][part], data["weights"][part], data["features"][at]
                if data["verdicts"][at] == b"can win":
                    logits = W @ h + b
                    assert logits[own].min() > np.delete(logits, own).max()
                    assert np.linalg.norm(h) <= R
                else:
                    bound = R * np.linalg.norm(values @ W[used]) + values @ b[used]
                    assert {*own[values[: len(own)] > 0]} >= {*used[values > 0]} and bound < 1e-12


BAD: list[tuple[dict[str, Any], str]] = [
    ({"sets": "random:30:2"}, "requires 1 to 29 classes per set"),
    ({"sets": "random:2"}, "give random:2:1000 for 1000 sets of 2"),
    ({"sets": [range(K)]}, "the set holds all 30 classes"),
    ({"sets": [[0, K]]}, "'30' is no class; expected a label from 0 to 29"),
    ({"sets": []}, "has no sets; give one per line"),
    ({"feature_norm": 2.0}, "feature_norm requires reach; add reach"),
]


@pytest.mark.parametrize(("options", "words"), BAD)
def test_what_is_refused(head: dict[str, np.ndarray], options: dict[str, Any], words: str) -> None:
    with pytest.raises((DataError, UsageError), match=words):
        measure(**head, **options)


def test_a_classifier_of_finite_numbers_is_needed(head: dict[str, np.ndarray]) -> None:
    samples = {"features": np.eye(4), "labels": np.arange(4)}
    with pytest.raises(DataError, match="require a classifier, and there is none"):
        measure(**samples, reach=True)
    spoilt = head["bias"].copy()
    spoilt[3] = np.nan
    with pytest.raises(
        DataError,
        match="bias has 1 value.s. that are not finite, the first is nan at row 3, counted from 0",
    ):
        measure(weights=head["weights"], bias=spoilt, reach=True)


def test_features_that_do_not_count_set_no_norm(head: dict[str, np.ndarray]) -> None:
    labels = np.arange(60) % K
    features = np.full((60, D), 0.5)
    own = measure(**head, features=features, labels=labels, reach=True)
    features[7], features[9], labels[[7, 9]] = math.nan, 1e3, -1
    left = measure(**head, features=features, labels=labels, reach=True)
    assert own.reach == left.reach and own.reach is not None and own.reach.feature_norm == 1.0
    with pytest.raises(DataError, match="all features are zero.*give feature_norm='R'"):
        measure(**head, features=0.0 * features[:7], labels=labels[:7], reach=True, normalize="off")


def test_a_win_within_the_rounding_of_stored_numbers_is_noted(gnc: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    W = rng.standard_normal((12, 16))
    W[3] = W[4:9].mean(axis=0)
    notes = {}
    for dtype in (np.float16, np.float32):
        result = measure(weights=W.astype(dtype), reach=True, head="linear")
        assert result.reach is not None
        notes[dtype] = [note for note in result.notes if note.startswith("reach: ")]
        won = [row for row in result.reach.hardest_rows if row.labels == (3,)]
        assert len(notes[dtype]) == len(won)
        for row in won:  # W before rounding has margin 0, each rounding moves it by so much
            eps = float(np.finfo(dtype).eps)
            assert row.margin.lower <= eps * np.linalg.norm(W, axis=1).max()
    assert any("1 of 12 can win by a margin" in text for text in sum(notes.values(), []))
    W[3] *= 1.5
    clear = measure(weights=W.astype(np.float32), reach=True)
    assert clear.notes == ()
