"""Features, labels and classifiers as other programs lay them out: read, or refused by name."""

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch

from gnc_cli import measure
from gnc_cli.collapse.result import NOISE_TO_COME
from gnc_cli.errors import DataError
from gnc_cli.io.codefile import read_points

N, D, K = 30, 4, 3
RNG = np.random.default_rng(5)
Y = np.arange(N) % K
W = RNG.standard_normal((K, D))
H = W[Y] + 0.1 * RNG.standard_normal((N, D))
B = np.array([0.5, -0.2, 0.1])
T = torch.from_numpy


def told(found: Any) -> list[str]:
    """Its warnings, but that three classes in four dimensions want the centred GNC1."""
    return [warning for warning in found.warnings if not warning.startswith(NOISE_TO_COME)]


def same(found: Any, expected: Any, but: tuple[str, ...] = ()) -> None:
    """Equal numbers; files, times and warnings may differ."""
    left_out = ("seconds", "file", "snapshot", "warnings", "notes", "epoch", "attrs", "policy", *but)
    mine, theirs = (
        {k: v for k, v in r.to_json().items() if k not in left_out} for r in (found, expected)
    )
    assert mine == theirs


@pytest.mark.parametrize(
    "saved",
    [
        {"features": T(H).split(8), "labels": T(Y).split(8), "weights": T(W), "bias": T(B)},
        {
            "out": {"feats": list(T(H).split(8)), "y": list(T(Y).split(8))},
            "fc_weight": T(W),
            "fc_bias": T(B),
        },
    ],
    ids=["lists", "nested"],
)
def test_lists_of_batches_are_put_together_and_said(tmp_path: Path, saved: Any) -> None:
    torch.save(saved, tmp_path / "f.pt")
    names = ("f.pt:out.feats", "f.pt:out.y") if "out" in saved else ("f.pt", "f.pt")
    found: Any = measure(
        features=tmp_path / names[0], labels=tmp_path / names[1], weights=tmp_path / "f.pt"
    )
    same(found, measure(features=H, labels=Y, weights=W, bias=B))
    assert [note.endswith("a list of 4 batches, put together") for note in found.notes] == [True] * 2
    assert not told(found)


@pytest.mark.parametrize(
    "saved",
    [
        (T(H), T(Y)),
        (T(Y), T(H)),
        list(zip(T(H).split(8), T(Y).split(8), strict=True)),
        list(zip(T(Y).split(8), T(H).split(8), strict=True)),
    ],
)
def test_a_pair_of_features_and_labels(tmp_path: Path, saved: Any) -> None:
    torch.save(saved, tmp_path / "f.pt")
    found: Any = measure(tmp_path / "f.pt")
    same(found, measure(features=H, labels=Y))
    assert len(found.notes) == 2
    with pytest.raises(DataError, match="'features'"):
        read_points(tmp_path / "f.pt")


def test_the_only_bias_belongs_to_the_weights(tmp_path: Path) -> None:
    arrays = {"features": H, "labels": Y, "fc_weight": W}
    expected: Any = measure(features=H, labels=Y, weights=W, bias=B)
    for others, bias in (
        ({"biases": B}, True),
        ({"biases": B[:2]}, False),
        ({"head_bias": B, "head_weight": W[:2]}, False),
    ):
        np.savez(tmp_path / "f.npz", **arrays, **others)
        found: Any = measure(tmp_path / "f.npz", weights=f"{tmp_path}/f.npz:fc_weight")
        assert ("no bias" not in found.policy.spaces["accuracy"]) == bias
        assert not bias or found.accuracy == expected.accuracy


@pytest.mark.parametrize("order", [[1, 2, 0], [1, 0, 2]])
def test_permuted_rows_are_a_hint(order: list[int]) -> None:
    found: Any = measure(features=H, labels=Y, weights=W[order])
    (warning,) = told(found)
    assert "the classifier that of" in warning and "order of the labels" in warning
    assert not told(measure(features=H, labels=Y, weights=W))


def test_sibling_groups_are_snapshots(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "run.h5", "w") as file:
        file["labels"] = Y
        for epoch in (2, 10, 1):
            file[f"epoch_{epoch:03d}/features"] = H * epoch + 0.01 * epoch
            file[f"epoch_{epoch:03d}/weights"] = W
        file["notes/features"] = H
        file.create_group("epoch_" + "1" * 5000)
    found: Any = measure(tmp_path / "run.h5")
    assert [(row.epoch, row.snapshot) for row in found.rows] == [
        (1, "epoch_001"),
        (2, "epoch_002"),
        (10, "epoch_010"),
    ]
    same(found.rows[2], measure(features=H * 10 + 0.1, labels=Y, weights=W))
    one: Any = measure(tmp_path / "run.h5", select={"epoch": 2})
    assert one.snapshot == "epoch_002"


