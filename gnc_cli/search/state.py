"""The state of a search: its candidates, its counts, and both as plain arrays for `--resume`."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gnc_cli.geometry.active_pairs import ActivePairs
from gnc_cli.records import read_plain
from gnc_cli.search.effort import Effort
from gnc_cli.search.parametrisation import cyclic_orbits
from gnc_cli.search.problem import Problem, Tammes

POOL = 10
"""Candidates that a pool keeps."""


@dataclass(frozen=True)
class Candidate:
    """A configuration and what is known of it."""

    value: float
    """Polished value, or the estimate of where its basin leads."""
    whole: np.ndarray
    """All rows, [W] or [W; H]."""
    stationarity: float = np.inf
    restricted: Problem | None = None
    """The problem over the user's symmetry, which the candidate must keep; None where free."""
    active: tuple[ActivePairs, np.ndarray] | None = None
    """Active pairs of the polish and their multipliers."""
    origin: str = ""
    """The group or construction that its first start was made with; empty for a random one."""

    @property
    def polished(self) -> bool:
        """The value is exact and first-order conditions were met or nearly so."""
        return bool(np.isfinite(self.stationarity))


@dataclass(frozen=True)
class Found:
    """What a task ended with."""

    source: str
    candidates: list[Candidate]
    restarts: int = 0
    steps: int = 0
    independent: bool = False
    """Its starts knew nothing of earlier finds."""
    used: tuple[float, ...] = ()
    """Values of unpolished candidates of the pool that were polished."""


@dataclass
class SearchState:
    """All that a search needs to go on."""

    round: int = 0
    tasks: int = 0
    """Tasks of all complete rounds."""
    restarts: int = 0
    steps: int = 0
    idle: int = 0
    """Tasks since the best value last fell."""
    batches: int = 0
    """Independent tasks: their starts knew nothing of earlier finds."""
    hits: int = 0
    """Of these, how many ended in the best value, polished."""
    credit: dict[str, float] = field(default_factory=dict)
    """Per source of starts: improvements of late."""
    pool: list[Candidate] = field(default_factory=list)
    history: list[tuple[int, float]] = field(default_factory=list)
    finds: list[Candidate] = field(default_factory=list)
    """Results beside the pool, of rounds cut short and of the last polish: they count for `best`,
    and rounds to come start from none of them."""
    cut_restarts: int = 0
    """Descents of tasks cut short."""
    cut_steps: int = 0
    ended: dict[int, Found] = field(default_factory=dict)
    """Tasks of the round to come that are done already, by their number in it."""

    @property
    def all_restarts(self) -> int:
        """Descents of all tasks, those cut short included."""
        return self.restarts + self.cut_restarts + sum(e.restarts for e in self.ended.values())

    @property
    def all_steps(self) -> int:
        """Their steps."""
        return self.steps + self.cut_steps + sum(e.steps for e in self.ended.values())

    @property
    def leader(self) -> Candidate | None:
        """The best of the pool: polished ones first."""
        return _best_of(self.pool)

    @property
    def best(self) -> Candidate | None:
        """The best of all that was found."""
        return _best_of(self.pool + self.finds)

    def done(self, effort: Effort, target: float | None) -> bool:
        """All tasks are over, the target is met, the best value has not fallen for long, or it was
        found again and again."""
        leader = self.leader
        if leader is not None and leader.polished:
            met = target is not None and leader.value <= target
            if met or self.idle >= effort.patience or self.hits >= effort.hits:
                return True
        return self.tasks >= effort.tasks


def _best_of(pool: list[Candidate]) -> Candidate | None:
    polished = [c for c in pool if c.polished]
    return min(polished or pool, key=lambda c: c.value, default=None)


def best_distinct(pool: list[Candidate]) -> list[Candidate]:
    """The best `POOL`, sorted; of equal values (polished ones agree to rounding) the one that was
    found first."""
    kept: list[int] = []
    for i in sorted(range(len(pool)), key=lambda i: (pool[i].value, not pool[i].polished)):
        if not kept or pool[i].value - pool[kept[-1]].value > 1e-11:
            kept.append(i)
        elif i < kept[-1] and pool[i].polished >= pool[kept[-1]].polished:
            kept[-1] = i
    return [pool[i] for i in kept[:POOL]]


_COUNTS = (
    "round",
    "tasks",
    "restarts",
    "steps",
    "idle",
    "batches",
    "hits",
    "cut_restarts",
    "cut_steps",
)
_FOUND = ("source", "restarts", "steps", "independent")


