"""Whatever the files are called and however they are cut, the same numbers come out."""

import io
import itertools
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch

from gnc_cli.collapse.conventions import Conventions, Selection
from gnc_cli.collapse.prepared import prepare_dataset
from gnc_cli.collapse.sources import Source
from gnc_cli.errors import DataError, UsageError
from gnc_cli.io.codefile import CodeFile, read_points, write_code
from gnc_cli.parameters import in_shell
from tests.collapse.conftest import SAVERS, put, sources_of

N, D, K = 12, 3, 4
RNG = np.random.default_rng(11)
H = RNG.standard_normal((N, D)).astype(np.float32)
Y = np.arange(N) % K
W = RNG.standard_normal((K, D)).astype(np.float32)
B = RNG.standard_normal(K).astype(np.float32)
L = (H @ W.T + B).astype(np.float32)
ALL = {"features": H, "labels": Y, "weights": W, "bias": B}


def read(source: Source) -> dict[str, Any]:
    """Everything that the source holds, loaded."""
    with source.open() as samples:
        found = {name: getattr(samples, name) for name in (*ALL, "logits")}
        for name in ("features", "logits"):
            if found[name] is not None:
                found[name] = found[name].read(0, found[name].shape[0])
        found = {name: array for name, array in found.items() if array is not None}
        assert found.keys() == samples.locations.keys()
    kinds = {"labels": np.int64, "weights": np.float64, "bias": np.float64}
    assert all(found[name].dtype == kinds[name] for name in kinds.keys() & found.keys())
    return found


def same(found: dict[str, Any], expected: dict[str, np.ndarray]) -> None:
    assert found.keys() == expected.keys()
    for role, array in expected.items():
        assert np.array_equal(found[role], array), role


def one(*files: Path | str, **options: Any) -> dict[str, Any]:
    """What the one row of these files holds."""
    (source,) = sources_of([str(file) for file in files], **options)
    return read(source)


def refusal(*files: Path | str, **options: Any) -> str:
    """The message with which the files are refused."""
    with in_shell(), pytest.raises(DataError) as caught:
        for source in sources_of([str(file) for file in files], **options):
            with source.open() as samples:
                prepare_dataset(samples, Selection(), Conventions(K=options.get("K")))
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize("suffix", SAVERS)
def test_one_file_holds_all(tmp_path: Path, suffix: str) -> None:
    path = put(tmp_path / f"a{suffix}", ALL | {"logits": L})
    same(one(path), ALL | {"logits": L})
    two = {"features": H, "labels": Y}  # a key names one dataset alone
    same(one(features=f"{path}:features", labels=f"{path}:labels"), two)
    same(one(features=f"{path}:features", labels=path), two)
    same(one(features=path, labels=path), ALL | {"logits": L})
    same(one(features=f"{path}:features"), {"features": H})
    found = one(features=f"{path}:features", labels=path, weights=f"{path}:weights")
    same(found, ALL)  # the bias belongs to the layer


@pytest.mark.parametrize("name", ["features", "H", "feats", "embeddings", "embedding", "X", "x"])
@pytest.mark.parametrize("suffix", [".h5", ".pt"])
def test_spellings_of_features(tmp_path: Path, suffix: str, name: str) -> None:
    label = {"features": "labels", "H": "y", "feats": "targets", "X": "target"}.get(name, "label")
    path = put(tmp_path / f"a{suffix}", {name: H, label: Y})
    same(one(path), {"features": H, "labels": Y})


