"""The smooth maximum: value and closed-form gradient against autograd in float64, and its laws."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.geometry.smoothing import smooth_maximum, weighted_estimate
from gnc_cli.search.parametrisation import Parametrisation, cyclic_orbits, extending
from gnc_cli.search.problem import SoftmaxCode, Tammes


def units(seed: int, *shape: int) -> torch.Tensor:
    x = np.random.default_rng(seed).standard_normal(shape)
    return torch.as_tensor(x / np.linalg.norm(x, axis=-1, keepdims=True))


def witness_terms(
    rows: torch.Tensor, columns: torch.Tensor, own: torch.Tensor, relative: bool
) -> torch.Tensor:
    """All terms, one list per row, without the own columns: shape (R, m, K - 1)."""
    m, K = rows.shape[1], columns.shape[1]
    others = torch.tensor([[j for j in range(K) if j != int(o)] for o in own]).reshape(m, K - 1)
    pull = columns[:, others]  # (R, m, K - 1, d)
    if relative:
        pull = pull - columns[:, own].unsqueeze(2)
    return (pull * rows.unsqueeze(2)).sum(-1)


def witness(
    rows: torch.Tensor,
    columns: torch.Tensor,
    own: torch.Tensor,
    sharpness: torch.Tensor,
    relative: bool,
) -> torch.Tensor:
    """The same by torch's own logsumexp, left to autograd."""
    terms = witness_terms(rows, columns, own, relative).flatten(1)
    beta = sharpness.reshape(-1, 1)
    return torch.logsumexp(beta * terms, 1) / beta.squeeze(1)


def agree(
    mine: torch.Tensor, theirs: torch.Tensor, unknowns: list[torch.Tensor], upstream: torch.Tensor
) -> None:
    torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-13)
    ours = torch.autograd.grad(mine, unknowns, upstream)
    exact = torch.autograd.grad(theirs, unknowns, upstream)
    for a, b in zip(ours, exact, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-12)


@given(
    seed=st.integers(0, 2**31),
    R=st.integers(1, 4),
    m=st.integers(1, 7),
    K=st.integers(2, 9),
    d=st.integers(2, 6),
    power=st.floats(-1.0, 2.5),
    relative=st.booleans(),
)
def test_rows_and_columns_apart(
    seed: int, R: int, m: int, K: int, d: int, power: float, relative: bool
) -> None:
    rows, columns = units(seed, R, m, d), units(seed + 1, R, K, d)
    rng = np.random.default_rng(seed)
    own = torch.as_tensor(rng.integers(0, K, m))  # any columns, repeated or not
    beta = 10 ** torch.as_tensor(rng.uniform(power - 0.5, power + 0.5, (R, 1, 1)))
    unknowns = [rows.requires_grad_(), columns.requires_grad_()]
    mine = smooth_maximum(rows, columns, own, beta, relative=relative)
    theirs = witness(rows, columns, own, beta, relative)
    agree(mine, theirs, unknowns, torch.as_tensor(rng.standard_normal(R)))


@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize("K, d", [(2, 2), (9, 3), (30, 7)])
def test_rows_are_the_columns(K: int, d: int, relative: bool) -> None:
    code = units(K, 3, K, d).requires_grad_()
    own, beta = torch.arange(K), torch.tensor([2.0, 20.0, 200.0]).double().reshape(3, 1, 1)
    mine = smooth_maximum(code, code, own, beta, relative=relative)
    theirs = witness(code, code, own, beta, relative)
    agree(mine, theirs, [code], torch.tensor([1.0, -2.0, 0.5]).double())


def _layouts() -> list[Parametrisation]:
    turn = np.eye(4)
    turn[:2, :2] = [[0.0, -1.0], [1.0, 0.0]]  # order 4, fixes the last two axes
    return [
        extending(units(5, 3, 4).numpy(), 9),
        cyclic_orbits(-np.eye(4), 2, 8),
        cyclic_orbits(turn, 4, 10),  # two full orbits and two fixed points
    ]


@pytest.mark.parametrize("layout", _layouts(), ids=["fixed", "antipodal", "cyclic"])
@pytest.mark.parametrize("problem", [Tammes, SoftmaxCode])
def test_through_a_layout(problem: type, layout: Parametrisation) -> None:
    if problem is SoftmaxCode and layout.images is not None:
        return
    solver = problem(layout)
    points = torch.as_tensor(solver.starts(np.random.default_rng(1), 3)).requires_grad_()
    beta = torch.tensor([3.0, 30.0, 90.0]).double().reshape(3, 1, 1)
    mine = solver.objective(points, beta)
    M = layout.unknown
    columns = layout.expand(points[:, :M])
    if problem is Tammes:
        theirs = witness(points, columns, torch.as_tensor(layout.representatives), beta, False)
    else:
        theirs = witness(points[:, M:], columns, torch.arange(layout.K), beta, True)
    agree(mine, theirs, [points], torch.tensor([1.0, 0.3, -2.0]).double())


@given(st.integers(0, 2**31), st.floats(0.0, 6.0), st.booleans())
def test_between_the_maximum_and_its_error_bar(seed: int, power: float, relative: bool) -> None:
    rows, columns = units(seed, 2, 5, 3), units(seed + 1, 2, 8, 3)
    own, beta = torch.arange(5) % 8, torch.full((2, 1, 1), 10**power, dtype=torch.float64)
    top = witness_terms(rows, columns, own, relative).flatten(1).amax(1)
    value = smooth_maximum(rows, columns, own, beta, relative=relative)
    assert (value >= top - 1e-14).all()
    assert (value <= top + math.log(5 * 7) / 10**power + 1e-14).all()
    estimate = weighted_estimate(rows, columns, own, beta, relative=relative)
    assert (estimate <= top + 1e-14).all()
    terms = witness_terms(rows, columns, own, relative).flatten(1)
    mean = (torch.softmax(10**power * terms, 1) * terms).sum(1)
    torch.testing.assert_close(estimate, mean, rtol=0, atol=1e-12)


def test_far_terms_cost_no_accuracy_and_give_no_nan() -> None:
    """At sharpness 1e7 every weight but one underflows: the gradient is that term's own."""
    code = units(0, 1, 6, 3).requires_grad_()
    value = smooth_maximum(
        code, code, torch.arange(6), torch.full((1, 1, 1), 1e7, dtype=torch.float64), relative=False
    )
    (gradient,) = torch.autograd.grad(value.sum(), code)
    gram = (code[0] @ code[0].T).detach().fill_diagonal_(-2.0)
    k, j = divmod(int(gram.argmax()), 6)
    expected = torch.zeros_like(code[0])
    expected[k], expected[j] = code[0, j].detach(), code[0, k].detach()
    torch.testing.assert_close(gradient[0], expected, rtol=0, atol=1e-12)


def test_float32_stays_float32() -> None:
    code = units(0, 2, 6, 3).float()
    value = smooth_maximum(code, code, torch.arange(6), torch.ones(2, 1, 1), relative=False)
    assert value.dtype == torch.float32
