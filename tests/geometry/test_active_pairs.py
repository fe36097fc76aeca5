"""Active pairs and their derivatives against autograd of the retraction itself."""

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from gnc_cli.geometry.active_pairs import ActivePairs, linearise, tangent_bases
from gnc_cli.geometry.sphere import random_points


def random_pairs(rng: np.random.Generator, P: int, m: int, three: bool) -> ActivePairs:
    rows = np.array([rng.choice(P, 3, replace=False) for _ in range(m)])
    return ActivePairs(rows[:, 0], rows[:, 1], rows[:, 2] if three else None)


def along_the_retraction(
    pairs: ActivePairs, points: np.ndarray, bases: np.ndarray, free: np.ndarray, x: torch.Tensor
) -> torch.Tensor:
    """Values of the pairs where each free row is normalise(z + B x)."""
    z, B = torch.as_tensor(points), torch.as_tensor(bases)
    step = torch.zeros(len(points), B.shape[2], dtype=torch.float64)
    step = step.index_put((torch.as_tensor(np.flatnonzero(free)),), x.reshape(-1, B.shape[2]))
    moved = z + torch.einsum("pdq,pq->pd", B, step)
    moved = moved / moved.norm(dim=1, keepdim=True)
    slope = moved[pairs.b] if pairs.e is None else moved[pairs.b] - moved[pairs.e]
    return (moved[pairs.a] * slope).sum(1)


@example(seed=0, P=6, d=3, m=1, three=False, some_fixed=True)  # no active pair is free
@given(
    seed=st.integers(0, 2**31),
    P=st.integers(3, 6),
    d=st.integers(2, 5),
    m=st.integers(1, 12),
    three=st.booleans(),
    some_fixed=st.booleans(),
)
def test_both_derivatives(seed: int, P: int, d: int, m: int, three: bool, some_fixed: bool) -> None:
    rng = np.random.default_rng(seed)
    points, pairs = random_points(rng, P, d), random_pairs(rng, P, m, three)
    free = np.ones(P, dtype=bool)
    free[: P // 2 if some_fixed else 0] = False
    bases, multipliers = tangent_bases(points), rng.standard_normal(m)
    linear = linearise(pairs, points, free)
    at = torch.zeros(int(free.sum()) * (d - 1), dtype=torch.float64)

    def values(x: torch.Tensor) -> torch.Tensor:
        return along_the_retraction(pairs, points, bases, free, x)

    def lagrangian(x: torch.Tensor) -> torch.Tensor:
        return (torch.as_tensor(multipliers) * values(x)).sum()

    first = torch.autograd.functional.jacobian(values, at).numpy()
    second = torch.autograd.functional.hessian(lagrangian, at).numpy()
    assert linear.size == len(at)
    np.testing.assert_allclose(linear.jacobian().toarray(), first, atol=1e-13)
    x, weights = rng.standard_normal(linear.size), rng.standard_normal(m)
    np.testing.assert_allclose(linear.forward(x), first @ x, atol=1e-12)
    np.testing.assert_allclose(linear.adjoint(weights), first.T @ weights, atol=1e-12)
    ratios = rng.uniform(0.0, 2.0, m)
    normal = second + first.T @ (ratios[:, None] * first)
    np.testing.assert_allclose(linear.normal(multipliers, ratios), normal, atol=1e-12)
    bend = np.repeat(linear.curvature(multipliers)[free], d - 1)
    blocks = np.kron(np.eye(int(free.sum())), np.ones((d - 1, d - 1)))
    np.testing.assert_allclose(np.diag(bend), second * blocks, atol=1e-12)


@pytest.mark.parametrize("d", [2, 3, 8])
def test_bases_are_orthonormal_and_tangent(d: int, rng: np.random.Generator) -> None:
    poles = np.concatenate([np.eye(d), -np.eye(d)])
    points = np.concatenate([random_points(rng, 20, d), poles])
    bases = tangent_bases(points)
    assert bases.shape == (len(points), d, d - 1)
    gram = np.einsum("pdq,pdr->pqr", bases, bases)
    np.testing.assert_allclose(gram, np.broadcast_to(np.eye(d - 1), gram.shape), atol=1e-15)
    np.testing.assert_allclose(np.einsum("pd,pdq->pq", points, bases), 0.0, atol=1e-15)


def test_values_and_lists(rng: np.random.Generator) -> None:
    z = random_points(rng, 5, 3)
    cosines = ActivePairs(np.array([0, 1, 2]), np.array([3, 4, 0]))
    np.testing.assert_allclose(cosines.values(z), [z[0] @ z[3], z[1] @ z[4], z[2] @ z[0]])
    assert cosines.largest(z) == cosines.values(z).max()
    margins = ActivePairs(cosines.a, cosines.b, np.array([1, 0, 4]))
    expected = [z[0] @ (z[3] - z[1]), z[1] @ (z[4] - z[0]), z[2] @ (z[0] - z[4])]
    np.testing.assert_allclose(margins.values(z), expected, atol=1e-16)
    for pairs in (cosines, margins):
        first = pairs.take(np.array([0]))
        again = first.joined(pairs.missing_in(first))
        assert np.array_equal(again.values(z), pairs.values(z))


def test_margins_of_close_rows_lose_no_digits() -> None:
    """<a, b> - <a, e> would be rounded to 1e-16; the difference first is exact to 1e-25."""
    e = np.array([1.0, 0.0])
    b = np.array([1.0, 2.0**-40])
    a = np.array([0.6, 0.8])
    (value,) = ActivePairs(np.array([0]), np.array([1]), np.array([2])).values(np.stack([a, b, e]))
    assert value == 0.8 * 2.0**-40
