"""Spherical codes with many points: the smooth Tammes descent that fits in memory and in time.

Minimises the largest cosine of K unit rows in R^d through the log-sum-exp over pairs
(`blocked_pairs`), annealed while geoopt's Riemannian Adam moves the rows. The second moment of that
optimizer is one number per row, so every row moves about one learning rate a step, however far
below the maximum it stands. Small d relative to K works on lists of close pairs, the rest on full
passes.

One number drives everything: the share x of the work done, in [0, 1], counted in steps or, under a
time limit, in seconds, so that the schedule always ends when the time does. Sharpness grows
geometrically from about sqrt(d), where each row still feels the whole sphere, to 3000; the rate
falls along a cosine; both are scaled to the angle that K points can have in R^d. Tried at
(64, 1000), (100, 2000) and (64, 100000): a sharper start costs 2% of the cosine, a first rate of
0.02 instead of 0.1 costs 7%.

At the end one exact pass in float64 certifies the best rows and rho_one_vs_rest >= 1 - max_cosine;
where time is up, or a signal comes, before its end, the rows are returned without a certificate.
"""

import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import torch

from gnc_cli.geometry import gram
from gnc_cli.runtime.deadline import NO_DEADLINE, Deadline, StageProgress
from gnc_cli.runtime.threads import ThreadTeam
from gnc_cli.search.annealing import geoopt, riemannian_adam
from gnc_cli.search.blocked_pairs import (
    Neighbours,
    Smoothed,
    blocked_row_maxima,
    choose_threshold,
    listed_row_maxima,
    log_sum_exp,
    native_half,
    pairs_above,
    sparse_log_sum_exp,
)
from gnc_cli.search.result import Course, Outcome

_LAST_SHARPNESS = 3000.0
"""For points a radian apart: the loss then stands within 1% of the largest cosine."""
NEIGHBOURS = (32, 64)
"""Fewest and most neighbours of a row in a list; between them, d."""
MAX_PAIRS = 12_000_000
"""Pairs in a list: about 1 GB while it is made, 0.6 GB after."""
_LISTS_FROM = 300
"""Lists pay from this K / neighbours on where d is large, from a third of it where products are so
short (d up to 10) that exp dominates. (3, 5000), (8, 5000) gain; (512, 10000) would not."""
_SHORTEST_LIFE = 3
"""Steps that a list serves at least."""
PER_PAIR = 85.0
"""Bytes of a pair while its list is made."""
_GRACE = 2.0
"""Seconds that the exact pass has whatever the time limit, and after a signal before it."""
_WORK = 3e13
"""Multiply-adds that a run without any limit may spend, roughly."""


@dataclass(frozen=True, kw_only=True)
class LargeSolution(Course):
    """A code with many points, certified from below by its own largest cosine where every pair was
    seen; it ended with MAX_STEPS_REACHED, TARGET_REACHED, TIME_LIMIT, INTERRUPTED or NONFINITE.
    """

    weights: np.ndarray
    """Unit rows, shape (K, d), float64; given rows come first, as they were given."""
    row_maxima: np.ndarray | None
    """Each row's largest cosine with another row, shape (K,): exact, from a float64 pass; None
    where the deadline came before its end."""


