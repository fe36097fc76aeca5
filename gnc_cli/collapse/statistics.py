"""Passes over the samples of one set: by blocks, in threads, and in processes under torchrun.

Each process takes a share of the rows; what they find is merged in order of rank, so that all hold
the same statistics. What ends one of them early ends all.
"""

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

import numpy as np

from gnc_cli.collapse.conventions import OWN, Budget, Conventions, HeadForm
from gnc_cli.collapse.samples import Prepared
from gnc_cli.errors import DataError
from gnc_cli.metrics.class_moments import ClassMoments, stream_moments
from gnc_cli.metrics.decisions import (
    Decider,
    Decisions,
    block_decider,
    equivalent_head,
    stream_deciders,
)
from gnc_cli.metrics.rows import ColumnRows, Rows, block_rows
from gnc_cli.metrics.spectrum import (
    FeatureSpectrum,
    direction_sums,
    feature_spectrum,
    moment_sums,
    total_moments,
)
from gnc_cli.parameters import spelled
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.distributed import Processes, in_all, share
from gnc_cli.runtime.threads import accelerator, limit_threads, threads_for


@dataclass(frozen=True, eq=False)
class Statistics:
    """What one reading of the samples leaves; nothing where there are only weights."""

    moments: ClassMoments | None = None
    """In the space of the GNC metrics: unit rows, or raw ones with normalize=off."""
    raw: ClassMoments | None = None
    """Of raw rows, for the classic metrics and NECO's."""
    decisions: Decisions | None = None
    accuracy: str = "none"
    """What decided it: `raw rows`, `logits`, the form of a head or `none`."""
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
    features: FeatureSpectrum | None = None
    """Spectrum of the features."""


def read_statistics(
    parts: Sequence[Prepared],
    conventions: Conventions,
    budget: Budget,
    processes: Processes,
    train: Sequence[dict[str, ClassMoments]] | None,
    means_of: str,
) -> list[Statistics]:
    """Everything that the samples say: class moments in one pass, decisions in the next.

    Args:
        parts: the set, or its prefixes, the widest last.
        train: by part, of the set whose class means count, if it is another.
        means_of: what messages and the policy call that set.

    Raises:
        DataError: a feature is not finite, or zero where it must be scaled; a class that the
            training set lacks.
        TimeoutError: interrupted.
    """
    # What a thread reads for the decisions it keeps for the directions.
    parts = [
        replace(part, features=ColumnRows(_data(part)[0], slice(None), threading.local()))
        for part in parts
    ]
    widest, space = parts[-1], "unit" if conventions.unit else "raw"
    rows, _ = _data(widest)
    if train is not None:
        _check_train(train[-1][space], widest, means_of)
    spaces = conventions.spaces(parts[0].d, widest.K)
    own = read_moments(parts, budget, processes, spaces, train)
    seen = _read_decisions(parts, conventions, budget, processes, train or own, own)
    accuracy = "none" if widest.logits is None else "logits"
    if widest.logits is None and widest.weights is not None:
        without = widest.bias is None and conventions.head in (None, HeadForm.LINEAR)
        form = "" if conventions.head is None else f"{conventions.head} head of "
        accuracy = f"{form}raw rows{', no bias' if without else ''}"
    statistics = []
    for part, moments, others, of_part, sums in zip(
        parts,
        own,
        train or [{} for _ in parts],
        seen[: len(parts)],
        seen[len(parts) :],
        strict=True,
    ):
        with limit_threads(threads_for(float(part.d) ** 3, budget.threads)):
            raw = moments.get("raw")
            spectrum = feature_spectrum(raw, sums, rows.shape[0], conventions.seed)
        statistics.append(
            Statistics(
                moments=moments[space],
                raw=raw,
                decisions=of_part,
                means_of=means_of,
                accuracy=accuracy,
                train=others.get(space),
                raw_train=others.get("raw"),
                storage=str(rows.dtype),
                features=spectrum,
            )
        )
    return statistics


def read_moments(
    parts: Sequence[Prepared],
    budget: Budget,
    processes: Processes,
    spaces: tuple[str, ...],
    train: Sequence[dict[str, ClassMoments]] | None = None,
) -> list[dict[str, ClassMoments]]:
    """Class moments by part and space, about the class means of `train`, where there are any."""
    widest, sets = parts[-1], [_data(part)[0] for part in parts]
    judges: Sequence[dict[str, ClassMoments]] = train or [{} for _ in parts]
    centres = [{name: m.means for name, m in by_space.items()} for by_space in judges]
    # Each worker multiplies alone; threads inside the products would wait for each other.
    with limit_threads(1):
        moments = in_all(
            processes,
            lambda: stream_moments(
                sets,
                _data(widest)[1],
                widest.K,
                spaces,
                centres,
                [part.where["features"] for part in parts],
                **_effort(widest, budget, processes, sum(part.d for part in parts)),
            ),
        )
    by_part = zip(*processes.each(moments), strict=True)
    return [
        {space: _joined(moments[space] for moments in of_part) for space in spaces}
        for of_part in by_part
    ]