@pytest.mark.parametrize(
    ("name", "bias"),
    [
        ("weights", "bias"),
        ("W", "b"),
        ("weight", "bias"),
        ("classifier", None),
        ("prototypes", None),
        ("fc.weight", "fc.bias"),
        ("head.weight", "head.bias"),
        ("classifier.weight", "classifier.bias"),
        ("lm_head.weight", "lm_head.bias"),
        ("output.weight", None),
        ("embed_out.weight", None),
        ("module.fc.weight", "module.fc.bias"),
        ("_orig_mod.module.head.weight", "_orig_mod.module.head.bias"),
        ("state_dict.model.fc.weight", "state_dict.model.fc.bias"),
        ("model.embed_tokens.weight", None),
        ("transformer.wte.weight", None),
        ("bert.embeddings.word_embeddings.weight", None),
    ],
)
@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_spellings_of_weights(tmp_path: Path, suffix: str, name: str, bias: str | None) -> None:
    others = {
        "layer1.weight": np.ones((7, 7)),
        "conv.bias": np.ones(9),
        "layer1.bias": np.ones(7),
        "encoder.bias": np.zeros(K),
        "norm.weight": np.ones(D),
    }
    expected = {"weights": W} | ({"bias": B} if bias else {})
    path = put(tmp_path / f"a{suffix}", {name: W} | others | ({bias: B} if bias else {}))
    same(one(path), expected)
    features, labels = put(tmp_path / "f.npz", {"f": H}), put(tmp_path / "y.npz", {"y": Y})
    found = one(features=features, labels=labels, weights=path)
    same(found, {"features": H, "labels": Y} | expected)


def test_a_tied_head_gives_way_to_a_head(tmp_path: Path) -> None:
    arrays = {"model.embed_tokens.weight": 2 * W, "lm_head.weight": W}
    same(one(put(tmp_path / "model.safetensors", arrays)), {"weights": W})


@pytest.mark.parametrize("suffix", SAVERS)
def test_two_names_of_equal_standing_are_ambiguous(tmp_path: Path, suffix: str) -> None:
    path = put(tmp_path / f"a{suffix}", {"fc.weight": W, "head.weight": W, "features": H})
    message = refusal(path)
    for name in ("fc.weight", "head.weight"):
        assert f"--weights {path}:{name} (4, 3) float32" in message
    same(one(path, weights=f"{path}:head.weight"), {"features": H, "weights": W})


@pytest.mark.parametrize("suffix", SAVERS)
def test_any_names_by_key(tmp_path: Path, suffix: str) -> None:
    arrays = {"l4": H, "who": Y, "out.matrix": W, "out.offset": B, "more": L}
    path = put(tmp_path / f"a{suffix}", arrays)
    keys = {"features": "l4", "labels": "who", "weights": "out.matrix", "logits": "more"}
    options = {role: f"{path}:{key}" for role, key in keys.items()}
    same(one(**options), {"features": H, "labels": Y, "weights": W, "logits": L})
    same(one(**options, bias=f"{path}:out.offset"), ALL | {"logits": L})
    message = refusal(features=f"{path}:nothing")
    assert "no dataset 'nothing'" in message and "'l4' (12, 3) float32" in message
    assert "'who' (12,) int64" in message
    for role in ("features", "weights"):
        assert f"name one, as {path}:KEY" in refusal(**{role: path})


@pytest.mark.parametrize(
    "key", ["head.weight", "module.head.weight", "state_dict.module.head.weight"]
)
def test_the_end_of_a_name_is_enough(tmp_path: Path, key: str) -> None:
    head = {"module.head.weight": torch.from_numpy(W), "module.head.bias": torch.from_numpy(B)}
    body = {"module.layer.weight": torch.ones(7, 7), "module.overhead.weight": torch.ones(2, 2)}
    torch.save({"state_dict": body | head}, tmp_path / "m.pt")
    expected = {"weights": W, "bias": B}
    same(one(weights=f"{tmp_path}/m.pt:{key}"), expected)
    same(one(f"{tmp_path}/m.pt:{key}"), expected)
    assert np.array_equal(read_points(f"{tmp_path}/m.pt:{key}").weights, W)
    path = put(tmp_path / "m.h5", {"run/" + key: W})
    for name in (key, f"/{key}", f"run/{key}"):
        same(one(weights=f"{path}:{name}"), {"weights": W})


