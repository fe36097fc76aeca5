"""One call of `solve`: which way to a code is taken, what became of the target, its files.

Files are checked early, resumed from, written every half a minute of a search and at the end.
"""

import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import sha256
from importlib.metadata import version
from pathlib import PurePath
from typing import Any

import numpy as np

from gnc_cli.constructions.families.theorem_3_3 import closed_form
from gnc_cli.errors import DataError, UsageError
from gnc_cli.io.codefile import (
    CodeFile,
    predict_file,
    predict_streamed,
    read_code,
    write_code,
    write_streamed,
)
from gnc_cli.known_codes.best import SEARCHED, best
from gnc_cli.known_codes.verdict import TOLERANCE
from gnc_cli.limits.registry import possible_table
from gnc_cli.metrics.gnc2 import predict_gnc2
from gnc_cli.parameters import Path, spelled
from gnc_cli.records import read_plain
from gnc_cli.runtime.deadline import Deadline, SaveTimes
from gnc_cli.runtime.devices import resolve_device
from gnc_cli.runtime.parallel import processes
from gnc_cli.runtime.predictions import Prediction
from gnc_cli.runtime.threads import available_cores
from gnc_cli.search.algebra import (
    STORED,
    Choice,
    beaten,
    better,
    check_streamed,
    choose,
    constructed_run,
    named_construction,
    stored_code,
    with_start,
)
from gnc_cli.search.methods import (
    closed_form_run,
    large_run,
    search_run,
    stored_run,
    ufm_run,
)
from gnc_cli.search.request import Partial, Request, RuntimeOptions, apart, read_request
from gnc_cli.search.result import Outcome, SolveResult, SolveSweep
from gnc_cli.search.verdict import check_target

_log = logging.getLogger(__name__)


def run(asked: Mapping[str, Any]) -> SolveResult | SolveSweep:
    """Solve with checked arguments, by name; see `api.solve`."""
    deadline = Deadline.of_call(asked["time_limit"], asked["interrupt"])
    runtime = RuntimeOptions(
        deadline,
        asked["device"],
        asked["threads"],
        asked["progress"],
        processes(asked["workers"], asked["cluster"]),
        asked["cluster"],
    )
    out, resume = asked["out"], asked["resume"]
    if resume and (out is None or PurePath(out).suffix.lower() not in (".h5", ".hdf5")):
        raise UsageError(
            f"{spelled('resume')} goes on from the state in a file; add {spelled('out', 'code.h5')}"
        )
    if runtime.device not in ("auto", "cpu"):
        resolve_device(runtime.device)  # missing hardware is said at once, needed or not
    ships = asked["construction"] == STORED
    named = None if asked["construction"] is None or ships else named_construction(asked)
    request = read_request(asked if named is None else {**asked, "d": named.d, "K": named.K})
    possible_table(request.table)  # a line of it that is wrong is known before the search
    if request.target is not None:
        check_target(request.problem, request.d, request.K, request.target)
    if out is not None and request.d > SEARCHED:
        # At least a bit for an entry: said before algebra is asked, which takes minutes there.
        Prediction(disk=request.K * request.d / 8.0).require(
            f"a code of K={request.K} points in d={request.d}",
            f"lower {spelled('K')} or {spelled('d')}, name a file on another disk, "
            f"or drop {spelled('out')}",
            out=out,
        )
    exact = choice = stored = None
    if ships:
        stored = stored_code(asked)
    elif named is not None:
        choice = Choice(named, alone=True)
    elif request.may_use_closed_form:
        exact = closed_form(request.d, request.K)
        limited = asked["time_limit"] is not None or request.target is not None
        choice = choose(request, limited=limited) if exact is None else None
    if choice is not None and choice.streamed:
        check_streamed(out, asked["plot"])
    state = None
    if resume and os.path.exists(out):
        if exact is not None or (choice is not None and choice.alone):
            _check_shape(out, read_code(out), request)  # nothing to go on with; is it ours?
        else:
            state, request = _read_state(out, request)
    elif resume:
        _log.warning("%r does not exist yet; starting anew", os.fspath(out))
    _predicted(request, runtime, exact, choice, out).require(
        _described(request, exact, choice), _smaller(request, runtime, exact, choice), out=out
    )
    files = _Files(request, asked)
    runtime = replace(runtime, save=files.save)
    if stored is not None:
        return files.written(_judged(stored_run(request, runtime, *stored), request), None)
    result, new_state = _solved(request, runtime, exact, choice, state)
    return files.written(_judged(result, request), new_state)


