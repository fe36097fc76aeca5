"""PyTorch files of a few bytes that would corrupt or fill the memory; arrays in honest ones.

The subject is `io/torch_file.py`.
"""

import io
import pickle
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.errors import DataError
from gnc_cli.io import torch_file
from gnc_cli.io.catalogue import Catalogue, checked
from gnc_cli.io.codefile import read_points
from gnc_cli.io.torch_file import load_plain, tensors
from gnc_cli.training.run_folder import read_checkpoint
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
    "a shared list": b"}("
    + plain("k" * 950)
    + listed(
        listed(tensor(1, 0, (1, 1), (1, 1)) + b"q\x01", 989 * b"h\x01") + b"q\x02", 999 * b"h\x02"
    )
    + b"u",
    "one tensor a million times": listed(
        tensor(4, 0, (2, 2), (2, 1)) + b"q\x01", 900_000 * b"h\x01"
    ),
    "a shared list of pairs": b"}("
    + plain("k")
    + listed(
        listed(b"(" + tensor(4, 0, (2, 2), (2, 1)) + plain(3) + b"tq\x01", 900 * b"h\x01")
        + b"q\x02",
        900 * b"h\x02",
    )
    + b"u",
    "keys of one hash": b"}("
    + b"".join(
        b"\x8a\x0c" + (i * ((1 << 61) - 1)).to_bytes(12, "little") + b"K\x00"
        for i in range(1, 100_000)
    )
    + b"u",
    "places in the memo": b"N" + b"".join(b"r" + struct.pack("<I", i << 12) for i in range(9999)),
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
    monkeypatch.setattr(torch_file, "_MAX_STEPS", 1000)
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


def listing(value: Any, path: Path) -> Catalogue:
    """Save a value and list it; its entries hold what they read after the file is closed."""
    torch.save(value, path)
    with open(path, "rb") as file, tensors(file, path.name) as catalogue:
        return catalogue


@st.composite
def shared_structures(draw: st.DrawFn) -> dict[str, Any]:
    """Dictionaries and lists, each part of any later ones."""
    parts: list[Any] = [torch.full((2, 3), float(i)) for i in range(3)]
    for _ in range(draw(st.integers(1, 6))):
        chosen = st.sampled_from(parts)
        keys = st.one_of(st.sampled_from(["a", "b.c", "d" * 40]), st.integers(-3, 3), st.booleans())
        kind = st.one_of(
            st.lists(chosen, max_size=4),
            st.lists(chosen, max_size=3).map(tuple),
            st.dictionaries(keys, st.one_of(chosen, st.just("text")), max_size=4),
        )
        parts.append(draw(kind))
    return {f"part{i}": part for i, part in enumerate(parts)}


