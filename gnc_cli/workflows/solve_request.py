"""The doorway of `solve`: everything a caller may hand in, checked once, before any work."""

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc_cli.codes.effort import LARGE
from gnc_cli.errors import DataError, UsageError

__all__ = ["Request", "read_request"]

_UNIT = 1e-14
"""Rows this near to unit length are not touched."""
_ROUNDING = 1e-12
"""A target within this of a certified value is met: 0.2 by 0.20000000000000018."""
_PROBLEMS = ("softmax", "tammes", "ufm")
_METHODS = ("auto", "descent", "paper")


@dataclass(frozen=True)
class Request:
    """A checked call of `solve`."""

    d: int
    K: int
    problem: str
    method: str
    seed: int
    restarts: int | None
    steps: int | None
    init: np.ndarray | None
    fixed: np.ndarray | None
    symmetry: tuple[str, int] | None
    target: float | None
    taus: tuple[float, ...]
    weight_decay: float | None
    n: int

    @property
    def separate(self) -> bool:
        """Weights and features are searched separately: some weights are given."""
        return self.problem == "softmax" and self.fixed is not None

    @property
    def restriction(self) -> str | None:
        """What keeps a search from most codes."""
        return "fixed rows" if self.fixed is not None else "symmetry" if self.symmetry else None

    @property
    def large(self) -> bool:
        """Too large for K x K matrices."""
        return self.K > LARGE

    @property
    def reachable_target(self) -> float | None:
        """The target, easier by what rounding may take away."""
        if self.target is None:
            return None
        return self.target + (-_ROUNDING if self.problem == "softmax" else _ROUNDING)

    @property
    def may_use_closed_form(self) -> bool:
        """Nothing was asked that only a descent can give."""
        plain = self.init is None and self.fixed is None and self.symmetry is None
        return self.method == "auto" and self.problem != "ufm" and plain


def read_request(
    d: Any,
    K: Any,
    *,
    problem: str,
    method: str,
    seed: int,
    restarts: int | None,
    steps: int | None,
    init: Any,
    fixed: Any,
    symmetry: Any,
    target: float | None,
    tau: Any,
    weight_decay: float | None,
    n: int,
) -> Request:
    """Check a call of `solve`; the arguments are its own.

    Raises:
        UsageError: an option is out of range or contradicts another.
        DataError: a start or fixed file cannot be used.
    """
    d, K = _integer("--d", d, 2), _integer("--K", K, 2)
    if problem not in _PROBLEMS:
        raise UsageError(f"--problem {problem!r} is not one of {', '.join(_PROBLEMS)}")
    if method not in _METHODS:
        raise UsageError(f"--method {method!r} is not one of {', '.join(_METHODS)}")
    seed, n = _integer("--seed", seed, 0), _integer("--n", n, 1)
    restarts = None if restarts is None else _integer("--restarts", restarts, 0)
    steps = None if steps is None else _integer("--steps", steps, 1)
    target = None if target is None else _number("--target", target)
    if weight_decay is not None and not _number("--weight-decay", weight_decay) > 0.0:
        raise UsageError(f"--weight-decay {weight_decay:g} must be positive")
    ufm = problem == "ufm"
    if ufm and tau is None and weight_decay is None:
        raise UsageError("--problem ufm needs a temperature; add --tau 0.1 (or --weight-decay)")
    if not ufm and (tau is not None or weight_decay is not None or n != 1):
        raise UsageError(f"--tau, --weight-decay and --n belong to --problem ufm, not {problem}")
    taus = _taus(tau)
    group = _symmetry(symmetry)
    only_search = {"--fixed": fixed, "--symmetry": group}
    for name, value in only_search.items():
        if value is not None and (ufm or method == "paper"):
            raise UsageError(f"{name} needs --problem softmax or tammes with a search; drop it")
    if fixed is not None and group is not None:
        raise UsageError("--fixed and --symmetry exclude each other; give one of them")
    if group is not None and group[1] > K:
        raise UsageError(f"--symmetry cyclic:{group[1]} has orbits longer than --K {K}; lower it")
    if init is not None and group is not None:
        raise UsageError("--init and --symmetry exclude each other; give one of them")
    if method == "paper" and (ufm or restarts is not None):
        what = "--problem ufm" if ufm else "--restarts"
        raise UsageError(f"--method paper is one run from one random start; drop {what}")
    if init is not None and method == "paper":
        raise UsageError("--method paper starts at random; drop --init or --method")
    if target is not None and ufm:
        raise UsageError(f"--target {target:g} has no meaning for --problem ufm; drop it")
    if restarts == 0 and init is None:
        raise UsageError("--restarts 0 only polishes a given start; add --init FILE")
    if K > LARGE and (group is not None or ufm or method == "paper"):
        what = "--symmetry" if group else "--problem ufm" if ufm else "--method paper"
        raise UsageError(f"{what} goes up to K = {LARGE}; K = {K} needs the plain descent")
    given = None if fixed is None else _rows("--fixed", fixed, d)
    if given is not None and len(given) >= K:
        raise UsageError(f"--fixed holds {len(given)} rows and --K is {K}; ask for more points")
    start = None if init is None else _rows("--init", init, d)
    if start is not None and len(start) != K:
        raise DataError(f"--init holds {len(start)} rows, --K is {K}; they must agree")
    return Request(
        d, K, problem, method, seed, restarts, steps, start, given, group, target,
        taus, weight_decay, n,
    )  # fmt: skip


