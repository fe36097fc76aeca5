"""Files that the user names, attributes of their rows, selection and order of the rows.

Names are files, `FILE:key`, globs, runs of `gnc train` and models of Hugging Face. Attributes are
epoch, step, split, seed and the like.
"""

import glob
import math
import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gnc_cli.collapse.heads import OutputHead, head_by_config
from gnc_cli.errors import DataError, UsageError
from gnc_cli.io.catalogue import Catalogue, translated
from gnc_cli.io.code import parse_provenance
from gnc_cli.io.formats import DATASET, reader_for
from gnc_cli.io.inputs import open_input, split_key
from gnc_cli.io.models import CONFIG, fetch_model, hub_name, model_file, read_model_config
from gnc_cli.parameters import spelled
from gnc_cli.parsing import abridge, number, quote

Names = str | Sequence[str]
SelectedValue = str | float | Collection[Any]
"""Value of a key in `--select`: a text, a number, or a collection of them (a list, a range)."""

_NUMBERS = ("epoch", "step")
_FILE_ATTRIBUTES = ("gnc_format", "kind")
_DIGITS = re.compile(r"(\d+)", re.ASCII)
SNAPSHOTS = "snapshots"
"""Subfolder of a run with its snapshots, one file for each epoch and split."""
SNAPSHOT = re.compile(r"(epoch-(\d+)-)\w+\.h5", re.ASCII)
_SERIES = re.compile(r"(assignment|checkpoint)-\d+")
"""Runs inside the folder of `gnc train --assignment all`; models inside that of a Trainer."""


@dataclass(frozen=True)
class File:
    """A file to read, or a dataset or group in it."""

    path: str
    key: str | None = None
    """A dataset, or a group in which to look; None for the whole file."""
    name: str = ""
    """Name in results; empty for `path:key`."""
    head: OutputHead | None = None
    """The head of a model whose key the user did not name."""
    commit: str | None = None
    """Commit of a model of the hub."""

    @property
    def label(self) -> str:
        """Name in results and messages."""
        return self.name or (self.path if self.key is None else f"{self.path}:{self.key}")


def expand(names: Names) -> list[File]:
    """Return the files and keys of the names, in their order.

    A name is `FILE`, `FILE:key`, a folder, `hf:org/name`, or a glob of files and folders. A glob
    gives its files in natural order; a file of exactly that name comes first.

    Raises:
        DataError: a file is missing, a glob matches none, or a folder holds nothing to measure.
    """
    files: list[File] = []
    for name in [names] if isinstance(names, str) else names:
        if (model := hub_name(name)) is not None:
            folder = fetch_model(model, _names_of_head)
            files.append(replace(_model(folder, model.key, name), commit=os.path.basename(folder)))
            continue
        path, key = split_key(name)
        pattern = path != "-" and not os.path.exists(path) and glob.has_magic(path)
        places = sorted(glob.glob(path, recursive=True), key=natural_key) if pattern else [path]
        if not places:
            raise DataError(f"no file matches {path!r}; check the pattern and the folder")
        for place in places:
            if os.path.basename(place) == CONFIG:
                folder = os.path.dirname(place) or "."
                raise DataError(f"{place!r} describes a model; give its folder: {folder}")
            files += _folder(place, key) if os.path.isdir(place) else [File(place, key)]
    return files


