"""The readers that `fuzz` feeds with bytes, and the small valid files that it begins at.

A target is one format: every public function by which a command reads it gets the bytes as a file,
and must give a result, or refuse in words of its own. What it takes must be right where a second
reader can say so: tensors are those of torch, and what a certificate claims is proved by
`tests/plain_verifier.py`.
"""

import contextlib
import gzip
import io
import json
import os
import shutil
import tempfile
import threading
import warnings
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import torch

import gnc_cli
from benchmarks.paths import CERTIFICATES
from gnc_cli.cli import Commands
from gnc_cli.collapse.conventions import Conventions, Selection
from gnc_cli.collapse.prepared import prepare_dataset
from gnc_cli.collapse.result import MeasureResult
from gnc_cli.collapse.sources import resolve
from gnc_cli.comparison.files import read_decimals, read_published
from gnc_cli.console.gates import Baseline, Gates
from gnc_cli.console.options import GateOptions
from gnc_cli.errors import DataError, OutputError, UsageError
from gnc_cli.io.codefile import CodeFile, read_code, write_code
from gnc_cli.io.ledger import Ledger
from gnc_cli.io.torch_file import load_plain
from gnc_cli.known_codes.table import read_public_table
from gnc_cli.limits.certificate import verify
from gnc_cli.limits.claim import document, surd
from gnc_cli.limits.local_optimum import LocalOptimum
from gnc_cli.parameters import Parameter, declared
from gnc_cli.plain import read_plain
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.training.data.idx import read_idx
from gnc_cli.training.data.load import read_stored
from gnc_cli.training.network import read_tensors
from gnc_cli.training.result import EpochRow
from gnc_cli.training.run_folder import read_checkpoint, read_stored_run
from tests import plain_verifier

REFUSALS = (UsageError, DataError, OutputError)
"""What a reader may raise."""
_ROWS = 4096
_RECORDS = 10
"""Storages of a PyTorch file, of 256 bytes each."""
_PROOF = 2.0
"""Seconds of a check."""
_COMMANDS = ("solve", "measure", "bounds", "train", "compare")


@dataclass(frozen=True)
class Target:
    """One format."""

    file: str
    """The name under which the bytes are read, in a folder of their own."""
    readers: tuple[Callable[[str], Any], ...]
    """Each gets the file's path."""


def measured(path: str, *, class_names: str | None = None, classes: str | None = None) -> None:
    """As `gnc measure` reads a file: roles, labels and weights, then the features by rows."""
    selection = Selection(files=(path,), class_names=class_names)
    for source in resolve(selection):
        with source.open() as samples:
            prepared = prepare_dataset(samples, selection, Conventions(classes=classes))
            for rows in (prepared.features, prepared.logits):
                if rows is not None:
                    rows.read(0, min(rows.shape[0], _ROWS))


def resumed(path: str) -> None:
    """As `gnc solve --resume` goes on with a code file; the search ends at once."""
    K, d = read_code(path).weights.shape
    if K * d > 100:
        return
    stop = threading.Event()
    stop.set()
    gnc_cli.solve(
        d,
        K,
        method="descent",
        restarts=2,
        workers=1,
        out=path,
        resume=True,
        interrupt=stop,
    )


def with_names(path: str) -> None:
    """As `gnc measure` reads names of classes."""
    code = os.path.join(os.path.dirname(path), "code.npy")
    np.save(code, np.eye(3))
    measured(code, class_names=path)


def with_classes(path: str) -> None:
    """As `gnc measure` reads a list of classes."""
    code = os.path.join(os.path.dirname(path), "code.npy")
    np.save(code, np.eye(3))
    measured(code, classes=path)


def decimals(path: str) -> None:
    """As `gnc compare` reads the decimals behind the floats."""
    read_decimals(path, read_published(path).weights)


def rows(path: str, record: type) -> None:
    """As a run goes on with its rows."""
    first = {MeasureResult: "schema", EpochRow: "epoch"}.get(record, "d")
    with Ledger(path, partial(read_plain, record), first, None, resume=True):
        pass


