"""A search's state as plain arrays and scalars, and back: what a code file keeps under /state."""

from typing import Any

import numpy as np

from gnc_cli.codes.candidates import Candidate, SearchState
from gnc_cli.codes.layout import orbits
from gnc_cli.codes.tammes import Tammes
from gnc_cli.numerics.polish import Polished
from gnc_cli.numerics.terms import Terms

__all__ = ["FORMAT", "from_plain", "to_plain"]

FORMAT = 2
"""Of the state; the first kept two searches, one of them with weights and features apart."""


def to_plain(state: SearchState) -> dict[str, Any]:
    """Nested dictionaries of arrays and integers."""
    return {
        "format": FORMAT,
        "round": state.round,
        "restarts": state.restarts,
        "steps": state.steps,
        "idle": state.idle,
        "cut_restarts": state.cut_restarts,
        "cut_steps": state.cut_steps,
        "history": np.array(state.history, dtype=np.float64).reshape(-1, 2),
        "pool": _pool_to_plain(state.pool),
        "finds": _pool_to_plain(state.finds),
    }


def from_plain(plain: dict[str, Any], d: int, K: int, *, separate: bool = False) -> SearchState:
    """The state that `to_plain` took apart.

    Args:
        d, K: of the code.
        separate: features are unknowns beside the weights.

    Raises:
        KeyError, ValueError: the dictionary is not of this shape.
    """
    shape = (2 * K if separate else K, d)
    pools = {
        name: [_candidate_from_plain(plain[name][str(i)], shape) for i in range(len(plain[name]))]
        for name in ("pool", "finds")
    }
    return SearchState(
        round=int(plain["round"]),
        restarts=int(plain["restarts"]),
        steps=int(plain["steps"]),
        idle=int(plain["idle"]),
        pool=pools["pool"],
        history=[(int(step), float(value)) for step, value in plain["history"]],
        finds=pools["finds"],
        cut_restarts=int(plain["cut_restarts"]),
        cut_steps=int(plain["cut_steps"]),
    )


def _pool_to_plain(pool: list[Candidate]) -> dict[str, Any]:
    return {str(i): _candidate_to_plain(candidate) for i, candidate in enumerate(pool)}


def _candidate_to_plain(candidate: Candidate) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "value": np.float64(candidate.value),
        "whole": candidate.whole,
        "stationarity": np.float64(candidate.stationarity),
        "gap": np.float64(candidate.gap),
    }
    if candidate.over is not None and candidate.over.layout.group is not None:
        generator, order = candidate.over.layout.group
        plain["symmetry"] = {"generator": generator, "order": order}
    if candidate.proof is not None:
        terms = candidate.proof.terms
        plain["proof"] = {"a": terms.a, "b": terms.b, "multipliers": candidate.proof.multipliers}
        if terms.e is not None:
            plain["proof"]["e"] = terms.e
    return plain


def _candidate_from_plain(plain: dict[str, Any], shape: tuple[int, int]) -> Candidate:
    whole = np.array(plain["whole"], dtype=np.float64)
    if whole.shape != shape:
        raise ValueError(f"a stored code has shape {whole.shape}, not {shape}")
    value, gap = float(plain["value"]), float(plain["gap"])
    stationarity = float(plain["stationarity"])
    over, proof = None, None
    if "symmetry" in plain:
        group = plain["symmetry"]
        over = Tammes(orbits(np.asarray(group["generator"]), int(group["order"]), shape[0]))
    if "proof" in plain:
        kept = plain["proof"]
        e = np.asarray(kept["e"]) if "e" in kept else None
        terms = Terms(np.asarray(kept["a"]), np.asarray(kept["b"]), e)
        multipliers = np.asarray(kept["multipliers"])
        proof = Polished(whole, value, terms, multipliers, stationarity, gap, 0)
    return Candidate(value, whole, stationarity, gap, over, proof)