def _folder(path: str, key: str | None) -> list[File]:
    """Return the files to measure of a run of `gnc train`, a model, or a series of these."""
    names = sorted(os.listdir(path), key=natural_key)
    files = [*snapshot_files(os.path.join(path, SNAPSHOTS))] or [*snapshot_files(path)]
    if files or "last.pt" in names:
        return [File(file, key) for file in files or [os.path.join(path, "last.pt")]]
    if "metrics.jsonl" in names:
        raise DataError(f"{path!r} is a run without a checkpoint yet; wait for its first epoch")
    if {"adapter_config.json", "adapter_model.safetensors"} & {*names}:
        raise DataError(
            f"{path!r} is a LoRA adapter, which holds no head of a model; merge the two: "
            "model.merge_and_unload().save_pretrained(FOLDER), and measure that folder"
        )
    if DATASET in names:
        return [File(os.path.join(path, DATASET), key, File(path, key).label)]
    if "dataset_dict.json" in names:
        sets = [
            os.path.join(path, name) for name in names if os.path.isdir(os.path.join(path, name))
        ]
        raise DataError(f"{path!r} has several data sets; name one of {abridge(sets)}")
    if model_file(path) is not None:
        return [_model(path, key, "")]
    if series := [os.path.join(path, name) for name in names if _SERIES.fullmatch(name)]:
        return [file for place in series for file in _folder(place, key)]
    tensors = [name for name in names if name.endswith((".safetensors", ".bin"))]
    if CONFIG in names and tensors:
        kind = "pytorch_model.bin" if tensors[-1].endswith(".bin") else "model.safetensors"
        raise DataError(
            f"{path!r} is a model in {len(tensors)} file(s) without the index of its tensors "
            f"({kind}.index.json); add it, or name a file: "
            f"{os.path.join(path, tensors[-1])}"
        )
    raise DataError(
        f"{path!r} is a folder with neither a run of gnc train (snapshots, last.pt) nor a model "
        "(config.json with model.safetensors) nor a data set (state.json); name a file inside it"
    )


def _model(folder: str, key: str | None, name: str) -> File:
    """Return the output head of a model, labelled `name`, or the tensor that `key` names."""
    path = model_file(folder)
    assert path is not None
    if key is not None or not os.path.exists(os.path.join(folder, CONFIG)):
        return File(path, key, name)
    config = read_model_config(folder)
    with (
        open_input(path) as file,
        reader_for(path, file)(file, path) as catalogue,
        translated(os.path.join(folder, CONFIG), "the config.json of a model"),
    ):
        head = head_by_config(catalogue.entries, config, name or folder)
    return File(path, head.name, name or folder, head)


def _names_of_head(config: Mapping[str, Any], tensors: list[str]) -> list[str]:
    """Return the names of the output head's matrix and bias, found by the names of the tensors."""
    head = head_by_config(dict.fromkeys(tensors), config, CONFIG)
    return [name for name in (head.name, head.bias) if name is not None]


def snapshot_files(folder: str) -> dict[str, int]:
    """Return the epoch of each snapshot in a folder (not its subfolders), in natural order."""
    names = sorted(os.listdir(folder), key=natural_key) if os.path.isdir(folder) else []
    matches = {os.path.join(folder, name): SNAPSHOT.fullmatch(name) for name in names}
    return {path: int(match[2]) for path, match in matches.items() if match}


def natural_key(text: str) -> tuple[tuple[int, str, str], ...]:
    """Return a sort key that compares the numbers in a text by value.

    >>> sorted(["part_10", "part_2", "a"], key=natural_key)
    ['a', 'part_2', 'part_10']
    """
    words = _DIGITS.split(text)
    bare = [word.lstrip("0") if i % 2 else word for i, word in enumerate(words)]
    # Without leading zeros, a longer number is larger. Texts have even indices.
    sizes = [len(word) if i % 2 else 0 for i, word in enumerate(bare)]
    return tuple(zip(sizes, bare, words, strict=True))


# Rows ---------------------------------------------------------------------------------------------