def _predicted(
    request: Request, runtime: RuntimeOptions, exact: Any, choice: Choice | None, out: Path | None
) -> Prediction:
    """What the way to the code takes, and its file."""
    d, K, limit = request.d, request.K, runtime.deadline.seconds
    threads = runtime.threads or available_cores()
    points = (request.n if request.problem == "ufm" else 1) + 1.0  # features beside the rows
    disk = 0.0 if out is None else predict_file(out, points * K * d)
    if request.problem == "ufm":
        from gnc_cli.search.ufm.solver import predict_ufm

        one = predict_ufm(d, K, request.n, request.restarts, request.steps)
        times = max(1, len(request.tau))
        kept = 8.0 * points * K * d * (times - 1)  # the optimum at each temperature
        return Prediction(one.memory + kept, disk, times * one.seconds).within(limit)
    if exact is not None:
        return predict_gnc2(d, K).followed_by(Prediction(disk=disk / 2))
    if choice is not None and choice.streamed:
        if out is None:
            return Prediction()
        rows = choice.construction.build()
        return predict_streamed(out, rows.shape, rows.unit)
    elif choice is not None and choice.alone:
        way = Prediction(24.0 * K * d)
    elif request.large:
        from gnc_cli.search.large_scale import predict_large

        way = predict_large(d, K, request.steps, threads).within(limit)
    else:
        from gnc_cli.search.solver import predict_search

        way = predict_search(request, limit, runtime.workers)
    certified = predict_gnc2(d, K)
    return way.followed_by(Prediction(certified.memory, disk))


def predict_pair(d: int, K: int, seconds: float) -> Prediction:
    """What a plain solve of (d, K) takes on one thread."""
    certified = predict_gnc2(d, K)
    if closed_form(d, K) is not None:
        return certified
    request = Request(d, K, "tammes")
    if request.large:
        from gnc_cli.search.large_scale import predict_large

        return predict_large(d, K, None, 1).followed_by(certified)
    from gnc_cli.search.solver import predict_search

    return predict_search(request, seconds, 1).followed_by(certified)


def _described(request: Request, exact: Any, choice: Choice | None) -> str:
    """The work, in messages."""
    of = f"K={request.K} points in d={request.d}"
    if request.problem == "ufm":
        sweep = f" at {len(request.tau)} temperatures" if len(request.tau) > 1 else ""
        return f"the feature model of K={request.K}, d={request.d}, n={request.n}{sweep}"
    if exact is not None:
        return f"the {exact.name} of {of}"
    if choice is not None and choice.alone:
        return f"the construction {choice.construction.name} of {of}"
    return f"a search for {of}"


def _smaller(request: Request, runtime: RuntimeOptions, exact: Any, choice: Choice | None) -> str:
    """The next step where it does not fit."""
    smaller = f"lower {spelled('K')} or {spelled('d')}"
    if request.problem == "ufm":
        fewer = f", or give fewer {spelled('tau')}" if len(request.tau) > 1 else ""
        return f"{smaller}, or {spelled('n')}{fewer}"
    if choice is not None and choice.streamed:
        return f"{smaller}, name a file on another disk, or drop {spelled('out')}"
    if exact is None and not request.large and runtime.workers > 1:
        return f"{smaller}, or {spelled('workers')}"
    return smaller


def _solved(
    request: Request, runtime: RuntimeOptions, exact: Any, choice: Choice | None, state: Any
) -> tuple[Any, dict[str, Any] | None]:
    """The certified result of one of the ways to a code, and the state of a search."""
    if request.problem == "ufm":
        return ufm_run(request, runtime), None
    if exact is not None:
        return closed_form_run(request, runtime, exact), None
    constructed = None
    if choice is not None:
        # Where a better code is known, a search is likely to do better too: it comes first.
        known, cosine = best(request.d, request.K), choice.construction.cosine.value
        behind = known is not None and known.max_cosine < cosine - TOLERANCE
        if choice.alone or request.target is not None or not behind:
            constructed = constructed_run(request, runtime, choice)
            if choice.alone or _reached(constructed, request):
                return constructed, None
        request = with_start(request, choice)
    new_state = None
    if request.large:
        found = large_run(request, runtime)
    else:
        found, new_state = search_run(request, runtime, state)
    if choice is not None and (constructed or not beaten(choice.construction, found)):
        found = better(constructed or constructed_run(request, runtime, choice), found)
    return found, new_state


def _reached(result: SolveResult, request: Request) -> bool | None:
    """Whether what is certified meets the user's target; None without one."""
    target = request.reachable_target
    if target is None:
        return None
    if request.problem == "softmax":
        return result.rho_one_vs_rest.lower >= target
    return result.max_cosine <= target


def _judged(result: Any, request: Request) -> Any:
    """The outcome in the light of the user's target."""
    reached = _reached(result, request)
    if reached is None or result.outcome is Outcome.INTERRUPTED:
        return result
    outcome = Outcome.TARGET_REACHED if reached else Outcome.TARGET_MISSED
    return replace(result, outcome=outcome, ending=result.outcome)