def test_codes_of_ours(tmp_path: Path) -> None:
    labels = np.repeat(np.arange(K), 3)
    code = CodeFile(W.astype(float), H.astype(float), labels=labels)
    write_code(tmp_path / "a.h5", code)
    same(one(features=f"{tmp_path}/a.h5:features"), {"features": H})
    same(one(features=f"{tmp_path}/a.h5"), {"features": H, "labels": labels, "weights": W})
    write_code(tmp_path / "b.h5", CodeFile(W.astype(float), 2.0 * W, provenance={"seed": 3}))
    with h5py.File(tmp_path / "b.h5", "a") as h5:
        del h5["labels"]  # a feature per class needs none
    found = one(tmp_path / "b.h5")
    same(found, {"features": 2 * W, "labels": np.arange(K), "weights": W})
    with h5py.File(tmp_path / "b.h5", "a") as h5:
        h5.attrs["kind"] = "features"
    assert "labels" not in one(tmp_path / "b.h5")
    (source,) = sources_of([str(tmp_path / "b.h5")])
    assert source.attrs["provenance"] == {"seed": 3} and "kind" not in source.attrs


@pytest.mark.parametrize("suffix", SAVERS)
def test_the_only_dataset_is_the_one(tmp_path: Path, suffix: str) -> None:
    options = {role: put(tmp_path / f"{role}{suffix}", {"thing": a}) for role, a in ALL.items()}
    same(one(**options), ALL)
    same(one(options["weights"]), {"weights": W})
    same(one(options["features"], labels=options["labels"]), {"features": H, "labels": Y})


def test_nameless_features_beside_labels(tmp_path: Path) -> None:
    path = put(tmp_path / "a.npz", {"labels": Y, "layer4": H, "head.weight": W})
    whole = {"features": H, "labels": Y, "weights": W}
    same(one(path), whole)
    same(one(f"{path}:head.weight"), whole)
    path = put(tmp_path / "b.npz", {"labels": Y, "layer4": H, "layer3": H})
    assert "'layer4', 'layer3'" in refusal(path)
    same(one(f"{path}:layer3"), {"features": H, "labels": Y})


def test_nothing_to_measure_lists_what_there_is(tmp_path: Path) -> None:
    message = refusal(put(tmp_path / "a.h5", {"left": H, "right": W}))
    assert "'left' (12, 3) float32" in message and "--weights" in message
    with pytest.raises(UsageError, match="nothing"):
        sources_of([])


def test_groups_of_a_file(tmp_path: Path) -> None:
    arrays = {"train/x": H, "train/y": Y, "test/x": -H, "test/y": Y, "W": W}
    path = put(tmp_path / "a.h5", arrays)
    same(one(f"{path}:test"), {"features": -H, "labels": Y, "weights": W})
    same(one(features=f"{path}:train"), {"features": H, "labels": Y, "weights": W})
    torch.save(
        {"train": {"x": torch.from_numpy(H)}, "test": [torch.from_numpy(-H)]}, tmp_path / "a.pt"
    )
    same(one(features=f"{tmp_path}/a.pt:train"), {"features": H})
    same(one(features=f"{tmp_path}/a.pt:test.0"), {"features": -H})


def test_a_lightning_checkpoint(tmp_path: Path) -> None:
    state = {
        "model.conv.weight": torch.ones(3, 3, 3, 3),
        "model.fc.weight": torch.from_numpy(W),
        "model.fc.bias": torch.from_numpy(B),
    }
    optimizer = [{"state": {0: {"exp_avg": torch.ones(K, D)}}, "param_groups": [{"lr": 0.1}]}]
    torch.save(
        {
            "epoch": 7,
            "global_step": 700,
            "state_dict": state,
            "np": np.float64(3.0),
            "optimizer_states": optimizer,
        },
        tmp_path / "a.ckpt",
    )
    (source,) = sources_of([str(tmp_path / "a.ckpt")])
    same(read(source), {"weights": W, "bias": B})
    assert (source.attrs["epoch"], source.attrs["step"]) == (7, 700)


