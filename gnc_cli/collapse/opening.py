"""From names to numbers: the datasets of one row, opened and held against each other."""

import contextlib
import hashlib
import io
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gnc_cli.collapse.roles import Piece
from gnc_cli.errors import DataError
from gnc_cli.io.catalogue import Catalogue
from gnc_cli.io.file_rows import ConcatenatedRows, FileRows
from gnc_cli.io.formats import reader_for
from gnc_cli.io.inputs import open_input, split_key
from gnc_cli.io.loading import load_bias, load_labels, load_weights
from gnc_cli.metrics.rows import Rows
from gnc_cli.parameters import spelled


class InputCache:
    """Input files by name, opened as often as asked for; a pipe is read once and kept."""

    def __init__(self) -> None:
        self._piped: dict[str, bytes] = {}

    @contextlib.contextmanager
    def open(self, path: str) -> Iterator[Catalogue]:
        """The catalogue of a file, or of `-`, for the block."""
        with contextlib.ExitStack() as stack:
            if path in self._piped:
                file = stack.enter_context(io.BytesIO(self._piped[path]))
            else:
                file = stack.enter_context(open_input(path))  # type: ignore[assignment]
                if isinstance(file, io.BytesIO):
                    self._piped[path] = file.getvalue()
            yield stack.enter_context(reader_for(path, file)(file, path))

    def stamp(self, path: str) -> str:
        """A text that changes when the file does: size and time, or a digest of what was piped."""
        if path in self._piped:
            return hashlib.sha256(self._piped[path]).hexdigest()[:16]
        return file_stamp(path)


def file_stamp(name: str) -> str:
    """A text that changes when the file `FILE` or `FILE:key` does: size and time; "" if missing."""
    path, _ = split_key(name)
    try:
        status = os.stat(path)
    except OSError:
        return ""
    return f"{status.st_size}-{status.st_mtime_ns}"


@dataclass(frozen=True)
class Plan:
    """Which datasets make one row, and how."""

    pieces: dict[str, tuple[Piece, ...]]
    """By role, in order."""
    copies: bool
    """Several pieces of weights are the same weights again, not parts of them."""
    counted: bool
    """A code with one feature per class: labels are 0 to K - 1."""
    transpose: bool
    """Weights are stored as (d, K)."""
    K: int | None


@dataclass(frozen=True, eq=False)
class Samples:
    """The numbers of one row; features and logits can be read while their files are open."""

    features: Rows | None
    """Rows (N, d), as stored."""
    labels: np.ndarray | None
    """Shape (N,), int64, at least 0; not held against K."""
    weights: np.ndarray | None
    """Shape (K, d), float64, as stored, finite; rows may be zero."""
    bias: np.ndarray | None
    """Shape (K,), float64, finite."""
    logits: Rows | None
    """Rows (N, K), as stored."""
    where: dict[str, str]
    """How messages name each of them: `'f.h5': dataset 'features'`."""


@contextlib.contextmanager
def open_plan(plan: Plan, cache: InputCache) -> Iterator[Samples]:
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
                    opened[piece.path] = stack.enter_context(cache.open(piece.path))
            return [(opened[piece.path], piece.name) for piece in plan.pieces.get(role, ())]

        features = _joined([FileRows(*piece) for piece in pieces("features")])
        logits = _joined([FileRows(*piece) for piece in pieces("logits")])
        where = {"features": features.where} if features is not None else {}
        where |= {"logits": logits.where} if logits is not None else {}
        for role in ("labels", "weights", "bias"):
            for catalogue, name in pieces(role)[:1]:
                where[role] = catalogue.where(name)
        labels = _labels(pieces("labels"), pieces("features"), where)
        if plan.counted and features is not None:
            labels = np.arange(features.shape[0])
            where["labels"] = f"{features.where}, one row a class"
        _check_lengths({"features": features, "labels": labels, "logits": logits}, where)
        biases = [load_bias(*piece) for piece in pieces("bias")[: 1 if plan.copies else None]]
        bias = np.concatenate(biases) if biases else None
        parts = [FileRows(*piece, least=1) for piece in pieces("weights")]
        weights = None
        if parts:
            weights = _weights(plan, parts, features, logits, bias)
            if bias is not None and len(bias) != len(weights):
                raise DataError(
                    f"{where['bias']} has {len(bias)} values, {where['weights']} makes "
                    f"{len(weights)} classes; expected one for each"
                )
        yield Samples(features, labels, weights, bias, logits, where)


def _joined(parts: Sequence[FileRows]) -> FileRows | ConcatenatedRows | None:
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


def _check_lengths(arrays: dict[str, Rows | np.ndarray | None], where: dict[str, str]) -> None:
    counts = {role: a.shape[0] for role, a in arrays.items() if a is not None}
    if len(set(counts.values())) > 1:
        texts = [f"{where[role]} has {count} row(s)" for role, count in counts.items()]
        raise DataError(f"{', '.join(texts)}; expected one for each sample in all of them")


def _weights(
    plan: Plan,
    parts: Sequence[FileRows],
    features: Rows | None,
    logits: Rows | None,
    bias: np.ndarray | None,
) -> np.ndarray:
    """The classifier: rows of all parts, or the one that all parts repeat."""
    own = parts[:1] if plan.copies else parts
    K = plan.K if plan.K is not None else None if logits is None else logits.shape[1]
    if K is None and bias is not None and len(bias) == parts[0].shape[1 - plan.transpose]:
        K = len(bias)  # the bias is as long as the other axis: the matrix is transposed
    _check_shape(own, None if features is None else features.shape[1], K, plan.transpose)
    weights = load_weights(own, transpose=plan.transpose)
    for part in parts[len(own) :]:
        if not np.array_equal(load_weights([part], transpose=plan.transpose), weights):
            raise DataError(
                f"{part.where} differs from {parts[0].where}; shards of one set share their "
                f"classifier: name it with {spelled('weights')}"
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
    if d in (None, columns) and K in (None, rows):
        return
    what = f"{parts[0].where}" + (f" and {len(parts) - 1} more file(s)" if parts[1:] else "")
    expected = f"({'K' if K is None else K}, {'d' if d is None else d})"
    if d in (None, rows) and K in (None, columns):  # a transpose is suggested, never done unasked
        step = f"{'drop' if transpose else 'if it is (d, K),'} {spelled('transpose_weights')}"
    elif d not in (None, columns):
        step = "is it the classifier of these features?"
    else:
        step = "is a shard missing?" if rows < (K or 0) else f"is {spelled('K')} right?"
    raise DataError(f"{what} has shape {stored}; expected {expected}, one class a row: {step}")
