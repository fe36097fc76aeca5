"""HDF5 files (`io/hdf5.py`) with more to list than they hold: refused in little memory."""

import re
from pathlib import Path

import h5py
import numpy as np
import pytest

from gnc_cli import measure
from gnc_cli.errors import DataError
from gnc_cli.io import hdf5
from gnc_cli.io.hdf5 import open_hdf5
from tests.faults.world import Case, check, inside


def shared_texts(path: str, count: int) -> None:
    """An attribute whose texts are all one place in the file, 2 MB long."""
    with h5py.File(path, "w") as h5:
        h5["weights"] = np.random.default_rng(1).normal(size=(7, 3))
        texts = ["x" * (1 << 21), *["y"] * (count - 1)]
        h5.attrs.create("class_names", texts, dtype=h5py.string_dtype())
    data = Path(path).read_bytes()
    at = next(
        m.start()
        for m in re.finditer((1 << 21).to_bytes(4, "little"), data)
        if data[m.start() + 16 : m.start() + 20] == b"\1\0\0\0"
    )
    whole = data[:at] + count * data[at : at + 16] + data[at + 16 * count :]
    Path(path).write_bytes(whole)


def test_texts_that_share_a_place_are_not_all_read(tmp_path: Path) -> None:
    """Many are left, a few more than the file holds are refused."""
    with inside(tmp_path):
        shared_texts("a.h5", 4000)
        with open("a.h5", "rb") as file, open_hdf5(file, "a.h5") as catalogue:
            assert not catalogue.attrs and "weights" in catalogue.entries
        check(
            Case(
                "measure --weights a.h5",
                lambda: shared_texts("a.h5", 3),
                3,
                "a.h5' has too much to list: 1 groups, datasets and attributes, 6,291,480",
            )
        )


def test_attributes_of_every_plain_kind_are_read(tmp_path: Path) -> None:
    """Others are left: nothing says how long they are before they are read."""
    plain = {"a": "text", "b": 3, "c": 0.5, "d": True, "e": np.arange(3), "f": ["x", "y"]}
    with h5py.File(tmp_path / "a.h5", "w") as h5:
        h5.attrs.update(plain | {"bytes": np.bytes_(b"z"), "long": np.arange(17)})
        lists = np.empty(1, object)
        lists[0] = np.arange(3, dtype="i4")
        h5.attrs.create("lists", lists, dtype=h5py.vlen_dtype("i4"))
    with open(tmp_path / "a.h5", "rb") as file, open_hdf5(file, "a.h5") as catalogue:
        assert catalogue.attrs == plain | {"e": (0, 1, 2), "f": ("x", "y"), "bytes": "z"}


@pytest.mark.parametrize("limit", ["MAX_ENTRIES", "_MAX_LISTING_SECONDS"])
def test_a_limit_of_the_listing_is_named(
    limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def many() -> None:
        with h5py.File("a.h5", "w") as h5:
            for k in range(60):
                h5[f"group {k}/x"] = 1.0

    monkeypatch.setattr(hdf5, limit, 20 if limit == "MAX_ENTRIES" else 0.0)
    with inside(tmp_path):
        check(Case("measure a.h5", many, 3, "a.h5' has too much to list"))


def test_attributes_of_a_group_count_for_each_of_its_names(tmp_path: Path) -> None:
    def linked() -> None:
        with h5py.File("a.h5", "w", libver="latest") as h5:
            group = h5.create_group("snapshots/epoch_1")
            group.attrs["sizes"] = np.arange(16.0)
            for k in range(2, 300):
                h5[f"snapshots/epoch_{k}"] = group

    with inside(tmp_path):
        check(Case("measure a.h5", linked, 3, "a.h5' has too much to list"))


def test_long_attributes_of_linked_groups_are_not_read(tmp_path: Path) -> None:
    path = str(tmp_path / "a.h5")
    with h5py.File(path, "w", libver="latest") as h5:
        group = h5.create_group("snapshots/epoch_1")
        group.attrs["z"] = np.zeros(1_000_000, "u2")
        for k in range(2, 60):
            h5[f"snapshots/epoch_{k}"] = group
    with open(path, "rb") as file, open_hdf5(file, path) as catalogue:
        assert catalogue.snapshots == {f"epoch_{k}": {"epoch": k} for k in range(1, 60)}


def test_attributes_of_the_root_count_for_each_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def many() -> None:
        with h5py.File("a.h5", "w") as h5:
            h5.attrs.update({f"a{k}": k for k in range(40)})
            for k in range(30):
                h5.create_group(f"epoch_{k}")

    monkeypatch.setattr(hdf5, "MAX_ENTRIES", 100)
    with inside(tmp_path):
        check(Case("measure a.h5", many, 3, "a.h5' has 40 attributes, and 30 snapshots"))


def test_further_hard_links_are_names_of_one_entry(tmp_path: Path) -> None:
    """The group that contains itself is listed once."""
    path = str(tmp_path / "a.h5")
    rows = np.random.default_rng(0).normal(size=(7, 3))
    with h5py.File(path, "w") as h5:
        h5["inner/first"] = rows
        h5["inner/itself"] = h5["inner"]
        h5["weights"] = h5["inner/first"]
        h5["inner/root"] = h5
        h5["soft"] = h5py.SoftLink("/weights")
    with open(path, "rb") as file, open_hdf5(file, path) as catalogue:
        names = ["inner", "inner/first", "inner/itself", "inner/root", "weights", "soft"]
        assert [*catalogue.entries] == names
        first, weights, soft = (catalogue.entries[n] for n in ("inner/first", "weights", "soft"))
        assert first is weights is soft and np.array_equal(weights.load(), rows)


def test_paths_beyond_a_thousand_letters_are_left_out(tmp_path: Path) -> None:
    """Two long names would stand before each of many others."""
    path, rows = str(tmp_path / "a.h5"), np.random.default_rng(0).normal(size=(7, 3))
    with h5py.File(path, "w", libver="latest") as h5:
        inner = h5.create_group("a" * 60_000).create_group("a" * 60_000)
        h5["weights"] = rows
        h5["b" * 1000] = rows
        for k in range(1000):
            inner[f"l{k}"] = h5["weights"]
    with open(path, "rb") as file, open_hdf5(file, path) as catalogue:
        assert [*catalogue.entries] == ["a" * 1000, "b" * 1000, "weights"]
        assert "a path of 60,000 letters, more than 1,000" in str(catalogue.entries["a" * 1000])
        assert np.array_equal(catalogue.entries["weights"].load(), rows)


def test_a_name_that_is_no_text_is_listed(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as h5:
        h5["weights"] = np.eye(4)
        h5py.h5g.create(h5.id, b"b\xff")
    assert measure(f"{path}:weights").K == 4
    with pytest.raises(DataError, match="no dataset 'head'; it holds 'weights'"):
        measure(f"{path}:head")
