"""What a call of `solve` asks for: its arguments checked against each other, before any work."""

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc_cli.errors import DataError, UsageError
from gnc_cli.parameters import spelled
from gnc_cli.search.effort import LARGE

_UNIT = 1e-14
"""Rows this near to unit length are not touched."""
_ROUNDING = 1e-12
"""A target within this of a certified value is met: 0.2 by 0.20000000000000018."""


@dataclass(frozen=True)
class Request:
    """A checked call of `solve`."""

    d: int
    K: int
    problem: str
    """`tammes`, `softmax` or `ufm`."""
    method: str = "auto"
    seed: int = 0
    restarts: int | None = None
    steps: int | None = None
    init: np.ndarray | None = None
    """Unit rows, shape (K, d)."""
    fixed: np.ndarray | None = None
    """Unit rows that stay, shape (F, d)."""
    symmetry: tuple[str, int] | None = None
    """`("antipodal", 2)` or `("cyclic", n)`."""
    target: float | None = None
    """Stop at this value: largest cosine (Tammes), or rho (softmax)."""
    taus: tuple[float, ...] = ()
    weight_decay: float | None = None
    n: int = 1

    @property
    def separate(self) -> bool:
        """Weights and features are separate unknowns of a search: some weights are given."""
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
    d: int | None,
    K: int | None,
    *,
    problem: str,
    method: str,
    seed: int,
    restarts: int | None,
    steps: int | None,
    init: Any,
    fixed: Any,
    symmetry: str | None,
    target: float | None,
    taus: tuple[float, ...],
    weight_decay: float | None,
    n: int,
) -> Request:
    """Which arguments of `solve` go together; each by itself has been checked.

    Raises:
        UsageError: an argument contradicts another.
        DataError: a start or fixed file cannot be used.
    """
    missing = [spelled(name) for name, value in (("d", d), ("K", K)) if value is None]
    if d is None or K is None:
        raise UsageError(f"missing option {' and '.join(missing)}; see gnc solve --help")
    name = spelled
    ufm, paper = problem == "ufm", method == "paper"
    if ufm and not taus and weight_decay is None:
        raise UsageError(
            f"{name('problem', problem)} needs a temperature; add {name('tau', 0.1)} "
            f"(or {name('weight_decay')})"
        )
    if not ufm:
        given = {"tau": bool(taus), "weight_decay": weight_decay is not None, "n": n != 1}
        for option in (option for option, is_given in given.items() if is_given):
            raise UsageError(
                f"{name(option)} belongs to {name('problem', 'ufm')}, not {problem}; drop it"
            )
    group = None if symmetry is None else _group(symmetry)
    for option, value in (("fixed", fixed), ("symmetry", group)):
        if value is not None and (ufm or paper):
            raise UsageError(
                f"{name(option)} needs {name('problem', 'softmax')} or tammes with a search; "
                "drop it"
            )
    arrangement = {"fixed": fixed, "init": init}
    for option, value in arrangement.items():
        if value is not None and group is not None:
            raise UsageError(
                f"{name(option)} and {name('symmetry')} exclude each other; give one of them"
            )
    if group is not None and group[1] > K:
        raise UsageError(
            f"{name('symmetry', symmetry)} has orbits longer than {name('K', K)}; lower it"
        )
    if paper and (ufm or restarts is not None):
        what = name("problem", "ufm") if ufm else name("restarts")
        raise UsageError(f"{name('method', method)} is one run from one random start; drop {what}")
    if init is not None and paper:
        raise UsageError(
            f"{name('method', method)} starts at random; drop {name('init')} or {name('method')}"
        )
    if target is not None and ufm:
        raise UsageError(
            f"{name('target', target)} has no meaning for {name('problem', problem)}; drop it"
        )
    if restarts == 0 and init is None:
        raise UsageError(f"{name('restarts', 0)} only polishes a given start; add {name('init')}")
    if K > LARGE and (group is not None or ufm or paper):
        what = name("problem", "ufm") if ufm else name("method", method)
        what = name("symmetry") if group else what
        raise UsageError(f"{what} goes up to K = {LARGE}; K = {K} needs the plain descent")
    held = None if fixed is None else _rows("fixed", fixed, d)
    if held is not None and len(held) >= K:
        raise UsageError(
            f"{name('fixed')} holds {len(held)} rows and K = {K}; ask for more points"
        )
    start = None if init is None else _rows("init", init, d)
    if start is not None and len(start) != K:
        raise DataError(f"{name('init')} holds {len(start)} rows, K = {K}; they must agree")
    return Request(
        d, K, problem, method, seed, restarts, steps, start, held, group, target,
        taus, weight_decay, n,
    )  # fmt: skip


def _group(symmetry: str) -> tuple[str, int]:
    kind, _, order = symmetry.partition(":")
    return kind, int(order or 2)


def _rows(argument: str, source: Any, d: int) -> np.ndarray:
    """Unit rows (m, d), float64, of an array or a file."""
    name = spelled(argument)
    if isinstance(source, (str, os.PathLike)):
        from gnc_cli.io.codefile import read_points

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
