"""Where the numbers of `measure` come from: files, found and opened later, or the caller's arrays.

Finding looks at names, shapes and attributes alone; opening reads labels and weights, and leaves
features and logits in their files, to be read by rows.
"""

import hashlib
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from gnc_cli.collapse.inputs import SNAPSHOT, File, Names, expand, natural_key
from gnc_cli.collapse.roles import (
    Piece,
    bias_of,
    dataset_for,
    find_role,
    how_found,
    left_out,
    roles_of_file,
    roles_of_group,
)
from gnc_cli.collapse.samples import InputCache, Samples, open_samples, samples_of_arrays
from gnc_cli.collapse.selection import Wanted, attributes, order, selects
from gnc_cli.errors import DataError, UsageError
from gnc_cli.io.catalogue import Catalogue
from gnc_cli.io.file_rows import FileRows
from gnc_cli.io.inputs import short_name, split_key
from gnc_cli.io.labels import ONE_HOT, is_one_hot
from gnc_cli.parameters import spelled, wording

TRAINING = "train"
"""The split whose class means count for the other splits of a run."""


@dataclass(frozen=True)
class Source:
    """One row to measure: found, not open."""

    open: Callable[[], AbstractContextManager[Samples]] = field(repr=False, compare=False)
    """The numbers, inside a `with` block, as often as wanted; raises DataError where the datasets
    cannot be used, alone or together."""
    file: str | None = None
    """As the user named it; several shards joined by a comma; None for arrays."""
    snapshot: str | None = None
    """A group of `/snapshots`, or the name of a file that is one; None for the file itself."""
    attrs: dict[str, Any] = field(default_factory=dict)
    """What file and snapshot say: epoch, step, layer, split, seed; `provenance` as a dictionary."""
    stamp: str = ""
    """Changes when a file of the row does, a dataset that is taken of it, or how it is read."""
    head: str | None = None
    """The dataset of the classifier and why it was taken, where nobody named it; the commit of a
    model of the hub."""
    notes: tuple[str, ...] = ()
    """What was left unread that the user may have meant."""
    training: "Source | None" = field(default=None, repr=False, compare=False)
    """The snapshot of the training split at the same moment of the same run, if this is another."""


def find_sources(
    files: Sequence[Any],
    given: Mapping[str, Any],
    *,
    shards: bool,
    transpose_weights: bool,
    labels_are: str,
    **how: Any,
) -> list[Source]:
    """One source per row of the result, from files or from arrays; see `find_samples`.

    `given` are features, labels, weights, bias, logits that have a file or an array of their own.
    Raises UsageError where there is nothing to measure, or files and arrays are mixed.
    """
    given = {name: value for name, value in given.items() if value is not None}
    if shards and not files:
        raise UsageError(
            f"{spelled('shards')} puts files together; several {spelled('features')} are shards"
        )
    named = {name: found for name, value in given.items() if (found := _paths(value)) is not None}
    arrays = [name for name in given if name not in named]
    if not arrays:
        paths = [os.fspath(file) for file in files]
        return find_samples(
            paths,
            shards=shards,
            transpose_weights=transpose_weights,
            labels_are=labels_are,
            **(how | named),
        )
    if files or named:
        raise UsageError(
            f"{', '.join(arrays)} given as arrays beside files; give arrays for all, or files"
        )
    samples = samples_of_arrays(given, transpose_weights, labels_are)
    return [Source(lambda: nullcontext(samples))]


def find_features(value: Any) -> Source:
    """Features alone: `FILE`, `FILE:key`, globs, several of these, or an array; the source's file
    is what results call them."""
    names = _paths(value)
    if names is None:
        samples = samples_of_arrays({"features": value})
        return Source(lambda: nullcontext(samples), "array")
    named = {"features": expand(names)}
    found = _Finder(named, transpose=False, labels_are="zero-based", K=None).in_options()
    return replace(found, file=", ".join(map(short_name, names)))


