"""Stored codes polished to their end, by means that are too slow for `gnc solve`.

    python -m benchmarks.known_codes.polish check               # all: what is left to do
    python -m benchmarks.known_codes.polish run 16.62 17.86     # these, and store what is better
    python -m benchmarks.known_codes.polish run                 # those that `check` finds
    python -m benchmarks.known_codes.polish run 9.750 --seconds 7200

A code is done if its contacts, the pairs within 1e-9 of the largest cosine, hold it: convex weights
of their gradients vanish to 1e-10, and `compare --describe` sees no motion that opens them. All
others are polished in two ways, and the better end counts:

1. `gnc solve`'s interior point from a barrier that is nearly gone, so that it stays in its basin;
2. Newton's method with a line search on the barrier `min over t of t - mu sum log(t - c_p)`, which
   falls from step to step and so ends in no saddle, for mu down to `_LAST`; then the primal-dual
   equations themselves, solved with all their unknowns. Their normal matrix, which the interior
   point factorises, has lost the curvature of flat optima by then.

Nothing enters but the rows of the code itself.
"""

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lu_factor, lu_solve

from benchmarks.known_codes import stored
from gnc_cli.codes.certify import contact_pairs
from gnc_cli.codes.contact_equations import OptimumEquations
from gnc_cli.codes.description import Jamming
from gnc_cli.codes.invariants import UnexaminedError, rigidity
from gnc_cli.geometry.active_pairs import ActivePairs, linearise, retracted
from gnc_cli.geometry.gram import max_cosine
from gnc_cli.geometry.polish import WARM_FIRST_GAP
from gnc_cli.geometry.sphere import normalise
from gnc_cli.io.codefile import read_points
from gnc_cli.known_codes.table import data_folder, numerical_codes
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.search.parametrisation import free
from gnc_cli.search.problem import Candidate, Tammes
from gnc_cli.search.refine import polish_candidate

CONTACT = 1e-9
"""Pairs this near to the largest cosine are contacts."""
STATIONARY = 1e-10
"""A code is stationary to this."""
_EQUAL = 1e-13
"""Codes whose largest cosines are nearer are the same."""
_FIRST, _LAST, _FALL = (1e-6, 1e-8, 1e-10), 1e-10, 0.25
"""First gaps and last gap of the barrier, as shares of the scale, and from one to the next."""
_WIDTH = 0.1
"""Pairs this near to the largest cosine, as a share of the scale, enter the barrier."""
_STEPS = 150
"""Newton steps at one gap."""


def stationarity(W: np.ndarray) -> float:
    """Largest component of the gradient that convex weights of the contacts leave."""
    pairs = contact_pairs(W, CONTACT)
    rows = np.unique(pairs)
    return OptimumEquations(np.searchsorted(rows, pairs)).multipliers(W[rows])[2]


def opens(W: np.ndarray, deadline: Deadline) -> bool:
    """Whether a motion is found that opens every contact."""
    try:
        return rigidity(W, contact_pairs(W, CONTACT), deadline).verdict is Jamming.OPENS
    except UnexaminedError:
        return False


def near_pairs(W: np.ndarray, least: float) -> ActivePairs:
    """Pairs of rows whose cosine is at least this."""
    return ActivePairs(*np.nonzero(np.triu(W @ W.T >= least, 1)))


def polished(W: np.ndarray, deadline: Deadline) -> np.ndarray:
    """The best end."""
    ends = [flat_end(W, deadline, gap) for gap in _FIRST]
    return min((near_end(W, deadline), *ends, W), key=_order)


def _order(W: np.ndarray) -> tuple[float, float]:
    return round(max_cosine(W) / _EQUAL), stationarity(W)


def near_end(W: np.ndarray, deadline: Deadline) -> np.ndarray:
    """Where the interior point ends from a barrier that is nearly gone."""
    problem = Tammes(free(W.shape[1], len(W)))
    start = Candidate(problem.value(W), W)
    return polish_candidate(problem, start, deadline, first_gap=WARM_FIRST_GAP).whole


