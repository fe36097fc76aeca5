"""A call of `compare`, checked: which of its three modes is meant, which options belong to it."""

import os
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from gnc_cli.errors import UsageError
from gnc_cli.workflows.whole_numbers import whole_numbers

__all__ = ["Mode", "Request", "read_request"]


class Mode(StrEnum):
    """What `compare` does."""

    FILES = "files"
    LIST = "list"
    SOLVE = "solve"


_MEANT_FOR = {
    "--proven": {Mode.LIST},
    "--digits": {Mode.FILES},
    "--export": {Mode.FILES},
    "--threads": {Mode.FILES},
    "--tolerance": {Mode.FILES, Mode.SOLVE},
    "--require-entry": {Mode.FILES, Mode.SOLVE},
    "--time-limit": {Mode.FILES, Mode.SOLVE},
    "--budget": {Mode.SOLVE},
    "--workers": {Mode.SOLVE},
    "--seed": {Mode.SOLVE},
    "--out": {Mode.SOLVE},
    "--resume": {Mode.SOLVE},
    "--K": {Mode.LIST, Mode.SOLVE},
}
"""Options that not every mode understands."""


@dataclass(frozen=True)
class Request:
    """A checked call of `compare`."""

    mode: Mode
    d: tuple[int, ...] | None
    """Dimensions; None where not given."""
    K: tuple[int, ...] | None
    tolerance: float
    budget: float
    workers: int
    seed: int
    digits: int | None

    @property
    def dimension(self) -> int | None:
        """Of files: the one dimension that was given."""
        return None if self.d is None else self.d[0]


def read_request(
    sources: tuple[Any, ...],
    *,
    modes: dict[Mode, bool],
    d: Any,
    K: Any,
    given: dict[str, bool],
    tolerance: float,
    budget: float | None,
    workers: int | None,
    seed: int,
    digits: int | None,
    resume: bool,
    out: str | os.PathLike[str] | None,
    time_limit: float | None,
) -> Request:
    """Check a call of `compare`.

    Args:
        sources: files and arrays.
        modes: those that were asked for by an option.
        given: whether each option of `_MEANT_FOR` was used.

    Raises:
        UsageError: no mode or several, an option of another mode, a number out of range.
    """
    mode = _mode(sources, modes)
    for option, used in given.items():
        if used and mode not in _MEANT_FOR[option]:
            raise UsageError(f"{option} belongs to {_said(_MEANT_FOR[option])}; drop it")
    dims, sizes = whole_numbers("--d", d), whole_numbers("--K", K)
    if mode is Mode.FILES and dims is not None and len(dims) != 1:
        raise UsageError(f"--d takes one dimension beside files, not {len(dims)}")
    if mode is Mode.SOLVE:
        missing = [n for n, v in (("--d 3..5", dims), ("--K 2..40", sizes)) if v is None]
        if missing:
            raise UsageError(f"--{mode.value} needs to know which pairs: add {' '.join(missing)}")
    if sum(isinstance(s, str) and (s == "-" or s.startswith("-:")) for s in sources) > 1:
        raise UsageError("'-' is stdin and can be read once; give it once")
    if out is not None and os.fspath(out) == "-":
        raise UsageError("--out keeps the rows in a file; for rows on stdout write --jsonl")
    if resume and out is None:
        raise UsageError("--resume goes on from the rows in a file; add --out rows.jsonl")
    if not 0.0 <= tolerance < float("inf"):
        raise UsageError(f"--tolerance {tolerance:g} must be 0 or more")
    if time_limit is not None and not time_limit > 0.0:
        raise UsageError(f"--time-limit {time_limit:g} must be positive")
    budget = 10.0 if budget is None else float(budget)
    if not 0.0 < budget < float("inf"):
        raise UsageError(f"--budget {budget:g} must be above 0 seconds")
    workers = 1 if workers is None else workers
    if workers < 1:
        raise UsageError(f"--workers {workers}: at least one is needed")
    if digits is not None and not 1 <= digits <= 1000:
        raise UsageError(f"--digits {digits} must lie between 1 and 1000")
    return Request(mode, dims, sizes, float(tolerance), budget, workers, seed, digits)


def _mode(sources: tuple[Any, ...], modes: dict[Mode, bool]) -> Mode:
    asked = [mode for mode, on in modes.items() if on]
    names = [f"--{mode.value}" for mode in asked]
    if sources:
        asked.append(Mode.FILES)
        names.append("files")
    if not asked:
        raise UsageError(
            "nothing to compare; give files (gnc compare code.h5), or --list or --solve"
        )
    if len(asked) > 1:
        raise UsageError(f"{' and '.join(names)} exclude each other; keep one of them")
    return asked[0]


def _said(modes: set[Mode]) -> str:
    words = ["files" if m is Mode.FILES else f"--{m.value}" for m in Mode if m in modes]
    return " and ".join(words) if len(words) < 3 else f"{', '.join(words[:-1])} and {words[-1]}"