def find_samples(
    files: Sequence[str],
    *,
    shards: bool = False,
    transpose_weights: bool = False,
    labels_are: str = "zero-based",
    K: int | None = None,
    select: Sequence[tuple[str, Wanted]] = (),
    **named: Names,
) -> list[Source]:
    """The rows that files and options make, in order of epoch, step, layer, split and name.

    Each file is a row, and each of its snapshots; what has an option of its own comes from there
    for every row. Without files, the files of `features` are shards of one row; a bare `FILE` there
    gives its labels, weights and logits too, `FILE:key` that dataset alone. The bias of a layer
    comes with its weights.

    Args:
        files: `FILE`, `FILE:key`, folders of runs and models, `hf:org/name`, globs, `-`.
        named: features, labels, weights, bias, logits: the same; several files are shards.
        shards: all `files` are parts of one set.
        transpose_weights: weights are stored as (d, K).
        labels_are: how labels are stored: `zero-based`, `one-based` or `one-hot`.
        K: the classes that weights must have together.
        select: pairs (key, wanted) that a row must meet; the keys are its attributes, `file` and
            `snapshot`; wanted is a text, a number, or a list or range of these.

    Raises:
        DataError: a file is missing or damaged, holds nothing to measure or too much to choose
            from, or no row is selected.
        UsageError: a key that no row has.
    """
    given = {role: expand(names) for role, names in named.items()}
    found = expand(files)
    find = _Finder(given, found, transpose=transpose_weights, labels_are=labels_are, K=K)
    if shards and found:
        sources = [find.in_shards(found)]
    elif found:
        sources = [source for file in found for source in find.in_file(file)]
    elif "features" in given:
        del find.named["features"]
        sources = [find.in_shards(given["features"], "features")]
    elif given:
        sources = [find.in_options()]
    else:
        raise UsageError(
            "nothing to measure; "
            + wording(
                "give a file: gnc measure features.h5",
                "give a file or arrays: measure('features.h5') or measure(features=H, labels=y)",
            )
        )
    sources = [replace(source, training=find.training_set(source)) for source in sources]
    sources.sort(key=lambda s: order(s.attrs, s.file or "", s.snapshot))
    if not select:
        return sources
    facts = [s.attrs | {"file": s.file, "snapshot": s.snapshot} for s in sources]
    chosen = selects(facts, select)
    return [source for source, wanted in zip(sources, chosen, strict=True) if wanted]