def flat_end(W: np.ndarray, deadline: Deadline, gap: float = _FIRST[0]) -> np.ndarray:
    """Where the falling barrier ends, and the primal-dual equations from there."""
    scale = 1.0 - max_cosine(W)
    while gap >= _LAST and not deadline.expired:
        W, gap = _fallen(W, gap * scale, deadline), gap * _FALL
    return _converged(W, gap / _FALL * scale, deadline)


def _fallen(W: np.ndarray, gap: float, deadline: Deadline) -> np.ndarray:
    """The minimum of the barrier nearby, at one gap: `mu` times the number of pairs."""
    every = np.ones(len(W), dtype=bool)
    scale = 1.0 - max_cosine(W)
    reach, shift = 0.02 * np.sqrt(2.0 * scale), 0.0
    for _ in range(_STEPS):
        pairs = near_pairs(W, 1.0 - (1.0 + _WIDTH) * scale)
        mu = gap / len(pairs)
        height, t = _barrier(pairs.values(W), mu)
        slack = t - pairs.values(W)
        weights = mu / slack
        linear = linearise(pairs, W, every)
        gradient = linear.adjoint(weights)
        if np.abs(gradient).max() < 1e-3 * gap / np.sqrt(scale) or deadline.expired:
            break
        ratios = weights / slack
        matrix, u = linear.normal(weights, ratios), linear.adjoint(ratios)
        matrix -= np.outer(u, u) / ratios.sum()
        matrix[np.diag_indices_from(matrix)] += 1e-13 * np.diag(matrix).mean()
        while True:
            trial = matrix.copy()
            trial[np.diag_indices_from(trial)] += shift
            try:
                factor = cho_factor(trial, overwrite_a=True, check_finite=False)
                break
            except LinAlgError:
                shift = max(4.0 * shift, 1e-6)
        step = -cho_solve(factor, gradient)
        move = linear.moves(step)
        length = min(1.0, reach / np.linalg.norm(move, axis=1).max())
        for part in length * 0.5 ** np.arange(30.0):
            rows = retracted(W + part * move, every)
            if _barrier(pairs.values(rows), mu)[0] <= height + 1e-4 * part * float(gradient @ step):
                W = rows
                shift = shift / 5.0 if part == 1.0 and shift > 1e-9 else 0.0
                break
        else:
            shift = max(10.0 * shift, 1e-6)
            if shift > 1e3:
                break
    return W


def _barrier(values: np.ndarray, mu: float) -> tuple[float, float]:
    """Height and level t of the barrier, whose weights `mu / (t - c)` sum to 1."""
    low, high = values.max(), values.max() + mu * len(values)
    t = low + mu
    for _ in range(100):
        excess = (mu / (t - values)).sum() - 1.0
        low, high = (t, high) if excess > 0.0 else (low, t)
        t += excess / (mu / (t - values) ** 2).sum()
        t = t if low < t < high else 0.5 * (low + high)
        if abs(excess) < 1e-12:
            break
    return float(t - mu * np.log(t - values).sum()), float(t)


