"""Sources of the data of `measure`: files, found now and opened later, or the caller's arrays.

Finding reads only names, shapes and attributes. Opening reads labels and weights, and leaves
features and logits in their files, to be read by rows.
"""

import glob
import hashlib
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from gnc_cli.collapse.conventions import ROLES, Selection
from gnc_cli.collapse.dataset import Dataset, Inputs, dataset_of_arrays, open_dataset
from gnc_cli.collapse.files import SNAPSHOT, File, attributes, expand, natural_key, order, selects
from gnc_cli.collapse.roles import (
    Piece,
    add_sets,
    bias_of,
    dataset_for,
    feature_groups,
    find_role,
    head_reason,
    roles_of_file,
    roles_of_group,
)
from gnc_cli.errors import DataError, UsageError
from gnc_cli.io.catalogue import READINGS, WORDS, Catalogue
from gnc_cli.io.formats import FORMATS
from gnc_cli.io.inputs import short_name, split_key
from gnc_cli.parameters import spelled
from gnc_cli.parsing import abridge

TRAINING = "train"
"""The split whose class means count for the other splits of a run."""


@dataclass(frozen=True)
class Source:
    """One row of the result to measure: its datasets are found, not open."""

    open: Callable[[], AbstractContextManager[Dataset]] = field(repr=False, compare=False)
    """Function that opens the datasets for a `with` block, any number of times; raises DataError if
    they cannot be used, alone or together."""
    file: str | None = None
    """Name of the file as the user gave it; several shards joined by a comma; None for arrays."""
    snapshot: str | None = None
    """A group of `/snapshots`, or the name of a file that is one; None for the file itself."""
    attrs: dict[str, Any] = field(default_factory=dict)
    """Attributes of file and snapshot: epoch, step, layer, split, seed; `provenance` as a
    dictionary."""
    stamp: Callable[[], str] = field(default=str, repr=False, compare=False)
    """Function that returns a text which changes with the datasets of the row, the attributes of
    its snapshot, and the options for reading."""
    head: str | None = None
    """The dataset of the classifier and the reason for its choice, if the user did not name it; the
    commit of a model of the hub."""
    training: "Source | None" = field(default=None, repr=False, compare=False)
    """The snapshot of the training split at the same moment of the same run, if this is another."""


def resolve(selection: Selection) -> list[Source]:
    """Return the rows of a selection, in order of epoch, step, layer, split and name.

    Each file is a row, and each of its snapshots; a dataset that an option names is that of every
    row. Without files, the files of `features` are shards of one row; a bare `FILE` there gives its
    labels, weights and logits too, `FILE:key` only that dataset. The bias of a layer comes with its
    weights.

    Raises:
        DataError: a file is missing or damaged, holds nothing to measure or too much to choose
            from, or no row has a selected value.
        UsageError: there is nothing to measure, files and arrays are mixed, or a key is selected
            that no row has.
    """
    values = {role: selection.roles[role] for role in ROLES if role in selection.roles}
    paths = {role: names for role, value in values.items() if (names := _paths(value))}
    arrays = [role for role in values if role not in paths]
    if arrays and isinstance(values.get("labels"), (list, tuple)):
        paths.pop("labels", None)  # words
    if arrays and (selection.files or paths):
        raise UsageError(
            f"{', '.join(arrays)} given as arrays together with files; give arrays for all, or "
            "files"
        )
    if arrays:
        samples = dataset_of_arrays(values, selection)
        return [Source(lambda: nullcontext(samples))]
    keys = [role for role, names in paths.items() if selection.files and _is_key(names)]
    files = expand(selection.files)
    if keys and len(files) > 1:
        key = paths[keys[0]][0]
        raise UsageError(
            f"{spelled(keys[0], key)} is a dataset of one file; of several files that are one set: "
            f"{spelled(keys[0], f'part*.h5:{key}')}"
        )
    if "features" in keys:
        files = [replace(f, name=f"{f.path}:{paths['features'][0]}") for f in files]
    paths |= {role: [f"{file}:{paths[role][0]}" for file in selection.files] for role in keys}
    options = {role: expand(names) for role, names in paths.items()}
    finder = _Finder(selection, files, options, keys)
    sources = [replace(s, training=finder.training_set(s)) for s in finder.sources()]
    sources.sort(key=lambda s: order(s.attrs, s.file or "", s.snapshot))
    facts = [s.attrs | {"file": s.file, "snapshot": s.snapshot} for s in sources]
    mask = selects(facts, selection.select or ())
    return [source for source, selected in zip(sources, mask, strict=True) if selected]


