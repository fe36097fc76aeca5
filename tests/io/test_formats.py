"""Every format is read exactly, and every bad input is one line that names file and next step.

The subjects are `io/formats.py` and `io/array_files.py`.
"""

import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import safetensors.torch
import torch

from gnc_cli.errors import DataError, UsageError
from gnc_cli.io.codefile import CodeFile, read_code, read_points, write_code
from gnc_cli.parameters import CODE_SUFFIXES

SUFFIXES = [suffix for suffix in CODE_SUFFIXES if suffix != ".hdf5"]  # written like .h5
CODE = np.array([[1.0, 2.0, 0.5], [-1.0, 0.25, 3.0], [0.0, 1.0, 1e-300], [4.0, -0.0, 1.0]])


def refusal(path: Path | str) -> str:
    """The message with which `path` is refused, checked for what every message must have."""
    with pytest.raises(DataError) as caught:
        read_points(path)
    message = str(caught.value)
    assert "\n" not in message
    assert os.path.basename(str(path)).split(":")[0] in message
    return message


def save_h5(path: Path, name: str, array: np.ndarray) -> None:
    with h5py.File(path, "w") as h5:
        h5[name] = array


def tensors(name: str, array: np.ndarray) -> dict[str, torch.Tensor]:
    return {name: torch.from_numpy(array.copy())}


SAVERS: dict[str, Callable[[Path, str, np.ndarray], None]] = {
    ".h5": save_h5,
    ".npy": lambda path, name, array: np.save(path, array),
    ".npz": lambda path, name, array: np.savez(path, **{name: array}),
    ".pt": lambda path, name, array: torch.save(tensors(name, array), path),
    ".safetensors": lambda path, name, array: safetensors.torch.save_file(
        tensors(name, array), path
    ),
    ".txt": lambda path, name, array: np.savetxt(path, array, fmt="%.17g"),
}
BINARY = [suffix for suffix in SAVERS if suffix != ".txt"]


@pytest.mark.parametrize("suffix", SAVERS)
def test_foreign_files_are_read_as_they_are(tmp_path: Path, suffix: str) -> None:
    for name in ("weights", "W", "anything"):
        path = tmp_path / f"{name}{suffix}"
        SAVERS[suffix](path, name, CODE)
        back = read_points(path)
        assert back.weights.dtype == np.float64
        assert np.array_equal(back.weights, CODE)
        assert back.state is None and back.features is None


@pytest.mark.parametrize("value", [np.arange(3), [b"code", b"x"], np.zeros(0), np.zeros((2, 2))])
def test_attributes_may_be_arrays(tmp_path: Path, value: Any) -> None:
    """An array equals no text, and has no truth value."""
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as h5:
        h5["weights"] = CODE
        h5.attrs["kind"] = value
    assert np.array_equal(read_points(path).weights, CODE)
    with pytest.raises(DataError, match="is not a code file of gnc"):
        read_code(path)


@pytest.mark.parametrize("suffix", SAVERS)
@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.ones((1, 3)), ["(1, 3)", "K >= 2"]),
        (np.ones((4, 1)), ["(4, 1)", "d >= 2", "one point on each line"]),
        (np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [0.0, 0.0]]), ["2 zero row", "row 1"]),
        (np.array([[1.0, 0.0], [1.0, np.nan]]), ["1 value", "nan", "row 1", "column 1"]),
        (np.array([[1.0, -np.inf], [1.0, np.inf]]), ["2 value", "-inf", "row 0", "column 1"]),
    ],
)
def test_unusable_numbers_are_counted_and_located(
    tmp_path: Path, suffix: str, array: np.ndarray, words: list[str]
) -> None:
    SAVERS[suffix](tmp_path / f"a{suffix}", "weights", array)
    message = refusal(tmp_path / f"a{suffix}")
    for word in words:
        assert word in message


