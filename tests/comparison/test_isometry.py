"""The map from one file's code to another's: checked by its definition."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli import compare
from gnc_cli.comparison.result import FileRow, Isometry
from gnc_cli.errors import UsageError
from tests.problems import icosahedron, random_rotation

Run = Callable[..., Any]


def matched(*codes: np.ndarray, **more: Any) -> Isometry:
    first, *others = compare(list(codes), isometry=True, **more).rows
    assert isinstance(first, FileRow) and first.isometry is None
    (row,) = others
    assert isinstance(row, FileRow) and row.isometry is not None
    return row.isometry


@given(st.integers(0, 10**6))
def test_the_map_takes_the_first_code_to_the_other(seed: int) -> None:
    rng = np.random.default_rng(seed)
    A = icosahedron()
    B = (A @ random_rotation(rng, 3))[rng.permutation(12)]
    match = matched(A, B)
    R, partner = np.array(match.rotation), np.array(match.permutation)
    assert match.exists and match.deviation is not None and match.deviation < 1e-9
    assert np.abs(R @ R.T - np.eye(3)).max() < 1e-9
    assert sorted(partner) == list(range(12)) and np.abs(A @ R - B[partner]).max() < 1e-9


def test_another_code_has_no_map(rng: np.random.Generator) -> None:
    A = icosahedron()
    assert matched(A, A[:11]) == Isometry(False)
    assert matched(A, A + 1e-3 * rng.standard_normal(A.shape)).exists is False


def test_lines_are_equal_whatever_their_signs() -> None:
    A = icosahedron()
    A = A[[k for k in range(12) if A[k] @ [1.0, 0.1, 0.01] > 0.0]]
    assert len(A) == 6 and matched(A, A * np.array([[1.0], [-1.0]] * 3), lines=True).exists


def test_what_the_command_says(gnc: Run, tmp_path: Path) -> None:
    A = icosahedron()
    for name, rows in {"a": A, "b": A[::-1] @ np.diag([1.0, -1.0, 1.0]), "c": A[1:]}.items():
        np.save(tmp_path / f"{name}.npy", rows)
    files = [tmp_path / f"{name}.npy" for name in "abc"]
    text = gnc("compare", *files, "--isometry").stdout
    assert "b.npy: equal up to rotation, reflection and order, within " in " ".join(text.split())
    assert "c.npy: another code" in " ".join(text.split())
    rows = json.loads(gnc("compare", *files, "--isometry", "--json").stdout)["rows"]
    assert [row.get("isometry", {}).get("exists") for row in rows] == [None, True, False]
    assert gnc("compare", files[0], "--isometry").exit_code == 2


def test_one_file_has_nothing_to_be_matched_with() -> None:
    with pytest.raises(UsageError, match="isometry requires several files"):
        compare(icosahedron(), isometry=True)
