"""PyTorch files of a few bytes that would corrupt or fill the memory; arrays in honest ones."""

import io
import pickle
import struct
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gnc_cli.errors import DataError
from gnc_cli.io import torch_file
from gnc_cli.io.codefile import read_points
from gnc_cli.io.torch_file import tensors
from gnc_cli.training.checkpoints import read_checkpoint
from tests.faults.world import Case, check, inside

W = np.random.default_rng(0).normal(size=(4, 3))


def name(module: str, function: str) -> bytes:
    """What stands for a function in a pickle."""
    return f"c{module}\n{function}\n".encode()


def plain(value: Any) -> bytes:
    """A plain value, without the pickle's frame."""
    return pickle.dumps(value, 2)[2:-1]


def call(function: bytes, *args: bytes) -> bytes:
    return function + b"(" + b"".join(args) + b"tR"


def listed(*items: bytes) -> bytes:
    return b"](" + b"".join(items) + b"e"


def latin(data: bytes) -> bytes:
    return call(name("_codecs", "encode"), plain(data.decode("latin1")), plain("latin1"))


def dtype(code: str, *state: Any) -> bytes:
    """By default with the state that NumPy gives it."""
    made = call(name("numpy", "dtype"), plain(code), plain(False), plain(True))
    return made + plain(state or (3, "<", None, None, None, -1, -1, 0)) + b"b"


def array(shape: Any, of: bytes, data: bytes, core: str = "_core", fortran: bool = False) -> bytes:
    kind = name("numpy", "ndarray")
    made = call(name(f"numpy.{core}.multiarray", "_reconstruct"), kind, plain((0,)), latin(b"b"))
    return made + b"(" + plain(1) + plain(shape) + of + plain(fortran) + latin(data) + b"tb"


def tensor(count: Any, offset: int, size: Any, stride: Any, kind: str = "FloatStorage") -> bytes:
    """Part of a storage of `count` numbers; the file has 16 bytes for it."""
    storage = b"(" + plain("storage") + name("torch", kind) + plain("0") + plain("cpu")
    storage += plain(count) + b"tQ"
    hooks = call(name("collections", "OrderedDict"))
    made = name("torch._utils", "_rebuild_tensor_v2")
    return call(made, storage, plain(offset), plain(size), plain(stride), plain(False), hooks)


def write(path: Path, value: bytes) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/data.pkl", b"\x80\x02" + value + b".")
        archive.writestr("a/version", "3\n")
        archive.writestr("a/data/0", bytes(16))


def bomb() -> bytes:
    """An archive whose pickle claims 100 bytes, and 500 MB would come out."""
    with io.BytesIO() as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a/data.pkl", b"N" * (500 << 20))
        content = bytearray(file.getvalue())
    struct.pack_into("<I", content, content.rfind(b"PK\x01\x02") + 24, 100)
    return bytes(content)


