"""What files say of a row (epoch, step, split, seed), which rows are asked for, in what order."""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from gnc_cli.collapse.inputs import natural_key
from gnc_cli.errors import DataError, UsageError
from gnc_cli.io.catalogue import Catalogue, translated
from gnc_cli.io.provenance import parse_provenance
from gnc_cli.parameters import spelled
from gnc_cli.parsing import listed, shown

Wanted = str | float | Collection[Any]
"""What a key must be: a text or a number, or one of several (a list, a range)."""

_NUMBERS = ("epoch", "step")
_NOT_OF_THE_ROW = ("gnc_format", "kind")
_LONGEST = 16


def attributes(catalogue: Catalogue, snapshot: str | None = None) -> dict[str, Any]:
    """What the file and its snapshot say of the row, plain values: epoch, step, layer, seed, ...

    A dataset of one number called epoch, step or seed counts as well; `provenance` is a dictionary.
    """
    found = dict(catalogue.attrs)
    groups = [""] if snapshot is None else ["", f"{catalogue.snapshots_in}{snapshot}/"]
    for group in groups:
        if group and snapshot is not None:
            found |= catalogue.snapshots.get(snapshot, {})
        for name in (*_NUMBERS, "seed"):
            entry = catalogue.entries.get(group + name)
            if entry is not None and entry.real and entry.shape == ():
                with translated(catalogue.path, f"a number {group + name!r}"):
                    found.setdefault(name, np.asarray(entry.load()).item())
    if "step" not in found and "global_step" in found:  # Lightning
        found["step"] = found["global_step"]
    provenance = parse_provenance(found.pop("provenance", None))
    attrs = {name: _plain(value) for name, value in found.items() if name not in _NOT_OF_THE_ROW}
    attrs = {name: value for name, value in attrs.items() if value is not None}
    for name in _NUMBERS:
        if name in attrs:
            attrs[name] = _number(attrs[name], name, catalogue.path)
    attrs |= {name: str(attrs[name]) for name in ("layer", "split") if name in attrs}
    return attrs | ({"provenance": provenance} if provenance else {})


def order(attrs: Mapping[str, Any], file: str, snapshot: str | None) -> tuple[Any, ...]:
    """A key for sorting: epoch, step, layer, split, natural order of the names; the root last."""
    return (
        *(attrs.get(name, math.inf) for name in _NUMBERS),
        *(natural_key(str(attrs.get(name, ""))) for name in ("layer", "split")),
        natural_key(file),
        snapshot is None,
        natural_key(snapshot or ""),
    )


def selects(rows: Sequence[Mapping[str, Any]], select: Sequence[tuple[str, Wanted]]) -> list[bool]:
    """For each row, of attributes, whether it meets every pair (key, wanted), as at least one must.

    A text equals a number that it spells.
    """
    for key, _ in select:
        if not any(key in row for row in rows):
            keys = sorted({key for row in rows for key in row if key != "provenance"})
            raise UsageError(
                f"{spelled('select')} {key}: no row says its {key}; they say {', '.join(keys)}"
            )
    chosen = [all(_meets(row.get(key), wanted) for key, wanted in select) for row in rows]
    if not any(chosen):
        there = "; ".join(f"{key} {_values(rows, key)}" for key, _ in select)
        raise DataError(f"{spelled('select')} leaves none of {len(rows)} row(s); there are {there}")
    return chosen


def _meets(fact: Any, wanted: Wanted) -> bool:
    if fact is None:
        return False
    if isinstance(wanted, Collection) and not isinstance(wanted, str):
        return any(_meets(fact, one) for one in wanted)
    return str(fact) == str(wanted) or _as_number(fact) == _as_number(wanted)


def _as_number(value: Any) -> Any:
    """The number that a value is or spells, else the value."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return value


def _values(rows: Sequence[Mapping[str, Any]], key: str) -> str:
    texts = list(dict.fromkeys(str(row[key]) for row in rows if row.get(key) is not None))
    return listed(texts)


def _plain(value: Any) -> Any:
    """A text, a number, a short list of these; None for anything else."""
    if isinstance(value, tuple):
        short = len(value) <= _LONGEST and all(isinstance(part, (int, float)) for part in value)
        value = list(value) if short else None
    return value if isinstance(value, (str, int, float, list)) else None


def _number(value: Any, name: str, path: str) -> float:
    try:
        number = float(value)
        if math.isfinite(number):
            return int(number) if number == int(number) else number
    except (TypeError, ValueError, OverflowError):
        pass
    raise DataError(f"{path!r}: attribute {name} is {shown(value)}; expected a number")
