"""Inputs without an end, or larger than they seem (`io/inputs.py`): refused in little memory."""

import gzip
import json
import os
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest

from gnc_cli.errors import DataError
from gnc_cli.io import inputs
from gnc_cli.training.data.folders import read_folder
from tests.faults.world import Case, check, inside, put

CODE = "1 0\n0 1\n-1 0\n0 -1\n"
NAMED = {
    "compare {}": ".txt .csv .npy .npz .h5 .safetensors .pt",
    "compare code.txt --table {}": ".txt",
    "compare code.txt --baseline {} --allow gap=0": ".json",
    "measure {}": ".h5 .npz .pt .index.json",
    "measure --weights {}": ".npy .csv",
    "measure code.txt --class-names {}": ".txt",
    "solve --d 2 --K 4 --init {}": ".txt .h5",
    "train --config {}": ".toml",
    "train --data h5:{}": ".h5",
    "train --data cifar10:{}": ".tar.gz",
    "train --data glyphs --head fixed:{}": ".txt",
    "train --data glyphs --backbone-weights {}": ".pt .safetensors",
}


def device(name: str) -> None:
    os.symlink("/dev/zero", name)


def pipe(name: str) -> None:
    os.mkfifo(name)


ENDLESS = [
    (words, f"{make.__name__}{suffix}", make)
    for words, suffixes in NAMED.items()
    for suffix in suffixes.split()
    for make in (device, pipe)
]


@pytest.mark.parametrize(("words", "name", "make"), ENDLESS)
def test_devices_and_named_pipes_are_no_input(
    words: str, name: str, make: object, tmp_path: Path
) -> None:
    def done() -> None:
        put("code.txt", CODE)()
        make(name)  # type: ignore[operator]

    with inside(tmp_path):
        check(Case(words.format(name), done, 3, "is a device or a pipe"))


def bomb(name: str, size: int) -> None:
    """A zip archive with an array of zeros that claims `size` bytes."""
    shape = f"({size // 16}, 2)".encode()
    head = b"{'descr': '<f8', 'fortran_order': False, 'shape': " + shape + b", }"
    head = head.ljust(117) + b"\n"
    with zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("weights.npy", "w") as member:
            member.write(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head)
            member.write(bytes(1000))


def compressed(name: str) -> None:
    with h5py.File(name, "w") as h5:
        how = {"chunks": (1 << 20, 2), "compression": "gzip"}
        made = h5.create_dataset("weights", (1 << 40, 2), "f4", **how)
        made[:2] = 1.0


def packed_images(name: str) -> None:
    """Images in IDX, 800 bytes of zeros from one."""
    with gzip.open(name, "wb") as file:
        file.write(bytes([0, 0, 8, 3]) + np.array([10**6, 28, 28], ">u4").tobytes())
        for _ in range(100):
            file.write(bytes(1 << 20))


def zeros(name: str) -> None:
    """An array that is there, and packed three hundredfold."""
    np.savez_compressed(name, images=np.zeros((100, 1024, 1024), np.uint8))


def packed_chunks(name: str) -> None:
    """Chunks that are all there, and packed a thousandfold."""
    with h5py.File(name, "w") as h5:
        how = {"chunks": (1 << 16, 256), "compression": "gzip"}
        made = h5.create_dataset("weights", (1 << 18, 256), "f4", **how)
        made[: 1 << 16] = 1.0
        _, chunk = made.id.read_direct_chunk((0, 0))
        for k in range(4):
            made.id.write_direct_chunk((k << 16, 0), chunk)


def many_tensors(name: str) -> None:
    item = {"dtype": "F32", "shape": [], "data_offsets": [0, 4]}
    header = json.dumps({f"{k}": item for k in range(100_001)}).encode()
    Path(name).write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))


LONG = "n" * 5000
NAMES = [
    Case(f"train --out {LONG}", lambda: None, 3, "File name too long; choose another place"),
    Case(f"train --data glyphs:{LONG}", lambda: None, 3, "is not a folder; name one with .ttf"),
    *(
        Case(f"train --data {kind}:{LONG}", lambda: None, 3, said)
        for kind, said in (
            ("folder", "does not exist; write folder:PATH"),
            ("glyphs", "is not a folder"),
            ("idx", "is not a folder; write idx:DIR"),
            ("cifar10", "File name too long"),
            ("npz", "File name too long"),
        )
    ),
    Case("train --data folder:~nobody/x", lambda: None, 3, "does not exist; write folder:PATH"),
    Case("train --config a.toml", put("a.toml", 'out = "\\u0000"'), 2, "has a NUL character"),
]


@pytest.mark.parametrize("case", NAMES, ids=lambda case: case.words[:30])
def test_names_that_no_file_can_have(case: Case, tmp_path: Path) -> None:
    with inside(tmp_path):
        check(case)


