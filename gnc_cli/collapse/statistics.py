"""Passes over the samples of one set: by blocks, in threads, and in processes under torchrun.

The first pass computes class moments, the second decides on every sample by them. Each reads the
rows once for all prefixes. Every process takes a share of the rows; the shares are merged in order
of rank, so that all processes have the same statistics. An error in one process ends all.
"""

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any, TypeVar

import numpy as np

from gnc_cli.collapse.conventions import OWN_MEANS, Budget, Conventions, HeadForm
from gnc_cli.collapse.prepared import Prepared
from gnc_cli.errors import DataError
from gnc_cli.metrics.class_moments import ClassMoments, stream_moments
from gnc_cli.metrics.decisions import (
    BlockDecider,
    Decider,
    Decisions,
    Judge,
    equivalent_head,
    stream_deciders,
)
from gnc_cli.metrics.rows import ColumnRows, Pass, Rows, block_rows
from gnc_cli.metrics.spectrum import (
    Directions,
    FeatureSpectrum,
    direction_sums,
    feature_spectrum,
    moment_sums,
    total_moments,
)
from gnc_cli.parameters import spelled
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.distributed import Processes, run_on_all, share
from gnc_cli.runtime.threads import accelerator, limit_threads, threads_for

Spaces = Mapping[str, ClassMoments]
"""Class moments by space (`unit` or `raw` rows), that of the GNC metrics first."""
_S = TypeVar("_S", ClassMoments, Decisions, Directions)


@dataclass(frozen=True, eq=False)
class Moments:
    """Class moments of one set, and of the training set whose class means count."""

    samples: Spaces
    """Moments of the set itself; about the means of `train`, if there is a training set."""
    train: Spaces | None = None
    """Moments of a training set, whose class means count; None: those of the set itself."""
    means_of: str = OWN_MEANS
    """Name of the set whose class means count, in the policy."""

    @property
    def gnc(self) -> ClassMoments:
        """Moments in the space of the GNC metrics."""
        return next(iter(self.samples.values()))

    @property
    def raw(self) -> ClassMoments | None:
        """Moments of raw rows, for the classic metrics and NECO."""
        return self.samples.get("raw")

    @property
    def centres(self) -> Spaces:
        """Moments of the set whose class means count."""
        return self.train or self.samples

    def judge(
        self, *, unit: bool, answered: bool, own_means: bool = True, **classifier: Any
    ) -> Judge:
        """Return the judge that decides on samples by these class means.

        Args:
            unit: the GNC metrics are of unit rows.
            answered: the samples have an answer of a classifier.
            own_means: the means are those of the samples, unless there is a training set.
            classifier: fields of `Judge` about the classifier.
        """
        means, raw = next(iter(self.centres.values())), self.centres.get("raw")
        return Judge(
            means=means.means,
            present=means.present,
            raw_means=raw.means if raw is not None and unit and answered else None,
            own_counts=means.counts if own_means and self.train is None else None,
            unit=unit,
            **classifier,
        )


@dataclass(frozen=True, eq=False)
class Statistics:
    """Statistics of the samples of a set; all None for weights without samples."""

    moments: Moments | None = None
    decisions: Decisions | None = None
    decided_by: str = "none"
    """Rows by which the classifier names classes: `raw rows`, `logits`, those of a form of a head,
    or `none`."""
    judged_by: str = OWN_MEANS
    """Name of the set whose class means are compared with a sample."""
    storage: str | None = None
    """Dtype of the features."""
    features: FeatureSpectrum | None = None
    ood: ClassMoments | None = None
    """Moments of raw out-of-distribution features, as one class."""
    ood_name: str | None = None
    """Name of the out-of-distribution features in results."""


def read_moments(
    parts: Sequence[Prepared],
    budget: Budget,
    processes: Processes,
    spaces: tuple[str, ...],
    train: Sequence[Spaces] | None = None,
) -> list[Spaces]:
    """Return class moments of each prefix of one set, which is read once for all.

    Args:
        parts: prefixes, the widest last.
        budget: threads, and the event that interrupts.
        processes: the processes that share the rows.
        spaces: kinds of rows, of `unit` and `raw`.
        train: by prefix, the training set whose class means the moments are about; None: the means
            of the set itself.

    Raises:
        DataError: a feature is not finite, or zero where it must be scaled.
        TimeoutError: interrupted.
    """
    widest, sets = parts[-1], [_data(part)[0] for part in parts]
    centres = [
        {space: moments.means for space, moments in by_space.items()}
        for by_space in train or [{} for _ in parts]
    ]
    reading = _pass(widest, budget, processes, sum(part.d for part in parts))
    locations = [part.locations["features"] for part in parts]
    # One thread per worker: BLAS threads of several workers would wait for each other.
    with limit_threads(1):
        moments = run_on_all(
            processes,
            lambda: stream_moments(
                sets, _data(widest)[1], widest.K, spaces, centres, locations, reading
            ),
        )
    by_part = zip(*processes.exchange(moments), strict=True)
    return [{space: _joined(m[space] for m in shares) for space in spaces} for shares in by_part]


