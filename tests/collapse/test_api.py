"""`measure` as a Python function: arrays and files, conventions, series, groups, its outputs."""

import csv
import json
import os
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from gnc_cli import measure, measure_series
from gnc_cli.collapse.result import MeasureResult
from gnc_cli.errors import DataError, OutputError, StoppedError, UsageError
from tests.collapse.conftest import D, K, N, agrees, by_hand, save, save_run
from tests.metrics import reference as plain
from tests.problems import icosahedron, orthoplex, simplex
from tests.runtime.together import needs_gloo, together


def _means(H: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.array(list(plain.class_means(H, y).values()))


def test_each_number_in_its_own_space(data: dict[str, np.ndarray]) -> None:
    found = measure(**data)
    agrees(found, by_hand(**data), 1e-11)
    assert found.gnc2.lower == pytest.approx(plain.gnc2(plain.unit(data["weights"])), abs=1e-9)
    assert found.gnc2.width < 1e-9
    assert (found.N, found.d, found.K, found.policy.normalize) == (N, D, K, "auto")


def test_a_closed_form() -> None:
    code = simplex(4)
    found = measure(
        features=np.repeat(code, 3, axis=0), labels=np.repeat(np.arange(5), 3), weights=code
    )
    assert found.gnc1 == pytest.approx(0.0, abs=1e-28)
    assert found.gnc3 == pytest.approx(0.0, abs=1e-14)
    assert found.gnc2.lower == pytest.approx(5 / 4, abs=1e-12)
    assert found.gnc2_reference is not None and found.gnc2_reference.kind == "theorem"
    assert found.gnc2_ratio == pytest.approx(1.0, abs=1e-12)
    assert found.accuracy == found.ncc_accuracy == found.ncc_leave_one_out == 1.0
    assert found.margins.cosface == found.gnc2.lower
    assert found.margins.scale == pytest.approx(np.log(4 * 0.9 / 0.1) / 1.25, rel=1e-12)


def test_weights_alone_and_features_alone(data: dict[str, np.ndarray]) -> None:
    code = measure(weights=orthoplex(4))
    assert code.N is None and code.gnc1 is None and code.gnc3 is None and code.accuracy is None
    assert code.gnc2.lower == pytest.approx(1.0, abs=1e-12)
    means = measure(features=data["features"], labels=data["labels"])
    assert means.gnc3 is None and means.accuracy is None and means.ncc_accuracy is not None
    assert means.policy.weights == "class means stand in"
    stand_in = _means(plain.unit(data["features"]), data["labels"])
    assert means.gnc2.lower == pytest.approx(measure(weights=stand_in).gnc2.lower, abs=1e-9)


def test_missing_classes_enter_no_mean(data: dict[str, np.ndarray]) -> None:
    held = data["labels"] >= 2
    some = {**data, "features": data["features"][held], "labels": data["labels"][held]}
    found = measure(**some)
    H, y = plain.unit(some["features"]), some["labels"]
    assert found.classes.missing == 2 and found.classes.missing_labels == (0, 1)
    assert found.gnc1 == pytest.approx(plain.gnc1(H, y), rel=1e-11)
    expected = plain.gnc3(plain.unit(data["weights"]), plain.class_means(H, y))
    assert found.gnc3 == pytest.approx(expected, rel=1e-12)
    means = measure(features=some["features"], labels=some["labels"])
    assert {row.label for row in means.worst_classes} == set(range(2, 12))


def test_min_count_and_a_list_of_classes(data: dict[str, np.ndarray], tmp_path: Path) -> None:
    few = np.r_[np.flatnonzero(data["labels"] != 3), np.flatnonzero(data["labels"] == 3)[:2]]
    some = {**data, "features": data["features"][few], "labels": data["labels"][few]}
    listed = tmp_path / "classes.txt"
    listed.write_text("\n".join(str(k) for k in range(K) if k != 3) + "\n")
    by_count, by_list = measure(**some, min_count=5), measure(**data, classes=listed)
    assert by_count.K == by_list.K == K - 1
    assert by_count.policy.classes_left_out == 1
    assert by_count.gnc1 == pytest.approx(by_list.gnc1, rel=1e-12)
    assert by_count.accuracy == by_list.accuracy
    kept = data["labels"] != 3
    H, y = plain.unit(data["features"][kept]), data["labels"][kept]
    assert by_list.gnc1 == pytest.approx(plain.gnc1(H, y), rel=1e-11)
    assert 3 not in {row.label for row in by_list.worst_classes}
    with pytest.raises(UsageError, match="min_count requires samples"):
        measure(weights=data["weights"], min_count=2)


def test_names_follow_the_labels_of_thesave(data: dict[str, np.ndarray], tmp_path: Path) -> None:
    names = tmp_path / "names.txt"
    names.write_text("\n".join(f"class {k}" for k in range(K)))
    listed = tmp_path / "classes.txt"
    listed.write_text("\n".join(f"class {k}" for k in range(4, K)))
    found = measure(**data, class_names=names, classes=listed)
    lists: Any = {"class_names": [f"class {k}" for k in range(K)], "classes": range(4, K)}
    assert measure(**data, **lists).worst_classes == found.worst_classes
    assert found.K == K - 4
    for row in found.worst_classes:
        assert row.name == f"class {row.label}" and row.label >= 4
        assert row.nearest_name == f"class {row.nearest}"


def test_training_means_judge_test_data(
    data: dict[str, np.ndarray], tmp_path: Path, rng: np.random.Generator
) -> None:
    train = save(tmp_path / "train.h5", data)
    labels = np.repeat(np.arange(K), 4)
    noisy = icosahedron()[labels] + 0.4 * rng.standard_normal((len(labels), D))
    test = {**data, "labels": labels, "features": noisy}
    found = measure(**test, means_from=train, variants="classic")
    assert found.policy.class_means == {
        "gnc1": "train.h5",
        "ncc": "train.h5",
        "classic": "train.h5",
        "gnc3": "own",
    }
    H, Z = plain.unit(test["features"]), plain.unit(data["features"])
    means = _means(Z, data["labels"])
    off = H - means[labels]
    within, between = off.T @ off / len(H), means.T @ means / K
    assert found.gnc1 == pytest.approx(np.trace(within @ np.linalg.pinv(between)) / K, rel=1e-10)
    nearest = ((H[:, None, :] - means[None]) ** 2).sum(axis=2).argmin(axis=1)
    assert found.ncc_accuracy == (nearest == labels).mean()
    assert found.ncc_leave_one_out is None
    own = plain.gnc3(plain.unit(data["weights"]), plain.class_means(H, labels))
    assert found.gnc3 == pytest.approx(own, rel=1e-12)


def test_raw_rows_where_asked(data: dict[str, np.ndarray]) -> None:
    found = measure(**data, normalize="off")
    agrees(found, by_hand(**data, unit=False), 1e-11)
    assert found.gnc2_reference is None and found.gnc2_ratio is None


def test_snapshots_by_epoch(tmp_path: Path) -> None:
    file = save_run(tmp_path / "run.h5")
    one = measure_series(file)
    assert [row.epoch for row in one.rows] == [1, 2, 10]
    assert [row["epoch"] for row in one.to_json()["rows"]] == [1, 2, 10]
    falling = [row.gnc1 for row in one.rows]
    assert falling == sorted(falling, reverse=True)
    ranges: list[Any] = [{"epoch": range(2, 11)}, {"epoch": "2..10"}, ["epoch=2,10"]]
    for select in [*ranges, [("epoch", [2, 10])]]:
        assert [row.epoch for row in measure_series(file, select=select).rows] == [2, 10]


def test_rows_before_a_failure_are_kept_and_shown(
    data: dict[str, np.ndarray], tmp_path: Path, gnc: Any
) -> None:
    good = [save(tmp_path / f"{e}.h5", data, epoch=e) for e in (1, 2)]
    broken = {**data, "features": np.full_like(data["features"], np.nan)}
    files = [*good, save(tmp_path / "3.h5", broken, epoch=3)]
    with pytest.raises(DataError, match=r"3\.h5.*NaN") as refused:
        measure_series(files, out=tmp_path / "rows.jsonl")
    assert [row.epoch for row in refused.value.partial.rows] == [1, 2]
    assert len((tmp_path / "rows.jsonl").read_text().splitlines()) == 2
    words = "--json", "--max", "gnc2=9", "--report", str(tmp_path / "r.md")
    told = gnc("measure", *map(str, files), *words)
    assert told.exit_code == 3 and len(json.loads(told.stdout)["rows"]) == 2
    assert "NaN" in told.stderr and "gate" not in told.stderr
    assert not (tmp_path / "r.md").exists()


def test_appending_measures_new_rows_alone(data: dict[str, np.ndarray], tmp_path: Path) -> None:
    ledger = tmp_path / "rows.jsonl"
    first, second = (save(tmp_path / f"{e}.h5", data, epoch=e) for e in (1, 2))
    told: list[Any] = []
    measure_series(first, out=ledger, resume=True, on_row=told.append)
    result = measure_series([first, second], out=ledger, resume=True, on_row=told.append)
    assert [row.epoch for row in told] == [1, 2] and result.skipped == 1
    assert [row["epoch"] for row in result.to_json()["rows"]] == [1, 2]
    assert len(ledger.read_text().splitlines()) == 2
    save(tmp_path / "1.h5", {**data, "features": data["features"][::-1].copy()}, epoch=1)
    again = measure_series([first, second], out=ledger, resume=True, on_row=told.append)
    assert again.skipped == 1 and len(told) == 3
    assert [row["epoch"] for row in again.to_json()["rows"]] == [1, 2]
    with pytest.raises(DataError, match="variants"):
        measure_series(first, out=ledger, resume=True, variants="classic")


def test_an_interruption_keeps_the_rows_before(data: dict[str, np.ndarray], tmp_path: Path) -> None:
    stop = threading.Event()
    files = [save(tmp_path / f"{e}.h5", data, epoch=e) for e in (1, 2, 3)]
    result = measure_series(files, interrupt=stop, on_row=lambda row: stop.set())
    assert result.interrupted and [row.epoch for row in result.rows] == [1]
    assert result.messages[-1] == "interrupted: 1 row measured"
    nothing = measure_series(files, interrupt=stop, out=tmp_path / "rows.csv")  # from the beginning
    assert nothing.interrupted and not (tmp_path / "rows.csv").exists()
    with pytest.raises(StoppedError, match="before the samples were read"):
        measure(files[0], interrupt=stop)


def test_a_series_of_one_set_is_what_measure_gives(
    data: dict[str, np.ndarray], tmp_path: Path
) -> None:
    file, out, per_class = save(tmp_path / "a.h5", data), tmp_path / "r.json", tmp_path / "p.csv"
    row = measure(file, out=out, per_class=per_class)
    written = json.loads(out.read_text()) | {"seconds": 0.0}, per_class.read_text()
    (again,) = measure_series(file, out=out, per_class=per_class, force=True).rows
    assert (json.loads(out.read_text()) | {"seconds": 0.0}, per_class.read_text()) == written
    assert again == row
    with pytest.raises(UsageError, match=r"and there are 2 sets; call measure_series\(\)$"):
        measure([file, file])


def test_the_code_of_a_reference_is_read_once(data: dict[str, np.ndarray], tmp_path: Path) -> None:
    few = {name: values[:5] for name, values in data.items() if name in ("weights", "bias")}
    files = [save(tmp_path / "a.h5", data), save(tmp_path / "b.h5", few)]
    code = Path(save(tmp_path / "code.h5", {"weights": data["weights"]}))
    series = measure_series(files, reference=code, on_row=lambda row: code.unlink(missing_ok=True))
    assert [row.gnc2_reference.id for row in series.rows] == ["code.h5", "code.h5"]


def test_duplicates_own_the_minimum(rng: np.random.Generator) -> None:
    W = np.concatenate([orthoplex(4), orthoplex(4)[[5]] + 1e-3 * rng.standard_normal((1, 4))])
    found = measure(weights=W, duplicates=0.99)
    assert found.duplicates is not None and len(found.duplicates) == 1
    (pair,) = found.duplicates
    assert (pair.a, pair.b) == (5, 8)
    assert found.gnc2.upper < 1e-2
    left = found.without_duplicates
    assert left is not None and left.gnc2 is not None and (left.pairs, left.classes) == (1, 8)
    assert left.gnc2.lower == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("K", [4, 40])
def test_coherence_is_that_of_all_pairs(
    K: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    W = rng.standard_normal((K, 9))
    U = plain.unit(W)
    cosines = np.abs((U @ U.T)[np.triu_indices(K, 1)])
    found = measure(weights=W).coherence
    assert found is not None and found.possible is not None
    assert found.largest == pytest.approx(cosines.max(), rel=1e-13)
    assert found.mean_square == pytest.approx((cosines**2).mean(), rel=1e-12)
    assert found.welch == pytest.approx(max(0.0, (K - 9) / (9 * (K - 1))), abs=1e-15)
    assert found.possible.lower >= np.sqrt(found.welch) - 1e-11  # Welch's first bound
    assert found.possible.upper == (0.0 if K == 4 else found.largest)
    assert measure(weights=W, normalize="off").coherence is None
    monkeypatch.setattr("gnc_cli.collapse.metric_groups._MAX_PAIR_PRODUCTS", 100.0)
    assert measure(weights=W).coherence == replace(found, largest=None, possible=None)
    assert measure(weights=W, per_class=tmp_path / "c.csv").coherence == found


def test_a_merge_list_keeps_the_class_with_most_samples(tmp_path: Path) -> None:
    angles = np.radians([0.0, 90.0, 2.0, 180.0, 4.0])
    W = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    labels = np.array([0, 1, 2, 2, 3, 4])  # 0, 2 and 4 are a chain
    path, names = tmp_path / "merges.csv", ["a", "b", "c", "d", "e"]
    close = {"duplicates": np.cos(np.radians(2.1)), "merge_list": path, "class_names": names}
    measure(features=W[labels], labels=labels, weights=W, **close)
    with path.open() as file:
        rows = list(csv.DictReader(file))
    assert [(r["keep"], r["merge"], r["keep_count"], r["merge_count"]) for r in rows] == [
        ("2", "0", "2", "1"),
        ("2", "4", "2", "1"),
    ]
    assert [r["keep_name"] + r["merge_name"] for r in rows] == ["ca", "ce"]
    assert [float(r["angle_deg"]) for r in rows] == pytest.approx([2.0, 2.0])
    with pytest.raises(OutputError, match=r"merges\.csv"):
        measure(weights=W, **close)
    alone = measure(weights=W, **close, force=True)  # no samples: the lowest label stays
    assert [(m.keep, m.merge, m.keep_count) for m in alone.merges] == [(0, 2, None), (0, 4, None)]


def test_gnc2_of_0_names_the_two_classes(rng: np.random.Generator) -> None:
    W = rng.standard_normal((9, 4))
    W[7] = 2.0 * W[2]
    (warning,) = measure(weights=W).warnings
    assert "classes 2 and 7 coincide" in warning and "duplicates=0.999" in warning
    assert measure(weights=W, duplicates=0.999).warnings == ()


def test_weights_of_16_bits_say_so(rng: np.random.Generator) -> None:
    W = rng.standard_normal((9, 4))
    bits = W.astype(np.float32).view(np.uint32) & 0xFFFF0000
    for rows, words in ((W.astype(np.float16), "2^-10"), (bits.view(np.float32), "2^-7")):
        for given in (rows, rows.astype(np.float64)):
            (warning,) = measure(weights=given).warnings
            assert words in warning
    assert measure(weights=W.astype(np.float32)).warnings == ()
    assert measure(weights=np.vstack([np.eye(3), -np.eye(3)])).warnings == ()


def test_references(tmp_path: Path) -> None:
    W = icosahedron()
    assert measure(weights=W, reference=0.5).gnc2_ratio == pytest.approx(
        (1 - 1 / 5**0.5) / 0.5, rel=1e-12
    )
    known = measure(weights=W).gnc2_reference
    assert known is not None and known.kind == "table" and known.data_version is not None
    assert known.id == "Fejes Tóth 1943"
    assert known.value == pytest.approx(1 - 1 / 5**0.5, abs=1e-12)
    held = measure(weights=W, reference=save(tmp_path / "code.h5", {"weights": W}))
    assert held.gnc2_reference is not None and held.gnc2_reference.kind == "file"
    assert held.gnc2_ratio == pytest.approx(1.0, abs=1e-9)
    # Codes of more points count: rho* never grows with K.
    larger = measure(weights=W[:11]).gnc2_reference
    assert larger is not None and larger.value >= 1 - 1 / 5**0.5 - 1e-12
    with pytest.raises(DataError, match="at least 12 points in at most 3 dimensions"):
        measure(weights=W, reference=save(tmp_path / "few.h5", {"weights": W[:5]}))


def test_logits_in_place_of_weights(data: dict[str, np.ndarray]) -> None:
    logits = data["features"] @ data["weights"].T + data["bias"]
    found = measure(features=data["features"], labels=data["labels"], logits=logits)
    assert found.accuracy == (logits.argmax(axis=1) == data["labels"]).mean()
    assert found.policy.spaces["accuracy"] == "logits"


def test_collapse_to_the_floor_is_said(rng: np.random.Generator) -> None:
    labels = np.repeat(np.arange(K), 20)
    features = icosahedron()[labels] + 1e-9 * rng.standard_normal((len(labels), D))
    single = measure(features=features.astype(np.float32), labels=labels)
    assert any("floor of float32" in text for text in single.warnings)
    assert not measure(features=features, labels=labels).warnings


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"labels": np.arange(N)}, "out of range for K = 12"),
        ({"labels": np.zeros(N - 1, dtype=int)}, "239 labels for 240 features"),
        ({"labels": np.linspace(0, 1, N)}, "expected integers"),
        ({"weights": np.ones((D, K)), "bias": None}, "transpose_weights"),
        ({"bias": np.ones(3)}, r"expected \(12,\)"),
        ({"weights": np.full((K, D), np.nan)}, "the first is nan at row 0"),
        ({"features": np.full((N, D), np.inf)}, "NaN or infinity"),
        ({"features": np.ones((N, 1))}, "at least 2 columns"),
        ({"logits": np.ones((N, 3))}, r"expected \(240, 12\)"),
        ({"K": 13}, "weights has 12 classes, not K=13"),
        ({"classes": "3\n99"}, "line 2: '99' is no class; expected a label from 0 to 11"),
        ({"classes": "3"}, "1 of 12 classes left by classes; at least two"),
        ({"class_names": "a\nb"}, "has 2 names for 12 classes"),
    ],
)
def test_what_cannot_be_used(
    data: dict[str, np.ndarray], change: dict[str, Any], said: str, tmp_path: Path
) -> None:
    for name, value in change.items():
        if isinstance(value, str):
            (tmp_path / name).write_text(value)
            change = {name: tmp_path / name}
    with pytest.raises(DataError, match=said):
        measure(**data | change)


