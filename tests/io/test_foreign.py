"""Files that other programs write: the same numbers as the plain array, or a line that helps."""

import gzip
import json
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import h5py
import numpy as np
import pyarrow
import pytest
import scipy.io
import torch
from pyarrow import feather, ipc, parquet

from gnc_cli import measure
from gnc_cli.errors import DataError
from gnc_cli.io import hdf5
from gnc_cli.io.codefile import read_points

N, D, K = 30, 4, 3
RNG = np.random.default_rng(5)
Y = np.arange(N) % K
W = RNG.standard_normal((K, D))
B = RNG.standard_normal(K)
H = W[Y] + 0.1 * RNG.standard_normal((N, D))
H32 = H.astype(np.float32)
BITS = (H32.view(np.uint32) >> 16).astype(np.uint16)
BF16 = (BITS.astype(np.uint32) << 16).view(np.float32)
WORDS = [f"class {k}" for k in Y]
TABLE = pyarrow.table({"emb": [*H], "y": Y, "words": WORDS})
T = torch.from_numpy


def numbers(result: Any) -> dict[str, Any]:
    """What the numbers of a row are, without file, time and notes."""
    aside = ("seconds", "file", "notes", "attrs", "policy", "worst_classes", "epoch")
    return {key: value for key, value in result.to_json().items() if key not in aside}


def check(found: Any, features: np.ndarray = H, **arrays: Any) -> None:
    """The measurement is that of the plain arrays."""
    assert numbers(found) == numbers(measure(features=features, labels=Y, **arrays))


def refused(path: Path, **options: Any) -> str:
    with pytest.raises(DataError) as caught:
        measure(path, **options)
    assert "\n" not in str(caught.value) and path.name in str(caught.value)
    return str(caught.value)


# PyTorch ------------------------------------------------------------------------------------------

BATCHES = [{"features": h, "label": y} for h, y in zip(T(H).split(8), T(Y).split(8), strict=True)]
LISTS = {
    "dictionaries": BATCHES,
    "a dictionary per sample": [{"emb": h, "label": int(y)} for h, y in zip(T(H), Y, strict=True)],
    "their labels of one axis": [{"emb": h, "y": T(Y[i : i + 1])} for i, h in enumerate(T(H))],
    "words per sample": [{"emb": h, "y": y, "id": 3} for h, y in zip(T(H), WORDS, strict=True)],
    "a pair per sample": [*zip(T(H), T(Y), strict=True)],
    "the label first": [(int(y), h) for h, y in zip(T(H), Y, strict=True)],
    "arrays": [*zip(H, Y, strict=True)],
    "lists of plain numbers": {"features": [*T(H)], "labels": Y.tolist()},
    "lists of words": {"features": T(H), "labels": WORDS},
    "a group": {"train": BATCHES},
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_in_pt(tmp_path: Path, name: str) -> None:
    torch.save(LISTS[name], tmp_path / "f.pt")
    key = "train" if name == "a group" else None
    check(measure(f"{tmp_path}/f.pt:{key}" if key else tmp_path / "f.pt"))


def test_bare_lists_in_pt(tmp_path: Path) -> None:
    torch.save([*T(H).split(8)], tmp_path / "H.pt")
    torch.save(Y.tolist(), tmp_path / "y.pt")
    found: Any = measure(features=tmp_path / "H.pt", labels=tmp_path / "y.pt")
    check(found)
    assert "a list of 4 batches, put together" in found.notes[0]
    with pytest.raises(DataError, match="choose with"):
        read_points(tmp_path / "H.pt")  # features, no code


def test_lists_of_models_stay_apart(tmp_path: Path) -> None:
    for other in ({"weights": T(W)}, {"epoch": 3}):
        torch.save([{"features": T(H), "labels": T(Y), **other}] * 2, tmp_path / "f.pt")
        assert "'0.features'" in refused(tmp_path / "f.pt", features="features", labels="labels")
    torch.save([{"features": T(H), "labels": T(Y)}, {"features": T(H)}], tmp_path / "f.pt")
    assert "'labels' differs from part to part" in refused(tmp_path / "f.pt")


def test_the_advice_for_a_whole_model_works(tmp_path: Path) -> None:
    path, model = tmp_path / "whole.pt", torch.nn.Sequential(torch.nn.Linear(D, K))
    checkpoint = {"epoch": 3, "state_dict": model.state_dict(), "config": model}
    for whole in (model, {"model": model}, checkpoint):
        torch.save(whole, path)
        advice = refused(path).partition("save the tensors alone: ")[2]
        exec(advice, {"torch": torch, "model": model, "checkpoint": checkpoint, "FILE": path})
        weights = model[0].weight.detach().numpy()
        assert np.array_equal(read_points(f"{path}:0.weight").weights, weights)


def test_a_pickle_is_called_one(tmp_path: Path) -> None:
    (tmp_path / "a.pkl").write_bytes(pickle.dumps({"features": H}))
    message = refused(tmp_path / "a.pkl")
    assert "is a pickle; it could" in message and "numpy.savez(" in message
    torch.save({"W": T(W)}, tmp_path / "a.pkl", _use_new_zipfile_serialization=False)
    assert "as torch saved before 1.6" in refused(tmp_path / "a.pkl")


# NumPy and HDF5 -----------------------------------------------------------------------------------


def native_bfloat16(path: Path) -> None:
    kind = h5py.h5t.IEEE_F16LE.copy()
    kind.set_fields(15, 7, 8, 0, 7)
    kind.set_ebias(127)
    with h5py.File(path, "w") as h5:
        made = h5py.h5d.create(h5.id, b"features", kind, h5py.h5s.create_simple(H.shape))
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, BF16)
        h5["labels"] = Y


