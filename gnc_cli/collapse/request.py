"""What a call of `measure` asks for: its arguments held against each other, before any work."""

import os
from dataclasses import asdict, dataclass
from pathlib import PurePath
from typing import Any

from gnc_cli.errors import UsageError
from gnc_cli.parameters import Lines, Path, spelled

OWN = "own"
"""In place of a file in `--means-from`: the class means of the set itself."""
MOST_CLASSIC = 5000
"""Classes and dimensions up to which NC1 to NC4 cost little beside the rest; beyond, they are
computed with `--variants classic`."""
NONZERO = "nonzero"
"""In place of a file in `--classes`: those whose weight is not zero."""


@dataclass(frozen=True)
class Request:
    """How every row is measured, by the parameters of `measure`."""

    K: int | None = None
    labels_are: str = "zero-based"
    normalize: str = "auto"
    means_from: str | None = None
    variants: str = "none"
    ood: str | None = None
    """Name of the out-of-distribution features; `array` for the caller's."""
    reference: float | str | None = None
    table: str | None = None
    """File of known codes, of which the reference is the best."""
    duplicates: float | None = None
    classes: str | Lines | None = None
    min_count: int | None = None
    class_names: str | Lines | None = None
    every_class: bool = False
    """A bracket for each class, however many."""
    seed: int = 0
    device: str = "cpu"
    threads: int | None = None

    @property
    def unit(self) -> bool:
        """Whether the GNC metrics are of unit rows."""
        return self.normalize != "off"

    @property
    def classic(self) -> bool:
        """Whether the classic metrics are asked for by name."""
        return self.variants == "classic"

    def wants_classic(self, d: int, K: int) -> bool:
        """Whether NC1 to NC4 are computed."""
        return self.classic or max(d, K) <= MOST_CLASSIC

    def spaces(self, d: int, K: int) -> tuple[str, ...]:
        """In which rows the moments are needed, that of the GNC metrics first."""
        if not self.unit:
            return ("raw",)
        return ("unit", "raw") if self.ood or self.wants_classic(d, K) else ("unit",)

    def identity(self) -> dict[str, Any]:
        """What must be equal for two rows to stand in one file."""
        return {k: v for k, v in asdict(self).items() if k not in ("device", "threads")}


def read_request(
    *,
    means_from: Path | None,
    classes: Path | Lines | None,
    class_names: Path | Lines | None,
    table: Path | None,
    per_class: Path | None,
    out: Path | None,
    resume: bool,
    **others: Any,
) -> Request:
    """The request of arguments that are each in range.

    Raises:
        UsageError: an argument contradicts another.
    """
    for name in ("duplicates", "reference"):
        if others[name] is not None and others["normalize"] == "off":
            raise UsageError(
                f"{spelled(name)} is of unit weights; drop {spelled('normalize', 'off')}"
            )
    if out is not None and os.fspath(out) == "-":
        raise UsageError(
            f"{spelled('out')} keeps the rows in a file; for rows on stdout write --csv or --json"
        )
    if per_class is not None and is_ledger(out):
        raise UsageError(f"{spelled('per_class')} is of one set; drop the .jsonl file")
    if resume and not is_ledger(out):
        raise UsageError(
            f"{spelled('resume')} goes on with the rows of a file; add "
            f"{spelled('out', 'rows.jsonl')}"
        )
    return Request(
        means_from=_text(means_from),
        classes=_text(classes),
        class_names=_text(class_names),
        table=_text(table or os.environ.get("GNC_TABLE") or None),
        every_class=per_class is not None,
        **others,
    )


def is_ledger(out: Path | None) -> bool:
    """Whether `out` keeps rows as JSON lines, each as soon as it is there."""
    return out is not None and PurePath(out).suffix.lower() == ".jsonl"


def _text(path: Path | Lines | None) -> Any:
    return path if path is None or isinstance(path, Lines) else os.fspath(path)
