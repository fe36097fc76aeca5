"""Measurement of a set of features and weights, from open files to results.

One pass reads the moments of all prefixes, a second the decisions and spectra; then each prefix is
assembled. The training set, whose class means may count, and out-of-distribution features are read
once for several sets.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from gnc_cli.collapse.assemble import (
    assemble,
    feature_result,
    null_result,
    prefix_result,
)
from gnc_cli.collapse.conventions import Budget, Conventions, Selection
from gnc_cli.collapse.dataset import Dataset, file_stamp
from gnc_cli.collapse.metric_groups import Subject, Weights, classifier_weights, mean_weights
from gnc_cli.collapse.prepared import Prepared, cut_prefixes, prepare_dataset
from gnc_cli.collapse.reference import gnc2_reference
from gnc_cli.collapse.result import MeasureResult
from gnc_cli.collapse.sources import Source, resolve_features
from gnc_cli.collapse.statistics import (
    Moments,
    Statistics,
    read_moments,
    read_spectrum,
    read_statistics,
)
from gnc_cli.collapse.training_means import TrainingMeans
from gnc_cli.collapse.warnings import label_warnings, width_warning
from gnc_cli.errors import DataError
from gnc_cli.metrics.class_moments import ClassMoments
from gnc_cli.metrics.gnc2 import EVERY_CLASS
from gnc_cli.metrics.rows import ZeroRowsError
from gnc_cli.metrics.spectrum import ALL_ROWS
from gnc_cli.parameters import requires, spelled
from gnc_cli.runtime.distributed import Processes
from gnc_cli.runtime.memory import check_memory
from gnc_cli.runtime.threads import limit_threads, threads_for


class Measurer:
    """Measures sets one after the other by the same conventions; keeps the data that they share.

    Args:
        selection: the datasets that are measured.
        conventions: the conventions by which metrics are computed.
        budget: time limit, device and threads.
        processes: the processes that read the samples together.
    """

    def __init__(
        self,
        selection: Selection,
        conventions: Conventions,
        budget: Budget,
        processes: Processes,
    ) -> None:
        self.selection, self.conventions = selection, conventions
        self.budget, self.processes = budget, processes
        ood = conventions.ood
        self.ood = None if ood is None else resolve_features(ood, selection.transpose_features)
        self._train = TrainingMeans(selection, conventions, budget, processes)
        self._ood_moments: list[ClassMoments] = []
        self._reference = cache(
            lambda d, K: gnc2_reference(
                d, K, conventions.reference, budget.deadline(), conventions.table
            )
        )

    @property
    def ood_name(self) -> str | None:
        """Name of the `--ood` features in results."""
        return None if self.ood is None else self.ood.file

    def stamp(self, source: Source) -> str:
        """Return a text that changes with the set and with the files that its results depend on."""
        files = map(file_stamp, self.conventions.files)
        ood = "" if self.ood is None else self.ood.stamp()
        return "|".join([source.stamp(), self._train.stamp(source), ood, *files])

    def measure(self, samples: Dataset, source: Source) -> list[MeasureResult]:
        """Return the result of an open set, or with `--prefix-dims` one per prefix.

        Raises:
            DataError, UsageError: the set cannot be measured.
            TimeoutError: interrupted before the samples were read.
        """
        if samples.features is not None and not (
            {"labels", "weights", "logits"} & {*samples.locations}
        ):
            return self._unlabelled(samples, source)
        min_classes = 0
        if samples.weights is None and samples.logits is None:
            min_classes = self._train.classes(self._train.training_set(source))
        whole = prepare_dataset(samples, self.selection, self.conventions, min_classes)
        parts = cut_prefixes(whole, self.conventions.prefix_dims)
        _check_memory(parts, self.conventions)
        if samples.features is None:
            unused = self.conventions.requirements.get("samples", ())
            _refuse(unused, "samples, and there are only weights")
        return self._prefix_results(samples, whole, parts, source)

    def _prefix_results(
        self, samples: Dataset, whole: Prepared, parts: list[Prepared], source: Source
    ) -> list[MeasureResult]:
        """Return the results of the prefixes of a set; null for a prefix with a row of zeros."""
        left_out = whole.K_in_file - whole.K
        subject = Subject(whole.classes, whole.names, left_out, _place(source), source.head)
        statistics = [Statistics() for _ in parts]
        try:
            # Unusable weights are refused before the features are read, which may take hours.
            heads = [self._head(part) for part in parts]
            if whole.features is not None:
                statistics = self._statistics(whole, parts, source)
        except ZeroRowsError as error:
            # A row of zeros in p dimensions is zero in fewer too: the shortest prefix fails first.
            if len(parts) == 1:
                raise
            null = self._null(parts[0], whole, subject, error)
            return [null, *self._prefix_results(samples, whole, parts[1:], source)]
        reach, warnings = self._reach(samples, whole), self._set_warnings(samples, whole, source)
        results = []
        for part, head, part_statistics in zip(parts, heads, statistics, strict=True):
            result = self._result(part_statistics, head, subject, warnings, whole.d)
            cut_short = result.cut_short or reach.get("cut_short", False)
            notes = part.notes + result.notes + reach.get("notes", ())
            results.append(replace(result, **reach | {"notes": notes, "cut_short": cut_short}))
        return results

    def _head(self, part: Prepared) -> Weights | None:
        """Return the classifier; None where the class means stand in."""
        if part.weights is None:
            return None
        name, unit = part.locations["weights"], self.conventions.unit
        return classifier_weights(part.weights, unit=unit, labels=part.classes, name=name)

    def _statistics(
        self, whole: Prepared, parts: Sequence[Prepared], source: Source
    ) -> list[Statistics]:
        """Return the statistics of the prefixes, with two passes over the samples for all."""
        conventions, reading = self.conventions, (self.budget, self.processes)
        oods = self._out_of_distribution(whole.d, len(parts))
        training = self._train.training_set(source)
        train = self._train.moments(training, whole, [part.d for part in parts])
        spaces = conventions.spaces(parts[0].d, whole.K)
        own_moments = read_moments(parts, *reading, spaces, train)
        name = self._train.name(training)
        moments = [
            Moments(by_space, None if train is None else train[index], name)
            for index, by_space in enumerate(own_moments)
        ]
        statistics = read_statistics(parts, moments, conventions, *reading)
        return [
            replace(part_statistics, ood=ood, ood_name=self.ood_name)
            for part_statistics, ood in zip(statistics, oods, strict=True)
        ]

    def _result(
        self,
        statistics: Statistics,
        head: Weights | None,
        subject: Subject,
        set_warnings: Sequence[str | None],
        full_d: int,
    ) -> MeasureResult:
        """Return the result of a set, or of a prefix of its `full_d` dimensions."""
        conventions, deadline = self.conventions, self.budget.deadline()
        if head is None:
            assert statistics.moments is not None
            head = mean_weights(statistics.moments.gnc, unit=conventions.unit)
        K, d = head.rows.shape
        with limit_threads(threads_for(2.0 * K * K * d, self.budget.threads)):
            result = assemble(
                conventions,
                statistics,
                head,
                subject,
                reference=self._reference(d, K) if conventions.unit else None,
                device=self.budget.device,
                deadline=deadline,
            )
        width = width_warning(result.gnc2, deadline)
        result = replace(
            result,
            warnings=(*result.warnings, *filter(None, (width, *set_warnings))),
            cut_short=deadline.expired and (bool(result.undecided) or width is not None),
        )
        if conventions.prefix_dims is None:
            return result
        return prefix_result(result, full_d, K, conventions)

    def _reach(self, samples: Dataset, whole: Prepared) -> dict[str, Any]:
        """Return the fields of the result for `--reach` and `--sets`, computed before GNC2."""
        conventions, budget = self.conventions, self.budget
        if not self.selection.proves:
            return {}
        from gnc_cli.collapse.reach import reach_fields

        limit = budget.deadline()
        threads = threads_for(2.0 * whole.K_in_file**2 * whole.d, budget.threads)
        with limit_threads(threads):
            fields = reach_fields(conventions, samples, whole, limit, threads, budget.progress)
        return fields | {"cut_short": limit.expired}

    def _set_warnings(self, samples: Dataset, whole: Prepared, source: Source) -> list[str | None]:
        """Return warnings about the training set and the labels of a set, shared by prefixes."""
        labels_only = samples.weights is None and samples.logits is None and samples.names is None
        texts = label_warnings(samples.labels, self.selection.ignore_label, labels_only)
        if whole.features is None:
            return texts
        if whole.weights is None and self.conventions.K is None:
            texts.append(self._train.label_warning(self._train.training_set(source)))
        return [self._train.own_means_warning(source), *texts]

    def _null(
        self, part: Prepared, whole: Prepared, subject: Subject, error: ZeroRowsError
    ) -> MeasureResult:
        """Return the null result of a prefix in which a row is zero."""
        N = None if whole.labels is None else int((whole.labels >= 0).sum())
        result, warning = null_result(part, N, subject), f"all metrics are null: {error}"
        policy = replace(
            result.policy,
            normalize="auto" if self.conventions.unit else "off",
            weights="none" if whole.weights is None else "given",
            min_count=self.conventions.min_count,
            classes_left_out=subject.classes_left_out,
        )
        return replace(result, prefix_of=whole.d, policy=policy, warnings=(warning,))

    def _unlabelled(self, samples: Dataset, source: Source) -> list[MeasureResult]:
        """Return the result of features without labels, weights and logits, or one per prefix.

        Each prefix is read by itself.
        """
        conventions = self.conventions
        _refuse(
            conventions.requirements.get("labels", ()),
            f"labels, and {samples.locations['features']} has none",
            f"drop it, or add {spelled('labels', 'F:KEY')}",
        )
        assert samples.features is not None
        whole, (N, d) = _one_class(samples), samples.features.shape
        check_memory(
            64.0 * d**2 + 32.0 * min(N, ALL_ROWS) * d,
            f"measuring features in d={d}",
            f"measure the first dimensions only: {spelled('prefix_dims', min(d, 1024))}",
        )
        place = _place(source) | {"prefix_of": d if conventions.prefix_dims else None}
        subject = Subject(whole.classes, place=place)
        return [
            feature_result(
                *read_spectrum(part, self.budget, self.processes, conventions.seed), part, subject
            )
            for part in cut_prefixes(whole, conventions.prefix_dims)
        ]

    def _out_of_distribution(self, d: int, count: int) -> Sequence[ClassMoments | None]:
        """Return moments of the raw `--ood` rows as one class, for the last `count` prefixes.

        They are read once; without `--ood` each is None.

        Raises:
            DataError: the rows are not of dimension d, or one is not finite.
        """
        if self.ood is None:
            return [None] * count
        if not self._ood_moments:
            with self.ood.open() as samples:
                parts = cut_prefixes(whole := _one_class(samples), self.conventions.prefix_dims)
                moments = read_moments(parts, self.budget, self.processes, ("raw",))
                self._ood_moments = [by_space["raw"] for by_space in moments]
                self._ood_d = whole.d
        if self._ood_d != d:
            raise DataError(
                f"{spelled('ood')}: features of dimension {self._ood_d}, and those "
                f"measured have {d}; give features of the same layer"
            )
        return self._ood_moments[-count:]


def _one_class(samples: Dataset) -> Prepared:
    """Return the features with the same label for each row."""
    assert samples.features is not None
    N, d = samples.features.shape
    zeros = np.broadcast_to(np.zeros(1, dtype=np.int64), N)
    one_class = {**vars(samples), "labels": zeros}
    return Prepared(**one_class, classes=zeros[:1], K_in_file=1, d=d)


def _check_memory(parts: list[Prepared], conventions: Conventions) -> None:
    """Refuse classes and dimensions whose float64 sums, covariances and rows cannot fit."""
    samples = parts[-1]
    d, K, rows, spaces = samples.d, samples.K, samples.K, 0
    if samples.labels is not None:
        spaces = len(conventions.spaces(parts[0].d, K))
        rows = K if samples.weights is not None else min(K, len(samples.labels))
    copies = 60.0 if conventions.every_class or rows <= EVERY_CLASS else 28.0
    sums = sum(16.0 * (K + rows) * part.d + 40.0 * part.d**2 for part in parts)
    check_memory(
        spaces * sums + copies * rows * d + 80.0 * K,
        f"measuring K={K} classes in d={d}",
        f"leave classes out with {spelled('min_count')} or {spelled('classes', 'FILE')}",
    )


def _refuse(names: Iterable[str], condition: str, step: str | None = None) -> None:
    """Refuse the named options, which require `condition`; the next step is `step`, or to drop it.

    Raises:
        UsageError: an option is named.
    """
    for name in names:
        raise requires(name, condition, step or f"drop {spelled(name)}")


def _place(source: Source) -> dict[str, Any]:
    """Return the fields of the result that name its file, snapshot, epoch and the like."""
    attrs = {name: value for name, value in source.attrs.items() if name != "provenance"}
    place = {name: attrs.pop(name, None) for name in ("epoch", "step", "layer", "split")}
    return {"file": source.file, "snapshot": source.snapshot, **place, "attrs": attrs}