def _integer(name: str, value: Any, least: int) -> int:
    whole = isinstance(value, (int, np.integer)) or (
        isinstance(value, (float, np.floating)) and float(value).is_integer()
    )
    if isinstance(value, (bool, np.bool_)) or not whole:
        raise UsageError(f"{name} {value!r} is not a whole number")
    if int(value) < least:
        raise UsageError(f"{name} {value} is below {least}")
    return int(value)


def _number(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{name} {value!r} is not a number") from error
    if not np.isfinite(number):
        raise UsageError(f"{name} {number:g} must be finite")
    return number


def _taus(tau: Any) -> tuple[float, ...]:
    if tau is None:
        return ()
    values = tuple(_number("--tau", t) for t in np.atleast_1d(np.asarray(tau)).ravel())
    if not values:
        raise UsageError("--tau is an empty list; give at least one temperature")
    for value in values:
        if not value > 0.0:
            raise UsageError(f"--tau {value:g} must be positive and finite")
    return values


def _symmetry(symmetry: Any) -> tuple[str, int] | None:
    if symmetry is None:
        return None
    kind, _, order = str(symmetry).partition(":")
    if kind == "antipodal" and not order:
        return "antipodal", 2
    if kind == "cyclic" and order.isascii() and order.isdigit() and int(order) >= 2:
        return "cyclic", int(order)
    raise UsageError(f"--symmetry {symmetry!r} is neither antipodal nor cyclic:n with n >= 2")


def _rows(name: str, source: Any, d: int) -> np.ndarray:
    """Unit rows (m, d), float64, of an array or a file."""
    if isinstance(source, (str, os.PathLike)):
        from gnc_cli.io.readers import read_points

        rows, said = read_points(source).weights, f"{name} {os.fspath(source)!r}"
    else:
        rows, said = source, name
    try:
        rows = np.array(rows, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{said} is no matrix of numbers: {error}") from error
    if rows.ndim != 2 or rows.shape[1] != d:
        hint = "; it looks transposed" if rows.ndim == 2 and rows.shape[0] == d else ""
        raise DataError(f"{said} has shape {rows.shape}; rows of length --d = {d} expected{hint}")
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.isfinite(norms).all() or (norms == 0.0).any():
        bad = int(np.flatnonzero(~(np.isfinite(norms) & (norms > 0.0)).ravel())[0])
        raise DataError(f"{said}: row {bad} is zero or not finite; remove or mend it")
    # Unit rows stay as they are, bit for bit: dividing by a rounded 1 would change them.
    return np.where(np.abs(norms - 1.0) <= _UNIT, rows, rows / norms)
