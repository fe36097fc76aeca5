"""Log-sum-exp over all pairs of rows, its gradient and the exact largest cosines, block by block.

The loss is a smooth largest cosine of the rows w_k of W, shape (K, d):

    L(W) = 1/beta * log sum_{k<j} exp(beta <w_k, w_j>),     dL/dw_k = sum_j p_kj w_j,

with p the softmax over unordered pairs: max_cosine <= L <= max_cosine + log(K(K-1)/2)/beta.
Only blocks on and above the diagonal are formed, and each serves both of its sides, which saves a
third of the flops of the plain form: 3 K^2 d a pass. Nothing of size K x K is held.

Memory: a worker holds one block and one (K, d) gradient. Time, K = 10000, d = 512, two cores:
about 1 s in float32, 0.3 s where bfloat16 products are native (see `native_half`).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.workers import Workers

__all__ = ["PairLoss", "Smoothed", "exp_in_place", "log_sum_exp", "native_half", "row_maxima"]


@dataclass(frozen=True)
class Smoothed:
    """The smooth largest cosine at one W."""

    loss: float
    """L(W): at least the largest cosine over the pairs that count."""
    gradient: torch.Tensor
    """dL/dW in the ambient space, shape (K, d), W's dtype."""
    max_cosine: float
    """The largest cosine as this pass saw it: to the rounding of its own arithmetic."""


