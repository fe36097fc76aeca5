"""Digests of datasets (`io/catalogue.py`): all of small ones, spaced blocks of large ones."""

from pathlib import Path

import h5py
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file

from gnc_cli.io.catalogue import Entry
from gnc_cli.io.formats import reader_for

SIZE = 200_000
"""Numbers of a dataset that is larger than what is read of it."""


def _entry(array: np.ndarray, read: list[tuple[int, int]] | None = None) -> Entry:
    def rows(start: int, stop: int) -> np.ndarray:
        assert read is not None
        read.append((start, stop))
        return array[start:stop]

    return Entry(array.shape, str(array.dtype), True, lambda: array, read=rows)


@given(st.lists(st.integers(-9, 9), min_size=1), st.integers(0, 10**9), st.integers(1, 9))
def test_every_change_of_a_small_dataset_is_seen(values: list[int], at: int, by: int) -> None:
    array = np.array(values)
    changed = array.copy()
    changed[at % len(array)] += by
    digest = _entry(array).fingerprint()
    assert digest == _entry(array.copy()).fingerprint()
    assert digest != _entry(changed).fingerprint()
    assert digest != _entry(array.astype(np.int32)).fingerprint()
    assert digest != _entry(array[:, None]).fingerprint()


def test_blocks_of_a_large_one_have_places_by_its_shape() -> None:
    array = np.arange(4.0 * SIZE).reshape(-1, 4)
    read: list[tuple[int, int]] = []
    digest = _entry(array, read).fingerprint()
    assert (read[0][0], read[-1][1]) == (0, SIZE)
    assert sum(stop - start for start, stop in read) < SIZE / 5 and len(read) == len({*read})
    between = next(row for row in range(SIZE) if not any(a <= row < b for a, b in read))
    array[between] = -1.0
    assert _entry(array, read).fingerprint() == digest
    array[read[7][0]] = -1.0
    assert _entry(array, read).fingerprint() != digest


def test_the_whole_of_a_large_one_is_not_read_for_it() -> None:
    def load() -> np.ndarray:
        raise AssertionError

    assert Entry((10**9, 64), "float32", True, load).fingerprint() is None


@pytest.mark.parametrize("suffix", [".h5", ".npy", ".npz", ".safetensors", ".pt"])
@pytest.mark.parametrize("rows", [5, SIZE])
def test_every_format_has_them(tmp_path: Path, suffix: str, rows: int) -> None:
    def digest(H: np.ndarray) -> str | None:
        path = str(tmp_path / f"a{suffix}")
        if suffix == ".h5":
            with h5py.File(path, "w") as h5:
                h5["H"] = H
        elif suffix == ".npy":
            np.save(path, H)
        elif suffix == ".npz":
            np.savez_compressed(path, H=H)
        elif suffix == ".safetensors":
            save_file({"H": H}, path)
        else:
            torch.save({"H": torch.from_numpy(H)}, path)
        with open(path, "rb") as file, reader_for(path, file)(file, path) as catalogue:
            return next(iter(catalogue.entries.values())).fingerprint()

    H = np.random.default_rng(0).standard_normal((rows, 3)).astype(np.float32)
    first = digest(H)
    assert first is not None and digest(H.copy()) == first
    H[-1, -1] += 1.0
    assert digest(H) != first