def test_a_time_limit_leaves_out_what_it_cuts_short(
    data: dict[str, np.ndarray], rng: np.random.Generator, tmp_path: Path
) -> None:
    weights = np.concatenate([data["weights"]] * 200) + rng.standard_normal((12 * 200, D))
    found = measure(
        features=data["features"],
        labels=data["labels"],
        weights=weights,
        variants="classic",
        duplicates=0.9,
        merge_list=tmp_path / "merges.csv",
        time_limit=1e-9,
    )
    assert not (tmp_path / "merges.csv").exists()
    assert found.gnc1 is not None and found.accuracy is not None
    assert found.duplicates is found.nc1 is found.variants.classic is None
    assert 0.0 <= found.gnc2.lower <= found.gnc2.upper
    said = " ".join(found.warnings)
    for left in ("duplicates", "NC1 to NC3", "coherence", "variants='classic'", "raise time_limit"):
        assert left in said
    assert found.coherence is not None and found.coherence.largest is None
    assert "coherence.largest" in found.undecided


@pytest.mark.parametrize("option", ["means_from", "reference", "classes", "class_names"])
def test_rows_are_measured_again_when_a_file_beside_them_changes(
    data: dict[str, np.ndarray], tmp_path: Path, option: str
) -> None:
    ledger, set_, beside = tmp_path / "rows.jsonl", save(tmp_path / "a.h5", data), tmp_path / "b"

    def write(turn: int) -> Path:
        if option == "means_from":
            labels = np.roll(data["labels"], turn)
            return Path(save(tmp_path / "train.h5", {**data, "labels": labels}))
        if option == "reference":
            points = np.concatenate([icosahedron(), orthoplex(3)[:turn]])
            return Path(save(tmp_path / "code.h5", {"weights": points}))
        words = (
            [str(k) for k in range(K - turn)]
            if option == "classes"
            else [f"{turn} {k}" for k in range(K)]
        )
        beside.write_text("\n".join(words) + "\n")
        return beside

    told: list[Any] = []
    for turn in (0, 1):
        path = write(turn)
        for _ in range(2):
            measure_series(set_, out=ledger, resume=True, on_row=told.append, **{option: path})
        assert len(told) == turn + 1


