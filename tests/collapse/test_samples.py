"""Damaged and hostile files: one line that names the file, and nothing else happens."""

import io
import json
import pickle
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import safetensors.torch
import torch

from gnc_cli.errors import DataError
from gnc_cli.io import hdf5
from gnc_cli.parameters import in_shell
from tests.collapse.conftest import put, sources_of

H = np.random.default_rng(5).standard_normal((16, 4)).astype(np.float32)
Y = np.arange(16) % 4
W = np.eye(4, dtype=np.float32)


def read_all(path: Path | str, **options: Any) -> int:
    """Open every row of a file and read everything; how many rows there are."""
    sources = sources_of([str(path)], **options)
    for source in sources:
        with source.open() as samples:
            for rows in (samples.features, samples.logits):
                if rows is not None:
                    for start in range(0, rows.shape[0], 5):
                        rows.read(start, min(start + 5, rows.shape[0]))
    return len(sources)


def refusal(path: Path | str, **options: Any) -> str:
    with in_shell(), pytest.raises(DataError) as caught:
        read_all(path, **options)
    message = str(caught.value)
    assert "\n" not in message and Path(str(path)).name.split(":")[0] in message
    return message


def h5(path: Path, **options: Any) -> None:
    with h5py.File(path, "w") as file:
        file.create_dataset("features", data=H, **options)
        file.create_dataset("labels", data=Y.astype(">i2"), **options and {"chunks": (5,)})
        file["snapshots/1/features"] = H
        file["snapshots/1"].attrs["epoch"] = 1


def gzip(path: Path) -> None:
    h5(path, chunks=(5, 3), compression="gzip", shuffle=True)


def pt(path: Path) -> None:
    torch.save({"features": torch.from_numpy(H), "labels": Y, "epoch": 3}, path)


def tensors(path: Path) -> None:
    arrays = {"features": torch.from_numpy(H).bfloat16(), "labels": torch.from_numpy(Y)}
    safetensors.torch.save_file(arrays, path)


MAKERS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "h5": (".h5", h5),
    "gzip": (".h5", gzip),
    "npy": (".npy", lambda path: np.save(path, H)),
    "npz": (".npz", lambda path: np.savez(path, features=H, labels=Y)),
    "packed": (".npz", lambda path: np.savez_compressed(path, features=H, labels=Y)),
    "pt": (".pt", pt),
    "safetensors": (".safetensors", tensors),
}


@pytest.mark.parametrize(
    "bad",
    [H[0], H[None], H[:, :1], H[:0], H + 1j, H > 0, np.float32(3)],
    ids=["vector", "cube", "one column", "no rows", "complex", "bool", "scalar"],
)
@pytest.mark.parametrize("suffix", [".h5", ".npz", ".pt"])
def test_features_of_a_wrong_kind(tmp_path: Path, suffix: str, bad: np.ndarray) -> None:
    message = refusal(put(tmp_path / f"a{suffix}", {"features": np.asarray(bad), "labels": Y}))
    assert "'features'" in message and "expected" in message


def test_a_group_where_a_dataset_should_be(tmp_path: Path) -> None:
    message = refusal(put(tmp_path / "a.h5", {"features/deep/x": H, "labels": Y}))
    assert "'features' is a group" in message and "'features/deep/x' (16, 4)" in message
    message = refusal(tmp_path / "a.h5", labels=f"{tmp_path}/a.h5:features")
    assert "is a group" in message


def claim(
    path: Path, shape: tuple[int, ...], fill: Callable[[Any], None] | None = None, **options: Any
) -> str:
    """Why features that declare this shape are refused."""
    with h5py.File(path, "w") as file:
        features = file.create_dataset("features", shape, "f4", **options)
        file["labels"] = Y
        if fill is not None:
            fill(features)
    return refusal(path)


def test_shapes_that_lie(tmp_path: Path) -> None:
    path, packed = tmp_path / "a.h5", {"compression": "gzip"}
    for shape in ((16, 4), (10**9, 10**6)):
        for options in ({}, {"chunks": (4, 4)}, {"chunks": (16, 4), **packed}):
            message = claim(path, shape, **options)
            assert "not one number" in message and "run it again" in message
    for options in ({}, packed):

        def begun(features: Any) -> None:
            features[:7] = H[:7]

        message = claim(path, (16, 4), begun, chunks=(4, 4), **options)
        assert "'features'" in message and "2 of 4 chunks" in message
    for shape in ((1 << 20, 1 << 8), (1 << 24, 4)):  # a giant chunk, all of the dataset

        def small(features: Any) -> None:
            features.id.write_direct_chunk((0, 0), zlib.compress(bytes(4000)))

        message = claim(path, shape, small, chunks=shape, **packed)
        assert "declares" in message and "more than is unpacked" in message


def test_chunks_larger_than_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    h5(tmp_path / "a.h5", chunks=(16, 2), compression="gzip")
    monkeypatch.setattr(hdf5, "memory_limit", lambda: 512)
    assert read_all(tmp_path / "a.h5") == 2
    monkeypatch.setattr(hdf5, "memory_limit", lambda: 511)
    assert "smaller chunks" in refusal(tmp_path / "a.h5")


