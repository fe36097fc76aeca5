"""Labels of samples: in shards, one-hot, or counted from 1; what they look like is said by name."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.io.catalogue import Catalogue
from gnc_cli.io.loading import load_labels
from gnc_cli.parameters import spelled

_IGNORED = (-1, -100)
"""Labels of what is left out; the second is the `ignore_index` of PyTorch and Hugging Face."""
ONE_BASED, ONE_HOT = "one-based", "one-hot"
"""Forms of `--labels-are`; the third is `zero-based`."""


def is_one_hot(values: np.ndarray) -> bool:
    """Whether there is one 1 in each row of two or more columns, and zeros else."""
    return (
        values.ndim == 2
        and values.shape[1] > 1
        and bool(((values == 0) | (values == 1)).all())
        and bool((np.count_nonzero(values, axis=1) == 1).all())
    )


def zero_based(values: np.ndarray, where: str, form: str) -> np.ndarray:
    """Labels in the `form` that the user says as integers from 0 on; others as they are, -1 for
    those that are left out.

    Args:
        values: shape (N,), (N, 1), or one-hot (N, K).
        where: names them in messages.
        form: `zero-based`, `one-based` or `one-hot`.

    Raises:
        DataError: they are not in this form, or one-hot and the user has not said so.

    Example:
        >>> zero_based(np.array([[0, 1], [1, 0]]), "labels", "one-hot")
        array([1, 0])
    """
    one_hot = is_one_hot(values)
    if form == ONE_HOT:
        if not one_hot:
            raise DataError(
                f"{where}: shape {values.shape} is not one-hot, with one 1 and else zeros in each "
                f"row; drop {spelled('labels_are', ONE_HOT)}"
            )
        return np.asarray(values.argmax(axis=1))
    if one_hot:
        raise DataError(
            f"{where} is one-hot, shape {values.shape}; add {spelled('labels_are', ONE_HOT)}"
        )
    left_out = np.isin(values, _IGNORED)
    if form == ONE_BASED:
        below = np.flatnonzero((values < 1).reshape(-1) & ~left_out.reshape(-1))
        if below.size:
            raise DataError(
                f"{where} has label {values.reshape(-1)[below[0]]} at row {below[0]}, and does not "
                f"count from 1; drop {spelled('labels_are', ONE_BASED)}"
            )
        values = np.asarray(values - 1)
    return np.where(left_out, -1, values) if left_out.any() else values


def check_range(labels: np.ndarray, K: int, where: str) -> None:
    """Refuse labels above K - 1; those that run from 1 to K are recognised."""
    if int(labels.max(initial=0)) < K:
        return
    row = int((labels >= K).argmax())
    step = f"; {from_one()}" if labels[labels >= 0].min() == 1 and labels.max() == K else ""
    raise DataError(
        f"{where} has label {labels[row]} at row {row}, out of range for K = {K}; "
        f"expected 0 to {K - 1}{step}"
    )


def suspicion(labels: np.ndarray, step: str | None = None) -> str | None:
    """A warning where labels that alone say what K is look as if they counted from 1."""
    counts = np.bincount(labels[labels >= 0])
    if len(counts) < 3 or counts[0] or not counts[1:].all():
        return None
    return (
        f"no sample has label 0, and every label from 1 to {len(counts) - 1} has some: class 0 is "
        f"taken as missing; {from_one(step)}"
    )


def from_one(step: str | None = None) -> str:
    """The step for labels that count from 1: an option, or another where there is none."""
    return f"if they count from 1, {step or 'add ' + spelled('labels_are', ONE_BASED)}"


def joined_labels(
    pieces: Sequence[tuple[Catalogue, str]],
    features: Sequence[tuple[Catalogue, str]],
    where: dict[str, str],
    form: str,
) -> np.ndarray | None:
    """All labels in order; shard by shard as many as features, where there are as many files."""
    if not pieces:
        return None
    prepare = partial(zero_based, form=form)
    loaded = [load_labels(*piece, prepare=prepare, left_out=True) for piece in pieces]
    if len(pieces) > 1:
        where["labels"] += f" and {len(pieces) - 1} more file(s)"
        for (catalogue, name), labels, (other, matrix) in zip(
            pieces, loaded, features if len(features) == len(pieces) else (), strict=False
        ):
            rows = other.entries[matrix].shape[0]
            if len(labels) != rows:
                raise DataError(
                    f"{catalogue.where(name)} has {len(labels)} labels, {other.where(matrix)} has "
                    f"{rows} rows; each shard needs one label a row"
                )
    return np.concatenate(loaded)
