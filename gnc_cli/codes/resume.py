"""A search's state as plain arrays and scalars, and back: what a code file keeps under /state."""

from typing import Any

import numpy as np

from gnc_cli.codes.layout import free, orbits
from gnc_cli.codes.problem import Problem
from gnc_cli.codes.search import Candidate, SearchState
from gnc_cli.codes.softmax_code import SoftmaxCode
from gnc_cli.codes.tammes import Tammes

__all__ = ["from_plain", "to_plain"]

_PROBLEMS: dict[str, type[Problem]] = {c.__name__: c for c in (Tammes, SoftmaxCode)}


def to_plain(states: dict[str, SearchState]) -> dict[str, Any]:
    """Nested dictionaries of arrays and integers."""
    return {name: _state_to_plain(state) for name, state in states.items()}


def from_plain(plain: dict[str, Any], d: int, K: int) -> dict[str, SearchState]:
    """The states that `to_plain` took apart.

    Raises:
        KeyError, ValueError: the dictionaries are not of this shape.
    """
    return {
        name: _state_from_plain(plain[name], kind, d, K)
        for name, kind in _PROBLEMS.items()
        if name in plain
    }


def _state_to_plain(state: SearchState) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "round": state.round,
        "restarts": state.restarts,
        "steps": state.steps,
        "idle": state.idle,
        "history": np.array(state.history, dtype=np.float64).reshape(-1, 2),
        "value": np.array([c.value for c in state.pool]),
        "stationarity": np.array([c.stationarity for c in state.pool]),
        "gap": np.array([c.gap for c in state.pool]),
    }
    if state.pool:
        plain["whole"] = np.array([c.whole for c in state.pool])
    groups = {str(i): c.over.layout.group for i, c in enumerate(state.pool) if c.over is not None}
    plain["symmetry"] = {
        i: {"generator": group[0], "order": group[1]} for i, group in groups.items() if group
    }
    return plain


def _state_from_plain(plain: dict[str, Any], kind: type[Problem], d: int, K: int) -> SearchState:
    base = kind(free(d, K))
    over = {
        int(i): base.with_layout(orbits(np.asarray(g["generator"]), int(g["order"]), K))
        for i, g in plain.get("symmetry", {}).items()
    }
    rows = len(base.movable())
    wholes = np.asarray(plain.get("whole", np.empty((0, rows, d))))
    if wholes.shape[1:] != (rows, d):
        raise ValueError(f"the stored codes have shape {wholes.shape[1:]}, not {(rows, d)}")
    numbers = zip(
        plain["value"], wholes, plain["stationarity"], plain["gap"], strict=True
    )
    pool = [
        Candidate(float(value), np.array(whole), float(stationarity), float(gap), over.get(i))
        for i, (value, whole, stationarity, gap) in enumerate(numbers)
    ]
    return SearchState(
        round=int(plain["round"]),
        restarts=int(plain["restarts"]),
        steps=int(plain["steps"]),
        idle=int(plain["idle"]),
        pool=pool,
        history=[(int(step), float(value)) for step, value in plain["history"]],
    )
