"""From names to numbers: the datasets of one row, opened and held against each other."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.io.catalogue import Catalogue
from gnc_cli.io.file_rows import ConcatenatedRows, FileRows
from gnc_cli.io.loading import load_bias, load_labels, load_weights
from gnc_cli.io.sample_roles import Piece
from gnc_cli.io.shelf import Shelf

__all__ = ["Plan", "Samples", "open_plan"]

Matrix = FileRows | ConcatenatedRows
"""Structurally `numerics.rows.Rows`, with `where` for messages."""


@dataclass(frozen=True)
class Plan:
    """Which datasets make one row, and how."""

    pieces: dict[str, tuple[Piece, ...]]
    """By role, in order."""
    copies: bool
    """Several pieces of weights are the same weights again, not parts of them."""
    counted: bool
    """A code with one feature a class: labels are 0 to K - 1."""
    transpose: bool
    """Weights are stored as (d, K)."""
    K: int | None


@dataclass(frozen=True, eq=False)
class Samples:
    """The numbers of one row; features and logits can be read while their files are open."""

    features: Matrix | None
    """Rows (N, d), as stored."""
    labels: np.ndarray | None
    """Shape (N,), int64, at least 0; not held against K."""
    weights: np.ndarray | None
    """Shape (K, d), float64, as stored, finite; rows may be zero."""
    bias: np.ndarray | None
    """Shape (K,), float64, finite."""
    logits: Matrix | None
    """Rows (N, K), as stored."""
    where: dict[str, str]
    """How messages name each of them: `'f.h5': dataset 'features'`."""


@contextlib.contextmanager
def open_plan(plan: Plan, shelf: Shelf) -> Iterator[Samples]:
    """Open the files of a plan for the block.

    Raises:
        DataError: a dataset cannot be used, or two do not fit each other; names file, dataset and
            the next step.
    """
    with contextlib.ExitStack() as stack:
        opened: dict[str, Catalogue] = {}

        def pieces(role: str) -> list[tuple[Catalogue, str]]:
            for piece in plan.pieces.get(role, ()):
                if piece.path not in opened:
                    opened[piece.path] = stack.enter_context(shelf.open(piece.path))
            return [(opened[piece.path], piece.name) for piece in plan.pieces.get(role, ())]

        features = _rows([FileRows(*piece) for piece in pieces("features")])
        logits = _rows([FileRows(*piece) for piece in pieces("logits")])
        where = {"features": features.where} if features is not None else {}
        where |= {"logits": logits.where} if logits is not None else {}
        for role in ("labels", "weights", "bias"):
            for catalogue, name in pieces(role)[:1]:
                where[role] = catalogue.where(name)
        labels = _labels(pieces("labels"), pieces("features"), where)
        if plan.counted and features is not None:
            labels = np.arange(features.shape[0])
            where["labels"] = f"{features.where}, one row a class"
        _check_lengths(features, logits, labels, where)
        parts = [FileRows(*piece, least=1) for piece in pieces("weights")]
        biases = [load_bias(*piece) for piece in pieces("bias")[: 1 if plan.copies else None]]
        bias = np.concatenate(biases) if biases else None
        weights = _weights(plan, parts, features, logits, bias) if parts else None
        if weights is not None and bias is not None and len(bias) != len(weights):
            raise DataError(
                f"{where['bias']} has {len(bias)} values, {where['weights']} makes {len(weights)} "
                "classes; expected one for each"
            )
        yield Samples(features, labels, weights, bias, logits, where)


def _rows(parts: Sequence[FileRows]) -> Matrix | None:
    if len(parts) < 2:
        return parts[0] if parts else None
    return ConcatenatedRows(parts)


def _labels(
    pieces: Sequence[tuple[Catalogue, str]],
    features: Sequence[tuple[Catalogue, str]],
    where: dict[str, str],
) -> np.ndarray | None:
    """All labels in order; shard by shard as many as features, where there are as many files."""
    if not pieces:
        return None
    loaded = [load_labels(*piece) for piece in pieces]
    if len(pieces) == len(features) > 1:
        for (catalogue, name), labels, (other, matrix) in zip(
            pieces, loaded, features, strict=True
        ):
            rows = other.entries[matrix].shape[0]
            if len(labels) != rows:
                raise DataError(
                    f"{catalogue.where(name)} has {len(labels)} labels, {other.where(matrix)} has "
                    f"{rows} rows; each shard needs one label a row"
                )
    if len(pieces) > 1:
        where["labels"] += f" and {len(pieces) - 1} more file(s)"
    return np.concatenate(loaded)


def _check_lengths(
    features: Matrix | None, logits: Matrix | None, labels: np.ndarray | None, where: dict[str, str]
) -> None:
    counts = {
        "features": None if features is None else features.shape[0],
        "labels": None if labels is None else len(labels),
        "logits": None if logits is None else logits.shape[0],
    }
    if counts["features"] is None and counts["logits"] is None:
        return
    there = {role: count for role, count in counts.items() if count is not None}
    if len(set(there.values())) > 1:
        texts = [f"{where[role]} has {count} row(s)" for role, count in there.items()]
        raise DataError(f"{', '.join(texts)}; expected one for each sample in all of them")


def _weights(
    plan: Plan,
    parts: Sequence[FileRows],
    features: Matrix | None,
    logits: Matrix | None,
    bias: np.ndarray | None,
) -> np.ndarray:
    """The classifier: rows of all parts, or the one that all parts repeat."""
    own = parts[:1] if plan.copies else parts
    K = plan.K if plan.K is not None else None if logits is None else logits.shape[1]
    if K is None and bias is not None and len(bias) == parts[0].shape[1 - plan.transpose]:
        K = len(bias)  # it speaks for the other axis
    _check_shape(own, None if features is None else features.shape[1], K, plan.transpose)
    weights = load_weights(own, transpose=plan.transpose)
    for part in parts[len(own) :]:
        again = load_weights([part], transpose=plan.transpose)
        if not np.array_equal(again, weights):
            raise DataError(
                f"{part.where} differs from {parts[0].where}; shards of one set share their "
                "classifier: name it with --weights"
            )
    return weights


def _check_shape(parts: Sequence[FileRows], d: int | None, K: int | None, transpose: bool) -> None:
    """Hold the stored shape against d of the features and K, before anything is loaded."""
    if transpose:
        stored = (parts[0].shape[0], sum(part.shape[1] for part in parts))
        rows, columns = stored[::-1]
    else:
        stored = (sum(part.shape[0] for part in parts), parts[0].shape[1])
        rows, columns = stored
    fits = (d is None or columns == d) and (K is None or rows == K)
    if fits:
        return
    # The same matrix the other way round, if that fits: said, never done unasked.
    turned = (d is None or rows == d) and (K is None or columns == K)
    what = f"{parts[0].where}" + (f" and {len(parts) - 1} more file(s)" if parts[1:] else "")
    expected = f"({'K' if K is None else K}, {'d' if d is None else d})"
    if turned:
        step = "drop --transpose-weights" if transpose else "if it is (d, K), --transpose-weights"
    elif d is not None and columns != d:
        step = "is it the classifier of these features?"
    else:
        step = "is a shard missing?" if rows < (K or 0) else "is --K right?"
    raise DataError(f"{what} has shape {stored}; expected {expected}, one class a row: {step}")
