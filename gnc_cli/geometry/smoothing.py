"""The smooth maximum of many inner products, batched over restarts, with its closed-form gradient.

For rows `a_i`, columns `b_j` and each row's own column `own_i`, the terms are

    c_ij = <a_i, b_j>                       (Tammes: rows and columns are the code)
    c_ij = <b_j - b_own(i), a_i>            (HardMax: rows are features, columns the classifier)

over `j != own_i`, and `smooth_maximum` is `1/beta * log(mean of exp(beta c_ij))` up to a constant:
its gradient weights `p_ij = exp(beta c_ij) / sum` tend to the multipliers of the minimax problem.
The weighted mean `sum p_ij c_ij` estimates the maximum that the basin leads to, with an error of
second order in 1/beta, and ranks unfinished descents.
"""

from typing import Any

import torch

_FLOOR = -60.0
"""Smallest exponent: e**-60 is below the rounding of 1, and below it `exp` is 15 times slower."""


class SmoothMaximum(torch.autograd.Function):
    """Closed-form loss and gradient, as autograd sees them; call it through `smooth_maximum`."""

    @staticmethod
    def forward(
        ctx: Any,
        rows: torch.Tensor,
        columns: torch.Tensor,
        own_columns: torch.Tensor,
        sharpness: torch.Tensor,
        relative: bool,
    ) -> torch.Tensor:
        """Return the smooth maximum, shape (R,), and save its gradients; see `smooth_maximum`."""
        one_set = rows is columns
        columns_t = columns.transpose(1, 2).contiguous()
        top, weights, _ = _softmax(rows, columns_t, own_columns, sharpness, relative)
        total = weights.sum((1, 2), keepdim=True)
        scale = 1.0 / total
        # Both products sum over the long axis: several times faster than (m, K) @ (K, d).
        to_rows = torch.bmm(columns_t, weights.transpose(1, 2)).transpose(1, 2) * scale
        if one_set:  # symmetric weights: the gradient is the same at both ends of a pair
            to_columns = to_rows
        else:
            rows_t = rows.transpose(1, 2).contiguous()
            to_columns = torch.bmm(rows_t, weights).transpose(1, 2) * scale
        if relative:
            mass = weights.sum(2, keepdim=True) * scale  # (R, m, 1)
            to_rows = to_rows - mass * columns[:, own_columns]
            to_columns = to_columns.index_add(1, own_columns, -mass * rows)
        ctx.save_for_backward(to_rows, to_columns)
        return (top + torch.log(total) / sharpness).reshape(-1)

    @staticmethod
    def backward(ctx: Any, *upstream: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """Multiply the saved gradients by the upstream one, shape (R,)."""
        to_rows, to_columns = ctx.saved_tensors
        scale = upstream[0].reshape(-1, 1, 1)
        return scale * to_rows, scale * to_columns, None, None, None


def smooth_maximum(
    rows: torch.Tensor,
    columns: torch.Tensor,
    own_columns: torch.Tensor,
    sharpness: torch.Tensor,
    *,
    relative: bool,
) -> torch.Tensor:
    """Compute the smooth maximum (R,) of the terms; at most log(m K)/beta above the largest.

    Args:
        rows: shape (R, m, d); may be the very tensor `columns` (then `own_columns` must be 0..K-1).
        columns: shape (R, K, d).
        own_columns: index of each row's own column, excluded from the maximum, shape (m,), int64.
        sharpness: beta per restart, shape (R, 1, 1).
        relative: subtract each row's inner product with its own column (HardMax) or not (Tammes).
    """
    value: torch.Tensor = SmoothMaximum.apply(rows, columns, own_columns, sharpness, relative)  # type: ignore[no-untyped-call]
    return value


@torch.no_grad()
def weighted_estimate(
    rows: torch.Tensor,
    columns: torch.Tensor,
    own_columns: torch.Tensor,
    sharpness: torch.Tensor,
    *,
    relative: bool,
) -> torch.Tensor:
    """Compute the weighted mean `sum p_ij c_ij`, shape (R,); arguments as for `smooth_maximum`."""
    columns_t = columns.transpose(1, 2).contiguous()
    top, weights, terms = _softmax(rows, columns_t, own_columns, sharpness, relative)
    terms[:, torch.arange(len(own_columns), device=own_columns.device), own_columns] = 0.0
    mean = (weights * terms).sum((1, 2)) / weights.sum((1, 2))
    return top.reshape(-1) + mean


def _softmax(
    rows: torch.Tensor,
    columns_t: torch.Tensor,
    own_columns: torch.Tensor,
    sharpness: torch.Tensor,
    relative: bool,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the largest term (R, 1, 1), exp(beta (c - largest)), 0 if own, and c - largest."""
    index = torch.arange(len(own_columns), device=own_columns.device)
    terms = torch.bmm(rows, columns_t)  # (R, m, K)
    if relative:
        terms -= terms[:, index, own_columns].unsqueeze(2)
    terms[:, index, own_columns] = -torch.inf
    top = terms.amax((1, 2), keepdim=True)
    terms -= top
    weights = (terms * sharpness).clamp_min_(_FLOOR).exp_()
    weights[:, index, own_columns] = 0.0
    return top, weights, terms