def stored(path: str) -> None:
    """As a PyTorch file is read, of which the bytes are the pickle; its numbers are torch's."""
    archive = os.path.join(os.path.dirname(path), "a.pt")
    with zipfile.ZipFile(archive, "w") as file:
        file.write(path, "a/data.pkl")
        file.writestr("a/version", "3\n")
        file.writestr("a/byteorder", "little")
        for number in range(_RECORDS):
            file.writestr(f"a/data/{number}", bytes(range(256)))
    loaded = None
    with contextlib.suppress(Exception), open(archive, "rb") as opened:
        loaded = load_plain(opened, archive)  # the readers below say it in their own words
    if isinstance(loaded, dict):
        _agree(loaded, archive)
    for read in (read_published, measured, read_tensors):
        with contextlib.suppress(*REFUSALS):
            read(archive)


def _agree(loaded: dict[Any, Any], archive: str) -> None:
    """Compare tensors with those that torch loads, where it does."""
    try:
        with warnings.catch_warnings(action="ignore"):
            theirs = torch.load(archive, weights_only=True)
    except Exception:
        return
    for key, value in loaded.items():
        other = theirs.get(key) if isinstance(theirs, dict) else None
        if isinstance(value, torch.Tensor) and isinstance(other, torch.Tensor):
            same = value.shape == other.shape and value.dtype == other.dtype
            with contextlib.suppress(NotImplementedError, RuntimeError):  # of rare types
                same = same and torch.equal(value.nan_to_num(), other.resolve_neg().nan_to_num())
            assert same, f"{key!r} is {value}, not {other}"


def certified(path: str) -> None:
    """As `gnc bounds --verify` reads; what it proves the plain verifier proves as well."""
    answer = verify(path, Deadline(_PROOF))
    if answer.status == "proved":
        try:
            claim = plain_verifier.claim_of(path)
        except plain_verifier.PROVES_NOTHING as error:
            raise AssertionError(f"a false certificate: {error}") from error
        relation = ">" if answer.strict else ">="
        said = f"{answer.K} points in {answer.d} dimensions: "
        said += "a local optimum " if answer.strict is None else f"some cosine {relation} "
        assert claim.startswith(said), f"{claim}, not {said}"


def proof(path: str) -> None:
    """As that; the bytes say which certificate, and which of its numbers are changed, and how."""
    data = Path(path).read_bytes()
    text = _proofs()[data[0] % len(_proofs())] if data else _proofs()[0]
    document = json.loads(text)
    places = [*_numbers(document)]
    for k in range(1, len(data) - 3, 4):
        first, second, how, by = data[k : k + 4]
        holder, key = places[(first << 8 | second) % len(places)]
        holder[key] = _changed(holder[key], how, by)
    changed = os.path.join(os.path.dirname(path), "changed.json")
    Path(changed).write_text(json.dumps(document))
    certified(changed)


def _numbers(value: Any) -> Iterator[tuple[Any, Any]]:
    """Where the numbers of a document are, those of the claim first."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(item, (dict, list)):
            yield from _numbers(item)
        elif key not in ("certificate", "kind"):
            yield value, key


def _changed(value: Any, how: int, by: int) -> Any:
    """A number, a fraction as a text or a truth value, changed in one of a few ways."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, str) and value.endswith("*sqrt(5)"):
        a, b = surd(value)
        root = _changed(str(b), how, by)
        return f"{a}{'' if root.startswith('-') else '+'}{root}*sqrt(5)"
    number = Fraction(value)
    ways = (
        number + by,
        number - by,
        -number,
        number * by,
        number / (by + 1),
        number + Fraction(by, 10**12),
        number - Fraction(by, 10**12),
        Fraction(0),
    )
    new = ways[how % len(ways)]
    return str(new) if isinstance(value, str) else int(new)