def test_headers_of_npy_that_lie(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"

    def write(header: dict[str, Any]) -> None:
        with open(path, "wb") as file:
            np.lib.format.write_array_header_1_0(file, header)
            file.write(H.tobytes())

    header = {"descr": "<f4", "fortran_order": False, "shape": (16, 4)}
    write(header)
    assert read_all(path) == 1
    shapes: list[Any] = [(17, 4), (10**9, 10**9), (-16, -4), ()]
    for lie in [{"shape": shape} for shape in shapes] + [
        {"descr": descr} for descr in ("<f8", "<c16", "|O", "|S4")
    ]:
        write(header | lie)
        refusal(path)


def test_members_of_zip_that_lie(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    header = io.BytesIO()
    fields = {"descr": "<f8", "fortran_order": False, "shape": (1 << 30, 4)}
    np.lib.format.write_array_header_1_0(header, fields)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("features.npy", header.getvalue() + bytes(1 << 16))
    data = path.read_bytes()
    end = data.index(b"PK\x01\x02")
    for claimed in (1 << 20, 0xFFFFFFF0):
        lying = bytearray(data)
        lying[end + 24 : end + 28] = claimed.to_bytes(4, "little")
        path.write_bytes(lying)
        refusal(path)


class Bomb:
    """Unpickling this makes a file: if it ever appears, something was executed."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return open, (self.path, "w")


def test_pickles_that_pose_as_tensors(tmp_path: Path) -> None:
    bomb = Bomb(tmp_path / "boom")
    path = tmp_path / "a.pt"
    path.write_bytes(pickle.dumps({"features": bomb}))
    refusal(path)
    contents: list[Any] = [
        {"features": torch.from_numpy(H), "note": bomb},
        {"features": np.array([bomb, 1], dtype=object)},
        np.array([[bomb, bomb]] * 4, dtype=object),
        {"features": H, "labels": np.array([bomb])[0]},
    ]
    for content in contents:
        torch.save(content, path)
        assert "could run code" in refusal(path)
    torch.save({"features": np.array([[1, "a"], [2, None]], dtype=object), "labels": Y}, path)
    assert "object" in refusal(path)
    assert not (tmp_path / "boom").exists()


def test_tensors_that_are_no_numbers(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    torch.save({"features": torch.ones(1, 1).expand(10**9, 10**6), "labels": Y}, path)
    assert "again and again" in refusal(path)
    torch.save({"features": torch.from_numpy(H).to_sparse(), "labels": Y}, path)
    assert "dense" in refusal(path)
    torch.save({"features": torch.ones(3, 4, device="meta"), "labels": Y}, path)
    refusal(path)


def test_dictionaries_without_end(tmp_path: Path) -> None:
    inner: Any = {"features": torch.from_numpy(H)}
    endless: dict[str, Any] = {"a": inner}
    endless["b"] = endless
    laughs: Any = [3]
    for _ in range(60):
        laughs = [laughs, laughs]
    torch.save(laughs, tmp_path / "a.pt")
    assert "items" in refusal(tmp_path / "a.pt")
    torch.save(endless, tmp_path / "a.pt")
    assert read_all(f"{tmp_path}/a.pt:a.features") == 1
    deep = inner
    for _ in range(300):
        deep = {"x": deep}
    torch.save({"deep": deep, "again": inner, "labels": Y}, tmp_path / "a.pt")
    assert read_all(f"{tmp_path}/a.pt:again.features") == 1


def test_an_archive_of_torch_that_swells(tmp_path: Path) -> None:
    pt(tmp_path / "a.pt")
    with zipfile.ZipFile(tmp_path / "a.pt") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(tmp_path / "b.pt", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        archive.writestr("a/data/99", bytes(1 << 20))
    assert "members declare" in refusal(tmp_path / "b.pt")


def test_headers_of_safetensors_that_lie(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    item = {"dtype": "F32", "shape": [16, 4], "data_offsets": [0, 256]}

    def write(header: Any, length: int | None = None) -> None:
        text = json.dumps(header).encode()
        size = len(text) if length is None else length
        path.write_bytes(size.to_bytes(8, "little") + text + H.tobytes())

    write({"features": item})
    assert read_all(path) == 1
    shapes: list[Any] = [[17, 4], [10**9, 10**9], [-16, -4], 64, [16.0, 4]]
    lies = [{"shape": shape} for shape in shapes]
    lies += [{"data_offsets": offsets} for offsets in ([256, 512], [0], [-256, 0], "ab")]
    lies += [{"dtype": dtype} for dtype in ("F8_E4M3", 3, "F64")]
    for lie in lies:
        write({"features": item | lie})
        refusal(path)
    write({"features": item}, 1 << 60)
    refusal(path)
    for header in ([item], {"features": 3}, {"features": {}}, "text", {"__metadata__": 3}):
        write(header)
        refusal(path)


def test_an_index_that_leaves_its_folder(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    safetensors.torch.save_file({"weight": torch.from_numpy(W)}, tmp_path / "m.safetensors")
    index = tmp_path / "deep" / "model.safetensors.index.json"
    for target in (
        "../m.safetensors",
        str(tmp_path / "m.safetensors"),
        "",
        "..",
        "/etc/passwd",
        "m.pt",
    ):
        index.write_text(json.dumps({"weight_map": {"weight": target}}))
        message = refusal(index)
        assert "in its folder" in message
    index.write_text(json.dumps({"weight_map": {"weight": "m.safetensors"}}))
    assert "missing" in refusal(index)
