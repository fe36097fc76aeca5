"""HDF5 files with more to list than they hold: refused before they fill the memory."""

import re
from pathlib import Path

import h5py
import numpy as np
import pytest

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
        h5.attrs.update(plain | {"bytes": np.bytes_(b"z")})
        lists = np.empty(1, object)
        lists[0] = np.arange(3, dtype="i4")
        h5.attrs.create("lists", lists, dtype=h5py.vlen_dtype("i4"))
    with open(tmp_path / "a.h5", "rb") as file, open_hdf5(file, "a.h5") as catalogue:
        assert catalogue.attrs == plain | {"e": (0, 1, 2), "f": ("x", "y"), "bytes": "z"}


@pytest.mark.parametrize("limit", ["MOST_ENTRIES", "_LISTING_SECONDS"])
def test_a_limit_of_the_listing_is_named(
    limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def many() -> None:
        with h5py.File("a.h5", "w") as h5:
            for k in range(60):
                h5[f"group {k}/x"] = 1.0

    monkeypatch.setattr(hdf5, limit, 20 if limit == "MOST_ENTRIES" else 0.0)
    with inside(tmp_path):
        check(Case("measure a.h5", many, 3, "a.h5' has too much to list"))
