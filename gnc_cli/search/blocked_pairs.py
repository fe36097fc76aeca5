"""Smooth largest cosine of many rows, over all pairs block by block or over a list of close pairs.

The loss is a smooth largest cosine of the rows w_k of W, shape (K, d):

    L(W) = 1/beta * log sum_{k<j} exp(beta <w_k, w_j>),     dL/dw_k = sum_j p_kj w_j,

with p the softmax over unordered pairs: max_cosine <= L <= max_cosine + log(K(K-1)/2)/beta.
Only blocks on and above the diagonal are formed, and each serves both of its sides, which saves a
third of the flops of the plain form: 3 K^2 d a pass. Nothing of size K x K is held.

Near an optimum only close pairs have weight. Their list costs one pass over the upper half of the
products (in bfloat16 where that is native, with exact cosines for the pairs found), and then serves
many steps at a few hundredths of the price of a full one.

Memory: a thread holds one block and one (K, d) gradient. Time of a full pass, K = 10000, d = 512,
two cores: about 1 s in float32, 0.3 s where bfloat16 products are native (see `native_half`).
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from gnc_cli.runtime.deadline import NO_DEADLINE, Deadline
from gnc_cli.runtime.threads import ThreadTeam

_CHUNK = 4096
"""Pairs gathered at a time on a CPU: their rows fit into the second-level cache."""


@dataclass(frozen=True)
class Smoothed:
    """Smooth largest cosine at one W."""

    loss: float
    """Value L(W), at least the largest cosine of the pairs in the sum."""
    gradient: torch.Tensor
    """Gradient dL/dW in the ambient space, shape (K, d), dtype of W."""
    max_cosine: float
    """Largest cosine, to the rounding of the arithmetic of this pass."""


@dataclass(frozen=True)
class Neighbours:
    """Pairs of rows, each kept from both sides, grouped by row (compressed sparse rows)."""

    starts: torch.Tensor
    """First entry of each row, shape (K + 1,), int64; row k ends before starts[k + 1]."""
    rows: torch.Tensor
    """Row of each entry, shape (2 m,), int64, ascending."""
    columns: torch.Tensor
    """Neighbour of the row in each entry, shape (2 m,), int64."""
    threshold: float
    """Cosine above which every pair is listed, and below which none is."""
    complete: bool
    """True if no pair is missing, that is, if the limit of the number of pairs was not reached."""


def native_half(device: torch.device) -> bool:
    """Return whether bfloat16 products are several times faster than float32 ones on `device`."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    probes = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    return any(bool(getattr(torch.cpu, probe, bool)()) for probe in probes)


def log_sum_exp(
    W: torch.Tensor,
    sharpness: float,
    team: ThreadTeam,
    *,
    shift: float | None = None,
    frozen: int,
    half: bool,
    deadline: Deadline,
    block: tuple[int, int] | None = None,
) -> Smoothed:
    """Compute L(W) and its gradient over all pairs.

    Args:
        W: rows, shape (K, d), float32 or float64, of any norm.
        sharpness: beta, the factor of the cosines.
        team: threads, entered; the order of summation depends on their number alone.
        shift: estimate of L(W), such as the previous loss; a wrong one costs a second pass.
        frozen: number of leading rows that stay fixed, whose mutual pairs are omitted.
        half: products in bfloat16. Exponents are formed in the product's float32 accumulator, so
            that pairs close to the maximum keep their weight: about 0.4% a weight at any sharpness
            below 300, and unbiased.
        deadline: end of the time.
        block: rows and columns of a block; None for those that suit the device.

    Raises:
        TimeoutError: the deadline passed. So do all functions here.
    """
    rows = W.to(torch.bfloat16) if half else W
    if shift is None:
        # Exact for the first rows, and slightly below the maximum over all: exp cannot overflow.
        head = W[: min(1024, len(W))]
        gram = head @ head.T
        gram.fill_diagonal_(-1.0)
        shift = float(gram.max())
    # The products add -beta * shift as their own dtype can hold it: the shift is rounded likewise.
    bias = torch.full((1,), -sharpness * shift, dtype=rows.dtype, device=W.device)
    shift = -float(bias) / sharpness
    height, width = block or _block_shape(W.device)
    panels = list(_panels(len(W), frozen, height))

    def work(thread: int) -> tuple[float, float, torch.Tensor]:
        """Return sum and maximum of exp(beta c + bias) over pairs, and sum times gradient."""
        gradient = torch.zeros_like(W)
        total = torch.zeros((), dtype=torch.float64, device=W.device)
        largest = torch.zeros((), dtype=torch.float64, device=W.device)
        # Alternating order: panels are shorter towards the bottom, so threads share them evenly.
        for index, (top, bottom, first_column) in enumerate(panels):
            turn, place = divmod(index, team.count)
            if (place if turn % 2 == 0 else team.count - 1 - place) != thread:
                continue
            for start in range(first_column, len(W), width):
                deadline.check()
                a, b = rows[top:bottom], rows[start : min(start + width, len(W))]
                p = _exp_in_place(torch.addmm(bias, a, b.T, alpha=sharpness))
                if start < bottom and first_column == top:
                    p.triu_(top - start + 1)
                total += p.sum(1).to(torch.float64).sum()
                peak = p.view(torch.int16).amax().view(torch.bfloat16) if half else p.amax()
                largest = torch.maximum(largest, peak.to(torch.float64))
                gradient[top:bottom] += p @ b
                gradient[start : start + width] += p.T @ a
        return float(total), float(largest), gradient

    parts = team.map(work)
    gradient = parts[0][2]
    for part in parts[1:]:
        gradient += part[2]
    total, largest = sum(part[0] for part in parts), max(part[1] for part in parts)
    smoothed = _normalised(total, largest, gradient, sharpness, shift)
    if smoothed is not None:
        return smoothed
    # Out of range. With L at half of beta as the shift, the sum is at least 2 / K^2: in range.
    coarse = log_sum_exp(
        W, sharpness / 2, team, frozen=frozen, half=half, deadline=deadline, block=block
    )
    if not math.isfinite(coarse.loss):
        return coarse
    return log_sum_exp(
        W,
        sharpness,
        team,
        shift=coarse.loss,
        frozen=frozen,
        half=half,
        deadline=deadline,
        block=block,
    )