@pytest.mark.parametrize("dtype", ["i1", "<u2", ">u2", "i4", ">i8", "u8", "f4", ">f8"])
@pytest.mark.parametrize("suffix", [".h5", ".npz", ".npy"])
def test_labels_of_every_dtype(tmp_path: Path, suffix: str, dtype: str) -> None:
    features = put(tmp_path / "f.npz", {"f": H})
    for labels in (Y.astype(dtype), Y.astype(dtype)[:, None]):
        path = put(tmp_path / f"y{suffix}", {"y": labels})
        same(one(features=features, labels=path), {"features": H, "labels": Y})


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (
            np.where(Y == 0, -2, Y),
            ["3 value(s)", "-2", "row 0", "expected integers from 0 on: remove or renumber"],
        ),
        (Y + 0.25, ["12 value(s)", "0.25", "row 0"]),
        (np.where(Y == 2, np.nan, Y), ["nan", "row 2"]),
        (np.where(Y == 3, np.inf, Y), ["inf", "row 3"]),
        (
            np.where(Y == 1, np.uint64(2**64 - 1), Y.astype(np.uint64)),
            ["18446744073709551615", "row 1"],
        ),
        (np.eye(N)[:, :K], ["(12, 4)", "multi-label", "row 4"]),
        (np.c_[Y, Y + 1], ["(12, 2)", "(N,)", "labels[:, 0]"]),
        (np.int64(3), ["()"]),
        (Y * 1j, ["complex128"]),
        (Y[:-1], ["11 labels", "12 features"]),
    ],
    ids=[
        "minus two",
        "fraction",
        "nan",
        "inf",
        "huge",
        "multi-label",
        "columns",
        "scalar",
        "complex",
        "short",
    ],
)
@pytest.mark.parametrize("suffix", [".h5", ".npz"])
def test_labels_that_are_none(
    tmp_path: Path, suffix: str, labels: np.ndarray, words: list[str]
) -> None:
    put(tmp_path / f"a{suffix}", {"features": H, "labels": np.asarray(labels)})
    message = refusal(tmp_path / f"a{suffix}")
    for word in [f"a{suffix}", "labels", *words]:
        assert word in message


def test_shards_come_in_natural_order(tmp_path: Path) -> None:
    cuts = {"part_1": (0, 5), "part_2": (5, 6), "part_10": (6, N)}
    names = [
        put(tmp_path / f"{name}.h5", {"H": H[a:b], "y": Y[a:b], "fc.weight": W})
        for name, (a, b) in cuts.items()
    ]
    pattern, whole = f"{tmp_path}/part_*.h5", {"features": H, "labels": Y, "weights": W}
    same(one(features=pattern), whole)
    same(one(features=f"{pattern}:H", labels=f"{pattern}:y", weights=names[1]), whole)
    same(one(features=names, labels=names), whole)
    (source,) = sources_of([], features=pattern)
    assert source.file == ",".join(names)
    assert [s.file for s in sources_of([pattern])] == names
    same(one(features=pattern, labels=put(tmp_path / "y.npy", {"y": Y})), whole)
    assert "no file matches" in refusal(f"{tmp_path}/none_*.h5")


def test_shards_that_do_not_add_up(tmp_path: Path) -> None:
    parts = [{"H": H[:5], "y": Y[:5]}, {"H": H[5:], "y": Y[5:-1]}, {"H": H[:, :2], "y": Y}]
    parts += [{"H": H}]
    files = [put(tmp_path / f"p_{i}.h5", part) for i, part in enumerate(parts, start=1)]
    message = refusal(features=files[:2])
    assert "p_2.h5" in message and "6 labels" in message and "7 rows" in message
    assert "p_3.h5" in refusal(features=[files[0], files[2]])
    assert "5 labels for 17 features" in refusal(features=[files[0], files[3]])
    message = refusal(features=files[:2], labels=put(tmp_path / "y.npy", {"y": Y[:-1]}))
    assert "y.npy" in message and "11 labels for 12 features" in message