def opaque(path: Path, **how: Any) -> None:
    with h5py.File(path, "w") as h5:
        h5.create_dataset("features", data=BITS.view("V2"), **how)
        h5["labels"] = Y


def npz(path: Path) -> None:
    with path.open("wb") as file:
        np.savez(file, features=BITS.view("V2"), labels=Y)


@pytest.mark.parametrize(
    "save",
    [
        native_bfloat16,
        opaque,
        lambda path: opaque(path, chunks=(7, 4), compression="gzip"),
        npz,
    ],
)
def test_bfloat16_where_numpy_lacks_it(tmp_path: Path, save: Callable[[Path], None]) -> None:
    save(tmp_path / "a.h5")
    found: Any = measure(tmp_path / "a.h5")
    check(found, BF16)
    assert found.notes == () or "read as bfloat16" in found.notes[0]


def test_bfloat16_in_npy(tmp_path: Path) -> None:
    np.save(tmp_path / "H.npy", BITS.view("V2"))
    np.save(tmp_path / "y.npy", np.array(WORDS))
    check(measure(features=tmp_path / "H.npy", labels=tmp_path / "y.npy"), BF16)


@pytest.mark.parametrize("dtype", [h5py.string_dtype(), "S9"])
def test_words_in_hdf5_and_npz(tmp_path: Path, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hdf5, "memory_limit", lambda: 1 << 19)  # some texts at a time
    with h5py.File(tmp_path / "a.h5", "w") as h5:
        h5["features"] = H
        h5.create_dataset("labels", data=np.array(WORDS, dtype="S9"), dtype=dtype)
    kind = "U" if isinstance(dtype, np.dtype) else "S"
    np.savez(tmp_path / "a.npz", features=H, labels=np.array(WORDS, dtype=kind))
    check(measure(tmp_path / "a.h5"))
    check(measure(tmp_path / "a.npz"))


def test_a_missing_filter_is_named_or_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as h5:
        how = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        how.set_chunk((4, 4))
        how.set_filter(h5py.h5z.FILTER_RESERVED - 1, h5py.h5z.FLAG_OPTIONAL, ())
        space = h5py.h5s.create_simple(H.shape)
        h5py.h5d.create(h5.id, b"features", h5py.h5t.IEEE_F64LE, space, how)
        h5["features"][:] = H
        h5["labels"] = Y
    imported: list[str] = []

    def load(name: str) -> ModuleType:
        imported.append(name)
        raise ImportError

    monkeypatch.setattr(hdf5, "import_module", load)
    assert "pip install hdf5plugin" in refused(tmp_path / "a.h5")
    assert imported == ["hdf5plugin"]
    monkeypatch.setattr(h5py.h5z, "filter_avail", lambda code: len(imported) > 2)
    assert "pip install" not in refused(tmp_path / "a.h5", labels="none")  # it is there by then