@pytest.mark.parametrize("suffix", BINARY)
@pytest.mark.parametrize(
    "array",
    [np.ones(4), np.ones((2, 2, 2)), np.float64(3.0), np.eye(3) * 1j, np.eye(3) > 0],
    ids=["vector", "cube", "scalar", "complex", "bool"],
)
def test_wrong_ranks_and_dtypes_are_refused(tmp_path: Path, suffix: str, array: np.ndarray) -> None:
    array = np.asarray(array)
    if suffix == ".safetensors" and array.dtype.kind == "c":
        array = array.astype(np.complex64)  # the only complex numbers this format has
    SAVERS[suffix](tmp_path / f"a{suffix}", "weights", array)
    message = refusal(tmp_path / f"a{suffix}")
    assert "expected" in message
    assert str(array.shape) in message or "dtype" in message


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_cut_anywhere_is_refused(tmp_path: Path, suffix: str) -> None:
    whole = tmp_path / f"whole{suffix}"
    code = CodeFile(np.random.default_rng(0).standard_normal((5, 3)), provenance={"seed": 1})
    write_code(whole, code)
    data = whole.read_bytes()
    cut = tmp_path / f"cut{suffix}"
    offsets = sorted({0, 1, 7, 8, 9, len(data) - 1, *range(0, len(data), len(data) // 20)})
    for size in offsets:
        cut.write_bytes(data[:size])
        if suffix in (".txt", ".off") and size > data.index(b"\n"):
            # Text has no end mark: what is left must be refused or be rows of the original.
            try:
                rows = read_points(cut).weights
            except DataError:
                continue
            assert np.array_equal(rows[:-1], code.weights[: len(rows) - 1])
            continue
        refusal(cut)


@pytest.mark.parametrize("suffix", [*CODE_SUFFIXES, ".csv", ".pth"])
def test_foreign_bytes_are_refused_under_every_suffix(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    for data in (
        b"hello world, this is no data\n",
        b"\x89PNG\r\n\x1a\n" + bytes(100),
        b"PK\x03\x04",
    ):
        path.write_bytes(data)
        refusal(path)
    path.write_bytes(b"")
    assert "empty" in refusal(path)


@pytest.mark.parametrize("name", ["model.pth.tar", "model.bin", "model", "model.npz"])
def test_the_content_says_what_a_file_is(tmp_path: Path, name: str) -> None:
    """A checkpoint under any name; others likewise."""
    os.makedirs(tmp_path / "x")
    path = tmp_path / "x" / name
    torch.save({"weights": torch.from_numpy(CODE.copy())}, path)
    assert np.array_equal(read_points(path).weights, CODE)
    for suffix in (".h5", ".npz", ".npy", ".safetensors"):
        write_code(tmp_path / f"a{suffix}", CodeFile(CODE))
        shutil.copy(tmp_path / f"a{suffix}", path)
        assert np.array_equal(read_points(path).weights, CODE)


class Bomb:
    """Unpickling this makes a file: if it ever appears, something was executed."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return open, (self.path, "w")


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    bomb = Bomb(tmp_path / "boom")
    for suffix in (".pt", ".pth", ".npy", ".npz", ".pth.tar", ".bin"):
        (tmp_path / f"raw{suffix}").write_bytes(pickle.dumps({"weights": bomb}))
        refusal(tmp_path / f"raw{suffix}")
    for name in ("a.pt", "a.pth.tar", "a.bin", "a.ckpt"):
        torch.save({"weights": bomb}, tmp_path / name)
        assert "could run code" in refusal(tmp_path / name)
    np.save(tmp_path / "a.npy", np.array([[bomb, 1], [2, 3]], dtype=object))
    assert "object" in refusal(tmp_path / "a.npy")
    np.savez(
        tmp_path / "a.npz", weights=np.array([bomb], dtype=object), provenance=np.array([bomb])
    )
    assert "object" in refusal(tmp_path / "a.npz")
    assert not (tmp_path / "boom").exists()


def test_links_stay_inside_the_file(tmp_path: Path) -> None:
    save_h5(tmp_path / "other.h5", "weights", np.eye(3))
    secret = tmp_path / "secret.bin"
    secret.write_bytes(np.eye(3).tobytes())
    with h5py.File(tmp_path / "a.h5", "w") as h5:
        h5["group/w"] = CODE
        h5["group/self"] = h5["group"]
        h5["soft"] = h5py.SoftLink("/group/w")
        h5["group/near"] = h5py.SoftLink("w")
        h5["dangling"] = h5py.SoftLink("/nowhere")
        h5["outside"] = h5py.ExternalLink("other.h5", "/weights")
        h5["through"] = h5py.SoftLink("/outside")
        h5["type"] = np.dtype("f8")
        h5.create_dataset("raw", (3, 3), "f8", external=[(str(secret), 0, 72)])
        layout = h5py.VirtualLayout((3, 3), "f8")
        layout[:] = h5py.VirtualSource(str(tmp_path / "other.h5"), "weights", (3, 3))
        h5.create_virtual_dataset("virtual", layout)
    for key in ("group/w", "/group/w", "soft", "group/near"):
        assert np.array_equal(read_points(f"{tmp_path}/a.h5:{key}").weights, CODE)
    for key, reason in {
        "outside": "another file",
        "through": "another file",
        "dangling": "'nowhere'",
        "raw": "other files",
        "virtual": "other files",
        "group": "is a group",
        "type": "named type",
    }.items():
        message = refusal(f"{tmp_path}/a.h5:{key}")
        assert reason in message and repr(key) in message


def test_a_state_that_points_elsewhere_or_is_no_numbers_is_refused(tmp_path: Path) -> None:
    for name in ("other.h5", "a.h5"):
        write_code(tmp_path / name, CodeFile(np.eye(3), state={"seed": 3}))
    with h5py.File(tmp_path / "a.h5", "a") as h5:
        h5["state"].attrs["starts"] = "many"
    with pytest.raises(DataError, match="damaged.*many"):
        read_code(tmp_path / "a.h5")
    with h5py.File(tmp_path / "a.h5", "a") as h5:
        del h5["state"]
        h5["state"] = h5py.ExternalLink("other.h5", "/state")
    with pytest.raises(DataError, match="link"):
        read_code(tmp_path / "a.h5")


@pytest.mark.parametrize("suffix", [".h5", ".npz", ".pt", ".safetensors"])
def test_a_missing_key_lists_what_there_is(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    arrays = {"left": CODE, "right": CODE[:3], "count": np.arange(5)}
    if suffix == ".h5":
        with h5py.File(path, "w") as h5:
            for name, array in arrays.items():
                h5[name] = array
    elif suffix == ".npz":
        np.savez(path, **arrays)
    else:
        save = torch.save if suffix == ".pt" else safetensors.torch.save_file
        save({name: torch.from_numpy(array.copy()) for name, array in arrays.items()}, path)
    for message in (refusal(path), refusal(f"{path}:middle")):
        assert "'left' (4, 3)" in message and "'right' (3, 3)" in message and "int64" in message
    assert np.array_equal(read_points(f"{path}:right").weights, CODE[:3])


def test_features_are_not_taken_for_a_code(tmp_path: Path) -> None:
    save_h5(tmp_path / "a.h5", "features", np.ones((50, 3)))
    assert "choose with" in refusal(tmp_path / "a.h5")
    assert read_points(f"{tmp_path}/a.h5:features").weights.shape == (50, 3)
    with h5py.File(tmp_path / "a.h5", "a") as h5:
        h5["weights"] = CODE
    back = read_points(tmp_path / "a.h5")
    assert np.array_equal(back.weights, CODE)
    assert back.features is None  # 50 samples are no code's one feature a class


@pytest.mark.parametrize("bad", [[0, 1, 2, 4], [0, 1, -1, 2], [0.0, 0.5, 1.0, 2.0]])
def test_labels_must_be_classes(tmp_path: Path, bad: list[float]) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as h5:
        h5["weights"], h5["features"], h5["labels"] = CODE, CODE, bad
    assert "'labels'" in refusal(tmp_path / "a.h5")


def test_tables_are_read_with_blanks_or_commas_and_comments(tmp_path: Path) -> None:
    for name, text in {
        "a.txt": "# K = 2\n1 0.5   # first\n\n-2\t3e-5\n",
        "a.csv": "\ufeff1, 0.5\r\n-2,3e-5\r\n",
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert read_points(tmp_path / name).weights.tolist() == [[1.0, 0.5], [-2.0, 3e-5]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x,2\n1,2\n", ["'x'", "line 1, column 1", "#", "index=False"]),
        ("# c\n1 2\n3 4 5\n", ["columns changed from 2 to 3 in line 3"]),
        ("# c\n\na,b\n1,2\n3,x\n", ["'x'", "line 5, column 2"]),
        ("# only words\n", ["no numbers"]),
        ("a b\n# words alone\n", ["'a'", "line 1"]),
        ("1 1e999\n1 2\n", ["inf", "row 0"]),
    ],
)
def test_a_bad_table_says_what_is_wrong(tmp_path: Path, text: str, words: list[str]) -> None:
    (tmp_path / "a.txt").write_text(text)
    message = refusal(tmp_path / "a.txt")
    assert all(word in message for word in words)


def test_files_that_are_not_there_or_not_files(tmp_path: Path) -> None:
    assert "no such file" in refusal(tmp_path / "none.h5")
    assert "folder" in refusal(tmp_path)
    (tmp_path / "a.xyz").write_text("1 2")
    assert ".safetensors" in refusal(tmp_path / "a.xyz")
    with pytest.raises(DataError, match="null"):
        read_points("nul\0.h5")
    with pytest.raises(UsageError, match="colon"):
        read_points("a.h5:")


def test_hdf5_is_never_read_from_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    with pytest.raises(UsageError, match="stdin, which is a terminal"):
        read_points("-")


def test_a_pipe_of_the_shell_is_read_and_a_named_one_refused(tmp_path: Path) -> None:
    save_h5(tmp_path / "a.h5", "weights", CODE)
    os.mkfifo(tmp_path / "pipe")
    assert "a device or a pipe" in refusal(tmp_path / "pipe")
    assert "a device or a pipe" in refusal("/dev/zero")
    with subprocess.Popen(["cat", tmp_path / "a.h5"], stdout=subprocess.PIPE) as cat:
        assert cat.stdout is not None
        assert np.array_equal(read_points(f"/dev/fd/{cat.stdout.fileno()}").weights, CODE)


def test_torch_is_not_imported_for_other_formats(tmp_path: Path) -> None:
    for suffix in (".h5", ".npz", ".npy", ".safetensors", ".txt"):
        write_code(tmp_path / f"a{suffix}", CodeFile(CODE))
    script = (
        "import sys, gnc_cli.io.codefile as r\n"
        "heavy = {'torch', 'h5py', 'safetensors', 'scipy', 'matplotlib'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
        "for path in sys.argv[1:]: r.read_points(path)\n"
        "assert 'torch' not in sys.modules\n"
    )
    paths = [str(path) for path in sorted(tmp_path.iterdir())]
    subprocess.run([sys.executable, "-c", script, *paths], check=True)