def walked(name: str, value: Any) -> dict[str, torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return {name: value}
    items = value.items() if isinstance(value, dict) else enumerate(value)
    parts = [walked(f"{name}.{k}", v) for k, v in items if not isinstance(v, str)]
    return {key: tensor for part in parts for key, tensor in part.items()}


@given(shared_structures())
def test_shared_parts_have_all_their_names(tmp_path_factory: Any, value: dict[str, Any]) -> None:
    found = listing(value, tmp_path_factory.getbasetemp() / "shared.pt").entries
    wanted = {k: t for name, part in value.items() for k, t in walked(name, part).items()}
    assert [*found] == [*wanted]
    assert all(np.array_equal(found[name].load(), tensor) for name, tensor in wanted.items())


def test_tied_weights_can_be_named_either_way(tmp_path: Path) -> None:
    state = {"embed.weight": torch.from_numpy(W)}
    state["head.weight"] = state["embed.weight"]
    torch.save({"model": state, "ema": state}, tmp_path / "a.pt")
    for key in ("model.embed.weight", "model.head.weight", "ema.head.weight"):
        assert np.array_equal(read_points(f"{tmp_path}/a.pt:{key}").weights, W)


def test_what_is_shared_is_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls, entry = [], torch_file._entry
    monkeypatch.setattr(torch_file, "_entry", lambda value: calls.append(1) or entry(value))
    pair = (torch.from_numpy(W), torch.arange(4))
    shared = [pair] * 500
    found = listing({f"set{i}": shared for i in range(100)}, tmp_path / "a.pt").entries
    assert found["set99.features"].shape == (2000, 3) and len(found) == 200
    assert len(calls) < 10


def test_more_names_than_a_file_can_have_are_refused(tmp_path: Path) -> None:
    shared = {"k" * 950: [[torch.zeros(1, 1)] * 990] * 1000}
    with pytest.raises(DataError, match=r"stored: more than is unpacked; save each tensor once"):
        listing(shared, tmp_path / "a.pt")
    many = {f"{'k' * 900}{i}": torch.zeros(3, 3) for i in range(30)}
    torch.save(many, tmp_path / "b.pt")
    with pytest.raises(DataError, match=r"'k{159} \.\.\. k+11' \(3, 3\) float32 and 18") as refused:
        read_points(tmp_path / "b.pt")
    assert len(str(refused.value)) < 4000


KEYS = st.one_of(
    st.text("ab", min_size=1), st.integers(-(2**80), 2**80), st.floats(), st.booleans()
)


@given(st.dictionaries(KEYS, st.integers(0, 9)))
def test_keys_are_texts_or_small_numbers(tmp_path_factory: Any, value: dict[Any, int]) -> None:
    path = tmp_path_factory.getbasetemp() / "keys.pt"
    torch.save(value, path)
    with open(path, "rb") as file:
        found = load_plain(file, path.name)
    assert all(type(key) is str or key in range(1 << 16) for key in found)
    assert {str(key): item for key, item in found.items()} == {
        str(key): item for key, item in value.items()
    }


COMPLEX = torch.complex(torch.from_numpy(W), torch.from_numpy(W[::-1].copy()))
VIEWS: dict[str, Callable[[], torch.Tensor]] = {
    "imaginary part of a conjugate": lambda: COMPLEX.conj().imag,
    "its rows": lambda: COMPLEX.conj().imag[1:3],
    "its transpose": lambda: COMPLEX.conj().imag.T,
    "real part, turned": lambda: COMPLEX.conj().real.T,
    "negative": lambda: torch._neg_view(torch.from_numpy(W)),
    "negative bfloat16": lambda: torch._neg_view(torch.from_numpy(W).bfloat16()),
    "negative half": lambda: COMPLEX.to(torch.complex32).conj().imag,
    "negative integers": lambda: torch._neg_view(torch.arange(12).reshape(4, 3)),
    "a parameter": lambda: torch.nn.Parameter(torch._neg_view(torch.from_numpy(W))),
    "overlapping": lambda: torch.as_strided(torch.from_numpy(W), (4, 3), (1, 1)),
}


@pytest.mark.filterwarnings("ignore:ComplexHalf")
@pytest.mark.parametrize("what", VIEWS)
def test_views_have_the_numbers_that_torch_gives(what: str, tmp_path: Path) -> None:
    catalogue = listing({"weights": VIEWS[what]()}, tmp_path / "a.pt")
    wanted = torch.load(tmp_path / "a.pt")["weights"].detach().resolve_neg().double().numpy()
    entry = checked(catalogue, "weights")
    assert entry.read is not None
    assert np.array_equal(entry.load(), wanted) and np.array_equal(entry.read(1, 2), wanted[1:2])
    assert np.array_equal(read_points(tmp_path / "a.pt").weights, wanted)


class Subclass(torch.Tensor):
    """A tensor of another class, as torchvision has them."""


DENSE = torch.from_numpy(W)
OTHERS: dict[str, Callable[[], torch.Tensor]] = {
    "expanded": lambda: DENSE[:1].clone().expand(4, 3),
    "coo": lambda: DENSE.to_sparse(),
    "csr": lambda: DENSE.to_sparse_csr(),
    "quantised": lambda: torch.quantize_per_tensor(DENSE.float(), 0.1, 0, torch.qint8),
    "of 4 bits": lambda: torch.quantize_per_tensor(DENSE.float(), 0.1, 8, torch.quint4x2),
    "nested": lambda: torch.nested.nested_tensor([DENSE, DENSE[:2]]),
    "jagged": lambda: torch.nested.nested_tensor([DENSE, DENSE[:2]], layout=torch.jagged),
    "subclass": lambda: DENSE.as_subclass(Subclass),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("what", OTHERS)
def test_the_step_for_other_tensors_works(what: str, tmp_path: Path) -> None:
    tensor, path = OTHERS[what](), tmp_path / "a.pt"
    torch.save({"weights": tensor}, path)
    with pytest.raises(DataError) as refused:
        read_points(path)
    step = str(refused.value).rpartition("; save ")[2].removeprefix("the tensors alone: ")
    step = step.removeprefix("torch.save(").removesuffix(", FILE)")
    made = eval(step, {"torch": torch, "tensor": tensor})
    torch.save({"weights": made}, path)
    assert np.array_equal(read_points(path).weights, made.double().numpy())


def test_complex_and_empty_tensors_are_refused(tmp_path: Path) -> None:
    for tensor, reason in (
        (COMPLEX.conj(), "dtype complex128; expected real numbers"),
        (DENSE.to("meta"), "load its numbers"),
        (torch.zeros(4, 3, dtype=torch.uint8).view(torch.float4_e2m1fn_x2), "expected real num"),
    ):
        torch.save({"weights": tensor}, tmp_path / "a.pt")
        with pytest.raises(DataError, match=reason):
            read_points(tmp_path / "a.pt")