def test_the_parts_of_a_virtual_dataset_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    layout = h5py.VirtualLayout(H.shape, "f8")
    for part, rows in enumerate((slice(0, 15), slice(15, 30))):
        with h5py.File(f"part{part}.h5", "w") as h5:
            h5["deep/x"] = H[rows]
        layout[rows] = h5py.VirtualSource(f"part{part}.h5", "deep/x", (15, D))
    with h5py.File("a.h5", "w") as h5:
        h5.create_virtual_dataset("features", layout)
        h5["labels"] = Y
    assert "features='part*.h5:deep/x'" in refused(Path("a.h5"))
    check(measure(features="part*.h5:deep/x", labels="a.h5:labels"))


# MATLAB -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [{}, {"compression": "gzip", "chunks": (2, 3)}])
def test_matlab_7_3(tmp_path: Path, how: dict[str, Any]) -> None:
    path = tmp_path / "a.mat"
    with h5py.File(path, "w", userblock_size=512) as h5:
        for name, array in {"features": H, "weights": W}.items():
            made = h5.create_dataset(name, data=array.T, **how)
            made.attrs["MATLAB_class"] = np.bytes_("double")
        h5["labels"], h5["bias"], h5["epoch"] = Y[:, None] * 1.0, B[None], np.array([[3.0]])
        h5["text"] = np.arange(N, dtype="u2")[None]
        h5["text"].attrs["MATLAB_class"] = np.bytes_("char")
        h5["#refs#/a"] = H
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file")
    path.rename(tmp_path / "a.h5")  # the content says what it is
    for name in ("a.h5", "a.mat"):
        found: Any = measure((tmp_path / "a.h5").rename(tmp_path / name))
        check(found, weights=W, bias=B)
        assert found.epoch == 3 and "axes reversed" in found.notes[0]
        assert "unique(words)" in refused(tmp_path / name, features="features", labels="text")
        (tmp_path / name).rename(tmp_path / "a.h5")


@pytest.mark.parametrize("how", [{}, {"do_compression": True}, {"format": "4"}])
def test_matlab_before_7_3(tmp_path: Path, how: dict[str, Any]) -> None:
    arrays: dict[str, Any] = {"features": H, "labels": Y[None], "weights": W, "bias": B[:, None]}
    if "format" not in how:
        words = np.array(WORDS, dtype=object)
        arrays |= {"words": words, "complex": H * 1j, "parts": {"features": H}}
    scipy.io.savemat(tmp_path / "a.mat", arrays, **how)
    check(measure(tmp_path / "a.mat"), weights=W, bias=B)
    if "format" not in how:
        assert "unique(words)" in refused(tmp_path / "a.mat", features="features", labels="words")
        assert "complex numbers" in refused(tmp_path / "a.mat", features="complex", labels="labels")
        assert "of MATLAB's class struct" in refused(tmp_path / "a.mat", features="parts")


def test_a_bomb_of_matlab(tmp_path: Path) -> None:
    zeros = {"features": np.zeros((3_000_000, 8)), "labels": Y}
    scipy.io.savemat(tmp_path / "a.mat", zeros, do_compression=True)
    assert "more than is unpacked" in refused(tmp_path / "a.mat")


# Tables -------------------------------------------------------------------------------------------


def stream(table: Any, path: Path) -> None:
    with ipc.new_stream(path, table.schema) as file:
        file.write_table(table, max_chunksize=7)


