"""Features without labels: what is measured, shown and refused; features (d, N); several places."""

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from gnc_cli import measure, measure_series
from gnc_cli.collapse.request import Measure
from gnc_cli.errors import DataError, UsageError
from tests.collapse.conftest import save
from tests.metrics.test_spectrum import by_hand, values_of

KEYS = ("effective_rank", "mean_cosine", "uniformity")


@pytest.fixture
def H(rng: np.random.Generator) -> np.ndarray:
    return np.asarray(rng.standard_normal((90, 6)) * np.geomspace(1.0, 0.1, 6) + 0.5)


def test_an_array_and_files_give_the_same(H: np.ndarray, tmp_path: Path) -> None:
    H[[4, 70]] = 0.0
    found: Any = measure(features=H)
    assert values_of(found.features) == pytest.approx(by_hand(H), rel=1e-9)
    assert (found.N, found.d, found.K, found.gnc2, found.classes) == (88, 6, None, None, None)
    assert found.notes == ("features: 2 of 90 rows are zero, left out",)
    np.save(tmp_path / "emb.npy", H)
    np.savez(tmp_path / "only.npz", features=H, other=np.eye(3))
    for part, rows in enumerate(np.split(H, 3)):
        np.save(tmp_path / f"part_{part}.npy", rows)
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file["a/emb"], file["b"] = H, H[:5]
    calls: list[Any] = [
        measure(features=tmp_path / "emb.npy"),
        measure(features=f"{tmp_path}/f.h5:a/emb"),
        measure(features=f"{tmp_path}/part_*.npy", threads=2),
        measure(tmp_path / "only.npz"),
    ]
    for result in calls:
        assert values_of(result.features) == pytest.approx(values_of(found.features), rel=1e-12)
        assert result.N == 88


def test_a_matrix_alone_stays_a_code(H: np.ndarray, tmp_path: Path) -> None:
    np.save(tmp_path / "code.npy", H)
    assert measure(tmp_path / "code.npy").K == 90


def test_labelled_sets_have_the_same_values(data: dict[str, np.ndarray]) -> None:
    alone: Any = measure(features=data["features"])
    labelled: Any = measure(**data)
    assert values_of(labelled.features) == pytest.approx(values_of(alone.features), rel=1e-9)
    assert labelled.features.near_duplicates == alone.features.near_duplicates
    prefixes: Any = measure_series(**data, prefix_dims=[2, 3])
    first: Any = measure(features=data["features"][:, :2])
    assert values_of(prefixes.rows[0].features) == pytest.approx(
        values_of(first.features), rel=1e-9
    )
    other: Any = measure(**data, normalize="off", threads=2)
    assert values_of(other.features) == pytest.approx(values_of(alone.features), rel=1e-9)


def test_labelled_rows_left_out_do_not_count(data: dict[str, np.ndarray]) -> None:
    kept = np.arange(len(data["labels"])) % 3 > 0
    some = data | {"labels": np.where(kept, data["labels"], -1)}
    alone: Any = measure(features=data["features"][kept])
    labelled: Any = measure(**some)
    assert values_of(labelled.features) == pytest.approx(values_of(alone.features), rel=1e-9)


def test_tables_series_and_plots(H: np.ndarray, tmp_path: Path, gnc: Any) -> None:
    def shown(*args: Any, code: int = 0) -> str:
        done = gnc("measure", *args)
        assert done.exit_code == code, done.stderr
        return str(done.stdout)

    for epoch, scale in ((1, 1.0), (2, 0.1)):
        with h5py.File(tmp_path / f"e{epoch}.h5", "w") as file:
            file["features"] = H * np.array([1.0, 1.0, *4 * [scale]])
            file.attrs["epoch"] = epoch
    paths = [str(tmp_path / f"e{epoch}.h5") for epoch in (1, 2)]
    one = shown(paths[0], "--plot", tmp_path / "one.png")
    for text in ("no labels", "effective rank", "collapse is 1", "near-duplicates"):
        assert text in " ".join(one.split())
    many = shown(*paths, "--plot", tmp_path / "many.png")
    assert "effective rank" in many
    assert "GNC2" not in many
    first, last = (row.features for row in measure_series(paths).rows)
    assert first is not None and last is not None
    assert (last.effective_rank or 0.0) < (first.effective_rank or 0.0)
    assert json.loads(shown(paths[0], "--json"))["features"]["zero_rows"] == 0
    assert "features.effective_rank" in shown(paths[0], "--csv").splitlines()[0]
    prefixes = shown(paths[0], "--prefix-dims", "2,4")
    assert "of d = 6, N = 90, no labels" in " ".join(prefixes.split())
    shown(paths[0], "--min", "features.effective_rank=2")
    shown(paths[0], "--min", "features.effective_rank=20", code=5)
    shown(paths[0], "--min", "gnc2=0.1", code=5)


