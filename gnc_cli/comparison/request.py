"""A call of `compare`: which of its modes is meant, and whether its options belong to it."""

from dataclasses import dataclass
from typing import Any

from gnc_cli.comparison.result import Mode
from gnc_cli.errors import UsageError
from gnc_cli.known_codes.verdict import TOLERANCE
from gnc_cli.parameters import MOST_PAIRS, Path, spelled, wording
from gnc_cli.runtime.parallel import processes

_UNDERSTANDS = {
    Mode.FILES: {"d", "tolerance", "require_entry", "digits", "export", "time_limit", "threads"},
    Mode.LIST: {"d", "K", "proven"},
    Mode.SOLVE: {
        "d",
        "K",
        "tolerance",
        "require_entry",
        "budget",
        "workers",
        "cluster",
        "seed",
        "time_limit",
        "out",
        "resume",
    },
    Mode.HUNT: {"d", "K", "export", "budget", "workers", "cluster", "seed", "time_limit", "resume"},
}
"""What each mode takes besides what all take."""
_DEFAULTS = {"tolerance": TOLERANCE, "seed": 0}
"""Of the others None or False."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """A checked call of `compare`."""

    mode: Mode
    files: tuple[Any, ...]
    """Files and arrays."""
    d: tuple[int, ...] | None
    """Dimensions; None where not given."""
    K: tuple[int, ...] | None
    proven: bool
    tolerance: float
    require_entry: bool
    digits: int | None
    export: Path | None
    budget: float
    workers: int
    cluster: str | None
    seed: int
    time_limit: float | None
    threads: int | None
    out: Path | None
    resume: bool
    force: bool


def read_request(
    files: tuple[Any, ...],
    *,
    list: bool,
    solve: bool,
    hunt: bool,
    force: bool,
    **options: Any,
) -> Request:
    """Which arguments of `compare` go together; each by itself has been checked.

    Raises:
        UsageError: no mode or several, or an option that the mode does not take or lacks.
    """
    if hunt and not solve:
        raise UsageError(f"{spelled('hunt')} is a way to solve; add {spelled('solve')}")
    asked = {
        Mode.LIST: list,
        Mode.SOLVE: solve and not hunt,
        Mode.HUNT: hunt,
        Mode.FILES: bool(files),
    }
    modes = [mode for mode, wanted in asked.items() if wanted]
    if not modes:
        raise UsageError(
            "nothing to compare; "
            + wording(
                "give files (gnc compare code.h5), or --list or --solve",
                "give files, arrays or results, compare('code.h5'), or list=True or solve=True",
            )
        )
    if len(modes) > 1:
        raise UsageError(f"{_named(modes)} exclude each other; keep one of them")
    (mode,) = modes
    for name, value in options.items():
        is_given = not (value is None or value is False or value == _DEFAULTS.get(name))
        if is_given and name not in _UNDERSTANDS[mode]:
            others = [other for other in Mode if name in _UNDERSTANDS[other]]
            raise UsageError(f"{spelled(name)} belongs to {_named(others)}; drop it")
    d = options["d"]
    if mode is Mode.FILES and d is not None and len(d) != 1:
        raise UsageError(f"{spelled('d')} takes one dimension beside files, not {len(d)}")
    if mode is Mode.SOLVE:
        examples = {"d": "3..5", "K": "2..40"}
        missing = [spelled(name, text) for name, text in examples.items() if options[name] is None]
        if missing:
            raise UsageError(
                f"{spelled('solve')} needs to know which pairs: add {' '.join(missing)}"
            )
    K = options["K"]
    if mode is not Mode.LIST and d is not None and K is not None and len(d) * len(K) > MOST_PAIRS:
        raise UsageError(
            f"{len(d):,} dimensions and {len(K):,} sizes make more than {MOST_PAIRS:,} pairs; "
            "use larger steps"
        )
    if options["out"] == "-":
        raise UsageError(
            f"{spelled('out')} keeps the rows in a file; for rows on stdout write --jsonl"
        )
    if mode is Mode.HUNT and options["time_limit"] is None:
        raise UsageError(
            f"{spelled('hunt')} has no end of its own; add "
            + wording("--time-limit 2h", "time_limit=7200")
        )
    if mode is Mode.SOLVE and options["resume"] and options["out"] is None:
        raise UsageError(
            f"{spelled('resume')} goes on from the rows in a file; add "
            f"{spelled('out', 'rows.jsonl')}"
        )
    options["budget"] = options["budget"] or 10.0
    options["workers"] = processes(options["workers"], options["cluster"])
    return Request(mode=mode, files=files, force=force, **options)


def _named(modes: "list[Mode]") -> str:
    return " and ".join("files" if m is Mode.FILES else spelled(m.value) for m in modes)
