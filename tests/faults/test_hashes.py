"""Numbers that a stranger's file chooses are no keys: Python's hashes of numbers are no secret, and
100,000 keys of one hash take minutes.
"""

import json
import random
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from gnc_cli.io.models import class_names
from tests.faults.test_torch_files import write

COUNT = 100_000
P = (1 << 61) - 1
"""The hash of an integer is its remainder by this."""


def keys(path: Path) -> None:
    pairs = (b"\x8a\x0c" + (i * P).to_bytes(12, "little") + b"K\x00" for i in range(1, COUNT))
    write(path / "a.pt", b"}(" + b"".join(pairs) + b"u")


def model(path: Path, config: dict[str, object]) -> None:
    (path / "m").mkdir()
    head = np.random.default_rng(0).standard_normal((6, 3))
    save_file({"classifier.weight": head}, path / "m/model.safetensors")
    config |= {"architectures": ["ViTForImageClassification"], "model_type": "vit"}
    (path / "m/config.json").write_text(json.dumps(config))


def tokens(path: Path) -> None:
    model(path, {})
    vocabulary = {f"t{i}": i * P for i in range(COUNT)}
    (path / "m/tokenizer.json").write_text(json.dumps({"model": {"vocab": vocabulary}}))


def scored_tokens(path: Path) -> None:
    model(path, {})
    vocabulary = [[i * P, 0.0] for i in range(COUNT)]
    (path / "m/tokenizer.json").write_text(json.dumps({"model": {"vocab": vocabulary}}))


def labels(path: Path) -> None:
    model(path, {"id2label": {str(i * P): "a" for i in range(COUNT)}})


def shapes(path: Path) -> None:
    tensor = {"dtype": "F32", "data_offsets": [0, 0]}
    header = {f"layer{i}.weight": {**tensor, "shape": [0, i * P]} for i in range(COUNT)}
    data = json.dumps(header).encode()
    (path / "a.safetensors").write_bytes(struct.pack("<Q", len(data)) + data)


def pairs_of_one_hash() -> Iterator[tuple[int, int]]:
    """Pairs of 18 digits at most, by the inverse of how CPython mixes the hashes of a pair."""
    first, second, start = 11400714785074694791, 14029467366897019727, 2870177450012600261
    inverse, d = pow(second, -1, 1 << 64), 1
    while d := d + 1:
        mixed = (start + d * second) % (1 << 64)
        lane = (mixed << 31 | mixed >> 33) * first
        if (K := (12345 - lane) * inverse % (1 << 64)) < 10**18:
            yield d, K


def table(path: Path) -> None:
    lines = [f"{d},{K},0.5" for (d, K), _ in zip(pairs_of_one_hash(), range(40_000), strict=False)]
    (path / "t.csv").write_text("\n".join(lines))


CASES: dict[Callable[[Path], None], str] = {
    keys: "measure a.pt",
    tokens: "measure m",
    scored_tokens: "measure m",
    labels: "measure m",
    shapes: "measure --weights a.safetensors",
    table: "compare --list --d 3 --table t.csv",
}


@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_keys_of_one_hash_end_soon(make: Callable[[Path], None], tmp_path: Path) -> None:
    make(tmp_path)
    command = [sys.executable, "-m", "gnc_cli", *CASES[make].split()]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert run.returncode in (0, 3) and "Traceback" not in run.stderr, run.stderr


def test_more_names_than_classes_are_none_and_other_numbers_name_nothing(tmp_path: Path) -> None:
    rng = random.Random(0)
    for wrong in (-1, 6, P, 10**300):
        numbers = [*range(6), wrong]
        rng.shuffle(numbers)
        (tmp_path / "config.json").write_text("{}")
        content = {"model": {"vocab": {f"t{k}": k for k in numbers}}}
        (tmp_path / "tokenizer.json").write_text(json.dumps(content))
        assert class_names(str(tmp_path), 6) is None
        last = "t6" if wrong == 6 else "(no token)"
        assert class_names(str(tmp_path), 7) == [*(f"t{k}" for k in range(6)), last]
    (tmp_path / "tokenizer.json").write_text('{"model": {"vocab": {"a": Infinity, "b": 1}}}')
    assert class_names(str(tmp_path), 2) is None