@cache
def _proofs() -> list[bytes]:
    """Small certificates of all kinds, unpacked."""
    found = sorted(CERTIFICATES.glob("*.json.gz"), key=lambda path: path.stat().st_size)
    texts = [gzip.decompress(path.read_bytes()) for path in found[:2]]
    with tempfile.TemporaryDirectory() as folder:
        for d, K in ((8, 240), (5, 50), (3, 4), (3, 12), (4, 120)):
            gnc_cli.bounds(d, K, export=os.path.join(folder, "a.json"), force=True)
            texts.append(Path(folder, "a.json").read_bytes())
    rows = gnc_cli.solve(3, 12, construction="icosahedron").weights
    texts.append(document(LocalOptimum.from_code(rows, Deadline())))
    return texts


def baseline(path: str) -> None:
    """As `--baseline` is read and asked."""
    earlier = Baseline.read(path)
    options = GateOptions(baseline=path, allow=["max_cosine=1%"])
    allowed = Gates.read(options)
    for row in earlier.rows:
        earlier.row_for({"d": 3, "K": 7, "problem": "softmax"}, row)
        allowed.judge([row])


def run_folder(path: str) -> None:
    """As `gnc train --resume` reads config.json."""
    shutil.copy(path, os.path.join(os.path.dirname(path), "config.json"))
    read_stored_run(os.path.dirname(path))


def shards(path: str) -> None:
    """As the index of a model's shards is read."""
    index = os.path.join(os.path.dirname(path), "model.safetensors.index.json")
    shutil.copy(path, index)
    read_published(index)


def images(path: str, at: str) -> None:
    """As `gnc train --data idx:DIR` reads, the bytes as images or as labels."""
    folder = Path(path).parent
    content = {"images": _idx(np.zeros((4, 2, 2))), "labels": _idx(np.arange(4))}
    for name, axes in (("images", 3), ("labels", 1)):
        file = folder / f"train-{name}-idx{axes}-ubyte"
        file.write_bytes(Path(path).read_bytes() if name == at else content[name])
    read_idx("idx", str(folder))


def configured(path: str) -> None:
    """As `gnc train --config` reads; the images that it asks for are not there."""
    gnc_cli.train(config=path, data="npz:missing.npz", resume=False)


def gates(path: str) -> None:
    """As --min, --max and --allow are read, and asked about a row."""
    row = _row()
    for line in _text(path).split("\n")[:4]:
        for given in ({"minimum": [line]}, {"maximum": [line]}):
            try:
                found = Gates.read(GateOptions(**given))  # type: ignore[arg-type]
                found.judge([row])
                found.check("solve", {})
            except REFUSALS:
                pass


def options(path: str) -> None:
    """As every option of every command reads its text; the first byte says which option."""
    text = _text(path)
    kinds = _options()
    name, parameter = kinds[ord(text[0]) % len(kinds)] if text else kinds[0]
    parameter.read(name, text[1:])


@cache
def _options() -> list[tuple[str, Parameter]]:
    """Every declared parameter, each way of reading once."""
    found = {}
    for command in _COMMANDS:
        for name, parameter in declared(Commands.function(command)).items():
            if parameter.kind is not None and parameter.kind.noun != "True or False":
                found[name, repr(parameter.kind.metavar)] = (name, parameter)
    return sorted(found.values(), key=lambda item: item[0])


@cache
def _row() -> dict[str, Any]:
    """A result of `solve` as a row."""
    return gnc_cli.solve(3, 4).to_json()


def _text(path: str) -> str:
    """As a command line has it: no zeros, other bytes as surrogates."""
    return Path(path).read_bytes().replace(b"\0", b"").decode("utf-8", "surrogateescape")


def _idx(array: np.ndarray) -> bytes:
    sizes = b"".join(int(n).to_bytes(4, "big") for n in array.shape)
    return bytes([0, 0, 8, array.ndim]) + sizes + array.astype(np.uint8).tobytes()


