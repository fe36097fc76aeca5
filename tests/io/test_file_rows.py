"""Rows of every format are the rows that were stored, from any thread, in any byte order."""

import io
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow
import pytest
import safetensors.torch
import torch
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import feather, parquet

from gnc_cli.errors import DataError
from gnc_cli.io.catalogue import SIXTEEN_BITS
from gnc_cli.io.file_rows import ConcatenatedRows, FileRows, FlatArray
from gnc_cli.io.formats import reader_for
from gnc_cli.io.hdf5 import open_hdf5
from gnc_cli.io.inputs import open_input

N, D = 23, 5
ROWS = np.random.default_rng(3).standard_normal((N, D)).astype(np.float32)


def chunked(path: Path, array: np.ndarray, **options: Any) -> None:
    with h5py.File(path, "w") as h5:
        h5.create_dataset("f", data=array, **options)


def compact(path: Path, array: np.ndarray) -> None:
    with h5py.File(path, "w") as h5:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_layout(h5py.h5d.COMPACT)
        kind = h5py.h5t.py_create(array.dtype)
        dataset = h5py.h5d.create(h5.id, b"f", kind, h5py.h5s.create_simple(array.shape), plist)
        dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, np.ascontiguousarray(array))


def compressed(path: Path, array: np.ndarray) -> None:
    how = {"compression": "gzip", "shuffle": True, "fletcher32": True}
    chunked(path, array, chunks=(min(7, len(array)), 2), **how)


def safetensors_file(path: Path, array: np.ndarray) -> None:
    tensors = {"a": torch.ones(3), "f": torch.from_numpy(array.copy()), "z": torch.ones(2, 2)}
    safetensors.torch.save_file(tensors, path)


def table(array: np.ndarray) -> Any:
    return pyarrow.table({"f": [*array]})


def tensor(array: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(array.copy())


SAVERS: dict[str, tuple[str, Callable[[Path, np.ndarray], None]]] = {
    "contiguous": (".h5", chunked),
    "compact": (".h5", compact),
    "chunks": (".h5", lambda path, a: chunked(path, a, chunks=(4, a.shape[1]))),
    "gzip": (".h5", compressed),
    "lzf": (".h5", lambda path, a: chunked(path, a, chunks=(N, D), compression="lzf")),
    "npy": (".npy", np.save),
    "fortran": (".npy", lambda path, a: np.save(path, np.asfortranarray(a))),
    "npz": (".npz", lambda path, a: np.savez_compressed(path, f=a)),
    "pt": (".pt", lambda path, a: torch.save({"f": tensor(a)}, path)),
    "bare pt": (".pt", lambda path, a: torch.save(tensor(a), path)),
    "numpy pt": (".pt", lambda path, a: torch.save({"f": a}, path)),
    "safetensors": (".safetensors", safetensors_file),
    "parquet": (".parquet", lambda path, a: parquet.write_table(table(a), path, row_group_size=6)),
    "arrow": (".arrow", lambda path, a: feather.write_feather(table(a), path, chunksize=6)),
    "csv": (".csv", lambda path, a: np.savetxt(path, a, fmt="%.17g", delimiter=",")),
}


@contextmanager
def opened(path: Path) -> Iterator[FileRows]:
    name = str(path)
    with open_input(name) as file, reader_for(name, file)(file, name) as catalogue:
        names = [name for name, entry in catalogue.entries.items() if len(entry.shape) == 2]
        name = "f" if "f" in names else names[0]
        bits = SIXTEEN_BITS.fullmatch(catalogue.entries[name].dtype)
        yield FileRows(catalogue, catalogue.find_dataset(f"{name}:int") if bits else name)


@pytest.mark.parametrize("kind", SAVERS)
def test_any_rows_from_any_thread(tmp_path: Path, kind: str) -> None:
    suffix, save = SAVERS[kind]
    path = tmp_path / f"a{suffix}"
    save(path, ROWS)
    spans = [(a, b) for a in range(N + 1) for b in range(a + 1, N + 1)]
    with opened(path) as rows, ThreadPoolExecutor(4) as pool:
        assert rows.shape == (N, D)
        assert rows.dtype == (np.float64 if kind == "csv" else np.float32)
        read = list(pool.map(lambda span: rows.read(*span), spans))
    for (start, stop), block in zip(spans, read, strict=True):
        assert block.dtype == rows.dtype
        assert np.array_equal(block, ROWS[start:stop])


@pytest.mark.parametrize("dtype", ["<f2", ">f2", ">f4", ">f8", "<f8", "<u1", ">u4", "<i8"])
@pytest.mark.parametrize("kind", ["contiguous", "gzip", "npy", "fortran", "npz"])
def test_every_byte_order_and_width(tmp_path: Path, kind: str, dtype: str) -> None:
    suffix, save = SAVERS[kind]
    array = np.arange(-10, 10).reshape(10, 2).astype(dtype)
    save(tmp_path / f"a{suffix}", array)
    with opened(tmp_path / f"a{suffix}") as rows:
        block = rows.read(3, 9)
        assert rows.dtype.kind == "f" and rows.dtype.isnative and block.dtype == rows.dtype
        assert np.array_equal(block.astype(np.float64), array[3:9].astype(np.float64))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64, torch.uint8])