def test_arrow_streams_and_folders_of_datasets(tmp_path: Path) -> None:
    stream(TABLE, tmp_path / "s.arrow")
    folder = tmp_path / "data" / "train"
    folder.mkdir(parents=True)
    names = [f"data-0000{part}-of-00002.arrow" for part in range(2)]
    for part, name in enumerate(names):
        stream(TABLE.slice(15 * part, 15), folder / name)
    state = {"_data_files": [{"filename": name} for name in names]}
    (folder / "state.json").write_text(json.dumps(state))
    (folder / "dataset_info.json").write_text("{}")
    (tmp_path / "data" / "dataset_dict.json").write_text('{"splits": ["train"]}')
    for path in (tmp_path / "s.arrow", folder):
        for labels in ("y", "words"):
            check(measure(path, features="emb", labels=labels))
        check(measure(features=f"{path}:emb", labels=f"{path}:y"))
    assert str(folder) in refused(tmp_path / "data", features="emb")
    state["_data_files"][0]["filename"] = "../s.arrow"
    (folder / "state.json").write_text(json.dumps(state))
    assert "files of other folders" in refused(folder / "state.json", features="emb")


def test_a_damaged_stream_is_one_line(tmp_path: Path, rng: np.random.Generator) -> None:
    path = tmp_path / "s.arrow"
    stream(TABLE, path)
    whole = path.read_bytes()
    for _ in range(40):
        damaged = bytearray(whole)
        for place in rng.integers(8, len(whole), 8):
            damaged[place] = rng.integers(0, 256)
        path.write_bytes(damaged[: rng.integers(8, len(whole))] if rng.random() < 0.3 else damaged)
        try:
            measure(path, features="emb", labels="y")
        except DataError as error:
            assert "s.arrow" in str(error) and "\n" not in str(error)


@pytest.mark.parametrize("label", ["label", "Class"])
@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_wide_frames(tmp_path: Path, suffix: str, label: str) -> None:
    columns = {f"f{j}": H[:, j] for j in range(D)} | {"__index_level_0__": Y, "text": WORDS}
    write = parquet.write_table if suffix == ".parquet" else feather.write_feather
    for labels in (Y, WORDS):
        path = tmp_path / f"a{suffix}"
        write(pyarrow.table(columns | {label: labels}), str(path))
        found: Any = measure(path)
        check(found)
        assert "4 columns of numbers: 'f0, f1, f2, f3'" in found.notes[0]
    write(pyarrow.table({name: columns[name][:5] for name in ("f0", "f1")}), str(path))
    assert np.array_equal(read_points(path).weights, H[:5, :2])


# Texts --------------------------------------------------------------------------------------------


def csv_text(delimiter: str, labels: Any) -> str:
    lines = [[*map(repr, h.tolist()), str(y)] for h, y in zip(H, labels, strict=True)]
    header = ["a", "b", "c", "d", "label"]
    return "\n".join(map(delimiter.join, [header, *lines])) + "\n"


@pytest.mark.parametrize("labels", [Y, WORDS, [f'"{k}, C#"' for k in Y], [f"{k}/x" for k in Y]])
@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz", ".tsv.gz"])
def test_words_in_texts(tmp_path: Path, suffix: str, labels: Any) -> None:
    content = csv_text("\t" if "tsv" in suffix else ",", labels).encode()
    path = tmp_path / f"a{suffix}"
    path.write_bytes(gzip.compress(content) if suffix.endswith("gz") else content)
    if "tsv" in suffix and "," in str(labels[0]):
        return
    check(measure(path))


def test_what_is_no_table_names_its_place(tmp_path: Path) -> None:
    text = csv_text(",", WORDS)
    for wrong, words in ((text.replace("class 1", "class 1,x", 1), "columns changed"),):
        (tmp_path / "a.csv").write_text(wrong)
        assert words in refused(tmp_path / "a.csv") or "line 2" in refused(tmp_path / "a.csv")
    lines = text.splitlines()
    lines[3] = "x" + lines[3]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    assert "line 4, column 1" in refused(tmp_path / "a.csv")