def native_half(device: torch.device) -> bool:
    """Whether bfloat16 products are several times faster than float32 ones on `device`."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    probes = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    return any(bool(getattr(torch.cpu, probe, bool)()) for probe in probes)


def log_sum_exp(
    W: torch.Tensor,
    sharpness: float,
    workers: Workers,
    *,
    shift: float | None = None,
    frozen: int = 0,
    half: bool = False,
    deadline: Deadline | None = None,
    block: tuple[int, int] | None = None,
) -> Smoothed | None:
    """L(W) and its gradient over all pairs, or None when the deadline passed on the way.

    Args:
        W: rows, shape (K, d), float32 or float64, any device. Norms are the caller's affair.
        sharpness: beta > 0.
        workers: an entered `Workers`; the order of summation depends on their number alone.
        shift: a number near L(W), the previous loss say; a wrong one costs a second pass.
        frozen: the mutual pairs of this many leading rows are left out (rows that are given).
        half: products in bfloat16. Exponents are formed in the product's float32 accumulator, so
            that pairs near the maximum keep their weight: about 0.4% a weight at any sharpness
            below 300, and unbiased.
        block: rows and columns of a block.
    """
    rows = W.to(torch.bfloat16) if half else W
    if shift is None:
        # Exact for the first rows, a little below the whole maximum: safe for exp either way.
        head = W[: min(1024, len(W))]
        gram = head @ head.T
        gram.fill_diagonal_(-1.0)
        shift = float(gram.max())
    # The products add -beta * shift as their own dtype can hold it: keep the shift so rounded.
    bias = torch.full((1,), -sharpness * shift, dtype=rows.dtype, device=W.device)
    shift = -float(bias) / sharpness
    sums = _pass(W, rows, sharpness, bias, workers, frozen, deadline or Deadline(), block)
    if sums is None:
        return None
    total, largest, gradient = sums
    if 1e-15 < total < 1e25:
        return Smoothed(
            loss=shift + math.log(total) / sharpness,
            gradient=gradient.div_(total),
            max_cosine=shift + math.log(largest) / sharpness,
        )
    if math.isnan(total) or sharpness < 1.0:
        return Smoothed(math.nan, gradient, math.nan)
    # Out of range. From L at half of beta the sum is at least 2 / K^2: well within it again.
    coarse = log_sum_exp(
        W, sharpness / 2, workers, frozen=frozen, half=half, deadline=deadline, block=block
    )
    if coarse is None or not math.isfinite(coarse.loss):
        return coarse
    return log_sum_exp(
        W, sharpness, workers, shift=coarse.loss, frozen=frozen, half=half, deadline=deadline,
        block=block,
    )  # fmt: skip


def _pass(
    W: torch.Tensor,
    rows: torch.Tensor,
    sharpness: float,
    bias: torch.Tensor,
    workers: Workers,
    frozen: int,
    deadline: Deadline,
    block: tuple[int, int] | None,
) -> tuple[float, float, torch.Tensor] | None:
    """Sum and maximum of exp(beta c + bias) over pairs, and the gradient times that sum."""
    K = len(W)
    half = rows.dtype == torch.bfloat16
    height, width = block or _block_shape(W.device)
    panels = list(_panels(K, frozen, height))

    def work(worker: int) -> tuple[float, float, torch.Tensor] | None:
        gradient = torch.zeros_like(W)
        total = torch.zeros((), dtype=torch.float64, device=W.device)
        largest = torch.zeros((), dtype=torch.float64, device=W.device)
        # Snake order: panels grow shorter downwards, so neighbours share them evenly.
        for at in range(len(panels)):
            turn, place = divmod(at, workers.count)
            if (place if turn % 2 == 0 else workers.count - 1 - place) != worker:
                continue
            top, bottom, left = panels[at]
            for start in range(left, K, width):
                if deadline.expired:
                    return None
                a, b = rows[top:bottom], rows[start : min(start + width, K)]
                p = exp_in_place(torch.addmm(bias, a, b.T, alpha=sharpness))
                if start < bottom and left == top:
                    p.triu_(top - start + 1)
                total += p.sum(1).to(torch.float64).sum()
                peak = p.view(torch.int16).amax().view(torch.bfloat16) if half else p.amax()
                largest = torch.maximum(largest, peak.to(torch.float64))
                gradient[top:bottom] += p @ b
                gradient[start : start + width] += p.T @ a
        return float(total), float(largest), gradient

    parts = workers.map(work)
    if any(part is None for part in parts):
        return None
    found = [part for part in parts if part is not None]
    gradient = found[0][2]
    for _, _, more in found[1:]:
        gradient += more
    return sum(part[0] for part in found), max(part[1] for part in found), gradient


def exp_in_place(exponents: torch.Tensor) -> torch.Tensor:
    """exp of every entry, with a floor just inside the normal numbers.

    Below it MKL's exp is fifteen times slower and products meet denormals; the floor itself adds
    less than 1e-10 of a sum above 1e-15.
    """
    floor = -700.0 if exponents.dtype == torch.float64 else -85.0
    return exponents.clamp_(min=floor).exp_()


def row_maxima(
    W: torch.Tensor,
    workers: Workers,
    *,
    deadline: Deadline | None = None,
    block: tuple[int, int] | None = None,
) -> torch.Tensor | None:
    """Each row's largest cosine with another row, shape (K,); None when the deadline passed.

    In W's dtype: with float64 rows the values are exact to a few 1e-16. 2 K^2 d / 2 flops.
    """
    K = len(W)
    height, width = block or _block_shape(W.device)
    panels = list(_panels(K, 0, height))

    def work(worker: int) -> torch.Tensor | None:
        best = torch.full((K,), -math.inf, dtype=W.dtype, device=W.device)
        for top, bottom, left in panels[worker :: workers.count]:
            for start in range(left, K, width):
                if deadline is not None and deadline.expired:
                    return None
                stop = min(start + width, K)
                gram = W[top:bottom] @ W[start:stop].T
                if start < bottom:
                    own = torch.arange(max(start, top), min(stop, bottom), device=W.device)
                    gram[own - top, own - start] = -math.inf
                best[top:bottom] = torch.maximum(best[top:bottom], gram.amax(1))
                best[start:stop] = torch.maximum(best[start:stop], gram.amax(0))
        return best

    parts = workers.map(work)
    if any(part is None for part in parts):
        return None
    return torch.stack([part for part in parts if part is not None]).amax(0)


def _panels(K: int, frozen: int, height: int) -> Iterator[tuple[int, int, int]]:
    """(top, bottom, left): rows top..bottom meet the columns from left on, each pair once."""
    for top in range(0, frozen, height):
        yield top, min(top + height, frozen), frozen
    for top in range(frozen, K, height):
        yield top, min(top + height, K), top


def _block_shape(device: torch.device) -> tuple[int, int]:
    """Rows and columns of a block: what the caches like, 64 MB at the very most on a CPU."""
    return (1024, 2048) if device.type == "cpu" else (8192, 8192)


class PairLoss(torch.autograd.Function):
    """The door into torch's optimizers: a loss whose gradient is known in closed form.

    `PairLoss.apply(smoothed, first, *parts)` is the scalar `smoothed.loss` as a function of
    `parts`, consecutive runs of W's rows from row `first` on.
    """

    @staticmethod
    def forward(ctx: Any, smoothed: Smoothed, first: int, *parts: torch.Tensor) -> torch.Tensor:
        """The loss as a tensor on W's device."""
        ctx.smoothed, ctx.first, ctx.lengths = smoothed, first, [len(part) for part in parts]
        return parts[0].new_tensor(smoothed.loss)

    @staticmethod
    def backward(ctx: Any, *outputs: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """The known gradient, cut as the parts are, times the incoming derivative."""
        moving = ctx.smoothed.gradient[ctx.first : ctx.first + sum(ctx.lengths)]
        return None, None, *(moving * outputs[0]).split(ctx.lengths)