def _read_state(out: Path, request: Request) -> tuple[Any, Request]:
    """What to go on with: the state of the search, or the code as the start of the request, where a
    large descent or a feature model keeps no state."""
    from gnc_cli.search.state import from_plain

    code, name, anew = read_code(out), os.fspath(out), f"use {spelled('force')} to start anew"
    state = dict(code.state or {})

    def damaged(error: Exception) -> DataError:
        return DataError(
            f"{name!r} holds a solver state that is damaged or of an earlier version ({error}); "
            f"start from its code: {spelled('init', name)} with another {spelled('out')}"
        )

    if not state and (request.large or request.problem == "ufm"):
        _check_shape(out, code, request)
        made = code.provenance.get("identity")
        if isinstance(made, dict):  # else a code that is no result of a search
            _check_equal(out, made, _identity(request))
        start = code.weights if request.fixed is None else code.weights[len(request.fixed) :]
        start = apart(start, request.seed) if request.init is None else request.init
        return None, replace(request, init=start)
    if not state:
        raise DataError(f"{name!r} holds no solver state to resume; {anew}")
    try:
        identity = read_plain(dict[str, Any], state.pop("identity", None), "identity")
    except ValueError as error:
        raise damaged(error) from error
    _check_equal(out, identity, _identity(request))
    try:
        return from_plain(state, request.d, request.K, separate=request.separate), request
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise damaged(error) from error


def _check_shape(out: Path, code: CodeFile, request: Request) -> None:
    """Refuse to replace a file that holds no code of this size."""
    shape = code.weights.shape
    if shape != (request.K, request.d):
        raise DataError(
            f"{os.fspath(out)!r} holds a code of shape {shape}, not {(request.K, request.d)}; "
            f"use {spelled('force')} to start anew"
        )


def _check_equal(out: Path, was: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuse to go on with what was asked otherwise."""
    for key, value in now.items():
        if was.get(key) != value:
            before, asked = (str(part) or "none" for part in (was.get(key), value))
            raise DataError(
                f"{os.fspath(out)!r} was made with {key} = {before}, not {asked}; "
                f"resume with equal options, or use {spelled('force')} to start anew"
            )


class _Files:
    """What one call writes: the code with its provenance and state, now and then, and the plot."""

    def __init__(self, request: Request, asked: Mapping[str, Any]) -> None:
        self._request, self._asked = request, asked
        self._force = asked["force"] or asked["resume"]
        """The file that is there may be replaced: also after it was written here."""
        self._times = SaveTimes()

    def save(self, make: Callable[[], Partial]) -> None:
        """Write what there is before the end, where it is time, that a kill takes no more."""
        if self._asked["out"] in (None, "-") or not self._times.due:
            return
        with self._times.saving():
            weights, state = make()
            self._write(CodeFile(weights, provenance=self._provenance(), state=self._whole(state)))

    def written(self, result: Any, state: dict[str, Any] | None) -> Any:
        """Write the end of it; returns the result naming the file."""
        out = self._asked["out"]
        if out is not None:
            result = replace(result, out=os.fspath(out))
            shown = result.to_json()
            shown.pop("out")  # a path belongs to one machine
            provenance = {**self._provenance(), "result": shown}
            last = result.rows[-1] if isinstance(result, SolveSweep) else result
            if not isinstance(last.weights, np.ndarray):  # rows that are made block by block
                rows = last.weights
                write_streamed(out, rows.shape, rows.unit, provenance, force=self._force)
            else:
                K, labels = self._request.K, None
                if last.features is not None and len(last.features) != K:
                    labels = np.repeat(np.arange(K), len(last.features) // K)
                whole = self._whole(state)
                code = CodeFile(
                    last.weights, last.features, labels, provenance=provenance, state=whole
                )
                self._write(code)
        if self._asked["plot"] is not None:
            from gnc_cli.search.plot import plot_solve

            plot_solve(result, self._asked["plot"])
        return result

    def _write(self, code: CodeFile) -> None:
        write_code(self._asked["out"], code, force=self._force)
        self._force = True

    def _provenance(self) -> dict[str, Any]:
        libraries = {name: version(name) for name in ("numpy", "scipy", "torch", "geoopt")}
        return {
            "identity": _identity(self._request),
            "method": self._request.method,
            "seed": self._request.seed,
            "command": self._asked["command_line"],
            "libraries": libraries,
        }

    def _whole(self, state: dict[str, Any] | None) -> dict[str, Any] | None:
        return {**state, "identity": _identity(self._request)} if state else None


def _identity(request: Request) -> dict[str, Any]:
    """What must agree for a state to be gone on with."""
    given = b"" if request.fixed is None else np.ascontiguousarray(request.fixed).tobytes()
    return {
        **{name: getattr(request, name) for name in ("problem", "d", "K", "seed")},
        "weight_decay": request.weight_decay,
        "n": request.n,
        "tau": ", ".join(map(str, request.tau)),
        "symmetry": ":".join(map(str, request.symmetry or ())),
        "fixed": sha256(given).hexdigest()[:16] if given else "",
    }
