"""Search over basins, shared by the problems: rounds of restarts that differ, hops, polish.

Round r draws everything from the seed and r, so that a search that stopped after any round goes on
exactly as if it had not. Rounds take turns (`rounds`); the pool keeps the best distinct candidates,
the most promising polished to machine precision (`candidates`).
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch

from gnc_cli.codes.candidates import POOL, SearchState, distinct
from gnc_cli.codes.effort import Effort
from gnc_cli.codes.problem import Problem
from gnc_cli.codes.rounds import Symmetry, play_round
from gnc_cli.numerics.deadline import Deadline

__all__ = ["Note", "search"]

Note = Callable[[str, int, int, float], None]


def search(
    problem: Problem,
    effort: Effort,
    seed: int,
    state: SearchState,
    *,
    deadline: Deadline,
    target: float | None = None,
    symmetry: Symmetry | None = None,
    device: torch.device | str = "cpu",
    note: Note | None = None,
) -> SearchState:
    """Run the remaining rounds of a search.

    Args:
        problem: over the layout that the user asked for.
        effort: the plan.
        seed: with the round's number it decides every random choice.
        state: where to go on; `SearchState()` at first.
        deadline: polled at each step; a round it cuts short leaves its `finds` and nothing else,
            so that a resumed search repeats it from its beginning.
        target: stop once the best polished value is at most this.
        symmetry: every round draws its layout here (the user's `--symmetry`); None for the mixture.
        note: told of progress.

    Returns:
        The state after the last complete round.
    """
    while not state.done(effort, target):
        rng = np.random.default_rng([seed, state.round])
        before = state.leader.value if state.leader else np.inf
        nxt = replace(state, pool=list(state.pool), history=list(state.history))
        play_round(
            problem, effort, rng, nxt, symmetry=symmetry, deadline=deadline, device=device
        )
        best = nxt.leader
        if best is not None:
            nxt.history.append((nxt.steps, best.value))
        if deadline.expired:
            return replace(
                state,
                finds=distinct(state.finds + nxt.pool)[:POOL],
                cut_restarts=state.cut_restarts + nxt.restarts - state.restarts,
                cut_steps=state.cut_steps + nxt.steps - state.steps,
            )
        nxt.round += 1
        after = best.value if best else np.inf
        nxt.idle = 0 if after < before - 1e-12 else nxt.idle + 1
        state = nxt
        if note is not None:
            note("search", state.round, effort.rounds, after)
    return state
