"""Finite groups and their representations, against what is known of some."""

import numpy as np
import pytest

from gnc_cli.search.groups import (
    Group,
    cyclic_group,
    dicyclic_group,
    direct_product,
    permutation_group,
    random_representation,
    rational_blocks,
)


def alternating5() -> Group:
    group = permutation_group("A5", np.array([[1, 2, 3, 4, 0], [1, 2, 0, 3, 4]]), 60)
    assert group is not None
    return group


@pytest.mark.parametrize(
    ("group", "dimensions", "rational"),
    [
        (cyclic_group(5), [1, 2, 2], [[0], [1, 2]]),
        (cyclic_group(6), [1, 1, 2, 2], [[0], [1], [2], [3]]),
        (dicyclic_group(2), [1, 1, 1, 1, 4], [[0], [1], [2], [3], [4]]),
        (alternating5(), [1, 3, 3, 4, 5], [[0], [1, 2], [3], [4]]),
        (direct_product(cyclic_group(2), cyclic_group(3)), [1, 1, 2, 2], [[0], [1], [2], [3]]),
    ],
    ids=lambda value: value.name if isinstance(value, Group) else "",
)
def test_irreducibles(group: Group, dimensions: list[int], rational: list[list[int]]) -> None:
    """Of the cyclic, quaternion and icosahedral groups, as every table of characters has them."""
    parts = group.irreducibles
    assert [m.shape[1] for m in parts] == dimensions
    assert np.all(parts[0] == pytest.approx(1.0))
    assert rational_blocks(group) == rational
    for m in parts:
        np.testing.assert_allclose(np.einsum("iab,jbc->ijac", m, m), m[group.table], atol=4e-15)
        np.testing.assert_allclose(m @ m.transpose(0, 2, 1), m[[0] * group.order], atol=2e-15)


def test_rational_representations_have_rational_characters() -> None:
    rng = np.random.default_rng(0)
    for n in range(2, 31):
        for _ in range(5):
            matrices = random_representation(rng, cyclic_group(n), 28, rational=True)
            traces = np.trace(matrices, axis1=1, axis2=2)  # of algebraic integers, so integers
            np.testing.assert_allclose(traces, traces.round(), atol=1e-12)


def test_what_does_not_fit_rationally_is_represented_otherwise() -> None:
    """The 28 conjugate representations of Z29 need 28 dimensions; one of them needs 2."""
    matrices = random_representation(np.random.default_rng(0), cyclic_group(29), 5, rational=True)
    assert np.linalg.matrix_rank(matrices[1] - np.eye(5)) >= 2
