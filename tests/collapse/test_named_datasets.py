"""Options that name one dataset of a file, and what of the file comes along."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from gnc_cli import measure, measure_series
from gnc_cli.errors import DataError

N, D, K = 30, 4, 3
RNG = np.random.default_rng(11)
Y = np.arange(N) % K
W = RNG.standard_normal((K, D))
H = W[Y] + 0.2 * RNG.standard_normal((N, D))
B = RNG.standard_normal(K)


def same(found: Any, **arrays: Any) -> None:
    expected: Any = measure(**arrays)
    for key in ("N", "d", "K", "gnc1_centred", "gnc2", "gnc3_centred", "accuracy"):
        assert getattr(found, key) == getattr(expected, key), key


def test_a_dataset_plays_one_role(tmp_path: Path) -> None:
    np.savez(tmp_path / "only.npz", a=H)
    np.save(tmp_path / "y.npy", Y)
    np.save(tmp_path / "H.npy", H)
    labels = tmp_path / "y.npy"
    same(measure(tmp_path / "only.npz", features="a", labels=labels), features=H, labels=Y)
    same(measure(tmp_path / "H.npy", features="array", labels=labels), features=H, labels=Y)
    np.savez(tmp_path / "labels.npz", gt=Y)
    found = measure(tmp_path / "labels.npz", labels="gt", features=tmp_path / "H.npy")
    same(found, features=H, labels=Y)
    np.savez(tmp_path / "state.npz", **{"top.weight": W, "top.bias": B})
    same(measure(tmp_path / "state.npz", weights="top.weight"), weights=W, bias=B)


def test_shards_share_their_classifier(tmp_path: Path) -> None:
    files = []
    for number, rows in enumerate(np.split(np.arange(N), 2)):
        files.append(tmp_path / f"part-{number}.npz")
        np.savez(files[-1], features=H[rows], labels=Y[rows], weights=W)
    same(measure(features=files), features=H, labels=Y, weights=W)
    same(measure(features=tmp_path / "part-*.npz"), features=H, labels=Y, weights=W)


def test_a_dataset_of_one_snapshot_is_of_that_snapshot(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    with h5py.File(path, "w") as file:
        file["labels"], file["weights"] = Y, W
        for epoch in (1, 2):
            file[f"snapshots/e{epoch}/features"] = H * epoch
            file[f"snapshots/e{epoch}/other"] = H + epoch
    found: Any = measure(path, features="snapshots/e1/other")
    assert found.snapshot == "e1"
    same(found, features=H + 1, labels=Y, weights=W)


def test_headers_of_numbers_and_a_name(tmp_path: Path) -> None:
    rows = [",".join(map(repr, h.tolist())) for h in H]
    words = np.array(["ant", "bee", "cat"])[Y]
    lines = [f"{row},{word}" for row, word in zip(rows, words, strict=True)]
    path = tmp_path / "f.csv"
    for header in ("0,1,2,3,label", "1,2,3,4,label", "a,b,c,d,label"):
        path.write_text("\n".join([header, *lines]))
        same(measure(path), features=H, labels=Y)
    path.write_text("\n".join(["400,401,402,403,species", *lines]))
    with pytest.raises(DataError, match="Begin each name of a column with a letter"):
        measure(path)
    path.write_text("\n".join(["a,b,label", *lines]))
    with pytest.raises(DataError, match="not a table of numbers"):
        measure(path)


def test_labels_stay_numbers_beside_words(tmp_path: Path) -> None:
    many = np.arange(60) % 12
    features = np.random.default_rng(0).standard_normal((60, 3))
    rows = [
        ",".join(["test", *map(repr, h.tolist()), str(y)])
        for h, y in zip(features, many, strict=True)
    ]
    path = tmp_path / "f.csv"
    path.write_text("\n".join(["split,x1,x2,x3,label", *rows]))
    same(measure(path), features=features, labels=many)
    path.write_text("\n".join(["label,x1,x2,x3,target", *rows]))
    with pytest.raises(DataError, match="labels"):
        measure(path)


def test_labels_in_a_file_under_any_header(tmp_path: Path) -> None:
    np.save(tmp_path / "H.npy", H)
    (tmp_path / "y.csv").write_text("\n".join(["class_id", *map(str, Y)]))
    same(measure(features=tmp_path / "H.npy", labels=tmp_path / "y.csv"), features=H, labels=Y)


def test_a_mark_of_the_training_set_is_named(tmp_path: Path) -> None:
    marked = np.where(np.arange(N) == 4, 255, Y)
    np.savez(tmp_path / "train.npz", features=H, labels=marked)
    found: Any = measure(features=H, labels=Y, means_from=tmp_path / "train.npz")
    assert any("train.npz: label 255 is far beyond" in text for text in found.warnings)


def test_null_rows_are_drawn(tmp_path: Path) -> None:
    features = H.copy()
    features[1, :2] = 0.0
    plot = tmp_path / "p.svg"
    measure_series(features=features, labels=Y, weights=W, prefix_dims=[2, 3, 4], plot=plot)
    np.savez(tmp_path / "a.npz", features=H, labels=Y)
    np.savez(tmp_path / "b.npz", features=H)
    measure_series([tmp_path / "a.npz", tmp_path / "b.npz"], plot=plot, force=True)
