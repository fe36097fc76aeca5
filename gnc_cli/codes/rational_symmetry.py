"""Softmax Codes with a cyclic symmetry that acts with rational character, for many dimensions.

Above ten dimensions free descent ends in a glass of basins far above the famous codes. These have
large groups, and the elements of a group that permutes vectors with rational inner products act
with rational character: with a primitive n-th root of unity all its conjugates occur, equally
often. Drawing such generators only (and of these the ones near a multiple of the regular
representation most often) leaves few unknowns: the codes of the Hoffman-Singleton, Gewirtz, M22 and
Higman-Sims graphs are found from random starts in seconds. Nothing about a code goes in but (d, K).
"""

from dataclasses import dataclass
from math import gcd

import numpy as np

from gnc_cli.codes.layout import orbits
from gnc_cli.codes.softmax_code import SoftmaxCode
from gnc_cli.errors import UsageError
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.refine import refine
from gnc_cli.numerics.riemannian import Annealing, anneal

__all__ = ["SymmetricFind", "few_cosines", "rational_generator", "symmetric_softmax_code"]

_ORDERS = (3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 20, 21)
_RESTARTS = 8
_STEPS = 300
_REFINE_STEPS = 200
_LAST_TENTH = 0.1
"""Share of the time kept for refining the best find."""
_SAME = 1e-4
"""Cosines this near are one, where a code has few."""
_MOST_COSINES = 40


@dataclass(frozen=True)
class SymmetricFind:
    """The best of all descents."""

    weights: np.ndarray
    """Unit rows, shape (K, d)."""
    value: float
    """Its smallest margin with the features that the search found."""
    order: int
    """Of the group it was found with."""
    draws: int
    restarts: int
    steps: int


def symmetric_softmax_code(
    d: int, K: int, *, seed: int, deadline: Deadline, draws: int | None = None
) -> SymmetricFind | None:
    """Search for a Softmax Code, W and H separate, over random cyclic groups until time is up.

    Args:
        d, K: of the code.
        seed: decides every random choice.
        deadline: polled at each step.
        draws: groups at most; None for as many as time allows.

    Returns:
        The best find; None where no group fitted or no descent ended.
    """
    from gnc_cli.codes.problem import typical_scale

    searching = deadline
    if deadline.seconds is not None:
        searching = deadline.reserving(_LAST_TENTH * deadline.seconds)
    rng = np.random.default_rng([seed, d, K])
    scale = typical_scale(d, K)
    best: tuple[float, SoftmaxCode, np.ndarray, int] | None = None
    count = steps = 0
    while not searching.expired and (draws is None or count < draws):
        count += 1
        order = int(rng.choice(_ORDERS))
        generator = rational_generator(rng, d, order)
        if generator is None:
            continue
        try:
            problem = SoftmaxCode(orbits(generator, order, K))
        except UsageError:  # K is no sum of orbit lengths
            continue
        layout = problem.layout
        sharpness = 10 ** rng.uniform(-0.5, 1.0, _RESTARTS) / scale
        plan = Annealing(sharpness, 1e4 / scale, 4.0 / np.sqrt(2.0 * scale), _STEPS)
        project = layout.project if layout.projections is not None else None
        ends = anneal(
            problem.objective, problem.estimate, problem.starts(rng, _RESTARTS), plan,
            project=project, deadline=searching,
        )  # fmt: skip
        steps += ends.steps
        lead = int(ends.estimates.argmin())
        if np.isfinite(ends.estimates[lead]) and (best is None or ends.estimates[lead] < best[0]):
            best = float(ends.estimates[lead]), problem, ends.points[lead], order
            scale = problem.scale(best[0])
    if best is None:
        return None
    _, problem, points, order = best
    refined = refine(
        points, problem.objective, scale=scale, steps=_REFINE_STEPS, deadline=deadline,
        project=problem.layout.project if problem.layout.projections is not None else None,
    )  # fmt: skip
    whole = problem.whole(refined.points)
    value = -problem.select(whole, -np.inf).largest(whole)
    return SymmetricFind(whole[:K], value, order, count, count * _RESTARTS, steps)


def rational_generator(rng: np.random.Generator, d: int, order: int) -> np.ndarray | None:
    """An orthogonal matrix (d, d) of this order whose powers all have rational traces.

    Sums of the representations over the rationals of a cyclic group, one for each divisor e of the
    order, of dimension phi(e); that of the order itself occurs. The others are drawn by dimension,
    which makes multiples of the regular representation the most likely.

    Returns:
        None where d is too small.
    """
    blocks = {e: _primitive(e) for e in range(1, order + 1) if order % e == 0}
    sizes = {e: sum(len(block) for block in each) for e, each in blocks.items()}
    if sizes[order] > d:
        return None
    chosen, left = [order], d - sizes[order]
    while left:
        fitting = [e for e in blocks if sizes[e] <= left]
        share = np.array([sizes[e] for e in fitting], dtype=float)
        chosen.append(int(rng.choice(fitting, p=share / share.sum())))
        left -= sizes[chosen[-1]]
    generator = np.zeros((d, d))
    at = 0
    for e in chosen:
        for block in blocks[e]:
            generator[at : at + len(block), at : at + len(block)] = block
            at += len(block)
    return generator


def _primitive(e: int) -> list[np.ndarray]:
    """Blocks of the rational representation on the primitive e-th roots of unity."""
    if e <= 2:
        return [np.array([[1.0 if e == 1 else -1.0]])]
    turns = [2.0 * np.pi * j / e for j in range(1, e // 2 + 1) if gcd(j, e) == 1]
    return [np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]) for a in turns]


def few_cosines(W: np.ndarray) -> np.ndarray | None:
    """The code with the same few inner products, each exactly one number; None where many occur.

    Descent without a polish leaves cosines scattered by 1e-5 around those of a rigid code. They are
    replaced by the means of their clusters and the Gram matrix by the nearest one of rank d, in
    turn, until nothing moves.

    Args:
        W: unit rows, shape (K, d).
    """
    d = W.shape[1]
    k, j = np.triu_indices(len(W), 1)
    for _ in range(60):
        cosines = np.einsum("md,md->m", W[k], W[j])
        order = np.argsort(cosines)
        group = np.empty(len(order), dtype=np.intp)
        group[order] = np.concatenate([[0], np.cumsum(np.diff(cosines[order]) > _SAME)])
        count = int(group.max()) + 1
        if count > _MOST_COSINES:
            return None
        means = (np.bincount(group, cosines) / np.bincount(group))[group]
        if np.ptp(cosines - means) < 1e-15:
            break
        gram = np.eye(len(W))
        gram[k, j] = gram[j, k] = means
        values, vectors = np.linalg.eigh(gram)
        W = vectors[:, -d:] * np.sqrt(np.maximum(values[-d:], 0.0))
        W = W / np.linalg.norm(W, axis=1, keepdims=True)
    return W