class _Finder:
    """Makes sources; `named` has the datasets that options name."""

    def __init__(
        self, given: Mapping[str, Sequence[File]], files: Sequence[File] = (), **stored: Any
    ) -> None:
        self.cache, self.given, self.files = InputCache(), given, files
        self.stored = stored
        """How numbers are stored, for `open_samples`."""
        self._heads: dict[Piece, str] = {}
        self._models: dict[Piece, str] = {}
        """Folders of the models that classifiers are of."""
        self._training: dict[tuple[Any, ...], Source] = {}
        self.named = {role: self._named_pieces(role) for role in given}
        if "weights" in given and "bias" not in given and (biases := self._biases()):
            self.named["bias"] = biases

    def in_file(self, file: File) -> list[Source]:
        """The file and its snapshots."""
        path, key, shown, snapshot = file.path, file.key, file.shown, None
        folder, name = os.path.split(path)
        if key is None and (match := SNAPSHOT.fullmatch(name)):
            shown, snapshot = folder, name.removesuffix(".h5")
            beside = os.path.join(folder, f"{match[1]}{TRAINING}.h5")
            if beside != path and os.path.exists(beside):
                self.in_file(File(beside))  # its class means may count
        with self.cache.open(path) as catalogue:
            outside = [
                f"{name!r} {entry.problem}"
                for name, entry in catalogue.entries.items()
                if (name.rpartition("/")[0] or name) == "snapshots"
                and "another file" in str(entry.problem)
            ]
            if outside:
                raise DataError(f"{path!r}: {outside[0]}; copy it into this file")
            wanted = (key or "").strip("/").split("/")
            if wanted[0] == "snapshots" and len(wanted) == 2 and wanted[1] in catalogue.snapshots:
                epoch = catalogue.snapshots[wanted[1]].get("epoch")
                for name, attrs in catalogue.snapshots.items():
                    if (attrs.get("split"), attrs.get("epoch")) == (TRAINING, epoch):
                        self._snapshot(catalogue, shown, name)  # its class means may count
                return [self._snapshot(catalogue, shown, wanted[1])]
            names = sorted(catalogue.snapshots, key=natural_key) if key is None else []
            sources = [self._snapshot(catalogue, shown, name) for name in names]
            if not names or ("features" not in self.named and find_role(catalogue, "features")):
                if file.head is None:
                    roles = roles_of_file(catalogue, key, self.named)
                else:
                    roles = roles_of_group(catalogue, "", self.named, {"weights": str(key)})
                if "weights" in roles:
                    self._check_no_labels(file, catalogue, roles["weights"])
                self._note_head(catalogue, roles.get("weights"), file)
                source = self._source(catalogue, shown, snapshot, [(path, roles)])
                sources.append(replace(source, notes=left_out(catalogue, roles, self.named)))
            return sources

    def in_shards(self, files: Sequence[File], role: str | None = None) -> Source:
        """One row of all the files, which an option names for `role`."""
        parts: list[tuple[str, dict[str, str]]] = []
        with ExitStack() as stack:
            for file in files:
                with self.cache.open(file.path) as catalogue:
                    roles = roles_of_file(catalogue, file.key, self.named, role)
                    self._note_head(catalogue, roles.get("weights"), file)
                    parts.append((file.path, roles))
            first = stack.enter_context(self.cache.open(files[0].path))
            for each in ("features", "labels", "logits"):
                lacking = [path for path, roles in parts if each not in roles]
                if lacking and len(lacking) < len(parts):
                    raise DataError(f"{lacking[0]!r} has no {each}, as the other shards have")
            return self._source(first, ",".join(file.shown for file in files), None, parts)

    def in_options(self) -> Source:
        """One row of what options name alone."""
        role = next(role for role in ("weights", "logits", *self.given) if role in self.given)
        with self.cache.open(self.given[role][0].path) as catalogue:
            shown = ",".join(file.shown for file in self.given[role])
            return self._source(catalogue, shown, None, [])

    def _snapshot(self, catalogue: Catalogue, shown: str, name: str) -> Source:
        roles = roles_of_group(catalogue, f"{catalogue.snapshots_in}{name}/", self.named)
        return self._source(catalogue, shown, name, [(catalogue.path, roles)])

    def training_set(self, source: Source) -> Source | None:
        """The snapshot of the training split that belongs to a snapshot of another split."""
        other = source.snapshot is not None and source.attrs.get("split") not in (None, TRAINING)
        return self._training.get(_moment(source)) if other else None

    def _note_head(self, catalogue: Catalogue, name: str | None, file: File) -> None:
        """Keep why `name` was taken for the classifier, where the user did not name it, and the
        commit of a model of the hub."""
        if name is not None:
            if file.head is not None:
                self._models[Piece(file.path, name)] = os.path.dirname(file.path)
            why = file.head or (how_found(catalogue, name) if file.key is None else None)
            why = f"{why or name}, commit {file.commit}" if file.commit else why
            if why is not None:
                self._heads[Piece(file.path, name)] = why

    def _source(
        self,
        catalogue: Catalogue,
        shown: str,
        snapshot: str | None,
        parts: Sequence[tuple[str, dict[str, str]]],
    ) -> Source:
        """A source from the roles of its files; what options name comes before these."""
        pieces: dict[str, list[Piece]] = {}
        for path, roles in parts:
            for role, name in roles.items():
                pieces.setdefault(role, []).append(Piece(path, name))
        counted = (
            "features" in pieces
            and "labels" not in pieces
            and "labels" not in self.named
            and find_role(catalogue, "labels") is None
            and catalogue.attrs.get("kind") == "code"
        )
        together = {role: tuple(found) for role, found in pieces.items()} | self.named
        opened = partial(
            open_samples,
            self.cache,
            together,
            copies="features" in pieces and len(parts) > 1 and "weights" not in self.named,
            counted=counted,
            **self.stored,
            model=next((self._models.get(piece) for piece in together.get("weights", ())), None),
        )
        paths = dict.fromkeys(path for found in together.values() for path, _ in found)
        taken = repr((together, self.stored["transpose"])).encode()
        digest = hashlib.sha256(taken).hexdigest()[:16]
        stamp = ",".join([digest, *(self.cache.stamp(path) for path in paths)])
        head = next((self._heads.get(piece) for piece in together.get("weights", ())), None)
        source = Source(opened, shown, snapshot, attributes(catalogue, snapshot), stamp, head)
        training = snapshot is not None and source.attrs.get("split") == TRAINING
        if training and {"features", "labels"} <= pieces.keys():
            self._training[_moment(source)] = source
        return source

    def _named_pieces(self, role: str) -> tuple[Piece, ...]:
        pieces = []
        for file in self.given[role]:
            self._check_name(role, file)
            with self.cache.open(file.path) as catalogue:
                name = dataset_for(catalogue, role, file.key)
                self._note_head(catalogue, name if role == "weights" else None, file)
                pieces.append(Piece(file.path, name))
        return tuple(pieces)

    def _check_no_labels(self, file: File, catalogue: Catalogue, weights: str) -> None:
        """Refuse labels where a code is expected, with the options for the files given: one number
        a row, or one-hot with as many rows as a matrix of another file."""
        shape = catalogue.entries[weights].shape
        found = {"features": "FILE", "labels": file.shown}
        if len(shape) == 1:
            said = f"{file.shown!r} has shape {shape}, one number a row; expected a matrix"
        elif len(shape) == 2 and shape[0] > shape[1] and len(self.files) > 1:
            # More one-hot rows than columns: two are equal, as in no code.
            if not is_one_hot(FileRows(catalogue, weights, least=1).read(0, shape[1] + 1)):
                return
            said = f"{file.shown!r} is one-hot, shape {shape}; expected a code"
            found["labels_are"] = ONE_HOT
        else:
            return
        for other in self.files:
            if other == file:
                continue
            with self.cache.open(other.path) as beside:
                shapes = [e.shape for e in beside.entries.values() if len(e.shape) == 2]
            if len(shapes) == 1:
                found["features" if shapes[0][0] == shape[0] else "weights"] = other.shown
        if len(shape) == 2 and found["features"] == "FILE":
            return
        options = " ".join(
            f"--{role.replace('_', '-')} {shlex.quote(name)}" for role, name in found.items()
        )
        call = ", ".join(f"{role}={name!r}" for role, name in found.items())
        raise DataError(
            f"{said}. If these are labels: {wording(f'gnc measure {options}', f'measure({call})')}"
        )

    def _check_name(self, role: str, wanted: File) -> None:
        """Refuse the name of a dataset in place of a file, where another file has that dataset."""
        if wanted.path == "-" or os.path.exists(wanted.path):
            return
        for file in (*self.files, *(file for files in self.given.values() for file in files)):
            if not os.path.exists(file.path):
                continue
            with self.cache.open(file.path) as catalogue:
                names = [f"/{name}" for name in catalogue.entries]
            if any(name.endswith((f"/{wanted.path}", f".{wanted.path}")) for name in names):
                raise DataError(
                    f"no such file: {wanted.path!r}; {file.path!r} has a dataset of that name: "
                    f"{spelled(role, f'{file.path}:{wanted.path}')}"
                )

    def _biases(self) -> tuple[Piece, ...]:
        """The bias beside each piece of the named weights; none where not all have one."""
        found = []
        for piece in self.named["weights"]:
            with self.cache.open(piece.path) as catalogue:
                name = bias_of(catalogue, piece.name)
            if name is not None:
                found.append(Piece(piece.path, name))
        if found and len(found) < len(self.named["weights"]):
            having = {bias.path for bias in found}
            lacking = next(w.path for w in self.named["weights"] if w.path not in having)
            raise DataError(
                f"{lacking!r} has no bias, the other shards have; add it or name {spelled('bias')}"
            )
        return tuple(found)


def _moment(source: Source) -> tuple[Any, ...]:
    """The moment of a run that a snapshot is of."""
    file = split_key(str(source.file))[0]
    return (file, *(source.attrs.get(k) for k in ("epoch", "step", "layer")))


def _paths(value: Any) -> list[str] | None:
    """File names, from one or several; None for arrays."""
    several = value if isinstance(value, (list, tuple)) and value else [value]
    if all(isinstance(v, (str, os.PathLike)) for v in several):
        return [os.fspath(v) for v in several]
    return None
