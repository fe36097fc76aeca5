"""Some classes of a data set, and the cache: nothing that happens to its files is an error."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.errors import DataError
from gnc_cli.training.data import glyphs
from gnc_cli.training.data.glyphs import glyph_images
from gnc_cli.training.data.image_set import (
    ImageData,
    ImageSet,
    cache_folder,
    chooser,
    matches,
    read_cached,
    restricted,
    write_cached,
)


@given(st.permutations(range(6)), st.integers(2, 6), st.randoms())
def test_restricting_keeps_pictures_with_their_names(
    order: list[int], count: int, random: Any
) -> None:
    labels = np.array([random.randrange(6) for _ in range(30)] + list(range(6)))
    pictures = labels.astype(np.uint8)[:, None, None, None]
    names = tuple("abcdef")
    data = ImageData(ImageSet(pictures, labels), None, names, "x", {}, (), flip=True)
    found = restricted(data, order[:count])
    assert found.class_names == tuple(names[k] for k in order[:count])
    assert np.isin(labels, order[:count]).sum() == len(found.train.labels)
    drawn = np.asarray(found.train.images)[:, 0, 0, 0]
    assert np.array_equal(np.array(order)[found.train.labels], drawn)


def test_names_and_numbers() -> None:
    assert chooser(subset=["3", "0"])(["x", "3", "y", "z"]) == [1, 0]  # a name comes first
    assert chooser(subset=["X", "x"])(["x", "X"]) == [1, 0]  # then the exact one
    with pytest.raises(DataError, match="may be any of 'Ab', 'aB'"):
        chooser(subset=["ab", "c"])(["Ab", "aB", "c"])
    assert chooser()(["a", "b"]) == [0, 1]
    assert matches(["sea_lion", "PLANE", "x"], ["Sea lion", "aeroplane"]) == {0: 0, 1: 1}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "gnc"


def some_data(test: bool = True) -> ImageData:
    rng = np.random.default_rng(0)
    images = ImageSet(rng.integers(0, 256, (4, 3, 8, 8), dtype=np.uint8), np.array([0, 1, 1, 0]))
    held = ImageSet(images.images[np.array([1])], np.array([1])) if test else None
    facts = {"merged": [["A", "\u0391"]], "count": 2}
    return ImageData(images, held, ("A", "\u00e9"), "some", facts, ("a line",), True)


def same(a: ImageData | None, b: ImageData) -> bool:
    def content(data: ImageData) -> Any:
        sets = [
            (s and np.asarray(s.images).tolist(), s and s.labels.tolist())
            for s in (data.train, data.test)
        ]
        return sets, data.class_names, data.name, data.facts, data.warnings, data.flip

    return a is not None and content(a) == content(b)


@pytest.mark.parametrize("test", [True, False])
def test_round_trip(folder: Path, test: bool) -> None:
    assert read_cached("key") is None
    write_cached("key", some_data(test))
    assert same(read_cached("key"), some_data(test))
    assert [path.name for path in folder.iterdir()] == ["key.npz"]


def test_damage_anywhere_is_noticed(folder: Path) -> None:
    write_cached("key", some_data())
    path = folder / "key.npz"
    whole = path.read_bytes()
    place = whole.index(np.asarray(some_data().train.images).tobytes()) + 17
    flipped = whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
    for damaged in (b"", b"text", whole[: len(whole) // 2], flipped):
        path.write_bytes(damaged)
        assert read_cached("key") is None
    np.savez(path, about=np.frombuffer(b"{}", np.uint8))
    assert read_cached("key") is None
    path.write_bytes(whole)
    assert read_cached("key") is not None


def test_glyphs_come_from_the_cache_and_survive_its_damage(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = glyph_images(3, 16)
    (path,) = folder.iterdir()
    with monkeypatch.context() as context:
        context.delattr(glyphs, "_draw")
        assert same(glyph_images(3, 16), first)
    path.write_bytes(path.read_bytes()[:1000])
    assert same(glyph_images(3, 16), first)
    assert same(glyph_images(3, 16, cache=False), first)
    glyph_images(4, 16)
    assert len(list(folder.iterdir())) == 2


def test_where_it_is_and_a_folder_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    write_cached("key", some_data())
    assert read_cached("key") is None
    monkeypatch.setenv("HOME", str(tmp_path))
    for other in ("", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", other)
        assert cache_folder() == tmp_path / ".cache" / "gnc"