def to_plain(state: SearchState) -> dict[str, Any]:
    """The state as nested dictionaries of arrays and integers: /state of a code file."""
    return {
        **{name: getattr(state, name) for name in _COUNTS},
        "credit": {name: np.float64(value) for name, value in state.credit.items()},
        "history": np.array(state.history, dtype=np.float64).reshape(-1, 2),
        "pool": {str(i): _candidate_to_plain(c) for i, c in enumerate(state.pool)},
        "finds": {str(i): _candidate_to_plain(c) for i, c in enumerate(state.finds)},
        "ended": {
            str(at): {
                **{name: getattr(each, name) for name in _FOUND},
                "used": list(each.used),
                "found": {str(i): _candidate_to_plain(c) for i, c in enumerate(each.candidates)},
            }
            for at, each in state.ended.items()
        },
    }


def from_plain(plain: dict[str, Any], d: int, K: int, *, separate: bool = False) -> SearchState:
    """The state that `to_plain` took apart; `separate`: features are unknowns beside the weights.

    KeyError or ValueError where the dictionary is not of this shape, or holds what no search does.
    """
    shape = (2 * K if separate else K, d)

    def candidates(stored: dict[str, Any]) -> list[Candidate]:
        return [_candidate_from_plain(stored[str(i)], shape) for i in range(len(stored))]

    def found(stored: Any) -> Found:
        plain = {**read_plain(dict[str, Any], stored, "ended"), "candidates": []}
        each: Found = read_plain(Found, plain, "ended")
        if min(each.restarts, each.steps) < 0:
            raise ValueError("a count is negative")
        return replace(each, candidates=candidates(plain["found"]))

    counts = read_plain(dict[str, int], {name: plain[name] for name in _COUNTS})
    if min(counts.values()) < 0:
        raise ValueError("a count is negative")
    for name in ("credit", "pool", "finds", "ended"):
        read_plain(dict[str, Any], plain.get(name), name)
    if np.shape(plain["history"])[1:] != (2,):
        raise ValueError("the history is no list of steps and values")
    return SearchState(
        **counts,
        credit=read_plain(dict[str, float], plain["credit"], "credit"),
        pool=candidates(plain["pool"]),
        finds=candidates(plain["finds"]),
        history=[(int(step), float(value)) for step, value in plain["history"]],
        ended={int(at): found(each) for at, each in plain["ended"].items()},
    )


def _candidate_to_plain(candidate: Candidate) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "value": np.float64(candidate.value),
        "whole": candidate.whole,
        "stationarity": np.float64(candidate.stationarity),
        "origin": candidate.origin,
    }
    if candidate.restricted is not None:
        group = candidate.restricted.parametrisation.group
        assert group is not None, "a restriction is a symmetry"
        plain["symmetry"] = {"generator": group[0], "order": group[1]}
    if candidate.active is not None:
        pairs, multipliers = candidate.active
        proof = {"a": pairs.a, "b": pairs.b, "e": pairs.e, "multipliers": multipliers}
        plain["proof"] = {name: array for name, array in proof.items() if array is not None}
    return plain


def _candidate_from_plain(plain: dict[str, Any], shape: tuple[int, int]) -> Candidate:
    whole = np.array(plain["whole"], dtype=np.float64)
    if whole.shape != shape:
        raise ValueError(f"a stored code has shape {whole.shape}, not {shape}")
    value, stationarity = float(plain["value"]), float(plain["stationarity"])
    if not np.isfinite(value) or np.isnan(stationarity) or not np.isfinite(whole).all():
        raise ValueError("a stored code has a number that is not finite")
    if not whole.any(axis=1).all():
        raise ValueError("a stored code has a row of zeros")
    restricted = active = None
    if "symmetry" in plain:
        group = plain["symmetry"]
        generator = np.asarray(group["generator"])
        restricted = Tammes(cyclic_orbits(generator, int(group["order"]), shape[0]))
    if "proof" in plain:
        proof = {name: np.asarray(array) for name, array in plain["proof"].items()}
        rows = [proof[name] for name in ("a", "b", "e") if name in proof]
        for row in rows:
            if (
                row.dtype.kind not in "iu"
                or row.shape != proof["multipliers"].shape
                or (row.size and not 0 <= row.min() <= row.max() < shape[0])
            ):
                raise ValueError("a stored code has pairs of rows that it lacks")
        active = ActivePairs(proof["a"], proof["b"], proof.get("e")), proof["multipliers"]
    origin = read_plain(str, plain["origin"], "origin")
    return Candidate(value, whole, stationarity, restricted, active, origin)
