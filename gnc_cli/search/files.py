"""Files around a solve: checked early, resumed from, written at the end."""

import os
from dataclasses import replace
from hashlib import sha256
from typing import Any

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.io.codefile import CodeFile, read_code, write_code, write_streamed
from gnc_cli.records import plain
from gnc_cli.search.request import Request
from gnc_cli.search.result import SolveResult, SolveSweep

_Path = str | os.PathLike[str]


def check_same_code(out: _Path | None, request: Request) -> None:
    """Refuse to replace a file that is no code of this size.

    Raises:
        DataError: it is something else.
    """
    if out is None or not os.path.exists(out):
        return
    shape = read_code(out).weights.shape
    if shape != (request.K, request.d):
        raise DataError(
            f"{os.fspath(out)!r} holds a code of shape {shape}, not {(request.K, request.d)}; "
            "use --force to start anew"
        )


def read_state(out: _Path | None, request: Request) -> tuple[Any, Request]:
    """What to go on with: the state of the search, or (without a search) the code as the start.

    Returns:
        The state (None where there is none yet), and the request, with its start where the file
        holds a code of a large descent or of a feature model.

    Raises:
        DataError: the file cannot be gone on with, or belongs to another problem, (d, K), seed or
            option.
    """
    if out is None or os.fspath(out) == "-" or not os.path.exists(out):
        return None, request
    from gnc_cli.search.state import FORMAT, from_plain

    code = read_code(out)
    state = dict(code.state or {})
    if not state and (request.large or request.problem == "ufm") and request.method != "paper":
        check_same_code(out, request)
        made = (code.provenance.get("result") or {}).get("problem")
        if made is not None and made != request.problem:
            raise DataError(
                f"{os.fspath(out)!r} was made with problem = {made}, not {request.problem};"
                " resume with equal options, or use --force to start anew"
            )
        start = code.weights if request.fixed is None else code.weights[len(request.fixed) :]
        return None, replace(request, init=start if request.init is None else request.init)
    if not state:
        raise DataError(f"{os.fspath(out)!r} holds no solver state to resume; use --force to redo")
    if state.get("format") != FORMAT:
        name = os.fspath(out)
        raise DataError(
            f"{name!r} holds the state of an earlier version's search, which cannot be resumed;"
            f" start from its code: --init {name} with another --out"
        )
    was, now = state.pop("identity", {}), _identity(request)
    for key, value in now.items():
        if was.get(key) != value:
            raise DataError(
                f"{os.fspath(out)!r} was made with {key} = {was.get(key)}, not {value};"
                " resume with equal options, or use --force to start anew"
            )
    try:
        return from_plain(
            state, request.d, request.K, separate=request.separate
        ), request
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{os.fspath(out)!r} holds a damaged solver state: {error}") from error


def write_solution(
    result: SolveResult | SolveSweep,
    state: dict[str, Any] | None,
    request: Request,
    options: dict[str, Any],
    out: _Path | None,
    plot: _Path | None,
    *,
    force: bool,
) -> SolveResult | SolveSweep:
    """Write the code with its provenance and state, and the plot; returns the result naming it."""
    if out is not None:
        result = replace(result, out=os.fspath(out))
        if isinstance(result, SolveResult) and not isinstance(result.weights, np.ndarray):
            rows = result.weights  # made block by block
            made = _provenance(result, options)
            write_streamed(out, rows.shape, rows.unit, made, force=force)
        else:
            write_code(out, _code_file(result, state, request, options), force=force)
    if plot is not None:
        from gnc_cli.search.plot import plot_solve

        plot_solve(result, plot)
    return result


def _code_file(
    result: SolveResult | SolveSweep,
    state: dict[str, Any] | None,
    request: Request,
    options: dict[str, Any],
) -> CodeFile:
    last = result.rows[-1] if isinstance(result, SolveSweep) else result
    features = last.features
    labels = None
    if features is not None and len(features) != request.K:
        labels = np.repeat(np.arange(request.K), len(features) // request.K)
    return CodeFile(
        weights=last.weights,
        features=features,
        labels=labels,
        provenance=_provenance(result, options),
        state={**state, "identity": _identity(request)} if state else None,
    )


def _provenance(result: SolveResult | SolveSweep, options: dict[str, Any]) -> dict[str, Any]:
    shown = result.to_json()
    shown.pop("out", None)  # a path belongs to one machine
    return {**options, "libraries": _libraries(), "result": shown}


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


def _libraries() -> dict[str, str]:
    from importlib.metadata import version

    return {name: plain(version(name)) for name in ("numpy", "scipy", "torch", "geoopt")}