def _converged(W: np.ndarray, gap: float, deadline: Deadline) -> np.ndarray:
    """The primal-dual equations solved by Newton's method, from the barrier's minimum.

    Unknowns are the rows, t, and the multipliers of near pairs; the others are eliminated.
    """
    every, n = np.ones(len(W), dtype=bool), W.shape[0] * (W.shape[1] - 1)
    scale = 1.0 - max_cosine(W)
    reach, shift = 0.01 * np.sqrt(2.0 * scale), 1e-11
    pairs = near_pairs(W, 1.0 - (1.0 + _WIDTH) * scale)
    mu = gap / len(pairs)
    t = _barrier(pairs.values(W), mu)[1]
    slack = t - pairs.values(W)
    weights = mu / slack
    best = np.inf, W
    for _ in range(40):
        linear = linearise(pairs, W, every)
        values, gradient = pairs.values(W), linear.adjoint(weights)
        short, left = t - values, float(weights @ (values.max() - values))
        best = min(best, (float(np.abs(gradient).max()) + left, W), key=lambda end: end[0])
        if min(best[0], float(weights @ slack)) < 1e-17 or deadline.expired:
            break
        near = slack < 1e-4 * scale
        far = ~near
        ratios = np.where(far, weights / slack, 0.0)
        jacobian = linear.jacobian()
        inner, outer = jacobian[np.flatnonzero(near)].toarray(), jacobian[np.flatnonzero(far)]
        push = (mu / slack - weights - ratios * (short - slack))[far]
        u, size = outer.T @ ratios[far], n + 1 + len(inner)
        matrix = np.zeros((size, size))
        matrix[:n, :n] = linear.normal(weights, ratios)
        matrix[np.arange(n), np.arange(n)] += shift
        matrix[:n, n] = matrix[n, :n] = -u
        matrix[n, n] = ratios.sum()
        matrix[:n, n + 1 :], matrix[n + 1 :, :n] = inner.T, inner
        matrix[n, n + 1 :] = matrix[n + 1 :, n] = -1.0
        rest = np.arange(n + 1, size)
        matrix[rest, rest] = -(slack / weights)[near]
        right = np.concatenate(
            [
                -(gradient + outer.T @ push),
                [weights.sum() + push.sum() - 1.0],
                (short - mu / weights)[near],
            ]
        )
        factor = lu_factor(matrix, check_finite=False)
        x = lu_solve(factor, right)
        x += lu_solve(factor, right - matrix @ x)
        rates = linear.forward(x[:n])
        change = np.empty(len(pairs))
        change[near], change[far] = x[n + 1 :], push - ratios[far] * (x[n] - rates[far])
        gain = x[n] - rates + short - slack
        move = linear.moves(x[:n])
        primal = min(_inside(slack, gain), reach / np.linalg.norm(move, axis=1).max())
        dual = _inside(weights, change)
        W = retracted(W + primal * move, every)
        t, slack, weights = t + primal * x[n], slack + primal * gain, weights + dual * change
        if min(primal, dual) > 0.9:
            mu = max(0.2 * min(mu, float(weights @ slack) / len(pairs)), 1e-24)
    return best[1]


def _inside(x: np.ndarray, change: np.ndarray) -> float:
    """The largest step up to 1 that keeps a hundredth of every entry."""
    falling = change < 0.0
    return min(1.0, float((-0.99 * x[falling] / change[falling]).min(initial=1.0)))


def files(names: list[str]) -> Iterator[tuple[Path, np.ndarray]]:
    """Stored codes by name, as 3.15 or 3.15.threefold, or all, small ones first; unit rows."""
    paths = (data_folder() / "coordinates").glob("*.txt")
    held = {path.stem: normalise(read_points(path).weights) for path in paths}
    for name in sorted(names or held, key=lambda name: held[name].size):
        yield data_folder() / "coordinates" / f"{name}.txt", held[name]


def is_done(W: np.ndarray) -> bool:
    """Whether nothing is left to polish."""
    return stationarity(W) <= STATIONARY and not opens(W, Deadline(60.0))


def store(path: Path, W: np.ndarray) -> None:
    """Put polished rows in the place of a stored code, and their distance into margins.csv."""
    K, d = W.shape
    if numerical_codes().find(d, K) is None:
        np.savetxt(path, W, fmt="%.17g")
        return
    command = f"gnc solve --d {d} --K {K} --construction known"
    stored.add(data_folder(), d, K, W, 1.0 - max_cosine(W), command)
    numerical_codes.cache_clear()


def main() -> None:
    """Parse and go."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("work", choices=["check", "run"])
    parser.add_argument("names", nargs="*", metavar="D.K", help="default: all")
    parser.add_argument("--seconds", type=float, default=600.0, help="time limit of each")
    asked = parser.parse_args()
    for path, W in files(asked.names):
        if not asked.names and is_done(W):
            continue
        before, residual, started = max_cosine(W), stationarity(W), time.monotonic()
        if asked.work == "check":
            print(f"{path.stem}  {before:.15f}  stationary to {residual:.1e}", flush=True)
            continue
        end = polished(W, Deadline(asked.seconds))
        print(
            f"{path.stem}  {before:.15f}  {max_cosine(end) - before:+.1e}  stationary to "
            f"{residual:.1e}, then {stationarity(end):.1e}  {time.monotonic() - started:.0f} s",
            flush=True,
        )
        if max_cosine(end) < before - _EQUAL or residual > STATIONARY >= stationarity(end):
            store(path, end)


if __name__ == "__main__":
    main()
