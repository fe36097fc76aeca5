"""One function per format that a code can be written in; the suffix chooses.

Only HDF5 holds everything (see `hdf5.py`); the others carry what their readers expect.
"""

import os
import zipfile
from collections.abc import Callable
from pathlib import PurePath
from typing import IO

import numpy as np

from gnc_cli.errors import UsageError
from gnc_cli.io.codefile import CodeFile, provenance_text
from gnc_cli.io.hdf5 import write_hdf5
from gnc_cli.io.sink import deferring_errors

__all__ = ["WRITERS", "writer_for"]


def writer_for(path: str | os.PathLike[str]) -> Callable[[IO[bytes], CodeFile], None]:
    """The function that writes the format named by the suffix of `path`.

    Raises:
        UsageError: the suffix is missing or unknown.
    """
    suffix = PurePath(path).suffix.lower()
    if suffix not in WRITERS:
        said = f"suffix {suffix!r}" if suffix else "no suffix"
        raise UsageError(f"{os.fspath(path)!r} has {said}; choose one of {', '.join(WRITERS)}")
    return WRITERS[suffix]


def write_npy(file: IO[bytes], code: CodeFile) -> None:
    """Weights alone, float64, in NumPy's format."""
    np.lib.format.write_array(file, _float64(code.weights), allow_pickle=False)


def write_npz(file: IO[bytes], code: CodeFile) -> None:
    """`weights`, `features` where there are any, and `provenance` (a string), uncompressed."""
    arrays = _arrays(code) | {"provenance": np.array(provenance_text(code.provenance))}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            # np.savez would stamp each member with the time of day; equal input, equal bytes.
            member = zipfile.ZipInfo(name + ".npy", date_time=(1980, 1, 1, 0, 0, 0))
            with archive.open(member, "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, array, allow_pickle=False)


def write_safetensors(file: IO[bytes], code: CodeFile) -> None:
    """`weights` and `features`; provenance in the metadata."""
    from safetensors.numpy import save

    file.write(save(_arrays(code), metadata={"provenance": provenance_text(code.provenance)}))


def write_pt(file: IO[bytes], code: CodeFile) -> None:
    """A dictionary of torch tensors, for `torch.load(path, weights_only=True)`."""
    import torch

    tensors = {name: torch.from_numpy(array.copy()) for name, array in _arrays(code).items()}
    with deferring_errors(file) as sink:
        torch.save(tensors | {"provenance": provenance_text(code.provenance)}, sink)


def write_txt(file: IO[bytes], code: CodeFile) -> None:
    """Weights, one row a line, 17 digits: enough to give every float64 back exactly."""
    np.savetxt(file, code.weights, fmt="%.17g")


def _arrays(code: CodeFile) -> dict[str, np.ndarray]:
    arrays = {"weights": _float64(code.weights)}
    if code.features is not None:
        arrays["features"] = _float64(code.features)
    return arrays


def _float64(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array, dtype=np.float64)


WRITERS: dict[str, Callable[[IO[bytes], CodeFile], None]] = {
    ".h5": write_hdf5,
    ".hdf5": write_hdf5,
    ".npz": write_npz,
    ".npy": write_npy,
    ".safetensors": write_safetensors,
    ".pt": write_pt,
    ".txt": write_txt,
}