def sparse_log_sum_exp(
    W: torch.Tensor,
    neighbours: Neighbours,
    sharpness: float,
    team: ThreadTeam,
    *,
    shift: float,
    deadline: Deadline,
) -> Smoothed:
    """Compute `log_sum_exp` over the listed pairs only, for rows W of shape (K, d).

    Each pair is visited from both sides. That doubles the products but avoids scattered writes:
    each row belongs to one thread, and the sum of a row is one weighted `embedding_bag`.
    """
    gradient = torch.zeros_like(W)
    edges = _shares(neighbours.starts, team.count)

    def work(thread: int) -> tuple[float, float]:
        total, largest = 0.0, 0.0
        for top, bottom in _chunks(neighbours.starts, edges[thread], edges[thread + 1], W.device):
            deadline.check()
            first, last = int(neighbours.starts[top]), int(neighbours.starts[bottom])
            if first == last:
                continue
            ends = neighbours.columns[first:last]
            targets = W.index_select(0, ends)
            sources = W.index_select(0, neighbours.rows[first:last])
            p = _exp_in_place(sources.mul_(targets).sum(1).sub_(shift).mul_(sharpness))
            total += float(p.sum(dtype=torch.float64))
            largest = max(largest, float(p.max()))
            gradient[top:bottom] = torch.nn.functional.embedding_bag(
                torch.arange(last - first, device=W.device),
                targets,
                neighbours.starts[top:bottom] - first,
                per_sample_weights=p,
                mode="sum",
            )
        return total, largest

    parts = team.map(work)
    # Ordered pairs were summed, but each row's gradient holds each of its pairs once.
    total, largest = sum(part[0] for part in parts) / 2, max(part[1] for part in parts)
    smoothed = _normalised(total, largest, gradient, sharpness, shift)
    if smoothed is not None:
        return smoothed
    # Out of range, as in `log_sum_exp`: half of the sharpness gives a shift in range.
    start = min(1.0, max(-1.0, shift))
    coarse = sparse_log_sum_exp(W, neighbours, sharpness / 2, team, shift=start, deadline=deadline)
    if not math.isfinite(coarse.loss):
        return coarse
    return sparse_log_sum_exp(W, neighbours, sharpness, team, shift=coarse.loss, deadline=deadline)


def _normalised(
    total: float, largest: float, gradient: torch.Tensor, sharpness: float, shift: float
) -> Smoothed | None:
    """Return the loss from sums of exp(beta (c - shift)): NaN if undefined, None out of range."""
    if 1e-15 < total < 1e25:
        return Smoothed(
            loss=shift + math.log(total) / sharpness,
            gradient=gradient.div_(total),
            max_cosine=shift + math.log(largest) / sharpness,
        )
    if math.isnan(total) or sharpness < 1.0:
        return Smoothed(math.nan, gradient, math.nan)
    return None


def _exp_in_place(exponents: torch.Tensor) -> torch.Tensor:
    """Take exp of every entry, raised to a floor slightly above the smallest normal number."""
    # Below it, MKL's exp is fifteen times slower and products have denormals; the floor itself adds
    # less than 1e-10 of a sum above 1e-15.
    floor = -700.0 if exponents.dtype == torch.float64 else -85.0
    return exponents.clamp_(min=floor).exp_()