@pytest.mark.parametrize("turned", [False, True])
def test_one_logit_is_a_classifier_of_two_classes(
    data: dict[str, np.ndarray], tmp_path: Path, turned: bool
) -> None:
    labels, w, b = data["labels"] % 2, data["weights"][:1], np.array([0.3])
    arrays: dict[str, Any] = {"features": data["features"], "labels": labels}
    expected = measure(**arrays, weights=np.concatenate([-w, w]) / 2, bias=np.array([-0.15, 0.15]))
    file = save(tmp_path / "a.h5", arrays | {"weights": w.T if turned else w, "bias": b})
    found = measure(file, transpose_weights=turned)
    for result in (found, measure(**arrays, weights=w, bias=b)):
        assert (result.K, result.gnc2, result.gnc3) == (2, expected.gnc2, expected.gnc3)
        assert result.accuracy == np.mean((data["features"] @ w[0] + b > 0) == (labels == 1))
        assert "one logit decides between two classes" in result.notes[-1]
    for wrong in ({"weights": w}, {**data, "weights": w, "bias": b}):
        with pytest.raises(DataError, match=rf"has shape \(1, {D}\); expected a row for each"):
            measure(**wrong)


def _lines(ledger: Path) -> dict[Any, Any]:
    rows = [json.loads(line) for line in ledger.read_text().splitlines()]
    assert len({row["snapshot"] for row in rows}) == len(rows)
    return {row["snapshot"]: row["gnc1"] for row in rows}


