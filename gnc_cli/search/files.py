"""Files around a solve: checked early, resumed from, written at the end."""

import os
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from importlib.metadata import version
from typing import Any

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.io.codefile import CodeFile, read_code, write_code, write_streamed
from gnc_cli.parameters import Path, spelled
from gnc_cli.search.request import Request
from gnc_cli.search.result import SolveSweep


def check_same_code(out: Path, request: Request) -> None:
    """Refuse to replace a file that is no code of this size.

    Raises:
        DataError: it is something else.
    """
    if os.path.exists(out):
        _check_shape(out, read_code(out), request)


def read_state(out: Path, request: Request) -> tuple[Any, Request]:
    """What to go on with: the state of the search, or (without a search) the code as the start.

    Returns:
        The state (None where there is none yet), and the request, with its start where the file
        holds a code of a large descent or of a feature model.

    Raises:
        DataError: the file cannot be gone on with, or belongs to another problem, (d, K), seed or
            option.
    """
    if not os.path.exists(out):
        return None, request
    from gnc_cli.search.state import FORMAT, from_plain

    code, name, anew = read_code(out), os.fspath(out), f"use {spelled('force')} to start anew"
    state = dict(code.state or {})
    if not state and (request.large or request.problem == "ufm") and request.method != "paper":
        _check_shape(out, code, request)
        made = (code.provenance.get("result") or {}).get("problem", request.problem)
        _check_equal(out, {"problem": made}, {"problem": request.problem})
        start = code.weights if request.fixed is None else code.weights[len(request.fixed) :]
        return None, replace(request, init=start if request.init is None else request.init)
    if not state:
        raise DataError(f"{name!r} holds no solver state to resume; {anew}")
    if state.get("format") != FORMAT:
        raise DataError(
            f"{name!r} holds the state of an earlier version's search, which cannot be resumed; "
            f"start from its code: {spelled('init', name)} with another {spelled('out')}"
        )
    _check_equal(out, state.pop("identity", {}), _identity(request))
    try:
        return from_plain(state, request.d, request.K, separate=request.separate), request
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{name!r} holds a damaged solver state: {error}; {anew}") from error


def _check_shape(out: Path, code: CodeFile, request: Request) -> None:
    shape = code.weights.shape
    if shape != (request.K, request.d):
        raise DataError(
            f"{os.fspath(out)!r} holds a code of shape {shape}, not {(request.K, request.d)}; "
            f"use {spelled('force')} to start anew"
        )


def _check_equal(out: Path, was: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    for key, value in now.items():
        if was.get(key) != value:
            raise DataError(
                f"{os.fspath(out)!r} was made with {key} = {was.get(key)}, not {value}; "
                f"resume with equal options, or use {spelled('force')} to start anew"
            )


def write_solution(
    result: Any, state: dict[str, Any] | None, request: Request, asked: Mapping[str, Any]
) -> Any:
    """Write the code with its provenance and state, and the plot; returns the result naming it."""
    out, force = asked["out"], asked["force"] or asked["resume"]
    if out is not None:
        result = replace(result, out=os.fspath(out))
        shown = result.to_json()
        shown.pop("out")  # a path belongs to one machine
        libraries = {name: version(name) for name in ("numpy", "scipy", "torch", "geoopt")}
        options = {"method": request.method, "seed": request.seed, "command": asked["command_line"]}
        provenance = {**options, "libraries": libraries, "result": shown}
        last = result.rows[-1] if isinstance(result, SolveSweep) else result
        if not isinstance(last.weights, np.ndarray):  # rows that are made block by block
            rows = last.weights
            write_streamed(out, rows.shape, rows.unit, provenance, force=force)
        else:
            labels = None
            if last.features is not None and len(last.features) != request.K:
                labels = np.repeat(np.arange(request.K), len(last.features) // request.K)
            state = {**state, "identity": _identity(request)} if state else None
            code = CodeFile(last.weights, last.features, labels, provenance=provenance, state=state)
            write_code(out, code, force=force)
    if asked["plot"] is not None:
        from gnc_cli.search.plot import plot_solve

        plot_solve(result, asked["plot"])
    return result


def _identity(request: Request) -> dict[str, Any]:
    """What must agree for a state to be gone on with."""
    given = b"" if request.fixed is None else np.ascontiguousarray(request.fixed).tobytes()
    return {
        "problem": request.problem,
        "d": request.d,
        "K": request.K,
        "seed": request.seed,
        "steps": request.steps or 0,
        "symmetry": ":".join(map(str, request.symmetry or ())),
        "fixed": sha256(given).hexdigest() if given else "",
    }
