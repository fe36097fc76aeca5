"""The formats by content and suffix: how a file becomes a `Catalogue`.

A reader gives a catalogue that is valid inside a `with` block. Names, shapes and dtypes come first,
numbers only when asked for. Nothing is unpickled, no link is followed out of the file, and whatever
a library raises becomes one DataError.
"""

import contextlib
import os
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import PurePath
from typing import IO

from gnc_cli.errors import DataError
from gnc_cli.io.array_files import fvecs, mat, npy, npz, safetensors
from gnc_cli.io.catalogue import Catalogue, Entry, translated
from gnc_cli.io.inputs import GZIP_SIGNATURE, HDF5_SIGNATURE, file_size, open_input, read_json
from gnc_cli.io.tables import saved_dataset, table_columns
from gnc_cli.io.texts import TEXTS, gz, off

DATASET = "state.json"
"""The file of a folder of `datasets` that names the others."""
Reader = Callable[[IO[bytes], str], AbstractContextManager[Catalogue]]


def hdf5(file: IO[bytes], path: str) -> AbstractContextManager[Catalogue]:
    """HDF5 of any layout."""
    from gnc_cli.io.hdf5 import open_hdf5

    return open_hdf5(file, path)


def pt(file: IO[bytes], path: str) -> AbstractContextManager[Catalogue]:
    """A tensor, or nested dictionaries and lists of them, as torch saves them."""
    from gnc_cli.io.torch_file import tensors

    return tensors(file, path)


def keras(file: IO[bytes], path: str) -> AbstractContextManager[Catalogue]:
    """Refuse a model of Keras: its weights have no names there that say what they are."""
    raise DataError(
        f"{path!r} is a model of Keras; save its last layer: W, b = "
        "keras.models.load_model(FILE).layers[-1].get_weights(); "
        "numpy.savez('head.npz', weights=W.T, bias=b)"
    )


_SHARDS: dict[str, Reader] = {".safetensors": safetensors, ".bin": pt}


@contextlib.contextmanager
def shards(file: IO[bytes], path: str) -> Iterator[Catalogue]:
    """The tensors of several files beside an index of them, `model.safetensors.index.json` or
    `pytorch_model.bin.index.json`, by its `weight_map`.

    Raises:
        DataError: no such index, or it points out of its folder. A file or tensor that is missing
            is refused where it is asked for: the others can be used.
    """
    kind = "an index of the tensors of a model"
    with translated(path, kind):
        names_of: dict[str, list[str]] = {}
        for name, shard in read_json(path, kind)["weight_map"].items():
            names_of.setdefault(str(shard), []).append(name)
    entries: dict[str, Entry] = {}
    with contextlib.ExitStack() as stack:
        for shard, names in names_of.items():
            reader = _SHARDS.get(PurePath(shard).suffix)
            if PurePath(shard).name != shard or reader is None:
                raise DataError(
                    f"{path!r} points to {shard!r}; expected {' or '.join(_SHARDS)} files of its "
                    "own folder"
                )
            beside = str(PurePath(path).with_name(shard))
            missing = Entry.refused(f"is in {beside!r}, which is missing", "fetch that file too")
            part = dict.fromkeys(names, missing)
            if os.path.exists(beside):
                file = stack.enter_context(open_input(beside))
                part = stack.enter_context(reader(file, beside)).entries
            entries |= {name: part[name] for name in names if name in part}
        yield Catalogue(path, entries)


FORMATS: dict[str, Reader] = {
    ".mat": mat,
    ".h5": hdf5,
    ".hdf5": hdf5,
    ".npz": npz,
    ".npy": npy,
    ".safetensors": safetensors,
    ".index.json": shards,
    ".pt": pt,
    ".pth": pt,
    ".ckpt": pt,
    **TEXTS,
    ".gz": gz,
    ".fvecs": fvecs,
    ".off": off,
    ".parquet": table_columns,
    ".arrow": table_columns,
    ".feather": table_columns,
}


def reader_for(path: str, file: IO[bytes]) -> Reader:
    """The reader for what the file's first bytes say it is; text and damaged files go by suffix."""
    if path == "-":
        return hdf5
    if path.endswith("index.json"):
        return shards
    if PurePath(path).name == DATASET:
        return saved_dataset
    if reader := _by_content(file) or FORMATS.get(PurePath(path).suffix.lower()):
        return reader
    step = f"rename a text to one of {', '.join(TEXTS)}"
    if b"\0" in file.read(1024):
        step = "convert it: numpy.savez('data.npz', features=H, labels=y)"
    raise DataError(
        f"{path!r} has a suffix that names no format and begins like none of "
        f"{', '.join(FORMATS)}; {step}"
    )


def _by_content(file: IO[bytes]) -> Reader | None:
    """What a file is by its first bytes, and a zip archive by its members; None where unknown."""
    size = file_size(file)
    start = file.read(16)
    file.seek(0)
    if start.startswith(b"PK\x03\x04"):
        try:
            with zipfile.ZipFile(file) as archive:
                names = {name.rpartition("/")[2] for name in archive.namelist()}
        except Exception:  # damaged: the reader by suffix will say so
            return None
        finally:
            file.seek(0)
        return keras if "model.weights.h5" in names else pt if "data.pkl" in names else npz
    if int.from_bytes(start[:8], "little") <= size - 8 and start[8:9] == b"{":
        return safetensors
    known: dict[bytes, Reader | None] = {
        HDF5_SIGNATURE: hdf5,
        b"MATLAB 7.3": hdf5,
        b"MATLAB 5.0": mat,
        b"\x93NUMPY": npy,
        b"PAR1": table_columns,
        b"ARROW1": table_columns,
        b"\x80": pt if start[2:3] != b"\0" else None,  # a pickle, or .fvecs of d = 128
        b"\xff\xff\xff\xff": table_columns,  # an Arrow stream
        GZIP_SIGNATURE: gz,
    }
    return next((reader for magic, reader in known.items() if start.startswith(magic)), None)
