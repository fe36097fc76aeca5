"""Rows of a series: what their files say of them, which are asked for, and in what order."""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from gnc_cli.errors import DataError, UsageError
from gnc_cli.io.catalogue import Catalogue, translated
from gnc_cli.io.codefile import parse_provenance
from gnc_cli.io.patterns import natural_key

__all__ = ["Wanted", "attributes", "order", "selects"]

Wanted = str | float | Collection[Any]
"""What a key must be: a text or a number, or one of several (a list, a range)."""

_NUMBERS = ("epoch", "step")
_SCALARS = ("epoch", "step", "seed")
_NOT_OF_THE_ROW = ("gnc_format", "kind")
_LONGEST = 16
_LISTED = 8


def attributes(catalogue: Catalogue, snapshot: str | None = None) -> dict[str, Any]:
    """What the file and its snapshot say of the row, plain values: epoch, step, layer, seed, ...

    A dataset of one number called epoch, step or seed counts as well; `provenance` is a dictionary.

    Raises:
        DataError: epoch or step is no number.
    """
    said = dict(catalogue.attrs)
    groups = [""] if snapshot is None else ["", f"snapshots/{snapshot}/"]
    for group in groups:
        if group and snapshot is not None:
            said |= catalogue.snapshots.get(snapshot, {})
        for name in _SCALARS:
            entry = catalogue.entries.get(group + name)
            if entry is not None and entry.real and entry.shape == ():
                with translated(catalogue.path, f"a number {group + name!r}"):
                    said.setdefault(name, np.asarray(entry.load()).item())
    if "step" not in said and "global_step" in said:  # Lightning
        said["step"] = said["global_step"]
    provenance = parse_provenance(said.pop("provenance", None))
    attrs = {name: _plain(value) for name, value in said.items() if name not in _NOT_OF_THE_ROW}
    attrs = {name: value for name, value in attrs.items() if value is not None}
    for name in _NUMBERS:
        if name in attrs:
            attrs[name] = _number(attrs[name], name, catalogue.path)
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
    """For each row whether it meets every pair (key, wanted).

    Args:
        rows: attributes of the rows, with `file` and `snapshot` among them.
        select: pairs; a text equals a number that it spells.

    Raises:
        UsageError: no row has such a key.
        DataError: no row meets the pairs.
    """
    for key, _ in select:
        if not any(key in row for row in rows):
            keys = sorted({key for row in rows for key in row if key != "provenance"})
            raise UsageError(f"--select {key}: no row says its {key}; they say {', '.join(keys)}")
    chosen = [all(_meets(row.get(key), wanted) for key, wanted in select) for row in rows]
    if not any(chosen):
        there = "; ".join(f"{key} {_values(rows, key)}" for key, _ in select)
        raise DataError(f"--select leaves none of {len(rows)} row(s); there are {there}")
    return chosen


def _meets(fact: Any, wanted: Wanted) -> bool:
    if fact is None:
        return False
    if isinstance(wanted, str):
        return str(fact) == wanted or (_is_number(fact) and _spells(wanted, fact))
    if isinstance(wanted, range):
        return _is_number(fact) and fact == int(fact) and int(fact) in wanted
    if isinstance(wanted, Collection):
        return any(_meets(fact, one) for one in wanted)
    return bool(fact == wanted) if _is_number(fact) else _spells(str(fact), wanted)


def _spells(text: str, number: float) -> bool:
    try:
        return float(text) == number
    except ValueError:
        return False


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _values(rows: Sequence[Mapping[str, Any]], key: str) -> str:
    texts = list(dict.fromkeys(str(row[key]) for row in rows if row.get(key) is not None))
    return ", ".join(texts[:_LISTED]) + (" ..." if len(texts) > _LISTED else "")


def _plain(value: Any) -> Any:
    """A text, a number, a short list of these; None for anything else."""
    if isinstance(value, np.ndarray):
        value = value.tolist() if value.size <= _LONGEST and value.dtype.kind in "biuf" else None
    return value if isinstance(value, (str, int, float, list)) else None


def _number(value: Any, name: str, path: str) -> float:
    try:
        number = float(value)
        if math.isfinite(number):
            return int(number) if number == int(number) else number
    except (TypeError, ValueError):
        pass
    raise DataError(f"{path!r}: attribute {name} is {value!r}; expected a number")