@pytest.mark.parametrize("prefix", ["snapshots/", ""])
def test_a_growing_file_has_one_row_per_snapshot(
    data: dict[str, np.ndarray], tmp_path: Path, prefix: str
) -> None:
    file, ledger = tmp_path / "run.h5", tmp_path / "rows.jsonl"
    measured: list[str | None] = []

    def add(epoch: int, **more: Any) -> None:
        with h5py.File(file, "a") as h5:
            h5.attrs["last_epoch"] = epoch
            for name, values in (data | more).items():
                h5[f"{prefix}epoch_{epoch}/{name}"] = values

    def again() -> list[Any]:
        measured.clear()
        measure_series(
            file, out=ledger, resume=True, on_row=lambda row: measured.append(row.snapshot)
        )
        return list(measured)

    add(1)
    add(2)
    assert again() == ["epoch_1", "epoch_2"] and again() == []
    first = _lines(ledger)
    add(3)
    assert again() == ["epoch_3"]
    with h5py.File(file, "a") as h5:
        h5[f"{prefix}epoch_2/features"][...] = 2.0 + data["features"]
        h5[f"{prefix}epoch_1"].attrs["learning_rate"] = 0.1
    assert again() == ["epoch_1", "epoch_2"] and again() == []
    last = _lines(ledger)
    assert len(last) == 3 and last["epoch_1"] == first["epoch_1"] == last["epoch_3"]
    assert last["epoch_2"] != first["epoch_2"]
    os.utime(file, (0, 0))
    assert again() == []


