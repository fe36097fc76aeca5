"""A call of `compare`: its arguments, which of its modes is meant, and what goes together."""

import os
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from gnc_cli.comparison.result import CompareRow, Mode
from gnc_cli.errors import UsageError
from gnc_cli.known_codes.best import Table
from gnc_cli.known_codes.verdict import TOLERANCE
from gnc_cli.parameters import MOST_PAIRS, Path, is_page, requires, spelled
from gnc_cli.runtime.deadline import Call
from gnc_cli.runtime.parallel import processes

_FILES, _LIST, _SOLVE = Mode.FILES, Mode.LIST, Mode.SOLVE
_MODES = {
    "K": (_LIST, _SOLVE),
    "proven": (_LIST,),
    "digits": (_FILES,),
    "describe": (_FILES,),
    "export": (_FILES,),
    "budget": (_SOLVE,),
    "seed": (_SOLVE,),
    "time_limit": (_FILES, _SOLVE),
    "threads": (_FILES,),
    "workers": (_SOLVE,),
    "cluster": (_SOLVE,),
    "out": (_SOLVE,),
    "resume": (_SOLVE,),
    "tolerance": (_FILES, _SOLVE),
    "require_entry": (_FILES, _SOLVE),
}
"""The modes of each argument that not all modes take."""


@dataclass(frozen=True, kw_only=True)
class Request(Call):
    """A call of `compare`; each argument by itself has been checked.

    Raises:
        UsageError: no mode or several, or an argument that the mode does not take or lacks.
    """

    files: tuple[Any, ...] = ()
    """Files, arrays and results."""
    list: bool = False
    solve: bool = False
    d: tuple[int, ...] | None = None
    K: tuple[int, ...] | None = None
    proven: bool = False
    table: Table = None
    digits: int | None = None
    describe: bool = False
    export: Path | None = None
    budget: float | None = None
    seed: int = 0
    time_limit: float | None = None
    threads: int | None = None
    workers: int | None = None
    cluster: str | None = None
    out: Path | None = None
    resume: bool = False
    plot: Path | None = None
    tolerance: float = TOLERANCE
    require_entry: bool = False
    on_row: Callable[[CompareRow], None] | None = None

    def __post_init__(self) -> None:
        mode = self.mode
        for field in fields(self):
            modes = _MODES.get(field.name, (mode,))
            if mode not in modes and self.is_set(field.name):
                raise requires(field.name, _named(modes, "or"), f"drop {spelled(field.name)}")
        if mode is Mode.FILES and self.d is not None and len(self.d) != 1:
            raise UsageError(f"{spelled('d')} takes one dimension beside files, not {len(self.d)}")
        if mode is Mode.SOLVE:
            self._check_pairs()
        if self.resume and self.out is None:
            raise requires("resume", spelled("out", "rows.jsonl"))
        if self.plot is not None and is_page(self.plot) and len(self.files) != 1:
            raise UsageError(
                f"{spelled('plot')} {os.fspath(self.plot)!r} is a page of one code; give one file, "
                "or draw a .png"
            )

    @property
    def mode(self) -> Mode:
        """The one that was asked for."""
        choices = {Mode.LIST: self.list, Mode.SOLVE: self.solve, Mode.FILES: bool(self.files)}
        modes = tuple(mode for mode in choices if choices[mode])
        if not modes:
            raise UsageError(
                f"nothing to compare; give files such as code.h5, {spelled('list')} or "
                f"{spelled('solve')}"
            )
        if len(modes) > 1:
            raise UsageError(f"{_named(modes)} exclude each other; keep one of them")
        return modes[0]

    @property
    def processes(self) -> int:
        """How many solve side by side on this machine."""
        return processes(self.workers, self.cluster)

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """All (d, K), by dimension, then size."""
        return tuple((d, K) for d in sorted(self.d or ()) for K in sorted(self.K or ()))

    def _check_pairs(self) -> None:
        examples = {"d": "3..5", "K": "2..40"}
        missing = [
            spelled(name, text) for name, text in examples.items() if not getattr(self, name)
        ]
        if missing:
            raise requires("solve", " and ".join(missing))
        sizes = len(self.d or ()), len(self.K or ())
        if sizes[0] * sizes[1] > MOST_PAIRS:
            raise UsageError(
                f"{sizes[0]:,} dimensions and {sizes[1]:,} sizes make more than {MOST_PAIRS:,} "
                "pairs; use larger steps"
            )
        processes(self.workers, self.cluster)


def _named(modes: tuple[Mode, ...], joint: str = "and") -> str:
    return f" {joint} ".join("files" if m is Mode.FILES else spelled(m.value) for m in modes)
