"""Features, labels and classifiers as other programs lay them out: read, or refused by name."""

import json
import re
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch

from gnc_cli import measure, measure_series
from gnc_cli.collapse.result import NOISE_TO_COME
from gnc_cli.errors import DataError
from gnc_cli.io.codefile import read_points
from gnc_cli.parameters import in_shell
from tests.collapse.conftest import put

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
    left_out = (
        "seconds",
        "file",
        "snapshot",
        "warnings",
        "notes",
        "epoch",
        "attrs",
        "policy",
        *but,
    )
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
    assert [note.endswith("a list of 4 batches, put together") for note in found.notes] == [
        True
    ] * 2
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
    assert "the classifier's" in warning and "order of the labels" in warning
    assert not told(measure(features=H, labels=Y, weights=W))


def test_sibling_groups_are_snapshots(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "run.h5", "w") as file:
        file["labels"] = Y
        for epoch in (2, 10, 1):
            file[f"epoch_{epoch:03d}/features"] = H * epoch + 0.01 * epoch
            file[f"epoch_{epoch:03d}/weights"] = W
        file["notes/features"] = H
        file.create_group("epoch_" + "1" * 5000)
    found: Any = measure_series(tmp_path / "run.h5")
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


def bits(array: np.ndarray, dtype: str) -> np.ndarray:
    """The upper halves of float32, as programs without bfloat16 store it."""
    return (array.astype("f4").view("u4") >> 16).astype("u2").view(dtype)


@pytest.mark.parametrize("dtype", ["u2", "i2", ">u2"])
@pytest.mark.parametrize("suffix", [".h5", ".npz"])
def test_16_bit_whole_numbers_are_a_question(tmp_path: Path, dtype: str, suffix: str) -> None:
    stored = bits(H, dtype.strip(">")).astype(dtype)
    rounded = (bits(H, "u2").astype("u4") << 16).view("f4")
    file = put(tmp_path / f"f{suffix}", {"features": stored, "labels": Y})
    with pytest.raises(DataError, match="bits of bfloat16; name it .*features:int or .*:bf16"):
        measure(file)
    for reading, array in (("bf16", rounded), ("int", stored.astype(float))):
        found = measure(features=f"{file}:features:{reading}", labels=file)
        same(found, measure(features=array, labels=Y))
    head = put(tmp_path / f"w{suffix}", {"fc.weight": bits(W, "u2"), "fc.bias": B})
    found = measure(weights=f"{head}:fc.weight:bf16", features=f"{file}:features:bf16", labels=file)
    rows = (bits(W, "u2").astype("u4") << 16).view("f4")
    same(found, measure(features=rounded, labels=Y, weights=rows, bias=B), ("gnc2_reference",))
    with pytest.raises(DataError, match="float64, not 16-bit"):
        measure(weights=f"{head}:fc.bias:bf16")


def test_16_bit_arrays_are_a_question() -> None:
    with pytest.raises(DataError) as caught:
        measure(features=bits(H, "u2"), labels=Y)
    step = re.search(r"give (.*) of bits, or (.*) of numbers", str(caught.value))
    assert step is not None
    for expression, expected in zip(
        step.groups(),
        ((bits(H, "u2").astype("u4") << 16).view("f4"), bits(H, "u2") * 1.0),
        strict=True,
    ):
        array = eval(expression, {"numpy": np, "features": bits(H, "u2")})
        same(measure(features=array, labels=Y), measure(features=expected, labels=Y))


def test_unnamed_features_and_labels(tmp_path: Path) -> None:
    expected = measure(features=H, labels=Y)
    for number, arrays in enumerate(((H, Y), (Y, H), (H, Y.astype(float)))):
        np.savez(tmp_path / f"{number}.npz", *arrays)
        found: Any = measure(tmp_path / f"{number}.npz")
        same(found, expected)
        assert "taken as the labels of 'arr_" in found.notes[0]
    np.savez(tmp_path / "a.npz", emb=H, cls=Y)
    same(measure(tmp_path / "a.npz"), expected)
    np.save(tmp_path / "w.npy", W)
    same(
        measure(tmp_path / "a.npz", weights=tmp_path / "w.npy"),
        measure(features=H, labels=Y, weights=W),
    )
    for others in ((Y + 0.5,), (Y[:-1],), (np.zeros(N),), (np.arange(N),), (Y, Y)):
        np.savez(tmp_path / "b.npz", H, *others)
        with pytest.raises(DataError, match=r"b.npz' has neither.*'arr_0' \(30, 4\).*'arr_1'"):
            measure(tmp_path / "b.npz")
    measure(weights=f"{tmp_path}/b.npz:arr_0")
    np.savez(tmp_path / "c.npz", W)
    assert measure(tmp_path / "c.npz").K == K


