"""The cache: a second call gets the same, and nothing that happens to its files is an error."""

from pathlib import Path

import numpy as np
import pytest

from gnc_cli.training.data import glyphs
from gnc_cli.training.data.cache import cache_folder, read_cached, write_cached
from gnc_cli.training.data.glyphs import glyph_images
from gnc_cli.training.data.image_set import ImageData, ImageSet


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "gnc"


def some_data(test: bool = True) -> ImageData:
    rng = np.random.default_rng(0)
    images = ImageSet(
        rng.integers(0, 256, size=(4, 3, 8, 8), dtype=np.uint8), np.array([0, 1, 1, 0])
    )
    held = ImageSet(images.images[np.array([1])], np.array([1])) if test else None
    facts = {"merged": [["A", "\u0391"]], "count": 2}
    return ImageData(images, held, ("A", "\u00e9"), "some", facts, ("a line",), True)


def same(a: ImageData, b: ImageData) -> bool:
    pairs = [(a.train, b.train)]
    if a.test is not None and b.test is not None:
        pairs.append((a.test, b.test))
    return (a.test is None) == (b.test is None) and all(
        [
            *(np.array_equal(x.images, y.images) for x, y in pairs),
            *(np.array_equal(x.labels, y.labels) for x, y in pairs),
            (a.class_names, a.name, a.facts) == (b.class_names, b.name, b.facts),
            (a.warnings, a.flip) == (b.warnings, b.flip),
        ]
    )


@pytest.mark.parametrize("test", [True, False])
def test_round_trip(folder: Path, test: bool) -> None:
    assert read_cached("key") is None
    write_cached("key", some_data(test))
    again = read_cached("key")
    assert again is not None and same(again, some_data(test))
    assert [path.name for path in folder.iterdir()] == ["key.npz"]


def test_damage_anywhere_is_noticed(folder: Path) -> None:
    write_cached("key", some_data())
    path = folder / "key.npz"
    whole = path.read_bytes()
    image = some_data().train.images[np.arange(4)].tobytes()
    place = whole.index(image) + 17
    flipped = whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
    for damaged in (b"", b"text", whole[: len(whole) // 2], flipped):
        path.write_bytes(damaged)
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


def test_a_folder_that_cannot_be_written_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    write_cached("key", some_data())
    assert read_cached("key") is None


def test_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for other in ("", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", other)
        assert cache_folder() == tmp_path / ".cache" / "gnc"