LONG = plain("x" * 1000)
PAIRS = listed(*(plain((i, i)) for i in range(200)))
HOSTILE = {
    "larger items": array((4, 2), dtype("f8", 3, "<", None, None, None, 1 << 20, 1, 0), bytes(64)),
    "objects": array((4, 2), dtype("f8", 3, "|", None, None, None, -1, -1, 63), bytes(64)),
    "fields": array((4, 2), dtype("f8", 3, "|", None, ("a",), {"a": 3}, 8, 1, 0), bytes(64)),
    "a dtype of dtypes": array((4, 2), dtype("V8", 3, "|", (1, 2), None, None, -1, -1, 0), b""),
    "an array's shape": array((10**10, 2), dtype("f8"), bytes(64)),
    "many long axes": b"]("
    + b"\x8a\xff"
    + b"\x7f" * 255
    + b"q\x01"
    + array((), dtype("f8"), bytes(64)).replace(plain(()), b"(" + 40000 * b"h\x01" + b"t")
    + b"e",
    "a negative shape": array((-4, -2), dtype("f8"), bytes(64)),
    "an array called": call(name("numpy", "ndarray"), plain((10**9,)), plain("u1")),
    "strides of zero": call(
        name("numpy", "ndarray"), plain((10**9,)), plain("u1"), latin(b"a"), plain(0), plain((0,))
    ),
    "an array of objects": array((2, 1), dtype("O8", 3, "|", None, None, None, -1, -1, 63), b""),
    "a scalar": call(name("numpy.core.multiarray", "scalar"), dtype("f8"), latin(b"a")),
    "empty bytes": call(name("__builtin__", "bytearray"), plain(10**10)),
    "bytes again and again": LONG
    + b"q\x01"
    + listed(*100 * [call(name("_codecs", "encode"), b"h\x01", plain("latin1"))]),
    "another coding": call(name("_codecs", "encode"), LONG, plain("utf-32")),
    "dictionaries again and again": PAIRS
    + b"q\x01"
    + listed(*200 * [call(name("collections", "OrderedDict"), b"h\x01")]),
    "a key that is not hashed": plain((1,)) + 60 * b"q\x01h\x01\x86" + b"q\x01}h\x01K\x01s",
    "a place in the memo": plain(1) + b"r\xff\xff\xff\xff",
    "a storage": tensor(10**9, 0, (10**9, 1), (1, 1)),
    "an empty storage": tensor(-4, 0, (10**9, 1), (1, 1)),
    "a storage called": call(name("torch", "FloatStorage"), plain(10**10)),
    "a tensor called": call(name("torch", "FloatTensor"), plain(10**10)),
    "a tensor's size": tensor(4, 0, (10**9, 2), (2, 1)),
    "a tensor's stride": tensor(4, 0, (2, 2), (10**9, 1)),
    "a tensor's offset": tensor(4, 10**9, (2, 2), (2, 1)),
    "before its storage": tensor(4, -8, (2, 2), (2, 1)),
    "numbers again and again": tensor(4, 0, (10**6, 10**6), (0, 0)),
    "many axes": tensor(4, 0, (1,) * 10**4, (1,) * 10**4),
    "a list of itself": b"]q\x01(h\x01" + b"N" * 100_000 + b"e",
    "long names": b"]("
    + plain("x" * 1_000_000)
    + b"q\x01"
    + tensor(1, 0, (1,), (1,))
    + b"q\x02"
    + 2000 * b"}h\x01h\x02s"
    + b"e",
    "a long class": name("x" * 1_000_000, "y"),
    "a function's state": name("torch._utils", "_rebuild_tensor_v2") + plain({"a": 1}) + b"b",
}
LIMITED = """
import resource, sys, torch
from gnc_cli.errors import DataError
from gnc_cli.io.codefile import read_points
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (400 << 20),) * 2)
for path in sys.argv[1:]:
    try:
        read_points(path)
    except DataError as error:
        print(path, error, sep=": ")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the size of a process is read from /proc")
def test_hostile_files_are_refused_and_take_no_memory(tmp_path: Path) -> None:
    paths = [tmp_path / f"{what}.pt" for what in HOSTILE]
    for path in paths:
        write(path, HOSTILE[path.stem])
    paths.append(tmp_path / "packed.pt")
    paths[-1].write_bytes(bomb())
    command = [sys.executable, "-c", LIMITED, *map(str, paths)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    assert [line.partition(":")[0] for line in lines] == [str(path) for path in paths]
    assert "more memory" not in run.stdout and max(map(len, lines)) < 1000


COMMANDS = [
    "measure a.pt",
    "measure --weights a.pt",
    "compare a.pt",
    "solve --d 2 --K 4 --init a.pt",
    "train --data glyphs --backbone-weights a.pt",
    "train --data glyphs --init-from a.pt",
]


@pytest.mark.parametrize("words", COMMANDS)
def test_every_entrance_refuses(words: str, tmp_path: Path) -> None:
    with inside(tmp_path):
        check(Case(words, lambda: write(Path("a.pt"), HOSTILE["larger items"]), 3, "state"))


def test_a_pickle_has_a_largest_number_of_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch_file, "_MOST_STEPS", 1000)
    write(tmp_path / "a.pt", b"]" * 2000)
    with pytest.raises(DataError, match="more than 1,000 steps"):
        read_points(tmp_path / "a.pt")


def test_files_before_torch_1_6_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    torch.save({"W": torch.from_numpy(W)}, path, _use_new_zipfile_serialization=False)
    with pytest.raises(DataError, match="save the tensors again, with torch 1.6 or later"):
        read_points(path)


def test_a_checkpoint_is_read_likewise(tmp_path: Path) -> None:
    for content in ("larger items", "a tensor's size", "bytes again and again"):
        write(tmp_path / "last.pt", HOSTILE[content])
        with pytest.raises(DataError, match="cannot be read as a checkpoint"):
            read_checkpoint(tmp_path / "last.pt")


@pytest.mark.parametrize("core", ["core", "_core"])
@pytest.mark.parametrize("code", ["f8", "f4", "i8", "u1", "f2"])
@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("fortran", [False, True])
def test_arrays_of_numpy_1_and_2(
    core: str, code: str, order: str, fortran: bool, tmp_path: Path
) -> None:
    wanted = (10 * np.abs(W)).astype(order + code)
    state = (3, order, None, None, None, -1, -1, 0)
    of = dtype(code, *state)
    scalar = call(name(f"numpy.{core}.multiarray", "scalar"), of, latin(wanted[1:2, 2].tobytes()))
    data = wanted.tobytes("F" if fortran else "C")
    write(tmp_path / "a.pt", listed(array((4, 3), of, data, core, fortran), scalar))
    with open(tmp_path / "a.pt", "rb") as file, tensors(file, "a.pt") as catalogue:
        found, one = (entry.load() for entry in catalogue.entries.values())
    assert found.dtype == wanted.dtype and np.array_equal(found, wanted)
    assert one.shape == () and one == wanted[1, 2]


def test_what_numpy_itself_writes(tmp_path: Path) -> None:
    arrays = {"W": np.asfortranarray(W), "b": W[0].astype(">f4"), "n": np.int64(3)}
    others = {"texts": np.array(["a"]), "none": np.zeros((0, 3)), "objects": np.array([{}, None])}
    torch.save(arrays | others, tmp_path / "a.pt")
    with open(tmp_path / "a.pt", "rb") as file, tensors(file, "a.pt") as catalogue:
        for key, value in arrays.items():
            assert np.array_equal(catalogue.entries[key].load(), value)
        assert catalogue.entries["none"].shape == (0, 3)
        assert "texts" in str(catalogue.entries["texts"])
    assert np.array_equal(read_points(tmp_path / "a.pt").weights, W)