TARGETS = {
    "hdf5": Target("a.h5", (read_published, measured, resumed, read_stored)),
    "npz": Target("a.npz", (read_published, measured, partial(read_stored, kind="npz"))),
    "npy": Target("a.npy", (read_published, measured)),
    "safetensors": Target("a.safetensors", (read_published, measured, read_tensors)),
    "pt": Target("a.pt", (read_published, measured, read_tensors, read_checkpoint)),
    "storages": Target("data.pkl", (stored,)),
    "text": Target(
        "pack.3.4.txt",
        (
            decimals,
            partial(read_published, d=3),
            measured,
            read_public_table,
            with_names,
            with_classes,
        ),
    ),
    "off": Target("a.off", (read_published, measured)),
    "lines": Target(
        "rows.jsonl",
        tuple(partial(rows, record=r) for r in (MeasureResult, EpochRow)),
    ),
    "json": Target("a.json", (baseline, run_folder, shards)),
    "certificates": Target("a.json", (certified,)),
    "proofs": Target("a.changes", (proof,)),
    "idx": Target("a.idx", (partial(images, at="images"), partial(images, at="labels"))),
    "toml": Target("a.toml", (configured,)),
    "gates": Target("a.words", (gates,)),
    "options": Target("a.words", (options,)),
}


def seeds(folder: Path) -> dict[str, list[bytes]]:
    """Small valid files by target, written by the commands themselves in `folder`."""
    made: dict[str, list[bytes]] = {name: [] for name in TARGETS}
    code = CodeFile(
        np.vstack([np.eye(3), -np.eye(3)[:1]]),
        np.eye(3)[[0, 1, 2, 0]],
        np.arange(4),
        np.zeros(4),
        {"split": "test"},
        {"command": "gnc solve", "seed": 0},
    )
    for suffix in (".h5", ".npz", ".npy", ".safetensors", ".pt", ".txt", ".off"):
        write_code(folder / f"code{suffix}", code)
    gnc_cli.solve(3, 7, method="descent", restarts=2, workers=1, out=folder / "state.h5")
    with h5py.File(folder / "images.h5", "w") as h5:
        h5.create_dataset(
            "images", data=np.zeros((4, 2, 2), np.uint8), chunks=(2, 2, 2), compression="gzip"
        )
        h5["labels"] = np.arange(4) % 2
    np.savez(folder / "images.npz", images=np.zeros((8, 8, 8), np.uint8), labels=np.arange(8) % 2)
    np.savez_compressed(folder / "samples.npz", features=np.eye(4), labels=np.arange(4) % 2)
    np.save(folder / "single.npy", np.asfortranarray(np.eye(3, dtype=np.float32)))
    (folder / "table.csv").write_text("d,K,max_cosine,status\n3,4,-0.33,proved\n4,5,-1/4,\n")
    (folder / "one.txt").write_text("".join(f"{x}\n" for x in np.eye(4)[:, :3].ravel()))
    (folder / "exact.txt").write_text("1/3 sqrt(5)/5\n-2/7 (1+sqrt(5))/4\n0.25 sqrt(.5*3)-2\n")
    (folder / "names.txt").write_text("a\nb\nc\n")
    (folder / "classes.txt").write_text("0\n2\n")
    gnc_cli.measure_series(folder / "samples.npz", out=folder / "measured.jsonl")
    gnc_cli.train(
        data=f"npz:{folder / 'images.npz'}",
        epochs=1,
        width=0.05,
        feature_dim=2,
        batch_size=4,
        snapshot_every=1,
        out=folder / "run",
        threads=1,
    )
    (folder / "result.json").write_text(gnc_cli.solve(3, 7, restarts=1).dumps())
    (folder / "index.json").write_text('{"weight_map": {"lm_head.weight": "a.safetensors"}}')
    (folder / "labels.idx").write_bytes(_idx(np.arange(4)))
    (folder / "images.idx").write_bytes(_idx(np.zeros((4, 2, 2))))
    _without_network(folder / "run/last.pt")
    for name in ("measured.jsonl",):
        lines = [json.loads(line) for line in (folder / name).read_text().splitlines()]
        text = [json.dumps({k: v for k, v in line.items() if k != "options"}) for line in lines]
        (folder / name).write_text("\n".join(text) + "\n")
    for name, files in _FILES.items():
        made[name] += [(folder / file).read_bytes() for file in files]
    made["storages"] = [_pickle_of(value) for value in _tensors()]
    made["certificates"] = [text for text in _proofs() if len(text) < 1 << 14]
    made["proofs"] = [bytes([k, *change]) for k in range(5) for change in _CHANGES]
    made["toml"] = [text.encode() for text in _CONFIGS]
    made["gates"] = [text.encode() for text in _GATES]
    made["options"] = [text.encode() for text in _OPTION_TEXTS]
    return made