@pytest.mark.parametrize("mark", [-1, -100])
@pytest.mark.parametrize("first", [0, 1])
def test_labels_of_samples_left_out(tmp_path: Path, mark: int, first: int) -> None:
    labels = np.where(np.arange(N) < 6, mark, Y + first)
    np.savez(tmp_path / "f.npz", features=H, labels=labels, weights=W)
    form = {"labels_are": ["zero-based", "one-based"][first]}
    expected = measure(features=H[6:], labels=Y[6:], weights=W)
    by_array = measure(features=H, labels=labels, weights=W, **form)
    for found in (by_array, measure(tmp_path / "f.npz", **form)):
        same(found, expected)
        assert told(found) == ["6 of 30 samples have label -1 or -100: left out"]
    some: Any = measure(tmp_path / "f.npz", min_count=8, **form)
    assert some.N == 24
    measure(tmp_path / "f.npz", plot=tmp_path / "f.png", **form)


def test_maps_of_one_place_are_rows(tmp_path: Path) -> None:
    for name, features in {"one": H[:, :, None, None], "four": np.tile(H[:, :, None], 4)}.items():
        np.savez(tmp_path / f"{name}.npz", features=features, labels=Y, weights=W[:, :, None])
    same(measure(tmp_path / "one.npz"), measure(features=H, labels=Y, weights=W))
    with pytest.raises(DataError, match=r"average the places, features.mean\(axis=1\)"):
        measure(tmp_path / "four.npz")


def test_headers_of_tables(tmp_path: Path) -> None:
    rows = "\n".join(
        ",".join(map(repr, [*row.tolist(), int(y)])) for row, y in zip(H, Y, strict=True)
    )
    for header in ("f0,f1,f2,f3,label", '"a","b","c","d","y"'):
        (tmp_path / "f.csv").write_text(f"{header}\n{rows}\n")
        same(measure(tmp_path / "f.csv"), measure(features=H, labels=Y))
    for header in ("x,y,z", "0,1,2"):
        (tmp_path / "w.csv").write_text(f"{header}\n1,0,0\n0,1,0\n")
        assert read_points(tmp_path / "w.csv").weights.tolist() == [[1, 0, 0], [0, 1, 0]]
    (tmp_path / "w.csv").write_text("0,1,3\n1,0,0\n")
    assert len(read_points(tmp_path / "w.csv").weights) == 2
    (tmp_path / "w.csv").write_text(",0,1\n0,1.5,2\n")
    with pytest.raises(DataError, match=r"line 1, column 1.*index=False"):
        read_points(tmp_path / "w.csv")


def _model(folder: Path, config: dict[str, Any], name: str) -> Path:
    from safetensors.numpy import save_file

    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    save_file({name: W, "model.embed_tokens.weight": W}, folder / "model.safetensors")
    return folder


@pytest.mark.parametrize(
    ("content", "names"),
    [
        (
            {
                "model": {"vocab": {"the": 0, "\u0120cat": 1}},
                "added_tokens": [{"id": 2, "content": "<pad>"}],
            },
            ["the", "\u0120cat", "<pad>"],
        ),
        ({"model": {"vocab": [["a", -1.0], ["\n", -2.0]]}}, ["a", "\n", "(no token)"]),
        ({"model": {"vocab": {"a": 0}}}, [None] * K),
    ],
)
def test_tokens_name_the_classes(tmp_path: Path, content: Any, names: Any) -> None:
    config = {"architectures": ["LlamaForCausalLM"], "vocab_size": K}
    folder = _model(tmp_path / "m", config, "lm_head.weight")
    (folder / "tokenizer.json").write_text(json.dumps(content))
    found: Any = measure(folder)
    ordered = sorted(found.worst_classes, key=lambda row: row.label)
    assert [row.name for row in ordered] == names
    (folder / "tokenizer.json").write_text('{"model": {"vocab": 3}}')
    unnamed: Any = measure(folder)
    assert {row.name for row in unnamed.worst_classes} == {None}


def test_id2label_names_the_classes(tmp_path: Path) -> None:
    for labels, expected in (
        ({"1": "dog", "0": "cat", "2": "cow"}, {"cat", "dog", "cow"}),
        ({str(k): f"LABEL_{k}" for k in range(K)}, {None}),
    ):
        config = {"architectures": ["BertForSequenceClassification"], "id2label": labels}
        folder = _model(tmp_path / f"m{len(expected)}", config, "classifier.weight")
        found: Any = measure(folder)
        assert {row.name for row in found.worst_classes} == expected