def read_statistics(
    parts: Sequence[Prepared],
    moments: Sequence[Moments],
    conventions: Conventions,
    budget: Budget,
    processes: Processes,
) -> list[Statistics]:
    """Return the decisions by the moments, and the spectrum, of each prefix of one set.

    The rows are read once for all prefixes.

    Raises:
        DataError: logits or weights are not finite.
        TimeoutError: interrupted.
    """
    # Each thread keeps the block that it read for decisions, to sum its directions.
    parts = [
        replace(part, features=ColumnRows(_data(part)[0], slice(None), threading.local()))
        for part in parts
    ]
    widest = parts[-1]
    rows, location = _data(widest)[0], widest.locations["features"]
    target = accelerator(budget.device, worthwhile=False)  # a GPU only if the user names it
    device = None if target is None else str(target)
    reading = _pass(widest, budget, processes, widest.K * len(parts))

    def decide() -> list[Any]:
        pairs = list(zip(parts, moments, strict=True))
        deciders: list[Decider] = [_decider(*pair, conventions, device) for pair in pairs]
        deciders += [_direction_sums(*pair, conventions.seed) for pair in pairs]
        return stream_deciders(deciders, rows, location, reading)

    with limit_threads(1):
        shares = processes.exchange(run_on_all(processes, decide))
    sums = [_joined(decider_shares) for decider_shares in zip(*shares, strict=True)]
    by_part = zip(parts, moments, sums[: len(parts)], sums[len(parts) :], strict=True)
    return [_statistics(*part_sums, conventions, budget) for part_sums in by_part]


def read_spectrum(
    samples: Prepared, budget: Budget, processes: Processes, seed: int
) -> tuple[FeatureSpectrum, int]:
    """Return the spectrum of features without labels, and the number of rows that are not zero.

    Raises:
        DataError: a feature is not finite, or all are zero.
        TimeoutError: interrupted.
    """
    (rows, labels), location = _data(samples), samples.locations["features"]
    reading = _pass(samples, budget, processes, samples.d)

    def total(decider: Decider, stage: str) -> Any:
        with limit_threads(1):
            sums = run_on_all(
                processes, lambda: stream_deciders([decider], rows, location, reading, stage)[0]
            )
        return _joined(processes.exchange(sums))

    moments: ClassMoments = total(partial(moment_sums, rows, labels, location), "moments")
    if not moments.N:
        raise DataError(f"{location} holds only zero rows; give features that are not zero")
    mean = total_moments(moments)[0]
    directions = total(direction_sums(rows, labels, location, mean, seed), "directions")
    with limit_threads(threads_for(float(samples.d) ** 3, budget.threads)):
        return feature_spectrum(moments, directions, rows.shape[0], seed), moments.N


def check_train(train: Spaces, prepared: Prepared, name: str) -> None:
    """Refuse class means that do not fit the set that is measured.

    Raises:
        DataError: a class has samples there, and none in the training set `name`.
    """
    labels = _data(prepared)[1]
    present = np.unique(labels[labels >= 0])
    unknown = present[~next(iter(train.values())).present[present]]
    if unknown.size:
        raise DataError(
            f"{name} has no sample of class {prepared.classes[unknown[0]]}, which the data have; "
            f"leave such classes out with {spelled('classes', 'FILE')}, samples of a label that "
            f"is not a class with {spelled('ignore_label', 'L')}, or take the data's own means "
            f"with {spelled('means_from', OWN_MEANS)}"
        )


def _data(samples: Prepared) -> tuple[Rows, np.ndarray]:
    """Return the features, (N, d), and their labels, (N,), which must not be None."""
    assert samples.features is not None and samples.labels is not None
    return samples.features, samples.labels


def _joined(parts: Iterable[_S]) -> _S:
    return reduce(lambda a, b: a.joined(b), parts)


def _pass(samples: Prepared, budget: Budget, processes: Processes, columns: int) -> Pass:
    """Return the share of rows of a process, with threads for products of this many columns.

    It has no time limit: all samples are read, or the pass is interrupted.
    """
    rows, _ = _data(samples)
    return Pass(
        span=share(rows.shape[0], processes.rank, processes.size, rows.step),
        workers=threads_for(2.0 * block_rows(rows) * rows.shape[1] * columns, budget.threads),
        deadline=Deadline(None, budget.interrupt),
        progress=budget.progress,
    )


def _decider(
    samples: Prepared, moments: Moments, conventions: Conventions, device: str | None
) -> Decider:
    """Return the decider on the samples, by class means and by the head."""
    weights, bias, form = samples.weights, samples.bias, conventions.head
    if weights is not None:
        weights, bias = equivalent_head(form, weights, bias)
    judge = moments.judge(
        unit=conventions.unit,
        answered=weights is not None or samples.logits is not None,
        weights=weights,
        bias=bias,
        device=device,
        raw_margins=form in (HeadForm.LINEAR, HeadForm.EUCLIDEAN),
        compared=form is None and samples.logits is None,
    )
    return BlockDecider(judge, *_data(samples), samples.logits, samples.locations["features"])


def _direction_sums(samples: Prepared, moments: Moments, seed: int) -> Decider:
    """Return the decider that sums the directions of the samples."""
    mean = None if moments.raw is None else total_moments(moments.raw)[0]
    return direction_sums(*_data(samples), samples.locations["features"], mean, seed)


def _statistics(
    samples: Prepared,
    moments: Moments,
    decisions: Decisions,
    directions: Directions,
    conventions: Conventions,
    budget: Budget,
) -> Statistics:
    """Return the statistics of one prefix, with the spectrum of its features."""
    (rows, _), form = _data(samples), conventions.head
    decided_by = "none" if samples.logits is None else "logits"
    if samples.logits is None and samples.weights is not None:
        no_bias = samples.bias is None and form in (None, HeadForm.LINEAR)
        head = "" if form is None else f"{form} head of "
        decided_by = f"{head}raw rows{', no bias' if no_bias else ''}"
    with limit_threads(threads_for(float(samples.d) ** 3, budget.threads)):
        spectrum = feature_spectrum(moments.raw, directions, rows.shape[0], conventions.seed)
    storage, judged_by = str(rows.dtype), moments.means_of
    return Statistics(moments, decisions, decided_by, judged_by, storage, spectrum)