def solve_large(
    d: int,
    K: int,
    *,
    seed: int,
    init: np.ndarray | None = None,
    steps: int | None,
    target_distance: float = math.inf,
    deadline: Deadline = NO_DEADLINE,
    device: str = "cpu",
    threads: int | None = None,
    progress: StageProgress | None = None,
    fixed: np.ndarray | None = None,
    save: Callable[[Callable[[], tuple[np.ndarray, None]]], None] | None = None,
) -> LargeSolution:
    """Spread K points over the unit sphere of R^d; the same seed gives the same code.

    Args:
        init: start, unit rows, shape (K, d) or, beside `fixed`, its last K - len(fixed) rows.
        steps: descent steps; None for a number by size, or, with a time limit, as many as fit.
        target_distance: 1 - max_cosine at which the descent stops.
        deadline: the solution, its exact pass included, is returned before it expires; that pass,
            in more than six dimensions about K^2 d flops, is left out where two seconds more
            would not be enough.
        threads: on a CPU; None for all cores.
        progress: called with percent done, 100 and the present largest cosine after each step.
        fixed: unit rows that stay where they are, shape (F, d), F < K.
        save: called after each step with what makes the best rows so far.
    """
    fixed_rows = np.zeros((0, d)) if fixed is None else fixed
    if init is None:
        # Stacked orthogonal frames end no lower: the first steps equalise any frame anyway.
        start = np.random.default_rng(seed).standard_normal((K - len(fixed_rows), d))
        start /= np.linalg.norm(start, axis=1, keepdims=True)
    else:
        start = init[len(init) - (K - len(fixed_rows)) :]
    with ThreadTeam(threads, device) as team:
        descent = _Descent(np.concatenate([fixed_rows, start]), len(fixed_rows), seed, team)

        def step_done() -> None:
            if save is not None and math.isfinite(descent.best_cosine):
                save(lambda: (descent.exact(descent.best, fixed_rows).cpu().numpy(), None))

        outcome = descent.run(steps, target_distance, deadline, progress, step_done)
        weights, maxima = descent.certified_best(fixed_rows, deadline.no_sooner(_GRACE))
    if maxima is None or outcome is Outcome.TIME_LIMIT:
        outcome = Outcome.INTERRUPTED if deadline.interrupted else Outcome.TIME_LIMIT
    history = np.array(descent.history, dtype=np.float64).reshape(-1, 2)
    return LargeSolution(
        origin="large-scale descent",
        outcome=outcome,
        restarts=1,
        steps=len(history),
        history=history,
        weights=weights,
        row_maxima=maxima,
    )