def resolve_features(value: Any, transpose: bool) -> Source:
    """Return a source of only features, from `FILE`, `FILE:key`, globs, several, or an array.

    Its file is the name in results.

    Args:
        value: paths, or an array (N, d).
        transpose: the features are stored as (d, N).

    Raises:
        DataError: a file is missing or damaged, or has no features.
    """
    names, selection = _paths(value), Selection(transpose_features=transpose)
    if names is None:
        samples = dataset_of_arrays({"features": value}, selection)
        return Source(lambda: nullcontext(samples), "array")
    source = _Finder(selection, [], {"features": expand(names)}).in_options()
    return replace(source, file=", ".join(map(short_name, names)))


class _Finder:
    """Finder of the sources of one selection.

    Args:
        selection: the options for reading.
        files: files, each of which is a row, and each of whose snapshots.
        options: files by the role that an option names them for.
        keys: roles whose option is a dataset of the files.
    """

    def __init__(
        self,
        selection: Selection,
        files: Sequence[File],
        options: Mapping[str, Sequence[File]],
        keys: Collection[str] = (),
    ) -> None:
        self.keys = keys
        self.selection, self.files, self.options = selection, files, options
        self.inputs = Inputs()
        self._training: dict[tuple[Any, ...], Source] = {}
        self.option_pieces = {role: self._option_pieces(role) for role in options}
        """Datasets that options name, which come before those of the files."""
        if "weights" in options and "bias" not in options and (biases := self._biases()):
            self.option_pieces["bias"] = biases

    def sources(self) -> list[Source]:
        """Return a source per row, in the order of the files."""
        if self.files:
            return [source for file in self.files for source in self.in_file(file)]
        if "features" in self.options:
            del self.option_pieces["features"]
            return [self.in_shards(self.options["features"])]
        if self.options:
            return [self.in_options()]
        raise UsageError(
            "nothing to measure; give a file, or in Python arrays: measure(features=H, labels=y)"
        )

    def in_file(self, file: File) -> list[Source]:
        """Return the sources of a file and of its snapshots."""
        path, key, label, snapshot = file.path, file.key, file.label, None
        folder, name = os.path.split(path)
        if key is None and (match := SNAPSHOT.fullmatch(name)):
            label, snapshot = folder, name.removesuffix(".h5")
            training = os.path.join(folder, f"{match[1]}{TRAINING}.h5")
            if training != path and os.path.exists(training):
                self.in_file(File(training))  # its class means may count
        with self.inputs.open(path) as catalogue:
            outside = [
                f"{name!r} {entry.problem}"
                for name, entry in catalogue.entries.items()
                if (name.rpartition("/")[0] or name) == "snapshots"
                and "another file" in str(entry.problem)
            ]
            if outside:
                raise DataError(f"{path!r}: {outside[0]}; copy it into this file")
            parts = (key or "").strip("/").split("/")
            if parts[0] == "snapshots" and len(parts) == 2 and parts[1] in catalogue.snapshots:
                epoch = catalogue.snapshots[parts[1]].get("epoch")
                for name, attrs in catalogue.snapshots.items():
                    if (attrs.get("split"), attrs.get("epoch")) == (TRAINING, epoch):
                        self._snapshot(catalogue, label, name)  # its class means may count
                return [self._snapshot(catalogue, label, parts[1])]
            has_groups = key is None and "features" not in self.option_pieces
            groups = feature_groups(catalogue) if has_groups else {}
            add_sets(catalogue, groups)
            names = sorted(catalogue.snapshots, key=natural_key) if key is None else []
            homes = {
                name
                for name in names
                for role in self.keys
                for piece in self.option_pieces[role]
                if piece.path == path and piece.name.startswith(catalogue.snapshot_prefix(name))
            }
            sources = [self._snapshot(catalogue, label, name, groups) for name in names]
            sources = [source for source in sources if not homes or source.snapshot in homes]
            if not names or (
                "features" not in self.option_pieces and find_role(catalogue, "features")
            ):
                if file.head is None:
                    roles = roles_of_file(
                        catalogue, key, self.option_pieces, option_names=self._option_names(path)
                    )
                else:
                    head_roles = {"weights": file.head.name}
                    head_roles |= {} if file.head.bias is None else {"bias": file.head.bias}
                    roles = roles_of_group(catalogue, "", self.option_pieces, head_roles)
                if "weights" in roles and len(catalogue.entries[roles["weights"]].shape) == 1:
                    raise DataError(
                        f"{label!r} has one number per row; expected a matrix. If these are "
                        f"labels: --features FILE --labels {label}"
                    )
                paths = {piece.path for pieces in self.option_pieces.values() for piece in pieces}
                if not roles and path not in paths:
                    raise DataError(
                        f"{path!r} is not used: leave it out, or name what to read from it, such "
                        f"as {spelled('weights', path)}"
                    )
                pieces = _pieces(catalogue, roles, file)
                notes = _left_out(catalogue, roles, groups, self.option_pieces)
                sources.append(self._source(catalogue, label, snapshot, [pieces], notes))
            return sources

    def in_shards(self, files: Sequence[File]) -> Source:
        """Return the one row of all the files, which an option names for features."""
        parts: list[dict[str, Piece]] = []
        for file in files:
            with self.inputs.open(file.path) as catalogue:
                names = self._option_names(file.path)
                roles = roles_of_file(catalogue, file.key, self.option_pieces, "features", names)
                parts.append(_pieces(catalogue, roles, file))
        with self.inputs.open(files[0].path) as first:
            return self._source(first, ",".join(file.label for file in files), None, parts)

    def in_options(self) -> Source:
        """Return the one row of datasets that options name alone."""
        role = next(role for role in ("weights", "logits", *self.options) if role in self.options)
        with self.inputs.open(self.options[role][0].path) as catalogue:
            label = ",".join(file.label for file in self.options[role])
            return self._source(catalogue, label, None, [])

    def training_set(self, source: Source) -> Source | None:
        """Return the snapshot of the training split that belongs to one of another split."""
        other = source.snapshot is not None and source.attrs.get("split") not in (None, TRAINING)
        return self._training.get(_moment(source)) if other else None

    def _snapshot(
        self, catalogue: Catalogue, label: str, name: str, groups: Mapping[str, str] | None = None
    ) -> Source:
        prefix, names = catalogue.snapshot_prefix(name), self._option_names(catalogue.path)
        roles = roles_of_group(catalogue, prefix, self.option_pieces, option_names=names)
        notes = _left_out(catalogue, roles, groups or {}, self.option_pieces)
        return self._source(catalogue, label, name, [_pieces(catalogue, roles)], notes)

    def _source(
        self,
        catalogue: Catalogue,
        label: str,
        snapshot: str | None,
        parts: Sequence[Mapping[str, Piece]],
        notes: Sequence[str] = (),
    ) -> Source:
        """Return the source of the datasets of its files; those that options name come first."""
        roles = dict.fromkeys(role for part in parts for role in part)
        in_files = {role: tuple(part[role] for part in parts if role in part) for role in roles}
        row_labels = (
            "features" in in_files
            and not {"labels"} & {*in_files, *self.option_pieces}
            and find_role(catalogue, "labels") is None
            and catalogue.attrs.get("kind") == "code"
        )
        pieces = in_files | self.option_pieces
        copies = len(parts) > 1 and "weights" not in self.option_pieces
        opened = partial(
            open_dataset,
            self.inputs,
            self.selection,
            pieces,
            copies=copies,
            row_labels=row_labels,
            notes=notes,
        )
        places = {
            role: [(p.path, p.name) for p in role_pieces] for role, role_pieces in pieces.items()
        }
        attrs = attributes(catalogue, snapshot)
        moment = [attrs.get(name) for name in ("epoch", "step", "layer", "split")]
        facts = catalogue.snapshots.get(str(snapshot), catalogue.attrs), moment
        transposed = self.selection.transpose_weights, self.selection.transpose_features
        reading = repr((places, *transposed, facts))
        stamp = partial(_stamp, self.inputs, reading, [p for ps in places.values() for p in ps])
        heads = [piece.head for piece in pieces.get("weights", ()) if piece.head is not None]
        source = Source(opened, label, snapshot, attrs, stamp, heads[0] if heads else None)
        training = snapshot is not None and attrs.get("split") == TRAINING
        if training and {"features", "labels"} <= in_files.keys():
            self._training[_moment(source)] = source
        return source

    def _option_names(self, path: str) -> list[str]:
        """Return the datasets of a file that options name."""
        return [p.name for pieces in self.option_pieces.values() for p in pieces if p.path == path]

    def _option_pieces(self, role: str) -> tuple[Piece, ...]:
        pieces = []
        for file in self.options[role]:
            with self.inputs.open(file.path) as catalogue:
                roles = {role: dataset_for(catalogue, role, file.key)}
                pieces.append(_pieces(catalogue, roles, file)[role])
        return tuple(pieces)

    def _biases(self) -> tuple[Piece, ...]:
        """Return the biases that belong to the pieces of the named weights."""
        biases = []
        for file, piece in zip(self.options["weights"], self.option_pieces["weights"], strict=True):
            with self.inputs.open(piece.path) as catalogue:
                name = file.head.bias if file.head else bias_of(catalogue, piece.name)
            if name is not None:
                biases.append(Piece(piece.path, name))
        return tuple(biases)


