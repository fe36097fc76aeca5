"""Some classes of a data set, chosen and matched by their names."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.training.data.image_set import (
    ImageData,
    ImageSet,
    chooser,
    matches,
    restrict,
)


@given(st.permutations(range(6)), st.integers(2, 6), st.randoms())
def test_restricting_keeps_images_with_their_names(
    order: list[int], count: int, random: Any
) -> None:
    labels = np.array([random.randrange(6) for _ in range(30)] + list(range(6)))
    images = labels.astype(np.uint8)[:, None, None, None]
    names = tuple("abcdef")
    data = ImageData(ImageSet(images, labels), None, names, "x", {}, (), flip=True)
    found = restrict(data, order[:count])
    assert found.class_names == tuple(names[k] for k in order[:count])
    assert np.isin(labels, order[:count]).sum() == len(found.train.labels)
    drawn = np.asarray(found.train.images)[:, 0, 0, 0]
    assert np.array_equal(np.array(order)[found.train.labels], drawn)


def test_names_and_numbers() -> None:
    assert chooser(subset=["3", "0"])(["x", "3", "y", "z"]) == [1, 0]  # a name comes first
    assert chooser(subset=["X", "x"])(["x", "X"]) == [1, 0]  # then the exact one
    assert chooser()(["a", "b"]) == [0, 1]
    assert matches(["sea_lion", "PLANE", "x"], ["Sea lion", "aeroplane"]) == {0: 0, 1: 1}