def choose_threshold(W: torch.Tensor, per_row: float, *, generator: torch.Generator) -> float:
    """Estimate the cosine that `per_row` other rows exceed, from a sample of rows W, shape (K, d).

    The sample has 256 random rows, or fewer so that their cosines fit into 64 MB.
    """
    K = len(W)
    sample = torch.randperm(K, generator=generator)[: max(1, min(256, K, 2**24 // K))]
    sample = sample.to(W.device)
    cosines = W[sample] @ W.T
    cosines[torch.arange(len(sample), device=W.device), sample] = -2.0
    rank = max(1, min(round(per_row * len(sample)), len(sample) * (K - 1)))
    flat = cosines.flatten()
    if flat.device.type == "cpu":  # introselect: twenty times torch's speed on one thread
        return float(np.partition(flat.numpy(), len(flat) - rank)[len(flat) - rank])
    return float(flat.topk(rank).values[-1])


def pairs_above(
    W: torch.Tensor,
    threshold: float,
    team: ThreadTeam,
    *,
    limit: int = 20_000_000,
    frozen: int = 0,
    half: bool = False,
    deadline: Deadline = NO_DEADLINE,
    block: tuple[int, int] | None = None,
) -> Neighbours:
    """List all pairs of unit rows whose cosine exceeds `threshold`.

    Args:
        W: unit rows, shape (K, d).
        threshold: cosine above which a pair is listed.
        team: threads, entered.
        limit: largest number of pairs (16 bytes each during the search, 32 after); beyond, pairs of
            the last blocks are missing and `complete` is False.
        frozen: number of leading rows whose mutual pairs are omitted.
        half: search in bfloat16 with a threshold lowered by a proved bound of its rounding error,
            then decide each pair in the precision of W: the same list (up to the rounding of that
            precision at the threshold), several times faster where bfloat16 is native.
        deadline: end of the time.
        block: rows and columns of a block; None for those that suit the device.
    """
    K = len(W)
    searched = W.to(torch.bfloat16) if half else W
    # Unit rows: both factors are rounded to 8 bits (2^-9 each, by Cauchy-Schwarz, and a cross
    # term), d products are added in float32, and the sum is rounded to 8 bits again.
    error = 2.0**-8 + 2.0**-9 + (W.shape[1] + 4) * 2.0**-23 + 2.0**-17
    level = threshold - error if half else threshold
    height, width = block or ((1024, 2048) if W.device.type == "cpu" else (8192, 16384))
    panels = list(_panels(K, frozen, height))
    share = max(1, limit // team.count)

    def work(thread: int) -> tuple[list[torch.Tensor], bool]:
        pairs = [torch.zeros((2, 0), dtype=torch.int64, device=W.device)]
        count = 0
        # Allocated once: blocks released between the small lists that stay would fragment the
        # heap, by 11 GB in total at K = 100,000.
        products = searched.new_empty(height * width)
        marks = np.empty(height * width, dtype=bool) if W.device.type == "cpu" else None
        for top, bottom, first_column in panels[thread :: team.count]:
            for start in range(first_column, K, width):
                deadline.check()
                stop = min(start + width, K)
                gram = products[: (bottom - top) * (stop - start)].view(bottom - top, -1)
                torch.mm(searched[top:bottom], searched[start:stop].T, out=gram)
                i, j = _entries_above(gram, level, marks)
                i, j = i + top, j + start
                if start < bottom and first_column == top:
                    upper = i < j
                    i, j = i[upper], j[upper]
                if half:
                    close = _cosines(W, i, j) > threshold
                    i, j = i[close], j[close]
                if count + len(i) > share:
                    pairs.append(torch.stack([i[: share - count], j[: share - count]]))
                    return pairs, False
                pairs.append(torch.stack([i, j]))
                count += len(i)
        return pairs, True

    parts = team.map(work)
    upper = torch.cat([pair for part in parts for pair in part[0]], dim=1)
    rows = torch.cat([upper[0], upper[1]])
    columns = torch.cat([upper[1], upper[0]])
    # Stable: the order, and with it every later sum, depends on the pairs alone.
    rows, order = torch.sort(rows, stable=True)
    starts = torch.zeros(K + 1, dtype=torch.int64, device=W.device)
    torch.cumsum(torch.bincount(rows, minlength=K), 0, out=starts[1:])
    complete = all(part[1] for part in parts)
    return Neighbours(starts, rows, columns[order], threshold, complete)


def listed_row_maxima(
    W: torch.Tensor, neighbours: Neighbours, team: ThreadTeam, *, deadline: Deadline
) -> torch.Tensor:
    """Return the largest listed cosine of each row, shape (K,); -inf for rows without a pair.

    With a complete list, a value above the threshold is the maximum over all rows.
    """
    best = torch.full((len(W),), -math.inf, dtype=W.dtype, device=W.device)
    edges = _shares(neighbours.starts, team.count)

    def work(thread: int) -> None:
        for top, bottom in _chunks(neighbours.starts, edges[thread], edges[thread + 1], W.device):
            deadline.check()
            first, last = int(neighbours.starts[top]), int(neighbours.starts[bottom])
            rows, columns = neighbours.rows[first:last], neighbours.columns[first:last]
            best.scatter_reduce_(0, rows, _cosines(W, rows, columns), "amax")

    team.map(work)
    return best


def blocked_row_maxima(
    W: torch.Tensor,
    team: ThreadTeam,
    *,
    deadline: Deadline,
    block: tuple[int, int] | None = None,
) -> torch.Tensor:
    """Return the largest cosine of each row with another, shape (K,), exact to a few ulps of W.

    The cost is K^2 d flops.
    """
    K = len(W)
    height, width = block or _block_shape(W.device)
    panels = list(_panels(K, 0, height))

    def work(thread: int) -> torch.Tensor:
        best = torch.full((K,), -math.inf, dtype=W.dtype, device=W.device)
        for top, bottom, first_column in panels[thread :: team.count]:
            for start in range(first_column, K, width):
                deadline.check()
                stop = min(start + width, K)
                gram = W[top:bottom] @ W[start:stop].T
                if start < bottom:
                    diagonal = torch.arange(max(start, top), min(stop, bottom), device=W.device)
                    gram[diagonal - top, diagonal - start] = -math.inf
                best[top:bottom] = torch.maximum(best[top:bottom], gram.amax(1))
                best[start:stop] = torch.maximum(best[start:stop], gram.amax(0))
        return best

    return torch.stack(team.map(work)).amax(0)


def _panels(K: int, frozen: int, height: int) -> Iterator[tuple[int, int, int]]:
    """Yield (top, bottom, first column): rows top..bottom with later columns, each pair once."""
    for top in range(0, frozen, height):
        yield top, min(top + height, frozen), frozen
    for top in range(frozen, K, height):
        yield top, min(top + height, K), top


def _block_shape(device: torch.device) -> tuple[int, int]:
    """Return rows and columns of a block that fits into the caches."""
    return (1024, 2048) if device.type == "cpu" else (8192, 8192)


def _entries_above(
    gram: torch.Tensor, level: float, marks: np.ndarray | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return row and column of the entries above `level`, in row-major order.

    `marks` is memory for a mask, on a CPU.
    """
    if marks is None:
        i, j = (gram > level).nonzero(as_tuple=True)
        return i, j
    # On one thread NumPy compares ten times, and lists the matches a hundred times, faster than
    # torch; positive bfloat16 numbers have the order of the integers of their bits.
    mask = marks[: gram.numel()].reshape(gram.shape)
    if gram.dtype == torch.bfloat16 and level > 0.0:
        bits = int(torch.tensor([level]).to(torch.bfloat16).view(torch.int16))
        np.greater_equal(gram.view(torch.int16).numpy(), np.int16(bits), out=mask)
    else:
        entries = gram.float() if gram.dtype == torch.bfloat16 else gram
        np.greater(entries.numpy(), level, out=mask)
    rows, columns = np.divmod(np.flatnonzero(mask), gram.shape[1])
    return torch.from_numpy(rows), torch.from_numpy(columns)


def _cosines(W: torch.Tensor, i: torch.Tensor, j: torch.Tensor) -> torch.Tensor:
    """Return w_i . w_j of each listed pair, gathered in chunks."""
    chunk = _CHUNK if W.device.type == "cpu" else max(1, len(i))
    parts = [
        W.index_select(0, a).mul_(W.index_select(0, b)).sum(1)
        for a, b in zip(i.split(chunk), j.split(chunk), strict=True)
    ]
    return torch.cat(parts) if parts else W.new_zeros(0)


def _shares(starts: torch.Tensor, count: int) -> list[int]:
    """Return row boundaries that give each of `count` threads the same number of entries."""
    targets = torch.arange(1, count, device=starts.device) * int(starts[-1]) // count
    return [0, *torch.searchsorted(starts, targets).tolist(), len(starts) - 1]


def _chunks(
    starts: torch.Tensor, top: int, bottom: int, device: torch.device
) -> list[tuple[int, int]]:
    """Split rows top..bottom into runs of about `_CHUNK` entries; one run on a GPU."""
    if device.type != "cpu":
        return [(top, bottom)] if bottom > top else []
    cuts, entries = [top], starts[top : bottom + 1].numpy()
    while cuts[-1] < bottom:
        row = int(np.searchsorted(entries, entries[cuts[-1] - top] + _CHUNK, side="right")) - 1
        cuts.append(min(bottom, max(cuts[-1] + 1, row + top)))
    return list(itertools.pairwise(cuts))