def attributes(catalogue: Catalogue, snapshot: str | None = None) -> dict[str, Any]:
    """Return the plain attributes of a file and its snapshot: epoch, step, layer, seed, ...

    A dataset of one number named epoch, step or seed counts as an attribute. `provenance` is a
    dictionary.

    Raises:
        DataError: epoch or step is not a finite number.
    """
    facts = dict(catalogue.attrs)
    for group in [""] if snapshot is None else ["", catalogue.snapshot_prefix(snapshot)]:
        facts |= catalogue.snapshots.get(str(snapshot), {}) if group else {}
        for name in (*_NUMBERS, "seed"):
            entry = catalogue.entries.get(group + name)
            if entry is not None and entry.real and entry.shape == ():
                with translated(catalogue.path, f"a number {group + name!r}"):
                    facts.setdefault(name, np.asarray(entry.load()).item())
    if "step" not in facts and "global_step" in facts:  # Lightning
        facts["step"] = facts["global_step"]
    provenance = parse_provenance(facts.pop("provenance", None))
    attrs = {name: _plain(value) for name, value in facts.items() if name not in _FILE_ATTRIBUTES}
    attrs = {name: value for name, value in attrs.items() if value is not None}
    attrs |= {k: _number(attrs[k], k, catalogue.path) for k in _NUMBERS if k in attrs}
    attrs |= {name: str(attrs[name]) for name in ("layer", "split") if name in attrs}
    return attrs | ({"provenance": provenance} if provenance else {})


def order(attrs: Mapping[str, Any], file: str, snapshot: str | None) -> tuple[Any, ...]:
    """Return the sort key of a row: epoch, step, layer, split, natural names; the root last."""
    return (
        *(attrs.get(name, math.inf) for name in _NUMBERS),
        *(natural_key(str(attrs.get(name, ""))) for name in ("layer", "split")),
        natural_key(file),
        snapshot is None,
        natural_key(snapshot or ""),
    )


def selects(
    rows: Sequence[Mapping[str, Any]], select: Sequence[tuple[str, SelectedValue]]
) -> list[bool]:
    """Return for each row, a mapping of attributes, whether it meets every pair (key, value).

    A text equals a number that it spells.

    Raises:
        DataError: no row meets all pairs, or none has a value of a list or a tuple.
        UsageError: no row has the key.
    """
    for key, value in select:
        if not any(key in row for row in rows):
            keys = sorted({key for row in rows for key in row if key != "provenance"})
            raise UsageError(
                f"{spelled('select')} {key}: no row has the attribute {key}; the rows have "
                f"{', '.join(keys)}"
            )
        items = value if isinstance(value, (list, tuple)) else ()
        if absent := [v for v in items if not any(_meets(row.get(key), v) for row in rows)]:
            raise DataError(
                f"{spelled('select')} {key}: no row has {key} {absent[0]}, and there are "
                f"{_values(rows, key)}; "
                + (
                    f"give {spelled('select', absent[0])} by itself"
                    if "=" in str(absent[0])
                    else "drop it"
                )
            )
    selection = [all(_meets(row.get(key), value) for key, value in select) for row in rows]
    if not any(selection):
        values = "; ".join(f"{key} {_values(rows, key)}" for key, _ in select)
        raise DataError(
            f"{spelled('select')} leaves none of {len(rows)} row(s); there are {values}"
        )
    return selection


def _meets(fact: Any, value: SelectedValue) -> bool:
    if fact is None:
        return False
    if isinstance(value, Collection) and not isinstance(value, str):
        return any(_meets(fact, item) for item in value)
    return str(fact) == str(value) or _as_number(fact) == _as_number(value)


def _as_number(value: Any) -> Any:
    """Return the number that a value is or spells, else the value."""
    try:
        return number(value)
    except UsageError:
        return value


def _values(rows: Sequence[Mapping[str, Any]], key: str) -> str:
    return abridge([*dict.fromkeys(str(r[key]) for r in rows if r.get(key) is not None)])


def _plain(value: Any) -> Any:
    """Return a text, a number or a list of numbers; None for other values."""
    if isinstance(value, tuple):
        return list(value) if all(isinstance(part, (int, float)) for part in value) else None
    return value if isinstance(value, (str, int, float, list)) else None


def _number(value: Any, name: str, path: str) -> float:
    try:
        number = float(value)
        if math.isfinite(number):
            return int(number) if number == int(number) else number
    except (TypeError, ValueError, OverflowError):
        pass
    raise DataError(f"{path!r}: attribute {name} is {quote(value)}; expected a number")
