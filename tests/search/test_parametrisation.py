"""Parametrisations: given rows, orbits of cyclic groups, and gradients back through them."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.errors import UsageError
from gnc_cli.geometry.sphere import random_points
from gnc_cli.search.parametrisation import (
    Parametrisation,
    cyclic_orbits,
    extending,
    free,
    random_generator,
)

groups = st.tuples(st.integers(2, 6), st.integers(2, 12), st.integers(0, 999))


@given(groups)
def test_generators_have_exactly_their_order(group: tuple[int, int, int]) -> None:
    d, order, seed = group
    g = random_generator(np.random.default_rng(seed), d, order)
    np.testing.assert_allclose(g @ g.T, np.eye(d), atol=1e-14)
    powers = [np.linalg.matrix_power(g, j) for j in range(1, order + 1)]
    np.testing.assert_allclose(powers[-1], np.eye(d), atol=1e-13)
    for smaller in powers[:-1]:
        assert np.abs(smaller - np.eye(d)).max() > 1e-3


def _some() -> dict[str, Parametrisation]:
    rng = np.random.default_rng(0)
    return {
        "free": free(3, 5),
        "given": extending(random_points(rng, 2, 3), 6),
        "antipodal": cyclic_orbits(-np.eye(3), 2, 8),
        "half-turn": cyclic_orbits(np.diag([-1.0, -1.0, 1.0]), 2, 7),
        "sixfold": cyclic_orbits(random_generator(rng, 5, 6), 6, 12),
    }


@pytest.mark.parametrize("made", _some().values(), ids=_some())
def test_expand_is_linear_and_pulls_back_by_its_transpose(made: Parametrisation) -> None:
    rng = np.random.default_rng(2)
    shape = (2, made.unknown, made.d)
    u = torch.as_tensor(rng.standard_normal(shape)).requires_grad_()
    v = torch.as_tensor(rng.standard_normal(shape))
    weight = torch.as_tensor(rng.standard_normal((2, made.K, made.d)))
    code = made.expand(u)
    assert code.shape == weight.shape
    (pulled,) = torch.autograd.grad((code * weight).sum(), u)
    zero = made.expand(torch.zeros(shape, dtype=torch.float64))  # given rows are the constant
    image = made.expand(v) - zero
    assert float((image * weight).sum()) == pytest.approx(float((v * pulled).sum()), abs=1e-12)
    np.testing.assert_allclose(code[0].detach(), made.code(u[0].detach().numpy()), atol=0)


def rotation(n: int) -> np.ndarray:
    turn = 2 * np.pi / n
    return np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])


@pytest.mark.parametrize(
    ("generator", "order", "K", "offer"),
    [
        (-np.eye(3), 2, 7, 6),
        (-np.eye(3), 2, 3, 2),
        (np.diag([-1.0, -1.0, -1.0, -1.0]), 2, 9, 8),
        (rotation(5), 5, 4, 5),
    ],
)
def test_what_does_not_fit_is_refused(
    generator: np.ndarray, order: int, K: int, offer: int
) -> None:
    with pytest.raises(UsageError, match=f"try K = {offer} or another order"):
        cyclic_orbits(generator, order, K)
