"""The doorway of `measure`: options checked before a file is opened."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from gnc_cli.errors import UsageError

__all__ = ["Request", "read_request", "selection_pairs"]

_NORMALIZE = ("auto", "require", "off")
_MISSING = ("skip", "error")
_VARIANTS = ("none", "authors", "classic", "all")
_MOST_REPLICATES = 100_000

_Path = str | os.PathLike[str]


@dataclass(frozen=True)
class Request:
    """A checked call of `measure`."""

    K: int | None
    normalize: str
    missing: str
    means_from: str | None
    variants: str
    duplicates: float | None
    classes: str | None
    min_count: int | None
    class_names: str | None
    reference: float | str | None
    probability: float
    bootstrap: int | None
    every_class: bool
    """A bracket for each class, however many."""
    chunk_rows: int | None
    seed: int
    device: str
    threads: int | None

    @property
    def unit(self) -> bool:
        """Whether the GNC metrics are of unit rows."""
        return self.normalize != "off"

    @property
    def spaces(self) -> tuple[str, ...]:
        """In which rows the moments are needed."""
        own = "unit" if self.unit else "raw"
        classic = self.variants in ("classic", "all")
        return (own, "raw") if classic and self.unit else (own,)

    def identity(self) -> dict[str, Any]:
        """What must be equal for two rows to stand in one file."""
        whole = asdict(self)
        return {k: v for k, v in whole.items() if k not in ("device", "threads", "chunk_rows")}


def read_request(
    *,
    K: int | None,
    normalize: str,
    missing: str,
    means_from: _Path | None,
    variants: str,
    duplicates: float | None,
    classes: _Path | None,
    min_count: int | None,
    class_names: _Path | None,
    reference: float | _Path | None,
    probability: float,
    bootstrap: int | None,
    per_class: _Path | None,
    chunk_rows: int | None,
    seed: int,
    device: str,
    threads: int | None,
) -> Request:
    """Check a call of `measure`.

    Raises:
        UsageError: a choice that is none, or a number out of range.
    """
    reference = _reference(reference)
    _among("--normalize", normalize, _NORMALIZE)
    _among("--missing", missing, _MISSING)
    _among("--variants", variants, _VARIANTS)
    if duplicates is not None and not -1.0 <= duplicates <= 1.0:
        raise UsageError(f"--duplicates {duplicates:g} is no cosine; give one such as 0.99")
    if duplicates is not None and normalize == "off":
        raise UsageError("--duplicates needs unit weights; drop --normalize off")
    if not 0.0 < probability < 1.0:
        raise UsageError(f"--probability {probability:g} must lie between 0 and 1")
    if isinstance(reference, (int, float)) and not 0.0 < reference <= 2.0:
        raise UsageError(f"--reference {reference:g} is no one-vs-rest distance; above 0, up to 2")
    if reference is not None and normalize == "off":
        raise UsageError("--reference is of unit weights; drop --normalize off")
    for option, value, least in (
        ("--min-count", min_count, 1), ("--bootstrap", bootstrap, 2), ("--K", K, 2),
        ("--chunk-rows", chunk_rows, 1), ("--threads", threads, 1), ("--seed", seed, 0),
    ):  # fmt: skip
        if value is not None and value < least:
            raise UsageError(f"{option} {value} is too small; give at least {least}")
    if bootstrap is not None and bootstrap > _MOST_REPLICATES:
        raise UsageError(f"--bootstrap {bootstrap} is too large; at most {_MOST_REPLICATES:,}")
    return Request(
        K=K,
        normalize=normalize,
        missing=missing,
        means_from=_text(means_from),
        variants=variants,
        duplicates=duplicates,
        classes=_text(classes),
        min_count=min_count,
        class_names=_text(class_names),
        reference=reference,
        probability=probability,
        bootstrap=bootstrap,
        every_class=per_class is not None,
        chunk_rows=chunk_rows,
        seed=seed,
        device=device,
        threads=threads,
    )


def selection_pairs(select: Mapping[str, Any] | Iterable[tuple[str, Any]] | None) -> list[
    tuple[str, Any]
]:
    """`--select KEY=VALUE` as pairs, from a dictionary too."""
    if select is None:
        return []
    return list(select.items() if isinstance(select, Mapping) else select)


def _among(option: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise UsageError(f"{option} {value!r} is none of {', '.join(choices)}")


def _reference(given: float | _Path | None) -> float | str | None:
    """A number, also as text, or a file."""
    if given is None or isinstance(given, (int, float)):
        return given
    text = os.fspath(given)
    try:
        return float(text)
    except ValueError:
        return text


def _text(path: _Path | None) -> str | None:
    return None if path is None else os.fspath(path)