def _lists(d: int, K: int) -> tuple[int, bool]:
    """Neighbours of a row in a list, and whether lists pay."""
    few, many = NEIGHBOURS
    per_row = min(max(few, d), many, max(1, 2 * MAX_PAIRS // K), K - 1)
    cheap = min(1.0, max(1.0 / 3.0, d / 32.0))
    return per_row, K > cheap * _LISTS_FROM * per_row


def _default_steps(d: int, K: int) -> int:
    """100 to 1000 steps, by what one costs: a full pass, or a third of a search for pairs."""
    return int(min(1000, max(100, _WORK / (K**2 * d * (0.3 if _lists(d, K)[1] else 3.0)))))


class _Descent:
    """K unit rows during a descent, float32. `run` moves them, `certified_best` ends it."""

    def __init__(self, W: np.ndarray, frozen: int, seed: int, team: ThreadTeam) -> None:
        riemannian = geoopt()
        self.W = torch.from_numpy(W).to(team.device, torch.float32)
        self.K, self.d = self.W.shape
        self.frozen, self.team = frozen, team
        self.half = native_half(team.device)
        self.generator = torch.Generator().manual_seed(seed)
        self.per_row, self.uses_lists = _lists(self.d, self.K)
        # The angle between neighbours, in radians: caps of half of it about fill the sphere.
        angle = min(1.0, 2.0 * self.K ** (-1.0 / (self.d - 1)))
        self.first_sharpness = (2.0 if self.uses_lists else 1.25) * math.sqrt(self.d) / angle**2
        self.last_sharpness = _LAST_SHARPNESS / angle**2
        self.first_rate = (0.07 if self.uses_lists else 0.1) * angle
        # Rows do not meet in the optimizer, so each thread moves its own share of them.
        self.edges = np.linspace(frozen, self.K, team.count + 1).astype(int).tolist()
        self.optimizers = [
            riemannian_adam(
                riemannian.ManifoldParameter(self.W[a:b], manifold=riemannian.Sphere()),
                lr=self.first_rate,
                betas=(0.9, 0.99),
            )
            for a, b in zip(self.edges[:-1], self.edges[1:], strict=True)
        ]
        self.near: Neighbours | None = None
        self.life, self.travel_left = 0, 0.0
        self.loss: float | None = None
        self.best, self.best_cosine = self.W.clone(), math.inf
        self.history: list[tuple[int, float]] = []
        self.pass_seconds = 0.0

    def run(
        self,
        steps: int | None,
        target_distance: float,
        deadline: Deadline,
        progress: StageProgress | None,
        step_done: Callable[[], None],
    ) -> Outcome:
        """Descend until the target is reached, the steps are done, or the time is, less what the
        exact pass will take.
        """
        by_time = steps is None and deadline.seconds is not None
        began = deadline.elapsed
        planned = steps if steps is not None else _default_steps(self.d, self.K)
        while by_time or len(self.history) < planned:
            search = deadline.reserving(self._closing_seconds())
            done = len(self.history) / max(1, planned - 1)
            if by_time:
                whole = max((search.seconds or 0.0) - began, 1e-9)
                done = (deadline.elapsed - began) / whole
            try:
                smoothed = self._evaluate(done, search)
            except TimeoutError:
                return Outcome.TIME_LIMIT
            if not math.isfinite(smoothed.loss):
                return Outcome.NONFINITE
            self._step(smoothed, done)
            self.history.append((len(self.history), smoothed.max_cosine))
            if progress is not None:
                progress(int(100 * min(1.0, done)), 100, smoothed.max_cosine)
            step_done()
            if 1.0 - self.best_cosine >= target_distance + self._rounding:
                return Outcome.TARGET_REACHED
        return Outcome.MAX_STEPS_REACHED

    @property
    def _rounding(self) -> float:
        """What rounding may change in a largest cosine: more in bfloat16."""
        return 1e-3 if self.half and not self.uses_lists else 1e-6

    def certified_best(
        self, fixed_rows: np.ndarray, deadline: Deadline
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """The better of the last and the best rows seen, (K, d), and their exact row maxima; None
        where the deadline came first.
        """
        codes: list[tuple[float, np.ndarray, np.ndarray | None]] = []
        for W in (self.W, self.best):  # of which the best are finite by construction
            rows = self.exact(W, fixed_rows)
            if bool(torch.isfinite(rows).all()):
                maxima = self._row_maxima(rows, deadline)
                largest = math.inf if maxima is None else float(maxima.max())
                codes.append((largest, rows.cpu().numpy(), maxima))
                # Rounding may have made an earlier iterate look better than it is.
                if largest <= self.best_cosine + self._rounding:
                    break
        return min(reversed(codes), key=lambda code: code[0])[1:]

    @staticmethod
    def exact(W: torch.Tensor, fixed_rows: np.ndarray) -> torch.Tensor:
        """W as float64 unit rows, the given ones as they were."""
        exact = W.to(torch.float64)
        exact /= exact.norm(dim=1, keepdim=True)
        exact[: len(fixed_rows)] = torch.from_numpy(fixed_rows).to(W.device)
        return exact

    def _row_maxima(self, exact: torch.Tensor, deadline: Deadline) -> np.ndarray | None:
        """Exact row maxima of float64 unit rows; None where the deadline came first."""
        with suppress(TimeoutError):
            if self.d <= gram.MAX_TREE_DIMENSIONS:
                return gram.row_maxima(exact.cpu().numpy(), deadline=deadline)[0]
            maxima = self._listed_maxima(exact, deadline) if self.uses_lists else None
            if maxima is None:
                maxima = blocked_row_maxima(exact, self.team, deadline=deadline)
            return maxima.cpu().numpy()
        return None

    def _listed_maxima(self, exact: torch.Tensor, deadline: Deadline) -> torch.Tensor | None:
        """Exact row maxima from a list: a third of the full pass; None when it cannot be complete.

        A row with a listed pair has its maximum in the list. The list was decided in float32, so
        a margin beyond that rounding is kept; the few rows below it meet all others in float64.
        """
        rounded = exact.to(torch.float32)
        threshold = choose_threshold(rounded, self.per_row / 2, generator=self.generator)
        pairs = pairs_above(
            rounded,
            threshold,
            self.team,
            limit=MAX_PAIRS,
            half=self._search_half(threshold),
            deadline=deadline,
        )
        if not pairs.complete:
            return None
        maxima = listed_row_maxima(exact, pairs, self.team, deadline=deadline)
        unlisted = torch.nonzero(maxima <= threshold + (self.d + 4) * 2.0**-23).flatten()
        if len(unlisted) > self.K // 16:
            return None
        for some in unlisted.split(max(1, 2**23 // self.K)):
            deadline.check()
            products = exact[some] @ exact.T
            products[torch.arange(len(some), device=products.device), some] = -math.inf
            maxima[some] = products.amax(1)
        return maxima

    def _evaluate(self, done: float, deadline: Deadline) -> Smoothed:
        """Loss and gradient at the present rows; TimeoutError when the deadline passed."""
        deadline.check()
        began = time.monotonic()
        growth = self.last_sharpness / self.first_sharpness
        sharpness = self.first_sharpness * growth ** min(1.0, done)
        # bfloat16 blurs a cosine by 0.0022 / sqrt(d) or so: fine while the exponent ignores it.
        half = self.half and sharpness * 0.0022 / math.sqrt(self.d) < 0.5
        fresh = True
        if not bool(torch.isfinite(self.W).all()):
            return Smoothed(math.nan, self.W, math.nan)
        if not self.uses_lists:
            smoothed = log_sum_exp(
                self.W,
                sharpness,
                self.team,
                shift=self.loss,
                frozen=self.frozen,
                half=half,
                deadline=deadline,
            )
        else:
            fresh = self.near is None or (self.travel_left <= 0.0 and self.life >= _SHORTEST_LIFE)
            if fresh or self.near is None:
                self.near = self._renewed_list(deadline)
            shift = self.near.threshold if self.loss is None else self.loss
            smoothed = sparse_log_sum_exp(
                self.W, self.near, sharpness, self.team, shift=shift, deadline=deadline
            )
            self.life += 1
        if fresh:
            # Only now has every pair been seen: time such a pass, and judge the rows.
            self.pass_seconds = time.monotonic() - began
            if smoothed.max_cosine < self.best_cosine:
                self.best.copy_(self.W)
                self.best_cosine = smoothed.max_cosine
            if self.near is not None:
                # An unlisted pair becomes harmful once it has closed this gap. Moves are spread
                # over d directions, and the unluckiest of all pairs is some 4 sigma out.
                level = self.near.threshold
                slope = math.sqrt(2.0 * max(1e-12, 1.0 - level**2) / self.d)
                self.travel_left = (smoothed.max_cosine - level) / (4.0 * slope)
        self.loss = smoothed.loss
        return smoothed

    def _renewed_list(self, deadline: Deadline) -> Neighbours:
        """The close pairs of the present rows."""
        threshold = choose_threshold(self.W, self.per_row, generator=self.generator)
        self.near, self.life = None, 0  # the old list's memory goes to the new one
        return pairs_above(
            self.W,
            threshold,
            self.team,
            limit=MAX_PAIRS,
            frozen=self.frozen,
            half=self._search_half(threshold),
            deadline=deadline,
        )

    def _search_half(self, threshold: float) -> bool:
        """Whether to search in bfloat16: its error of 0.006 must be small beside the distances."""
        return self.half and threshold < 0.8

    def _step(self, smoothed: Smoothed, done: float) -> None:
        """One Riemannian Adam step of every row that may move."""
        rate = self.first_rate * (0.01 + 0.99 * 0.5 * (1.0 + math.cos(math.pi * min(1.0, done))))

        def move(thread: int) -> None:
            group = self.optimizers[thread].param_groups[0]
            (rows,) = group["params"]
            # The loss spreads a gradient of total weight 1 over K rows; Adam's eps wants order 1.
            rows.grad = self.K * smoothed.gradient[self.edges[thread] : self.edges[thread + 1]]
            group["lr"] = rate
            self.optimizers[thread].step()
            rows.grad = None
            rows.data.div_(rows.data.norm(dim=1, keepdim=True))

        self.team.map(move)
        self.travel_left -= rate

    def _closing_seconds(self) -> float:
        """Time kept for what follows the search: two exact passes at worst, and the copies."""
        if self.d <= gram.MAX_TREE_DIMENSIONS:  # a tree takes 3 us a row for d = 3, 15 us for d = 6
            return 0.5 + 1e-6 * 1.6**self.d * self.K
        return 0.5 + (2.5 if self.uses_lists else 4.0) * self.pass_seconds
