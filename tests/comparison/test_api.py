"""`compare` from Python (`comparison.run`, `comparison.result`): all storages, rows, the list."""

import io
import sys
import threading
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnc_cli import compare, solve
from gnc_cli.comparison.result import ListedRow
from gnc_cli.errors import DataError
from gnc_cli.geometry.sphere import random_points
from gnc_cli.io.codefile import CodeFile, write_code
from gnc_cli.known_codes.table import numerical_codes, our_copy
from tests.comparison.samples import VALIDATOR, built, only, turned


def test_files_of_every_kind(tmp_path: Path, rng: np.random.Generator) -> None:
    W = turned(built("icosahedron"), rng)
    for suffix in (".h5", ".npz", ".npy", ".safetensors", ".pt", ".txt"):
        write_code(tmp_path / f"a{suffix}", CodeFile(W))
    np.savetxt(tmp_path / "a.csv", W, delimiter=",", fmt="%.17g")
    np.savetxt(tmp_path / "pack.3.12.txt", W.ravel(), fmt="%.17g")
    np.savez(tmp_path / "both.npz", weights=np.eye(4), other=W, features=np.ones((7, 4)))
    names = ["a.h5", "a.npz", "a.npy", "a.safetensors", "a.pt", "a.txt", "a.csv", "pack.3.12.txt"]
    files = [*(str(tmp_path / name) for name in names), f"{tmp_path / 'both.npz'}:other"]
    result = compare(files)
    VALIDATOR.validate(result.to_json())
    assert [row.file for row in result.rows] == files
    assert len({row.max_cosine for row in result.rows}) == 1
    assert {row.congruent_to for row in result.rows} == {"icosahedron"}
    # Of a file of features the weights are compared.
    assert only(compare(tmp_path / "both.npz")).K == 4


def test_results_of_solve_and_stdin(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert only(compare(solve(2, 9))).congruent_to == "polygon-9"
    write_code(tmp_path / "a.h5", CodeFile(np.eye(3)))
    data = (tmp_path / "a.h5").read_bytes()
    stdin = types.SimpleNamespace(buffer=io.BytesIO(data), isatty=lambda: False)
    monkeypatch.setattr(sys, "stdin", stdin)
    row = only(compare("-"))
    assert (row.file, row.d, row.K) == ("-", 3, 3)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("missing.h5", "no such file"),
        ("bad.txt", "row 1"),
        ("zero.txt", "zero row"),
        ("transposed.npy", "K >= 2"),
        (np.ones(4), "shape (4,)"),
        ([[1.0, 0.0], [0.0, float("nan")]], "not finite"),
        ([[1.0, 0.0], [0.0, 0.0]], "zero"),
        ([[1.0, "x"]], "must be an array of"),
        (object(), "must be an array of"),
    ],
)
def test_bad_sources_are_one_line(tmp_path: Path, source: Any, words: str) -> None:
    (tmp_path / "bad.txt").write_text("1 0\nnan 1\n0 1\n")
    (tmp_path / "zero.txt").write_text("1 0\n0 0\n")
    np.save(tmp_path / "transposed.npy", np.ones((1, 7)))
    source = tmp_path / source if isinstance(source, str) else source
    with pytest.raises(DataError) as caught:
        compare([np.eye(2), source])
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_interruption_and_time_limit() -> None:
    stop = threading.Event()
    stop.set()
    result = compare(np.eye(3), interrupt=stop)
    assert result.rows == () and result.interrupted
    large = random_points(np.random.default_rng(0), 3001, 3)
    row = only(compare(large, time_limit=1e-9))
    assert row.max_cosine is None and row.status is None and row.passed is None
    assert "time limit" in row.advice
    assert not compare(np.eye(3), time_limit=60).interrupted


def test_the_list() -> None:
    result = compare(list=True, d="3..8", K=range(2, 101), proven=True)
    VALIDATOR.validate(result.to_json())
    assert all(3 <= r.d <= 8 and r.K <= 100 and r.proven for r in result.rows)
    snub = next(r for r in result.rows if (r.d, r.K) == (3, 24))
    assert isinstance(snub, ListedRow) and str(snub.figure).startswith("0.72307846833350853703")
    assert snub.max_cosine is None and snub.status is None and snub.contacts == 60
    assert result.table.rows == 602
    whole = compare(list=True)
    pairs = {(e.d, e.K) for e in (*our_copy().select(), *numerical_codes().select())}
    assert len(whole.rows) == len(pairs)
    VALIDATOR.validate(whole.to_json())
    own = next(r for r in whole.rows if (r.d, r.K) == (4, 9))
    assert isinstance(own, ListedRow) and own.figure == "0.162015199612" == str(own.best_known)
    assert own.source.startswith("rediscovered by gnc") and not own.proven
    assert str(own.how).startswith("gnc solve --d 4 --K 9 ")
    sizes = [(r.d, r.K) for r in whole.rows]
    assert sizes == sorted(set(sizes))
    assert compare(list=True, d=99).rows == ()