def test_shards_share_their_classifier(tmp_path: Path) -> None:
    arrays = {"H": H, "y": Y, "W": W, "b": B}
    files = [put(tmp_path / name, arrays) for name in ("a.h5", "b.h5")]
    found = one(features=files)
    same(found, {"features": np.vstack([H, H]), "labels": np.tile(Y, 2), "weights": W, "bias": B})
    put(tmp_path / "b.h5", arrays | {"W": W + 1})
    assert "differs" in refusal(features=files)


@pytest.mark.parametrize("suffix", [".npy", ".pt", ".safetensors"])
def test_classifiers_cut_by_rows(tmp_path: Path, suffix: str) -> None:
    full = np.arange(60.0, dtype=np.float32).reshape(20, 3)
    cuts = [0, 2, 4, *range(5, 14), 20]
    for i, (start, stop) in enumerate(itertools.pairwise(cuts)):
        put(tmp_path / f"rank_{i}{suffix}", {"weight": full[start:stop]})
    pattern = f"{tmp_path}/rank_*{suffix}"
    same(one(weights=pattern), {"weights": full})
    same(one(weights=pattern, K=20), {"weights": full})
    (tmp_path / f"rank_11{suffix}").unlink()
    message = refusal(weights=pattern, K=20)
    assert "13 classes, not --K 20" in message


def test_biases_come_with_the_shards(tmp_path: Path) -> None:
    for i in range(2):
        two = slice(2 * i, 2 * i + 2)
        put(tmp_path / f"rank_{i}.pt", {"weight": W[two], "bias": B[two]})
    same(one(weights=f"{tmp_path}/rank_*.pt"), {"weights": W, "bias": B})
    put(tmp_path / "rank_1.pt", {"weight": W[2:]})
    assert "(2,); expected (4,)" in refusal(weights=f"{tmp_path}/rank_*.pt")


def test_logits_alone_and_beside(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    same(one(put(path, {"logits": L, "labels": Y})), {"logits": L, "labels": Y})
    message = refusal(put(path, {"logits": L, "features": H, "labels": Y, "weights": W[1:]}))
    assert "out of range for K = 3" in message


def test_weights_are_finite(tmp_path: Path) -> None:
    path, bad = tmp_path / "a.h5", W.copy()
    bad[2, 1] = np.nan
    message = refusal(put(path, {"weights": bad}))
    assert "nan" in message and "row 2" in message and "column 1" in message
    bad[2] = 0.0
    same(one(put(path, {"weights": bad})), {"weights": bad})
    message = refusal(put(path, {"weights": W, "bias": np.array([0, np.inf, 0, 0])}))
    assert "'bias'" in message and "row 1" in message
    assert "(5,); expected (4,)" in refusal(put(path, {"weights": W, "bias": np.zeros(K + 1)}))


def test_stdin_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "a.h5", ALL | {"run/W": 2 * W})
    data = (tmp_path / "a.h5").read_bytes()

    def stdin() -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    stdin()
    (source,) = sources_of(["-"])
    same(read(source), ALL)
    same(read(source), ALL)
    assert source.file == "-"
    stamp, data = source.stamp(), data + b"\0"
    stdin()
    assert stamp == source.stamp() != sources_of(["-"])[0].stamp()
    stdin()
    same(one("-:run/W"), {"weights": 2 * W})
    stdin()
    same(
        one(features="-:features", labels="-:labels", weights="-:run/W"),
        {"features": H, "labels": Y, "weights": 2 * W},
    )
