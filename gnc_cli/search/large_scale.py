"""Spherical codes with many points: a smooth Tammes descent within the memory and the time limit.

Minimises the largest cosine of K unit rows in R^d through the log-sum-exp over pairs
(`blocked_pairs`), annealed while geoopt's Riemannian Adam moves the rows. The second moment of that
optimizer is one number per row, so every row moves about one learning rate a step, however far its
cosines are below the maximum. Where d is small relative to K, steps use lists of close pairs,
elsewhere full passes.

One number controls the schedule: the share of the work done, in [0, 1], counted in steps or, under
a time limit, in seconds, so that the schedule always ends with the time. Sharpness grows
geometrically from about sqrt(d), where all other rows still act on each row, to 3000; the rate
falls along a cosine; both are scaled to the angle that K points can have in R^d. Measured at
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
from gnc_cli.runtime.deadline import NO_DEADLINE, Deadline
from gnc_cli.runtime.threads import ThreadTeam, resolve_device
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
from gnc_cli.search.instance import Instance, Machine, Plan
from gnc_cli.search.result import Course, Outcome

_LAST_SHARPNESS = 3000.0
"""Last sharpness for points a radian apart: the loss is then within 1% of the largest cosine."""
NEIGHBOURS = (32, 64)
"""Smallest and largest number of neighbours of a row in a list; between them it is d."""
MAX_PAIRS = 12_000_000
"""Largest number of pairs in a list: about 1 GB while it is made, 0.6 GB after."""
_MIN_LIST_RATIO = 300
"""Smallest K / neighbours at which lists are faster, where d is large; a third of it where products
are so short (d up to 10) that exp dominates. (3, 5000), (8, 5000) gain; (512, 10000) would not."""
_MIN_LIST_STEPS = 3
"""Smallest number of steps between two searches for pairs, which cost more than a step."""
PAIR_BYTES = 85.0
"""Memory of a pair while its list is made, in bytes."""
_GRACE_SECONDS = 2.0
"""Time of the exact pass, in seconds, whatever the time limit, and after a signal before it."""
_DEFAULT_WORK = 3e13
"""Multiply-adds of a run without any limit, approximately."""


@dataclass(frozen=True, kw_only=True)
class LargeSolution(Course):
    """A code with many points, certified by its largest cosine where every pair was compared.

    The outcome is MAX_STEPS_REACHED, TARGET_REACHED, TIME_LIMIT, INTERRUPTED or NONFINITE.
    """

    weights: np.ndarray
    """Unit rows, shape (K, d), float64; fixed rows come first, unchanged."""
    row_maxima: np.ndarray | None
    """Largest cosine of each row with another, shape (K,): exact, from a float64 pass; None where
    the deadline passed before its end."""


def solve_large(
    instance: Instance,
    plan: Plan,
    machine: Machine,
    *,
    init: np.ndarray | None = None,
    deadline: Deadline = NO_DEADLINE,
    save: Callable[[Callable[[], tuple[np.ndarray, None]]], None] | None = None,
) -> LargeSolution:
    """Spread K points over the unit sphere of R^d; the same seed gives the same code.

    Args:
        instance: requested size and fixed rows, shape (F, d), F < K.
        plan: `steps`, None for a number by size or, with a time limit, as many as fit; the descent
            stops at `target_distance`, which 1 - max_cosine reaches. The progress is called with
            percent done, 100 and the present largest cosine after each step.
        machine: device, and threads on a CPU; None for all cores.
        init: start, unit rows, shape (K, d) or, with fixed rows, at least its last K - F rows.
        deadline: end of the time, before which the solution, its exact pass included, is returned;
            that pass, in more than six dimensions about K^2 d flops, is omitted where two seconds
            more would not suffice.
        save: called after each step with a function that makes the best rows so far.
    """
    fixed_rows = np.zeros((0, instance.d)) if instance.fixed is None else instance.fixed
    if init is None:
        # Stacked orthogonal frames end no lower: the first steps equalise any frame.
        start = np.random.default_rng(plan.seed).standard_normal(
            (instance.K - len(fixed_rows), instance.d)
        )
        start /= np.linalg.norm(start, axis=1, keepdims=True)
    else:
        start = init[len(init) - (instance.K - len(fixed_rows)) :]
    with ThreadTeam(machine.threads, str(resolve_device(machine.device))) as team:
        descent = _Descent(np.concatenate([fixed_rows, start]), len(fixed_rows), plan.seed, team)

        def save_best() -> None:
            if save is not None and math.isfinite(descent.best_cosine):
                save(lambda: (descent.exact(descent.best, fixed_rows).cpu().numpy(), None))

        outcome = descent.run(plan, deadline, save_best)
        weights, maxima = descent.certified_best(fixed_rows, deadline.no_sooner(_GRACE_SECONDS))
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
    """Return the number of neighbours of a row in a list, and whether lists are faster."""
    per_row = min(max(NEIGHBOURS[0], d), NEIGHBOURS[1], max(1, 2 * MAX_PAIRS // K), K - 1)
    cost = min(1.0, max(1.0 / 3.0, d / 32.0))
    return per_row, K > cost * _MIN_LIST_RATIO * per_row


def _default_steps(d: int, K: int) -> int:
    """Return 100 to 1000 steps, by their cost: a full pass, or a third of a search for pairs."""
    return int(min(1000, max(100, _DEFAULT_WORK / (K**2 * d * (0.3 if _lists(d, K)[1] else 3.0)))))


class _Descent:
    """Descent of K unit rows, float32. `run` moves them, `certified_best` ends it."""

    def __init__(self, W: np.ndarray, frozen: int, seed: int, team: ThreadTeam) -> None:
        riemannian = geoopt()
        self.W = torch.from_numpy(W).to(team.device, torch.float32)
        self.K, self.d = self.W.shape
        self.frozen, self.team = frozen, team
        self.half = native_half(team.device)
        self.generator = torch.Generator().manual_seed(seed)
        self.per_row, self.uses_lists = _lists(self.d, self.K)
        # The angle between neighbours, in radians: caps of half of it nearly fill the sphere.
        angle = min(1.0, 2.0 * self.K ** (-1.0 / (self.d - 1)))
        self.first_sharpness = (2.0 if self.uses_lists else 1.25) * math.sqrt(self.d) / angle**2
        self.last_sharpness = _LAST_SHARPNESS / angle**2
        self.first_rate = (0.07 if self.uses_lists else 0.1) * angle
        # The optimizer treats rows independently, so each thread moves a share of them.
        self.edges = np.linspace(frozen, self.K, team.count + 1).astype(int).tolist()
        self.optimizers = [
            riemannian_adam(
                riemannian.ManifoldParameter(self.W[a:b], manifold=riemannian.Sphere()),
                lr=self.first_rate,
                betas=(0.9, 0.99),
            )
            for a, b in zip(self.edges[:-1], self.edges[1:], strict=True)
        ]
        self.neighbours: Neighbours | None = None
        self.list_steps, self.remaining_travel = 0, 0.0
        self.loss: float | None = None
        self.best, self.best_cosine = self.W.clone(), math.inf
        self.history: list[tuple[int, float]] = []
        self.pass_seconds = 0.0

    def run(
        self,
        plan: Plan,
        deadline: Deadline,
        save_best: Callable[[], None],
    ) -> Outcome:
        """Descend until the target is reached, the steps are done, or the time is over.

        The time of the exact pass is reserved.
        """
        progress = plan.stage("large scale: max_cosine")
        by_time, start = plan.steps is None and deadline.seconds is not None, deadline.elapsed
        planned = plan.steps if plan.steps is not None else _default_steps(self.d, self.K)
        while by_time or len(self.history) < planned:
            search = deadline.reserving(self._closing_seconds())
            share = len(self.history) / max(1, planned - 1)
            if by_time:
                duration = max((search.seconds or 0.0) - start, 1e-9)
                share = (deadline.elapsed - start) / duration
            try:
                smoothed = self._evaluate(share, search)
            except TimeoutError:
                return Outcome.TIME_LIMIT
            if not math.isfinite(smoothed.loss):
                return Outcome.NONFINITE
            self._step(smoothed, share)
            self.history.append((len(self.history), smoothed.max_cosine))
            if progress is not None:
                progress(int(100 * min(1.0, share)), 100, smoothed.max_cosine)
            save_best()
            if 1.0 - self.best_cosine >= plan.target_distance + self._rounding:
                return Outcome.TARGET_REACHED
        return Outcome.MAX_STEPS_REACHED

    @property
    def _rounding(self) -> float:
        """Largest error of a largest cosine by rounding, which is larger in bfloat16."""
        return 1e-3 if self.half and not self.uses_lists else 1e-6

    def certified_best(
        self, fixed_rows: np.ndarray, deadline: Deadline
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the better of the last and the best rows, shape (K, d), and exact row maxima.

        The maxima have shape (K,); they are None where the deadline passed before.
        """
        codes: list[tuple[float, np.ndarray, np.ndarray | None]] = []
        for W in (self.W, self.best):  # the best rows are always finite
            rows = self.exact(W, fixed_rows)
            if bool(torch.isfinite(rows).all()):
                maxima = self._row_maxima(rows, deadline)
                largest = math.inf if maxima is None else float(maxima.max())
                codes.append((largest, rows.cpu().numpy(), maxima))
                # By rounding, the cosine of the best rows may be too low: then they are compared.
                if largest <= self.best_cosine + self._rounding:
                    break
        _, weights, maxima = min(reversed(codes), key=lambda code: code[0])
        return weights, maxima

    @staticmethod
    def exact(W: torch.Tensor, fixed_rows: np.ndarray) -> torch.Tensor:
        """Return W as unit rows, shape (K, d), float64, with the fixed rows unchanged."""
        exact = W.to(torch.float64)
        exact /= exact.norm(dim=1, keepdim=True)
        exact[: len(fixed_rows)] = torch.from_numpy(fixed_rows).to(W.device)
        return exact

    def _row_maxima(self, exact: torch.Tensor, deadline: Deadline) -> np.ndarray | None:
        """Return exact row maxima of float64 unit rows, or None where the deadline passes."""
        with suppress(TimeoutError):
            if self.d <= gram.MAX_TREE_DIMENSIONS:
                return gram.row_maxima(exact.cpu().numpy(), deadline=deadline)[0]
            maxima = self._listed_maxima(exact, deadline) if self.uses_lists else None
            if maxima is None:
                maxima = blocked_row_maxima(exact, self.team, deadline=deadline)
            return maxima.cpu().numpy()
        return None

    def _listed_maxima(self, exact: torch.Tensor, deadline: Deadline) -> torch.Tensor | None:
        """Return exact row maxima from a list, or None where it is not complete.

        The cost is a third of that of a full pass. The maximum of a row with a listed pair is in
        the list. The list was decided in float32, so maxima must exceed the threshold by more than
        that rounding; the few rows of which they do not are compared with all others in float64.
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
        for rows in unlisted.split(max(1, 2**23 // self.K)):
            deadline.check()
            products = exact[rows] @ exact.T
            products[torch.arange(len(rows), device=products.device), rows] = -math.inf
            maxima[rows] = products.amax(1)
        return maxima

    def _evaluate(self, share: float, deadline: Deadline) -> Smoothed:
        """Compute loss and gradient at the present rows, at a share of the work.

        Raises:
            TimeoutError: the deadline passed.
        """
        deadline.check()
        started = time.monotonic()
        growth = self.last_sharpness / self.first_sharpness
        sharpness = self.first_sharpness * growth ** min(1.0, share)
        # The error of a cosine in bfloat16 is about 0.0022 / sqrt(d), which must not matter in exp.
        half = self.half and sharpness * 0.0022 / math.sqrt(self.d) < 0.5
        is_full = True
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
            is_full = self.neighbours is None or (
                self.remaining_travel <= 0.0 and self.list_steps >= _MIN_LIST_STEPS
            )
            if is_full or self.neighbours is None:
                self.neighbours = self._list_pairs(deadline)
            shift = self.neighbours.threshold if self.loss is None else self.loss
            smoothed = sparse_log_sum_exp(
                self.W, self.neighbours, sharpness, self.team, shift=shift, deadline=deadline
            )
            self.list_steps += 1
        if is_full:
            # Every pair was compared: the time of such a pass and the cosine of the rows are known.
            self.pass_seconds = time.monotonic() - started
            if smoothed.max_cosine < self.best_cosine:
                self.best.copy_(self.W)
                self.best_cosine = smoothed.max_cosine
            if self.neighbours is not None:
                # An unlisted pair matters once its cosine has grown by the gap from the threshold
                # to the maximum. Moves have d directions; the extreme pair is about 4 sigma away.
                level = self.neighbours.threshold
                slope = math.sqrt(2.0 * max(1e-12, 1.0 - level**2) / self.d)
                self.remaining_travel = (smoothed.max_cosine - level) / (4.0 * slope)
        self.loss = smoothed.loss
        return smoothed

    def _list_pairs(self, deadline: Deadline) -> Neighbours:
        """List the close pairs of the present rows."""
        threshold = choose_threshold(self.W, self.per_row, generator=self.generator)
        self.neighbours, self.list_steps = None, 0  # memory for the new list
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
        """Return whether to search in bfloat16: its error, 0.006, must be small for distances."""
        return self.half and threshold < 0.8

    def _step(self, smoothed: Smoothed, share: float) -> None:
        """Take one Riemannian Adam step of every row that is not fixed."""
        rate = self.first_rate * (0.01 + 0.99 * 0.5 * (1.0 + math.cos(math.pi * min(1.0, share))))

        def move(thread: int) -> None:
            group = self.optimizers[thread].param_groups[0]
            (rows,) = group["params"]
            # The gradients of K rows have a total weight of 1; Adam's eps expects order 1 for each.
            rows.grad = self.K * smoothed.gradient[self.edges[thread] : self.edges[thread + 1]]
            group["lr"] = rate
            self.optimizers[thread].step()
            rows.grad = None
            rows.data.div_(rows.data.norm(dim=1, keepdim=True))

        self.team.map(move)
        self.remaining_travel -= rate

    def _closing_seconds(self) -> float:
        """Return the time of the work after the search, in seconds: two exact passes at most."""
        if self.d <= gram.MAX_TREE_DIMENSIONS:  # a tree takes 3 us a row for d = 3, 15 us for d = 6
            return 0.5 + 1e-6 * 1.6**self.d * self.K
        return 0.5 + (2.5 if self.uses_lists else 4.0) * self.pass_seconds