def test_json_lines(tmp_path: Path) -> None:
    rows = [
        {"text": "...", "embedding": h.tolist(), "label": word}
        for h, word in zip(H, WORDS, strict=True)
    ]
    text = "\n".join(map(json.dumps, rows)) + "\n"
    for name in ("a.jsonl", "a.ndjson"):
        (tmp_path / name).write_text(text)
        check(measure(tmp_path / name))
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    check(measure(tmp_path / "a.jsonl.gz"))
    for wrong in ([0.5], None, "x", [[1.0, 2.0]]):
        changed = [*rows[:5], rows[5] | {"embedding": wrong}]
        (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, changed)))
        assert "a list of one length in every line" in refused(tmp_path / "a.jsonl")
    (tmp_path / "a.jsonl").write_text(text[:-30])
    assert f"line {N}" in refused(tmp_path / "a.jsonl")


def test_gzip_unpacks_texts_alone(tmp_path: Path) -> None:
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"1,2\n" * 25_000_000, 9))
    assert "more than is unpacked" in refused(tmp_path / "a.csv.gz")
    (tmp_path / "a.npy.gz").write_bytes(gzip.compress(b"1,2\n"))
    assert "gunzip" in refused(tmp_path / "a.npy.gz")


def test_fvecs(tmp_path: Path) -> None:
    path = tmp_path / "a.fvecs"
    lengths = np.full((N, 1), D, np.int32)
    np.concatenate([lengths.view(np.float32), H32], axis=1).tofile(path)
    np.save(tmp_path / "y.npy", Y)
    check(measure(features=path, labels=tmp_path / "y.npy"), H32)
    whole = path.read_bytes()
    for content, words in (
        (whole[:-4], "is it cut short"),
        (whole[:20] + b"\x05" + whole[21:], "in row 1"),
    ):
        path.write_bytes(content)
        with pytest.raises(DataError, match=words):
            measure(features=path, labels=tmp_path / "y.npy")


# What no reader takes -----------------------------------------------------------------------------


def test_adapters_and_models_of_keras(tmp_path: Path) -> None:
    import safetensors.numpy

    (tmp_path / "lora").mkdir()
    path = tmp_path / "lora" / "adapter_model.safetensors"
    factors = {"model.classifier.lora_B.weight": W, "model.classifier.lora_A.weight": W.T.copy()}
    safetensors.numpy.save_file(factors, path)
    assert "merge_and_unload().save_pretrained" in refused(tmp_path / "lora")
    assert "has neither features nor weights" in refused(path)
    with zipfile.ZipFile(tmp_path / "a.keras", "w") as archive:
        archive.writestr("model.weights.h5", b"x")
    assert "get_weights()" in refused(tmp_path / "a.keras")


def test_only_texts_are_to_be_renamed(tmp_path: Path) -> None:
    (tmp_path / "a.xyz").write_text("1 2\n")
    assert "rename a text to one of .txt" in refused(tmp_path / "a.xyz")
    (tmp_path / "a.xyz").write_bytes(bytes(100))
    message = refused(tmp_path / "a.xyz")
    assert "rename" not in message and "numpy.savez" in message


def test_words_in_texts_are_labels_or_columns_of_their_own(tmp_path: Path) -> None:
    words = np.array(["ant", "bee", "cat"])[Y]
    numbers = [",".join(map(repr, row.tolist())) for row in H]
    expected: Any = measure(features=H, labels=Y)
    path = tmp_path / "f.csv"
    path.write_text("\n".join(f"{row},{word}" for row, word in zip(numbers, words, strict=True)))
    assert _same(measure(path), expected)
    header = ",".join(f"f{j}" for j in range(H.shape[1]))
    lines = [f"{row},{word},{y}" for row, word, y in zip(numbers, words, Y, strict=True)]
    path.write_text("\n".join([f"{header},species,label", *lines]))
    assert _same(measure(path), expected)
    assert _same(measure(path, labels="species"), expected)
    (tmp_path / "words.txt").write_text("\n".join(words))
    np.save(tmp_path / "H.npy", H)
    assert _same(measure(features=tmp_path / "H.npy", labels=tmp_path / "words.txt"), expected)
    (tmp_path / "words.csv").write_text("\n".join(["label", *words]))
    assert _same(measure(features=tmp_path / "H.npy", labels=tmp_path / "words.csv"), expected)


def _same(found: Any, expected: Any) -> bool:
    return bool(found.gnc1 == expected.gnc1 and found.gnc2 == expected.gnc2)
