"""Glyphs: which classes there are, what their images show, and that they are always the same."""

import os
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view

from gnc_cli.training.data.fonts import GlyphDrawer, find_fonts
from gnc_cli.training.data.glyphs import GlyphClasses, glyph_images
from gnc_cli.training.data.image_set import ImageData


@pytest.fixture(scope="module")
def hundred() -> Iterator[ImageData]:
    yield glyph_images(classes=100, image_size=32, fonts=None)


def drawer(image_size: int = 32, style: str = "DejaVuSans.ttf") -> GlyphDrawer:
    return GlyphDrawer(str(find_fonts(None)[0] / style), 0, image_size)


def test_a_hundred_classes_are_what_a_person_knows(hundred: ImageData) -> None:
    names = "".join(hundred.class_names)
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    assert names.startswith("0123456789" + alphabet + alphabet.lower() + "!\"#$%&'()*+,-./:;<=>?@")
    assert len(names) == 100 and list(names[62:]) == sorted(names[62:])
    assert hundred.test is not None and not hundred.flip
    assert hundred.train.images.shape == (900, 1, 32, 32)
    assert hundred.test.images.shape == (300, 1, 32, 32)
    seen: dict[bytes, int] = {}
    for images, each in ((hundred.train, 9), (hundred.test, 3)):
        assert np.asarray(images.images).dtype == np.uint8 and images.labels.dtype == np.int64
        assert np.array_equal(images.labels, np.repeat(np.arange(100), each))
        for image, label in zip(np.asarray(images.images), images.labels.tolist(), strict=True):
            assert image.any() and not (image[:, 0].any() or image[:, :, -1].any())
            assert seen.setdefault(image.tobytes(), label) == label, "of two classes"


def test_the_same_bytes_in_another_process(hundred: ImageData) -> None:
    code = (
        "from gnc_cli.training.data.glyphs import glyph_images\n"
        "import sys\n"
        "print(glyph_images(classes=100, image_size=32, fonts=None).facts['sha256'])\n"
        "assert not {'torch', 'matplotlib', 'h5py'} & set(sys.modules)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], env=os.environ, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == hundred.facts["sha256"]


def test_size_and_baseline_are_kept() -> None:
    images = dict(zip("oO,'ÅWx", drawer().draw("oO,'ÅWx").astype(int), strict=True))
    rows = {c: np.nonzero(image.any(axis=1))[0] for c, image in images.items()}
    assert images["O"].sum() > 1.4 * images["o"].sum()
    assert abs(rows["O"][-1] - rows["x"][-1]) <= 1 and rows["O"][0] < rows["x"][0] - 2
    assert rows["'"][-1] < rows[","][0]
    for image in images.values():
        columns = np.nonzero(image.any(axis=0))[0]
        assert abs(columns[0] + columns[-1] - 31) <= 1  # in the middle
        assert rows["Å"][0] >= 2 and columns[0] >= 2


def classes_of(text: str, image_size: int = 32) -> list[str]:
    """Characters of the text that become classes, over all twelve faces."""
    root, files = find_fonts(None)
    images = [GlyphDrawer(str(root / name), 0, image_size).draw(text) for name in files]
    found = GlyphClasses(len(files), image_size)
    answers = found.add(np.stack(images, axis=1))
    return [c for c, like in zip(text, answers, strict=True) if like is None]


@pytest.mark.parametrize("image_size", [16, 32, 64])
def test_homoglyphs_are_one_class_and_look_alikes_are_not(image_size: int) -> None:
    # Latin, Greek, Cyrillic; then pairs that the fonts tell apart in two families of three.
    assert classes_of("AΑАBΒВoοоaаXΧХ", image_size) == list("ABoaX")
    apart = "O0Qo1lI|5S8B2Zcesxkvuy.,'`-_:;"
    assert classes_of(apart, image_size) == list(apart)


def reference(images: np.ndarray) -> list[int | None]:
    """The rule word by word, a pair at a time."""
    chosen: list[int] = []
    answers: list[int | None] = []
    for place, new in enumerate(images):
        answer = None
        for number, earlier in enumerate(images[chosen]):
            votes = []
            for a, b in zip(new.astype(float) / 255, earlier.astype(float) / 255, strict=True):
                if a.any() and b.any():
                    d = a - b
                    windows = sliding_window_view(d, (2, 2)).mean(axis=(2, 3))
                    cell = len(d) // 8
                    means = d.reshape(8, cell, 8, cell).mean(axis=(1, 3))
                    rms = np.sqrt((means**2).mean())
                    votes.append(abs(windows).max() <= 0.2 + 1e-12 and rms <= 1 / 32 + 1e-12)
            if votes and 2 * sum(votes) >= len(votes):
                answer = number
                break
        if answer is None:
            chosen.append(place)
        answers.append(answer)
    return answers


@settings(max_examples=10)
@given(seed=st.integers(0, 10**6), noise=st.integers(1, 160), cut=st.integers(0, 6))
def test_likeness_is_the_stated_rule(seed: int, noise: int, cut: int) -> None:
    rng = np.random.default_rng(seed)
    base = rng.integers(40, 200, size=(2, 3, 16, 16))
    images = base[rng.integers(0, 2, size=6)]
    images = images + rng.integers(-noise, noise + 1, size=images.shape) // 2
    images = images.clip(0, 255).astype(np.uint8)
    images[rng.random((6, 3)) < 0.25] = 0  # a face that lacks the character
    found = GlyphClasses(3, 16)
    # In one go or in two parts: no difference.
    answers = found.add(images[:cut]) + found.add(images[cut:])
    assert answers == reference(images)
