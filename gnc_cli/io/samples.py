"""Features, labels, classifier and logits to measure, from one file or many, found and then opened.

Finding looks at names, shapes and attributes alone; opening reads labels and weights, and leaves
features and logits in their files, to be read by rows.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from typing import Any

from gnc_cli.errors import DataError, UsageError
from gnc_cli.io.catalogue import Catalogue
from gnc_cli.io.names import bias_of, find_role
from gnc_cli.io.patterns import expand, natural_key
from gnc_cli.io.sample_opening import Plan, Samples, open_plan
from gnc_cli.io.sample_roles import Piece, dataset_for, roles_of_file, roles_of_snapshot
from gnc_cli.io.sample_selection import Wanted, attributes, order, selects
from gnc_cli.io.shelf import Shelf

__all__ = ["SampleSource", "Samples", "find_samples"]

File = tuple[str, str | None]
"""A path, and the key behind its colon."""


@dataclass(frozen=True)
class SampleSource:
    """One row to measure: found, not open."""

    file: str | None
    """As the user named it; several shards joined by a comma."""
    snapshot: str | None
    """A group of `/snapshots`; None for the file itself."""
    attrs: dict[str, Any]
    """What file and snapshot say: epoch, step, layer, split, seed; `provenance` as a dictionary."""
    stamp: str
    """Changes when a file of the row does."""
    plan: Plan = field(repr=False)
    shelf: Shelf = field(repr=False, compare=False)

    def open(self) -> AbstractContextManager[Samples]:
        """The numbers, inside a `with` block; as often as wanted.

        Raises:
            DataError: the datasets cannot be used, alone or together.
        """
        return open_plan(self.plan, self.shelf)


def find_samples(
    files: Sequence[str],
    *,
    features: str | Sequence[str] | None = None,
    labels: str | Sequence[str] | None = None,
    weights: str | Sequence[str] | None = None,
    bias: str | Sequence[str] | None = None,
    logits: str | Sequence[str] | None = None,
    shards: bool = False,
    transpose_weights: bool = False,
    K: int | None = None,
    select: Sequence[tuple[str, Wanted]] = (),
) -> list[SampleSource]:
    """The rows that files and options make, in order of epoch, step, layer, split and name.

    Each file is a row, and each of its snapshots; what has an option of its own comes from there
    for every row. Without files, the files of `features` are shards of one row; a bare `FILE` there
    gives its labels, weights and logits too, `FILE:key` that dataset alone. The bias of a layer
    comes with its weights.

    Args:
        files: `FILE`, `FILE:key`, globs, `-`.
        features, labels, weights, bias, logits: the same; several files are shards.
        shards: all `files` are parts of one set.
        transpose_weights: weights are stored as (d, K).
        K: the classes that weights must have together.
        select: pairs (key, wanted) that a row must meet; the keys are its attributes, `file` and
            `snapshot`; wanted is a text, a number, or a list or range of these.

    Raises:
        DataError: a file is missing or damaged, holds nothing to measure or too much to choose
            from, or no row is selected.
        UsageError: a key that no row has.
    """
    shelf = Shelf()
    options = {
        "features": features, "labels": labels, "weights": weights, "bias": bias, "logits": logits,
    }  # fmt: skip
    given = {role: expand(names) for role, names in options.items() if names is not None}
    named = {role: _pieces(shelf, role, found) for role, found in given.items()}
    if "weights" in named and "bias" not in given:
        own = _biases(shelf, named["weights"])
        named |= {"bias": own} if own else {}
    make = _Maker(shelf, named, transpose_weights, K)
    found = expand(files)
    if shards and found:
        sources = [make.from_shards(found)]
    elif found:
        sources = [source for file in found for source in make.from_file(file)]
    elif "features" in named:
        del make.named["features"]
        sources = [make.from_shards(given["features"], "features")]
    elif named:
        sources = [make.from_options(given)]
    else:
        raise UsageError("nothing to measure; name a file")
    sources.sort(key=lambda s: order(s.attrs, s.file or "", s.snapshot))
    if not select:
        return sources
    facts = [s.attrs | {"file": s.file, "snapshot": s.snapshot} for s in sources]
    chosen = selects(facts, select)
    return [source for source, wanted in zip(sources, chosen, strict=True) if wanted]


class _Maker:
    """Makes sources; `named` has the datasets that options name."""

    def __init__(
        self, shelf: Shelf, named: dict[str, tuple[Piece, ...]], transpose: bool, K: int | None
    ) -> None:
        self.shelf, self.named, self.transpose, self.K = shelf, dict(named), transpose, K

    def from_file(self, file: File) -> list[SampleSource]:
        """The file and its snapshots."""
        path, key = file
        shown = path if key is None else f"{path}:{key}"
        with self.shelf.open(path) as catalogue:
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
                return [self._snapshot(catalogue, shown, wanted[1])]
            names = sorted(catalogue.snapshots, key=natural_key) if key is None else []
            sources = [self._snapshot(catalogue, shown, name) for name in names]
            if not names or ("features" not in self.named and find_role(catalogue, "features")):
                roles = roles_of_file(catalogue, key, self.named)
                sources.append(self._source(catalogue, shown, None, [(path, roles)]))
            return sources

    def from_shards(self, files: Sequence[File], role: str | None = None) -> SampleSource:
        """One row of all the files, which an option names for `role`."""
        parts: list[tuple[str, dict[str, str]]] = []
        with ExitStack() as stack:
            for path, key in files:
                with self.shelf.open(path) as catalogue:
                    parts.append((path, roles_of_file(catalogue, key, self.named, role)))
            first = stack.enter_context(self.shelf.open(files[0][0]))
            for each in ("features", "labels", "logits"):
                lacking = [path for path, roles in parts if each not in roles]
                if lacking and len(lacking) < len(parts):
                    raise DataError(f"{lacking[0]!r} has no {each}, as the other shards have")
            return self._source(first, ",".join(path for path, _ in files), None, parts)

    def from_options(self, given: Mapping[str, Sequence[File]]) -> SampleSource:
        """One row of what options name alone, without features."""
        role = next(role for role in ("weights", "logits", *given) if role in given)
        with self.shelf.open(given[role][0][0]) as catalogue:
            shown = ",".join(path for path, _ in given[role])
            return self._source(catalogue, shown, None, [])

    def _snapshot(self, catalogue: Catalogue, shown: str, name: str) -> SampleSource:
        roles = roles_of_snapshot(catalogue, name, self.named)
        return self._source(catalogue, shown, name, [(catalogue.path, roles)])

    def _source(
        self,
        catalogue: Catalogue,
        shown: str,
        snapshot: str | None,
        parts: Sequence[tuple[str, dict[str, str]]],
    ) -> SampleSource:
        """A source from the roles of its files; what options name stands above these."""
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
        plan = Plan(
            pieces=together,
            copies="features" in pieces and len(parts) > 1 and "weights" not in self.named,
            counted=counted,
            transpose=self.transpose,
            K=self.K,
        )
        paths = dict.fromkeys(piece.path for found in together.values() for piece in found)
        stamp = ",".join(self.shelf.stamp(path) for path in paths)
        return SampleSource(
            shown, snapshot, attributes(catalogue, snapshot), stamp, plan, self.shelf
        )


def _pieces(shelf: Shelf, role: str, files: Sequence[File]) -> tuple[Piece, ...]:
    pieces = []
    for path, key in files:
        with shelf.open(path) as catalogue:
            pieces.append(Piece(path, dataset_for(catalogue, role, key)))
    return tuple(pieces)


def _biases(shelf: Shelf, weights: Sequence[Piece]) -> tuple[Piece, ...]:
    """The bias beside each piece of the weights; none where not all have one."""
    found = []
    for piece in weights:
        with shelf.open(piece.path) as catalogue:
            name = bias_of(catalogue, piece.name)
        if name is not None:
            found.append(Piece(piece.path, name))
    if found and len(found) < len(weights):
        lacking = next(w.path for w in weights if w.path not in {b.path for b in found})
        raise DataError(f"{lacking!r} has no bias, the other shards have; add it or name --bias")
    return tuple(found)