BOMBS = [
    Case("measure --weights a.h5", lambda: packed_chunks("a.h5"), 3, "more than is unpacked"),
    Case("train --data npz:a.npz", lambda: zeros("a.npz"), 3, "more than is unpacked"),
    Case(
        "train --data idx:.",
        lambda: (
            packed_images("train-images-idx3-ubyte.gz") or put("train-labels-idx1-ubyte", "a")()
        ),
        3,
        "784000000 bytes, and has",
    ),
    Case(
        "measure a.safetensors", lambda: many_tensors("a.safetensors"), 3, "at most 100,000 tensors"
    ),
    Case(
        "measure a.safetensors",
        put("a.safetensors", (1 << 25).to_bytes(8, "little") + b"{" + bytes(1 << 25)),
        3,
        "at most 20000000 are read",
    ),
    Case(
        "measure a.index.json",
        put("a.index.json", bytes(60_000_000)),
        3,
        "MB of text that are read",
    ),
    Case(
        "compare a.txt --allow gap=0 --baseline b.json",
        lambda: (put("a.txt", CODE)(), put("b.json", "")(), os.truncate("b.json", 1 << 26)),
        3,
        "67.1089 MB, more than the 50 MB of text that are read",
    ),
    Case("compare a.npz", lambda: bomb("a.npz", 1 << 40), 3, "its header declares"),
    Case("measure --weights a.npz", lambda: bomb("a.npz", 1 << 33), 3, "its header declares"),
    Case("compare a.h5", lambda: compressed("a.h5"), 3, "a.h5': dataset 'weights' declares"),
    Case("measure --weights a.h5", lambda: compressed("a.h5"), 3, "chunks were ever written"),
    Case(
        "compare a.txt",
        lambda: (put("a.txt", "")(), os.truncate("a.txt", 1 << 40)),
        3,
        "MB of text that are read",
    ),
    Case(
        "compare a.txt --allow gap=0 --baseline b.json",
        lambda: (put("a.txt", CODE)(), put("b.json", "")(), os.truncate("b.json", 1 << 40)),
        3,
        "MB of text that are read",
    ),
    Case(
        "compare a.txt --allow gap=0 --baseline b.json",
        lambda: (put("a.txt", CODE)(), put("b.json", "[" * 100_000)()),
        3,
        "is not JSON",
    ),
    Case(
        "compare a.txt --allow gap=0 --baseline b.json",
        lambda: (put("a.txt", CODE)(), put("b.json", '{"gap": ' + "9" * 400 + "}")()),
        3,
        "is not JSON (a number of 400 digits)",
    ),
    Case("train --config a.toml", put("a.toml", "seed = " + "9" * 5000), 3, "is not TOML"),
    Case(
        "train --config a.toml",
        put("a.toml", ".".join(["a"] * 30_000) + " = 1"),
        3,
        "line of 60,003 letters, more than 10,000; write a long list in several lines",
    ),
    Case(
        "train --config a.toml",
        put("a.toml", ".".join(["a"] * 100_000) + " = 1"),
        3,
        "0.200003 MB, more than the 0.064 MB of text that are read",
    ),
    Case(
        "train --config a.toml",
        put("a.toml", "milestones = " + "\n".join(["[" * 500] * 10)),
        3,
        "is not TOML",
    ),
    Case(
        "measure --weights a.txt --classes b.txt",
        lambda: (put("a.txt", CODE)(), put("b.txt", "9" * 5000)()),
        3,
        "is no class",
    ),
]


@pytest.mark.parametrize("case", BOMBS, ids=lambda case: f"{case.words}: {case.said}")
def test_what_is_declared_is_held_against_what_is_there(case: Case, tmp_path: Path) -> None:
    with inside(tmp_path):
        check(case)


def test_pipes_and_devices_in_folders_are_left_out(tmp_path: Path) -> None:
    from PIL import Image

    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        for k in range(3):
            Image.new("L", (16, 16), 40 * k).save(tmp_path / name / f"{k}.png")
    os.mkfifo(tmp_path / "a" / "pipe.png")
    (tmp_path / "b" / "zero.png").symlink_to("/dev/zero")
    data = read_folder(str(tmp_path), threads=1)
    assert len(data.train.labels) == 6
    assert "2 image(s) cannot be read" in data.warnings[-1]


def test_stdin_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "memory_limit", lambda: 1 << 21)
    np.save(tmp_path / "a.npy", np.zeros((1 << 18, 2)))
    for begins, words in ((b"", "more than .* write it to a file"), (b"\x89HDF", "as HDF5")):
        with open(tmp_path / "a.npy", "rb") as stream, pytest.raises(DataError, match=words):
            inputs._read_stream(stream, "-", begins)
    with open("/dev/zero", "rb") as endless, pytest.raises(DataError, match="as HDF5"):
        inputs._read_stream(endless, "-", inputs.HDF5_SIGNATURE)