def test_a_file_of_which_nothing_would_be_used_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "h.npy", H)
    np.save(tmp_path / "w.npy", W)
    np.save(tmp_path / "y.npy", Y)
    with pytest.raises(DataError, match="h.npy' has neither features nor weights by name"):
        measure(tmp_path / "h.npy", weights=tmp_path / "w.npy")
    np.savez(tmp_path / "more.npz", one=H, other=W)
    with pytest.raises(DataError, match="more.npz' is not used: .* such as weights="):
        measure(tmp_path / "more.npz", features=tmp_path / "h.npy", labels=tmp_path / "y.npy")
    found = measure(tmp_path / "w.npy", features=tmp_path / "h.npy", labels=tmp_path / "y.npy")
    same(found, measure(features=H, labels=Y, weights=W))


def test_a_column_that_may_be_labels_is_a_question(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    tables = {
        "x1,x2,x3,x4,label": (np.c_[H, Y], "last", "x1 to x4 and label"),
        "label,x1,x2,x3,x4": (np.c_[Y, H], "first", "label and x1 to x4"),
    }
    for header, (table, place, names) in tables.items():
        np.savetxt(path, table, delimiter=",", fmt="%.17g")
        with pytest.raises(DataError, match=f"the {place} column has whole.*{names}"):
            measure(path)
        with pytest.raises(DataError, match=f"the {place} column has whole.*{names}"):
            measure(features=path)
        assert measure(weights=path).K == N
        assert read_points(path).weights.shape == (N, D + 1)
        text = path.read_text()
        path.write_text(f"{header}\n{text}")
        same(measure(path), measure(features=H, labels=Y))
        path.write_text(f"x1,x2,x3,x4,x5\n{text}")
        assert measure(path).K == N
    np.savetxt(path, np.rint(10 * W), delimiter=",", fmt="%d")
    assert measure(path).K == K


@pytest.mark.parametrize(
    ("kernel", "bias"),
    [
        ("kernel", "bias"),
        ("dense/kernel:0", "dense/bias:0"),
        ("head.kernel", "head.bias"),
        ("kernel", None),
        ("predictions/kernel:0", None),
        ("weights", "biases"),
        ("fc.weight", "fc.bias"),
    ],
)
def test_kernels_and_weights_whose_bias_fits_their_columns(
    tmp_path: Path, kernel: str, bias: str | None
) -> None:
    file = tmp_path / "w.npz"
    np.savez(file, **{kernel: W.T} | ({bias: B} if bias else {}))
    np.savez(tmp_path / "f.npz", features=H, labels=Y)
    data = {"features": tmp_path / "f.npz", "labels": tmp_path / "f.npz"}
    arrays = {"weights": W} | ({"bias": B} if bias else {})
    expected = measure(features=H, labels=Y, **arrays)
    for found in (
        measure(file, **data),
        measure(weights=file, **data),
        measure(weights=f"{file}:{kernel}", **data),
    ):
        same(found, expected)
        assert "stored as (d, K)" in found.notes[0]
    same(measure(file), measure(**arrays))
    same(measure(file, transpose_weights=True), measure(**arrays))


def test_kernels_in_shards_and_turned_arrays(tmp_path: Path) -> None:
    expected = measure(features=H, labels=Y, weights=W, bias=B)
    same(measure(features=H, labels=Y, weights=W.T, bias=B), expected)
    np.savez(tmp_path / "f.npz", features=H, labels=Y)
    for number, part in enumerate((slice(0, 1), slice(1, K))):
        np.savez(tmp_path / f"w{number}.npz", kernel=W.T[:, part], bias=B[part])
    shards = sorted(tmp_path.glob("w*.npz"))
    data = {"features": tmp_path / "f.npz", "labels": tmp_path / "f.npz"}
    same(measure(weights=shards, **data), expected)
    np.savez(tmp_path / "k.npz", kernel=W)  # its columns are those of the features
    same(measure(weights=tmp_path / "k.npz", **data), measure(features=H, labels=Y, weights=W))


def grouped(path: Path, arrays: dict[str, np.ndarray]) -> Path:
    """A file of arrays with slashes in their names; dictionaries in .pt."""
    if path.suffix != ".pt":
        put(path, arrays)
        return path
    nested: dict[str, Any] = {}
    for name, array in arrays.items():
        *groups, last = name.split("/")
        place = nested
        for group in groups:
            place = place.setdefault(group, {})
        place[last] = T(array)
    torch.save(nested, path)
    return path


@pytest.mark.parametrize("suffix", [".h5", ".npz", ".pt"])
def test_groups_are_sets(tmp_path: Path, suffix: str) -> None:
    parts = {"train/features": H, "train/labels": Y, "test/features": H + 0.1, "test/labels": Y}
    found: Any = measure_series(grouped(tmp_path / f"a{suffix}", {"weights": W, **parts}))
    assert [(row.snapshot, row.split) for row in found.rows] == [
        ("test", "test"),
        ("train", "train"),
    ]
    np.savez(tmp_path / "train.npz", features=H, labels=Y)
    np.savez(tmp_path / "test.npz", features=H + 0.1, labels=Y, weights=W)
    expected = measure(tmp_path / "test.npz", means_from=tmp_path / "train.npz")
    same(found.rows[0], expected, ("split",))
    same(found.rows[1], measure(features=H, labels=Y, weights=W), ("split",))
    layers = {"layer1/features": H, "layer2/features": 2 * H, "labels": Y}
    several: Any = measure_series(grouped(tmp_path / f"b{suffix}", layers))
    assert [row.snapshot for row in several.rows] == ["layer1", "layer2"]
    alone: Any = measure(grouped(tmp_path / f"c{suffix}", {"weights": W, "val/X": H, "val/y": Y}))
    assert (alone.split, alone.N) == ("val", N)
    root: Any = measure(grouped(tmp_path / f"d{suffix}", {"features": H, "labels": Y, **parts}))
    assert root.snapshot is None and "left out: 't" in root.notes[0]
    flat: Any = measure(grouped(tmp_path / f"e{suffix}", {"weights": W, "X_a": H, "y_a": Y}))
    assert "left out: 'X_a'" in flat.notes[0]


def test_features_stored_by_columns_name_the_option(tmp_path: Path) -> None:
    with in_shell(), pytest.raises(DataError, match="stored as .d, N.: add --transpose-features"):
        measure(features=H.T, labels=Y)


def test_lists_of_choices_are_without_groups(tmp_path: Path) -> None:
    put(tmp_path / "a.h5", {"a/left": H, "a/right": H})
    with pytest.raises(DataError) as caught:
        measure(tmp_path / "a.h5")
    assert "'a/left' (30, 4)" in str(caught.value) and "is a group" not in str(caught.value)


def test_bits_of_a_kernel_are_a_kernel(tmp_path: Path) -> None:
    bits = (W.T.astype("f4").view("u4") >> 16).astype("u2")
    expected = (bits.astype("u4") << 16).view("f4").T
    np.savez(tmp_path / "k.npz", **{"dense/kernel": bits})
    found: Any = measure(weights=f"{tmp_path}/k.npz:dense/kernel:bf16")
    same(found, measure(weights=expected))


def test_a_column_of_classes_under_another_name_is_a_question(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    rows = [",".join(map(repr, [*h.tolist(), int(y)])) for h, y in zip(H, Y, strict=True)]
    path.write_text("\n".join(["a,b,c,d,cls", *rows]))
    with pytest.raises(DataError, match="labels or coordinates"):
        measure(path)
    path.write_text("\n".join(["x1,x2,x3,x4,label", *rows]))
    same(measure(path), measure(features=H, labels=Y))
    path.write_text("\n".join(["x1,x2,x3,x4,x5", *rows]))
    assert measure(path).K == N


def test_a_first_row_of_whole_numbers_is_a_point(tmp_path: Path) -> None:
    path = tmp_path / "permutations.txt"
    path.write_text("0 1 2\n0 2 1\n1 0 2\n1 2 0\n2 0 1\n2 1 0\n")
    assert len(read_points(path).weights) == 6


def test_an_option_replaces_one_dataset_of_the_file(tmp_path: Path) -> None:
    other = W + 1.0
    np.savez(tmp_path / "f.npz", features=H, labels=Y, weights=W, other=other)
    same(measure(tmp_path / "f.npz", weights="other"), measure(features=H, labels=Y, weights=other))
    same(measure(tmp_path / "f.npz", features="features"), measure(tmp_path / "f.npz"))


def test_vectors_that_may_be_labels_are_named(tmp_path: Path) -> None:
    np.savez(tmp_path / "f.npz", features=H, gt=Y)
    found: Any = measure(tmp_path / "f.npz")
    (note,) = found.notes
    assert "left out: 'gt'" in note and f"labels='{tmp_path}/f.npz:gt'" in note
    same(measure(tmp_path / "f.npz", labels="gt"), measure(features=H, labels=Y))


def test_a_key_that_the_first_line_lacks_is_not_dropped(tmp_path: Path) -> None:
    lines = [{"embedding": h.tolist(), "label": int(y)} for h, y in zip(H, Y, strict=True)]
    del lines[0]["label"]
    (tmp_path / "f.jsonl").write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(DataError, match="'label'.*in every line"):
        measure(tmp_path / "f.jsonl")


def test_fvecs_of_128_dimensions(tmp_path: Path) -> None:
    features = np.random.default_rng(0).standard_normal((6, 128)).astype("f4")
    lengths = np.full((6, 1), 128, "<i4").view("<f4")
    np.concatenate([lengths, features], axis=1).tofile(tmp_path / "f.fvecs")
    labels = np.arange(6) // 2
    found = measure(features=tmp_path / "f.fvecs", labels=labels_file(tmp_path, labels))
    same(found, measure(features=features, labels=labels))


def labels_file(folder: Path, labels: np.ndarray) -> Path:
    np.save(folder / "y.npy", labels)
    return folder / "y.npy"


def test_rows_of_many_files_are_known_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gnc_cli.collapse.dataset._MAX_OPEN_FILES", 1)
    files = []
    for number in range(3):
        bits = (H.astype("f4").view("u4") >> 16).astype("u2") + np.uint16(number)
        np.savez(tmp_path / f"{number}.npz", features=bits, labels=Y)
        files.append(f"{tmp_path}/{number}.npz:features:bf16")
    out = tmp_path / "rows.jsonl"
    first: Any = measure_series(files, out=out)
    again: Any = measure_series(files, out=out, resume=True)
    assert len(first.rows) == again.skipped == 3


def test_codes_are_read_as_heads_are(tmp_path: Path) -> None:
    np.savez(tmp_path / "k.npz", **{"head/kernel": W.T})
    assert np.array_equal(read_points(tmp_path / "k.npz").weights, W)
    bits = (W.astype("f4").view("u4") >> 16).astype("u2")
    np.savez(tmp_path / "b.npz", weights=bits)
    with pytest.raises(DataError, match="name it .*:weights:int or .*:weights:bf16"):
        read_points(tmp_path / "b.npz")
    expected = (bits.astype("u4") << 16).view("f4")
    assert np.array_equal(read_points(f"{tmp_path}/b.npz:weights:bf16").weights, expected)


def test_layers_of_keras_3(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "m.weights.h5", "w") as file:
        file["layers/dense/vars/0"], file["layers/dense/vars/1"] = W.T, B
    found: Any = measure(weights=f"{tmp_path}/m.weights.h5:layers/dense/vars/0")
    same(found, measure(weights=W, bias=B))
    assert "stored as (d, K)" in found.notes[0]


def test_an_unnamed_pair_with_words(tmp_path: Path) -> None:
    np.savez(tmp_path / "f.npz", H, np.array(["ant", "bee", "cat"])[Y])
    found: Any = measure(tmp_path / "f.npz")
    assert found.gnc1 == measure(features=H, labels=Y).gnc1


def test_naming_a_dataset_keeps_the_others_of_the_file(tmp_path: Path) -> None:
    bits = (H.astype("f4").view("u4") >> 16).astype("u2")
    np.savez(tmp_path / "f.npz", features=bits, labels=Y, weights=W)
    found: Any = measure(tmp_path / "f.npz", features="features:bf16")
    same(found, measure(features=(bits.astype("u4") << 16).view("f4"), labels=Y, weights=W))