@pytest.mark.parametrize("suffix", [".pt", ".safetensors"])
def test_dtypes_of_torch(tmp_path: Path, suffix: str, dtype: torch.dtype) -> None:
    tensor = torch.randn(9, 3, generator=torch.Generator().manual_seed(0)).abs().mul(9).to(dtype)
    save = torch.save if suffix == ".pt" else safetensors.torch.save_file
    save({"f": tensor}, tmp_path / f"a{suffix}")
    with opened(tmp_path / f"a{suffix}") as rows:
        assert np.array_equal(rows.read(2, 7), tensor[2:7].double().numpy())


def test_subnormal_and_infinite_bfloat16(tmp_path: Path) -> None:
    bits = torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16).view(torch.bfloat16)
    finite = bits[~bits.isnan()][: 2**15].reshape(-1, 2).contiguous()
    safetensors.torch.save_file({"f": finite}, tmp_path / "a.safetensors")
    with opened(tmp_path / "a.safetensors") as rows:
        assert np.array_equal(rows.read(0, rows.shape[0]), finite.float().numpy())


@given(st.data())
def test_orders_of_three_axes(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    array = np.arange(np.prod(shape), dtype=">i4").reshape(shape)
    with tempfile.TemporaryFile() as file:
        file.write(b"head" + array.tobytes(order="F"))
        file.flush()
        flat = FlatArray(file, 4, shape, array.dtype, fortran=True)
        start = data.draw(st.integers(0, shape[0]))
        stop = data.draw(st.integers(start, shape[0]))
        assert np.array_equal(flat.read(start, stop), array[start:stop])
        assert np.array_equal(flat.load(), array)


class Counting(io.BytesIO):
    """A file that counts the bytes read from it."""

    count = 0

    def readinto(self, buffer: Any) -> int:
        self.count += len(buffer)
        return super().readinto(buffer)


@pytest.mark.parametrize("block", [1, 7, 12, 64])
@pytest.mark.parametrize("chunks", [(10, 8), (10, 64), (64, 3)])
def test_no_chunk_is_read_twice(block: int, chunks: tuple[int, int]) -> None:
    array = np.random.default_rng(0).standard_normal((64, 64))
    file = Counting()
    with h5py.File(file, "w") as h5:
        h5.create_dataset("g/f", data=array, chunks=chunks, compression="gzip")
        stored = h5["g/f"].id.get_storage_size()
    with open_hdf5(file, "a.h5") as catalogue:
        file.count = 0
        read = catalogue.entries["g/f"].read
        assert read is not None
        for start in range(0, 64, block):
            stop = min(start + block, 64)
            assert np.array_equal(read(start, stop), array[start:stop])
        assert stored <= file.count < 1.2 * stored + 4096


def test_shards_are_one_matrix(tmp_path: Path) -> None:
    cuts = [0, 4, 5, 16, N]
    with ExitStack() as stack:
        parts = []
        for i, kind in enumerate(("gzip", "npy", "pt", "safetensors")):
            suffix, save = SAVERS[kind]
            path = tmp_path / f"part_{i}{suffix}"
            save(path, ROWS[cuts[i] : cuts[i + 1]])
            parts.append(stack.enter_context(opened(path)))
        rows = ConcatenatedRows(parts)
        assert rows.shape == (N, D) and "part_0.h5" in rows.location and "3 more" in rows.location
        for start in range(N + 1):
            for stop in range(start, N + 1):
                assert np.array_equal(rows.read(start, stop), ROWS[start:stop])


def test_shards_of_another_width_are_named(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", ROWS)
    np.save(tmp_path / "b.npy", ROWS[:, :3])
    with opened(tmp_path / "a.npy") as a, opened(tmp_path / "b.npy") as b:
        with pytest.raises(DataError, match=r"b\.npy.*\(23, 3\).*a\.npy.*\(23, 5\)"):
            ConcatenatedRows([a, b])


@pytest.mark.parametrize("kind", ["contiguous", "gzip", "npy", "safetensors"])
def test_a_large_matrix_is_never_whole_in_memory(tmp_path: Path, kind: str) -> None:
    suffix, save = SAVERS[kind]
    array = np.ones((40000, 50), np.float32)  # 8 MB
    if kind == "gzip":
        chunked(tmp_path / "a.h5", array, chunks=(500, 50), compression="gzip")
    else:
        save(tmp_path / f"a{suffix}", array)
    with opened(tmp_path / f"a{suffix}") as rows:
        tracemalloc.start()
        total = sum(float(rows.read(i, i + 500).sum()) for i in range(0, 40000, 500))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert total == array.size
    assert peak < 1 << 20


def test_shards_that_are_read_whole_leave_the_memory(tmp_path: Path) -> None:
    array = np.ones((5000, 50), np.float32)  # 1 MB
    with ExitStack() as stack:
        parts = []
        for at in range(8):
            np.savez(tmp_path / f"{at}.npz", f=array)
            parts.append(stack.enter_context(opened(tmp_path / f"{at}.npz")))
        rows = ConcatenatedRows(parts)
        tracemalloc.start()
        for _ in range(2):
            assert sum(float(rows.read(i, i + 500).sum()) for i in range(0, 40000, 500)) == 2e6
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 3 << 20


def test_a_file_cut_short_while_it_is_read(tmp_path: Path) -> None:
    for kind in ("contiguous", "npy", "fortran", "safetensors"):
        suffix, save = SAVERS[kind]
        path = tmp_path / f"{kind}{suffix}"
        save(path, ROWS)
        with opened(path) as rows:
            with open(path, "r+b") as file:
                file.truncate(path.stat().st_size - 150)
            with pytest.raises(DataError, match=path.name):
                rows.read(0, N)