def _stamp(inputs: Inputs, reading: str, places: Sequence[tuple[str, str]]) -> str:
    """Return a digest of the options for reading a row, and of its datasets."""
    texts = [reading, *(inputs.stamp(*place) for place in places)]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def _pieces(
    catalogue: Catalogue, roles: Mapping[str, str], file: File | None = None
) -> dict[str, Piece]:
    """Return the datasets of a file by role.

    Weights that the user did not name have the reason for their choice, and those of a model of the
    hub its commit.
    """
    path = catalogue.path if file is None else file.path
    pieces = {role: Piece(path, name) for role, name in roles.items()}
    if file is not None and (name := roles.get("weights")) is not None:
        head, reason = file.head, head_reason(catalogue, name) if file.key is None else None
        by_key = file.key is not None and name.endswith(file.key.strip("/"))
        piece = Piece(path, name, reason, by_key=by_key)
        if head is not None:
            piece = Piece(path, name, head.reason, os.path.dirname(path), head.note, head.tied)
        if file.commit:
            piece = piece._replace(head=f"{piece.head or name}, commit {file.commit}")
        pieces["weights"] = piece
    return pieces


def _left_out(
    catalogue: Catalogue,
    roles: Mapping[str, str],
    groups: Mapping[str, str],
    option_roles: Collection[str],
) -> list[str]:
    """Return a note on groups and matrices that may be features and are in no row of the result.

    Such a matrix has an integer for each row.
    """
    measured = {*map(catalogue.snapshot_prefix, catalogue.snapshots)}
    unused = [
        name
        for name, prefix in groups.items()
        if prefix not in measured and not roles.get("features", "").startswith(prefix)
    ]
    entries, role = catalogue.entries, "features"
    if role not in {*roles, *option_roles}:
        lengths = [e.shape for e in entries.values() if len(e.shape) == 1 and "int" in e.dtype]
        unused += [
            name
            for name, entry in entries.items()
            if len(entry.shape) == 2 and entry.shape[:1] in lengths and name not in roles.values()
        ]
    if not unused and role in roles and "labels" not in {*roles, *option_roles}:
        role, rows = "labels", catalogue.entries[roles["features"]].shape[:1]
        unused = [
            name
            for name, entry in catalogue.entries.items()
            if entry.shape == rows and ("int" in entry.dtype or entry.dtype == WORDS)
        ]
    if not unused:
        return []
    step = spelled(role, f"{catalogue.path}:{unused[0]}")
    return [f"{catalogue.path!r}: left out: {abridge([*map(repr, unused)])}; choose with {step}"]


def _is_key(names: Sequence[str]) -> bool:
    """Return True if an option given together with files names a dataset of these.

    There is then no file of that name, and it has no suffix of a file format.

    >>> _is_key(["emb"]), _is_key(["head.weight"]), _is_key(["labels.npy"])
    (True, True, False)
    """
    name = names[0]
    is_file = (
        name == "-"
        or ":" in re.sub(rf":({'|'.join(READINGS)})$", "", name)
        or glob.has_magic(name)
        or os.path.exists(name)
        or name.lower().endswith((*FORMATS, ".bin", ".tar"))
    )
    return len(names) == 1 and not is_file


def _moment(source: Source) -> tuple[Any, ...]:
    """Return the moment of a run at which a snapshot was taken."""
    return (
        split_key(str(source.file))[0],
        *(source.attrs.get(k) for k in ("epoch", "step", "layer")),
    )


def _paths(value: Any) -> list[str] | None:
    """Return file names, from one or several; None for arrays."""
    values = value if isinstance(value, (list, tuple)) and value else [value]
    if all(isinstance(v, (str, os.PathLike)) for v in values):
        return [os.fspath(v) for v in values]
    return None