def read_spectrum(
    samples: Prepared, budget: Budget, processes: Processes, seed: int
) -> tuple[FeatureSpectrum, int]:
    """Return the figures of features without labels, and the number of rows that are not zero.

    Raises:
        DataError: a feature is not finite, or all are zero.
        TimeoutError: interrupted.
    """
    (rows, labels), where = _data(samples), samples.where["features"]
    how = {"where": where, **_effort(samples, budget, processes, samples.d)}

    def total(sums_of: Decider, stage: str) -> Any:
        with limit_threads(1):
            sums = in_all(
                processes, lambda: stream_deciders([sums_of], rows, stage=stage, **how)[0]
            )
        return _joined(processes.each(sums))

    moments: ClassMoments = total(partial(moment_sums, rows, labels, where), "moments")
    if not moments.N:
        raise DataError(f"{where} holds zero rows alone; give features that are not zero")
    mean = total_moments(moments)[0]
    directions = total(direction_sums(rows, labels, where, mean, seed), "directions")
    with limit_threads(threads_for(float(samples.d) ** 3, budget.threads)):
        return feature_spectrum(moments, directions, rows.shape[0], seed), moments.N


def _data(samples: Prepared) -> tuple[Rows, np.ndarray]:
    """The features, (N, d), and their labels, (N,), where there are more than weights."""
    assert samples.features is not None and samples.labels is not None
    return samples.features, samples.labels


def _joined(parts: Iterable[Any]) -> Any:
    return reduce(lambda a, b: a.joined(b), parts)


def _read_decisions(
    parts: Sequence[Prepared],
    conventions: Conventions,
    budget: Budget,
    processes: Processes,
    judges: Sequence[Mapping[str, ClassMoments]],
    own: Sequence[Mapping[str, ClassMoments]],
) -> list[Any]:
    """Decisions by class means, by part, then the sums over directions, by part; `judges` are `own`
    where the means are the samples' own."""
    widest = parts[-1]
    target = accelerator(budget.device, worthwhile=False)  # where a GPU is asked for by name

    def decide() -> list[Any]:
        deciders = [
            _decider(
                part, by_space, conventions, judges is own, None if target is None else str(target)
            )
            for part, by_space in zip(parts, judges, strict=True)
        ]
        for part, by_space in zip(parts, own, strict=True):
            mean = total_moments(by_space["raw"])[0] if "raw" in by_space else None
            where = part.where["features"]
            deciders.append(direction_sums(*_data(part), where, mean, conventions.seed))
        effort = _effort(widest, budget, processes, widest.K * len(parts))
        return stream_deciders(deciders, _data(widest)[0], where=where, **effort)

    with limit_threads(1):
        decisions = in_all(processes, decide)
    return [_joined(of_part) for of_part in zip(*processes.each(decisions), strict=True)]


def _decider(
    samples: Prepared,
    judges: Mapping[str, ClassMoments],
    conventions: Conventions,
    own: bool,
    device: str | None,
) -> Decider:
    """What decides by class means, by space."""
    unit, weights, bias = conventions.unit, samples.weights, samples.bias
    if weights is not None:
        weights, bias = equivalent_head(conventions.head, weights, bias)
    answered = weights is not None or samples.logits is not None
    judge = judges["unit" if unit else "raw"]
    raw = judges.get("raw") if unit and answered else None
    return block_decider(
        *_data(samples),
        weights=weights,
        bias=bias,
        logits=samples.logits,
        means=judge.means,
        present=judge.present,
        raw_means=None if raw is None else raw.means,
        own_counts=judge.counts if own else None,
        unit=unit,
        where=samples.where["features"],
        device=device,
        raw_margins=conventions.head in (HeadForm.LINEAR, HeadForm.EUCLIDEAN),
        compared=conventions.head is None and samples.logits is None,
    )


def _effort(
    samples: Prepared, budget: Budget, processes: Processes, columns: int
) -> dict[str, Any]:
    """Arguments that both passes share; threads for products of this many columns. No time limit
    counts here: samples are read to their end or not at all."""
    rows, _ = _data(samples)
    work = 2.0 * block_rows(rows) * rows.shape[1] * columns
    return {
        "span": share(rows.shape[0], processes.rank, processes.size, rows.step),
        "workers": threads_for(work, budget.threads),
        "deadline": Deadline(None, budget.interrupt),
        "progress": budget.progress,
    }


def _check_train(train: ClassMoments, prepared: Prepared, name: str) -> None:
    """Refuse class means that do not fit the set that is measured."""
    _, labels = _data(prepared)
    seen = np.unique(labels[labels >= 0])
    unknown = seen[~train.present[seen]]
    if unknown.size:
        raise DataError(
            f"{name} has no sample of class {prepared.kept[unknown[0]]}, which the data have; "
            f"leave such classes out with {spelled('classes', 'FILE')}, samples of a label that "
            f"is no class with {spelled('ignore_label', 'L')}, or take the data's own means with "
            f"{spelled('means_from', OWN)}"
        )
