"""Passes over the samples of one set: by blocks, in threads, and in processes under torchrun.

Each process takes a share of the rows; what they find is merged in order of rank, so that all hold
the same statistics. What ends one of them early ends all.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from gnc_cli.collapse.request import OWN, Request
from gnc_cli.collapse.samples import Prepared
from gnc_cli.errors import DataError
from gnc_cli.metrics.class_moments import ClassMoments, stream_moments
from gnc_cli.metrics.decisions import Decisions, merge, stream_decisions
from gnc_cli.metrics.rows import block_rows
from gnc_cli.parameters import spelled
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.distributed import Processes, in_all, share
from gnc_cli.runtime.threads import limit_threads, threads_for


@dataclass(frozen=True, eq=False)
class Statistics:
    """What one reading of the samples leaves; nothing where there are only weights."""

    moments: ClassMoments | None = None
    """In the space of the GNC metrics: unit rows, or raw ones with normalize=off."""
    raw: ClassMoments | None = None
    """Of raw rows, for the classic metrics and NECO's."""
    decisions: Decisions | None = None
    accuracy: str = "none"
    """What decided it: `raw rows`, `logits` or `none`."""
    means_of: str = OWN
    """Whose class means count: `own`, or a name of other data."""
    judge: str | None = None
    """Whose class means judged, where these are others than for GNC1."""
    train: ClassMoments | None = None
    """Of other data whose class means count for GNC1 and NCC; `moments` are then about these."""
    raw_train: ClassMoments | None = None
    """The same of raw rows, for the classic metrics."""
    ood: ClassMoments | None = None
    """Of raw out-of-distribution features, as one class."""
    ood_name: str | None = None
    """What results call these."""
    storage: str | None = None
    """Dtype of the features."""


def read_statistics(
    samples: Prepared,
    request: Request,
    processes: Processes,
    train: dict[str, ClassMoments] | None,
    means_of: str,
) -> Statistics:
    """Everything that the samples say: class moments in one pass, decisions in the next.

    Args:
        train: of the set whose class means count, if it is another.
        means_of: what messages and the policy call that set.

    Raises:
        DataError: a feature is not finite, or zero where it must be scaled; a class that the
            training set lacks.
        TimeoutError: interrupted.
    """
    assert samples.features is not None
    space, centres, others = "unit" if request.unit else "raw", None, None
    if train is not None:
        others = train[space]
        _check_train(others, samples, means_of)
        centres = {name: moments.means for name, moments in train.items()}
    spaces = request.spaces(samples.d, samples.K)
    own = read_moments(samples, request, processes, spaces, centres)
    decisions = _read_decisions(samples, request, processes, train or own, train is None)
    accuracy = "none"
    if samples.logits is not None:
        accuracy = "logits"
    elif samples.weights is not None:
        accuracy = "raw rows" if samples.bias is not None else "raw rows, no bias"
    return Statistics(
        moments=own[space],
        raw=own.get("raw"),
        decisions=decisions,
        means_of=means_of,
        accuracy=accuracy,
        train=others,
        raw_train=None if train is None else train.get("raw"),
        storage=str(samples.features.dtype),
    )


def read_moments(
    samples: Prepared,
    request: Request,
    processes: Processes,
    spaces: tuple[str, ...],
    centres: dict[str, np.ndarray] | None = None,
) -> dict[str, ClassMoments]:
    """Class moments by space; `centres` are class means of other data."""
    assert samples.features is not None and samples.labels is not None
    rows, labels = samples.features, samples.labels
    # Each worker multiplies alone; threads inside the products would wait for each other.
    with limit_threads(1):
        moments = in_all(
            processes,
            lambda: stream_moments(
                rows,
                labels,
                samples.K,
                centres=centres,
                spaces=spaces,
                **_effort(samples, request, processes, samples.d),
            ),
        )
    whole, *others = processes.each(moments)
    for other in others:
        for space in spaces:
            whole[space].merge(other[space])
    return whole


def _read_decisions(
    samples: Prepared,
    request: Request,
    processes: Processes,
    judges: Mapping[str, ClassMoments],
    own: bool,
) -> Decisions:
    """Decisions by class means, by space; `own` where they are the samples' own."""
    unit = request.unit
    answered = samples.weights is not None or samples.logits is not None
    judge = judges["unit" if unit else "raw"]
    raw = judges.get("raw") if unit and answered else None
    assert samples.features is not None and samples.labels is not None
    rows, labels = samples.features, samples.labels
    with limit_threads(1):
        decisions = in_all(
            processes,
            lambda: stream_decisions(
                rows,
                labels,
                weights=samples.weights,
                bias=samples.bias,
                logits=samples.logits,
                means=judge.means,
                present=judge.present,
                raw_means=None if raw is None else raw.means,
                own_counts=judge.counts if own else None,
                unit=unit,
                **_effort(samples, request, processes, samples.K),
            ),
        )
    return reduce(merge, processes.each(decisions))


def _effort(
    samples: Prepared, request: Request, processes: Processes, columns: int
) -> dict[str, Any]:
    """Arguments that both passes share; threads for products of this many columns. No time limit
    counts here: samples are read to their end or not at all."""
    rows = samples.features
    assert rows is not None
    work = 2.0 * block_rows(rows) * rows.shape[1] * columns
    return {
        "where": samples.where["features"],
        "span": share(rows.shape[0], processes.rank, processes.size, rows.step),
        "workers": threads_for(work, request.threads),
        "deadline": Deadline(None, request.interrupt),
        "progress": request.progress,
    }


def _check_train(train: ClassMoments, prepared: Prepared, name: str) -> None:
    """Refuse class means that do not fit the set that is measured."""
    assert prepared.labels is not None
    if train.means.shape != (prepared.K, prepared.d):
        raise DataError(
            f"{name} has class means of shape {train.means.shape}, not "
            f"{(prepared.K, prepared.d)}; give the training set of the same network"
        )
    seen = np.unique(prepared.labels[prepared.labels >= 0])
    unknown = seen[~train.present[seen]]
    if unknown.size:
        raise DataError(
            f"{name} has no sample of class {prepared.kept[unknown[0]]}, which the data have; "
            f"leave such classes out with {spelled('classes', 'FILE')}, or take the data's own "
            f"means with {spelled('means_from', OWN)}"
        )
