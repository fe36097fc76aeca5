"""Exported files hold the code, and a failed export changes nothing."""

import csv
import hashlib
from pathlib import Path

import numpy as np
import pytest

from gnc_cli.errors import OutputError
from gnc_cli.io import export
from gnc_cli.io.export import NAMES, check_export, export_code
from gnc_cli.io.graph6 import from_graph6
from gnc_cli.numerics.sphere import random_points
from tests.problems import icosahedron

CONTACTS = np.argwhere(np.triu(np.abs(icosahedron() @ icosahedron().T - 5**-0.5) < 1e-9, 1))
SPREAD = np.array([5**-0.5, -(5**-0.5), -1.0]), np.array([30, 30, 6])


def test_all_files(tmp_path: Path) -> None:
    W = icosahedron()
    folder = tmp_path / "new" / "folder"
    texts = [[f"{x:.17f}" for x in row] for row in W.tolist()]
    found = export_code(
        folder, W, CONTACTS, SPREAD, coordinates=texts, cosine="0.45", tight=True
    )
    assert found.files == tuple(str(folder / name) for name in NAMES)
    assert found.left_out == ()
    assert sorted(p.name for p in folder.iterdir()) == sorted(NAMES)
    assert np.loadtxt(folder / "coordinates.txt") == pytest.approx(W, abs=1e-16)
    proof = dict(
        line.split() for line in (folder / "verified.txt").read_text().splitlines()
        if not line.startswith("#")
    )  # fmt: skip
    written = (folder / "coordinates.txt").read_bytes()
    assert proof == {
        "points": "12", "dimension": "3", "cosine_at_most": "0.45",
        "sha256_of_coordinates": hashlib.sha256(written).hexdigest(),
    }  # fmt: skip
    assert "smallest number of 2 decimals" in (folder / "verified.txt").read_text()
    assert np.load(folder / "gram.npy") == pytest.approx(W @ W.T, abs=1e-16)
    n, edges = from_graph6((folder / "contacts.g6").read_bytes())
    assert n == 12 and np.array_equal(edges, CONTACTS)
    with open(folder / "distribution.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(r["inner_product"]) for r in rows] == SPREAD[0].tolist()
    assert [int(r["pairs"]) for r in rows] == SPREAD[1].tolist()


def test_gram_in_blocks(
    tmp_path: Path, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "_BLOCK_BYTES", 1000)
    W = random_points(rng, 70, 5)
    found = export_code(tmp_path, W, None, None)
    assert found.left_out[-1] == "verified.txt: no cosine was proved for these coordinates"
    assert np.array_equal(np.loadtxt(tmp_path / "coordinates.txt"), W)
    gram = np.load(tmp_path / "gram.npy")
    assert gram.dtype == np.float64 and gram == pytest.approx(W @ W.T, abs=1e-15)


def test_texts_in_place_of_floats(tmp_path: Path) -> None:
    texts = [["0." + "1" * 50, "-1.0"], ["2", "3"]]
    export_code(tmp_path, np.eye(2), None, None, coordinates=texts)
    assert (tmp_path / "coordinates.txt").read_text() == f"0.{'1' * 50} -1.0\n2 3\n"


def test_what_is_left_out_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "_GRAM_BYTES", 100)
    monkeypatch.setattr(export, "_GRAPH_VERTICES", 11)
    found = export_code(tmp_path / "a", icosahedron(), CONTACTS, None)
    assert [line.split(":")[0] for line in found.left_out] == list(NAMES[1:])
    assert [p.name for p in (tmp_path / "a").iterdir()] == ["coordinates.txt"]
    found = export_code(tmp_path / "b", icosahedron(), None, SPREAD)
    assert found.left_out[1] == "contacts.g6: contacts were not computed"


def test_existing_files_stay(tmp_path: Path) -> None:
    (tmp_path / "gram.npy").write_text("mine")
    for attempt in (check_export, lambda f: export_code(f, icosahedron(), CONTACTS, SPREAD)):
        with pytest.raises(OutputError, match=r"gram.npy' exists; add --force"):
            attempt(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["gram.npy"]
    assert (tmp_path / "gram.npy").read_text() == "mine"
    export_code(tmp_path, icosahedron(), CONTACTS, SPREAD, force=True)
    assert len(list(tmp_path.iterdir())) == 4


def test_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="is no folder"):
        export_code(tmp_path / "file", icosahedron(), CONTACTS, SPREAD)
    with pytest.raises(OutputError, match="cannot make folder"):
        export_code(tmp_path / "file" / "below", icosahedron(), CONTACTS, SPREAD)