def test_a_growing_set_has_one_row(data: dict[str, np.ndarray], tmp_path: Path) -> None:
    file, ledger = tmp_path / "set.h5", tmp_path / "rows.jsonl"
    for n in (N // 2, N, N):
        save(file, {**data, "features": data["features"][:n], "labels": data["labels"][:n]})
        result = measure_series(file, out=ledger, resume=True)
        assert [row.N for row in result.rows] == [n]
        assert [json.loads(line)["N"] for line in ledger.read_text().splitlines()] == [n]
    assert result.skipped == 1


def test_a_row_cut_short_is_measured_again_with_more_time(
    rng: np.random.Generator, tmp_path: Path
) -> None:
    rows = rng.standard_normal((20, 1, 12)) + 1e-3 * rng.standard_normal((20, 60, 12))
    file = save(tmp_path / "w.h5", {"weights": rows.reshape(-1, 12)})
    told: list[MeasureResult] = []
    out = tmp_path / "rows.jsonl"
    for limit in (1e-9, 1e-9, None, None):
        measure_series(file, out=out, resume=True, time_limit=limit, on_row=told.append)
    first, second = told
    assert first.gnc2.width > 1e-5 and first.warnings and second.gnc2.width < 1e-9
    # Nor is anything said of rattlers that wide brackets leave open.
    assert first.rattlers is not None and first.rattlers.one_vs_rest is None
    assert {row.rattler for row in first.worst_classes} == {None}
    assert "rattlers.one_vs_rest" in first.undecided and "max_cosine" in first.undecided
    assert first.max_cosine is None and second.undecided == ()
    assert second.rattlers is not None and second.rattlers.one_vs_rest is not None
    assert second.worst_classes[0].rattler is False


def test_snapshots_find_their_own_training_set(tmp_path: Path) -> None:
    train = save_run(tmp_path / "train.h5", (1, 2, 3))
    series = measure_series(save_run(tmp_path / "test.h5", (3, 1), seed=1), means_from=train)
    assert len(series.rows) == 2
    for row, epoch in zip(series.rows, (1, 3), strict=True):
        own = measure(
            tmp_path / "test.h5",
            select={"epoch": epoch},
            means_from=f"{train}:snapshots/epoch_{epoch}",
        )
        assert row.gnc1 == own.gnc1
    lacking = save_run(tmp_path / "more.h5", (9,))
    with pytest.raises(DataError, match="has 0 training sets of the measured epoch"):
        measure_series(lacking, means_from=train)


def test_a_set_of_tests_is_not_its_own_training_set(tmp_path: Path) -> None:
    """Training and test snapshots in one file, as a run of `gnc train` leaves them."""
    run = save_run(tmp_path / "run.h5", (1, 2))
    with h5py.File(run, "a") as h5:
        for epoch in (1, 2):
            train, test = h5[f"snapshots/epoch_{epoch}"], h5.create_group(f"snapshots/test_{epoch}")
            train.attrs["split"] = "train"
            test.attrs.update({"epoch": epoch, "split": "test"})
            test["features"] = train["features"][()][::-1]
            test["labels"] = h5["labels"][()][::-1]
            test["features"][:20] += 1.0
    series = measure_series(run, select={"split": "test"}, means_from=run)
    for row, epoch in zip(series.rows, (1, 2), strict=True):
        own = measure(f"{run}:snapshots/test_{epoch}", means_from=f"{run}:snapshots/epoch_{epoch}")
        assert row.gnc1 == own.gnc1


@needs_gloo
def test_several_processes_share_the_rows(data: dict[str, np.ndarray], tmp_path: Path) -> None:
    file, rows = save(tmp_path / "a.h5", data), tmp_path / "rows.jsonl"
    ood = save(tmp_path / "ood.h5", {"features": data["features"][::-1] ** 2})
    first, second = together(
        f"""
        import json
        from gnc_cli import measure_series
        series = measure_series(
            {file!r}, variants="classic", ood={ood!r}, out={str(rows)!r}
        )
        print(json.dumps(series.rows[0].flat(prefix="")))
        """
    )
    assert len(rows.read_text().splitlines()) == 1
    one = measure(file, variants="classic", ood=ood).flat(prefix="")
    for found in (json.loads(first), json.loads(second)):
        for name in one.keys() - {"seconds"}:
            same: Any = one[name]
            assert found[name] == (pytest.approx(same) if isinstance(same, float) else same), name


def test_what_time_leaves_out_of_the_classic_metrics_is_undecided(
    data: dict[str, np.ndarray],
) -> None:
    found = measure(**data, time_limit=1e-9, variants="classic")
    assert found.nc1 is None and {"nc1", "variants.classic"} <= {*found.undecided}
