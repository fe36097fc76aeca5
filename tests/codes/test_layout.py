"""Layouts: given rows, orbits of cyclic groups, and how gradients come back through them."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gnc_cli.codes.layout import Layout, extending, free, orbits, random_generator
from gnc_cli.errors import UsageError
from gnc_cli.numerics.sphere import random_points

groups = st.tuples(st.integers(2, 6), st.integers(2, 12), st.integers(0, 999))


def permuted_by(code: np.ndarray, generator: np.ndarray) -> np.ndarray:
    """Where each row goes under the generator; fails unless it is a permutation of the rows."""
    distance = np.linalg.norm((code @ generator.T)[:, None] - code[None], axis=2)
    target = distance.argmin(axis=1)
    assert distance.min(axis=1).max() < 1e-12
    assert sorted(target) == list(range(len(code)))
    return target


def cycle_lengths(permutation: np.ndarray) -> list[int]:
    left, lengths = set(range(len(permutation))), []
    while left:
        start = k = left.pop()
        length = 1
        while (k := int(permutation[k])) != start:
            left.remove(k)
            length += 1
        lengths.append(length)
    return sorted(lengths)


@settings(max_examples=100, deadline=None)
@given(groups)
def test_generators_have_exactly_their_order(group: tuple[int, int, int]) -> None:
    d, order, seed = group
    g = random_generator(np.random.default_rng(seed), d, order)
    np.testing.assert_allclose(g @ g.T, np.eye(d), atol=1e-14)
    powers = [np.linalg.matrix_power(g, j) for j in range(1, order + 1)]
    np.testing.assert_allclose(powers[-1], np.eye(d), atol=1e-13)
    for smaller in powers[:-1]:
        assert np.abs(smaller - np.eye(d)).max() > 1e-3


@settings(max_examples=100, deadline=None)
@given(groups, st.integers(2, 40))
def test_codes_of_orbits_are_invariant(group: tuple[int, int, int], K: int) -> None:
    d, order, seed = group
    rng = np.random.default_rng(seed)
    g = random_generator(rng, d, order)
    try:
        layout = orbits(g, order, K)
    except UsageError as error:
        assert f"K = {K} " in str(error)
        return
    (unknown,) = layout.random(rng, 1)
    code = layout.code(unknown)
    assert len(np.unique(code.round(9), axis=0)) == K
    assert code.shape == (K, d)
    np.testing.assert_allclose(np.linalg.norm(code, axis=1), 1.0, atol=1e-13)
    lengths = cycle_lengths(permuted_by(code, g))
    assert len(lengths) == layout.unknown
    assert all(order % n == 0 for n in lengths)
    # `own` finds each representative again.
    np.testing.assert_allclose(code[layout.own], unknown, atol=1e-13)


@settings(max_examples=60, deadline=None)
@given(groups, st.integers(2, 30))
def test_projections_are_projections(group: tuple[int, int, int], K: int) -> None:
    d, order, seed = group
    rng = np.random.default_rng(seed)
    g = random_generator(rng, d, order)
    try:
        layout = orbits(g, order, K)
    except UsageError:
        return
    v = torch.as_tensor(rng.standard_normal((2, layout.unknown, d)))
    once = layout.project(v)
    torch.testing.assert_close(layout.project(once), once, rtol=0, atol=1e-12)
    unknown = torch.as_tensor(layout.random(rng, 3))
    torch.testing.assert_close(layout.project(unknown), unknown, rtol=0, atol=1e-12)


def _some_layouts() -> list[Layout]:
    rng = np.random.default_rng(0)
    return [
        free(3, 5),
        extending(random_points(rng, 2, 3), 6),
        orbits(-np.eye(3), 2, 8),
        orbits(np.diag([-1.0, -1.0, 1.0]), 2, 7),
        orbits(random_generator(rng, 5, 6), 6, 12),
    ]


@pytest.mark.parametrize("layout", _some_layouts(), ids=["free", "given", "antipodal", "half", "6"])
def test_expand_is_linear_and_pulls_back_by_its_transpose(layout: Layout) -> None:
    rng = np.random.default_rng(2)
    shape = (2, layout.unknown, layout.d)
    u = torch.as_tensor(rng.standard_normal(shape)).requires_grad_()
    v = torch.as_tensor(rng.standard_normal(shape))
    weight = torch.as_tensor(rng.standard_normal((2, layout.K, layout.d)))
    code = layout.expand(u)
    assert code.shape == weight.shape
    (pulled,) = torch.autograd.grad((code * weight).sum(), u)
    zero = layout.expand(torch.zeros(shape, dtype=torch.float64))  # given rows are the constant
    image = layout.expand(v) - zero
    assert float((image * weight).sum()) == pytest.approx(float((v * pulled).sum()), abs=1e-12)
    np.testing.assert_allclose(code[0].detach(), layout.code(u[0].detach().numpy()), atol=0)


def test_given_rows_come_first_bit_for_bit() -> None:
    given_rows = np.random.default_rng(0).standard_normal((3, 4))
    layout = extending(given_rows, 7)
    code = layout.code(random_points(np.random.default_rng(1), 4, 4))
    assert np.array_equal(code[:3], given_rows)
    assert layout.unknown == 4 and list(layout.own) == [3, 4, 5, 6]
    assert not layout.is_free and free(4, 7).is_free


def test_antipodal_codes() -> None:
    layout = orbits(-np.eye(4), 2, 10)
    code = layout.code(random_points(np.random.default_rng(1), 5, 4))
    assert np.array_equal(code[1::2], -code[::2])
    assert layout.projections is None


def test_short_orbits_fill_what_is_left() -> None:
    third = 2 * np.pi / 3
    turn = np.eye(3)
    turn[:2, :2] = [[np.cos(third), -np.sin(third)], [np.sin(third), np.cos(third)]]
    layout = orbits(turn, 3, 8)
    assert layout.unknown == 4  # two triangles and both poles
    assert list(layout.source) == [0, 0, 0, 1, 1, 1, 2, 3]
    assert layout.project(torch.ones(1, 4, 3, dtype=torch.float64))[0].tolist() == pytest.approx(
        np.array([[1.0, 1.0, 1.0]] * 2 + [[0.0, 0.0, 1.0]] * 2)
    )


@pytest.mark.parametrize(
    ("generator", "order", "K", "offer"),
    [
        (-np.eye(3), 2, 7, "K = 6"),
        (-np.eye(3), 2, 3, "K = 2"),
        (np.diag([-1.0, 1.0, 1.0, 1.0]) @ np.diag([1.0, -1.0, -1.0, -1.0]), 2, 9, "K = 8"),
    ],
)
def test_what_does_not_fit_is_refused(
    generator: np.ndarray, order: int, K: int, offer: str
) -> None:
    with pytest.raises(UsageError, match=f"try {offer} or another order"):
        orbits(generator, order, K)


def test_no_impossible_offer() -> None:
    """Nothing at all fits: there is no K to recommend."""
    fifth = 2 * np.pi / 5
    turn = np.array([[np.cos(fifth), -np.sin(fifth)], [np.sin(fifth), np.cos(fifth)]])
    with pytest.raises(UsageError, match="try K = 5 or another order"):
        orbits(turn, 5, 4)