def _tensors() -> list[dict[str, Any]]:
    """Weights of every storage, and views of one that are not as they lie there."""
    W = torch.arange(1, 13, dtype=torch.float32).reshape(4, 3)
    kinds = ("float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex64").split()
    kinds += ["float8_e4m3fn", "float8_e5m2", "uint16"]
    whole = torch.arange(16, dtype=torch.float32)
    views = (
        W.T,
        whole[2:14].reshape(4, 3),
        whole.as_strided((4, 3), (1, 4), 1),
        whole[:3].expand(4, 3),
        torch.nn.Parameter(W),
        torch._neg_view(W),
        torch.view_as_complex(whole.reshape(4, 2, 2)).conj(),
        torch.quantize_per_tensor(W, 0.1, 0, torch.qint8),
        W.to_sparse(),
    )
    few = {kind: W.reshape(-1)[:3].to(getattr(torch, kind)) for kind in kinds[:8]}
    single = [{"weights": W[:, :2].contiguous().to(getattr(torch, kind))} for kind in kinds]
    return [few, *single, *({"weights": view, "labels": torch.arange(4)} for view in views)]


def _pickle_of(value: Any) -> bytes:
    """The pickle in a PyTorch file."""
    with io.BytesIO() as file, warnings.catch_warnings(action="ignore"):
        torch.save(value, file)
        with zipfile.ZipFile(file) as archive:
            name = next(n for n in archive.namelist() if n.endswith("data.pkl"))
            return archive.read(name)


def _without_network(path: Path) -> None:
    """Keep of a checkpoint what is small."""
    state = torch.load(path, weights_only=True)
    training = state["training"]
    training["model"] = {k: v for k, v in training["model"].items() if v.numel() <= 4}
    training["optimizer"]["state"] = {}
    torch.save(state, path)


_FILES = {
    "hdf5": ("code.h5", "state.h5", "images.h5", "run/snapshots/epoch-0001-train.h5"),
    "npz": ("code.npz", "images.npz", "samples.npz"),
    "npy": ("code.npy", "single.npy"),
    "safetensors": ("code.safetensors",),
    "pt": ("code.pt", "run/last.pt"),
    "text": ("code.txt", "exact.txt", "table.csv", "one.txt", "names.txt", "classes.txt"),
    "off": ("code.off",),
    "lines": ("measured.jsonl", "run/metrics.jsonl"),
    "json": ("result.json", "run/config.json", "index.json"),
    "idx": ("labels.idx", "images.idx"),
}
_CHANGES = (b"", b"\0\0\0\1", b"\0\1\0\1", b"\0\2\5\1", b"\0\7\1\1\0\x20\3\2", b"\0\3\0\0")
_CONFIGS = (
    'epochs = 3\nlr = 0.1\nmilestones = [1, 2]\nhead = "cmf"\nbeta = 0.5\n',
    'preset = "fig4"\nseed = 1\naugment = ["crop", "flip"]\n',
    'optimizer = "adam"\ntime_limit = "2h"\nclasses = "1e2"\nclasses_subset = [1, 2]\n',
)
_GATES = (
    "rho_one_vs_rest.lower >= 0.5 and (max_cosine < 0.05 or d == 3)\nmax_cosine=0.5\nK=1e1",
    "problem == 'softmax'\nrho_one_vs_rest=10%\nrestarts=0.01",
    "0.1 < max_cosine <= 1 and converged != false\nrows.0.d = 3",
)
_OPTION_TEXTS = (
    *(chr(k) + "3,5,10..1e4/4" for k in range(33, 127, 2)),
    *(
        chr(k) + text
        for k in (40, 60, 80, 100)
        for text in (
            "1..0.001/13",
            "2..512..2",
            "1_000.5e-3",
            "2h",
            "cuda:1",
            "cyclic:4",
            "epoch=0..100..10",
            "tcp://host:8786",
            "identity",
            "1e6",
        )
    ),
)