@pytest.mark.parametrize(
    "option",
    [
        {"reach": True},
        {"sets": "random:2:3"},
        {"per_class": "c.csv"},
        {"means_from": "own"},
        {"classes": [0, 1]},
        {"duplicates": 0.9},
        {"variants": "classic"},
        {"K": 3},
        {"normalize": "off"},
        {"class_names": ["a", "b"]},
        {"ood": np.eye(6)},
        {"bias": np.zeros(3)},
    ],
    ids=lambda option: next(iter(option)),
)
def test_options_of_labels_are_refused(H: np.ndarray, option: dict[str, Any]) -> None:
    name = next(iter(option))
    with pytest.raises(UsageError, match=f"{name} requires labels.*drop it, or add labels"):
        measure(features=H, **option)
    assert not Measure(prefix_dims=(2,), seed=3, table="t.csv").changed_arguments("labels")


def test_weights_without_labels_name_a_step_that_works(
    data: dict[str, np.ndarray], tmp_path: Path
) -> None:
    del data["labels"]
    path = save(tmp_path / "f.h5", data)
    with pytest.raises(DataError, match="no labels; give .*or the features only: features="):
        measure(path)
    assert measure(features=f"{path}:features").K is None
    with pytest.raises(DataError, match="holds only zero rows"):
        measure(features=np.zeros((3, 2)))


# Features (d, N), and of several places -----------------------------------------------------------


def test_features_stored_as_columns(data: dict[str, np.ndarray], tmp_path: Path) -> None:
    expected, turned = measure(**data), data | {"features": data["features"].T}
    path = save(tmp_path / "f.h5", turned)
    np.save(tmp_path / "f.npy", np.asfortranarray(turned["features"]))
    save(tmp_path / "rest.h5", {k: v for k, v in data.items() if k != "features"})
    calls: list[Any] = [
        measure(**turned, transpose_features=True),
        measure(path, transpose_features=True),
        measure(
            features=tmp_path / "f.npy",
            labels=f"{tmp_path}/rest.h5:labels",
            weights=f"{tmp_path}/rest.h5:weights",
            bias=f"{tmp_path}/rest.h5:bias",
            transpose_features=True,
            means_from=path,
            ood=tmp_path / "f.npy",
        ),
    ]
    for found in calls:
        assert found.gnc1 == pytest.approx(expected.gnc1, rel=1e-12)
        assert found.accuracy == expected.accuracy
    for refused in (lambda: measure(**turned), lambda: measure(path)):
        with pytest.raises(DataError, match=r"stored as \(d, N\): add transpose_features"):
            refused()


def test_as_many_features_as_dimensions_stored_as_columns(tmp_path: Path) -> None:
    H, labels = np.random.default_rng(0).normal(size=(12, 12)), np.arange(12) % 3
    path = save(tmp_path / "f.h5", {"features": H.T, "labels": labels})
    expected = measure(features=H, labels=labels)
    assert measure(path, transpose_features=True).gnc1 == pytest.approx(expected.gnc1, rel=1e-12)


@pytest.mark.parametrize("axis", [1, 2, (2, 3), (1, 2)])
def test_features_of_one_place_are_rows(
    data: dict[str, np.ndarray], tmp_path: Path, axis: Any
) -> None:
    expected = measure(**data)
    wide = data | {"features": np.expand_dims(data["features"], axis)}
    path = save(tmp_path / "f.h5", wide)
    found: list[Any] = [measure(**wide), measure(path)]
    for result in found:
        assert result.gnc1 == pytest.approx(expected.gnc1, rel=1e-12)
        (note,) = result.notes
        assert note.endswith(f"shape {wide['features'].shape} read as (240, 3)")


def test_features_of_several_places_are_refused_with_what_to_do(
    data: dict[str, np.ndarray], tmp_path: Path
) -> None:
    expected = measure(**data)
    tokens = np.repeat(data["features"][:, None], 4, axis=1)
    maps = np.tile(data["features"][:, :, None, None], (2, 2))
    for features, advice, mend in (
        (tokens, "choose a token, features[:, 0], or average the places, features.mean(axis=1)", 1),
        (maps, "average the places, features.mean(axis=(2, 3))", (2, 3)),
    ):
        wide = data | {"features": features}
        path = save(tmp_path / "f.h5", wide)
        for refused in (lambda w=wide: measure(**w), lambda p=path: measure(p)):
            with pytest.raises(DataError) as error:
                refused()
            assert advice in str(error.value)
        averaged: Any = measure(**wide | {"features": features.mean(axis=mend)})
        assert averaged.gnc1 == pytest.approx(expected.gnc1, rel=1e-9)
