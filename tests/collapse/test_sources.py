"""Whatever the files are called and however they are cut, the same numbers come out."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch

from gnc_cli.collapse.samples import Samples
from gnc_cli.collapse.sources import Source, find_samples
from gnc_cli.errors import DataError, UsageError
from gnc_cli.io.codefile import CodeFile, read_points, write_code
from gnc_cli.parameters import in_shell
from tests.collapse.conftest import SAVERS, save_pt, save_safetensors
from tests.collapse.conftest import save as save_h5

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
        return loaded(samples)


def loaded(samples: Samples) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for role in ("features", "logits"):
        rows = getattr(samples, role)
        if rows is not None:
            found[role] = rows.read(0, rows.shape[0])
    for role in ("labels", "weights", "bias"):
        if getattr(samples, role) is not None:
            found[role] = getattr(samples, role)
    assert found.keys() == samples.where.keys()
    if samples.labels is not None:
        assert samples.labels.dtype == np.int64
    for role in ("weights", "bias"):
        assert role not in found or found[role].dtype == np.float64
    return found


def same(found: dict[str, Any], expected: dict[str, np.ndarray]) -> None:
    assert found.keys() == expected.keys()
    for role, array in expected.items():
        assert np.array_equal(found[role], array), role


def one(*files: Path | str, **options: Any) -> dict[str, Any]:
    """What the one row of these files holds."""
    (source,) = find_samples([str(file) for file in files], **options)
    return read(source)


def refusal(*files: Path | str, **options: Any) -> str:
    """The message with which the files are refused."""
    with in_shell(), pytest.raises(DataError) as caught:
        for source in find_samples([str(file) for file in files], **options):
            with source.open() as samples:
                loaded(samples)
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize("suffix", SAVERS)
def test_one_file_holds_all(tmp_path: Path, suffix: str) -> None:
    SAVERS[suffix](tmp_path / f"a{suffix}", ALL | {"logits": L})
    same(one(tmp_path / f"a{suffix}"), ALL | {"logits": L})


@pytest.mark.parametrize("name", ["features", "H", "feats", "embeddings", "embedding", "X", "x"])
@pytest.mark.parametrize("suffix", [".h5", ".pt"])
def test_spellings_of_features(tmp_path: Path, suffix: str, name: str) -> None:
    label = {"features": "labels", "H": "y", "feats": "targets", "X": "target"}.get(name, "label")
    SAVERS[suffix](tmp_path / f"a{suffix}", {name: H, label: Y})
    same(one(tmp_path / f"a{suffix}"), {"features": H, "labels": Y})


@pytest.mark.parametrize(
    ("name", "bias"),
    [
        ("weights", "bias"), ("W", "b"), ("weight", "bias"), ("classifier", None),
        ("prototypes", None), ("fc.weight", "fc.bias"), ("head.weight", "head.bias"),
        ("classifier.weight", "classifier.bias"), ("lm_head.weight", "lm_head.bias"),
        ("output.weight", None), ("embed_out.weight", None), ("module.fc.weight", "module.fc.bias"),
        ("_orig_mod.module.head.weight", "_orig_mod.module.head.bias"),
        ("state_dict.model.fc.weight", "state_dict.model.fc.bias"),
        ("model.embed_tokens.weight", None), ("transformer.wte.weight", None),
        ("bert.embeddings.word_embeddings.weight", None),
    ],
)  # fmt: skip
@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_spellings_of_weights(tmp_path: Path, suffix: str, name: str, bias: str | None) -> None:
    others = {
        "layer1.weight": np.ones((7, 7)), "conv.bias": np.ones(9), "layer1.bias": np.ones(7),
        "encoder.bias": np.zeros(K), "norm.weight": np.ones(D),
    }  # fmt: skip
    arrays = {name: W} | others | ({bias: B} if bias else {})
    SAVERS[suffix](tmp_path / f"a{suffix}", arrays)
    same(one(tmp_path / f"a{suffix}"), {"weights": W} | ({"bias": B} if bias else {}))
    np.save(tmp_path / "f.npy", H)
    np.save(tmp_path / "y.npy", Y)
    found = one(features=str(tmp_path / "f.npy"), labels=str(tmp_path / "y.npy"),
                weights=str(tmp_path / f"a{suffix}"))  # fmt: skip
    same(found, {"features": H, "labels": Y, "weights": W} | ({"bias": B} if bias else {}))


def test_a_tied_head_gives_way_to_a_head(tmp_path: Path) -> None:
    arrays = {"model.embed_tokens.weight": 2 * W, "lm_head.weight": W}
    save_safetensors(tmp_path / "model.safetensors", arrays)
    same(one(tmp_path / "model.safetensors"), {"weights": W})


@pytest.mark.parametrize("suffix", SAVERS)
def test_two_names_of_equal_standing_are_ambiguous(tmp_path: Path, suffix: str) -> None:
    SAVERS[suffix](tmp_path / f"a{suffix}", {"fc.weight": W, "head.weight": W, "features": H})
    message = refusal(tmp_path / f"a{suffix}")
    assert "'fc.weight', 'head.weight'" in message and f"a{suffix}:KEY" in message
    assert "(4, 3) float32" in message
    found = one(tmp_path / f"a{suffix}", weights=f"{tmp_path}/a{suffix}:head.weight")
    same(found, {"features": H, "weights": W})


@pytest.mark.parametrize("suffix", SAVERS)
def test_any_names_by_key(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    SAVERS[suffix](path, {"l4": H, "who": Y, "out.kernel": W, "out.offset": B, "more": L})
    keys = {"features": "l4", "labels": "who", "weights": "out.kernel", "logits": "more"}
    options = {role: f"{path}:{key}" for role, key in keys.items()}
    same(one(**options), {"features": H, "labels": Y, "weights": W, "logits": L})
    options["bias"] = f"{path}:out.offset"
    same(one(**options), ALL | {"logits": L})
    message = refusal(features=f"{path}:nothing")
    assert "no dataset 'nothing'" in message and "'l4' (12, 3) float32" in message
    assert "'who' (12,) int64" in message
    for role in ("features", "weights"):
        assert f"--{role} {path}:KEY" in refusal(**{role: str(path)})


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
    save_h5(tmp_path / "m.h5", {"run/" + key: W})
    for name in (key, f"/{key}", f"run/{key}"):
        same(one(weights=f"{tmp_path}/m.h5:{name}"), {"weights": W})
    torch.save({"module.head.weight": torch.from_numpy(W)}, tmp_path / "bare.pt")
    same(one(weights=f"{tmp_path}/bare.pt:head.weight"), {"weights": W})


def test_an_end_that_several_names_share(tmp_path: Path) -> None:
    arrays = {"ema.head.weight": -W, "model.head.weight": W, "other.weight": W}
    SAVERS[".npz"](tmp_path / "m.npz", arrays)
    for message in (refusal(weights=f"{tmp_path}/m.npz:head.weight"),
                    refusal(f"{tmp_path}/m.npz:head.weight")):  # fmt: skip
        assert "'ema.head.weight', 'model.head.weight'; write the whole name" in message
    with pytest.raises(DataError, match="several datasets whose names end in 'head.weight'"):
        read_points(f"{tmp_path}/m.npz:head.weight")
    same(one(weights=f"{tmp_path}/m.npz:ema.head.weight"), {"weights": -W})
    SAVERS[".npz"](tmp_path / "m.npz", arrays | {"head.weight": 2 * W})  # the very name wins
    same(one(weights=f"{tmp_path}/m.npz:head.weight"), {"weights": 2 * W})
    assert "no dataset 'ead.weight'" in refusal(weights=f"{tmp_path}/m.npz:ead.weight")


@pytest.mark.parametrize("suffix", SAVERS)
def test_a_key_names_one_dataset_alone(tmp_path: Path, suffix: str) -> None:
    path = f"{tmp_path}/a{suffix}"
    SAVERS[suffix](Path(path), ALL | {"logits": L})
    two = {"features": H, "labels": Y}
    same(one(features=f"{path}:features", labels=f"{path}:labels"), two)
    same(one(features=f"{path}:features", labels=path), two)
    same(one(features=path, labels=path), ALL | {"logits": L})
    same(one(features=f"{path}:features"), {"features": H})
    found = one(features=f"{path}:features", labels=path, weights=f"{path}:weights")
    same(found, ALL)  # the bias belongs to the layer


def test_a_code_by_key_keeps_its_labels_apart(tmp_path: Path) -> None:
    labels = np.repeat(np.arange(K), 3)
    code = CodeFile(W.astype(float), H.astype(float), labels=labels)
    write_code(tmp_path / "code.h5", code)
    same(one(features=f"{tmp_path}/code.h5:features"), {"features": H})
    same(one(features=f"{tmp_path}/code.h5"), {"features": H, "labels": labels, "weights": W})


@pytest.mark.parametrize("suffix", SAVERS)
def test_the_only_dataset_is_the_one(tmp_path: Path, suffix: str) -> None:
    save = SAVERS[suffix]
    for role, array in {"features": H, "labels": Y, "weights": W, "bias": B}.items():
        save(tmp_path / f"{role}{suffix}", {"thing": array})
    options = {role: f"{tmp_path}/{role}{suffix}" for role in ALL}
    same(one(**options), ALL)
    same(one(tmp_path / f"weights{suffix}"), {"weights": W})
    found = one(tmp_path / f"features{suffix}", labels=options["labels"])
    same(found, {"features": H, "labels": Y})


def test_nameless_features_beside_labels(tmp_path: Path) -> None:
    SAVERS[".npz"](tmp_path / "a.npz", {"labels": Y, "layer4": H, "head.weight": W})
    same(one(tmp_path / "a.npz"), {"features": H, "labels": Y, "weights": W})
    SAVERS[".npz"](tmp_path / "b.npz", {"labels": Y, "layer4": H, "layer3": H})
    assert "'layer4', 'layer3'" in refusal(tmp_path / "b.npz")
    found = one(f"{tmp_path}/b.npz:layer3")
    same(found, {"features": H, "labels": Y})
    same(one(f"{tmp_path}/a.npz:head.weight"), {"features": H, "labels": Y, "weights": W})


def test_nothing_to_measure_lists_what_there_is(tmp_path: Path) -> None:
    save_h5(tmp_path / "a.h5", {"left": H, "right": W})
    message = refusal(tmp_path / "a.h5")
    assert "'left' (12, 3) float32" in message and "--weights" in message
    with pytest.raises(UsageError, match="nothing"):
        find_samples([])


def test_groups_of_a_file(tmp_path: Path) -> None:
    save_h5(tmp_path / "a.h5", {"train/x": H, "train/y": Y, "test/x": -H, "test/y": Y, "W": W})
    same(one(f"{tmp_path}/a.h5:test"), {"features": -H, "labels": Y, "weights": W})
    same(one(features=f"{tmp_path}/a.h5:train"), {"features": H, "labels": Y, "weights": W})
    torch.save({"train": {"x": torch.from_numpy(H)}, "test": [torch.from_numpy(-H)]},
               tmp_path / "a.pt")  # fmt: skip
    same(one(features=f"{tmp_path}/a.pt:train"), {"features": H})
    same(one(features=f"{tmp_path}/a.pt:test.0"), {"features": -H})


def test_a_lightning_checkpoint(tmp_path: Path) -> None:
    state = {"model.conv.weight": torch.ones(3, 3, 3, 3), "model.fc.weight": torch.from_numpy(W),
             "model.fc.bias": torch.from_numpy(B)}  # fmt: skip
    optimizer = [{"state": {0: {"exp_avg": torch.ones(K, D)}}, "param_groups": [{"lr": 0.1}]}]
    torch.save({"epoch": 7, "global_step": 700, "state_dict": state, "np": np.float64(3.0),
                "optimizer_states": optimizer}, tmp_path / "a.ckpt")  # fmt: skip
    (source,) = find_samples([str(tmp_path / "a.ckpt")])
    same(read(source), {"weights": W, "bias": B})
    assert (source.attrs["epoch"], source.attrs["step"]) == (7, 700)


def test_numpy_arrays_of_either_numpy(tmp_path: Path) -> None:
    torch.save({"weights": W, "labels": Y, "n": np.int64(3)}, tmp_path / "a.pt")
    data = (tmp_path / "a.pt").read_bytes()
    same(one(tmp_path / "a.pt"), {"weights": W})
    old, new = b"numpy.core.multiarray", b"numpy._core.multiarray"
    import zipfile

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for find, put in ((old, new), (new, old)):
        with zipfile.ZipFile(tmp_path / "b.pt", "w") as archive:
            for name, content in members.items():
                archive.writestr(name, content.replace(find, put))
        same(one(tmp_path / "b.pt"), {"weights": W})


@pytest.mark.parametrize("dtype", ["i1", "<u2", ">u2", "i4", ">i8", "u8", "f4", ">f8"])
@pytest.mark.parametrize("suffix", [".h5", ".npz", ".npy"])
def test_labels_of_every_dtype(tmp_path: Path, suffix: str, dtype: str) -> None:
    path = tmp_path / f"y{suffix}"
    for labels in (Y.astype(dtype), Y.astype(dtype)[:, None]):
        if suffix == ".npy":
            np.save(path, labels)
        else:
            SAVERS[suffix](path, {"y": labels})
        np.save(tmp_path / "f.npy", H)
        found = one(features=str(tmp_path / "f.npy"), labels=str(path))
        same(found, {"features": H, "labels": Y})


@pytest.mark.parametrize(
    "text", ["0\n1\n2\n0\n", "0.0,\n1,\n2,\n0,\n".replace(",", ""), "# y\n0\n1\n2\n0"]
)
@pytest.mark.parametrize("suffix", [".txt", ".csv"])
def test_labels_as_text(tmp_path: Path, suffix: str, text: str) -> None:
    (tmp_path / f"y{suffix}").write_text(text)
    np.save(tmp_path / "f.npy", H[:4])
    found = one(tmp_path / "f.npy", labels=str(tmp_path / f"y{suffix}"))
    same(found, {"features": H[:4], "labels": np.array([0, 1, 2, 0])})


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (Y > 1, ["bool"]),
        (Y - 1, ["3 value(s)", "-1", "row 0", "GNCMetrics", "remove these rows"]),
        (np.where(Y == 0, -2, Y), ["-2", "expected integers from 0 on: remove or renumber"]),
        (Y + 0.25, ["12 value(s)", "0.25", "row 0"]),
        (np.where(Y == 2, np.nan, Y), ["nan", "row 2"]),
        (np.where(Y == 3, np.inf, Y), ["inf", "row 3"]),
        (np.where(Y == 1, 2**64 - 1, Y).astype(np.uint64), ["18446744073709551615", "row 1"]),
        (np.eye(N)[:, :K], ["(12, 4)", "(N,)"]),
        (np.int64(3), ["()"]),
        (Y * 1j, ["complex128"]),
        (Y.astype("S3"), ["S3"]),
        (Y[:-1], ["11 row(s)", "12 row(s)"]),
    ],
    ids=["bool", "minus one", "minus two", "fraction", "nan", "inf", "huge", "one-hot", "scalar",
         "complex", "text", "short"],
)  # fmt: skip
@pytest.mark.parametrize("suffix", [".h5", ".npz"])
def test_labels_that_are_none(
    tmp_path: Path, suffix: str, labels: np.ndarray, words: list[str]
) -> None:
    SAVERS[suffix](tmp_path / f"a{suffix}", {"features": H, "labels": np.asarray(labels)})
    message = refusal(tmp_path / f"a{suffix}")
    for word in [f"a{suffix}", "labels", *words]:
        assert word in message


def test_a_code_of_ours_needs_no_labels(tmp_path: Path) -> None:
    write_code(tmp_path / "code.h5", CodeFile(W.astype(float), 2.0 * W, provenance={"seed": 3}))
    with h5py.File(tmp_path / "code.h5", "a") as h5:
        del h5["labels"]
    found = one(tmp_path / "code.h5")
    same(found, {"features": 2 * W, "labels": np.arange(K), "weights": W})
    with h5py.File(tmp_path / "code.h5", "a") as h5:
        h5.attrs["kind"] = "features"
    assert "labels" not in one(tmp_path / "code.h5")
    (source,) = find_samples([str(tmp_path / "code.h5")])
    assert source.attrs["provenance"] == {"seed": 3} and "kind" not in source.attrs


def test_shards_come_in_natural_order(tmp_path: Path) -> None:
    cuts = {"part_1": (0, 5), "part_2": (5, 6), "part_10": (6, N)}
    for name, (start, stop) in cuts.items():
        save_h5(tmp_path / f"{name}.h5", {"H": H[start:stop], "y": Y[start:stop], "fc.weight": W})
    pattern = f"{tmp_path}/part_*.h5"
    expected = {"features": H, "labels": Y, "weights": W}
    same(one(pattern, shards=True), expected)
    same(one(features=pattern), expected)
    same(one(features=f"{pattern}:H", labels=f"{pattern}:y", weights=f"{tmp_path}/part_2.h5"),
         expected)  # fmt: skip
    names = [f"{tmp_path}/{name}.h5" for name in cuts]
    same(one(features=names, labels=names), expected | {})
    (source,) = find_samples([pattern], shards=True)
    assert source.file == ",".join(names)
    assert [s.file for s in find_samples([pattern])] == names
    np.save(tmp_path / "y.npy", Y)
    same(one(features=pattern, labels=str(tmp_path / "y.npy")), expected)
    assert "no file matches" in refusal(f"{tmp_path}/none_*.h5")


def test_shards_that_do_not_add_up(tmp_path: Path) -> None:
    save_h5(tmp_path / "p_1.h5", {"H": H[:5], "y": Y[:5]})
    save_h5(tmp_path / "p_2.h5", {"H": H[5:], "y": Y[5:-1]})
    save_h5(tmp_path / "p_3.h5", {"H": H[:, :2], "y": Y})
    save_h5(tmp_path / "p_4.h5", {"H": H})
    files = [tmp_path / f"p_{i}.h5" for i in (1, 2, 3, 4)]
    message = refusal(*files[:2], shards=True)
    assert "p_2.h5" in message and "6 labels" in message and "7 rows" in message
    assert "p_3.h5" in refusal(files[0], files[2], shards=True)
    message = refusal(files[0], files[3], shards=True)
    assert "p_4.h5" in message
    assert "no labels" in message
    np.save(tmp_path / "y.npy", Y[:-1])
    message = refusal(features=[str(files[0]), str(files[1])], labels=str(tmp_path / "y.npy"))
    assert "y.npy" in message and "11 row(s)" in message and "12 row(s)" in message


def test_shards_share_their_classifier(tmp_path: Path) -> None:
    save_h5(tmp_path / "a.h5", {"H": H, "y": Y, "W": W, "b": B})
    save_h5(tmp_path / "b.h5", {"H": H, "y": Y, "W": W, "b": B})
    found = one(tmp_path / "a.h5", tmp_path / "b.h5", shards=True)
    same(found, {"features": np.vstack([H, H]), "labels": np.tile(Y, 2), "weights": W, "bias": B})
    save_h5(tmp_path / "b.h5", {"H": H, "y": Y, "W": W + 1, "b": B})
    assert "differs" in refusal(tmp_path / "a.h5", tmp_path / "b.h5", shards=True)


@pytest.mark.parametrize("suffix", [".npy", ".pt", ".safetensors"])
def test_classifiers_cut_by_rows(tmp_path: Path, suffix: str) -> None:
    full = np.arange(60.0, dtype=np.float32).reshape(20, 3)
    cuts = [0, 2, 4, *range(5, 14), 20]
    for i, (start, stop) in enumerate(zip(cuts, cuts[1:], strict=False)):
        path = tmp_path / f"rank_{i}{suffix}"
        if suffix == ".npy":
            np.save(path, full[start:stop])
        elif suffix == ".pt":
            torch.save(torch.from_numpy(full[start:stop].copy()), path)
        else:
            save_safetensors(path, {"weight": full[start:stop]})
    pattern = f"{tmp_path}/rank_*{suffix}"
    same(one(weights=pattern), {"weights": full})
    same(one(weights=pattern, K=20), {"weights": full})
    same(one(pattern, shards=True, K=20), {"weights": full})
    (tmp_path / f"rank_11{suffix}").unlink()
    message = refusal(weights=pattern, K=20)
    assert "(13, 3)" in message and "(20, d)" in message and "shard missing" in message


def test_biases_come_with_the_shards(tmp_path: Path) -> None:
    for i in range(2):
        save_pt(
            tmp_path / f"rank_{i}.pt",
            {"weight": W[2 * i : 2 * i + 2], "bias": B[2 * i : 2 * i + 2]},
        )
    same(one(weights=f"{tmp_path}/rank_*.pt"), {"weights": W, "bias": B})
    save_pt(tmp_path / "rank_1.pt", {"weight": W[2:]})
    assert "rank_1.pt" in refusal(weights=f"{tmp_path}/rank_*.pt")


def test_columns_are_never_taken_for_rows(tmp_path: Path) -> None:
    SAVERS[".npz"](tmp_path / "a.npz", {"features": H, "labels": Y, "weights": W.T})
    message = refusal(tmp_path / "a.npz")
    assert "(3, 4)" in message and "(K, 3)" in message and "--transpose-weights" in message
    same(
        one(tmp_path / "a.npz", transpose_weights=True), {"features": H, "labels": Y, "weights": W}
    )
    np.save(tmp_path / "w.npy", W.T)
    assert "--transpose-weights" in refusal(weights=str(tmp_path / "w.npy"), K=K)
    same(one(weights=str(tmp_path / "w.npy"), K=K, transpose_weights=True), {"weights": W})
    assert "drop --transpose-weights" in refusal(
        features=f"{tmp_path}/a.npz", weights=f"{tmp_path}/a.npz:features", transpose_weights=True
    )
    SAVERS[".npz"](tmp_path / "b.npz", {"weights": W.T, "bias": B})
    assert "--transpose-weights" in refusal(tmp_path / "b.npz")
    SAVERS[".npz"](tmp_path / "c.npz", {"features": H, "weights": np.ones((K, 7))})
    message = refusal(tmp_path / "c.npz")
    assert "(4, 7)" in message and "--transpose" not in message
    np.save(tmp_path / "rank_0.npy", W.T[:, :1])
    np.save(tmp_path / "rank_1.npy", W.T[:, 1:])
    same(one(weights=f"{tmp_path}/rank_*.npy", transpose_weights=True, K=K), {"weights": W})


def test_an_index_of_safetensors(tmp_path: Path) -> None:
    save_safetensors(tmp_path / "m-1.safetensors", {"model.embed_tokens.weight": 2 * W})
    save_safetensors(tmp_path / "m-2.safetensors", {"lm_head.weight": W, "lm_head.bias": B})
    names = {"model.embed_tokens.weight": "m-1.safetensors", "lm_head.weight": "m-2.safetensors",
             "lm_head.bias": "m-2.safetensors"}  # fmt: skip
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": names}))
    same(one(index), {"weights": W, "bias": B})
    same(one(weights=f"{index}:model.embed_tokens.weight"), {"weights": 2 * W})
    (tmp_path / "m-1.safetensors").unlink()
    same(one(index), {"weights": W, "bias": B})
    message = refusal(weights=f"{index}:model.embed_tokens.weight")
    assert "m-1.safetensors" in message and "missing" in message
    names["lm_head.weight"] = "m-9.safetensors"
    index.write_text(json.dumps({"weight_map": names}))
    assert "m-9.safetensors" in refusal(weights=f"{index}:lm_head.weight")


def test_logits_alone_and_beside(tmp_path: Path) -> None:
    SAVERS[".npz"](tmp_path / "a.npz", {"logits": L, "labels": Y})
    same(one(tmp_path / "a.npz"), {"logits": L, "labels": Y})
    SAVERS[".npz"](tmp_path / "a.npz", {"logits": L[1:], "labels": Y})
    message = refusal(tmp_path / "a.npz")
    assert "11 row(s)" in message and "12 row(s)" in message
    SAVERS[".npz"](tmp_path / "a.npz", {"logits": L, "features": H, "labels": Y, "weights": W[1:]})
    message = refusal(tmp_path / "a.npz")
    assert "(3, 3)" in message and "(4, 3)" in message


def test_torch_of_before_safe_globals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.save({"weights": W}, tmp_path / "a.pt")
    monkeypatch.delattr(torch.serialization, "safe_globals")
    same(one(tmp_path / "a.pt"), {"weights": W})
    torch.serialization.clear_safe_globals()


def test_weights_are_finite(tmp_path: Path) -> None:
    bad = W.copy()
    bad[2, 1] = np.nan
    save_h5(tmp_path / "a.h5", {"weights": bad})
    message = refusal(tmp_path / "a.h5")
    assert "nan" in message and "row 2" in message and "column 1" in message
    bad[2] = 0.0
    save_h5(tmp_path / "a.h5", {"weights": bad})
    same(one(tmp_path / "a.h5"), {"weights": bad})
    save_h5(tmp_path / "a.h5", {"weights": W, "bias": np.array([0, np.inf, 0, 0])})
    assert "'bias'" in (message := refusal(tmp_path / "a.h5")) and "row 1" in message
    save_h5(tmp_path / "a.h5", {"weights": W, "bias": np.zeros(K + 1)})
    assert "5 values" in refusal(tmp_path / "a.h5")


def stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_stdin_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_h5(tmp_path / "a.h5", ALL | {"run/W": 2 * W})
    data = (tmp_path / "a.h5").read_bytes()
    stdin(monkeypatch, data)
    (source,) = find_samples(["-"])
    same(read(source), ALL)
    same(read(source), ALL)
    assert source.file == "-" and len(source.stamp) == 16
    stdin(monkeypatch, data)
    same(one("-:run/W"), {"weights": 2 * W})
    stdin(monkeypatch, data)
    same(one(features="-:features", labels="-:labels", weights="-:run/W"),
         {"features": H, "labels": Y, "weights": 2 * W})  # fmt: skip


def test_the_stamp_follows_the_file(tmp_path: Path) -> None:
    save_h5(tmp_path / "a.h5", ALL)
    np.save(tmp_path / "y.npy", Y)

    def stamp() -> str:
        (source,) = find_samples([f"{tmp_path}/a.h5"], labels=f"{tmp_path}/y.npy")
        return source.stamp

    first = stamp()
    assert stamp() == first
    np.save(tmp_path / "y.npy", np.zeros(N + 1, dtype=int))
    assert stamp() != first


def test_a_file_may_change_between_finding_and_opening(tmp_path: Path) -> None:
    save_h5(tmp_path / "a.h5", ALL)
    (source,) = find_samples([str(tmp_path / "a.h5")])
    save_h5(tmp_path / "a.h5", {"other": H})
    with pytest.raises(DataError, match="no dataset 'features'"):
        read(source)
    (tmp_path / "a.h5").unlink()
    with pytest.raises(DataError, match="no such file"):
        read(source)
